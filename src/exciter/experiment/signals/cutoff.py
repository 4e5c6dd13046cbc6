"""Which low-pass loses least: the signal it takes away against the noise it lets through.

With S(f) the spectrum of the motion and n that of white noise, a zero-phase gain G leaves in q̈ the mean square

    ∫ (2πf)⁴ [ S (1 − G)² + n G² ] df,

and for white noise of σ_q alone that is ∝ σ_q² f_c⁵ / rate: one octave of cut-off costs a factor 2^2.5 in q̈. The
cut-off chosen makes this least. S is what a spectrum of the second difference shows above the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.ndimage import maximum_filter1d
from scipy.signal import welch

from exciter.errors import RecordingError
from exciter.typing import Array

Shares = Callable[[Array, float], tuple[Array, Array]]
MAIN = 0.99  # of the power: the main motion
HALF_OCTAVE = 3  # bands
RISE = 1000.0  # times: S f² of noise that stays level over one and a half decades
VISIBLE = 1.5  # a band this far above the noise holds signal, unless by chance
CHANCE = 5e-4  # that a band of noise alone does
STEEP = 6.0  # exponent of f with which a signal falls where noise hides it
LOBE = 3.0  # lines: half the width of the window
LONGEST = 1 << 17  # samples of one spectrum: bounds memory
KAISER = 20.0  # shape of the window: side lobes of −150 dB, since noise in q may be that far below the motion
FEWEST = 64  # samples a spectrum needs
TRIED = 200  # cut-offs


@dataclass(frozen=True, eq=False)
class CutoffChoice:
    """cutoff [Hz] for all joints, and why. per_joint (n,): what each joint alone would choose; bandwidth (n,) [Hz]: up
    to where its motion shows above the noise; noise (n,): σ of one sample; error (n,): predicted RMS error at the
    cut-off, of q̈."""

    cutoff: float
    reason: str
    per_joint: Array
    bandwidth: Array
    noise: Array
    error: Array


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Mean levels over bands of a sixth of an octave around ``frequency`` (F,), ``width`` (F,) [Hz], of what counts as
    signal and of what counts as noise (F, n), one-sided [unit²/Hz]. bandwidth (n,) [Hz]: where one yields to the
    other; rate [Hz]."""

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

    def errors(self, shares: Shares, candidates: Array) -> Array:
        """(candidates, n): mean square error that each leaves; ``shares`` says for (frequency, candidate) how much of
        the power of signal and of noise at each frequency goes into it."""
        both = np.stack([np.stack(shares(self.frequency, float(c))) for c in candidates]) * self.width
        return np.asarray(both[:, 0] @ self.signal + both[:, 1] @ self.noise)


