"""Criteria: from the Gram matrix H = WᵀΣ⁻¹W to a number to be made small, with its exact derivative ∂f/∂H."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri

Array = NDArray[np.float64]


class Criterion(Protocol):
    """One class per criterion."""

    def __call__(self, h: Array) -> tuple[float, Array]:
        """Value and symmetric ∂f/∂H (b, b); infinite when H is singular."""


@dataclass(frozen=True)
class DOptimality:
    """−log det H: the logarithm of the volume of the parameters' confidence ellipsoid (Swevers et al. 1997)."""

    def __call__(self, h: Array) -> tuple[float, Array]:
        scale = np.sqrt(h.diagonal())  # equilibrated first: parameters have different units
        if not (scale > 0).all():
            return np.inf, np.zeros_like(h)
        even = np.outer(scale, scale)
        lower, failed = dpotrf(h / even, lower=True)
        if failed:
            return np.inf, np.zeros_like(h)
        inverse, _ = dpotri(lower, lower=True)  # its lower triangle
        value = -2.0 * float(np.log(lower.diagonal() * scale).sum())
        return value, -(np.tril(inverse) + np.tril(inverse, -1).T) / even


@dataclass(frozen=True)
class ConditionNumber:
    """cond(W) = √(λ_max/λ_min) of H [12.12], Gautier & Khalil (16)."""

    def __call__(self, h: Array) -> tuple[float, Array]:
        values, vectors = np.linalg.eigh(h)
        if values[0] <= values[-1] * np.finfo(float).eps:
            return np.inf, np.zeros_like(h)
        cond = float(np.sqrt(values[-1] / values[0]))
        small, large = vectors[:, 0], vectors[:, -1]
        return cond, 0.5 * cond * (np.outer(large, large) / values[-1] - np.outer(small, small) / values[0])
