"""Optimal points (q, q̇) on the energy model (Gautier & Khalil 1992, section 4).

The energy model has one row per interval, h(b) − h(a), which depends on positions and velocities at its ends only.
So r + 1 points, each the end of one interval and the start of the next, are optimised by themselves; limits are kept
by the change of variables q = q_I + (q_F − q_I) sin² x, q̇ = q̇_M sin x (4.2), and nothing is left but to minimise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel, random_motion
from exciter.errors import ExciterError
from exciter.excitation.criteria.criterion import AnyCriterion, DesignObjective, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns, EnergyRows
from exciter.excitation.criteria.optimality_and_condition import ConditionNumber
from exciter.excitation.criteria.weighted_sums import hops, stages
from exciter.excitation.optimiser.limits import finite_limits
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array, Index

Function = Callable[[Array], tuple[float, Array]]  # x ↦ f and ∂f/∂x
HOP_STD = 0.3  # [rad] of x: how far from the best so far a descent begins again (``hops``)
PROBED_STATES = 20  # random ones, at which it is asked whether a position matters
PROBED_SHIFT = 0.4  # of its swing, by which it is moved
ROUNDED_ENERGY_SHARE = 1e-9  # of the largest energy per parameter: less is rounding
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
        solution = scipy.optimize.minimize(function, start, jac=True, method="L-BFGS-B", options=options)
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
            return min(function(x)[0], INFINITE_VALUE_STAND_IN)

        solution = scipy.optimize.minimize(value, start, method=self.name, options={"maxfev": limit, **self.options})
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
    """The change of variables: x without limits ↔ q, q̇ (r + 1, n) within [lower, upper], ±velocity.

    free: the joints whose positions matter. The energy of a robot on a vertical first axis does not depend on q₁, so
    that x has (r + 1)(2 n − 1) entries (23b) instead of (r + 1) 2 n (23a): first positions, then velocities.
    kept (r + 1, n): the positions of the other joints, anywhere within their limits."""

    points: int
    lower: Array
    upper: Array
    velocity: Array
    free: Index
    kept: Array

    @classmethod
    def of(cls, model: DynamicModel, points: int, seed: int = 0) -> PointVariables:
        """seed: of the positions without effect, which are evenly distributed."""
        velocity = finite_limits(model.robot, "velocity", "the faster a point the better it excites")
        lower, upper = model.robot.position_range()
        drawn = np.random.default_rng(seed).uniform(lower, upper, (points, model.n))
        return cls(points, lower, upper, velocity, positions_with_effect(model), drawn)

    @property
    def size(self) -> int:
        return self.points * (len(self.free) + len(self.velocity))

    def _split(self, x: Array) -> tuple[Array, Array]:
        """(r + 1, f) and (r + 1, n): variables of positions and of velocities."""
        at = self.points * len(self.free)
        return x[:at].reshape(self.points, -1), x[at:].reshape(self.points, -1)

    def normal(self, rng: np.random.Generator) -> Array:
        """(size,) normally distributed, as in 4.3; drawn for positions without effect, too, which are left out: what
        has an effect is the same in the variables of (23a) and (23b)."""
        position, speed = rng.standard_normal((2, *self.kept.shape))
        return np.concatenate([position[:, self.free].ravel(), speed.ravel()])

    @property
    def _range(self) -> Array:
        return (self.upper - self.lower)[self.free]

    def motion(self, x: Array) -> Motion:
        """The points, as samples that stand for themselves."""
        position, speed = self._split(x)
        q = self.kept.copy()
        q[:, self.free] = self.lower[self.free] + self._range * np.sin(position) ** 2
        return Motion.at(q, self.velocity * np.sin(speed))

    def inverse(self, q: Array, qd: Array) -> Array:
        """x of given points (r + 1, n)."""
        share = (q - self.lower)[:, self.free] / self._range
        position = np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0)))
        speed = np.arcsin(np.clip(qd / self.velocity, -1.0, 1.0))
        return np.concatenate([position.ravel(), speed.ravel()])

    def value_and_gradient(self, objective: DesignObjective, x: Array) -> tuple[float, Array]:
        """f and ∂f/∂x."""
        value, gradient = objective.value_and_gradient(self.motion(x))
        return value, self.pullback(x, gradient.q, gradient.qd)

    def pullback(self, x: Array, dq: Array, dqd: Array) -> Array:
        """∂f/∂x from ∂f/∂q and ∂f/∂q̇ (r + 1, n)."""
        position, speed = self._split(x)
        slope = self._range * np.sin(2.0 * position)
        return np.concatenate([(dq[:, self.free] * slope).ravel(), (dqd * self.velocity * np.cos(speed)).ravel()])


def positions_with_effect(model: DynamicModel) -> Index:
    """Numbers of the joints whose positions the energy depends on: all but a first one that gravity does not feel."""
    motion = random_motion(model.robot, PROBED_STATES)
    here = np.nan_to_num(model.energy(motion))
    found = []
    for j in range(model.n):
        moved = motion.q.copy()
        moved[:, j] += PROBED_SHIFT * np.ptp(motion.q[:, j])
        there = np.nan_to_num(model.energy(Motion(motion.time, moved, motion.qd, motion.qdd)))
        if np.abs(there - here).max() > ROUNDED_ENERGY_SHARE * np.abs(here).max():
            found.append(j)
    return np.array(found, dtype=np.int64)


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
    variables = PointVariables.of(model, search.equations + 1, search.seed)
    objective = DesignObjective(model, search.criterion, chosen, np.ones(model.n), EnergyRows(), prior)
    functions = [
        partial(variables.value_and_gradient, replace(objective, criterion=stage)) for stage in stages(search.criterion)
    ]
    rng = np.random.default_rng(search.seed)
    explored = [
        search.method.minimise(functions[0], variables.normal(rng), search.explore) for _ in range(search.starts)
    ]
    evaluations = sum(found.evaluations for found in explored)
    finished = []
    for found in sorted(explored, key=lambda found: found.value)[: search.keep]:
        x, best_value = found.x, np.inf
        for hop in range(1 + hops(search.criterion)):
            if hop:
                found = replace(found, x=x + HOP_STD * variables.normal(rng))
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
