"""Time stamps: rate, jitter, lost samples, duplicates, and the unit of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import median_filter

from exciter.experiment.quality.words import count, number, percent, span
from exciter.experiment.recording.recording import Recording
from exciter.notes import Note, note, problem, warning

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

LONG = 20.0  # usual intervals: how many a longer one has is not known to a whole number
EVEN = 0.01  # jitter of a clock that is steady in any case
SCATTER = -0.25  # correlation of an interval with the next: −0.5 where stamps scatter, ≥ 0 where intervals wander
BESIDE = 2  # samples on either side that tell a gap from a stamp that is late
SECONDS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class Timing:
    """Intervals between samples. ``usual`` [s]: their median. ``interval`` [s]: where stamps scatter about a steady
    clock, the slope of the line through times over numbers of samples, lost ones counted, which neither jitter nor loss
    moves; where the intervals themselves wander, the usual one."""

    def __init__(self, usual: float, gap: float) -> None:
        self.usual, self.gap = usual, gap
        self.samples = self.duplicates = self.contradicting = self._gaps = 0
        self.first = self.last = 0.0
        self.shortest, self.longest, self.longest_at = np.inf, 0.0, 0.0
        self._steps, self._numbers, self._time = 0, 0.0, 0.0
        self._long, self._long_time = 0, 0.0
        self._lost = 0.0
        self._regular, self._sum, self._squares = 0, 0.0, 0.0
        self._pairs, self._products = 0, 0.0

    def see(self, piece: Recording, old: int) -> None:
        if not self.samples:
            self.first = float(piece.time[0])
        self.samples += len(piece) - old
        self.last = float(piece.time[-1])
        before = max(old - 1, 0)
        step = np.diff(piece.time[before:])
        if not step.size:
            return
        self.shortest = min(self.shortest, float(step.min()))
        if (k := int(step.argmax())) is not None and step[k] > self.longest:
            self.longest, self.longest_at = float(step[k]), float(piece.time[before + k])
        self._see_duplicates(piece, before + np.flatnonzero(step == 0.0))
        relative = step[step > 0] / self.usual
        short = relative < LONG
        self._time += self.usual * float(relative[short].sum())
        self._numbers += float(np.rint(relative[short]).sum())
        self._steps += int(short.sum())
        self._long += relative.size - int(short.sum())
        self._long_time += self.usual * float(relative[~short].sum())
        self._see_gaps(piece, old)
        wide = relative[relative > self.gap]
        self._lost += float((np.rint(wide) - 1.0).sum())
        self._see_regular(step / self.usual)

    def _see_regular(self, relative: np.ndarray) -> None:
        regular = (relative > 0) & (relative <= self.gap)
        off = relative - 1.0
        self._regular += int(regular.sum())
        self._sum += float(off[regular].sum())
        self._squares += float((off[regular] ** 2).sum())
        both = regular[1:] & regular[:-1]
        self._pairs += int(both.sum())
        self._products += float((off[1:] * off[:-1])[both].sum())

    def _see_gaps(self, piece: Recording, old: int) -> None:
        """A late stamp is ahead of the line and back with the next one; after a gap samples stay behind it."""
        step = np.diff(piece.time)
        numbers = np.rint(step / self.usual) - 1.0
        behind = np.cumsum(np.where(step > 0, numbers, 0.0))
        steady = np.diff(median_filter(behind, 2 * BESIDE + 1, mode="nearest"), prepend=0.0)
        new = slice(max(old - 1 - BESIDE, 0), max(len(step) - BESIDE, 0))  # the rest when what follows is there
        self._gaps += int((steady[new] > 0).sum())

    def _see_duplicates(self, piece: Recording, at: np.ndarray) -> None:
        self.duplicates += at.size
        differs = np.zeros(at.size, dtype=bool)
        for name in piece.signals:
            x = getattr(piece, name)
            differs |= ((x[at] != x[at + 1]) & ~(np.isnan(x[at]) & np.isnan(x[at + 1]))).any(axis=1)
        self.contradicting += int(differs.sum())

    @property
    def duration(self) -> float:
        return self.last - self.first

    @property
    def interval(self) -> float:
        """[s], nominal."""
        return self._time / self._numbers if self.steady else self.usual

    @property
    def steady(self) -> bool:
        """Whether a long interval makes the next one short, as when stamps scatter, or none is long."""
        if self._numbers <= 0 or self._pairs < 2:
            return False
        mean = self._sum / self._regular
        return self.jitter < EVEN or self._products / self._pairs - mean**2 < SCATTER * self.jitter**2

    @property
    def rate(self) -> float:
        """[Hz], nominal."""
        return 1.0 / self.interval

    @property
    def told_rate(self) -> str:
        """[Hz] with no more digits than the number of samples tells."""
        digits = (number(self.rate, k) for k in range(1, 8))
        return next(
            (text for text in digits if abs(float(text) / self.rate - 1.0) < 1.0 / self.samples), f"{self.rate:g}"
        )

    @property
    def jitter(self) -> float:
        """Standard deviation of the regular intervals over the nominal one."""
        if self._regular < 2:
            return 0.0
        mean = self._sum / self._regular
        return float(np.sqrt(max(self._squares / self._regular - mean**2, 0.0)))

    @property
    def missing(self) -> int:
        """Samples that the nominal rate asks for and that are not there. A stamp that comes late lengthens one interval
        and shortens the next: both count, so that it is none. Intervals that wander lengthen the log without a gap, and
        make gaps that are made up for: there only what both say counts."""
        if self.steady:
            lost = self._numbers - self._steps + self._long_time / self.interval - self._long
        else:
            expected = self.duration / self.interval + 1.0
            lost = min(expected - (self.samples - self.duplicates), self._lost)
        return max(0, round(lost))

    @property
    def gaps(self) -> int:
        """Where they are missing."""
        return min(max(self._gaps, 1), self.missing)

    @property
    def missing_share(self) -> float:
        return self.missing / (self.missing + self.samples - self.duplicates)


def rate(evidence: Evidence) -> Iterator[Note]:
    """The nominal rate; too few samples; another unit than seconds."""
    timing, limits = evidence.survey.timing, evidence.thresholds
    numbers = {"rate": timing.rate, "interval": timing.interval, "samples": timing.samples, "duration": timing.duration}
    words = f"{timing.samples} samples in {number(timing.duration, 6)} s, nominally {timing.told_rate} Hz"
    yield note("rate", words, **numbers)
    if timing.samples < limits.fewest_samples:
        words = f"{timing.samples} samples are too few; a motion of some seconds has thousands"
        yield problem("rate", words, samples=timing.samples)
    units = [unit for unit, size in SECONDS.items() if 10.0 <= timing.rate / size <= 20_000.0]
    if timing.longest > limits.longest_step:
        words = (
            f"after {timing.longest_at:.6g} s time goes on by {timing.longest:.3g} s at once, which no log of a motion "
            "does; is it the right column, in one unit and of one clock?"
        )
        yield problem("unit of time", words, longest=timing.longest, at=timing.longest_at)
    elif timing.rate < limits.slowest_rate and units:
        words = (
            f"{number(timing.rate)} Hz is slow for a robot; is time in {units[0]}? then say time: {{unit: {units[0]}}}"
        )
        yield problem("unit of time", words, rate=timing.rate, unit=units[0])
    if timing.rate > limits.fastest_rate:
        words = f"{number(timing.rate)} Hz is faster than robots are logged; is time in another unit than seconds?"
        yield problem("unit of time", words, rate=timing.rate)


def jitter(evidence: Evidence) -> Iterator[Note]:
    """How unequal the regular intervals are."""
    timing = evidence.survey.timing
    if timing.jitter > evidence.thresholds.jitter:
        words = (
            f"intervals differ by {percent(timing.jitter)} of {span(timing.interval, 4)} (standard deviation), "
            f"{span(timing.shortest)} … {span(timing.longest)}; resample on true time, never assume a constant step"
        )
        numbers = {"jitter": timing.jitter, "shortest": timing.shortest, "longest": timing.longest}
        yield warning("jitter", words, **numbers)


def lost_samples(evidence: Evidence) -> Iterator[Note]:
    """Gaps, how many samples they swallowed, and the longest."""
    timing, limits = evidence.survey.timing, evidence.thresholds
    if not timing.missing or timing.longest > limits.longest_step:  # then time itself is wrong
        return
    long = timing.longest > max(limits.long_gap, 2.0 * timing.interval)
    where = f", in {count(timing.gaps, 'gap')}" if timing.steady else ""
    words = (
        f"{percent(timing.missing_share)} of the samples are missing ({timing.missing}{where}); the longest gap lasts "
        f"{span(timing.longest, 4)}, after {timing.longest_at:.6g} s"
    )
    if long:
        words += "; it is too long to be bridged and splits the recording"
    grave = long or timing.missing_share > limits.missing
    yield (warning if grave else note)(
        "lost samples",
        words,
        share=timing.missing_share,
        count=timing.missing,
        gaps=timing.gaps,
        longest=timing.longest,
        at=timing.longest_at,
    )


def duplicates(evidence: Evidence) -> Iterator[Note]:
    """Several samples with one stamp."""
    timing = evidence.survey.timing
    if timing.duplicates:
        same = timing.duplicates - timing.contradicting
        repeat = "repeats" if timing.duplicates == 1 else "repeat"
        words = (
            f"{count(timing.duplicates, 'sample')} {repeat} the time of the one before: {same} copied, which repair "
        )
        words += f"drops, {timing.contradicting} with other values, which it refuses unless contradicting: true"
        share = timing.duplicates / timing.samples
        numbers = {"count": timing.duplicates, "contradicting": timing.contradicting, "share": share}
        yield (problem if timing.contradicting else warning)("duplicates", words, **numbers)
