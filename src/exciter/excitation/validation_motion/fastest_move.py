"""The fastest straight move between two postures at rest: every joint starts and stops with the others."""

from __future__ import annotations

import numpy as np

from exciter.errors import ExciterError
from exciter.robot.robot import Robot
from exciter.typing import Array

Times = tuple[float, float, float]
HAIR = 1e-6  # of a limit that stays free: what resampling to the rows of a file needs
SHORTEST = 1e-3  # [s] of a phase: positions have too few digits for the jerk of shorter ones
NANOSECOND = 1e-9  # [s] rows of files lie at whole ones; phases do too, so that rows lie where the jerk jumps


def fastest_move(robot: Robot, start: Array, end: Array, rise: float, pace: float = 1.0) -> Times:
    """t_j, t_a, t_v [s] of ``Stops``. At pace 1 some joint is at its velocity, acceleration or jerk limit in every
    phase; a pace below 1 makes the same way in time / pace.

    rise [s]: no joint's acceleration grows from zero to its limit in less, whatever its jerk limit.
    """
    acceleration = robot.limit("acceleration")
    jerk = np.minimum(robot.limit("jerk"), acceleration / rise)
    with np.errstate(divide="ignore"):  # a joint that stands allows any speed
        limits = [robot.limit("velocity"), acceleration, jerk] / np.abs(end - start)
    v, a, j = (1.0 - HAIR) * limits.min(axis=1)
    t_j = min((0.5 / j) ** (1.0 / 3.0), (v / j) ** 0.5, a / j)
    no_cruise = 0.5 * ((t_j**2 + 4.0 / (j * t_j)) ** 0.5 - 3.0 * t_j)  # of j t_j (t_j + t_a)(2 t_j + t_a) = 1
    t_a = max(0.0, min(no_cruise, v / (j * t_j) - t_j))
    t_v = max(0.0, 1.0 / (j * t_j * (t_j + t_a)) - 2.0 * t_j - t_a)
    return _sampled(t_j / pace, t_a / pace, t_v / pace)


def _sampled(t_j: float, t_a: float, t_v: float) -> Times:
    """The same in whole nanoseconds, without phases that are too short. Velocity, acceleration and jerk fall with each
    of the times, so that no limit is passed: they are rounded up, and a short phase lengthens the one before."""
    if t_v < SHORTEST:
        t_a, t_v = t_a + t_v, 0.0
    if t_a < SHORTEST:
        t_j, t_a = t_j + t_a, 0.0
    t_j = max(t_j, SHORTEST)
    t_j, t_a, t_v = (float(np.ceil(t / NANOSECOND)) * NANOSECOND for t in (t_j, t_a, t_v))
    return t_j, t_a, t_v


def check_accelerations(robot: Robot) -> None:
    """Maximum acceleration must be known."""
    for joint, limit in zip(robot.joints, robot.limit("acceleration"), strict=True):
        if not np.isfinite(limit):
            raise ExciterError(
                f"joint '{joint.name}' has no acceleration limit, and moves at maximum acceleration need one; "
                "give limits: {acceleration: …} in the file of --config"
            )
