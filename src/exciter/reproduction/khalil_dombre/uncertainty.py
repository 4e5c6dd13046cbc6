"""[12.6]–[12.10]: printed standard deviations against Monte Carlo, for rows as measured and for filtered ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from exciter.experiment.signals.low_pass import Chebyshev, SecondOrder
from exciter.experiment.signals.rows import ParallelFilter
from exciter.identification.estimate import POORLY, Estimate
from exciter.identification.estimators.weighted import OrdinaryLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.identification.uncertainty.correlated import with_correlated_errors
from exciter.reproduction.finding import Value, claim, shown
from exciter.reproduction.khalil_dombre import set_up
from exciter.reproduction.khalil_dombre.four_models import DECIMATE, GIVEN, SAID
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.typing import Array

DECIMATED = GIVEN["decimate"]
MIDDLE_A: float = GIVEN["second_order"]["compared"][1]  # rad/s
RAW, KEPT, THINNED, SLOW = "as measured", "filtered, all kept", "filtered, decimated", "F(s), all kept"
FILTERS = {
    RAW: None,
    KEPT: ParallelFilter(Chebyshev(DECIMATED["cutoff"]), factor=1),
    THINNED: DECIMATE,
    SLOW: ParallelFilter(SecondOrder.of(MIDDLE_A), factor=1),
}
PRINTED, BANDWIDTH, CORRELATED = "[12.7]", "by bandwidth", "by correlation"
WAYS = (PRINTED, BANDWIDTH, CORRELATED)
SEED = 12
LEVEL = 0.95


def printed_std(problem: Problem, found: Estimate) -> Array:
    """(p,) √diag σ_ρ² (WᵀW)⁻¹ with one σ_ρ² = ‖ρ‖² / (r − c) for all rows [12.7]–[12.9]."""
    compressed = problem.compressed
    inverse = np.linalg.inv(compressed.information().r)
    variance = compressed.squares(found.values).sum() / (compressed.rows.sum() - len(found.values))
    return np.asarray(np.sqrt(variance * (inverse**2).sum(axis=1)))


@dataclass(frozen=True, eq=False)
class Deviations:
    """errors (R, p) and standard deviations (R, p) by way; rows, worth: equations, and independent ones."""

    errors: Array
    std: dict[str, Array]
    rows: int
    worth: float

    def over(self, way: str) -> float:
        """Root mean square of error over σ: 1 where σ is right, more where it is too small."""
        return float(np.sqrt(np.mean((self.errors / self.std[way]) ** 2)))

    def covered(self, way: str) -> float:
        """Share of parameters and repetitions within the interval that should hold ``LEVEL`` of them."""
        reach = float(stats.norm.ppf(0.5 + 0.5 * LEVEL))
        return float(np.mean(np.abs(self.errors) < reach * self.std[way]))


def run(effort: Effort) -> Sequence[Part]:
    repetitions = effort.pick(3, 30)
    found = {name: repeated(parallel, repetitions) for name, parallel in FILTERS.items()}
    percent = GIVEN["noise"]["usual"]["torque"]
    words = f"{repetitions} repetitions × {len(set_up.true_values())} parameters"
    theory = {way: np.median(found[RAW].std[way] / expected_std(), axis=1) for way in WAYS}
    poorly = _status().count("poorly identified")
    findings = (
        claim(
            SAID["careful"],
            max(found[name].over(PRINTED) for name in (KEPT, SLOW)) > 2.0,
            f"rms of error over σ of [12.7], {words}: "
            + ", ".join(f"{found[name].over(PRINTED):.2g} ({name})" for name in FILTERS)
            + ". Filtered rows that are all kept are alike, and σ is too small; decimation to the filter's bandwidth "
            "nearly mends it, for a sharp filter",
        ),
        *(shown(f"error over σ of [12.7], rms, rows {name}", found[name].over(PRINTED)) for name in FILTERS),
        *(
            shown(f"{100 * LEVEL:g} % intervals of [12.7] that hold, {name}", found[name].covered(PRINTED))
            for name in FILTERS
        ),
        *(
            shown(f"error over σ with correlated errors, rms, rows {name}", found[name].over(CORRELATED))
            for name in FILTERS
        ),
        *(
            shown(
                f"σ {way} over that of theory, rows as measured",
                float(np.median(ratios)),
                "median over parameters and repetitions; theory: the noise that was put in",
            )
            for way, ratios in theory.items()
        ),
        shown(
            "parameters poorly identified by the rule after [12.10]",
            poorly,
            f"of {len(set_up.true_values())}; relative σ more than {POORLY:g} times the smallest; first repetition, "
            "filtered and decimated",
        ),
    )
    return (
        Part(
            "[12.6]–[12.10]",
            "Standard deviations, printed and corrected",
            f"{set_up.AS_BEFORE} Exact motion, white noise of {percent:g} % on torques, {repetitions} repetitions "
            f"(seeds ({SEED}, 0) …); dynamic model, ordinary least squares. Rows as measured; through the Chebyshev "
            "filter of "
            f"{DECIMATED['cutoff']:g} Hz, all kept or one of {DECIMATED['factor']}; through F(s) with a = "
            f"{MIDDLE_A:g} rad/s, all kept. σ by [12.7] (one for all equations), by the filter's bandwidth, and from "
            "the correlation of the residuals (both Exciter's).",
            findings,
            (_table(found),),
            differences="[12.7] takes every equation as independent. After a filter that is not so: the number of "
            "equations that counts is the band the filter passes times the time, not the number of samples. σ from the "
            "correlation of residuals needs no knowledge of the filter.",
        ),
    )


def repeated(parallel: ParallelFilter | None, repetitions: int) -> Deviations:
    model, errors = set_up.model(), list[Array]()
    std: dict[str, list[Array]] = {way: [] for way in WAYS}
    for repetition in range(repetitions):
        part = set_up.noisy_torque((SEED, repetition), GIVEN["noise"]["usual"]["torque"])
        problem = Problem(model, (Run((part,)),), InverseDynamic(parallel))
        found = OrdinaryLeastSquares().estimate(problem)
        errors.append(found.values - set_up.true_values())
        std[PRINTED].append(printed_std(problem, found))
        std[BANDWIDTH].append(found.std)
        std[CORRELATED].append(with_correlated_errors(problem, found).std)
    rows, worth = problem.compressed.rows.sum(), problem.compressed.independent.sum()
    return Deviations(np.array(errors), {way: np.array(std[way]) for way in WAYS}, int(rows), float(worth))


def expected_std() -> Array:
    """(p,) σ of ordinary least squares on rows as measured, by the noise that was put in."""
    w = set_up.model().regressor(set_up.motion())[:, :, set_up.model().base.independent]
    flat = w.reshape(-1, w.shape[2])
    solve = np.linalg.inv(flat.T @ flat) @ np.moveaxis(w, 2, 1)  # (N, p, n)
    return np.asarray(np.sqrt(((solve * set_up.torque_noise(GIVEN["noise"]["usual"]["torque"])) ** 2).sum(axis=(0, 2))))


def _status() -> tuple[str, ...]:
    part = set_up.noisy_torque((SEED, 0), GIVEN["noise"]["usual"]["torque"])
    problem = Problem(set_up.model(), (Run((part,)),), InverseDynamic(DECIMATE))
    return OrdinaryLeastSquares().estimate(problem).status


def _table(found: dict[str, Deviations]) -> DataTable:
    headings = ["rows", "equations", "worth independent ones"]
    headings += [f"error over σ, {way}" for way in WAYS] + [
        f"{100 * LEVEL:g} % intervals that hold, {way}" for way in WAYS
    ]
    rows: list[list[Value]] = [
        [name, one.rows, one.worth, *(one.over(way) for way in WAYS), *(one.covered(way) for way in WAYS)]
        for name, one in found.items()
    ]
    return DataTable("uncertainty", "Errors over standard deviations: 1 where they are right", tuple(headings), rows)
