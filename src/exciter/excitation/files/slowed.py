"""The same path in a longer time, for the first runs on hardware.

A motion run at the speed s ≤ 1 is q(s t): the positions of the whole, velocities times s, accelerations times s²,
jerks times s³. Inertial, centrifugal and Coriolis torques shrink with s², viscous friction with s; gravity and dry
friction stay. So a slow run is gentle, but it is not proved by the certificate of the fast one: certify it again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch

import numpy as np

from exciter.errors import MotionError
from exciter.excitation.certificate.certificate import FAILURES, Certificate
from exciter.excitation.trajectories.curve import Curve, Piece
from exciter.excitation.trajectories.fourier import FourierPiece
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece

SLOWEST = 0.01


def slowed(curve: Curve, speed: float) -> Curve:
    """The path of a curve at a part of its speed, 0.01 … 1, from time zero on."""
    if not SLOWEST <= speed <= 1.0:
        raise MotionError(f"a speed of {100.0 * speed:g} %; give {100.0 * SLOWEST:g} … 100 % of the motion's own")
    begun = curve.shifted(-curve.start)
    return Curve(tuple(_slowed(piece, float(speed)) for piece in begun.pieces))


@singledispatch
def _slowed(piece: Piece, speed: float) -> Piece:
    raise MotionError(f"a {type(piece).__name__} cannot be slowed down; write it as a CSV file and slow that down")


@_slowed.register
def _polynomial(piece: PolynomialPiece, speed: float) -> Piece:
    """Powers of the time since the knot: the k-th coefficient times s^k."""
    powers = speed ** np.arange(piece.degree + 1)
    return PolynomialPiece(piece.knots / speed, piece.coefficients * powers)


@_slowed.register
def _fourier(piece: FourierPiece, speed: float) -> Piece:
    """ω and the amplitudes of the velocity, a and b, times s."""
    times = {name: getattr(piece, name) / speed for name in ("start", "end", "phase_time")}
    return replace(piece, **times, omega=piece.omega * speed, a=piece.a * speed, b=piece.b * speed)


def certified_slowed(curve: Curve, speed: float, certify: Callable[[Curve], Certificate]) -> tuple[Curve, Certificate]:
    """A motion at part of its speed and its certificate; refused where it breaks a limit (gravity alone can)."""
    slow = slowed(curve, speed)
    certificate = certify(slow)
    if not certificate.certified:
        worst = next(limit for limit in certificate.limits if limit.status in FAILURES)
        how = "breaks" if worst.status == "broken" else "is not proved to keep"
        raise MotionError(
            f"at {100.0 * speed:g} % of its speed the motion {how} a limit: {worst.what} of {worst.where} comes to "
            f"{worst.reached:.6g} {worst.unit} with a limit of {worst.limit:.6g}; 'exciter check' shows all of them"
        )
    return slow, certificate
