"""Bodies from the kinematics alone, for robots whose inertias are unknown: uniform rods from joint to joint."""

from __future__ import annotations

import numpy as np

from exciter.parameters import inertial
from exciter.robot.robot import Robot
from exciter.robot.spatial import rotation_to
from exciter.typing import Array

THICK = 1.0 / 3.0  #: radius of a rod over the mean length of the links
STUB = 0.5  #: shortest rod over the mean length: axes that cross leave no length, but there is a body
UNKNOWN = 0.1  # [m] mean length of a robot whose axes all cross in one point


def uniform_rods(robot: Robot) -> Array:
    """(n, 10) in the robot's joint frames: full cylinders of one density and radius, 1 kg all together.

    A rod reaches from the joint's origin to the mean of what it carries (the next joints; at the end the farthest
    frame). Where that is no way at all, a stub along the joint's axis, about its origin.
    """
    ends = np.array([_end(robot, j) for j in range(robot.n)])
    lengths = np.linalg.norm(ends, axis=1)
    mean = float(lengths.sum()) / robot.n or UNKNOWN
    masses = np.maximum(lengths, STUB * mean)
    masses /= masses.sum()
    rods = []
    for joint, end, length, mass in zip(robot.joints, ends, lengths, masses, strict=True):
        stub = length < 1e-6 * mean
        direction = joint.axis if stub else end / length
        inertia = _cylinder(mass, THICK * mean, max(float(length), STUB * mean))
        turn = rotation_to(direction)
        rods.append(inertial.from_mass_com_inertia(float(mass), 0.5 * end, turn @ inertia @ turn.T))
    return np.array(rods)


def _end(robot: Robot, j: int) -> Array:
    """(3,) [m] where the body of joint j ends, from the joint's origin, in its frame."""
    carried = [joint.translation for joint in robot.joints if joint.parent == j]
    if carried:
        return np.asarray(np.mean(carried, axis=0))
    frames = [frame.translation for frame in robot.frames if frame.joint == j]
    return max(frames, key=lambda at: float(np.linalg.norm(at)), default=np.zeros(3))


def _cylinder(mass: float, radius: float, length: float) -> Array:
    """(3, 3) inertia about the centre, axis along z [kg·m²]."""
    across = mass * (radius**2 / 4.0 + length**2 / 12.0)
    return np.diag([across, across, 0.5 * mass * radius**2])
