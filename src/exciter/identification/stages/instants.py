"""The motion at the instants of equations: filters drop instants, so both are matched by time, piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from exciter.errors import RecordingError
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.rows import Rows
from exciter.identification.problem import Problem
from exciter.robot.motion import Motion

Array = NDArray[np.float64]
EARLY = 0.51  # of a sampling interval, by which equations may miss a sample


def rows_with_motion(problem: Problem) -> Iterator[tuple[int, Rows, Motion]]:
    """(number of the run, equations, motion at their instants), as ``Problem.rows``; runs are read twice at once."""
    current, follower = -1, _Follower(())
    for index, rows in problem.rows():
        if not len(rows):
            continue
        if index != current:
            current, follower = index, _Follower(problem.runs[index].parts)
        yield index, rows, follower.at(rows.time)


class _Follower:
    """Keeps only the pieces of a motion that equations may still ask for."""

    def __init__(self, parts: Iterable[Processed]) -> None:
        self._parts = iter(parts)
        self._held: list[Processed] = []

    def at(self, time: Array) -> Motion:
        """Motion at instants (N,) that increase, also from one call to the next."""
        while self._held and self._held[0].motion.time[-1] < time[0] - EARLY / self._held[0].rate:
            self._held.pop(0)
        while not self._held or self._held[-1].motion.time[-1] < time[-1] - EARLY / self._held[-1].rate:
            piece = next(self._parts, None)
            if piece is None:
                break
            if len(piece) and piece.motion.time[-1] >= time[0] - EARLY / piece.rate:
                self._held.append(piece)
        if not self._held:
            raise RecordingError(f"there is no motion at {time[0]:.6g} s, where there are equations")
        known = np.concatenate([piece.motion.time for piece in self._held])
        after = np.clip(np.searchsorted(known, time), 1, max(len(known) - 1, 1))
        near = np.minimum(
            np.where(time - known[after - 1] <= known[after % len(known)] - time, after - 1, after), len(known) - 1
        )
        miss = np.abs(known[near] - time).max(initial=0.0)
        if miss > EARLY / self._held[0].rate:
            raise RecordingError(f"equations are {miss:.3g} s from the nearest sample of the motion")
        signals = (np.concatenate([getattr(p.motion, s) for p in self._held])[near] for s in ("q", "qd", "qdd"))
        return Motion(time, *signals)
