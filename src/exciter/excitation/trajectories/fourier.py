"""Periodic excitation as finite Fourier series (Swevers et al. 1997, eq. (11) / (5)).

q_j(t) = q0_j + Σ_l a_jl/(ω l) sin(ω l t) − b_jl/(ω l) cos(ω l t): linear in (a, b, q0), joint by joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.errors import ExciterError
from exciter.robot.motion import Motion, MotionGradient

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fourier:
    """period [s], number of harmonics, samples per period. Coefficients: (n, 2 h + 1), columns a1…ah, b1…bh, q0."""

    period: float = 10.0
    harmonics: int = 5
    samples: int = 200

    def __post_init__(self) -> None:
        if not (self.period > 0 and np.isfinite(self.period)) or self.harmonics < 1:
            raise ExciterError(f"a Fourier trajectory needs a positive period and ≥ 1 harmonic, not {self}")
        if self.samples < 2 * self.harmonics + 1:
            raise ExciterError(f"{self.samples} samples per period cannot show {self.harmonics} harmonics")

    @property
    def coefficients(self) -> int:
        """Coefficients per joint."""
        return 2 * self.harmonics + 1

    @cached_property
    def time(self) -> Array:
        """(N,) [s] one period, its end excluded."""
        return np.linspace(0.0, self.period, self.samples, endpoint=False)

    def basis(self, time: Array) -> tuple[Array, Array, Array]:
        """B₀, B₁, B₂ (N, 2 h + 1): q = B₀ δ, q̇ = B₁ δ, q̈ = B₂ δ."""
        omega = 2.0 * np.pi / self.period * np.arange(1, self.harmonics + 1)
        sin, cos = np.sin(np.outer(time, omega)), np.cos(np.outer(time, omega))
        one, zero = np.ones((len(time), 1)), np.zeros((len(time), 1))
        q = np.hstack([sin / omega, -cos / omega, one])
        qd = np.hstack([cos, sin, zero])
        qdd = np.hstack([-sin * omega, cos * omega, zero])
        return q, qd, qdd

    @cached_property
    def _basis(self) -> Array:
        """(2 h + 1, 3 N): the three matrices side by side, transposed, so that one product does it all."""
        return np.ascontiguousarray(np.vstack(self.basis(self.time)).T)

    def motion(self, delta: ArrayLike, time: Array | None = None) -> Motion:
        """The motion of coefficients (n, 2 h + 1), over one period unless ``time`` is given."""
        delta = np.asarray(delta, dtype=float).reshape(-1, self.coefficients)
        basis = self._basis if time is None else np.vstack(self.basis(time)).T
        q, qd, qdd = np.split(delta @ basis, 3, axis=1)
        return Motion(self.time if time is None else time, q.T, qd.T, qdd.T)

    def pullback(self, gradient: MotionGradient) -> Array:
        """Gradient with respect to the coefficients (n, 2 h + 1), from that of every sample of one period."""
        stacked = np.hstack([gradient.q.T, gradient.qd.T, gradient.qdd.T])
        delta: Array = stacked @ self._basis.T
        return delta
