"""Entry points of the compiled kernels: loops over the blocks of a range of samples.

The rows of one joint are packed: only the wanted columns of W, padded with zero rows to a multiple of four. Gram matrix
and its adjoint are products of such packed blocks with themselves and with a small matrix. The tiles below are as large
as sixteen vector registers allow: eight running sums, or eight coefficients."""

from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import (
    LINK,
    SCREW,
    TEN,
    B,
    backward,
    base_link,
    copy,
    forward,
    jit,
    kernel,
    load,
    project,
    regressor_adjoint,
    regressor_rows,
    store,
    workspace,
    wrench,
)


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
def widest(first):
    """The most packed columns of a joint row, rounded up; ``np.diff`` would take longer to compile than a driver."""
    most = 0
    for j in range(first.size - 1):
        most = max(most, first[j + 1] - first[j])
    return padded(most)


@jit
def run_end(column, c):
    """Wanted parameters come in runs: the end of the one that starts at c."""
    while c < 10 and column[c] >= 0:
        c += 1
    return c


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
    for c in range(phi.size):
        row = ten[c * B : (c + 1) * B]
        for b in range(B):
            row[b] += phi[c] * lam[b]


@kernel
def columns(parent, prismatic, rotation, origin, gravity, first, joint, column, terms, term_row, term_column,
            q, qd, qdd, begin, end, out):  # fmt: skip
    """Columns of W over samples begin … end into out (n, ≥ b, N): joint row, column, sample. What structure makes zero
    is not touched."""
    n = parent.size
    links, screws, bq, bv, ba, cs = workspace(n, first[n])
    ten = np.empty(TEN)
    base_link(links, gravity)
    for start in range(begin, end, B):
        count = min(B, end - start)
        load(start, count, q, qd, qdd, bq, bv, ba)
        forward(parent, prismatic, rotation, origin, first, bq, bv, ba, links, screws, cs)
        for i in range(n):
            for k in range(first[i], first[i + 1]):
                regressor_rows(links[(i + 1) * LINK : (i + 2) * LINK], screws[k * SCREW : (k + 1) * SCREW], ten)
                for c in range(column.shape[1]):
                    if column[i, c] >= 0:
                        copy(ten[c * B : c * B + count], out[joint[k], column[i, c], start : start + count])
        for e in range(term_row.size):
            if term_column[e] >= 0:
                copy(terms[e, start : start + count], out[term_row[e], term_column[e], start : start + count])


@kernel
def gram(parent, prismatic, rotation, origin, gravity, first, joint, link_of, row_pairs, row_first,
         column, terms, term_row, term_column, weight, q, qd, qdd, begin, end, h):  # fmt: skip
    """Add Σ_j weight_j W_jᵀ W_j over samples begin … end to h."""
    n = parent.size
    links, screws, bq, bv, ba, cs = workspace(n, first[n])
    ten = np.empty(TEN)
    at, index = packed_columns(row_pairs, row_first, link_of, column, term_row, term_column)
    width = widest(at)
    w, squares = np.empty(width * B), np.zeros((n, width, width))
    base_link(links, gravity)
    for start in range(begin, end, B):
        count = min(B, end - start)
        load(start, count, q, qd, qdd, bq, bv, ba)
        forward(parent, prismatic, rotation, origin, first, bq, bv, ba, links, screws, cs)
        for j in range(n):
            pairs = row_pairs[row_first[j] : row_first[j + 1]]
            pack(j, count, links, screws, pairs, link_of, column, terms, term_row, term_column, start, ten, w)
            add_gram(w, at[j + 1] - at[j], squares[j])
    for j in range(n):
        scatter_gram(squares[j], index[at[j] : at[j + 1]], weight[j], h)


@kernel
def adjoint(parent, prismatic, rotation, origin, gravity, first, joint, link_of, row_pairs, row_first,
            column, terms, term_row, term_column, weight, matrix, torque_seed, chi, q, qd, qdd, begin, end,
            motion_bar, terms_bar):  # fmt: skip
    """Gradient of f(H) + Σ λ·τ with respect to every sample: matrix = ∂f/∂H + transpose, torque_seed = λ (n, N).
    motion_bar (3 n, N): q̄, q̇̄, q̈̄ of one joint after the other.

    An empty matrix or torque_seed leaves that part out. terms_bar receives ∂f/∂(term values), for the terms'
    own pullbacks."""
    n = parent.size
    links, screws, bq, bv, ba, cs = workspace(n, first[n])
    ten, link_bars, screw_bars = np.empty(TEN), np.empty((n + 1) * 9 * B), np.empty(first[n] * SCREW)
    at, index = packed_columns(row_pairs, row_first, link_of, column, term_row, term_column)
    width = widest(at)
    w, g, squares = np.empty(width * B), np.empty(width * B), np.empty((n, width, width))
    grads, lam = np.empty(3 * n * B), np.zeros(B)
    if matrix.size > 0:
        for j in range(n):
            gather(matrix, index[at[j] : at[j + 1]], weight[j], squares[j])
    base_link(links, gravity)
    for start in range(begin, end, B):
        count = min(B, end - start)
        load(start, count, q, qd, qdd, bq, bv, ba)
        forward(parent, prismatic, rotation, origin, first, bq, bv, ba, links, screws, cs)
        link_bars[:] = 0.0
        for j in range(n):
            pairs = row_pairs[row_first[j] : row_first[j + 1]]
            if matrix.size > 0:
                pack(j, count, links, screws, pairs, link_of, column, terms, term_row, term_column, start, ten, w)
                multiply(w, at[j + 1] - at[j], squares[j], g)
            if torque_seed.size > 0:
                lam[count:] = 0.0
                copy(torque_seed[j, start : start + count], lam[:count])
            m = 0
            for k in pairs:
                i = link_of[k]
                if matrix.size > 0:
                    m = unpack(ten, column[i], g, m)
                else:
                    ten[:] = 0.0
                if torque_seed.size > 0:
                    add_torque_seed(ten, chi[i], lam)
                screw = slice(k * SCREW, (k + 1) * SCREW)
                bar = link_bars[(i + 1) * 9 * B : (i + 2) * 9 * B]
                regressor_adjoint(links[(i + 1) * LINK : (i + 2) * LINK], screws[screw], ten, bar, screw_bars[screw])
            for e in range(term_row.size):
                if term_row[e] == j and term_column[e] >= 0 and matrix.size > 0:
                    copy(g[m * B : m * B + count], terms_bar[e, start : start + count])
                    m += 1
        backward(parent, prismatic, first, bv, links, screws, link_bars, screw_bars, grads)
        store(grads, motion_bar, start, count)


@kernel
def torque(parent, prismatic, rotation, origin, gravity, first, joint, inertias, q, qd, qdd, begin, end, out):
    """Inverse dynamics of inertial parameters (n, 10) for samples begin … end into out (n, N)."""
    n = parent.size
    links, screws, bq, bv, ba, cs = workspace(n, first[n])
    rows, tau = np.empty(6 * B), np.empty(n * B)
    base_link(links, gravity)
    for start in range(begin, end, B):
        count = min(B, end - start)
        load(start, count, q, qd, qdd, bq, bv, ba)
        forward(parent, prismatic, rotation, origin, first, bq, bv, ba, links, screws, cs)
        tau[:] = 0.0
        for i in range(n):
            wrench(links[(i + 1) * LINK : (i + 2) * LINK], inertias[i], rows)
            for k in range(first[i], first[i + 1]):
                j = joint[k]
                project(screws[k * SCREW : (k + 1) * SCREW], rows, tau[j * B : (j + 1) * B])
        store(tau, out, start, count)
