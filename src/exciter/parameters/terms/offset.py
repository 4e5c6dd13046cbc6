"""Torque offset: a constant of the amplifier or the sensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.parameters.terms.columns import TORQUE, Column, joint_columns, joint_indices
from exciter.parameters.terms.pointwise import Partials, PotentialTerm, Samples
from exciter.parameters.terms.ranges import Interval, LoadRange, Ranges
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque
from exciter.robot.robot import Robot
from exciter.settings import Names
from exciter.typing import Array

OFF = Column("off", TORQUE, conservative=True)


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
        return _Offset(joint_columns(robot, joint_indices(robot, self.joints), OFF))


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
