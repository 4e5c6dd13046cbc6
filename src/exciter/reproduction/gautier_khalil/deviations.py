"""Tables 6, 7, 11 and 12: estimates and σ by parameter, and whether errors are what σ says, as distributions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.rows import Rows
from exciter.identification.estimate import Estimate
from exciter.identification.estimators.weighted import OrdinaryLeastSquares
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.reproduction.finding import Finding, claim, shown, typical
from exciter.reproduction.gautier_khalil.perturbed import Draws
from exciter.reproduction.gautier_khalil.point_sequences import true_parameters
from exciter.reproduction.gautier_khalil.printed import (
    PARAMETER_TABLES,
    ParameterTable,
    PrintedSequence,
    names,
    noise_levels,
)
from exciter.reproduction.gautier_khalil.sequences import robot_model
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.robot.motion import Motion
from exciter.typing import Array

Made = dict[tuple[int, str], tuple[Array, Draws]]
ALARM = 1e-3  # chance of a false alarm of each test of a distribution
TWO_SIGMA = float(2 * stats.norm.cdf(2.0) - 1.0)


def deviation_parts(made: Made, samples: Mapping[tuple[int, str], str], effort: Effort) -> dict[str, Part]:
    """By number of the table."""
    tables = [ParameterTable.of(number) for number in PARAMETER_TABLES]
    return {
        table.number: _part(table, *made[table.r, table.sequence], samples[table.r, table.sequence], effort)
        for table in tables
    }


def _part(table: ParameterTable, w: Array, drawn: Draws, sample: str, effort: Effort) -> Part:
    at = noise_levels().index(table.k)
    std, scaled = drawn.std[:, at], drawn.errors[:, at] / drawn.std[:, at]
    printed = table.error / table.std
    size = np.linalg.norm(true_parameters())
    total = float(np.linalg.norm(table.std) / size)
    totals = np.linalg.norm(std, axis=1) / size
    note = (
        f"the median is {np.median(totals) / total:.2g} times the published figure; cond(W) is "
        f"{drawn.cond.min():.3g} … {drawn.cond.max():.3g} here, "
        f"{PrintedSequence.of(table.r, table.sequence).cond.value:g} there, and the limits are a choice"
    )
    findings = [
        typical("√Σσ² / ‖X‖", total, totals, note, of=sample),
        typical("root mean square of error / σ", float(_rms(printed)), _rms(scaled, axis=1), of=sample),
        typical("largest |error| / σ", np.abs(printed).max(), np.abs(scaled).max(axis=1), of=sample),
        *_distribution(drawn, at),
        _perturbed_left(drawn, at),
        *_own_sigma(w, table, effort),
    ]
    middle, low, high = np.quantile(std, [0.5, 0.1, 0.9], axis=0)
    values = true_parameters()
    rows: list[tuple[str | float, ...]] = [
        (name, float(x), *(float(v) for v in row[1:3]), float(row[4]), *(float(v) for v in own))
        for name, x, row, own in zip(
            names(), values, table.corrected, np.column_stack([middle, low, high]), strict=True
        )
    ]
    ratio = middle / table.std
    return Part(
        f"Table {table.number}",
        f"Estimates and standard deviations, {table.sequence} sequence, {table.r} equations, k = {table.k:g}",
        f"The draws of Table {table.norms} at k = {table.k:g}: noise on Y alone. σ from C = σ_ρ² (WᵀW)⁻¹ with "
        "the σ_ρ that made the noise, as in the paper. Tests of distributions have a chance of "
        f"{ALARM:g} of a false alarm. Where σ_ρ is taken from residuals, sequences and noise are drawn anew (seed "
        f"{table.number}).",
        tuple(findings),
        (
            DataTable(
                f"table-{table.number}",
                f"Table {table.number} [kg·m², kg·m]: published (misprints corrected), and σ over our sequences",
                ("parameter", "X", "X̂", "X − X̂", "σ", "σ here, median", "10 %", "90 %"),
                rows,
            ),
        ),
        (),
        f"σ by parameter is {ratio.min():.2g} … {ratio.max():.2g} times the published one (median of our "
        "sequences); the "
        "sequence itself was not published.",
    )


def _rms(values: Array, axis: int | None = None) -> Array:
    return np.asarray(np.sqrt((values**2).mean(axis=axis)))


# -- σ as a statement ------------------------------------------------------------------------------------------------


def _distribution(drawn: Draws, at: int) -> list[Finding]:
    """Known σ_ρ: errorᵀ C⁻¹ error is χ² of 15 degrees of freedom, 2 σ cover 95.4 %."""
    squares, scaled = drawn.squares[:, at], drawn.errors[:, at] / drawn.std[:, at]
    p = float(stats.kstest(squares, stats.chi2(scaled.shape[1]).cdf).pvalue)
    share, spread = _coverage(np.abs(scaled) <= 2.0)
    return [
        claim(
            "errors have the covariance σ_ρ² (WᵀW)⁻¹",
            p >= ALARM,
            f"errorᵀ C⁻¹ error of {len(squares)} repetitions against χ² of {scaled.shape[1]} degrees of freedom, "
            f"Kolmogorov–Smirnov: p = {p:.2g}",
        ),
        claim(
            f"2 σ cover {100 * TWO_SIGMA:.1f} % of the errors",
            abs(share - TWO_SIGMA) <= stats.norm.ppf(1 - ALARM / 2) * spread,
            f"{100 * share:.1f} % ± {100 * spread:.1g} % of {scaled.size} here",
        ),
    ]


def _coverage(covered: NDArray[np.bool_]) -> tuple[float, float]:
    """Share that is covered, and its standard error: parameters of a repetition are correlated, repetitions not."""
    each = covered.mean(axis=1)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))


def _perturbed_left(drawn: Draws, at: int) -> Finding:
    covered, _ = _coverage(np.abs(drawn.errors_both[:, at]) <= 2.0 * drawn.std_both[:, at])
    return shown(
        "share of errors within 2 σ when W has noise too (Y and W)",
        covered,
        f"{100 * TWO_SIGMA:.1f} % would be right: σ assumes δW = 0, so it says nothing where positions and "
        "velocities "
        "are measured with this noise",
    )


# -- σ from residuals, as an experiment has it -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GivenRows(Formulation):
    """Equations that are at hand."""

    given: Rows

    def rows(self, model: DynamicModel, pieces: Iterable[Processed], columns: NDArray[np.int64]) -> Iterator[Rows]:
        yield self.given

    def equations(self, model: DynamicModel) -> tuple[str, ...]:
        return self.given.joints


def ordinary(w: Array, y: Array) -> Estimate:
    """The product's ordinary least squares of W (r, 15) and Y (r,): σ from the residuals."""
    time, still = np.arange(float(len(y))), np.zeros((len(y), robot_model().n))
    rows = Rows.of(time, w[:, None], y[:, None], 1.0, ("energy",), tuple(names()))
    run = Run.at(Motion(time, still, still, still), still, 1.0)
    return OrdinaryLeastSquares().estimate(Problem(robot_model(), (run,), GivenRows(rows), folds=1))


