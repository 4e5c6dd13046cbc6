"""``windows:`` of a recording.yaml: what of a log is kept, by time, by rows, or by per cent of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.errors import ExciterError, RecordingError, shown
from exciter.settings import Settings, Vector
from exciter.typing import Array, BoolArray

Ends = tuple[float, float]


@dataclass(frozen=True)
class Window(Settings):
    """One of seconds [start, end], both kept; rows [first, end], counted from 0, of which the end is not kept; percent
    [from, to] of the rows, rounded to whole ones: 50 ends where the window from 50 on begins. A list is of seconds."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    seconds: Annotated[Ends | None, Vector(2, "s")] = None
    rows: Annotated[Ends | None, Vector(2, "rows from 0")] = None
    percent: Annotated[Ends | None, Vector(2, "% of the rows")] = None

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        return given if isinstance(given, Mapping) else {"seconds": Vector(2, "s").check(given, context)}

    def spelling(self, data: dict[str, Any]) -> Any:
        return data.get("seconds", data)

    @classmethod
    def described(cls, schema: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [Vector(2, "s").schema(), schema]}

    def __post_init__(self) -> None:
        given = {unit: ends for unit in ("seconds", "rows", "percent") if (ends := getattr(self, unit)) is not None}
        if len(given) != 1:
            raise RecordingError(f"it has {' and '.join(given) or 'no ends'}; give one of seconds, rows and percent")
        start, end = self.ends
        if start >= end:
            raise RecordingError(f"{self.unit} is {shown([start, end])}; a window ends behind its start")
        if self.unit == "rows" and not (start >= 0.0 and start.is_integer() and end.is_integer()):
            raise RecordingError(f"rows is {shown([start, end])}; rows are counted from 0: give two whole numbers")
        if self.unit == "percent" and not (start >= 0.0 and end <= 100.0):
            raise RecordingError(f"percent is {shown([start, end])}; allowed are 0 … 100")

    @property
    def unit(self) -> str:
        return next(unit for unit in ("seconds", "rows", "percent") if getattr(self, unit) is not None)

    @property
    def ends(self) -> Ends:
        found: Ends = getattr(self, self.unit)
        return found

    def __str__(self) -> str:
        start, end = (f"{one:.9g}" for one in self.ends)
        return f"rows {start} … {end}" if self.unit == "rows" else f"{start} … {end} {'%' if self.percent else 's'}"


def refuse_disorder(windows: Sequence[Window]) -> None:
    """Those of one unit must follow each other; of others, what any of them keeps is kept."""
    for unit in dict.fromkeys(window.unit for window in windows):
        alike = [window.ends for window in windows if window.unit == unit]
        edges = [edge for ends in alike for edge in ends]
        if edges != sorted(edges):
            pairs = shown([list(ends) for ends in alike])
            why = f"windows is {pairs}; windows [start, end] must be in order and apart from each other"
            raise RecordingError(why)


def kept(windows: Sequence[Window], first: int, time: Array, total: int | None) -> BoolArray:
    """(N,) of samples at ``time`` [s], rows ``first`` … of a log; total: how many rows it has, for per cent."""
    keep, row = np.full(len(time), not windows), first + np.arange(len(time))
    for window in windows:
        start, end = window.ends
        if window.unit == "seconds":
            keep |= (time >= start) & (time <= end)
            continue
        if window.unit == "percent":
            assert total is not None
            start, end = (round(total * part / 100.0) for part in (start, end))
        keep |= (row >= start) & (row < end)
    return keep
