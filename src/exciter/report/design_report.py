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
)
from exciter.excitation.constraints.ground import grounds, surroundings
from exciter.excitation.design import WELL_KNOWN_PERCENT, Design, DesignView
from exciter.excitation.trajectories.trajectory import acceleration_spectrum
from exciter.notes import texts
from exciter.report.markup import number
from exciter.report.page import Page, settings_section
from exciter.report.parts import Bar, Cards, Folded, HtmlTable, JointChoice, Remarks, Section, Summary, Word
from exciter.report.plot import Line, Plot, staircases
from exciter.report.scene import Replay, Scene, SideViews
from exciter.settings import written
from exciter.settings.in_words import in_full, named
from exciter.typing import Array

DRAWN_RATE_HZ = 500.0
MOST_DRAWN_STARTS = 24  #: starts whose history is drawn, the best ones
LOG_SCALE_RATIO = 50.0  #: values that differ by more are drawn on a logarithmic axis
LIMIT_TONES = {"holds": "good", "assumed": "unproved", "open": "fair", "broken": "poor"}


def design_page(
    design: Design, rate: float = DRAWN_RATE_HZ, frame: str | None = None, settings: Mapping[str, Any] | None = None
) -> Page:
    """The report of a design.

    rate [Hz]: how densely motion and torque are computed before they are thinned for drawing. frame: whose path is
    drawn, one at the end of the robot unless given. settings: plain data that asks for the same design, shown as YAML.
    """
    robot = design.model.robot
    view = DesignView(design, rate, frame or robot.tool_frame)
    sections = [
        robot_section(view),
        motion_section(view),
        torque_section(view),
        spectrum_section(design),
        certificate_section(design),
        parameters_section(design),
        *([search_section(design)] if design.attempts else []),
        reproduce_section(design, settings or {}),
    ]
    kind = "Exciting motion" if design.attempts else "Validation motion"
    return Page(f"{kind} for {robot.name}", headline(design), sections)


# -- the head ----------------------------------------------------------------------------------------------------------


def headline(design: Design) -> Summary:
    certificate = design.certificate
    badge = Word("certified", "good") if certificate.certified else Word("not certified", "poor")
    if certificate.certified and not certificate.proved:
        badge = Word("nothing to certify", "unproved")
    return Summary(
        badge,
        (done_sentence(design), verdict_sentence(certificate), expected_sentence(design)),
        (
            Remarks(Word("not checked", "fair"), texts(design.unchecked)),
            Remarks(Word("note", "fair"), texts((*design.model.robot.remarks, *design.notes))),
            Cards(key_figures(design)),
        ),
    )


def done_sentence(design: Design) -> str:
    robot, trajectory = design.model.robot, design.trajectory
    family, criterion = written(trajectory)["family"], design.criterion.name
    starts = len(design.attempts)
    whose = f"For {robot.name} with {robot.n} {'joint' if robot.n == 1 else 'joints'}"
    if not starts:
        return (
            f"{whose}, a random motion of {number(design.curve.duration)} s was drawn for validation; its criterion "
            f"{criterion} is {number(design.value, 6)}."
        )
    if design.unsearched:
        return (
            f"{whose}, a {family} motion of {number(trajectory.duration)} s was generated as a first guess and not "
            f"optimised. Its criterion {criterion} is {number(design.value, 6)}."
        )
    return (
        f"{whose}, a {family} motion of {number(trajectory.duration)} s was designed by the criterion {criterion}, "
        f"which reached {number(design.value, 6)} after {number(design.seconds, 3)} s and {starts} "
        f"{'start' if starts == 1 else 'starts'}{', stopped early' if design.interrupted else ''}."
    )


def verdict_sentence(certificate: Certificate) -> str:
    worst, assumed = certificate.worst, assumed_words(certificate)
    if worst is None:
        return f"No limit is proved: {assumed}." if assumed else "No limit is given, so none can be broken."
    count = len(certificate.proved)
    if not certificate.certified:
        return f"It is not certified: {failures_words(certificate)}; the worst is {limit_words(worst)}."
    if assumed:
        limits = "One limit is" if count == 1 else f"{count} limits are"
    else:
        limits = "The one limit is" if count == 1 else f"All {count} limits are"
    held = f"{limits} proved to hold at every instant; the tightest is {limit_words(worst)}"
    return f"{held}; {assumed}." if assumed else f"{held}."


def limit_words(limit: LimitVerdict) -> str:
    return f"{limit.what} of {limit.where} with a margin of {limit.margin_words}"


def expected_sentence(design: Design) -> str:
    return (
        f"Of {len(design.parameters)} parameters, {design.well_known} are expected with a standard deviation below "
        f"{WELL_KNOWN_PERCENT:g} % of their nominal value."
    )


