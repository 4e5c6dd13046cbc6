"""Condition number of WᵀW in the Frobenius norm: smooth wherever it is finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.excitation.criteria.criterion import CriterionSettings
from exciter.excitation.criteria.matrices import inverse, singular
from exciter.typing import Array


@dataclass(frozen=True)
class FrobeniusCondition(CriterionSettings):
    """‖A‖_F ‖A⁻¹‖_F of A = H (Gautier & Khalil (21), (22)); of the order of cond(W)², at least b.

    No kinks, unlike the 2-norm; the paper found that it converges best.
    """

    word: ClassVar[str] = "condition-frobenius"
    title: ClassVar[str] = "condition number by the Frobenius norm"

    def __call__(self, h: Array) -> tuple[float, Array]:
        inverted = inverse(h)
        if inverted is None:
            return singular(h)
        k = inverted[0]
        size, inverse_size = float(np.linalg.norm(h)), float(np.linalg.norm(k))
        value = size * inverse_size
        return value, value * (h / size**2 - k @ k @ k / inverse_size**2)
