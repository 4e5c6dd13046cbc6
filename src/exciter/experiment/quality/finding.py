"""What a check found: one fact about a recording, in words and in numbers, and the verdict over all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Any

from exciter.labelled import table_html


class Severity(IntEnum):
    """NOTE: good to know. WARNING: usable with care. PROBLEM: what is computed from these samples would be wrong."""

    NOTE = 0
    WARNING = 1
    PROBLEM = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Finding:
    """what: the check's short name. joint: None when it concerns all of them. numbers: by name, SI units."""

    severity: Severity
    what: str
    words: str
    joint: str | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", MappingProxyType(dict(self.numbers)))

    def __str__(self) -> str:
        where = "" if self.joint is None else f" of {self.joint}"
        return f"{self.severity}: {self.what}{where}: {self.words}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain = {"severity": str(self.severity), "what": self.what, "joint": self.joint, "words": self.words}
        return {**plain, "numbers": dict(self.numbers)}


def note(what: str, words: str, joint: str | None = None, /, **numbers: Any) -> Finding:
    return Finding(Severity.NOTE, what, words, joint, numbers)


def warning(what: str, words: str, joint: str | None = None, /, **numbers: Any) -> Finding:
    return Finding(Severity.WARNING, what, words, joint, numbers)


def problem(what: str, words: str, joint: str | None = None, /, **numbers: Any) -> Finding:
    return Finding(Severity.PROBLEM, what, words, joint, numbers)


@dataclass(frozen=True)
class Quality:
    """All findings on a recording, the gravest first. skipped: what could not be judged, and why.

    >>> quality = ex.inspect(robot, log)
    >>> quality.usable, quality.samples == len(log)
    (True, True)
    """

    joints: tuple[str, ...]
    samples: int
    duration: float
    rate: float
    findings: tuple[Finding, ...]
    skipped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "findings", tuple(sorted(self.findings, key=lambda f: -f.severity)))

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity == severity)

    @property
    def problems(self) -> tuple[Finding, ...]:
        return self.of(Severity.PROBLEM)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return self.of(Severity.WARNING)

    @property
    def usable(self) -> bool:
        """No problem was found; warnings still ask for care."""
        return not self.problems

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.problems:
            return f"not usable as it is: {_listed(self.problems)}"
        if self.warnings:
            return f"usable with care: {_listed(self.warnings)}"
        return "usable: nothing suspicious was found"

    def __str__(self) -> str:
        """The verdict, then a line for each finding."""
        return "\n".join([self.verdict, *map(str, self.findings), *(f"not checked: {what}" for what in self.skipped)])

    def _repr_html_(self) -> str:
        rows = [[str(f.severity), f.what, f.joint or "", f.words] for f in self.findings]
        return table_html(self.verdict, ("", "finding", "joint", ""), rows, whole=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "verdict": self.verdict,
            "usable": self.usable,
            "joints": list(self.joints),
            "samples": self.samples,
            "duration": self.duration,
            "rate": self.rate,
            "findings": [finding.to_dict() for finding in self.findings],
            "skipped": list(self.skipped),
        }


def _listed(findings: tuple[Finding, ...]) -> str:
    """``stuck sensor (joint_2, joint_3), delay``."""
    joints: dict[str, list[str]] = {}
    for finding in findings:
        joints.setdefault(finding.what, []).extend([finding.joint] if finding.joint else [])
    return ", ".join(f"{what} ({', '.join(dict.fromkeys(of))})" if of else what for what, of in joints.items())
