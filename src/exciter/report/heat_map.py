"""A matrix of correlations as a coloured square."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exciter.report.markup import Markup, data_block, element, packed
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class HeatMap:
    """values (p, p) from −1 to 1, rows and columns by the same names."""

    title: str
    names: Sequence[str]
    values: Array

    def html(self) -> Markup:
        label = f"{self.title}: hover over a cell, or move with the arrow keys, to read it"
        ends = (element("span", text) for text in ("−1", "0", "1"))
        return element(
            "figure",
            element("figcaption", self.title),
            element("div", element("canvas", tabindex=0, role="application", aria_label=label), class_="square"),
            element(
                "div",
                element("span", *ends, class_="scale"),
                element("output", "Hover over a cell, or use the arrow keys, to read it.", aria_live="polite"),
                class_="told",
            ),
            data_block({"names": list(self.names), "values": packed(self.values)}),
            class_="heat",
        )
