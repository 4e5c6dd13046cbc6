"""Tables that sort by any column, in the page, without losing precision in what is compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from exciter.report.markup import Markup, element, number


@dataclass(frozen=True)
class Bar:
    """A number with a bar; ``share`` 0 … 1 is its length, NaN for none."""

    value: float
    text: str
    share: float


@dataclass(frozen=True)
class Word:
    """A word with a colour: good, fair or poor; unproved for what rests on an assumption."""

    text: str
    tone: str

    def html(self) -> Markup:
        return element("span", self.text, class_=f"word {self.tone}")


LONG = 18  #: characters; longer text breaks into lines rather than push the other columns out of sight
Cell = str | float | Bar | Word


@dataclass(frozen=True)
class Table:
    """Headings and rows. Columns of numbers are aligned right and sort by value, others by text."""

    caption: str
    headings: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]

    def html(self) -> Markup:
        numeric = [any(isinstance(row[k], float | Bar) for row in self.rows) for k, _ in enumerate(self.headings)]
        head = (
            element("th", element("button", title, type="button"), scope="col", class_="number" if is_number else None)
            for title, is_number in zip(self.headings, numeric, strict=True)
        )
        body = (element("tr", *(cell_html(cell) for cell in row)) for row in self.rows)
        table = element(
            "table",
            element("caption", self.caption),
            element("thead", element("tr", *head)),
            element("tbody", *body),
            class_="sortable",
        )
        return element("div", table, class_="scroll", tabindex=0, role="region", aria_label=self.caption)


def cell_html(cell: Cell) -> Markup:
    if isinstance(cell, Bar) and math.isnan(cell.share):
        return element("td", cell.text, class_="number", data_sort=sort_key(cell.value))
    if isinstance(cell, Bar):
        filled = element("span", class_="bar", style=f"width:{100.0 * min(max(cell.share, 0.0), 1.0):.1f}%")
        bar = element("span", filled, class_="track", aria_hidden="true")
        return element("td", element("span", cell.text), bar, class_="number barred", data_sort=sort_key(cell.value))
    if isinstance(cell, Word):
        return element("td", cell.html())
    if isinstance(cell, str):
        return element("td", cell, class_="long" if len(cell) > LONG else None)
    return element("td", number(cell), class_="number", data_sort=sort_key(cell))


def sort_key(value: float) -> str | None:
    """Full precision, as JavaScript reads it; unknown values have no key and sort last."""
    return None if math.isnan(value) else repr(float(value)).replace("inf", "Infinity")
