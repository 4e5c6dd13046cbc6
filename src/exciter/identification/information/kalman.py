"""A Kalman filter for parameters that drift: random walks on the square-root information array (Bierman 1977).

β(t + Δt) = β(t) + w with Var w_k = q_k Δt, y = W β + e. The array [R z; 0 ρ] is that of ``SequentialEstimator``: what
nothing is known of is a zero in R, not a large number, and without drift the answer is that of least squares. A walk
turns one row into it by rotations: no covariance is formed, none can lose its sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from exciter.dynamics.engine import default_engine
from exciter.dynamics.kernels.cache import kernels
from exciter.errors import ParameterError
from exciter.identification.information.information import SINGULAR_VALUE_TOLERANCE, Information
from exciter.typing import Array, BoolArray

UNKNOWN_SPREAD = 1e199  #: of a prediction: beyond, nothing was known of a parameter in it (kernel: 1e200)


@dataclass(frozen=True, eq=False)
class Innovations:
    """Of N instants, m equations each: error (N, m) = y − Wβ before they are used, std (N, m) of it, total (N,) the sum
    of squares eᵀS⁻¹e of all equations together, counted (N, m): which are there and can be predicted. noisy (N, m): the
    part of std² that is noise; the rest is what is not known of the parameters, and alike in neighbouring instants."""

    error: Array
    std: Array
    total: Array
    counted: BoolArray
    noisy: Array

    @property
    def squares(self) -> Array:
        """(N, m) (e/σ)²: one on average where all is right; zero where nothing is counted."""
        return np.asarray(np.where(self.counted, (self.error / self.std) ** 2, 0.0))


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of p parameters: values and std (p,), NaN where not determined yet; covariance (p, p) of those
    that are, zero elsewhere."""

    values: Array
    std: Array
    covariance: Array

    @property
    def determined(self) -> BoolArray:
        return np.asarray(np.isfinite(self.std))


