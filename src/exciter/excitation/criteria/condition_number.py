"""Condition number of W by its singular values, the literature's first measure of excitation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.excitation.criteria.criterion import CriterionSettings
from exciter.excitation.criteria.matrices import eigen, singular
from exciter.typing import Array


@dataclass(frozen=True)
class ConditionNumber(CriterionSettings):
    """The criterion of the literature, for comparison.

    cond(W) = σ_max/σ_min = √(λ_max/λ_min) of H [12.12], Gautier & Khalil (16).

    Not smooth where singular values coincide, which optima tend to do: expect an optimiser to slow down there.

    >>> ex.ConditionNumber()(np.diag([1.0, 4.0]))[0]
    2.0
    >>> ex.design(robot, criterion=ex.ConditionNumber(), starts=1).certificate.certified
    True
    """

    word: ClassVar[str] = "condition"
    title: ClassVar[str] = "condition number"

    def __call__(self, h: Array) -> tuple[float, Array]:
        spectrum = eigen(h)
        if spectrum is None:
            return singular(h)
        values, vectors = spectrum
        cond = float(np.sqrt(values[-1] / values[0]))
        small, large = vectors[:, 0], vectors[:, -1]
        return cond, 0.5 * cond * (np.outer(large, large) / values[-1] - np.outer(small, small) / values[0])
