"""One pass over all samples, piece by piece, in memory that does not grow with the log: tallies, coarse positions of
the whole log, and evenly spread windows of it for expensive checks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.ndimage import binary_dilation, maximum_filter1d, minimum_filter1d

from exciter.errors import RecordingError
from exciter.experiment.quality import sample_tallies as tallies
from exciter.experiment.quality.sample_tallies import Index
from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.recording.recording import Recording
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
        self._parts: list[tuple[Index, Array]] = []  # bins, and sums (bins, n + 1): positions, then how many samples

    def see(self, piece: Recording, old: int) -> None:
        time, q = piece.time[old:], piece.q[old:]
        good = np.isfinite(q).all(axis=1)
        if not good.any():
            return
        if self._start is None:
            self._start = float(time[0])
        index = np.minimum((time[good] - self._start) / self.width, FARTHEST_COARSE_BIN).astype(np.int64)
        self._parts.append(_summed(index, np.column_stack([q[good], np.ones(int(good.sum()))])))
        while sum(len(index) for index, _ in self._parts) > MOST_COARSE_BINS:
            index, sums = map(np.concatenate, zip(*self._parts, strict=True))
            self._parts, self.width = [_summed(index // 2, sums)], 2.0 * self.width

    def positions(self) -> tuple[Array, Array]:
        """Times (M,) [s] of the bins' middles and mean positions (M, n)."""
        if self._start is None:
            return np.zeros(0), np.zeros((0, 0))
        index, sums = _summed(*map(np.concatenate, zip(*self._parts, strict=True)))
        return np.asarray(self._start + (index + 0.5) * self.width, dtype=float), sums[:, :-1] / sums[:, -1:]


def _summed(index: Index, rows: Array) -> tuple[Index, Array]:
    """Rows of the same bin, which follow each other, together."""
    kept, first = np.unique(index, return_index=True)
    return kept, np.add.reduceat(rows, first, axis=0)


class RestTimes(NamedTuple):
    """start, end [s]: when a joint first moves, and last; None: never. share (n,): of it in which a joint rests."""

    start: float | None
    end: float | None
    share: Array


def rest_of(coarse: Coarse, thresholds: Thresholds) -> RestTimes:
    """A joint rests while it stays, for a window's time, within what its usual speed would cross in a small part of
    it, or within its own noise."""
    (time, q), width = coarse.positions(), coarse.width
    size, resting = max(3, round(thresholds.rest_window / width) | 1), np.zeros(q.shape, dtype=bool)
    if len(time) >= 2 * size:
        usual = np.quantile(np.abs(np.diff(q, axis=0)) / np.diff(time)[:, None], 0.95, axis=0)
        third = np.diff(q, 3, axis=0)  # of white noise: √20 times its standard deviation
        noise = tallies.SIGMA_OVER_MAD * np.median(np.abs(third), axis=0) / np.sqrt(20.0)
        still = np.maximum(thresholds.rest_speed * usual * size * width, REST_NOISE_SIGMAS * noise)
        extent = maximum_filter1d(q, size, axis=0) - minimum_filter1d(q, size, axis=0)
        resting = binary_dilation(extent <= still, np.ones((size, 1), dtype=bool))
    moving = np.flatnonzero(~resting.all(axis=1))
    if not moving.size:
        return RestTimes(None, None, np.ones(q.shape[1]))
    start, end = float(time[moving[0]] - 0.5 * width), float(time[moving[-1]] + 0.5 * width)
    return RestTimes(start, end, resting[(time >= start) & (time <= end)].mean(axis=0))


def difference(q: Array) -> Array:
    """(2M/3,) mean square difference between q and itself k bins later over twice its variance, all joints alike."""
    count = len(q)
    lags = np.arange(2 * count // 3)  # two whole periods must show, to the bin
    total, used = np.zeros(len(lags)), 0
    size = 1 << int(np.ceil(np.log2(2 * count)))
    for x in (q - q.mean(axis=0)).T:
        variance = float(x @ x) / count
        if variance <= 0.0:
            continue
        product = np.fft.irfft(np.abs(np.fft.rfft(x, size)) ** 2, size)[: len(lags)]
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
    before, here, after = later[:-2], later[1:-1], later[2:]
    least = np.flatnonzero((here <= before) & (here < after) & (here < SAME_MOTION_VARIANCE)) + 1
    if not least.size:
        return None
    k = int(least[0])
    a, b, c = later[k - 1 : k + 2]
    bend = a - 2.0 * b + c
    return float((left[0] + k + (0.5 * (a - c) / bend if bend > 0 else 0.0)) * (time[1] - time[0]))


class Survey:
    """Tallies of a whole log, from pieces of it in order of time."""

    def __init__(self, pieces: Iterable[Recording], robot: Robot | None, limits: Thresholds) -> None:
        stream = iter(pieces)
        head = Recording.join(window(stream, INTERVAL_SAMPLES))
        if len(head) < 2:
            raise RecordingError(f"a recording of {len(head)} samples cannot be judged; at least 2 are needed")
        self.joints, self.signals, self.about, step = head.joints, head.signals, head.about, np.diff(head.time)
        if not (step > 0).any():
            why = f"time stays at {head.time[0]:.6g} s over {len(head)} samples; is it the right column? without one, "
            raise RecordingError(why + "give time: {rate: …} [Hz]")
        interval = float(np.median(step[step > 0]))
        self.timing, self.missing = tallies.SampleTiming(interval, limits.gap), tallies.MissingValues()
        self.values = tallies.ValueRanges(robot, limits.at_limit)
        self.plateaus = tallies.Plateaus(max(limits.stuck, 5.0 * interval))
        self.spikes = tallies.Spikes(robot, limits)
        self.coarse, self.spread = Coarse(interval), Windows(limits.window, limits.most_samples)
        counts = (self.timing, self.missing, self.values, self.plateaus, self.spikes, self.coarse, self.spread)
        context = head[:0]
        for piece in (piece for whole in chain([head], stream) for piece in whole.chunks(CHUNK_SAMPLES)):
            if (piece.joints, piece.signals) != (context.joints, context.signals):
                raise RecordingError("the pieces of the recording do not have the same joints and signals")
            if len(context) and piece.time[0] < context.time[-1]:
                why = f"time runs backwards from {context.time[-1]:.6g} s to {piece.time[0]:.6g} s between two pieces"
                raise RecordingError(why)
            whole = Recording.join([context, tallies.sane(piece)])
            for tally in counts:
                tally.see(whole, len(context))
            context = whole[-CONTEXT_SAMPLES:]
