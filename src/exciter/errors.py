"""Errors a user can act on: each message says what was given, what is allowed, and what to do.

Everything that a wrong input can cause is an ``ExciterError``; the command line prints its one line and
leaves with exit code 2. Anything else that escapes is a defect of Exciter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches

UNSEEN_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")  #: of Unicode: control, format, surrogate, ends of lines


class ExciterError(Exception):
    """Base of every error caused by what the user gave."""

    def __str__(self) -> str:
        return " ".join(super().__str__().split())  # one line, whatever was quoted inside


class RobotError(ExciterError):
    """A robot description that cannot be read or makes no sense."""


class ParameterError(ExciterError):
    """Parameters or joint terms that cannot be used as given."""


class MotionError(ExciterError):
    """A motion (time, q, q̇, q̈) that does not fit the robot."""


class RecordingError(ExciterError):
    """A log that cannot be read, or whose content makes no sense."""


def unknown_name(what: str, name: str, valid: Iterable[str]) -> str:
    """Message for a name that does not exist, listing the valid ones."""
    names = list(valid)
    close = get_close_matches(str(name), names, 1)
    meant = f"; did you mean '{close[0]}'?" if close else ""
    return f"unknown {what} '{name}'; valid names: {', '.join(names)}{meant}"


def unseen(text: str, keep: str = "") -> list[str]:
    """The characters of a text that do not show themselves but act: control codes (escape sequences of terminals among
    them), ends of lines, marks that turn the direction of writing, zero widths, halves of surrogate pairs, and what is
    no character of Unicode. keep: those that are allowed."""
    if text.isprintable():
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
