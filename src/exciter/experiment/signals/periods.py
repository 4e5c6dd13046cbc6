"""Periods laid over each other after the transient: their mean, and how noisy one sample is (seed 002, V-A).

With K periods of N samples, x̄(k) the mean over periods at sample k, the variance of one sample is
Σ_j Σ_k (x_j(k) − x̄(k))² / ((K − 1) N): each of the N means costs one degree of freedom. (The paper prints
1/(K N − 1), which is too small by (K − 1)/K.) The mean has 1/K of that variance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from exciter.errors import RecordingError
from exciter.experiment.recording.recording import Recording
from exciter.experiment.recording.recording_facts import AnalogFilter
from exciter.experiment.signals.low_pass_filter import noted_bandwidth
from exciter.experiment.signals.period_averager import PeriodAverager
from exciter.experiment.signals.resample import check_complete, local_cubic, peeked
from exciter.notes import Note, done, note, warning
from exciter.typing import Array

COARSE_GRID_SAMPLES = 1 << 14  #: of the first look
UNREPEATED_VARIANCE_FRACTION = 0.05  #: a shift that leaves more is no period
Chunks = Callable[[], Iterable[Recording]]
RATE_SAMPLES = 10_000  #: from which the rate is taken
UNSTEADY_VARIANCE_RATIO = 1.5  #: a step between periods this much above the usual one, in variance, is no noise
REPEATED_SPREAD_FRACTION = 1e-4  #: periods that differ by less repeat well enough, however quiet the sensors
DRIFT_VARIANCE_RATIO = 1.1  #: over periods, to that that between neighbours: more is drift
LARGEST_SMEAR_FRACTION = 0.01  #: a wrong period that smears the mean by more is refused
UNREPEATED_MOTION_FRACTION = 0.2  #: periods that differ by more do not repeat


@dataclass(frozen=True)
class PeriodEstimate:
    """period [s]; difference: RMS between the motion and itself one period later, relative to its spread."""

    period: float
    difference: float
    sentence: str


def estimate_period(recording: Recording) -> PeriodEstimate:
    """The shortest shift in time that maps the positions onto themselves; two whole periods must have been recorded.

    d(s) = Σ |q(t + s) − q(t)|² by fast Fourier transformation on a coarse grid; the shortest of its deep minima is then
    refined on true time by Gauss–Newton, over ever more periods.
    """
    check_complete(recording)
    spread = recording.q.std(axis=0)
    moving = spread > 1e-9 * np.maximum(1.0, np.abs(recording.q).max(axis=0))
    if len(recording) < 64 or not moving.any():
        raise RecordingError("a period can only be found in the motion of at least one joint, over 64 samples or more")
    time = recording.time - recording.time[0]
    q = (recording.q[:, moving] - recording.q[:, moving].mean(axis=0)) / spread[moving]
    grid = np.linspace(0.0, time[-1], min(COARSE_GRID_SAMPLES, len(time)))
    values, _ = local_cubic(time, q, grid)
    first = _first_deep_minimum(values)
    if first is None:
        raise RecordingError(
            f"the positions do not repeat within the {time[-1]:.6g} s recorded; at least two whole periods are needed, "
            "and no long standstill"
        )
    period, count = first * grid[1], 1
    while True:
        count = min(count, int(0.9 * time[-1] / period))
        for _ in range(8):
            shift = _correction(time, q, count * period) / count
            period += shift
            if abs(shift) < 1e-12 * period:
                break
        if count >= int(0.9 * time[-1] / period):
            break
        count *= 2
    later, now = _shifted(time, q, period)
    difference = float(np.sqrt(((later - now) ** 2).mean()))
    sentence = f"the positions repeat every {period:.6g} s within {100 * difference:.2g} % of the motion"
    return PeriodEstimate(period=period, difference=difference, sentence=sentence)


def _first_deep_minimum(values: Array) -> int | None:
    """Shift in samples: the shortest at which d is nearly as small as anywhere, after having been large."""
    count = len(values)
    squares = np.concatenate([[0.0], np.cumsum((values**2).sum(axis=1))])
    padded = fft.rfft(values, fft.next_fast_len(2 * count, real=True), axis=0)
    products = fft.irfft((np.abs(padded) ** 2).sum(axis=1), fft.next_fast_len(2 * count, real=True))[: count // 2 + 1]
    shifts = np.arange(count // 2 + 1)
    overlap = count - shifts
    both = squares[overlap] + squares[count] - squares[shifts]
    d = (both - 2.0 * products) / np.maximum(both, 1e-300)  # 0: the same, 1: nothing in common
    large = np.flatnonzero(d > 0.3)
    if not len(large):
        return None
    inner = np.arange(max(1, int(large[0])), len(d) - 1)
    minima = inner[(d[inner] <= d[inner - 1]) & (d[inner] <= d[inner + 1])]
    deep = minima[d[minima] < UNREPEATED_VARIANCE_FRACTION]
    if not len(deep):
        return None
    good = deep[d[deep] <= 2.0 * d[deep].min() + 1e-3]
    return int(good[0])


def _shifted(time: Array, q: Array, shift: float) -> tuple[Array, Array]:
    """q(t + s) and q(t) where both were recorded."""
    now = time <= time[-1] - shift
    later, _ = local_cubic(time, q, time[now] + shift)
    return later, q[now]


def _correction(time: Array, q: Array, shift: float) -> float:
    later, now = _shifted(time, q, shift)
    rate = np.gradient(now, time[: len(now)], axis=0)
    return float(-((later - now) * rate).sum() / (rate**2).sum())


class BrokenPositions(RecordingError):
    """Positions that no motion makes; another route would not do better."""


@dataclass(frozen=True, eq=False)
class PeriodAverage:
    """One period: ``time`` (N,) [s] of the first one averaged; mean q and torque (N, n), and wrench (N, 6).

    end [s]: where the last of the ``count`` periods ends that were averaged.

    position_noise, torque_noise (n,): σ of one recorded sample; …_of_mean: σ of one sample of the mean. Both are None
    for a single period. filter: the analogue one the torque still has to be freed of; torque_bandwidth: as in
    ``Processed``. position_drift, torque_drift (n,): how far the mean wanders from period to period beyond
    noise, zero where the data repeat. left_out: which periods, and why.
    """

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
    filter: AnalogFilter | None = None
    torque_bandwidth: float = float("inf")
    wrench: Array | None = None

    @property
    def rate(self) -> float:
        """[Hz] a whole number of samples per period."""
        return len(self.time) / self.period


def average_periods(
    source: Recording | Chunks, period: float | None = None, settled: float | None = None
) -> PeriodAverage:
    """The mean over all whole periods after the transient.

    source: a recording; or, for logs larger than memory, a function that reads it piece by piece from its beginning
    (called a second time when a transient has to be left out). period, settled [s]: as in ``About``, which is asked
    when they are not given. A transient that nobody announced is found by comparing successive periods.
    """

    def pieces() -> Iterable[Recording]:
        return [source] if isinstance(source, Recording) else source()

    averager = _gather(pieces(), period, settled)
    announced = settled is not None or averager.about.settled is not None
    notes: list[Note] = []
    left_out: list[str] = []
    if not announced:
        kept = _longest_steady_run(averager)
        left_out = _unsteady_periods(averager, kept)
        if len(kept) < averager.count:
            averager = _gather(pieces(), period, float(averager.starts[kept[0]]), _periods(averager, kept))
        notes.append(_transient_note(averager, left_out))
    broken = averager.unlike.max(axis=1) > LARGEST_SMEAR_FRACTION
    if broken.any():
        kept = _longest_unbroken_run(averager, broken)
        left_out += [*averager.left_out, *_broken_periods(averager, kept)]
        averager = _gather(pieces(), period, float(averager.starts[kept[0]]), _periods(averager, kept))
    return _judged(averager, notes, left_out)


def _periods(averager: PeriodAverager, kept: range) -> int:
    """How many periods a run takes, those between that were left out included."""
    return round(float(averager.starts[kept[-1]] - averager.starts[kept[0]]) / averager.period) + 1


def _gather(
    pieces: Iterable[Recording], period: float | None, settled: float | None, most: int | None = None
) -> PeriodAverager:
    beginning, pieces = peeked(pieces, RATE_SAMPLES, Recording.join)
    if beginning is None:
        raise RecordingError("nothing was recorded")
    averager = PeriodAverager.of(beginning, period, settled, most)
    for piece in pieces:
        averager.add(piece)
    averager.finish()
    if averager.count == 0:
        raise RecordingError(
            f"no whole period of {averager.period:.6g} s in {averager.first:.6g} … {averager.last:.6g} s"
            + (f" after {averager.start:.6g} s" if averager.start > averager.first else "")
            + (f" ({averager.left_out[0]})" if averager.left_out else "")
            + "; record at least one, better ten, or give the right period"
        )
    return averager


def _longest_steady_run(averager: PeriodAverager) -> range:
    """The longest run of periods whose neighbours differ by noise only: no transient, no standstill before or after."""
    steps = averager.steps  # (K − 1, signals), mean squares
    if len(steps) < 2:
        return range(averager.count)
    usual = np.quantile(steps, 0.25, axis=0, method="lower")
    chance = 1.0 + 6.0 * np.sqrt(2.0 / averager.samples)
    allowed = np.maximum(UNSTEADY_VARIANCE_RATIO * chance * usual, (REPEATED_SPREAD_FRACTION * averager.spread) ** 2)
    return _longest_run((steps <= allowed).all(axis=1))


def _longest_run(alike: NDArray[np.bool_]) -> range:
    """Of periods, each alike (K − 1,) the one before it; the first of the longest."""
    best = current = range(1)
    for j, goes_on in enumerate(alike, start=1):
        current = range(current.start if goes_on else j, j + 1)
        best = current if len(current) > len(best) else best
    return best


def _unsteady_periods(averager: PeriodAverager, kept: range) -> list[str]:
    left_out = []
    for j in sorted(set(range(averager.count)) - set(kept)):
        pair = j if j < kept.start else j - 1
        ratio = averager.steps[pair] / np.maximum(averager.steps[kept.start : kept.stop - 1].min(axis=0), 1e-300)
        name = averager.signal_names[int(np.argmax(ratio))]
        why = "transient" if j < kept.start else "no longer repeats"
        left_out.append(f"period {j + 1} from {averager.starts[j]:.6g} s: {why}, seen first in {name}")
    return left_out


def _longest_unbroken_run(averager: PeriodAverager, broken: NDArray[np.bool_]) -> range:
    """The longest run of periods that are alike; refused where no two are."""
    best = _longest_run(~broken[1:])
    if len(best) < 2:
        _period_note(averager)  # a wrong period has a better word for it
        j, joint = (int(k) for k in np.unravel_index(np.argmax(averager.unlike), averager.unlike.shape))
        raise BrokenPositions(
            f"the position of joint '{averager.joints[joint]}' differs by {100 * averager.unlike[j, joint]:.3g} % of "
            f"its motion between the period from {averager.starts[j]:.6g} s and the one before, and no two are alike: "
            "does it jump, are samples doubled or missing? Cut the recording there"
        )
    return best


def _broken_periods(averager: PeriodAverager, kept: range) -> list[str]:
    left_out = []
    for j in sorted(set(range(averager.count)) - set(kept)):
        between = slice(j + 1, kept.start + 1) if j < kept.start else slice(kept.stop, j + 1)
        breaks = averager.unlike[between].max(axis=0)
        left_out.append(
            f"period from {averager.starts[j]:.6g} s: between it and those averaged the position of joint "
            f"'{averager.joints[int(np.argmax(breaks))]}' breaks by {100 * breaks.max():.3g} % of its motion"
        )
    return left_out


def _transient_note(averager: PeriodAverager, left_out: list[str]) -> Note:
    if averager.count == 1:
        return note("transient", "one period only: a transient cannot be recognised")
    if averager.count == 2 and not left_out:
        return note("transient", "two periods only: a transient cannot be distinguished from noise")
    if left_out:
        text = f"{len(left_out)} periods left out because they do not repeat; settled from {averager.start:.6g} s"
        return done("transient", text)
    return done("transient", "no transient: all periods repeat within noise")


def _judged(averager: PeriodAverager, notes: list[Note], left_out: list[str]) -> PeriodAverage:
    count, n = averager.count, len(averager.joints)
    mean_of = f"mean of {count} period{'s' * (count > 1)} of {averager.period:.6g} s, {averager.samples} samples each"
    notes.insert(0, done("periods", mean_of))
    left_out = list(dict.fromkeys([*left_out, *averager.left_out]))
    noises: dict[str, Array] = {}
    if count > 1:
        notes.append(_period_note(averager))
        variance = averager.squares / ((count - 1) * averager.samples)  # of one resampled sample
        one, mean = np.sqrt(variance / averager.gain), np.sqrt(variance / count)
        drift = _drift(averager, variance)
        for k, name in enumerate(("position", "torque")):
            part = slice(k * n, (k + 1) * n)
            noises |= {f"{name}_noise": one[part], f"{name}_noise_of_mean": mean[part], f"{name}_drift": drift[part]}
        for k in np.flatnonzero(drift).tolist():
            text = (
                f"{averager.signal_names[k]} wanders by {drift[k]:.3g} from period to period, beyond its noise of "
                f"{np.sqrt(max(variance[k] - drift[k] ** 2, 0.0)):.3g}: σ counts both"
            )
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
        wrench=averager.mean[:, 2 * n :] if averager.mean.shape[1] > 2 * n else None,
        **noises,
    )


def _drift(averager: PeriodAverager, variance: Array) -> Array:
    """(signals,) von Neumann's comparison: variance over all periods beyond that between neighbours."""
    neighbours = averager.steps.mean(axis=0)
    noticeable = variance > (DRIFT_VARIANCE_RATIO + 6.0 / np.sqrt(averager.samples)) * neighbours
    noticeable &= variance > (REPEATED_SPREAD_FRACTION * averager.spread) ** 2
    return np.where(noticeable, np.sqrt(np.maximum(variance - neighbours, 0.0)), 0.0)