class KalmanFilter:
    """names: of the parameters. noise: σ (m,) of the m equations of an instant; it may be changed as it is learned.
    prior: what is known before. drift (p,): what each parameter walks by in √s, in its unit; may be changed, too."""

    def __init__(
        self, names: Sequence[str], noise: ArrayLike, prior: Information | None = None, drift: ArrayLike = 0.0
    ) -> None:
        self.names = tuple(names)
        start = Information.empty(len(self.names)) if prior is None else prior
        if len(start.z) != len(self.names):
            raise ParameterError(f"the prior is of {len(start.z)} parameters, these are {len(self.names)}")
        self._factor, self._rows = start.factor, float(start.rows)
        self.noise = np.atleast_1d(np.array(noise, dtype=float))
        if self.noise.ndim != 1 or not ((self.noise > 0.0) & np.isfinite(self.noise)).all():
            raise ParameterError(f"noise is {self.noise.tolist()}; give positive numbers, one per equation")
        self.drift = np.broadcast_to(np.asarray(drift, dtype=float), (len(self.names),)).copy()
        if not (np.isfinite(self.drift).all() and (self.drift >= 0.0).all()):
            raise ParameterError(f"drift is {self.drift.tolist()}; give numbers ≥ 0, one per parameter")
        self._kernel: Any = None
        if default_engine().name == "numba":
            self._kernel = kernels("kalman_kernel", "exciter.identification.information")

    def update(self, w: ArrayLike, y: ArrayLike, seconds: ArrayLike = 0.0, share: float = 1.0) -> None:
        """The equations of the next N instants, w (N, m, p) and y (N, m), or of one, (m, p) and (m,). seconds, one or
        (N,): since the instant before, in which parameters walk. share: of an independent equation that each of them
        is worth (``Rows.independent`` over their number)."""
        sides = self._sides(w, y) / (self.noise / np.sqrt(share))[:, None]
        since = np.broadcast_to(np.asarray(seconds, dtype=float), (len(sides),))
        if not (np.isfinite(since).all() and (since >= 0.0).all()):
            raise ParameterError("time between instants must be finite, and not run backwards")
        std = np.sqrt(since)[:, None] * self.drift
        self._absorb(self._factor, sides, std)
        self._rows += sides.shape[0] * sides.shape[1]

    def _absorb(self, factor: Array, sides: Array, std: Array) -> None:
        absorb = _absorb_walking if self._kernel is None else self._kernel.absorb_walking
        absorb(factor, sides, std)

    def walk(self, seconds: float) -> None:
        """Time passes, and nothing is measured."""
        p = len(self.names)
        self.update(np.zeros((1, len(self.noise), p)), np.zeros((1, len(self.noise))), seconds)
        self._rows -= len(self.noise)

    def innovations(self, w: ArrayLike, y: ArrayLike, ahead: float = 0.0) -> Innovations:
        """What N instants say that is new, ``ahead`` seconds after the last that were used; they are not used yet."""
        sides, factor = self._sides(w, y), self._factor
        if ahead > 0.0 and self.drift.any():
            factor = factor.copy()
            self._absorb(factor, np.zeros((1, 1, len(factor))), np.sqrt(ahead) * self.drift[None])
        shape = sides.shape[:2]
        error, spread, total = np.empty(shape), np.empty(shape), np.empty(shape[0])
        innovate = _innovate if self._kernel is None else self._kernel.innovate
        innovate(factor, sides, self.noise**2, error, spread, total)
        noisy = np.broadcast_to(self.noise**2, shape) / spread
        return Innovations(error, np.sqrt(spread), total, spread < UNKNOWN_SPREAD, noisy)

    def _sides(self, w: ArrayLike, y: ArrayLike) -> Array:
        """(N, m, p + 1), a copy."""
        w, y, shape = np.asarray(w, dtype=float), np.asarray(y, dtype=float), (len(self.noise), len(self.names))
        if w.shape[-2:] != shape or w.shape[:-1] != y.shape or w.ndim > 3:
            raise ParameterError(f"equations w {w.shape} and y {y.shape} of an instant; give {shape} and {shape[:1]}")
        sides = np.concatenate([w, y[..., None]], axis=-1).reshape(-1, shape[0], shape[1] + 1)
        if not np.isfinite(sides).all():
            raise ParameterError("the equations contain NaN or infinity; leave that instant out")
        return sides

    @property
    def information(self) -> Information:
        """All that is known now."""
        return Information.of_factor(self._factor.copy(), round(self._rows))

    @property
    def values(self) -> Array:
        """The estimate (p,); refused where one is not determined."""
        return self.information.solve(self.names)[0]

    @property
    def covariance(self) -> Array:
        """(p, p) of the estimate."""
        return self.information.solve(self.names)[1]

    def belief(self, ahead: float = 0.0) -> Belief:
        """What is known ``ahead`` seconds after the last equations, parameter by parameter."""
        known, p = self.information, len(self.names)
        lost = list(known.undetermined())
        if not lost:
            inverse = linalg.solve_triangular(known.r, np.eye(p))
            values, covariance = inverse @ known.z, inverse @ inverse.T
        else:  # in directions that are determined; those parameters have no part in the others
            scale = np.linalg.norm(known.r, axis=0)
            scale = np.where(scale > 0.0, scale, 1.0)
            u, singular, v = np.linalg.svd(known.r / scale)
            kept = singular > SINGULAR_VALUE_TOLERANCE * singular.max(initial=1.0)
            root = v[kept].T / singular[kept] / scale[:, None]
            values, covariance = root @ (u[:, kept].T @ known.z), root @ root.T
        covariance[np.diag_indices(p)] += ahead * self.drift**2
        std = np.sqrt(covariance.diagonal())
        values[lost] = std[lost] = np.nan
        covariance[lost] = covariance[:, lost] = 0.0
        return Belief(values, std, covariance)


# -- the same as the kernels, without Numba ----------------------------------------------------------------------------


def _absorb_walking(factor: Array, sides: Array, std: Array) -> None:
    size = len(factor)
    for rows, walks in zip(sides, std, strict=True):
        moving = np.flatnonzero(walks)
        # [1/std 0; −R_j R] with the columns of w first: below its first rows, the triangle is that of β alone
        top = np.hstack([np.diag(1.0 / walks[moving]), np.zeros((len(moving), size))])
        both = np.vstack([top, np.hstack([-factor[:, moving], factor])])
        walked = np.asarray(np.linalg.qr(both, mode="r"))[len(moving) :, len(moving) :]
        factor[:] = np.linalg.qr(np.vstack([walked, rows]), mode="r")[:size]


def _innovate(factor: Array, sides: Array, variance: Array, error: Array, spread: Array, total: Array) -> None:
    r, z = factor[:-1, :-1], factor[:-1, -1]
    length = np.linalg.norm(r, axis=0)
    unknown = np.abs(r.diagonal()) <= SINGULAR_VALUE_TOLERANCE * length
    solvable = r + np.diag(np.where(unknown, 1.0, 0.0))
    for t, rows in enumerate(sides):
        w, y = rows[:, :-1], rows[:, -1]
        u = linalg.solve_triangular(solvable, w.T, trans="T").T
        scale = np.abs(w).max(axis=1)
        there = (scale > 0.0) & ~(np.abs(u[:, unknown]) > 1e-13 * scale[:, None]).any(axis=1)
        error[t] = np.where(there, y - u @ z, 0.0)
        spread[t] = np.where(there, (u**2).sum(axis=1) + variance, 1e200)
        own = np.flatnonzero(there)
        s = u[own] @ u[own].T + np.diag(variance[own])
        total[t] = error[t, own] @ np.linalg.solve(s, error[t, own]) if len(own) else 0.0
