"""Coulomb friction: Fs z, where z is the direction of motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from exciter.parameters.terms.columns import TORQUE, Column
from exciter.parameters.terms.dry_friction import BoundDryFriction, DryFriction
from exciter.parameters.terms.ranges import Interval, LoadRange, Ranges
from exciter.parameters.terms.term import BoundTerm, RigidTorque, scatter
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.typing import Array

FS = Column("Fs", TORQUE, nonnegative=True)


@dataclass(frozen=True)
class Coulomb(DryFriction):
    """Dry friction.

    Γ = Fs z.

    ``Coulomb()`` has z = sgn q̇, ``Coulomb(Tanh(0.03))`` is smooth, ``Coulomb(Dahl(1e-3))`` pre-slides.

    >>> ex.DynamicModel(robot, [ex.Viscous(), ex.Coulomb()]).standard[-3:]
    ('Fs1', 'Fs2', 'Fs3')
    """

    word: ClassVar[str] = "coulomb"
    title: ClassVar[str] = "Coulomb friction"

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return _Coulomb(*self.bound_parts(robot, FS))


class _Coulomb(BoundDryFriction):
    def values(self, motion: Motion) -> Array:
        return self.direction(self.samples(motion))

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        return self.direction_range(ranges)

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        at = self.samples(motion)
        return scatter(motion, self.joints, *self.shape.pullback(at.q, at.qd, seed))
