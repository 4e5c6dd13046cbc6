"""Householder update of a square-root information array by the equations of one instant (Bierman 1977)."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import jit, kernel


@jit
def reflect(factor, rows, k, dots):
    """One reflection makes column k of ``rows`` zero: only row k of the factor takes part, for it is triangular.

    With x = (R_kk, column k of rows) and β = −sign(R_kk)‖x‖, v = x − β e₁ gives I − v vᵀ / (β (β − R_kk))."""
    size, m = factor.shape[0], rows.shape[0]
    squares = 0.0
    for i in range(m):
        squares += rows[i, k] * rows[i, k]
    if squares < 1e-200:  # nothing, or what rounding left of a row that is used up: its inverse would be infinite
        return
    old = factor[k, k]
    beta = -np.copysign(np.sqrt(old * old + squares), old)
    first, scale = old - beta, 1.0 / (beta * (beta - old))
    own, sums = factor[k], dots[: size - k - 1]
    top = own[k + 1 :]
    for j in range(sums.size):
        sums[j] = first * top[j]
    for i in range(m):
        v, row = rows[i, k], rows[i, k + 1 :]
        if v != 0.0:
            for j in range(sums.size):
                sums[j] += v * row[j]
    for j in range(sums.size):
        top[j] -= scale * first * sums[j]
    for i in range(m):
        v, row = scale * rows[i, k], rows[i, k + 1 :]
        if v != 0.0:
            for j in range(sums.size):
                row[j] -= v * sums[j]
    own[k] = beta


@kernel
def absorb(factor, sides, forgetting):
    """factor (p + 1, p + 1) of all instants so far, sides (N, m, p + 1) of N more, one after the other; what was known
    before an instant counts ``forgetting`` times as much after it. Both arrays are overwritten."""
    size = factor.shape[0]
    dots = np.empty(size)
    for t in range(sides.shape[0]):
        if forgetting < 1.0:
            root = np.sqrt(forgetting)
            for k in range(size):
                for j in range(k, size):
                    left = root * factor[k, j]
                    factor[k, j] = left if abs(left) > 1e-200 else 0.0  # numbers too small are slow to calculate with
        for k in range(size):
            reflect(factor, sides[t], k, dots)
