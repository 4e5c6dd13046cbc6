"""How noisy samples are when no period can be compared with another, where a log moves, and which low-pass loses least.

The motion is smooth, noise is not: divided differences of order m on true time remove any polynomial of degree m − 1
and leave noise, whose variance they multiply by Σ w². Assumed: noise is white above the band of the motion. A signal
that was low-passed before has nothing left up there, and the estimate is then a lower bound: ``earlier_low_pass``.
What settings are chosen from must not be the rest before the motion (``peeked_at_motion``).

Which low-pass loses least: the signal it takes away against the noise it lets through. With S(f) the spectrum of the
motion and n that of white noise, a zero-phase gain G leaves in q̈ the mean square

    ∫ (2πf)⁴ [ S (1 − G)² + n G² ] df,

and for white noise of σ_q alone that is ∝ σ_q² f_c⁵ / rate: one octave of cut-off costs a factor 2^2.5 in q̈. The
cut-off chosen makes this least. S is what a spectrum of the second difference shows above the noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

import numpy as np
import scipy

from exciter.errors import RecordingError
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.resample import split_at_gaps, window
from exciter.typing import Array, BoolArray, Index

DIFFERENCE_ORDERS = range(2, 9)
FEWEST_NOISE_SAMPLES = 2 * (DIFFERENCE_ORDERS[-1] + 1)
MOST_NOISE_SAMPLES = 200_000  #: looked at: more do not sharpen the estimate
KEPT_DIFFERENCES_FRACTION = 0.9  #: the smallest: jumps (stiction, reversals, gaps) are not noise
SAME_NOISE_RATIO = 1.05  #: to the smallest: such an estimate is as good, and a lower order less sensitive to colour
QUIETEST_TORQUE_FRACTION = 1e-4  #: of its spread: no torque or current sensor is that quiet unless it was low-passed
SINGLE_PRECISION_STEP_ROUNDINGS = 16  #: that a step must be, or rounding itself looks like one
MOVING_NOISE_FACTOR = 20.0  #: over its noise: the spread of a position that moves
SEARCHED_WINDOWS = 10  #: of a stream that are held in memory in search of motion
Shares = Callable[[Array, float], tuple[Array, Array]]
MAIN_MOTION_POWER_FRACTION = 0.99
HALF_OCTAVE_BANDS = 3
NOISE_RISE_FACTOR = 1000.0  #: of S f² of noise that stays level over one and a half decades
VISIBLE_LEVEL_RATIO = 1.5  #: a band this far above the noise holds signal, unless by chance
FALSE_SIGNAL_PROBABILITY = 5e-4  #: that a band of noise alone does
HIDDEN_SIGNAL_EXPONENT = 6.0  #: of f, with which a signal falls where noise hides it
WINDOW_HALF_WIDTH_LINES = 3.0  #: of the spectrum
SPECTRUM_SAMPLES_LIMIT = 1 << 17  #: bounds memory
KAISER_WINDOW_BETA = 20.0  #: side lobes of −150 dB, since noise in q may be that far below the motion
FEWEST_BAND_SAMPLES = 64  #: of a spectrum
TRIED_CUTOFFS = 200
KEPT_ESTIMATES = 64  #: of noise, in a process


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """sigma (n,): standard deviation of one sample. step (n,): quantisation, 0 where there is none. order (n,): of the
    differences used. low_pass: frequency [Hz] above which torques have nothing; sigma is then a lower bound."""

    sigma: Array
    step: Array
    order: Index
    low_pass: float | None = None


def estimate_noise(time: Array, x: Array, *, judge_low_pass: bool = False) -> NoiseEstimate:
    """Noise of signals (N, n) at times (N,) [s]. judge_low_pass: were they low-passed? For torque and current only. Of
    the same numbers it is asked for again and again, by every route that is tried: the last ones are kept."""
    if len(x) < FEWEST_NOISE_SAMPLES:
        wrong = f"noise cannot be estimated from {len(x)} samples; at least {FEWEST_NOISE_SAMPLES} are needed"
        raise RecordingError(wrong)
    content = blake2b(np.ascontiguousarray(time).data)
    content.update(np.ascontiguousarray(x).data)
    key = content.digest(), x.shape, judge_low_pass
    if key not in _estimates:
        while len(_estimates) >= KEPT_ESTIMATES:
            _estimates.pop(next(iter(_estimates)), None)
        _estimates[key] = _estimated(time, x, judge_low_pass)
    return _estimates[key]


_estimates = dict[tuple[bytes, tuple[int, ...], bool], NoiseEstimate]()


def _estimated(time: Array, x: Array, judge_low_pass: bool) -> NoiseEstimate:
    size = MOST_NOISE_SAMPLES // 20  # twenty stretches spread over a long log, or all samples
    starts = np.linspace(0, len(x) - size, 20).astype(int).tolist()
    parts = [slice(0, len(x))] if len(x) <= MOST_NOISE_SAMPLES else [slice(a, a + size) for a in starts]
    found = _by_differences(time, x, parts)
    first = np.argmax(found <= SAME_NOISE_RATIO * found.min(axis=0), axis=0)
    sigma = np.take_along_axis(found, first[None], axis=0)[0]
    step = np.array([quantisation_step(column) for column in x.T])
    ceiling = earlier_low_pass(x, 1.0 / float(np.median(np.diff(time)))) if judge_low_pass else None
    sigma = np.maximum(sigma, step / np.sqrt(12.0))
    return NoiseEstimate(sigma=sigma, step=step, order=np.array(DIFFERENCE_ORDERS)[first], low_pass=ceiling)


def _by_differences(time: Array, x: Array, parts: list[slice]) -> Array:
    """(orders, n) σ from divided differences of every order, each scaled to the variance of a sample: in that from k to
    k + m, sample i has the weight 1 / Π_j≠i (t_k+i − t_k+j)."""
    kept: list[list[Array]] = [[] for _ in DIFFERENCE_ORDERS]
    for part in parts:
        t, difference = time[part], np.ascontiguousarray(x[part].T)
        t = (t - t[0]) * (len(t) / (t[-1] - t[0]))  # in steps, for products that neither vanish nor overflow
        factors = [np.ones(len(t))]
        for order in range(1, DIFFERENCE_ORDERS[-1] + 1):
            last = len(t) - order
            spans = [t[order:] - t[i : last + i] for i in range(order)]
            difference = np.diff(difference) / spans[0]
            factors = [factor[:last] * span for factor, span in zip(factors, spans, strict=True)]
            factors.append(np.multiply.reduce(spans))
            if order in DIFFERENCE_ORDERS:
                scale = 1.0 / np.sqrt(sum(factor**-2.0 for factor in factors))
                kept[order - DIFFERENCE_ORDERS[0]].append(difference * scale)
    return np.array([trimmed_deviation(np.concatenate(one, axis=1).T) for one in kept])


def trimmed_deviation(x: Array) -> Array:
    """(n,) σ of samples (N, n) around zero from the smallest 90 % of |x|, right for Gaussian noise. Second moments, not
    the median: differences of a quantised signal have a few values only."""
    count = max(1, round(KEPT_DIFFERENCES_FRACTION * len(x)))
    squares = np.partition(x.T**2, count - 1)[:, :count]
    c = scipy.stats.norm.ppf(0.5 + 0.5 * KEPT_DIFFERENCES_FRACTION)
    remaining = 1.0 - 2.0 * c * scipy.stats.norm.pdf(c) / KEPT_DIFFERENCES_FRACTION  # variance of a Gaussian within ± c
    return np.asarray(np.sqrt(squares.mean(axis=1) / remaining))


def quantisation_step(x: Array) -> float:
    """The step of which all differences of samples (N,) are multiples; 0 where there is none."""
    values = np.unique(x[:50_000])
    steps = np.diff(values)
    steps = steps[steps > 1e-13 * np.abs(values[[0, -1]]).max(initial=0.0)]
    if len(steps) < 3:
        return 0.0
    step = float(steps.min())
    counts = np.round(steps / step)
    near = np.abs(steps / step - counts) < 0.02
    if near.mean() >= 0.99:
        return float(np.median(steps[near] / counts[near]))
    return _step_in_single_precision(values, steps)


def _step_in_single_precision(values: Array, steps: Array) -> float:
    """The same where every number was rounded to 24 bits, which moves long steps more than a fiftieth of a short one;
    0 for others. The step comes from the shortest first, then from ever longer ones."""
    if not np.array_equal(values, values.astype(np.float32)):
        return 0.0
    rounding, step = float(np.spacing(np.float32(np.abs(values).max()))), float(steps.min())
    if step < SINGLE_PRECISION_STEP_ROUNDINGS * rounding:
        return 0.0
    for most in (1.5, 4.5, 16.5, 64.5):
        counts = np.round(steps / step)
        short = counts < most
        step = float(steps[short].sum() / counts[short].sum())
    near = np.abs(steps - step * np.round(steps / step)) < 0.02 * step + rounding
    return step if near[short].mean() >= 0.99 else 0.0


def earlier_low_pass(x: Array, rate: float) -> float | None:
    """[Hz] Frequency above which a torque or current holds nothing, because it was low-passed before; None otherwise.
    x: (N,) or (N, n) at uniform instants (resample first: jitter fills the empty band), rate [Hz]. The top half of the
    spectrum, taken as white noise of the whole band, would have a σ below 10⁻⁴ of the signal's: no such
    sensor is that quiet (encoders may be). The frequency where it has come down to this floor, the highest."""
    columns = x[:, None] if x.ndim == 1 else x
    if len(columns) < 64:
        return None
    window = min(len(columns), 1 << max(8, int(np.log2(max(len(columns) // 4, 1)))))
    frequency, power = scipy.signal.welch(columns, rate, "blackmanharris", window, axis=0, detrend="linear")
    found: list[float] = []
    for column, levels in zip(columns.T, power.T, strict=True):
        if (spread := float(column.std())) == 0.0:
            continue
        floor = float(np.median(levels[frequency > 0.25 * rate]))
        if np.sqrt(floor * 0.5 * rate) > QUIETEST_TORQUE_FRACTION * spread:
            return None
        smooth = np.convolve(levels, np.full(5, 0.2), "same")
        above = np.flatnonzero(smooth[: int(0.9 * len(smooth))] > 100.0 * max(floor, 1e-300))
        found.append(float(frequency[above[-1]]) if len(above) else 0.0)
    return max(found) if found else None


def moves(recording: Recording) -> BoolArray:
    """(n,) whether a joint moves by more than noise, drift or the last digit of an encoder."""
    later = np.diff(recording.time, prepend=-np.inf) > 0.0
    q = recording.q[later]
    if len(q) < FEWEST_NOISE_SAMPLES or not np.isfinite(q).all():
        return np.full(recording.n, len(q) >= FEWEST_NOISE_SAMPLES)  # to be refused where it can be said better
    other = np.ptp(q, axis=0) > 0.0  # the spread of equal numbers is rounding, not zero
    spread = q.std(axis=0) > MOVING_NOISE_FACTOR * estimate_noise(recording.time[later], q).sigma
    return np.asarray(other & spread)


def most_moving(recording: Recording, gap: float) -> Recording:
    """The part between gaps longer than ``gap`` [s] that holds most of the motion, each joint's counted alike."""
    parts = split_at_gaps(recording, gap)
    size = np.array([len(part) * part.q.var(axis=0) for part in parts])
    return parts[int(np.argmax((size / np.maximum(size.sum(axis=0), 1e-300)).sum(axis=1)))]


