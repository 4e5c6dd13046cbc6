"""One published figure beside the one reached here, and a verdict that is computed, never given."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ExciterError

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
    verdict = Verdict.MET if abs(reached - published) <= tolerance else Verdict.DIFFERS
    return Finding(quantity, float(published), float(reached), verdict, note)


def at_most(quantity: str, published: float, reached: float, note: str = "") -> Finding:
    """The smaller the better; met when the difference is below 0.5 %."""
    verdict = _ordered(reached - published, published)
    return Finding(quantity, float(published), float(reached), verdict, note)


def at_least(quantity: str, published: float, reached: float, note: str = "") -> Finding:
    """The larger the better; met when the difference is below 0.5 %."""
    verdict = _ordered(published - reached, published)
    return Finding(quantity, float(published), float(reached), verdict, note)


def _ordered(excess: float, published: float) -> Verdict:
    if abs(excess) <= 0.005 * abs(published):
        return Verdict.MET
    return Verdict.BEATEN if excess < 0 else Verdict.SHORT


def typical(quantity: str, published: float, sample: ArrayLike, note: str = "", chance: float = 0.02) -> Finding:
    """Met when a published draw of something random could be one of ``sample``, repetitions of it here: two-sided
    chance of a rank as extreme as its own. Reached is the median; the note gets the range it was judged by."""
    values = np.asarray(sample, dtype=np.float64)
    below, above = np.mean(values <= published), np.mean(values >= published)
    met = 2.0 * min(below, above) >= chance
    low, high = np.quantile(values, [chance / 2, 1.0 - chance / 2])
    spread = f"{len(values)} repetitions, {100 * (1 - chance):g} % within {low:.4g} … {high:.4g}"
    words = f"{spread}; {note}" if note else spread
    return Finding(quantity, float(published), float(np.median(values)), Verdict.MET if met else Verdict.DIFFERS, words)


def claim(statement: str, holds: bool, note: str = "", published: bool = True) -> Finding:
    """A statement of the paper, and whether it holds here."""
    return Finding(statement, published, bool(holds), Verdict.MET if holds == published else Verdict.DIFFERS, note)


def shown(quantity: str, reached: Value, note: str = "") -> Finding:
    """A figure of ours where the paper has none."""
    return Finding(quantity, None, reached, Verdict.SHOWN, note)


def closed(quantity: str, published: Value, note: str) -> Finding:
    """A figure that nobody can run again; note: what was not published."""
    return Finding(quantity, published, None, Verdict.CLOSED, note)


def text_of(value: Value, digits: int = 4) -> str:
    """A value for people."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return f"{value:.{digits}g}".replace("-", "−") if math.isfinite(value) else "∞"
