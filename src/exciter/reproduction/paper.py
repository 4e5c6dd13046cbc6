"""A paper as a list of studies; a study runs and gives parts: items of the paper with findings, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from exciter.report.markup import Markup
from exciter.report.plot import Plot
from exciter.reproduction.finding import Finding, Value, unboxed

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
    rows: Sequence[Sequence[Value]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(tuple(unboxed(value) for value in row) for row in self.rows))


@dataclass(frozen=True, eq=False)
class Part:
    """An item of a paper, run again.

    item: its name there, e.g. "Table 2", "Section 6.2", "Figures 3–5". set_up: what was run, with seeds and every
    assumption the paper leaves open. differences: where paper and run disagree and why (may be empty). figures: plots
    and other markup of the report.
    """

    item: str
    title: str
    set_up: str
    findings: tuple[Finding, ...]
    tables: tuple[DataTable, ...] = ()
    figures: tuple[Plot | Markup, ...] = ()
    differences: str = ""


@dataclass(frozen=True)
class Study:
    """What is run in one go, because its parts share designs or data. seconds: rough processor time of a full run, so
    that long ones begin first. run: a function of a module, so that other processes can run it."""

    key: str
    seconds: float
    run: Callable[[Effort], Sequence[Part]]


@dataclass(frozen=True)
class Paper:
    """name: as on the command line. citation: authors, title, where, when. about: its subject, in two sentences."""

    name: str
    citation: str
    about: str
    studies: tuple[Study, ...]
