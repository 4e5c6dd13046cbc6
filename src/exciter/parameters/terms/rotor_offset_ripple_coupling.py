"""What a drive adds beside friction: rotor, offset, ripple, and a motor that turns with two joints, as in wrists."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters.terms.coulomb_and_presliding import BoundShape, Shape, Sign
from exciter.parameters.terms.springs import Sinusoid
from exciter.parameters.terms.term import (
    TORQUE_UNITS,
    BoundTerm,
    Column,
    Columns,
    Interval,
    Joint,
    JointTerm,
    LoadRange,
    Partials,
    PointwiseTerm,
    PotentialTerm,
    Ranges,
    RigidTorque,
    Samples,
    Speed,
    joint_columns,
    joint_indices,
    per_joint,
    revolute_indices,
    scatter,
    times,
)
from exciter.parameters.terms.viscous import SQUARE_ROOT_COLUMN, root_slope, rounded_root
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.settings import Amount, Names
from exciter.typing import Array

ROTOR_INERTIA_COLUMN = Column("Ia", ("kg·m²", "kg"), nonnegative=True, conservative=True)
OFFSET_COLUMN = Column("off", TORQUE_UNITS, conservative=True)
RIPPLE_SINE_COLUMN = Column("Rs", TORQUE_UNITS, conservative=True)
RIPPLE_COSINE_COLUMN = Column("Rc", TORQUE_UNITS, conservative=True)


@dataclass(frozen=True)
class RotorInertia(JointTerm):
    """The inertia of the drives' rotors.

    Γ = Ia q̈, kinetic energy ½ Ia q̇² (the rotor's gyroscopic effect on the arm is left out).

    >>> ex.DynamicModel(robot, [ex.RotorInertia()]).standard[-3:]
    ('Ia1', 'Ia2', 'Ia3')
    """

    word: ClassVar[str] = "rotor"
    title: ClassVar[str] = "rotor inertia"
    joints: Names | None = None

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return _RotorInertia(joint_columns(robot, joint_indices(robot, self.joints), ROTOR_INERTIA_COLUMN))


class _RotorInertia(PointwiseTerm):
    def entries(self, at: Samples) -> Array:
        return at.qdd.copy()

    def partials(self, at: Samples) -> Partials:
        return Partials(qdd=np.ones_like(at.qdd))

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
    'N·m'
    """

    word: ClassVar[str] = "offset"
    title: ClassVar[str] = "offset"
    joints: Names | None = None

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return _Offset(joint_columns(robot, joint_indices(robot, self.joints), OFFSET_COLUMN))


class _Offset(PotentialTerm):
    def entries(self, at: Samples) -> Array:
        return np.ones_like(at.q)

    def partials(self, at: Samples) -> Partials:
        return Partials()

    def energies(self, at: Samples) -> Array:
        return at.q.copy()

    def curvature(self, rates: Array) -> Array:
        return np.zeros_like(rates[0, self.columns.joints])

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        ones = np.ones_like(ranges.q_low[self.columns.joints])
        return ones, ones


@dataclass(frozen=True)
class Ripple(JointTerm):
    """Γ = Rs sin q + Rc cos q, potential energy −Rs cos q + Rc sin q, on every revolute joint unless named.

    On the first joint whose axis is horizontal the link's own weight has the same shape, and only the sum can be
    identified; joints that turn about a vertical axis, or are carried by others that turn, tell it alone.
    """

    word: ClassVar[str] = "ripple"
    title: ClassVar[str] = "torque that repeats every turn"
    joints: Names | None = None

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return Sinusoid(
            joint_columns(
                robot, revolute_indices(robot, self.joints, "Ripple"), RIPPLE_SINE_COLUMN, RIPPLE_COSINE_COLUMN
            )
        )


@dataclass(frozen=True)
class DriveCoupling(JointTerm):
    """The motor of joint ``second`` turns with r q_first + q_second, where r is ``ratio``.

    Its rotor and friction act on both joints. What only one joint feels is already in that joint's Ia, Fv,
    Fs; left are

        Γ_first  = Iam r q̈_second + fvm r q̇_second + fsm r z
        Γ_second = Iam r q̈_first  + fvm r q̇_first  + fsm z,      z = sgn(r q̇_first + q̇_second) or another shape.

    Stäubli TX40: ``DriveCoupling("joint_5", "joint_6")``. A shape with settings per joint is looked up
    under ``second``.
    """

    word: ClassVar[str] = "drive-coupling"
    title: ClassVar[str] = "friction and rotor of a motor that turns with two joints"
    first: Joint
    second: Joint
    ratio: Amount = 1.0
    shape: Shape = field(default_factory=Sign)

    def __post_init__(self) -> None:
        check_coupling(self.first, self.second, self.ratio, "DriveCoupling")

    def smoothed(self, width: float) -> Self:
        return replace(self, shape=self.shape.smoothed(width))

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joints = coupled_indices(robot, self.first, self.second, "DriveCoupling")
        number = joints[1] + 1
        columns = Columns(
            n=robot.n,
            names=(f"Iam{number}", f"fvm{number}", f"fsm{number}"),
            units=("kg·m²", "N·m·s/rad", "N·m"),
            rows=tuple((joint, column) for column in range(3) for joint in joints),
            nonnegative=(True, True, True),
            conservative=(True, False, False),
        )
        return _DriveCoupling(columns, joints, self.ratio, self.shape.bind([self.second]))


@dataclass(frozen=True, eq=False)
class _DriveCoupling(BoundTerm):
    joints: list[int]
    ratio: float
    shape: BoundShape

    @property
    def has_memory(self) -> bool:
        return self.shape.memory

    def after(self, motion: Motion) -> BoundTerm:
        at = self.samples(motion, self.joints)
        return replace(self, shape=self.shape.after(of_motor(at.q, self.ratio), of_motor(at.qd, self.ratio)))

    def values(self, motion: Motion) -> Array:
        at = self.samples(motion, self.joints)
        z = self.shape.values(of_motor(at.q, self.ratio), of_motor(at.qd, self.ratio))
        return np.concatenate([self.ratio * at.qdd[::-1], self.ratio * at.qd[::-1], self.ratio * z, z])

    def curvature(self, rates: Array) -> Array:
        """Inertia and viscous friction are linear in the motion; the dry part jumps."""
        swapped = abs(self.ratio) * rates[:, self.joints[::-1]]
        return np.concatenate([swapped[3], swapped[2], np.full_like(swapped[0], np.inf)])

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        swapped = self.joints[::-1]
        ratio = np.full((1, 1), self.ratio)
        inertia = times((ratio, ratio), (ranges.qdd_low[swapped], ranges.qdd_high[swapped]))
        viscous = times((ratio, ratio), (ranges.qd_low[swapped], ranges.qd_high[swapped]))
        z = self.shape.value_range(*motor_range(ranges, self.joints, self.ratio))
        dry = times((ratio, ratio), z)
        return np.concatenate([inertia[0], viscous[0], dry[0], z[0]]), np.concatenate(
            [inertia[1], viscous[1], dry[1], z[1]]
        )

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        at = self.samples(motion, self.joints)
        inertia, viscous, coulomb = seed[0:2], seed[2:4], seed[4:6]
        onto_z = of_motor(coulomb, self.ratio)
        q, qd = self.shape.pullback(of_motor(at.q, self.ratio), of_motor(at.qd, self.ratio), onto_z)
        arms = np.array([[self.ratio], [1.0]])  # ∂ motor / ∂ (first, second)
        from_z = 0.0 if qd is None else arms * qd
        return scatter(
            motion,
            self.joints,
            q=None if q is None else arms * q,
            qd=self.ratio * viscous[::-1] + from_z,
            qdd=self.ratio * inertia[::-1],
        )

    def kinetic(self, motion: Motion) -> Array:
        """Iam r q̇_first q̇_second, the mixed part of the rotor's energy."""
        at = self.samples(motion, self.joints)
        energy = np.zeros((3, len(motion)))
        energy[0] = self.ratio * at.qd[0] * at.qd[1]
        return energy

    def momentum(self, motion: Motion) -> Array:
        entries = np.zeros((6, len(motion)))
        entries[0:2] = self.ratio * self.samples(motion, self.joints).qd[::-1]
        return entries


# -- of every term of a motor that turns with two joints -----------------------------------------------


def check_coupling(first: str, second: str, ratio: float, what: str) -> None:
    """Refuse one joint twice, and a ratio that couples nothing."""
    if first == second:
        raise ParameterError(f"{what} was given joint '{first}' twice; name two different joints")
    if ratio == 0:
        raise ParameterError(f"the ratio of {what} is 0; give another number")


def coupled_indices(robot: Robot, first: str, second: str, what: str) -> list[int]:
    """Indices of the two joints, which must turn."""
    joints = [robot.index(first), robot.index(second)]
    if any(robot.joints[j].is_prismatic for j in joints):
        raise ParameterError(f"{what} of '{first}' and '{second}' needs two revolute joints")
    return joints


def of_motor(rows: Array, ratio: float) -> Array:
    """(1, N) r first + second of rows (2, N)."""
    return ratio * rows[:1] + rows[1:]


def motor_range(ranges: Ranges, joints: list[int], ratio: float) -> Interval:
    """Lowest and highest speed r q̇_first + q̇_second of the motor, each (1, M) [rad/s]."""
    low, high = ranges.qd_low[joints], ranges.qd_high[joints]
    if ratio < 0:
        low, high = np.stack([high[0], low[1]]), np.stack([low[0], high[1]])
    return of_motor(low, ratio), of_motor(high, ratio)


@dataclass(frozen=True)
class CoupledSqrtViscous(JointTerm):
    """The motor of joint ``second`` turns with s = r q̇_first + q̇_second, where r is ``ratio``.

        Γ_first = fqm r √|s| sgn s,      Γ_second = fqm √|s| sgn s

    width w [rad/s] of s: the infinite slope at rest is made finite as in ``SqrtViscous``, s/(s² + w²)^¼. Given per
    joint, it is looked up under ``second``. A root of a sum is no sum of roots: Fr of the two joints cannot stand for
    it, nor it for them.
    """

    word: ClassVar[str] = "coupled-sqrt-viscous"
    title: ClassVar[str] = "friction with the root of the speed of a motor that turns with two joints"
    first: Joint
    second: Joint
    ratio: Amount = 1.0
    width: Speed = 1e-3

    def __post_init__(self) -> None:
        check_coupling(self.first, self.second, self.ratio, "CoupledSqrtViscous")

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joints = coupled_indices(robot, self.first, self.second, "CoupledSqrtViscous")
        columns = Columns(
            n=robot.n,
            names=(f"fqm{joints[1] + 1}",),
            units=(SQUARE_ROOT_COLUMN.units[0],),
            rows=tuple((joint, 0) for joint in joints),
            nonnegative=(True,),
            conservative=(False,),
        )
        width = per_joint(self.width, [self.second], "the width of CoupledSqrtViscous")
        return _CoupledSqrtViscous(columns, self.ratio, width)


@dataclass(frozen=True, eq=False)
class _CoupledSqrtViscous(BoundTerm):
    ratio: float
    width: Array

    @property
    def arms(self) -> Array:
        """(2, 1) ∂s/∂q̇ of the two joints, and so what each feels of the motor's torque."""
        return np.array([[self.ratio], [1.0]])

    def values(self, motion: Motion) -> Array:
        return self.arms * rounded_root(self._speed(motion), self.width)

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        """It grows with the speed of the motor."""
        low, high = motor_range(ranges, self.columns.joints, self.ratio)
        return times((self.arms, self.arms), (rounded_root(low, self.width), rounded_root(high, self.width)))

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        onto_speed = of_motor(seed, self.ratio) * root_slope(self._speed(motion), self.width)
        return scatter(motion, self.columns.joints, qd=self.arms * onto_speed)

    def _speed(self, motion: Motion) -> Array:
        return of_motor(self.samples(motion).qd, self.ratio)
