"""What every constraint offers: rows c ≥ 0 at the samples of a motion, their derivatives, and bounds between samples.

Rows are dimensionless so that one trust region and one margin fit all: torque 1 ∓ τ/τ_max, distance d / 0.1 m.
Limits of the joints are treated apart (``optimiser.limits``): they are linear in the coefficients.

A constraint that rests on data which a description may lack says so itself: its rows are ``assumed`` then, and its
property ``unchecked``, which most need not have, gives a sentence each ("torque of joint_2: …") on what is not checked.

Constraints share where all bodies are over a motion, and how far a point can be from its chord between samples. They
may be joined, so that one of them at least must hold (``AnyOf``), or be a user's own (``UserConstraint``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.engine import writable
from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.reference import cross, matvec
from exciter.errors import ParameterError
from exciter.excitation.certificate.adaptive import Constraint as Constraint
from exciter.excitation.certificate.adaptive import ConstraintRows as ConstraintRows
from exciter.excitation.certificate.certificate import RowName as RowName
from exciter.excitation.certificate.spans import BOUND_ROUNDING, Spans
from exciter.robot.coupling import Coupled
from exciter.robot.motion import Motion
from exciter.robot.robot import BASE, Robot
from exciter.settings import Settings
from exciter.typing import Array, Index

ROW_LENGTH_M = 0.1  # [m] a clearance of this length counts as one
DIFFERENCE_STEP = 1e-5  # of central differences, relative to max(1, |x|): errors of 1e-10 of a smooth function


@lru_cache(maxsize=16)
def robot_dynamics(robot: Robot) -> Dynamics:
    """Kinematics of a robot in its own joint frames; robots are compared by identity."""
    return Dynamics(robot)


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Link frames in the base at the samples of a motion, samples last. rotation (bodies, 3, 3, N), origin (bodies, 3,
    N) [m]: the chain's frames, axes along z. moved: how bodies follow joints. Get one by ``kinematics``."""

    dynamics: Dynamics
    rotation: Array
    origin: Array
    moved: Coupled | None = None

    @property
    def samples(self) -> int:
        return int(self.origin.shape[-1])

    def point(self, joint: int, point: Array) -> Array:
        """(3, N) [m] of a point (3,) fixed in the frame of ``joint`` (−1: the base)."""
        if joint == BASE:
            return np.repeat(point[:, None], self.samples, 1)
        in_link = self.dynamics.chain.axis_frames[joint].T @ point
        moved: Array = matvec(self.rotation[joint], in_link[:, None]) + self.origin[joint]
        return moved

    def pull(self, joint: int, x: Array, g: Array) -> Array:
        """(K, n, N): change per joint of K functions with gradients g (K, 3, N) at points x (3, N) that move with the
        body of ``joint`` (−1: the base)."""
        chain, dq = self.dynamics.chain, np.zeros((len(g), self.dynamics.chain.n, self.samples))
        if joint == BASE:
            return self.of_joints(dq)
        path = np.array(self.dynamics.robot.ancestors(joint))
        if self.dynamics.engine.name == "numba":
            compiled: Any = kernels("capsules", "exciter.excitation.kernels").pull
            compiled(*writable(self.rotation, self.origin), chain.prismatic, path, *writable(x, g), dq)
            return self.of_joints(dq)
        axes = self.rotation[path, :, 2]
        velocity = np.where(chain.prismatic[path, None, None], axes, cross(axes, x - self.origin[path]))
        dq[:, path] = np.einsum("KcN,jcN->KjN", g, velocity)
        return self.of_joints(dq)

    def of_joints(self, dq: Array) -> Array:
        """Changes (K, n, N) per joint, of those per joint of the tree (K, bodies, N)."""
        return dq if self.moved is None else self.moved.project(dq.swapaxes(0, 1)).swapaxes(0, 1)

    def of_joints_at(self, dq: Array, at: Index) -> Array:
        """Changes (M, n) per joint, of those per joint of the tree (M, bodies), each at its sample at (M,)."""
        if self.moved is None:
            return dq
        null = self.moved.null
        return np.asarray(dq @ null if null.ndim == 2 else np.einsum("mb,mbj->mj", dq, null[at]))

    @property
    def tree_weights(self) -> Array:
        """(bodies,) Σ |∂q_b/∂u_j| over the joints, at most, of every joint of the tree."""
        if self.moved is None:
            return np.ones(self.dynamics.chain.n)
        total = np.abs(self.moved.null).sum(axis=-1)
        return np.asarray(total if total.ndim == 1 else total.max(axis=0))