def _own_sigma(w: Array, table: ParameterTable, effort: Effort) -> list[Finding]:
    """σ_ρ unknown: errors over σ are Student's where residuals tell σ_ρ; with r = b there are none."""
    x = true_parameters()
    if table.r == len(x):
        try:
            ordinary(w[0], w[0] @ x)
        except ParameterError as refusal:
            return [shown("σ without knowing σ_ρ, r = b", "refused", str(refusal))]
        raise AssertionError("fifteen equations cannot tell their own noise")
    rng, p = np.random.default_rng(int(table.number)), len(x)
    chosen = rng.choice(len(w), effort.pick(120, 600))
    covered, shares = [], []
    for one in w[chosen]:
        y = one @ x
        found = ordinary(one, y + 0.25 * table.k * np.abs(y).max() * rng.standard_normal(len(y)))
        low, high = found.interval(0.95)
        covered.append((low <= x) & (x <= high))
        error = found.values - x
        shares.append(((one @ error) ** 2).sum() / (p * found.noise[0] ** 2))
    share, spread = _coverage(np.array(covered))
    chance = float(stats.kstest(shares, stats.f(p, table.r - p).cdf).pvalue)
    reach = stats.norm.ppf(1 - ALARM / 2) * spread
    return [
        claim(
            "σ_ρ taken from the residuals: 95 % intervals cover 95 %",
            bool(abs(share - 0.95) <= reach and chance >= ALARM),
            f"ordinary least squares of Exciter, Student intervals with {table.r - p} degrees of freedom: "
            f"{100 * share:.1f} % ± {100 * spread:.1g} % of {len(chosen)} repetitions; errorᵀ C⁻¹ error / {p} "
            "against F"
            f"({p}, {table.r - p}): p = {chance:.2g}",
        )
    ]