def _period_note(averager: PeriodAverager) -> Note:
    """The given period against the data: refused when wrong, reported when a little off."""
    n = len(averager.joints)
    moving = averager.spread[:n] > 0.0
    if not moving.any():
        raise RecordingError("no joint moves in the periods to average; choose another part of the recording")
    relative = np.sqrt(averager.steps[:, :n].mean(axis=0)[moving]) / averager.spread[:n][moving]
    shift, sigma, blur, explained = averager.period_error()
    truly = f"the positions repeat every {averager.period - shift:.6g} s, not {averager.period:.6g} s"
    if blur > LARGEST_SMEAR_FRACTION and abs(shift) > 4.0 * sigma and explained > 0.7:
        raise RecordingError(f"{truly}: averaging would smear the motion by {100 * blur:.2g} %; give the right period")
    if relative.min() > UNREPEATED_MOTION_FRACTION:
        raise RecordingError(
            f"the positions do not repeat every {averager.period:.6g} s: successive periods differ by "
            f"{100 * relative.min():.2g} % of the motion; give the right period (estimate_period finds it)"
        )
    if abs(shift) > 4.0 * sigma and blur > REPEATED_SPREAD_FRACTION:
        return warning("period", f"{truly} (± {sigma:.1g}): the mean is smeared by {100 * blur:.2g} % of the motion")
    return done("period", f"the period agrees with the data within {max(abs(shift), sigma):.1g} s")
