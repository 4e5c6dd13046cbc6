"""What every settings class promises, for the tests of the families."""

from __future__ import annotations

from typing import Any, get_args

import yaml

from exciter.settings import Settings, fill, written, yaml_text
from exciter.settings.fill import json_schema, marker_of, settings_fields


def conforms(settings: Settings, **context: Any) -> None:
    """What is written is read as the same, also as YAML; fields say what they may be; there is a schema."""
    cls, data = type(settings), _below_the_word(settings, written(settings))
    assert fill(cls, data, "again", **context) == settings
    assert fill(cls, yaml.safe_load(yaml_text(data)), "again", **context) == settings
    assert unmarked(cls) == []
    assert json_schema(cls)["additionalProperties"] is False


def unmarked(cls: type[Settings]) -> list[str]:
    """Fields whose annotation has neither a marker nor a settings class."""
    return [
        f"{cls.__name__}: {key}" for key, hint in settings_fields(cls).items() if key != "robot" and not _told(hint)
    ]


def _told(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, Settings):
        return unmarked(hint) == []
    return marker_of(hint) is not None or any(_told(one) for one in get_args(hint))


def _below_the_word(settings: Settings, data: Any) -> Any:
    """The settings alone, without the word that chooses the class."""
    word, tag = getattr(settings, "word", None), settings.tag
    if word is None:
        return data
    if tag is not None:
        return {key: value for key, value in data.items() if key != tag}
    return {} if data == word else data[word]
