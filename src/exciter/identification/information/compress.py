"""From rows to triangular factors, piece by piece and by several threads: W is never whole in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Event, Lock

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from exciter.errors import ParameterError
from exciter.experiment.signals.rows import Rows
from exciter.identification.information.compressed import Compressed, one_thread
from exciter.typing import Array

PANEL = 32  # columns that LAPACK may reduce at a time
IntArray = NDArray[np.int64]
Labelled = tuple[int, IntArray, Rows]


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


def compress(
    labelled: Iterable[Labelled], parameters: Sequence[str], joints: Sequence[str], runs: int, folds: int, jobs: int = 1
) -> Compressed:
    """(run, fold of every instant, rows), in any order, to one factor per run, fold and joint.

    jobs: how many threads absorb pieces; whoever is free takes the next one, and what each of them has is put together
    at the end. Results differ by rounding only.
    """
    if jobs < 1:
        raise ParameterError(f"{jobs} jobs; give 1 or more")
    parts = [GroupFactors(runs * folds, len(joints), len(parameters)) for _ in range(jobs)]
    stream, turn, stop = iter(labelled), Lock(), Event()

    def work(part: GroupFactors) -> None:
        while not stop.is_set():
            with turn:
                item = next(stream, None)
            if item is None:
                return
            _add(part, *item, folds)

    with one_thread():
        if jobs == 1:
            work(parts[0])
        else:
            _at_once(work, parts, stop)
    whole = parts[0]
    for part in parts[1:]:
        whole.merge(part)
    return _compressed(whole, tuple(parameters), tuple(joints), folds)


def _at_once(work: Callable[[GroupFactors], None], parts: Sequence[GroupFactors], stop: Event) -> None:
    with ThreadPoolExecutor(len(parts)) as pool:
        try:
            for done in [pool.submit(work, part) for part in parts]:
                done.result()
        finally:  # an error, or Ctrl-C: the others must not go on to the end of the log
            stop.set()


def _add(part: GroupFactors, run: int, fold: IntArray, rows: Rows, folds: int) -> None:
    rows[:0].equations()  # refuses what must not be used; all of them would be a copy
    share = rows.independent / max(len(rows), 1)
    sides = rows.sides.transpose(1, 2, 0)
    cuts = [0, *(np.flatnonzero(np.diff(fold)) + 1).tolist(), len(fold)]
    for start, end in pairwise(cuts):
        if start < end:
            part.add(run * folds + int(fold[start]), sides[:, :, start:end], share, rows.present)


def _compressed(whole: GroupFactors, parameters: tuple[str, ...], joints: tuple[str, ...], folds: int) -> Compressed:
    kept = np.flatnonzero(whole.instants)
    if not kept.size:
        raise ParameterError("there are no equations; is the recording shorter than the edges of its filters?")
    return Compressed(
        parameters,
        joints,
        np.stack([whole.dense(group) for group in kept.tolist()]),
        np.rint(whole.rows[kept]).astype(np.int64),
        whole.independent[kept],
        kept // folds,
        kept % folds,
    )
