"""HTML through templates: everything is escaped but what a part of the page wrote; numbers as people read them."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import visible
from exciter.files import readable_json

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@dataclass_transform(frozen_default=True, eq_default=False)
class PagePart:
    """A piece of a page: every class below is made a frozen dataclass. The macro of its ``template`` that has the name
    of its class (``joint_choice`` of JointChoice) lays it out; templates place parts as they place text."""

    template: ClassVar[str] = "parts.html"

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False)(cls)

    def html(self) -> str:
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()
        text: str = getattr(templates().get_template(self.template).module, name)(self)
        return text

    def __html__(self) -> str:
        """What a template places unescaped."""
        return self.html()


@cache
def templates() -> Environment:
    """Loaded when the first page is written: no command waits for it before."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("exciter.report"),
        autoescape=lambda name: not (name or "").endswith(".txt"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # without characters that turn or hide what stands around them; what marks it up is escaped afterwards
        finalize=lambda text: text if hasattr(text, "__html__") else visible(str(text), keep="\n\t"),
    )
    found.filters |= {"number": number, "percent": percent, "many": many, "data": script_data, "sort_key": sort_key}
    return found


def explained(section: str, **values: Any) -> str:
    """What a section is about, or the head of a page, in the words of ``explanations.txt``."""
    text: str = getattr(templates().get_template("explanations.txt").module, section)(**values)
    return text.strip().replace("\n", " ")


# -- numbers -----------------------------------------------------------------------------------------------------------


def number(value: float, digits: int = 4) -> str:
    """A true minus sign, few digits."""
    if not np.isfinite(value):
        return "–" if np.isnan(value) else ("∞" if value > 0 else "−∞")
    return f"{value:.{digits}g}".replace("-", "−")


def percent(share: float) -> str:
    """A share as a percentage that does not break across lines; the very small and the very large as inequalities."""
    if 0.0 < share < 1e-5:
        return "< 0.001\u00a0%"
    if share > 10.0:
        return "> 1000\u00a0%"
    return f"{number(100.0 * share, 4 if share > 9.99 else 3)}\u00a0%"  # 1000, not 1e+03


def many(count: int, what: str) -> str:
    """``1 run``, ``3 runs``; thousands are set apart."""
    return f"{count:,} {what}{'' if count == 1 else 's'}".replace(",", "\u202f")


def sort_key(value: float) -> str:
    """Full precision, as JavaScript reads it; empty for unknown values, which sort last."""
    return "" if np.isnan(value) else repr(float(value)).replace("inf", "Infinity")


# -- data for the scripts of a page ------------------------------------------------------------------------------------


def packed(values: ArrayLike, kind: str = "f32") -> dict[str, str]:
    """An array as base64 of little-endian float32, a third of the size of JSON numbers; NaN stands for a gap."""
    array = np.asarray(values, dtype={"f32": "<f4", "u32": "<u4", "u16": "<u2"}[kind])
    return {kind: base64.b64encode(array.tobytes()).decode("ascii")}


def packed_whole(values: ArrayLike) -> dict[str, str]:
    """The same of whole numbers below 2³², in 16 bits each where that is enough."""
    return packed(values, "u32" if np.max(values, initial=0) >= 2**16 else "u16")


def script_data(data: Any) -> Markup:
    """JSON inside a script element, which no text in it can end: every ``<`` is written as an escape."""
    from markupsafe import Markup

    return Markup(readable_json(data, separators=(",", ":")).replace("<", "\\u003c"))
