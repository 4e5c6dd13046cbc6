"""What the optimiser moves, and the limits that it keeps on a grid of instants.

It moves normalised coefficients of all joints, and the duration where it is free.
A family's variables x differ widely in their effect on the motion. The optimiser moves u with x = T u, chosen so that
every component of u moves its joint by about as much: then one trust region in radians fits all of them.
With a free duration T = s T₀ the k-th derivative at the same phase is C_k u / s^k, and s is one more variable.

Position, velocity, acceleration and jerk limits are linear in the coefficients, joint by joint.
On a grid of instants the rows are C_k u_j between lower and upper limit (times s^k where the duration s is free: a
convex power, so that its tangent, which the rows use, never allows more than the limit). Margins take care of what
lies between the instants; they grow where the exact extrema of a result say so.

Torque, workspace, distance and user constraints are nonlinear: rows of the Jacobian are made where asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.linalg import lstsq

from exciter.errors import ExciterError, MotionError
from exciter.excitation.certificate.adaptive import LinearRows
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.follower_limits import OPEN_ROW, FollowerLimits
from exciter.excitation.optimiser.deadline import NEVER, Deadline
from exciter.excitation.trajectories.trajectory import Trajectory, retimed
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.typing import Array, BoolArray, Index

LEAST_JOINT_SWING = 0.01  # [rad or m] that a joint must be able to move to and fro, or nothing can be learnt from it
LEAST_JOINT_RANGE = 1e-3  # [rad or m] between its position limits
RESAMPLING_CLEARANCE_SHARE = 1e-6  # of a limit that a motion keeps free, for the rounding of the rows of a file
Slopes = Sequence[Array | None]  # by q, q̇ and q̈, each (M, n)
JOINT_LIMIT_KINDS = ("position", "velocity", "acceleration", "jerk")


@dataclass(frozen=True, eq=False)
class Grid:
    """Instants (N,) [s] of the nominal duration and matrices C₀ … (N, v): the k-th derivative is C_k u / s^k."""

    time: Array
    matrices: tuple[Array, ...]

    @cached_property
    def stacked(self) -> Array:
        """(3 N, v): C₀, C₁, C₂ one below the other, so that one product gives a motion."""
        return np.ascontiguousarray(np.vstack(self.matrices[:3]))

    @cached_property
    def sizes(self) -> tuple[float, ...]:
        """How much a step of length one changes q, q̇ and q̈ at most."""
        return tuple(float(np.linalg.norm(c, axis=1).max()) for c in self.matrices[:3])

    @cached_property
    def latest(self) -> dict[bytes, Motion]:
        """The motion asked for last, by its y: criterion, values and slopes of limits ask for the same one after the
        other, and share what is known of it (``kinematics``)."""
        return {}


@dataclass(frozen=True, eq=False)
class Variables:
    """y = (u of joint 1, …, u of joint n[, s]) for a family and n joints; stretch: allowed range of s when free.
    locked (n,): where joints stand still, NaN for those that move; only the u of these are in y."""

    trajectory: Trajectory
    n: int
    stretch: tuple[float, float] | None = None
    locked: Array | None = None

    @cached_property
    def transform(self) -> Array:
        """T (v, v): x = T u, so that u has orthonormal effects on position and velocity together (per radian)."""
        grid = self.trajectory.sample_times(16 * self.trajectory.coefficients)
        position, velocity = (b @ self.trajectory.free for b in self.trajectory.basis(grid, 1))
        pace = np.linalg.norm(velocity) / np.linalg.norm(position - position.mean(axis=0))  # [1/s] typical
        effect = np.vstack([position, velocity / pace]) / np.sqrt(len(grid))
        return np.linalg.inv(np.linalg.qr(effect, mode="r"))

    @cached_property
    def from_u(self) -> Array:
        """Z T (c, v): coefficients of a joint are Z T u."""
        return self.trajectory.free @ self.transform

    @cached_property
    def moving(self) -> Index:
        """(m,) numbers of the joints that move."""
        return np.arange(self.n) if self.locked is None else np.flatnonzero(np.isnan(self.locked))

    @cached_property
    def _still(self) -> Array:
        """(n, v): u of the joints that are locked, zero of the others."""
        if self.locked is None:
            return np.zeros((self.n, self.per_joint))
        posture = np.nan_to_num(self.locked)
        return np.asarray(lstsq(self.from_u, self.trajectory.still(posture).T)[0].T)

    @property
    def per_joint(self) -> int:
        return int(self.trajectory.free.shape[1])

    @cached_property
    def shares(self) -> tuple[Array, ...] | None:
        """Of joints that may do less than others: u_j = S_j y_j, S_j (v, v_j) with orthonormal columns, none of a joint
        that is locked."""
        shares = self.trajectory.shares(self.n)
        if shares is None and self.locked is None:
            return None
        identity = np.eye(self.per_joint)
        of_family = (
            [identity] * self.n
            if shares is None
            else [np.linalg.qr(np.linalg.solve(self.transform, share))[0] for share in shares]  # u = T⁻¹ x
        )
        return tuple(share if j in self.moving else identity[:, :0] for j, share in enumerate(of_family))

    @property
    def coefficients(self) -> int:
        """How many y are coefficients: all but the duration."""
        return self.n * self.per_joint if self.shares is None else sum(one.shape[1] for one in self.shares)

    @property
    def size(self) -> int:
        return self.coefficients + (self.stretch is not None)

    def packed(self, blocks: Array) -> Array:
        """(…, coefficients) of blocks (…, n, v): a u, or the slope of something by u."""
        if self.shares is None:
            return blocks.reshape(*blocks.shape[:-2], self.n * self.per_joint)
        return np.concatenate([blocks[..., j, :] @ share for j, share in enumerate(self.shares)], axis=-1)

    def of_joints(self, joints: Sequence[int]) -> Index:
        """Which y are coefficients of these joints."""
        widths = [self.per_joint] * self.n if self.shares is None else [one.shape[1] for one in self.shares]
        return np.flatnonzero(np.isin(np.repeat(np.arange(self.n), widths), list(joints)))

    def grid(self, time: Array, order: int = 2) -> Grid:
        return Grid(time, tuple(np.ascontiguousarray(b @ self.from_u) for b in self.trajectory.basis(time, order)))

    def split(self, y: Array) -> tuple[Array, float]:
        """u (n, v) and s."""
        flat, s = y[: self.coefficients], 1.0 if self.stretch is None else float(y[-1])
        if self.shares is None:
            return flat.reshape(self.n, self.per_joint), s
        own = np.split(flat, np.cumsum([share.shape[1] for share in self.shares])[:-1])
        return self._still + [share @ one for share, one in zip(self.shares, own, strict=True)], s

    def join(self, u: Array, s: float = 1.0) -> Array:
        flat = self.packed(u)
        return np.append(flat, s) if self.stretch is not None else flat.copy()

    def result(self, y: Array) -> tuple[Trajectory, Array]:
        """The family, with its duration, and coefficients δ (n, c)."""
        u, s = self.split(y)
        delta = u @ self.from_u.T if self.shares is None else self.trajectory.nearest(u @ self.from_u.T)
        if self.stretch is None:
            return self.trajectory, delta
        return retimed(self.trajectory, delta, self.trajectory.duration * s)

    def from_delta(self, delta: Array) -> Array:
        """y of coefficients that fulfil the family's conditions."""
        return self.join(lstsq(self.from_u, delta.T)[0].T)

    def motion(self, grid: Grid, y: Array) -> Motion:
        if (key := y.tobytes()) not in grid.latest:
            u, s = self.split(y)
            q, qd, qdd = (grid.stacked @ u.T).reshape(3, len(grid.time), self.n)
            grid.latest.clear()
            grid.latest[key] = Motion(grid.time * s, q, qd / s, qdd / s**2)
        return grid.latest[key]

    def pullback(self, grid: Grid, y: Array, motion: Motion, gradient: MotionGradient) -> Array:
        """∂f/∂y from ∂f/∂(q, q̇, q̈) of every sample."""
        _, s = self.split(y)
        du = np.vstack([gradient.q, gradient.qd / s, gradient.qdd / s**2]).T @ grid.stacked
        by_u = self.packed(du)
        if self.stretch is None:
            return by_u
        return np.append(by_u, -(np.vdot(gradient.qd, motion.qd) + 2.0 * np.vdot(gradient.qdd, motion.qdd)) / s)

    def rows(self, grid: Grid, y: Array, motion: Motion, at: Index, slopes: Sequence[Array | None]) -> Array:
        """Derivatives (M, size) of M scalars, the i-th a function of sample at[i] with slopes (M, n) by q, q̇, q̈; None
        where nothing depends on it."""
        _, s = self.split(y)
        blocks, by_stretch = np.zeros((len(at), self.n, self.per_joint)), np.zeros((len(at), 1))
        for k, (slope, values) in enumerate(zip(slopes, (motion.q, motion.qd, motion.qdd), strict=True)):
            if slope is not None:
                row, joint = np.nonzero(slope)
                blocks[row, joint] += (slope[row, joint] / s**k)[:, None] * grid.matrices[k][at[row]]
                by_stretch[:, 0] -= k * (slope * values[at]).sum(axis=1) / s
        out = self.packed(blocks)
        return out if self.stretch is None else np.hstack([out, by_stretch])

    def changes(self, grid: Grid, d: Array, at: Index, slopes: Sequence[Array | None]) -> Array:
        """(M,) rows (as above) times a step d, of a fixed duration, without making them."""
        step = self.split(d)[0] - self._still  # (n, v)
        moved = (grid.stacked @ step.T).reshape(3, len(grid.time), self.n)
        found = np.zeros(len(at))
        for slope, by in zip(slopes, moved, strict=True):
            if slope is not None:
                found += np.einsum("mn,mn->m", slope, by[at])
        return found

    def kept_locked(self, postures: Array) -> Array:
        """Postures (N, n) with locked joints where they stand."""
        return postures if self.locked is None else np.where(np.isnan(self.locked), postures, self.locked)


