"""[12.6]–[12.10]: printed standard deviations against Monte Carlo, for rows as measured and for filtered ones; relative
ones, what is poorly identified, and essential parameters (12.7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import exciter as ex
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Chebyshev, SecondOrder
from exciter.identification.estimators.least_squares import Essential
from exciter.identification.information.estimate import INSIGNIFICANT, POOR_STD_RATIO, Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import with_correlated_errors
from exciter.typing import Array
from exciter_papers.khalil_dombre import set_up
from exciter_papers.khalil_dombre.four_models import CHAPTER_FIGURES, DECIMATE, SAID, estimate
from exciter_papers.khalil_dombre.set_up import PROCEDURE_FIGURES, percent
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, shown

DECIMATE_OF_UNCERTAINTY = CHAPTER_FIGURES["decimate"]
MIDDLE_A: float = CHAPTER_FIGURES["second_order"]["compared"][1]  # rad/s
RAW, KEPT, THINNED, SLOW = "as measured", "filtered, all kept", "filtered, decimated", "F(s), all kept"
FILTERS = {
    RAW: None,
    KEPT: ParallelFilter(Chebyshev(DECIMATE_OF_UNCERTAINTY["cutoff"]), factor=1),
    THINNED: DECIMATE,
    SLOW: ParallelFilter(SecondOrder.of(MIDDLE_A), factor=1),
}
PRINTED, BANDWIDTH, CORRELATED = "[12.7]", "by bandwidth", "by correlation"
WAYS = (PRINTED, BANDWIDTH, CORRELATED)
UNCERTAINTY_SEED = 12
COVERAGE_LEVEL = 0.95


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
        """Share of parameters and repetitions within the interval that should hold ``COVERAGE_LEVEL`` of them."""
        reach = float(stats.norm.ppf(0.5 + 0.5 * COVERAGE_LEVEL))
        return float(np.mean(np.abs(self.errors) < reach * self.std[way]))


def run(effort: Effort) -> Part:
    repetitions = effort.pick(3, 30)
    found = {name: repeated(parallel, repetitions) for name, parallel in FILTERS.items()}
    percent = CHAPTER_FIGURES["noise"]["usual"]["torque"]
    words = f"{repetitions} repetitions × {len(set_up.true_values())} parameters"
    theory = {way: np.median(found[RAW].std[way] / expected_std(), axis=1) for way in WAYS}
    decimated = estimate(set_up.noisy_torque((UNCERTAINTY_SEED, 0), percent), ex.InverseDynamic(DECIMATE))
    words_and_rule = zip(decimated.status, decimated.poor_by_ratio, strict=True)
    poorly = sum(poor for word, poor in words_and_rule if word != INSIGNIFICANT)
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
            shown(f"{100 * COVERAGE_LEVEL:g} % intervals of [12.7] that hold, {name}", found[name].covered(PRINTED))
            for name in FILTERS
        ),
        *(
            shown(f"error over σ with correlated errors, rms, rows {name}", found[name].over(CORRELATED))
            for name in FILTERS
        ),
        *(
            shown(
                f"σ {way} over that of theory, rows as measured",
                np.median(ratios),
                "median over parameters and repetitions; theory: the noise that was put in",
            )
            for way, ratios in theory.items()
        ),
        shown(
            "parameters poorly identified by the rule after [12.10]",
            poorly,
            f"of {len(set_up.true_values())}; relative σ more than {POOR_STD_RATIO:g} times the smallest; first "
            "repetition, "
            "filtered and decimated",
        ),
    )
    return Part(
        "[12.6]–[12.10]",
        "Standard deviations, printed and corrected",
        f"{set_up.AS_BEFORE} Exact motion, white noise of {percent:g} % on torques, {repetitions} repetitions "
        f"(seeds ({UNCERTAINTY_SEED}, 0) …); dynamic model, ordinary least squares. Rows as measured; through the "
        "Chebyshev "
        f"filter of {DECIMATE_OF_UNCERTAINTY['cutoff']:g} Hz, all kept or one of "
        f"{DECIMATE_OF_UNCERTAINTY['factor']}; through F(s) with a = "
        f"{MIDDLE_A:g} rad/s, all kept. σ by [12.7] (one for all equations), by the filter's bandwidth, and from "
        "the correlation of the residuals (both Exciter's).",
        findings,
        _table(found),
        differences="[12.7] takes every equation as independent. After a filter that is not so: the number of "
        "equations that counts is the band the filter passes times the time, not the number of samples. σ from the "
        "correlation of residuals needs no knowledge of the filter.",
    )


def repeated(parallel: ParallelFilter | None, repetitions: int) -> Deviations:
    model, errors = set_up.model(), list[Array]()
    std: dict[str, list[Array]] = {way: [] for way in WAYS}
    for repetition in range(repetitions):
        part = set_up.noisy_torque((UNCERTAINTY_SEED, repetition), CHAPTER_FIGURES["noise"]["usual"]["torque"])
        problem = Problem(model, (Run((part,)),), ex.InverseDynamic(parallel))
        found = ex.OrdinaryLeastSquares().estimate(problem)
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
    return np.asarray(
        np.sqrt(((solve * set_up.torque_noise(CHAPTER_FIGURES["noise"]["usual"]["torque"])) ** 2).sum(axis=(0, 2)))
    )


def _table(found: dict[str, Deviations]) -> DataTable:
    headings = ["rows", "equations", "worth independent ones"]
    headings += [f"error over σ, {way}" for way in WAYS] + [
        f"{100 * COVERAGE_LEVEL:g} % intervals that hold, {way}" for way in WAYS
    ]
    rows = [
        [name, one.rows, one.worth, *(one.over(way) for way in WAYS), *(one.covered(way) for way in WAYS)]
        for name, one in found.items()
    ]
    return DataTable("uncertainty", "Errors over standard deviations: 1 where they are right", tuple(headings), rows)


# -- relative standard deviations and essential parameters -------------------------------------------------------------

ESSENTIAL = PROCEDURE_FIGURES["essential"]
TIMES_SMALLEST = float(PROCEDURE_FIGURES["printed"]["poorly"])


def essential(effort: Effort) -> Part:
    model, rate = set_up.model(), float(ESSENTIAL["rate"])
    times = effort.pick(*ESSENTIAL["repetitions"].values())
    zero = np.isin(model.base.names, ESSENTIAL["zeros"])
    true = np.where(zero, 0.0, set_up.true_values())
    motion, sigma = set_up.motion(rate), set_up.torque_noise(PROCEDURE_FIGURES["noise"])
    exact = model.regressor(motion)[:, :, model.base.independent] @ true
    whole, fewer = [], []
    for seed in range(times):
        noise = sigma * np.random.default_rng(seed).standard_normal(exact.shape)
        problem = Problem(model, (Run.at(motion, exact + noise, rate),), folds=1)
        whole.append(ex.WeightedLeastSquares().estimate(problem))
        fewer.append(Essential().estimate(problem))
    every = np.array([one.relative_std_percent for one in whole])
    flagged = every > TIMES_SMALLEST * every.min(axis=1, keepdims=True)  # poorly identified, as printed
    dropped = np.array([one.values == 0.0 for one in fewer])
    errors, left = (np.array([one.values for one in each]) - true for each in (whole, fewer))
    rms, after = (np.sqrt((each**2).mean(axis=0)) for each in (errors, left))
    table = DataTable.by_columns(
        "essential",
        f"Every parameter over {times} logs: relative σ (median), share of logs that call it poorly identified, and "
        "that drop it by the F-test",
        {
            "parameter": model.base.names,
            "true value": true,
            "relative σ [%]": np.median(every, axis=0),
            "rms error": rms,
            "poorly identified [%]": 100.0 * flagged.mean(axis=0),
            "dropped [%]": 100.0 * dropped.mean(axis=0),
            "rms error after": after,
        },
    )
    return Part(
        "[12.10] and section 12.7, essential parameters",
        "Relative standard deviations, the rule of ten, and parameters that can be left out",
        f"{set_up.AS_BEFORE} The true values of {', '.join(ESSENTIAL['zeros'])} are set to zero here. "
        f"{ESSENTIAL['rate']:g} Hz, torque noise {PROCEDURE_FIGURES['noise']:g} %, {times} logs (seeds 0 … "
        f"{times - 1}); weighted "
        "least squares. The rule of the chapter: poorly identified where the relative σ is more than "
        f"{TIMES_SMALLEST:g} times the smallest. Ours: backward elimination by an F-test at 5 %. An error (rms) counts "
        f"as poor from {ESSENTIAL['poor_percent']:g} % of the value on, ours.",
        _findings(true, zero, flagged, dropped, rms, after),
        table,
        differences="The rule compares a parameter with the best one, not with zero: the more precisely the best is "
        "known, the more of the others are called poor. An F-test asks what the rule means to ask.",
    )


def rule_holds(called: Array) -> bool:
    """Whether all parameters that are called poor have poor errors [% of the value]."""
    return bool((called > ESSENTIAL["poor_percent"]).all())


def _findings(
    true: Array,
    zero: NDArray[np.bool_],
    flagged: NDArray[np.bool_],
    dropped: NDArray[np.bool_],
    rms: Array,
    after: Array,
) -> tuple[Finding, ...]:
    called = flagged[:, ~zero].mean()
    often = ~zero & (flagged.mean(axis=0) > 0.5)
    size = 100.0 * rms / np.where(zero, np.inf, np.abs(true))
    best = int(np.argmin(np.where(zero, np.inf, size)))
    names = set_up.model().base.names
    kept = ~zero & ~dropped.any(axis=0)
    gain = after[kept] / rms[kept]
    return (
        claim(
            "a parameter whose relative σ exceeds ten times the smallest is poorly identified",
            rule_holds(size[often]),
            f"the rule calls {percent(float(called))} of the parameters that are not zero poor, {int(often.sum())} of "
            f"{int((~zero).sum())} in most logs; these are known to {size[often].min() if often.any() else np.nan:.2g} "
            f"… {size[often].max() if often.any() else np.nan:.2g} % (rms). The best, {names[best]}, is known to "
            f"{size[best]:.2g} %",
        ),
        shown("parameters that are zero and called poorly identified [%]", 100.0 * float(flagged[:, zero].mean())),
        shown(
            "parameters that are zero and dropped by the F-test [%]",
            100.0 * float(dropped[:, zero].mean()),
            "a test at 5 % keeps one in twenty",
        ),
        shown("parameters that are not zero and dropped by the F-test [%]", 100.0 * float(dropped[:, ~zero].mean())),
        claim(
            "the essential parameters can be better identified once the others are cancelled",
            float(np.median(gain)) < 1.0,
            f"rms error after over before, of those never dropped: median {np.median(gain):.3f}, smallest "
            f"{gain.min():.3f}",
        ),
    )
