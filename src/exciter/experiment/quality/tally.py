"""Counting over a log of any length: a tally sees every sample once, piece by piece, and remembers only sums."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from exciter.experiment.recording.recording import Recording

Index = NDArray[np.int64]


class Tally(Protocol):
    """Mutable while it counts; checks only read it."""

    def see(self, piece: Recording, old: int) -> None:
        """Count the samples of ``piece`` after its first ``old`` ones, which were counted before and give context."""


def runs(same: NDArray[np.bool_]) -> tuple[Index, Index]:
    """First index and length of every run of True."""
    edges = np.diff(np.concatenate([[0], same.astype(np.int8), [0]]))
    starts = np.flatnonzero(edges == 1)
    return starts, np.flatnonzero(edges == -1) - starts
