"""How far correlation reaches, and with which weights lags are summed so that no variance becomes negative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.typing import Array

LONGEST = 2048  #: lags that are looked at; errors that are alike for longer are said to be so
SHARE = 8  #: and at most so many of the rows
REACH = 6  #: times the lag where correlation has faded, that the taper reaches at least
ERRORS = 3.0  #: standard errors within which a correlation counts as faded
BEYOND = 5  #: lags, and as many again as before, for which it must stay faded
STILL = 0.3  #: a correlation this large, in the second half of the lags looked at, has not faded


def most_lags(rows: int) -> int:
    """Lags worth looking at in so many rows of a joint."""
    return int(min(LONGEST, max(rows // SHARE, 1)))


@dataclass(frozen=True)
class Fading:
    """lag: from which on correlation is not seen any more; faded: whether there is none far beyond."""

    lag: int
    faded: bool


def fading(correlation: Array, rows: float) -> Fading:
    """Of autocorrelations (K + 1,), from lag 0, of so many samples.

    The first lag m such that all of m … 2m + 5 are within 3 standard errors √((1 + 2 Σ_{k<m} ρ²)/N) (Bartlett): a
    window that grows, for slow correlations pass through zero slowly. Errors that swing for ever make these standard
    errors large, so what is left in the second half of the lags is judged by its size.
    """
    squares = np.cumsum(np.append(0.0, correlation[1:] ** 2))
    small, most = np.abs(correlation), len(correlation) - 1
    faded = most < 2 * BEYOND or bool(small[most // 2 :].max() <= STILL)
    for m in range(1, most + 1):
        limit = ERRORS * np.sqrt((1.0 + 2.0 * squares[m - 1]) / max(rows, 1.0))
        if (small[m : 2 * m + BEYOND + 1] <= limit).all():
            return Fading(m, faded)
    return Fading(most, False)


@dataclass(frozen=True, eq=False)
class Taper:
    """weights (L + 1,) of lags 0 … L; their spectrum is nowhere negative, and so is what they are multiplied with."""

    weights: Array

    @classmethod
    def parzen(cls, lags: int) -> Taper:
        """1 − 6x² + 6x³ up to the middle, 2(1 − x)³ to the end: small lags are hardly touched."""
        x = np.arange(lags + 1) / (lags + 1)
        return cls(np.where(x < 0.5, 1.0 - 6.0 * x**2 * (1.0 - x), 2.0 * (1.0 - x) ** 3))

    @classmethod
    def bartlett(cls, lags: int) -> Taper:
        """1 − x: Newey and West's, a mean over windows."""
        return cls(1.0 - np.arange(lags + 1) / (lags + 1))

    @property
    def lags(self) -> int:
        return len(self.weights) - 1

    def both_sides(self, values: Array) -> float:
        """Σ over lags −L … L of weights · values (L + 1,), the same on both sides."""
        return float(2.0 * (self.weights * values).sum() - self.weights[0] * values[0])

    def freedom(self, rows: Array) -> Array:
        """(J,) degrees of freedom of a spectrum smoothed so, from rows (J,)."""
        return np.asarray(2.0 * rows / self.both_sides(self.weights))
