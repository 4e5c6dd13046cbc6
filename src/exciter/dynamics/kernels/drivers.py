"""Entry points of the compiled kernels: loops over the blocks of a range of samples."""

from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import (
    LINK,
    SCREW,
    TEN,
    B,
    backward,
    base_link,
    forward,
    jit,
    load,
    project,
    regressor_adjoint,
    regressor_rows,
    store,
    workspace,
    wrench,
)
from exciter.dynamics.kernels.packed import (
    add_gram,
    add_torque_seed,
    copy,
    gather,
    multiply,
    pack,
    packed_columns,
    padded,
    scatter_gram,
    unpack,
)


@jit
def regressor(parent, prismatic, rotation, origin, gravity, first, joint, q, qd, qdd, begin, end, out):
    """Φ of samples begin … end into out (n, n, 10, N): joint row, link, parameter, sample."""
    n = parent.size
    links, screws, bq, bv, ba, cs = workspace(n, first[n])
    ten = np.empty(TEN)
    moves = np.zeros((n, n), dtype=np.bool_)
    for i in range(n):
        for k in range(first[i], first[i + 1]):
            moves[joint[k], i] = True
    for j in range(n):
        for i in range(n):
            if not moves[j, i]:
                for c in range(10):
                    out[j, i, c, begin:end] = 0.0
    base_link(links, gravity)
    for start in range(begin, end, B):
        count = min(B, end - start)
        load(start, count, q, qd, qdd, bq, bv, ba)
        forward(parent, prismatic, rotation, origin, first, bq, bv, ba, links, screws, cs)
        for i in range(n):
            for k in range(first[i], first[i + 1]):
                regressor_rows(links[(i + 1) * LINK : (i + 2) * LINK], screws[k * SCREW : (k + 1) * SCREW], ten)
                store(ten, out[joint[k], i], start, count)


@jit
def gram(parent, prismatic, rotation, origin, gravity, first, joint, link_of, row_pairs, row_first,
         column, terms, term_row, term_column, weight, q, qd, qdd, begin, end, h):  # fmt: skip
    """Add Σ_j weight_j W_jᵀ W_j over samples begin … end to h."""
    n = parent.size
    links, screws, bq, bv, ba, cs = workspace(n, first[n])
    ten = np.empty(TEN)
    at, index = packed_columns(row_pairs, row_first, link_of, column, term_row, term_column)
    width = padded(np.diff(at).max())
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


@jit
def adjoint(parent, prismatic, rotation, origin, gravity, first, joint, link_of, row_pairs, row_first,
            column, terms, term_row, term_column, weight, matrix, torque_seed, chi, q, qd, qdd, begin, end,
            q_bar, qd_bar, qdd_bar, terms_bar):  # fmt: skip
    """Gradient of f(H) + Σ λ·τ with respect to every sample: matrix = ∂f/∂H + transpose, torque_seed = λ (n, N).

    An empty matrix or torque_seed leaves that part out. terms_bar receives ∂f/∂(term values), for the terms'
    own pullbacks.
    """
    n = parent.size
    links, screws, bq, bv, ba, cs = workspace(n, first[n])
    ten, link_bars, screw_bars = np.empty(TEN), np.empty((n + 1) * 9 * B), np.empty(first[n] * SCREW)
    at, index = packed_columns(row_pairs, row_first, link_of, column, term_row, term_column)
    width = padded(np.diff(at).max())
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
                    for b in range(count):
                        terms_bar[e, start + b] = g[m * B + b]
                    m += 1
        backward(parent, prismatic, first, bv, links, screws, link_bars, screw_bars, grads)
        for i in range(n):
            for b in range(count):
                q_bar[i, start + b] = grads[3 * i * B + b]
                qd_bar[i, start + b] = grads[(3 * i + 1) * B + b]
                qdd_bar[i, start + b] = grads[(3 * i + 2) * B + b]


@jit
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
        for j in range(n):
            for b in range(count):
                out[j, start + b] = tau[j * B + b]