def key_figures(design: Design) -> dict[str, str]:
    """What is itself the criterion has no second card."""
    worst, criterion = design.certificate.worst, number(design.value, 6)
    figures = {
        "condition number": number(design.condition_number, 6),
        "condition number, normalised columns": number(design.condition_number_normalized, 6),
        "log det of the covariance": number(design.log_det, 6),
    }
    return {
        f"criterion: {design.criterion.name}": criterion,
        **{name: text for name, text in figures.items() if text != criterion},
        "duration including ramps": f"{number(design.certificate.duration)} s",
        "smallest margin to a limit": "–" if worst is None else worst.margin_words,
    }


# -- sections: the motion ----------------------------------------------------------------------------------------------


def robot_section(view: DesignView) -> Section:
    design, pictures, robot = view.design, view.pictures, view.design.model.robot
    around = surroundings(design.constraints)
    replay = Replay("the motion", "time", pictures.time, pictures.q, pictures.path)
    reach = np.ptp(pictures.path, axis=0)
    text = (
        f"The line is the path of frame {view.frame}. In the base frame it extends over {number(reach[0], 3)} m in x, "
        f"{number(reach[1], 3)} m in y and {number(reach[2], 3)} m in z. Up is against gravity."
    )
    if planes := grounds(design.constraints):
        assumed = " Its position was assumed." if any(plane.assumed for plane in planes) else ""
        text += f" The plane with grid lines is the mounting plane; the robot stays on one side of it.{assumed}"
    if not all(one.ground for one in around):
        text += " Red: obstacles that the bodies keep away from. Blue: bounds on the origin of a frame."
    views = SideViews(pictures.path, robot.gravity)
    return Section("robot", "Motion of the robot", text, (Scene(robot, view.frame, (replay,), around), views))


def motion_section(view: DesignView) -> Section:
    motion, robot = view.motion, view.design.model.robot
    text = (
        "All joints together are shown in per cent of their limits: 100 % is the limit. A single joint is shown in its "
        "own unit. Click into a plot to move the robot above to that instant."
    )
    plots = [
        joint_plot(view, "position", motion.q),
        joint_plot(view, "velocity", motion.qd, "/s"),
        joint_plot(view, "acceleration", motion.qdd, "/s²"),
    ]
    if np.isfinite(robot.limit("jerk")).any():
        plots.append(joint_plot(view, "jerk", view.jerk, "/s³"))
    return Section("motion", "Joint motion and its limits", text, (JointChoice(robot.joint_names), *plots))


def torque_section(view: DesignView) -> Section:
    robot = view.design.model.robot
    source = "plausible values, not measured ones" if robot.nominal else "the values of the description"
    text = f"Computed with the nominal model ({source}). Dashed lines are the limits."
    return Section(
        "torque", "Joint torque", text, (JointChoice(robot.joint_names), joint_plot(view, "torque", view.torque))
    )


def joint_plot(view: DesignView, what: str, values: Array, per: str = "") -> Plot:
    lower, upper = view.limits(what)
    lines = []
    for j, joint in enumerate(view.design.model.robot.joints):
        unit = ("m" if joint.is_prismatic else "rad") + per
        unit = ("N" if joint.is_prismatic else "N·m") if what == "torque" else unit
        lines.append(Line(joint.name, values[:, j], unit, lower[j], upper[j]))
    return Plot(what.capitalize(), view.motion.time, "time [s]", what, lines, group="time", by_joint=True)


