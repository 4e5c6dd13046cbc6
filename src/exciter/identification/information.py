"""Square-root information: all that the rows seen so far say about the parameters.

R and z with RᵀR = WᵀΣ⁻¹W and Rᵀz = WᵀΣ⁻¹y, updated by orthogonal transformations (Bierman 1977): W is never kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.errors import ParameterError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Information:
    """R (p, p) upper triangular, z (p,), residual: weighted sum of squares beyond the fit, rows: how many."""

    r: Array
    z: Array
    residual: float = 0.0
    rows: int = 0

    @classmethod
    def empty(cls, p: int) -> Information:
        return cls(np.zeros((p, p)), np.zeros(p))

    def add(self, w: ArrayLike, y: ArrayLike) -> Information:
        """With more rows w (m, p), y (m,), already divided by their standard deviations."""
        w, y = np.asarray(w, dtype=float), np.asarray(y, dtype=float)
        return self._absorb(np.column_stack([w, y]), 0.0, len(y))

    def merge(self, other: Information) -> Information:
        """Both pieces of information together."""
        return self._absorb(np.column_stack([other.r, other.z]), other.residual, other.rows)

    def _absorb(self, block: Array, residual: float, rows: int) -> Information:
        p = self.z.size
        stacked = np.vstack([np.column_stack([self.r, self.z]), block])
        upper = np.zeros((p + 1, p + 1))
        factor = np.linalg.qr(stacked, mode="r")
        upper[: len(factor)] = factor
        return Information(upper[:p, :p], upper[:p, p], self.residual + residual + upper[p, p] ** 2, self.rows + rows)

    def solve(self) -> tuple[Array, Array]:
        """Estimate (p,) and its covariance (p, p)."""
        scale = np.linalg.norm(self.r, axis=0)
        if not (scale > 0).all() or np.linalg.cond(self.r / scale) > 1e12:
            raise ParameterError("the rows do not determine all parameters; use base parameters and a richer motion")
        inverse = np.linalg.inv(self.r)
        return inverse @ self.z, inverse @ inverse.T