_KNOWN: WeakKeyDictionary[Motion, dict[Robot, Kinematics]] = WeakKeyDictionary()


def kinematics(robot: Robot, motion: Motion) -> Kinematics:
    """The kinematics of a motion; kept as long as the motion lives, so that constraints share it."""
    known = _KNOWN.setdefault(motion, {})
    if robot not in known:
        dynamics = robot_dynamics(robot)
        moved = dynamics.coupled(motion)
        tree = motion if moved is None else moved.tree
        links = dynamics.engine.placements(dynamics.chain, tree.samples_last[0])
        known[robot] = Kinematics(dynamics=dynamics, rotation=links.rotation, origin=links.origin, moved=moved)
    return known[robot]


def moving_point(robot: Robot, joint: int, point: Array, spans: Spans) -> tuple[Array, Array]:
    """Positions (3, 2 M) [m] at ``spans.ends`` of a point (3,) in the frame of a joint (−1: the base), and how far
    (M,) [m] it can be from the chord between them."""
    if joint == BASE:
        return np.repeat(point[:, None], 2 * len(spans.width), axis=1), np.zeros(len(spans.width))
    chain = robot_dynamics(robot).chain
    link = spans.tree(robot).links(chain)[joint]
    x, acceleration = link.point(chain.axis_frames[joint].T @ point)
    bound = link.acceleration_bound(float(np.linalg.norm(point)), acceleration, spans.width)
    return x, spans.width**2 / 8.0 * bound


def checked_clearance(clearance: float) -> None:
    if not (np.isfinite(clearance) and clearance >= 0.0):
        raise ParameterError(f"the clearance is {clearance}; it must be 0 or more [m]")


def rows_of(distance: Array) -> Array:
    """Lower bounds of distances [m] as rows, less what rounding may do."""
    return (distance - BOUND_ROUNDING * (1.0 + np.abs(distance))) / ROW_LENGTH_M


@dataclass(frozen=True, eq=False)
class AnyOf(Settings):
    """At least one member must hold at every instant: one row, the largest over members of their smallest row.

    003's "touches its base if r < 500 mm and z < 1600 mm" is any of z ≥ 1.6 m and r ≥ 0.5 m; its printed product
    (1600 − z)(500 − r) ≤ 0 also forbids what is far away and high up. Derivatives are those of the active row."""

    constraints: tuple[Constraint, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(self.constraints))
        if not self.constraints:
            raise ParameterError("AnyOf was given no constraint; give at least one")

    def on(self, robot: Robot) -> AnyOf:
        """The choice of a file, on its robot."""
        return AnyOf(tuple(member.on(robot) for member in self.constraints))  # type: ignore[attr-defined]

    def entry(self, data: Any) -> Any:
        return {"any_of": data["constraints"]}

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        parts = [row for member in self.constraints for row in member.rows]
        words = " or ".join(
            ", ".join(f"{row.what} {'≤' if row.upper else '≥'} {row.limit:g} {row.unit}" for row in member.rows)
            for member in self.constraints
        )
        alike = len({(row.unit, row.scale) for row in parts}) == 1
        unit, scale = (parts[0].unit, parts[0].scale) if alike else ("1", 1.0)
        where = ", ".join(dict.fromkeys(row.where for row in parts))
        return (RowName(f"clearance of: {words}", where, unit, 0.0, scale, False, any(row.assumed for row in parts)),)

    def values(self, motion: Motion) -> Array:
        worst = [member.values(motion).min(axis=0, keepdims=True) for member in self.constraints]
        return np.asarray(np.max(worst, axis=0))

    def linearised(self, motion: Motion) -> ConstraintRows:
        members = [member.linearised(motion) for member in self.constraints]
        values, at = np.concatenate([rows.values for rows in members]), np.arange(len(motion))
        first = np.cumsum([0, *(len(rows.values) for rows in members[:-1])])
        lowest = np.array([start + rows.values.argmin(axis=0) for start, rows in zip(first, members, strict=True)])
        active = lowest[values[lowest, at].argmax(axis=0), at]  # the row that decides, per sample
        geometric = all(rows.dqd is None and rows.dqdd is None for rows in members)
        slopes = [np.concatenate([rows.slopes[k] for rows in members]) for k in range(1 if geometric else 3)]
        return ConstraintRows(values[active, at][None], *(slope[active, :, at].T[None] for slope in slopes))

    def lower_bounds(self, spans: Spans) -> Array:
        """Sound on a short interval: the member with the largest bound holds throughout it."""
        bounds = [member.lower_bounds(spans).min(axis=0, keepdims=True) for member in self.constraints]
        return np.asarray(np.max(bounds, axis=0))


