"""Settings: frozen dataclasses that one mechanism fills from plain data.

A settings class derives from ``Settings``; the annotation of each field carries a marker (``kinds``), another settings
class, or a choice from a registry (``registry``). Unknown keys are refused with the nearest one that is known; null
counts as not given; what ``__post_init__`` refuses is told with the path of the section. What Python code gives is
checked by the same markers when the object is made (``checked``), so that a class need not repeat them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from itertools import chain
from types import FunctionType, MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from exciter.errors import ExciterError, shown, unknown_name
from exciter.settings.field_markers import Kind, Refused, class_given, inside, wrong

T = TypeVar("T")
Context = Mapping[str, Any]
Check = Callable[[Any, Context | None], Any]
ROBOT_FIELD = "robot"  #: a field of this name without a marker is no setting: it is the robot that the reader knows
SCHEMA_DRAFT = "https://json-schema.org/draft/2020-12/schema"


class Settings:
    """Base of what a file can fill.

    word, title: of a class in a registry, for files and for people. tag: the key that holds the word where settings
    stand beside it; else they stand below it. flat: fields whose own keys stand directly in this section. also: a class
    whose keys may stand in this section, too: ``spelled`` makes fields of them. inner: fields that only Python gives.
    called: the key of a field in a file, where that is not its name. complete: what is at its default is written, too.
    by_word: of a family from which files choose by word; one of somebody's own, without a word, is told by its class.
    refusal: what is raised where Python code gives what cannot be."""

    word: ClassVar[str]
    title: ClassVar[str]
    tag: ClassVar[str | None] = None
    flat: ClassVar[tuple[str, ...]] = ()
    also: ClassVar[type[Settings] | None] = None
    inner: ClassVar[tuple[str, ...]] = ()
    called: ClassVar[Mapping[str, str]] = {}
    complete: ClassVar[bool] = False
    by_word: ClassVar[bool] = False
    refusal: ClassVar[type[ExciterError]] = ExciterError

    def __post_init__(self) -> None:
        """What Python code gives is checked, and brought into the form that a file's would have."""
        cls: Any = type(self)
        for name, default, check in _checks(cls):
            value = getattr(self, name)
            unread = name == ROBOT_FIELD and value is None  # a file is read before its robot is known
            if value is not default and not unread:
                object.__setattr__(self, name, _told(check, value, f"{cls.__name__}: {name}", cls.refusal))

    def __init_subclass__(cls, **given: Any) -> None:
        """A class that refuses more has a ``__post_init__`` of its own, which comes after."""
        super().__init_subclass__(**given)
        if (own := cls.__dict__.get("__post_init__")) is not None:

            @wraps(own)
            def after_markers(self: Any) -> None:
                Settings.__post_init__(self)
                own(self)

            cls.__post_init__ = after_markers  # type: ignore

    @classmethod
    def spelled(cls, given: Any, context: Context) -> Any:
        """What a file gives, with short spellings (``ground: -0.5``) written out; to be overridden."""
        return given

    def spelling(self, data: dict[str, Any]) -> Any:
        """The inverse of ``spelled``, from the keys that are not at their defaults; to be overridden."""
        return data

    def entry(self, data: Any) -> Any:
        """What ``spelling`` gives, with the word: below it, or beside its tag; to be overridden."""
        word = getattr(type(self), "word", None)
        if self.by_word:
            word = vars(type(self)).get("word", type(self).__name__)
        if word is None:
            return data
        return {self.tag: word, **data} if self.tag is not None else {word: data} if data else word

    @classmethod
    def described(cls, schema: dict[str, Any]) -> dict[str, Any]:
        """JSON schema, with the short spellings; to be overridden."""
        return schema


@cache
def _checks(cls: Any) -> tuple[tuple[str, Any, Check], ...]:
    """Name, default and check of each field; annotations that name what is local to a function say nothing."""
    hints: dict[str, Any] = {}
    for one in reversed(cls.__mro__):
        with suppress(NameError):
            hints |= get_type_hints(one, include_extras=True)
    fields = [one for one in dataclasses.fields(cls) if one.init and one.name in hints]
    return tuple((one.name, one.default, _check_of(hints[one.name])) for one in fields)


def checked(hint: Any, value: Any, where: str, error: type[ExciterError] = ExciterError) -> Any:
    """What Python code gives for a setting of this annotation: an object as it is, plain data as if a file gave it."""
    return _told(_check_of(hint), value, where, error)


def _told(check: Check, value: Any, where: str, error: type[ExciterError], context: Context | None = None) -> Any:
    try:
        return check(value, context)
    except Refused as failed:
        raise error(f"{where}{failed}") from None
    except ValueError as failed:  # of NumPy, where an array stands in place of a word or a mapping
        raise error(f"{where} is {shown(value)}; {failed}") from None


