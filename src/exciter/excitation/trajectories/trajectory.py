"""What every trajectory family offers: motions that are linear in their coefficients.

A family (Fourier, B-spline, quintic, piecewise acceleration) is a small settings object. Joint j moves by
q_j(t) = B₀(t) δ_j, q̇_j = B₁ δ_j, q̈_j = B₂ δ_j, the same basis for all joints, coefficients δ (n, c).
Conditions such as rest at both ends are linear too: δ_j = Z x_j with the family's map Z (c, v); the optimiser
moves x (n, v) and never sees the conditions.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.excitation.trajectories.curve import Curve
from exciter.robot.motion import Motion

Array = NDArray[np.float64]


class Trajectory(Protocol):
    """A family of motions, linear in its coefficients."""

    @property
    def duration(self) -> float:
        """[s] of the exciting part: one period, or from start to end."""

    @property
    def periodic(self) -> bool:
        """Whether the end joins the start smoothly, so that the motion may be repeated."""

    @property
    def coefficients(self) -> int:
        """c: coefficients per joint."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the c coefficients, for tables and files."""

    @property
    def free(self) -> Array:
        """Z (c, v): δ_j = Z x_j fulfils the family's conditions (rest at the ends …) for every x_j (v,)."""

    def basis(self, time: Array, order: int = 2) -> tuple[Array, ...]:
        """B₀ … B_order (N, c) at times within [0, duration]: the k-th derivative is B_k δ."""

    def sample_times(self, count: int) -> Array:
        """(count,) times at which a criterion is sampled: evenly over the duration."""

    def still(self, posture: ArrayLike) -> Array:
        """Coefficients (n, c) of standing still at a posture (n,)."""

    def curve(self, delta: ArrayLike) -> Curve:
        """The exact motion of coefficients (n, c) over [0, duration], for certificates and files."""

    def with_duration(self, duration: float) -> Self:
        """The same family in another time: at normalised time, B_k scales with (old / new)^k."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data with a key "family", enough to rebuild it (``trajectory_from``)."""


def motion(trajectory: Trajectory, delta: ArrayLike, time: Array) -> Motion:
    """The motion of coefficients (n, c) at given times."""
    delta = np.asarray(delta, dtype=float).reshape(-1, trajectory.coefficients)
    q, qd, qdd = (basis @ delta.T for basis in trajectory.basis(time))
    return Motion(time, q, qd, qdd)
