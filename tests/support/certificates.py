"""Motions for certificates, and spans of time."""

from __future__ import annotations

import numpy as np

from exciter.excitation.certificate.spans import Spans
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import FourierPiece
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.robot import Motion

Array = np.ndarray


def fourier(n: int, seed: int = 0, *, moving: list[int] | None = None, size: float = 0.6, period: float = 5.0) -> Curve:
    rng = np.random.default_rng(seed)
    a, b = size * rng.standard_normal((2, n, 3))
    still = np.ones(n, dtype=bool)
    still[list(range(n)) if moving is None else moving] = False
    a[still] = b[still] = 0.0
    piece = FourierPiece(0.0, period, 2 * np.pi / period, np.arange(1, 4), a, b, rng.uniform(-1, 1, n))
    return Curve((piece,))


def even_spans(curve: Curve, count: int) -> Spans:
    cuts = np.linspace(curve.start, curve.end, count + 1)
    span = np.searchsorted(curve.knots, 0.5 * (cuts[1:] + cuts[:-1])) - 1
    return Spans.of(curve, span, cuts[:-1], cuts[1:])


def inside(spans: Spans, curve: Curve, count: int = 9) -> tuple[Array, Motion]:
    """Fractions of the intervals, and the motion at them (M · count samples)."""
    fraction = (np.arange(count) + 0.5) / count
    return fraction, curve.motion((spans.start[:, None] + spans.width[:, None] * fraction).ravel())


def resting(n: int = 7, way: float = 0.5) -> Curve:
    """One quintic segment from rest to rest, all joints the same way."""
    q = np.stack([np.zeros(n), np.full(n, way)])
    return Curve((PolynomialPiece.from_samples([0.0, 2.0], q, 0 * q, 0 * q),))
