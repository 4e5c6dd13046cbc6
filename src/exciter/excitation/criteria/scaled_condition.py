"""Condition number of W weighted by what the parameters are expected to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.criteria.condition_number import ConditionNumber
from exciter.excitation.criteria.criterion import Criterion
from exciter.excitation.criteria.matrices import checked_scale

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ScaledCondition:
    """cond(W diag Z), values Z (b,) the a-priori size of each parameter [12.15]; first summand of Rackl et al. (15).

    What is estimated is then a factor on each a-priori value (Swevers et al. 1997, ASME, end of section 2), and the
    relative standard deviations become alike.
    """

    values: tuple[float, ...]

    name: ClassVar[str] = "condition-scaled"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(float(x) for x in self.values))

    def __call__(self, h: Array) -> tuple[float, Array]:
        return self.by(ConditionNumber(), h)

    def by(self, condition: Criterion, h: Array) -> tuple[float, Array]:
        """With the given measure of condition."""
        z = checked_scale(self.values, h, "a-priori values")
        even = np.outer(z, z)
        value, dfdh = condition(h * even)
        return value, dfdh * even
