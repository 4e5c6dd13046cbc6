"""The instants of a log, piece by piece: in seconds, and never backwards."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exciter.errors import RecordingError
from exciter.experiment.recording.signal import TimeSource
from exciter.experiment.recording.units import UNITS
from exciter.typing import Array

LATEST_INSTANT = 1e30  # [s]; times in another unit are far below, and told as such where logs are judged


class Clock:
    """Remembers how many samples there were and the last instant, from one piece of a log to the next.

    explain: what there is to say of a sample whose time is before that of the one before it.
    """

    def __init__(self, source: TimeSource, where: str, explain: Callable[[int], str]) -> None:
        self.source, self.where, self.explain = source, where, explain
        self.samples = 0
        self.first: float | None = None  # as the log has it
        self.last: float | None = None  # [s]

    def instants(self, column: Array | None, count: int) -> Array:
        """(count,) [s] of the next samples; ``column`` (count,) as the log has it, None with a rate."""
        time = self._counted(count) if column is None else self._read(column)
        if time.size:
            self._check(time)
            self.last = float(time[-1])
        self.samples += count
        return time

    def _counted(self, count: int) -> Array:
        assert self.source.rate is not None
        return (self.source.start or 0.0) + np.arange(self.samples, self.samples + count) / self.source.rate

    def _read(self, column: Array) -> Array:
        factor = UNITS["time"][self.source.unit].factor
        if self.source.start is None or not column.size:
            return column * factor
        if self.first is None:
            self.first = float(column[0])
        return (column - self.first) * factor + self.source.start

    def _check(self, time: Array) -> None:
        if (bad := np.flatnonzero(~np.isfinite(time))).size:
            raise RecordingError(
                f"{self.where}: the time of sample {self.samples + int(bad[0])} is missing or not a number; "
                "cut that sample, or name another column"
            )
        if (far := np.flatnonzero(np.abs(time) > LATEST_INSTANT)).size:
            raise RecordingError(
                f"{self.where}: the time of sample {self.samples + int(far[0])} is {time[far[0]]:g} s; no clock goes "
                f"beyond {LATEST_INSTANT:g} s: cut that sample, or name another column"
            )
        before = time[0] if self.last is None else self.last
        steps = np.diff(time, prepend=before)
        if (back := np.flatnonzero(steps < 0.0)).size:
            k = int(back[0])
            earlier = before if k == 0 else time[k - 1]
            raise RecordingError(
                f"{self.where}: time runs backwards at sample {self.samples + k} ({earlier:.9g} s, then {time[k]:.9g} "
                f"s){self.explain(self.samples + k)}"
            )
