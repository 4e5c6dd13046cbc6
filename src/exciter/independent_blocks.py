"""Least squares block by block: parameters that no row has in common are found each for themselves.

A joint's torque depends on the links it moves. Limbs that share no joint but the base have no column of W in common, so
that R is block diagonal, and whatever is cubic in the number of parameters is cubic in those of a limb. Blocks are the
connected groups of columns of any rows, zeros being exact: W has them, and what is made block by block keeps them."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from exciter.typing import Array, Index

Block = tuple[Index, Index]


def independent_blocks(rows: Array) -> list[Block]:
    """(rows, columns) of each block of (m, c), in the order of their first columns; zeros belong to none."""
    c = rows.shape[1]
    there = rows != 0.0
    used = np.flatnonzero(there.any(axis=1))
    if not used.size:
        return []
    first = there[used].argmax(axis=1)  # rows that begin with the same column are of one block
    order = np.argsort(first, kind="stable")
    begins = np.flatnonzero(np.diff(first[order], prepend=-1))
    graph = np.zeros((c, c), dtype=np.bool_)
    bits = np.packbits(there, axis=1)[used[order]]  # eight columns at a time
    graph[first[order[begins]]] = np.unpackbits(np.bitwise_or.reduceat(bits, begins, axis=0), axis=1, count=c)
    labels = csgraph.connected_components(sparse.csr_matrix(graph), directed=False)[1]
    columns = np.flatnonzero(graph.any(axis=0))
    blocks = dict.fromkeys(labels[columns].tolist())
    mine = labels[first]
    return [(used[mine == label], columns[labels[columns] == label]) for label in blocks]


def upper_factor(rows: Array) -> Array:
    """(c, c) upper triangular R of rows (m, c), RᵀR = rowsᵀ rows; the last column, the right sides, is in no block, and
    below it is what no parameters explain."""
    size = rows.shape[1]
    upper = np.zeros((size, size))
    blocks = independent_blocks(rows[:, :-1])
    if len(blocks) <= 1:
        found = np.linalg.qr(rows, mode="r")
        upper[: len(found)] = found
        return upper
    rest = np.ones(len(rows), dtype=np.bool_)
    squares = 0.0
    for at, columns in blocks:
        rest[at] = False
        both = np.append(columns, size - 1)
        found = np.linalg.qr(rows[np.ix_(at, both)], mode="r")
        r = np.zeros((len(both), len(both)))
        r[: len(found)] = found
        upper[np.ix_(columns, both)] = r[:-1]
        squares += r[-1, -1] ** 2
    upper[-1, -1] = np.sqrt(squares + float((rows[rest, -1] ** 2).sum()))
    return upper


def singular_values(rows: Array) -> Array:
    """(min(m, c),) of rows (m, c), descending."""
    blocks = independent_blocks(rows)
    found = [np.linalg.svd(rows[np.ix_(*block)], compute_uv=False) for block in blocks]
    values = np.concatenate([np.zeros(0), *found])
    return np.append(np.sort(values)[::-1], np.zeros(min(rows.shape) - len(values)))
