"""A paper as a list of studies; a study runs and gives parts: items of the paper with findings, tables and figures.

A finding is one published figure beside the one reached here, with a verdict that is computed, never given. Two rules
hold for all of them: what is more than twice apart is not met unless the finding says why, and an optimum is beaten
only where criterion and conditions are those of the paper. Published figures are data files beside the code of each
paper, so that no table is typed into a program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np
import yaml
from numpy.typing import ArrayLike

from exciter import ExciterError
from exciter.report.markup import PagePart

# -- findings ----------------------------------------------------------------------------------------------------------

Value = float | bool | str | None


def unboxed(value: Any) -> Any:
    """Numbers and truth values of NumPy as Python's own, which JSON knows."""
    return value.item() if isinstance(value, np.generic) else value


class Verdict(StrEnum):
    """What comes of a published figure."""

    MET = "met"  #: the same within what was printed, or typical of repetitions here
    BEATEN = "beaten"  #: better than published, by the same criterion under the same conditions
    SHORT = "short"  #: worse than published
    DIFFERS = "differs"  #: the set-up as described gives something else
    UNDECIDED = "undecided"  #: what is printed does not decide it
    CLOSED = "not runnable"  #: what it takes was never published
    SHOWN = "shown"  #: nothing was published to compare with


UNEXPLAINED = (Verdict.SHORT, Verdict.DIFFERS, Verdict.UNDECIDED, Verdict.CLOSED)  #: need words and evidence
MET_RATIO_LIMIT = 2.0  #: figures that are further apart are met only where the finding says why


@dataclass(frozen=True)
class Terms:
    """On which two optima are compared. criterion: what both minimise, in which matrix. conditions: limits, rows and
    scaling that both have, and how that is known. left_open: what the paper leaves open or is not the same here; a
    better figure is a better answer only with nothing left open."""

    criterion: str
    conditions: str
    left_open: str = ""

    def __post_init__(self) -> None:
        if not (self.criterion and self.conditions):
            raise ExciterError("terms of a comparison need the criterion and the conditions")

    @property
    def words(self) -> str:
        return f"criterion of both: {self.criterion}; conditions: {self.conditions}"


def ratio_between(published: Value, reached: Value) -> float:
    """How many times the larger figure is the smaller one; one where there are no two numbers, or where the published
    one is zero, which is a matter of rounding alone."""
    if not (_is_number(published) and _is_number(reached)) or published == 0.0 or published == reached:
        return 1.0
    ratio = float(reached) / float(published)  # type: ignore[arg-type]
    return max(ratio, 1.0 / ratio) if ratio > 0.0 else math.inf


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Finding:
    """quantity: what it is, with its unit. published, reached: None where there is none. note: set-up, spread over
    repetitions, evidence; what is short, differs, is undecided or cannot be run must have one. far: why it is met
    though the figures are more than twice apart. terms: of an optimum. ratio: how many times they are apart, where that
    is not the ratio of the two numbers, as for logarithms."""

    quantity: str
    published: Value
    reached: Value
    verdict: Verdict
    note: str = ""
    far: str = ""
    terms: Terms | None = None
    ratio: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "published", unboxed(self.published))
        object.__setattr__(self, "reached", unboxed(self.reached))
        if self.verdict in UNEXPLAINED and not self.note:
            raise ExciterError(f"'{self.quantity}' is {self.verdict}: say why, with the evidence")
        if self.verdict is Verdict.MET and self.apart > MET_RATIO_LIMIT and not self.far:
            raise ExciterError(f"'{self.quantity}' is {self.apart:.3g} times off: not met, unless 'far' says why")
        if self.verdict is Verdict.BEATEN and (self.terms is None or self.terms.left_open):
            raise ExciterError(f"'{self.quantity}' is beaten: state criterion and conditions, with nothing left open")

    @property
    def apart(self) -> float:
        """How many times the larger figure is the smaller one."""
        return ratio_between(self.published, self.reached) if self.ratio is None else self.ratio


