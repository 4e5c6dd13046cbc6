"""What a design looks like: its motion and torque over time beside their limits, and the path of a frame."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exciter.dynamics.dynamics import Dynamics, Pictures
from exciter.errors import ExciterError
from exciter.excitation.design import Design
from exciter.robot.motion import Motion
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class DesignView:
    """Of all that the robot executes, N instants at ``rate`` [Hz]; ``frame``: whose path is shown."""

    design: Design
    rate: float
    frame: str

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rate) and self.rate > 0):
            raise ExciterError(f"the rate of a report is {self.rate} Hz; it must be a positive number")

    @cached_property
    def motion(self) -> Motion:
        curve = self.design.curve
        return curve.motion(np.linspace(curve.start, curve.end, max(int(np.ceil(self.rate * curve.duration)), 2) + 1))

    @cached_property
    def jerk(self) -> Array:
        """(N, n) [rad/s³ or m/s³]."""
        curve, time = self.design.curve, self.motion.time
        span = np.clip(np.searchsorted(curve.knots, time, side="right") - 1, 0, len(curve.knots) - 2)
        return np.asarray(curve.derivatives(span, time, 3)[3].T)

    @cached_property
    def torque(self) -> Array:
        """(N, n) [N·m or N] of the nominal model."""
        return self.design.model.torque(self.motion)

    @cached_property
    def pictures(self) -> Pictures:
        model, curve = self.design.model, self.design.curve
        dynamics = Dynamics(model.robot, model.engine)
        return Pictures.of(dynamics, self.frame, curve.start, curve.end, lambda time: curve.motion(time).q)

    def limits(self, what: str) -> tuple[Array, Array]:
        """(n,) lower and upper limit of position, velocity, acceleration, jerk or torque: those that were certified,
        else the robot's own."""
        robot = self.design.model.robot
        upper = robot.limit("upper" if what == "position" else what)
        lower = robot.limit("lower") if what == "position" else -upper
        for verdict in self.design.certificate.limits:
            if verdict.what == what and verdict.where in robot.joint_names:
                (upper if verdict.upper else lower)[robot.index(verdict.where)] = verdict.limit
        return lower, upper
