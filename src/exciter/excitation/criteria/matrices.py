"""Small tools for symmetric matrices that are positive definite, or should be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpotrf, dpotri

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, shown
from exciter.typing import Array


def rounding(h: Array) -> float:
    """What counts as zero beside one in a matrix of this size."""
    return float(len(h) * np.finfo(float).eps)


def inverse(h: Array) -> tuple[Array, float] | None:
    """H⁻¹ and log det H; None when H is singular."""
    scale = np.sqrt(np.maximum(h.diagonal(), 0.0))  # equilibrated first: parameters have different units
    if not (np.isfinite(scale) & (scale > 0)).all():
        return None
    even = np.outer(scale, scale)
    lower, failed = dpotrf(h / even, lower=True)
    if failed or lower.diagonal().min() ** 2 <= rounding(h):
        return None
    half, _ = dpotri(lower, lower=True)  # its lower triangle
    full: Array = (np.tril(half) + np.tril(half, -1).T) / even
    return full, 2.0 * float(np.log(lower.diagonal() * scale).sum())


def eigen(h: Array) -> tuple[Array, Array] | None:
    """Eigenvalues, ascending, and eigenvectors as columns; None when H is singular."""
    values, vectors = np.linalg.eigh(h)
    return None if values[0] <= values[-1] * rounding(h) else (values, vectors)


def singular(h: Array) -> tuple[float, Array]:
    """What a criterion answers when it is infinite."""
    return np.inf, np.zeros_like(h)


def nominal_sizes(model: DynamicModel, what: str) -> tuple[float, ...]:
    """(b,) sizes of the parameters in the description, none of which may be zero."""
    sizes = np.abs(model.base.base_values(model.nominal))
    for name, size in zip(model.base.names, sizes, strict=True):
        if not size > 0:
            raise ParameterError(
                f"{what} needs the size of every parameter; {name} is 0 in the description, give values"
            )
    return tuple(sizes.tolist())


def checked_scale(values: Sequence[float] | ArrayLike, h: Array, what: str) -> Array:
    """(b,) positive numbers, one per parameter."""
    given = np.asarray(values, dtype=float)
    if given.shape != (len(h),) or not (np.isfinite(given).all() and given.all()):
        raise ParameterError(
            f"{what} must be {len(h)} numbers other than zero, one per parameter; given {shown(given.tolist())}"
        )
    size: Array = np.abs(given)
    return size
