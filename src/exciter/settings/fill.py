"""Settings: frozen dataclasses that one mechanism fills from plain data.

A settings class derives from ``Settings``; the annotation of each field carries a marker (``kinds``), another settings
class, or a choice from a registry (``registry``). Unknown keys are refused with the nearest one that is known; null
counts as not given; what ``__post_init__`` refuses is told with the path of the section. What Python code gives is
checked by the same markers when the object is made (``checked``), so that a class need not repeat them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from types import FunctionType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from exciter.errors import ExciterError, shown, unknown_name
from exciter.settings.field_markers import Kind
from exciter.settings.messages import class_given, inside, lifted, message, refusals, wrong

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema

T = TypeVar("T")
Check = Callable[[Any], Any]
ROBOT_FIELD = "robot"  #: a field of this name is not a setting: it is the robot that the reader knows


class Settings:
    """Base of what a file can fill.

    word, title: of a class in a registry, for files and for people. tag: the key that holds the word where settings
    stand beside it; else they stand below it. flat: fields whose own keys stand directly in this section. also: a class
    whose keys may stand in this section, too: ``spelled`` makes fields of them. inner: fields that only Python gives.
    called: the key of a field in a file, where that is not its name. complete: what is at its default is written, too.
    by_word: of a family from which files choose by word; one of somebody's own, without a word, is told by its class.
    refusal: what is raised where Python code gives what cannot be.
    """

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
    __pydantic_config__: ClassVar[Any] = {"arbitrary_types_allowed": True, "extra": "forbid"}

    def __post_init__(self) -> None:
        """What Python code gives is checked, and brought into the form that a file's would have."""
        cls: Any = type(self)
        for name, default, check in _checks(cls):
            value = getattr(self, name)
            if value is not default and (name, value) != (
                ROBOT_FIELD,
                None,
            ):  # a file is read before its robot is known
                object.__setattr__(self, name, _told(check, value, f"{cls.__name__}: {name}", cls.refusal))

    def __init_subclass__(cls, **given: Any) -> None:
        """A class that refuses more has a ``__post_init__`` of its own, which comes after."""
        super().__init_subclass__(**given)
        if (own := cls.__dict__.get("__post_init__")) is not None:
            cls.__post_init__ = _after_markers(own)  # type: ignore

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
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

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import ValidationError, core_schema

        def filled(given: Any, check: Any, info: Any) -> Any:
            if isinstance(given, source):
                return given
            context = info.context or {}
            try:
                values = check(_data(source, source.spelled(given, context)))
                given = {named.get(key, key): value for key, value in values.items()}
                return source(**given, **({ROBOT_FIELD: context.get(ROBOT_FIELD)} if of_a_robot else {}))
            except ExciterError as error:
                raise wrong(f": {error}") from None
            except ValidationError as error:
                raise lifted(error, source.flat) from None

        named = {key: name for name, key in source.called.items()}
        of_a_robot = any(
            field.name == ROBOT_FIELD and ROBOT_FIELD not in source.inner for field in dataclasses.fields(source)
        )
        keys = {
            name: core_schema.typed_dict_field(handler.generate_schema(hint), required=False)
            for name, hint in settings_fields(source).items()
        }
        return core_schema.with_info_wrap_validator_function(filled, core_schema.typed_dict_schema(keys))

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core["schema"]))
        properties = schema.setdefault("properties", {})
        for name in cls.flat:
            given = properties.pop(name)
            if (choice := marker_of(settings_fields(cls)[name])) is not None:
                properties.update(choice.properties)
                continue
            for inner in given.get("anyOf", [given]):  # an optional one may also be null
                properties.update(handler.resolve_ref_schema(inner).get("properties", {}))
        if cls.also is not None:
            properties.update(adapter(cls.also).json_schema()["properties"])
        schema["required"] = [key for key in required_of(cls) if key in properties and cls.also is None]
        schema["title"] = getattr(cls, "title", cls.__name__)
        schema["description"] = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
        schema["additionalProperties"] = False
        return cls.described(schema)


def _after_markers(own: Callable[[Any], None]) -> Callable[[Any], None]:
    @wraps(own)
    def __post_init__(self: Any) -> None:
        Settings.__post_init__(self)
        own(self)

    return __post_init__


@cache
def _checks(cls: Any) -> tuple[tuple[str, Any, Check], ...]:
    """Name, default and check of each field; a class in a function may have annotations that name what is local to
    it: these say nothing, those of its parents do."""
    hints: dict[str, Any] = {}
    for one in reversed(cls.__mro__):
        with suppress(NameError):
            hints |= get_type_hints(one, include_extras=True)
    fields = [one for one in dataclasses.fields(cls) if one.init and one.name in hints]
    return tuple((one.name, one.default, _check_of(hints[one.name])) for one in fields)


def checked(hint: Any, value: Any, where: str, error: type[ExciterError] = ExciterError) -> Any:
    """What Python code gives for a setting of this annotation: an object as it is, plain data as if a file gave it."""
    return _told(_check_of(hint), value, where, error)


def _told(check: Check, value: Any, where: str, error: type[ExciterError]) -> Any:
    try:
        return check(value)
    except refusals() as failed:
        raise error(message(failed, where)) from None


