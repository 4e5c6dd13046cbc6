"""The reports of an identification and of a validation: what was found, how sure it is, and how well it predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from exciter.experiment.quality.quality import Quality
from exciter.identification.drive_gains import DriveGains
from exciter.identification.gain_ratios import GainRatios
from exciter.identification.identification import Identification
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.information.estimate import GOOD, STATUS_LEGEND
from exciter.identification.payload import PayloadEstimate
from exciter.identification.runs.run import Run
from exciter.identification.selection.cross_validated_trial import Choice
from exciter.identification.selection.friction_choice import FrictionChoice
from exciter.notes import lines, texts
from exciter.report.identification import checks, parameters
from exciter.report.identification.runs import friction_sections, quality_section, residual_analysis, run_sections
from exciter.report.markup import explained, number, percent
from exciter.report.page import Page, settings_section
from exciter.report.parts import Cards, Remarks, Section, Sentences, Summary, Word
from exciter.settings.write import in_full, named
from exciter.validation.baselines import DESCRIPTION
from exciter.validation.comparison import Comparison
from exciter.validation.inertia_matrix import InertiaMatrix
from exciter.validation.known_load import KnownLoad
from exciter.validation.simulation import SimulationCheck
from exciter.validation.validation import ValidationVerdict

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers:
    """What was asked for beside the parameters, and checks of the model; sections appear for what is there."""

    choices: tuple[Choice, ...] = ()
    friction: FrictionChoice | None = None
    gains: DriveGains | None = None
    gain_ratios: GainRatios | None = None
    payload: PayloadEstimate | None = None
    known_load: KnownLoad | None = None
    inertia: InertiaMatrix | None = None
    comparison: Comparison | None = None

    @property
    def stages(self) -> dict[str, Any]:
        """Of a plan, and of an estimate in stages, as result.json has them."""
        return {}


def identification_page(
    found: Identification,
    verdict: ValidationVerdict,
    settings: Mapping[str, Any] = NOTHING,
    validation: Sequence[Run] = (),
    *,
    answers: Answers = Answers(),  # noqa: B008  frozen
    quality: Mapping[str, Quality] = NOTHING,
) -> Page:
    """The report.

    verdict: how the model does on identification data and on validation data; its notes stand at the top. settings:
    plain data that asks for the same again, shown as YAML. validation: the validation data, for their files. quality:
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
        *shown(parameters.gain_ratios_section, answers.gain_ratios),
        *run_sections(verdict, found.judge.formulation),
        *parameters.stages_sections(answers.stages),
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
    return Page(title, identification_summary(found, verdict), sections)


def validation_page(
    identified: IdentifiedModel,
    verdict: ValidationVerdict,
    *,
    runs: Sequence[Run] = (),
    quality: Mapping[str, Quality] = NOTHING,
    inertia_matrix: InertiaMatrix | None = None,
    simulation: Sequence[SimulationCheck] = (),
) -> Page:
    """The report of an identified model on validation data.

    runs: the same as they were read, for their hashes and how they were processed. quality: what the check of each log
    found, by its name."""
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
    return Page(title, validation_summary(identified, verdict), sections)


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


def identification_summary(found: Identification, verdict: ValidationVerdict) -> Summary:
    problem, estimate = found.problem, found.estimate
    done = explained(
        "identified",
        problem=problem,
        count=len(estimate.names),
        runs=", ".join(PurePath(run.name).name for run in problem.runs),
        seconds=sum(run.span[1] - run.span[0] for run in problem.runs if run.span),
        equations=int(problem.compressed.rows.sum()),
        estimator=named(found.estimator),
        formulation=named(problem.formulation),
    )
    physical = found.physically_consistent
    sure = explained("sure", poor=sum(estimate.poor_by_ratio), status=STATUS_LEGEND, physical=physical)
    cards = {
        **residual_figures(verdict),
        f"parameters that are {GOOD}": f"{estimate.counts[GOOD]} of {len(estimate.names)}",
        "condition number": number(estimate.condition_number),
        "condition number, normalised columns": number(estimate.condition_number_normalized),
        "computing time of the estimate": f"{number(found.seconds, 3)} s",
    }
    ready = "exciter export writes the model for simulators and controllers; exciter validate judges it on other logs."
    predicts = problem.names == problem.model.base.names  # equations of the base alone have no joint torques
    return summary(verdict, (done, sure), (ready,) if physical and predicts else (), cards)


def validation_summary(identified: IdentifiedModel, verdict: ValidationVerdict) -> Summary:
    runs = verdict.unseen.runs
    done = explained(
        "validated",
        robot=identified.model.robot,
        count=len(identified.estimate.names),
        runs=len(runs),
        names=", ".join(verdict.unseen.names),
        seconds=sum(float(run.prediction.time[-1] - run.prediction.time[0]) for run in runs),
    )
    return summary(verdict, (done,), (), residual_figures(verdict))


def summary(verdict: ValidationVerdict, done: Sequence[str], ready: Sequence[str], cards: Mapping[str, str]) -> Summary:
    """The verdict's own words, then what was done. ready: what else to do next."""
    sentences = (f"{capital(verdict.figures)}. {verdict.caution}.", *done)
    steps = [*(f"{capital(one)}." for one in verdict.steps), *ready]
    remarks = (Remarks(Word("next", "good"), steps), Remarks(Word("note", "fair"), lines(verdict.notes)))
    return Summary(Word(verdict.word, verdict.tone), sentences, (*remarks, Cards(cards)))


def capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def residual_figures(verdict: ValidationVerdict) -> dict[str, str]:
    """Of all runs of a kind together; of the description and of the noise on those that are judged."""
    kinds, judged = {"identification data": verdict.fit, "validation data": verdict.unseen}, verdict.judged
    per = f"/ {judged.stacked.measured}"
    shown = {f"residual {per}, {name}": percent(kind.total_percent / 100) for name, kind in kinds.items() if kind}
    if judged.stacked.described:
        described = judged.stacked.of(DESCRIPTION).total_percent
        shown[f"residual {per}, parameters of the description"] = percent(described / 100)
    floor = judged.floor.total_percent
    shown[f"noise floor {per}"] = "not known" if floor is None else percent(floor / 100)
    return shown
