"""Drive coupling: the motor of one joint also turns when another joint moves, as in many wrists."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters.terms.columns import Columns, Joint
from exciter.parameters.terms.dry_friction import Shape
from exciter.parameters.terms.pointwise import Samples
from exciter.parameters.terms.ranges import Interval, LoadRange, Ranges, times
from exciter.parameters.terms.shape import BoundShape, Sign
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque, scatter
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.settings import Amount
from exciter.typing import Array


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
        at = self._samples(motion)
        return replace(self, shape=self.shape.after(of_motor(at.q, self.ratio), of_motor(at.qd, self.ratio)))

    def values(self, motion: Motion) -> Array:
        at = self._samples(motion)
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
        at = self._samples(motion)
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
        at = self._samples(motion)
        energy = np.zeros((3, len(motion)))
        energy[0] = self.ratio * at.qd[0] * at.qd[1]
        return energy

    def momentum(self, motion: Motion) -> Array:
        entries = np.zeros((6, len(motion)))
        entries[0:2] = self.ratio * self._samples(motion).qd[::-1]
        return entries

    def _samples(self, motion: Motion) -> Samples:
        self.check(motion)
        return Samples.of(motion, self.joints)


# -- of every term of a motor that turns with two joints -----------------------------------------------


def check_coupling(first: str, second: str, ratio: float, what: str) -> None:
    """Refuse one joint twice, and a ratio that couples nothing."""
    if first == second:
        raise ParameterError(f"{what} was given joint '{first}' twice; name two different joints")
    if not math.isfinite(ratio) or ratio == 0:
        raise ParameterError(f"the ratio of {what} is {ratio}; it must be finite and not 0")


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
