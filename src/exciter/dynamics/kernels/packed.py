"""The rows of one joint, packed: only the wanted columns of W, padded with zero rows to a multiple of four.

Gram matrix and its adjoint are products of such packed blocks with themselves and with a small matrix; the tiles
below keep eight sums or four rows in registers.
"""

from __future__ import annotations

from exciter.dynamics.kernels.blocks import LINK, SCREW, B, jit, regressor_rows


@jit
def pack(j, count, links, screws, pairs, link_of, column, terms, term_row, term_column, start, ten, w, index):
    """Rows of joint j: fill w with one row per wanted column and index with its place in H; returns the number."""
    m = 0
    for k in pairs:
        i = link_of[k]
        regressor_rows(links[(i + 1) * LINK : (i + 2) * LINK], screws[k * SCREW : (k + 1) * SCREW], ten)
        for c in range(10):
            if column[i, c] >= 0:
                index[m] = column[i, c]
                copy_row(ten[c * B : (c + 1) * B], w[m * B : (m + 1) * B], count)
                m += 1
    for e in range(term_row.size):
        if term_row[e] == j and term_column[e] >= 0:
            index[m] = term_column[e]
            copy_row(terms[e, start : start + count], w[m * B : (m + 1) * B], count)
            m += 1
    w[m * B : (m + 3) * B] = 0.0
    return m


@jit
def copy_row(source, target, count):
    for b in range(count):
        target[b] = source[b]
    for b in range(count, B):
        target[b] = 0.0  # samples beyond the end weigh nothing


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
def add_gram(w, m, index, weight, h):
    """H[index, index] += weight · w wᵀ, upper triangle of the packed order (mirrored by the caller)."""
    for a in range(0, m, 4):
        x = w[a * B : (a + 4) * B]
        for c in range(a, m, 2):
            s = dots(x, w[c * B : (c + 2) * B])
            for u in range(min(4, m - a)):
                for v in range(min(2, m - c)):
                    if c + v >= a + u:
                        h[index[a + u], index[c + v]] += weight * s[2 * u + v]


@jit
def mix(g, w, a, c, m):
    """Four rows of g += 4×4 block (a, c) of the matrix m times four rows of w."""
    m00, m01, m02, m03 = m[a, c], m[a, c + 1], m[a, c + 2], m[a, c + 3]
    m10, m11, m12, m13 = m[a + 1, c], m[a + 1, c + 1], m[a + 1, c + 2], m[a + 1, c + 3]
    m20, m21, m22, m23 = m[a + 2, c], m[a + 2, c + 1], m[a + 2, c + 2], m[a + 2, c + 3]
    m30, m31, m32, m33 = m[a + 3, c], m[a + 3, c + 1], m[a + 3, c + 2], m[a + 3, c + 3]
    for b in range(B):
        w0, w1, w2, w3 = w[b], w[B + b], w[2 * B + b], w[3 * B + b]
        g[b] += m00 * w0 + m01 * w1 + m02 * w2 + m03 * w3
        g[B + b] += m10 * w0 + m11 * w1 + m12 * w2 + m13 * w3
        g[2 * B + b] += m20 * w0 + m21 * w1 + m22 * w2 + m23 * w3
        g[3 * B + b] += m30 * w0 + m31 * w1 + m32 * w2 + m33 * w3


@jit
def multiply(w, m, index, scale, matrix, local, g):
    """g = scale · M[index, index] w."""
    local[: m + 3, : m + 3] = 0.0
    for a in range(m):
        for c in range(m):
            local[a, c] = scale * matrix[index[a], index[c]]
    g[: (m + 3) * B] = 0.0
    for a in range(0, m, 4):
        for c in range(0, m, 4):
            mix(g[a * B : (a + 4) * B], w[c * B : (c + 4) * B], a, c, local)