def peeked_at_motion(parts: Iterable[Recording], samples: int) -> tuple[Recording | None, Iterator[Recording]]:
    """A first stretch of a stream in which something moves, some ``samples`` long, and the stream from its start.
    Refused where it is empty, or its first million samples or so are standstill."""
    stream, seen, join = iter(parts), list[Recording](), Recording.join
    for _ in range(SEARCHED_WINDOWS):
        if not (following := window(stream, samples)):
            break
        seen.append(join(following))
        if moves(seen[-1]).any():
            first = len(seen) - 1
            if first or not moves(seen[0][: len(seen[0]) // 2]).any():  # it has begun only just
                seen += window(stream, samples)
            return join(seen[first:]), chain(seen, stream)
    if sum(map(len, seen)) < FEWEST_NOISE_SAMPLES:
        return join(seen), chain(seen, stream)
    why = f"no joint moves in the first {seen[-1].time[-1] - seen[0].time[0]:.3g} s: nothing can be chosen from "
    raise RecordingError(f"{why}standstill; give the setting (cutoff, or knots_per_second), or cut the rest off")


@dataclass(frozen=True, eq=False)
class CutoffChoice:
    """cutoff [Hz] for all joints, and why. per_joint (n,): what each joint alone would choose; bandwidth (n,) [Hz]: up
    to where its motion shows above the noise; noise (n,): σ of one sample; error (n,): predicted RMS error of q̈."""

    cutoff: float
    reason: str
    per_joint: Array
    bandwidth: Array
    noise: Array
    error: Array


@dataclass(frozen=True, eq=False)
class SignalSpectrum:
    """Mean levels over bands of a sixth of an octave around ``frequency`` (F,), ``width`` (F,) [Hz], of what counts as
    signal and as noise (F, n), one-sided [unit²/Hz]. bandwidth (n,) [Hz]: where one yields to the other; rate [Hz]."""

    frequency: Array
    width: Array
    signal: Array
    noise: Array
    bandwidth: Array
    rate: float

    @property
    def sigma(self) -> Array:
        """(n,) standard deviation of white noise of the level found next to the signal's band."""
        return np.asarray(np.sqrt(0.5 * self.rate * self.noise[0]))


def spectrum(x: Array, rate: float) -> SignalSpectrum:
    """Of uniform samples (N, n): a motion falls off faster than f⁻², noise does not, whatever its colour. So S f² has a
    valley where noise takes over; the two octaves from twice that frequency on give the level of the noise below. What
    rises above this level, up to two octaves beyond the valley, is signal, and from there on a tail of what noise would
    hide; all else above is noise. Taken of second differences, so flat that low frequencies do not leak into high."""
    if len(x) < FEWEST_BAND_SAMPLES:
        wrong = f"{len(x)} samples are too few to see what is motion and what noise; {FEWEST_BAND_SAMPLES} are needed"
        raise RecordingError(wrong)
    second = np.diff(x, 2, axis=0)
    length = min(len(second), SPECTRUM_SAMPLES_LIMIT)
    frequency, lines = scipy.signal.welch(second, rate, ("kaiser", KAISER_WINDOW_BETA), length, detrend=False, axis=0)
    lines = lines[1:] / (4.0 * np.sin(np.pi * frequency[1:, None] / rate) ** 2) ** 2
    band = np.floor(6.0 * np.log2(frequency[1:] / frequency[1]) + 1e-9).astype(int)  # of a sixth of an octave
    starts = np.flatnonzero(np.diff(band, prepend=-1))
    counts = np.diff(np.append(starts, len(band)))
    levels = np.add.reduceat(lines, starts) / counts[:, None]
    centre, width = np.add.reduceat(frequency[1:], starts) / counts, counts * float(frequency[1])
    spectra = max(1, 2 * len(second) // length - 1)  # that were averaged
    freedom = 2.0 * np.maximum(1.0, width / (2.0 * WINDOW_HALF_WIDTH_LINES * frequency[1]) * spectra)
    visible = np.maximum(VISIBLE_LEVEL_RATIO, scipy.stats.chi2.isf(FALSE_SIGNAL_PROBABILITY, freedom) / freedom)
    parted = [_parted(centre, width, column, visible) for column in levels.T]
    signal, noise, bandwidth = (np.stack(part, axis=-1) for part in zip(*parted, strict=True))
    return SignalSpectrum(frequency=centre, width=width, signal=signal, noise=noise, bandwidth=bandwidth, rate=rate)


def _parted(frequency: Array, width: Array, levels: Array, visible: Array) -> tuple[Array, Array, Array]:
    """Signal (F,), noise (F,) and the frequency where one yields to the other."""
    if not levels.any():  # a joint that stands still, exactly
        return levels, levels, np.asarray(0.0)
    # The valley: where S f² is least, above the main motion and before a rise that only noise makes. Seen through a
    # maximum over an octave: there is no valley between the harmonics of a periodic motion.
    covered = scipy.ndimage.maximum_filter1d(levels * frequency**2, 2 * HALF_OCTAVE_BANDS + 1, mode="nearest")
    share = np.cumsum(levels * width) / (levels * width).sum()
    first = min(int(np.searchsorted(share, MAIN_MOTION_POWER_FRACTION)), len(levels) - 1)
    start = min(first + HALF_OCTAVE_BANDS, len(levels) - 1)
    risen = np.flatnonzero(covered[start:] > NOISE_RISE_FACTOR * np.minimum.accumulate(covered[start:]))
    end = start + int(risen[0]) if len(risen) else len(levels)
    valley = frequency[max(first, start + int(np.argmin(covered[start:end])) - HALF_OCTAVE_BANDS)]
    beyond = (frequency >= 2.0 * valley) & (frequency <= 8.0 * valley)
    beyond[-1] |= not beyond.any()
    floor = float(np.median(levels[beyond]))
    seen = np.flatnonzero((levels > visible * floor) & (frequency <= 4.0 * valley))
    end = int(seen[-1]) + 1 if len(seen) else 0
    signal, noise = np.where(levels > visible * floor, levels - floor, 0.0), np.full(len(levels), floor)
    if end < len(levels):
        octave = (frequency >= 0.5 * frequency[end]) & (np.arange(len(levels)) < end) & (signal > 0.0)
        slope = -HIDDEN_SIGNAL_EXPONENT
        if octave.sum() > 2:
            slope = min(slope, float(np.polyfit(np.log(frequency[octave]), np.log(signal[octave]), 1)[0]))
        unseen = min(float(signal[max(end - 1, 0)]), (float(visible[end]) - 1.0) * floor)
        signal[end:] = unseen * (frequency[end:] / frequency[end]) ** slope
        noise[end:] = np.maximum(levels[end:] - signal[end:], 0.0)
    return signal, noise, np.asarray(frequency[max(end - 1, 0)])


def least_error(
    spectrum: SignalSpectrum, shares: Shares, candidates: Array, asked: BoolArray | None = None
) -> tuple[int, int, Array, Index]:
    """Index of the best candidate for all joints, the joint that is worst off with it for its own motion, errors
    (candidates, n), and the best index of each joint; ``shares`` says for (frequency, candidate) how much of the power
    of signal and of noise at each frequency goes into the mean square error. All joints together: the least sum of
    errors, each relative to what that joint's signal has to lose. asked (n,): joints that move: one that is held shows
    noise alone, all of which would best be lost."""

    def left_by(tried: Array) -> Array:
        both = np.stack([np.stack(shares(spectrum.frequency, float(c))) for c in tried]) * spectrum.width
        return np.asarray(both[:, 0] @ spectrum.signal + both[:, 1] @ spectrum.noise)

    errors, all_lost = left_by(candidates), left_by(np.array([1e-6 * spectrum.frequency[0]]))[0]
    moving = (all_lost > 0.0) & (True if asked is None else asked)
    relative = np.where(moving, errors / np.maximum(all_lost, 1e-300), 0.0)
    best = int(np.argmin(relative.sum(axis=1))) if moving.any() else len(candidates) - 1
    return best, int(np.argmax(relative[best])), errors, np.argmin(errors, axis=0)


def choose_cutoff(q: Array, rate: float, order: int = 4, asked: BoolArray | None = None) -> CutoffChoice:
    """Low-pass of positions (N, n) at uniform instants, ``rate`` [Hz], for their second derivative; order: of the
    Butterworth filter, one pass: run forwards and backwards its gain is ½ at the cut-off. asked (n,): joints that
    count, all unless given."""

    def shares(frequency: Array, cutoff: float) -> tuple[Array, Array]:
        gain, weight = 1.0 / (1.0 + (frequency / cutoff) ** (2 * order)), (2.0 * np.pi * frequency) ** 4
        return np.asarray(weight * (1.0 - gain) ** 2), np.asarray(weight * gain**2)

    shown = spectrum(q, rate)
    candidates = np.geomspace(max(shown.frequency[0], 1e-4 * rate), 0.4 * rate, TRIED_CUTOFFS)
    best, worst, errors, each = least_error(shown, shares, candidates, asked)
    cutoff, error = float(candidates[best]), np.sqrt(errors[best])
    half, twice = (int(np.argmin(np.abs(candidates - k * cutoff))) for k in (0.5, 2.0))
    lower, higher = np.sqrt(errors[[half, twice], worst])
    band = float(shown.bandwidth[worst])
    seen = f"its motion shows up to {band:.3g} Hz" if band > 0.0 else "no motion shows"
    top = " (the highest that is tried: noise hardly matters)" if best == TRIED_CUTOFFS - 1 else ""
    reason = f"{cutoff:.3g} Hz{top} for q balances motion lost and noise let through: for joint {worst + 1}, the worst "
    reason += f"for its own q̈, {seen} above a noise of {shown.sigma[worst]:.2g}, and an error of {error[worst]:.2g} "
    reason += f"in q̈ is expected, {lower:.2g} at half the cut-off, {higher:.2g} at twice"
    own = {"per_joint": candidates[each], "bandwidth": shown.bandwidth, "noise": shown.sigma, "error": error}
    return CutoffChoice(cutoff=cutoff, reason=reason, **own)
