"""Errors of the identified model and of the description on common bins, as seed 004 shows them (Fig. 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exciter.typing import Array
from exciter.validation.prediction import Prediction

MOST_BINS = 200


@dataclass(frozen=True, eq=False)
class Errors:
    """Of one model: counts (B,) per bin, mean and σ; skewness and kurtosis (of what exceeds a Gaussian): 0 of a
    Gaussian, of whatever size. gaussian (B,): counts that a Gaussian of this mean and σ would have."""

    model: str
    counts: NDArray[np.int64]
    mean: float
    std: float
    skewness: float
    kurtosis: float
    gaussian: Array

    @property
    def percent(self) -> Array:
        """(B,) of all errors, per bin."""
        return self._share(self.counts)

    @property
    def gaussian_percent(self) -> Array:
        return self._share(self.gaussian)

    def _share(self, counts: NDArray[Any]) -> Array:
        return np.asarray(100.0 * counts / max(int(self.counts.sum()), 1))

    @classmethod
    def of(cls, model: str, errors: Array, edges: Array) -> Errors:
        mean, std = float(errors.mean()), float(errors.std())
        if std <= 1e-12 * float(np.abs(errors).max(initial=1e-300)):  # rounding of errors that are all alike
            skewness = kurtosis = 0.0
        else:
            skewness, kurtosis = float(stats.skew(errors)), float(stats.kurtosis(errors))
        below = stats.norm.cdf(edges, mean, max(std, 1e-300))
        counts = np.histogram(errors, edges)[0]
        return cls(model, counts, mean, std, skewness, kurtosis, np.asarray(len(errors) * np.diff(below)))

    def to_dict(self) -> dict[str, Any]:
        numbers = {"mean": self.mean, "std": self.std, "skewness": self.skewness, "kurtosis": self.kurtosis}
        return {"counts": self.counts.tolist(), **numbers}


@dataclass(frozen=True, eq=False)
class Histogram:
    """Of one joint [``unit``]: edges (B + 1,) of bins that are the same for both models, and hold all errors."""

    joint: str
    unit: str
    edges: Array
    identified: Errors
    description: Errors

    def to_dict(self) -> dict[str, Any]:
        named = {"identified": self.identified.to_dict(), "description": self.description.to_dict()}
        return {"unit": self.unit, "edges": self.edges.tolist(), **named}


def histograms(prediction: Prediction) -> tuple[Histogram, ...]:
    """Of every joint, while it moves: at rest there is no equation to be wrong."""
    return tuple(_histogram(prediction, j) for j in range(len(prediction.joints)))


def _histogram(prediction: Prediction, j: int) -> Histogram:
    moves = slice(None) if prediction.moves is None or not prediction.moves[:, j].any() else prediction.moves[:, j]
    measured = prediction.measured[moves, j]
    identified, description = measured - prediction.predicted[moves, j], measured - prediction.description[moves, j]
    edges = bins(identified, description)
    return Histogram(
        prediction.joints[j],
        prediction.units[j],
        edges,
        Errors.of("identified", identified, edges),
        Errors.of("description", description, edges),
    )


def bins(first: Array, second: Array) -> Array:
    """Edges over both, as wide as suits the first (Freedman and Diaconis), 200 bins at most."""
    low, high = (float(f([first, second])) for f in (np.min, np.max))
    if high <= low:
        half = max(abs(low), 1.0) * 1e-6
        low, high = low - half, high + half
    quarters = np.quantile(first, [0.25, 0.75])
    width = 2.0 * float(quarters[1] - quarters[0]) / np.cbrt(len(first))
    count = MOST_BINS if width <= 0.0 else int(min(MOST_BINS, max(1.0, np.ceil((high - low) / width))))
    return np.linspace(low, high, count + 1)
