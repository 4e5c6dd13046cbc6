"""Counting over a log of any length: a tally sees every sample once, piece by piece, and remembers only sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from exciter.experiment.quality.numbers_in_words import number
from exciter.experiment.recording.recording import Recording
from exciter.robot.robot import Robot
from exciter.typing import Array

Index = NDArray[np.int64]
LONG_INTERVAL_RATIO = 20.0  # to the usual one: how many samples a longer one lost is not known to a whole number
EVEN_CLOCK_JITTER = 0.01  # of a clock that is steady in any case
SCATTER_CORRELATION = -0.25  # of an interval with the next: −0.5 where stamps scatter, ≥ 0 where intervals wander
SAMPLES_BESIDE_STAMP = 2  # samples on either side that tell a gap from a stamp that is late
Channel = tuple[str, int]
ABSURD_VALUE = 1e12  # in any unit: larger numbers are taken for missing
LEAST_GAIN = 1e-300  # a gain of zero has no limit
SAMPLES_BESIDE_PLATEAU = 10  # before and after a plateau, that show whether the channel slowed down
DEAD_STOP_STEP_RATIO = 0.5  # steps beside a plateau over usual ones: from here on it did not slow down
MOVED_RANGE_SHARE = 0.05  # of a joint's range: it moved while the channel did not change
LONGEST_REPEAT_S = 0.25  # rows repeated for longer are a robot at rest


class Tally(Protocol):
    """Mutable while it counts; checks only read it."""

    def see(self, piece: Recording, old: int) -> None:
        """Count the samples of ``piece`` after its first ``old`` ones, which were counted before and give context."""


def runs(same: NDArray[np.bool_]) -> tuple[Index, Index]:
    """First index and length of every run of True."""
    edges = np.diff(np.concatenate([[0], same.astype(np.int8), [0]]))
    starts = np.flatnonzero(edges == 1)
    return starts, np.flatnonzero(edges == -1) - starts


class SampleTiming:
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
        k = int(step.argmax())
        if step[k] > self.longest:
            self.longest, self.longest_at = float(step[k]), float(piece.time[before + k])
        self._see_duplicates(piece, before + np.flatnonzero(step == 0.0))
        relative = step[step > 0] / self.usual
        short = relative < LONG_INTERVAL_RATIO
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
        steady = np.diff(median_filter(behind, 2 * SAMPLES_BESIDE_STAMP + 1, mode="nearest"), prepend=0.0)
        first, last = max(old - 1 - SAMPLES_BESIDE_STAMP, 0), max(len(step) - SAMPLES_BESIDE_STAMP, 0)
        self._gaps += int((steady[first:last] > 0).sum())  # of the others when more samples are there

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
        return (
            self.jitter < EVEN_CLOCK_JITTER
            or self._products / self._pairs - mean**2 < SCATTER_CORRELATION * self.jitter**2
        )

    @property
    def rate(self) -> float:
        """[Hz], nominal."""
        return 1.0 / self.interval

    @property
    def rate_text(self) -> str:
        """[Hz] with no more digits than the number of samples gives."""
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


def sane(recording: Recording) -> Recording:
    """With NaN for whatever is no number, infinite or absurd."""
    changed: dict[str, Any] = {}
    for name in recording.channels:
        x = getattr(recording, name)
        good = np.abs(x) < ABSURD_VALUE
        if not good.all():
            changed[name] = np.where(good, x, np.nan)
    return replace(recording, **changed) if changed else recording


class MissingValues:
    """NaN (see ``sane``) per channel: how many, and the longest run [s] with its start."""

    def __init__(self) -> None:
        self.count: dict[Channel, int] = {}
        self.longest: dict[Channel, tuple[float, float]] = {}
        self._open: dict[Channel, float] = {}

    def see(self, piece: Recording, old: int) -> None:
        for name in piece.signals:
            bad = ~np.isfinite(getattr(piece, name)[old:])
            for j in range(piece.n):
                if bad[:, j].any():
                    self._see_channel((name, j), bad[:, j], piece.time[old:])
                else:
                    self._open.pop((name, j), None)

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


class ValueRanges:
    """lowest, highest (n,) per signal; at_limit (n,): samples at or beyond the description's limit."""

    def __init__(self, limits: Mapping[str, tuple[Array, Array]], near: float) -> None:
        self.limits, self._near = dict(limits), near
        self.lowest: dict[str, Array] = {}
        self.highest: dict[str, Array] = {}
        self.at_limit: dict[str, Index] = {}

    def see(self, piece: Recording, old: int) -> None:
        self._limit_current(piece)
        for name in piece.signals:
            x = getattr(piece, name)[old:]
            finite = np.isfinite(x)
            low, high = np.where(finite, x, np.inf).min(axis=0), np.where(finite, x, -np.inf).max(axis=0)
            self.lowest[name] = np.minimum(self.lowest.get(name, low), low)
            self.highest[name] = np.maximum(self.highest.get(name, high), high)
            if name in self.limits:
                lower, upper = self.limits[name]
                margin = self._near * np.where(np.isfinite(upper - lower), upper - lower, 0.0)
                count = ((x <= lower + margin) | (x >= upper - margin)).sum(axis=0)
                self.at_limit[name] = self.at_limit.get(name, np.zeros_like(count)) + count

    def _limit_current(self, piece: Recording) -> None:
        """The torque's limits as currents, where gains are known and no torque was recorded."""
        gains = piece.about.gains
        if "torque" in self.limits and "current" in piece.signals and "torque" not in piece.signals and gains:
            most = self.limits["torque"][1] / np.maximum(np.abs(gains), LEAST_GAIN)
            self.limits["current"] = (-most, most)

    def range(self, name: str) -> Array:
        """(n,) highest − lowest, 0 where nothing is known."""
        span = self.highest[name] - self.lowest[name]
        return np.where(np.isfinite(span), span, 0.0)


