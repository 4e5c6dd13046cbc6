"""Least squares block by block: parameters that no row has in common are found each for themselves.

A joint's torque depends on the links it moves. Limbs that share no joint but the base have no column of W in common, so
that R is block diagonal, and whatever is cubic in the number of parameters is cubic in those of a limb. Blocks are the
connected groups of columns of any rows, zeros being exact: W has them, and what is made block by block keeps them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exciter.typing import Array, Index

STEPS_TO_ALL = 4  # from set to set: more, and it is quicker to look at one after the other
Block = tuple[Index, Index]
Bytes = NDArray[np.uint8]


def independent_blocks(rows: Array) -> list[Block]:
    """(rows, columns) of each block of (m, c), in the order of their first columns; zeros belong to none."""
    c = rows.shape[1]
    there = rows != 0.0
    used = np.flatnonzero(there.any(axis=1))
    if not used.size:
        return []
    bits = np.packbits(there[used], axis=1)  # eight columns at a time
    first = there[used].argmax(axis=1)  # rows that begin with the same column are of one block
    order = np.argsort(first, kind="stable")
    begins = np.flatnonzero(np.diff(first[order], prepend=-1))
    sets = np.bitwise_or.reduceat(bits[order], begins, axis=0)
    if (whole := _all_connected(sets)) is not None:  # as those of most robots: an arm has no two limbs
        return [(used, np.flatnonzero(np.unpackbits(whole, count=c)))]
    blocks = list[Block]()
    for group in _connected(sets):
        mine = np.unpackbits(group, count=c).astype(np.bool_)
        blocks.append((used[mine[first]], np.flatnonzero(mine)))
    return blocks


def _all_connected(sets: Bytes) -> Bytes | None:
    """The union (b,) of sets (k, b), where a few steps from the first one show that they hang together."""
    whole: Bytes = np.asarray(np.bitwise_or.reduce(sets, axis=0))
    reached = sets[0]
    for _ in range(STEPS_TO_ALL):
        reached = np.bitwise_or.reduce(sets[(sets & reached).any(axis=1)], axis=0)
        if (reached == whole).all():
            return whole
    return None


def _connected(sets: Bytes) -> list[Bytes]:
    """Unions (b,) of those sets of columns (k, b), eight of them a byte, that have some in common, directly or through
    others; in the order of their first columns. Whole numbers as sets: a sparse matrix would take longer to make."""
    unions, seen = list[int](), 0
    for one in sets:
        joined = int.from_bytes(one.tobytes(), "big")
        if joined & seen:
            apart = [other for other in unions if not other & joined]
            for other in unions:
                joined |= other if other & joined else 0
            unions = apart
        unions.append(joined)
        seen |= joined
    return [np.frombuffer(one.to_bytes(sets.shape[1], "big"), np.uint8) for one in sorted(unions, reverse=True)]


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
