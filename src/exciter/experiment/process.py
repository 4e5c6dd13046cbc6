"""From a recording to motion and torque: repaired, the analogue filter undone, differentiated, part by part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exciter.errors import RecordingError
from exciter.experiment.quality.repair import repair
from exciter.experiment.quality.repairs import Repairs
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.filtered_differences import FilteredDifferences
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.prewhitening import Prewhitening
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.route import Route, StreamingRoute

FEWEST_PERIODS = 2.0  # one period has no average, and says nothing of its noise


@dataclass(frozen=True, eq=False)
class Prepared:
    """parts: one for each part of the recording between long gaps; words: all that was done, and why."""

    parts: tuple[Processed, ...]
    words: tuple[str, ...]


def process(recording: Recording, route: Route | None = None, repairs: Repairs | None = None) -> Prepared:
    """Motion and torque for identification; ``usual_route`` unless a route is given.

    Parts that are too short for the route are left out, and this is told; when none is left, the reason is the error.
    """
    repaired = repair(recording, repairs)
    words = list(repaired.words)
    if route is None:
        route, why = usual_route(recording)
        words.append(why)
    if isinstance(route, StreamingRoute):
        segments = [_undone(segment, words) for segment in repaired.segments]
        parts = _joined(route.stream(segments))  # one choice of its settings for all parts
        words += [f"left out {_span(segment)}: too short" for segment in segments if not _inside(segment, parts)]
    else:
        parts = _one_by_one(route, repaired.segments, words)
    words += [word for part in parts for word in part.words]
    return Prepared(tuple(parts), tuple(dict.fromkeys(words)))


def usual_route(recording: Recording) -> tuple[Route, str]:
    """Spectral differentiation for a motion that repeats, filtered differences for any other; and why, in words."""
    about = recording.about
    if about.period is not None and len(recording):
        settled = recording.duration if about.settled is None else recording.time[-1] - about.settled
        if settled >= FEWEST_PERIODS * about.period:
            return FourierFit(), f"the motion repeats every {about.period:g} s: averaged, and differentiated as series"
    return FilteredDifferences(), "the motion does not repeat, or not often enough: low-passed and differentiated"


def _undone(segment: Recording, words: list[str]) -> Recording:
    """Without the analogue filter of the torque, where the recording names one."""
    if segment.about.filter is None:
        return segment
    undone = Prewhitening().apply(segment)
    words.append(undone.about.notes["prewhitening"])
    return undone


def _one_by_one(route: Route, segments: Sequence[Recording], words: list[str]) -> list[Processed]:
    parts, refused = [], RecordingError("nothing was recorded")
    for segment in segments:
        try:
            parts.append(route.apply(segment))
        except RecordingError as error:
            refused = error
            words.append(f"left out {_span(segment)}: {error}")
    if not parts:
        raise refused
    return parts


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