def same(
    quantity: str, published: float, reached: float, tolerance: float, note: str = "", *, far: str = ""
) -> Finding:
    """Met when both agree within ``tolerance``, absolute: half a unit of the last printed digit, or more where ``note``
    says why. A tolerance that lets more than a factor of two pass needs ``far``, else it differs."""
    rounding = 1e-9 * (abs(published) + tolerance)  # 12.75 − 12.7 is more than 0.05 in binary
    apart = ratio_between(float(published), float(reached))
    near = apart <= MET_RATIO_LIMIT
    if not abs(reached - published) <= tolerance + rounding:
        return Finding(quantity, float(published), float(reached), Verdict.DIFFERS, note)
    if not near and not far:
        note = joined(note, f"{apart:.2g} times apart, though within the tolerance")
    verdict = Verdict.MET if near or far else Verdict.DIFFERS
    return Finding(quantity, float(published), float(reached), verdict, joined(note, "" if near else far), far)


def at_most(
    quantity: str, published: float, reached: float, terms: Terms, note: str = "", tie: float | None = None
) -> Finding:
    """The smaller the better; met when they differ by ``tie`` at most: 0.5 % unless given, as for logarithms. Better
    under terms that leave something open is undecided."""
    return _ordered(quantity, published, reached, reached - published, terms, note, tie)


def at_least(
    quantity: str, published: float, reached: float, terms: Terms, note: str = "", tie: float | None = None
) -> Finding:
    """The larger the better; otherwise like ``at_most``."""
    return _ordered(quantity, published, reached, published - reached, terms, note, tie)


def _ordered(
    quantity: str, published: float, reached: float, excess: float, terms: Terms, note: str, tie: float | None
) -> Finding:
    if abs(excess) <= (0.005 * abs(published) if tie is None else tie):
        verdict = Verdict.MET
    elif not excess < 0:
        verdict = Verdict.SHORT
    elif terms.left_open:
        verdict, note = Verdict.UNDECIDED, joined(note, f"better, but not beaten: {terms.left_open}")
    else:
        verdict, note = Verdict.BEATEN, joined(note, terms.words)
    return Finding(quantity, float(published), float(reached), verdict, note, terms=terms)


def typical(
    quantity: str,
    published: float,
    sample: ArrayLike,
    note: str = "",
    chance: float = 0.02,
    of: str = "repetitions",
    *,
    far: str = "",
    ratio: Callable[[float, float], float] = ratio_between,
) -> Finding:
    """Met when a published draw of something random could be one of ``sample``, ours: no more extreme than all but
    ``chance`` of them, half on each side (than all of them, where they are few), and their median is no more than twice
    off, unless ``far`` says why it may be. Within a range that is met by its width alone it is undecided. Reached is
    the median; the note gets the range it was judged by, in numbers of the sample. of: what the sample consists of.
    ratio: how many times apart two figures are, published first."""
    values = np.sort(np.asarray(sample, dtype=np.float64))
    if not len(values) or np.isnan(values).any():
        raise ExciterError(f"'{quantity}' is compared with {len(values)} {of}, some of them not numbers or none at all")
    outside = math.ceil(len(values) * chance / 2 - 1e-9) - 1  # on each side
    low, high = values[outside], values[-1 - outside]
    share = f"{100 * (1 - chance):g} % within" if outside else "all within"
    words = joined(f"{len(values)} {of}, {share} {text_of(float(low))} … {text_of(float(high))}", note)
    middle = float(np.median(values))
    apart = ratio(float(published), middle)
    if not low <= published <= high:
        verdict = Verdict.DIFFERS
    elif apart <= MET_RATIO_LIMIT or far:
        verdict, words = Verdict.MET, joined(words, far if apart > MET_RATIO_LIMIT else "")
    else:
        verdict = Verdict.UNDECIDED
        words = joined(words, f"within the range by its width alone: the median is {apart:.2g} times off")
    return Finding(quantity, float(published), middle, verdict, words, far, ratio=apart)


def joined(*notes: str) -> str:
    """Those that say something."""
    return "; ".join(note for note in notes if note)


def undecided(statement: str, note: str, published: Value = True, reached: Value = None) -> Finding:
    """A statement or figure that what is printed does not decide; note: what is missing, and what came out here."""
    return Finding(statement, published, reached, Verdict.UNDECIDED, note)


def claim(statement: str, holds: bool | np.bool_, note: str = "", published: bool = True) -> Finding:
    """A statement of the paper, and whether it holds here."""
    return Finding(statement, published, bool(holds), Verdict.MET if holds == published else Verdict.DIFFERS, note)


