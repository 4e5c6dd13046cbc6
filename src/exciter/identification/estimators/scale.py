"""The median of |residuals| of every joint, of a stream that is never kept: counts in fine logarithmic bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exciter.typing import Array

DECADES, PER_DECADE = 6, 250  # on both sides of a guess; the median is interpolated within its bin
GAUSSIAN = float(stats.norm.ppf(0.75))  #: median of |e| of Gaussian errors with σ = 1


@dataclass(frozen=True, eq=False)
class AbsoluteMedian:
    """counts (J, bins) of log₁₀(|e| / guess); guess (J,). A median beyond the bins is given as their end."""

    guess: Array
    counts: NDArray[np.int64]

    @classmethod
    def around(cls, guess: Array) -> AbsoluteMedian:
        return cls(np.asarray(guess, dtype=float), np.zeros((len(guess), 2 * DECADES * PER_DECADE), dtype=np.int64))

    def see(self, residuals: Array) -> None:
        """Count residuals (J, N)."""
        size = np.maximum(np.abs(residuals) / self.guess[:, None], 10.0**-DECADES)
        bins = ((np.log10(size) + DECADES) * PER_DECADE).astype(np.int64)
        last = self.counts.shape[1] - 1
        for row, found in zip(self.counts, np.minimum(bins, last), strict=True):
            row += np.bincount(found, minlength=last + 1)

    @property
    def value(self) -> Array:
        """(J,) median / 0.6745: σ where errors are Gaussian."""
        edges = np.arange(self.counts.shape[1] + 1) / PER_DECADE - DECADES
        cumulated = np.pad(np.cumsum(self.counts, axis=1), ((0, 0), (1, 0)))
        median = [np.interp(0.5 * row[-1], row, 10.0**edges) for row in cumulated]
        return np.asarray(self.guess * np.array(median) / GAUSSIAN)
