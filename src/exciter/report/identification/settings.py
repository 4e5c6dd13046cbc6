"""What was done in words, and what is needed to do it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from exciter.identification.identification import Identification
from exciter.identification.run import Run
from exciter.notes import texts
from exciter.report.identification.parameters import listed
from exciter.report.markup import number
from exciter.report.plain_words import in_full
from exciter.report.repeat import repeat_section
from exciter.report.section import Section


def done_section(words: Sequence[str], runs: Sequence[Run]) -> Section:
    items = [*words, *(f"{PurePath(run.name).name}: {word}" for run in runs for word in texts(run.notes))]
    return Section("done", "What was done", "", (listed(items),))


def hashes(runs: Sequence[Run]) -> str:
    sources = [source for run in runs for source in run.sources]
    return "; ".join(f"{source.name} (SHA-256 {source.sha256})" for source in sources) or "not from files"


def settings_section(found: Identification, settings: Mapping[str, Any], validation: Sequence[Run]) -> Section:
    problem = found.problem
    values = {
        "formulation": in_full(problem.formulation),
        "estimator": in_full(found.estimator),
        "folds of cross-validation": problem.folds,
        "equations": int(problem.compressed.rows.sum()),
        "logs identified from": hashes(problem.runs),
        "logs for validation": hashes(validation) if validation else "none",
        "seconds": number(found.seconds),
    }
    return repeat_section(values, settings, "identify.yaml", model=problem.model)
