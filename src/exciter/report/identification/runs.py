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
from exciter.report.markup import PagePart, number
from exciter.report.parts import (
    Bar,
    Cell,
    Folded,
    HtmlTable,
    JointChoice,
    Paragraph,
    PerJoint,
    Section,
    Sentences,
    Word,
)
from exciter.report.plot import Line, Plot, band_lines
from exciter.report.scene import Replay, Scene, SideViews
from exciter.robot.robot import Robot
from exciter.settings.in_words import named
from exciter.validation.baselines import DESCRIPTION, GRAVITY, ZERO
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
    text = (
        "Residual: measured minus predicted torque. Its root mean square (rms), its largest value and when that "
        "occurred; then the rms in per cent of that of the measured torque, for the identified model and for simpler "
        "ones: the parameters of the robot's description, its gravity alone, and no model (100 %). The noise floor is "
        f"what no model can explain. {judged_words(judge)}"
    )
    if shown_runs < len(runs):
        text += f" Torques are drawn of the first {MOST_RUNS_SHOWN} runs of each kind."
    floors = [f"{run.name}: {run.found.floor.sentence}" for run in runs]
    contents = (*(baselines_table(run) for run in runs), Sentences(floors))
    return Section("residuals", "Residuals compared with simpler models", text, contents)


def baselines_table(run: ReportedRun) -> HtmlTable:
    base, floor = run.found.baselines, run.found.floor
    found, others = base.identified, [base.of(model) for model in (DESCRIPTION, GRAVITY, ZERO)]
    rows: list[tuple[Cell, ...]] = [
        (
            joint,
            unit,
            float(base.signal[j]),
            float(found.rms[j]),
            float(found.worst[j]),
            float(found.when[j]) - run.start,
            Bar.percentage(float(found.percent[j])),
            *(Bar.percentage(float(other.percent[j]), bar=False) for other in others),
            Bar.percentage(float(floor.percent[j]), bar=False),
        )
        for j, (joint, unit) in enumerate(zip(base.joints, base.units, strict=True))
    ]
    totals = [*(other.total_percent for other in others), floor.total_percent]
    left = [Bar.percentage(math.nan if total is None else total, bar=False) for total in totals]
    rows.append(("all", "", *(math.nan,) * 4, Bar.percentage(found.total_percent), *left))
    headings = (
        "joint",
        "unit",
        "measured torque, rms",
        "residual, rms",
        "largest residual",
        "at [s]",
        "identified model",
        "description",
        "gravity only",
        "no model",
        "noise floor",
    )
    return HtmlTable(f"Residuals on {run.name} ({run.kind})", headings, rows)


# -- the robot replaying the motions that were recorded ----------------------------------------------------------------


def replay_section(robot: Robot, runs: Sequence[ReportedRun]) -> Section:
    frame, replays = robot.tool_frame, []
    for run in runs:
        pictures = run.prediction.pictures(robot, frame)
        replays.append(Replay(f"{run.name} ({run.kind})", run.group, pictures.time, pictures.q, pictures.path))
    text = f"The motion as it was recorded; the line is the path of frame {frame}. Up is against gravity."
    views: tuple[PagePart, ...] = (SideViews(replays[0].path, robot.gravity),) if len(runs) == 1 else ()
    if len(runs) > 1:
        text += " Choose the run below the picture, or click into its torque plots."
    return Section("robot", "Motion of the robot", text, (Scene(robot, frame, replays), *views))


# -- measured and predicted torque of a run ----------------------------------------------------------------------------


def torque_section(run: ReportedRun) -> Section:
    prediction = run.prediction
    used = "was used for identification" if run.fitted else "was not used for identification"
    rests = prediction.moves is not None and not prediction.moves.all()
    resting = "; where a joint with dry friction rests it has no equation, and both drop towards zero" if rests else ""
    text = (
        f"This run {used}. Measured and predicted torque are shown as they enter the equations, filtered alike"
        f"{resting}. The band is the 95 % confidence band of the prediction, from the covariance of the parameters; it "
        "is often too narrow to be seen. Click into a plot to move the robot above to that instant."
    )
    if run.start:
        text += " Time counts from the beginning of the log."
    if not prediction.complete:
        text += f" Only the first {len(prediction)} instants are drawn."
    plots = {j: torque_plot(run, j) for j in range(len(prediction.joints))}
    contents = (JointChoice(prediction.joints), PerJoint(plots))
    return Section(f"torque-{run.group}", f"Torque of {run.name} ({run.kind})", text, contents)


def torque_plot(run: ReportedRun, j: int) -> Plot:
    prediction = run.prediction
    name, unit, predicted = prediction.joints[j], prediction.units[j], prediction.predicted[:, j]
    lines = [
        *band_lines(predicted, prediction.band[:, j], unit),
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
    text = (
        "The line is the identified friction at constant speed, offset included, with its 95 % band. Points are the "
        "measured torque minus everything else that the model predicts, at the instants of "
        f"{', '.join(runs)} (thinned). Where the points bend away from the line, another friction model may fit better."
    )
    if any(term.has_memory for term in model.bound):
        text += (
            " Near standstill points leave the line: after a reversal friction builds up over a short travel, and "
            "filters blur it."
        )
    others = [named(term) for term in model.terms if isinstance(term, NOT_OF_VELOCITY)]
    if others:
        text += f" Not shown, because it does not depend on velocity alone: {', '.join(dict.fromkeys(others))}."
    names = model.robot.joint_names
    plots = {names.index(curve.joint): friction_plot(curve) for curve in curves}
    if len(curves) < model.n:
        text += f" No friction curve: {', '.join(name for j, name in enumerate(names) if j not in plots)}."
    return Section("friction", "Friction", text, (JointChoice(names), PerJoint(plots)))


def friction_plot(curve: FrictionCurve) -> Plot:
    unit = curve.unit
    lines = [
        *band_lines(curve.friction, curve.band, unit),
        Line("measured − rest of the model", curve.measured, unit, points=True),
        Line("identified friction", curve.friction, unit),
    ]
    label = f"velocity [{curve.velocity_unit}]"
    return Plot(curve.joint, curve.velocity, label, f"friction [{unit}]", lines, band=(0, 1))


# -- what the check of the logs found, before anything was computed from them ------------------------------------------


def quality_section(quality: Mapping[str, Quality]) -> Iterator[Section]:
    """quality: by the name of the log; no section without any."""
    text = (
        "Every log was checked before it was used. A warning asks for care; a problem makes results that are computed "
        "from the samples wrong."
    )
    contents = [part for name, found in quality.items() for part in log_parts(PurePath(name).name, found)]
    if quality:
        yield Section("quality", "Data quality", text, contents)


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
