"""Results on disk: all files of a set or none, and no other file takes the place of one of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.deadline import NEVER, Deadline
from exciter.excitation.files.export import Exported, export
from exciter.excitation.files.read import DESIGN
from exciter.files import Seal, output_folder, staged
from exciter.identification.identified import SEALED
from exciter.pipeline.check import SlowedMotion
from exciter.pipeline.design import Designed
from exciter.pipeline.provenance import robot_data, versions
from exciter.report.design_report import write_design_report
from exciter.reproduction import NAMES

CHECKPOINT = "checkpoint.json"  #: of a design: what --resume goes on from
VALIDATED = Seal("validation.json", ("report.html",), "validate again")


def paper_seal(name: str) -> Seal:
    """Of the files of a paper that was run again."""
    return Seal(f"{name}.json", (f"{name}.html", f"{name}.*.csv"), f"exciter reproduce {name}")


def refuse_parts_of_results(*paths: Path) -> None:
    """Refuse, before any work, to write a single file in place of one that belongs to a set: the set would be lost, and
    a motion that was certified with it."""
    for path in paths:
        for seal in (DESIGN, SEALED, VALIDATED, *map(paper_seal, NAMES)):
            if seal.owns(path):
                raise ExciterError(
                    f"'{path}' is one of the files that belong to {seal.name} beside it; choose another name"
                )
        if path.name.casefold() == CHECKPOINT and os.path.lexists(path):
            raise ExciterError(f"'{path}' is the checkpoint of a design; choose another name")


# -- motions ---------------------------------------------------------------------------------------------------------


def save_design(designed: Designed, folder: Path, *, deadline: Deadline = NEVER) -> tuple[Exported, dict[str, Any]]:
    """trajectory.csv, .json, files for ROS 2, design.json and report.html; what was written, and what design.json says.

    Every file is read back and certified; what is not done until the deadline leaves nothing."""
    found, robot = designed.design, designed.robot
    with output_folder(folder), deadline.kept(), staged(folder, DESIGN) as stage:
        files = export(
            stage,
            robot,
            found.curve,
            found.trajectory,
            found.delta,
            lambda curve: certify(robot, curve, found.constraints, check=deadline.check, from_rest=True),
            periods=found.periods,
            rate=designed.config.rate,
        )
        write_design_report(found, stage / "report.html", settings=designed.config.to_dict())
        return files, DESIGN.write(stage, designed.to_dict(files))


def save_slowed(slowed: SlowedMotion, folder: Path) -> Exported:
    """The same files of a motion at part of its speed, but for a report."""
    robot = slowed.robot
    with output_folder(folder), staged(folder, DESIGN) as stage:
        files = export(
            stage,
            robot,
            slowed.curve,
            None,
            None,
            lambda curve: certify(robot, curve, slowed.constraints, from_rest=True),
            rate=slowed.config.rate,
        )
        DESIGN.write(
            stage,
            {
                "slowed": {"trajectory": slowed.origin, "speed": slowed.speed},
                "certificate": slowed.certificate.to_dict(),
                "robot": robot_data(robot, slowed.sha256),
                "duration": slowed.curve.duration,
                "remarks": list(robot.remarks),
                "not_checked": list(slowed.not_checked),
                "files": files.to_dict(),
                "settings": slowed.config.to_dict(),
                "versions": versions(),
            },
        )
    return files
