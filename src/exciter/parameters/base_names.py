"""Names of the standard parameters, in the papers' words, and the orders in which people read and keep them.

``XX2`` is a symbol and a link number counted from 1. The symbols of the inertial parameters are those of
``inertial``; a joint term brings its own (Ia1, Fv1, …).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

INERTIA_SYMBOLS = ("XX", "XY", "XZ", "YY", "YZ", "ZZ")  #: second moments, as the papers list them
FIRST_MOMENT_SYMBOLS = ("MX", "MY", "MZ")

_READING = {s: i for i, s in enumerate((*INERTIA_SYMBOLS, *FIRST_MOMENT_SYMBOLS, "M"))}
# What a link keeps when something has to go (Khalil & Gautier): a turning link gives YY, MZ and M away to
# the link that carries it, a sliding link its six inertias.
_KEEP_REVOLUTE = ("ZZ", "XX", "XY", "XZ", "YZ", "MX", "MY", "MZ", "YY", "M")
_KEEP_PRISMATIC = ("M", "MX", "MY", "MZ", "ZZ", "XX", "XY", "XZ", "YZ", "YY")
_NAME = re.compile(r"^(.*?)(\d+)$")
_LAST = 10**9  # link "number" of a name that carries none: sorted to the end


def split_name(name: str) -> tuple[str, int]:
    """('XX', 2) of 'XX2'; a name without a number gets a number beyond every link."""
    match = _NAME.match(name)
    return (match[1], int(match[2])) if match else (name, _LAST)


def is_inertial(name: str) -> bool:
    symbol, link = split_name(name)
    return symbol in _READING and link != _LAST


def regrouped_name(name: str) -> str:
    """'ZZR1' of 'ZZ1': the papers' mark for a parameter that stands for a combination."""
    symbol, link = split_name(name)
    return f"{symbol}R" if link == _LAST else f"{symbol}R{link}"


def reading_order(names: Sequence[str]) -> list[int]:
    """Indices as papers list them: per link inertias, first moments, mass; then the joint terms as given."""

    def key(index: int) -> tuple[int, int, int]:
        symbol, link = split_name(names[index])
        return (0, link, _READING[symbol]) if is_inertial(names[index]) else (1, index, 0)

    return sorted(range(len(names)), key=key)


def keeping_order(names: Sequence[str], prismatic: Collection[int] = ()) -> list[int]:
    """Indices from 'keep by all means' to 'give away first'; ``prismatic``: link numbers (from 1) that slide.

    Links nearer to the base come first: outer links are grouped into inner ones, and joint terms into links.
    """

    def key(index: int) -> tuple[int, int, int]:
        symbol, link = split_name(names[index])
        if not is_inertial(names[index]):
            return 1, index, 0
        order = _KEEP_PRISMATIC if link in prismatic else _KEEP_REVOLUTE
        return 0, link, order.index(symbol)

    return sorted(range(len(names)), key=key)
