"""Tables of a design: certificate, predicted standard deviations, starts, coefficients."""

from __future__ import annotations

import math

import numpy as np

from exciter.excitation.certificate.certificate import Certificate, margin_words
from exciter.excitation.design import Design
from exciter.report.markup import number, percent
from exciter.report.table import Bar, Table, Word

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
                base.expression(k).partition(" = ")[2] or "stands alone" if is_base else "",
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
