"""Shortest times of quintic segments, and points joined by them within all limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exciter.errors import MotionError
from exciter.excitation.experiments.segment_times import (
    LARGEST_PHI,
    LARGEST_PSI,
    PSI_END,
    PSI_START,
    TRAVEL_PHI,
    Segments,
    interpolate_points,
    shortest_times,
)

Array = np.ndarray


def polynomial_peaks(qa: float, va: float, qb: float, vb: float, u: float) -> Array:
    """Largest |q̇|, |q̈|, |q⃛| of one segment, sampled, from eq. (28)."""
    travel, x = qb - qa, np.linspace(0, u, 4001)
    a3 = 10 * travel / u**3 - (6 * va + 4 * vb) / u**2
    a4 = -15 * travel / u**4 + (8 * va + 7 * vb) / u**3
    a5 = 6 * travel / u**5 - 3 * (va + vb) / u**4
    p = np.polynomial.Polynomial([qa, va, 0.0, a3, a4, a5])
    return np.array([np.abs(p.deriv(k)(x)).max() for k in (1, 2, 3)])


def test_the_largest_acceleration_is_not_monotone_in_time() -> None:
    """The counterexample to the paper's claim: amax is 0 at u_f = 1, 1.443 at 2, 0.274 at 20."""
    segment = Segments.between([[0.0], [1.0]], [[1.0], [1.0]])
    peaks = [segment.peaks(np.array([1 / u]))[1, 0, 0] for u in (1.0, 2.0, 20.0)]
    assert peaks == pytest.approx([0.0, 1.4434, 0.2742], abs=1e-4)
    assert shortest_times(segment, 1.0, 0.5) == pytest.approx([1.0])
    # 0.5 rad/s² is obeyed near u_f = 1 and again beyond 10: the short one is found
    (u,) = shortest_times(segment, 2.0, 0.5)
    assert 0.92 < u < 0.93
    assert segment.peaks(np.array([1 / 2.0]))[1, 0, 0] > 0.5


def test_a_joint_that_comes_back_takes_the_time_to_turn() -> None:
    """A = 0, both velocities v: |q̈| peaks at 10/√3 v/u_f; two different velocities: at least their change over a."""
    back = Segments.between([[0.5], [0.5]], [[0.8], [0.8]])
    assert shortest_times(back, 1.0, 3.0) == pytest.approx([10 / np.sqrt(3) * 0.8 / 3.0])
    assert shortest_times(back, np.inf, 3.0) == pytest.approx([10 / np.sqrt(3) * 0.8 / 3.0])
    rest = Segments.between([[0.0], [0.7]], [[0.0], [0.0]])
    assert shortest_times(rest, np.inf, 3.0) == pytest.approx([np.sqrt(10 / np.sqrt(3) * 0.7 / 3.0)])
    assert shortest_times(rest, 0.1, np.inf) == pytest.approx([15 / 8 * 0.7 / 0.1])
    assert shortest_times(rest, 10.0, 1e6, 5.0) == pytest.approx([np.cbrt(60 * 0.7 / 5.0)])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_shortest_times_are_feasible_and_no_shorter_one_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    q, qd = rng.uniform(-1, 1, (2, n)), rng.uniform(-1, 1, (2, n)) * rng.integers(0, 2, n)
    limits = np.array([1.0, rng.uniform(0.5, 8.0), rng.choice([np.inf, 30.0])])
    segment = Segments.between(q, qd)
    (u,) = shortest_times(segment, *limits)

    def ratio(duration: float) -> float:
        peaks = [polynomial_peaks(q[0, j], qd[0, j], q[1, j], qd[1, j], duration) for j in range(n)]
        return float((np.array(peaks) / limits).max())

    assert ratio(u) <= 1 + 1e-8
    assert ratio(u) >= 1 - 1e-5
    assert min(ratio(f * u) for f in np.geomspace(0.05, 0.999, 60)) > 1
    peaks = segment.peaks(np.array([1 / u]))[:, 0]
    sampled = np.array([polynomial_peaks(q[0, j], qd[0, j], q[1, j], qd[1, j], u) for j in range(n)]).T
    assert peaks == pytest.approx(sampled, rel=1e-5, abs=1e-9)


def test_the_slopes_of_the_search_are_bounds() -> None:
    x = np.linspace(0, 1, 10_001)
    for order in range(3):
        for polynomial, bound in ((TRAVEL_PHI, LARGEST_PHI), (PSI_START, LARGEST_PSI), (PSI_END, LARGEST_PSI)):
            values = np.abs(
                np.polynomial.Polynomial(polynomial).deriv(order)(x) if order else np.polyval(polynomial[::-1], x)
            )
            assert values.max() <= bound[order] * (1 + 1e-12)
    assert (np.abs(np.polyval(PSI_START[::-1], x)) + np.abs(np.polyval(PSI_END[::-1], x))).max() <= 1 + 1e-12


def test_points_are_joined_within_all_limits() -> None:
    """The fitted limits of seed 000: ±45°, 50°/s. Unchecked, segments leave the range; drawn in, none does."""
    rng = np.random.default_rng(0)
    limit, speed = np.pi / 4, np.deg2rad(50)
    q, qd = rng.uniform(-limit, limit, (31, 3)), rng.uniform(-speed, speed, (31, 3))
    free = interpolate_points(q, qd, speed, 5.0)
    assert free.kept.tolist() == [1.0, 1.0, 1.0]
    assert free.trajectory.curve(free.delta).extremum(0).size.max() > 1.2 * limit
    assert 40 < free.trajectory.duration < 120  # seed 000 at 5 rad/s²: about 71 s
    joined = interpolate_points(q, qd, speed, 5.0, -limit, limit)
    curve = joined.trajectory.curve(joined.delta)
    assert curve.extremum(0).size.max() <= limit + 1e-9
    assert curve.extremum(1).size.max() <= speed * (1 + 1e-9)
    assert curve.extremum(2).size.max() <= 5.0 * (1 + 1e-9)
    assert (joined.kept < 1).any()
    assert (joined.kept > 0.2).all()
    at_points = curve.motion(joined.trajectory.times)
    assert at_points.q == pytest.approx(joined.kept * q)
    assert at_points.qd[1:-1] == pytest.approx((joined.kept * qd)[1:-1])
    assert np.abs(at_points.qd[[0, -1]]).max() < 1e-12


def test_points_that_cannot_be_joined_are_refused() -> None:
    still = np.zeros((2, 1))
    with pytest.raises(MotionError, match="same and at rest"):
        interpolate_points(still, still, 1.0, 1.0)
    with pytest.raises(MotionError, match="its limit is 1"):
        shortest_times(Segments.between([[0.0], [1.0]], [[0.0], [1.5]]), 1.0, 1.0)
    with pytest.raises(MotionError, match="range of joint 1"):
        interpolate_points([[0.0], [2.0]], still, 1.0, 1.0, -1.0, 1.0)
    with pytest.raises(MotionError, match="give acceleration limits"):
        shortest_times(Segments.between([[0.0], [1.0]], still), np.inf, np.inf)
    with pytest.raises(MotionError, match="expected"):
        interpolate_points(still, np.zeros((3, 1)), 1.0, 1.0)
