"""Time stamps: rate, jitter, lost samples, duplicates, and the unit of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exciter.experiment.quality.finding import Finding, note, problem, warning
from exciter.experiment.recording.recording import Recording

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

SECONDS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class Timing:
    """Intervals between samples; ``interval`` [s]: the nominal one, a median that lost samples do not move."""

    def __init__(self, interval: float, gap: float) -> None:
        self.interval, self.gap = interval, gap
        self.samples = self.duplicates = self.contradicting = self.gaps = 0
        self.first = self.last = 0.0
        self.shortest, self.longest, self.longest_at = np.inf, 0.0, 0.0
        self.lost = 0.0
        self._regular, self._sum, self._squares = 0, 0.0, 0.0

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
        relative = step[step > 0] / self.interval
        wide = relative[relative > self.gap]
        self.gaps += wide.size
        self.lost += float((np.rint(wide) - 1.0).sum())
        regular = relative[(relative <= self.gap)] - 1.0
        self._regular += regular.size
        self._sum += float(regular.sum())
        self._squares += float((regular**2).sum())

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
    def rate(self) -> float:
        """[Hz], nominal."""
        return 1.0 / self.interval

    @property
    def jitter(self) -> float:
        """Standard deviation of the regular intervals over the nominal one."""
        if self._regular < 2:
            return 0.0
        mean = self._sum / self._regular
        return float(np.sqrt(max(self._squares / self._regular - mean**2, 0.0)))

    @property
    def missing(self) -> float:
        """Samples that the nominal rate asks for and that are not there. A stamp that comes late looks like a gap and
        is made up for by the next one; an uneven clock lengthens the log without a gap: only both together count."""
        expected = self.duration / self.interval + 1.0
        return max(0.0, min(expected - (self.samples - self.duplicates), self.lost))

    @property
    def missing_share(self) -> float:
        return self.missing / (self.missing + self.samples - self.duplicates)


def rate(evidence: Evidence) -> Iterator[Finding]:
    """The nominal rate; too few samples; another unit than seconds."""
    timing, limits = evidence.survey.timing, evidence.thresholds
    numbers = {"rate": timing.rate, "interval": timing.interval, "samples": timing.samples, "duration": timing.duration}
    words = f"{timing.samples} samples in {timing.duration:.6g} s, nominally {timing.rate:.6g} Hz"
    yield note("rate", words, **numbers)
    if timing.samples < limits.fewest_samples:
        words = f"{timing.samples} samples are too few; a motion of some seconds has thousands"
        yield problem("rate", words, samples=timing.samples)
    units = [unit for unit, size in SECONDS.items() if 10.0 <= timing.rate / size <= 20_000.0]
    if timing.rate < limits.slowest_rate and units:
        words = f"{timing.rate:.3g} Hz is slow for a robot; is time in {units[0]}? then say time: {{unit: {units[0]}}}"
        yield problem("unit of time", words, rate=timing.rate, unit=units[0])
    if timing.rate > limits.fastest_rate:
        words = f"{timing.rate:.3g} Hz is faster than robots are logged; is time in another unit than seconds?"
        yield problem("unit of time", words, rate=timing.rate)


def jitter(evidence: Evidence) -> Iterator[Finding]:
    """How unequal the regular intervals are."""
    timing = evidence.survey.timing
    if timing.jitter > evidence.thresholds.jitter:
        words = (
            f"intervals differ by {100 * timing.jitter:.2g} % of {1e3 * timing.interval:.4g} ms (standard deviation), "
            f"{1e3 * timing.shortest:.3g} … {1e3 * timing.longest:.3g} ms; resample on true time, never assume a "
            "constant step"
        )
        numbers = {"jitter": timing.jitter, "shortest": timing.shortest, "longest": timing.longest}
        yield warning("jitter", words, **numbers)


def lost_samples(evidence: Evidence) -> Iterator[Finding]:
    """Gaps, how many samples they swallowed, and the longest."""
    timing, limits = evidence.survey.timing, evidence.thresholds
    if not timing.gaps:
        return
    long = timing.longest > max(limits.long_gap, 2.0 * timing.interval)
    words = (
        f"{timing.missing_share * 100:.2g} % of the samples are missing ({timing.missing:.0f}, in {timing.gaps} gaps); "
        f"the longest gap lasts {1e3 * timing.longest:.4g} ms, after {timing.longest_at:.6g} s"
    )
    if long:
        words += "; it is too long to be bridged and splits the recording"
    grave = long or timing.missing_share > limits.missing
    yield (warning if grave else note)(
        "lost samples",
        words,
        share=timing.missing_share,
        count=round(timing.missing),
        gaps=timing.gaps,
        longest=timing.longest,
        at=timing.longest_at,
    )


def duplicates(evidence: Evidence) -> Iterator[Finding]:
    """Several samples with one stamp."""
    timing = evidence.survey.timing
    if timing.duplicates:
        same = timing.duplicates - timing.contradicting
        words = f"{timing.duplicates} samples repeat the time of the one before: {same} are copies and are dropped"
        if timing.contradicting:
            words += f", {timing.contradicting} say something else"
        share = timing.duplicates / timing.samples
        numbers = {"count": timing.duplicates, "contradicting": timing.contradicting, "share": share}
        yield warning("duplicates", words, **numbers)
