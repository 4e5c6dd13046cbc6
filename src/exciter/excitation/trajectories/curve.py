"""Exact motions in time: what is certified, drawn, resampled and written.

A curve is a sequence of pieces, each smooth in its interior, that follow each other in time: the polynomial spans
of a spline, a stretch of a Fourier series, a ramp. Position and velocity are continuous where pieces meet; higher
derivatives may jump there, so everything is asked for piece by piece, one-sided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Extremum:
    """Smallest and largest value over time per joint (n,), and when [s]."""

    lowest: Array
    lowest_at: Array
    highest: Array
    highest_at: Array


class Piece(Protocol):
    """Part of a curve. Times are the curve's; a piece is smooth between consecutive ``knots``."""

    @property
    def knots(self) -> Array:
        """(S + 1,) increasing times [s]; first and last are the piece's ends."""

    @property
    def n(self) -> int:
        """Joints."""

    def derivatives(self, span: NDArray[np.int64], time: Array, order: int) -> Array:
        """(order + 1, n, N): q, q̇, … at times (N,), each within the closed span of that number (N,)."""

    def extremum(self, order: int) -> Extremum:
        """Exact extrema of the order-th derivative, order 0 … 3, one-sided values at the knots included."""

    def rates(self, span: NDArray[np.int64], start: Array, end: Array) -> Array:
        """(4, n, M): bounds of |q̇|, |q̈|, |q⃛|, |q⁗| that hold throughout each interval [start, end], which lies within
        one span."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Pieces one after the other. Spans are numbered through all pieces, 0 … S−1, between consecutive ``knots``."""

    pieces: tuple[Piece, ...]
