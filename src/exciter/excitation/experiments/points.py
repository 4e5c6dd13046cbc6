"""Optimal points (q, q̇) on the energy model, then a motion through them (Gautier & Khalil 1992, sections 4 and 5).

The energy model has one row per interval, h(b) − h(a), which depends on positions and velocities at its ends only.
So r + 1 points, each the end of one interval and the start of the next, are optimised by themselves; limits are kept
by the change of variables q = q_I + (q_F − q_I) sin² x, q̇ = q̇_M sin x (4.2), and nothing is left but to minimise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.criteria.criterion import AnyCriterion, DesignObjective, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns, EnergyRows
from exciter.excitation.criteria.optimality_and_condition import ConditionNumber
from exciter.excitation.criteria.weighted_sums import hops, stages
from exciter.excitation.experiments.segment_times import Interpolated, interpolate_points
from exciter.excitation.optimiser.limits import finite_limits
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array

Function = Callable[[Array], tuple[float, Array]]  # x ↦ f and ∂f/∂x
HOP_STD = 0.3  # [rad] of x: how far from the best so far a descent begins again, where it does (``hops``)
INFINITE_VALUE_STAND_IN = 1e10  # stands for an infinite value where a method cannot bear infinity


def random_points(robot: Robot, points: int, seed: int) -> Motion:
    """Points (q, q̇), uniformly distributed within the position and velocity limits (Gautier & Khalil 1992, 6.1)."""
    rng = np.random.default_rng(seed)
    velocity = finite_limits(robot, "velocity", "velocities are drawn within it")
    q = rng.uniform(*robot.position_range(), (points, robot.n))
    return Motion.at(q, rng.uniform(-velocity, velocity, q.shape))


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a method stopped, the value there, and how often the function was evaluated."""

    x: Array
    value: float
    evaluations: int


class Minimiser(Protocol):
    """A way to minimise a function of unconstrained variables."""

    @property
    def name(self) -> str:
        """A word for it."""

    def minimise(self, function: Function, start: Array, iterations: int | None = None) -> Minimum:
        """From a start (m,); fewer iterations than the settings say where given."""


@dataclass(frozen=True)
class QuasiNewton:
    """Limited-memory BFGS with exact gradients. tolerance: relative decrease per step below which it stops."""

    iterations: int = 3000
    tolerance: float = 1e-6
    memory: int = 20
    name: ClassVar[str] = "quasi-newton"

    def minimise(self, function: Function, start: Array, iterations: int | None = None) -> Minimum:
        limit = self.iterations if iterations is None else min(iterations, self.iterations)
        options = {"maxiter": limit, "maxfun": 2 * limit, "maxcor": self.memory, "ftol": self.tolerance, "gtol": 1e-9}
        solution = minimize(function, start, jac=True, method="L-BFGS-B", options=options)
        return Minimum(x=solution.x, value=float(solution.fun), evaluations=int(solution.nfev))


@dataclass(frozen=True)
class DerivativeFree:
    """A method that sees values only. A few evaluations per variable and iteration: as many as a gradient by
    differences would take."""

    evaluations: int = 40_000
    name: ClassVar[str]
    options: ClassVar[dict[str, bool]] = {}

    def minimise(self, function: Function, start: Array, iterations: int | None = None) -> Minimum:
        limit = self.evaluations if iterations is None else min(self.evaluations, iterations * len(start))

        def value(x: Array) -> float:
            return min(function(x)[0], HOP_STD = 0.3  # [rad] of x: how far from the best so far a descent begins again, where it does (``hops``)
INFINITE_VALUE_STAND_IN)

        solution = minimize(value, start, method=self.name, options={"maxfev": limit, **self.options})
        return Minimum(x=solution.x, value=float(solution.fun), evaluations=int(solution.nfev))


class Powell(DerivativeFree):
    """Conjugate directions without derivatives (Powell 1964), the paper's choice."""

    name = "powell"


class NelderMead(DerivativeFree):
    """The simplex of Nelder and Mead (1965), with steps adapted to the number of variables."""

    name = "nelder-mead"
    options: ClassVar[dict[str, bool]] = {"adaptive": True}


@dataclass(frozen=True, eq=False)
class PointVariables:
    """The change of variables: x (2, r + 1, n) without limits ↔ q, q̇ (r + 1, n) within [lower, upper], ±velocity."""

    points: int
    lower: Array
    upper: Array
    velocity: Array

    @classmethod
    def of(cls, robot: Robot, points: int) -> PointVariables:
        velocity = finite_limits(robot, "velocity", "the faster a point the better it excites")
        return cls(points, *robot.position_range(), velocity)

    @property
    def size(self) -> int:
        return 2 * self.points * len(self.velocity)

    def motion(self, x: Array) -> Motion:
        """The points, as samples that stand for themselves."""
        position, speed = x.reshape(2, self.points, -1)
        return Motion.at(self.lower + (self.upper - self.lower) * np.sin(position) ** 2, self.velocity * np.sin(speed))

    def value_and_gradient(self, objective: DesignObjective, x: Array) -> tuple[float, Array]:
        """f and ∂f/∂x."""
        value, gradient = objective.value_and_gradient(self.motion(x))
        return value, self.pullback(x, gradient.q, gradient.qd)

    def pullback(self, x: Array, dq: Array, dqd: Array) -> Array:
        """∂f/∂x from ∂f/∂q and ∂f/∂q̇ (r + 1, n)."""
        position, speed = x.reshape(2, self.points, -1)
        slope = (self.upper - self.lower) * np.sin(2.0 * position)
        return np.concatenate([(dq * slope).ravel(), (dqd * self.velocity * np.cos(speed)).ravel()])


