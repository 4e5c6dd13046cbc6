"""Table II: standard deviations promised by both motions, and a Monte Carlo of 200 with the product's estimator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.design import Design
from exciter.experiment.synthetic import synthetic
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.reproduction.finding import Finding, claim, typical
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.swevers_ieee.set_up import FAMILY, NOISE, PAPER, chi, model, order, sampled, theta
from exciter.robot.motion import Motion

Array = NDArray[np.float64]
TABLE = PAPER["table_2"]
RUNS: int = TABLE["runs"]  #: N_s


def part(c1: Design, c2: Design, starts_c1: Array, starts_c2: Array) -> Part:
    """starts_…: σ (k, 21) of every accepted start, in the order of Table I."""
    sigma_c1, sigma_c2 = c1.predicted_std[order()], c2.predicted_std[order()]
    estimates = estimated(sampled(c2.delta))[:, order()]
    mean, sigma_e = estimates.mean(axis=0), estimates.std(axis=0, ddof=1)
    return Part(
        "Table II",
        "Results of the simulation experiments",
        "Our motions in place of the paper's. Columns 3 and 4: σ by (9). Columns 2 and 5: mean and standard "
        f"deviation of {RUNS} estimates by weighted least squares (7) along the c2 motion, torque noise of seeds 0 "
        f"… {RUNS - 1}, joint angles exact. Column 6: column 4 over the root of the number of runs.",
        (
            _within("σ of c1", TABLE["sigma_c1"], starts_c1, sigma_c1),
            _within("σ of c2", TABLE["sigma_c2"], starts_c2, sigma_c2),
            _larger(starts_c1, starts_c2, sigma_c1, sigma_c2),
            claim(
                "the uncertainty of c2 as a whole is smaller: product of the ratios σ_c2/σ_c1 below one",
                bool(np.prod(sigma_c2 / sigma_c1) < 1.0),
                f"geometric mean of the ratios {_mean_ratio(sigma_c2, sigma_c1):.2f} here, "
                f"{_mean_ratio(TABLE['sigma_c2'], TABLE['sigma_c1']):.2f} in the paper",
            ),
        ),
        (_table(mean, sigma_c1, sigma_c2, sigma_e),),
        differences="Standard deviations belong to a motion, and the published motions are not available: columns "
        "3 to 6 agree in size, not digit by digit. Column 2 is random.",
    )


def estimated(motion: Motion, runs: int = RUNS) -> Array:
    """(runs, 21) estimates (7) of synthetic logs of seeds 0 … runs − 1, in the product's order."""
    estimator = WeightedLeastSquares(noise=tuple(NOISE))
    rate = len(motion) / FAMILY.period
    logs = (synthetic(model(), motion, chi(), NOISE, seed) for seed in range(runs))
    problems = (Problem(model(), (Run.at(motion, log.torque, rate),), folds=1) for log in logs)
    return np.array([estimator.estimate(problem).values for problem in problems])


def _within(name: str, published: list[float], starts: Array, best: Array) -> Finding:
    """Sizes of published and our σ compared by their geometric mean, which units and parameters drop out of."""
    ratios = best / np.array(published)
    low, high = starts.min(axis=0), starts.max(axis=0)
    inside = np.count_nonzero((low <= published) & (published <= high))
    return typical(
        f"{name}: geometric mean over the parameters, relative to Table II",
        1.0,
        [_mean_ratio(row, published) for row in starts],
        f"over the starts; the best one parameter by parameter {ratios.min():.2f} … {ratios.max():.2f} times Table II; "
        f"{inside} of {len(published)} published values lie within the range of our starts",
    )


def _larger(starts_c1: Array, starts_c2: Array, sigma_c1: Array, sigma_c2: Array) -> Finding:
    pairs = (starts_c2[:, None, :] > starts_c1[None, :, :]).sum(axis=2).ravel()
    ours = ", ".join(str(k + 1) for k in np.flatnonzero(sigma_c2 > sigma_c1)) or "none"
    return typical(
        "number of parameters whose σ is larger with c2 than with c1",
        len(TABLE["larger_with_c2"]),
        pairs,
        f"every c1 start with every c2 start; our best two: parameters {ours}",
    )


def _mean_ratio(ours: Array | list[float], published: Array | list[float]) -> float:
    return float(np.exp(np.mean(np.log(np.asarray(ours) / np.asarray(published)))))


def _table(mean: Array, sigma_c1: Array, sigma_c2: Array, sigma_e: Array) -> DataTable:
    columns = {
        "mean": mean,
        "sigma_c1": sigma_c1,
        "sigma_c2": sigma_c2,
        "sigma_e": sigma_e,
        "sigma_mean": sigma_c2 / np.sqrt(RUNS),
    }
    titles = ("mean", "σ_c1", "σ_c2", "σ_e", f"σ_c2/√{RUNS}")
    headings = ["i", "parameter", "unit", "θ"]
    for title in titles:
        headings += [f"{title}, published", f"{title}, ours"]
    headings += ["σ_e/σ_c2, published", "σ_e/σ_c2, ours"]
    rows = []
    for k, line in enumerate(PAPER["table_1"]["rows"]):
        cells = [k + 1, model().base.names[order()[k]], line["unit"], float(theta()[order()[k]])]
        for key, ours in columns.items():
            cells += [TABLE[key][k], float(ours[k])]
        rows.append([*cells, TABLE["sigma_e"][k] / TABLE["sigma_c2"][k], float(sigma_e[k] / sigma_c2[k])])
    return DataTable("table-2", f"Table II, published and ours ({RUNS} estimates each)", tuple(headings), rows)
