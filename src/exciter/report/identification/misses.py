"""What a model leaves of a run, looked at from all sides: its size, what it depends on, its frequencies, its memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby

import numpy as np

from exciter.report.identification.parameters import listed
from exciter.report.identification.runs import Drawn, drawn_runs, per_joint
from exciter.report.markup import Markup, chance, number, percent
from exciter.report.plot import HeatMap, Line, Plot
from exciter.report.section import Section, folded, joint_choice
from exciter.report.table import Bar, Cell, Table, Word
from exciter.validation.residuals import Histogram
from exciter.validation.structure import Structure
from exciter.validation.validation import ValidationVerdict


def misses(verdict: ValidationVerdict) -> Iterator[Section]:
    """Of the decisive run."""
    (drawn,) = (one for one in drawn_runs(verdict) if one.found is verdict.decisive)
    yield histogram_section(drawn)
    for section in (structure_section(drawn), spectrum_section(drawn)):
        if section is not None:
            yield section
    yield whiteness_section(drawn)


# -- histogram of the errors, beside that of the description (004, Fig. 4) ---------------------------------------------


def histogram_section(drawn: Drawn) -> Section:
    histograms = drawn.found.histograms
    text = (
        f"How often an error of each size occurs on {drawn.name} ({drawn.kind}): of the identified model, of the "
        "description's own parameters, and of a Gaussian as wide as the first. Skewness and excess "
        "kurtosis of a Gaussian are zero."
    )
    plots = {j: histogram_plot(one) for j, one in enumerate(histograms)}
    rows: list[tuple[Cell, ...]] = [
        (one.joint, one.unit, errors.model, errors.mean, errors.std, errors.skewness, errors.kurtosis)
        for one in histograms
        for errors in (one.identified, one.description)
    ]
    headings = ("joint", "unit", "model", "mean error", "σ", "skewness", "excess kurtosis")
    table = Table(f"Errors on {drawn.name}", headings, rows)
    names = [one.joint for one in histograms]
    return Section("histogram", "Histogram of the errors", text, (joint_choice(names), per_joint(plots), table.html()))


def histogram_plot(one: Histogram) -> Markup:
    """A staircase: a value holds from its edge to the next."""
    lines = [
        Line("identified", np.append(one.identified.percent, 0.0)),
        Line("description", np.append(one.description.percent, 0.0)),
        Line("Gaussian", np.append(one.identified.gaussian_percent, 0.0), width=1.0),
    ]
    return Plot(one.joint, one.edges, f"error [{one.unit}]", "share [%]", lines, steps=True).html()


# -- what they depend on: velocity, load, position, time and temperature -----------------------------------------------


def structure_section(drawn: Drawn) -> Section | None:
    """None where the run is too short to tell."""
    if not drawn.found.structures:
        return None
    joints = drawn.prediction.joints
    text = (
        f"Mean residual of {drawn.name} ({drawn.kind}) in bins of a quantity, with two standard errors to both sides, "
        "which hold for residuals that are alike from instant to instant. A mean that leaves zero shows what the model "
        "misses."
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.joint,
            one.quantity,
            Bar(one.share, percent(max(one.share, 0.0)), one.share),
            Bar(one.dependence.p_value, chance(one.dependence.p_value), math.nan),
            Word("depends", "fair") if one.found else Word("by chance", "good"),
        )
        for one in drawn.found.structures
    ]
    headings = ("joint", "quantity", "share of the residual's variance", "chance of so much", "verdict")
    table = Table(f"Whether the residual of {drawn.name} depends on a quantity", headings, rows)
    said = [one.sentence for one in drawn.found.structures if one.found]
    words = listed(said) if said else listed(["nothing is missed that velocity, load, position or time would show"])
    by_quantity = sorted(drawn.found.structures, key=lambda one: one.quantity)
    ordered = sorted(
        ((quantity, list(some)) for quantity, some in groupby(by_quantity, key=lambda one: one.quantity)),
        key=lambda pair: ("velocity", "load", "time", "position", "temperature").index(pair[0]),
    )
    plots = [
        folded(
            f"Against {quantity}",
            per_joint({joints.index(one.joint): structure_plot(one, drawn) for one in sorted_by(some, joints)}),
            opened=k == 0,
        )
        for k, (quantity, some) in enumerate(ordered)
    ]
    return Section("structure", "What the model misses", text, (words, joint_choice(joints), *plots, table.html()))


def sorted_by(some: list[Structure], joints: tuple[str, ...]) -> list[Structure]:
    return sorted(some, key=lambda one: joints.index(one.joint))


def structure_plot(one: Structure, drawn: Drawn) -> Markup:
    found = one.dependence
    lower, upper = found.band
    unit = drawn.prediction.units[drawn.prediction.joints.index(one.joint)]
    lines = [
        Line("lower end", lower, unit),
        Line("upper end", upper, unit),
        Line("mean residual", found.means, unit, colour="c1"),
    ]
    label = f"{one.quantity} [{one.unit}]" if one.unit else one.quantity
    title = f"residual [{unit}]" if unit else "residual"
    band = "± 2 standard errors"
    centres = found.centres - (drawn.start if one.quantity == "time" else 0.0)
    return Plot(one.joint, centres, label, title, lines, band=(0, 1), band_label=band, level=0.0).html()


# -- which frequencies they have ---------------------------------------------------------------------------------------


def spectrum_section(drawn: Drawn) -> Section | None:
    """None where the run is too short."""
    spectrum = drawn.found.spectrum
    if spectrum is None:
        return None
    measured, residual, last = spectrum.measured, spectrum.residual, spectrum.filled
    text = (
        f"Amplitude density of {drawn.name} ({drawn.kind}), measured and residual, as they enter the equations. A flat "
        "residual is noise; a peak in it is something that the model misses, such as an elastic joint or a ripple of "
        "the drive."
    )
    if last < len(measured.frequency):
        text += f" Above {number(float(measured.frequency[last - 1]), 3)} Hz filters left nothing to draw."
    plots = {
        j: Plot(
            name,
            measured.frequency[:last],
            "frequency [Hz]",
            f"density [{unit or 'unit'}/√Hz]",
            [Line("measured", measured.values[:last, j], unit), Line("residual", residual.values[:last, j], unit)],
            group=f"spectrum-{drawn.group}",
            log=True,
        ).html()
        for j, (name, unit) in enumerate(zip(spectrum.joints, spectrum.units, strict=True))
    }
    contents = (joint_choice(spectrum.joints), per_joint(plots))
    return Section("spectrum", "Spectrum of torque and residual", text, contents)


# -- whether they are noise: alike in time, or between joints, they are not --------------------------------------------


def whiteness_section(drawn: Drawn) -> Section:
    found = drawn.found
    text = (
        f"Residuals of {drawn.name} ({drawn.kind}) compared with themselves. A filter makes neighbours alike, and so "
        "does what a model misses; joints whose residuals go together have a cause in common."
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.joint,
            one.neighbour,
            one.interval,
            one.fades if math.isfinite(one.fades) else math.nan,
            Bar(one.slow, percent(one.slow), one.slow),
            Bar(one.p_value, chance(one.p_value), math.nan),
            Word("white", "good") if one.white else Word("coloured", "fair"),
        )
        for one in found.whiteness
    ]
    headings = (
        "joint",
        "correlation of neighbours",
        "apart [s]",
        "gone after [s]",
        "power in the lowest tenth of the band",
        "chance if white",
        "verdict",
    )
    table = Table(f"Correlation in time of the residuals of {drawn.name}", headings, rows)
    matrix = HeatMap("Correlation between joints", found.correlation.joints, found.correlation.coefficients)
    words = (listed(found.correlation.sentences),) if found.correlation.sentences else ()
    return Section("whiteness", "Are the residuals noise?", text, (table.html(), matrix.html(), *words))
