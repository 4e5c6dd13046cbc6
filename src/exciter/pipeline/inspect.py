"""What a log is good for, and the log repaired as its recording.yaml asks."""

from __future__ import annotations

from pathlib import Path

from exciter.errors import RecordingError
from exciter.experiment import quality
from exciter.experiment.quality import Quality, Repaired
from exciter.experiment.recording import Recording, RecordingFile, open_recording
from exciter.experiment.virtual.motion_execution import plan
from exciter.pipeline.accepted_inputs import AnyMotion, counted, curve_of, loaded
from exciter.pipeline.logs import AnyLog, NamedLog, naming, several
from exciter.robot.load import RobotOptions
from exciter.robot.robot import Robot


def inspect(
    robot: Robot | str | Path,
    log: AnyLog,
    *,
    planned: AnyMotion | None = None,
    periods: int | None = None,
    data: Path | None = None,
) -> Quality:
    """What a log is good for, before anything is computed from it.

    The log as it is, a file piece by piece; planned: the motion it was sent; periods: how often that was run through;
    data: folder of the files that a recording.yaml names.

    >>> print(ex.inspect(robot, log, planned=motion))
    usable...
    """
    robot = loaded(robot, RobotOptions())[0]
    sent = None if planned is None else plan(curve_of(planned, robot), counted(periods, "periods")).curve
    given, *more = several(log)
    if more:
        raise RecordingError(f"{1 + len(more)} logs are given; inspect them one by one")
    source = given.source if isinstance(given, NamedLog) else given
    if isinstance(source, Recording):
        with naming(source.name or "recording"):
            return quality.check(source.arranged(robot), robot, planned=sent)
    file = source if isinstance(source, RecordingFile) else open_recording(source, data)
    with naming(file.path):
        return quality.check_stream(file.chunks(), robot, planned=sent)


def repair(
    robot: Robot, file: RecordingFile, *, planned: AnyMotion | None = None, periods: int | None = None
) -> tuple[Repaired, Quality]:
    """The log repaired, and what it is good for now."""
    sent = None if planned is None else plan(curve_of(planned, robot), periods).curve
    with naming(file.path):
        repaired = quality.repair(file.read(), file.repair)
        return repaired, quality.check(repaired.recording, robot, planned=sent)
