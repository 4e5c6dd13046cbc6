"""Optimum and random sequences of points for the experiments with noise, many of one kind together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.optimiser.literature import QuasiNewton
from exciter.excitation.optimiser.points import PointSearch, optimise_points
from exciter.reproduction.gautier_khalil.sequences import robot_model, uniform_points
from exciter.robot.motion import Motion

Array = NDArray[np.float64]
STARTS = 4  #: of the search for one optimum; after 80 iterations the best of them is chosen, and followed for 400 more


def assumed_limits() -> str:
    """In words."""
    robot = robot_model().robot
    half, speed = np.rad2deg(robot.limit("upper")[0]), np.rad2deg(robot.limit("velocity")[0])
    return (
        f"Limits ±{half:.0f}° and {speed:.0f}°/s for all joints (the paper prints none; these were fitted to Table 2)"
    )


@cache
def true_parameters() -> Array:
    """X (15,) of Table 6."""
    model = robot_model()
    return model.base.base_values(model.nominal)


def energy_rows(q: Array, qd: Array) -> Array:
    """h (…, 15) of the base parameters at points (…, 3)."""
    model = robot_model()
    h = model.energy(Motion.at(q.reshape(-1, model.n), qd.reshape(-1, model.n)))
    return h[:, model.base.independent].reshape(*q.shape[:-1], -1)


@dataclass(frozen=True, eq=False)
class Sequences:
    """M sequences of r + 1 points: q [rad], q̇ [rad/s] (M, r + 1, 3), each the end of one interval and the start of
    the next."""

    q: Array
    qd: Array

    @property
    def w(self) -> Array:
        """W (M, r, 15) (9)"""
        return np.diff(energy_rows(self.q, self.qd), axis=1)

    def repeated(self, times: int) -> Sequences:
        """Each of them so many times in a row."""
        return Sequences(np.repeat(self.q, times, axis=0), np.repeat(self.qd, times, axis=0))


def short_search(r: int, seed: int) -> PointSearch:
    """For one optimum of many, or one that is not the last."""
    return PointSearch(equations=r, starts=STARTS, keep=1, explore=80, method=QuasiNewton(400), seed=seed)


def optimum_sequences(r: int, count: int) -> Sequences:
    """Least cond(W), seeds 0, 1, …; of each ``STARTS`` starts the most promising one."""
    found = [optimise_points(robot_model(), short_search(r, seed)) for seed in range(count)]
    return Sequences(np.array([one.q for one in found]), np.array([one.qd for one in found]))


def random_sequences(r: int, count: int, seed: int) -> Sequences:
    """Uniformly distributed within the limits, as in Table 2."""
    points = uniform_points(robot_model(), count * (r + 1), seed)
    shape = (count, r + 1, -1)
    return Sequences(points.q.reshape(shape), points.qd.reshape(shape))
