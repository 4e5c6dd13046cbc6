"""The one way to remark on something: how grave, about what, of which joint and log, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import partial
from itertools import takewhile
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

COLLISION_SUBJECT = "collisions"  #: subject of what is remarked on shapes that collide
LONGEST_NOTE_LINE = 170  #: characters of a line of many; the whole text stands where the logs are judged
NOTE_CUTS = ("; ", ": ", ", ")  #: where a text may be cut


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
    people, without subject and joint; where notes are shown by their text alone (what was done, remarks on a robot), it
    says by itself what it is about. log: the run it is of, by its name. numbers: by name, SI units.

    >>> from exciter.notes import warning
    >>> print(warning("spikes", "three samples stand alone", "joint_2", "log.csv"))
    log.csv: spikes of joint_2: three samples stand alone"""

    severity: Severity
    subject: str
    joint: str | None
    text: str
    log: str | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if "log" in self.numbers:
            raise TypeError("the log of a note is given by position")
        object.__setattr__(self, "numbers", MappingProxyType(dict(self.numbers)))

    def __str__(self) -> str:
        """``log.csv: spikes of joint_2: three samples …``, with the log's file alone."""
        log = "" if self.log is None else f"{PurePath(self.log).name}: "
        return f"{log}{self.subject}{'' if self.joint is None else f' of {self.joint}'}: {self.text}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Note, (self.severity, self.subject, self.joint, self.text, self.log, dict(self.numbers))

    def __repr__(self) -> str:
        return f"<{self.severity}: {self}>"

    @property
    def found_in_log(self) -> bool:
        """Whether its whole text stands where the log is judged."""
        return self.log is not None and self.severity > Severity.NOTE

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is not said."""
        plain = {"severity": str(self.severity), "subject": self.subject, "joint": self.joint, "text": self.text}
        more = {"log": self.log, "numbers": dict(self.numbers)}
        return plain | {key: value for key, value in more.items() if value}


def _of(
    severity: Severity, subject: str, text: str, joint: str | None = None, log: str | None = None, /, **numbers: Any
) -> Note:
    return Note(severity, subject, joint, text, log, numbers)


done, note = partial(_of, Severity.DONE), partial(_of, Severity.NOTE)
warning, problem = partial(_of, Severity.WARNING), partial(_of, Severity.PROBLEM)


def texts(notes: Iterable[Note]) -> list[str]:
    """Sentences that say by themselves what they are about."""
    return [one.text for one in notes]


def in_one_line(notes: Iterable[Note]) -> str:
    """The same, one behind the other."""
    return "; ".join(texts(notes))


def grouped(notes: Iterable[Note]) -> tuple[tuple[Note, ...], ...]:
    """Notes on one subject of one log together, the gravest group first, each group in the order of its notes."""
    groups: dict[tuple[str | None, str], list[Note]] = {}
    for one in notes:
        groups.setdefault((one.log, one.subject), []).append(one)
    return tuple(sorted(map(tuple, groups.values()), key=lambda group: -max(one.severity for one in group)))


def notable(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Without what was merely done."""
    return tuple(one for one in notes if one.severity > Severity.DONE)


def lines(notes: Iterable[Note]) -> list[str]:
    """What there is to read of many notes, the gravest first: of a log, all joints that a subject concerns on one
    line; logs of which the same is said, too."""
    logs: dict[str, dict[str, None]] = {}  # by what is said of them
    for group in grouped(notes):
        for line in _lines(group):
            logs.setdefault(line, {}).update({PurePath(one.log).name: None for one in group[:1] if one.log})
    return [f"{', '.join(names)}: {line}" if names else line for line, names in logs.items()]


def _lines(group: tuple[Note, ...]) -> list[str]:
    """On one subject, without the log: ``spikes: joint_1, joint_3``, and what is said of all of them alike."""
    joints = [] if group[0].log is None else list(dict.fromkeys(one.joint for one in group if one.joint))
    alone = [one for one in group if len(joints) < 2 or not one.joint]
    own = [str(replace(one, log=None, text=shortened(one.text) if one.found_in_log else one.text)) for one in alone]
    if len(joints) < 2:
        return own
    alike = shortened(_common_end([one.text for one in group if one.joint]))
    return [f"{group[0].subject}: {', '.join(joints)}{': ' if alike else ''}{alike}", *own]


def _common_end(sentences: list[str]) -> str:
    """What all of them end with, from where a text may be cut; all of it where they are the same."""
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*(text[::-1] for text in sentences), strict=False))
    end = "".join(letters[0] for letters in same)[::-1]
    if len(set(sentences)) == 1:
        return end
    starts = [end.index(cut) + len(cut) for cut in NOTE_CUTS if cut in end]
    return end[min(starts) :] if starts else ""


def shortened(text: str) -> str:
    """What is too long ends with a part of the sentence, and …"""
    if len(text) <= LONGEST_NOTE_LINE:
        return text
    head = text[:LONGEST_NOTE_LINE]
    cut = next((at for end in NOTE_CUTS if (at := head.rfind(end)) > LONGEST_NOTE_LINE // 3), LONGEST_NOTE_LINE)
    return f"{head[:cut]} …"
