"""The report of an identification: what was found, how sure it is, and how well it predicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from exciter.experiment.quality.quality import Quality
from exciter.identification.drive_gains import DriveGains
from exciter.identification.identification import Identification
from exciter.identification.information.problem import Problem
from exciter.identification.payload import PayloadEstimate
from exciter.identification.runs.run import Run
from exciter.identification.selection.friction_choice import FrictionChoice
from exciter.identification.selection.trial import Choice
from exciter.notes import Note, texts
from exciter.report.identification.answers import gains_section, payload_section
from exciter.report.identification.checks import (
    comparison_section,
    inertia_section,
    known_load_section,
    simulation_section,
)
from exciter.report.identification.choices import choices_section, friction_choice_section
from exciter.report.identification.headline import headline
from exciter.report.identification.misses import misses
from exciter.report.identification.parameters import conditioning_section, listed, parameters_section
from exciter.report.identification.quality import quality_section
from exciter.report.identification.runs import friction_sections, run_sections
from exciter.report.markup import number
from exciter.report.page import Page
from exciter.report.plain_words import in_full
from exciter.report.repeat import repeat_section
from exciter.report.section import Section
from exciter.validation.closed_loop import SimulationCheck
from exciter.validation.comparison import Comparison
from exciter.validation.inertia_matrix import InertiaMatrix
from exciter.validation.known_load import KnownLoad
from exciter.validation.validation import Validation, ValidationVerdict


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


@dataclass(frozen=True, eq=False)
class Answers:
    """What was asked for beside the parameters, and checks of the model; sections appear for what is there."""

    payload: PayloadEstimate | None = None
    gains: DriveGains | None = None
    friction: FrictionChoice | None = None
    comparison: Comparison | None = None
    inertia_matrix: InertiaMatrix | None = None
    known_load: KnownLoad | None = None
    simulation: Sequence[SimulationCheck] = ()
    choices: Sequence[Choice] = ()

    def sections(self) -> Iterator[Section]:
        if self.payload is not None:
            yield payload_section(self.payload)
        if self.gains is not None:
            yield gains_section(self.gains)

    def chosen(self, settings: Mapping[str, Any]) -> Iterator[Section]:
        """settings: with everything chosen in them."""
        if self.choices:
            yield choices_section(self.choices, settings)
        if self.friction is not None:
            yield friction_choice_section(self.friction)

    def checks(self) -> Iterator[Section]:
        if self.comparison is not None:
            yield comparison_section(self.comparison)
        if self.inertia_matrix is not None:
            yield inertia_section(self.inertia_matrix)
        if self.known_load is not None:
            yield known_load_section(self.known_load)
        if self.simulation:
            yield simulation_section(self.simulation)


def identification_page(
    found: Identification,
    settings: Mapping[str, Any] | None = None,
    validation: Sequence[Problem] = (),
    notes: Sequence[Note] = (),
    answers: Answers | None = None,
    *,
    fit: Validation,
    unseen: Validation,
    quality: Mapping[str, Quality] | None = None,
) -> Page:
    """The report.

    fit, unseen: how the model does on the runs it was identified from and on those never seen (``validate_both``).
    settings: plain data that asks for the same again, shown as YAML. validation: problems of the runs never seen, for
    their files. notes: to stand at the top. answers: what was asked for beside the parameters, and checks. quality:
    what the check of each log found, by its name.
    """
    verdict = ValidationVerdict(fit, unseen)
    sections = [*_sections(found, verdict, answers or Answers(), quality or {}, settings or {})]
    never = [run for one in validation for run in one.runs]
    sections.append(settings_section(found, settings or {}, never))
    title = f"Identification of {found.problem.model.robot.name}"
    return Page(title, headline(found, verdict, notes, quality or {}), sections)


def _sections(
    found: Identification,
    verdict: ValidationVerdict,
    answers: Answers,
    quality: Mapping[str, Quality],
    settings: Mapping[str, Any],
) -> Iterator[Section]:
    yield from answers.sections()
    yield from run_sections(verdict, found.judge.formulation)
    yield from answers.chosen(settings)
    yield from friction_sections(verdict)
    yield parameters_section(found)
    yield conditioning_section(found)
    yield from misses(verdict)
    yield from answers.checks()
    if quality:
        yield quality_section(quality)
    yield done_section(texts(found.estimate.notes), found.problem.runs)
