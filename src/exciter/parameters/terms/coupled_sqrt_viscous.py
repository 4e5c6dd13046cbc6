"""Root-of-speed friction of a motor that turns with two joints, beside what ``DriveCoupling`` has of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.parameters.terms.columns import Columns, Joint
from exciter.parameters.terms.drive_coupling import check_coupling, coupled_indices, motor_range, of_motor
from exciter.parameters.terms.per_joint import Speed, check_positive, per_joint
from exciter.parameters.terms.pointwise import Samples
from exciter.parameters.terms.ranges import Interval, LoadRange, Ranges, times
from exciter.parameters.terms.sqrt_viscous import FR, root_slope, rounded_root
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque, scatter
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.settings import Amount
from exciter.typing import Array


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
        check_positive(self.width, "the width of CoupledSqrtViscous")

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joints = coupled_indices(robot, self.first, self.second, "CoupledSqrtViscous")
        columns = Columns(
            n=robot.n,
            names=(f"fqm{joints[1] + 1}",),
            units=(FR.units[0],),
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
        self.check(motion)
        return of_motor(Samples.of(motion, self.columns.joints).qd, self.ratio)
