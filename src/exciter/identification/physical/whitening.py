"""Pseudo-inertias seen from a reference body: J ↦ L⁻¹ J L⁻ᵀ with J₀ = L Lᵀ, so that the reference is the identity.

Grams and tonnes, millimetres and metres become numbers near one. The same ten numbers per link serve as coordinates of
the metric (their sum of squares is tr(J₀⁻¹ dJ J₀⁻¹ dJ)) and as the triangle that a solver wants to be a positive
semidefinite matrix.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.robot.spatial import pseudo_inertia
from exciter.typing import Array

UNIT = pseudo_inertia(np.eye(10))  # (10, 4, 4): J of each of the ten parameters


@cache
def triangle(size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the upper triangle of a matrix, column by column."""
    columns, rows = np.tril_indices(size)
    return rows, columns


def svec(matrix: ArrayLike) -> Array:
    """(…, k(k+1)/2) upper triangle of symmetric (…, k, k), off-diagonal entries times √2: keeps the inner product."""
    array = np.asarray(matrix, dtype=float)
    rows, columns = triangle(array.shape[-1])
    return np.asarray(array[..., rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0)))


def whitened(matrices: Array, lower: Array) -> Array:
    """L⁻¹ M L⁻ᵀ of (…, 4, 4) matrices with (…, 4, 4) factors."""
    half: Array = np.asarray(np.linalg.solve(lower, matrices))
    return np.asarray(np.linalg.solve(lower, half.swapaxes(-1, -2)))


def whitening(lower: Array) -> Array:
    """(n, 10, 10) matrices φ ↦ svec(L⁻¹ J(φ) L⁻ᵀ) of factors (n, 4, 4)."""
    return np.asarray(svec(whitened(UNIT, lower[:, None])).swapaxes(-1, -2))


def whitened_links(links: ArrayLike, lower: Array) -> Array:
    """(n, 4, 4) L⁻¹ J L⁻ᵀ of links (n, 10)."""
    return whitened(pseudo_inertia(links), lower)
