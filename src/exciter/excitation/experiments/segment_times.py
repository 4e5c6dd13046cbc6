"""Points (q, q̇) joined by quintic segments in the shortest times (Gautier & Khalil 1992, section 5.2, corrected).

With x = u/u_f and s = 1/u_f one joint moves on a segment by

    q̇ = s A φ(x) + q̇_a ψ_a(x) + q̇_b ψ_b(x),   q̈ = s² A φ' + s (q̇_a ψ_a' + q̇_b ψ_b'),   A = q_b − q_a,

with fixed polynomials φ, ψ. Velocity limits thus allow all s up to one value, but the largest acceleration is not a
monotone function of u_f (A = q̇_a = q̇_b = 1: 0 at u_f = 1, 1.44 at 2, 0.27 at 20). So the shortest time is searched
from the short side: where the limits are exceeded by e, and e changes with s no faster than L, no time is allowed
within e/L of s, and that stretch is skipped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import MotionError
from exciter.excitation.trajectories.piecewise import Quintic
from exciter.excitation.trajectories.polynomial_piece import derivative, evaluate, stationary_points
from exciter.excitation.trajectories.ramps import JOINT_LIMIT_ROUNDING
from exciter.typing import Array

#: φ, ψ_a, ψ_b in increasing powers of x.
TRAVEL_PHI = np.array([0.0, 0.0, 30.0, -60.0, 30.0])
PSI_START = np.array([1.0, 0.0, -18.0, 32.0, -15.0])
PSI_END = np.array([0.0, 0.0, -12.0, 28.0, -15.0])
#: Largest |φ|, |φ'|, |φ''| and |ψ|, |ψ'|, |ψ''| on [0, 1] (the last ones rounded up).
LARGEST_PHI = np.array([1.875, 5.7736, 60.0])
LARGEST_PSI = np.array([1.0, 3.945, 36.0])
#: Allowed stretches of 1/u_f narrower than this, relative to it, may be skipped.
NARROW_TIME_FRACTION = 1e-4
#: Relative precision of the shortest time.
SHORTEST_TIME_PRECISION = 1e-9
#: What a joint that leaves its range keeps of its points and velocities, each time.
RANGE_SHRINK = 0.9


@dataclass(frozen=True, eq=False)
class Segments:
    """States at both ends of R segments, q [rad] and q̇ [rad/s], each (R, n)."""

    q_start: Array
    qd_start: Array
    q_end: Array
    qd_end: Array

    @classmethod
    def between(cls, q: ArrayLike, qd: ArrayLike) -> Segments:
        """Between consecutive points (R + 1, n)."""
        q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
        return cls(q[:-1], qd[:-1], q[1:], qd[1:])

    @property
    def travel(self) -> Array:
        """A (R, n)"""
        return self.q_end - self.q_start

    def peaks(self, s: Array, orders: int = 3) -> Array:
        """(orders, R, n): largest |q̇|, |q̈|, |q⃛| for s = 1/u_f (R,) [1/s]; exact, from roots of the next derivative."""
        s = s[:, None]
        parts = (s * self.travel, TRAVEL_PHI), (self.qd_start, PSI_START), (self.qd_end, PSI_END)
        velocity: Array = sum((x[..., None] * shape for x, shape in parts), np.zeros(5))
        force = derivative(velocity)
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = force[..., 1] / force[..., 3]  # the other roots of the acceleration, a cubic, are the ends 0 and 1
        inner = np.clip(np.nan_to_num(inner), 0.0, 1.0)[..., None]
        found = [_peak(velocity, inner), s * _peak(force, stationary_points(force))]
        if orders == 3:
            jerk = derivative(force)
            found.append(s**2 * _peak(jerk, stationary_points(jerk)))
        return np.stack(found)


def _peak(coefficients: Array, inner: Array) -> Array:
    """(…) largest absolute value of polynomials (…, d + 1) among both ends of [0, 1] and points (…, K)."""
    ends = np.maximum(np.abs(coefficients[..., 0]), np.abs(coefficients.sum(axis=-1)))
    largest: Array = np.maximum(ends, np.abs(evaluate(coefficients[..., None, :], inner)).max(axis=-1))
    return largest


def shortest_times(segments: Segments, velocity: ArrayLike, acceleration: ArrayLike, jerk: ArrayLike = np.inf) -> Array:
    """(R,) [s] smallest u_f of each segment for which all joints together obey the limits (n,); infinite ones do not
    count.

    The times returned obey them, and no shorter ones do, except in stretches of u_f that are narrower than one part
    in 10⁴, and within one part in 10⁹. A time always exists when the velocities at the ends are within their limits:
    the slower a segment, the smaller its acceleration.
    """
    n = segments.travel.shape[1]
    limits = np.stack([np.broadcast_to(np.asarray(x, dtype=float), (n,)) for x in (velocity, acceleration, jerk)])
    limits = limits[: 3 if np.isfinite(limits[2]).any() else 2, None]  # (3, 1, n); (2, 1, n) without any of jerk
    travel, speed = np.abs(segments.travel), np.abs(segments.qd_start) + np.abs(segments.qd_end)
    _check(segments, limits[0, 0], travel + speed)

    def excess(s: Array) -> Array:
        return np.asarray((segments.peaks(s, len(limits)) / limits).max(axis=(0, 2)) - 1.0 - JOINT_LIMIT_ROUNDING)

    def steepest(s: Array) -> Array:
        """How fast the excess can change with 1/u_f, anywhere below s."""
        k, s = np.arange(1, 1 + len(limits))[:, None, None], s[:, None]
        of_travel = k * s ** (k - 1) * travel * LARGEST_PHI[: len(limits), None, None]
        of_speed = (k - 1) * s ** np.maximum(k - 2, 0) * speed * LARGEST_PSI[: len(limits), None, None]
        return np.asarray(((of_travel + of_speed) / limits).max(axis=(0, 2)))

    s = _fastest(segments, limits[0], limits[1])
    beyond, too_fast = s, excess(s)
    while (too_fast > 0.0).any():
        step = np.where(too_fast > 0.0, np.maximum(too_fast / steepest(s), NARROW_TIME_FRACTION * s), 0.0)
        beyond, s = np.where(step > 0.0, s, beyond), s - step
        too_fast = excess(s)
    while (beyond - s > SHORTEST_TIME_PRECISION * s).any():
        middle = 0.5 * (beyond + s)
        exceeds = excess(middle) > 0.0
        beyond, s = np.where(exceeds, middle, beyond), np.where(exceeds, s, middle)
    return 1.0 / s


def _check(segments: Segments, velocity: Array, movement: Array) -> None:
    fastest = np.maximum(np.abs(segments.qd_start), np.abs(segments.qd_end)).max(axis=0)
    for joint in np.flatnonzero(fastest > velocity * (1.0 + JOINT_LIMIT_ROUNDING)):
        raise MotionError(
            f"a point asks joint {joint + 1} for {fastest[joint]:.6g} rad/s; its limit is {velocity[joint]:.6g}"
        )
    for index in np.flatnonzero(~movement.any(axis=1)):
        raise MotionError(f"points {index + 1} and {index + 2} are the same and at rest; remove one of them")


def _fastest(segments: Segments, velocity: Array, acceleration: Array) -> Array:
    """(R,) values of s = 1/u_f above which some limit is surely exceeded.

    The mean velocity is s A. With |q̈| ≤ a the velocity changes by no more than a u_f, and the travel differs from
    that of the mean of both end velocities by no more than a u_f²/4.
    """
    travel, change = np.abs(segments.travel), np.abs(segments.qd_end - segments.qd_start)
    mean = 0.5 * np.abs(segments.qd_end + segments.qd_start)
    with np.errstate(divide="ignore", invalid="ignore"):  # a joint that stands still bounds nothing
        turning = (mean + np.sqrt(mean**2 + travel * acceleration)) / (2.0 * travel)
        turning = np.where(travel == 0, 0.25 * acceleration / mean, turning)
        bounds = np.stack([velocity / travel, acceleration / change, turning])
    s: Array = np.where(np.isnan(bounds), np.inf, bounds).min(axis=(0, 2))
    if not np.isfinite(s).all():
        raise MotionError("no limit bounds how fast a segment may be; give acceleration limits")
    return s


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Points joined: the trajectory, its coefficients (n, c), and the scale (n,) of each joint's points and velocities:
    1 where they were kept, less where they were drawn towards the middle of the range."""

    trajectory: Quintic
    delta: Array
    kept: Array


