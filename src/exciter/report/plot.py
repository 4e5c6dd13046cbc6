"""Data of interactive plots: lines, with units and limits, and a matrix of correlations as a coloured square."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from exciter.report.markup import PagePart, packed
from exciter.typing import Array

MOST_POINTS_PER_LINE = 2000  #: per line; more cannot be seen and only make the file larger


@dataclass(frozen=True, eq=False)
class Line:
    """One line: values (N,), NaN where there is a gap; lower and upper limit, infinite where there is none.
    points: dots that are not connected. width [px]; of dots, 2.2 times as much. colour: a name of the style sheet,
    instead of the next one."""

    name: str
    values: Array
    unit: str = ""
    lower: float = -math.inf
    upper: float = math.inf
    points: bool = False
    width: float = 1.6
    colour: str = ""

    def data(self, values: Array) -> dict[str, Any]:
        """values: those that are drawn."""
        fields = {name: value for name, value in vars(self).items() if name != "values"}
        return {**fields, "lower": finite(self.lower), "upper": finite(self.upper), "values": packed(values)}


class Plot(PagePart):
    """Lines over a common x.

    group: plots of one group zoom together; those of a motion that the scene replays show where the robot is.
    by_joint: one line per joint; the reader picks one, in its unit and with its limits, or sees all of them, as
    percentages of their limits where they have some.
    bars: upright bars instead of lines. steps: a value holds until the next one. log: logarithmic y axis.
    level: a line to compare with, drawn as limits are.
    band: two lines, lower and upper, between which the area is filled; band_label: what it is. Lines are drawn in their
    order, so that a band belongs before what lies within it."""

    template: ClassVar[str] = "figures.html"
    title: str
    x: Array
    x_label: str
    y_label: str
    lines: Sequence[Line]
    group: str = ""
    by_joint: bool = False
    bars: bool = False
    steps: bool = False
    log: bool = False
    band: tuple[int, int] | None = None
    band_label: str = "95 % band"
    level: float | None = None

    def data(self) -> dict[str, Any]:
        """What the page draws: fields, with names as JavaScript writes them, and those of the lines."""
        x, values = thinned(self.x, np.array([line.values for line in self.lines]))
        fields = {name: value for name, value in vars(self).items() if name not in ("lines", "group", "by_joint")}
        named = {re.sub("_(.)", lambda letter: letter[1].upper(), name): value for name, value in fields.items()}
        lines = [line.data(row) for line, row in zip(self.lines, values, strict=True)]
        return {**named, "x": packed(x), "lines": lines}


def band_lines(lower: Array, upper: Array, unit: str) -> list[Line]:
    """The two ends of a band, to stand before the other lines."""
    return [Line("lower end", lower, unit), Line("upper end", upper, unit)]


def finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def thinned(x: Array, lines: Array, most: int = MOST_POINTS_PER_LINE) -> tuple[Array, Array]:
    """Fewer points of lines (K, N) over x (N,), with every peak still there.

    Samples are put into ``most``/2 buckets; of each bucket a line keeps its smallest and largest value, in the
    order in which they come, at the bucket's first and middle x."""
    count = lines.shape[1]
    if count <= most:
        return x, lines
    cuts = np.linspace(0, count, most // 2 + 1).astype(int)
    start, end = cuts[:-1], cuts[1:]
    inside = np.minimum(start[:, None] + np.arange((end - start).max()), end[:, None] - 1)  # (buckets, samples)
    parts = lines[:, inside]
    kept = np.sort([parts.argmin(axis=2), parts.argmax(axis=2)], axis=0).transpose(1, 2, 0)
    few = np.take_along_axis(parts, kept, axis=2).reshape(len(lines), -1)
    places = np.stack([x[start], x[(start + end) // 2]], axis=1).ravel()
    places[-1] = x[-1]
    return places, few


def staircases(histories: Sequence[Sequence[tuple[float, float]]], ends: Sequence[float]) -> tuple[Array, Array]:
    """The value that holds from each instant on, over a common time, from (seconds, value) pairs of every start:
    x (N,), values (K, N), gaps before a start's first finite value and after its end."""
    x = np.unique([0.0, *ends, *(second for history in histories for second, _ in history)])
    if len(x) > MOST_POINTS_PER_LINE:
        x = np.linspace(0.0, x[-1], MOST_POINTS_PER_LINE)
    values = np.full((len(histories), len(x)), np.nan)
    for row, history, end in zip(values, histories, ends, strict=True):
        if history:
            seconds, best = np.array(history).T
            held = np.searchsorted(seconds, x, side="right") - 1
            inside = (held >= 0) & (x <= end)
            row[inside] = np.where(np.isfinite(best), best, np.nan)[held[inside]]
    return x, values


class HeatMap(PagePart):
    """A matrix as a coloured rectangle: values (p, q) from −limit to limit, more is shown as that; NaN: a gap. names:
    of the rows, and of the columns unless columns has others."""

    template: ClassVar[str] = "figures.html"
    title: str
    names: Sequence[str]
    values: Array
    columns: Sequence[str] = ()
    limit: float = 1.0

    def data(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "columns": list(self.columns or self.names),
            "limit": self.limit,
            "values": packed(self.values),
        }
