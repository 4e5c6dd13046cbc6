"""One published figure beside the one reached here, and a verdict that is computed, never given."""

from __future__ import annotations

import math
import re
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


def claim(statement: str, holds: bool, note: str = "", published: bool = True) -> Finding:
    """A statement of the paper, and whether it holds here."""
    return Finding(statement, published, bool(holds), Verdict.MET if holds == published else Verdict.DIFFERS, note)


def shown(quantity: str, reached: Value, note: str = "") -> Finding:
    """A figure of ours where the paper has none."""
    return Finding(quantity, None, reached, Verdict.SHOWN, note)


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
