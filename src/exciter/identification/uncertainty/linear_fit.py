"""A weighted linear least-squares fit, recognised from its estimate: which weights, and which parameters were free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from exciter.errors import ParameterError
from exciter.identification.compressed import Compressed
from exciter.identification.estimate import Estimate
from exciter.identification.uncertainty.equations import Equations
from exciter.typing import Array

SAME = 0.01  # σ: an estimate this close to that of least squares is the one of least squares
ROUNDING = 1e-9  # of the parameters over their σ: the same for data without noise


@dataclass(frozen=True, eq=False)
class LinearFit:
    """values (p,), of which only ``free`` were estimated, with rows divided by weights (J,).

    inverse_root (f, f): R⁻¹ with RᵀR = A, the Gram matrix of the weighted free columns.
    """

    compressed: Compressed
    values: Array
    weights: Array
    free: NDArray[np.int64]
    inverse_root: Array

    @classmethod
    def of(cls, compressed: Compressed, values: Array, weights: Array, free: NDArray[np.int64]) -> LinearFit:
        information = compressed.columns(free).information(weights)
        information.refuse_singular([compressed.parameters[k] for k in free])
        root = linalg.solve_triangular(information.r, np.eye(len(free)))
        return cls(compressed, values, weights, free, np.asarray(root))

    @property
    def is_least_squares(self) -> bool:
        """Whether the values are those of least squares with these weights, within a hundredth of σ."""
        left = self.compressed.factors @ np.append(-self.values, 1.0) / self.weights[:, None]
        scaled = self.compressed.factors[..., self.free] / self.weights[:, None, None]
        score = np.einsum("gjrf,gjr->f", scaled, left)
        size = np.linalg.norm(self.compressed.factors[..., -1] / self.weights[:, None])
        return bool(np.linalg.norm(self.inverse_root.T @ score) <= max(SAME, ROUNDING * float(size)))


def linear_fit(equations: Equations, estimate: Estimate) -> LinearFit:
    """Of an estimate that was ordinary or weighted (by its noise) least squares, perhaps of some parameters only.

    Parameters without any variance count as given. Any other estimate is refused: its covariance is another one.
    """
    compressed = equations.compressed
    if estimate.names != compressed.parameters:
        raise ParameterError("the estimate is of other parameters than the equations")
    free = np.flatnonzero(estimate.covariance.diagonal() > 0.0)
    candidates = [np.asarray(estimate.noise, dtype=float), np.ones(len(compressed.joints))]
    for weights in candidates:
        if weights.shape == (len(compressed.joints),) and (weights > 0.0).all():
            fit = LinearFit.of(compressed, estimate.values, weights, free)
            if fit.is_least_squares:
                return fit
    raise ParameterError(
        "the covariance for correlated errors is that of ordinary or weighted least squares; this estimate is neither: "
        "keep the covariance it came with"
    )
