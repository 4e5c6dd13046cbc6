"""What the log has of torques: which signal, how noisy, through which filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from exciter.errors import ParameterError
from exciter.experiment.recording.about import SIDES, AnalogFilter
from exciter.experiment.virtual.analog import filtered
from exciter.experiment.virtual.drive import Drive
from exciter.experiment.virtual.numbers import resolved, stream
from exciter.experiment.virtual.ripple import Ripple
from exciter.parameters.terms.term import PerJoint
from exciter.robot.robot import Robot
from exciter.settings import OneWord, PerJointNumber, Settings, Switch
from exciter.typing import Array


@dataclass(frozen=True)
class TorqueMeter(Settings):
    """current: log motor currents [A] instead of torques. link_side: a sensor behind the gear, which feels neither
    rotor nor friction; otherwise all that the actuator gives.

    noise: standard deviation [N·m at the joint] of white noise, of every sample of the log; with noise_before_filter of
    every step of the simulation, so that the filter colours it. None: the virtual robot takes 0.5 % of the torque that
    the drive is made for.
    """

    inner: ClassVar[tuple[str, ...]] = ("ripple", "filter")
    called: ClassVar[Mapping[str, str]] = {"current": "signal", "link_side": "side"}
    current: Annotated[bool, OneWord(("torque", "current"), (False, True))] = False
    link_side: Annotated[bool, OneWord(SIDES, (False, True))] = False
    noise: Annotated[PerJoint | None, PerJointNumber(least=0.0, unit="N·m")] = None
    noise_before_filter: Switch = False
    ripple: Ripple | None = None
    filter: AnalogFilter | None = None

    def __post_init__(self) -> None:
        if self.current and self.link_side:
            raise ParameterError("a sensor on the link's side measures torque; currents belong to the motor's side")

    def std(self, robot: Robot) -> Array:
        """(n,) of the noise [N·m at the joint]."""
        return resolved(0.0 if self.noise is None else self.noise, robot, "torque noise")

    def measure(
        self, held: Array, smooth: Array, motor: Array, step: float, at: Array, robot: Robot, drive: Drive, seed: int
    ) -> Array:
        """(N, n) [N·m] at instants ``at`` of a signal given at every step (K, n) as the sum of a part that is held
        and one that is smooth; motor (K, n): joint positions on the motor's side."""
        noise = self.std(robot)
        rng = stream(seed, "torque")
        if self.ripple is not None:
            smooth = smooth + self.ripple.values(motor, robot, drive, seed)
        before = held[0] + smooth[0]
        if self.noise_before_filter:
            held = held + noise * rng.standard_normal(held.shape)
        if self.filter is not None:
            value = filtered(self.filter, held, smooth, step, at, before)
        else:
            value = sampled(held, smooth, step, at)
        return value if self.noise_before_filter else value + noise * rng.standard_normal(value.shape)


def sampled(held: Array, smooth: Array, step: float, at: Array) -> Array:
    """(N, n) the same signal without a filter."""
    index = np.clip((at / step + 1e-9).astype(np.int64), 0, len(held) - 1)
    after = np.minimum(index + 1, len(held) - 1)
    part = np.clip(at / step - index, 0.0, 1.0)[:, None]
    value: Array = held[index] + smooth[index] + part * (smooth[after] - smooth[index])
    return value
