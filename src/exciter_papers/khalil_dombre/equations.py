"""12.7: "at least 500 equations per parameter", shown as what it is: variance falls with the number of equations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

import exciter as ex
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.low_pass_filter import Chebyshev
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.khalil_dombre import set_up
from exciter_papers.khalil_dombre.four_models import CHAPTER_FIGURES, SAID
from exciter_papers.paper import DataTable, Effort, Finding, Part, claim, shown

RULE: int = CHAPTER_FIGURES["equations_per_parameter"]
EQUATIONS_PER_PARAMETER = (5, 10, 20, 50, 100, 200, RULE, 1000, 2000)  # equations per parameter
USUAL_TORQUE_NOISE_PERCENT: float = CHAPTER_FIGURES["noise"]["usual"]["torque"]
CUTOFF: float = CHAPTER_FIGURES["decimate"]["cutoff"]
FEWER_EQUATIONS_PER_PARAMETER = 100  # equations per parameter, named beside the rule
KEPT_ONE_OF = (1, 2, 5, 10)  # of filtered equations one of so many
SEED, FILTERED_SEED = 13, 14
LEAST_COVERED_SHARE = 0.9  # share of 95 % intervals with the fewest equations
EQUATIONS_FALSE_ALARM_CHANCE = 0.001  # of a false alarm, in each test


@dataclass(frozen=True, eq=False)
class ErrorsByCount:
    """errors (R, M): relative, of R repetitions with M numbers of equations; predicted (M,): root mean square of
    them by covariance; covered (M,): share of 95 % intervals that hold."""

    counts: tuple[int, ...]
    errors: Array
    predicted: Array
    covered: Array

    @property
    def typical(self) -> Array:
        return np.asarray(np.sqrt(np.mean(self.errors**2, axis=0)))

    def slopes(self, least: int = 0, most: int = 10**9) -> Array:
        """(R,) of log error over log number, of every repetition by itself."""
        chosen = [k for k, m in enumerate(self.counts) if least <= m <= most]
        x = np.log([self.counts[k] for k in chosen])
        return np.asarray(np.polyfit(x, np.log(self.errors[:, chosen]).T, 1)[0])


def run(effort: Effort) -> Part:
    repetitions = effort.pick(12, 150)
    found = counted(repetitions)
    filtered = thinned(effort.pick(3, 30))
    return Part(
        "12.7",
        f"{RULE} equations per parameter",
        f"{set_up.AS_BEFORE} Exact motion, white noise of {USUAL_TORQUE_NOISE_PERCENT:g} % on torques, {repetitions} "
        "repetitions "
        f"(seeds ({SEED}, number, 0) …); dynamic model, ordinary least squares. The motion stays, its samples are "
        f"more or less dense: {EQUATIONS_PER_PARAMETER[0]} … {EQUATIONS_PER_PARAMETER[-1]} equations per parameter. "
        "Beside it: all samples at "
        f"{set_up.SAMPLE_RATE:g} Hz through the filter of {CUTOFF:g} Hz, of which one of {KEPT_ONE_OF[0]} … "
        f"{KEPT_ONE_OF[-1]} is kept "
        f"(seeds ({FILTERED_SEED}, 0) …).",
        _findings(found, filtered),
        (_table(found), _thinned_table(filtered)),
        _plot(found, filtered),
        f"Nothing happens at {RULE}: the error falls with the square root of the number of equations, before and "
        "after. How many are enough depends on the noise and on the accuracy that is wanted. And equations count "
        "only while their errors are independent.",
    )


def counted(repetitions: int) -> ErrorsByCount:
    model, true = set_up.model(), set_up.true_values()
    p, columns = len(true), list[list[float]]()
    predicted, covered = [], []
    for m in EQUATIONS_PER_PARAMETER:
        rate = m * p / model.n / CHAPTER_FIGURES["set_up"]["duration"]
        errors, inside, spread = list[float](), list[float](), list[float]()
        for repetition in range(repetitions):
            part = set_up.noisy_torque((SEED, m, repetition), USUAL_TORQUE_NOISE_PERCENT, rate)
            found = ex.OrdinaryLeastSquares().estimate(Problem(model, (Run((part,)),), ex.InverseDynamic(), folds=1))
            errors.append(set_up.relative_error(found.values))
            low, high = found.interval()
            inside.append(float(np.mean((low < true) & (true < high))))
            spread.append(float(np.trace(found.covariance)))
        columns.append(errors)
        covered.append(float(np.mean(inside)))
        predicted.append(float(np.sqrt(np.mean(spread)) / np.linalg.norm(true)))
    return ErrorsByCount(EQUATIONS_PER_PARAMETER, np.array(columns).T, np.array(predicted), np.array(covered))


def thinned(repetitions: int) -> ErrorsByCount:
    """Filtered equations, all or one of some kept; the same noise for all."""
    model, p = set_up.model(), len(set_up.true_values())
    formulation = ex.InverseDynamic(ParallelFilter(Chebyshev(CUTOFF), factor=1))
    errors = []
    for repetition in range(repetitions):
        part = set_up.noisy_torque((FILTERED_SEED, repetition), USUAL_TORQUE_NOISE_PERCENT)
        rows = Rows.join(list(formulation.rows(model, [part], model.base.independent)))
        kept = [(rows.w[::k].reshape(-1, p), rows.y[::k].ravel()) for k in KEPT_ONE_OF]
        errors.append([set_up.relative_error(np.linalg.lstsq(w, y)[0]) for w, y in kept])
    counts = tuple(round(len(y) / p) for _, y in kept)
    nothing = np.full(len(KEPT_ONE_OF), np.nan)
    return ErrorsByCount(counts, np.array(errors), nothing, nothing)


def _findings(found: ErrorsByCount, filtered: ErrorsByCount) -> tuple[Finding, ...]:
    every, below, above = found.slopes(), found.slopes(most=RULE), found.slopes(least=RULE)
    (different, p_break), p_half = _differ(below, above), stats.ttest_1samp(every, -0.5).pvalue
    at = dict(zip(found.counts, found.typical, strict=True))
    many = float(filtered.typical[0] / filtered.typical[-1])
    return (
        claim(
            SAID["enough"],
            too_few(different, found.covered[0]),
            f"slope of log error over log number {below.mean():.3f} up to {RULE}, {above.mean():.3f} beyond "
            f"(p = {p_break:.2g} of no difference); with {found.counts[0]} equations per parameter "
            f"{100 * found.covered[0]:.0f} % of the 95 % intervals hold; with {FEWER_EQUATIONS_PER_PARAMETER} the "
            "error is "
            f"{at[FEWER_EQUATIONS_PER_PARAMETER] / at[RULE]:.2f} times that with {RULE} (1/√m: "
            f"{np.sqrt(RULE / FEWER_EQUATIONS_PER_PARAMETER):.2f})",
        ),
        shown(
            "slope of log error over log number of equations",
            every.mean(),
            f"± {stats.sem(every):.3f}; p = {p_half:.2g} of −½, "
            f"{'as' if p_half >= EQUATIONS_FALSE_ALARM_CHANCE else 'not as'} variance "
            "alone makes it",
        ),
        *(shown(f"relative error with {m} equations per parameter", at[m]) for m in found.counts),
        shown(
            f"error with {filtered.counts[0]} over that with {filtered.counts[-1]} equations per parameter, filtered "
            f"by {CUTOFF:g} Hz",
            many,
            f"independent errors would give {np.sqrt(filtered.counts[-1] / filtered.counts[0]):.2f}",
        ),
    )


def too_few(different: bool, covered: float) -> bool:
    """Whether anything but variance speaks against few equations: another slope, or intervals that do not hold."""
    return different or bool(covered < LEAST_COVERED_SHARE)


def _differ(first: Array, second: Array) -> tuple[bool, float]:
    p = float(stats.ttest_rel(first, second).pvalue)
    return p < EQUATIONS_FALSE_ALARM_CHANCE, p


def _table(found: ErrorsByCount) -> DataTable:
    low, high = np.quantile(found.errors, [0.1, 0.9], axis=0)
    columns = {"equations per parameter": found.counts, "relative error, rms": found.typical, "10 %": low, "90 %": high}
    columns |= {"predicted": found.predicted, "95 % intervals that hold": found.covered}
    return DataTable.by_columns("equations", "Relative error by number of independent equations", columns)


def _thinned_table(filtered: ErrorsByCount) -> DataTable:
    columns = {
        "one kept of": KEPT_ONE_OF,
        "equations per parameter": filtered.counts,
        "relative error, rms": filtered.typical,
    }
    caption = f"Equations filtered by {CUTOFF:g} Hz, more or fewer kept"
    return DataTable.by_columns("filtered-equations", caption, columns)


def _plot(found: ErrorsByCount, filtered: ErrorsByCount) -> Plot:
    counts = np.array(sorted({*found.counts, *filtered.counts}), dtype=float)
    line = found.typical[0] * np.sqrt(found.counts[0] / counts)
    return Plot(
        "Relative error against the number of equations",
        np.log10(counts),
        "log₁₀ of equations per parameter",
        "relative error, rms",
        (
            Line("1/√m", line, width=1.0),
            Line("independent errors", _at(found, counts), points=True),
            Line(f"filtered by {CUTOFF:g} Hz", _at(filtered, counts), points=True),
        ),
        log=True,
    )


def _at(found: ErrorsByCount, counts: Array) -> Array:
    known = dict(zip(found.counts, found.typical, strict=True))
    return np.array([known.get(int(m), np.nan) for m in counts])
