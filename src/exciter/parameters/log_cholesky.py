"""Log-Cholesky coordinates: ten free numbers θ for every body with a positive definite pseudo-inertia.

Rucker and Wensing (2022), "Smooth parameterization of rigid-body inertia": J = U Uᵀ with

    U = e^α [[e^d1, s12,  s13,  t1],
             [0,    e^d2, s23,  t2],
             [0,    0,    e^d3, t3],
             [0,    0,    0,    1 ]],     θ = (α, d1, d2, d3, s12, s23, s13, t1, t2, t3).

m = e^{2α} and c = (t1, t2, t3). Any θ is a physical body and any body that is strictly physical has exactly
one θ, so an optimiser may move θ without constraints.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ParameterError
from exciter.parameters.inertial import checked
from exciter.robot.spatial import from_pseudo_inertia, pseudo_inertia
from exciter.typing import Array

LOG_CHOLESKY_NAMES = ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")
_DIAGONAL = ((0, 0), (1, 1), (2, 2))  # of d1, d2, d3
_UPPER = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))  # of s12, s23, s13, t1, t2, t3


def to_inertial(theta: ArrayLike) -> Array:
    """(…, 10) φ of (…, 10) θ."""
    factor = _factor(checked(theta, "the log-Cholesky coordinates"))
    return from_pseudo_inertia(factor @ np.swapaxes(factor, -1, -2))


def from_inertial(phi: ArrayLike) -> Array:
    """(…, 10) θ of (…, 10) φ; an error where the pseudo-inertia is not positive definite."""
    reversed_inertia = pseudo_inertia(checked(phi))[..., ::-1, ::-1]
    try:  # an upper factor of J is the lower factor of J with rows and columns reversed
        factor = np.linalg.cholesky(reversed_inertia)[..., ::-1, ::-1]
    except np.linalg.LinAlgError:
        raise ParameterError(
            "the inertial parameters are not strictly physical (pseudo-inertia not positive definite), "
            "so they have no log-Cholesky coordinates; start from a body with positive mass and volume"
        ) from None
    scale = factor[..., 3, 3]
    diagonal = [np.log(factor[..., i, j] / scale) for i, j in _DIAGONAL]
    return np.stack([np.log(scale), *diagonal, *(factor[..., i, j] / scale for i, j in _UPPER)], axis=-1)


def jacobian(theta: ArrayLike) -> Array:
    """(…, 10, 10) exact ∂φ/∂θ: dJ = dU Uᵀ + U dUᵀ, and φ is linear in J."""
    theta = checked(theta, "the log-Cholesky coordinates")
    factor = _factor(theta)
    scale = factor[..., 3, 3]
    columns = [_directional(factor, factor)]  # ∂U/∂α = U
    for i, j in (*_DIAGONAL, *_UPPER):
        change = np.zeros_like(factor)
        change[..., i, j] = factor[..., i, i] if i == j else scale
        columns.append(_directional(change, factor))
    return np.stack(columns, axis=-1)


def _directional(change: Array, factor: Array) -> Array:
    product = change @ np.swapaxes(factor, -1, -2)
    return from_pseudo_inertia(product + np.swapaxes(product, -1, -2))


def _factor(theta: Array) -> Array:
    """(…, 4, 4) U."""
    factor = np.zeros((*theta.shape[:-1], 4, 4))
    for k, (i, j) in enumerate(_DIAGONAL, start=1):
        factor[..., i, j] = np.exp(theta[..., k])
    for k, (i, j) in enumerate(_UPPER, start=4):
        factor[..., i, j] = theta[..., k]
    factor[..., 3, 3] = 1.0
    return factor * np.exp(theta[..., 0])[..., None, None]
