"""Triangular factors that grow with every piece of rows: one per group and equation, by LAPACK's QR."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from exciter.typing import Array

PANEL = 32  # columns that LAPACK may reduce at a time


class GroupFactors:
    """Factors of G groups times J equations, for p parameters; only columns that were ever not zero are worked on.

    The torque of a joint depends on the links it moves and on its own joint terms, so its rows have few columns.
    instants (G,): how many were added. rows (G, J): how many of them have an equation; independent (G, J): how many
    independent ones these are worth.
    """

    def __init__(self, groups: int, equations: int, parameters: int) -> None:
        self.instants = np.zeros(groups, dtype=np.int64)
        self.rows, self.independent = np.zeros((2, groups, equations))
        self._size = parameters + 1
        self._seen = np.zeros((equations, self._size), dtype=np.bool_)
        self._seen[:, -1] = True  # y
        self._factors: dict[tuple[int, int], Array] = {}

    def add(self, group: int, sides: Array, share: float = 1.0, present: Array | None = None) -> None:
        """More rows of a group: sides (J, p + 1, N), each worth ``share`` of an independent one; present (J,): part of
        them that are equations at all."""
        bits = np.bitwise_or.reduce(sides.view(np.uint64), axis=2)  # not zero where a column is not: faster than any()
        for equation, side in enumerate(sides):
            self._widen(equation, bits[equation] != 0)
            self._absorb(group, equation, side[self._seen[equation]])
        count = sides.shape[2] * (1.0 if present is None else present)
        self.instants[group] += sides.shape[2]
        self.rows[group] += count
        self.independent[group] += share * count

    def merge(self, other: GroupFactors) -> None:
        """Take over all that another one has, for the same groups."""
        for equation, seen in enumerate(other._seen):
            self._widen(equation, seen)
        for (group, equation), factor in other._factors.items():
            rows = np.zeros((self._seen[equation].sum(), len(factor)))
            rows[other._seen[equation][self._seen[equation]]] = factor.T
            self._absorb(group, equation, rows)
        self.instants += other.instants
        self.rows += other.rows
        self.independent += other.independent

    def dense(self, group: int) -> Array:
        """(J, p + 1, p + 1) the factors of a group, with zeros for columns that are not there."""
        out = np.zeros((len(self._seen), self._size, self._size))
        for equation, seen in enumerate(self._seen):
            places = np.flatnonzero(seen)
            if (factor := self._factors.get((group, equation))) is not None:
                out[equation][np.ix_(places, places)] = factor
        return out

    def _widen(self, equation: int, seen: NDArray[np.bool_]) -> None:
        """Room for columns that were zero until now."""
        before, after = self._seen[equation], self._seen[equation] | seen
        if (before == after).all():
            return
        places = np.flatnonzero(before[after])
        for key, factor in self._factors.items():
            if key[1] == equation:
                self._factors[key] = np.zeros(2 * (int(after.sum()),))
                self._factors[key][np.ix_(places, places)] = factor
        self._seen[equation] = after

    def _absorb(self, group: int, equation: int, rows: Array) -> None:
        """R of [R; rowsᵀ], rows (c, N)."""
        c, n = rows.shape
        stacked = np.empty((c, c + n))  # columns are contiguous, as LAPACK wants them
        before = self._factors.get((group, equation))
        stacked[:, :c], stacked[:, c:] = 0.0 if before is None else before.T, rows
        # dgeqrf, unlike dtpqrt, lets other threads run meanwhile
        done, _, _, info = lapack.dgeqrf(stacked.T, lwork=PANEL * c, overwrite_a=1)
        assert info == 0, f"dgeqrf: {info}"
        self._factors[group, equation] = np.triu(done[:c])