@cache
def _check_of(hint: Any) -> Check:
    """The check of an annotation, made once. context: what the reader of a file knows; None for what Python gives."""
    marker, types = marker_of(hint), _types(hint)
    own = tuple(one for one in types if one.__module__ != "builtins")
    alternatives = tuple(one for one in _alternatives(hint) if one is not NoneType)
    one = next(iter(alternatives), None)
    protocols = any(getattr(cls, "_is_protocol", False) for cls in own)

    def plain(value: Any, context: Context | None) -> Any:
        """What is no object of the annotation's classes."""
        if marker is not None:
            return marker.value(value)
        if get_origin(one) is Annotated:
            return _check_of(one)(value, context)
        if get_origin(one) is tuple and get_args(one)[-1] is Ellipsis:
            return _each(_check_of(get_args(one)[0]), value, context)
        if isinstance(one, type) and issubclass(one, Settings):
            if context is None and not (isinstance(value, Mapping | str) and hasattr(one, "__dataclass_fields__")):
                raise wrong(f" is {shown(value)}; give {one.__name__}(…)")
            return _filled(one, value, context or {})
        # what has part of a protocol may be meant for what is used of it
        certain = not protocols or isinstance(value, str | int | float | Mapping | Sequence | FunctionType)
        if own and set(own) == set(alternatives) and certain:
            raise wrong(f" is {shown(value)}; give a {' or '.join(one.__name__ for one in own)}")
        return value

    def check(value: Any, context: Context | None) -> Any:
        if marker is not None and context is not None:
            return marker.check(value, context)
        if value is None and NoneType in types:
            return None
        if isinstance(value, type):
            raise class_given(value)
        return value if own and isinstance(value, own) else plain(value, context)

    return check


def _each(check: Check, value: Any, context: Context | None) -> tuple[Any, ...]:
    entries = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(entries, list | tuple):
        how = "" if context is None else ", each entry behind a '-'"
        raise wrong(f" is {shown(value)}; give a list{how}")
    found = []
    for k, entry in enumerate(entries):
        with inside(f" {k + 1}"):
            found.append(check(entry, context))
    return tuple(found)


def _filled(cls: Any, given: Any, context: Context) -> Any:
    named, values = {key: name for name, key in cls.called.items()}, {}
    try:
        data = _data(cls, cls.spelled(given, context))
        for key, hint in settings_fields(cls).items():
            if key in data:
                with inside("" if key in cls.flat else f": {key}"):
                    values[named.get(key, key)] = _check_of(hint)(data[key], context)
        apart = (*cls.inner, *settings_fields(cls))
        if ROBOT_FIELD not in apart and any(field.name == ROBOT_FIELD for field in dataclasses.fields(cls)):
            values[ROBOT_FIELD] = context.get(ROBOT_FIELD)
        return cls(**values)
    except ExciterError as error:
        raise wrong(f": {error}") from None


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """Of an annotation, without its marker: what it may be."""
    hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _types(hint: Any) -> tuple[type, ...]:
    """The classes among these; protocols that cannot be asked do not count."""
    plain = [get_args(one)[0] if get_origin(one) is Annotated else one for one in _alternatives(hint)]
    classes = [one for one in plain if isinstance(one, type) and get_origin(one) is None and one is not Any]
    return tuple(one for one in classes if getattr(one, "_is_runtime_protocol", True))


def fill(cls: type[T], given: Any, where: str, *, error: type[ExciterError] = ExciterError, **context: Any) -> T:
    """The settings of plain data; ``where`` begins every message. context: robot, folder, …"""
    hint: Any = cls
    made: T = _told(_check_of(hint), {} if given is None else given, where, error, context)
    return made


def flags(keys: Iterable[str]) -> dict[str, str]:
    """How the command line spells settings."""
    return {key: f"--{key.replace('_', '-')}" for key in keys}


def place(key: str, where: str, given: Mapping[str, str]) -> str:
    """Of a setting, for messages: how it was given (a flag, a keyword), else its key in the file at ``where``."""
    return given.get(key, f"{where}: {key}")


def filled(hint: Any, given: Any, context: Context | None = None) -> Any:
    """What a file gives for a class or another annotation; whoever asks tells what is ``Refused``."""
    return _check_of(hint)(given, context or {})


def json_schema(hint: Any) -> dict[str, Any]:
    """Of a class or another annotation: keys of JSON schema by the alphabet, those of settings as they are."""
    return dict(_in_order(_schema_of(hint)))


def _schema_of(hint: Any) -> dict[str, Any]:
    if (marker := marker_of(hint)) is not None:
        return marker.schema()
    one, *others = _alternatives(hint)
    if NoneType in others:
        inner = _schema_of(one)
        return {"anyOf": [*(inner["anyOf"] if list(inner) == ["anyOf"] else [inner]), {"type": "null"}]}
    if get_origin(one) is tuple:
        return {"type": "array", "items": _schema_of(get_args(one)[0])}
    return _class_schema(one) if isinstance(one, type) and issubclass(one, Settings) else {}


