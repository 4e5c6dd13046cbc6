"""Base parameters with their uncertainty, why some are not well known, and the full set where there is one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exciter.identification.estimate import INSIGNIFICANT, POOR, WELL, Estimate
from exciter.identification.problem import Problem
from exciter.identification.uncertainty.explain import explain
from exciter.report.markup import Markup, element, percent
from exciter.report.section import Section, folded
from exciter.report.table import Bar, Table, Word
from exciter.validation.prediction import nominal_base

Array = NDArray[np.float64]
TONES = {WELL: "good", POOR: "fair", INSIGNIFICANT: "poor"}


def parameters_section(problem: Problem, estimate: Estimate) -> Section:
    text = (
        f"Standard deviations rest on this: {estimate.assumption}. A parameter is poorly identified when its "
        "relative standard deviation is more than ten times the smallest one, and not significant when zero lies "
        "within its 95 % interval (value ± the column beside the status): it was not excited enough, or hardly "
        "matters. The bar is logarithmic, from 0.1 % to 100 %. Click a heading to sort."
    )
    contents = [parameters_table(problem, estimate).html()]
    reasons = explain(problem.compressed, estimate)
    if reasons:
        contents.append(folded("Why some are not well identified", listed(reasons)))
    if estimate.standard is not None:
        contents.append(folded("Standard parameters of every link", standard_table(problem, estimate.standard).html()))
    return Section("parameters", "Parameters", text, tuple(contents))


def listed(items: Sequence[str]) -> Markup:
    return element("ul", *(element("li", item) for item in items))


def parameters_table(problem: Problem, estimate: Estimate) -> Table:
    base, nominal = problem.base, nominal_base(problem)
    reach = estimate.quantile() * estimate.std
    rows = []
    for k, (name, unit, status) in enumerate(zip(estimate.names, estimate.units, estimate.status, strict=True)):
        relative = float(estimate.relative_std_percent[k])
        length = math.log10(max(relative, 1e-3) / 0.1) / 3.0 if math.isfinite(relative) else 1.0
        rows.append(
            (
                name,
                float(estimate.values[k]),
                float(estimate.std[k]),
                unit,
                Bar(relative, percent(relative / 100.0) if math.isfinite(relative) else "–", length),
                Word(status, TONES[status]),
                float(reach[k]),
                float(nominal[k]),
                base.expression(k).partition(" = ")[2] or "stands alone",
            )
        )
    headings = ("parameter", "value", "σ", "unit", "σ / value", "status", "± 95 %", "description", "stands for")
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
