"""A run from a log larger than memory: read and processed piece by piece, every time it is gone through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from exciter.errors import RecordingError
from exciter.experiment.recording.recording import Recording
from exciter.experiment.recording.recording_file import ROWS, RecordingFile
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.route import StreamingRoute
from exciter.identification.run import Run
from exciter.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class StreamedParts:
    """Motion and torque of a log, read anew at every ``iter``; in memory are some ``rows`` samples and their margins.

    typical: what open choices of the route are made from; None: the log's first stretch with motion.
    """

    file: RecordingFile
    route: StreamingRoute
    robot: Robot
    rows: int = ROWS
    typical: Recording | None = None

    def __iter__(self) -> Iterator[Processed]:
        chunks = (chunk.arranged(self.robot) for chunk in self.file.chunks(self.rows))
        return self.route.stream(chunks, self.typical)


def long_run(
    file: RecordingFile,
    route: StreamingRoute,
    robot: Robot,
    *,
    rows: int = ROWS,
    typical: Recording | None = None,
    name: str | None = None,
) -> Run:
    """The log as a run of the robot. It is gone through once here, to know when its motion begins and ends.

    Nothing is repaired, for repairs look at a recording as a whole: what a route cannot work on is refused.
    """
    about, name = file.about, file.path.name if name is None else name
    if about.filter is not None:
        raise RecordingError(
            f"{name}: the analogue filter of the torque is undone on whole recordings only; keep less of the log "
            "(windows) and read it at once, or undo the filter before"
        )
    parts = StreamedParts(file, route, robot, rows, typical)
    span: tuple[float, float] | None = None
    words: dict[str, None] = {}
    for piece in parts:
        first = piece.motion.time[0] if span is None else span[0]
        span = float(first), float(piece.motion.time[-1])
        words |= dict.fromkeys(piece.words)
    return Run(parts, name, span, about.period, about.payload, None, (*words,))
