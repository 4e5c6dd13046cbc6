"""Way-points joined by a B-spline (Rackl et al. 2012, eqs. (19)–(32)).

Way-points q_0 … q_r at equal steps of time. Degree 4 has its inner knots half-way between way-points, degree 5 at the
way-points; either way there are r + 5 control points, as many as way-points and boundary conditions together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import factorial
from typing import Annotated, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import interpolate

from exciter.errors import ExciterError, MotionError
from exciter.excitation.trajectories.piecewise import MOST_SPANS, PiecewisePolynomial, positive_duration, whole_number
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.excitation.trajectories.trajectory import Duration
from exciter.settings import OneWord, Whole
from exciter.typing import Array

Variables = Literal["waypoints", "control"]


@dataclass(frozen=True)
class BSpline(PiecewisePolynomial):
    """A B-spline of each joint, at rest at both ends.

    duration t_f [s]; degree 4 (the jerk is continuous) or 5; segments r between way-points.

    Coefficients (n, r + 5): control points p [rad]. Rest at both ends (zero velocity and acceleration) is a condition
    on them; ``variables`` says what the optimiser moves: the way-points, or the control points that remain.

    >>> ex.design(robot, ex.BSpline(duration=6, segments=5), starts=1).curve.duration
    6.0
    """

    word: ClassVar[str] = "bspline"
    title: ClassVar[str] = "B-spline"
    duration: Duration = 10.0
    segments: Annotated[int, Whole(1, MOST_SPANS)] = 8
    degree: Annotated[int, Whole(4)] = 5
    variables: Annotated[Variables, OneWord(get_args(Variables))] = "waypoints"

    def __post_init__(self) -> None:
        positive_duration(self.duration)
        if self.degree not in (4, 5):
            raise ExciterError(f"a B-spline of degree {self.degree}; allowed are 4 and 5")
        whole_number(self.segments, 1, "segments of a B-spline")
        if self.variables not in get_args(Variables):
            raise ExciterError(f"B-spline variables '{self.variables}'; allowed are {', '.join(get_args(Variables))}")

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"p{i}" for i in range(self.segments + 5))

    @property
    def time_powers(self) -> NDArray[np.int64]:
        """Control points are positions."""
        return np.zeros(self.coefficients, dtype=np.int64)

    @property
    def waypoint_times(self) -> Array:
        """(r + 1,) [s]"""
        return np.linspace(0.0, self.duration, self.segments + 1)

    @cached_property
    def _spline(self) -> interpolate.BSpline:
        """All basis functions B_j^p, with the knots u."""
        at = self.waypoint_times
        inner = at[1:-1] if self.degree == 5 else 0.5 * (at[1:] + at[:-1])
        ends = np.zeros(self.degree + 1), np.full(self.degree + 1, self.duration)
        return interpolate.BSpline(np.concatenate([ends[0], inner, ends[1]]), np.eye(self.coefficients), self.degree)

    @cached_property
    def functions(self) -> PolynomialPiece:
        knots = np.unique(self._spline.t)
        taylor = [self._spline(knots[:-1], nu=k) / factorial(k) for k in range(self.degree + 1)]
        return PolynomialPiece(knots, np.stack(taylor).transpose(2, 1, 0))

    @cached_property
    def _from_waypoints(self) -> Array:
        """(c, r + 1): way-points to control points that start and end at rest, eq. (31) with zero v and a."""
        ends = np.array([0.0, self.duration])
        rest = [self._spline(ends, nu=k) * self.duration**k for k in (1, 2)]
        system = np.vstack([self._spline(self.waypoint_times), *rest])
        right = np.eye(len(system), self.segments + 1)
        return np.asarray(np.linalg.solve(system, right))

    @cached_property
    def free(self) -> Array:
        """Z (c, v): way-points to control points; or the control points of which the first three are one, and the
        last three."""
        if self.variables == "waypoints":
            return self._from_waypoints
        inner = np.eye(self.segments + 1)
        return np.vstack([inner[[0, 0]], inner, inner[[-1, -1]]])

    def interpolate(self, waypoints: ArrayLike) -> Array:
        """Coefficients (n, c) of the spline through way-points (n, r + 1), at rest at both ends."""
        waypoints = np.asarray(waypoints, dtype=float)
        if waypoints.ndim != 2 or waypoints.shape[1] != self.segments + 1:
            raise MotionError(f"way-points of shape {waypoints.shape}; expected (n, {self.segments + 1})")
        return waypoints @ self._from_waypoints.T

    def with_duration(self, duration: float) -> Self:
        return replace(self, duration=duration)
