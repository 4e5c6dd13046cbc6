"""Bierman's sequential estimation over recorded rows: what a live estimator would know at the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.identification.bierman import SequentialEstimator
from exciter.identification.estimate import WHITE, Estimate
from exciter.identification.estimators.estimator import EquationNoise, Estimator
from exciter.identification.estimators.weighted import reweighted
from exciter.identification.problem import Problem
from exciter.identification.solution import enough_rows, linear_estimate


@dataclass(frozen=True)
class Sequential(Estimator):
    """noise: σ per equation of an instant; None: what weighted least squares finds in the residuals first."""

    word, title = "sequential", "sequential least squares (Bierman)"
    noise: EquationNoise = None

    def estimate(self, problem: Problem) -> Estimate:
        compressed = problem.compressed
        enough_rows(compressed)
        if self.noise is None:
            _, noise = reweighted(compressed, problem.names)
        else:
            noise = compressed.per_group(np.array(self.noise, dtype=float))[0]
        live = SequentialEstimator(problem.names, noise)
        for _, rows in problem.rows():
            live.update(rows.w, rows.y)
        told = "" if self.noise is None else "; σ was given"
        return linear_estimate(problem, compressed, live.values, noise, noise, WHITE + told)
