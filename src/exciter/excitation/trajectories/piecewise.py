"""What all families of piecewise polynomials share: their basis functions are themselves piecewise polynomials."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.errors import ExciterError, shown
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.excitation.trajectories.trajectory import Family, as_coefficients
from exciter.typing import Array

SHORTEST_MOTION, LONGEST_MOTION = 1e-3, 1e6  # [s] beyond which no robot is meant, and numbers overflow
MOST_SPANS = 1000  # of a family: its basis has the square of their number in entries


def positive_duration(duration: float) -> float:
    """Itself, or an error."""
    if not SHORTEST_MOTION <= duration <= LONGEST_MOTION:
        raise ExciterError(
            f"a trajectory that lasts {shown(duration)} s; the duration must be positive, {SHORTEST_MOTION:g} to "
            f"{LONGEST_MOTION:g} s"
        )
    return duration


def whole_number(value: int, least: int, what: str) -> int:
    """Itself, or an error."""
    if not isinstance(value, int | np.integer) or not least <= value <= MOST_SPANS:
        raise ExciterError(f"{shown(value)} {what}; it must be a whole number, {least} or more, at most {MOST_SPANS}")
    return int(value)


class PiecewisePolynomial(Family, ABC):
    """A family given by its c basis functions of time, as one piecewise polynomial with c rows."""

    duration: float

    @property
    @abstractmethod
    def functions(self) -> PolynomialPiece:
        """The c basis functions over [0, duration]."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Names of the c coefficients."""

    @property
    @abstractmethod
    def time_powers(self) -> NDArray[np.int64]:
        """(c,): powers of 1/s in the coefficients' units."""

    @property
    def coefficients(self) -> int:
        """c: coefficients per joint."""
        return len(self.labels)

    @property
    def periodic(self) -> bool:
        return False

    def sample_times(self, count: int) -> Array:
        """(count,) [s] evenly from start to end."""
        return np.linspace(0.0, self.duration, count)

    def still(self, posture: ArrayLike) -> Array:
        """Coefficients (n, c) of standing still at a posture (n,): every position is that, all else is zero."""
        return np.outer(np.asarray(posture, dtype=float), self.time_powers == 0)

    def basis(self, time: Array, order: int = 2) -> tuple[Array, ...]:
        """B₀ … B_order (N, c) at times within [0, duration]; at a knot the value after it, at the end before it."""
        knots = self.functions.knots
        span = np.clip(np.searchsorted(knots, time, side="right") - 1, 0, len(knots) - 2)
        values = self.functions.derivatives(span, np.asarray(time, dtype=float), order)
        return tuple(np.ascontiguousarray(value.T) for value in values)

    def curve(self, delta: ArrayLike) -> Curve:
        """The exact motion of coefficients (n, c) over [0, duration]."""
        pieces = np.tensordot(as_coefficients(delta, self.coefficients), self.functions.coefficients, axes=1)
        return Curve((PolynomialPiece(self.functions.knots, pieces),))
