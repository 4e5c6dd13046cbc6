"""What encoders say of positions: counts, and noise before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from exciter.experiment.virtual.drive import Drive
from exciter.experiment.virtual.numbers import resolved, stream
from exciter.parameters.terms.term import PerJoint
from exciter.robot.robot import Robot
from exciter.settings import OneWord, PerJointNumber, Settings
from exciter.typing import Array


@dataclass(frozen=True)
class Encoder(Settings):
    """counts: per turn of the motor, or of the joint; None: a position without steps. noise: standard deviation of the
    position [rad], before it is counted. velocity_noise [rad/s]: of a tachometer; None: velocities are not logged."""

    called: ClassVar[Mapping[str, str]] = {"on_motor": "side"}
    counts: Annotated[PerJoint | None, PerJointNumber(above=0.0, open="none")] = 4096.0
    on_motor: Annotated[bool, OneWord(("motor", "joint"), (True, False))] = True
    noise: Annotated[PerJoint, PerJointNumber(least=0.0, unit="rad")] = 0.0
    velocity_noise: Annotated[PerJoint | None, PerJointNumber(least=0.0, unit="rad/s")] = None

    def step(self, robot: Robot, drive: Drive) -> Array:
        """(n,) of the logged position [rad or m]; zero without counts."""
        if self.counts is None:
            return np.zeros(robot.n)
        counts = resolved(self.counts, robot, "counts", positive=True)
        return 2.0 * np.pi / (counts * (drive.ratios(robot) if self.on_motor else 1.0))

    def position(self, q: Array, robot: Robot, drive: Drive, seed: int) -> Array:
        """(N, n) as logged."""
        noise = resolved(self.noise, robot, "position noise")
        noisy: Array = q + noise * stream(seed, "position").standard_normal(q.shape)
        step = self.step(robot, drive)
        return noisy if self.counts is None else np.round(noisy / step) * step

    def velocity(self, qd: Array, robot: Robot, seed: int) -> Array | None:
        """(N, n) as logged."""
        if self.velocity_noise is None:
            return None
        noise = resolved(self.velocity_noise, robot, "velocity noise")
        noisy: Array = qd + noise * stream(seed, "velocity").standard_normal(qd.shape)
        return noisy
