"""Losses of M-estimators: how much an equation counts whose residual is u times the scale of its joint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import stats

from exciter.errors import ParameterError
from exciter.settings import Positive, Registry, Settings
from exciter.typing import Array


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

    def __post_init__(self) -> None:
        _positive("k", self.k)

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

    def __post_init__(self) -> None:
        _positive("c", self.c)

    def weight(self, u: Array) -> Array:
        return np.asarray(np.maximum(1.0 - (u / self.c) ** 2, 0.0) ** 2)

    def slope(self, u: Array) -> Array:
        square = (u / self.c) ** 2
        return np.where(square < 1.0, (1.0 - square) * (1.0 - 5.0 * square), 0.0)

    @property
    def half(self) -> float:
        return float(self.c * np.sqrt(1.0 - np.sqrt(0.5)))


LOSSES = Registry[Loss]("loss", Bisquare, HuberLoss)


def _positive(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0.0):
        raise ParameterError(f"{name} of the loss is {value}; give a positive number of scales, 1 to 6 as a rule")
