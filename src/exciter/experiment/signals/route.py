"""A route: how recorded positions become q, q̇, q̈ beside the torque."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Protocol

from exciter.errors import RecordingError
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.noise import peeked_at_motion
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.resample import Margin, Piece, overlapped, peeked, segments, split_at_gaps
from exciter.notes import done
from exciter.settings import Number, Settings, Whole

BEGINNING = 100_000  #: samples of a stream from which open choices are made
MOST_BRIDGED = 1_000_000  #: sampling intervals
Frequency = Annotated[float | None, Number(above=0.0, unit="Hz")]
Bridge = Annotated[int, Whole(1, MOST_BRIDGED)]


class Route(Settings, ABC):
    """Settings of one way to differentiate, frozen. Choices left open (None) are made from the data and told."""

    tag = "method"

    @abstractmethod
    def apply(self, recording: Recording) -> Processed:
        """The recording's motion and torque at uniform instants.

        The recording has torque (or current with gains), no NaN and no duplicates (``quality.repair``).
        """


class Plan(Protocol):
    """A route with every choice made. gap [s]: the longest that is bridged; margin: how far it looks."""

    @property
    def gap(self) -> float: ...

    @property
    def margin(self) -> Margin: ...

    def processed(self, piece: Piece[Recording], start: float) -> Processed | None:
        """The inner part of a piece of the segment that begins at ``start`` [s]; None: the segment is too short."""

    def too_short(self, duration: float) -> str:
        """Why a segment of that length [s] cannot be processed, and what to do."""


class StreamingRoute(Route):
    """A route that looks at a neighbourhood only, so that a log larger than memory can pass in pieces."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether a choice is left that needs motion to be made."""

    @abstractmethod
    def plan(self, recording: Recording) -> Plan:
        """Every choice made, from a recording or a typical part of it."""

    def apply(self, recording: Recording) -> Processed:
        """Of a recording without long gaps."""
        plan = self.plan(recording)
        parts = split_at_gaps(recording, plan.gap)
        if len(parts) > 1:
            before, after = parts[0].time[-1], parts[1].time[0]
            raise RecordingError(
                f"there is a gap of {after - before:.3g} s at {before:.6g} s, more than the {plan.gap:.3g} s that are "
                "bridged; cut the recording there (split_at_gaps), or bridge more intervals"
            )
        whole = Piece(recording, slice(0, len(recording)), True, True)
        processed = plan.processed(whole, float(recording.time[0]))
        if processed is None:
            raise RecordingError(plan.too_short(recording.duration))
        return processed

    def stream(self, chunks: Iterable[Recording], typical: Recording | None = None) -> Iterator[Processed]:
        """The same for a log larger than memory, in pieces; a long gap starts a new part.

        typical: what open choices are made from; where it is not given, the log's first stretch with motion. Parts
        too short for the route are left out, which the notes of the piece after them say, those of the last piece at
        the latest.
        """
        if typical is None:
            peek = peeked_at_motion if self.is_open else peeked
            typical, chunks = peek(chunks, BEGINNING, Recording.join)
        if typical is None:
            raise RecordingError("nothing was recorded")
        plan = self.plan(typical)
        held, short, lost = None, 0, 0.0
        for piece, start in _pieces(chunks, plan):
            processed = plan.processed(piece, start)
            if processed is None:
                short, lost = short + 1, lost + piece.whole.duration
            elif len(processed):
                if held is not None:
                    yield _told(held, short, lost)
                held = processed
        if held is None:
            raise RecordingError(plan.too_short(lost if short else typical.duration))
        yield _told(held, short, lost)


def _told(processed: Processed, short: int, lost: float) -> Processed:
    left_out = done("gaps", f"{short} parts between gaps so far were too short: {lost:.3g} s left out")
    return replace(processed, notes=(*processed.notes, left_out)) if short else processed


def _pieces(stream: Iterable[Recording], plan: Plan) -> Iterator[tuple[Piece[Recording], float]]:
    """Each with the time [s] where its segment begins."""
    for segment in segments(stream, plan.gap):
        start = 0.0
        for piece in overlapped(segment, plan.margin, Recording.join):
            start = float(piece.whole.time[0]) if piece.first else start
            yield piece, start
