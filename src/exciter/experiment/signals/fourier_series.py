"""A motion as a finite Fourier series that was fitted to samples, with what is known of its coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.excitation.trajectories.fourier import Fourier
from exciter.robot.motion import Motion
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class FourierSeries:
    """q_j(t) = q0_j + Σ_l a_jl/(ω l) sin(ω l s) − b_jl/(ω l) cos(ω l s), s = t − start (seed 002, eq. (11)).

    harmonics: the numbers l; delta (n, 2 h + 1): a …, b …, q0 of each joint, zero where a joint was given fewer
    harmonics than others (used (n, 2 h + 1) says which were fitted). gram (2 h + 1, 2 h + 1): B₀ᵀB₀ of the samples
    used, so that noise σ_j makes the covariance σ_j² gram⁻¹ (on the coefficients that joint uses). noise (n,): σ of
    one recorded position. samples: how many were used.
    """

    joints: tuple[str, ...]
    period: float
    start: float
    harmonics: tuple[int, ...]
    delta: Array
    used: NDArray[np.bool_]
    gram: Array
    noise: Array
    samples: int

    def __post_init__(self) -> None:
        for name in ("delta", "used", "gram", "noise"):
            array = np.array(getattr(self, name))
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def trajectory(self) -> Fourier:
        """The family whose coefficients these are."""
        return Fourier(self.period, self.harmonics)

    def motion(self, time: Array) -> Motion:
        """q, q̇, q̈ at any times [s]."""
        q, qd, qdd = (basis @ self.delta.T for basis in self.trajectory.basis(time - self.start))
        return Motion(time, q, qd, qdd)

    def coefficients(self, start: float = 0.0) -> Array:
        """(n, 2 h + 1) of ``trajectory`` when its time is counted from another instant ``start`` [s]."""
        h = len(self.harmonics)
        angle = 2.0 * np.pi / self.period * np.array(self.harmonics) * (start - self.start)
        a, b = self.delta[:, :h], self.delta[:, h : 2 * h]
        cos, sin = np.cos(angle), np.sin(angle)
        return np.hstack([a * cos + b * sin, b * cos - a * sin, self.delta[:, 2 * h :]])

    def covariance(self, joint: int) -> Array:
        """(2 h + 1, 2 h + 1) of a joint's coefficients, zero for those it does not use."""
        chosen = np.flatnonzero(self.used[joint])
        covariance = np.zeros_like(self.gram)
        covariance[np.ix_(chosen, chosen)] = self.noise[joint] ** 2 * np.linalg.inv(self.gram[np.ix_(chosen, chosen)])
        return covariance

    @property
    def noise_of_derivatives(self) -> Array:
        """(3, n): σ left in q, q̇, q̈ by the noise of the samples, mean over a period: σ_j² Σ_l (ω l)^2k 2/M."""
        h = len(self.harmonics)
        omega = 2.0 * np.pi / self.period * np.array(self.harmonics)
        used = self.used[:, :h].astype(float)
        mean = np.stack([(used * omega ** (2 * k)).sum(axis=1) * 2.0 for k in range(3)])
        mean[0] += 1.0  # the offset
        return np.asarray(self.noise * np.sqrt(mean / self.samples))
