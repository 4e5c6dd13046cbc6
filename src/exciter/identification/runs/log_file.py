"""A log that is named, not held: whoever can read the file, or fetch it, has its samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from exciter.experiment.recording import Recording, RecordingFile, open_recording
from exciter.experiment.recording.base_joints import arranged_pieces
from exciter.experiment.recording.recording import SourceFile
from exciter.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class LogFile:
    """Pieces of a log at a ``path`` or URL, read anew at every call, with the joints of a robot in its order. sources:
    what the files were made from, with their hashes; data: folder of the files that a recording.yaml names. with_load:
    of the robot with a load that is to be found, so that nothing stated of it counts."""

    path: str | Path
    robot: Robot
    sources: tuple[SourceFile, ...]
    data: Path | None = None
    with_load: bool = False

    @cached_property
    def _file(self) -> RecordingFile:
        file = open_recording(self.path, self.data)
        return replace(file, stated=replace(file.stated, sources=self.sources))  # nobody need hash all of it again

    def __call__(self) -> Iterator[Recording]:
        yield from arranged(self._file.chunks(), self.robot, with_load=self.with_load)


def arranged(pieces: Iterator[Recording], robot: Robot, *, with_load: bool) -> Iterator[Recording]:
    """``Recording.arranged``, without what is stated of a load that is to be found."""
    for own in arranged_pieces(pieces, robot):
        yield replace(own, about=replace(own.about, payload=None)) if with_load else own
