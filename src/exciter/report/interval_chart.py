"""Intervals one below the other on one scale, in groups: values with their 95 % intervals, where they began, and those
of other logs. A drawing that needs no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from exciter.report.markup import PagePart, number
from exciter.report.scene import multiples, tick_step

ROW_HEIGHT, LINE_GAP, GROUP_GAP = 17.0, 6.0, 8.0  #: in units of the drawing, as all below
LABELS_WIDTH, SCALE_WIDTH, RIGHT_MARGIN = 150.0, 300.0, 14.0
TOP, AXIS_HEIGHT = 6.0, 22.0
LOGARITHMIC_RATIO = 8.0  #: of the largest to the smallest value, from which on a scale of positive numbers is
WIDEST_REACH = 4.0  #: an interval is drawn up to so many times the span of the values beyond them (factor, where log.)
MOST_LETTERS = 24
ROUND_STEPS = (1.0, 2.0, 5.0)


@dataclass(frozen=True)
class DrawnInterval:
    """A row; found: value, low, high of this log and others; before: where it began."""

    label: str
    found: Sequence[tuple[float, float, float]]
    before: float


@dataclass(frozen=True)
class IntervalGroup:
    """Rows that are alike; band: where most of such are."""

    rows: Sequence[DrawnInterval]
    band: tuple[float, float] | None = None


class IntervalChart(PagePart):
    """positive: whether the scale may be logarithmic."""

    template: ClassVar[str] = "figures.html"
    title: str
    groups: Sequence[IntervalGroup]
    positive: bool
    left, right = LABELS_WIDTH, LABELS_WIDTH + SCALE_WIDTH
    width, top = LABELS_WIDTH + SCALE_WIDTH + RIGHT_MARGIN, TOP

    @property
    def logarithmic(self) -> bool:
        values = [value for row in self._rows for value, _, _ in row.found] + [row.before for row in self._rows]
        return self.positive and min(values) > 0.0 and max(values) > LOGARITHMIC_RATIO * min(values)

    @property
    def _rows(self) -> list[DrawnInterval]:
        return [row for group in self.groups for row in group.rows]

    def _on_scale(self, value: float) -> float:
        if self.logarithmic:
            return math.log(value) if value > 0.0 else -math.inf
        return value

    @property
    def _ends(self) -> tuple[float, float]:
        """Of the scale: all values; intervals as far as they do not hide these."""
        values = [self._on_scale(one) for row in self._rows for one in (*(v for v, _, _ in row.found), row.before)]
        low, high = min(values), max(values)
        span = max(high - low, 0.1 * abs(high) if not self.logarithmic else 0.1, 1e-12)
        reach = [self._on_scale(end) for row in self._rows for _, a, b in row.found for end in (a, b)]
        kept = [end for end in reach if low - WIDEST_REACH * span <= end <= high + WIDEST_REACH * span]
        low, high = min([low, *kept]), max([high, *kept])
        room = 0.05 * max(high - low, 1e-12) or 1e-12
        return low - room, high + room

    def _x(self, value: float) -> float:
        low, high = self._ends
        at = min(max((self._on_scale(value) - low) / (high - low), 0.0), 1.0)
        return round(self.left + SCALE_WIDTH * at, 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        low, high = self._ends
        if not self.logarithmic:
            return [(self._x(v), number(v, 6)) for v in multiples(low, high, tick_step(high - low))]
        decades = range(math.floor(low / math.log(10.0)), math.ceil(high / math.log(10.0)) + 1)
        wide = high - low > math.log(300.0)
        values = [step * 10.0**d for d in decades for step in (ROUND_STEPS[:1] if wide else ROUND_STEPS)]
        return [(self._x(v), number(v, 3)) for v in values if low <= math.log(v) <= high]

    @property
    def drawn(self) -> list[dict[str, Any]]:
        """Groups with their places."""
        y, found = self.top, list[dict[str, Any]]()
        for group in self.groups:
            begin, rows = y, []
            for row in group.rows:
                lines = len(row.found)
                middle = y + 0.5 * (ROW_HEIGHT + LINE_GAP * (lines - 1))
                marks = [
                    {
                        "y": round(middle + LINE_GAP * (k - 0.5 * (lines - 1)), 1),
                        "x": self._x(value),
                        "from": self._x(low) if math.isfinite(low) else self.left,
                        "to": self._x(high) if math.isfinite(high) else self.right,
                        "colour": f"c{k}",
                        "words": f"{row.label}: {number(value)} ({number(low)} … {number(high)})",
                    }
                    for k, (value, low, high) in enumerate(row.found)
                ]
                label = row.label if len(row.label) <= MOST_LETTERS else f"{row.label[: MOST_LETTERS - 1]}…"
                rows.append({"label": label, "y": round(middle, 1), "before": self._x(row.before), "marks": marks})
                y += ROW_HEIGHT + LINE_GAP * (lines - 1)
            band = None if group.band is None else (self._x(group.band[0]), self._x(group.band[1]))
            found.append({"rows": rows, "band": band, "y": begin, "height": y - begin})
            y += GROUP_GAP
        return found

    @property
    def bottom(self) -> float:
        last = self.drawn[-1]
        return float(last["y"] + last["height"] + 2.0)

    @property
    def height(self) -> float:
        return self.bottom + AXIS_HEIGHT
