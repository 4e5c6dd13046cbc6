"""Results on disk: all files of a set or none, and no other file takes the place of one of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from os.path import exists, isdir  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

from exciter.archive import archived
from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.files.export import Exported, export
from exciter.excitation.files.read import ARCHIVE as DESIGN_ARCHIVE
from exciter.excitation.files.read import DESIGN
from exciter.excitation.optimiser.deadline import NEVER, Deadline
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.recording import RecordingFile
from exciter.export.urdf import identified_urdf
from exciter.files import Seal, inside, output_folder, prepare, sha256, staged
from exciter.identification.identified_model import (
    IDENTIFIED_URDF,
    RESULT_ARCHIVE,
    RESULT_SEAL,
    ROBOT_COPY,
    read_result,
)
from exciter.notes import texts
from exciter.pipeline.check import SlowedMotion
from exciter.pipeline.design import Designed
from exciter.pipeline.identified import Identified
from exciter.pipeline.provenance import robot_data, versions
from exciter.pipeline.result_json import copy_name, result_data
from exciter.pipeline.validate import VALIDATION_SEAL, Validated, validation_data
from exciter.robot.robot import Robot

CHECKPOINT_FILE = "checkpoint.json"  #: of a design: what --resume goes on from
REPORT_FILE = "report.html"


def refuse_parts_of_results(*paths: Path, others: Iterable[Seal] = ()) -> None:
    """Refuse, before any work, to write a single file in place of one that belongs to a set: the set would be lost, and
    a motion that was certified with it. others: seals of sets that the pipeline does not write itself."""
    seals = (DESIGN, RESULT_SEAL, VALIDATION_SEAL, *others)
    for path in paths:
        for seal in seals:
            if seal.owns(path):
                raise ExciterError(
                    f"'{path}' is one of the files that belong to {seal.name} beside it; choose another name"
                )
        if path.name.casefold() == CHECKPOINT_FILE and os.path.lexists(path):
            raise ExciterError(f"'{path}' is the checkpoint of a design; choose another name")


# -- motions ---------------------------------------------------------------------------------------------------------


def save_design(designed: Designed, folder: Path, *, deadline: Deadline = NEVER) -> tuple[Exported, dict[str, Any]]:
    """trajectory.csv, .json, files for ROS 2, design.json and report.html; what was written, and what design.json says.

    Every file is read back and certified; what is not done until the deadline leaves nothing."""
    found, robot = designed.design, designed.robot

    def certified(curve: Curve) -> Certificate:
        return certify(robot, curve, found.constraints, check=deadline.check, from_rest=True)

    with output_folder(folder), deadline.kept(), staged(folder, DESIGN) as stage:
        motion = (found.curve, found.trajectory, found.delta)
        files = export(stage, robot, *motion, certified, periods=found.periods, rate=designed.config.rate)
        (stage / DESIGN_ARCHIVE).write_bytes(archived(designed))
        designed.report().write(stage / REPORT_FILE)
        return files, DESIGN.write(stage, designed.to_dict(files))


def save_slowed(slowed: SlowedMotion, folder: Path) -> Exported:
    """The same files of a motion at part of its speed, but for a report."""
    robot, rate = slowed.robot, slowed.config.rate

    def certified(curve: Curve) -> Certificate:
        return certify(robot, curve, slowed.constraints, from_rest=True)

    with output_folder(folder), staged(folder, DESIGN) as stage:
        files = export(stage, robot, slowed.curve, None, None, certified, rate=rate)
        DESIGN.write(
            stage,
            {
                "slowed": {"trajectory": slowed.origin, "speed": slowed.speed},
                "certificate": slowed.certificate.to_dict(),
                "robot": robot_data(robot, slowed.sha256),
                "duration": slowed.curve.duration,
                "remarks": texts(robot.remarks),
                "not_checked": texts(slowed.not_checked),
                "files": files.to_dict(),
                "settings": slowed.config.to_dict(),
                "versions": versions(),
            },
        )
    return files


# -- logs --------------------------------------------------------------------------------------------------------------


def refuse_overwriting(file: RecordingFile, output: Path) -> None:
    """Neither a repaired log nor what is written beside it may be what it is read from."""
    for path in (file.path, file.path.with_suffix(".yaml"), *(path for _, path in file.files)):
        for target in repaired_files(output):
            if exists(path) and (_same(path, target) or (isdir(path) and path.resolve() in target.resolve().parents)):
                raise ExciterError(
                    f"-o {output} would write over {path}, which the log is read from; give another name"
                )


def repaired_files(output: Path) -> tuple[Path, ...]:
    """A repaired log, and what is written beside a table."""
    return (output,) if output.suffix.lower() == ".npz" else (output, output.with_suffix(".yaml"))


def _same(a: Path, b: Path) -> bool:
    """One file, whatever it is called."""
    return a.resolve() == b.resolve() or (exists(a) and exists(b) and a.samefile(b))


# -- an identification -----------------------------------------------------------------------------------------------


def save_identified(found: Identified, folder: Path) -> dict[str, Any]:
    """Write result.json, result.npz, a copy of the description where there is one, the report and, of a full set,
    identified.urdf; the content of result.json."""
    prepare(folder)
    if found.description is not None:
        refuse_copy(found.description, folder)
        if found.sha256 not in (None, sha256(found.description)):
            raise ExciterError(
                f"'{found.description}' has changed since it was identified from: the result is of another robot than "
                "the file describes now; put the file back, or identify again"
            )
    data = result_data(found)
    with staged(folder, RESULT_SEAL, remove=unsealed_result(folder)) as stage:
        if found.description is not None:
            shutil.copyfile(found.description, stage / copy_name(found.description))
        if found.identification.physically_consistent:
            model, standard = found.identification.problem.model, found.estimate.standard
            text = identified_urdf(model, standard, found.description)
            (stage / IDENTIFIED_URDF).write_text(text, encoding="utf-8", newline="")
        (stage / RESULT_ARCHIVE).write_bytes(archived(found))
        found.report().write(stage / REPORT_FILE)
        return RESULT_SEAL.write(stage, data)


def refuse_foreign(robot: Robot, folder: Path) -> None:
    """Before any work: what would be refused when it is saved."""
    if robot.file is not None:
        refuse_copy(robot.file, folder)


def refuse_copy(description: Path, folder: Path) -> None:
    """A file of somebody else's is not written over by the copy of the description."""
    target = folder / copy_name(description)
    before = {*RESULT_SEAL.recorded(folder), *(path.name for path in unsealed_result(folder))}
    ours = target.name in before or not target.exists()
    if not ours and sha256(target) != sha256(description):
        raise ExciterError(f"'{target}' is there, and of no earlier result; choose another folder with -o")


def unsealed_result(folder: Path) -> tuple[Path, ...]:
    """Companions of a result of an earlier version, which has no hashes of them; none that could be another's."""
    if RESULT_SEAL.recorded(folder):
        return ()
    try:
        data = read_result(folder)
        copy, digest = inside(folder, data["robot"]["file"]), data["robot"]["sha256"]
        ours = copy.stem == ROBOT_COPY and copy.is_file() and sha256(copy) == digest
    except (ExciterError, KeyError, TypeError):
        return ()
    found = ((copy,) if ours else ()) + ((folder / IDENTIFIED_URDF,) if data.get("physically_consistent") else ())
    return tuple(path for path in found if path.is_file())


# -- a validation ----------------------------------------------------------------------------------------------------


def save_validated(checked: Validated, folder: Path) -> dict[str, Any]:
    """Write validation.json and the report; the content of validation.json."""
    prepare(folder)
    with staged(folder, VALIDATION_SEAL) as stage:
        checked.report().write(stage / REPORT_FILE)
        return VALIDATION_SEAL.write(stage, validation_data(checked))