@dataclass(frozen=True, eq=False)
class UserConstraint:
    """A constraint of your own, from a plain function of the motion.

    ``function(motion)`` gives c (K, N), each sample from the same sample of q, q̇, q̈, K = ``count`` rows.

    Scale the rows so that 1 is a comfortable distance from the limit, as the other constraints do.
    derivatives: ``derivatives(motion)`` gives ∂c/∂q, ∂c/∂q̇, ∂c/∂q̈, each (K, n, N); central differences unless given.
    bound: ``bound(spans)`` gives (K, M), below which c never falls in each of M intervals; without it the constraint
    is kept at samples and can never be certified in between.

    >>> cable = ex.UserConstraint("cable", lambda motion: 1.0 - np.abs(motion.q[:, 1] + motion.q[:, 2])[None] / 1.2)
    >>> float(cable.values(ex.Motion.at([0.0, 0.3, 0.3]))[0, 0])
    0.5"""

    name: str
    function: Callable[[Motion], Array]
    count: int = 1
    derivatives: Callable[[Motion], tuple[Array, Array, Array]] | None = None
    bound: Callable[[Spans], Array] | None = None

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ParameterError(f"UserConstraint '{self.name}' has {self.count} rows; it must have at least one")

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        numbers = [""] if self.count == 1 else [str(k + 1) for k in range(self.count)]
        return tuple(RowName(self.name, number, "1", 0.0, 1.0, False) for number in numbers)

    def values(self, motion: Motion) -> Array:
        return self._checked(self.function(motion), "function", (self.count, len(motion)))

    def linearised(self, motion: Motion) -> ConstraintRows:
        shape, own = (self.count, motion.n, len(motion)), self.derivatives
        given = own(motion) if own else [self._differences(motion, order) for order in range(3)]
        if len(given) != 3:
            raise ParameterError(
                f"derivatives of UserConstraint '{self.name}' gave {len(given)} arrays; give ∂c/∂q, ∂c/∂q̇, ∂c/∂q̈"
            )
        return ConstraintRows(self.values(motion), *(self._checked(d, "a derivative", shape) for d in given))

    def lower_bounds(self, spans: Spans) -> Array:
        shape = (self.count, len(spans.start))
        if self.bound is None:
            return np.full(shape, -np.inf)
        return self._checked(self.bound(spans), "bound", shape, finite=False)

    def _differences(self, motion: Motion, order: int) -> Array:
        """(K, n, N) central differences with respect to q, q̇ or q̈; one joint at a time, all samples at once."""
        columns = []
        for joint in range(motion.n):
            sides = []
            for sign in (1.0, -1.0):
                arrays = [np.array(x) for x in (motion.q, motion.qd, motion.qdd)]
                moved = arrays[order][:, joint]
                moved += sign * DIFFERENCE_STEP * np.maximum(1.0, np.abs(moved))
                sides.append((moved, self.values(Motion(motion.time, *arrays))))
            columns.append((sides[0][1] - sides[1][1]) / (sides[0][0] - sides[1][0]))
        return np.stack(columns, axis=1)

    def _checked(self, given: Array, what: str, shape: tuple[int, ...], *, finite: bool = True) -> Array:
        try:
            array = np.array(given, dtype=float)
        except (TypeError, ValueError):
            raise ParameterError(f"{what} of UserConstraint '{self.name}' must give numbers of shape {shape}") from None
        if array.shape != shape:
            raise ParameterError(f"{what} of UserConstraint '{self.name}' gave shape {array.shape}; it must be {shape}")
        if np.isnan(array).any() or (finite and np.isinf(array).any()):
            raise ParameterError(f"{what} of UserConstraint '{self.name}' is not finite; c must be a number everywhere")
        return array
