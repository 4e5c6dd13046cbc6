"""How well the motion tells parameters apart: singular values of W, and correlations of the estimates."""

from __future__ import annotations

import numpy as np

from exciter.identification.identification import Identification
from exciter.identification.uncertainty.conditioning import CORRELATED_PAIR
from exciter.report.heat_map import HeatMap
from exciter.report.markup import number
from exciter.report.plot import Line, Plot
from exciter.report.section import Section
from exciter.report.table import Table


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
    caption = f"{caption} correlated by more than {CORRELATED_PAIR:g}"
    table = Table(caption, ("parameter", "and", "correlation"), pairs)
    return Section("conditioning", "Conditioning", text, (plot.html(), matrix.html(), table.html()))
