"""Spectral differentiation: a periodic motion is fitted by a finite Fourier series, derivatives are analytic.

Seed 002, III-A: least squares on eq. (11). The positions are fitted at their own times, jitter included; the torque is
averaged over the periods. Without leakage, an error of q̈ comes from noise at the chosen harmonics alone.

Sums over samples need no matrix of the basis: with z = e^(iωt), products of sines and cosines of harmonics l and m are
those of l − m and l + m, so that B₀ᵀB₀ needs only Σ z^k for k = 0 … 2 l_max: time is linear in the harmonics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from scipy import linalg

from exciter.errors import RecordingError
from exciter.excitation.trajectories.fourier import MOST_FITTED_HARMONICS, Fourier
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals import periods
from exciter.experiment.signals.analogue_filter_undone import Prewhitening
from exciter.experiment.signals.low_pass_filter import left_in, passes
from exciter.experiment.signals.periods import BrokenPositions, PeriodAverage, average_periods
from exciter.experiment.signals.processed_motion import FourierSeries, Processed, Route
from exciter.notes import Note, done, warning
from exciter.settings import Number, Whole
from exciter.typing import Array, BoolArray, ComplexArray

SUMMED_SAMPLES = 1 << 12  #: at a time: they stay in the cache
HARMONIC_NOISE_FACTOR = 4.6  #: that a harmonic's power must exceed; noise alone does so once in a hundred (e^−4.6)
ROUNDING_MOTION_FRACTION = 1e-9  #: less is rounding, not motion


def _blocks(family: Fourier, time: Array) -> Iterator[tuple[slice, ComplexArray]]:
    """z = e^(iωt) (B,), some samples at a time."""
    for first in range(0, len(time), SUMMED_SAMPLES):
        part = slice(first, first + SUMMED_SAMPLES)
        yield part, np.exp(1j * (2.0 * np.pi / family.period) * time[part])


def normal_equations(family: Fourier, time: Array, q: Array) -> tuple[Array, Array]:
    """B₀ᵀB₀ (c, c) and B₀ᵀq (c, n) for positions (N, n) at times (N,) [s] from the start of the series."""
    numbers = np.array(family.numbers)
    omega, top = 2.0 * np.pi / family.period * numbers, int(numbers[-1])
    sums, products = np.zeros(2 * top + 1, dtype=complex), np.zeros((top + 1, q.shape[1]), dtype=complex)
    for part, z in _blocks(family, time):
        power, positions = np.ones_like(z), q[part].astype(complex)  # once, not with every power
        for k in range(2 * top + 1):
            sums[k] += power.sum()
            if k <= top:
                products[k] += power @ positions
            power *= z
    minus, plus = numbers[:, None] - numbers, numbers[:, None] + numbers
    both, down = np.outer(omega, omega), omega[:, None]  # of columns sin(ω l t)/(ω l), −cos(ω l t)/(ω l), 1
    cos_minus, cos_plus = sums.real[np.abs(minus)], sums.real[plus]
    sin_minus, sin_plus = np.sign(minus) * sums.imag[np.abs(minus)], sums.imag[plus]
    a_a, b_b = 0.5 * (cos_minus - cos_plus) / both, 0.5 * (cos_minus + cos_plus) / both
    a_b = -0.5 * (sin_plus + sin_minus) / both  # sin(l) cos(m), l down, m across
    a_1, b_1 = sums.imag[numbers, None] / down, -sums.real[numbers, None] / down
    gram = np.block([[a_a, a_b, a_1], [a_b.T, b_b, b_1], [a_1.T, b_1.T, sums.real[:1, None]]])
    return gram, np.vstack([products[numbers].imag / down, -products[numbers].real / down, products[:1].real])


def values(family: Fourier, time: Array, delta: Array) -> Iterator[tuple[slice, Array]]:
    """q (B, n) of coefficients (n, c), block by block."""
    numbers = np.array(family.numbers)
    a, b = (half / (2.0 * np.pi / family.period * numbers) for half in np.split(delta[:, :-1], 2, axis=1))
    weights = np.zeros((int(numbers[-1]) + 1, len(delta)), dtype=complex)  # Re Σ w z^k
    weights[numbers], weights[0] = (-b - 1j * a).T, delta[:, -1]
    for part, z in _blocks(family, time):
        value = np.zeros((len(delta), len(z)), dtype=complex)  # samples last, for they are many
        for weight in weights[::-1]:  # Horner
            value *= z
            value += weight[:, None]
        yield part, value.real.T


@dataclass(frozen=True)
class HowManyOrWhich(Whole):
    """How many harmonics, or a list of them; what is wrong with the list says the family of motions."""

    @property
    def wanted(self) -> str:
        return f"how many, or a list of those wanted, up to {self.most}"

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, list | tuple):
            return tuple(super(HowManyOrWhich, self).check(one, context) for one in given)
        return super().check(given, context)

    def schema(self) -> dict[str, Any]:
        one = super().schema()
        return {"anyOf": [one, {"type": "array", "items": one}]}


@dataclass(frozen=True)
class FourierFit(Route):
    """harmonics: how many (1 … h), or which; None: chosen for each joint, as many as rise above the noise.

    period, settled [s]: None: as the recording says. prewhitening: what undoes an analogue filter of the torque where
    the recording names one; None: leaves it."""

    word, title = "fourier", "a Fourier series"
    inner = ("prewhitening",)
    harmonics: Annotated[int | tuple[int, ...] | None, HowManyOrWhich(most=MOST_FITTED_HARMONICS)] = None
    period: Annotated[float | None, Number(above=0.0, unit="s")] = None
    settled: Annotated[float | None, Number(unit="s")] = None
    prewhitening: Prewhitening | None = field(default_factory=Prewhitening)

    def __post_init__(self) -> None:
        if self.harmonics is not None:
            Fourier(1.0, self.harmonics)  # says what is wrong with them

    def apply(self, recording: Recording) -> Processed:
        """One period at the recorded rate, rounded to a whole number of samples per period."""
        return self._processed(recording)[0]

    def series(self, recording: Recording) -> FourierSeries:
        """The fitted series itself, with its covariance: where maximum likelihood starts."""
        return self._processed(recording)[1]

    def of_average(self, average: PeriodAverage) -> tuple[Processed, FourierSeries]:
        """The same from an average, of a log larger than memory; positions are fitted as averaged."""
        return self._fitted(self._undone(average), average.time, average.q, average.count)

    def _undone(self, average: PeriodAverage) -> PeriodAverage:
        if (analog := average.filter) is None:
            return average.in_torques
        if self.prewhitening is not None:
            return self.prewhitening.of_average(average).in_torques
        limit, notes = min(average.torque_bandwidth, passes(analog)), (*average.notes, left_in(analog))
        return replace(average, notes=notes, torque_bandwidth=limit).in_torques

    def _processed(self, recording: Recording) -> tuple[Processed, FourierSeries]:
        measured = average_periods(recording, self.period, self.settled)
        average = self._undone(measured)
        if average.q is not measured.q:  # positions were freed of a filter, which their samples have
            return self._fitted(average, average.time, average.q, average.count)
        spacing = average.period / len(average.time)
        part = recording.between(average.time[0] - 0.5 * spacing, average.end - 0.5 * spacing)
        return self._fitted(average, part.time, part.q, 1)

    def _fitted(self, average: PeriodAverage, time: Array, q: Array, worth: int) -> tuple[Processed, FourierSeries]:
        """worth: how many recorded samples one of (time, q) stands for."""
        numbers, notes = self._harmonics(average, _step(q))
        common = tuple(sorted(set().union(*numbers)))
        if 2 * common[-1] >= len(average.time):
            why = f"harmonic {common[-1]} of a period of {average.period:.6g} s is at or above half the rate of "
            why += f"{average.rate:.6g} Hz; allowed are harmonics up to "
            raise RecordingError(f"{why}{(len(average.time) - 1) // 2}")
        family, start = Fourier(average.period, common), float(average.time[0])
        used = np.array([[l in own for l in common] * 2 + [True] for own in numbers])
        delta, gram = _least_squares(family, used, time - start, q)
        squares = np.zeros(q.shape[1])
        for block, value in values(family, time - start, delta):
            squares += ((q[block] - value) ** 2).sum(axis=0)
        left = np.sqrt(squares / np.maximum(len(time) - used.sum(axis=1), 1))  # σ that the series leaves
        if average.position_noise is not None:  # of one recorded sample, also where means of them were fitted
            left = np.sqrt(left**2 + average.position_noise**2 * (1.0 - 1.0 / worth))
        series = FourierSeries(
            joints=average.joints,
            period=average.period,
            start=start,
            harmonics=common,
            delta=delta,
            used=used,
            gram=gram * worth,
            noise=left if average.position_noise is None else average.position_noise,
            samples=len(time) * worth,
        )
        notes += _fit_notes(series, left, average, chosen=self.harmonics is None)
        same = {name: getattr(average, name) for name in ("torque", "rate", "torque_bandwidth", "wrench")}
        return Processed(
            motion=series.motion(average.time),
            position_noise=series.noise_of_derivatives[0],
            torque_noise=average.torque_noise_of_mean,
            notes=(*average.notes, *notes),
            series=series,
            **same,
        ), series

    def _harmonics(self, average: PeriodAverage, step: Array) -> tuple[list[tuple[int, ...]], list[Note]]:
        """For each joint, and why; step (n,): of the encoders."""
        n = len(average.joints)
        if self.harmonics is not None:
            numbers = Fourier(average.period, self.harmonics).numbers
            in_a_row = numbers == tuple(range(1, len(numbers) + 1))
            brief = f"1 … {len(numbers)}" if in_a_row else ", ".join(map(str, numbers))
            return [numbers] * n, [done("harmonics", f"harmonics as given: {brief}")]
        power = np.abs(np.fft.rfft(average.q, axis=0)[1 : (len(average.q) + 1) // 2] / len(average.q)) ** 2
        floors = [np.median(power[len(power) // 2 :], axis=0) / np.log(2.0)]  # of exponentially distributed powers
        floors += [(ROUNDING_MOTION_FRACTION * average.q.std(axis=0)) ** 2, step**2 / 12.0 / len(average.q)]
        if average.position_noise_of_mean is not None:
            floors.append(average.position_noise_of_mean**2 / len(average.q))
        floor = np.max(floors, axis=0)
        weight = np.arange(1.0, len(power) + 1.0) ** 4  # errors count as they do in q̈
        gain = np.cumsum((power - HARMONIC_NOISE_FACTOR * floor) * weight[:, None], axis=0)
        counts = np.where(gain.max(axis=0) > 0.0, np.argmax(gain, axis=0) + 1, 1)
        counts = np.minimum(counts, max(1, int(min(average.torque_bandwidth * average.period, len(power)))))
        listed = ", ".join(f"{name} {count}" for name, count in zip(average.joints, counts, strict=True))
        level = np.sqrt(floor).max() * 2.0
        why = f"harmonics chosen, those whose share in q̈ rises above noise (amplitude {level:.2g}): {listed}"
        return [tuple(range(1, int(count) + 1)) for count in counts], [done("harmonics", why)]


def _step(q: Array) -> Array:
    """(n,) the smallest step between values: of an encoder whose periods repeat exactly, and look free of noise."""
    steps = []
    for column in q.T:
        between = np.diff(np.unique(column))
        steps.append(between[between > ROUNDING_MOTION_FRACTION * np.ptp(column)].min(initial=np.inf))
    return np.where(np.isfinite(steps), steps, 0.0)


def _least_squares(family: Fourier, used: BoolArray, time: Array, q: Array) -> tuple[Array, Array]:
    """delta and gram by normal equations; nearly diagonal for samples spread over whole periods."""
    centre = q.mean(axis=0)
    gram, right = normal_equations(family, time, q - centre)
    delta, scale = np.zeros(used.shape), np.sqrt(np.diag(gram))
    scaled = gram / np.outer(scale, scale)
    for joint, own in enumerate(used):
        chosen = np.flatnonzero(own)
        try:
            solved = linalg.solve(scaled[np.ix_(chosen, chosen)], right[chosen, joint] / scale[chosen], assume_a="pos")
        except (linalg.LinAlgError, linalg.LinAlgWarning):
            few = f"{len(chosen)} coefficients cannot be fitted to {len(time)} samples so spread; give fewer harmonics"
            raise RecordingError(few) from None
        delta[joint, chosen] = solved / scale[chosen]
    delta[:, -1] += centre
    return delta, gram


def _fit_notes(series: FourierSeries, left: Array, average: PeriodAverage, *, chosen: bool) -> list[Note]:
    """left (n,): σ that the series leaves. Refused where chosen harmonics do not follow: an angle that was wrapped."""
    size, known, more = average.q.std(axis=0), average.position_noise is not None, left > 1.3 * series.noise
    counts = more & (size > periods.STANDSTILL_MOTION_FRACTION * size.max())
    unexplained = np.where(counts, left / np.where(size > 0.0, size, 1.0), 0.0)
    joint = int(np.argmax(unexplained))
    if chosen and known and unexplained[joint] > periods.LARGEST_SMEAR_FRACTION:
        why = f"a Fourier series leaves {100 * unexplained[joint]:.2g} % of the motion of '{series.joints[joint]}' "
        why += "unexplained, more than its noise: does its position jump (an angle wrapped by 2π)? Repair it, or give "
        raise BrokenPositions(f"{why}harmonics")
    noise = ", ".join(f"{sigma.max():.2g}" for sigma in series.noise_of_derivatives)
    text = f"least-squares Fourier series of {series.samples} samples; σ left by noise in q, q̇, q̈: {noise} (worst "
    text += "joint)"
    notes, much = [done("Fourier series", text)], more & (left > 1e-6)
    if known and much.any():
        joint = int(np.argmax(np.where(much, left / np.maximum(series.noise, 1e-300), 0.0)))
        text = f"the series leaves {left[joint]:.2g} of '{series.joints[joint]}' unexplained, its noise is "
        text += f"{series.noise[joint]:.2g}: more harmonics, or none chosen by hand, would follow the motion better"
        notes.append(warning("Fourier series", text, series.joints[joint]))
    return notes
