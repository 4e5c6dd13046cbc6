"""Weighted least squares: every joint's equations over the standard deviation of its noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.identification.compressed import Compressed
from exciter.identification.estimate import WHITE, Estimate
from exciter.identification.estimators.estimator import EquationNoise, Estimator
from exciter.identification.problem import Problem
from exciter.identification.solution import enough_rows, linear_estimate, noise_of
from exciter.typing import Array

ROUNDS = 100
SETTLED = 1e-10  # relative change of noise


@dataclass(frozen=True)
class WeightedLeastSquares(Estimator):
    """Least squares, each equation weighted by the noise of its joint.

    noise: σ of the errors, one or one per equation of an instant (period statistics, for example); None: from the
    residuals, again and again until weights and residuals agree.

    >>> ex.identify(robot, log, estimator=ex.WeightedLeastSquares(noise=(0.15, 0.5, 0.1))).fit[0].total_percent < 1.0
    True
    """

    word, title = "wls", "weighted least squares"
    noise: EquationNoise = None

    def estimate(self, problem: Problem) -> Estimate:
        compressed = problem.compressed
        enough_rows(compressed)
        if self.noise is not None:
            noise = compressed.per_group(self.noise)[0].copy()
            values, _ = compressed.information(noise).solve(problem.names)
            return linear_estimate(problem, compressed, values, noise, noise, WHITE + "; σ was given")
        values, noise = reweighted(compressed, problem.names)
        return linear_estimate(problem, compressed, values, noise, noise, WHITE)


def reweighted(compressed: Compressed, names: tuple[str, ...]) -> tuple[Array, Array]:
    """Parameters (p,) and noise (J,) that agree with each other."""
    values, _ = compressed.information().solve(names)
    noise = noise_of(compressed, values, np.ones(len(compressed.joints)))
    for _ in range(ROUNDS):
        values, _ = compressed.information(noise).solve(names)
        before, noise = noise, noise_of(compressed, values, noise)
        if (np.abs(noise - before) <= SETTLED * noise).all():
            break
    else:  # few equations settle slowly: then at least the values are those of the weights that are told
        values, _ = compressed.information(noise).solve(names)
    return values, noise
