"""Gravity compensation by a spring whose free length is zero: a pure sine of the joint's angle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from exciter.errors import ParameterError
from exciter.parameters.terms.columns import TORQUE, Column, Joint, joint_columns, revolute_index
from exciter.parameters.terms.lever import Angle
from exciter.parameters.terms.sinusoid import Sinusoid
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque
from exciter.robot.robot import Robot

SINE = Column("Gs", TORQUE, conservative=True)
COSINE = Column("Gc", TORQUE, conservative=True)


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

    def __post_init__(self) -> None:
        if not math.isfinite(self.offset):
            raise ParameterError(f"the offset of GravitySpring is {self.offset}; it must be a finite angle [rad]")

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joint = revolute_index(robot, self.joint, "GravitySpring")
        return Sinusoid(joint_columns(robot, [joint], SINE, COSINE), self.offset)
