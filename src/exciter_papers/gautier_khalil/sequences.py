"""Sequences of points (q, q̇): the robot and its limits, W of the energy model of many at once; random sequences, and
those of small cond(W), or of small cond(W) and equilibrium S, many of one kind together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

import exciter as ex
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.observation_rows import DesignColumns, EnergyRows
from exciter.excitation.criteria.optimality_and_condition import SoftCondition
from exciter.excitation.criteria.weighted_sums import Logarithm, SoftEquilibrium, WeightedSum
from exciter.excitation.experiments.points import (
    OptimalPoints,
    PointSearch,
    PointVariables,
    QuasiNewton,
    optimise_points,
    random_points,
)
from exciter.typing import Array
from exciter_papers.paper import published

ENERGY_PAPER_FIGURES = published("gautier_khalil")
POINTS_AT_ONCE = 50_000  # points whose energies are computed at once


def assumed_limits() -> str:
    """In words."""
    robot = robot_model().robot
    half, speed = np.rad2deg(robot.limit("upper")[0]), np.rad2deg(robot.limit("velocity")[0])
    return (
        f"Limits ±{half:.0f}° and {speed:.0f}°/s for all joints (the paper prints none; these are a choice that goes "
        "with Table 2, which does not determine them, see the part on limits)"
    )


@cache
def robot_model() -> ex.DynamicModel:
    """The robot of Table 1 within the limits that are assumed."""
    return ex.DynamicModel(ex.load("gautier-khalil"))


def limited(lower: ArrayLike, upper: ArrayLike, velocity: float) -> ex.DynamicModel:
    """The same robot within other limits [rad, rad/s]."""
    return ex.DynamicModel(ex.load("gautier-khalil").with_limits(lower=lower, upper=upper, velocity=velocity))


def uniform_points(model: ex.DynamicModel, points: int, seed: int) -> ex.Motion:
    """Uniformly distributed within the limits."""
    return random_points(model.robot, points, seed)


def starting_points(model: ex.DynamicModel, points: int, seed: int) -> ex.Motion:
    """Variables x of 4.2 normally distributed, as the optimisation of the paper begins."""
    variables = PointVariables.of(model, points, seed)
    return variables.motion(variables.normal(np.random.default_rng(seed)))


def energies(model: ex.DynamicModel, points: ex.Motion) -> Array:
    """h (N, b) of the base parameters at every point."""
    blocks = [slice(k, k + POINTS_AT_ONCE) for k in range(0, len(points), POINTS_AT_ONCE)]
    chosen = model.base.independent
    return np.vstack([model.energy(ex.Motion.at(points.q[at], points.qd[at]))[:, chosen] for at in blocks])


def chained(h: Array, r: int) -> Array:
    """W (K, r, b): differences (9) along K sequences of r + 1 points that follow each other in h."""
    rows: Array = np.diff(h.reshape(-1, r + 1, h.shape[1]), axis=1)
    return rows


def equilibria(w: Array) -> Array:
    """S (19) of every W (K, r, b); no element of the energy model's W is zero by structure."""
    size = np.abs(w).reshape(len(w), -1)
    found: Array = size.max(axis=1) / size.min(axis=1)
    return found


def groups(values: Array, size: int, rounds: int, seed: int) -> Array:
    """(K, size): independent values regrouped ``rounds`` times; a value is used once in every round."""
    rng = np.random.default_rng(seed)
    whole = len(values) // size * size
    return np.concatenate([rng.permutation(values)[:whole].reshape(-1, size) for _ in range(rounds)])


# -- small cond(W) and S -----------------------------------------------------------------------------------------------


STAND_IN_POWERS = (
    (1.0, 4.0),
    (4.0, 8.0),
    (16.0, 16.0),
    (64.0, 32.0),
)  # of the stand-ins for S and for cond(W), by stage
OPTIMUM_NUDGE_STD = (
    0.03  # standard deviation of x about the optimum; points on a limit have no slope, and elements of W vanish
)


def balanced(points: OptimalPoints, weight: float, seed: int, method: QuasiNewton) -> ex.Motion:
    """Points of least log cond + weight · log S near those of least cond; seed: of the nudge; the method's iterations
    are those of one stage."""
    model = robot_model()
    variables = PointVariables.of(model, len(points.q))
    x = variables.inverse(points.q, points.qd) + OPTIMUM_NUDGE_STD * variables.normal(np.random.default_rng(seed))
    for element, singular in STAND_IN_POWERS:
        both = WeightedSum(((1.0, Logarithm(SoftCondition(singular))), (weight, Logarithm(SoftEquilibrium(element)))))
        objective = DesignObjective(model, both, DesignColumns.of(model, None), np.ones(model.n), EnergyRows())

        def function(x: Array, objective: DesignObjective = objective) -> tuple[float, Array]:
            value, gradient = objective.value_and_gradient(variables.motion(x))
            return value, variables.pullback(x, gradient.q, gradient.qd)

        x = method.minimise(function, x).x
    return variables.motion(x)


# -- many sequences of one kind ----------------------------------------------------------------------------------------

SEARCH_STARTS = 3  #: of the search for one optimum; after ``EXPLORE`` iterations the best of them is chosen
EXPLORE, ITERATIONS = 60, 100  #: at first, and then in every stage
EQUILIBRIUM_WEIGHT = 0.3  #: w of log cond + w log S
WAYS_TO_DRAW_STARTS = {"normal x": starting_points, "uniform": uniform_points}


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
    def of(cls, points: ex.Motion | OptimalPoints, r: int) -> Sequences:
        """Of points that follow each other."""
        shape = (-1, r + 1, robot_model().n)
        return cls(points.q.reshape(shape), points.qd.reshape(shape))

    @classmethod
    def joined(cls, parts: Sequence[Sequences]) -> Sequences:
        return cls(np.concatenate([one.q for one in parts]), np.concatenate([one.qd for one in parts]))

    @property
    def h(self) -> Array:
        """Energies of all points (M, r + 1, 15)."""
        flat = ex.Motion.at(self.q.reshape(-1, self.q.shape[2]), self.qd.reshape(-1, self.q.shape[2]))
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
    return PointSearch(
        equations=r, starts=SEARCH_STARTS, keep=1, explore=EXPLORE, method=QuasiNewton(ITERATIONS), seed=seed
    )


def best_sequence(r: int) -> Sequences:
    """The one of least cond(W) by a long search (seed 0)."""
    return Sequences.of(optimise_points(robot_model(), PointSearch(equations=r, starts=12, keep=3)), r)


def optimum_sequences(r: int, count: int) -> tuple[Sequences, Sequences]:
    """Least cond(W) (seeds 0, 1, …), and the points of small cond(W) and S that are found from there."""
    alone = [optimise_points(robot_model(), short_search(r, seed)) for seed in range(count)]
    method = QuasiNewton(ITERATIONS)
    both = [balanced(points, EQUILIBRIUM_WEIGHT, seed, method) for seed, points in enumerate(alone)]
    return Sequences.joined([Sequences.of(one, r) for one in alone]), Sequences.joined(
        [Sequences.of(one, r) for one in both]
    )


def random_sequences(r: int, count: int, seed: int, draw: str = "normal x") -> Sequences:
    """x of 4.2 normally distributed, as the optimisation begins (4.3, 6.2), or points uniformly distributed."""
    return Sequences.of(WAYS_TO_DRAW_STARTS[draw](robot_model(), count * (r + 1), seed), r)
