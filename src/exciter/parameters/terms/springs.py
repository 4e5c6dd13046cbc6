"""Torques of position alone: springs, gas springs, and sines of the joint's angle.

The lever of a spring or cylinder has one end on the base side at distance D, one on the link at distance k.
Seen along the joint's axis both ends and the axis are a triangle with the angle δ = q + offset at the axis:

    length L = √(D² + k² − 2 D k cos δ),   lever arm h = dL/dq = D k sin δ / L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters.terms.term import (
    TORQUE_UNITS,
    BoundTerm,
    Column,
    Interval,
    Joint,
    JointTerm,
    LoadRange,
    Partials,
    PotentialTerm,
    Ranges,
    RigidTorque,
    Samples,
    check_positive,
    cosine,
    joint_columns,
    revolute_index,
    sine,
    times,
)
from exciter.robot.robot import Robot
from exciter.settings import Number
from exciter.typing import Array

Arm = Annotated[float, Number(above=0.0, unit="m")]
Angle = Annotated[float, Number(unit="rad")]
STIFFNESS_COLUMN = Column("Ks", ("N/m", ""), nonnegative=True, conservative=True)
PRELOAD_COLUMN = Column("Ps", ("N", ""), conservative=True)
GRAVITY_SINE_COLUMN = Column("Gs", TORQUE_UNITS, conservative=True)
GRAVITY_COSINE_COLUMN = Column("Gc", TORQUE_UNITS, conservative=True)
GAS_FORCE_COLUMN = Column("Fg", ("N", ""), nonnegative=True, conservative=True)


@dataclass(frozen=True)
class Lever:
    """D and k [m] different (or the length could vanish), offset [rad]."""

    base_arm: float
    link_arm: float
    offset: float

    def __post_init__(self) -> None:
        check_positive(self.base_arm, "base_arm")
        check_positive(self.link_arm, "link_arm")
        if not math.isfinite(self.offset):
            raise ParameterError(f"offset is {self.offset}; it must be a finite angle [rad]")
        if math.isclose(self.base_arm, self.link_arm, rel_tol=1e-6):
            raise ParameterError(
                f"base_arm and link_arm are both {self.base_arm:g} m, so the spring's length could vanish; "
                "give two different lengths"
            )

    @property
    def shortest(self) -> float:
        """Length at δ = 0 [m]."""
        return abs(self.base_arm - self.link_arm)

    @property
    def longest(self) -> float:
        """Length at δ = π [m]."""
        return self.base_arm + self.link_arm

    def ranges(self, q: Interval) -> tuple[Interval, Interval]:
        """Lowest and highest length L and lever arm h while q stays within an interval."""
        product = self.base_arm * self.link_arm
        angle = q[0] + self.offset, q[1] + self.offset
        nearest = cosine(angle)
        low, high = (
            np.sqrt(self.base_arm**2 + self.link_arm**2 - 2.0 * product * cos) for cos in (nearest[1], nearest[0])
        )
        arm = times(sine(angle), (product / high, product / low))
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
class Sinusoid(PotentialTerm):
    """First the sines of q + offset [rad] of all its joints, then the cosines of the same joints."""

    offset: float = 0.0

    def entries(self, at: Samples) -> Array:
        sines, cosines = self._angles(at)
        return np.concatenate([np.sin(sines), np.cos(cosines)])

    def partials(self, at: Samples) -> Partials:
        sines, cosines = self._angles(at)
        return Partials(q=np.concatenate([np.cos(sines), -np.sin(cosines)]))

    def energies(self, at: Samples) -> Array:
        sines, cosines = self._angles(at)
        return np.concatenate([-np.cos(sines), np.sin(cosines)])

    def curvature(self, rates: Array) -> Array:
        """|d²/dt² sin| ≤ q̇² + |q̈|, and the same of the cosine."""
        return rates[0, self.columns.joints] ** 2 + rates[1, self.columns.joints]

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        joints = self.columns.joints[: len(self.rows) // 2]
        angle = ranges.q_low[joints] + self.offset, ranges.q_high[joints] + self.offset
        sines, cosines = sine(angle), cosine(angle)
        return np.concatenate([sines[0], cosines[0]]), np.concatenate([sines[1], cosines[1]])

    def _angles(self, at: Samples) -> tuple[Array, Array]:
        """Those of the sines and those of the cosines, each (m, N)."""
        sines, cosines = np.split(at.q + self.offset, 2)
        return sines, cosines


@dataclass(frozen=True)
class Spring(JointTerm):
    """Γ = (Ks (L − L0) + Ps) dL/dq, where L(q) is the spring's length (see ``Lever``).

    Ks stiffness [N/m], Ps tension at the free length L0 [N]. base_arm D, link_arm k, free_length L0 [m];
    offset [rad]: q + offset is the angle between both arms. free_length = 0 with Ps = 0 is the sine of
    GravitySpring.
    """

    word: ClassVar[str] = "spring"
    title: ClassVar[str] = "spring"
    joint: Joint
    base_arm: Arm
    link_arm: Arm
    offset: Angle
    free_length: Annotated[float, Number(least=0.0, unit="m")]

    def __post_init__(self) -> None:
        Lever(self.base_arm, self.link_arm, self.offset)

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joint = revolute_index(robot, self.joint, "Spring")
        lever = Lever(self.base_arm, self.link_arm, self.offset)
        return _Spring(joint_columns(robot, [joint], STIFFNESS_COLUMN, PRELOAD_COLUMN), lever, self.free_length)


@dataclass(frozen=True, eq=False)
class _Spring(PotentialTerm):
    lever: Lever
    free_length: float

    def entries(self, at: Samples) -> Array:
        length, arm, _ = self.lever.at(at.q[0])
        return np.stack([(length - self.free_length) * arm, arm])

    def partials(self, at: Samples) -> Partials:
        length, arm, slope = self.lever.at(at.q[0])
        return Partials(q=np.stack([arm**2 + (length - self.free_length) * slope, slope]))

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        joint = self.columns.joints[0]
        length, arm = self.lever.ranges((ranges.q_low[joint], ranges.q_high[joint]))
        force = times((length[0] - self.free_length, length[1] - self.free_length), arm)
        return np.stack([force[0], arm[0]]), np.stack([force[1], arm[1]])

    def energies(self, at: Samples) -> Array:
        extension = self.lever.at(at.q[0])[0] - self.free_length
        return np.stack([0.5 * extension**2, extension])


@dataclass(frozen=True)
class GravitySpring(JointTerm):
    """Γ = Gs sin(q + offset) + Gc cos(q + offset), amplitude and phase both unknown.

    A spring of stiffness K between points at distances a and b from the axis gives K a b sin(q − q0): the
    two columns hold K a b cos(q0 + offset) and −K a b sin(q0 + offset). On a joint whose axis is always
    horizontal the link's own weight has the same shape, and only the sum can be identified; a spring with a
    free length (``Spring``) has a shape of its own.
    """

    word: ClassVar[str] = "gravity-spring"
    title: ClassVar[str] = "gravity spring"
    joint: Joint
    offset: Angle = 0.0

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joint = revolute_index(robot, self.joint, "GravitySpring")
        return Sinusoid(joint_columns(robot, [joint], GRAVITY_SINE_COLUMN, GRAVITY_COSINE_COLUMN), self.offset)


@dataclass(frozen=True)
class GasSpring(JointTerm):
    """Γ = Fg h V/(V − A dl), with the piston's travel dl = L − |D − k| and lever h = dL/dq (see ``Lever``).

    Fg [N] is the cylinder's force at dl = 0; the gas is isothermal, p ∝ 1/(V − A dl). base_arm D, link_arm
    k [m]; offset [rad]: q + offset is the angle between both arms; volume V [m³] of gas at dl = 0; area A
    [m²] of the piston.
    """

    word: ClassVar[str] = "gas-spring"
    title: ClassVar[str] = "gas spring"
    joint: Joint
    base_arm: Arm
    link_arm: Arm
    offset: Angle
    volume: Annotated[float, Number(above=0.0, unit="m³")]
    area: Annotated[float, Number(above=0.0, unit="m²")]

    def __post_init__(self) -> None:
        lever = Lever(self.base_arm, self.link_arm, self.offset)
        if (swept := self.area * (lever.longest - lever.shortest)) >= self.volume:
            raise ParameterError(
                f"the piston of GasSpring can sweep {swept:.4g} m³ but the gas has {self.volume:.4g} m³; "
                "give a larger volume, a smaller area or a shorter link_arm"
            )

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joint = revolute_index(robot, self.joint, "GasSpring")
        lever = Lever(self.base_arm, self.link_arm, self.offset)
        return _GasSpring(joint_columns(robot, [joint], GAS_FORCE_COLUMN), lever, self.area / self.volume)


@dataclass(frozen=True, eq=False)
class _GasSpring(PotentialTerm):
    lever: Lever
    rate: float  # A/V [1/m]

    def entries(self, at: Samples) -> Array:
        length, arm, _ = self.lever.at(at.q)
        return arm * self._pressure(length)

    def partials(self, at: Samples) -> Partials:
        length, arm, slope = self.lever.at(at.q)
        pressure = self._pressure(length)
        return Partials(q=slope * pressure + arm**2 * self.rate * pressure**2)

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        joints = self.columns.joints
        length, arm = self.lever.ranges((ranges.q_low[joints], ranges.q_high[joints]))
        return times(arm, (self._pressure(length[0]), self._pressure(length[1])))

    def energies(self, at: Samples) -> Array:
        travel = self.lever.at(at.q)[0] - self.lever.shortest
        return -np.log1p(-self.rate * travel) / self.rate

    def _pressure(self, length: Array) -> Array:
        """p/p(dl = 0)."""
        return 1.0 / (1.0 - self.rate * (length - self.lever.shortest))
