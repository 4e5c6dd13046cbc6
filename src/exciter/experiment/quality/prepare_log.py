"""From a recording to motion and torque: repaired, the analogue filter undone, differentiated, part by part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.quality.repair import Repaired, repair
from exciter.experiment.recording.recording import Recording, Repairs
from exciter.experiment.signals.analogue_filter_undone import PREWHITENING_NOTE, Prewhitening
from exciter.experiment.signals.differentiation import FilteredDifferences, SmoothingSpline
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.periods import BrokenPositions
from exciter.experiment.signals.processed_motion import Processed, Route, StreamingRoute
from exciter.experiment.signals.resample import round_rate, sampling_rate
from exciter.notes import Note, done, note
from exciter.settings import Registry

FEWEST_AVERAGED_PERIODS = 2.0  # one period has no average, and says nothing of its noise
#: ``route:`` by method: how positions are differentiated.
#:     route: {method: differences, cutoff: 20, measured_velocity: true}   # [Hz]; the method unless given
#:     route: {method: fourier, harmonics: 20, period: 10}                 # of a motion that repeats
#:     route: {method: spline, knots_per_second: 20}
ROUTES = Registry[Route]("method", FilteredDifferences, FourierFit, SmoothingSpline)


@dataclass(frozen=True, eq=False)
class Prepared:
    """parts: one for each part of the recording between long gaps; notes: all that was done, and why."""

    parts: tuple[Processed, ...]
    notes: tuple[Note, ...]


def process(recording: Recording | Repaired, route: Route | None = None, repairs: Repairs | None = None) -> Prepared:
    """Motion and torque for identification; ``usual_route`` unless a route is given, and filtered differences where
    that one is refused for another reason than positions that no motion makes. Open choices are made once, from all
    parts. Parts too short are left out and reported, all of them an error. Nothing is repaired twice."""
    repaired = recording if isinstance(recording, Repaired) else repair(recording, repairs)
    if route is not None:
        return _prepared(route, repaired.segments, repaired.notes)
    route, why = usual_route(repaired.original)
    try:
        return _prepared(route, repaired.segments, [*repaired.notes, why])
    except RecordingError as error:
        if isinstance(route, FilteredDifferences) or isinstance(error, BrokenPositions):
            raise
        return _prepared(FilteredDifferences(), repaired.segments, [*repaired.notes, fallen_back(error)])


def fallen_back(error: RecordingError) -> Note:
    """On filtered differences, where a route was refused."""
    return note("route", f"low-passed and differentiated: {error}")


def usual_route(recording: Recording) -> tuple[Route, Note]:
    """Spectral differentiation for a motion that repeats, filtered differences for any other; and why."""
    about, time = recording.about, recording.time
    why = "no period is given"
    if about.period is not None:
        start = time[0] if about.settled is None else max(about.settled, time[0])
        count = (time[-1] - start) / about.period
        if count >= FEWEST_AVERAGED_PERIODS:
            text = f"the motion repeats every {about.period:g} s: averaged, and differentiated as series"
            return FourierFit(), done("route", text)
        why = f"{count:.3g} periods of {about.period:g} s are too few to average"
    return FilteredDifferences(), done("route", f"{why}: low-passed and differentiated")


def _prepared(route: Route, segments: Sequence[Recording], said: Sequence[Note]) -> Prepared:
    notes = list(said)
    if isinstance(route, StreamingRoute):
        undone = _undone(segments, notes)
        parts = _joined(route.stream(undone, Recording.join(undone)))
        middles = [part.motion.time[len(part) // 2] for part in parts]
        for segment in undone:
            if not any(segment.time[0] <= middle <= segment.time[-1] for middle in middles):
                notes.append(done("left out", f"left out {_span(segment)}: too short"))
    else:
        whole = Recording.join(segments)
        parts = [with_constant_contacts(route.apply(whole), [whole])]  # it sees gaps, and leaves them out
    notes += [one for part in parts for one in part.notes]
    return Prepared(tuple(parts), tuple(dict.fromkeys(notes)))


def with_constant_contacts(part: Processed, segments: Iterable[Recording]) -> Processed:
    """Periods that were averaged, with contacts that must be the same throughout."""
    first: Recording | None = None
    for segment in segments:
        if segment.contact is None or not len(segment):
            return part
        first = segment if first is None else first
        assert first.contact is not None
        if (segment.contact != first.contact[0]).any():
            raise RecordingError("contacts with the ground change, so that periods cannot be averaged")
    if first is None or first.contact is None:
        return part
    flags = np.broadcast_to(first.contact[0], (len(part), first.contact.shape[1]))
    return replace(part, contact=flags, contacts=first.about.contacts)


def _undone(segments: Sequence[Recording], notes: list[Note]) -> list[Recording]:
    """Without the analogue filter of the torque, where the recording names one; at one rate, so to one bandwidth."""
    if segments[0].about.filter is None:
        return list(segments)
    rate = round_rate(sampling_rate(Recording.join(segments).time))
    undone, refused = [], RecordingError("nothing was recorded")
    for segment in segments:
        try:
            undone.append(Prewhitening().apply(segment, rate))
            notes.append(done(PREWHITENING_NOTE, undone[-1].about.notes[PREWHITENING_NOTE]))
        except RecordingError as error:
            refused = error
            notes.append(note("left out", f"left out {_span(segment)}: {error}"))
    if not undone:
        raise refused
    return undone


def _joined(pieces: Iterable[Processed]) -> list[Processed]:
    """Pieces that follow each other without a gap become one part."""
    groups: list[list[Processed]] = []
    for piece in pieces:
        if not groups or piece.motion.time[0] - groups[-1][-1].motion.time[-1] >= 1.5 / piece.rate:
            groups.append([])
        groups[-1].append(piece)
    return [Processed.join(group) for group in groups]


def _span(segment: Recording) -> str:
    return f"{segment.time[0]:.6g} … {segment.time[-1]:.6g} s"