def shown(quantity: str, reached: Value | np.generic, note: str = "") -> Finding:
    """A figure of ours where the paper has none."""
    return Finding(quantity, None, unboxed(reached), Verdict.SHOWN, note)


def closed(quantity: str, published: Value, note: str) -> Finding:
    """A figure that nobody can run again; note: what was not published."""
    return Finding(quantity, published, None, Verdict.CLOSED, note)


def typeset(text: str) -> str:
    """Minus signs of numbers within a text as such, not as hyphens."""
    return re.sub(r"(?<![\w)\]–-])-(?=[.\d])|(?<=\de)-(?=\d)", "−", text)


def text_of(value: Value, digits: int = 4) -> str:
    """A value for people."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return "not a number"
    return f"{value:.{digits}g}".replace("-", "−").replace("inf", "∞")


# -- papers ------------------------------------------------------------------------------------------------------------

T = TypeVar("T")


@dataclass(frozen=True)
class Effort:
    """How much is run. quick: the same items with fewer starts and repetitions."""

    quick: bool = False

    def pick(self, quick: T, full: T) -> T:
        """One of two numbers of starts, repetitions, …"""
        return quick if self.quick else full


@dataclass(frozen=True)
class DataTable:
    """A table as data. key: name of its file, unique within the paper, e.g. ``table-2``; cells None are empty."""

    key: str
    caption: str
    headings: tuple[str, ...]
    rows: Sequence[Sequence[Any]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(tuple(unboxed(value) for value in row) for row in self.rows))

    @classmethod
    def by_columns(cls, key: str, caption: str, columns: Mapping[str, Iterable[Any]]) -> DataTable:
        """Every heading with the cells below it."""
        return cls(key, caption, tuple(columns), list(zip(*columns.values(), strict=True)))

    @classmethod
    def by_rows(cls, key: str, caption: str, rows: Sequence[Mapping[str, Any]]) -> DataTable:
        """Every cell with its heading; one row or more."""
        return cls(key, caption, tuple(rows[0]), [tuple(row.values()) for row in rows])


@dataclass(frozen=True, eq=False, init=False)
class Part:
    """An item of a paper, run again.

    item: its name there, e.g. "Table 2", "Section 6.2", "Figures 3–5". set_up: what was run, with seeds and every
    assumption the paper leaves open. differences: where paper and run disagree and why (may be empty). figures: plots
    and other markup of the report. One table or figure need not stand in a tuple.
    """

    item: str
    title: str
    set_up: str
    findings: tuple[Finding, ...]
    tables: tuple[DataTable, ...]
    figures: tuple[PagePart, ...]
    differences: str

    def __init__(
        self,
        item: str,
        title: str,
        set_up: str,
        findings: Iterable[Finding],
        tables: DataTable | Iterable[DataTable] = (),
        figures: PagePart | Iterable[PagePart] = (),
        differences: str = "",
    ) -> None:
        tables = (tables,) if isinstance(tables, DataTable) else tuple(tables)
        figures = (figures,) if isinstance(figures, PagePart) else tuple(figures)
        given = (item, title, set_up, tuple(findings), tables, figures, differences)
        for field, value in zip(fields(self), given, strict=True):
            object.__setattr__(self, field.name, value)


@dataclass(frozen=True)
class Study:
    """What is run in one go, because its parts share designs or data. seconds: rough processor time of a full run, so
    that long ones begin first. run: a function of a module, so that other processes can run it; one part or more."""

    key: str
    seconds: float
    run: Callable[[Effort], Part | Sequence[Part]]


@dataclass(frozen=True)
class Paper:
    """name: as on the command line. citation: authors, title, where, when. about: its subject, in two sentences."""

    name: str
    citation: str
    about: str
    studies: tuple[Study, ...]


@cache
def published(folder: str, name: str = "published") -> dict[str, Any]:
    """What ``exciter_papers/<folder>/<name>.yaml`` holds, e.g. ``published("rackl")["table_1"]``."""
    text = (files("exciter_papers") / folder / f"{name}.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return data


def inventory(folder: str) -> dict[str, tuple[str, ...] | str]:
    """Every table, figure and numbered section of a paper: the items of ours that run it, or why none does."""
    places = published(folder, "inventory")
    return {place: what if isinstance(what, str) else tuple(what) for place, what in places.items()}
