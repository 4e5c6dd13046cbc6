"""Settings as plain data, as YAML that gives the same settings again, and in plain language for people."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from exciter.settings.fill import ROBOT_FIELD, Settings, marker_of, settings_fields

CAPITALS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # where a word of a class's name begins
MOST_LISTED_VALUES = 40  #: more numbers in a row are counted, not listed
#: of a field, where it is not its own name
FIELD_WORDS = {"parallel_filter": "both sides through", "low_pass": "kind", "cutoff": "cut-off [Hz]"}


def written(value: Any) -> Any:
    """Plain data that ``fill`` reads as the same value: what is at its default is left out."""
    if isinstance(value, Settings):
        return value.entry(value.spelling(_changed(value)))
    if isinstance(value, Mapping):
        return {str(key): written(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return written(value.tolist())
    if isinstance(value, tuple | list):
        return [written(one) for one in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value) if isinstance(value, Path) else type(value).__name__  # of somebody's own: a file cannot name it


def _changed(settings: Any) -> dict[str, Any]:
    """By key, what is not at its default; of complete ones whatever is not None."""
    data: dict[str, Any] = {}
    hints = settings_fields(type(settings))
    for field in dataclasses.fields(settings):
        known = field.name == ROBOT_FIELD and ROBOT_FIELD not in hints
        if not field.init or known or field.name in settings.inner:
            continue
        value = getattr(settings, field.name)
        if field.name in settings.flat:
            choice = marker_of(hints[field.name]) is not None
            inner = {} if value is None else written(value) if choice else _changed(value)
            data |= {inner: {}} if isinstance(inner, str) else inner
            continue
        if value is not None if settings.complete else not _usual(field, value):
            key = settings.called.get(field.name, field.name)
            marker = marker_of(hints[key])
            data[key] = written(value if marker is None else marker.word_of(value))
    return data


def _usual(field: dataclasses.Field[Any], value: Any) -> bool:
    """Whether it is the default; a field without one has none."""
    default: Any = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return bool(np.array_equal(value, default))
    return value is default or bool(np.all(value == default))


def yaml_text(data: Mapping[str, Any]) -> str:
    """YAML as people write it: short lists and mappings on one line."""
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100))


def named(thing: object) -> str:
    """Of a settings object, without its settings."""
    return getattr(type(thing), "title", None) or CAPITALS.sub(" ", type(thing).__name__.lstrip("_")).lower()


def in_full(thing: Any, depth: int = 3) -> str:
    """The same with every setting that is not the usual one: ``Coulomb friction (shape: Dahl pre-sliding (…))``."""
    if hasattr(thing, "joint_names"):  # a robot is no setting: its name is enough
        return str(thing.name)
    if not dataclasses.is_dataclass(thing) or isinstance(thing, type):
        return _plain(thing, depth)
    given = [
        f"{FIELD_WORDS.get(field.name) or field.name.replace('_', ' ')}: {in_full(value, depth - 1)}"
        for field in dataclasses.fields(thing)
        if field.repr and not _usual(field, value := getattr(thing, field.name))
    ]
    return named(thing) + (f" ({', '.join(given)})" if given and depth > 0 else "")


def listed(things: Iterable[object], empty: str = "none") -> str:
    return ", ".join(in_full(thing) for thing in things) or empty


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
