"""Small arms for certificates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from exciter.robot import Joint, Limits, Robot

Array = np.ndarray


def arm(*inertias: Array) -> Robot:
    """Links of 1 m in the vertical plane xy, straight along x where q = 0."""
    joints = tuple(
        Joint(f"j{i + 1}", "revolute", i - 1, np.eye(3), [float(i > 0), 0, 0], [0, 0, 1.0], Limits(-9, 9, 99, 999), phi)
        for i, phi in enumerate(inertias)
    )
    return Robot("plane", joints, gravity=np.array([0.0, -9.81, 0.0]))


def slider(**changes: Any) -> Robot:
    """Moves its body along y, up; at q = 0 it is 0.3 m aside of the base."""
    limits = Limits(-9, 9, 99, 999)
    joint = Joint("rail", "prismatic", -1, np.eye(3), [0.3, 0, 0], [0, 1.0, 0], limits, np.zeros(10))
    return replace(Robot("slider", (joint,), gravity=np.array([0.0, -9.81, 0.0])), **changes)
