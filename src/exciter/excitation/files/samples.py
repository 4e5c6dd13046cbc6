"""A motion as rows of a file: what a controller is given, and how it moves between them.

With q, q̇, q̈ in every row a controller interpolates by quintics, with q and q̇ by cubics; both match the rows on
either side. Positions alone say nothing of the way between them: they are joined by the cubic spline with continuous
acceleration (not-a-knot at both ends, so that no rest is assumed that the file does not give). Controllers join
them in ways of their own, many by straight lines: ``unchecked_rows`` says so beside a certificate.

Rows may have been rounded so much that the motion through them is another one.
A position that is off by ε lets the interpolant between rows h apart accelerate by up to 12 ε/h²: six decimals at 1 kHz
are 6 rad/s². That holds for cubics and quintics, and for the spline through positions alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.interpolate import CubicSpline

from exciter.errors import MotionError
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.notes import Note, warning
from exciter.settings.field_markers import LARGEST_OF_A_ROBOT
from exciter.typing import Array

FEWEST_ROUNDED_ROWS = 20  #: few rows may well be round numbers on purpose
MOST_ROUNDED_DECIMALS = 9
ROUNDING_ACCELERATION_FRACTION = 0.01  #: of the largest acceleration, below which rounding is not worth a word
NANOSECONDS_PER_SECOND = 1_000_000_000  # per second: the resolution of time in a ROS 2 message
MOST_FILE_ROWS = 1_000_000  # of a file: a quarter of an hour at 1 kHz, some hundred megabytes
SHORTEST_ROW_STEP_S = 0.5 / NANOSECONDS_PER_SECOND  # [s] between rows: less is no time at all to a controller
FEWEST_SPLINE_ROWS = 4  # fewer points than this leave a cubic undetermined


@dataclass(frozen=True)
class Rounding:
    """Positions with ``decimals`` digits behind the point, at rows ``step`` [s] apart; ``peak`` [rad/s², m/s²] is the
    largest acceleration of the motion through them."""

    decimals: int
    step: float
    peak: float

    @classmethod
    def of(cls, curve: Curve) -> Self | None:
        """The rounding of the positions at a curve's knots; None when they have all their digits."""
        if len(curve.knots) < FEWEST_ROUNDED_ROWS:
            return None
        q = curve.derivatives(np.arange(len(curve.knots) - 1), curve.knots[:-1], 0)[0]
        for decimals in range(MOST_ROUNDED_DECIMALS + 1):
            if np.abs(q - np.round(q, decimals)).max() < 1e-12 * max(1.0, np.abs(q).max()):
                step, peak = np.median(np.diff(curve.knots)), curve.extremum(2).size.max()
                return cls(decimals=decimals, step=float(step), peak=float(peak))
        return None

    @property
    def acceleration(self) -> float:
        """[rad/s², m/s²] 12 ε/h², that rounding alone can cause."""
        return float(12.0 * 0.5 * 10.0**-self.decimals / self.step**2)

    @property
    def matters(self) -> bool:
        return self.acceleration > ROUNDING_ACCELERATION_FRACTION * self.peak

    def __str__(self) -> str:
        return (
            f"the positions look rounded to {self.decimals} decimals, which with rows every {1e3 * self.step:.3g} ms "
            f"means accelerations up to {self.acceleration:.3g} rad/s² (m/s²) between them; write more digits, 17 lose "
            "nothing"
        )


class PositionSpline(PolynomialPiece):
    """The spline through rows without velocities."""


def unchecked_rows(curve: Curve) -> tuple[Note, ...]:
    """What a certificate of a file's motion does not cover; nothing where its rows say how they are joined."""
    if not any(isinstance(piece, PositionSpline) for piece in curve.pieces):
        return ()
    text = (
        "how a controller joins rows without velocities: a spline through the positions was certified; straight lines "
        "jump in velocity at every row; give velocities"
    )
    return (warning("not checked", text),)


