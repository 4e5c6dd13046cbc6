"""What a joint term is: a motion in, named linear torque columns and their exact derivatives out.

The torque that the drives must give is Γ = Φ χ; a joint term adds columns to Φ and parameters to χ. Everything that
acts at the joints and is linear in its parameters is one: friction, rotor inertia, offset, springs, drive coupling. A
term maps a whole motion, arrays over time, because pre-sliding friction remembers where it came from.

Settings and work are two objects: a ``JointTerm`` is a small frozen settings object that knows no robot, ``bind`` makes
the ``BoundTerm`` that computes. Only structurally non-zero entries (joint row, column) are ever stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np

from exciter.errors import ExciterError, MotionError, ParameterError, shown
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.settings import PerJointNumber, Settings, Text
from exciter.typing import Array, BoolArray

#: Units of a parameter for a revolute (or continuous) and for a prismatic joint.
Units = tuple[str, str]
TORQUE_UNITS: Units = ("N·m", "N")
Joint = Annotated[str, Text("a joint")]
PerJoint = float | Mapping[str, float] | Sequence[float]
Interval = tuple[Array, Array]  # lowest and highest


@dataclass(frozen=True)
class Column:
    """One kind of column: its symbol, its units, and what physics says about its parameter."""

    symbol: str
    units: Units
    nonnegative: bool = False
    conservative: bool = False


@dataclass(frozen=True)
class Columns:
    """k columns on n joints; ``rows`` lists (joint row, column) of the entries, in their order."""

    n: int
    names: tuple[str, ...]
    units: tuple[str, ...]
    rows: tuple[tuple[int, int], ...]
    nonnegative: tuple[bool, ...]
    conservative: tuple[bool, ...]

    @classmethod
    def of(cls, robot: Robot, *columns: tuple[str, Column, list[int]]) -> Columns:
        """Of columns given by name, kind, and the joints that each acts on."""
        return cls(
            n=robot.n,
            names=tuple(name for name, _, _ in columns),
            units=tuple(kind.units[robot.joints[joints[0]].is_prismatic] for _, kind, joints in columns),
            rows=tuple((joint, k) for k, (_, _, joints) in enumerate(columns) for joint in joints),
            nonnegative=tuple(kind.nonnegative for _, kind, _ in columns),
            conservative=tuple(kind.conservative for _, kind, _ in columns),
        )

    @property
    def joints(self) -> list[int]:
        """Joint row of each entry."""
        return [joint for joint, _ in self.rows]


def joint_columns(robot: Robot, joints: list[int], *kinds: Column) -> Columns:
    """For every kind one column per joint, acting on that joint alone; kinds one after the other."""
    return Columns.of(robot, *((f"{kind.symbol}{j + 1}", kind, [j]) for kind in kinds for j in joints))


def joint_indices(robot: Robot, joints: tuple[str, ...] | str | None) -> list[int]:
    """Indices of the named joints, all that a drive acts on for None; unknown and repeated names are refused."""
    if joints is None:
        return list(robot.actuated)
    names = (joints,) if isinstance(joints, str) else tuple(joints)
    if len(set(names)) != len(names) or not names:
        raise ParameterError(f"a term was given the joints {list(names)}; name at least one joint, each once")
    return [robot.index(name) for name in names]


def revolute_indices(robot: Robot, joints: tuple[str, ...] | str | None, what: str) -> list[int]:
    """Indices of the named joints, which must turn; all that turn for None."""
    turning = [index for index, joint in enumerate(robot.joints) if not joint.is_prismatic]
    wanted = [j for j in turning if robot.joints[j].actuated] if joints is None else joint_indices(robot, joints)
    if not wanted:
        problem = f"{what} repeats every turn, but no joint of robot '{robot.name}' turns"
        raise ParameterError(f"{problem}; leave the term out")
    if sliding := [robot.joint_names[index] for index in wanted if index not in turning]:
        raise ParameterError(f"{what} repeats every turn, but joint '{sliding[0]}' is prismatic; name revolute joints")
    return wanted


class OfNamedJoints(PerJointNumber):
    """Of the joints that a term has, which need not be all of the robot's: ``per_joint`` compares with them."""

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        return super().check(given, {})


Speed = Annotated[PerJoint, OfNamedJoints(above=0.0, unit="rad/s or m/s")]
Travel = Annotated[PerJoint, OfNamedJoints(above=0.0, unit="rad or m")]


def per_joint(value: PerJoint, names: Sequence[str], what: str) -> Array:
    """(m, 1) the value of each named joint, ready to broadcast over samples."""
    if isinstance(value, Mapping):
        if missing := [name for name in names if name not in value]:
            problem = f"{what} is given for {', '.join(value) or 'no joint'} but not for '{missing[0]}'"
            raise ParameterError(f"{problem}; give it for every joint of the term")
        value = [value[name] for name in names]
    if isinstance(value, Sequence) and len(value) != len(names):
        raise ParameterError(f"{what} has {len(value)} values for {len(names)} joints; give one per joint or one")
    return np.full(len(names), value, dtype=np.float64)[:, None]


