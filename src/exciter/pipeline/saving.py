"""Results on disk: what they were computed with, and that no other file takes the place of one of a set."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any

from exciter import __version__
from exciter.files import Seal, sha256
from exciter.robot.robot import Robot

CHECKPOINT_FILE = "checkpoint.json"  #: of a design: what --resume goes on from
REPORT_FILE = "report.html"
VALIDATION_SEAL = Seal("validation.json", (REPORT_FILE,), "validate again")
CAMPAIGN_ARCHIVE = "campaign.npz"
CAMPAIGN_SEAL = Seal("campaign.json", (REPORT_FILE, CAMPAIGN_ARCHIVE), "run the campaign again")
FLEET_ARCHIVE, FLEET_TABLE = "fleet.npz", "fleet.csv"
FLEET_SEAL = Seal("fleet.json", (REPORT_FILE, FLEET_ARCHIVE, FLEET_TABLE), "run the fleet again")
RECORDED_LIBRARIES = ("numpy", "scipy", "numba", "pin")  #: that results depend on


def versions() -> dict[str, str]:
    """Of what a result was computed with."""
    libraries = {name: metadata.version(name) for name in RECORDED_LIBRARIES}
    return {"exciter": __version__, "python": platform.python_version(), **libraries}


def description_hash(robot: Robot) -> str | None:
    """SHA-256 of the file that a robot was loaded from; None where Python code made it."""
    return None if robot.file is None else sha256(robot.file)


def robot_data(robot: Robot, sha256: str | None) -> dict[str, Any]:
    """Which robot a file speaks of."""
    return {"name": robot.name, "joints": list(robot.joint_names), "sha256": sha256}
