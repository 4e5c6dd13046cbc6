"""Real polynomials on [0, 1], many at once: Horner, Bernstein hull, and where they can be extreme.

Coefficients lie on the last axis in increasing powers.
"""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np

from exciter.typing import Array

#: Where the reciprocal variable of ``stationary_points`` may be centred: outside [0, 1], close to it.
CENTRES = np.array([-0.25, 1.25, -0.5, 1.5, -0.75, 1.75, -1.0, 2.0, -1.25, 2.25])


def evaluate(coefficients: Array, x: Array) -> Array:
    """Values at x, which broadcasts with the coefficients' leading axes."""
    value = np.zeros(np.broadcast_shapes(coefficients.shape[:-1], x.shape))
    for power in range(coefficients.shape[-1] - 1, -1, -1):
        value = value * x + coefficients[..., power]
    return value


def derivative(coefficients: Array, order: int = 1) -> Array:
    """Coefficients of the order-th derivative; at least the constant 0 is left."""
    for _ in range(order):
        if coefficients.shape[-1] == 1:
            return np.zeros_like(coefficients)
        coefficients = coefficients[..., 1:] * np.arange(1, coefficients.shape[-1])
    return coefficients


@cache
def _bernstein(degree: int) -> Array:
    """(d + 1, d + 1): power to Bernstein coefficients, b_i = Σ_k C(i, k)/C(d, k) c_k."""
    size = range(degree + 1)
    return np.array([[comb(i, k) / comb(degree, k) for k in size] for i in size])


def hull(coefficients: Array) -> tuple[Array, Array]:
    """Lower and upper bound of the values on [0, 1]: the smallest and largest Bernstein coefficient."""
    control = coefficients @ _bernstein(coefficients.shape[-1] - 1).T
    return control.min(axis=-1), control.max(axis=-1)


def stationary_points(coefficients: Array) -> Array:
    """(…, m) points of [0, 1], every zero of the derivative there among them (others are there too: evaluate all)."""
    slope = derivative(coefficients)
    degree = slope.shape[-1] - 1
    if degree == 0:
        return np.empty((*slope.shape[:-1], 0))
    with np.errstate(all="ignore"):  # no such root: dropped below
        roots = _quadratic(slope) if degree <= 2 else _companion(slope)
    return np.clip(np.nan_to_num(roots, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


def _quadratic(c: Array) -> Array:
    """Both roots of degree ≤ 2, without cancellation; complex ones give their real part."""
    constant, linear = c[..., 0], c[..., 1]
    square = c[..., 2] if c.shape[-1] == 3 else np.zeros_like(linear)
    root = np.sqrt(np.maximum(linear**2 - 4.0 * square * constant, 0.0))
    half = -0.5 * (linear + np.copysign(root, linear))
    return np.stack([half / square, constant / half], axis=-1)


@cache
def _shift(degree: int) -> Array:
    """(K, d + 1, d + 1): for each centre s, the matrix from coefficients in x to those in x − s."""
    size = range(degree + 1)
    return np.array([[[comb(k, i) * s ** (k - i) if k >= i else 0.0 for k in size] for i in size] for s in CENTRES])


def _companion(c: Array) -> Array:
    """Real parts of all roots, as eigenvalues for 1/(x − s).

    The leading coefficient in that variable is the value at s. A polynomial of degree m is small at no more than m
    of the centres, so the best one keeps the companion matrix well scaled even where leading powers vanish.
    """
    degree = c.shape[-1] - 1
    shifted = np.einsum("sik,...k->...si", _shift(degree), c)  # (…, K, d + 1)
    best = np.abs(shifted[..., 0]).argmax(axis=-1)
    taylor = np.take_along_axis(shifted, best[..., None, None], axis=-2)[..., 0, :]
    matrix = np.zeros((*c.shape[:-1], degree, degree))
    matrix[..., range(1, degree), range(degree - 1)] = 1.0
    matrix[..., 0, :] = -taylor[..., 1:] / np.where(taylor[..., :1] == 0.0, 1.0, taylor[..., :1])
    inverse = np.linalg.eigvals(matrix)
    return np.asarray(CENTRES[best][..., None] + np.real(1.0 / inverse))
