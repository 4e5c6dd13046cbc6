"""The report of a staged experiment: an index of its stages with their verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from exciter.excitation.criteria.criterion import Figures
from exciter.excitation.experiments.experiment import Experiment, ExperimentStage
from exciter.notes import Note, texts
from exciter.report.design_report import noise_words, verdict_sentence
from exciter.report.markup import explained, number
from exciter.report.page import Page, settings_section
from exciter.report.parts import Bar, Cards, FileLink, HtmlTable, NamedValues, Remarks, Section, Summary, Word


def experiment_page(
    experiment: Experiment,
    stages: Sequence[ExperimentStage],
    figures: Figures,
    settings: Mapping[str, Any],
    notes: Sequence[Note],
    report: str,
) -> Page:
    """figures: of all stages together; notes: on robot and motions; report: the file of each of them."""
    model = stages[0].design.model
    sections = [
        stages_section(stages, report),
        stretches_section(stages),
        parameters_section(stages, figures, noise_words(stages[0].design, settings)),
        settings_section({"estimator of the logs": experiment.estimator}, settings, "experiment.yaml", model=model),
    ]
    title = f"{type(experiment).title.capitalize()}: experiment for {model.robot.name}"
    return Page(title, headline(experiment, stages, figures, notes), [one for one in sections if one.contents])


def headline(
    experiment: Experiment, stages: Sequence[ExperimentStage], figures: Figures, notes: Sequence[Note]
) -> Summary:
    certified = all(stage.design.certificate.certified for stage in stages)
    badge = Word("certified", "good") if certified else Word("not certified", "poor")
    robot = stages[0].design.model.robot
    seconds = sum(stage.design.curve.duration for stage in stages)
    missing = {text: None for stage in stages for text in texts(stage.design.unchecked)}
    told = explained("experiment_done", robot=robot, stages=stages, seconds=seconds, estimator=experiment.estimator)
    return Summary(
        badge,
        (told,),
        (
            Remarks(Word("not checked", "fair"), tuple(missing)),
            Remarks(Word("note", "fair"), texts(notes)),
            Cards(
                {
                    "stages": str(len(stages)),
                    "duration of all motions": f"{number(seconds)} s",
                    "condition number, all stages": number(figures.condition_number, 6),
                    "log det of the covariance, all stages": number(-figures.log_det, 6),
                }
            ),
        ),
    )


def stages_section(stages: Sequence[ExperimentStage], report: str) -> Section:
    designs = [stage.design for stage in stages]
    worst = [design.certificate.worst for design in designs]
    columns = {
        "stage": [FileLink(stage.name, f"{stage.name}/{report}") for stage in stages],
        "purpose": [stage.purpose for stage in stages],
        "verdict": [
            Word("certified", "good") if one.certificate.certified else Word("not certified", "poor") for one in designs
        ],
        "joints that move": [", ".join(stage.moves) for stage in stages],
        "duration [s]": [float(design.curve.duration) for design in designs],
        "parameters": [float(len(design.parameters)) for design in designs],
        "condition number": [float(design.condition_number) for design in designs],
        "tightest limit": ["–" if one is None else f"{one.what} of {one.where}" for one in worst],
        "margin": ["–" if one is None else one.margin_words for one in worst],
    }
    table = HtmlTable.by_column("Stages, in the order in which they are run", columns, "whole")
    verdicts = NamedValues({stage.name: verdict_sentence(stage.design.certificate) for stage in stages})
    return Section("stages", "Stages", explained("experiment_stages"), (table, verdicts))


def stretches_section(stages: Sequence[ExperimentStage]) -> Section:
    """When the robot stands still, and when one joint has a constant velocity."""
    tables = []
    for stage in stages:
        if stage.dwells:
            begin, end = np.array(stage.dwells).T
            columns: dict[str, Any] = {"from [s]": begin, "to [s]": end, "seconds at rest": end - begin}
            tables.append(HtmlTable.by_column(f"{stage.name}: at rest", columns))
        if stage.cruises:
            columns = {
                "joint": [one.joint for one in stage.cruises],
                "speed [rad/s or m/s]": [float(one.speed) for one in stage.cruises],
                "from [s]": [float(one.start) for one in stage.cruises],
                "to [s]": [float(one.end) for one in stage.cruises],
            }
            tables.append(HtmlTable.by_column(f"{stage.name}: at constant velocity", columns))
    return Section("stretches", "Rests and constant velocities", explained("experiment_stretches"), tables)


def parameters_section(stages: Sequence[ExperimentStage], figures: Figures, noise: str) -> Section:
    base, model = stages[0].design.model.base, stages[0].design.model
    nominal = base.base_values(model.nominal)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(nominal == 0.0, np.nan, 100.0 * figures.predicted_std / np.abs(nominal))
    columns = {
        "parameter": figures.names,
        "unit": [model.units[k] for k in base.independent],
        "nominal value": nominal,
        "predicted σ": figures.predicted_std,
        "σ / nominal": map(Bar.relative_std, relative),
        "stages for it": [
            ", ".join(stage.name for stage in stages if name in stage.design.parameters) or "all together"
            for name in figures.names
        ],
    }
    table = HtmlTable.by_column(f"{len(figures.names)} parameters", columns)
    text = explained("experiment_parameters", noise=noise)
    return Section("parameters", "Predicted standard deviations", text, (table,))
