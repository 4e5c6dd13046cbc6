"""Torques that derive from an energy: of the rotor, and of position alone: offset, springs, sines of the joint's angle.

The lever of a spring or cylinder has one end on the base side at distance D, one on the link at distance k.
Seen along the joint's axis both ends and the axis are a triangle with the angle δ = q + offset at the axis:

    length L = √(D² + k² − 2 D k cos δ),   lever arm h = dL/dq = D k sin δ / L."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters.terms import term as common
from exciter.parameters.terms.term import BoundTerm, Column, Interval, JointTerm, Ranges, RigidTorque, Samples
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import Names, Number, Registry
from exciter.typing import Array

Arm = Annotated[float, Number(above=0.0, unit="m")]
Angle = Annotated[float, Number(unit="rad")]
ROTOR_INERTIA_COLUMN = Column("Ia", ("kg·m²", "kg"), nonnegative=True, conservative=True)
OFFSET_COLUMN = Column("off", common.TORQUE_UNITS, conservative=True)
RIPPLE_COLUMNS = tuple(Column(symbol, common.TORQUE_UNITS, conservative=True) for symbol in ("Rs", "Rc"))
GRAVITY_COLUMNS = tuple(Column(symbol, common.TORQUE_UNITS, conservative=True) for symbol in ("Gs", "Gc"))


@dataclass(frozen=True)
class RotorInertia(JointTerm):
    """The inertia of the drives' rotors.

    Γ = Ia q̈, kinetic energy ½ Ia q̇² (the rotor's gyroscopic effect on the arm is left out).

    >>> ex.DynamicModel(robot, [ex.RotorInertia()]).standard[-3:]
    ('Ia1', 'Ia2', 'Ia3')"""

    word, title = "rotor", "rotor inertia"
    joints: Names | None = None

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joints = common.joint_indices(robot, self.joints)
        return _RotorInertia(common.joint_columns(robot, joints, ROTOR_INERTIA_COLUMN))


class _RotorInertia(common.PointwiseTerm):
    def entries(self, at: Samples) -> Array:
        return at.qdd.copy()

    def partials(self, at: Samples) -> common.Partials:
        return common.Partials(qdd=np.ones_like(at.qdd))

    def curvature(self, rates: Array) -> Array:
        return rates[3, self.columns.joints]

    def kinetic(self, motion: Motion) -> Array:
        return 0.5 * self.samples(motion).qd ** 2

    def momentum(self, motion: Motion) -> Array:
        return self.samples(motion).qd.copy()


@dataclass(frozen=True)
class Offset(JointTerm):
    """A constant torque.

    Γ = off, potential energy off · q.

    >>> ex.DynamicModel(robot, [ex.Offset()]).units[-1]
    'N·m'"""

    word, title = "offset", "offset"
    joints: Names | None = None

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return _Offset(common.joint_columns(robot, common.joint_indices(robot, self.joints), OFFSET_COLUMN))


class _Offset(common.PotentialTerm):
    def entries(self, at: Samples) -> Array:
        return np.ones_like(at.q)

    def partials(self, at: Samples) -> common.Partials:
        return common.Partials()

    def energies(self, at: Samples) -> Array:
        return at.q.copy()

    def curvature(self, rates: Array) -> Array:
        return np.zeros_like(rates[0, self.columns.joints])

    def value_range(self, ranges: Ranges, load: common.LoadRange) -> Interval:
        ones = np.ones_like(ranges.q_low[self.columns.joints])
        return ones, ones


@dataclass(frozen=True, eq=False)
class Sinusoid(common.PotentialTerm):
    """First the sines of q + offset [rad] of all its joints, then the cosines of the same joints."""

    offset: float = 0.0

    def entries(self, at: Samples) -> Array:
        sines, cosines = np.split(at.q + self.offset, 2)
        return np.concatenate([np.sin(sines), np.cos(cosines)])

    def partials(self, at: Samples) -> common.Partials:
        sines, cosines = np.split(at.q + self.offset, 2)
        return common.Partials(q=np.concatenate([np.cos(sines), -np.sin(cosines)]))

    def energies(self, at: Samples) -> Array:
        sines, cosines = np.split(at.q + self.offset, 2)
        return np.concatenate([-np.cos(sines), np.sin(cosines)])

    def curvature(self, rates: Array) -> Array:
        """|d²/dt² sin| ≤ q̇² + |q̈|, and the same of the cosine."""
        return rates[0, self.columns.joints] ** 2 + rates[1, self.columns.joints]

    def value_range(self, ranges: Ranges, load: common.LoadRange) -> Interval:
        joints = self.columns.joints[: len(self.rows) // 2]
        angle = ranges.q_low[joints] + self.offset, ranges.q_high[joints] + self.offset
        low, high = (np.concatenate(pair) for pair in zip(common.sine(angle), common.cosine(angle), strict=True))
        return low, high


@dataclass(frozen=True)
class Ripple(JointTerm):
    """Γ = Rs sin q + Rc cos q, potential energy −Rs cos q + Rc sin q, on every revolute joint unless named.

    On the first joint whose axis is horizontal the link's own weight has the same shape, and only the sum can be
    identified; joints that turn about a vertical axis, or are carried by others that turn, tell it alone."""

    word, title = "ripple", "torque that repeats every turn"
    joints: Names | None = None

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joints = common.revolute_indices(robot, self.joints, "Ripple")
        return Sinusoid(common.joint_columns(robot, joints, *RIPPLE_COLUMNS))


@dataclass(frozen=True)
class GravitySpring(JointTerm):
    """Γ = Gs sin(q + offset) + Gc cos(q + offset), amplitude and phase both unknown.

    A spring of stiffness K between points at distances a and b from the axis gives K a b sin(q − q0): the
    two columns hold K a b cos(q0 + offset) and −K a b sin(q0 + offset). On a joint whose axis is always
    horizontal the link's own weight has the same shape, and only the sum can be identified; a spring with a
    free length (``Spring``) has a shape of its own."""

    word, title = "gravity-spring", "gravity spring"
    joint: common.Joint
    offset: Angle = 0.0

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return Sinusoid(_lever_columns(self, robot, *GRAVITY_COLUMNS), self.offset)


def _lever_columns(term: Lever | GravitySpring, robot: Robot, *kinds: Column) -> common.Columns:
    """Of a joint that must turn: the geometry is a lever."""
    index = robot.index(term.joint)
    if robot.joints[index].is_prismatic:
        problem = f"{type(term).__name__} acts on a lever that turns, but joint '{term.joint}' is prismatic"
        raise ParameterError(f"{problem}; name a revolute one")
    return common.joint_columns(robot, [index], *kinds)


@dataclass(frozen=True)
class Lever(JointTerm):
    """Settings of what acts on a lever: D and k [m] different (or the length could vanish), offset [rad]."""

    kinds: ClassVar[tuple[Column, ...]]
    joint: common.Joint
    base_arm: Arm
    link_arm: Arm
    offset: Angle

    def __post_init__(self) -> None:
        if math.isclose(self.base_arm, self.link_arm, rel_tol=1e-6):
            problem = f"base_arm and link_arm are both {self.base_arm:g} m, so the spring's length could vanish"
            raise ParameterError(f"{problem}; give two different lengths")

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return _OnLever(_lever_columns(self, robot, *self.kinds), self)

    @abstractmethod
    def forces(self, length: Array) -> tuple[Array, Array, Array]:
        """Of each column at lengths L (1, N): the force f(L), which does not fall with L, df/dL, and ∫ f dL, (k, N)."""

    @property
    def shortest(self) -> float:
        """Length at δ = 0 [m]."""
        return abs(self.base_arm - self.link_arm)

    def ranges(self, q: Interval) -> tuple[Interval, Interval]:
        """Lowest and highest length L and lever arm h while q stays within an interval."""
        product = self.base_arm * self.link_arm
        angle = q[0] + self.offset, q[1] + self.offset
        farthest, nearest = common.cosine(angle)
        low, high = (np.sqrt(self.base_arm**2 + self.link_arm**2 - 2.0 * product * cos) for cos in (nearest, farthest))
        arm = common.times(common.sine(angle), (product / high, product / low))
        reach = min(self.base_arm, self.link_arm)  # no line through the end of an arm passes the axis further away
        return (low, high), (np.maximum(arm[0], -reach), np.minimum(arm[1], reach))

    def at(self, q: Array) -> tuple[Array, Array, Array]:
        """Length L [m], lever arm h = dL/dq [m], and dh/dq [m]."""
        angle = q + self.offset
        product = self.base_arm * self.link_arm
        length = np.sqrt(self.base_arm**2 + self.link_arm**2 - 2.0 * product * np.cos(angle))
        arm = product * np.sin(angle) / length
        return length, arm, (product * np.cos(angle) - arm**2) / length


@dataclass(frozen=True, eq=False)
class _OnLever(common.PotentialTerm):
    """Γ = f(L) h, of the potential ∫ f dL."""

    lever: Lever

    def entries(self, at: Samples) -> Array:
        length, arm, _ = self.lever.at(at.q[:1])
        return self.lever.forces(length)[0] * arm

    def partials(self, at: Samples) -> common.Partials:
        length, arm, turn = self.lever.at(at.q[:1])
        force, slope, _ = self.lever.forces(length)
        return common.Partials(q=force * turn + slope * arm**2)

    def value_range(self, ranges: Ranges, load: common.LoadRange) -> Interval:
        joint = self.columns.joints[:1]
        (shortest, longest), arm = self.lever.ranges((ranges.q_low[joint], ranges.q_high[joint]))
        return common.times((self.lever.forces(shortest)[0], self.lever.forces(longest)[0]), arm)

    def energies(self, at: Samples) -> Array:
        return self.lever.forces(self.lever.at(at.q[:1])[0])[2]


@dataclass(frozen=True)
class Spring(Lever):
    """Γ = (Ks (L − L0) + Ps) dL/dq, where L(q) is the spring's length (see ``Lever``).

    Ks stiffness [N/m], Ps tension at the free length L0 [N]. base_arm D, link_arm k, free_length L0 [m]; offset [rad]:
    q + offset is the angle between both arms. free_length = 0 with Ps = 0 is the sine of GravitySpring."""

    word, title = "spring", "spring"
    kinds = (Column("Ks", ("N/m", ""), nonnegative=True, conservative=True), Column("Ps", ("N", ""), conservative=True))
    free_length: Annotated[float, Number(least=0.0, unit="m")]

    def forces(self, length: Array) -> tuple[Array, Array, Array]:
        extension, one = length - self.free_length, np.ones_like(length)
        pairs = (extension, one), (one, 0.0 * one), (0.5 * extension**2, extension)
        force, slope, energy = (np.concatenate(pair) for pair in pairs)
        return force, slope, energy


@dataclass(frozen=True)
class GasSpring(Lever):
    """Γ = Fg h V/(V − A dl), with the piston's travel dl = L − |D − k| and lever h = dL/dq (see ``Lever``).

    Fg [N] is the cylinder's force at dl = 0; the gas is isothermal, p ∝ 1/(V − A dl). base_arm D, link_arm k [m];
    offset [rad]: q + offset is the angle between both arms; volume V [m³] of gas at dl = 0; area A [m²] of the piston.
    """

    word, title = "gas-spring", "gas spring"
    kinds = (Column("Fg", ("N", ""), nonnegative=True, conservative=True),)
    volume: Annotated[float, Number(above=0.0, unit="m³")]
    area: Annotated[float, Number(above=0.0, unit="m²")]

    def __post_init__(self) -> None:
        super().__post_init__()
        if (swept := self.area * (self.base_arm + self.link_arm - self.shortest)) >= self.volume:
            problem = f"the piston of GasSpring can sweep {swept:.4g} m³ but the gas has {self.volume:.4g} m³"
            raise ParameterError(f"{problem}; give a larger volume, a smaller area or a shorter link_arm")

    def forces(self, length: Array) -> tuple[Array, Array, Array]:
        rate = self.area / self.volume  # [1/m]
        share = rate * (length - self.shortest)
        pressure = 1.0 / (1.0 - share)  # p/p(dl = 0)
        return pressure, rate * pressure**2, -np.log1p(-share) / rate


#: Torques of position alone.
POSITION_TERMS = Registry[JointTerm]("spring", Spring, GravitySpring, GasSpring, Ripple, Offset)
