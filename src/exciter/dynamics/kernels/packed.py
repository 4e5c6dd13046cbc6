"""The rows of one joint, packed: only the wanted columns of W, padded with zero rows to a multiple of four.

Gram matrix and its adjoint are products of such packed blocks with themselves and with a small matrix. The tiles
below are as large as sixteen vector registers allow: eight running sums, or eight coefficients.
"""

from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import LINK, SCREW, B, jit, regressor_rows


@jit
def packed_columns(row_pairs, row_first, link_of, column, term_row, term_column):
    """For every joint row the columns of H its packed rows belong to: index[first[j] … first[j+1]]."""
    n = row_first.size - 1
    first = np.zeros(n + 1, dtype=np.int64)
    index = np.empty(10 * row_pairs.size + term_row.size, dtype=np.int64)
    m = 0
    for j in range(n):
        for k in row_pairs[row_first[j] : row_first[j + 1]]:
            for c in range(10):
                if column[link_of[k], c] >= 0:
                    index[m] = column[link_of[k], c]
                    m += 1
        for e in range(term_row.size):
            if term_row[e] == j and term_column[e] >= 0:
                index[m] = term_column[e]
                m += 1
        first[j + 1] = m
    return first, index


@jit
def padded(m):
    """m rounded up to a multiple of four."""
    return (m + 3) // 4 * 4


@jit
def run_end(column, c):
    """Wanted parameters come in runs: the end of the one that starts at c."""
    while c < 10 and column[c] >= 0:
        c += 1
    return c


@jit
def copy(source, target):
    for b in range(source.size):
        target[b] = source[b]


@jit
def pack(j, count, links, screws, pairs, link_of, column, terms, term_row, term_column, start, ten, w):
    """Fill w with the packed rows of joint j."""
    m = 0
    for k in pairs:
        i = link_of[k]
        regressor_rows(links[(i + 1) * LINK : (i + 2) * LINK], screws[k * SCREW : (k + 1) * SCREW], ten)
        c = 0
        while c < 10:
            end = run_end(column[i], c)
            copy(ten[c * B : end * B], w[m * B : (m + end - c) * B])
            m += end - c
            c = end + 1
    for e in range(term_row.size):
        if term_row[e] == j and term_column[e] >= 0:
            copy(terms[e, start : start + count], w[m * B : m * B + count])
            m += 1
    w[m * B : padded(m) * B] = 0.0
    if count < B:
        for row in range(m):
            w[row * B + count : (row + 1) * B] = 0.0  # samples beyond the end weigh nothing


@jit
def dots(x, y):
    """The eight inner products of four rows with two rows."""
    s00 = s01 = s10 = s11 = s20 = s21 = s30 = s31 = 0.0
    for b in range(B):
        y0, y1 = y[b], y[B + b]
        s00 += x[b] * y0
        s01 += x[b] * y1
        s10 += x[B + b] * y0
        s11 += x[B + b] * y1
        s20 += x[2 * B + b] * y0
        s21 += x[2 * B + b] * y1
        s30 += x[3 * B + b] * y0
        s31 += x[3 * B + b] * y1
    return s00, s01, s10, s11, s20, s21, s30, s31


@jit
def add_gram(w, m, square):
    """square (padded m)² += w wᵀ, on and above the diagonal (whole tiles, so a little below it too)."""
    for a in range(0, m, 4):
        x = w[a * B : (a + 4) * B]
        for c in range(a, m, 2):
            s = dots(x, w[c * B : (c + 2) * B])
            for u in range(4):
                square[a + u, c] += s[2 * u]
                square[a + u, c + 1] += s[2 * u + 1]


@jit
def scatter_gram(square, index, weight, h):
    """h[index, index] += weight · square, both halves from the upper one."""
    for a in range(index.size):
        h[index[a], index[a]] += weight * square[a, a]
        for c in range(a + 1, index.size):
            h[index[a], index[c]] += weight * square[a, c]
            h[index[c], index[a]] += weight * square[a, c]


@jit
def gather(matrix, index, weight, square):
    """square = weight · matrix[index, index], zero in the padding."""
    square[:] = 0.0
    for a in range(index.size):
        for c in range(index.size):
            square[a, c] = weight * matrix[index[a], index[c]]


@jit
def mix(g, w, m00, m01, m02, m03, m10, m11, m12, m13):
    """Two rows of g += 2×4 coefficients times four rows of w."""
    for b in range(B):
        w0, w1, w2, w3 = w[b], w[B + b], w[2 * B + b], w[3 * B + b]
        g[b] += m00 * w0 + m01 * w1 + m02 * w2 + m03 * w3
        g[B + b] += m10 * w0 + m11 * w1 + m12 * w2 + m13 * w3


@jit
def multiply(w, m, square, g):
    """g = square · w."""
    g[: padded(m) * B] = 0.0
    for a in range(0, m, 2):
        rows = g[a * B : (a + 2) * B]
        x, y = square[a], square[a + 1]
        for c in range(0, m, 4):
            mix(rows, w[c * B : (c + 4) * B], x[c], x[c + 1], x[c + 2], x[c + 3], y[c], y[c + 1], y[c + 2], y[c + 3])


@jit
def unpack(ten, column, g, m):
    """Seeds of a link's ten parameters from the packed rows of g, m of them used already; returns how many now."""
    ten[:] = 0.0
    c = 0
    while c < 10:
        end = run_end(column, c)
        copy(g[m * B : (m + end - c) * B], ten[c * B : end * B])
        m += end - c
        c = end + 1
    return m


@jit
def add_torque_seed(ten, phi, lam):
    """Seeds of a link's ten parameters for a torque seed: λ_j φ_i."""
    for c in range(10):
        row = ten[c * B : (c + 1) * B]
        for b in range(B):
            row[b] += phi[c] * lam[b]
