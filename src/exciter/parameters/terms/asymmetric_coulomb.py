"""Coulomb friction with one coefficient per direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.parameters.terms.columns import TORQUE, Column
from exciter.parameters.terms.dry_friction import BoundDryFriction, DryFriction
from exciter.parameters.terms.ranges import Interval, LoadRange, Ranges
from exciter.parameters.terms.term import BoundTerm, RigidTorque, scatter
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.typing import Array

FORWARD = Column("Fsp", TORQUE, nonnegative=True)
BACKWARD = Column("Fsn", TORQUE, nonnegative=True)


@dataclass(frozen=True)
class AsymmetricCoulomb(DryFriction):
    """Γ = Fsp max(z, 0) + Fsn min(z, 0), both ≥ 0; in motion the same as Coulomb plus an offset."""

    word: ClassVar[str] = "asymmetric-coulomb"
    title: ClassVar[str] = "asymmetric Coulomb friction"

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return _AsymmetricCoulomb(*self.bound_parts(robot, FORWARD, BACKWARD))


class _AsymmetricCoulomb(BoundDryFriction):
    def values(self, motion: Motion) -> Array:
        z = self.direction(self.samples(motion))
        return np.concatenate([np.maximum(z, 0.0), np.minimum(z, 0.0)])

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        low, high = (np.concatenate([np.maximum(z, 0.0), np.minimum(z, 0.0)]) for z in self.direction_range(ranges))
        return low, high

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        at = self.samples(motion)
        z = self.direction(at)
        forward, backward = np.split(seed, 2)
        onto_z = np.where(z > 0, forward, np.where(z < 0, backward, 0.5 * (forward + backward)))
        return scatter(motion, self.joints, *self.shape.pullback(at.q, at.qd, onto_z))