def finite_limits(robot: Robot, kind: str, reason: str) -> Array:
    """(n,) limits of that kind, which every joint must have, for the given reason."""
    limits = robot.limit(kind)
    for joint, limit in zip(robot.joints, limits, strict=True):
        if not np.isfinite(limit):
            raise ExciterError(
                f"joint '{joint.name}' has no {kind} limit, and {reason}; "
                f"give one, e.g. limits: {{{kind}: 2.0}} in the settings file"
            )
    return limits


def check_posture(robot: Robot, posture: Array, lower: Array, upper: Array) -> Array:
    """(n,) as it was given, within the ranges (n,)."""
    if posture.shape != (robot.n,) or not ((posture >= lower) & (posture <= upper)).all():
        raise MotionError(
            f"the posture {posture.tolist()} is not within the position limits of '{robot.name}'; give one that is"
        )
    return posture


def limit_ranges(robot: Robot) -> tuple[Array, Array]:
    """Lower and upper limits (4, n) of position, velocity, acceleration, jerk; a joint without end gets one turn."""
    low, high = robot.position_range()
    for joint in robot.joints:
        if not np.isfinite([joint.limits.velocity, joint.limits.acceleration]).any():
            raise ExciterError(
                f"joint '{joint.name}' has neither a velocity nor an acceleration limit; give one, "
                "e.g. limits: {velocity: 2.0} in the settings file"
            )
        if joint.is_prismatic and not np.isfinite([joint.limits.lower, joint.limits.upper]).all():
            raise ExciterError(f"prismatic joint '{joint.name}' has no end; give its lower and upper limit")
    rest = [robot.limit(kind) for kind in JOINT_LIMIT_KINDS[1:]]
    return np.array([low, *(-x for x in rest)]), np.array([high, *rest])


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits (4, n) on a grid with derivatives up to jerk, tightened by margins (4, n), fractions of half a range."""

    variables: Variables
    grid: Grid
    lower: Array
    upper: Array
    margins: Array

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """Derivatives that any joint limits."""
        return tuple(k for k in range(4) if np.isfinite(self.upper[k]).any())

    @cached_property
    def matrix(self) -> Array:
        """(R, v): the C_k of all limited kinds, one below the other."""
        return np.ascontiguousarray(np.vstack([self.grid.matrices[k] for k in self.kinds]))

    def _of_rows(self, of_kinds: Array) -> Array:
        """(R, n) from (4, n)."""
        return np.repeat(of_kinds[list(self.kinds)], len(self.grid.time), axis=0)

    @cached_property
    def _bounds(self) -> tuple[Array, Array, Array]:
        """(R, n): lower and upper bounds of the rows at s = 1, margins taken off; (R, 1) the k of s^k."""
        shrink = np.where(np.isfinite(self.upper), self.margins * 0.5 * (self.upper - self.lower), 0.0)
        low, high = self._of_rows(self.lower + shrink), self._of_rows(self.upper - shrink)
        return low, high, self._of_rows(np.arange(4.0)[:, None])

    @cached_property
    def scale(self) -> Array:
        """(R, n): half the range, one where there is no limit."""
        half = 0.5 * (self.upper - self.lower)
        return self._of_rows(np.where(np.isfinite(half), half, 1.0))

    def slack(self, y: Array) -> Array:
        """(2, R, n) distances to lower and upper bound, ≥ 0 where kept, at y."""
        u, s = self.variables.split(y)
        values = self.matrix @ u.T
        low, high, powers = self._bounds
        power = s**powers if s != 1.0 else 1.0
        return np.stack([values - low * power, high * power - values])

    def room(self, y: Array) -> float:
        """Smallest distance to any bound, as a fraction of half its range; negative where broken."""
        return float((self.slack(y) / self.scale).min())

    def rows(self, y: Array, at: Index, joint: Index, slack: Array | None = None) -> tuple[Array, Array, Array]:
        """A (M, size) and bounds l ≤ A d ≤ u (M,) of steps d from y, for chosen rows and joints, in half ranges; slack:
        at y, in these, where it is known."""
        variables = self.variables
        _, s = variables.split(y)
        scale = self.scale[at, joint]
        blocks = np.zeros((len(at), variables.n, variables.per_joint))
        blocks[np.arange(len(at)), joint] = self.matrix[at] / scale[:, None]
        out = variables.packed(blocks)
        low, high = (self.slack(y) / self.scale if slack is None else slack)[:, at, joint]
        if variables.stretch is None:
            return out, -low, high
        _, upper, powers = self._bounds
        power = powers[at, 0]  # symmetric limits ±L s^k: the tangent of s^k, once for each side
        slope = (power * s ** (power - 1.0) * upper[at, joint] / scale)[:, None]
        both = np.vstack([np.hstack([out, slope]), np.hstack([out, -slope])])
        free = np.full(len(at), np.inf)
        return both, np.concatenate([-low, -free]), np.concatenate([free, high])


def check_room(robot: Robot, trajectory: Trajectory) -> None:
    """Refuse a joint that can hardly move: between its limits, or because the duration is so short that swinging to and
    fro within its velocity and acceleration limits leaves less than ``LEAST_JOINT_SWING``."""
    lower, upper = limit_ranges(robot)
    units = ["m" if joint.is_prismatic else "rad" for joint in robot.joints]
    for joint, room, unit in zip(robot.joint_names, upper[0] - lower[0], units, strict=True):
        if room < LEAST_JOINT_RANGE:
            raise ExciterError(
                f"joint '{joint}' has a range of {room:.1e} {unit} only: nothing can be learnt from it; widen its "
                f"limits, or leave it out: lock {joint}"
            )
    pace = 2.0 * np.pi / trajectory.duration
    swing = np.minimum(upper[1] / pace, upper[2] / pace**2)
    if swing[j := int(np.argmin(swing))] < LEAST_JOINT_SWING:
        needed = 2.0 * np.pi * max(LEAST_JOINT_SWING / upper[1, j], np.sqrt(LEAST_JOINT_SWING / upper[2, j]))
        raise ExciterError(
            f"a duration of {trajectory.duration:g} s is too short: within its velocity and acceleration limits joint "
            f"'{robot.joint_names[j]}' could swing by {swing[j]:.1e} {units[j]} only; give {needed:.2g} s or more"
        )


@dataclass(frozen=True, eq=False)
class LinearisedLimits:
    """Values c (K, N), margins taken off, and their slopes by q, q̇, q̈ where asked for, of the motion of y."""

    variables: Variables
    grid: Grid
    y: Array
    motion: Motion
    values: Array
    parts: tuple[LinearRows, ...]

    def rows(self, row: Index, at: Index) -> Array:
        """(M, size): ∂c/∂y of rows ``row`` at samples ``at``."""
        return self._joined(row, np.zeros((len(row), self.variables.size)), self._rows, at)

    def changes(self, row: Index, at: Index, d: Array) -> Array:
        """(M,): the rows times a step d."""
        return self._joined(row, np.zeros(len(row)), partial(self._changes, d), at)

    def _rows(self, at: Index, slopes: Slopes) -> Array:
        return self.variables.rows(self.grid, self.y, self.motion, at, slopes)

    def _changes(self, d: Array, at: Index, slopes: Slopes) -> Array:
        if self.variables.stretch is not None:
            return self._rows(at, slopes) @ d
        return self.variables.changes(self.grid, d, at, slopes)

    def _joined(self, row: Index, out: Array, made: Callable[[Index, Slopes], Array], at: Index) -> Array:
        """Of every constraint what is made of its slopes."""
        first = 0
        for part in self.parts:
            own = np.flatnonzero((row >= first) & (row < first + len(part.values)))
            if len(own):
                out[own] = made(at[own], part.slopes_at(row[own] - first, at[own]))
            first += len(part.values)
        return out

    def reach(self, radius: float) -> Array:
        """(K, N): how much a step of that size may change c, to first order."""
        _, s = self.variables.split(self.y)
        sizes = [size / s**k for k, size in enumerate(self.grid.sizes)]
        found = [np.zeros((0, len(self.motion)))]
        for part in self.parts:
            known = zip(part.sensitivities, sizes, strict=True)
            found.append(sum((x * size for x, size in known if x is not None), np.zeros_like(part.values)))
        return radius * np.concatenate(found)


@dataclass(frozen=True, eq=False)
class NonlinearLimits:
    """Constraints (none, or some) on a grid; margins (K,) are kept free for what happens between its instants. The
    deadline is looked at before every constraint: hundreds of rows, or a user's own function, take their time."""

    variables: Variables
    grid: Grid
    constraints: tuple[Constraint, ...]
    margins: Array
    deadline: Deadline = NEVER

    @classmethod
    def of(cls, variables: Variables, grid: Grid, constraints: Sequence[Constraint], margin: float) -> NonlinearLimits:
        return cls(variables, grid, tuple(constraints), np.full(sum(len(c.rows) for c in constraints), margin))

    def also_at(self, instants: Array) -> NonlinearLimits:
        """With further instants (M,) [s] on the grid."""
        if not len(instants):
            return self
        return replace(self, grid=self.variables.grid(np.union1d(self.grid.time, instants)))

    def values(self, y: Array) -> Array:
        """c (K, N) less the margins: ≥ 0 where kept."""
        return self.at(self.variables.motion(self.grid, y)) - self.margins[:, None]

    def at(self, motion: Motion) -> Array:
        """c (K, N) of any motion, without margins; where loops cannot close, every row is broken."""
        closed = self._closed(motion)
        part = motion if closed.all() else motion[closed]
        found = np.concatenate([np.zeros((0, len(part))), *(one.values(part) for one in self._in_time())])
        if part is motion:
            return found
        out = np.full((len(found), len(motion)), OPEN_ROW)
        out[:, closed] = found
        return out

    def cramped(self, postures: Array) -> BoolArray:
        """(N,): of postures (N, n), where loops cannot move on."""
        found = [one.cramped(postures) for one in self.constraints if isinstance(one, FollowerLimits)]
        return np.asarray(np.any([np.zeros(len(postures), dtype=bool), *found], axis=0))

    def _closed(self, motion: Motion) -> BoolArray:
        """(N,): where all constraints can be asked."""
        loops = [one.closed(motion) for one in self.constraints if isinstance(one, FollowerLimits)]
        return np.asarray(np.all([np.ones(len(motion), dtype=bool), *loops], axis=0))

    def linearised(self, y: Array) -> LinearisedLimits:
        motion = self.variables.motion(self.grid, y)
        parts = tuple(getattr(one, "linearised_in_part", one.linearised)(motion) for one in self._in_time())
        none = np.zeros((0, len(motion)))
        values = np.concatenate([none, *(part.values for part in parts)]) - self.margins[:, None]
        return LinearisedLimits(self.variables, self.grid, y, motion, values, parts)

    def _in_time(self) -> Iterator[Constraint]:
        for constraint in self.constraints:
            self.deadline.check()
            yield constraint