def spectrum_section(design: Design) -> Section:
    spectrum, robot = acceleration_spectrum(design.trajectory, design.delta), design.model.robot
    kind = "the exact lines of one period" if spectrum.exact else "of the exciting part under a Hann window"
    text = f"Amplitude of each joint's acceleration over frequency: {kind}; ramps are not included."
    lines = [
        Line(joint.name, spectrum.amplitude[:, j], "m/s²" if joint.is_prismatic else "rad/s²")
        for j, joint in enumerate(robot.joints)
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
    return Section("spectrum", "Spectrum of the acceleration", text, (JointChoice(robot.joint_names), plot))


# -- sections: limits, parameters, the search --------------------------------------------------------------------------


def certificate_section(design: Design) -> Section:
    certificate = design.certificate
    text = (
        f"{verdict_sentence(certificate)} The proved bound is never exceeded, between samples either; for joint "
        "limits it is the exact extremum."
    )
    rows = [
        (
            Word(limit.status, LIMIT_TONES[limit.status]),
            limit.what,
            limit.where,
            f"{'≤' if limit.upper else '≥'} {number(limit.limit)}",
            float(limit.reached),
            float(limit.bound),
            limit.unit,
            Bar(limit.margin, limit.margin_words, limit.margin),
            float(limit.at),
        )
        for limit in sorted(certificate.limits, key=lambda limit: limit.margin)
    ]
    headings = ("verdict", "quantity", "joint or body", "limit", "reached", "proved bound", "unit", "margin", "at [s]")
    table = HtmlTable("All limits, those with the smallest margin first", headings, rows)
    return Section("certificate", "Certificate", text, (table,))


def parameters_section(design: Design) -> Section:
    text = (
        f"Standard deviation σ of every parameter, predicted for {design.samples} samples of the exciting part and "
        "the noise given in the settings. Relative to the nominal value where that is not zero; the bar is "
        "logarithmic, from 0.1 % to 100 %."
    )
    base, model = design.model.base, design.model
    is_base = design.parameters == base.names
    units = dict(zip(model.standard, model.units, strict=True))
    nominal, relative = design.nominal, design.relative_std_percent.tolist()
    rows = [
        (
            name,
            model.units[base.independent[k]] if is_base else units.get(name, ""),
            float(nominal[k]),
            float(design.predicted_std[k]),
            Bar.relative_std(relative[k]),
            base.combination(k) or "itself only" if is_base else "",
        )
        for k, name in enumerate(design.parameters)
    ]
    headings = ("parameter", "unit", "nominal value", "predicted σ", "σ / nominal", "sum of standard parameters")
    table = HtmlTable(f"{len(rows)} parameters", headings, rows)
    return Section("parameters", "Predicted standard deviations", text, (table,))


def search_section(design: Design) -> Section:
    """Criterion over time for each start."""
    by_value = sorted(design.attempts, key=lambda attempt: attempt.value)
    feasible = [attempt for attempt in by_value if attempt.feasible]
    drawn = feasible[:MOST_DRAWN_STARTS]
    x, values = staircases([attempt.history for attempt in drawn], [attempt.seconds for attempt in drawn])
    known = values[np.isfinite(values)]
    log = bool(known.size and known.min() > 0 and known.max() > LOG_SCALE_RATIO * known.min())
    lines = [Line(f"start {attempt.number}", row) for attempt, row in zip(drawn, values, strict=True)]
    text = "Best feasible value of the criterion over the time since each start began; smaller is better."
    if len(drawn) < len(feasible):
        text += f" The best {len(drawn)} of {len(feasible)} feasible starts are drawn."
    title = f"Criterion ({design.criterion.name}) over computing time"
    plots = [Plot(title, x, "time [s]", "criterion", lines, steps=True, log=log)] if known.size else []
    rows = [
        (
            f"{attempt.number}",
            float(attempt.value) if attempt.feasible else math.nan,
            float(attempt.evaluations),
            float(attempt.seconds),
            Word("feasible", "good") if attempt.feasible else Word("infeasible", "poor"),
        )
        for attempt in by_value
    ]
    headings = ("start", "criterion", "evaluations", "computing time [s]", "result")
    return Section("search", "Optimisation", text, (*plots, HtmlTable("Starts, best first", headings, rows)))


def reproduce_section(design: Design, settings: Mapping[str, Any]) -> Section:
    robot, criterion = design.model.robot, design.criterion
    units = ("N" if joint.is_prismatic else "N·m" for joint in robot.joints)
    noise = ", ".join(f"{number(v)} {unit}" for v, unit in zip(design.noise, units, strict=True))
    if "energy" in settings.get("formulation", ""):
        noise = f"{number(settings.get('noise', 1.0))} J of an energy row"
    values = {
        "trajectory": json.dumps(written(design.trajectory), ensure_ascii=False),
        "periods": design.periods,
        "ramps": in_full(design.ramps) if design.ramps else "default",
        "criterion": criterion.name + in_full(criterion).removeprefix(named(criterion)),
        "samples": design.samples,
        "noise σ": noise,
        "further limits": constraint_words(design) or "none",
        "seed": design.seed,
        "starts": len(design.attempts),
        "evaluations": design.evaluations,
        "computing time [s]": number(design.seconds),
    }
    rows = [
        (label, *(repr(float(value)) for value in column))
        for label, column in zip(design.trajectory.labels, np.asarray(design.delta).T, strict=True)
    ]  # with all digits: the motion can be rebuilt from this table
    table = HtmlTable("Coefficients δ of every joint [SI units]", ("coefficient", *robot.joint_names), rows)
    coefficients = Folded("Coefficients of the motion", (table,))
    return settings_section(values, settings, "design.yaml", coefficients, model=design.model)


def constraint_words(design: Design) -> str:
    """The limits beyond those of the joints, each once."""
    rows = (row for constraint in design.constraints for row in constraint.rows)
    return "; ".join(
        f"{row.what} of {row.where} {'≤' if row.upper else '≥'} {number(row.limit)} {row.unit}".rstrip() for row in rows
    )
