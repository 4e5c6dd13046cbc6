"""JSON schema (draft 2020-12) of a settings file, for editors that check and complete it while it is written.

A schema is put together from parts: ``(None, cls)`` has its keys at the top of the file, ``("simulate", cls)`` below
that key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from exciter.settings.fill import Settings, json_schema

SCHEMA_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def file_schema(
    title: str, parts: Iterable[tuple[str | None, type[Settings]]], unchecked: Iterable[str] = ()
) -> dict[str, Any]:
    """Of a whole file, which may be empty. unchecked: further keys, whose values may be anything."""
    properties: dict[str, Any] = {}
    for key, cls in parts:
        schema = json_schema(cls)
        properties |= schema["properties"] if key is None else {key: schema}
    properties = {**properties, **{key: True for key in unchecked if key not in properties}}
    whole = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"$schema": SCHEMA_DRAFT, "title": title, **_or_null(_with_nulls(whole))}


def _with_nulls(schema: Any) -> Any:
    """A key without a value, as of a section whose lines all stand behind a #, is one that is not given."""
    if isinstance(schema, list):
        return [_with_nulls(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    copied = {key: _with_nulls(value) for key, value in schema.items()}
    if isinstance(properties := copied.get("properties"), dict):
        needed = copied.get("required", ())
        copied["properties"] = {key: one if key in needed else _or_null(one) for key, one in properties.items()}
    return copied


def _or_null(schema: Any) -> Any:
    if not isinstance(schema, dict) or {"type": "null"} in schema.get("anyOf", ()):
        return schema
    if "type" in schema and not {"enum", "const"} & set(schema):
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return {**schema, "type": list(dict.fromkeys([*types, "null"]))}
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    return {"anyOf": [schema, {"type": "null"}]}
