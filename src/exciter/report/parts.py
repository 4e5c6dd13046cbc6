"""What pages are made of beside figures: sections, sentences, cards, tables that sort without losing precision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exciter.identification.information.estimate import FAIR, GOOD, INSIGNIFICANT, WEAK
from exciter.report.markup import PagePart, number, percent
from exciter.typing import Array, BoolArray

STATUS_TONES = {GOOD: "good", FAIR: "fair", WEAK: "poor", INSIGNIFICANT: "poor"}  #: of a parameter
MOST_REMARKS_SHOWN = 8  #: the others are folded away
PERCENT_OF_EMPTY_BAR, DECADES_OF_FULL_BAR = 0.1, 3.0  #: of logarithmic bars: 0.1 % … 100 %


class Section(PagePart):
    """``key`` is the anchor."""

    key: str
    title: str
    explanation: str
    contents: Sequence[PagePart]


class Word(PagePart):
    """A word with a colour: good, fair or poor; unproved for what rests on an assumption."""

    text: str
    tone: str


class FileLink(PagePart):
    """To a file beside the page."""

    text: str
    file: str


class Summary(PagePart):
    """The verdict, what was done in a few sentences, and remarks and cards below."""

    verdict: Word | str
    sentences: Sequence[str]
    contents: Sequence[PagePart]


class Paragraph(PagePart):
    contents: Sequence[PagePart | str]


class Together(PagePart):
    """One below the other, where one part is expected."""

    contents: Sequence[PagePart]


class Cards(PagePart):
    """Single figures in a row, each under its name."""

    values: Mapping[str, str]


class NamedValues(PagePart):
    """One below the other."""

    values: Mapping[str, str]


class Sentences(PagePart):
    texts: Sequence[str]


class Remarks(PagePart):
    """Sentences after a word each, the first few of them at once."""

    word: Word
    texts: Sequence[str]

    @property
    def shown_and_folded(self) -> list[Sequence[str]]:
        parts = (self.texts[:MOST_REMARKS_SHOWN], self.texts[MOST_REMARKS_SHOWN:])
        return [texts for texts in parts if texts]


class Folded(PagePart):
    """Contents that open on demand."""

    title: str
    contents: Sequence[PagePart]
    opened: bool = False


class Configuration(PagePart):
    """A file of settings; name: under which to save it."""

    name: str
    text: str


class JointChoice(PagePart):
    """Buttons that show all joints or one of them."""

    joints: Sequence[str]


class PerJoint(PagePart):
    """By the number of the joint, side by side where there is room; the choice of a joint shows its part alone."""

    parts: Mapping[int, PagePart]


def per_joint(joints: Sequence[str], parts: Mapping[int, PagePart]) -> tuple[JointChoice, PerJoint]:
    """Parts of joints below the choice among them."""
    return JointChoice(joints), PerJoint(parts)


# -- tables ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bar:
    """A number with a bar; ``share`` 0 … 1 is its length, NaN for none."""

    value: float
    text: str
    share: float = math.nan

    @classmethod
    def percentage(cls, value: float, *, bar: bool = True) -> Bar:
        """[%], unknown where it is not finite."""
        known = math.isfinite(value)
        length = max(value / 100.0, 0.0) if known else 0.0
        return cls(value, percent(value / 100.0) if known else "–", length if bar else math.nan)

    @classmethod
    def relative_std(cls, value: float, unknown: float = 0.0) -> Bar:
        """[%] with a logarithmic bar; unknown: length of the bar where it is not finite."""
        if not math.isfinite(value):
            return cls(value, "–", unknown)
        decades = math.log10(max(value, 1e-3) / PERCENT_OF_EMPTY_BAR)
        return cls(value, percent(value / 100.0), decades / DECADES_OF_FULL_BAR)

    @classmethod
    def probability(cls, p_value: float) -> Bar:
        return cls(p_value, "< 0.001" if p_value < 1e-3 else number(p_value, 2))


def intervals(low: Array, high: Array, known: BoolArray) -> list[str]:
    """``0.1 … 0.2``, a dash where it is not known."""
    return [f"{number(a)} … {number(b)}" if sure else "–" for a, b, sure in zip(low, high, known, strict=True)]


Cell = str | float | Bar | Word | FileLink


class HtmlTable(PagePart):
    """Headings and rows. Columns of numbers are aligned right and sort by value, others by text. kind: "whole" is shown
    in full length, "findings" has wide first and last columns as well."""

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    kind: str = ""

    @classmethod
    def by_column(cls, caption: str, columns: Mapping[str, Any], kind: str = "") -> HtmlTable:
        """The cells below each heading, or numbers of an array."""
        cells = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
        return cls(caption, tuple(columns), list(zip(*cells, strict=True)), kind)

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """Each heading, and whether numbers are below it."""
        numeric = [any(isinstance(row[k], float | Bar) for row in self.rows) for k in range(len(self.headings))]
        return list(zip(self.headings, numeric, strict=True))
