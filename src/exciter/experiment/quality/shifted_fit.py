"""Rows of the regressor against a torque shifted in time: what they leave, and how that changes with the shift."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from exciter.experiment.quality.smooth import Smooth
from exciter.experiment.quality.tally import Index
from exciter.typing import Array

BLOCKS = 20
SINGULAR = 1e-8  # relative singular value that is none


class ShiftedFit:
    """r(d) = (1 − P) τ_log(t + d) of some joints, P the projection on the columns of their rows; |d| ≤ reach [s].

    rows: (N, f) of each joint by its number. Only times that a shift pushes over no end are used, whatever the shift.
    """

    def __init__(self, rows: Mapping[int, Array], smooth: Smooth, reach: float, period: float | None) -> None:
        time, self._courses = smooth.motion.time, []
        kept: list[NDArray[np.intp]] = []
        for number, course in enumerate(smooth.courses):
            inner = (smooth.piece == number) & (time >= course.x[0] + reach) & (time <= course.x[-1] - reach)
            if inner.any():
                kept.append(np.flatnonzero(inner))
                self._courses.append((time[inner], course))
        at = np.concatenate(kept) if kept else np.zeros(0, dtype=np.intp)
        self._blocks = blocks(time[at], period)
        bases = {j: span(w[at]) for j, w in rows.items() if len(at) >= 2 * BLOCKS + w.shape[1]}
        self.joints, self._bases = tuple(bases), tuple(bases.values())
        self.free = np.array([max(smooth.independent - u.shape[1], 1.0) for u in self._bases])

    def torque(self, d: float, order: int = 0) -> Array:
        """(N, joints) τ_log(t + d), or a derivative of it."""
        return np.concatenate([course(time + d, order) for time, course in self._courses])[:, self.joints]

    def power(self, d: float) -> Array:
        """(joints,) Σ r²."""
        pairs = zip(self.torque(d).T, self._bases, strict=True)
        return np.array([float(np.sum((tau - u @ (u.T @ tau)) ** 2)) for tau, u in pairs])

    def slopes(self, d: float) -> Array:
        """(joints, 2): ½ ∂Σr²/∂d and ½ ∂²Σr²/∂d²."""
        pairs = zip(self._derivatives(d), self._bases, strict=True)
        return np.array([_slope(x - u @ (u.T @ x)) for x, u in pairs])

    def slopes_without(self, d: float, which: int | None = None) -> Array:
        """(blocks, joints, 2): the same, each block of time left out of fit and sums in turn; of all joints, or of the
        one at place ``which``."""
        pairs = list(zip(self._derivatives(d), self._bases, strict=True))
        chosen = pairs if which is None else [pairs[which]]
        return np.stack([self._without(x, u) for x, u in chosen], axis=1)

    def _without(self, x: Array, u: Array) -> Array:
        whole, out = u.T @ x, np.zeros((len(self._blocks), 2))
        for number, block in enumerate(self._blocks):
            gram = np.eye(u.shape[1]) - u[block].T @ u[block]
            fit = np.linalg.lstsq(gram, whole - u[block].T @ x[block], rcond=SINGULAR)[0]
            out[number] = _slope(np.delete(x - u @ fit, block, axis=0))
        return out

    def _derivatives(self, d: float) -> Array:
        """(joints, N, 3) τ, its rate and the rate of that."""
        return np.stack([self.torque(d, order).T for order in range(3)], axis=-1)


def _slope(x: Array) -> tuple[float, float]:
    """From r, ∂r/∂d, ∂²r/∂d² (N, 3). The last keeps noise, which is shifted too, out of the curvature."""
    r, g, bend = x.T
    return float(g @ r), float(g @ g + r @ bend)


def span(w: Array) -> Array:
    """Orthonormal columns that span those of w."""
    norms = np.linalg.norm(w, axis=0)
    u, s, _ = np.linalg.svd(w[:, norms > 0] / norms[norms > 0], full_matrices=False)
    return np.asarray(u[:, s > SINGULAR * s[0]] if s.size else u)


def blocks(time: Array, period: float | None) -> list[Index]:
    """Rows of every block. Of a motion that repeats, a block is a part of the period, each time it comes: what a model
    does not explain comes again too, and is no second witness."""
    if period is None or time.size == 0 or time[-1] - time[0] < 1.5 * period:
        return [part for part in np.array_split(np.arange(len(time)), BLOCKS) if part.size]
    phase = np.floor((time - time[0]) / period % 1.0 * BLOCKS)
    return [np.flatnonzero(phase == k) for k in range(BLOCKS) if (phase == k).any()]
