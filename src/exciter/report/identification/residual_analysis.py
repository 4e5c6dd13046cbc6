"""The residual of a run in detail: its size, what it depends on, its frequencies, its correlation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby

import numpy as np

from exciter.report.identification.runs import ReportedRun, reported_runs
from exciter.report.markup import number, percent, probability
from exciter.report.parts import Bar, Cell, Folded, HtmlTable, JointChoice, PerJoint, Section, Sentences, Word
from exciter.report.plot import HeatMap, Line, Plot
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
    text = (
        f"How often a residual of each size occurs on {run.name} ({run.kind}): of the identified model, of the "
        "parameters of the description, and of a Gaussian with the standard deviation of the first. Skewness and "
        "excess kurtosis of a Gaussian are zero."
    )
    plots = {j: histogram_plot(one) for j, one in enumerate(histograms)}
    rows: list[tuple[Cell, ...]] = [
        (one.joint, errors.model, errors.mean, errors.std, one.unit, errors.skewness, errors.kurtosis)
        for one in histograms
        for errors in (one.identified, one.description)
    ]
    headings = ("joint", "model", "mean residual", "σ of the residual", "unit", "skewness", "excess kurtosis")
    table = HtmlTable(f"Residuals on {run.name}", headings, rows)
    contents = (JointChoice([one.joint for one in histograms]), PerJoint(plots), table)
    return Section("histogram", "Histogram of the residuals", text, contents)


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
    text = (
        f"Mean residual of {run.name} ({run.kind}) in bins of a quantity, with ± 2 standard errors (valid for "
        "residuals that are independent from instant to instant). Where the mean differs from zero, the model misses "
        "something."
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.joint,
            one.quantity,
            Bar(one.share, percent(max(one.share, 0.0)), one.share),
            Bar(one.dependence.p_value, probability(one.dependence.p_value)),
            Word("depends", "fair") if one.found else Word("by chance", "good"),
        )
        for one in found
    ]
    headings = ("joint", "quantity", "explained share of the residual's variance", "p-value", "verdict")
    table = HtmlTable(f"Does the residual of {run.name} depend on a quantity?", headings, rows)
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
    yield Section("structure", "What the model misses", text, (Sentences(words), JointChoice(joints), *plots, table))


def structure_plot(one: Structure, run: ReportedRun) -> Plot:
    found = one.dependence
    lower, upper = found.band
    unit = run.prediction.units[run.prediction.joints.index(one.joint)]
    lines = [
        Line("lower end", lower, unit),
        Line("upper end", upper, unit),
        Line("mean residual", found.means, unit, colour="c1"),
    ]
    label = f"{one.quantity} [{one.unit}]" if one.unit else one.quantity
    title = f"residual [{unit}]" if unit else "residual"
    centres = found.centres - (run.start if one.quantity == "time" else 0.0)
    return Plot(
        one.joint, centres, label, title, lines, band=(0, 1), band_label="± 2 standard errors", level=0.0
    )  # fmt: skip


# -- which frequencies they have ---------------------------------------------------------------------------------------


def spectrum_section(run: ReportedRun) -> Iterator[Section]:
    """Nothing where the run is too short."""
    spectrum = run.found.spectrum
    if spectrum is None:
        return
    frequency, last = spectrum.frequency, spectrum.filled
    text = (
        f"Amplitude density of measured torque and residual of {run.name} ({run.kind}), as they enter the equations. "
        "A flat residual is noise; a peak in it shows what the model misses, such as an elastic joint or torque ripple "
        "of the drive."
    )
    if last < len(frequency):
        text += f" Above {number(float(frequency[last - 1]), 3)} Hz the filters leave no signal."
    plots = {
        j: Plot(
            name,
            frequency[:last],
            "frequency [Hz]",
            f"density [{unit or 'unit'}/√Hz]",
            [Line(name, getattr(spectrum, name)[:last, j], unit) for name in ("measured", "residual")],
            group=f"spectrum-{run.group}",
            log=True,
        )
        for j, (name, unit) in enumerate(zip(spectrum.joints, spectrum.units, strict=True))
    }
    contents = (JointChoice(spectrum.joints), PerJoint(plots))
    yield Section("spectrum", "Spectrum of torque and residual", text, contents)


# -- whether they are noise: correlated in time, or between joints, they are not ---------------------------------------


def correlation_section(run: ReportedRun) -> Section:
    found = run.found
    text = (
        f"Correlation of the residuals of {run.name} ({run.kind}) in time and between joints. White residuals are "
        "noise. Filters make successive samples alike, and so does what a model misses; joints whose residuals are "
        "correlated have a common cause."
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.joint,
            one.neighbour,
            one.interval,
            one.fades if math.isfinite(one.fades) else math.nan,
            Bar(one.slow, percent(one.slow), one.slow),
            Bar(one.p_value, probability(one.p_value)),
            Word("white", "good") if one.white else Word("coloured", "fair"),
        )
        for one in found.whiteness
    ]
    headings = (
        "joint",
        "correlation of successive samples",
        "sample interval [s]",
        "correlation time [s]",
        "power in the lowest tenth of the band",
        "p-value if white",
        "verdict",
    )
    table = HtmlTable(f"Correlation in time of the residuals of {run.name}", headings, rows)
    matrix = HeatMap("Correlation between joints", found.correlation.joints, found.correlation.coefficients)
    contents = (table, matrix, Sentences(found.correlation.sentences))
    return Section("whiteness", "Are the residuals white noise?", text, contents)
