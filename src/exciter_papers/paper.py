"""A paper as a list of studies; a study runs and gives parts: items of the paper with findings, tables and figures.

A finding is one published figure beside the one reached here, with a verdict that is computed, never given. Published
figures are data files beside the code of each paper, so that no table is typed into a program.
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
    BEATEN = "beaten"  #: better than published
    SHORT = "short"  #: worse than published
    DIFFERS = "differs"  #: the set-up as described gives something else
    CLOSED = "not runnable"  #: what it takes was never published
    SHOWN = "shown"  #: nothing was published to compare with


UNEXPLAINED = (Verdict.SHORT, Verdict.DIFFERS, Verdict.CLOSED)  #: need words and evidence


@dataclass(frozen=True)
class Finding:
    """quantity: what it is, with its unit. published, reached: None where there is none. note: set-up, spread over
    repetitions, evidence; what is short, differs or cannot be run must have one."""

    quantity: str
    published: Value
    reached: Value
    verdict: Verdict
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "published", unboxed(self.published))
        object.__setattr__(self, "reached", unboxed(self.reached))
        if self.verdict in UNEXPLAINED and not self.note:
            raise ExciterError(f"'{self.quantity}' is {self.verdict}: say why, with the evidence")


def same(quantity: str, published: float, reached: float, tolerance: float, note: str = "") -> Finding:
    """Met when both agree within ``tolerance``, absolute: half a unit of the last printed digit, or more where ``note``
    says why."""
    rounding = 1e-9 * (abs(published) + tolerance)  # 12.75 − 12.7 is more than 0.05 in binary
    verdict = Verdict.MET if abs(reached - published) <= tolerance + rounding else Verdict.DIFFERS
    return Finding(quantity, float(published), float(reached), verdict, note)


def at_most(quantity: str, published: float, reached: float, note: str = "", tie: float | None = None) -> Finding:
    """The smaller the better; met when they differ by ``tie`` at most: 0.5 % unless given, as for logarithms."""
    verdict = _ordered(reached - published, 0.005 * abs(published) if tie is None else tie)
    return Finding(quantity, float(published), float(reached), verdict, note)


def at_least(quantity: str, published: float, reached: float, note: str = "", tie: float | None = None) -> Finding:
    """The larger the better; otherwise like ``at_most``."""
    verdict = _ordered(published - reached, 0.005 * abs(published) if tie is None else tie)
    return Finding(quantity, float(published), float(reached), verdict, note)


def _ordered(excess: float, tie: float) -> Verdict:
    if abs(excess) <= tie:
        return Verdict.MET
    return Verdict.BEATEN if excess < 0 else Verdict.SHORT


def typical(
    quantity: str, published: float, sample: ArrayLike, note: str = "", chance: float = 0.02, of: str = "repetitions"
) -> Finding:
    """Met when a published draw of something random could be one of ``sample``, ours: no more extreme than all but
    ``chance`` of them, half on each side (than all of them, where they are few). Reached is the median; the note gets
    the range it was judged by, in numbers of the sample. of: what the sample consists of."""
    values = np.sort(np.asarray(sample, dtype=np.float64))
    if not len(values) or np.isnan(values).any():
        raise ExciterError(f"'{quantity}' is compared with {len(values)} {of}, some of them not numbers or none at all")
    outside = math.ceil(len(values) * chance / 2 - 1e-9) - 1  # on each side
    low, high = values[outside], values[-1 - outside]
    verdict = Verdict.MET if low <= published <= high else Verdict.DIFFERS
    share = f"{100 * (1 - chance):g} % within" if outside else "all within"
    words = f"{len(values)} {of}, {share} {text_of(float(low))} … {text_of(float(high))}"
    return Finding(quantity, float(published), float(np.median(values)), verdict, f"{words}; {note}" if note else words)


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
