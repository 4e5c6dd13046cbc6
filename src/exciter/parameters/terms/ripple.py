"""Torque that repeats once per turn of a joint: cables and hoses, an eccentric gear, a sensor's zero that turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from exciter.parameters.terms.columns import TORQUE, Column, joint_columns, revolute_indices
from exciter.parameters.terms.sinusoid import Sinusoid
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque
from exciter.robot.robot import Robot
from exciter.settings import Names

RS = Column("Rs", TORQUE, conservative=True)
RC = Column("Rc", TORQUE, conservative=True)


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
        return Sinusoid(joint_columns(robot, revolute_indices(robot, self.joints, "Ripple"), RS, RC))
