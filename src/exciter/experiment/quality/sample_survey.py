"""One pass over all samples, piece by piece, in memory that does not grow with the log: tallies, coarse positions of
the whole log, and evenly spread windows of it for expensive checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, maximum_filter1d, minimum_filter1d

from exciter.errors import RecordingError
from exciter.experiment.quality.sample_tallies import (
    Index,
    MissingValues,
    Plateaus,
    SampleTiming,
    Tally,
    ValueRanges,
    limits_of,
    sane,
)
from exciter.experiment.quality.spikes_and_jumps import Spikes
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.recording.recording import Recording
from exciter.experiment.recording.recording_facts import About
from exciter.experiment.signals.resample import window
from exciter.robot.robot import Robot
from exciter.typing import Array

GOLDEN_RATIO = 0.5 * (5.0**0.5 - 1.0)
COARSE_BIN_S = 0.02
MOST_COARSE_BINS = 2**18  # beyond it neighbours are merged
FARTHEST_COARSE_BIN = 2.0**53  # times beyond are absurd, and reported by the check of the rate
REST_NOISE_SIGMAS = 6.0  # extent of the coarse positions of a joint at rest
SAME_MOTION_VARIANCE = 0.003  # share: mean square difference, halved, of a motion and itself one period later
OTHER_MOTION_VARIANCE = 0.05  # share: so far it must differ in between
CONTEXT_SAMPLES = 64  # of the piece before, that a tally gets again
INTERVAL_SAMPLES = 1000  # that the nominal interval is taken from
CHUNK_SAMPLES = 65_536


class Windows:
    """Blocks of ``size`` samples. While the log grows beyond ``most`` samples, those with the largest fractional part
    of k φ, k their number and φ the golden ratio, are given up: what is kept stays evenly spread from beginning to end,
    at distances that never fall into step with a motion that repeats."""

    def __init__(self, size: int, most: int) -> None:
        self._size, self._blocks = size, max(most // size, 2)
        self._count = 0
        self._kept: dict[int, Recording] = {}
        self._rest: Recording | None = None

    def see(self, piece: Recording, old: int) -> None:
        fresh = piece[old:]
        rest = fresh if self._rest is None else Recording.join([self._rest, fresh])
        at = 0
        while len(rest) - at >= self._size:
            self._kept[self._count] = rest[at : at + self._size]
            self._count, at = self._count + 1, at + self._size
            if len(self._kept) > self._blocks:
                del self._kept[max(self._kept, key=lambda k: k * GOLDEN_RATIO % 1.0)]
        self._rest = rest[at:]

    @property
    def complete(self) -> bool:
        """Whether nothing was left out."""
        return self._count == len(self._kept)

    def windows(self) -> tuple[Recording, ...]:
        """Neighbouring blocks joined."""
        blocks = dict(self._kept)
        if self._rest is not None and len(self._rest) and (self.complete or not blocks):
            blocks[self._count] = self._rest
        joined: list[list[Recording]] = []
        for k, block in sorted(blocks.items()):
            if k - 1 not in blocks:
                joined.append([])
            joined[-1].append(block)
        return tuple(Recording.join(parts) for parts in joined)


class Coarse:
    """Mean positions over bins of ``width`` [s] (the sampling interval where that is longer) from the first sample on,
    few enough to keep whatever the length of the log."""

    def __init__(self, interval: float) -> None:
        self.width = max(COARSE_BIN_S, 1.5 * interval)
        self._start: float | None = None
        self._index: list[Index] = []
        self._sums: list[Array] = []  # (bins, n + 1): positions, then the number of samples

    def see(self, piece: Recording, old: int) -> None:
        time, q = piece.time[old:], piece.q[old:]
        good = np.isfinite(q).all(axis=1)
        if not good.any():
            return
        if self._start is None:
            self._start = float(time[0])
        index = np.minimum((time[good] - self._start) / self.width, FARTHEST_COARSE_BIN).astype(np.int64)
        self._add(index, np.column_stack([q[good], np.ones(int(good.sum()))]))
        while sum(map(len, self._index)) > MOST_COARSE_BINS:
            index, sums = np.concatenate(self._index) // 2, np.concatenate(self._sums)
            self._index, self._sums, self.width = [], [], 2.0 * self.width
            self._add(index, sums)

    def _add(self, index: Index, rows: Array) -> None:
        kept, first = np.unique(index, return_index=True)
        self._index.append(kept)
        self._sums.append(np.add.reduceat(rows, first, axis=0))

    def positions(self) -> tuple[Array, Array]:
        """Times (M,) [s] of the bins' middles and mean positions (M, n)."""
        if self._start is None:
            return np.zeros(0), np.zeros((0, 0))
        index, rows = np.concatenate(self._index), np.concatenate(self._sums)
        kept, first = np.unique(index, return_index=True)
        sums = np.add.reduceat(rows, first, axis=0)
        return np.asarray(self._start + (kept + 0.5) * self.width, dtype=float), sums[:, :-1] / sums[:, -1:]


@dataclass(frozen=True, eq=False)
class RestTimes:
    """time (M,) [s] and resting (M, n) over coarse bins; start, end [s]: first and last moment at which a joint moves,
    None when none ever does."""

    time: Array
    resting: NDArray[np.bool_]
    start: float | None
    end: float | None

    @property
    def share(self) -> Array:
        """(n,) of the time between start and end."""
        if self.start is None or self.end is None:
            return np.ones(self.resting.shape[1])
        inside = (self.time >= self.start) & (self.time <= self.end)
        return np.asarray(self.resting[inside].mean(axis=0))


