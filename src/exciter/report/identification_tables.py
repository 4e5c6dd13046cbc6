"""Tables of an identification: residuals, parameters, what is hard to tell apart."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from exciter.identification.estimate import INSIGNIFICANT, POOR, WELL
from exciter.identification.identification import Identification, Judged
from exciter.report.markup import number, percent
from exciter.report.table import Bar, Cell, Table, Word

Array = NDArray[np.float64]
TONES = {WELL: "good", POOR: "fair", INSIGNIFICANT: "poor"}
ALIKE = 0.9  #: correlation of two estimates beyond which they are listed
MOST_PAIRS = 20


def residuals_table(judged: Judged) -> Table:
    found, before = judged.residuals, judged.description
    rows: list[tuple[Cell, ...]] = [
        (
            joint,
            float(found.rms[j]),
            float(found.signal[j]),
            Bar(float(found.percent[j]), percent(found.percent[j] / 100.0), float(found.percent[j]) / 100.0),
            percent(before.percent[j] / 100.0),
        )
        for j, joint in enumerate(found.joints)
    ]
    total, other = found.total_percent, before.total_percent
    rows.append(("all joints", math.nan, math.nan, Bar(total, percent(total / 100), total / 100), percent(other / 100)))
    headings = ("joint", "residual rms", "measured rms", "residual / measured", "with the description's parameters")
    return Table(f"Residuals on {judged.run} [N·m or N]", headings, rows)


def parameters_table(found: Identification) -> Table:
    estimate, base = found.estimate, found.problem.base
    nominal = base.base_values(nominal_of(found))
    low, high = estimate.interval()
    rows = []
    for k, (name, unit, status) in enumerate(zip(estimate.names, estimate.units, estimate.status, strict=True)):
        relative = float(estimate.relative_std_percent[k])
        length = math.log10(max(relative, 1e-3) / 0.1) / 3.0 if math.isfinite(relative) else 1.0
        rows.append(
            (
                name,
                unit,
                float(estimate.values[k]),
                float(estimate.std[k]),
                Bar(relative, percent(relative / 100.0) if math.isfinite(relative) else "–", length),
                f"{number(low[k])} … {number(high[k])}",
                Word(status, TONES[status]),
                float(nominal[k]),
                base.expression(k).partition(" = ")[2] or "stands alone",
            )
        )
    headings = ("parameter", "unit", "value", "σ", "σ / value", "95 % interval", "status", "description", "stands for")
    return Table(f"{len(rows)} base parameters", headings, rows)


def nominal_of(found: Identification) -> Array:
    """Standard parameters of the description, in the order of the problem's; zero where it knows nothing."""
    model = found.problem.model
    known = dict(zip(model.standard, model.nominal, strict=True))
    return np.array([known.get(name, 0.0) for name in found.problem.base.standard])


def standard_table(found: Identification) -> Table:
    """A full set, one parameter per row."""
    assert found.estimate.standard is not None
    base, model = found.problem.base, found.problem.model
    units = dict(zip(model.standard, model.units, strict=True))
    rows = [
        (name, units.get(name, ""), float(value), float(before))
        for name, value, before in zip(base.standard, found.estimate.standard, nominal_of(found), strict=True)
    ]
    caption = "One set of many with the same torques, chosen so that bodies can have it"
    return Table(caption, ("parameter", "unit", "value", "description"), rows)


def correlation_table(found: Identification) -> Table:
    """Pairs of parameters whose errors go together."""
    estimate = found.estimate
    std = np.where(estimate.std > 0.0, estimate.std, np.inf)
    correlation = np.triu(estimate.covariance / np.outer(std, std), 1)
    order = np.argsort(-np.abs(correlation), axis=None)[:MOST_PAIRS]
    pairs = [np.unravel_index(k, correlation.shape) for k in order]
    rows = [
        (estimate.names[a], estimate.names[b], float(correlation[a, b]))
        for a, b in pairs
        if abs(correlation[a, b]) > ALIKE
    ]
    caption = f"Pairs whose estimates are correlated by more than {ALIKE:g}" if rows else f"No pair beyond {ALIKE:g}"
    return Table(caption, ("parameter", "parameter", "correlation"), rows)
