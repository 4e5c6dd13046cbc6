"""Sections that every report about runs and a model has, whether the model was identified from them or not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from exciter.dynamics.model import DynamicModel
from exciter.identification.config.identify_config import judged_words
from exciter.identification.formulations.formulation import Formulation
from exciter.report.identification.parameters import listed
from exciter.report.markup import Markup, element, percent
from exciter.report.plain_words import named
from exciter.report.plot import Line, Plot
from exciter.report.scene import Replay, Scene
from exciter.report.section import Section, joint_choice
from exciter.report.table import Bar, Cell, Table
from exciter.robot.robot import Robot
from exciter.validation.baselines import DESCRIPTION, GRAVITY, ZERO
from exciter.validation.friction_curves import NOT_OF_VELOCITY, FrictionCurve
from exciter.validation.prediction import Prediction
from exciter.validation.validation import MOST_RUNS_SHOWN, RunValidation, ValidationVerdict

CLOCK = 1e6  #: [s] a log that begins later has the time of a clock: what is drawn counts from its beginning
FIT, UNSEEN = "identified from", "never seen"


@dataclass(frozen=True, eq=False)
class Drawn:
    """What a model makes of a run. group: of the plots over its time. seen: whether it was identified from."""

    found: RunValidation
    group: str
    seen: bool

    @cached_property
    def start(self) -> float:
        """[s] that is taken off all times."""
        first = float(self.found.prediction.time[0])
        return first if abs(first) > CLOCK else 0.0

    @cached_property
    def prediction(self) -> Prediction:
        found = self.found.prediction
        return replace(found, time=found.time - self.start)

    @property
    def name(self) -> str:
        return self.found.name

    @property
    def kind(self) -> str:
        return FIT if self.seen else UNSEEN


def drawn_runs(verdict: ValidationVerdict) -> tuple[Drawn, ...]:
    """The runs identified from, then those never seen."""
    kinds = [(run, seen) for found, seen in ((verdict.fit, True), (verdict.unseen, False)) for run in found.runs]
    return tuple(Drawn(run, f"run{k}", seen) for k, (run, seen) in enumerate(kinds))


def per_joint(parts: Mapping[int, Markup]) -> Markup:
    """By the number of the joint, side by side where there is room; the choice of a joint shows its part alone."""
    shown = (element("div", part, class_="of-joint", data_joint=j) for j, part in parts.items())
    return element("div", *shown, class_="pair")


# -- measured and predicted torque of a run, and what lies between them ----------------------------------------------


def torque_section(drawn: Drawn) -> Section:
    prediction = drawn.prediction
    seen = "This run was identified from." if drawn.seen else "This motion was never used for identification."
    rests = prediction.moves is not None and not prediction.moves.all()
    resting = "; where a joint with dry friction rests it has no equation, and both drop towards zero" if rests else ""
    text = (
        f"{seen} Measured and predicted are shown as they enter the equations, filtered alike{resting}. The band is "
        "the 95 % confidence band of the prediction that the parameters' covariance gives; it is often too narrow to "
        "be seen. Click into a plot to send the robot above to that instant."
    )
    if drawn.start:
        text += " Time counts from the beginning of the log."
    if not prediction.complete:
        text += f" Only the first {len(prediction)} instants are drawn."
    plots = {j: torque_plot(drawn, j) for j in range(len(prediction.joints))}
    contents = (joint_choice(prediction.joints), per_joint(plots))
    return Section(f"torque-{drawn.group}", f"Torque of {drawn.name}, {drawn.kind}", text, contents)


def torque_plot(drawn: Drawn, j: int) -> Markup:
    prediction = drawn.prediction
    name, unit = prediction.joints[j], prediction.units[j]
    predicted, band = prediction.predicted[:, j], prediction.band[:, j]
    lines = [
        Line("lower end", predicted - band, unit),
        Line("upper end", predicted + band, unit),
        Line("measured", prediction.measured[:, j], unit, width=5.0, colour="halo"),
        Line("predicted", predicted, unit, width=1.4),
        Line("residual", prediction.residual[:, j], unit, width=1.2),
    ]
    label = f"{'force' if unit == 'N' else 'torque'} [{unit}]" if unit else "both sides"
    return Plot(name, prediction.time, "time [s]", label, lines, group=drawn.group, band=(0, 1)).html()


# -- friction of every joint over its velocity -----------------------------------------------------------------------


def friction_section(model: DynamicModel, curves: Sequence[FrictionCurve], runs: Sequence[str]) -> Section:
    """runs: names of those whose instants the points are."""
    text = (
        "The line is the identified friction while a joint slides at constant speed, with its 95 % band, an offset "
        "included; points are what was measured less everything else the model predicts (every instant of "
        f"{', '.join(runs)}, thinned). A cloud that bends away from the line asks for another "
        "friction model."
    )
    if any(term.has_memory for term in model.bound):
        text += (
            " Near standstill points leave the line: after a reversal friction builds up over a short travel, and "
            "filters blur it."
        )
    others = [named(term) for term in model.terms if isinstance(term, NOT_OF_VELOCITY)]
    if others:
        text += f" Not in the picture, since velocity alone does not tell it: {', '.join(dict.fromkeys(others))}."
    names = model.robot.joint_names
    plots = {names.index(curve.joint): curve_plot(curve) for curve in curves}
    if len(curves) < model.n:
        text += f" No friction curve: {', '.join(name for j, name in enumerate(names) if j not in plots)}."
    return Section("friction", "Friction", text, (joint_choice(names), per_joint(plots)))


def curve_plot(curve: FrictionCurve) -> Markup:
    unit = curve.unit
    lines = [
        Line("lower end", curve.friction - curve.band, unit),
        Line("upper end", curve.friction + curve.band, unit),
        Line("measured less the rest", curve.measured, unit, points=True),
        Line("friction", curve.friction, unit),
    ]
    label = f"velocity [{curve.velocity_unit}]"
    return Plot(curve.joint, curve.velocity, label, f"friction [{unit}]", lines, band=(0, 1)).html()


# -- the robot replaying the motions that were recorded --------------------------------------------------------------


def replay_section(robot: Robot, runs: Sequence[Drawn]) -> Section:
    frame = robot.tool_frame
    scene = Scene(robot, frame, [replay(robot, frame, drawn) for drawn in runs])
    text = f"The motion as it was recorded; the line is the path of frame {frame}."
    if len(runs) > 1:
        text += " Choose the run below the picture, or click into its torque plots."
    return Section("robot", "The robot replaying the runs", text, (scene.html(),))


def replay(robot: Robot, frame: str, drawn: Drawn) -> Replay:
    pictures = drawn.prediction.pictures(robot, frame)
    return Replay(f"{drawn.name} ({drawn.kind})", drawn.group, pictures.time, pictures.q, pictures.path)


# -- how much of the torque is left, joint by joint, beside models that know less ------------------------------------


def residuals_section(runs: Sequence[Drawn], judge: Formulation, shown_runs: int) -> Section:
    """judge: whose equations they are; shown_runs: how many of them have pictures."""
    text = (
        "How far the model's torque is from the measured one: root mean square (rms), the largest difference and when "
        "it was, and the rms over that of the measured torque. Beside it what models leave that know less: the "
        "parameters of the description (URDF), its gravity alone, and none at all (100 %). The noise floor is what no "
        f"model can explain. {judged_words(judge)}"
    )
    if shown_runs < len(runs):
        text += f" Torques are drawn of the first {MOST_RUNS_SHOWN} runs of each kind."
    floors = [f"{drawn.name}: {drawn.found.floor.sentence}" for drawn in runs]
    contents = (*(baselines_table(drawn).html() for drawn in runs), listed(floors))
    return Section("residuals", "Residuals beside baselines", text, contents)


def baselines_table(drawn: Drawn) -> Table:
    base, floor = drawn.found.baselines, drawn.found.floor
    found, others = base.identified, [base.of(model) for model in (DESCRIPTION, GRAVITY, ZERO)]
    rows: list[tuple[Cell, ...]] = [
        (
            joint,
            unit,
            float(base.signal[j]),
            float(found.rms[j]),
            float(found.worst[j]),
            float(found.when[j]) - drawn.start,
            shown(float(found.percent[j]), found.percent[j] / 100.0),
            *(shown(float(other.percent[j])) for other in others),
            shown(float(floor.percent[j])),
        )
        for j, (joint, unit) in enumerate(zip(base.joints, base.units, strict=True))
    ]
    total = Bar(found.total_percent, percent(found.total_percent / 100.0), found.total_percent / 100.0)
    left = [shown(other.total_percent) for other in others]
    last = floor.total_percent
    rows.append(("all", "", *(math.nan,) * 4, total, *left, shown(math.nan if last is None else last)))
    headings = (
        "joint",
        "unit",
        "measured rms",
        "residual rms",
        "largest",
        "at [s]",
        "residual / measured",
        "description",
        "gravity only",
        "zero torque",
        "noise floor",
    )
    return Table(f"Residuals on {drawn.name}, {drawn.kind}", headings, rows)


def shown(share: float, length: float = math.nan) -> Bar:
    """A percentage that sorts by its value, without a bar unless a length is given."""
    return Bar(share, percent(share / 100.0) if math.isfinite(share) else "–", length)


def run_sections(verdict: ValidationVerdict, judge: Formulation) -> Iterator[Section]:
    """Residuals of all of them, by the equations of ``judge``; the robot and the torques of those that are shown."""
    runs = drawn_runs(verdict)
    shown = [drawn for drawn in runs if drawn.found in verdict.shown]
    yield residuals_section(runs, judge, len(shown))
    yield replay_section(verdict.decisive.model.robot, shown)
    for drawn in shown:
        yield torque_section(drawn)


def friction_sections(verdict: ValidationVerdict) -> Iterator[Section]:
    """Nothing where no joint has a curve."""
    if verdict.friction_curves:
        names = [run.name for run in verdict.shown if run.prediction.of_joints]
        yield friction_section(verdict.decisive.model, verdict.friction_curves, names)
