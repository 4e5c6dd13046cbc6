"""What the optimiser moves: normalised coefficients of all joints, and the duration where it is free.

A family's variables x differ widely in their effect on the motion. The optimiser moves u with x = T u, chosen so that
every component of u moves its joint by about as much: then one trust region in radians fits all of them.
With a free duration T = s T₀ the k-th derivative at the same phase is C_k u / s^k, and s is one more variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from exciter.excitation.trajectories.trajectory import Trajectory, retimed
from exciter.robot.motion import Motion, MotionGradient
from exciter.typing import Array

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grid:
    """Instants (N,) [s] of the nominal duration and matrices C₀ … (N, v): the k-th derivative is C_k u / s^k."""

    time: Array
    matrices: tuple[Array, ...]

    @cached_property
    def stacked(self) -> Array:
        """(3 N, v): C₀, C₁, C₂ one below the other, so that one product gives a motion."""
        return np.ascontiguousarray(np.vstack(self.matrices[:3]))


@dataclass(frozen=True, eq=False)
class Variables:
    """y = (u of joint 1, …, u of joint n[, s]) for a family and n joints; stretch: allowed range of s when free."""

    trajectory: Trajectory
    n: int
    stretch: tuple[float, float] | None = None

    @cached_property
    def transform(self) -> Array:
        """T (v, v): x = T u, so that u has orthonormal effects on position and velocity together (per radian)."""
        grid = self.trajectory.sample_times(16 * self.trajectory.coefficients)
        position, velocity = (b @ self.trajectory.free for b in self.trajectory.basis(grid, 1))
        pace = np.linalg.norm(velocity) / np.linalg.norm(position - position.mean(axis=0))  # [1/s] typical
        effect = np.vstack([position, velocity / pace]) / np.sqrt(len(grid))
        return np.linalg.inv(np.linalg.qr(effect, mode="r"))

    @property
    def per_joint(self) -> int:
        return int(self.trajectory.free.shape[1])

    @property
    def size(self) -> int:
        return self.n * self.per_joint + (self.stretch is not None)

    def grid(self, time: Array, order: int = 2) -> Grid:
        """Matrices at instants of the nominal duration."""
        to_u = self.trajectory.free @ self.transform
        return Grid(time, tuple(np.ascontiguousarray(b @ to_u) for b in self.trajectory.basis(time, order)))

    def split(self, y: Array) -> tuple[Array, float]:
        """u (n, v) and s."""
        u = y[: self.n * self.per_joint].reshape(self.n, self.per_joint)
        return u, 1.0 if self.stretch is None else float(y[-1])

    def join(self, u: Array, s: float = 1.0) -> Array:
        return np.append(u.ravel(), s) if self.stretch is not None else u.ravel().copy()

    def result(self, y: Array) -> tuple[Trajectory, Array]:
        """The family, with its duration, and coefficients δ (n, c)."""
        u, s = self.split(y)
        delta = u @ (self.trajectory.free @ self.transform).T
        if self.stretch is None:
            return self.trajectory, delta
        return retimed(self.trajectory, delta, self.trajectory.duration * s)

    def from_delta(self, delta: Array) -> Array:
        """y of coefficients that fulfil the family's conditions."""
        to_u = self.trajectory.free @ self.transform
        u: Array = lstsq(to_u, delta.T)[0].T
        return self.join(u)

    def motion(self, grid: Grid, y: Array) -> Motion:
        u, s = self.split(y)
        q, qd, qdd = np.split(grid.stacked @ u.T, 3)
        if s == 1.0:
            return Motion(grid.time, q, qd, qdd)
        return Motion(grid.time * s, q, qd / s, qdd / s**2)

    def pullback(self, grid: Grid, y: Array, motion: Motion, gradient: MotionGradient) -> Array:
        """∂f/∂y from ∂f/∂(q, q̇, q̈) of every sample."""
        _, s = self.split(y)
        seeds = np.vstack([gradient.q, gradient.qd / s, gradient.qdd / s**2])
        du = seeds.T @ grid.stacked
        if self.stretch is None:
            return du.ravel()
        ds = -(np.vdot(gradient.qd, motion.qd) + 2.0 * np.vdot(gradient.qdd, motion.qdd)) / s
        return np.append(du.ravel(), ds)

    def rows(self, grid: Grid, y: Array, motion: Motion, at: Index, slopes: Sequence[Array | None]) -> Array:
        """Derivatives (M, size) of M scalars, the i-th a function of sample at[i] with slopes (M, n) by q, q̇, q̈."""
        _, s = self.split(y)
        blocks = np.zeros((len(at), self.n, self.per_joint))
        by_stretch = np.zeros((len(at), 1))
        for k, slope in enumerate(slopes):
            if slope is None:
                continue
            blocks += (slope / s**k)[:, :, None] * grid.matrices[k][at][:, None, :]
            if k:
                values = (motion.qd, motion.qdd)[k - 1][at]
                by_stretch[:, 0] -= k * (slope * values).sum(axis=1) / s
        out = blocks.reshape(len(at), self.n * self.per_joint)
        return out if self.stretch is None else np.hstack([out, by_stretch])
