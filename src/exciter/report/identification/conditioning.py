"""How well the motion tells parameters apart: singular values of W, and correlations of the estimates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exciter.identification.estimate import Estimate
from exciter.identification.problem import Problem
from exciter.report.heat_map import HeatMap
from exciter.report.markup import number
from exciter.report.plot import Line, Plot
from exciter.report.section import Section
from exciter.report.table import Table

Array = NDArray[np.float64]
ALIKE = 0.9  #: correlation of two estimates beyond which they are listed
MOST_PAIRS = 20


def conditioning_section(problem: Problem, estimate: Estimate) -> Section:
    values = singular_values(problem)
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
    matrix = HeatMap("Correlation of the estimates", estimate.names, correlation(estimate))
    return Section("conditioning", "Conditioning", text, (plot.html(), matrix.html(), pairs_table(estimate).html()))


def singular_values(problem: Problem) -> Array:
    """Of W with columns of length one, the largest first."""
    r = problem.compressed.information().r
    scale = np.linalg.norm(r, axis=0)
    return np.asarray(np.linalg.svd(r / np.where(scale > 0.0, scale, 1.0), compute_uv=False))


def correlation(estimate: Estimate) -> Array:
    """(p, p) of the estimates; zero for a parameter that was not estimated."""
    std = np.where(estimate.std > 0.0, estimate.std, np.inf)
    return np.asarray(np.clip(estimate.covariance / np.outer(std, std), -1.0, 1.0))


def pairs_table(estimate: Estimate) -> Table:
    """Pairs of parameters whose errors go together."""
    matrix = np.triu(correlation(estimate), 1)
    order = np.argsort(-np.abs(matrix), axis=None)[:MOST_PAIRS]
    pairs = [np.unravel_index(k, matrix.shape) for k in order]
    rows = [(estimate.names[a], estimate.names[b], float(matrix[a, b])) for a, b in pairs if abs(matrix[a, b]) > ALIKE]
    if not rows:
        return Table(f"No two estimates are correlated by more than {ALIKE:g}", ("parameter", "and", "correlation"), ())
    return Table(f"Estimates correlated by more than {ALIKE:g}", ("parameter", "and", "correlation"), rows)
