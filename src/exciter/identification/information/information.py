"""Square-root information: all that the rows seen so far say about the parameters.

R and z with RᵀR = WᵀΣ⁻¹W and Rᵀz = WᵀΣ⁻¹y, updated by orthogonal transformations (Bierman 1977): W is never kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from exciter.errors import ParameterError
from exciter.independent_blocks import independent_blocks, singular_values, upper_factor
from exciter.typing import Array

SINGULAR_VALUE_TOLERANCE = 1e-11  #: of R with columns of length one: a direction with less says nothing
EMPTY_COLUMN_TOLERANCE = 1e-15  #: length of a column over the longest: less is rounding; units may differ by 1e12
MOST_UNDETERMINED_NAMED = 12  # parameters in a message
NULL_SPACE_SHARE = 0.2  #: of the largest part in such directions: parameters with this much of them are named


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
        if covariance.shape != 2 * values.shape:
            raise ParameterError(f"{values.size} parameters with a covariance of shape {covariance.shape}")
        variance = covariance.diagonal()
        if not (np.isfinite(covariance).all() and (variance > 0.0).all()):
            raise ParameterError("the covariance of what is known needs finite numbers and variances above zero")
        scale = np.sqrt(variance)
        try:  # scaled: units differ, correlations are what makes it singular or not
            lower = np.linalg.cholesky(covariance / np.outer(scale, scale))
        except np.linalg.LinAlgError:
            raise ParameterError("the covariance of what is known is not positive definite") from None
        w = linalg.solve_triangular(lower, np.diag(1.0 / scale), lower=True)
        return cls.empty(len(values)).add(w, w @ values)

    @classmethod
    def of_factor(cls, factor: Array, rows: int) -> Information:
        """From the triangular factor (p + 1, p + 1) of [W y]: R and z, and in the corner the residual's root."""
        return cls(factor[:-1, :-1], factor[:-1, -1], float(factor[-1, -1] ** 2), rows)

    @property
    def factor(self) -> Array:
        """The same again: (p + 1, p + 1)."""
        p = len(self.z)
        upper = np.zeros((p + 1, p + 1))
        upper[:p, :p], upper[:p, p], upper[p, p] = self.r, self.z, np.sqrt(self.residual)
        return upper

    def add(self, w: ArrayLike, y: ArrayLike) -> Information:
        """With more rows w (m, p), y (m,), already divided by their standard deviations."""
        w, y = np.asarray(w, dtype=float), np.asarray(y, dtype=float)
        if y.ndim != 1 or w.shape != (len(y), len(self.z)):
            raise ParameterError(f"rows w {w.shape} and y {y.shape}; give (m, {len(self.z)}) and (m,)")
        if not (np.isfinite(w).all() and np.isfinite(y).all()):
            raise ParameterError("rows contain NaN or infinity; leave those samples out")
        return self._absorb(np.column_stack([w, y]), len(y))

    def merge(self, other: Information) -> Information:
        """Both pieces of information together: another experiment, a prior, the next part of a log."""
        if len(other.z) != len(self.z):
            raise ParameterError(f"information on {len(self.z)} parameters and on {len(other.z)}: not the same ones")
        return self._absorb(other.factor, other.rows)

    def weight(self, sigma: float) -> Information:
        """As if every row had been divided by ``sigma``."""
        if not 0.0 < sigma < np.inf:
            raise ParameterError(f"rows cannot be divided by a standard deviation of {sigma}; give a positive number")
        return replace(self, r=self.r / sigma, z=self.z / sigma, residual=self.residual / sigma**2)

    def _absorb(self, block: Array, rows: int) -> Information:
        return Information.of_factor(upper_factor(np.vstack([self.factor, block])), self.rows + rows)

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
        if not (np.isfinite(self.r).all() and np.isfinite(self.z).all()):
            raise ParameterError("the information contains NaN or infinity; leave such rows out")
        lost = self.undetermined()
        if not lost:
            return
        named = "" if names is None else f": {', '.join([names[k] for k in lost[:MOST_UNDETERMINED_NAMED]])}"
        more = f" and {len(lost) - MOST_UNDETERMINED_NAMED} more" if named and lost[MOST_UNDETERMINED_NAMED:] else ""
        few = f"{self.rows} rows" if self.rows < len(self.z) else "the rows"
        raise ParameterError(
            f"{few} do not determine all {len(self.z)} parameters{named}{more}; use base parameters, move more, or "
            "lock the joints that do not move"
        )

    def undetermined(self) -> tuple[int, ...]:
        """Parameters that take part in a direction the rows say nothing of, whatever their units."""
        if not np.isfinite(self.r).all():
            return tuple(range(len(self.z)))
        scale = np.linalg.norm(self.r, axis=0)
        still = scale <= EMPTY_COLUMN_TOLERANCE * scale.max(initial=0.0)
        moving = np.flatnonzero(~still)
        unit = self.r[:, moving] / scale[moving]
        blocks = independent_blocks(unit)
        values = [np.linalg.svd(unit[np.ix_(*at)], compute_uv=False) for at in blocks]
        least = SINGULAR_VALUE_TOLERANCE * max((one.max(initial=1.0) for one in values), default=1.0)
        part = np.zeros(len(moving))
        for at, singular in zip(blocks, values, strict=True):
            columns = at[1]
            lost = np.ones(len(columns), dtype=np.bool_)  # as many directions as rows are missing, too
            lost[: len(singular)] = singular <= least
            if not lost.any():  # as nearly always: directions take longer than values
                continue
            directions = np.linalg.svd(unit[np.ix_(*at)])[2]
            # Directions of a null space are arbitrary among themselves; lengths of the columns of all of them are not.
            part[columns] = np.linalg.norm(directions[lost], axis=0)
        still[moving[part > NULL_SPACE_SHARE * part.max(initial=0.0)]] = True
        return tuple(int(k) for k in np.flatnonzero(still))


def _condition(matrix: Array) -> float:
    if not np.isfinite(matrix).all():
        return float("inf")
    values = singular_values(matrix)
    found = len(values) == matrix.shape[1] > 0 and values[-1] > 0.0
    return float(values[0] / values[-1]) if found else float("inf")
