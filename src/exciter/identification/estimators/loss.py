"""Losses of M-estimators: how much an equation counts whose residual is u times its joint's scale; that scale."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exciter.settings import Positive, Registry, Settings
from exciter.typing import Array

DECADES, PER_DECADE = 6, 250  # on both sides of a guess; the median is interpolated within its bin
GAUSSIAN = float(stats.norm.ppf(0.75))  #: median of |e| of Gaussian errors with σ = 1


class Loss(Settings, ABC):
    """ρ(u) through its derivative ψ(u) = u · weight(u)."""

    @abstractmethod
    def weight(self, u: Array) -> Array:
        """ψ(u) / u, between 0 and 1."""

    @abstractmethod
    def slope(self, u: Array) -> Array:
        """ψ′(u)."""

    @property
    @abstractmethod
    def half(self) -> float:
        """|u| at which the weight is a half."""

    @property
    def usual(self) -> float:
        """Share of equations with Gaussian errors that count less than half."""
        return float(2.0 * stats.norm.sf(self.half))

    @property
    def efficiency(self) -> float:
        """Variance of least squares over that of this estimate where errors are Gaussian: E[ψ′]² / E[ψ²]."""
        u = np.linspace(-9.0, 9.0, 18001)
        density = stats.norm.pdf(u)
        slope, square = (self.slope(u) * density).sum(), ((u * self.weight(u)) ** 2 * density).sum()
        return float(slope**2 / square / density.sum())


@dataclass(frozen=True)
class HuberLoss(Loss):
    """Squares up to k scales, absolute values beyond (Huber 1964): convex, one answer. k = 1.345: 95 % efficient."""

    word, title = "huber", "Huber's loss"
    k: Positive = 1.345

    def weight(self, u: Array) -> Array:
        return np.asarray(self.k / np.maximum(np.abs(u), self.k))

    def slope(self, u: Array) -> Array:
        return np.asarray((np.abs(u) <= self.k).astype(float))

    @property
    def half(self) -> float:
        return 2.0 * self.k


@dataclass(frozen=True)
class Bisquare(Loss):
    """Tukey's bisquare: equations beyond c scales do not count at all. c = 4.685: 95 % efficient.

    Not convex, so it is started from Huber's answer.
    """

    word, title = "bisquare", "Tukey's bisquare"
    c: Positive = 4.685

    def weight(self, u: Array) -> Array:
        return np.asarray(np.maximum(1.0 - (u / self.c) ** 2, 0.0) ** 2)

    def slope(self, u: Array) -> Array:
        square = (u / self.c) ** 2
        return np.where(square < 1.0, (1.0 - square) * (1.0 - 5.0 * square), 0.0)

    @property
    def half(self) -> float:
        return float(self.c * np.sqrt(1.0 - np.sqrt(0.5)))


LOSSES = Registry[Loss]("loss", Bisquare, HuberLoss)


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
