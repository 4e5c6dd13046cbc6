"""What a result was computed with, and from which description of the robot."""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from exciter import __version__
from exciter.robot.embedded_robots import names, path
from exciter.robot.robot import Robot

RECORDED_LIBRARIES = ("numpy", "scipy", "numba", "pin")  #: that results depend on


def versions() -> dict[str, str]:
    """Of what a result was computed with."""
    return {
        "exciter": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in RECORDED_LIBRARIES},
    }


def description_path(source: str) -> Path:
    """The file of ROBOT, embedded or not."""
    return path(source) if source in names() else Path(source)


def description_hash(robot: Robot) -> str | None:
    """SHA-256 of the file that a robot was loaded from; None where Python code made it."""
    return None if robot.file is None else hashlib.sha256(robot.file.read_bytes()).hexdigest()


def robot_data(robot: Robot, sha256: str | None) -> dict[str, Any]:
    """Which robot a file speaks of."""
    return {"name": robot.name, "joints": list(robot.joint_names), "sha256": sha256}
