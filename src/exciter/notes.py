"""The one way to remark on something: how grave, about what, of which joint and log, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Any


class Severity(IntEnum):
    """DONE: what was done. NOTE: good to know. WARNING: usable with care. PROBLEM: what is computed would be wrong."""

    DONE = -1
    NOTE = 0
    WARNING = 1
    PROBLEM = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Note:
    """A remark: what a log, a robot or a result says about itself.

    subject: in a word or two (``spikes``, ``gravity``). joint: None where it concerns all. text: one sentence for
    people, without subject and joint. log: the run it is of, by its name. numbers: by name, SI units.

    >>> from exciter.notes import warning
    >>> print(warning("spikes", "three samples stand alone", "joint_2", log="log.csv"))
    log.csv: spikes of joint_2: three samples stand alone
    """

    severity: Severity
    subject: str
    joint: str | None
    text: str
    log: str | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", MappingProxyType(dict(self.numbers)))

    def __str__(self) -> str:
        """``log.csv: spikes of joint_2: three samples …``"""
        log = "" if self.log is None else f"{self.log}: "
        return f"{log}{self.subject}{'' if self.joint is None else f' of {self.joint}'}: {self.text}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is not said."""
        plain = {"severity": str(self.severity), "subject": self.subject, "joint": self.joint, "text": self.text}
        more = {"log": self.log, "numbers": dict(self.numbers)}
        return plain | {key: value for key, value in more.items() if value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Note:
        """The inverse of ``to_dict``."""
        return cls(**{**data, "severity": Severity[str(data["severity"]).upper()]})


def done(subject: str, text: str, joint: str | None = None, /, *, log: str | None = None, **numbers: Any) -> Note:
    return Note(Severity.DONE, subject, joint, text, log, numbers)


def note(subject: str, text: str, joint: str | None = None, /, *, log: str | None = None, **numbers: Any) -> Note:
    return Note(Severity.NOTE, subject, joint, text, log, numbers)


def warning(subject: str, text: str, joint: str | None = None, /, *, log: str | None = None, **numbers: Any) -> Note:
    return Note(Severity.WARNING, subject, joint, text, log, numbers)


def problem(subject: str, text: str, joint: str | None = None, /, *, log: str | None = None, **numbers: Any) -> Note:
    return Note(Severity.PROBLEM, subject, joint, text, log, numbers)


def grouped(notes: Iterable[Note]) -> tuple[tuple[Note, ...], ...]:
    """Notes on one subject of one log together, the gravest group first, each group in the order of its notes."""
    groups: dict[tuple[str | None, str], list[Note]] = {}
    for one in notes:
        groups.setdefault((one.log, one.subject), []).append(one)
    return tuple(sorted(map(tuple, groups.values()), key=lambda group: -max(one.severity for one in group)))
