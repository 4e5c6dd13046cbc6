"""What a log is good for, before anything is computed from it; the log as it is, and repaired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os.path import exists, isdir  # false, too, for a name that is too long
from pathlib import Path
from typing import TypeAlias

from exciter.errors import ExciterError, RecordingError, shown
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.plan import PlannedStage
from exciter.experiment.quality import Quality, Repaired, check, repair
from exciter.experiment.recording import Recording, RecordingFile, open_recording, read_recording
from exciter.experiment.virtual.motion_execution import plan
from exciter.experiment.virtual.virtual_robot import Simulated
from exciter.pipeline.settings_file import AnyMotion, counted, curve_of, loaded_for_logs
from exciter.remote_files import place_of
from exciter.robot.load import RobotOptions
from exciter.robot.robot import Robot

Given: TypeAlias = str | Path | RecordingFile | Recording
AnyLog: TypeAlias = Given | Simulated


@dataclass(frozen=True, eq=False)
class StageMotion:
    """A stage of a plan, and the motion that was sent for it."""

    stage: PlannedStage
    sent: Curve


@contextmanager
def naming(log: Path | str) -> Iterator[None]:
    """Errors of a log say which one it is."""
    try:
        yield
    except RecordingError as error:
        raise RecordingError(str(error) if str(log) in str(error) else f"{log}: {error}") from None


def several(given: AnyLog | Sequence[AnyLog]) -> tuple[Given, ...]:
    """One log need not stand in a list; a simulation stands for its recording."""
    logs = given if isinstance(given, list | tuple) else (given,)
    for one in logs:
        if not isinstance(one, AnyLog):
            raise RecordingError(f"the log is {shown(one)}; give a recording, a simulation, or the path of a log")
    return tuple(one.recording if isinstance(one, Simulated) else one for one in logs)


def read(path: str | Path, data: str | Path | None = None) -> Recording:
    """A log: a recording.yaml that says how to read foreign files, or CSV, NPZ, MAT, bags of known kinds. data: folder
    of the files that a recording.yaml names. Logs larger than memory are given to ``identify`` by their path.

    >>> path = log.save("log.csv")
    >>> len(ex.read("log.csv")) == len(log)
    True"""
    return read_recording(place_of(path, "the log"), data)


def inspect(
    robot: Robot | str | Path,
    log: AnyLog,
    *,
    planned: AnyMotion | None = None,
    periods: int | None = None,
    stage: StageMotion | None = None,
    data: Path | None = None,
) -> Quality:
    """What a log is good for, before anything is computed from it.

    The log as it is, a file piece by piece; planned: the motion it was sent; periods: how often that was run through;
    stage: of a plan, that the log is of, with its motion; data: folder of the files that a recording.yaml names.

    >>> print(ex.inspect(robot, log, planned=motion))
    usable..."""
    robot = loaded_for_logs(robot, RobotOptions())[0]
    sent = None if planned is None else plan(curve_of(planned, robot), counted(periods, "periods")).curve
    sent, planned_stage = (sent, None) if stage is None else (stage.sent, stage.stage)
    given, *more = several(log)
    if more:
        raise RecordingError(f"{1 + len(more)} logs are given; inspect them one by one")
    if isinstance(given, Recording):
        with naming(given.name or "recording"):
            return check(given.arranged(robot), robot, planned=sent, stage=planned_stage)
    file = given if isinstance(given, RecordingFile) else open_recording(given, data)
    with naming(file.name):
        return check(file.chunks(), robot, planned=sent, stage=planned_stage)


def repaired_log(
    robot: Robot, file: RecordingFile, *, planned: AnyMotion | None = None, periods: int | None = None
) -> tuple[Repaired, Quality]:
    """The log repaired, and what it is good for now."""
    sent = None if planned is None else plan(curve_of(planned, robot), periods).curve
    with naming(file.name):
        repaired = repair(file.read(), file.repair)
        return repaired, check(repaired.recording, robot, planned=sent)


def refuse_overwriting(file: RecordingFile, output: Path) -> None:
    """Neither a repaired log nor what is written beside it may be what it is read from."""
    for path in filter(exists, (file.path, file.path.with_suffix(".yaml"), *(path for _, path in file.files))):
        for target in repaired_files(output):
            same = path.resolve() == target.resolve() or (exists(target) and path.samefile(target))
            if same or (isdir(path) and path.resolve() in target.resolve().parents):
                raise ExciterError(
                    f"-o {output} would write over {path}, which the log is read from; give another name"
                )


def repaired_files(output: Path) -> tuple[Path, ...]:
    """A repaired log, and what is written beside a table."""
    return (output,) if output.suffix.lower() == ".npz" else (output, output.with_suffix(".yaml"))
