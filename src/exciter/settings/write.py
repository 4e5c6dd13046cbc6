"""Settings as plain data, and as YAML that gives the same settings again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from exciter.settings.fill import ROBOT_FIELD, Settings, marker_of, settings_fields


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
        if not field.init or field.name in (ROBOT_FIELD, *settings.inner):
            continue
        value = getattr(settings, field.name)
        if field.name in settings.flat:
            choice = marker_of(hints[field.name]) is not None
            inner = {} if value is None else written(value) if choice else _changed(value)
            data |= {inner: {}} if isinstance(inner, str) else inner
            continue
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        changed = value is not None if settings.complete else not _same(value, default)
        if default is dataclasses.MISSING or changed:
            key = settings.called.get(field.name, field.name)
            marker = marker_of(hints[key])
            data[key] = written(value if marker is None else marker.word_of(value))
    return data


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other) if type(one) is type(other) or not isinstance(one, Settings) else False


def yaml_text(data: Mapping[str, Any]) -> str:
    """YAML as people write it: short lists and mappings on one line."""
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100))