def rest_of(coarse: Coarse, thresholds: Thresholds) -> RestTimes:
    """A joint rests while it stays, for a window's time, within what its usual speed would cross in a small part of
    it, or within its own noise."""
    time, q = coarse.positions()
    width = coarse.width
    size = max(3, round(thresholds.rest_window / width) | 1)
    if len(time) < 2 * size:
        start, end = _ends(time, np.ones(len(time), dtype=bool), width)
        return RestTimes(time=time, resting=np.zeros(q.shape, dtype=bool), start=start, end=end)
    steps = np.diff(time)[:, None]
    usual = np.quantile(np.abs(np.diff(q, axis=0)) / steps, 0.95, axis=0)
    third = np.diff(q, 3, axis=0)  # of white noise: √20 times its standard deviation
    noise = 1.4826 * np.median(np.abs(third), axis=0) / np.sqrt(20.0)
    still = np.maximum(thresholds.rest_speed * usual * size * width, REST_NOISE_SIGMAS * noise)
    extent = maximum_filter1d(q, size, axis=0) - minimum_filter1d(q, size, axis=0)
    resting = binary_dilation(extent <= still, np.ones((size, 1), dtype=bool))
    start, end = _ends(time, ~resting.all(axis=1), width)
    return RestTimes(time=time, resting=resting, start=start, end=end)


def _ends(time: Array, moving: NDArray[np.bool_], width: float) -> tuple[float | None, float | None]:
    at = np.flatnonzero(moving)
    if not at.size:
        return None, None
    return float(time[at[0]] - 0.5 * width), float(time[at[-1]] + 0.5 * width)


def difference(q: Array) -> Array:
    """(2M/3,) mean square difference between q and itself k bins later over twice its variance, all joints alike."""
    count = len(q)
    lags = np.arange(2 * count // 3)  # two whole periods must show, to the bin
    total = np.zeros(len(lags))
    used = 0
    for x in (q - q.mean(axis=0)).T:
        variance = float(x @ x) / count
        if variance <= 0.0:
            continue
        size = 1 << int(np.ceil(np.log2(2 * count)))
        spectrum = np.fft.rfft(x, size)
        product = np.fft.irfft(np.abs(spectrum) ** 2, size)[: len(lags)]
        squares = np.concatenate([[0.0], np.cumsum(x**2)])
        head, tail = squares[count - lags], squares[count] - squares[lags]
        total += (head + tail - 2.0 * product) / (count - lags) / (2.0 * variance)
        used += 1
    return total / max(used, 1)


def visible_period(time: Array, q: Array) -> float | None:
    """[s] of a motion on uniform times that is there at least one and a half times."""
    if len(time) < 32:
        return None
    d = difference(q)
    left = np.flatnonzero(d > OTHER_MOTION_VARIANCE)
    if not left.size:
        return None
    later = d[left[0] :]
    inner = (
        np.flatnonzero((later[1:-1] <= later[:-2]) & (later[1:-1] < later[2:]) & (later[1:-1] < SAME_MOTION_VARIANCE))
        + 1
    )
    if not inner.size:
        return None
    k = int(inner[0])
    a, b, c = later[k - 1 : k + 2]
    bend = a - 2.0 * b + c
    return float((left[0] + k + (0.5 * (a - c) / bend if bend > 0 else 0.0)) * (time[1] - time[0]))


@dataclass(frozen=True)
class Survey:
    """Tallies of the whole log."""

    joints: tuple[str, ...]
    signals: tuple[str, ...]
    about: About
    timing: SampleTiming
    missing: MissingValues
    values: ValueRanges
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
    head = Recording.join(window(stream, INTERVAL_SAMPLES))
    interval = _interval(head)
    turning = None if robot is None else np.array([not joint.is_prismatic for joint in robot.joints])
    fastest = None if robot is None else thresholds.impossible_speed * robot.limit("velocity")
    result = Survey(
        joints=head.joints,
        signals=head.signals,
        about=head.about,
        timing=SampleTiming(interval, thresholds.gap),
        missing=MissingValues(),
        values=ValueRanges(limits_of(robot), thresholds.at_limit),
        plateaus=Plateaus(max(thresholds.stuck, 5.0 * interval)),
        spikes=Spikes(thresholds.spike, fastest, thresholds.jump, turning),
        coarse=Coarse(interval),
        windows=Windows(thresholds.window, thresholds.most_samples),
    )
    context: Recording | None = None
    for whole in chain([head], stream):
        for piece in whole.chunks(CHUNK_SAMPLES):
            if context is not None and (piece.joints, piece.signals) != (context.joints, context.signals):
                raise RecordingError("the pieces of the recording do not have the same joints and signals")
            if context is not None and piece.time[0] < context.time[-1]:
                raise RecordingError(
                    f"time runs backwards from {context.time[-1]:.6g} s to {piece.time[0]:.6g} s between two pieces"
                )
            whole_piece = sane(piece) if context is None else Recording.join([context, sane(piece)])
            for tally in result.tallies:
                tally.see(whole_piece, len(whole_piece) - len(piece))
            context = whole_piece[-CONTEXT_SAMPLES:]
    return result


def _interval(head: Recording) -> float:
    if len(head) < 2:
        raise RecordingError(f"a recording of {len(head)} samples cannot be judged; at least 2 are needed")
    step = np.diff(head.time)
    if not (step > 0).any():
        raise RecordingError(
            f"time stays at {head.time[0]:.6g} s over {len(head)} samples; is it the right column? without one, give "
            "time: {rate: …} [Hz]"
        )
    return float(np.median(step[step > 0]))
