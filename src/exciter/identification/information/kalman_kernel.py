"""A random walk of parameters on a square-root information array, and innovations against it (Bierman 1977)."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import jit, kernel
from exciter.identification.information.sequential_kernel import reflect

UNKNOWN_VARIANCE = 1e200  #: of a prediction that rests on a parameter nothing is known of; finite, for fastmath
LEAST_DIAGONAL = 1e-11  #: of R over the length of its column: less says nothing (a literal of ``Information``)


@jit
def walk(factor, j, std, row):
    """Parameter j walks by w of standard deviation ``std``: β' = β + e_j w. row (p + 1,) is working space.

    R β = z becomes R β' − R_j w = z beside w / std = 0. Rotations of the new row with rows j, j − 1, … 0 of R make the
    column of w zero there; in this order the new row never has an entry left of the row it meets, so R stays
    triangular. What is left in the new row says what w was, and is not asked for."""
    size = factor.shape[0]
    for k in range(size):
        row[k] = 0.0
    own = 1.0 / std
    for back in range(j + 1):
        i = j - back
        other = -factor[i, j]
        if abs(other) > 1e-150 * own:
            length = np.sqrt(own * own + other * other)
            c, s = own / length, other / length
            own = length
            for k in range(i, size):
                new, old = row[k], factor[i, k]
                row[k] = c * new + s * old
                factor[i, k] = c * old - s * new


@kernel
def absorb_walking(factor, sides, std):
    """As ``absorb`` of the sequential kernel; before each instant every parameter k with std[t, k] > 0 walks."""
    size = factor.shape[0]
    row, dots = np.empty(size), np.empty(size)
    for t in range(sides.shape[0]):
        for j in range(size - 1):
            if std[t, j] > 0.0:
                walk(factor, j, std[t, j], row)
        for k in range(size):
            reflect(factor, sides[t], k, dots)


@kernel
def innovate(factor, sides, variance, error, spread, total):
    """Of instants sides (N, m, p + 1), none of them absorbed: error (N, m) = y − Wβ, spread (N, m) its variance, and
    total (N,) = eᵀ S⁻¹ e with S = W P Wᵀ + diag(variance), over equations that are there and can be predicted.

    u = R⁻ᵀ w gives w β = uᵀz and w P wᵀ = uᵀu: no inverse, nor β, is needed. Sides are overwritten by u."""
    count, m, size = sides.shape
    p = size - 1
    length = np.zeros(p)
    for i in range(p):
        for k in range(i, p):
            length[k] += factor[i, k] * factor[i, k]
    s, white = np.empty((m, m)), np.empty(m)
    for t in range(count):
        for i in range(m):
            u = sides[t, i]
            seen, scale, known = 0.0, 0.0, True
            for k in range(p):
                scale = max(scale, abs(u[k]))
            for k in range(p):
                if abs(u[k]) > 1e-13 * scale and u[k] != 0.0:
                    if factor[k, k] * factor[k, k] <= LEAST_DIAGONAL * LEAST_DIAGONAL * length[k]:
                        known = False
                        break
                    part = u[k] / factor[k, k]
                    own = factor[k]
                    for j in range(k + 1, p):
                        u[j] -= part * own[j]
                    u[k] = part
                    seen += part * own[p]
                else:
                    u[k] = 0.0
            if scale == 0.0 or not known:
                error[t, i], spread[t, i] = 0.0, UNKNOWN_VARIANCE
                for k in range(p):
                    u[k] = 0.0
            else:
                squares = 0.0
                for k in range(p):
                    squares += u[k] * u[k]
                error[t, i], spread[t, i] = u[p] - seen, squares + variance[i]
        for i in range(m):  # Cholesky of S, and forward substitution beside it; what is unknown counts nothing
            for j in range(i + 1):
                if i == j:
                    value = spread[t, i]
                else:
                    value = 0.0
                    for k in range(p):
                        value += sides[t, i, k] * sides[t, j, k]
                for k in range(j):
                    value -= s[i, k] * s[j, k]
                s[i, j] = np.sqrt(max(value, variance[i] * 1e-12)) if i == j else value / s[j, j]
        squares = 0.0
        for i in range(m):
            value = error[t, i]
            for k in range(i):
                value -= s[i, k] * white[k]
            white[i] = value / s[i, i]
            squares += white[i] * white[i]
        total[t] = squares
