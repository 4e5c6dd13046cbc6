"""The reports of an identification and of a validation: what was found, how sure it is, and how well it predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from exciter.experiment.quality.quality import Quality
from exciter.identification.drive_gains import DriveGains
from exciter.identification.identification import Identification
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.payload import PayloadEstimate
from exciter.identification.runs.run import Run
from exciter.identification.selection.cross_validated_trial import Choice
from exciter.identification.selection.friction_choice import FrictionChoice
from exciter.notes import Note, lines, texts
from exciter.report.identification import checks, parameters
from exciter.report.identification.runs import friction_sections, quality_section, residual_analysis, run_sections
from exciter.report.markup import explained, number, percent
from exciter.report.page import Page, settings_section
from exciter.report.parts import Cards, Remarks, Section, Sentences, Summary, Word
from exciter.settings.write import in_full, named
from exciter.validation.baselines import DESCRIPTION, IDENTIFIED
from exciter.validation.comparison import Comparison
from exciter.validation.inertia_matrix import InertiaMatrix
from exciter.validation.known_load import KnownLoad
from exciter.validation.simulation import SimulationCheck
from exciter.validation.validation import RunValidation, Validation, ValidationVerdict, next_steps, some_of

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers:
    """What was asked for beside the parameters, and checks of the model; sections appear for what is there."""

    choices: tuple[Choice, ...] = ()
    friction: FrictionChoice | None = None
    gains: DriveGains | None = None
    payload: PayloadEstimate | None = None
    known_load: KnownLoad | None = None
    inertia: InertiaMatrix | None = None
    comparison: Comparison | None = None


def identification_page(
    found: Identification,
    verdict: ValidationVerdict,
    settings: Mapping[str, Any] = NOTHING,
    validation: Sequence[Run] = (),
    *,
    notes: Sequence[Note] = (),
    answers: Answers = Answers(),  # noqa: B008  frozen
    quality: Mapping[str, Quality] = NOTHING,
) -> Page:
    """The report.

    verdict: how the model does on identification data and on validation data. settings: plain data that asks for the
    same again, shown as YAML. validation: the validation data, for their files. notes: to stand at the top. quality:
    what the check of each log found, by its name."""
    problem = found.problem
    values = {
        "formulation": in_full(problem.formulation),
        "estimator": in_full(found.estimator),
        "folds of cross-validation": problem.folds,
        "equations": int(problem.compressed.rows.sum()),
        "identification data": hashes(problem.runs),
        "validation data": hashes(validation) if validation else "none",
        "computing time [s]": number(found.seconds),
    }
    sections = [
        *shown(parameters.payload_section, answers.payload),
        *shown(parameters.gains_section, answers.gains),
        *run_sections(verdict, found.judge.formulation),
        *shown(parameters.choices_section, answers.choices, settings),
        *shown(parameters.friction_choice_section, answers.friction),
        *friction_sections(verdict),
        parameters.parameters_section(found),
        parameters.conditioning_section(found),
        *residual_analysis(verdict),
        *shown(checks.comparison_section, answers.comparison),
        *shown(checks.inertia_section, answers.inertia),
        *shown(checks.known_load_section, answers.known_load),
        *quality_section(quality),
        *processing_section(texts(found.estimate.notes), problem.runs),
        settings_section(values, settings, "identify.yaml", model=problem.model),
    ]
    title = f"Identification of {problem.model.robot.name}"
    return Page(title, identification_summary(found, verdict, notes, quality), sections)


def validation_page(
    identified: IdentifiedModel,
    validation: Validation,
    *,
    runs: Sequence[Run] = (),
    notes: Sequence[Note] = (),
    quality: Mapping[str, Quality] = NOTHING,
    inertia_matrix: InertiaMatrix | None = None,
    simulation: Sequence[SimulationCheck] = (),
) -> Page:
    """The report of an identified model on validation data.

    runs: the same as they were read, for their hashes and how they were processed. notes: to stand at the top. quality:
    what the check of each log found, by its name."""
    verdict = ValidationVerdict(Validation(()), validation)
    values = {
        "identified model": str(identified.folder or "not saved"),
        "identified by": str(identified.data.get("versions", {}).get("exciter", "not stated")),
        "validation data": hashes(runs),
    }
    sections = [
        *run_sections(verdict, identified.config.evaluation(())),
        *friction_sections(verdict),
        *residual_analysis(verdict),
        *shown(checks.inertia_section, inertia_matrix),
        *shown(checks.simulation_section, simulation),
        *quality_section(quality),
        *processing_section((), runs),
        settings_section(values, identified.config.to_dict(), "identify.yaml", model=identified.model),
    ]
    title = f"Validation of {identified.model.robot.name}"
    return Page(title, validation_summary(identified, verdict, notes), sections)


def shown(section: Callable[..., Section], found: Any, *more: Any) -> list[Section]:
    """The section of something that was found; none of nothing."""
    return [] if found in (None, (), []) else [section(found, *more)]


def processing_section(words: Sequence[str], runs: Sequence[Run]) -> Iterator[Section]:
    items = [*words, *(f"{PurePath(run.name).name}: {word}" for run in runs for word in texts(run.notes))]
    if items:
        yield Section("done", "Processing steps", "", (Sentences(items),))


def hashes(runs: Sequence[Run]) -> str:
    sources = [source for run in runs for source in run.sources]
    return "; ".join(f"{source.name} (SHA-256 {source.sha256})" for source in sources) or "not from files"


# -- the head: a verdict, what was done in a few sentences, and a few figures ------------------------------------------


def identification_summary(
    found: Identification, verdict: ValidationVerdict, notes: Sequence[Note], quality: Mapping[str, Quality]
) -> Summary:
    problem, estimate, unseen = found.problem, found.estimate, verdict.unseen
    well, less, none_of = estimate.counts.values()
    done = explained(
        "identified",
        problem=problem,
        count=len(estimate.names),
        runs=some_of([PurePath(run.name).name for run in problem.runs]),
        seconds=sum(run.span[1] - run.span[0] for run in problem.runs if run.span),
        equations=int(problem.compressed.rows.sum()),
        estimator=named(found.estimator),
        formulation=named(problem.formulation),
    )
    validated = unseen.worst if unseen.runs else None
    fit = explained("fit", run=verdict.fit.worst, unseen=validated, description=DESCRIPTION)
    physical = found.physically_consistent
    sure = explained("sure", well=well, less=less, none_of=none_of, physical=physical)
    cards = {
        **residual_figures(verdict),
        "parameters well identified": f"{well} of {len(estimate.names)}",
        "condition number": number(estimate.condition_number),
        "condition number, normalised columns": number(estimate.condition_number_normalized),
        "computing time of the estimate": f"{number(found.seconds, 3)} s",
    }
    sentences = (done, fit, worst_joint(verdict), sure)
    return summary(verdict, sentences, next_steps(found, verdict, quality), notes, cards)


def validation_summary(identified: IdentifiedModel, verdict: ValidationVerdict, notes: Sequence[Note]) -> Summary:
    runs = verdict.unseen.runs
    done = explained(
        "validated",
        robot=identified.model.robot,
        count=len(identified.estimate.names),
        runs=len(runs),
        names=some_of([run.name for run in runs]),
        seconds=sum(float(run.prediction.time[-1] - run.prediction.time[0]) for run in runs),
        worst=verdict.unseen.worst,
        description=DESCRIPTION,
    )
    return summary(verdict, (done, worst_joint(verdict)), (), notes, residual_figures(verdict))


def worst_joint(verdict: ValidationVerdict) -> str:
    return explained("worst_joint", base=verdict.decisive.baselines, j=verdict.worst_joint)


def summary(
    verdict: ValidationVerdict,
    sentences: Sequence[str],
    steps: Sequence[str],
    notes: Sequence[Note],
    cards: Mapping[str, str],
) -> Summary:
    """steps: what to do next."""
    remarks = (Remarks(Word("next", "good"), steps), Remarks(Word("note", "fair"), lines(notes)))
    return Summary(Word(verdict.word, verdict.tone), sentences, (*remarks, Cards(cards)))


def residual_share(run: RunValidation, model: str = IDENTIFIED) -> str:
    """Over the measured torque, by a model."""
    return percent(run.baselines.of(model).total_percent / 100)


def residual_figures(verdict: ValidationVerdict) -> dict[str, str]:
    """Of the worst run of each kind; of the description and of the noise on the decisive one."""
    kinds = {"identification data": verdict.fit, "validation data": verdict.unseen}
    shown = {f"residual / torque, {words}": residual_share(kind.worst) for words, kind in kinds.items() if kind.runs}
    shown["residual / torque, parameters of the description"] = residual_share(verdict.decisive, DESCRIPTION)
    floor = verdict.decisive.floor.total_percent
    shown["noise floor / torque"] = "not known" if floor is None else percent(floor / 100)
    return shown
