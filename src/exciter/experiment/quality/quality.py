"""What the checks of a recording found, and the verdict over all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exciter.labelled import table_html
from exciter.notes import Note, Severity, texts


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
    findings: tuple[Note, ...]
    skipped: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "findings", tuple(sorted(self.findings, key=lambda f: -f.severity)))

    def of(self, severity: Severity) -> tuple[Note, ...]:
        return tuple(f for f in self.findings if f.severity == severity)

    @property
    def problems(self) -> tuple[Note, ...]:
        return self.of(Severity.PROBLEM)

    @property
    def warnings(self) -> tuple[Note, ...]:
        return self.of(Severity.WARNING)

    @property
    def usable(self) -> bool:
        """No problem was found; warnings still ask for care."""
        return not self.problems

    @property
    def verdict(self) -> str:
        """One sentence."""
        return f"{self.word}: {_listed(self.problems or self.warnings) or 'nothing suspicious was found'}"

    @property
    def word(self) -> str:
        """The verdict, short."""
        return "not usable as it is" if self.problems else "usable with care" if self.warnings else "usable"

    def __str__(self) -> str:
        """The verdict, then a line for each finding."""
        findings = (f"{one.severity}: {one}" for one in self.findings)
        return "\n".join([self.verdict, *findings, *(f"not checked: {one.text}" for one in self.skipped)])

    def _repr_html_(self) -> str:
        rows = [[str(f.severity), f.subject, f.joint or "", f.text] for f in self.findings]
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
            "findings": [_plain(one) for one in self.findings],
            "skipped": texts(self.skipped),
        }


def _plain(finding: Note) -> dict[str, Any]:
    """By the keys that readers of ``exciter inspect --json`` know."""
    named = {"severity": str(finding.severity), "what": finding.subject, "joint": finding.joint, "words": finding.text}
    return {**named, "numbers": dict(finding.numbers)}


def _listed(findings: tuple[Note, ...]) -> str:
    """``stuck sensor (joint_2, joint_3), delay``."""
    joints: dict[str, list[str]] = {}
    for finding in findings:
        joints.setdefault(finding.subject, []).extend([finding.joint] if finding.joint else [])
    return ", ".join(f"{what} ({', '.join(dict.fromkeys(of))})" if of else what for what, of in joints.items())
