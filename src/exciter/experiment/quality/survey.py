"""One pass over all samples: every tally, piece by piece, in memory that does not grow with the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.quality.coarse import Coarse
from exciter.experiment.quality.constant import Plateaus
from exciter.experiment.quality.missing import Missing, sane
from exciter.experiment.quality.spikes import Spikes
from exciter.experiment.quality.tally import Tally
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.quality.timing import Timing
from exciter.experiment.quality.values import Values, limits_of
from exciter.experiment.quality.windows import Windows
from exciter.experiment.recording.about import About
from exciter.experiment.recording.recording import Recording
from exciter.robot.robot import Robot

CONTEXT = 64  # samples of the piece before that a tally sees again
ENOUGH = 1000  # samples that the nominal interval is taken from
CHUNK = 65_536  # samples


@dataclass(frozen=True)
class Survey:
    """What the whole log is like."""

    joints: tuple[str, ...]
    signals: tuple[str, ...]
    about: About
    timing: Timing
    missing: Missing
    values: Values
    plateaus: Plateaus
    spikes: Spikes
    coarse: Coarse
    windows: Windows

    @property
    def tallies(self) -> tuple[Tally, ...]:
        return (self.timing, self.missing, self.values, self.plateaus, self.spikes, self.coarse, self.windows)


def survey(pieces: Iterable[Recording], robot: Robot | None, thresholds: Thresholds) -> Survey:
    """Of pieces of one recording, in order of time."""
    stream = iter(pieces)
    head = _head(stream)
    interval = _interval(head)
    turning = None if robot is None else np.array([not joint.is_prismatic for joint in robot.joints])
    fastest = None if robot is None else thresholds.impossible_speed * robot.limit("velocity")
    result = Survey(
        head.joints,
        head.signals,
        head.about,
        Timing(interval, thresholds.gap),
        Missing(),
        Values(limits_of(robot), thresholds.at_limit),
        Plateaus(max(thresholds.stuck, 5.0 * interval)),
        Spikes(thresholds.spike, fastest, thresholds.jump, turning),
        Coarse(interval),
        Windows(thresholds.window, thresholds.most_samples),
    )
    context: Recording | None = None
    for whole in _with_head(head, stream):
        for piece in whole.chunks(CHUNK):
            if context is not None and (piece.joints, piece.signals) != (context.joints, context.signals):
                raise RecordingError("the pieces of the recording do not have the same joints and signals")
            if context is not None and piece.time[0] < context.time[-1]:
                raise RecordingError(
                    f"time runs backwards from {context.time[-1]:.6g} s to {piece.time[0]:.6g} s between two pieces"
                )
            seen = sane(piece) if context is None else Recording.join([context, sane(piece)])
            old = 0 if context is None else len(context)
            for tally in result.tallies:
                tally.see(seen, old)
            context = seen[-CONTEXT:]
    return result


def _head(stream: Iterator[Recording]) -> Recording:
    parts: list[Recording] = []
    for piece in stream:
        parts += [piece] if len(piece) else []
        if sum(map(len, parts)) >= ENOUGH:
            break
    head = Recording.join(parts)
    if len(head) < 2:
        raise RecordingError(f"a recording of {len(head)} samples cannot be judged; at least 2 are needed")
    return head


def _with_head(head: Recording, stream: Iterator[Recording]) -> Iterator[Recording]:
    yield head
    yield from (piece for piece in stream if len(piece))


def _interval(head: Recording) -> float:
    step = np.diff(head.time)
    if not (step > 0).any():
        raise RecordingError(
            f"time stays at {head.time[0]:.6g} s over {len(head)} samples; is it the right column? without one, give "
            "time: {rate: …} [Hz]"
        )
    return float(np.median(step[step > 0]))
