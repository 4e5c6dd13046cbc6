"""Sections about runs, in every report on a model: residuals, torque, the robot moving, friction, data quality."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any

from exciter.dynamics.model import DynamicModel
from exciter.experiment.quality.numbers_in_words import number as plain
from exciter.experiment.quality.quality import Quality
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.identify_config import judged_words
from exciter.notes import Severity, texts
from exciter.report.markup import PagePart, explained, number
from exciter.report.parts import Bar, Folded, HtmlTable, Paragraph, Section, Sentences, Word, per_joint
from exciter.report.plot import Line, Plot, band_lines
from exciter.report.scene import Replay, Scene, SideViews
from exciter.robot.robot import Robot
from exciter.settings.write import named
from exciter.validation.baselines import DESCRIPTION, GRAVITY, ZERO, ModelResidual, NoiseFloor
from exciter.validation.friction_curves import NOT_OF_VELOCITY, FrictionCurve
from exciter.validation.prediction import Prediction
from exciter.validation.validation import MOST_RUNS_SHOWN, RunValidation, ValidationVerdict

CLOCK_TIME_S = 1e6  #: a log that begins later has the time of a clock: what is drawn counts from its beginning
SEVERITY_TONES = {Severity.NOTE: "good", Severity.WARNING: "fair", Severity.PROBLEM: "poor"}


@dataclass(frozen=True, eq=False)
class ReportedRun:
    """What a model makes of a run. group: of the plots over its time. fitted: whether it was identified from."""

    found: RunValidation
    group: str
    fitted: bool

    @cached_property
    def start(self) -> float:
        """[s] that is taken off all times."""
        first = float(self.found.prediction.time[0])
        return first if abs(first) > CLOCK_TIME_S else 0.0

    @cached_property
    def prediction(self) -> Prediction:
        found = self.found.prediction
        return replace(found, time=found.time - self.start)

    @property
    def name(self) -> str:
        return self.found.name

    @property
    def kind(self) -> str:
        return "identification data" if self.fitted else "validation data"


def reported_runs(verdict: ValidationVerdict) -> tuple[ReportedRun, ...]:
    """Identification data, then validation data."""
    kinds = [(run, fitted) for found, fitted in ((verdict.fit, True), (verdict.unseen, False)) for run in found.runs]
    return tuple(ReportedRun(run, f"run{k}", fitted) for k, (run, fitted) in enumerate(kinds))


def run_sections(verdict: ValidationVerdict, judge: Formulation) -> Iterator[Section]:
    """Residuals of all of them, by the equations of ``judge``; the robot and the torques of those that are shown."""
    runs = reported_runs(verdict)
    shown = [run for run in runs if run.found in verdict.shown]
    yield residuals_section(runs, judge, len(shown))
    yield replay_section(verdict.decisive.model.robot, shown)
    for run in shown:
        yield torque_section(run)


# -- residuals, joint by joint, beside those of simpler models ---------------------------------------------------------


def residuals_section(runs: Sequence[ReportedRun], judge: Formulation, shown_runs: int) -> Section:
    """judge: whose equations they are; shown_runs: how many of them have pictures."""
    floors = [f"{run.name}: {run.found.floor.sentence}" for run in runs]
    contents = (*(baselines_table(run) for run in runs), Sentences(floors))
    text = explained("residuals", judged=judged_words(judge), cut=shown_runs < len(runs), most=MOST_RUNS_SHOWN)
    return Section("residuals", "Residuals compared with simpler models", text, contents)


def baselines_table(run: ReportedRun) -> HtmlTable:
    base, floor = run.found.baselines, run.found.floor
    found, nothing = base.identified, [math.nan]

    def percentages(of: ModelResidual | NoiseFloor, bar: bool = False) -> list[Bar]:
        """Joint by joint, and of all."""
        total = math.nan if of.total_percent is None else of.total_percent
        return [Bar.percentage(value, bar=bar) for value in (*of.percent, total)]

    columns = {
        "joint": (*base.joints, "all"),
        "unit": (*base.units, ""),
        "measured torque, rms": [*base.signal, *nothing],
        "residual, rms": [*found.rms, *nothing],
        "largest residual": [*found.worst, *nothing],
        "at [s]": [*(found.when - run.start), *nothing],
        "identified model": percentages(found, bar=True),
        "description": percentages(base.of(DESCRIPTION)),
        "gravity only": percentages(base.of(GRAVITY)),
        "no model": percentages(base.of(ZERO)),
        "noise floor": percentages(floor),
    }
    return HtmlTable.by_column(f"Residuals on {run.name} ({run.kind})", columns)


# -- the robot replaying the motions that were recorded ----------------------------------------------------------------


def replay_section(robot: Robot, runs: Sequence[ReportedRun]) -> Section:
    frame, replays = robot.tool_frame, []
    for run in runs:
        pictures = run.prediction.pictures(robot, frame)
        replays.append(Replay(f"{run.name} ({run.kind})", run.group, pictures.time, pictures.q, pictures.path))
    text = explained("replay", frame=frame, several=len(runs) > 1)
    views: tuple[PagePart, ...] = (SideViews(replays[0].path, robot.gravity),) if len(runs) == 1 else ()
    return Section("robot", "Motion of the robot", text, (Scene(robot, frame, replays), *views))


# -- measured and predicted torque of a run ----------------------------------------------------------------------------


def torque_section(run: ReportedRun) -> Section:
    prediction = run.prediction
    rests = prediction.moves is not None and not prediction.moves.all()
    contents = per_joint(prediction.joints, {j: torque_plot(run, j) for j in range(len(prediction.joints))})
    text = explained("torque", run=run, prediction=prediction, rests=rests)
    return Section(f"torque-{run.group}", f"Torque of {run.name} ({run.kind})", text, contents)


def torque_plot(run: ReportedRun, j: int) -> Plot:
    prediction = run.prediction
    name, unit, predicted = prediction.joints[j], prediction.units[j], prediction.predicted[:, j]
    band = prediction.band[:, j]
    lines = [
        *band_lines(predicted - band, predicted + band, unit),
        Line("measured", prediction.measured[:, j], unit, width=5.0, colour="halo"),
        Line("predicted", predicted, unit, width=1.4),
        Line("residual", prediction.residual[:, j], unit, width=1.2),
    ]
    label = f"{'force' if unit == 'N' else 'torque'} [{unit}]" if unit else "both sides of the equation"
    return Plot(name, prediction.time, "time [s]", label, lines, group=run.group, band=(0, 1))


# -- friction of every joint over its velocity -------------------------------------------------------------------------


def friction_sections(verdict: ValidationVerdict) -> Iterator[Section]:
    """Nothing where no joint has a curve."""
    if verdict.friction_curves:
        names = [run.name for run in verdict.shown if run.prediction.of_joints]
        yield friction_section(verdict.decisive.model, verdict.friction_curves, names)


def friction_section(model: DynamicModel, curves: Sequence[FrictionCurve], runs: Sequence[str]) -> Section:
    """runs: names of those whose instants the points are."""
    names = model.robot.joint_names
    plots = {names.index(curve.joint): friction_plot(curve) for curve in curves}
    others = [named(term) for term in model.terms if isinstance(term, NOT_OF_VELOCITY)]
    text = explained(
        "friction",
        runs=runs,
        memory=any(term.has_memory for term in model.bound),
        others=dict.fromkeys(others),
        without=[name for j, name in enumerate(names) if j not in plots],
    )
    return Section("friction", "Friction", text, per_joint(names, plots))


def friction_plot(curve: FrictionCurve) -> Plot:
    unit = curve.unit
    lines = [
        *band_lines(curve.friction - curve.band, curve.friction + curve.band, unit),
        Line("measured − rest of the model", curve.measured, unit, points=True),
        Line("identified friction", curve.friction, unit),
    ]
    label = f"velocity [{curve.velocity_unit}]"
    return Plot(curve.joint, curve.velocity, label, f"friction [{unit}]", lines, band=(0, 1))


# -- what the check of the logs found, before anything was computed from them ------------------------------------------


def quality_section(quality: Mapping[str, Quality]) -> Iterator[Section]:
    """quality: by the name of the log; no section without any."""
    if quality:
        contents = [part for name, found in quality.items() for part in log_parts(PurePath(name).name, found)]
        yield Section("quality", "Data quality", explained("quality"), contents)


def log_parts(name: str, quality: Quality) -> Iterator[PagePart]:
    worst = Severity.PROBLEM if quality.problems else Severity.WARNING if quality.warnings else Severity.NOTE
    facts = f" {name}: {quality.samples} samples at {number(quality.rate)} Hz, {number(quality.duration)} s."
    yield Paragraph((Word(quality.word, SEVERITY_TONES[worst]), facts))
    if quality.findings:
        rows = [
            (Word(str(f.severity), SEVERITY_TONES[f.severity]), f.subject, f.joint or "all", f.text, details(f.numbers))
            for f in quality.findings
        ]
        yield HtmlTable(f"Findings in {name}", ("severity", "check", "joint", "finding", "details [SI units]"), rows)
    if quality.skipped:
        yield Folded(f"Checks that were not possible on {name}", (Sentences(texts(quality.skipped)),))


def details(values: Mapping[str, Any]) -> str:
    shown = {key: value for key, value in values.items() if isinstance(value, bool | str | int | float)}
    words = {key: str(value) if isinstance(value, bool | str) else plain(value, 4) for key, value in shown.items()}
    return ", ".join(f"{key.replace('_', ' ')} {word}" for key, word in words.items()) or "–"
