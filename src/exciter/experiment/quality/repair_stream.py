"""Repairs of a log larger than memory: piece by piece, with so much beside each that the cuts do not show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.quality.repair import Done, complete, completed, corrected, moving_span, nothing_left
from exciter.experiment.quality.spikes import TURN
from exciter.experiment.quality.survey import ENOUGH
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.recording.about import Repairs
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.resample import Margin, Piece, overlapped, window
from exciter.typing import Array

BESIDE_SECONDS, BESIDE_SAMPLES = 1.0, 256  # at least, on either side of a piece


@dataclass(frozen=True, eq=False)
class RepairedLog:
    """A log as ``repair`` leaves it, read anew at every ``iter``, in pieces in order of time.

    chunks: reads it from its beginning. A value that is missing for longer than a piece is looked beyond is refused. Of
    sensors that are stuck the quality check knows.
    """

    chunks: Callable[[], Iterable[Recording]]
    repairs: Repairs
    limits: Thresholds
    interval: float
    moving: tuple[float, float]

    @classmethod
    def of(
        cls,
        chunks: Callable[[], Iterable[Recording]],
        repairs: Repairs | None = None,
        thresholds: Thresholds | None = None,
    ) -> RepairedLog:
        repairs, limits = repairs or Repairs(), thresholds or Thresholds()
        beginning = Recording.join(window(iter(chunks()), ENOUGH))
        everything = cls(chunks, replace(repairs, cut_standstill=False), limits, beginning.interval, (-np.inf, np.inf))
        if not repairs.cut_standstill:
            return everything
        return replace(everything, repairs=repairs, moving=moving_span(everything.corrected(), limits))

    def corrected(self) -> Iterator[Recording]:
        """Gaps and missing values as they are."""
        for piece, (start, end) in self._pieces():
            yield _between(corrected(piece.whole, self.repairs, self.limits, Done()), start, end)

    def __iter__(self) -> Iterator[Recording]:
        return self.repaired(Done())

    def repaired(self, done: Done) -> Iterator[Recording]:
        """done: counts what was repaired, and is complete when the last piece has been given."""
        turns, longest, count = _Turns(), 0.0, 0
        first, last = self.moving
        cut = 0
        for piece, (start, end) in self._pieces():
            done.within = start, end
            whole = corrected(piece.whole, self.repairs, self.limits, done)
            done.see_holes(whole)
            kept = whole.between(first, last)
            cut += len(_between(whole, start, end)) - len(_between(kept, start, end))
            if not len(kept):
                continue
            self._refuse_torn(piece, kept, start, end)
            parts = completed(kept, self.interval, self.repairs, done)
            if self.repairs.unwrap:
                parts = turns.continued(parts, end)
            for part in parts:
                longest = max(longest, part.duration)
                inner = _between(part, start, end)
                if part.duration >= self.repairs.shortest and len(inner):
                    count += len(inner)
                    yield inner
        done.refuse_holes(self.limits)
        if cut:
            done.see_standstill(first, last, cut)
        if not count:
            raise nothing_left(longest, self.repairs)

    def _pieces(self) -> Iterator[tuple[Piece[Recording], tuple[float, float]]]:
        """Each with the time [s] of which it is to be taken, from and before."""
        beside = max(BESIDE_SECONDS, 2.0 * self.repairs.shortest, 4.0 * self.repairs.interpolate)
        for piece in overlapped(self.chunks(), Margin(beside, BESIDE_SAMPLES), Recording.join):
            time = piece.whole.time
            start = -np.inf if piece.first else float(time[piece.inner.start])
            end = np.inf if piece.last else float(time[piece.inner.stop])
            yield piece, (start, end)

    def _refuse_torn(self, piece: Piece[Recording], whole: Recording, start: float, end: float) -> None:
        """Missing from before a cut until behind it, and from there to the end of what is seen: for how long nobody
        knows."""
        good, time = complete(whole), whole.time
        there = time[good]
        before = not piece.first and time[0] <= start and not (there <= start).any()
        behind = not piece.last and time[-1] >= end and not (there >= end).any()
        if before or behind:
            raise RecordingError(
                f"cannot be repaired: samples about {start if before else end:.6g} s hold no numbers for a second or "
                "more; cut that time out with windows"
            )


class _Turns:
    """Whole turns by which angles of a piece differ from those of the one before, where both know them."""

    def __init__(self) -> None:
        self._offset: Array | float = 0.0
        self._before: Recording | None = None

    def continued(self, parts: list[Recording], end: float) -> list[Recording]:
        """Parts of the next piece; ``end`` [s]: where the one after it begins."""
        joined = Recording.join(parts)
        if self._before is not None:
            _, old, new = np.intersect1d(self._before.time, joined.time, return_indices=True)
            if len(old):
                apart = np.median(self._before.q[old] - joined.q[new], axis=0)
                self._offset = np.rint(apart / TURN) * TURN
        moved = [replace(part, q=part.q + self._offset) for part in parts]
        self._before = Recording.join(moved).between(end - BESIDE_SECONDS, np.inf) if np.isfinite(end) else None
        return moved


def _between(recording: Recording, start: float, end: float) -> Recording:
    """The samples of start ≤ time < end [s]."""
    first, last = np.searchsorted(recording.time, [start, end])
    return recording[int(first) : int(last)]
