"""Estimation in steps as the chapter prints it, and any method on many logs that differ in their noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exciter.identification.compressed import Compressed
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.problem import Problem
from exciter.report.plot import Line, Plot
from exciter.reproduction.published import published
from exciter.typing import Array

IntArray = NDArray[np.int64]
DATA = published("khalil_dombre", "published_procedures")
RARE = 3.29  #: standard errors that chance alone exceeds once in a thousand
GLOBAL, WEIGHTED = "all at once, ordinary", "all at once, weighted"
Found = tuple[Array, Array]  #: values, and how far their 95 % intervals reach to both sides, (p,) each
Method = Callable[[Problem], Found]
Chosen = NDArray[np.bool_] | slice  #: of the parameters


@dataclass(frozen=True, eq=False)
class Repeated:
    """One method on M logs that differ in their noise: errors, and reach of the 95 % intervals, (M, p), of parameters
    that are ``true`` (p,)."""

    true: Array
    errors: Array
    reach: Array

    @property
    def relative(self) -> Array:
        """(M,) ‖χ̂ − χ‖ / ‖χ‖."""
        return np.asarray(np.linalg.norm(self.errors, axis=1) / np.linalg.norm(self.true))

    @property
    def spread(self) -> Array:
        """(p,) root mean square error."""
        return np.asarray(np.sqrt((self.errors**2).mean(axis=0)))

    def covered(self, chosen: Chosen = slice(None)) -> tuple[float, float]:
        """Share of 95 % intervals that hold the truth, and its standard error, measured between logs: the parameters of
        one log have errors in common."""
        each = (np.abs(self.errors) <= self.reach)[:, chosen].mean(axis=1)
        return float(each.mean()), float(max(each.std(ddof=1), 1e-3) / np.sqrt(len(each)))

    def honest(self, chosen: Chosen = slice(None)) -> bool:
        """Whether the intervals may well cover what they say."""
        share, error = self.covered(chosen)
        return abs(share - float(DATA["level"])) <= RARE * error


def estimator(method: Estimator) -> Method:
    def found(problem: Problem) -> Found:
        estimate = method.estimate(problem)
        return estimate.values, estimate.quantile(float(DATA["level"])) * estimate.std

    return found


def repeat(
    drawn: Callable[[int], Problem], methods: Mapping[str, Method], true: Array, times: int
) -> dict[str, Repeated]:
    """Every method on the same logs, those of seeds 0, 1, …"""
    found: dict[str, list[Found]] = {name: [] for name in methods}
    for seed in range(times):
        problem = drawn(seed)
        for name, method in methods.items():
            found[name].append(method(problem))
    return {
        name: Repeated(true, np.array([values for values, _ in each]) - true, np.array([reach for _, reach in each]))
        for name, each in found.items()
    }


@dataclass(frozen=True, eq=False)
class Step:
    """equations: of which joints and runs; unknown: columns solved for; kept: of these, what later steps take over."""

    equations: Compressed
    unknown: IntArray
    kept: IntArray


def as_printed(steps: Sequence[Step], size: int) -> Found:
    """Steps as the chapter writes them, [12.23] and [12.24]: least squares, what earlier steps found taken as exact,
    in the values and in the intervals."""
    values, reach, known = np.zeros(size), np.zeros(size), np.zeros(0, dtype=np.int64)
    for step in steps:
        left = step.equations.given(values[known], known)
        names = [step.equations.parameters[k] for k in step.unknown]
        own = left.columns([left.parameters.index(name) for name in names])
        solution, covariance = own.information().solve(own.parameters)
        freedom = int(own.rows.sum()) - len(names)
        noise = own.squares(solution).sum() / freedom
        student = float(stats.t.ppf(0.5 + 0.5 * DATA["level"], freedom))
        kept = np.isin(step.unknown, step.kept)
        values[step.kept] = solution[kept]
        reach[step.kept] = student * np.sqrt(noise * covariance.diagonal()[kept])
        known = np.sort(np.append(known, step.kept))
    return values, reach


def recovered(missed: int, times: int, mean: float) -> tuple[bool, float]:
    """Whether so many of ``times`` intervals may miss, and the mean error, in standard errors, be zero; and how often
    chance alone would miss so many or so few."""
    chance = float(stats.binomtest(missed, times, 1.0 - DATA["level"]).pvalue)
    return chance > 1e-3 and abs(mean) < RARE, chance


def link_of(names: Sequence[str]) -> IntArray:
    """Number of the link, or joint, that each parameter belongs to; from 1."""
    return np.array([int(name[-1]) for name in names], dtype=np.int64)


def counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"


def error_plot(found: Mapping[str, Repeated], title: str) -> Plot:
    """Share of logs with an error below y."""
    shares = np.linspace(0.0, 100.0, 101)
    lines = [Line(name, np.percentile(one.relative, shares)) for name, one in found.items()]
    return Plot(title, shares, "share of the logs [%]", "‖χ̂ − χ‖ / ‖χ‖", lines, log=True)
