"""What was identified: base parameters with their uncertainty, the full set, a payload, drive gains, conditioning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exciter.identification.drive_gains import DriveGains
from exciter.identification.identification import Identification
from exciter.identification.information.estimate import INSIGNIFICANT, POOR, WELL, Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.payload import LOAD_QUANTITIES, LOAD_UNITS, PayloadEstimate
from exciter.identification.uncertainty.conditioning import LISTED_PAIR_CORRELATION
from exciter.notes import in_one_line, texts
from exciter.parameters.parameter_names import meaning, reading_order
from exciter.report.markup import explained, number
from exciter.report.parts import Bar, Columns, Folded, HtmlTable, Section, Sentences, Word
from exciter.report.plot import HeatMap, Line, Plot
from exciter.typing import Array

STATUS_TONES = {WELL: "good", POOR: "fair", INSIGNIFICANT: "poor"}
PAYLOAD_WORDS = {"c": "centre of mass, ", "I": "inertia about the centre of mass, "}


def parameters_section(found: Identification) -> Section:
    problem, estimate = found.problem, found.estimate
    contents = [
        parameters_table(problem, estimate),
        Folded("Each base parameter as a sum of standard parameters", (Sentences(problem.base.expressions),)),
        Folded("Assumptions behind the standard deviations", (Sentences(texts(estimate.assumptions)),)),
    ]
    if found.reasons:
        contents.append(Folded("Why some parameters are not well identified", (Sentences(texts(found.reasons)),)))
    if estimate.standard is not None:
        contents.append(Folded("Standard parameters of every link", (standard_table(problem, estimate.standard),)))
    return Section("parameters", "Parameters", explained("parameters", quantile=estimate.quantile()), contents)


def parameters_table(problem: Problem, estimate: Estimate) -> HtmlTable:
    order = reading_order(estimate.names)
    names, status = [estimate.names[k] for k in order], [estimate.status[k] for k in order]
    columns: Columns = {
        "parameter": names,
        "meaning": [meaning(name, problem.model.robot.joint_names) for name in names],
        "value": estimate.values[order],
        "σ": estimate.std[order],
        "unit": [estimate.units[k] for k in order],
        "σ / value": [Bar.relative_std(estimate.relative_std_percent[k], unknown=1.0) for k in order],
        "status": [Word(one, STATUS_TONES[one]) for one in status],
        "in the description": problem.nominal[order],
    }
    return HtmlTable.by_column(f"{len(names)} base parameters, and their values in the robot's description", columns)


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
    low, high = payload.interval()
    columns: Columns = {
        "quantity": map(quantity_words, LOAD_QUANTITIES),
        "value": payload.values,
        "σ": payload.std,
        "unit": LOAD_UNITS,
        "95 % interval": intervals(low, high, np.isfinite(payload.std)),
    }
    text = explained("payload", frame=payload.frame, assumptions=in_one_line(payload.assumptions))
    table = HtmlTable.by_column(f"Payload on {payload.frame}", columns)
    return Section("payload", "Payload", text, (table, Sentences(texts(payload.notes))))


def intervals(low: Array, high: Array, known: NDArray[np.bool_]) -> list[str]:
    return [f"{number(a)} … {number(b)}" if sure else "–" for a, b, sure in zip(low, high, known, strict=True)]


def quantity_words(name: str) -> str:
    """``centre of mass, x`` for cx, ``inertia about the centre of mass, xy`` for Ixy."""
    return name if name == "mass" else f"{PAYLOAD_WORDS[name[0]]}{name[1:]}"


def gains_section(gains: DriveGains) -> Section:
    known, relative = gains.determined, gains.relative_std_percent
    columns: Columns = {
        "joint": gains.joints,
        "gain [N·m/A]": gains.gains,
        "σ [N·m/A]": np.where(known, gains.std, np.nan),
        "σ / gain": map(Bar.relative_std, np.where(known, relative, np.nan)),
        "95 % interval [N·m/A]": intervals(*gains.interval(), known),
        "current noise σ [A]": gains.noise,
        "status": [Word("determined", "good") if sure else Word("not determined", "poor") for sure in known],
    }
    contents = (HtmlTable.by_column("Drive gains", columns), Sentences(texts(gains.notes)))
    text = explained("gains", assumptions=in_one_line(gains.assumptions))
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
    matrix = HeatMap("Correlation of the estimates", estimate.names, estimate.correlation)
    caption = "Estimates" if pairs else "No two estimates are"
    caption = f"{caption} correlated by more than {LISTED_PAIR_CORRELATION:g}"
    table = HtmlTable(caption, ("parameter", "second parameter", "correlation"), pairs)
    return Section("conditioning", "Conditioning", explained("conditioning", estimate=estimate), (plot, matrix, table))
