"""Sections about runs, in every report on a model: residuals, torque, the robot moving, friction, data quality; and the
residual of the decisive run in detail: its size, what it depends on, its frequencies, its correlation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import PurePath
from typing import Any

import numpy as np

from exciter.experiment.quality.numbers_in_words import number as plain
from exciter.experiment.quality.quality import Quality
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.identify_config import judged_words
from exciter.notes import Severity, texts
from exciter.report.markup import PagePart, explained, number, percent
from exciter.report.parts import (
    Bar,
    Cell,
    Folded,
    HtmlTable,
    JointChoice,
    Paragraph,
    Section,
    Sentences,
    Word,
    per_joint,
)
from exciter.report.plot import HeatMap, Line, Plot, band_lines
from exciter.report.scene import Replay, Scene, SideViews
from exciter.robot.robot import Robot
from exciter.settings.write import named
from exciter.validation.baselines import MODEL_TITLES, ModelResidual, NoiseFloor
from exciter.validation.friction_curves import NOT_OF_VELOCITY, FrictionCurve
from exciter.validation.prediction import Prediction
from exciter.validation.residuals import Histogram
from exciter.validation.structure import Structure
from exciter.validation.validation import MOST_RUNS_SHOWN, RunValidation, ValidationVerdict

CLOCK_TIME_S = 1e6  #: a log that begins later has the time of a clock: what is drawn counts from its beginning
QUANTITY_ORDER = ("velocity", "load", "time", "position", "temperature")
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
    def measured(self) -> str:
        """torque, or current."""
        return self.found.baselines.measured

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
    yield residuals_section(verdict, runs, judge, len(shown))
    yield replay_section(verdict.decisive.model.robot, shown)
    for run in shown:
        yield torque_section(run)


def residuals_section(
    verdict: ValidationVerdict, runs: Sequence[ReportedRun], judge: Formulation, shown_runs: int
) -> Section:
    """Joint by joint, beside simpler models. judge: whose equations they are; shown_runs: how many have pictures."""
    floors = [f"{run.name}: {run.found.floor.sentence}" for run in runs]
    overview = (overview_table(verdict),) if len(runs) > 1 else ()
    contents = (*overview, *(baselines_table(run) for run in runs), Sentences(floors))
    about = {"judged": judged_words(judge), "cut": shown_runs < len(runs), "most": MOST_RUNS_SHOWN}
    stands = any(verdict.decisive.model.stances)
    text = explained("residuals", **about, measured=verdict.judged.stacked.measured, stands=stands)
    return Section("residuals", "Residuals compared with simpler models", text, contents)


def overview_table(verdict: ValidationVerdict) -> HtmlTable:
    """What the terminal shows: every run, all of a kind, the description, and noise."""
    base, rows = verdict.judged.stacked, list[tuple[Cell, ...]]()
    for name, joints, total in verdict.rows:
        rows.append((name, *(Bar.percentage(value, bar=False) for value in (total, *joints))))
    return HtmlTable(f"Residual / {base.measured} of every log", ("data", base.total_name, *base.joints), rows)


def baselines_table(run: ReportedRun) -> HtmlTable:
    base, floor = run.found.baselines, run.found.floor
    found, nothing = base.identified, [math.nan]

    def percentages(of: ModelResidual | NoiseFloor, bar: bool = False) -> list[Bar]:
        """Joint by joint, and of all."""
        total = math.nan if of.total_percent is None else of.total_percent
        return [Bar.percentage(value, bar=bar) for value in (*of.percent, total)]

    columns = {
        "joint": (*base.joints, base.total_name),
        "unit": (*base.units, ""),
        f"measured {base.measured}, rms": [*base.signal, *nothing],
        "residual, rms": [*found.rms, *nothing],
        "largest residual": [*found.worst, *nothing],
        "at [s]": [*(found.when - run.start), *nothing],
        **{MODEL_TITLES[one.model]: percentages(one, bar=one is found) for one in base.models},
        "noise floor": percentages(floor),
    }
    return HtmlTable.by_column(f"Residuals on {run.name} ({run.kind})", columns)


def replay_section(robot: Robot, runs: Sequence[ReportedRun]) -> Section:
    """The robot replaying the motions that were recorded."""
    frame, replays = robot.tool_frame, []
    for run in runs:
        pictures = run.prediction.pictures(robot, frame)
        replays.append(Replay(f"{run.name} ({run.kind})", run.group, pictures.time, pictures.q, pictures.path))
    text = explained("replay", frame=frame, several=len(runs) > 1)
    views: tuple[PagePart, ...] = (SideViews(replays[0].path, robot.gravity),) if len(runs) == 1 else ()
    return Section("robot", "Motion of the robot", text, (Scene(robot, frame, replays), *views))


def torque_section(run: ReportedRun) -> Section:
    """Measured and predicted."""
    prediction = run.prediction
    rests = prediction.moves is not None and not prediction.moves.all()
    contents = per_joint(prediction.joints, {j: torque_plot(run, j) for j in range(len(prediction.joints))})
    text = explained("torque", run=run, prediction=prediction, rests=rests)
    return Section(f"torque-{run.group}", f"{run.measured.capitalize()} of {run.name} ({run.kind})", text, contents)


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
    label = f"{'force' if unit == 'N' else run.measured} [{unit}]" if unit else "both sides of the equation"
    return Plot(name, prediction.time, "time [s]", label, lines, group=run.group, band=(0, 1))


def friction_sections(verdict: ValidationVerdict) -> Iterator[Section]:
    """Of every joint over its velocity; nothing where no joint has a curve."""
    if not verdict.friction_curves:
        return
    model = verdict.decisive.model
    names = model.robot.joint_names
    plots = {names.index(curve.joint): friction_plot(curve) for curve in verdict.friction_curves}
    others = [named(term) for term in model.terms if isinstance(term, NOT_OF_VELOCITY)]
    text = explained(
        "friction",
        runs=[run.name for run in verdict.shown if run.prediction.of_joints],  # whose instants the points are
        memory=any(term.has_memory for term in model.bound),
        others=dict.fromkeys(others),
        without=[name for j, name in enumerate(names) if j not in plots],
        measured=verdict.judged.stacked.measured,
    )
    yield Section("friction", "Friction", text, per_joint(names, plots))


def friction_plot(curve: FrictionCurve) -> Plot:
    unit = curve.unit
    lines = [
        *band_lines(curve.friction - curve.band, curve.friction + curve.band, unit),
        Line("measured − rest of the model", curve.measured, unit, points=True),
        Line("identified friction", curve.friction, unit),
    ]
    label = f"velocity [{curve.velocity_unit}]"
    return Plot(curve.joint, curve.velocity, label, f"friction [{unit}]", lines, band=(0, 1))


def quality_section(quality: Mapping[str, Quality]) -> Iterator[Section]:
    """What the check of the logs found, before anything was computed from them, by the name of the log."""
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


# -- the residual of the decisive run in detail ------------------------------------------------------------------------


def residual_analysis(verdict: ValidationVerdict) -> Iterator[Section]:
    """Of the decisive run."""
    (run,) = (one for one in reported_runs(verdict) if one.found is verdict.decisive)
    yield histogram_section(run)
    yield from structure_section(run)
    yield from spectrum_section(run)
    yield correlation_section(run)


def histogram_section(run: ReportedRun) -> Section:
    """Beside that of the description (004, Fig. 4)."""
    histograms = run.found.histograms
    plots = {j: histogram_plot(one) for j, one in enumerate(histograms)}
    rows = [
        (one.joint, errors.model, errors.mean, errors.std, one.unit, errors.skewness, errors.kurtosis)
        for one in histograms
        for errors in (one.identified, one.description)
    ]
    headings = ("joint", "model", "mean residual", "σ of the residual", "unit", "skewness", "excess kurtosis")
    table = HtmlTable(f"Residuals on {run.name}", headings, rows)
    contents = (*per_joint([one.joint for one in histograms], plots), table)
    return Section("histogram", "Histogram of the residuals", explained("histogram", run=run), contents)


def histogram_plot(one: Histogram) -> Plot:
    """A staircase: a value holds from its edge to the next."""
    lines = [
        Line("identified model", np.append(one.identified.percent, 0.0)),
        Line("description", np.append(one.description.percent, 0.0)),
        Line("Gaussian", np.append(one.identified.gaussian_percent, 0.0), width=1.0),
    ]
    return Plot(one.joint, one.edges, f"residual [{one.unit}]", "share of the samples [%]", lines, steps=True)


def structure_section(run: ReportedRun) -> Iterator[Section]:
    """What they depend on: velocity, load, position, time, temperature; nothing where the run is too short to tell."""
    found, joints = run.found.structures, run.prediction.joints
    if not found:
        return
    columns = {
        "joint": [one.joint for one in found],
        "quantity": [one.quantity for one in found],
        "explained share of the residual's variance": [
            Bar(one.share, percent(max(one.share, 0.0)), one.share) for one in found
        ],
        "p-value": [Bar.probability(one.p_value) for one in found],
        "verdict": [Word("depends", "fair") if one.found else Word("by chance", "good") for one in found],
    }
    table = HtmlTable.by_column(f"Does the residual of {run.name} depend on a quantity?", columns)
    sentences = [one.sentence for one in found if one.found]
    words = sentences or ["No dependence on velocity, load, position or time was found."]
    by_quantity = sorted(found, key=lambda one: (QUANTITY_ORDER.index(one.quantity), joints.index(one.joint)))
    plots: list[Folded] = []
    for quantity, some in groupby(by_quantity, key=lambda one: one.quantity):
        _, drawn = per_joint(joints, {joints.index(one.joint): structure_plot(one, run) for one in some})
        plots.append(Folded(f"Residual over {quantity}", (drawn,), opened=not plots))
    contents = (Sentences(words), JointChoice(joints), *plots, table)
    yield Section("structure", "What the model misses", explained("structure", run=run), contents)


def structure_plot(one: Structure, run: ReportedRun) -> Plot:
    unit = run.prediction.units[run.prediction.joints.index(one.joint)]
    lines = [*band_lines(*one.band, unit), Line("mean residual", one.means, unit, colour="c1")]
    label = f"{one.quantity} [{one.unit}]" if one.unit else one.quantity
    title = f"residual [{unit}]" if unit else "residual"
    centres = one.centres - (run.start if one.quantity == "time" else 0.0)
    return Plot(one.joint, centres, label, title, lines, level=0.0, band=(0, 1), band_label="± 2 standard errors")


def spectrum_section(run: ReportedRun) -> Iterator[Section]:
    """Which frequencies they have; nothing where the run is too short."""
    spectrum = run.found.spectrum
    if spectrum is None:
        return
    last, group = spectrum.filled, f"spectrum-{run.group}"
    frequency = spectrum.frequency[:last]
    plots = {}
    for j, (name, unit) in enumerate(zip(spectrum.joints, spectrum.units, strict=True)):
        lines = [Line(which, getattr(spectrum, which)[:last, j], unit) for which in ("measured", "residual")]
        label = f"density [{unit or 'unit'}/√Hz]"
        plots[j] = Plot(name, frequency, "frequency [Hz]", label, lines, group=group, log=True)
    text = explained("spectrum", run=run, empty_above=frequency[-1] if last < len(spectrum.frequency) else None)
    yield Section("spectrum", f"Spectrum of {run.measured} and residual", text, per_joint(spectrum.joints, plots))


def correlation_section(run: ReportedRun) -> Section:
    """Whether they are noise: correlated in time, or between joints, they are not."""
    found, rows = run.found, run.found.whiteness
    columns = {
        "joint": [one.joint for one in rows],
        "correlation of successive samples": [one.neighbour for one in rows],
        "sample interval [s]": [one.interval for one in rows],
        "correlation time [s]": [one.fades if math.isfinite(one.fades) else math.nan for one in rows],
        "power in the lowest tenth of the band": [Bar(one.slow, percent(one.slow), one.slow) for one in rows],
        "p-value if white": [Bar.probability(one.p_value) for one in rows],
        "verdict": [Word("white", "good") if one.white else Word("coloured", "fair") for one in rows],
    }
    table = HtmlTable.by_column(f"Correlation in time of the residuals of {run.name}", columns)
    matrix = HeatMap("Correlation between joints", found.correlation.joints, found.correlation.coefficients)
    contents = (table, matrix, Sentences(found.correlation.sentences))
    return Section("whiteness", "Are the residuals white noise?", explained("whiteness", run=run), contents)
