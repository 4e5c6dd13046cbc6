"""HTML from Python: everything is escaped unless it is markup already."""

from __future__ import annotations

import base64
import html
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import visible
from exciter.files import readable_json


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(content: object) -> Markup:
    """Content as HTML; markup is left as it is."""
    return content if isinstance(content, Markup) else Markup(_text(content))


def _text(content: object) -> str:
    """Without what browsers would act on: markup, and characters that turn or hide what stands around them."""
    return html.escape(visible(str(content), keep="\n\t"))


def joined(*contents: object) -> Markup:
    return Markup("".join(escaped(content) for content in contents))


def element(name: str, *contents: object, **attributes: object) -> Markup:
    """``<name …>contents</name>``. Attributes: ``class_`` means class, underscores are dashes, None is left out,
    True is a bare attribute."""
    text = ""
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            text += f" {attribute}"
        elif value is not None and value is not False:
            text += f' {attribute}="{_text(value)}"'
    return Markup(f"<{name}{text}>{joined(*contents)}</{name}>")


def number(value: float, digits: int = 4) -> str:
    """A number for people: a true minus sign, few digits."""
    if not np.isfinite(value):
        return "–" if np.isnan(value) else ("∞" if value > 0 else "−∞")
    return f"{value:.{digits}g}".replace("-", "−")


def percent(share: float) -> str:
    """A share as a percentage that does not break across lines; next to nothing, and beyond all measure, in words."""
    if 0.0 < share < 1e-5:
        return "< 0.001\u00a0%"
    if share > 10.0:
        return "> 1000\u00a0%"
    return f"{number(100.0 * share, 4 if share > 9.99 else 3)}\u00a0%"  # 1000, not 1e+03


def chance(p_value: float) -> str:
    """A probability for people: next to nothing in words."""
    return "< 0.001" if p_value < 1e-3 else number(p_value, 2)


def packed(values: ArrayLike) -> dict[str, str]:
    """An array as base64 of little-endian float32: a third of the size of JSON numbers; NaN stands for a gap."""
    return {"f32": base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")}


def data_block(data: Any) -> Markup:
    """Data for the page's scripts. No text inside can end the element: every ``<`` is written as an escape."""
    text = readable_json(data, separators=(",", ":"))
    return Markup(f'<script type="application/json">{text.replace("<", chr(92) + "u003c")}</script>')
