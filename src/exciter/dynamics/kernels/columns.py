"""Wanted columns of W, and nothing else, written where they are wanted: what structure makes zero is not touched."""

from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import TEN, B, base_link, forward, kernel, load, workspace
from exciter.dynamics.kernels.drivers import copy, pack, packed_columns, widest


@kernel
def columns(parent, prismatic, rotation, origin, gravity, first, joint, link_of, row_pairs, row_first,
            column, terms, term_row, term_column, weight, q, qd, qdd, begin, end, out):  # fmt: skip
    """Columns of W over samples begin … end into out (n, ≥ b, N): joint row, column, sample."""
    n = parent.size
    links, screws, bq, bv, ba, cs = workspace(n, first[n])
    ten = np.empty(TEN)
    at, index = packed_columns(row_pairs, row_first, link_of, column, term_row, term_column)
    w = np.empty(widest(at) * B)
    base_link(links, gravity)
    for start in range(begin, end, B):
        count = min(B, end - start)
        load(start, count, q, qd, qdd, bq, bv, ba)
        forward(parent, prismatic, rotation, origin, first, bq, bv, ba, links, screws, cs)
        for j in range(n):
            pairs = row_pairs[row_first[j] : row_first[j + 1]]
            pack(j, count, links, screws, pairs, link_of, column, terms, term_row, term_column, start, ten, w)
            for m in range(at[j + 1] - at[j]):
                copy(w[m * B : m * B + count], out[j, index[at[j] + m], start : start + count])