@dataclass(frozen=True, eq=False)
class MotionSamples:
    """time (N,) [s], increasing; q (N, n) [rad or m], and q̇, q̈ (N, n) where the file has them."""

    time: Array
    q: Array
    qd: Array | None = None
    qdd: Array | None = None

    def curve(self) -> Curve:
        """The motion through the rows: quintic, cubic, or spline, according to what they hold."""
        if self.qd is not None:
            return Curve((PolynomialPiece.from_samples(self.time, self.q, self.qd, self.qdd),))
        spline = CubicSpline(self.time, self.q)  # powers fall along the first axis
        return Curve((PositionSpline(self.time, np.ascontiguousarray(spline.c[::-1].transpose(2, 1, 0))),))

    def checked(self, source: str, row: Callable[[int], str]) -> MotionSamples:
        """Itself, or one line about the first thing that cannot be a motion; ``row`` names a row as people count."""
        least = 2 if self.qd is not None else FEWEST_SPLINE_ROWS
        if len(self.time) < least:
            what = "q and q̇" if self.qd is not None else "q alone"
            rows = "1 row" if len(self.time) == 1 else f"{len(self.time)} rows"
            raise MotionError(f"{source} has {rows}; a motion given by {what} needs at least {least}")
        for name, values in (("time", self.time), ("q", self.q), ("q̇", self.qd), ("q̈", self.qdd)):
            if values is not None and not np.isfinite(values).all():
                k = int(np.argwhere(~np.isfinite(values))[0][0])
                raise MotionError(f"{source} has NaN or infinity in {name} of {row(k)}; repair it, or cut it out")
            if values is not None and np.abs(values).max() > LARGEST_OF_A_ROBOT:
                k = int(np.argwhere(np.abs(values) > LARGEST_OF_A_ROBOT)[0][0])
                raise MotionError(
                    f"{source} has a number beyond {LARGEST_OF_A_ROBOT:g} in {name} of {row(k)}; no robot gets there"
                )
        still = np.flatnonzero(np.diff(self.time) <= SHORTEST_ROW_STEP_S)
        if still.size:
            k = int(still[0])
            raise MotionError(
                f"the time of {source} does not increase: {row(k)} has {self.time[k]:.9g} s and {row(k + 1)} has "
                f"{self.time[k + 1]:.9g} s, less than a nanosecond later; sort the rows and remove repeated ones"
            )
        return self


def check_rows(duration: float, rate: float) -> None:
    """Refuse a motion [s] whose rows, at a rate [Hz], nobody could read back."""
    if duration * rate > MOST_FILE_ROWS:
        raise MotionError(
            f"{duration:.6g} s at {rate:.6g} rows per second are {duration * rate:.3g} rows; at most {MOST_FILE_ROWS} "
            "are written: ask for fewer periods, a shorter motion, or a lower rate"
        )


def sample(curve: Curve, rate: float) -> MotionSamples:
    """Rows at k/rate [Hz] from the curve's start, which becomes time zero, to its end.

    The row nearest to a knot moves onto it: between two rows the motion is then smooth, and a quintic through them
    does not swing where the jerk jumps. Times are whole nanoseconds, so that every format holds the same motion.
    """
    check_rows(curve.duration, rate)
    step = 1.0 / rate
    knots = curve.knots - curve.start
    grid = np.arange(1, int(np.ceil(knots[-1] * rate))) * step
    right = np.clip(np.searchsorted(knots, grid), 1, len(knots) - 1)
    nearest = np.minimum(np.abs(grid - knots[right - 1]), np.abs(grid - knots[right]))
    exact = np.union1d(knots, grid[nearest > 0.5 * step])
    nanoseconds = np.unique(np.rint(exact * NANOSECONDS_PER_SECOND).astype(np.int64))
    time = nanoseconds / NANOSECONDS_PER_SECOND
    motion = curve.motion(np.clip(time + curve.start, curve.start, curve.end))
    return MotionSamples(time=time, q=motion.q, qd=motion.qd, qdd=motion.qdd)
