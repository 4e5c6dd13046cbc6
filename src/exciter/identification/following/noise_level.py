"""σ of each joint's equations, from residuals.

Where nothing is known of it, it is found from the first equations as in a batch: least squares, σ of each joint from
the median of its absolute residuals, again and again until weights and residuals agree.

From then on it follows residuals as they come. r = e/√S is an innovation over its standard deviation, S = w P wᵀ + σ².
The score of log σ² is u (r² − 1) with u = σ²/S, the part of S that is noise; so log σ² grows by 1/n Σ u (min(r², k²)/c
− 1), c = E min(Z², k²): zero on average where σ is right, and residuals beyond k σ (contacts, spikes) count no more
than k. n counts Σ u² of equations so far, those of the last minute in the end."""

from __future__ import annotations

import numpy as np
import scipy

from exciter.identification.information.information import SINGULAR_VALUE_TOLERANCE
from exciter.identification.information.kalman import Innovations
from exciter.typing import Array, BoolArray

MOST_COUNTED_SIGMA = 3.0  #: k
FORGETTING_SECONDS = 60.0
BEGINNING_EQUATIONS = 30.0  #: that the σ it began with counts for
EQUATIONS_PER_PARAMETER, FEWEST_EQUATIONS = 4.0, 50.0  #: of all joints and of each, independent ones, to begin with
MOST_ITERATIONS, SETTLED_CHANGE = 20, 0.01  #: of log σ
MEDIAN_TO_SIGMA = 1.4826  #: of absolute values of a normal distribution
MOST_CHANGE = 1.0  #: of log σ² at once
LEAKED_EQUATION_SHARE = 0.05  # of the largest entry of every column: an equation with less in all of them is a leak
LEAST_LEARNED_FRACTION = 1e-6  #: of the σ it began with: residuals of a simulation may be exactly zero


def whole(w: Array, largest: Array) -> BoolArray:
    """(N, J) which equations w (N, J, p) are there, and more than what a filter leaks of others into the time in which
    a joint rests; largest (J, p): of every column so far. What is leaked has hardly any noise, and must not tell it."""
    share = np.abs(w) / np.where(largest > 0.0, largest, 1.0)
    return np.asarray(share.max(axis=2) > LEAKED_EQUATION_SHARE)


def clipped_mean(k: float = MOST_COUNTED_SIGMA) -> float:
    """E min(Z², k²) of a standard normal Z."""
    return float(
        scipy.stats.norm.cdf(k) * 2.0 - 1.0 - 2.0 * k * scipy.stats.norm.pdf(k) + 2.0 * k * k * scipy.stats.norm.sf(k)
    )


class NoiseLevel:
    """noise (J,): σ to begin with. learned: whether it changes."""

    def __init__(self, noise: Array, *, learned: bool) -> None:
        self.noise, self.learned = noise.copy(), learned
        self._least, self._seen = LEAST_LEARNED_FRACTION * noise, np.full(len(noise), BEGINNING_EQUATIONS)
        self._usual = clipped_mean()

    def learn(self, seen: Innovations, share: float, seconds: float) -> None:
        """From instants that were used; share: of an independent equation that each is worth."""
        if not self.learned:
            return
        part = np.where(seen.counted, seen.noisy, 0.0)
        excess = np.minimum(seen.squares, MOST_COUNTED_SIGMA**2) / self._usual - 1.0
        self._seen *= np.exp(-seconds / FORGETTING_SECONDS)
        self._seen += share * (part**2).sum(axis=0)
        change = share * (part * excess).sum(axis=0) / np.maximum(self._seen, BEGINNING_EQUATIONS)
        self.noise = np.maximum(self.noise * np.exp(0.5 * np.clip(change, -MOST_CHANGE, MOST_CHANGE)), self._least)

    def begin(self, w: Array, y: Array, share: float) -> bool:
        """From the first equations, w (N, J, p) and y (N, J), where they are enough; whether they are."""
        there = whole(w, np.abs(w).max(axis=0))
        number, p = share * there.sum(axis=0), w.shape[2]
        if number.sum() < EQUATIONS_PER_PARAMETER * p or (number[number > 0.0] < FEWEST_EQUATIONS).any():
            return False
        noise = self.noise
        for _ in range(MOST_ITERATIONS):
            scale = np.linalg.norm((w / noise[:, None]).reshape(-1, p), axis=0)
            scale = np.where(scale > 0.0, scale, 1.0)
            sides = (w / noise[:, None]).reshape(-1, p) / scale
            values, _, rank, _ = np.linalg.lstsq(sides, (y / noise).ravel(), rcond=SINGULAR_VALUE_TOLERANCE)
            left = np.abs(y - w @ (values / scale))
            freedom = max(1.0 - float(rank) / number.sum(), 0.1)
            middle = np.array(
                [np.median(left[there[:, j], j]) if there[:, j].any() else np.nan for j in range(len(noise))]
            )
            new = np.where(np.isfinite(middle), MEDIAN_TO_SIGMA * middle / np.sqrt(freedom), noise)
            new, before = np.maximum(new, self._least), noise
            noise = new
            if np.abs(np.log(new / before)).max() < SETTLED_CHANGE:
                break
        self.noise, self._seen = noise, np.maximum(number, BEGINNING_EQUATIONS)
        return True
