"""The report of a designed motion: what was done, what it reaches, and that no limit is ever broken."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from exciter.excitation.certificate.certificate import (
    Certificate,
    LimitVerdict,
    assumed_words,
    failures_words,
    margin_words,
)
from exciter.excitation.constraints.ground import grounds
from exciter.excitation.design import WELL_KNOWN_PERCENT, Design, DesignView
from exciter.excitation.trajectories.trajectory import acceleration_spectrum
from exciter.notes import texts
from exciter.report.markup import Markup, element, joined, number, percent
from exciter.report.page import Page
from exciter.report.plain_words import in_full, named
from exciter.report.plot import Line, Plot, staircases
from exciter.report.projections import projections
from exciter.report.repeat import repeat_section
from exciter.report.scene import Replay, Scene
from exciter.report.section import Section, figures, folded, joint_choice
from exciter.report.surroundings import surroundings
from exciter.report.table import Bar, Table, Word
from exciter.robot.robot import Robot
from exciter.settings import written
from exciter.typing import Array


def headline(design: Design) -> Markup:
    certified = design.certificate.certified
    badge = element("span", "certified" if certified else "not certified", class_="word " + tone(certified))
    if certified and not design.certificate.proved:
        badge = element("span", "nothing to certify", class_="word unproved")
    sentences = (done_sentence(design), verdict_sentence(design.certificate), expected_sentence(design))
    lead = element("p", badge, " ", " ".join(sentences), class_="lead")
    return joined(lead, caveats(design), figures(key_figures(design)))


def caveats(design: Design) -> Markup:
    """What the verdict does not speak of, and what was assumed of the robot."""
    missing = [("not checked", text) for text in texts(design.unchecked)]
    noted = [("note", text) for text in texts((*design.model.robot.remarks, *design.notes))]
    items = (element("li", element("span", kind, class_="word fair"), " ", text) for kind, text in missing + noted)
    return element("ul", *items, class_="caveats") if missing or noted else Markup()


def tone(good: bool) -> str:
    return "good" if good else "poor"


def done_sentence(design: Design) -> str:
    robot, trajectory = design.model.robot, design.trajectory
    family = written(trajectory)["family"]
    starts = len(design.attempts)
    whose = f"For {robot.name} with {robot.n} {'joint' if robot.n == 1 else 'joints'}"
    if not starts:
        return (
            f"{whose}, {number(design.curve.duration)} s of random motion were drawn, to validate on; its criterion "
            f"{design.criterion.name} is {number(design.value, 6)}."
        )
    if design.unsearched:
        return (
            f"{whose}, a {family} motion of {number(trajectory.duration)} s was taken as a start begins with it, "
            f"not searched for. Its criterion {design.criterion.name} is {number(design.value, 6)}."
        )
    return (
        f"{whose}, a {family} motion of "
        f"{number(trajectory.duration)} s was designed by the criterion {design.criterion.name}, which reached "
        f"{number(design.value, 6)} after {number(design.seconds, 3)} s and {starts} "
        f"{'start' if starts == 1 else 'starts'}{', stopped early' if design.interrupted else ''}."
    )


def verdict_sentence(certificate: Certificate) -> str:
    worst, assumed = certificate.worst, assumed_words(certificate)
    if worst is None and not assumed:
        return "There is no limit at all, so that none could be broken."
    if worst is None:
        return f"No limit is proved: {assumed}."
    count = len(certificate.proved)
    if certificate.certified:
        limits = "The one limit is" if count == 1 else f"All {count} limits are"
        if assumed:
            limits = "One limit is" if count == 1 else f"{count} limits are"
        held = f"{limits} proved to hold at every instant; the tightest is {limit_words(worst)}"
        return f"{held}; {assumed}." if assumed else f"{held}."
    return f"It is not certified: {failures_words(certificate)}; the worst is {limit_words(worst)}."


def limit_words(limit: LimitVerdict) -> str:
    return f"{limit.what} of {limit.where} with a margin of {margin_words(limit)}"


def expected_sentence(design: Design) -> str:
    return (
        f"Of {len(design.parameters)} parameters, {design.well_known} are expected with a standard deviation below "
        f"{WELL_KNOWN_PERCENT:g} % of their nominal value."
    )


def key_figures(design: Design) -> dict[str, str]:
    worst = design.certificate.worst
    return {
        f"criterion ({design.criterion.name})": number(design.value, 6),
        "condition number": number(design.condition_number),
        "… of normalised columns": number(design.condition_number_normalized),
        "log det of the covariance": number(design.log_det, 6),
        "duration with ramps": f"{number(design.certificate.duration)} s",
        "tightest margin": "–" if worst is None else margin_words(worst),
    }


# -- tables of a design ----------------------------------------------------------------------------------------------


TONES = {"holds": "good", "assumed": "unproved", "open": "fair", "broken": "poor"}


def certificate_table(certificate: Certificate) -> Table:
    headings = ("verdict", "limit", "of", "allowed", "reached", "bound", "margin", "at [s]")
    rows = [
        (
            Word(limit.status, TONES[limit.status]),
            limit.what,
            limit.where,
            f"{'≤' if limit.upper else '≥'} {number(limit.limit)} {limit.unit}",
            float(limit.reached),
            float(limit.bound),
            Bar(limit.margin, margin_words(limit), limit.margin),
            float(limit.at),
        )
        for limit in sorted(certificate.limits, key=lambda limit: limit.margin)
    ]
    return Table("Every limit, what is reached, and how far it is from being broken", headings, rows)


def parameters_table(design: Design) -> Table:
    base, model = design.model.base, design.model
    is_base = design.parameters == base.names
    units = dict(zip(model.standard, model.units, strict=True))
    nominal, relative = design.nominal, design.relative_std_percent.tolist()
    rows = []
    for k, (name, std) in enumerate(zip(design.parameters, relative, strict=True)):
        known = not math.isnan(std)
        length = math.log10(max(std, 1e-3) / 0.1) / 3.0 if known else 0.0
        rows.append(
            (
                name,
                model.units[base.independent[k]] if is_base else units.get(name, ""),
                float(nominal[k]),
                float(design.predicted_std[k]),
                Bar(std, percent(std / 100.0) if known else "–", length),
                base.combination(k) or "stands alone" if is_base else "",
            )
        )
    headings = ("parameter", "unit", "nominal", "std", "std / nominal", "stands for")
    return Table(f"{len(rows)} parameters", headings, rows)


def attempts_table(design: Design) -> Table:
    rows = [
        (
            f"{attempt.number}",
            float(attempt.value) if attempt.feasible else math.nan,
            float(attempt.evaluations),
            float(attempt.seconds),
            Word("feasible", "good") if attempt.feasible else Word("infeasible", "poor"),
        )
        for attempt in sorted(design.attempts, key=lambda attempt: attempt.value)
    ]
    headings = ("start", "criterion", "evaluations", "seconds", "result")
    return Table("Starts, best first", headings, rows)


def coefficients_table(design: Design) -> Table:
    """Coefficients by joint, with all digits: the motion can be rebuilt from this table."""
    names = design.model.robot.joint_names
    rows = [
        (label, *(repr(float(value)) for value in column))
        for label, column in zip(design.trajectory.labels, np.asarray(design.delta).T, strict=True)
    ]
    return Table("Coefficients δ of every joint [SI units]", ("coefficient", *names), rows)


DRAWN_RATE = 500.0  #: [Hz]
MOST_STARTS = 24  #: starts whose history is drawn, the best ones


def design_page(
    design: Design, rate: float = DRAWN_RATE, frame: str | None = None, settings: Mapping[str, Any] | None = None
) -> Page:
    """The report of a design.

    rate [Hz]: how densely motion and torque are computed before they are thinned for drawing. frame: whose path is
    drawn, one at the end of the robot unless given. settings: plain data that asks for the same design, shown as YAML.
    """
    robot, settings = design.model.robot, settings or {}
    view = DesignView(design, rate, frame or robot.tool_frame)
    sections = [
        robot_section(view),
        motion_section(view),
        torque_section(view),
        spectrum_section(design),
        certificate_section(design),
        parameters_section(design),
        *([search_section(design)] if design.attempts else []),
        settings_section(design, settings),
    ]
    kind = "Exciting motion" if design.attempts else "Motion to validate on"
    return Page(f"{kind} for {robot.name}", headline(design), sections)


# -- sections --------------------------------------------------------------------------------------------------------


def robot_section(view: DesignView) -> Section:
    design, pictures = view.design, view.pictures
    around = surroundings(design.constraints)
    replay = Replay("the motion", "time", pictures.time, pictures.q, pictures.path)
    scene = Scene(design.model.robot, view.frame, (replay,), around)
    reach = np.ptp(pictures.path, axis=0)
    text = (
        f"The line is the path of frame {view.frame}; it spans {number(reach[0], 3)} m in x, {number(reach[1], 3)} m "
        f"in y and {number(reach[2], 3)} m in z."
    )
    if planes := grounds(design.constraints):
        where = "; where it is was assumed" if any(plane.assumed for plane in planes) else ""
        text += f" The plane with lines is the one that the robot is mounted on, and stays on its side of{where}."
    if not all(shape.get("ground") for shape in around):
        text += " Red is what the bodies keep away from, blue what bounds the origin of a frame."
    return Section("robot", "The robot moving", text, (scene.html(), projections(pictures.path)))


def motion_section(view: DesignView) -> Section:
    motion = view.motion
    text = (
        "All joints together are shown as percentages of their limits: 100 % is the limit. One joint is shown in its "
        "own unit. Click into a plot to send the robot above to that instant."
    )
    plots = [
        joint_plot(view, "position", motion.q, "Position", ""),
        joint_plot(view, "velocity", motion.qd, "Velocity", "/s"),
        joint_plot(view, "acceleration", motion.qdd, "Acceleration", "/s²"),
    ]
    if np.isfinite(view.design.model.robot.limit("jerk")).any():
        plots.append(joint_plot(view, "jerk", view.jerk, "Jerk", "/s³"))
    return Section("motion", "Joint motion against limits", text, (choice(view.design), *plots))


def torque_section(view: DesignView) -> Section:
    guessed = view.design.model.robot.nominal
    source = "plausible values, not measured ones" if guessed else "the values of the description"
    text = f"Computed with the nominal model ({source}); the dashed lines are the limits."
    plot = joint_plot(view, "torque", view.torque, "Torque")
    return Section("torque", "Torque", text, (choice(view.design), plot))


def joint_plot(view: DesignView, what: str, values: Array, title: str, per: str = "") -> Markup:
    lower, upper = view.limits(what)
    lines = []
    for j, joint in enumerate(view.design.model.robot.joints):
        unit = ("m" if joint.is_prismatic else "rad") + per
        unit = ("N" if joint.is_prismatic else "N·m") if what == "torque" else unit
        lines.append(Line(joint.name, values[:, j], unit, lower[j], upper[j]))
    return Plot(title, view.motion.time, "time [s]", title.lower(), lines, group="time", by_joint=True).html()


def spectrum_section(design: Design) -> Section:
    spectrum = acceleration_spectrum(design.trajectory, design.delta)
    kind = "the exact lines of one period" if spectrum.exact else "the exciting part under a Hann window"
    text = f"Amplitude of each joint's acceleration over frequency, {kind}; ramps are not included."
    lines = [
        Line(joint.name, spectrum.amplitude[:, j], "m/s²" if joint.is_prismatic else "rad/s²")
        for j, joint in enumerate(design.model.robot.joints)
    ]
    plot = Plot(
        "Spectrum of the acceleration",
        spectrum.frequency,
        "frequency [Hz]",
        "amplitude",
        lines,
        by_joint=True,
        bars=spectrum.exact,
    )
    return Section("spectrum", "Spectrum", text, (choice(design), plot.html()))


def certificate_section(design: Design) -> Section:
    text = (
        f"{verdict_sentence(design.certificate)} The bound is what can never be passed, between samples too; for "
        "joint limits it is the exact extremum."
    )
    return Section("certificate", "Certificate", text, (certificate_table(design.certificate).html(),))


def parameters_section(design: Design) -> Section:
    text = (
        f"Standard deviation of every parameter, predicted for {design.samples} samples of the exciting part and "
        "the noise among the settings. Relative to the nominal value where that is not zero; the bar is "
        "logarithmic, from 0.1 % to 100 %."
    )
    return Section("parameters", "Predicted standard deviations", text, (parameters_table(design).html(),))


def search_section(design: Design) -> Section:
    """Criterion over time for each start."""
    feasible = [attempt for attempt in design.attempts if attempt.feasible]
    drawn = sorted(feasible, key=lambda attempt: attempt.value)[:MOST_STARTS]
    x, values = staircases([attempt.history for attempt in drawn], [attempt.seconds for attempt in drawn])
    known = values[np.isfinite(values)]
    log = bool(known.size) and bool(known.min() > 0) and bool(known.max() > 50 * known.min())
    lines = [Line(f"start {attempt.number}", row) for attempt, row in zip(drawn, values, strict=True)]
    text = "Best feasible value so far, since each start began; smaller is better."
    if len(drawn) < len(feasible):
        text += f" The best {len(drawn)} of {len(feasible)} feasible starts are drawn."
    title = f"Criterion ({design.criterion.name}) over time"
    plot = Plot(title, x, "time [s]", "criterion", lines, steps=True, log=log)
    contents = [plot.html()] if known.size else []
    return Section("search", "The search", text, (*contents, attempts_table(design).html()))


def settings_section(design: Design, settings: Mapping[str, Any]) -> Section:
    robot, trajectory = design.model.robot, design.trajectory
    noise = per_joint(robot, design.noise)
    if "energy" in settings.get("formulation", ""):
        noise = f"{number(settings.get('noise', 1.0))} J of an energy row"
    values = {
        "trajectory": json.dumps(written(trajectory), ensure_ascii=False),
        "periods": design.periods,
        "ramps": in_full(design.ramps) if design.ramps else "default",
        "criterion": design.criterion.name + in_full(design.criterion).removeprefix(named(design.criterion)),
        "samples": design.samples,
        "noise σ": noise,
        "further limits": constraint_words(design) or "none",
        "seed": design.seed,
        "starts": len(design.attempts),
        "evaluations": design.evaluations,
        "seconds": number(design.seconds),
    }
    coefficients = folded("Coefficients of the motion", coefficients_table(design).html())
    return repeat_section(values, settings, "design.yaml", coefficients, model=design.model)


def choice(design: Design) -> Markup:
    return joint_choice(design.model.robot.joint_names)


def per_joint(robot: Robot, values: Array) -> str:
    """Values with their unit, by joint."""
    units = ("N" if joint.is_prismatic else "N·m" for joint in robot.joints)
    return ", ".join(f"{number(v)} {unit}" for v, unit in zip(values, units, strict=True))


def constraint_words(design: Design) -> str:
    """The limits beyond those of the joints, each once."""
    rows = (row for constraint in design.constraints for row in constraint.rows)
    return "; ".join(
        f"{row.what} of {row.where} {'≤' if row.upper else '≥'} {number(row.limit)} {row.unit}".rstrip() for row in rows
    )
