"""Counting over a log of any length: a tally sees every sample once, piece by piece, and remembers only sums. Its
``see(piece, old)`` counts the samples of a piece after its first ``old`` ones, which give context. Checks only read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import scipy

from exciter.experiment.quality.thresholds import Thresholds
from exciter.experiment.recording.recording import Recording, changed
from exciter.robot.robot import Robot
from exciter.typing import Array, BoolArray, Index

LONG_INTERVAL_RATIO = 20.0  # to the usual one: how many samples a longer one lost is not known to a whole number
EVEN_CLOCK_JITTER = 0.01  # of a clock that is steady in any case
SCATTER_CORRELATION = -0.25  # of an interval with the next: −0.5 where stamps scatter, ≥ 0 where intervals wander
SAMPLES_BESIDE_STAMP = 2  # samples on either side that tell a gap from a stamp that is late
Channel = tuple[str, int]
ABSURD_VALUE = 1e12  # in any unit: larger numbers are taken for missing
LEAST_GAIN = 1e-300  # a gain of zero has no limit
SAMPLES_BESIDE_PLATEAU = 10  # before and after a plateau, that show whether the channel slowed down
PLATEAU_GAP_INTERVALS = 2.5  # longer steps of time are a gap, such as between two windows
DEAD_STOP_STEP_RATIO = 0.5  # steps beside a plateau over usual ones: from here on it did not slow down
JUMP_STEP_RATIO = 2.0  # step out of a plateau over the largest that follows: from here on the joint went on meanwhile
MOVED_RANGE_SHARE = 0.05  # of a joint's range: it moved while the channel did not change
LONGEST_REPEAT_S = 0.25  # rows repeated for longer are a robot at rest
TURN_RAD = 2.0 * np.pi
LARGEST_STEP_RAD = 0.5  # usual steps beyond it leave open which way an angle went
TURN_REMAINDER_STEPS = 4.0  # usual largest steps that may remain when the turn is taken out
TURN_ROUNDING_RAD = 0.01  # that may remain, too, of rounded values of a turn
WHOLE_ROWS = "rows"  # in place of a signal's name
SIGMA_OVER_MAD = 1.4826  # standard deviation over median absolute deviation, Gaussian
LEAST_SPIKE_QUANTA = 5.0  # steps of the channel
NEIGHBOUR_INTERVALS = 2.5  # usual intervals: beyond it a sample is no neighbour
LEAST_SPIKE_RANGE_SHARE = 1e-3  # of the range
SURROUNDING_SAMPLES = np.concatenate([np.arange(-16, -1), np.arange(2, 17)])  # samples that tell how rough it is there
SPIKE_RETURN_SHARE = 1.0  # of a spike: how far from where it stood the channel may go on
ROW_JOINT_SHARE = 0.5  # of the joints: more at one time are one event


def runs(same: BoolArray) -> tuple[Index, Index]:
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
        self.shortest, self.first, self.last, self.longest, self.longest_at = np.inf, 0.0, 0.0, 0.0, 0.0
        self._steps = self._long = self._regular = self._pairs = 0
        self._numbers = self._time = self._long_time = self._lost = self._sum = self._squares = self._products = 0.0

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
        again = before + np.flatnonzero(step == 0.0)
        self.duplicates += again.size
        self.contradicting += int((~copied(piece, piece.signals, again)).sum())
        # A late stamp is ahead of the line and back with the next one; after a gap samples stay behind it.
        steps = np.diff(piece.time)
        behind = np.cumsum(np.where(steps > 0, np.rint(steps / self.usual) - 1.0, 0.0))
        steady = np.diff(scipy.ndimage.median_filter(behind, 2 * SAMPLES_BESIDE_STAMP + 1, mode="nearest"), prepend=0.0)
        first, last = max(old - 1 - SAMPLES_BESIDE_STAMP, 0), max(len(steps) - SAMPLES_BESIDE_STAMP, 0)
        self._gaps += int((steady[first:last] > 0).sum())  # of the others when more samples are there
        relative = step / self.usual
        near = relative < LONG_INTERVAL_RATIO
        short, long = relative[near & (step > 0)], relative[~near]
        self._time += self.usual * float(short.sum())
        self._numbers += float(np.rint(short).sum())
        self._steps += short.size
        self._long += long.size
        self._long_time += self.usual * float(long.sum())
        self._lost += float((np.rint(relative[relative > self.gap]) - 1.0).sum())
        regular, off = (relative > 0) & (relative <= self.gap), relative - 1.0
        self._regular += int(regular.sum())
        self._sum += float(off[regular].sum())
        self._squares += float((off[regular] ** 2).sum())
        both = regular[1:] & regular[:-1]
        self._pairs += int(both.sum())
        self._products += float((off[1:] * off[:-1])[both].sum())

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
        covariance = self._products / self._pairs - (self._sum / self._regular) ** 2
        return self.jitter < EVEN_CLOCK_JITTER or covariance < SCATTER_CORRELATION * self.jitter**2

    @property
    def rate(self) -> float:
        """[Hz], nominal."""
        return 1.0 / self.interval

    @property
    def jitter(self) -> float:
        """Standard deviation of the regular intervals over the nominal one."""
        if self._regular < 2:
            return 0.0
        return float(np.sqrt(max(self._squares / self._regular - (self._sum / self._regular) ** 2, 0.0)))

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


def copied(recording: Recording, names: Iterable[str], at: Index) -> BoolArray:
    """Whether samples ``at`` say the same as those behind them, also where both are missing."""
    pairs = ((x[at], x[at + 1]) for x in (getattr(recording, name) for name in names))
    return np.asarray(np.all([((x == y) | (np.isnan(x) & np.isnan(y))).all(axis=1) for x, y in pairs], axis=0))


def sane(recording: Recording) -> Recording:
    """With NaN for whatever is no number, infinite or absurd."""
    return changed(recording, lambda _, x: np.where(np.abs(x) < ABSURD_VALUE, x, np.nan))


class MissingValues:
    """NaN (see ``sane``) per channel: how many, and the longest run [s] with its start."""

    def __init__(self) -> None:
        self.count = Counter[Channel]()
        self.longest: dict[Channel, tuple[float, float]] = {}
        self._open: dict[Channel, float] = {}

    def see(self, piece: Recording, old: int) -> None:
        time = piece.time[old:]
        for channel in product(piece.signals, range(piece.n)):
            bad = ~np.isfinite(getattr(piece, channel[0])[old:, channel[1]])
            open_since = self._open.pop(channel, None)
            if not bad.any():
                continue
            self.count[channel] += int(bad.sum())
            starts, lengths = runs(bad)
            begin, end = time[starts], time[np.minimum(starts + lengths, len(time) - 1)]
            if starts[0] == 0 and open_since is not None:  # goes on from the piece before
                begin[0] = open_since
            k = int((end - begin).argmax())
            if end[k] - begin[k] >= self.longest.get(channel, (0.0, 0.0))[0]:
                self.longest[channel] = (float(end[k] - begin[k]), float(begin[k]))
            if bad[-1]:
                self._open[channel] = float(begin[-1])


class ValueRanges:
    """lowest, highest (n,) per signal; limits: the description's, lower and upper (n,) by signal, infinite where there
    is none; at_limit (n,): samples at them or beyond, or within ``near`` of their distance."""

    def __init__(self, robot: Robot | None, near: float) -> None:
        self.limits: dict[str, tuple[Array, Array]] = {}
        if robot is not None:
            velocity, torque = robot.limit("velocity"), robot.limit("torque")
            self.limits = {"q": (robot.limit("lower"), robot.limit("upper"))}
            self.limits |= {"qd": (-velocity, velocity), "torque": (-torque, torque)}
        self._near = near
        self.lowest: dict[str, Array] = {}
        self.highest: dict[str, Array] = {}
        self.at_limit: dict[str, Index] = {}

    def see(self, piece: Recording, old: int) -> None:
        about = piece.about
        gains = about.gains if about.map is None else [one.small_gain for one in about.map]
        if "torque" in self.limits and "current" in piece.signals and "torque" not in piece.signals and gains:
            most = self.limits["torque"][1] / np.maximum(np.abs(gains), LEAST_GAIN)
            self.limits["current"] = (-most, most)
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

    def range(self, name: str) -> Array:
        """(n,) highest − lowest, 0 where nothing is known."""
        span = self.highest[name] - self.lowest[name]
        return np.where(np.isfinite(span), span, 0.0)


class Plateaus:
    """longest: duration and start [s] of the longest suspicious plateau per channel: a position that stops at once in
    mid-motion, or goes on from elsewhere at speed; any other channel that does not change while its joint moves. A
    joint that dry friction holds slows down, stands, and goes on from where it stood. repeated: rows that are the one
    before."""

    def __init__(self, shortest: float) -> None:
        self._shortest = shortest
        self.longest: dict[Channel, tuple[float, float]] = {}
        self.repeated = self.longest_repeat = 0

    def see(self, piece: Recording, old: int) -> None:
        if len(piece) < 2:
            return
        for name, j in product(piece.signals, range(piece.n)):
            self._see_channel(piece, name, j)
        same = np.all([(np.diff(getattr(piece, name), axis=0) == 0.0).all(axis=1) for name in piece.signals], axis=0)
        _, lengths = runs(same[max(old - 1, 0) :])
        lengths = lengths[lengths * np.median(np.diff(piece.time)) < LONGEST_REPEAT_S]
        self.repeated += int(lengths.sum())
        self.longest_repeat = max(self.longest_repeat, int(lengths.max(initial=0)))

    def _see_channel(self, piece: Recording, name: str, j: int) -> None:
        time, q, step = piece.time, piece.q[:, j], np.diff(getattr(piece, name)[:, j])
        interval = np.diff(time)
        step[interval > PLATEAU_GAP_INTERVALS * np.median(interval)] = np.nan  # nobody saw what happened in between
        span = np.ptp(q)
        starts, lengths = runs(step == 0.0)
        long = time[starts + lengths] - time[starts] >= self._shortest
        changes = step[(step != 0.0) & np.isfinite(step)]
        usual = np.sqrt(np.mean(changes**2)) if changes.size else 0.0
        for start, end in zip(starts[long], (starts + lengths)[long], strict=True):
            before, after = step[max(start - SAMPLES_BESIDE_PLATEAU, 0) : start], step[end:][:SAMPLES_BESIDE_PLATEAU]
            dead = _fast(before, usual) or (_fast(after, usual) and _jumps(after))
            moved = span > 0 and np.ptp(q[start : end + 1]) / span > MOVED_RANGE_SHARE
            duration = float(time[end] - time[start])
            if (dead if name == "q" else moved) and duration > self.longest.get((name, j), (0.0, 0.0))[0]:
                self.longest[name, j] = duration, float(time[start])


def _fast(side: Array, usual: float) -> bool:
    """Whether a channel beside a plateau has not slowed down."""
    known = np.abs(side[np.isfinite(side)])
    return bool(usual > 0 and known.size and known.mean() / usual > DEAD_STOP_STEP_RATIO)


def _jumps(after: Array) -> bool:
    """Whether the step out of a plateau is farther than the speed behind it explains, or nobody saw it."""
    following = np.abs(after[1:][np.isfinite(after[1:])])
    return not abs(after[0]) < JUMP_STEP_RATIO * following.max(initial=0.0)


@dataclass(frozen=True)
class Events:
    """How many, and of the first: when [s] and how large."""

    count: int
    at: float
    size: float


def turns_of(q: Array, turning: BoolArray | None = None) -> Index:
    """(N − 1, n) whole turns by which a position steps from one sample to the next: 0 but where an angle wraps around,
    beside steps that are small, and leaves such a step when they are taken out. turning (n,): joints that can."""
    last = np.maximum.accumulate(np.where(np.isfinite(q), np.arange(len(q))[:, None], 0), axis=0)
    step = np.diff(np.take_along_axis(q, last, axis=0), axis=0)  # over missing values
    whole = np.rint(np.where(np.isfinite(step), step, 0.0) / TURN_RAD)
    if not whole.any():
        return whole.astype(np.int64)
    left = np.abs(step - TURN_RAD * whole)
    usual = np.nanquantile(np.where(np.isfinite(left), left, 0.0), 0.99, axis=0)
    sure = (left <= TURN_REMAINDER_STEPS * usual + TURN_ROUNDING_RAD) & (usual < LARGEST_STEP_RAD)
    sure &= True if turning is None else turning
    return np.where(sure, whole, 0.0).astype(np.int64)


def unwrapped(q: Array, turning: BoolArray | None = None) -> Array:
    """(N, n) the same angles, continued over whole turns."""
    whole = np.cumsum(turns_of(q, turning), axis=0)
    return np.asarray(q - TURN_RAD * np.concatenate([np.zeros((1, q.shape[1])), whole]))


class Spikes:
    """Isolated outliers per channel and of whole rows (found); turns and impossible steps of position (jumps) by joint.
    Turns, of joints that can turn, are taken out before anything else is looked for."""

    def __init__(self, robot: Robot | None, limits: Thresholds) -> None:
        self._limits = limits
        self._turning = None if robot is None else np.array([not joint.is_prismatic for joint in robot.joints])
        self._fastest = None if robot is None else limits.impossible_speed * robot.limit("velocity")
        self._settled: dict[tuple[str, int], Events] = {}
        self.found: dict[tuple[str, int], Events] = {}
        self.turns: dict[int, Events] = {}
        self.jumps: dict[int, Events] = {}

    def see(self, piece: Recording, old: int) -> None:
        if len(piece) < 3:
            return
        x = {name: getattr(piece, name) for name in piece.signals}
        x["q"] = unwrapped(piece.q, self._turning)
        found = {name: isolated(piece.time, values, self._limits.spike) for name, values in x.items()}
        first, spike = max(old - 1, 0), found["q"]
        turns, joints, time = turns_of(piece.q, self._turning)[first:], range(piece.n), piece.time[first:-1]
        _count(self.turns, joints, turns != 0, time, np.diff(piece.q[first:], axis=0))
        if self._fastest is not None:
            step, dt = np.diff(x["q"][first:], axis=0), np.diff(piece.time[first:])
            far = np.abs(step) > self._fastest * np.maximum(dt, 1e-12)[:, None]
            far &= (dt > 0)[:, None] & (np.abs(step) > self._limits.jump * _usual_range(x["q"]))
            far &= ~(spike[first:-1] | spike[first + 1 :])
            _count(self.jumps, joints, far, time, step)
        rows = np.max([at.mean(axis=1) for at in found.values()], axis=0) > (ROW_JOINT_SHARE if piece.n > 1 else 1.0)
        keys = [(WHOLE_ROWS, 0), *((name, j) for name in found for j in range(piece.n))]
        at = np.column_stack([rows, *(own & ~rows[:, None] for own in found.values())])
        new, open_ = slice(max(old - 2, 0), len(piece) - 2), slice(len(piece) - 2, None)
        _count(self._settled, keys, at[new], piece.time[new])
        self.found = dict(self._settled)
        _count(self.found, keys, at[open_], piece.time[open_])  # until what follows has been seen


def _count(sums: dict[Any, Events], keys: Sequence[Any], at: BoolArray, time: Array, size: Array | None = None) -> None:
    """Add what happened ``at`` (K, keys) times (K,); size: of the same shape."""
    for j in np.flatnonzero(at.any(axis=0)).tolist():
        k = int(at[:, j].argmax())
        known = sums.get(keys[j]) or Events(0, float(time[k]), 0.0 if size is None else float(size[k, j]))
        sums[keys[j]] = replace(known, count=known.count + int(at[:, j].sum()))


def isolated(time: Array, x: Array, deviations: float) -> BoolArray:
    """(N, n): samples that stand out from both neighbours on the same side, by ``deviations`` robust standard
    deviations of what a sample differs from its neighbours' mean. A spike comes back: what goes on from elsewhere is a
    jump. Beside a gap there is no neighbour. Beside a larger outlier a good sample seems to be one: it is not."""
    out = np.zeros(x.shape, dtype=bool)
    dt = np.diff(time)
    if len(x) < 3 or not (dt > 0).any():
        return out
    close = dt <= NEIGHBOUR_INTERVALS * np.median(dt[dt > 0])
    flanked = (close[:-1] & close[1:])[:, None]
    before, after = (np.where(flanked, x[1:-1] - side, np.nan) for side in (x[:-2], x[2:]))
    away, step, across = np.zeros((len(x) - 2, x.shape[1])), np.diff(x, axis=0), x[2:] - x[:-2]
    if len(x) > 3:  # how far a channel is, after each sample, from where its step before or after would have led it
        led = np.concatenate([step[2:3], step[:-2]]), np.concatenate([step[2:], step[-3:-2]])
        away = np.fmin(*(np.abs(across - 2.0 * own) for own in led))
    for j in range(x.shape[1]):
        least = _outstanding(x[:, j], np.abs(np.diff(x[:, j]))[close], before[:, j], after[:, j], deviations)
        least[away[:, j] > SPIKE_RETURN_SHARE * least] = 0.0
        beside = np.maximum(np.concatenate([[0.0], least[:-1]]), np.concatenate([least[1:], [0.0]]))
        out[1:-1, j] = (least > 0) & (least >= beside)
    return out


def _outstanding(x: Array, steps: Array, before: Array, after: Array, deviations: float) -> Array:
    """(N − 2,) how far a sample stands off the nearer of its neighbours; 0 where that is usual."""
    least = np.zeros(len(before))
    moving, middle = steps[(steps > 0) & np.isfinite(steps)], np.abs(before + after)
    if moving.size < 3 or not np.isfinite(middle).any():
        return least
    floor = max(LEAST_SPIKE_QUANTA * float(np.quantile(moving, 0.01)), LEAST_SPIKE_RANGE_SHARE * float(_usual_range(x)))
    threshold = max(deviations * SIGMA_OVER_MAD * 0.5 * float(np.nanmedian(middle)), floor)
    size = np.where(before * after > 0, np.minimum(np.abs(before), np.abs(after)), 0.0)
    for at in np.flatnonzero(size > threshold):
        near = at + SURROUNDING_SAMPLES
        around = middle[near[(near >= 0) & (near < len(middle))]]
        around = around[np.isfinite(around)]
        if not around.size or size[at] > deviations * SIGMA_OVER_MAD * 0.5 * float(np.median(around)):
            least[at] = size[at]
    return least


def _usual_range(x: Array) -> Array:
    """Between the first and the last hundredth of the values, per column; 0 where there are none."""
    if not np.isfinite(x).any(axis=0).all():
        return np.zeros(x.shape[1:])
    low, high = np.nanquantile(x, (0.01, 0.99), axis=0)
    return np.asarray(high - low)
