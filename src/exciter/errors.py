"""Errors a user can act on: each message says what was given, what is allowed, and what to do.

Everything that a wrong input can cause is an ``ExciterError``; the command line prints its one line and
leaves with exit code 2. Anything else that escapes is a defect of Exciter."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

MOST_SHOWN_CHARACTERS = 80  # characters of a foreign value in a message
MOST_SHOWN_DIGITS = 40  # of a whole number
LONGEST_MESSAGE = 2000  # characters; a line that nobody reads to its end helps nobody
MOST_LISTED_NAMES = 40  # of valid ones behind a wrong one
MOST_NAMES_LIKE_IT = 12  # where there are more
MESSAGE_HEAD = 1500  # of these, from the start; the advice stands at the end

UNSEEN_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")  #: of Unicode: control, format, surrogate, ends of lines


class ExciterError(Exception):
    """Base of every error caused by what the user gave.

    >>> try:
    ...     ex.load("pandda")
    ... except ex.ExciterError as error:
    ...     print(error)
    there is no robot or file 'pandda'; give an existing URDF, MJCF or YAML file, or an embedded robot: ..."""

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) > LONGEST_MESSAGE:
            text = f"{text[:MESSAGE_HEAD]} … {text[MESSAGE_HEAD - LONGEST_MESSAGE :]}"
        return visible(" ".join(text.split()))  # one line, whatever was quoted inside


class RobotError(ExciterError):
    """A robot description that cannot be read or makes no sense."""


class ParameterError(ExciterError):
    """Parameters or joint terms that cannot be used as given."""


class MotionError(ExciterError):
    """A motion (time, q, q̇, q̈) that does not fit the robot."""


class LoopError(MotionError):
    """Closed chains that cannot close where a motion asks them to, or do not determine what follows."""


class RecordingError(ExciterError):
    """A log that cannot be read, or whose content makes no sense."""


class ClusterLost(ExciterError):
    """The scheduler of a cluster is gone, and with it what was under way there: an interruption, not a wrong input."""


def unknown_name(what: str, name: str, valid: Iterable[str]) -> str:
    """Message for a name that does not exist, listing the valid ones; of very many (frames of a humanoid) those most
    like it."""
    names, name = list(dict.fromkeys(valid)), _cut(str(name))
    listed = names if len(names) <= MOST_LISTED_NAMES else get_close_matches(name, names, MOST_NAMES_LIKE_IT, 0.0)
    others = "" if listed is names else f", … and {len(names) - len(listed)} others"
    return f"unknown {what} '{name}'; valid names: {', '.join(listed)}{others}{did_you_mean(name, names)}"


def not_allowed(given: Any, words: Iterable[str]) -> str:
    """Behind a setting that is none of a few words."""
    names = list(words)
    near = did_you_mean(given, names) if isinstance(given, str) else ""
    return f" is {shown(given)}; allowed are {', '.join(names)}{near}"


def did_you_mean(name: str, names: list[str]) -> str:
    """Behind a message on a word that is none of ``names``; empty where none is like it."""
    close = get_close_matches(name[:MOST_SHOWN_CHARACTERS], names, 1)
    return f"; did you mean '{close[0]}'?" if close else ""


def shown(given: Any) -> str:
    """A foreign value as its file has it, not as Python writes it, cut to some 80 characters.

    Only as much of it is looked at as is shown: a value may be far larger than the file it came from."""
    if given is None:
        return "missing"
    if isinstance(given, str):
        return f"'{_cut(given)}'"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    text = ""
    for part in _parts(given):
        text += part
        if len(text) > MOST_SHOWN_CHARACTERS:
            break
    return _cut(text)


def _cut(text: str) -> str:
    """At most 80 characters."""
    plain = visible(text[: MOST_SHOWN_CHARACTERS + 1])
    return plain if len(plain) <= MOST_SHOWN_CHARACTERS else f"{plain[: MOST_SHOWN_CHARACTERS - 1]}…"


def _parts(given: Any) -> Iterator[str]:
    """The text of a value piece by piece, so that a reader may stop."""
    if given is None:
        yield "null"
    elif isinstance(given, bool):
        yield str(given).lower()
    elif isinstance(given, str):
        yield f'"{given[: MOST_SHOWN_CHARACTERS + 1]}"'
    elif isinstance(given, int) and given.bit_length() > 3.3 * MOST_SHOWN_DIGITS:
        yield f"a whole number of {int(given.bit_length() / 3.3219281)} digits"  # Python may refuse to write it
    elif isinstance(given, Mapping):
        yield "{"
        for k, (key, value) in enumerate(islice(given.items(), MOST_SHOWN_CHARACTERS)):
            yield ", " if k else ""
            yield from _parts(key)
            yield ": "
            yield from _parts(value)
        yield "}"
    elif isinstance(given, list | tuple):
        yield "["
        for k, value in enumerate(islice(given, MOST_SHOWN_CHARACTERS)):
            yield ", " if k else ""
            yield from _parts(value)
        yield "]"
    else:
        yield str(given)


def unseen(text: str, keep: str = "") -> list[str]:
    """The characters of a text that do not show themselves but act: control codes (escape sequences of terminals among
    them), ends of lines, marks that turn the direction of writing, zero widths, halves of surrogate pairs, and what is
    no character of Unicode. keep: those that are allowed."""
    seen = text
    for mark in keep:  # in pages of megabytes faster than a table of characters
        seen = seen.replace(mark, "")
    if seen.isprintable():
        return []
    return [
        c for c in text if c not in keep and (unicodedata.category(c) in UNSEEN_CATEGORIES or ord(c) & 0xFFFE == 0xFFFE)
    ]


def visible(text: str, keep: str = "") -> str:
    """The text with every such character written as an escape (\\n, \\x1b, \\u202e): it stays on its line, and does
    nothing to a terminal, a comment or a page."""
    for mark in set(unseen(text, keep)):
        text = text.replace(mark, mark.encode("unicode_escape", "surrogatepass").decode("ascii"))
    return text
