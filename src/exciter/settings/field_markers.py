"""What one setting may be: a marker in the annotation of a field checks it, and describes it to editors.

    period: Annotated[float, Number(above=0.0, unit="s")] = 10.0

A marker is asked when a file is read, and when Python code makes an object. YAML reads 1e3 (no dot) as text and null as
nothing: the first counts as a number, the second as a setting that is not given."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from exciter.errors import not_allowed, shown, unknown_name

LARGEST_OF_A_ROBOT = 1e30  #: in SI units; products of several such numbers are still finite
LARGEST_SEED = 2**63 - 1


class Refused(ValueError):
    """Of a setting that cannot be used: what stands behind its key, `` is -1; give …``; ``inside`` adds keys."""


wrong = Refused  # to be raised by whoever checks a setting


def class_given(given: type) -> Refused:
    """To be raised where a class stands for an object of it."""
    return wrong(f" is the class {given.__name__}; give an object of it, {given.__name__}(…)")


@contextmanager
def inside(path: str) -> Iterator[None]:
    """What is wrong inside is told with its place, ``: name`` or `` 2``, in front."""
    try:
        yield
    except Refused as error:
        raise wrong(f"{path}{error}") from None


def says_none(given: Any) -> bool:
    """Whether a setting is the word none, as people write it: None, NONE. (A null of YAML is one that is not given.)"""
    return isinstance(given, str) and given.strip().lower() == "none"


def plain(given: Any) -> Any:
    """Lists and numbers in place of NumPy's, wherever they stand."""
    if isinstance(given, np.ndarray | np.generic):
        return given.tolist()
    if isinstance(given, list | tuple):
        return type(given)(map(plain, given)) if type(given) in (list, tuple) else given
    return {key: plain(value) for key, value in given.items()} if isinstance(given, dict) else given


class Kind:
    """A marker: ``check`` turns what a file gives into the value, ``schema`` is JSON schema, ``wanted`` is for people.
    context: what the reader knows beside the file (robot, or joints, the names of them; folder)."""

    words: tuple[str, ...]  # of those markers that have some

    @property
    def wanted(self) -> str:
        return f"one of {', '.join(self.words)}"

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        raise NotImplementedError

    def word_of(self, value: Any) -> Any:
        """What a file has for a value, where that is a word."""
        return value

    def value(self, given: Any) -> Any:
        """The same of what Python code gives, which may be the value already."""
        return self.check(plain(given), {})

    @property
    def hint(self) -> Any:
        """For ``fill``, where one value is to be read."""
        return Annotated[Any, self]


