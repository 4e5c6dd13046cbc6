"""Names of parameters: in the papers' words, the orders in which people read and keep them, and what each stands for.

``XX2`` is a symbol and a link number counted from 1. The symbols of the inertial parameters are those of
``inertial``; a joint term brings its own (Ia1, Fv1, …)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

INERTIA_SYMBOLS = ("XX", "XY", "XZ", "YY", "YZ", "ZZ")  #: second moments, as the papers list them
FIRST_MOMENT_SYMBOLS = ("MX", "MY", "MZ")

READING_ORDER = {s: i for i, s in enumerate((*INERTIA_SYMBOLS, *FIRST_MOMENT_SYMBOLS, "M"))}
# What a link keeps when something has to go (Khalil & Gautier): a turning link gives YY, MZ and M away to
# the link that carries it, a sliding link its six inertias.
_KEEP_REVOLUTE = ("ZZ", "XX", "XY", "XZ", "YZ", "MX", "MY", "MZ", "YY", "M")
_KEEP_PRISMATIC = ("M", "MX", "MY", "MZ", "ZZ", "XX", "XY", "XZ", "YZ", "YY")
NAME_AND_NUMBER = re.compile(r"^(.*?)(\d+)$")
UNNUMBERED_LINK_ORDER = 10**9  # link "number" of a name that carries none: sorted to the end
INERTIAL_TITLES = {
    "M": "mass",
    **{f"M{axis.upper()}": f"mass × centre, {axis}" for axis in "xyz"},
    **{f"{pair.upper()}": f"inertia {pair}" for pair in ("xx", "xy", "xz", "yy", "yz", "zz")},
}
#: of drives, by the symbol before the number of the joint
DRIVE_TITLES = {
    "Ia": "rotor inertia",
    "Fv": "viscous friction",
    "Fs": "dry friction",
    "Fsp": "dry friction, forwards",
    "Fsn": "dry friction, backwards",
    "Fst": "Stribeck friction",
    "Fr": "friction with √speed",
    "Fl": "friction per load",
    "off": "offset",
    "Rs": "ripple, sine",
    "Rc": "ripple, cosine",
    "Ks": "spring, stiffness",
    "Ps": "spring, preload",
    "Gs": "gravity spring, sine",
    "Gc": "gravity spring, cosine",
    "Fg": "gas spring, force",
    "Iam": "rotor inertia, coupled motor",
    "fvm": "viscous friction, coupled motor",
    "fsm": "dry friction, coupled motor",
    "fqm": "friction with √speed, coupled motor",
}
SYMBOL_AND_NUMBER = re.compile(r"([A-Za-z]+?)(R?)(\d+)")


def split_name(name: str) -> tuple[str, int]:
    """('XX', 2) of 'XX2'; a name without a number gets a number beyond every link."""
    match = NAME_AND_NUMBER.match(name)
    return (match[1], int(match[2])) if match else (name, UNNUMBERED_LINK_ORDER)


def is_inertial(name: str) -> bool:
    symbol, link = split_name(name)
    return symbol in READING_ORDER and link != UNNUMBERED_LINK_ORDER


def regrouped_name(name: str) -> str:
    """'ZZR1' of 'ZZ1': the papers' mark for a parameter that stands for a combination."""
    symbol, link = split_name(name)
    return f"{symbol}R" if link == UNNUMBERED_LINK_ORDER else f"{symbol}R{link}"


def paper_order(names: Sequence[str]) -> list[int]:
    """Indices as papers list them: per link inertias, first moments, mass; then the joint terms as given."""
    return _by_link(names, lambda symbol, link: READING_ORDER[symbol])


def keeping_order(names: Sequence[str], prismatic: Collection[int] = ()) -> list[int]:
    """Indices from 'keep by all means' to 'give away first'; ``prismatic``: link numbers (from 1) that slide. Links
    nearer to the base come first: outer links are grouped into inner ones, and joint terms into links."""
    orders = {True: _KEEP_PRISMATIC, False: _KEEP_REVOLUTE}
    return _by_link(names, lambda symbol, link: orders[link in prismatic].index(symbol))


def _by_link(names: Sequence[str], place: Callable[[str, int], int]) -> list[int]:
    """Indices of inertial parameters link by link, by their place within it; then the joint terms as given."""

    def key(index: int) -> tuple[int, int, int]:
        symbol, link = split_name(names[index])
        return (0, link, place(symbol, link)) if is_inertial(names[index]) else (1, index, 0)

    return sorted(range(len(names)), key=key)


def meaning(name: str, joints: Sequence[str], bodies: Sequence[str] | None = None) -> str:
    """``inertia zz, link of joint_1, and more`` for ZZR1, ``viscous friction, joint_3`` for Fv3, – for a user's.
    bodies: names by number of what inertial parameters belong to, those of the joints unless given."""
    found = SYMBOL_AND_NUMBER.fullmatch(name)
    if found is not None and found[1] in INERTIAL_TITLES:
        joints = joints if bodies is None else bodies
    if found is None or not 1 <= int(found[3]) <= len(joints):
        return "–"
    symbol, grouped, joint = found[1], found[2], joints[int(found[3]) - 1]
    if symbol in INERTIAL_TITLES:
        return f"{INERTIAL_TITLES[symbol]}, link of {joint}{', and more' if grouped else ''}"
    return f"{DRIVE_TITLES[symbol]}, {joint}" if symbol + grouped in DRIVE_TITLES else "–"


def reading_order(names: Sequence[str]) -> list[int]:
    """Indices: parameters of one kind together, by joint; those of links stay as they are, first."""
    kinds: dict[str, int] = {}
    keys = []
    for k, name in enumerate(names):
        found = SYMBOL_AND_NUMBER.fullmatch(name)
        symbol = name if found is None else found[1]
        link = symbol in INERTIAL_TITLES
        kind = kinds.setdefault("" if link else symbol, len(kinds))
        keys.append((kind, k if link or found is None else int(found[3])))
    return sorted(range(len(names)), key=lambda k: keys[k])
