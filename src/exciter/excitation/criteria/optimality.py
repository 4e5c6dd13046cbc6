"""D-, A- and E-optimality: volume of the confidence ellipsoid, sum of the variances, its worst direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.excitation.criteria.criterion import CriterionSettings, checked_scale, eigen, inverse, singular
from exciter.settings import Amount
from exciter.typing import Array


@dataclass(frozen=True)
class DOptimality(CriterionSettings):
    """The volume of the uncertainty: the usual criterion.

    −log det H = log det of the covariance (Swevers et al. 1997, IEEE, III-B, with the sign put right).

    Scaling the parameters only adds a constant: the best motion does not depend on units.

    >>> value, slope = ex.DOptimality()(np.diag([1.0, 4.0]))
    >>> bool(np.isclose(value, -np.log(4.0)))
    True
    """

    word: ClassVar[str] = "d-optimal"
    title: ClassVar[str] = "D-optimality"

    def __call__(self, h: Array) -> tuple[float, Array]:
        inverted = inverse(h)
        if inverted is None:
            return singular(h)
        covariance, log_det = inverted
        return -log_det, -covariance


@dataclass(frozen=True)
class AOptimality(CriterionSettings):
    """Σ (σ_i/scale_i)², σ_i² = (H⁻¹)_ii the predicted variances.

    Parameters have different units: give as scale (b,) the a-priori values, and relative variances are summed.
    """

    scale: tuple[Amount, ...] | None = None

    word: ClassVar[str] = "a-optimal"
    title: ClassVar[str] = "A-optimality"

    def __call__(self, h: Array) -> tuple[float, Array]:
        size = np.ones(len(h)) if self.scale is None else checked_scale(self.scale, h, "the scale")
        inverted = inverse(h)
        if inverted is None:
            return singular(h)
        covariance, _ = inverted
        part = covariance / size  # C S⁻¹
        return float((covariance.diagonal() / size**2).sum()), -part @ part.T


@dataclass(frozen=True)
class EOptimality(CriterionSettings):
    """−log σ_min(FᵀF): Armstrong's smallest singular value, made large.

    The logarithm has the same optimum as −σ_min, but grows without bound towards a singular H and does not depend
    on the unit of information, so that one tolerance fits all robots. Parameters have different units: give as
    scale (b,) the a-priori values, and the worst relative error counts.
    """

    scale: tuple[Amount, ...] | None = None

    word: ClassVar[str] = "e-optimal"
    title: ClassVar[str] = "E-optimality"

    def __call__(self, h: Array) -> tuple[float, Array]:
        size = np.ones(len(h)) if self.scale is None else checked_scale(self.scale, h, "the scale")
        even = np.outer(size, size)
        spectrum = eigen(h * even)
        if spectrum is None:
            return singular(h)
        values, vectors = spectrum
        worst = vectors[:, 0]
        return -float(np.log(values[0])), -even * np.outer(worst, worst) / values[0]