@cache
def _check_of(hint: Any) -> Check:
    """The check of an annotation: made once, objects are made often."""
    marker, types = marker_of(hint), _types(hint)
    own = tuple(one for one in types if one.__module__ != "builtins")
    alternatives = tuple(one for one in _alternatives(hint) if one is not NoneType)
    one = alternatives[0] if alternatives else None

    def plain(value: Any) -> Any:
        """What is no object of the annotation's classes."""
        if marker is not None:
            return marker.value(value)
        if get_origin(one) is Annotated:
            return _check_of(one)(value)
        if get_origin(one) is tuple and get_args(one)[-1] is Ellipsis:
            return _each(_check_of(get_args(one)[0]), value)
        if isinstance(one, type) and issubclass(one, Settings):
            if not (isinstance(value, Mapping | str) and hasattr(one, "__dataclass_fields__")):
                raise wrong(f" is {shown(value)}; give {one.__name__}(…)")
            return adapter(one).validate_python(value)
        if own and set(own) == set(alternatives) and _certainly_none(value, own):
            raise wrong(f" is {shown(value)}; give a {' or '.join(one.__name__ for one in own)}")
        return value

    def check(value: Any) -> Any:
        if value is None and NoneType in types:
            return None
        if isinstance(value, type):
            raise class_given(value)
        return value if own and isinstance(value, own) else plain(value)

    return check


def _each(check: Check, value: Any) -> tuple[Any, ...]:
    entries = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(entries, list | tuple):
        raise wrong(f" is {shown(value)}; give a list")
    found = []
    for k, entry in enumerate(entries):
        with inside(f" {k + 1}"):
            found.append(check(entry))
    return tuple(found)


def _certainly_none(value: Any, classes: tuple[type, ...]) -> bool:
    """Of these classes; what has part of a protocol may be meant for what is used of it."""
    protocols = any(getattr(one, "_is_protocol", False) for one in classes)
    return not protocols or isinstance(value, str | int | float | Mapping | Sequence | FunctionType)


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
    try:
        made: T = adapter(cls).validate_python({} if given is None else given, context=context)
        return made
    except refusals() as failed:
        raise error(message(failed, where)) from None


_adapters: dict[Any, TypeAdapter[Any]] = {}


def adapter(cls: Any) -> TypeAdapter[Any]:
    """What fills a class, made once."""
    from pydantic import TypeAdapter

    if cls not in _adapters:
        _adapters[cls] = TypeAdapter(cls)
    return _adapters[cls]


def keys_of(cls: type[Settings], given: Mapping[Any, Any] | None = None) -> tuple[str, ...]:
    """The keys of a section; of one that is given, those that its choices leave."""
    keys: list[str] = []
    for name, hint in settings_fields(cls).items():
        if name in cls.flat:
            keys += _flat_keys(hint, given)
        else:
            keys.append(name)
    keys += () if cls.also is None else keys_of(cls.also)
    return tuple(dict.fromkeys(keys))


def required_of(cls: type[Settings]) -> tuple[str, ...]:
    """The keys that have no default."""
    return tuple(
        cls.called.get(field.name, field.name)
        for field in dataclasses.fields(cls)  # type: ignore[arg-type]
        if _needed(field) and field.name not in (ROBOT_FIELD, *cls.flat, *cls.inner)
    )


def _needed(field: dataclasses.Field[Any]) -> bool:
    no_default = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    return field.init and no_default


def settings_fields(cls: type[Settings]) -> dict[str, Any]:
    """The annotations of what a file can give, by key, in order."""
    hints, apart = get_type_hints(cls, include_extras=True), (ROBOT_FIELD, *cls.inner)
    names = [one.name for one in dataclasses.fields(cls) if one.init and one.name not in apart]  # type: ignore[arg-type]
    return {cls.called.get(name, name): hints[name] for name in names}


def _flat_keys(hint: Any, given: Mapping[Any, Any] | None) -> tuple[str, ...]:
    """The keys of a field that stands directly in a section: those of a settings class, or of a choice."""
    choice = marker_of(hint)
    return keys_of(_settings_class(hint)) if choice is None else choice.keys(given or {})


def _settings_class(hint: Any) -> type[Settings]:
    """The settings class in an annotation, which may be optional."""
    found = [one for one in (hint, *get_args(hint)) if isinstance(one, type) and issubclass(one, Settings)]
    return found[0]


def _data(cls: type[Settings], given: Any) -> dict[str, Any]:
    """The keys that are given, those of flat fields put below them; required ones must be there."""
    keys = keys_of(cls, given if isinstance(given, Mapping) else None)
    if not keys and given:
        raise wrong(f" takes no settings; write {cls.word} alone")
    data = {key: value for key, value in _known(given, keys).items() if value is not None}
    for name in cls.flat:
        inner = _flat_keys(settings_fields(cls)[name], given)
        below = {key: data.pop(key) for key in inner if key in data}
        if below:
            data[name] = below
        elif any(field.name == name and _needed(field) for field in dataclasses.fields(cls)):  # type: ignore[arg-type]
            raise wrong(f" has none of {', '.join(inner)}; give one")
    for key in required_of(cls):
        if key not in data:
            raise wrong(f" has no {key}; give {_wanted(settings_fields(cls)[key])}")
    return data


def _known(given: Any, keys: Sequence[str]) -> dict[str, Any]:
    """A mapping whose keys are among those; nothing at all is an empty one."""
    if given is not None and not isinstance(given, Mapping):
        raise wrong(f" is {shown(given)}; give a mapping with some of the keys {', '.join(keys)}")
    for key in given or ():
        if str(key) not in keys:
            raise wrong(f": {unknown_name('key', str(key), keys)}")
    return {str(key): value for key, value in (given or {}).items()}


def known_keys(
    given: Any, where: str, keys: Sequence[str], *, error: type[ExciterError] = ExciterError
) -> dict[str, Any]:
    """The content of a file, of which parts are filled later."""
    try:
        return _known(given, keys)
    except refusals() as failed:
        raise error(message(failed, where)) from None


def _wanted(hint: Any) -> str:
    """What a field wants, for people."""
    marker = marker_of(hint)
    return "it" if marker is None else marker.wanted


def marker_of(hint: Any) -> Kind | None:
    """The marker in an annotation."""
    return next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Kind)), None)
