"""From a recording to motion and torque: repaired, the analogue filter undone, differentiated, part by part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exciter.errors import RecordingError
from exciter.experiment.quality.repair import Repaired, repair
from exciter.experiment.recording.recording import Recording
from exciter.experiment.recording.repairs import Repairs
from exciter.experiment.signals.filtered_differences import FilteredDifferences
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.periods import BrokenPositions
from exciter.experiment.signals.prewhitening import Prewhitening
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.resample import round_rate, sampling_rate
from exciter.experiment.signals.route import Route, StreamingRoute

FEWEST_PERIODS = 2.0  # one period has no average, and says nothing of its noise


@dataclass(frozen=True, eq=False)
class Prepared:
    """parts: one for each part of the recording between long gaps; words: all that was done, and why."""

    parts: tuple[Processed, ...]
    words: tuple[str, ...]


def process(recording: Recording | Repaired, route: Route | None = None, repairs: Repairs | None = None) -> Prepared:
    """Motion and torque for identification; ``usual_route`` unless a route is given, and filtered differences where
    that one is refused for another reason than positions that no motion makes.

    Open choices of a route are made once, from all parts. Parts that are too short for it are left out, and this is
    told; when none is left, the reason is the error. What was repaired before is not repaired again.
    """
    repaired = recording if isinstance(recording, Repaired) else repair(recording, repairs)
    words = list(repaired.words)
    if route is not None:
        return _prepared(route, repaired.segments, words)
    route, why = usual_route(repaired.original)
    try:
        return _prepared(route, repaired.segments, [*words, why])
    except RecordingError as error:
        if isinstance(route, FilteredDifferences) or isinstance(error, BrokenPositions):
            raise
        return _prepared(FilteredDifferences(), repaired.segments, [*words, f"low-passed and differentiated: {error}"])


def usual_route(recording: Recording) -> tuple[Route, str]:
    """Spectral differentiation for a motion that repeats, filtered differences for any other; and why, in words."""
    about = recording.about
    if about.period is None:
        return FilteredDifferences(), "no period is given: low-passed and differentiated"
    start = recording.time[0] if about.settled is None else max(about.settled, recording.time[0])
    count = (recording.time[-1] - start) / about.period
    if count >= FEWEST_PERIODS:
        return FourierFit(), f"the motion repeats every {about.period:g} s: averaged, and differentiated as series"
    return FilteredDifferences(), (
        f"{count:.3g} periods of {about.period:g} s are too few to average: low-passed and differentiated"
    )


def _prepared(route: Route, segments: Sequence[Recording], words: list[str]) -> Prepared:
    words = list(words)
    if isinstance(route, StreamingRoute):
        undone = _undone(segments, words)
        parts = _joined(route.stream(undone, Recording.join(undone)))
        words += [f"left out {_span(segment)}: too short" for segment in undone if not _inside(segment, parts)]
    else:
        parts = [route.apply(Recording.join(segments))]  # it sees gaps, and leaves them out
    words += [word for part in parts for word in part.words]
    return Prepared(tuple(parts), tuple(dict.fromkeys(words)))


def _undone(segments: Sequence[Recording], words: list[str]) -> list[Recording]:
    """Without the analogue filter of the torque, where the recording names one; at one rate, so to one bandwidth."""
    if segments[0].about.filter is None:
        return list(segments)
    rate = round_rate(sampling_rate(Recording.join(segments).time))
    undone, refused = [], RecordingError("nothing was recorded")
    for segment in segments:
        try:
            undone.append(Prewhitening().apply(segment, rate))
            words.append(undone[-1].about.notes["prewhitening"])
        except RecordingError as error:
            refused = error
            words.append(f"left out {_span(segment)}: {error}")
    if not undone:
        raise refused
    return undone


def _joined(pieces: Iterable[Processed]) -> list[Processed]:
    """Pieces that follow each other without a gap become one part."""
    groups: list[list[Processed]] = []
    for piece in pieces:
        if groups and piece.motion.time[0] - groups[-1][-1].motion.time[-1] < 1.5 / piece.rate:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return [Processed.join(group) for group in groups]


def _span(segment: Recording) -> str:
    return f"{segment.time[0]:.6g} … {segment.time[-1]:.6g} s"


def _inside(segment: Recording, parts: Sequence[Processed]) -> bool:
    """Whether something is left of a segment."""
    return any(segment.time[0] <= part.motion.time[len(part) // 2] <= segment.time[-1] for part in parts)
