"""Drives: gears, and motors whose torque is proportional to their current."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from exciter.experiment.virtual.numbers import resolved
from exciter.parameters.terms.term import PerJoint
from exciter.robot.robot import Robot
from exciter.settings import PerJointNumber, Settings
from exciter.typing import Array


@dataclass(frozen=True)
class Drive(Settings):
    """gear: turns of the motor per turn of the joint; where it slides, its radians per metre [rad/m].

    torque_constant: k_t [N·m/A] of the motor. current = torque at the joint / (gear · k_t); the gear loses nothing but
    the friction of the joint.
    """

    gear: Annotated[PerJoint, PerJointNumber(above=0.0)] = 100.0
    torque_constant: Annotated[PerJoint, PerJointNumber(above=0.0, unit="N·m/A")] = 0.1

    def ratios(self, robot: Robot) -> Array:
        """(n,) gear."""
        return resolved(self.gear, robot, "gear", positive=True)

    def gains(self, robot: Robot) -> Array:
        """(n,) torque at the joint per ampere [N·m/A]."""
        return self.ratios(robot) * resolved(self.torque_constant, robot, "torque_constant", positive=True)
