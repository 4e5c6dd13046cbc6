"""Whether an arm that stands can follow a curve from its start, and stands at its end."""

from __future__ import annotations

import numpy as np

from exciter.excitation.trajectories.curve import Curve
from exciter.robot.robot import Robot

#: Velocity and acceleration below this part of their limit are none. A controller that interpolates positions and
#: velocities starts a motion from rest with a small acceleration, of the order of the square of its sampling time.
AT_REST = {"velocity": 1e-6, "acceleration": 1e-3}


def rests(robot: Robot, curve: Curve) -> tuple[bool, bool]:
    """At the start and at the end: no velocity and no acceleration, by the size of the limit or, where there is none,
    of what the joint reaches."""
    span, time = np.array([0, len(curve.knots) - 2]), np.array([curve.start, curve.end])
    states, resting = curve.derivatives(span, time, 2), np.ones(2, dtype=bool)
    for order, (what, part) in enumerate(AT_REST.items(), start=1):
        limit = robot.limit(what)
        size = np.where(np.isfinite(limit), limit, np.maximum(1.0, curve.extremum(order).size))
        resting &= (np.abs(states[order]) <= part * size[:, None]).all(axis=0)
    return bool(resting[0]), bool(resting[1])
