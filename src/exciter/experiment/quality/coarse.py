"""The whole log at a glance: mean positions over short bins of time, few enough to keep whatever its length."""

from __future__ import annotations

import numpy as np

from exciter.experiment.quality.tally import Index
from exciter.experiment.recording.recording import Recording
from exciter.typing import Array

BIN = 0.02  # [s]
MOST = 2**18  # bins; beyond it neighbours are merged
FARTHEST = 2.0**53  # bins: times beyond are absurd, and told elsewhere


class Coarse:
    """Bins of ``width`` [s] (the sampling interval where that is longer) from the first sample on."""

    def __init__(self, interval: float) -> None:
        self.width = max(BIN, 1.5 * interval)
        self._start: float | None = None
        self._index: list[Index] = []
        self._sums: list[Array] = []  # (bins, n + 1): positions, then the number of samples

    def see(self, piece: Recording, old: int) -> None:
        time, q = piece.time[old:], piece.q[old:]
        good = np.isfinite(q).all(axis=1)
        if not good.any():
            return
        if self._start is None:
            self._start = float(time[0])
        index = np.minimum((time[good] - self._start) / self.width, FARTHEST).astype(np.int64)
        self._add(index, np.column_stack([q[good], np.ones(int(good.sum()))]))
        while sum(map(len, self._index)) > MOST:
            index, sums = np.concatenate(self._index) // 2, np.concatenate(self._sums)
            self._index, self._sums, self.width = [], [], 2.0 * self.width
            self._add(index, sums)

    def _add(self, index: Index, rows: Array) -> None:
        kept, first = np.unique(index, return_index=True)
        self._index.append(kept)
        self._sums.append(np.add.reduceat(rows, first, axis=0))

    def positions(self) -> tuple[Array, Array]:
        """Times (M,) [s] of the bins' middles and mean positions (M, n)."""
        if self._start is None:
            return np.zeros(0), np.zeros((0, 0))
        index, rows = np.concatenate(self._index), np.concatenate(self._sums)
        kept, first = np.unique(index, return_index=True)
        sums = np.add.reduceat(rows, first, axis=0)
        return np.asarray(self._start + (kept + 0.5) * self.width, dtype=float), sums[:, :-1] / sums[:, -1:]
