"""The residual of a run in detail: its size, what it depends on, its frequencies, its correlation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby

import numpy as np

from exciter.report.identification.runs import ReportedRun, reported_runs
from exciter.report.markup import explained, percent
from exciter.report.parts import Bar, Folded, HtmlTable, JointChoice, PerJoint, Section, Sentences, Word, per_joint
from exciter.report.plot import HeatMap, Line, Plot, band_lines
from exciter.validation.residuals import Histogram
from exciter.validation.structure import Structure
from exciter.validation.validation import ValidationVerdict

QUANTITY_ORDER = ("velocity", "load", "time", "position", "temperature")


def residual_analysis(verdict: ValidationVerdict) -> Iterator[Section]:
    """Of the decisive run."""
    (run,) = (one for one in reported_runs(verdict) if one.found is verdict.decisive)
    yield histogram_section(run)
    yield from structure_section(run)
    yield from spectrum_section(run)
    yield correlation_section(run)


# -- histogram of the residuals, beside that of the description (004, Fig. 4) ------------------------------------------


def histogram_section(run: ReportedRun) -> Section:
    histograms = run.found.histograms
    plots = {j: histogram_plot(one) for j, one in enumerate(histograms)}
    rows = [
        (one.joint, errors.model, errors.mean, errors.std, one.unit, errors.skewness, errors.kurtosis)
        for one in histograms
        for errors in (one.identified, one.description)
    ]
    headings = ("joint", "model", "mean residual", "σ of the residual", "unit", "skewness", "excess kurtosis")
    table = HtmlTable(f"Residuals on {run.name}", headings, rows)
    contents = (*per_joint([one.joint for one in histograms], plots), table)
    return Section("histogram", "Histogram of the residuals", explained("histogram", run=run), contents)


def histogram_plot(one: Histogram) -> Plot:
    """A staircase: a value holds from its edge to the next."""
    lines = [
        Line("identified model", np.append(one.identified.percent, 0.0)),
        Line("description", np.append(one.description.percent, 0.0)),
        Line("Gaussian", np.append(one.identified.gaussian_percent, 0.0), width=1.0),
    ]
    return Plot(one.joint, one.edges, f"residual [{one.unit}]", "share of the samples [%]", lines, steps=True)


# -- what they depend on: velocity, load, position, time and temperature -----------------------------------------------


def structure_section(run: ReportedRun) -> Iterator[Section]:
    """Nothing where the run is too short to tell."""
    found, joints = run.found.structures, run.prediction.joints
    if not found:
        return
    columns = {
        "joint": [one.joint for one in found],
        "quantity": [one.quantity for one in found],
        "explained share of the residual's variance": [
            Bar(one.share, percent(max(one.share, 0.0)), one.share) for one in found
        ],
        "p-value": [Bar.probability(one.p_value) for one in found],
        "verdict": [Word("depends", "fair") if one.found else Word("by chance", "good") for one in found],
    }
    table = HtmlTable.by_column(f"Does the residual of {run.name} depend on a quantity?", columns)
    sentences = [one.sentence for one in found if one.found]
    words = sentences or ["No dependence on velocity, load, position or time was found."]
    by_quantity = sorted(found, key=lambda one: (QUANTITY_ORDER.index(one.quantity), joints.index(one.joint)))
    plots = [
        Folded(
            f"Residual over {quantity}",
            (PerJoint({joints.index(one.joint): structure_plot(one, run) for one in some}),),
            opened=k == 0,
        )
        for k, (quantity, some) in enumerate(groupby(by_quantity, key=lambda one: one.quantity))
    ]
    contents = (Sentences(words), JointChoice(joints), *plots, table)
    yield Section("structure", "What the model misses", explained("structure", run=run), contents)


def structure_plot(one: Structure, run: ReportedRun) -> Plot:
    unit = run.prediction.units[run.prediction.joints.index(one.joint)]
    lines = [*band_lines(*one.band, unit), Line("mean residual", one.means, unit, colour="c1")]
    label = f"{one.quantity} [{one.unit}]" if one.unit else one.quantity
    title = f"residual [{unit}]" if unit else "residual"
    centres = one.centres - (run.start if one.quantity == "time" else 0.0)
    return Plot(one.joint, centres, label, title, lines, level=0.0, band=(0, 1), band_label="± 2 standard errors")


# -- which frequencies they have ---------------------------------------------------------------------------------------


def spectrum_section(run: ReportedRun) -> Iterator[Section]:
    """Nothing where the run is too short."""
    spectrum = run.found.spectrum
    if spectrum is None:
        return
    last, group = spectrum.filled, f"spectrum-{run.group}"
    frequency = spectrum.frequency[:last]
    plots = {}
    for j, (name, unit) in enumerate(zip(spectrum.joints, spectrum.units, strict=True)):
        lines = [Line(which, getattr(spectrum, which)[:last, j], unit) for which in ("measured", "residual")]
        label = f"density [{unit or 'unit'}/√Hz]"
        plots[j] = Plot(name, frequency, "frequency [Hz]", label, lines, group=group, log=True)
    text = explained("spectrum", run=run, empty_above=frequency[-1] if last < len(spectrum.frequency) else None)
    yield Section("spectrum", "Spectrum of torque and residual", text, per_joint(spectrum.joints, plots))


# -- whether they are noise: correlated in time, or between joints, they are not ---------------------------------------


def correlation_section(run: ReportedRun) -> Section:
    found, rows = run.found, run.found.whiteness
    columns = {
        "joint": [one.joint for one in rows],
        "correlation of successive samples": [one.neighbour for one in rows],
        "sample interval [s]": [one.interval for one in rows],
        "correlation time [s]": [one.fades if math.isfinite(one.fades) else math.nan for one in rows],
        "power in the lowest tenth of the band": [Bar(one.slow, percent(one.slow), one.slow) for one in rows],
        "p-value if white": [Bar.probability(one.p_value) for one in rows],
        "verdict": [Word("white", "good") if one.white else Word("coloured", "fair") for one in rows],
    }
    table = HtmlTable.by_column(f"Correlation in time of the residuals of {run.name}", columns)
    matrix = HeatMap("Correlation between joints", found.correlation.joints, found.correlation.coefficients)
    contents = (table, matrix, Sentences(found.correlation.sentences))
    return Section("whiteness", "Are the residuals white noise?", explained("whiteness", run=run), contents)
