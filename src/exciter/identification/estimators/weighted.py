"""Least squares: ordinary [12.5]–[12.9]; weighted, every equation over the σ of its joint; sequential;
with base parameters ≥ 0 where every robot that can exist has them so."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import nnls

from exciter.identification.estimators.estimator import EquationNoise, Estimator
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.estimate import (
    GIVEN,
    WHITE,
    Estimate,
    assumed,
    enough_rows,
    linear_estimate,
    noise_of,
)
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.identification.information.sequential import SequentialEstimator
from exciter.identification.physical.equations import Equations
from exciter.identification.physical.physics import nonnegative_base
from exciter.notes import done
from exciter.typing import Array

ROUNDS = 100
SETTLED = 1e-10  # relative change of noise


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
            return linear_estimate(problem, compressed, values, noise, noise, WHITE + GIVEN)
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
        told = () if self.noise is None else GIVEN
        return linear_estimate(problem, compressed, live.values, noise, noise, WHITE + told)


# -- weighted least squares with base parameters ≥ 0 where every robot that can exist has them so --------------------


UNBOUNDED = assumed(
    "covariance of the estimate without bounds: true values ≥ 0 are never farther from the bounded estimate than from "
    "the unbounded one, in the measure of that covariance"
)


@dataclass(frozen=True)
class NonNegative(Estimator):
    """Friction, rotor inertia, stiffness, and combinations such as ZZR1 that no physical robot has negative."""

    word, title = "nonnegative", "least squares with friction and rotor inertia not negative"

    def estimate(self, problem: Problem) -> Estimate:
        compressed = Equations.of(problem).whole
        enough_rows(compressed)
        bound = nonnegative_base(problem)
        values, noise = reweighted(compressed, problem.names)
        for _ in range(ROUNDS):
            values = bounded(compressed.information(noise), bound)
            before, noise = noise, noise_of(compressed, values, noise)
            if (np.abs(noise - before) <= SETTLED * noise).all():
                break
        found = linear_estimate(problem, compressed, values, noise, noise, WHITE + UNBOUNDED)
        held = [name for name, value, b in zip(problem.names, values, bound, strict=True) if b and value == 0.0]
        text = f"held at zero: {', '.join(held)}" if held else "no bound was reached"
        return replace(found, notes=(done("bounds", text),))


def bounded(information: Information, bound: NDArray[np.bool_]) -> Array:
    """(p,) minimum of ‖R β − z‖² with β ≥ 0 where ``bound``, exactly (Lawson & Hanson)."""
    free, held = np.flatnonzero(~bound), np.flatnonzero(bound)
    both = np.column_stack([information.r[:, free], information.r[:, held], information.z])
    upper: Array = np.asarray(np.linalg.qr(both, mode="r"))
    f, p = len(free), len(bound)
    right = upper[f:p, f:p]
    scale = np.maximum(np.linalg.norm(right, axis=0), 1e-300)
    values = np.zeros(p)
    if held.size:  # nnls of no columns is no small thing: it ends the interpreter
        values[held] = nnls(right / scale, upper[f:p, p])[0] / scale
    values[free] = linalg.solve_triangular(upper[:f, :f], upper[:f, p] - upper[:f, f:p] @ values[held])
    return values
