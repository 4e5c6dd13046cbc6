"""Condition number estimated from the triangle of a pivoted QR decomposition: cheaper than singular values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg.lapack import dpstrf

from exciter.excitation.criteria.criterion import CriterionSettings
from exciter.excitation.criteria.matrices import inverse, singular
from exciter.typing import Array


@dataclass(frozen=True)
class QrCondition(CriterionSettings):
    """|r₁₁|/|r_bb| of W = Q R Pᵀ with column pivoting, never more than cond(W) (Gautier & Khalil 4.1, measure 2).

    The pivoted Cholesky factor of H is that R. Its first element is the longest column's norm and its last the
    distance of the last pivot's column from all others: √H_ff and 1/√(H⁻¹)_ll. It has kinks where pivots change.
    """

    word: ClassVar[str] = "condition-qr"
    title: ClassVar[str] = "condition number by QR"

    def __call__(self, h: Array) -> tuple[float, Array]:
        inverted = inverse(h)
        if inverted is None:
            return singular(h)
        _, order, _, _ = dpstrf(h, lower=1)
        first, last = order[0] - 1, order[-1] - 1
        column = inverted[0][:, last]
        value = float(np.sqrt(h[first, first] * column[last]))
        dfdh = -np.outer(column, column) / column[last]
        dfdh[first, first] += 1.0 / h[first, first]
        return value, 0.5 * value * dfdh
