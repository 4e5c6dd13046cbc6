"""Data of interactive line plots: what is drawn, in which unit, and between which limits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.report.markup import Markup, data_block, element, packed

Array = NDArray[np.float64]
MOST_POINTS = 2000  #: per line; more cannot be seen and only make the file larger


@dataclass(frozen=True, eq=False)
class Line:
    """One line: values (N,), NaN where there is a gap; lower and upper limit, infinite where there is none."""

    name: str
    values: Array
    unit: str = ""
    lower: float = -math.inf
    upper: float = math.inf


@dataclass(frozen=True, eq=False)
class Plot:
    """Lines over a common x.

    group: plots of one group zoom together; those of group "time" show where the moving robot is.
    by_joint: one line per joint; the reader picks one, in its unit and with its limits, or sees all of them, as
    percentages of their limits where they have some.
    bars: upright bars instead of lines. steps: a value holds until the next one. log: logarithmic y axis.
    band: two lines, lower and upper, between which the area is filled.
    """

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

    def html(self) -> Markup:
        help_ = "drag to zoom, double-click or key 0 to see all, plus and minus and arrow keys to zoom and move"
        return element(
            "figure",
            element("figcaption", self.title),
            element("div", class_="canvas", tabindex=0, role="group", aria_label=f"{self.title}: {help_}"),
            data_block(self.data()),
            class_="plot",
        )

    def data(self) -> dict[str, Any]:
        x, values = thinned(self.x, np.array([line.values for line in self.lines]))
        return {
            "title": self.title,
            "x": packed(x),
            "xLabel": self.x_label,
            "yLabel": self.y_label,
            "group": self.group,
            "byJoint": self.by_joint,
            "bars": self.bars,
            "steps": self.steps,
            "log": self.log,
            "band": self.band,
            "lines": [
                {
                    "name": line.name,
                    "unit": line.unit,
                    "lower": finite(line.lower),
                    "upper": finite(line.upper),
                    "values": packed(row),
                }
                for line, row in zip(self.lines, values, strict=True)
            ],
        }


def finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def thinned(x: Array, lines: Array, most: int = MOST_POINTS) -> tuple[Array, Array]:
    """Fewer points of lines (K, N) over x (N,), with every peak still there.

    Samples are put into ``most``/2 buckets; of each bucket a line keeps its smallest and largest value, in the
    order in which they come, at the bucket's first and middle x.
    """
    count = lines.shape[1]
    if count <= most:
        return x, lines
    cuts = np.linspace(0, count, most // 2 + 1).astype(int)
    places, columns = [], []
    for start, end in itertools.pairwise(cuts):
        part = lines[:, start:end]
        order = np.sort([part.argmin(axis=1), part.argmax(axis=1)], axis=0)
        columns += list(np.take_along_axis(part, order.T, axis=1).T)
        places += [x[start], x[(start + end) // 2]]
    places[-1] = x[-1]
    return np.array(places), np.array(columns).T


def staircases(histories: Sequence[Sequence[tuple[float, float]]], ends: Sequence[float]) -> tuple[Array, Array]:
    """The value that holds from each instant on, over a common time, from (seconds, value) pairs of every start:
    x (N,), values (K, N), gaps before a start's first finite value and after its end."""
    x = np.unique([0.0, *ends, *(second for history in histories for second, _ in history)])
    if len(x) > MOST_POINTS:
        x = np.linspace(0.0, x[-1], MOST_POINTS)
    values = np.full((len(histories), len(x)), np.nan)
    for row, history, end in zip(values, histories, ends, strict=True):
        if history:
            seconds, best = np.array(history).T
            held = np.searchsorted(seconds, x, side="right") - 1
            inside = (held >= 0) & (x <= end)
            row[inside] = np.where(np.isfinite(best), best, np.nan)[held[inside]]
    return x, values