def limits_of(robot: Robot | None) -> dict[str, tuple[Array, Array]]:
    """Lower and upper limits (n,) by signal, infinite where there is none."""
    if robot is None:
        return {}
    velocity, torque = robot.limit("velocity"), robot.limit("torque")
    position = robot.limit("lower"), robot.limit("upper")
    return {"q": position, "qd": (-velocity, velocity), "torque": (-torque, torque)}


def placeholder(limit: Array) -> bool:
    """Whether limits look like those of a description that has none: finite, and the same for three joints or more."""
    return bool(len(limit) >= 3 and np.isfinite(limit).all() and np.ptp(limit) == 0.0)


@dataclass(frozen=True)
class Plateau:
    """A stretch over which a channel kept one value: when [s], how long [s], steps beside it over usual ones, and the
    part of its range that the joint moved meanwhile."""

    start: float
    duration: float
    beside: float
    moved: float


class Plateaus:
    """The longest suspicious plateau per channel, and rows that repeat the one before."""

    def __init__(self, shortest: float) -> None:
        self._shortest = shortest
        self.longest: dict[tuple[str, int], Plateau] = {}
        self.repeated = self.longest_repeat = 0

    def see(self, piece: Recording, old: int) -> None:
        if len(piece) < 2:
            return
        span = np.ptp(piece.q, axis=0)
        for name in piece.signals:
            x = getattr(piece, name)
            for j in range(piece.n):
                self._see_channel((name, j), x[:, j], piece, float(span[j]))
        self._see_rows(piece, old)

    def _see_channel(self, channel: tuple[str, int], x: Array, piece: Recording, span: float) -> None:
        step = np.diff(x)
        starts, lengths = runs(step == 0.0)
        time = piece.time
        long = time[starts + lengths] - time[starts] >= self._shortest if starts.size else starts.astype(bool)
        changes = step[(step != 0.0) & np.isfinite(step)]
        usual = np.sqrt(np.mean(changes**2)) if changes.size else 0.0
        for start, length in zip(starts[long], lengths[long], strict=True):
            end = int(start + length)
            before, after = (
                step[max(start - SAMPLES_BESIDE_PLATEAU, 0) : start],
                step[end : end + SAMPLES_BESIDE_PLATEAU],
            )
            beside = max((float(np.abs(side).mean()) for side in (before, after) if side.size), default=0.0)
            found = Plateau(
                start=float(time[start]),
                duration=float(time[end] - time[start]),
                beside=beside / usual if usual > 0 else 0.0,
                moved=float(np.ptp(piece.q[start : end + 1, channel[1]])) / span if span > 0 else 0.0,
            )
            longest = self.longest.get(channel)
            if suspicious(channel[0], found) and (longest is None or found.duration > longest.duration):
                self.longest[channel] = found

    def _see_rows(self, piece: Recording, old: int) -> None:
        same = np.ones(len(piece) - 1, dtype=bool)
        for name in piece.signals:
            same &= (np.diff(getattr(piece, name), axis=0) == 0.0).all(axis=1)
        starts, lengths = runs(same[max(old - 1, 0) :])
        short = lengths * np.median(np.diff(piece.time)) < LONGEST_REPEAT_S if starts.size else starts.astype(bool)
        self.repeated += int(lengths[short].sum())
        self.longest_repeat = max(self.longest_repeat, int(lengths[short].max(initial=0)))


def suspicious(signal: str, plateau: Plateau) -> bool:
    """A position that stops at once in mid-motion; any other channel that does not change while its joint moves."""
    return plateau.beside > DEAD_STOP_STEP_RATIO if signal == "q" else plateau.moved > MOVED_RANGE_SHARE
