"""The motion to execute: which part of it repeats, and how often."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from exciter.errors import MotionError
from exciter.excitation.trajectories.curve import Curve, Piece
from exciter.excitation.trajectories.fourier import FourierPiece

MOST = 1_000_000  # pieces' ends that a repeated motion may have
WHOLE = 1e-6  # of a period, by which whole ones may be missed


@dataclass(frozen=True, eq=False)
class Plan:
    """curve: from time 0; period [s] and the stretch from ``start`` to ``end`` [s] in which it repeats, if it does."""

    curve: Curve
    period: float | None = None
    start: float = 0.0
    end: float = 0.0


def plan(curve: Curve, periods: int | None = None) -> Plan:
    """The curve as it is, or with its periodic part ``periods`` times.

    The periodic part is the longest stretch of one Fourier series over whole periods, ramps left aside; a curve without
    one is repeated as a whole, and must end in the state it starts from.
    """
    curve = curve.shifted(-curve.start)
    if periods is not None and periods < 1:
        raise MotionError(f"{periods} periods; give 1 or more")
    if periods is not None and periods * len(curve.knots) > MOST:
        raise MotionError(f"{periods} periods are too many; of this motion at most {MOST // len(curve.knots)} are run")
    first, last = _longest_series(curve)
    if first == last:
        return _repeated(curve, periods)
    series = curve.pieces[first]
    assert isinstance(series, FourierPiece)
    period = 2.0 * np.pi / series.omega
    start, end = float(series.start), float(curve.pieces[last - 1].knots[-1])
    if periods is None:
        return Plan(curve, period, start, end)
    exciting = replace(series, end=start + periods * period)
    after = tuple(piece.shifted(exciting.end - end) for piece in curve.pieces[last:])
    return Plan(Curve((*curve.pieces[:first], exciting, *after)).continuous(), period, start, exciting.end)


def _longest_series(curve: Curve) -> tuple[int, int]:
    """Pieces first … last − 1 that are whole periods of one series; equal when there are none."""
    best, longest = (0, 0), 0.0
    first = 0
    while first < len(curve.pieces):
        series, last = curve.pieces[first], first + 1
        while last < len(curve.pieces) and _same_series(series, curve.pieces[last]):
            last += 1
        if isinstance(series, FourierPiece):
            duration = float(curve.pieces[last - 1].knots[-1]) - series.start
            count = duration * series.omega / (2.0 * np.pi)
            if round(count) >= 1 and abs(count - round(count)) < WHOLE and duration > longest:
                best, longest = (first, last), duration
        first = last
    return best


def _same_series(one: Piece, other: Piece) -> bool:
    if not (isinstance(one, FourierPiece) and isinstance(other, FourierPiece)):
        return False
    same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("harmonics", "a", "b", "offset"))
    turns = (other.phase_time - one.phase_time) * one.omega / (2.0 * np.pi)
    return same and one.omega == other.omega and abs(turns - round(turns)) < WHOLE


def _repeated(curve: Curve, periods: int | None) -> Plan:
    if periods is None or periods == 1:
        return Plan(curve)
    try:
        whole = curve.repeated(periods)
    except MotionError as error:
        raise MotionError(
            f"the motion has no Fourier part of whole periods and cannot be run {periods} times as a whole: {error}"
        ) from None
    return Plan(whole, curve.duration, 0.0, whole.end)
