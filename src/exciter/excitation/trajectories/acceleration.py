"""Sequences of joint accelerations (Armstrong 1989), the freest description of a motion.

Accelerations at equally spaced nodes, straight lines in between so that the jerk is finite, and the position at the
start; the start velocity is zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, null_space

from exciter.excitation.trajectories.piecewise import MOST_SPANS, PiecewisePolynomial, positive_duration, whole_number
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.excitation.trajectories.trajectory import Duration
from exciter.settings import Whole
from exciter.typing import Array


@dataclass(frozen=True)
class AccelerationSequence(PiecewisePolynomial):
    """duration [s], cut into equal intervals m. Coefficients (n, m + 2): q0 [rad], accelerations a_0 … a_m [rad/s²]."""

    word: ClassVar[str] = "acceleration"
    title: ClassVar[str] = "sequence of accelerations"
    duration: Duration = 10.0
    intervals: Annotated[int, Whole(3, MOST_SPANS)] = 20

    def __post_init__(self) -> None:
        positive_duration(self.duration)
        whole_number(self.intervals, 3, "intervals of an acceleration sequence that starts and ends at rest")

    @property
    def labels(self) -> tuple[str, ...]:
        return ("q0", *(f"a{i}" for i in range(self.intervals + 1)))

    @property
    def time_powers(self) -> NDArray[np.int64]:
        return np.array([0] + [2] * (self.intervals + 1))

    @cached_property
    def functions(self) -> PolynomialPiece:
        knots = np.linspace(0.0, self.duration, self.intervals + 1)
        step = self.duration / self.intervals
        node = np.eye(self.intervals + 1, self.intervals + 2, k=1).T  # (c, m + 1): acceleration at the nodes
        left, right = node[:, :-1], node[:, 1:]
        qd = np.cumsum(0.5 * step * (left + right), axis=1) - 0.5 * step * (left + right)
        gain = step * qd + step**2 * (left / 3.0 + right / 6.0)
        q = np.cumsum(gain, axis=1) - gain
        q[0] = 1.0
        return PolynomialPiece(knots, np.stack([q, qd, 0.5 * left, (right - left) / (6.0 * step)], axis=-1))

    @cached_property
    def free(self) -> Array:
        """Z (c, v): a_0 = a_m = 0 and Σ a = 0, so that acceleration and velocity are zero at both ends."""
        inner = null_space(np.ones((1, self.intervals - 1)))
        zero = np.zeros((1, self.intervals - 2))
        return np.asarray(block_diag(1.0, np.vstack([zero, inner, zero])), dtype=float)

    def with_duration(self, duration: float) -> Self:
        return replace(self, duration=duration)
