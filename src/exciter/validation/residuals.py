"""Residuals of a run: histograms (as in 004, Fig. 4), correlation in time and between joints, spectrum."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.uncertainty import residual_autocorrelation as correlation
from exciter.identification.uncertainty.residual_autocorrelation import ERROR_GAP_INTERVALS, Whiteness
from exciter.typing import Array, Index
from exciter.validation.prediction import Prediction

MOST_HISTOGRAM_BINS = 200
FEWEST_WHITENESS_INSTANTS = 8
LONGEST_SPECTRUM_SEGMENT = 1024  #: samples
FEWEST_SPECTRUM_SAMPLES = 32  #: without a gap
STRONG_CORRELATION = 0.3  #: of two joints: less is not reported
SURE_CORRELATION_ERRORS = 4.0  #: standard errors from zero: less is not reported
EMPTIED_DENSITY_SHARE = 1e-4  #: of the largest density: frequencies beyond the last with more were removed by filters


@dataclass(frozen=True, eq=False)
class ErrorDistribution:
    """Of one model: counts (B,) per bin, mean and σ; skewness and kurtosis (of what exceeds a Gaussian): 0 of a
    Gaussian, of whatever size. gaussian (B,): counts that a Gaussian of this mean and σ would have."""

    model: str
    counts: Index
    mean: float
    std: float
    skewness: float
    kurtosis: float
    gaussian: Array

    @property
    def percent(self) -> Array:
        """(B,) of all errors, per bin."""
        return np.asarray(100.0 * self.counts / max(int(self.counts.sum()), 1))

    @property
    def gaussian_percent(self) -> Array:
        return np.asarray(100.0 * self.gaussian / max(int(self.counts.sum()), 1))

    @classmethod
    def of(cls, model: str, errors: Array, edges: Array) -> ErrorDistribution:
        mean, std, counts = float(errors.mean()), float(errors.std()), np.histogram(errors, edges)[0]
        alike = std <= 1e-12 * float(np.abs(errors).max(initial=1e-300))  # but for rounding
        skewness, kurtosis = (
            0.0 if alike else float(moment(errors)) for moment in (scipy.stats.skew, scipy.stats.kurtosis)
        )
        gaussian = np.asarray(len(errors) * np.diff(scipy.stats.norm.cdf(edges, mean, max(std, 1e-300))))
        return cls(model, counts, mean=mean, std=std, skewness=skewness, kurtosis=kurtosis, gaussian=gaussian)

    def to_dict(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in ("mean", "std", "skewness", "kurtosis")}
        return {"counts": self.counts.tolist(), **numbers}


@dataclass(frozen=True, eq=False)
class Histogram:
    """Of one joint [``unit``]: edges (B + 1,) of bins that are the same for both models, and hold all errors."""

    joint: str
    unit: str
    edges: Array
    identified: ErrorDistribution
    description: ErrorDistribution

    def to_dict(self) -> dict[str, Any]:
        both = {one.model: one.to_dict() for one in (self.identified, self.description)}
        return {"unit": self.unit, "edges": self.edges.tolist(), **both}


def histograms(prediction: Prediction) -> tuple[Histogram, ...]:
    """Of every joint, while it moves: at rest there is no equation."""
    found = []
    for j, (joint, unit) in enumerate(zip(prediction.joints, prediction.units, strict=True)):
        moves = slice(None) if prediction.moves is None or not prediction.moves[:, j].any() else prediction.moves[:, j]
        both = (prediction.predicted, prediction.description)
        own, other = (prediction.measured[moves, j] - torque[moves, j] for torque in both)
        edges = bins(own, other)
        identified = ErrorDistribution.of("identified", own, edges)
        description = ErrorDistribution.of("description", other, edges)
        found.append(Histogram(joint, unit, edges, identified=identified, description=description))
    return tuple(found)


def bins(first: Array, second: Array) -> Array:
    """Edges over both, as wide as suits the first (Freedman and Diaconis), 200 bins at most."""
    low, high = (float(f([first, second])) for f in (np.min, np.max))
    if high <= low:
        half = max(abs(low), 1.0) * 1e-6
        low, high = low - half, high + half
    quarters = np.quantile(first, [0.25, 0.75])
    width = 2.0 * float(quarters[1] - quarters[0]) / np.cbrt(len(first))
    count = MOST_HISTOGRAM_BINS if width <= 0.0 else np.clip(np.ceil((high - low) / width), 1.0, MOST_HISTOGRAM_BINS)
    return np.linspace(low, high, int(count) + 1)


@dataclass(frozen=True, eq=False)
class JointCorrelation:
    """coefficients (J, J) of residuals of two joints at one instant, zero of one that rests throughout; errors (J, J):
    their standard errors where there is none, which hold for residuals that are correlated in time (Bartlett)."""

    joints: tuple[str, ...]
    coefficients: Array
    errors: Array

    @property
    def sentences(self) -> tuple[str, ...]:
        """Of pairs that clearly correlate."""
        least = np.maximum(STRONG_CORRELATION, SURE_CORRELATION_ERRORS * self.errors)
        pairs = np.argwhere(np.tril(np.abs(self.coefficients) > least, -1))
        why = "they have a cause in common, such as an inertia that both feel, or coupled drives"
        names, by = self.joints, self.coefficients
        return tuple(f"residuals of {names[k]} and {names[j]} correlate by {by[j, k]:.2f}: {why}" for j, k in pairs)


def joint_correlation(prediction: Prediction) -> JointCorrelation:
    e = prediction.residual - prediction.residual.mean(axis=0)
    count, size, counted = len(e), np.sqrt((e**2).sum(axis=0)), _counted(prediction)
    e = e / np.where(size > 0.0, size, 1.0)
    power = np.abs(scipy.fft.rfft(e, scipy.fft.next_fast_len(2 * count, real=True), axis=0)) ** 2
    rho = scipy.fft.irfft(power, axis=0)[: min(count, max(1, count // 8))]  # (K, J) correlation with earlier residuals
    fewer = np.minimum.outer(counted, counted)  # equations: rest has none
    errors = np.sqrt(np.maximum(2.0 * rho.T @ rho - 1.0, 1.0) / np.maximum(fewer, 1.0))
    coefficients = e.T @ e + np.diag((size == 0.0) * 1.0)
    return JointCorrelation(joints=prediction.joints, coefficients=coefficients, errors=errors)


def residual_whiteness(prediction: Prediction) -> tuple[Whiteness, ...]:
    """Of every joint; one that rests throughout is left out."""
    counted = _counted(prediction)
    kept = np.flatnonzero((counted >= FEWEST_WHITENESS_INSTANTS) & prediction.residual.any(axis=0))
    if not kept.size:
        return ()
    joints, left = [prediction.joints[j] for j in kept], prediction.residual[:, kept]
    rows = Rows.of(prediction.time, np.zeros((*left.shape, 0)), left, prediction.rate, joints, ())
    rows = replace(rows, present=counted[kept] / len(prediction))
    most, errors = correlation.most_lags(int(np.rint(counted[kept]).min())), correlation.stretches([(0, rows)])
    return correlation.whiteness_of(correlation.correlations_at(errors, most), joints)


def _counted(prediction: Prediction) -> Array:
    """(J,) equations of each joint."""
    return np.asarray(prediction.counted or (float(len(prediction)),) * len(prediction.joints))


@dataclass(frozen=True, eq=False)
class ResidualSpectrum:
    """Amplitude densities (F, J) [unit/√Hz] of measured torque and residual at frequencies (F,) [Hz] (Welch)."""

    joints: tuple[str, ...]
    units: tuple[str, ...]
    frequency: Array
    measured: Array
    residual: Array

    @property
    def filled(self) -> int:
        some = (self.measured > EMPTIED_DENSITY_SHARE * self.measured.max(axis=0)).any(axis=1)
        return int(np.flatnonzero(some)[-1]) + 1 if some.any() else len(some)


def residual_spectrum(prediction: Prediction) -> ResidualSpectrum | None:
    """None where the run is too short."""
    found = densities(prediction.time, prediction.rate, prediction.measured, prediction.residual)
    return ResidualSpectrum(prediction.joints, prediction.units, *found) if found else None


def densities(time: Array, rate: float, *series: Array) -> tuple[Array, ...]:
    """Frequencies (F,), and the amplitude density of each of the series (N, J) at the same instants; mean over the
    stretches without a gap, by their length. Nothing where all of them are too short."""
    gaps = np.flatnonzero(np.abs(np.diff(time) * rate - 1.0) > ERROR_GAP_INTERVALS - 1.0) + 1
    ends = list(itertools.pairwise([0, *gaps.tolist(), len(time)]))
    length = min(LONGEST_SPECTRUM_SEGMENT, max(end - start for start, end in ends))
    if length < FEWEST_SPECTRUM_SAMPLES:
        return ()
    long = [(start, end) for start, end in ends if end - start >= length]
    found = []
    for values in series:
        spectra = [scipy.signal.welch(values[start:end], rate, nperseg=length, axis=0) for start, end in long]
        powers, weights = [power for _, power in spectra], [end - start for start, end in long]
        found.append(np.sqrt(np.average(powers, axis=0, weights=weights)[1:]))  # the mean is no vibration
    return spectra[0][0][1:], *found
