"""Settings objects in plain language, instead of the names of classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

import numpy as np

CAPITALS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # where a word of a class's name begins
MOST_LISTED_VALUES = 40  #: more numbers in a row are counted, not listed
#: of a field, where it is not its own name
FIELD_WORDS = {"parallel_filter": "both sides through", "low_pass": "kind", "cutoff": "cut-off [Hz]"}


def named(thing: object) -> str:
    """Of a settings object, without its settings."""
    return getattr(type(thing), "title", None) or CAPITALS.sub(" ", type(thing).__name__.lstrip("_")).lower()


def in_full(thing: Any, depth: int = 3) -> str:
    """The same with every setting that is not the usual one: ``Coulomb friction (shape: Dahl pre-sliding (…))``."""
    if hasattr(thing, "joint_names"):  # a robot is no setting: its name is enough
        return str(thing.name)
    if not is_dataclass(thing) or isinstance(thing, type):
        return _plain(thing, depth)
    given = [
        f"{FIELD_WORDS.get(field.name) or field.name.replace('_', ' ')}: {in_full(value, depth - 1)}"
        for field in fields(thing)
        if field.repr and not _usual(field, value := getattr(thing, field.name))
    ]
    return named(thing) + (f" ({', '.join(given)})" if given and depth > 0 else "")


def listed(things: Iterable[object], empty: str = "none") -> str:
    return ", ".join(in_full(thing) for thing in things) or empty


def _usual(field: Field[Any], value: Any) -> bool:
    default: Any = field.default_factory() if field.default_factory is not MISSING else field.default
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return bool(np.array_equal(value, default))
    return value is default or bool(np.all(value == default))


def _size(value: Any) -> int:
    """Of a tuple in tuples, which need not be a matrix."""
    return sum(map(_size, value)) if isinstance(value, tuple | list) else int(np.size(value))


def _plain(value: Any, depth: int) -> str:
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−").replace("inf", "∞").replace("nan", "–")
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {in_full(one, depth - 1)}" for key, one in value.items()) or "none"
    if isinstance(value, tuple | list | np.ndarray):
        if (size := _size(value)) > MOST_LISTED_VALUES:
            return f"{size} values"
        return ", ".join(in_full(one, depth - 1) for one in value) or "none"
    if value is None:
        return "not given"
    return type(value).__name__ if callable(value) else str(value)
