"""Ripple: a sine of the motor's angle on top of the measured torque."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from exciter.experiment.virtual.drive import Drive
from exciter.experiment.virtual.numbers import resolved, stream
from exciter.parameters.terms.term import PerJoint
from exciter.robot.robot import Robot
from exciter.settings import PerJointNumber, Settings
from exciter.typing import Array


@dataclass(frozen=True)
class Ripple(Settings):
    """amplitude [N·m at the joint]; per_turn: waves per turn of the motor. The phase of every joint is drawn."""

    amplitude: Annotated[PerJoint, PerJointNumber(least=0.0, unit="N·m at the joint")]
    per_turn: Annotated[PerJoint, PerJointNumber(least=0.0)] = 6.0

    def values(self, q: Array, robot: Robot, drive: Drive, seed: int) -> Array:
        """(N, n) at joint positions (N, n) on the motor's side."""
        amplitude, waves = resolved(self.amplitude, robot, "ripple"), resolved(self.per_turn, robot, "per_turn")
        phase = stream(seed, "ripple").uniform(0.0, 2.0 * np.pi, robot.n)
        wave: Array = amplitude * np.sin(waves * drive.ratios(robot) * q + phase)
        return wave
