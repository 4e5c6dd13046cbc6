"""Viscous friction: Fv q̇."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.parameters.terms.columns import Column, joint_columns, joint_indices
from exciter.parameters.terms.pointwise import Partials, PointwiseTerm, Samples
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque
from exciter.robot.robot import Robot
from exciter.settings import Names
from exciter.typing import Array

FV = Column("Fv", ("N·m·s/rad", "N·s/m"), nonnegative=True)


@dataclass(frozen=True)
class Viscous(JointTerm):
    """Viscous friction.

    Γ = Fv q̇.

    >>> ex.DynamicModel(robot, [ex.Viscous(joints=("joint_1",))]).standard[-1]
    'Fv1'
    """

    word: ClassVar[str] = "viscous"
    title: ClassVar[str] = "viscous friction"
    joints: Names | None = None

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return _Viscous(joint_columns(robot, joint_indices(robot, self.joints), FV))


class _Viscous(PointwiseTerm):
    def entries(self, at: Samples) -> Array:
        return at.qd.copy()

    def partials(self, at: Samples) -> Partials:
        return Partials(qd=np.ones_like(at.qd))

    def curvature(self, rates: Array) -> Array:
        third: Array = rates[2, self.columns.joints]
        return third
