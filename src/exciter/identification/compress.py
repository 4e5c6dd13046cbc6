"""From rows to triangular factors, piece by piece: W is never whole in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ParameterError
from exciter.experiment.signals.rows import Rows
from exciter.identification.compressed import Compressed

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
Labelled = tuple[int, IntArray, Rows]


def compress(
    labelled: Iterable[Labelled], parameters: Sequence[str], joints: Sequence[str], runs: int, folds: int
) -> Compressed:
    """(run, fold of every instant, rows), in any order, to one factor per run, fold and joint."""
    p, n = len(parameters), len(joints)
    factors = np.zeros((runs * folds, n, p + 1, p + 1))
    rows = np.zeros((runs * folds, n), dtype=np.int64)
    independent = np.zeros((runs * folds, n))
    for index, fold, piece in labelled:
        w, y = piece.equations()  # refuses what must not be used
        sides = np.column_stack([w, y]).reshape(len(piece), n, p + 1)
        share = piece.independent / max(len(piece), 1)
        for k in np.unique(fold):
            group, chosen = index * folds + int(k), fold == k
            for j in range(n):
                factors[group, j] = _absorbed(factors[group, j], sides[chosen, j])
            rows[group] += int(chosen.sum())
            independent[group] += share * int(chosen.sum())
    if not rows.any():
        raise ParameterError("there are no equations; is the recording shorter than the edges of its filters?")
    pieces = np.arange(runs * folds)
    all_of_them = Compressed(
        tuple(parameters), tuple(joints), factors, rows, independent, pieces // folds, pieces % folds
    )
    return all_of_them.where(np.asarray(rows.any(axis=1)))


def _absorbed(factor: Array, sides: Array) -> Array:
    upper = np.zeros_like(factor)
    found = np.linalg.qr(np.vstack([factor, sides]), mode="r")
    upper[: len(found)] = found
    return upper
