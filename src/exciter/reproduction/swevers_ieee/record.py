"""Records of exact motion and noisy torque: estimates by (7), any number of Monte Carlos of them, their statistics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from exciter.identification.information import Information
from exciter.reproduction.swevers_ieee.set_up import NOISE, PAPER, model
from exciter.robot.motion import Motion
from exciter.typing import Array

TABLE = PAPER["table_2"]
RUNS: int = TABLE["runs"]  #: N_s, estimates of one Monte Carlo


@dataclass(frozen=True, eq=False)
class Record:
    """A log of exact motion: the map from noise to the error of (7), linear as joint angles are exact."""

    motion: Motion

    @cached_property
    def rows(self) -> Array:
        """Σ^-1/2 F (3 N, 21)."""
        phi = model().base.project(model().regressor(self.motion))
        return (phi / NOISE[:, None]).reshape(-1, phi.shape[-1])

    @cached_property
    def information(self) -> Information:
        return Information.empty(self.rows.shape[1]).add(self.rows, np.zeros(len(self.rows)))

    @cached_property
    def covariance(self) -> Array:
        """(FᵀΣ⁻¹F)⁻¹ (9)."""
        return self.information.solve()[1]

    @cached_property
    def gain(self) -> Array:
        """(3 N, 21): errors of the estimates are noise over σ, (k, 3 N), times this."""
        return self.rows @ self.covariance

    @property
    def sigma(self) -> Array:
        return np.sqrt(self.covariance.diagonal())

    def repeated(self, repetitions: int, seed: int) -> Repeated:
        """So many Monte Carlos of 200; the noise of every one is drawn anew."""
        rng = np.random.default_rng(seed)
        means, deviations, squares = [], [], 0.0
        factor = np.linalg.cholesky(np.linalg.inv(self.covariance))
        for _ in range(repetitions):
            errors = rng.standard_normal((RUNS, len(self.gain))) @ self.gain
            means.append(errors.mean(axis=0))
            deviations.append(errors.std(axis=0, ddof=1))
            squares += float((((errors - means[-1]) @ factor) ** 2).sum())
        return Repeated(self, np.array(means), np.array(deviations), squares)


@dataclass(frozen=True, eq=False)
class Repeated:
    """R Monte Carlos. means (R, 21): of the errors; deviations (R, 21): σ_e; squares: of all errors about their means,
    by the inverse covariance."""

    record: Record
    means: Array
    deviations: Array
    squares: float

    def means_inside(self, sigma: Array | None = None) -> NDArray[np.int64]:
        """(R,) how many of the means lie within σ/√N_s of the truth; σ by (9) unless given."""
        limit = (self.record.sigma if sigma is None else sigma) / np.sqrt(RUNS)
        return np.asarray(np.count_nonzero(np.abs(self.means) < limit, axis=1))

    @property
    def ratios_inside(self) -> NDArray[np.int64]:
        """(R,) how many of σ_e/σ lie within the printed interval."""
        ratios = self.deviations / self.record.sigma
        low, high = TABLE["ratio_interval"]
        return np.asarray(np.count_nonzero((low < ratios) & (ratios < high), axis=1))

    @property
    def bias_chance(self) -> float:
        """Chance of a mean over all runs as far from the truth, if the estimator is unbiased (χ² of 21)."""
        mean = self.means.mean(axis=0)
        distance = self.means.shape[0] * RUNS * mean @ np.linalg.solve(self.record.covariance, mean)
        return float(stats.chi2.sf(distance, len(mean)))

    @property
    def excess_chance(self) -> float:
        """Chance of estimates that scatter as much or more, if their covariance is (9)."""
        return float(stats.chi2.sf(self.squares, self.freedom))

    @property
    def freedom(self) -> int:
        count, parameters = self.means.shape
        return int(count * (RUNS - 1) * parameters)

    @property
    def excess(self) -> float:
        """Sample covariance over (9), averaged over all directions."""
        return self.squares / self.freedom


def mean_probability() -> float:
    """That a mean lies within one standard deviation."""
    return float(stats.norm.cdf(1.0) - stats.norm.cdf(-1.0))


def ratio_probability(low: float, high: float) -> float:
    """That σ_e/σ lies between low and high: (N_s − 1) σ_e²/σ² is χ² with N_s − 1 degrees of freedom."""
    squares = (RUNS - 1) * np.array([low, high]) ** 2
    return float(np.diff(stats.chi2.cdf(squares, RUNS - 1))[0])
