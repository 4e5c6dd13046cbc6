"""A-optimality: the sum of the variances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.excitation.criteria.criterion import CriterionSettings
from exciter.excitation.criteria.matrices import checked_scale, inverse, singular
from exciter.settings import Amount
from exciter.typing import Array


@dataclass(frozen=True)
class AOptimality(CriterionSettings):
    """Σ (σ_i/scale_i)², σ_i² = (H⁻¹)_ii the predicted variances.

    Parameters have different units: give as scale (b,) the a-priori values, and relative variances are summed.
    """

    scale: tuple[Amount, ...] | None = None

    word: ClassVar[str] = "a-optimal"
    title: ClassVar[str] = "A-optimality"

    def __post_init__(self) -> None:
        if self.scale is not None:
            object.__setattr__(self, "scale", tuple(float(x) for x in self.scale))

    def __call__(self, h: Array) -> tuple[float, Array]:
        size = np.ones(len(h)) if self.scale is None else checked_scale(self.scale, h, "the scale")
        inverted = inverse(h)
        if inverted is None:
            return singular(h)
        covariance, _ = inverted
        part = covariance / size  # C S⁻¹
        return float((covariance.diagonal() / size**2).sum()), -part @ part.T
