"""Numbers as they were printed: what they say, and how exactly; and the tables of the paper that are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from exciter.reproduction.published import published
from exciter.typing import Array

FOLDER, FILE = "gautier_khalil", "published_noise"


@dataclass(frozen=True)
class Printed:
    """half: half a unit of the last digit, the most that rounding can have changed it by."""

    value: float
    half: float

    @classmethod
    def of(cls, text: str) -> Printed:
        number = Decimal(text)
        exponent = number.as_tuple().exponent
        assert isinstance(exponent, int), f"'{text}' is no number"
        return cls(float(number), 0.5 * 10.0**exponent)

    @property
    def relative(self) -> float:
        """The half over the value."""
        return self.half / abs(self.value)


def data() -> dict[str, Any]:
    """Of ``published_noise.yaml``."""
    return published(FOLDER, FILE)


def noise_levels() -> tuple[float, ...]:
    """k"""
    return tuple(float(k) for k in data()["noise"]["k"])


@dataclass(frozen=True, eq=False)
class NoiseTable:
    """Tables 3–5 and 8–10: what was printed for one sequence, one number per k and column."""

    number: str
    sequence: str
    r: int
    cond: Printed
    equilibrium: Printed
    columns: dict[str, tuple[Printed, ...]]
    corrected: dict[str, Array]

    @classmethod
    def of(cls, number: str, sequence: str) -> NoiseTable:
        table = data()["tables"][number]
        own = table[sequence]
        columns = {
            key: tuple(Printed.of(text) for text in texts) for key, texts in own.items() if key not in ("cond", "s")
        }
        corrected = {key: np.array([one.value for one in values]) for key, values in columns.items()}
        for wrong in data()["misprints"]["tables"]:
            if (wrong["table"], wrong["sequence"]) == (number, sequence):
                at = data()["noise"]["k"].index(wrong["k"])
                corrected[wrong["column"]][at] = float(wrong["corrected"])
        return cls(number, sequence, table["r"], Printed.of(own["cond"]), Printed.of(own["s"]), columns, corrected)


@dataclass(frozen=True)
class PrintedSequence:
    """A sequence that the paper identifies with: what stands at the feet of its tables, with all digits."""

    cond: Printed
    equilibrium: Printed

    @classmethod
    def of(cls, r: int, sequence: str) -> PrintedSequence:
        tables = [NoiseTable.of(number, sequence) for number, table in data()["tables"].items() if table["r"] == r]
        cond = min((table.cond for table in tables), key=lambda one: one.half)
        return cls(cond, tables[0].equilibrium)


IDENTIFIED = (30, 15)  #: r of these sequences


@dataclass(frozen=True, eq=False)
class ParameterTable:
    """Tables 6, 7, 11 and 12, (15,) each: X, X̂, X − X̂, the same over X, and σ, as printed; corrected: with the
    misprints removed; half: what rounding leaves open of each column."""

    number: str
    sequence: str
    r: int
    k: float
    norms: str
    printed: Array
    corrected: Array
    half: Array

    @classmethod
    def of(cls, number: str) -> ParameterTable:
        table = data()["parameters"][number]
        numbers = [[Printed.of(text) for text in row] for row in table["rows"]]
        printed = np.array([[one.value for one in row] for row in numbers])
        corrected = printed.copy()
        for wrong in data()["misprints"]["parameters"]:
            if wrong["table"] == number:
                column = COLUMNS.index(wrong["column"])
                corrected[names().index(wrong["name"]), column] = float(wrong["corrected"])
        half = np.array([[one.half for one in row] for row in numbers])
        return cls(number, table["sequence"], table["r"], float(table["k"]), table["norms"], printed, corrected, half)

    @property
    def x(self) -> Array:
        """X (15,), corrected."""
        return self.corrected[:, 0]

    @property
    def error(self) -> Array:
        """X − X̂ (15,), as printed"""
        return self.printed[:, 2]

    @property
    def std(self) -> Array:
        """σ (15,)"""
        return self.printed[:, 4]


COLUMNS = ("X", "estimate", "error", "relative error", "σ")
PARAMETER_TABLES = ("6", "7", "11", "12")


def names() -> Sequence[str]:
    """Of the base parameters, in the paper's order, which is the product's."""
    found: list[str] = data()["names"]
    return found
