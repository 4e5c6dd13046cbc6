"""Families of piecewise polynomials, whose basis functions are piecewise polynomials themselves.

B-spline: way-points q_0 … q_r at equal steps of time (Rackl et al. 2012, eqs. (19)–(32)). Degree 4 has its inner knots
half-way between way-points, degree 5 at the way-points; either way there are r + 5 control points, as many as
way-points and boundary conditions together.

Quintics: points (q, q̇) joined by fifth-order polynomials (Gautier & Khalil 1992, eqs. (24)–(28)).

Acceleration sequence (Armstrong 1989), the freest description of a motion: accelerations at equally spaced nodes,
straight lines in between so that the jerk is finite, and the position at the start; the start velocity is zero.

Stops: points at which all joints stop, joined by straight moves whose acceleration is a trapezoid of time.
A move rises to its full acceleration in t_j at constant jerk, keeps it for t_a, falls in t_j, cruises for t_v, and
brakes the same way: seven phases, the fastest from rest to rest within limits of velocity, acceleration and jerk. The
share of the way that is done reaches the velocity, acceleration and jerk

    v = 1/(2 t_j + t_a + t_v),    a = v/(t_j + t_a),    j = a/t_j."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import factorial
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag, null_space

from exciter.errors import ExciterError, MotionError, shown
from exciter.excitation.trajectories.curve import Curve, span_of
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.excitation.trajectories.trajectory import Duration, Trajectory, as_coefficients
from exciter.settings import Amount, Number, OneWord, Settings, Switch, Vector, Whole, keys_of
from exciter.settings.fill import checked, filled
from exciter.typing import Array

MOST_FAMILY_SPANS = 1000  # of a family: its basis has the square of their number in entries
JERK_SIGNS = (1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0)  # of the jerk, phase by phase


class PiecewisePolynomial(Trajectory):
    """A family given by its c basis functions of time, as one piecewise polynomial with c rows."""

    @property
    @abstractmethod
    def functions(self) -> PolynomialPiece:
        """The c basis functions over [0, duration]."""

    def basis(self, time: Array, order: int = 2) -> tuple[Array, ...]:
        """At a knot the value after it, at the end before it."""
        time = np.asarray(time, dtype=float)
        values = self.functions.derivatives(span_of(self.functions.knots, time), time, order)
        return tuple(np.ascontiguousarray(value.T) for value in values)

    def curve(self, delta: ArrayLike) -> Curve:
        pieces = np.tensordot(as_coefficients(delta, self.coefficients), self.functions.coefficients, axes=1)
        return Curve((PolynomialPiece(self.functions.knots, pieces),))


@dataclass(frozen=True)
class BSpline(PiecewisePolynomial):
    """A B-spline of each joint, at rest at both ends.

    duration t_f [s]; degree 4 (the jerk is continuous) or 5; segments r between way-points.

    Coefficients (n, r + 5): control points p [rad]. Rest at both ends (zero velocity and acceleration) is a condition
    on them; ``variables`` says what the optimiser moves: the way-points, or the control points that remain.

    >>> ex.design(robot, ex.BSpline(duration=6, segments=5), starts=1).curve.duration
    6.0"""

    word, title = "bspline", "B-spline"
    duration: Duration = 10.0
    segments: Annotated[int, Whole(1, MOST_FAMILY_SPANS)] = 8
    degree: Annotated[int, Whole(4, 5)] = 5
    variables: Annotated[str, OneWord(("waypoints", "control"))] = "waypoints"

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"p{i}" for i in range(self.segments + 5))

    @property
    def waypoint_times(self) -> Array:
        """(r + 1,) [s]"""
        return np.linspace(0.0, self.duration, self.segments + 1)

    @cached_property
    def _spline(self) -> scipy.interpolate.BSpline:
        """All basis functions B_j^p, with the knots u."""
        at = self.waypoint_times
        inner = at[1:-1] if self.degree == 5 else 0.5 * (at[1:] + at[:-1])
        ends = np.zeros(self.degree + 1), np.full(self.degree + 1, self.duration)
        knots = np.concatenate([ends[0], inner, ends[1]])
        return scipy.interpolate.BSpline(knots, np.eye(self.coefficients), self.degree)

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
        return np.asarray(np.linalg.solve(system, np.eye(len(system), self.segments + 1)))

    @cached_property
    def free(self) -> Array:
        """Z (c, v): way-points to control points; or those of which the first three are one, and the last three."""
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


@dataclass(frozen=True)
class EvenTimes(Settings):
    """Instead of times, in a file."""

    duration: Duration = 10.0
    segments: Annotated[int, Whole(1, MOST_FAMILY_SPANS)] = 10


@dataclass(frozen=True)
class Quintic(PiecewisePolynomial):
    """Quintic polynomials between points that the joints pass at given times.

    times t_0 = 0 … t_r [s] at which the joints pass the points with zero acceleration.

    Coefficients (n, 2 r + 2): q_0 … q_r [rad], q̇_0 … q̇_r [rad/s]. at_rest_ends: the first and the last velocity are 0.

    >>> ex.design(robot, ex.Quintic(times=(0.0, 1.5, 3.0, 5.0)), starts=1).curve.duration
    5.0"""

    word, title = "quintic", "fifth-order polynomials between points"
    also: ClassVar[type[Settings]] = EvenTimes
    times: tuple[Amount, ...]
    at_rest_ends: Switch = True

    def __post_init__(self) -> None:
        if len(self.times) > MOST_FAMILY_SPANS + 1:
            raise ExciterError(f"{len(self.times)} times of a quintic trajectory; at most {MOST_FAMILY_SPANS + 1}")
        if len(self.times) < 2 or self.times[0] != 0.0 or not (np.diff(self.times) > 0).all():
            raise ExciterError(f"times {shown(self.times)} of a quintic trajectory; two or more, from 0, increasing")
        checked(Duration, self.times[-1], "the last of the times of a quintic trajectory")

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        if context.get("exact"):
            return given
        even = {key: given.get(key) for key in keys_of(EvenTimes)}
        rest = {key: value for key, value in given.items() if key not in even}
        if rest.get("times") is None:
            steps = filled(EvenTimes, even, context)
            rest["times"] = cls.even(steps.duration, steps.segments).times
        return rest

    @classmethod
    def even(cls, duration: float, segments: int, *, at_rest_ends: bool = True) -> Self:
        """Segments of equal duration."""
        steps = EvenTimes(duration, segments)
        return cls(tuple(np.linspace(0.0, steps.duration, steps.segments + 1).tolist()), at_rest_ends)

    @property
    def duration(self) -> float:  # type: ignore[override]
        """[s] t_r"""
        return self.times[-1]

    @property
    def labels(self) -> tuple[str, ...]:
        points = range(len(self.times))
        return tuple(f"q{i}" for i in points) + tuple(f"qd{i}" for i in points)

    @property
    def time_powers(self) -> NDArray[np.int64]:
        return np.repeat([0, 1], len(self.times))

    @cached_property
    def functions(self) -> PolynomialPiece:
        q, qd = np.split(np.eye(self.coefficients), 2)
        return PolynomialPiece.from_samples(self.times, q, qd, np.zeros_like(q))

    @cached_property
    def free(self) -> Array:
        """Z (c, v): all coefficients, or all but the first and the last velocity."""
        z = np.eye(self.coefficients)
        return np.delete(z, [len(self.times), -1], axis=1) if self.at_rest_ends else z

    def with_duration(self, duration: float) -> Self:
        return replace(self, times=tuple((np.array(self.times) / self.duration * duration).tolist()))


@dataclass(frozen=True)
class AccelerationSequence(PiecewisePolynomial):
    """duration [s], cut into equal intervals m. Coefficients (n, m + 2): q0 [rad], accelerations a_0 … a_m [rad/s²]."""

    word, title = "acceleration", "sequence of accelerations"
    duration: Duration = 10.0
    intervals: Annotated[int, Whole(3, MOST_FAMILY_SPANS)] = 20

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


@dataclass(frozen=True)
class Stops(PiecewisePolynomial):
    """moves: (t_j, t_a, t_v) [s] of each, t_j > 0; rest [s] at each point. Coefficients (n, moves + 1): points
    [rad or m]."""

    word, title = "stops", "straight moves between stops"
    moves: tuple[Annotated[tuple[float, float, float], Vector(3, "s")], ...]
    rest: Annotated[float, Number(least=0.0, unit="s")] = 0.0

    def __post_init__(self) -> None:
        if len(self.moves) > MOST_FAMILY_SPANS:
            raise ExciterError(f"{len(self.moves)} moves between stops; at most {MOST_FAMILY_SPANS}")
        if not self.moves or not all(jerk > 0.0 and min(move) >= 0.0 for move in self.moves for jerk in move[:1]):
            raise ExciterError(f"moves {shown(self.moves)} between stops; give [t_j, t_a, t_v] ≥ 0 for each, t_j > 0")

    @property
    def duration(self) -> float:  # type: ignore[override]
        """[s] all moves, and a rest at every point."""
        return float(self.functions.knots[-1])

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"q{i}" for i in range(len(self.moves) + 1))

    @cached_property
    def functions(self) -> PolynomialPiece:
        """The share of each point in the posture: 1 where the joints stand at it."""
        identity, one = np.eye(self.coefficients), np.array([1.0, 0.0, 0.0, 0.0])
        spans = [(self.rest, np.outer(identity[0], one))]
        for i, move in enumerate(self.moves):
            for width, done in _phases(*move):
                spans.append((width, np.outer(identity[i], one - done) + np.outer(identity[i + 1], done)))
            spans.append((self.rest, np.outer(identity[i + 1], one)))
        widths, shares = zip(*((width, share) for width, share in spans if width > 0.0), strict=True)
        return PolynomialPiece(np.concatenate([[0.0], np.cumsum(widths)]), np.stack(shares, axis=1))

    def with_duration(self, duration: float) -> Self:
        scale = duration / self.duration
        moves = tuple((scale * j, scale * a, scale * v) for j, a, v in self.moves)
        return replace(self, moves=moves, rest=scale * self.rest)


def _phases(t_j: float, t_a: float, t_v: float) -> Iterator[tuple[float, Array]]:
    """Width [s] of each of the seven, and the share of the way done (4,), increasing powers of the time in it."""
    jerk = 1.0 / (t_j * (t_j + t_a) * (2.0 * t_j + t_a + t_v))
    s = v = a = 0.0
    for width, sign in zip((t_j, t_a, t_j, t_v, t_j, t_a, t_j), JERK_SIGNS, strict=True):
        j = sign * jerk
        yield width, np.array([s, v, a / 2.0, j / 6.0])
        s += width * (v + width * (a / 2.0 + width * j / 6.0))
        v, a = v + width * (a + width * j / 2.0), a + width * j
