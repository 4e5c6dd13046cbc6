"""The report of a designed motion: what was done, what it reaches, and that no limit is ever broken."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from exciter.excitation.certificate.certificate import Certificate, assumed_words, failures_words
from exciter.excitation.constraints.ground import grounds, surroundings
from exciter.excitation.design import WELL_KNOWN_PERCENT, Design, DesignView
from exciter.excitation.optimiser.search import Attempt
from exciter.excitation.trajectories.hand_made import HandMade
from exciter.excitation.trajectories.trajectory import acceleration_spectrum
from exciter.notes import Note, texts
from exciter.report.markup import explained, number
from exciter.report.page import Page, settings_section
from exciter.report.parts import Bar, Cards, Folded, HtmlTable, JointChoice, Remarks, Section, Summary, Word
from exciter.report.plot import Line, Plot, staircases
from exciter.report.scene import Replay, Scene, SideViews
from exciter.robot.robot import Robot
from exciter.settings import written
from exciter.settings.write import in_full, named
from exciter.typing import Array

DRAWN_RATE_HZ = 500.0
MOST_DRAWN_STARTS = 24  #: starts whose history is drawn, the best ones
LOG_SCALE_RATIO = 50.0  #: values that differ by more are drawn on a logarithmic axis
LIMIT_TONES = {"holds": "good", "assumed": "unproved", "open": "fair", "broken": "poor"}


def design_page(
    design: Design,
    rate: float = DRAWN_RATE_HZ,
    frame: str | None = None,
    settings: Mapping[str, Any] | None = None,
    notes: Sequence[Note] | None = None,
) -> Page:
    """The report of a design.

    rate [Hz]: how densely motion and torque are computed before they are thinned for drawing. frame: whose path is
    drawn, one at the end of the robot unless given. settings: plain data that asks for the same design, shown as YAML;
    notes: on robot and motion, those of the design unless given.
    """
    robot, noise = design.model.robot, noise_words(design, settings or {})
    notes = (*robot.remarks, *design.notes) if notes is None else notes
    view = DesignView(design, rate, frame or robot.tool_frame)
    sections = [
        robot_section(view),
        motion_section(view),
        torque_section(view),
        spectrum_section(design),
        certificate_section(design),
        parameters_section(design, noise),
        *([search_section(design)] if design.attempts else []),
        reproduce_section(design, settings or {}),
    ]
    hand_made = isinstance(design.trajectory, HandMade)
    kind = "Exciting motion" if design.attempts else "Motion of a stage" if hand_made else "Validation motion"
    return Page(f"{kind} for {robot.name}", headline(design, noise, notes), sections)


# -- the head ----------------------------------------------------------------------------------------------------------


def headline(design: Design, noise: str, notes: Sequence[Note]) -> Summary:
    certificate = design.certificate
    badge = Word("certified", "good") if certificate.certified else Word("not certified", "poor")
    if certificate.certified and not certificate.proved:
        badge = Word("nothing to certify", "unproved")
    return Summary(
        badge,
        (
            done_sentence(design),
            verdict_sentence(certificate),
            explained("expected", design=design, percent=WELL_KNOWN_PERCENT, noise=noise),
        ),
        (
            Remarks(Word("not checked", "fair"), texts(design.unchecked)),
            Remarks(Word("note", "fair"), texts(notes)),
            Cards(key_figures(design)),
        ),
    )


def done_sentence(design: Design) -> str:
    return explained("design_done", design=design, family=written(design.trajectory)["family"])


def verdict_sentence(found: Certificate) -> str:
    failures = "" if found.certified else failures_words(found)
    worst = found.worst and f"{found.worst.what} of {found.worst.where} with a margin of {found.worst.margin_words}"
    return explained("certificate", found=found, worst=worst, assumed=assumed_words(found), failures=failures)


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
    text = explained(
        "design_robot",
        frame=view.frame,
        reach=np.ptp(pictures.path, axis=0),
        planes=grounds(design.constraints),
        obstacles=not all(one.ground for one in around),
    )
    views = SideViews(pictures.path, robot.gravity)
    return Section("robot", "Motion of the robot", text, (Scene(robot, view.frame, (replay,), around), views))


def motion_section(view: DesignView) -> Section:
    motion, robot = view.motion, view.design.model.robot
    plots = [
        joint_plot(view, "position", motion.q),
        joint_plot(view, "velocity", motion.qd, "/s"),
        joint_plot(view, "acceleration", motion.qdd, "/s²"),
    ]
    if np.isfinite(robot.limit("jerk")).any():
        plots.append(joint_plot(view, "jerk", view.jerk, "/s³"))
    contents = (JointChoice(robot.joint_names), *plots)
    return Section("motion", "Joint motion and its limits", explained("design_motion"), contents)


def torque_section(view: DesignView) -> Section:
    robot = view.design.model.robot
    source = "plausible values, not measured ones" if robot.nominal else "the values of the description"
    text = f"Computed with the nominal model ({source}). Dashed lines are the limits."
    contents = (JointChoice(robot.joint_names), joint_plot(view, "torque", view.torque))
    return Section("torque", "Joint torque", text, contents)


def joint_plot(view: DesignView, what: str, values: Array, per: str = "") -> Plot:
    robot = view.design.model.robot
    units = joint_units(robot, "N·m", "N") if what == "torque" else joint_units(robot, f"rad{per}", f"m{per}")
    lines = list(map(Line, robot.joint_names, values.T, units, *view.limits(what)))
    return Plot(what.capitalize(), view.motion.time, "time [s]", what, lines, group="time", by_joint=True)


def joint_units(robot: Robot, turning: str, sliding: str) -> list[str]:
    return [sliding if joint.is_prismatic else turning for joint in robot.joints]


def spectrum_section(design: Design) -> Section:
    spectrum, robot = acceleration_spectrum(design.trajectory, design.delta), design.model.robot
    kind = "the exact lines of one period" if spectrum.exact else "of the exciting part under a Hann window"
    text = f"Amplitude of each joint's acceleration over frequency: {kind}; ramps are not included."
    lines = list(map(Line, robot.joint_names, spectrum.amplitude.T, joint_units(robot, "rad/s²", "m/s²")))
    title, over = "Spectrum of the acceleration", "frequency [Hz]"
    plot = Plot(title, spectrum.frequency, over, "amplitude", lines, by_joint=True, bars=spectrum.exact)
    return Section("spectrum", title, text, (JointChoice(robot.joint_names), plot))


# -- sections: limits, parameters, the search --------------------------------------------------------------------------


def certificate_section(design: Design) -> Section:
    certificate = design.certificate
    text = (
        f"{verdict_sentence(certificate)} The proved bound is never exceeded, between samples either; for joint "
        "limits it is the exact extremum."
    )
    limits = sorted(certificate.limits, key=lambda limit: limit.margin)
    columns = {
        "verdict": [Word(limit.status, LIMIT_TONES[limit.status]) for limit in limits],
        "quantity": [limit.what for limit in limits],
        "joint or body": [limit.where for limit in limits],
        "limit": [f"{'≤' if limit.upper else '≥'} {number(limit.limit)}" for limit in limits],
        "reached": [float(limit.reached) for limit in limits],
        "proved bound": [float(limit.bound) for limit in limits],
        "unit": [limit.unit for limit in limits],
        "margin": [Bar(limit.margin, limit.margin_words, limit.margin) for limit in limits],
        "at [s]": [float(limit.at) for limit in limits],
    }
    table = HtmlTable.by_column("All limits, those with the smallest margin first", columns)
    return Section("certificate", "Certificate", text, (table,))


def parameters_section(design: Design, noise: str) -> Section:
    names = design.parameters
    columns = {
        "parameter": names,
        "unit": design.units,
        "nominal value": design.nominal,
        "predicted σ": design.predicted_std,
        "σ / nominal": map(Bar.relative_std, design.relative_std_percent),
        "sum of standard parameters": ["" if text is None else text or "itself only" for text in design.combinations],
    }
    table = HtmlTable.by_column(f"{len(names)} parameters", columns)
    text = explained("design_parameters", samples=design.samples, noise=noise)
    text += f" The motion was designed {design.chosen}." if design.chosen else ""
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
    title = f"Criterion ({design.criterion.name}) over computing time"
    plots = [Plot(title, x, "time [s]", "criterion", lines, steps=True, log=log)] if known.size else []
    columns = {
        "start": [f"{attempt.number}" for attempt in by_value],
        "criterion": [float(attempt.value) if attempt.feasible else math.nan for attempt in by_value],
        "evaluations": [float(attempt.evaluations) for attempt in by_value],
        "computing time [s]": [float(attempt.seconds) for attempt in by_value],
        "result": [_result(attempt) for attempt in by_value],
    }
    text = explained("search", drawn=len(drawn), feasible=len(feasible))
    return Section("search", "Optimisation", text, (*plots, HtmlTable.by_column("Starts, best first", columns)))


def _result(attempt: Attempt) -> Word:
    if attempt.feasible:
        return Word("feasible", "good")
    return Word("given up", "fair") if attempt.outdone else Word("infeasible", "poor")


def reproduce_section(design: Design, settings: Mapping[str, Any]) -> Section:
    robot, criterion = design.model.robot, design.criterion
    values = {
        "trajectory": json.dumps(written(design.trajectory), ensure_ascii=False),
        "periods": design.periods,
        "ramps": in_full(design.ramps) if design.ramps else "default",
        "criterion": criterion.name + in_full(criterion).removeprefix(named(criterion)),
        "samples": design.samples,
        "noise σ": noise_words(design, settings),
        "further limits": constraint_words(design) or "none",
        "seed": design.seed,
        "starts": len(design.attempts),
        "evaluations": design.evaluations,
        "computing time [s]": number(design.seconds),
    }
    rows = [
        (label, *map(repr, column))
        for label, column in zip(design.trajectory.labels, np.asarray(design.delta).T.tolist(), strict=True)
    ]  # with all digits: the motion can be rebuilt from this table
    table = HtmlTable("Coefficients δ of every joint [SI units]", ("coefficient", *robot.joint_names), rows)
    folded = () if isinstance(design.trajectory, HandMade) else (Folded("Coefficients of the motion", (table,)),)
    return settings_section(values, settings, "design.yaml", *folded, model=design.model)


def noise_words(design: Design, settings: Mapping[str, Any]) -> str:
    """σ that predictions count on, with its unit: one for all that are alike."""
    assumed = " (assumed)" if settings and "noise" not in settings else ""
    if not design.of_torques:
        return _levels(design, "rad", "m") + " of the encoders"
    if "energy" in settings.get("formulation", ""):
        return f"{number(settings.get('noise', 1.0))} J of an energy row{assumed}"
    return _levels(design, "N·m", "N") + assumed


def _levels(design: Design, turning: str, sliding: str) -> str:
    levels = zip(map(number, design.noise), joint_units(design.model.robot, turning, sliding), strict=True)
    each = [" ".join(one) for one in levels]
    return ", ".join(each[:1] if len(set(each)) == 1 else each)


def constraint_words(design: Design) -> str:
    """The limits beyond those of the joints, each once."""
    rows = (row for constraint in design.constraints for row in constraint.rows)
    return "; ".join(
        f"{row.what} of {row.where} {'≤' if row.upper else '≥'} {number(row.limit)} {row.unit}".rstrip() for row in rows
    )
