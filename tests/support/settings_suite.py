"""What every settings class of every registry must do: it is described, and what is written of it is read as the
same. The suites of the families call it with objects of their own."""

from __future__ import annotations

import json
from typing import Any, get_args

import yaml

from exciter.settings import OneOf, Registry, Settings, fill, written, yaml_text
from exciter.settings.field_markers import Kind
from exciter.settings.fill import json_schema, settings_fields


def is_marked(hint: Any) -> bool:
    """A marker, a settings class, or a tuple or choice of such."""
    if isinstance(hint, type) and issubclass(hint, Settings):
        return True
    if any(isinstance(marker, Kind) for marker in getattr(hint, "__metadata__", ())):
        return True
    inner = [one for one in get_args(hint) if one not in (type(None), Ellipsis)]
    return bool(inner) and all(map(is_marked, inner))


def check_described(registry: Registry[Any], **choice: Any) -> None:
    """Every class has a word and a title of its own, every field says what it may be, and there is a schema of all."""
    titles = []
    for cls in registry:
        titles.append(cls.title)
        assert "word" in vars(cls), cls
        for name, hint in settings_fields(cls).items():
            assert is_marked(hint), f"{cls.__name__}.{name} has no marker"
        assert json_schema(cls)["additionalProperties"] is False
    assert len(set(titles)) == len(titles)
    json.dumps(OneOf(registry, **choice).schema(), allow_nan=False)


def check_read_again(hint: Any, thing: Any, **context: Any) -> None:
    """From plain data, from JSON and from YAML."""
    data = written(thing)
    for again in (data, json.loads(json.dumps(data, allow_nan=False)), yaml.safe_load(yaml_text({"x": data}))["x"]):
        assert fill(hint, again, "again", **context) == thing
