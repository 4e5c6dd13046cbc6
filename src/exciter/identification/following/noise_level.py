"""σ of each joint's equations, from residuals as they come.

r = e/√S is an innovation over its standard deviation, S = w P wᵀ + σ². The score of log σ² is u (r² − 1) with u = σ²/S,
the part of S that is noise; so log σ² ← log σ² + g Σ u (min(r², k²)/c − 1) / Σ u², c = E min(Z², k²): zero on average where
σ is right, and residuals beyond k σ (contacts, spikes) count no more than k. g is one over the equations seen, in the
end the part of a minute that has passed; it begins anew where the last equations say that σ is far off."""

from __future__ import annotations

import numpy as np
from scipy import stats

from exciter.identification.information.kalman import Innovations
from exciter.typing import Array

MOST_COUNTED_SIGMA = 3.0  #: k
FORGETTING_SECONDS = 60.0
SETTLED_EQUATIONS = 100.0  #: independent ones of a joint, after which its σ is known well enough to judge by
BEGINNING_EQUATIONS = 10.0  #: that the σ it began with counts for
RECENT_EQUATIONS = 30.0  #: by which σ is judged to be far off, where
FAR_OFF = 0.6  #: of the mean of r² − 1
MOST_CHANGE = 1.0  #: of log σ² at once
LEAST_LEARNED_FRACTION = 1e-6  #: of the σ it began with: residuals of a simulation may be exactly zero


def clipped_mean(k: float = MOST_COUNTED_SIGMA) -> float:
    """E min(Z², k²) of a standard normal Z."""
    return float(stats.norm.cdf(k) * 2.0 - 1.0 - 2.0 * k * stats.norm.pdf(k) + 2.0 * k * k * stats.norm.sf(k))


class NoiseLevel:
    """noise (J,): σ to begin with. learned: whether it changes."""

    def __init__(self, noise: Array, *, learned: bool) -> None:
        self.noise, self.learned = noise.copy(), learned
        self._least, self._seen = LEAST_LEARNED_FRACTION * noise, np.zeros(len(noise))
        self._recent = np.zeros(len(noise))  # mean score of the last equations
        self._usual = clipped_mean()

    @property
    def settled(self) -> bool:
        """Whether every joint with equations has enough of them."""
        some = self._seen > 0.0
        return not self.learned or bool(some.any() and (self._seen[some] >= SETTLED_EQUATIONS).all())

    def learn(self, seen: Innovations, share: float, seconds: float) -> None:
        """From instants that were used; share: of an independent equation that each is worth."""
        if not self.learned:
            return
        part = np.where(seen.counted, (self.noise / seen.std) ** 2, 0.0)
        number = share * (part**2).sum(axis=0)  # of equations that tell as much as if nothing else were unknown
        excess = np.minimum(seen.squares, MOST_COUNTED_SIGMA**2) / self._usual - 1.0
        score = share * (part * np.where(seen.counted, excess, 0.0)).sum(axis=0) / np.maximum(number, 1e-12)
        there = number > 0.0
        self._recent += np.where(there, np.minimum(number / RECENT_EQUATIONS, 1.0) * (score - self._recent), 0.0)
        self._seen[np.abs(self._recent) > FAR_OFF] = 0.0
        gain = np.maximum(number / (BEGINNING_EQUATIONS + self._seen + number), min(seconds / FORGETTING_SECONDS, 1.0))
        change = np.clip(np.where(there, gain * score, 0.0), -MOST_CHANGE, MOST_CHANGE)
        self.noise = np.maximum(self.noise * np.exp(0.5 * change), self._least)
        self._seen += number
