"""Errors a user can act on: each message says what was given, what is allowed, and what to do.

Everything that a wrong input can cause is an ``ExciterError``; the command line prints its one line and
leaves with exit code 2. Anything else that escapes is a defect of Exciter.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


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