def interpolate_points(
    q: ArrayLike,
    qd: ArrayLike,
    velocity: ArrayLike,
    acceleration: ArrayLike,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
    *,
    jerk: ArrayLike = np.inf,
    at_rest_ends: bool = True,
) -> Interpolated:
    """Points q, q̇ (r + 1, n) joined in the shortest time that limits (n,) allow.

    Segments overshoot their points, so positions are checked for all time; joints that leave their range are drawn
    towards its middle, by ``RANGE_SHRINK`` at a time, and all is repeated. at_rest_ends: the first and last
    q̇ become zero.
    """
    q, qd = np.array(q, dtype=float), np.array(qd, dtype=float)
    if q.ndim != 2 or len(q) < 2 or qd.shape != q.shape:
        raise MotionError(f"points q {q.shape} and q̇ {qd.shape}; expected (r + 1, n) for both, two points or more")
    lower, upper = (np.broadcast_to(np.asarray(x, dtype=float), q.shape[1:]) for x in (lower, upper))
    outside = ((q < lower) | (q > upper)).any(axis=0)
    if outside.any():
        joint = int(outside.argmax())
        raise MotionError(f"a point is outside {lower[joint]:.6g} … {upper[joint]:.6g}, the range of joint {joint + 1}")
    if at_rest_ends:
        qd[[0, -1]] = 0.0
    bounded = np.isfinite(lower) & np.isfinite(upper)
    middle = np.where(bounded, 0.5 * (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0)), q.mean(axis=0))
    kept = np.ones(q.shape[1])
    while True:
        points, speeds = middle + kept * (q - middle), kept * qd
        durations = shortest_times(Segments.between(points, speeds), velocity, acceleration, jerk)
        trajectory = Quintic((0.0, *np.cumsum(durations).tolist()), at_rest_ends)
        delta = np.vstack([points, speeds]).T
        reached = trajectory.curve(delta).extremum(0)
        slack = JOINT_LIMIT_ROUNDING * np.maximum(1.0, reached.size)
        leaves = (reached.lowest < lower - slack) | (reached.highest > upper + slack)
        if not leaves.any():
            return Interpolated(trajectory=trajectory, delta=delta, kept=kept)
        kept = np.where(leaves, RANGE_SHRINK * kept, kept)