@dataclass(frozen=True)
class PointSearch:
    """How points are searched.

    equations: r, rows of W; criterion: any (the condition number of W unless given), through smooth stand-ins first;
    method: the minimiser. All ``starts`` are drawn normally distributed and followed for ``explore`` iterations of the
    first stage; the best ``keep`` of them are carried through to the end.
    """

    equations: int = 30
    criterion: AnyCriterion = field(default_factory=ConditionNumber)
    method: Minimiser = field(default_factory=QuasiNewton)
    starts: int = 48
    keep: int = 12
    explore: int = 150
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("equations", "starts", "keep", "explore"):
            if getattr(self, name) < 1:
                raise ExciterError(f"{name} of a search for points is {getattr(self, name)}; it must be 1 or more")


@dataclass(frozen=True, eq=False)
class OptimalPoints:
    """q, q̇ (r + 1, n) [rad, rad/s]; value of the criterion and cond(W) there; values (K,): what every start that was
    carried through reached, ascending; evaluations of the criterion; seconds it took."""

    q: Array
    qd: Array
    value: float
    condition_number: float
    values: Array
    evaluations: int
    seconds: float


def optimise_points(
    model: DynamicModel,
    search: PointSearch | None = None,
    *,
    columns: ArrayLike | DesignColumns | None = None,
    prior: Array | None = None,
) -> OptimalPoints:
    """The points at which the energy model tells most about the parameters, within position and velocity limits.

    columns: the parameters it is about, the base parameters unless given; friction has no place in points that stand
    for themselves. prior (b, b): information of earlier experiments.
    """
    began = time.monotonic()
    search = search or PointSearch()
    chosen = DesignColumns.of(model, columns)
    _check(model, chosen, search, prior)
    variables = PointVariables.of(model.robot, search.equations + 1)
    objective = DesignObjective(model, search.criterion, chosen, np.ones(model.n), EnergyRows(), prior)
    functions = [
        partial(variables.value_and_gradient, replace(objective, criterion=stage)) for stage in stages(search.criterion)
    ]
    rng = np.random.default_rng(search.seed)
    explored = [
        search.method.minimise(functions[0], rng.standard_normal(variables.size), search.explore)
        for _ in range(search.starts)
    ]
    evaluations = sum(found.evaluations for found in explored)
    finished = []
    for found in sorted(explored, key=lambda found: found.value)[: search.keep]:
        x, best_value = found.x, np.inf
        for hop in range(1 + hops(search.criterion)):
            if hop:
                found = replace(found, x=x + HOP_STD * rng.standard_normal(variables.size))
            for function in functions:
                found = search.method.minimise(function, found.x)
                evaluations += found.evaluations
            if (value := objective.value(variables.motion(found.x))) < best_value:
                x, best_value = found.x, value
        finished.append((best_value, x))
    values, best = np.array([value for value, _ in finished]), min(finished, key=lambda pair: pair[0])
    motion = variables.motion(best[1])
    if not np.isfinite(best[0]):
        names, advice = ", ".join(objective.unexcited(motion)), "give more equations or starts"
        if names:
            advice = f"nothing tells about {names}: leave it out, or widen the limits"
        raise ExciterError(
            f"the criterion '{search.criterion.name}' is infinite at all {search.starts} starts; {advice}"
        )
    cond = evaluate(model, motion, 1.0, chosen, EnergyRows(), prior).condition_number
    return OptimalPoints(
        q=motion.q,
        qd=motion.qd,
        value=best[0],
        condition_number=cond,
        values=np.sort(values),
        evaluations=evaluations,
        seconds=time.monotonic() - began,
    )


def _check(model: DynamicModel, columns: DesignColumns, search: PointSearch, prior: Array | None) -> None:
    terms = [
        name for bound in model.bound for name, kept in zip(bound.names, bound.conservative, strict=True) if not kept
    ]
    if lossy := sorted({model.standard[k] for k in columns.selected} & set(terms)):
        raise ExciterError(
            f"'{lossy[0]}' stores no energy and cannot be seen at points without the motion between them; "
            "leave friction out of the model, or design a trajectory"
        )
    if prior is None and search.equations < len(columns):
        raise ExciterError(
            f"{search.equations} equations cannot determine {len(columns)} parameters; give {len(columns)} or more"
        )


# -- the motion through the points -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TwoStage:
    """points: the optimum of the first stage. interpolated: the quintic motion through them, shrunk where a segment
    would leave the position limits. condition_number: cond(W) of the energy model at the points that are passed."""

    points: OptimalPoints
    interpolated: Interpolated
    condition_number: float

    @cached_property
    def curve(self) -> Curve:
        """The motion, from rest to rest."""
        return self.interpolated.trajectory.curve(self.interpolated.delta)


def two_stage(
    model: DynamicModel, search: PointSearch | None = None, *, columns: ArrayLike | DesignColumns | None = None
) -> TwoStage:
    """Optimal points, joined by quintic segments in the shortest times (section 5), with rest in the middle of the
    range before and after, as in 6.2."""
    points = optimise_points(model, search, columns=columns)
    robot = model.robot
    lower, upper = robot.position_range()
    middle, still = 0.5 * (lower + upper), np.zeros(robot.n)
    interpolated = interpolate_points(
        np.vstack([middle, points.q, middle]),
        np.vstack([still, points.qd, still]),
        robot.limit("velocity"),
        robot.limit("acceleration"),
        lower,
        upper,
        jerk=robot.limit("jerk"),
    )
    q, qd = (half.T[1:-1] for half in np.split(interpolated.delta, 2, axis=1))
    passed = evaluate(model, Motion.at(q, qd), 1.0, columns, EnergyRows())
    return TwoStage(points=points, interpolated=interpolated, condition_number=passed.condition_number)
