"""One registry per family (terms, criteria, trajectories, …): the class carries its word, a file chooses by it.

estimator: huber                      # a word,
estimator: {huber: {k: 1.4}}          # a word with settings below it,
trajectory: {family: fourier, …}      # or, where the family has a tag, beside it"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args

from exciter.errors import ExciterError, not_allowed, shown, unknown_name
from exciter.settings.field_markers import Kind, class_given, inside, wrong
from exciter.settings.fill import filled, json_schema, keys_of

S = TypeVar("S")


class Registry(Generic[S]):
    """The classes of a family by their words. what: one of them is called so. Adding one is one line."""

    def __init__(self, what: str, *classes: type[S]) -> None:
        self.what = what
        self._classes: dict[str, type[S]] = {}
        for one in classes:
            self.add(one)

    def add(self, cls: type[S]) -> type[S]:
        """Also as a decorator, for a class of one's own."""
        if isinstance(self.family, type) and not issubclass(cls, self.family):
            raise ExciterError(f"{cls.__name__} is no {self.family.__name__}; derive it from that to give it a word")
        word: str = cls.word  # type: ignore[attr-defined]
        if self._classes.setdefault(word, cls) is not cls:
            raise ExciterError(f"the {self.what} '{word}' is {self._classes[word].__name__}; choose another word")
        return cls

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self._classes)

    @property
    def family(self) -> type | tuple[type, ...]:
        """What all of them are, one of somebody's own among them: the class in brackets, ``Registry[Estimator]``."""
        (family,) = get_args(vars(self).get("__orig_class__", Registry[Any]))
        return family if isinstance(family, type) and family is not Any else tuple(self)

    def __iter__(self) -> Iterator[type[S]]:
        return iter(self._classes.values())

    def __contains__(self, word: object) -> bool:
        return word in self._classes

    def __getitem__(self, word: str) -> type[S]:
        if word not in self._classes:
            raise ExciterError(unknown_name(self.what, word, self._classes))
        return self._classes[word]


@dataclass(frozen=True)
class OneOf(Kind):
    """A choice from a registry. usual: the word of a tagged choice that has none. without: words that do not count."""

    known: Registry[Any]
    tag: str | None = None
    usual: str | None = None
    without: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(word for word in self.known.words if word not in self.without)

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, self.known.family):
            return given
        if isinstance(given, type):
            raise class_given(given)
        if self.tag is None:
            single = isinstance(given, Mapping) and len(given) == 1
            word, settings = next(iter(given.items())) if single else (given, None)
            where, refusal = f": {word}", not_allowed(given, self.words)
        else:
            given = {self.tag: given} if isinstance(given, str) else given
            if not isinstance(given, Mapping):
                raise wrong(f" is {shown(given)}; give a mapping with {self.tag}: {', '.join(self.words)}")
            word, settings = given.get(self.tag, self.usual), {k: v for k, v in given.items() if k != self.tag}
            where, refusal = "", f": {self.tag}{not_allowed(word, self.words)}"
        if not isinstance(word, str) or word not in self.words:
            raise wrong(refusal)
        with inside(where):
            return filled(self.known[word], {} if settings is None else settings, context)

    @property
    def properties(self) -> dict[str, Any]:
        """Where it stands flat in a section: its keys there, with their schemas."""
        inner = {word: json_schema(self.known[word]) for word in self.words}
        if self.tag is None:
            return inner
        keys: dict[str, Any] = {self.tag: {"enum": list(self.words)}}
        for one in inner.values():
            keys = {**keys, **one["properties"], **keys}
        return keys

    def keys(self, given: Mapping[Any, Any]) -> tuple[str, ...]:
        """Of these, those that what is given leaves."""
        if self.tag is None:
            return self.words
        word = given.get(self.tag) or self.usual
        if word in self.words:
            return (self.tag, *keys_of(self.known[word]))
        return tuple(self.properties)

    def schema(self) -> dict[str, Any]:
        shapes: list[dict[str, Any]] = []
        alone: list[str] = []
        for word in self.words:
            inner = json_schema(self.known[word])
            if self.tag is not None:
                tagged = {self.tag: {"const": word}, **inner.get("properties", {})}
                needed = [*inner.get("required", []), *([] if word == self.usual else [self.tag])]
                shapes.append({**inner, "properties": tagged, "required": needed})
                continue
            below = {"type": "object", "properties": {word: inner}, "required": [word]}
            shapes.append({**below, "additionalProperties": False})
            alone += [] if inner.get("required") else [word]
        return {"anyOf": [*([{"enum": alone}] if alone else []), *shapes]}
