"""D-optimality: the volume of the confidence ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from exciter.excitation.criteria.criterion import CriterionSettings
from exciter.excitation.criteria.matrices import inverse, singular
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
