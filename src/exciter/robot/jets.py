"""Jets: bounds of a quantity and of its first derivatives in time, (K + 1, M) for M intervals.

x[k] ≥ |X⁽ᵏ⁾| throughout the interval. Norms are sub-multiplicative for scalars, dot and cross products and for a matrix
times a vector, so the jet of a product is Leibniz' rule on norms."""

from __future__ import annotations

from math import comb

import numpy as np

from exciter.typing import Array


def product(x: Array, y: Array, order: int) -> Array:
    """(order + 1, M): (x y)[k] = Σ_l C(k, l) x[l] y[k−l]."""
    return np.stack([product_at(x, y, k) for k in range(order + 1)])


def product_at(x: Array, y: Array, k: int) -> Array:
    """(M,) the k-th entry of a product."""
    total: Array = x[0] * y[k]
    for l in range(1, k + 1):
        total = total + (comb(k, l) * x[l]) * y[k - l]
    return total


def turning(omega: Array, sides: float = 1.0) -> Array:
    """(K + 1, M): jet of a vector of length one that turns with ω, of jet (K, M): v̇ = ω × v. With two ``sides`` that of
    a matrix R D Rᵀ of norm one that turns with ω on both: Ḋ = ω × D − D × ω. x[0] = 1, x[k+1] = sides (Ω x)[k]."""
    x = np.ones((len(omega) + 1, omega.shape[1]))
    for k in range(len(omega)):
        x[k + 1] = sides * product_at(omega, x, k)
    return x
