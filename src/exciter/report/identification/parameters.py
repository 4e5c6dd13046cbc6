"""What was identified: base parameters with their uncertainty, the full set, a payload, drive gains, conditioning."""

from __future__ import annotations

import math

import numpy as np

from exciter.identification.drive_gains import DriveGains
from exciter.identification.identification import Identification
from exciter.identification.information.estimate import INSIGNIFICANT, POOR, WELL, Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.payload import LOAD_QUANTITIES, LOAD_UNITS, PayloadEstimate
from exciter.identification.uncertainty.conditioning import LISTED_PAIR_CORRELATION
from exciter.notes import in_one_line, texts
from exciter.parameters.parameter_names import meaning, reading_order
from exciter.report.markup import number
from exciter.report.parts import Bar, Cell, Folded, HtmlTable, Section, Sentences, Word
from exciter.report.plot import HeatMap, Line, Plot
from exciter.typing import Array

STATUS_TONES = {WELL: "good", POOR: "fair", INSIGNIFICANT: "poor"}
PAYLOAD_WORDS = {"c": "centre of mass, ", "I": "inertia about the centre of mass, "}


def parameters_section(found: Identification) -> Section:
    problem, estimate = found.problem, found.estimate
    text = (
        "Base parameters: the combinations that torques depend on, and all that can be identified. Symbols are those "
        "of the literature; the number is that of the joint, counted from the base; axes are those of its modified-DH "
        "frame. An R marks a sum with parameters of other links that torques cannot separate (folded below). σ is the "
        f"standard deviation; the 95 % interval is value ± {number(estimate.quantile(), 3)} σ. Poorly identified: "
        "σ / value is more than ten times the smallest one. Not significant: zero lies within the 95 % interval; the "
        "parameter was not excited enough, or hardly matters. The bar is logarithmic, from 0.1 % to 100 %. Click a "
        "heading to sort."
    )
    contents = [
        parameters_table(problem, estimate),
        Folded("Each base parameter as a sum of standard parameters", (Sentences(problem.base.expressions),)),
        Folded("Assumptions behind the standard deviations", (Sentences(texts(estimate.assumptions)),)),
    ]
    if found.reasons:
        contents.append(Folded("Why some parameters are not well identified", (Sentences(texts(found.reasons)),)))
    if estimate.standard is not None:
        contents.append(Folded("Standard parameters of every link", (standard_table(problem, estimate.standard),)))
    return Section("parameters", "Parameters", text, contents)


def parameters_table(problem: Problem, estimate: Estimate) -> HtmlTable:
    nominal, joints = problem.nominal, problem.model.robot.joint_names
    rows = [
        (
            estimate.names[k],
            meaning(estimate.names[k], joints),
            float(estimate.values[k]),
            float(estimate.std[k]),
            estimate.units[k],
            Bar.relative_std(float(estimate.relative_std_percent[k]), unknown=1.0),
            Word(estimate.status[k], STATUS_TONES[estimate.status[k]]),
            float(nominal[k]),
        )
        for k in reading_order(estimate.names)
    ]
    headings = ("parameter", "meaning", "value", "σ", "unit", "σ / value", "status", "in the description")
    return HtmlTable(f"{len(rows)} base parameters, and their values in the robot's description", headings, rows)


def standard_table(problem: Problem, standard: Array) -> HtmlTable:
    """A full set, one parameter per row."""
    model = problem.model
    units = dict(zip(model.standard, model.units, strict=True))
    known = dict(zip(model.standard, model.nominal, strict=True))
    rows = [
        (name, float(value), units.get(name, ""), float(known.get(name, 0.0)))
        for name, value in zip(problem.base.standard, standard, strict=True)
    ]
    caption = "One physically consistent set; other sets of standard parameters give the same torques"
    return HtmlTable(caption, ("parameter", "value", "unit", "in the description"), rows)


# -- what was asked for beside them ------------------------------------------------------------------------------------


def payload_section(payload: PayloadEstimate) -> Section:
    text = (
        f"The load on frame {payload.frame}, in the axes of that frame; the inertia is about the centre of mass. "
        f"Assumptions behind the standard deviations: {in_one_line(payload.assumptions)}."
    )
    low, high = payload.interval()
    rows: list[tuple[Cell, ...]] = [
        (quantity_words(name), value, std, unit, f"{number(a)} … {number(b)}" if math.isfinite(std) else "–")
        for name, unit, value, std, a, b in zip(
            LOAD_QUANTITIES, LOAD_UNITS, payload.values.tolist(), payload.std.tolist(), low, high, strict=True
        )
    ]
    table = HtmlTable(f"Payload on {payload.frame}", ("quantity", "value", "σ", "unit", "95 % interval"), rows)
    return Section("payload", "Payload", text, (table, Sentences(texts(payload.notes))))


def quantity_words(name: str) -> str:
    """``centre of mass, x`` for cx, ``inertia about the centre of mass, xy`` for Ixy."""
    return name if name == "mass" else f"{PAYLOAD_WORDS[name[0]]}{name[1:]}"


def gains_section(gains: DriveGains) -> Section:
    text = (
        "Torque per current of every drive, identified together with the parameters. Assumptions behind the standard "
        f"deviations: {in_one_line(gains.assumptions)}."
    )
    low, high = gains.interval()
    rows: list[tuple[Cell, ...]] = []
    for j, joint in enumerate(gains.joints):
        known = bool(gains.determined[j])
        rows.append(
            (
                joint,
                float(gains.gains[j]),
                float(gains.std[j]) if known else math.nan,
                Bar.relative_std(float(gains.relative_std_percent[j]) if known else math.nan),
                f"{number(low[j])} … {number(high[j])}" if known else "–",
                float(gains.noise[j]),
                Word("determined", "good") if known else Word("not determined", "poor"),
            )
        )
    headings = (
        "joint",
        "gain [N·m/A]",
        "σ [N·m/A]",
        "σ / gain",
        "95 % interval [N·m/A]",
        "current noise σ [A]",
        "status",
    )
    contents = (HtmlTable("Drive gains", headings, rows), Sentences(texts(gains.notes)))
    return Section("gains", "Drive gains", text, contents)


# -- how well the motion separates parameters --------------------------------------------------------------------------


def conditioning_section(found: Identification) -> Section:
    estimate, values, pairs = found.estimate, found.conditioning.singular_values, found.conditioning.pairs
    plot = Plot(
        "Singular values of W with columns of unit length",
        np.arange(1.0, len(values) + 1.0),
        "index",
        "singular value",
        [Line("singular value", values)],
        bars=True,
        log=True,
    )
    text = (
        f"The condition number of the regressor W is {number(estimate.condition_number)}; with columns of unit length "
        f"it is {number(estimate.condition_number_normalized)}. Small singular values belong to combinations of "
        "parameters that this motion hardly excites. Two parameters whose estimates are correlated by nearly 1 or −1 "
        "are hard to separate: only their sum or difference is well known."
    )
    matrix = HeatMap("Correlation of the estimates", estimate.names, estimate.correlation)
    caption = "Estimates" if pairs else "No two estimates are"
    caption = f"{caption} correlated by more than {LISTED_PAIR_CORRELATION:g}"
    table = HtmlTable(caption, ("parameter", "second parameter", "correlation"), pairs)
    return Section("conditioning", "Conditioning", text, (plot, matrix, table))
