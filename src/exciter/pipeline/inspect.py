"""What a log is good for, and the log repaired as its recording.yaml asks."""

from __future__ import annotations

from exciter.excitation.trajectories.curve import Curve
from exciter.experiment import quality
from exciter.experiment.quality import Quality, Repaired, Repairs
from exciter.experiment.recording import RecordingFile
from exciter.pipeline.logs import naming
from exciter.robot.robot import Robot


def inspect(robot: Robot, file: RecordingFile, *, planned: Curve | None = None) -> Quality:
    """The log as it is, read piece by piece; planned: the motion it was sent. What is wrong with the repairs that it
    asks for is said first."""
    repairs_of(file)
    with naming(file.path):
        return quality.check_stream(file.chunks(), robot, planned=planned)


def repair(robot: Robot, file: RecordingFile, *, planned: Curve | None = None) -> tuple[Repaired, Quality]:
    """The log repaired, and what it is good for now."""
    repairs = repairs_of(file)
    with naming(file.path):
        repaired = quality.repair(file.read(), repairs)
        return repaired, quality.check(repaired.recording, robot, planned=planned)


def repairs_of(file: RecordingFile) -> Repairs:
    """As its recording.yaml has them."""
    return Repairs.from_dict(file.repair, f"{file.path}: repair")
