"""Square-root information: all that the rows seen so far say about the parameters.

R and z with RᵀR = WᵀΣ⁻¹W and Rᵀz = WᵀΣ⁻¹y, updated by orthogonal transformations (Bierman 1977): W is never kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from exciter.errors import ParameterError

Array = NDArray[np.float64]
SINGULAR = 1e-11  #: singular value of R with columns of length one, below which a direction says nothing
SHARE = 0.3  #: of the largest part in such a direction: parameters with this much of it are named


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

    @classmethod
    def of_estimate(cls, values: ArrayLike, covariance: ArrayLike) -> Information:
        """What is known of parameters (p,) with a positive definite covariance (p, p), as if from p rows."""
        values, covariance = np.asarray(values, dtype=float), np.asarray(covariance, dtype=float)
        scale = np.sqrt(np.diag(covariance))
        try:  # scaled: units differ, correlations are what makes it singular or not
            lower = np.linalg.cholesky(covariance / np.outer(scale, scale))
        except np.linalg.LinAlgError:
            raise ParameterError("the covariance of what is known is not positive definite") from None
        w = linalg.solve_triangular(lower, np.diag(1.0 / scale), lower=True)
        return cls.empty(len(values)).add(w, w @ values)

    def add(self, w: ArrayLike, y: ArrayLike) -> Information:
        """With more rows w (m, p), y (m,), already divided by their standard deviations."""
        w, y = np.asarray(w, dtype=float), np.asarray(y, dtype=float)
        return self._absorb(np.column_stack([w, y]), 0.0, len(y))

    def merge(self, other: Information) -> Information:
        """Both pieces of information together."""
        return self._absorb(np.column_stack([other.r, other.z]), other.residual, other.rows)

    def weight(self, sigma: float) -> Information:
        """As if every row had been divided by ``sigma``."""
        return replace(self, r=self.r / sigma, z=self.z / sigma, residual=self.residual / sigma**2)

    def _absorb(self, block: Array, residual: float, rows: int) -> Information:
        p = self.z.size
        stacked = np.vstack([np.column_stack([self.r, self.z]), block])
        upper = np.zeros((p + 1, p + 1))
        factor = np.linalg.qr(stacked, mode="r")
        upper[: len(factor)] = factor
        return Information(upper[:p, :p], upper[:p, p], self.residual + residual + upper[p, p] ** 2, self.rows + rows)

    # -- the answer ----------------------------------------------------------------------------------------------

    def solve(self, names: Sequence[str] | None = None) -> tuple[Array, Array]:
        """Estimate (p,) and its covariance (p, p); names: to say which parameters the rows say nothing of."""
        self.refuse_singular(names)
        inverse = linalg.solve_triangular(self.r, np.eye(len(self.z)))
        return inverse @ self.z, inverse @ inverse.T

    def squares(self, values: ArrayLike) -> float:
        """Weighted sum of squared residuals of any parameters (p,)."""
        return float(self.residual + ((self.r @ np.asarray(values) - self.z) ** 2).sum())

    def gram(self) -> Array:
        """RᵀR = WᵀΣ⁻¹W (p, p)."""
        return np.asarray(self.r.T @ self.r)

    @property
    def condition_number(self) -> float:
        """Of W over its noise."""
        return _condition(self.r)

    @property
    def condition_number_normalized(self) -> float:
        """The same with every column scaled to length one."""
        scale = np.linalg.norm(self.r, axis=0)
        return _condition(self.r / scale) if (scale > 0).all() else float("inf")

    def refuse_singular(self, names: Sequence[str] | None = None) -> None:
        """An error that names the parameters the rows do not determine."""
        lost = self.undetermined()
        if lost:
            named = f": {', '.join(names[k] for k in lost)}" if names is not None else ""
            raise ParameterError(
                f"the rows do not determine all parameters{named}; use base parameters, move more, or lock the joints "
                "that do not move"
            )

    def undetermined(self) -> tuple[int, ...]:
        """Parameters that take part in a direction the rows say nothing of."""
        p = len(self.z)
        scale = np.linalg.norm(self.r, axis=0)
        if self.rows < p or not np.isfinite(scale).all():
            return tuple(range(p))
        still = tuple(int(k) for k in np.flatnonzero(scale <= SINGULAR * scale.max(initial=0.0)))
        moving = np.setdiff1d(np.arange(p), still)
        _, singular, directions = np.linalg.svd(self.r[:, moving] / scale[moving])
        lost = np.abs(directions[singular <= SINGULAR * singular.max(initial=1.0)])
        shared = (lost > SHARE * lost.max(axis=1, keepdims=True, initial=0.0)).any(axis=0) if len(lost) else []
        return tuple(sorted({*still, *(int(k) for k in moving[np.flatnonzero(shared)])}))


def _condition(matrix: Array) -> float:
    values = np.linalg.svd(matrix, compute_uv=False)
    return float(values[0] / values[-1]) if len(values) and values[-1] > 0.0 else float("inf")