def spectrum(x: Array, rate: float) -> Spectrum:
    """Of uniform samples (N, n): a motion falls off faster than f⁻², noise does not, whatever its colour.

    So S f² has a valley where noise takes over; the two octaves from twice that frequency on give the level of
    the noise below. What rises above this level, up to two octaves beyond the valley, is signal, and from there on a
    tail of what noise would hide; all else that was measured above is noise.
    Taken of second differences, whose own spectrum is so flat that low frequencies do not leak into the high.
    """
    if len(x) < FEWEST:
        raise RecordingError(f"{len(x)} samples are too few to see what is motion and what noise; {FEWEST} are needed")
    second = np.diff(x, 2, axis=0)
    length = min(len(second), LONGEST)
    frequency, lines = welch(second, rate, ("kaiser", KAISER), length, detrend=False, axis=0)
    lines = lines[1:] / (4.0 * np.sin(np.pi * frequency[1:, None] / rate) ** 2) ** 2
    levels, centre, width = _in_bands(frequency[1:], lines)
    freedom = 2.0 * np.maximum(1.0, width / (2.0 * LOBE * frequency[1]) * max(1, 2 * len(second) // length - 1))
    visible = np.maximum(VISIBLE, stats.chi2.isf(CHANCE, freedom) / freedom)
    parted = [_parted(centre, width, column, visible) for column in levels.T]
    signal, noise, bandwidth = (np.stack(part, axis=-1) for part in zip(*parted, strict=True))
    return Spectrum(centre, width, signal, noise, bandwidth, rate)


def _parted(frequency: Array, width: Array, levels: Array, visible: Array) -> tuple[Array, Array, NDArray[np.float64]]:
    """Signal (F,), noise (F,) and the frequency where one yields to the other."""
    if not levels.any():  # a joint that stands still, exactly
        return levels, levels, np.asarray(0.0)
    valley = _valley(frequency, width, levels)
    beyond = (frequency >= 2.0 * frequency[valley]) & (frequency <= 8.0 * frequency[valley])
    beyond[-1] |= not beyond.any()
    floor = float(np.median(levels[beyond]))
    seen = np.flatnonzero((levels > visible * floor) & (frequency <= 4.0 * frequency[valley]))
    end = int(seen[-1]) + 1 if len(seen) else 0
    signal, noise = np.where(levels > visible * floor, levels - floor, 0.0), np.full(len(levels), floor)
    if end < len(levels):
        octave = (frequency >= 0.5 * frequency[end]) & (np.arange(len(levels)) < end) & (signal > 0.0)
        slope = -STEEP
        if octave.sum() > 2:
            slope = min(slope, float(np.polyfit(np.log(frequency[octave]), np.log(signal[octave]), 1)[0]))
        unseen = min(float(signal[max(end - 1, 0)]), (float(visible[end]) - 1.0) * floor)
        signal[end:] = unseen * (frequency[end:] / frequency[end]) ** slope
        noise[end:] = np.maximum(levels[end:] - signal[end:], 0.0)
    return signal, noise, np.asarray(frequency[max(end - 1, 0)])


def _valley(frequency: Array, width: Array, levels: Array) -> int:
    """Band where S f² is least, above the main motion and before a rise that only noise makes.

    Seen through a maximum over an octave: there is no valley between the harmonics of a periodic motion.
    """
    covered = maximum_filter1d(levels * frequency**2, 2 * HALF_OCTAVE + 1, mode="nearest")
    share = np.cumsum(levels * width) / (levels * width).sum()
    first = min(int(np.searchsorted(share, MAIN)), len(levels) - 1)
    start = min(first + HALF_OCTAVE, len(levels) - 1)
    lowest = np.minimum.accumulate(covered[start:])
    risen = np.flatnonzero(covered[start:] > RISE * lowest)
    end = int(risen[0]) if len(risen) else len(lowest)
    return max(first, start + int(np.argmin(covered[start : start + end])) - HALF_OCTAVE)


def _in_bands(frequency: Array, power: Array) -> tuple[Array, Array, Array]:
    """Mean levels over sixths of an octave, their centres and widths [Hz]."""
    band = np.floor(6.0 * np.log2(frequency / frequency[0]) + 1e-9).astype(int)
    starts = np.flatnonzero(np.diff(band, prepend=-1))
    counts = np.diff(np.append(starts, len(band)))
    levels = np.add.reduceat(power, starts) / counts[:, None]
    centre = np.add.reduceat(frequency, starts) / counts
    return levels, centre, counts * float(frequency[0])


def zero_phase_shares(order: int, derivative: int) -> Shares:
    """Of a Butterworth filter run forwards and backwards, gain ½ at the cut-off, before a derivative."""

    def shares(frequency: Array, cutoff: float) -> tuple[Array, Array]:
        gain = 1.0 / (1.0 + (frequency / cutoff) ** (2 * order))
        weight = (2.0 * np.pi * frequency) ** (2 * derivative)
        return np.asarray(weight * (1.0 - gain) ** 2), np.asarray(weight * gain**2)

    return shares


def least_error(spectrum: Spectrum, shares: Shares, candidates: Array) -> tuple[int, int, Array, NDArray[np.int64]]:
    """Index of the best candidate for all joints, the joint that is worst off with it for its own motion, errors
    (candidates, n), and the best index of each joint.

    All joints together: the least sum of errors, each relative to what that joint's signal has to lose.
    """
    errors = spectrum.errors(shares, candidates)
    all_lost = spectrum.errors(shares, np.array([1e-6 * spectrum.frequency[0]]))[0]
    moving = all_lost > 0.0
    relative = np.where(moving, errors / np.maximum(all_lost, 1e-300), 0.0)
    best = int(np.argmin(relative.sum(axis=1))) if moving.any() else len(candidates) - 1
    return best, int(np.argmax(relative[best])), errors, np.argmin(errors, axis=0)


def choose_cutoff(time: Array, q: Array, rate: float, order: int = 4) -> CutoffChoice:
    """Low-pass of positions (N, n) at uniform times (N,) [s] for their second derivative; order: of the Butterworth
    filter, one pass."""
    shown = spectrum(q, rate)
    candidates = np.geomspace(max(shown.frequency[0], 1e-4 * rate), 0.4 * rate, TRIED)
    best, worst, errors, each = least_error(shown, zero_phase_shares(order, 2), candidates)
    cutoff, error = float(candidates[best]), np.sqrt(errors[best])
    half, twice = (int(np.argmin(np.abs(candidates - k * cutoff))) for k in (0.5, 2.0))
    lower, higher = np.sqrt(errors[[half, twice], worst])
    band = float(shown.bandwidth[worst])
    seen = f"its motion shows up to {band:.3g} Hz" if band > 0.0 else "no motion shows"
    top = " (the highest that is tried: noise hardly matters)" if best == TRIED - 1 else ""
    reason = (
        f"{cutoff:.3g} Hz{top} for q balances motion lost and noise let through: for joint {worst + 1}, the worst for "
        f"its own q̈, {seen} above a noise of {shown.sigma[worst]:.2g}, and an error of {error[worst]:.2g} in q̈ is "
        f"expected, {lower:.2g} at half the cut-off, {higher:.2g} at twice"
    )
    return CutoffChoice(cutoff, reason, candidates[each], shown.bandwidth, shown.sigma, error)
