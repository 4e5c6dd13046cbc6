"""Which columns of the standard regressor enter a Gram matrix, and where; and the rows of a batch of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.chain import Chain
from exciter.errors import ParameterError
from exciter.typing import Array

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ColumnLayout:
    """Column numbers of H for inertial parameters and joint terms; −1 marks a column left out.

    inertial (n, 10); term_row (E,): joint row of each term entry; term_column (E,): its column. size: order of H.
    """

    inertial: Index
    term_row: Index
    term_column: Index
    size: int

    @classmethod
    def select(cls, n: int, entries: Sequence[tuple[int, int]], columns: Sequence[int] | Index) -> ColumnLayout:
        """Keep the given standard columns, in the given order.

        Standard columns are the 10 n inertial ones, then the term columns; entries are (joint row, term column).
        """
        count = 10 * n + 1 + max((c for _, c in entries), default=-1)
        wanted = np.asarray(columns, dtype=np.int64)
        if len(wanted) != len(set(wanted.tolist())) or ((wanted < 0) | (wanted >= count)).any():
            raise ParameterError(f"columns must be different numbers from 0 to {count - 1}; given {wanted.tolist()}")
        place = np.full(count, -1, dtype=np.int64)
        place[wanted] = np.arange(len(wanted))
        rows = np.array([row for row, _ in entries], dtype=np.int64)
        terms = np.array([10 * n + c for _, c in entries], dtype=np.int64)
        return cls(place[: 10 * n].reshape(n, 10).copy(), rows, place[terms], len(wanted))

    def fits(self, n: int, entries: Sequence[tuple[int, int]]) -> bool:
        """Whether it was made for a model with these joints and term entries."""
        return len(self.inertial) == n and list(self.term_row) == [row for row, _ in entries]


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Rows of W over samples, as the engines take them: q, qd, qdd (n, N), values of the term entries (E, N), and
    a weight 1/σ² per joint (n,)."""

    chain: Chain
    layout: ColumnLayout
    terms: Array
    weights: Array
    q: Array
    qd: Array
    qdd: Array
