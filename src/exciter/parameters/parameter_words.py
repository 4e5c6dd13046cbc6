"""What a parameter's name stands for, in plain words, and the order in which many of them are read best."""

from __future__ import annotations

import re
from collections.abc import Sequence

INERTIAL = {
    "M": "mass",
    **{f"M{axis.upper()}": f"mass × centre, {axis}" for axis in "xyz"},
    **{f"{pair.upper()}": f"inertia {pair}" for pair in ("xx", "xy", "xz", "yy", "yz", "zz")},
}
#: of drives, by the symbol before the number of the joint
DRIVE = {
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
NAME = re.compile(r"([A-Za-z]+?)(R?)(\d+)")


def meaning(name: str, joints: Sequence[str]) -> str:
    """``inertia zz of joint_1's link, with others`` for ZZR1, ``viscous friction, joint_3`` for Fv3; nothing for a term
    of the user's."""
    found = NAME.fullmatch(name)
    if found is None or not 1 <= int(found[3]) <= len(joints):
        return "–"
    symbol, grouped, joint = found[1], found[2], joints[int(found[3]) - 1]
    if symbol in INERTIAL:
        return f"{INERTIAL[symbol]}, link of {joint}{', and more' if grouped else ''}"
    return f"{DRIVE[symbol]}, {joint}" if symbol + grouped in DRIVE else "–"


def reading_order(names: Sequence[str]) -> list[int]:
    """Indices: parameters of one kind together, by joint; those of links stay as they are, first."""
    kinds: dict[str, int] = {}
    keys = []
    for k, name in enumerate(names):
        found = NAME.fullmatch(name)
        symbol = name if found is None else found[1]
        link = symbol in INERTIAL
        kind = kinds.setdefault("" if link else symbol, len(kinds))
        keys.append((kind, k if link or found is None else int(found[3])))
    return sorted(range(len(names)), key=lambda k: keys[k])