def _class_schema(cls: type[Settings]) -> dict[str, Any]:
    fields = settings_fields(cls)
    properties: dict[str, Any] = {
        name: {"title": name.title().replace("_", " ").strip(), **_schema_of(hint)}
        for name, hint in fields.items()
        if name not in cls.flat
    }
    for name in cls.flat:
        choice: Any = marker_of(fields[name])
        properties |= choice.properties if choice else _class_schema(_settings_class(fields[name]))["properties"]
    if cls.also is not None:
        properties |= _class_schema(cls.also)["properties"]
    schema = {
        "type": "object",
        "properties": properties,
        "required": [key for key in settings_fields(cls, needed=True) if key in properties and cls.also is None],
        "title": getattr(cls, "title", cls.__name__),
        "description": " ".join((cls.__doc__ or "").split("\n\n")[0].split()),
        "additionalProperties": False,
    }
    return cls.described(schema)


def _in_order(schema: Any, below: str = "") -> Any:
    if isinstance(schema, list):
        return [_in_order(one, below) for one in schema]
    if not isinstance(schema, dict):
        return schema
    keys = schema if below == "properties" else sorted(schema)
    return {key: _in_order(schema[key], key) for key in keys}


def file_schema(
    title: str, parts: Iterable[tuple[str | None, type[Settings]]], unchecked: Iterable[str] = ()
) -> dict[str, Any]:
    """Of a whole file, which may be empty, for editors (draft 2020-12). parts: ``(None, cls)`` has its keys at the top
    of the file, ``("simulate", cls)`` below that key. unchecked: further keys, whose values may be anything."""
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


def keys_of(cls: type[Settings], given: Mapping[Any, Any] | None = None) -> tuple[str, ...]:
    """The keys of a section; of one that is given, those that its choices leave."""
    keys = [_flat_keys(hint, given) if key in cls.flat else (key,) for key, hint in settings_fields(cls).items()]
    return tuple(dict.fromkeys(chain(*keys, () if cls.also is None else keys_of(cls.also))))


def settings_fields(cls: Any, *, needed: bool = False) -> Mapping[str, Any]:
    """The annotations of what a file can give, by key, in order; needed: of those alone that have no default."""
    return _fields(cls, needed)


@cache
def _fields(cls: Any, needed: bool) -> Mapping[str, Any]:
    hints = get_type_hints(cls, include_extras=True)
    known = ROBOT_FIELD if marker_of(hints.get(ROBOT_FIELD)) is None else ""
    apart = (known, *cls.inner)
    fields = [one for one in dataclasses.fields(cls) if one.init and one.name not in apart]
    if needed:
        fields = [one for one in fields if one.default is one.default_factory is dataclasses.MISSING]
    return MappingProxyType({cls.called.get(one.name, one.name): hints[one.name] for one in fields})


def _flat_keys(hint: Any, given: Mapping[Any, Any] | None) -> tuple[str, ...]:
    """The keys of a field that stands directly in a section: those of a settings class, or of a choice."""
    choice: Any = marker_of(hint)
    return keys_of(_settings_class(hint)) if choice is None else choice.keys(given or {})


def _settings_class(hint: Any) -> type[Settings]:
    return next(one for one in (hint, *get_args(hint)) if isinstance(one, type) and issubclass(one, Settings))


def _data(cls: type[Settings], given: Any) -> dict[str, Any]:
    """The keys that are given, those of flat fields put below them; required ones must be there."""
    keys = keys_of(cls, given if isinstance(given, Mapping) else None)
    if not keys and given:
        raise wrong(f" takes no settings; write {cls.word} alone")
    data = {key: value for key, value in _known(given, keys).items() if value is not None}
    for name in cls.flat:
        inner = _flat_keys(settings_fields(cls)[name], given)
        if below := {key: data.pop(key) for key in inner if key in data}:
            data[name] = below
        elif name in settings_fields(cls, needed=True):
            raise wrong(f" has none of {', '.join(inner)}; give one")
    for key, hint in settings_fields(cls, needed=True).items():
        if key not in data:
            marker = marker_of(hint)
            raise wrong(f" has no {key}; give {'it' if marker is None else marker.wanted}")
    return data


def _known(given: Any, keys: Sequence[str]) -> dict[str, Any]:
    """A mapping whose keys are among those; nothing at all is an empty one."""
    if given is not None and not isinstance(given, Mapping):
        raise wrong(f" is {shown(given)}; give a mapping with some of the keys {', '.join(keys)}")
    named = {str(key): value for key, value in (given or {}).items()}
    for key in named:
        if key not in keys:
            raise wrong(f": {unknown_name('key', key, keys)}")
    return named


def known_keys(given: Any, where: str, keys: Sequence[str], error: type[ExciterError] = ExciterError) -> dict[str, Any]:
    """The content of a file, of which parts are filled later."""
    return dict(_told(lambda content, _: _known(content, keys), given, where, error))


def marker_of(hint: Any) -> Kind | None:
    return next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Kind)), None)
