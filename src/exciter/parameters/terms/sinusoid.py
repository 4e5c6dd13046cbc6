"""Sine and cosine of joint angles as columns: amplitude and phase of a torque that repeats once per turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.parameters.terms.pointwise import Partials, PotentialTerm, Samples
from exciter.parameters.terms.ranges import Interval, LoadRange, Ranges, cosine, sine
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Sinusoid(PotentialTerm):
    """First the sines of q + offset [rad] of all its joints, then the cosines of the same joints."""

    offset: float = 0.0

    def entries(self, at: Samples) -> Array:
        sines, cosines = self._angles(at)
        return np.concatenate([np.sin(sines), np.cos(cosines)])

    def partials(self, at: Samples) -> Partials:
        sines, cosines = self._angles(at)
        return Partials(q=np.concatenate([np.cos(sines), -np.sin(cosines)]))

    def energies(self, at: Samples) -> Array:
        sines, cosines = self._angles(at)
        return np.concatenate([-np.cos(sines), np.sin(cosines)])

    def curvature(self, rates: Array) -> Array:
        """|d²/dt² sin| ≤ q̇² + |q̈|, and the same of the cosine."""
        curvature: Array = rates[0, self.columns.joints] ** 2 + rates[1, self.columns.joints]
        return curvature

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        joints = self.columns.joints[: len(self.rows) // 2]
        angle = ranges.q_low[joints] + self.offset, ranges.q_high[joints] + self.offset
        sines, cosines = sine(angle), cosine(angle)
        return np.concatenate([sines[0], cosines[0]]), np.concatenate([sines[1], cosines[1]])

    def _angles(self, at: Samples) -> tuple[Array, Array]:
        """Those of the sines and those of the cosines, each (m, N)."""
        sines, cosines = np.split(at.q + self.offset, 2)
        return sines, cosines
