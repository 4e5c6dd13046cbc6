"""Distribution of the residuals, beside that of the description's own parameters (004, Fig. 4)."""

from __future__ import annotations

import numpy as np

from exciter.report.identification.drawn import Drawn, per_joint
from exciter.report.joint_choice import joint_choice
from exciter.report.markup import Markup
from exciter.report.plot import Line, Plot
from exciter.report.section import Section
from exciter.report.table import Cell, Table
from exciter.validation.histogram import Histogram


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
