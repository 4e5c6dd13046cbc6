"""Jets: bounds of a quantity and of its first derivatives in time, (K + 1, M) for M intervals.

x[k] ≥ |X⁽ᵏ⁾| throughout the interval. Norms are sub-multiplicative for scalars, dot and cross products and for a matrix
times a vector, so the jet of a product is Leibniz' rule on norms.
"""

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


def turning(omega: Array) -> Array:
    """(K + 1, M): jet of a vector of length one that turns with ω, of jet (K, M): v̇ = ω × v."""
    return _following(omega, 1.0)


def turning_matrix(omega: Array) -> Array:
    """(K + 1, M): jet of a matrix R D Rᵀ of norm one that turns with ω on both sides: Ḋ = ω × D − D × ω."""
    return _following(omega, 2.0)


def _following(omega: Array, factor: float) -> Array:
    """x[0] = 1, x[k+1] = factor (Ω x)[k]."""
    x = np.ones((len(omega) + 1, omega.shape[1]))
    for k in range(len(omega)):
        x[k + 1] = factor * product_at(omega, x, k)
    return x


def norm(vector: Array) -> Array:
    """(N,) lengths of (3, N)."""
    length: Array = np.sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2])
    return length


def largest(vector: Array) -> Array:
    """(M,) the larger of the lengths at both ends, of (3, 2 M)."""
    lengths = norm(vector)
    return np.maximum(lengths[0::2], lengths[1::2])


def tighten(jet: Array, order: int, ends: Array, width: Array) -> None:
    """Improve jet[order] and jet[order + 1] in place by the exact values ``ends`` (3, 2 M) of the order-th derivative:
    it stays within h²/8 jet[order + 2] of its chord, its slope within h/2 jet[order + 2] of the chord's."""
    top = jet[order + 2]
    slope = norm(ends[:, 1::2] - ends[:, 0::2]) / width + 0.5 * width * top
    np.minimum(jet[order + 1], slope, out=jet[order + 1])
    np.minimum(jet[order], largest(ends) + width**2 / 8.0 * top, out=jet[order])
