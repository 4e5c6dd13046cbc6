"""Optimum and random sequences of points for the experiments with noise, many of one kind together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from exciter.excitation.optimiser.points import OptimalPoints, PointSearch, QuasiNewton, optimise_points
from exciter.reproduction.gautier_khalil.equilibrium import balanced
from exciter.reproduction.gautier_khalil.sequences import (
    chained,
    energies,
    robot_model,
    starting_points,
    uniform_points,
)
from exciter.robot.motion import Motion
from exciter.typing import Array

STARTS = 3  #: of the search for one optimum; after ``EXPLORE`` iterations the best of them is chosen
EXPLORE, ITERATIONS = 60, 100  #: at first, and then in every stage
WEIGHT = 0.3  #: w of log cond + w log S
DRAWN = {"normal x": starting_points, "uniform": uniform_points}


@cache
def true_parameters() -> Array:
    """X (15,) of Table 6."""
    model = robot_model()
    return model.base.base_values(model.nominal)


@dataclass(frozen=True, eq=False)
class Sequences:
    """M sequences of r + 1 points: q [rad], q̇ [rad/s] (M, r + 1, 3), each the end of one interval and the start of
    the next."""

    q: Array
    qd: Array

    @classmethod
    def of(cls, points: Motion | OptimalPoints, r: int) -> Sequences:
        """Of points that follow each other."""
        shape = (-1, r + 1, robot_model().n)
        return cls(points.q.reshape(shape), points.qd.reshape(shape))

    @classmethod
    def joined(cls, parts: Sequence[Sequences]) -> Sequences:
        return cls(np.concatenate([one.q for one in parts]), np.concatenate([one.qd for one in parts]))

    @property
    def h(self) -> Array:
        """Energies of all points (M, r + 1, 15)."""
        flat = Motion.at(self.q.reshape(-1, self.q.shape[2]), self.qd.reshape(-1, self.q.shape[2]))
        return energies(robot_model(), flat).reshape(*self.q.shape[:2], -1)

    @property
    def w(self) -> Array:
        """W (M, r, 15) (9)"""
        h = self.h
        return chained(h.reshape(-1, h.shape[2]), h.shape[1] - 1)

    def repeated(self, times: int) -> Sequences:
        """Each of them so many times in a row."""
        return Sequences(np.repeat(self.q, times, axis=0), np.repeat(self.qd, times, axis=0))


def short_search(r: int, seed: int) -> PointSearch:
    """For one optimum of many, or one that is not the last."""
    return PointSearch(equations=r, starts=STARTS, keep=1, explore=EXPLORE, method=QuasiNewton(ITERATIONS), seed=seed)


def best_sequence(r: int) -> Sequences:
    """The one of least cond(W) by a long search (seed 0)."""
    return Sequences.of(optimise_points(robot_model(), PointSearch(equations=r, starts=12, keep=3)), r)


def optimum_sequences(r: int, count: int) -> tuple[Sequences, Sequences]:
    """Least cond(W) (seeds 0, 1, …), and the points of small cond(W) and S that are found from there."""
    alone = [optimise_points(robot_model(), short_search(r, seed)) for seed in range(count)]
    method = QuasiNewton(ITERATIONS)
    both = [balanced(points, WEIGHT, seed, method) for seed, points in enumerate(alone)]
    return Sequences.joined([Sequences.of(one, r) for one in alone]), Sequences.joined(
        [Sequences.of(one, r) for one in both]
    )


def random_sequences(r: int, count: int, seed: int, draw: str = "normal x") -> Sequences:
    """x of 4.2 normally distributed, as the optimisation begins (4.3, 6.2), or points uniformly distributed."""
    return Sequences.of(DRAWN[draw](robot_model(), count * (r + 1), seed), r)
