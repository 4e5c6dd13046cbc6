"""Periods laid over each other after the transient: their mean, and how noisy one sample is (seed 002, V-A).

With K periods of N samples, x̄(k) the mean over periods at sample k, the variance of one sample is
Σ_j Σ_k (x_j(k) − x̄(k))² / ((K − 1) N): each of the N means costs one degree of freedom. (The paper prints
1/(K N − 1), which is too small by (K − 1)/K.) The mean has 1/K of that variance. All are running sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy

from exciter.errors import RecordingError, shown
from exciter.experiment.recording.current_map import CurrentMap, mapped
from exciter.experiment.recording.delayed_signals import local_cubic
from exciter.experiment.recording.recording import WRENCH_COLUMNS, Recording
from exciter.experiment.recording.signal_filters import AnyAnalogFilter
from exciter.experiment.signals.low_pass_filter import noted_bandwidth
from exciter.experiment.signals.resample import LONG_GAP_INTERVALS, check_complete, peeked, sampling_rate
from exciter.notes import Note, done, note, warning
from exciter.typing import Array, BoolArray

COARSE_GRID_SAMPLES = 1 << 14  #: of the first look
UNREPEATED_VARIANCE_FRACTION = 0.05  #: a shift that leaves more is no period
RATE_SAMPLES = 10_000  #: from which the rate is taken
UNSTEADY_VARIANCE_RATIO = 1.5  #: a step between periods this much above the usual one, in variance, is no noise
REPEATED_SPREAD_FRACTION = 1e-4  #: periods that differ by less repeat well enough, however quiet the sensors
DRIFT_VARIANCE_RATIO = 1.1  #: over periods, to that that between neighbours: more is drift
LARGEST_SMEAR_FRACTION = 0.01  #: a wrong period that smears the mean by more is refused
UNREPEATED_MOTION_FRACTION = 0.2  #: periods that differ by more do not repeat
STANDSTILL_MOTION_FRACTION = 1e-3  #: of the largest: a joint that moves less is not asked whether it repeats
SAMPLES_BEYOND_PERIOD = 2  #: behind the last instant of a period that its interpolation needs
MOST_PERIOD_SAMPLES = 10_000_000


class PeriodEstimate(NamedTuple):
    """period [s]; difference: RMS between the motion and itself one period later, relative to its spread."""

    period: float
    difference: float
    sentence: str


def estimate_period(recording: Recording) -> PeriodEstimate:
    """The shortest shift in time that maps the positions onto themselves; two whole periods must have been recorded.
    The shortest deep minimum of Σ |q(t + s) − q(t)|² on a coarse grid (FFT), refined by Gauss–Newton on true time."""
    check_complete(recording)
    spread = recording.q.std(axis=0)
    moving = spread > 1e-9 * np.maximum(1.0, np.abs(recording.q).max(axis=0))
    if len(recording) < 64 or not moving.any():
        raise RecordingError("a period can only be found in the motion of at least one joint, over 64 samples or more")
    time = recording.time - recording.time[0]
    q = (recording.q[:, moving] - recording.q[:, moving].mean(axis=0)) / spread[moving]
    grid = np.linspace(0.0, time[-1], min(COARSE_GRID_SAMPLES, len(time)))
    if (first := _first_deep_minimum(local_cubic(time, q, grid)[0])) is None:
        why = f"the positions do not repeat within the {time[-1]:.6g} s recorded; at least two whole periods are "
        raise RecordingError(f"{why}needed, and no long standstill")

    def shifted(shift: float) -> tuple[Array, Array]:
        """q(t + s) − q(t) and q(t) where both were recorded."""
        now = time <= time[-1] - shift
        return local_cubic(time, q, time[now] + shift)[0] - q[now], q[now]

    period, count = first * grid[1], 1
    while True:
        count = min(count, int(0.9 * time[-1] / period))
        for _ in range(8):
            difference, now = shifted(count * period)
            speed = np.gradient(now, time[: len(now)], axis=0)
            shift = float(-(difference * speed).sum() / (speed**2).sum()) / count
            period += shift
            if abs(shift) < 1e-12 * period:
                break
        if count >= int(0.9 * time[-1] / period):
            break
        count *= 2
    left = float(np.sqrt((shifted(period)[0] ** 2).mean()))
    sentence = f"the positions repeat every {period:.6g} s within {100 * left:.2g} % of the motion"
    return PeriodEstimate(period=period, difference=left, sentence=sentence)


def _first_deep_minimum(values: Array) -> int | None:
    """Shift in samples: the shortest at which d is nearly as small as anywhere, after having been large."""
    count, size = len(values), scipy.fft.next_fast_len(2 * len(values), real=True)
    squares = np.concatenate([[0.0], np.cumsum((values**2).sum(axis=1))])
    shifts = np.arange(count // 2 + 1)
    products = scipy.fft.irfft((np.abs(scipy.fft.rfft(values, size, axis=0)) ** 2).sum(axis=1), size)[shifts]
    both = squares[count - shifts] + squares[count] - squares[shifts]
    d = (both - 2.0 * products) / np.maximum(both, 1e-300)  # 0: the same, 1: nothing in common
    large = np.flatnonzero(d > 0.3)
    if not len(large):
        return None
    inner = np.arange(max(1, int(large[0])), len(d) - 1)
    minima = inner[(d[inner] <= d[inner - 1]) & (d[inner] <= d[inner + 1])]
    deep = minima[d[minima] < UNREPEATED_VARIANCE_FRACTION]
    return int(deep[d[deep] <= 2.0 * d[deep].min() + 1e-3][0]) if len(deep) else None


class BrokenPositions(RecordingError):
    """Positions that no motion makes; another route would not do better."""


@dataclass(frozen=True, eq=False)
class PeriodAverage:
    """One period: ``time`` (N,) [s] of the first one averaged; mean q and torque (N, n), and wrench (N, 6). end [s]:
    where the last of the ``count`` periods ends that were averaged. position_noise, torque_noise (n,): σ of one
    recorded sample; …_of_mean: σ of one sample of the mean. Both are None for a single period. filter: the analogue one
    the torque still has to be freed of; torque_bandwidth: as in ``Processed``. position_drift, torque_drift (n,): how
    far the mean wanders from period to period beyond noise, zero where it does not. left_out: which periods, why.

    map: of currents, which ``torque`` then is."""

    joints: tuple[str, ...]
    time: Array
    q: Array
    torque: Array
    period: float
    end: float
    count: int
    position_noise: Array | None = None
    torque_noise: Array | None = None
    position_noise_of_mean: Array | None = None
    torque_noise_of_mean: Array | None = None
    position_drift: Array | None = None
    torque_drift: Array | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    filter: AnyAnalogFilter | None = None
    torque_bandwidth: float = float("inf")
    wrench: Array | None = None
    map: tuple[CurrentMap, ...] | None = None

    @property
    def in_torques(self) -> PeriodAverage:
        """With the torques of currents, which were averaged where they do not grow as torques do."""
        if self.map is None:
            return self
        each = self.map * (len(self.joints) if len(self.map) == 1 else 1)
        slopes = np.column_stack([one.slopes(x) for one, x in zip(each, self.torque.T, strict=True)])
        size = np.sqrt((slopes**2).mean(axis=0))
        names = ("torque_noise", "torque_noise_of_mean", "torque_drift")
        noises: dict[str, Any] = {name: x if (x := getattr(self, name)) is None else size * x for name in names}
        return replace(self, torque=mapped(self.map, self.torque, self.joints), map=None, **noises)

    @property
    def rate(self) -> float:
        """[Hz] a whole number of samples per period."""
        return len(self.time) / self.period


class PeriodAverager:
    """Running sums over whole periods from ``start`` [s] on, each resampled at ``samples`` instants; memory of two
    periods and a piece. period, settled [s]: as in ``About``, which is asked when they are not given; most: periods
    that are taken. Signals are the n positions, then the n torques, then the six of a wrench, if any. ``mean`` (N,
    signals) and ``squares`` (signals,) = Σ_j Σ_k (x_j − x̄)² are Welford's; ``steps`` (K − 1, signals) are ½ mean
    (x_{j+1} − x_j)² of neighbours, an estimate of σ² that slow drift does not reach; ``gains``: Σ_j of the noise
    variance after resampling over that of a recorded sample; ``starts`` [s]: of the K periods."""

    def __init__(self, beginning: Recording, period: float | None, settled: float | None, most: int | None) -> None:
        """For the recording that begins so; the beginning is still to be added."""
        about, self.first = beginning.about, float(beginning.time[0])
        period = about.period if period is None else period
        settled = about.settled if settled is None else settled
        if period is None:
            raise RecordingError("the period of the motion is not known; give it (period [s] in recording.yaml)")
        if not 0.0 < period < float("inf"):
            raise RecordingError(f"period is {shown(period)}; give a positive number of seconds")
        if settled is not None and not np.isfinite(settled):
            raise RecordingError(f"settled is {shown(settled)}; give a time [s]")
        samples = period * (rate := sampling_rate(beginning.time))
        if not 8 <= samples <= MOST_PERIOD_SAMPLES:
            why = f"a period of {period:.6g} s at {rate:.6g} Hz is {samples:.6g} samples; 8 … {MOST_PERIOD_SAMPLES} "
            raise RecordingError(f"{why}can be averaged")
        self.joints, self.about, self.most = beginning.joints, about, most
        self.map = about.map if beginning.torque is None else None
        self.period, self.samples = period, round(samples)
        self.start = self.first if settled is None else max(float(settled), self.first)
        self.last = self.start
        self.signal_names = [f"{what} of joint '{name}'" for what in ("position", "torque") for name in self.joints]
        self.signal_names += [f"{one} of the wrench" for one in WRENCH_COLUMNS if beginning.wrench is not None]
        self.mean, self.squares = np.zeros((self.samples, len(self.signal_names))), np.zeros(len(self.signal_names))
        self.starts, self.left_out, self._waiting = list[float](), list[str](), list[Recording]()
        self._steps = list[Array]()
        self._timing = list[Array]()  # Σ (x_{j+1} − x_j) ẋ and Σ ẋ² of positions, per pair
        self._rough = list[Array]()  # ¼ mean of squared differences of x_{j+1} − x_j from sample to sample, per pair
        self._previous: Array | None = None
        self.gains, self._next = 0.0, 0  # and the period that is to come

    def add(self, piece: Recording) -> None:
        if len(piece):
            self.last = float(piece.time[-1])
            effort = piece.needed_torque() if self.map is None or piece.current is None else piece.current
            self._waiting.append(replace(piece, torque=effort, qd=None, current=None))
            self.whole_periods(SAMPLES_BEYOND_PERIOD)

    def whole_periods(self, beyond: int) -> None:
        """Every period with so many samples behind its last instant, where the cubic leans on two; none at the end."""
        spacing = self.period / self.samples
        while self._waiting and (self.most is None or self._next < self.most):
            begin = self.start + self._next * self.period
            end = begin + (self.samples - 1) * spacing
            if self.last < end - 1e-6 * spacing:
                break
            held = Recording.join(self._waiting) if len(self._waiting) > 1 else self._waiting[0]
            self._waiting = [held]
            if len(held) - np.searchsorted(held.time, end, "right") < beyond:
                break
            self._one(held, begin)
            self._next += 1
            after = int(np.searchsorted(held.time, begin + self.period)) - 3
            self._waiting = [held[max(after, 0) :]]

    def _one(self, held: Recording, begin: float) -> None:
        at = self.instants(begin)
        first, last = np.searchsorted(held.time, [at[0], at[-1]])
        part = held[max(int(first) - 2, 0) : int(last) + 3]
        check_complete(part)
        steps = np.diff(part.time)
        if (widest := steps.max()) > LONG_GAP_INTERVALS * self.period / self.samples:
            where = part.time[int(np.argmax(steps))]
            self.left_out.append(f"period from {begin:.6g} s: {widest:.3g} s without samples at {where:.6g} s")
            return
        wrench = () if part.wrench is None else (part.wrench,)
        values, gain = local_cubic(part.time, np.hstack([part.q, part.needed_torque(), *wrench]), at)
        self.starts.append(begin)
        self.gains += gain
        before = values - self.mean
        self.mean += before / self.count
        self.squares += (before * (values - self.mean)).sum(axis=0)
        if self._previous is not None:
            step = values - self._previous
            self._steps.append(0.5 * (step**2).mean(axis=0))
            self._rough.append(0.25 * (np.diff(step, axis=0) ** 2).mean(axis=0))
            n = len(self.joints)
            rate = np.gradient(0.5 * (values + self._previous)[:, :n], self.period / self.samples, axis=0)
            self._timing.append(np.stack([(step[:, :n] * rate).sum(axis=0), (rate**2).sum(axis=0)]))
        self._previous = values

    def instants(self, begin: float) -> Array:
        """(N,) [s] of the samples of a period."""
        return np.asarray(begin + np.arange(self.samples) * (self.period / self.samples), dtype=np.float64)

    @property
    def count(self) -> int:
        """K"""
        return len(self.starts)

    @property
    def steps(self) -> Array:
        return np.array(self._steps).reshape(-1, self.mean.shape[1])

    @property
    def spread(self) -> Array:
        """(signals,) standard deviation of the mean over the period: the size of each signal."""
        return np.asarray(self.mean.std(axis=0))

    @property
    def unlike(self) -> Array:
        """(K, n) by how much of its motion each joint's position differs from the period before, noise apart; 0 for the
        first, and at standstill. Noise is rough from sample to sample, what does not repeat (a jump) is not."""
        n = len(self.joints)
        if self.count < 2:
            return np.zeros((self.count, n))
        rough, spread = np.array(self._rough)[:, :n], self.spread[:n]
        still = np.maximum(5.0 * np.sqrt(np.median(rough, axis=0)), STANDSTILL_MOTION_FRACTION * spread.max())
        by_chance, moving = 1.0 + 5.0 / np.sqrt(self.samples), spread > still
        smooth = np.sqrt(np.maximum(self.steps[:, :n] - by_chance * rough, 0.0))
        return np.vstack([np.zeros(n), np.where(moving, smooth / np.where(moving, spread, 1.0), 0.0)])

    def period_note(self) -> Note:
        """The given period against the data: refused when wrong, reported when a little off. By x_{j+1} − x_j ≈
        ẋ (T_given − T), least squares over all neighbours and joints, each joint weighted by 1/σ²."""
        n, pairs = len(self.joints), len(self._timing)
        spread, steps = self.spread[:n], self.steps[:, :n]
        if not (size := spread > 0.0).any():
            raise RecordingError("no joint moves in the periods to average; choose another part of the recording")
        timing = np.array(self._timing)  # (pairs, 2, n)
        moving = timing[:, 1].sum(axis=0) > 0.0
        floor = np.maximum((1e-9 * spread) ** 2, 1e-300)
        weight = np.where(moving, 1.0, 0.0) / np.maximum(steps.mean(axis=0), floor)
        products, squares = (timing.sum(axis=0) * weight).sum(axis=1)
        shift, sigma = float(products / squares), float(np.sqrt(2.0 / (squares / pairs)) / pairs)  # given less true [s]
        speed = np.sqrt(timing[:, 1].mean(axis=0) / self.samples)
        smear = abs(shift) * np.sqrt((self.count**2 - 1) / 12.0) * speed[moving] / spread[moving]
        blur = float(smear.max(initial=0.0))  # of the mean, relative to the motion
        whole = 2.0 * self.samples * (steps.sum(axis=0) * weight).sum()
        explained = float(shift**2 * squares / max(whole, 1e-300))  # share of the difference between periods
        relative = float((np.sqrt(steps.mean(axis=0)[size]) / spread[size]).min())
        truly = f"the positions repeat every {self.period - shift:.6g} s, not {self.period:.6g} s"
        if blur > LARGEST_SMEAR_FRACTION and abs(shift) > 4.0 * sigma and explained > 0.7:
            smeared = f"averaging would smear the motion by {100 * blur:.2g} %"
            raise RecordingError(f"{truly}: {smeared}; give the right period")
        if relative > UNREPEATED_MOTION_FRACTION:
            why = f"the positions do not repeat every {self.period:.6g} s: successive periods differ by "
            why += f"{100 * relative:.2g} % of the motion; give the right period (estimate_period finds it)"
            raise RecordingError(why)
        if abs(shift) > 4.0 * sigma and blur > REPEATED_SPREAD_FRACTION:
            smeared = f"the mean is smeared by {100 * blur:.2g} % of the motion"
            return warning("period", f"{truly} (± {sigma:.1g}): {smeared}")
        return done("period", f"the period agrees with the data within {max(abs(shift), sigma):.1g} s")


def average_periods(
    source: Recording | Callable[[], Iterable[Recording]], period: float | None = None, settled: float | None = None
) -> PeriodAverage:
    """The mean over all whole periods after the transient. source: a recording; or, for logs larger than memory, a
    function that reads it piece by piece from its beginning (called a second time when a transient has to be left out).
    period, settled [s]: those of ``About`` unless given. Comparing periods finds a transient that was not announced."""

    def gathered(settled: float | None, most: int | None = None) -> PeriodAverager:
        parts = [source] if isinstance(source, Recording) else source()
        beginning, pieces = peeked(parts, RATE_SAMPLES)
        if beginning is None:
            raise RecordingError("nothing was recorded")
        averager = PeriodAverager(beginning, period, settled, most)
        for piece in pieces:
            averager.add(piece)
        averager.whole_periods(0)
        if averager.count == 0:
            after = f" after {averager.start:.6g} s" if averager.start > averager.first else ""
            after += f" ({averager.left_out[0]})" if averager.left_out else ""
            why = f"no whole period of {averager.period:.6g} s in {averager.first:.6g} … {averager.last:.6g} s{after}; "
            raise RecordingError(f"{why}record at least one, better ten, or give the right period")
        return averager

    def only(kept: range) -> PeriodAverager:
        """A run of periods, those between that were left out before included."""
        begin, last = averager.starts[kept[0]], averager.starts[kept[-1]]
        return gathered(begin, round((last - begin) / averager.period) + 1)

    averager, notes, left_out = gathered(settled), list[Note](), list[str]()
    if settled is None and averager.about.settled is None:
        kept, left_out = _steady_run(averager)
        averager = only(kept) if len(kept) < averager.count else averager
        if left_out and averager.count > 1:
            text = f"{len(left_out)} periods left out because they do not repeat; settled from {averager.start:.6g} s"
            notes.append(done("transient", text))
        elif averager.count > 2:
            notes.append(done("transient", "no transient: all periods repeat within noise"))
        else:
            one = "one period only: a transient cannot be recognised"
            two = "two periods only: a transient cannot be distinguished from noise"
            notes.append(note("transient", one if averager.count == 1 else two))
    broken = averager.unlike.max(axis=1) > LARGEST_SMEAR_FRACTION
    if broken.any():
        kept, more = _unbroken_run(averager, broken)
        left_out += [*averager.left_out, *more]
        averager = only(kept)
    return _judged(averager, notes, left_out)


def _steady_run(averager: PeriodAverager) -> tuple[range, list[str]]:
    """The longest run of periods whose neighbours differ by noise only: no transient, no rest; and what is left out."""
    steps, left_out = averager.steps, list[str]()
    if len(steps) < 2:
        return range(averager.count), left_out
    usual = np.quantile(steps, 0.25, axis=0, method="lower")
    chance = 1.0 + 6.0 * np.sqrt(2.0 / averager.samples)
    allowed = np.maximum(UNSTEADY_VARIANCE_RATIO * chance * usual, (REPEATED_SPREAD_FRACTION * averager.spread) ** 2)
    kept = _longest_run((steps <= allowed).all(axis=1))
    for j in (j for j in range(averager.count) if j not in kept):
        pair = j if j < kept.start else j - 1
        ratio = steps[pair] / np.maximum(steps[kept.start : kept.stop - 1].min(axis=0), 1e-300)
        name = averager.signal_names[int(np.argmax(ratio))]
        why = "transient" if j < kept.start else "no longer repeats"
        left_out.append(f"period {j + 1} from {averager.starts[j]:.6g} s: {why}, seen first in {name}")
    return kept, left_out


def _longest_run(alike: BoolArray) -> range:
    """Of periods, each alike (K − 1,) the one before it; the first of the longest."""
    edges = np.flatnonzero(np.concatenate([[True], ~alike, [True]])).tolist()
    return max(map(range, edges, edges[1:]), key=len)


def _unbroken_run(averager: PeriodAverager, broken: BoolArray) -> tuple[range, list[str]]:
    """The longest run of periods that are alike, refused where no two are; and what is left out."""
    kept, unlike, left_out = _longest_run(~broken[1:]), averager.unlike, list[str]()
    if len(kept) < 2:
        averager.period_note()  # a wrong period has a better word for it
        j, joint = divmod(int(np.argmax(unlike)), unlike.shape[1])
        why = f"the position of joint '{averager.joints[joint]}' differs by {100 * unlike[j, joint]:.3g} % of its "
        why += f"motion between the period from {averager.starts[j]:.6g} s and the one before, and no two are alike: "
        raise BrokenPositions(f"{why}does it jump, are samples doubled or missing? Cut the recording there")
    for j in (j for j in range(averager.count) if j not in kept):
        breaks = unlike[j + 1 : kept.start + 1] if j < kept.start else unlike[kept.stop : j + 1]
        most = breaks.max(axis=0)
        joint = averager.joints[int(np.argmax(most))]
        words = f"period from {averager.starts[j]:.6g} s: between it and those averaged the position of joint "
        left_out.append(f"{words}'{joint}' breaks by {100 * most.max():.3g} % of its motion")
    return kept, left_out


def _judged(averager: PeriodAverager, notes: list[Note], left_out: list[str]) -> PeriodAverage:
    count, n = averager.count, len(averager.joints)
    mean_of = f"mean of {count} period{'s' * (count > 1)} of {averager.period:.6g} s, {averager.samples} samples each"
    notes.insert(0, done("periods", mean_of))
    left_out = list(dict.fromkeys([*left_out, *averager.left_out]))
    noises: dict[str, Array] = {}
    if count > 1:
        notes.append(averager.period_note())
        variance = averager.squares / ((count - 1) * averager.samples)  # of one resampled sample
        one, mean = np.sqrt(variance / (averager.gains / count)), np.sqrt(variance / count)
        neighbours = averager.steps.mean(axis=0)  # von Neumann: is the variance over all periods more than theirs?
        wanders = variance > (DRIFT_VARIANCE_RATIO + 6.0 / np.sqrt(averager.samples)) * neighbours
        wanders &= variance > (REPEATED_SPREAD_FRACTION * averager.spread) ** 2
        drift = np.where(wanders, np.sqrt(np.maximum(variance - neighbours, 0.0)), 0.0)
        for k, name in enumerate(("position", "torque")):
            part = slice(k * n, (k + 1) * n)
            noises |= {f"{name}_noise": one[part], f"{name}_noise_of_mean": mean[part], f"{name}_drift": drift[part]}
        for k in np.flatnonzero(drift).tolist():
            text = f"{averager.signal_names[k]} wanders by {drift[k]:.3g} from period to period, beyond its noise of "
            text += f"{np.sqrt(max(variance[k] - drift[k] ** 2, 0.0)):.3g}: σ counts both"
            notes.append(note("periods", text, averager.joints[k % n] if k < 2 * n else None))
    notes += [done("periods", f"left out: {why}") for why in left_out]
    return PeriodAverage(
        joints=averager.joints,
        time=averager.instants(averager.start),
        q=averager.mean[:, :n],
        torque=averager.mean[:, n : 2 * n],
        period=averager.period,
        end=float(averager.starts[-1] + averager.period),
        count=count,
        left_out=tuple(left_out),
        notes=tuple(notes),
        filter=averager.about.filter,
        torque_bandwidth=noted_bandwidth(averager.about),
        map=averager.map,
        wrench=averager.mean[:, 2 * n :] if averager.mean.shape[1] > 2 * n else None,
        **noises,
    )