def check_within(value: PerJoint, lower: float, upper: float, what: str) -> None:
    given = list(value.values()) if isinstance(value, Mapping) else value
    try:
        numbers = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ParameterError(f"{what} must be a number, or one number per joint; given {shown(value)}") from None
    for number in numbers:
        if not lower <= number <= upper:
            raise ParameterError(f"{what} is {number:g}; it must lie in {lower:g} … {upper:g}")


@dataclass(frozen=True, eq=False)
class Ranges:
    """Lowest and highest q, q̇, q̈ of every joint over M intervals of time, each (n, M)."""

    q_low: Array
    q_high: Array
    qd_low: Array
    qd_high: Array
    qdd_low: Array
    qdd_high: Array


#: What the torque of the rigid bodies can be over the same M intervals: lowest and highest (n, M) [N·m or N] of links
#: (n, 10), the description's for None.
LoadRange = Callable[[Array | None], Interval]


class RigidTorque(Protocol):
    """Torque (N, n) [N·m or N] of the rigid bodies, and the gradient of Σ seed ⊙ torque, for terms that depend on load.
    inertias (n, 10): in the frames and the order of the model's χ, the description's for None."""

    def inverse_dynamics(self, motion: Motion, inertias: Array | None = None) -> Array: ...

    def torque_pullback(self, motion: Motion, seed: Array, inertias: Array | None = None) -> MotionGradient: ...


class JointTerm(Settings, ABC):
    """Settings of a term, frozen, without a robot."""

    by_word: ClassVar[bool] = True
    refusal: ClassVar[type[ExciterError]] = ParameterError

    @abstractmethod
    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        """The term on this robot. ``rigid`` is needed by load-dependent friction only."""

    def smoothed(self, width: float) -> JointTerm:
        """The term to optimise with: a true sign of the velocity becomes tanh(q̇/width), others stay."""
        return self


@dataclass(frozen=True, eq=False)
class BoundTerm(ABC):
    """k columns on a robot with n joints, non-zero in the entries ``rows`` only.

    Conservative columns also come as energies: kinetic ones depend on q̇ alone, potential ones on q alone,
    and such a column is d/dt(momentum) + force, with q̇ᵀ · column = d/dt(kinetic + potential)."""

    columns: Columns
    names: tuple[str, ...] = field(init=False)  #: the papers' symbol and the joint number from 1 (Ia1, Fv1, Fs1, off1)
    units: tuple[str, ...] = field(init=False)
    rows: tuple[tuple[int, int], ...] = field(init=False)  #: (joint row, column) of every entry that can be non-zero
    nonnegative: tuple[bool, ...] = field(init=False)  #: whether physics wants each parameter ≥ 0 (friction, stiffness)
    conservative: tuple[bool, ...] = field(init=False)  #: whether each column derives from an energy

    def __post_init__(self) -> None:
        for name in ("names", "units", "rows", "nonnegative", "conservative"):
            object.__setattr__(self, name, getattr(self.columns, name))

    @property
    def has_memory(self) -> bool:
        """Whether values depend on earlier samples, so that the motion must be one recording in time order."""
        return False

    def after(self, motion: Motion) -> BoundTerm:
        """The term for a motion whose first sample is the last of this one; itself where nothing is remembered."""
        if self.has_memory:
            raise MotionError(f"{type(self).__name__} remembers earlier samples, and cannot go on: it needs after()")
        return self

    @property
    def joint_wise(self) -> bool:
        """Whether every entry depends on the same sample of its own joint and nothing else."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about how the term computes, in words."""
        return ()

    @abstractmethod
    def values(self, motion: Motion) -> Array:
        """(len(rows), N) each entry over time, contiguous [torque per unit of the parameter]."""

    @abstractmethod
    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        """Gradient of Σ seed ⊙ values with respect to every sample of q, q̇, q̈; seed (len(rows), N)."""

    # -- between samples, for certificates ---------------------------------------------------------------

    def curvature(self, rates: Array) -> Array:
        """(len(rows), M) ≥ |d²/dt²| of each entry while |q̇|, |q̈|, |q⃛|, |q⁗| stay below ``rates`` (4, n, M); infinite
        for entries that are not that smooth, whose range is used instead."""
        return np.full((len(self.rows), rates.shape[2]), np.inf)

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        """Lowest and highest value, each (len(rows), M), of every entry while the joints stay within ``ranges``;
        infinite where nothing can be said. ``load`` gives the range of the rigid torque of each joint, (n, M)."""
        unknown = np.full((len(self.rows), ranges.q_low.shape[1]), np.inf)
        return -unknown, unknown

    # -- energy: None when no column has such an energy ------------------------------------------------

    def kinetic(self, motion: Motion) -> Array | None:
        """(k, N) kinetic energy per unit of each parameter, zero for columns without one."""
        return None

    def potential(self, motion: Motion) -> Array | None:
        """(k, N) potential energy per unit of each parameter, zero for columns without one."""
        return None

    def momentum(self, motion: Motion) -> Array | None:
        """(len(rows), N) ∂ kinetic / ∂q̇ of the entry's joint: the entries of B1."""
        return None

    def force(self, motion: Motion) -> Array | None:
        """(len(rows), N) ∂ potential / ∂q of the entry's joint: the entries of B2."""
        return None

    def energy_pullback(
        self, motion: Motion, kinetic_seed: Array | None = None, potential_seed: Array | None = None
    ) -> MotionGradient:
        """Gradient of Σ kinetic_seed ⊙ kinetic + Σ potential_seed ⊙ potential; seeds (k, N) or None."""
        column = [column for _, column in self.rows]
        momentum, force = self.momentum(motion), self.force(motion)
        q = None if force is None or potential_seed is None else potential_seed[column] * force
        qd = None if momentum is None or kinetic_seed is None else kinetic_seed[column] * momentum
        return scatter(motion, self.columns.joints, q, qd)

    def samples(self, motion: Motion, joints: list[int] | None = None) -> Samples:
        """q, q̇, q̈ of these joints, those of the entries unless given; a motion of another robot is refused."""
        if motion.n != self.columns.n:
            problem = f"the motion has {motion.n} joints and the robot {self.columns.n}"
            raise MotionError(f"{problem}; give one column per joint")
        joints = self.columns.joints if joints is None else joints
        return Samples(*(x if joints == list(range(motion.n)) else x[joints] for x in motion.samples_last))


