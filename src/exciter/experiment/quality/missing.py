"""Samples that are there in time but hold no number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from exciter.experiment.quality.tally import runs
from exciter.experiment.quality.words import count as counted
from exciter.experiment.quality.words import number, percent
from exciter.experiment.recording.recording import Recording
from exciter.notes import Note, problem, warning

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

Channel = tuple[str, int]
ABSURD = 1e12  # in any unit: larger numbers are none


def sane(recording: Recording) -> Recording:
    """With NaN for whatever is no number, infinite or absurd."""
    changed: dict[str, Any] = {}
    for name in recording.channels:
        x = getattr(recording, name)
        good = np.abs(x) < ABSURD
        if not good.all():
            changed[name] = np.where(good, x, np.nan)
    return replace(recording, **changed) if changed else recording


class Missing:
    """NaN (see ``sane``) per channel: how many, and the longest run [s] with its start."""

    def __init__(self) -> None:
        self.count: dict[Channel, int] = {}
        self.longest: dict[Channel, tuple[float, float]] = {}
        self._open: dict[Channel, float] = {}

    def see(self, piece: Recording, old: int) -> None:
        for name in piece.signals:
            bad = ~np.isfinite(getattr(piece, name)[old:])
            for j in np.flatnonzero(bad.any(axis=0)):
                self._see_channel((name, int(j)), bad[:, j], piece.time[old:])
            for j in np.flatnonzero(~bad.any(axis=0)):
                self._open.pop((name, int(j)), None)

    def _see_channel(self, channel: Channel, bad: np.ndarray, time: np.ndarray) -> None:
        self.count[channel] = self.count.get(channel, 0) + int(bad.sum())
        starts, lengths = runs(bad)
        begin, end = time[starts], time[np.minimum(starts + lengths, len(time) - 1)]
        if starts[0] == 0 and channel in self._open:  # goes on from the piece before
            begin[0] = self._open[channel]
        spans = end - begin
        k = int(spans.argmax())
        if spans[k] >= self.longest.get(channel, (0.0, 0.0))[0]:
            self.longest[channel] = (float(spans[k]), float(begin[k]))
        if bad[-1]:
            self._open[channel] = float(begin[-1])
        else:
            self._open.pop(channel, None)


def missing_values(evidence: Evidence) -> Iterator[Note]:
    """NaN per channel; a burst cannot be made up for."""
    missing, limits = evidence.survey.missing, evidence.thresholds
    for (name, j), count in missing.count.items():
        share = count / evidence.survey.timing.samples
        span, at = missing.longest[name, j]
        burst = share > limits.nan_share or span > max(limits.nan_run, 2.0 * evidence.survey.timing.interval)
        words = (
            f"{counted(count, 'sample')} of {name} ({percent(share)}) without a number, up to "
            f"{number(1e3 * span)} ms on end after {at:.6g} s; "
        )
        words += "a burst is not made up for: cut it out with windows" if burst else "interpolated by repair"
        numbers = {"signal": name, "count": count, "share": share, "longest": span, "at": at}
        yield (problem if burst else warning)("missing values", words, evidence.joints[j], **numbers)
