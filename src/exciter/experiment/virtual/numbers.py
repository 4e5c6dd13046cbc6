"""Settings that may differ per joint, resolved on a robot; and one stream of random numbers per effect."""

from __future__ import annotations

import numpy as np

from exciter.parameters.terms.term import PerJoint, check_within, per_joint
from exciter.robot.robot import Robot
from exciter.typing import Array

LARGEST = 1e12
SMALLEST_POSITIVE = 1.0 / LARGEST  # a quotient of two settings is finite
STREAMS = ("truth", "instants", "dropped", "position", "velocity", "torque", "ripple")


def resolved(value: PerJoint, robot: Robot, what: str, *, least: float = 0.0, positive: bool = False) -> Array:
    """(n,) at least ``least``, or SMALLEST_POSITIVE; one for all joints, by name, or in order."""
    check_within(value, SMALLEST_POSITIVE if positive else least, LARGEST, what)
    return per_joint(value, robot.joint_names, what)[:, 0]


def stream(seed: int, effect: str) -> np.random.Generator:
    """Random numbers of one effect: switching another one on or off does not change them."""
    return np.random.default_rng([seed, STREAMS.index(effect)])
