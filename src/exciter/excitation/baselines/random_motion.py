"""Random points and random trajectories: what the papers compare with, and where searches may start."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ExciterError
from exciter.excitation.optimiser.limits import KINDS, limit_ranges
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array

ROUNDING = 1e-12  # by which a motion stays inside the limit that it is scaled up to


def random_points(robot: Robot, points: int, seed: int) -> Motion:
    """Points (q, q̇), uniformly distributed within the position and velocity limits (Gautier & Khalil 1992, 6.1)."""
    rng = np.random.default_rng(seed)
    velocity = robot.limit("velocity")
    if not np.isfinite(velocity).all():
        name = robot.joint_names[int(np.argmin(np.isfinite(velocity)))]
        raise ExciterError(f"joint '{name}' has no velocity limit to draw velocities from; give one")
    q = rng.uniform(*robot.position_range(), (points, robot.n))
    return Motion.at(q, rng.uniform(-velocity, velocity, q.shape))


def random_trajectory(trajectory: Trajectory, robot: Robot, seed: int, posture: ArrayLike | None = None) -> Array:
    """Coefficients (n, c) of a random motion of any family that fills the joint limits and keeps them for all time.

    Free coefficients are drawn normally distributed; the motion of each joint about the posture (the middle of the
    ranges unless given) is then made as large as its position, velocity, acceleration and jerk limits allow.
    """
    centre = 0.5 * np.add(*robot.position_range()) if posture is None else np.asarray(posture, dtype=float)
    rng = np.random.default_rng(seed)
    scale = trajectory.duration ** -trajectory.time_powers.astype(
        float
    )  # every coefficient then moves by about as much
    swing = rng.standard_normal((robot.n, trajectory.free.shape[1])) @ trajectory.free.T * scale
    largest = largest_swing(robot, trajectory.curve(swing), centre)
    return trajectory.still(centre) + largest[:, None] * swing


def largest_swing(robot: Robot, swing: Curve, posture: Array) -> Array:
    """(n,): the factor by which each joint's motion about zero may be multiplied so that, put at the posture, it
    reaches its tightest limit; from exact extrema."""
    lower, upper = limit_ranges(robot)
    outside = (posture < lower[0]) | (posture > upper[0])
    if posture.shape != (robot.n,) or outside.any():
        raise ExciterError(
            f"the posture {posture.tolist()} is not within the position limits of '{robot.name}'; give one that is"
        )
    room = np.full(robot.n, np.inf)
    for order in range(len(KINDS)):
        if not np.isfinite(upper[order]).any():
            continue
        reached, middle = swing.extremum(order), posture if order == 0 else 0.0
        for most, limit in ((reached.highest, upper[order] - middle), (-reached.lowest, middle - lower[order])):
            moves = most > 0
            room[moves] = np.minimum(room[moves], limit[moves] / most[moves])
    if not (np.isfinite(room) & (room > 0)).all():
        name = robot.joint_names[int(np.argmin(np.isfinite(room) & (room > 0)))]
        raise ExciterError(
            f"joint '{name}' cannot move: its posture is at a limit, its swing is zero, or its acceleration jumps and "
            "the jerk limit forbids that; choose a posture inside the range, or a smoother family"
        )
    return room * (1.0 - ROUNDING)
