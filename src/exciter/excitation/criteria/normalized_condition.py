"""Condition number of W with columns of unit length: free of the units of the parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.excitation.criteria.condition_number import ConditionNumber
from exciter.excitation.criteria.criterion import Criterion, CriterionSettings
from exciter.excitation.criteria.matrices import singular
from exciter.typing import Array


@dataclass(frozen=True)
class NormalizedCondition(CriterionSettings):
    """cond(W D⁻¹), D the norms of the columns (Swevers et al. 1997, IEEE, below (10); criterion c1).

    It does not see how large the columns are: a joint that barely moves costs nothing. Do not use it alone.
    """

    word: ClassVar[str] = "condition-normalized"
    title: ClassVar[str] = "condition number with unit columns"

    def __call__(self, h: Array) -> tuple[float, Array]:
        return self.by(ConditionNumber(), h)

    def by(self, condition: Criterion, h: Array) -> tuple[float, Array]:
        """With the given measure of condition."""
        diagonal = h.diagonal()
        if not (diagonal > 0).all():
            return singular(h)
        scale = 1.0 / np.sqrt(diagonal)
        even = np.outer(scale, scale)
        unit = h * even
        value, dfdn = condition(unit)
        return value, dfdn * even - np.diag((dfdn * unit).sum(axis=1) / diagonal)
