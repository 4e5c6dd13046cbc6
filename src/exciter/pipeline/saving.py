"""Results on disk: what they were computed with, and that no other file takes the place of one of a set."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from exciter import __version__
from exciter.errors import ExciterError
from exciter.files import Seal
from exciter.robot.robot import Robot

CHECKPOINT_FILE = "checkpoint.json"  #: of a design: what --resume goes on from
REPORT_FILE = "report.html"
VALIDATION_SEAL = Seal("validation.json", (REPORT_FILE,), "validate again")
RECORDED_LIBRARIES = ("numpy", "scipy", "numba", "pin")  #: that results depend on


def versions() -> dict[str, str]:
    """Of what a result was computed with."""
    libraries = {name: metadata.version(name) for name in RECORDED_LIBRARIES}
    return {"exciter": __version__, "python": platform.python_version(), **libraries}


def description_hash(robot: Robot) -> str | None:
    """SHA-256 of the file that a robot was loaded from; None where Python code made it."""
    return None if robot.file is None else hashlib.sha256(robot.file.read_bytes()).hexdigest()


def robot_data(robot: Robot, sha256: str | None) -> dict[str, Any]:
    """Which robot a file speaks of."""
    return {"name": robot.name, "joints": list(robot.joint_names), "sha256": sha256}


def refuse_parts_of_results(*paths: Path, others: Iterable[Seal] = ()) -> None:
    """Refuse, before any work, to write a single file in place of one that belongs to a set: the set would be lost, and
    a motion that was certified with it. others: seals of sets that the pipeline does not write itself."""
    from exciter.excitation.files.trajectory_files import DESIGN  # here: every command imports this file, few need it
    from exciter.identification.identified_model import RESULT_SEAL

    seals = (DESIGN, RESULT_SEAL, VALIDATION_SEAL, *others)
    for path in paths:
        for seal in seals:
            if seal.owns(path):
                raise ExciterError(
                    f"'{path}' is one of the files that belong to {seal.name} beside it; choose another name"
                )
        if path.name.casefold() == CHECKPOINT_FILE and os.path.lexists(path):
            raise ExciterError(f"'{path}' is the checkpoint of a design; choose another name")
