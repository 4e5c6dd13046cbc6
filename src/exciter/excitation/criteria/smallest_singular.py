"""Condition number plus the inverse of the smallest singular value: well shaped, and not small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.errors import ParameterError
from exciter.excitation.criteria.criterion import CriterionSettings
from exciter.excitation.criteria.matrices import eigen, singular
from exciter.settings import Positive
from exciter.typing import Array


@dataclass(frozen=True)
class ConditionAndSmallest(CriterionSettings):
    """cond(W) + k₂/σ_min(W) [12.14] (Pressé & Gautier): no good condition by columns that are all small.

    k₂ has the unit of σ_min, which grows with the square root of the number of samples.
    """

    k2: Positive = 1.0

    word: ClassVar[str] = "condition-smallest"
    title: ClassVar[str] = "condition number and smallest singular value"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.k2) and self.k2 > 0):
            raise ParameterError(f"k2 must be a positive number; given {self.k2}")

    def __call__(self, h: Array) -> tuple[float, Array]:
        spectrum = eigen(h)
        if spectrum is None:
            return singular(h)
        values, vectors = spectrum
        low, high = np.sqrt(values[[0, -1]])
        small, large = vectors[:, 0], vectors[:, -1]
        by_low, by_high = -(high + self.k2) / low**2, 1.0 / low  # of (σ_max + k₂)/σ_min
        dfdh = by_high * np.outer(large, large) / (2 * high) + by_low * np.outer(small, small) / (2 * low)
        return float((high + self.k2) / low), dfdh
