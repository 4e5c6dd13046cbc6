"""Numbers and units in words: digits without exponents, times in the unit that fits, one and many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

WITHOUT_EXPONENT = (1e-4, 1e9)  # sizes that are written without an exponent
TIME_UNITS_S = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
NEGLIGIBLE_TIME_S = 1e-6  # [s] less is nothing


def number(x: float, digits: int = 3) -> str:
    """``digits`` significant ones: 4970, 0.0123, 1.2e-07."""
    text = f"{x:.{digits}g}"
    if "e" not in text or not WITHOUT_EXPONENT[0] <= abs(x) < WITHOUT_EXPONENT[1]:
        return text
    return f"{float(text):.0f}" if abs(x) >= 1.0 else np.format_float_positional(float(text), trim="-")


def percent(share: float, digits: int = 2) -> str:
    """``140 %``."""
    return f"{number(100.0 * share, digits)} %"


def counted(many: int, what: str) -> str:
    """``one sample``, ``3 samples``."""
    return f"one {what}" if many == 1 else f"{many} {what}s"


def time_span(seconds: float, digits: int = 3) -> str:
    """A time in s, ms or µs; ``0`` below a microsecond."""
    size = abs(seconds)
    if size < NEGLIGIBLE_TIME_S:
        return "0"
    unit = next(unit for unit, one in TIME_UNITS_S.items() if size >= one * (1.0 - 1e-9))
    return f"{number(seconds / TIME_UNITS_S[unit], digits)} {unit}"


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