@dataclass(frozen=True)
class Number(Kind):
    """A finite number, ≥ ``least``, > ``above``, ≤ ``most``; ``open``: a word for None; infinite: of any size."""

    least: float = -math.inf
    above: float | None = None
    most: float = LARGEST_OF_A_ROBOT
    unit: str = ""
    open: str | None = None
    below: float | None = None
    infinite: bool = False

    @property
    def wanted(self) -> str:
        text = "a number" if self.least == -math.inf else f"a number ≥ {self.least:g}"
        text = text if self.above is None else f"a number > {self.above:g}"
        text = text if self.below is None else f"{text} and < {self.below:g}"
        text = text if self.most >= LARGEST_OF_A_ROBOT else f"{text}, at most {self.most:g}"
        text = f"{text} [{self.unit}]" if self.unit else text
        return f"{text}, or {self.open}" if self.open else text

    def check(self, given: Any, context: Mapping[str, Any]) -> float | None:
        if self.open is not None and isinstance(given, str) and given.strip().lower() == self.open:
            return None
        return self.number(given)

    def word_of(self, value: Any) -> Any:
        return self.open if value is None else value

    def number(self, given: Any) -> float:
        value = math.nan
        if isinstance(given, int | float | str) and not isinstance(given, bool):
            with suppress(ValueError, OverflowError):
                value = float(given)
        if self.infinite and not math.isnan(value):
            return value
        above = -math.inf if self.above is None else self.above
        below = math.inf if self.below is None else self.below
        small = math.isfinite(value) and abs(value) <= max(self.most, LARGEST_OF_A_ROBOT)
        if not (small and self.least <= value <= self.most and above < value < below):
            huge = abs(value) > self.most >= LARGEST_OF_A_ROBOT
            end = f", not beyond {LARGEST_OF_A_ROBOT:g}" if huge else ""
            raise wrong(f" is {shown(given)}; give {self.wanted}{end}")
        return value

    def schema(self) -> dict[str, Any]:
        limits = {
            "minimum": None if self.least == -math.inf else self.least,
            "exclusiveMinimum": self.above,
            "exclusiveMaximum": self.below,
            "maximum": None if self.most >= LARGEST_OF_A_ROBOT else self.most,
        }
        number = {"type": "number", **{key: value for key, value in limits.items() if value is not None}}
        if self.unit:
            number["description"] = f"[{self.unit}]"
        return number if self.open is None else {"anyOf": [number, {"const": self.open}]}


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number; what is counted takes memory or time: ``most``, None where its user refuses too many."""

    least: int = 0
    most: int | None = None

    @property
    def wanted(self) -> str:
        return f"a whole number ≥ {self.least}" + ("" if self.most is None else f", at most {self.most}")

    def check(self, given: Any, context: Mapping[str, Any]) -> int:
        counted = isinstance(given, int) and not isinstance(given, bool)
        if not counted or given < self.least or (self.most is not None and given > self.most):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        return int(given)

    def schema(self) -> dict[str, Any]:
        upper = {} if self.most is None else {"maximum": self.most}
        return {"type": "integer", "minimum": self.least, **upper}


@dataclass(frozen=True)
class Flag(Kind):
    wanted = "true or false"

    def check(self, given: Any, context: Mapping[str, Any]) -> bool:
        if not isinstance(given, bool):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        return given

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Text(Kind):
    """what: it is the name of, for messages (``a joint``). empty: may be without a character."""

    what: str = ""
    empty: bool = False

    @property
    def wanted(self) -> str:
        return f"the name of {self.what}" if self.what else "a text"

    def check(self, given: Any, context: Mapping[str, Any]) -> str:
        if not isinstance(given, str) or not (given or self.empty):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        return given

    def schema(self) -> dict[str, Any]:
        return {"type": "string"} if self.empty else {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class OneWord(Kind):
    """One of a few words; meaning: what they stand for where that is not the word itself."""

    words: tuple[str, ...]
    meaning: tuple[Any, ...] | None = None

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if given not in self.words:
            raise wrong(not_allowed(given, self.words))
        return given if self.meaning is None else self.meaning[self.words.index(given)]

    def value(self, given: Any) -> Any:
        meant = self.meaning is not None and isinstance(given, bool | str | None) and given in self.meaning
        return given if meant else super().value(given)

    def word_of(self, value: Any) -> Any:
        return value if self.meaning is None or value not in self.meaning else self.words[self.meaning.index(value)]

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.words)}


@dataclass(frozen=True)
class Vector(Kind):
    """``length`` finite numbers, as a tuple (None: any, "joints": one each); ``open``: what null stands for."""

    length: int | str | None = 3
    unit: str = ""
    open: float | None = None

    @property
    def wanted(self) -> str:
        text = f"a list of {self.length} numbers" if isinstance(self.length, int) else "a list of numbers"
        text += f" [{self.unit}]" if self.unit else ""
        return text if self.open is None else f"{text}, null where a side is open"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[float, ...]:
        if isinstance(self.length, str):
            counted = context.get(self.length)
            return replace(self, length=None if counted is None else len(counted)).check(given, context)
        given = given.tolist() if isinstance(given, np.ndarray) else given
        if not isinstance(given, list | tuple) or self.length not in (None, len(given)):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        side, number = self.open, Number().number
        return tuple(number(one) if side is None or one not in (None, side) else side for one in given)

    def schema(self) -> dict[str, Any]:
        kinds = ["number"] if self.open is None else ["number", "null"]
        listed: dict[str, Any] = {"type": "array", "items": {"type": kinds}}
        listed |= {"minItems": self.length, "maxItems": self.length} if isinstance(self.length, int) else {}
        return {**listed, "description": f"[{self.unit}]"} if self.unit else listed


class Numbers(Number):
    """One number, or a tuple of several; ``open``: a word for None."""

    @property
    def one(self) -> Number:
        return Number(**vars(self))

    @property
    def wanted(self) -> str:
        return f"{self.one.wanted}, or a list of such numbers"

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, list | tuple):
            return tuple(self.one.number(value) for value in given)
        return self.one.check(given, context)

    def schema(self) -> dict[str, Any]:
        one = replace(self.one, open=None).schema()
        return {"anyOf": [one, {"type": "array", "items": one}]}


class PerJointNumber(Numbers):
    """One number for all joints, a list in their order, or numbers by name of all of them; kept in the form that was
    given. Names and counts are checked where the robot is known."""

    @property
    def wanted(self) -> str:
        return f"{self.one.wanted}; one, a list, or by joint"

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        given = given.tolist() if isinstance(given, np.ndarray) else given
        robot = context.get("robot")
        joints: Any = context.get("joints") if robot is None else robot.joint_names
        if isinstance(given, Mapping):
            given = {str(name): value for name, value in given.items()}
            for name in given if joints is not None else ():
                if name not in joints:
                    raise wrong(f": {unknown_name('joint', name, joints)}")
            for name in joints or ():
                if name not in given:
                    raise wrong(f" says nothing of joint '{name}'; give a number for every joint")
            return {name: self.one.number(value) for name, value in given.items()}
        if isinstance(given, list | tuple) and joints is not None and len(given) != len(joints):
            raise wrong(f" has {len(given)} numbers; the robot has {len(joints)} joints")
        return super().check(given, context)

    def schema(self) -> dict[str, Any]:
        one, several = super().schema()["anyOf"]
        shapes = [one, several, {"type": "object", "additionalProperties": one}]
        return {"anyOf": shapes if self.open is None else [*shapes, {"const": self.open}]}


@dataclass(frozen=True)
class ListOfTexts(Kind):
    """Names; one alone need not stand in a list. least: how many there must be."""

    what: str = "names"
    least: int = 0

    @property
    def wanted(self) -> str:
        return f"a list of {self.what}"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[str, ...]:
        listed = given if isinstance(given, list | tuple) else [given]
        if len(listed) < self.least or not all(isinstance(name, str) and name for name in listed):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        return tuple(listed)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": self.least}]}


@dataclass(frozen=True)
class ByName(Kind):
    """Values of one kind by name. names: those allowed, of what; all: one value is that of all; listed: of a list's."""

    one: Kind
    names: tuple[str, ...] | None = None
    what: str = "name"
    all: bool = False
    listed: Any = None

    @property
    def wanted(self) -> str:
        lists = "" if self.listed is None else f"a list of {self.what}s, or "
        return f"{self.one.wanted}, or such by {self.what}" if self.all else f"{lists}a mapping ({self.what}: value)"

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if self.listed is not None and isinstance(given, list | tuple) and all(isinstance(name, str) for name in given):
            given = dict.fromkeys(given, self.listed)
        if self.all and not isinstance(given, Mapping):
            return self.one.check(given, context)
        if not isinstance(given, Mapping):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        values = {}
        for name, value in given.items():
            if self.names is not None and name not in self.names:
                raise wrong(f": {unknown_name(self.what, str(name), self.names)}")
            with inside(f": {name}"):
                values[str(name)] = self.one.check(value, context)
        return values

    def schema(self) -> dict[str, Any]:
        one = self.one.schema()
        named: dict[str, Any] = {"type": "object", "additionalProperties": one}
        if self.names is not None:
            named = {"type": "object", "properties": dict.fromkeys(self.names, one), "additionalProperties": False}
        listed = [] if self.listed is None else [{"type": "array", "items": {"type": "string"}}]
        shapes = [*([one] if self.all else []), *listed, named]
        return {"anyOf": shapes} if len(shapes) > 1 else named


@dataclass(frozen=True)
class Place(Kind):
    """The path of a file or folder (``what``); a relative one starts at the folder of the file that names it."""

    what: str = "a file"

    @property
    def wanted(self) -> str:
        return f"the path of {self.what}"

    def check(self, given: Any, context: Mapping[str, Any]) -> Path:
        if not isinstance(given, str | Path) or not str(given):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        return Path(context.get("folder") or "") / given

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1}


Amount = Annotated[float, Number()]
Positive = Annotated[float, Number(above=0.0)]
NonNegative = Annotated[float, Number(least=0.0)]
Fraction = Annotated[float, Number(least=0.0, below=1.0)]
Switch = Annotated[bool, Flag()]
Name = Annotated[str, Text()]
Names = Annotated[tuple[str, ...], ListOfTexts()]