def scatter(
    motion: Motion, joints: list[int], q: Array | None = None, qd: Array | None = None, qdd: Array | None = None
) -> MotionGradient:
    """The gradient whose rows, each (N,), belong to ``joints``; rows of one joint add up."""

    def total(rows: Array | None) -> Array:
        if rows is not None and joints == list(range(motion.n)):
            return rows.T
        sums = np.zeros((motion.n, len(motion)))
        if rows is not None:
            for joint, row in zip(joints, rows, strict=True):
                sums[joint] += row
        return sums.T

    return MotionGradient(q=total(q), qd=total(qd), qdd=total(qdd))


@dataclass(frozen=True, eq=False)
class Samples:
    """q, q̇, q̈ of chosen joints, each (m, N), one contiguous row per joint."""

    q: Array
    qd: Array
    qdd: Array


@dataclass(frozen=True, eq=False)
class Partials:
    """∂ entry / ∂ (q, q̇, q̈) of the entry's joint, each (len(rows), N); None where it is zero."""

    q: Array | None = None
    qd: Array | None = None
    qdd: Array | None = None


class PointwiseTerm(BoundTerm):
    """Give ``entries`` and ``partials`` of the samples of each entry's joint; the rest follows."""

    joint_wise = True

    @abstractmethod
    def entries(self, at: Samples) -> Array:
        """(len(rows), N)."""

    @abstractmethod
    def partials(self, at: Samples) -> Partials: ...

    def values(self, motion: Motion) -> Array:
        return self.entries(self.samples(motion))

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        d = self.partials(self.samples(motion))
        q, qd, qdd = (None if p is None else seed * p for p in (d.q, d.qd, d.qdd))
        return scatter(motion, self.columns.joints, q, qd, qdd)


class PotentialTerm(PointwiseTerm):
    """A torque ∂u/∂q: all of it is force. Give ``energies`` too."""

    @abstractmethod
    def energies(self, at: Samples) -> Array:
        """(k, N) with one entry per column."""

    def potential(self, motion: Motion) -> Array:
        return self.energies(self.samples(motion))

    def force(self, motion: Motion) -> Array:
        return self.values(motion)


# -- sound arithmetic with intervals ----------------------------------------------------------------------------------


def times(a: Interval, b: Interval) -> Interval:
    """Every product of a number of a and one of b."""
    products = [x * y for x in a for y in b]
    return reduce(np.minimum, products), reduce(np.maximum, products)


def absolute(a: Interval) -> Interval:
    """|x| for every x of a."""
    low = np.maximum(0.0, np.maximum(a[0], -a[1]))
    return low, np.maximum(np.abs(a[0]), np.abs(a[1]))


def sine(angle: Interval) -> Interval:
    """sin x for every x of an interval of angles [rad]."""
    return cosine((angle[0] - 0.5 * np.pi, angle[1] - 0.5 * np.pi))


def cosine(angle: Interval) -> Interval:
    """cos x for every x of an interval of angles [rad]."""
    low, high = np.cos(angle[0]), np.cos(angle[1])

    def passes(extreme: float) -> BoolArray:
        turns = [(end - extreme) / (2.0 * np.pi) for end in angle]
        return np.floor(turns[1]) >= np.ceil(turns[0])

    lowest = np.where(passes(np.pi), -1.0, np.minimum(low, high))
    return lowest, np.where(passes(0.0), 1.0, np.maximum(low, high))
