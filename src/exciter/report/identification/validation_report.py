"""The report of a validation: how an identified model does on runs it never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exciter.experiment.quality.quality import Quality
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.runs.run import Run
from exciter.notes import Note
from exciter.report.identification.checks import inertia_section, simulation_section
from exciter.report.identification.headline import many, summary, unseen_sentence, worst_joint
from exciter.report.identification.misses import misses
from exciter.report.identification.quality import quality_section
from exciter.report.identification.report import done_section, hashes
from exciter.report.identification.runs import friction_sections, run_sections
from exciter.report.markup import Markup, number
from exciter.report.page import Page
from exciter.report.repeat import repeat_section
from exciter.validation.closed_loop import SimulationCheck
from exciter.validation.inertia_matrix import InertiaMatrix
from exciter.validation.validation import Validation, ValidationVerdict, some_of


def validation_page(
    identified: IdentifiedModel,
    validation: Validation,
    *,
    runs: Sequence[Run] = (),
    notes: Sequence[Note] = (),
    quality: Mapping[str, Quality] | None = None,
    inertia_matrix: InertiaMatrix | None = None,
    simulation: Sequence[SimulationCheck] = (),
) -> Page:
    """The report.

    validation: of runs that the model never saw; runs: the same as they were read, for their hashes and what was done
    with them. notes: to stand at the top. quality: what the check of each log found, by its name.
    """
    verdict = ValidationVerdict(Validation(()), validation)
    sections = [
        *run_sections(verdict, identified.config.evaluation(())),
        *friction_sections(verdict),
        *misses(verdict),
    ]
    if inertia_matrix is not None:
        sections.append(inertia_section(inertia_matrix))
    if simulation:
        sections.append(simulation_section(simulation))
    if quality:
        sections.append(quality_section(quality))
    if any(run.notes for run in runs):
        sections.append(done_section((), runs))
    values = {
        "identified model": str(identified.folder or "not saved"),
        "identified by": str(identified.data.get("versions", {}).get("exciter", "not stated")),
        "logs": hashes(runs),
    }
    settings = identified.config.to_dict()
    sections.append(repeat_section(values, settings, "identify.yaml", model=identified.model))
    title = f"Validation of {identified.model.robot.name}"
    return Page(title, _headline(identified, verdict, notes), sections)


def _headline(identified: IdentifiedModel, verdict: ValidationVerdict, notes: Sequence[Note]) -> Markup:
    robot, runs = identified.model.robot, verdict.unseen.runs
    seconds = sum(float(run.prediction.time[-1] - run.prediction.time[0]) for run in runs)
    done = (
        f"{many(len(identified.estimate.names), 'parameter')} of {robot.name}, identified before, were tried on "
        f"{many(len(runs), 'run')} they never saw ({some_of([run.name for run in runs])}; {number(seconds, 3)} s)."
    )
    sentences = (done, unseen_sentence(verdict.unseen), f"The {worst_joint(verdict)}.")
    return summary(verdict, sentences, notes)
