"""Stribeck friction: what sticks at low speed beyond Coulomb, with a given velocity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from exciter.parameters.terms.columns import TORQUE, Column
from exciter.parameters.terms.dry_friction import BoundDryFriction, DryFriction
from exciter.parameters.terms.per_joint import Speed, check_positive, per_joint
from exciter.parameters.terms.ranges import Interval, LoadRange, Ranges, absolute, times
from exciter.parameters.terms.term import BoundTerm, RigidTorque, scatter
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.typing import Array

FST = Column("Fst", TORQUE, nonnegative=True)


@dataclass(frozen=True)
class Stribeck(DryFriction):
    """Dry friction that falls with speed.

    Γ = Fst z exp(−(q̇/v_s)²), on top of Coulomb; ``velocity`` v_s [rad/s or m/s], one or per joint.

    >>> ex.DynamicModel(robot, [ex.Coulomb(), ex.Stribeck(velocity=0.1)]).standard[-3:]
    ('Fst1', 'Fst2', 'Fst3')
    """

    word: ClassVar[str] = "stribeck"
    title: ClassVar[str] = "Stribeck friction"
    velocity: Speed = field(kw_only=True)

    def __post_init__(self) -> None:
        check_positive(self.velocity, "the velocity of Stribeck")

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        columns, joints, shape = self.bound_parts(robot, FST)
        names = [robot.joint_names[j] for j in joints]
        return _Stribeck(columns, joints, shape, per_joint(self.velocity, names, "the velocity of Stribeck"))


@dataclass(frozen=True, eq=False)
class _Stribeck(BoundDryFriction):
    velocity: Array

    def values(self, motion: Motion) -> Array:
        at = self.samples(motion)
        return self.direction(at) * np.exp(-((at.qd / self.velocity) ** 2))

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        slow, fast = absolute((ranges.qd_low[self.joints], ranges.qd_high[self.joints]))
        bell = np.exp(-((fast / self.velocity) ** 2)), np.exp(-((slow / self.velocity) ** 2))
        return times(self.direction_range(ranges), bell)

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        at = self.samples(motion)
        bell = np.exp(-((at.qd / self.velocity) ** 2))
        q, qd = self.shape.pullback(at.q, at.qd, seed * bell)
        slope = seed * self.direction(at) * bell * (-2.0 * at.qd / self.velocity**2)
        return scatter(motion, self.joints, q, slope if qd is None else qd + slope)
