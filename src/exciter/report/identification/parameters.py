"""Base parameters with their uncertainty, why some are not well known, and the full set where there is one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from exciter.identification.identification import Identification
from exciter.identification.information.estimate import INSIGNIFICANT, POOR, WELL, Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.uncertainty.conditioning import LISTED_PAIR_CORRELATION
from exciter.notes import texts
from exciter.parameters.parameter_names import meaning, reading_order
from exciter.report.markup import Markup, element, number, percent
from exciter.report.plot import HeatMap, Line, Plot
from exciter.report.section import Section, folded
from exciter.report.table import Bar, Table, Word
from exciter.typing import Array

TONES = {WELL: "good", POOR: "fair", INSIGNIFICANT: "poor"}


def parameters_section(found: Identification) -> Section:
    problem, estimate = found.problem, found.estimate
    text = (
        "Base parameters: what torques depend on, and so what can be identified. Symbols are those of the literature; "
        "the number is that of the joint, counted from the base, axes are those of its modified-DH frame. An R marks a "
        "sum with parameters of other links that torques cannot separate (folded below). σ is the standard deviation; "
        f"the 95 % interval is value ± {number(estimate.quantile(), 3)} σ. Poorly identified: σ / value is more than "
        "ten times the smallest one. Not significant: zero lies within the 95 % interval, so that it was not excited "
        "enough, or hardly matters. The bar is logarithmic, from 0.1 % to 100 %. Click a heading to sort."
    )
    contents = [
        parameters_table(problem, estimate).html(),
        folded("What each of them stands for", listed(problem.base.expressions)),
        folded("What the standard deviations rest on", listed(texts(estimate.assumptions))),
    ]
    if found.reasons:
        contents.append(folded("Why some are not well identified", listed(texts(found.reasons))))
    if estimate.standard is not None:
        contents.append(folded("Standard parameters of every link", standard_table(problem, estimate.standard).html()))
    return Section("parameters", "Parameters", text, tuple(contents))


def listed(items: Sequence[str]) -> Markup:
    return element("ul", *(element("li", item) for item in items))


def parameters_table(problem: Problem, estimate: Estimate) -> Table:
    nominal, joints = problem.nominal, problem.model.robot.joint_names
    rows = []
    for k in reading_order(estimate.names):
        relative, status = float(estimate.relative_std_percent[k]), estimate.status[k]
        length = math.log10(max(relative, 1e-3) / 0.1) / 3.0 if math.isfinite(relative) else 1.0
        rows.append(
            (
                estimate.names[k],
                meaning(estimate.names[k], joints),
                float(estimate.values[k]),
                float(estimate.std[k]),
                estimate.units[k],
                Bar(relative, percent(relative / 100.0) if math.isfinite(relative) else "–", length),
                Word(status, TONES[status]),
                float(nominal[k]),
            )
        )
    headings = ("parameter", "what it is", "value", "σ", "unit", "σ / value", "status", "description")
    return Table(f"{len(rows)} base parameters, with what the description says of them", headings, rows)


def standard_table(problem: Problem, standard: Array) -> Table:
    """A full set, one parameter per row."""
    model = problem.model
    units = dict(zip(model.standard, model.units, strict=True))
    known = dict(zip(model.standard, model.nominal, strict=True))
    rows = [
        (name, float(value), units.get(name, ""), float(known.get(name, 0.0)))
        for name, value in zip(problem.base.standard, standard, strict=True)
    ]
    caption = "One set of many with the same torques, chosen so that bodies can have it"
    return Table(caption, ("parameter", "value", "unit", "description"), rows)


# -- how well the motion tells parameters apart ----------------------------------------------------------------------


def conditioning_section(found: Identification) -> Section:
    estimate, values, pairs = found.estimate, found.conditioning.singular_values, found.conditioning.pairs
    plot = Plot(
        "Singular values of W with columns of length one",
        np.arange(1.0, len(values) + 1.0),
        "number",
        "singular value",
        [Line("singular value", values)],
        bars=True,
        log=True,
    )
    text = (
        f"Condition number of W {number(estimate.condition_number)}, with columns of length one "
        f"{number(estimate.condition_number_normalized)}. Small singular values are combinations of parameters "
        "that this motion hardly shows. Two parameters whose estimates correlate by nearly 1 or −1 are hard to tell "
        "apart: only their sum or difference is well known."
    )
    matrix = HeatMap("Correlation of the estimates", estimate.names, estimate.correlation)
    caption = "Estimates" if pairs else "No two estimates are"
    caption = f"{caption} correlated by more than {LISTED_PAIR_CORRELATION:g}"
    table = Table(caption, ("parameter", "and", "correlation"), pairs)
    return Section("conditioning", "Conditioning", text, (plot.html(), matrix.html(), table.html()))
