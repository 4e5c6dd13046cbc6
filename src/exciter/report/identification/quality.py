"""What the check of the logs found, before anything was computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from exciter.experiment.quality.quality import Quality
from exciter.experiment.quality.words import number as plain
from exciter.notes import Severity, texts
from exciter.report.identification.parameters import listed
from exciter.report.markup import Markup, element, number
from exciter.report.section import Section, folded
from exciter.report.table import Table, Word

TONES = {Severity.NOTE: "good", Severity.WARNING: "fair", Severity.PROBLEM: "poor"}


def quality_section(quality: Mapping[str, Quality]) -> Section:
    """quality: by the name of the log."""
    text = (
        "Every log was checked before it was used. A warning asks for care; a problem makes what is computed from the "
        "samples wrong."
    )
    contents = [part for name, found in quality.items() for part in log_parts(PurePath(name).name, found)]
    return Section("quality", "Data quality", text, tuple(contents))


def log_parts(name: str, quality: Quality) -> list[Markup]:
    grave = Severity.PROBLEM if quality.problems else Severity.WARNING if quality.warnings else Severity.NOTE
    facts = f"{quality.samples} samples at {number(quality.rate)} Hz, {number(quality.duration)} s"
    verdict = element("p", Word(quality.word, TONES[grave]).html(), f" {name}: {facts}.")
    parts = [verdict]
    if quality.findings:
        rows = [
            (Word(str(f.severity), TONES[f.severity]), f.subject, f.joint or "all", f.text, numbers(f.numbers))
            for f in quality.findings
        ]
        headings = ("severity", "check", "joint", "finding", "numbers (SI)")
        parts.append(Table(f"Findings in {name}", headings, rows).html())
    if quality.skipped:
        parts.append(folded(f"What could not be judged of {name}", listed(texts(quality.skipped))))
    return parts


def numbers(values: Mapping[str, Any]) -> str:
    told = []
    for key, value in values.items():
        if isinstance(value, bool | str):
            told.append(f"{key.replace('_', ' ')} {value}")
        elif isinstance(value, int | float):
            told.append(f"{key.replace('_', ' ')} {plain(value, 4)}")
    return ", ".join(told) or "–"
