"""Ordinary least squares [12.5]–[12.9]: every equation counts the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.identification.estimate import WHITE, Estimate
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.problem import Problem
from exciter.identification.solution import enough_rows, linear_estimate, noise_of


@dataclass(frozen=True)
class OrdinaryLeastSquares(Estimator):
    """Least squares, all equations alike.

    The covariance is that of joints with noise of their own (sandwich), not [12.7] with one σ for all.

    >>> ex.identify(robot, log, estimator=ex.OrdinaryLeastSquares()).fit[0].total_percent < 1.0
    True
    """

    word, title = "ols", "ordinary least squares"

    def estimate(self, problem: Problem) -> Estimate:
        compressed = problem.compressed
        enough_rows(compressed)
        information = compressed.information()
        values, _ = information.solve(problem.names)
        noise = noise_of(compressed, values, np.ones(len(problem.joints)))
        return linear_estimate(problem, compressed, values, np.ones(len(problem.joints)), noise, WHITE)
