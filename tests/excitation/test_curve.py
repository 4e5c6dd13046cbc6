"""Exact curves: pieces against SciPy and dense sampling, extrema and bounds between samples, joining and repeating."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly, CubicHermiteSpline

from exciter.errors import MotionError
from exciter.excitation.trajectories.curve import Curve, Extremum
from exciter.excitation.trajectories.fourier import FourierPiece
from exciter.excitation.trajectories.piecewise import BSpline
from exciter.excitation.trajectories.polynomial_piece import (
    ROOT_CENTRES,
    PolynomialPiece,
    evaluate,
    hull,
    stationary_points,
)

Array = np.ndarray


def fourier_piece(seed: int = 0, n: int = 3, harmonics: tuple[int, ...] = (1, 2, 5), **settings: float) -> FourierPiece:
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, n, len(harmonics)))
    times = {"start": 0.0, "end": 4.0, "omega": np.pi / 2, **settings}
    return FourierPiece(harmonics=np.array(harmonics), a=a, b=b, offset=rng.standard_normal(n), **times)


def polynomial_piece(seed: int, degree: int, spans: int = 4, n: int = 2) -> PolynomialPiece:
    """Not even continuous: every span is on its own."""
    rng = np.random.default_rng(seed)
    knots = np.cumsum(rng.uniform(0.2, 1.5, spans + 1)) - 1.0
    return PolynomialPiece(knots, rng.standard_normal((n, spans, degree + 1)))


PIECES = {
    "period": fourier_piece(),
    "part of a period": fourier_piece(1, start=1.3, end=3.1, phase_time=0.4),
    "many periods": fourier_piece(2, start=-1.0, end=20.0),
    "one joint": fourier_piece(3, n=1, harmonics=(1,)),
    "skipped harmonics": fourier_piece(4, harmonics=(3, 11, 20)),
    "tiny top harmonic": FourierPiece(0, 5, 1.0, [1, 2, 9], [[1, 0.5, 1e-13]], [[0.3, -0.2, 1e-12]], [0.7]),
    "no top harmonic": FourierPiece(0, 7, 1.0, [1, 2, 9], [[1, 0.5, 0]], [[0.3, -0.2, 0]], [0.7]),
    **{f"degree {d}": polynomial_piece(d, d) for d in range(10)},
    "one span": polynomial_piece(20, 5, spans=1, n=1),
    "vanishing top powers": PolynomialPiece(
        [0, 1, 3], np.pad(polynomial_piece(21, 4, 2).coefficients, [(0, 0)] * 2 + [(0, 5)])
    ),
}
every_piece = pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)


def dense(piece: FourierPiece | PolynomialPiece, order: int, count: int = 20_001) -> tuple[Array, Array, Array]:
    """Spans, times and derivatives (order + 1, n, N), both ends of every span included."""
    spans = len(piece.knots) - 1
    each = count // spans
    span = np.repeat(np.arange(spans), each)
    time = np.concatenate([np.linspace(a, b, each) for a, b in zip(piece.knots, piece.knots[1:], strict=False)])
    return span, time, piece.derivatives(span, time, order)


@every_piece
def test_derivatives_are_those_of_the_lower_order(piece: FourierPiece | PolynomialPiece) -> None:
    rng = np.random.default_rng(0)
    span = rng.integers(0, len(piece.knots) - 1, 50)
    at = rng.uniform(0.01, 0.99, 50)
    time = piece.knots[span] * (1 - at) + piece.knots[span + 1] * at
    h = 1e-5
    exact = piece.derivatives(span, time, 6)
    slope = (piece.derivatives(span, time + h, 5) - piece.derivatives(span, time - h, 5)) / (2 * h)
    scale = 1.0 + np.abs(exact).max(axis=(1, 2))
    assert (np.abs(exact[1:] - slope).max(axis=(1, 2)) / scale[1:]).max() < 1e-6


@every_piece
@pytest.mark.parametrize("order", range(4))
def test_extrema_are_never_exceeded_and_are_reached(piece: FourierPiece | PolynomialPiece, order: int) -> None:
    _, _, values = dense(piece, order)
    values = values[order]
    found = piece.extremum(order)
    size = np.maximum(np.abs(values).max(axis=1), 1e-12)
    assert ((values.max(axis=1) - found.highest) / size).max() < 1e-9
    assert ((found.lowest - values.min(axis=1)) / size).max() < 1e-9
    assert ((found.highest - values.max(axis=1)) / size).max() < 1e-4  # the oracle itself is a grid
    assert ((values.min(axis=1) - found.lowest) / size).max() < 1e-4
    for joint, (value, at) in enumerate(zip(found.highest, found.highest_at, strict=True)):
        assert piece.knots[0] <= at <= piece.knots[-1]
        here = [piece.derivatives(np.array([s]), np.array([at]), order)[order, joint, 0] for s in spans_at(piece, at)]
        assert np.abs(np.array(here) - value).min() < 1e-9 * size[joint]  # reached, at that time


def spans_at(piece: FourierPiece | PolynomialPiece, time: float) -> list[int]:
    ends = zip(piece.knots, piece.knots[1:], strict=False)
    return [s for s, (a, b) in enumerate(ends) if a - 1e-12 <= time <= b + 1e-12]


@every_piece
def test_rates_bound_every_instant_and_tighten_with_the_interval(piece: FourierPiece | PolynomialPiece) -> None:
    rng = np.random.default_rng(1)
    span = rng.integers(0, len(piece.knots) - 1, 40)
    left, right = piece.knots[span], piece.knots[span + 1]
    for width, loose in ((1.0, np.inf), (1e-1, np.inf), (1e-3, 1.2)):
        at = rng.uniform(0, 1 - width, 40)
        start, end = left + at * (right - left), left + (at + width) * (right - left)
        bound = piece.rates(span, start, end)
        inside = start + rng.uniform(0, 1, (50, 40)) * (end - start)
        inside[:2] = start, end
        true = np.abs([piece.derivatives(span, row, 4)[1:] for row in inside]).max(axis=0)
        assert (true <= bound * (1 + 1e-12) + 1e-12).all()
        size = 1e-2 * true.max(axis=2, keepdims=True) + 1e-9
        assert (bound <= loose * (true + size)).all()


def test_rates_of_one_sine_are_nearly_sharp() -> None:
    """A factor two in the remainder would not show on many joints; here it does."""
    sine = FourierPiece(0.0, 7.0, 1.0, [1], [[1.0]], [[0.0]], [0.0])  # q = sin t
    start, end = np.array([1.0]), np.array([1.4])
    bound = sine.rates(np.array([0]), start, end)[:, 0, 0]
    centre, r = 1.2, 0.2
    taylor = [abs(f(centre)) + r * abs(g(centre)) + r * r / 2 for f, g in ((np.cos, np.sin), (np.sin, np.cos))]
    assert bound[:2] == pytest.approx(np.minimum(taylor, 1.0))
    assert sine.rates(np.array([0]), np.array([0.0]), np.array([7.0])).ravel() == pytest.approx(np.ones(4))
    cubic = PolynomialPiece([0.0, 2.0], [[[0.0, 0.0, 0.0, 1.0]]])  # q = t³ on [0.5, 1.5]: q̇ ≤ 6.75, Taylor is exact
    bound = cubic.rates(np.array([0]), np.array([0.5]), np.array([1.5])).ravel()
    assert bound == pytest.approx([6.75, 9.0, 6.0, 0.0])


def test_hermite_pieces_are_scipys() -> None:
    rng = np.random.default_rng(2)
    time = np.cumsum(rng.uniform(0.05, 0.4, 12))
    q, qd, qdd = rng.standard_normal((3, 12, 4))
    at = rng.uniform(time[0], time[-1], 300)
    cubic = Curve((PolynomialPiece.from_samples(time, q, qd),)).motion(np.sort(at))
    oracle = CubicHermiteSpline(time, q, qd)
    for order, values in enumerate((cubic.q, cubic.qd, cubic.qdd)):
        assert values == pytest.approx(oracle(np.sort(at), nu=order), abs=1e-9)
    quintic = Curve((PolynomialPiece.from_samples(time, q, qd, qdd),)).motion(np.sort(at))
    oracle = BPoly.from_derivatives(time, np.stack([q, qd, qdd], axis=1))
    for order, values in enumerate((quintic.q, quintic.qd, quintic.qdd)):
        assert values == pytest.approx(oracle(np.sort(at), nu=order), abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-3, 3).map(lambda x: round(x, 3)), min_size=1, max_size=10))
def test_polynomials_on_the_unit_interval(coefficients: list[float]) -> None:
    c = np.array(coefficients)
    x = np.concatenate([np.linspace(0, 1, 2001), stationary_points(c)])
    values = evaluate(c, x)
    assert values == pytest.approx(np.polynomial.polynomial.polyval(x, c), abs=1e-9)
    low, high = hull(c)
    assert low <= values.min() + 1e-9
    assert high >= values.max() - 1e-9
    roots = np.roots(np.polynomial.polynomial.polyder(c)[::-1])
    inside = roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real >= 0) & (roots.real <= 1)]
    ours = evaluate(c, np.append(stationary_points(c), [0.0, 1.0]))
    for value in evaluate(c, inside):  # every true turning value is among ours
        assert ours.min() - 1e-9 <= value <= ours.max() + 1e-9


@pytest.mark.parametrize("centre", ROOT_CENTRES)
@pytest.mark.parametrize("gap", [0.0, 1e-14, 1e-9])
def test_stationary_points_do_not_mind_roots_at_the_centres(centre: float, gap: float) -> None:
    slope = np.polynomial.Polynomial.fromroots([centre + gap, 0.3, 0.6, 0.7])
    points = stationary_points(slope.integ().coef)
    for root in (0.3, 0.6, 0.7):
        assert np.abs(points - root).min() < 1e-7


def test_long_files_solve_few_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    series = fourier_piece(n=7, harmonics=(1, 2, 3, 4, 5))
    time = np.linspace(0.0, 4.0, 4001)
    q, qd, qdd = series.derivatives(np.zeros(4001, dtype=int), time, 2)
    piece = PolynomialPiece.from_samples(time, q.T, qd.T, qdd.T)
    solved = []

    def counted(coefficients: Array) -> Array:
        solved.append(len(coefficients))
        return stationary_points(coefficients)

    monkeypatch.setattr("exciter.excitation.trajectories.polynomial_piece.stationary_points", counted)
    for order, tolerance in ((0, 1e-9), (1, 1e-9), (2, 1e-7)):
        exact, file = series.extremum(order), piece.extremum(order)
        assert file.highest == pytest.approx(exact.highest, rel=tolerance)
        assert file.lowest == pytest.approx(exact.lowest, rel=tolerance)
    assert sum(solved) < 200  # of 84 000


# -- curves -----------------------------------------------------------------------------------------------------


def smooth(width: float = 2.0, n: int = 2) -> Curve:
    """Rest to rest and back: jerk finite."""
    there, zero = np.ones((1, n)), np.zeros((3, n))
    q = np.vstack([zero[:1], there, zero[:1]])
    return Curve((PolynomialPiece.from_samples([0.0, width, 2 * width], q, zero, zero),))


def test_motion_is_right_sided_at_knots_and_left_sided_at_the_end() -> None:
    pieces = [[[0.0, 1.0, 0.0], [1.0, 1.0, 2.0]]]  # q̈ is 0, then 4
    curve = Curve((PolynomialPiece([0.0, 1.0, 2.0], pieces),))
    motion = curve.motion([0.0, 0.5, 1.0, 2.0])
    assert motion.qdd.ravel() == pytest.approx([0.0, 0.0, 4.0, 4.0])
    assert motion.q.ravel() == pytest.approx([0.0, 0.5, 1.0, 4.0])
    assert len(curve.motion([])) == 0
    for outside in (-0.1, 2.1, np.nan):
        with pytest.raises(MotionError, match="lasts from 0 to 2 s"):
            curve.motion([1.0, outside])


def test_curves_follow_each_other_with_spans_numbered_through() -> None:
    first = smooth()
    second = fourier_piece(n=2, harmonics=(1, 2, 3))
    start = second.derivatives(np.array([0]), np.array([0.0]), 2)[..., 0]
    ramp = PolynomialPiece.from_samples(
        [4.0, 5.0], *[np.stack([a, b]) for a, b in zip(np.zeros((3, 2)), start, strict=True)]
    )
    whole = first.then(Curve((ramp,))).then(Curve((second,)).shifted(5.0))
    assert whole.knots == pytest.approx([0, 2, 4, 5, 9])
    assert whole.duration == pytest.approx(9.0)
    time = np.random.default_rng(0).uniform(0, 9, 500)
    span = np.searchsorted(whole.knots, time, side="right") - 1
    values = whole.derivatives(span, time, 4)
    series = second.derivatives(np.zeros(500, dtype=int), time - 5.0, 4)
    assert values[..., span == 3] == pytest.approx(series[..., span == 3])
    assert whole.rates(span, time, time) == pytest.approx(np.abs(values[1:]), rel=1e-12, abs=1e-12)
    assert whole.motion(np.sort(time)).qdd == pytest.approx(values[2].T[np.argsort(time)])
    assert (np.abs(whole.jumps(0)).max(axis=1, initial=0.0) < 1e-12).all()
    assert (np.abs(whole.jumps(2)).max(axis=1, initial=0.0) < 1e-9).all()
    assert (np.abs(whole.jumps(3)).max(axis=1, initial=0.0) > 1.0).all()
    assert np.isfinite(whole.extremum(3).size).all()
    for order in range(4):
        parts = [c.extremum(order) for c in (first, Curve((ramp,)), Curve((second,)))]
        assert whole.extremum(order).highest == pytest.approx(np.max([p.highest for p in parts], axis=0))
        assert whole.extremum(order).lowest == pytest.approx(np.min([p.lowest for p in parts], axis=0))


def test_what_does_not_fit_is_not_joined() -> None:
    curve = smooth()
    with pytest.raises(MotionError, match=r"ends at 4 s and the next starts at 4\.1 s"):
        curve.then(curve.shifted(4.1))
    with pytest.raises(MotionError, match=r"ends at 4 s and the next starts at 4\.00001 s"):
        curve.then(curve.shifted(4.00001))
    off = Curve((PolynomialPiece([4.0, 5.0], [[[0.0, 0.0]], [[1e-6, 0.0]]]),))
    with pytest.raises(MotionError, match="position of joint 2 jumps from"):
        curve.then(off)
    moving = Curve((PolynomialPiece([4.0, 5.0], [[[0.0, 1e-6]], [[0.0, 0.0]]]),))
    with pytest.raises(MotionError, match="velocity of joint 1 jumps from"):
        curve.then(moving)
    with pytest.raises(MotionError, match="must move the same"):
        curve.then(smooth(n=3).shifted(4.0))
    with pytest.raises(MotionError, match="no pieces"):
        Curve(())
    with pytest.raises(MotionError, match="repeated 0 times"):
        curve.repeated(0)


@pytest.mark.parametrize("start", [0.0, 1e3, 1.7e9])
def test_times_of_clocks_hide_no_gap(start: float) -> None:
    """Seconds since 1970: known to 2e-7 s, and no looser than that."""
    curve = smooth().shifted(start)
    assert curve.repeated(5).then(smooth().shifted(start + 20.0)).duration == pytest.approx(24.0)
    steps = smooth(0.15).shifted(start)
    for k in range(1, 9):  # no double is 0.3: ends and starts differ by rounding
        steps = steps.then(smooth(0.15).shifted(start + 0.3 * k))
    assert steps.duration == pytest.approx(2.7, abs=1e-5)
    with pytest.raises(MotionError, match="shift it in time"):
        curve.then(curve.shifted(4.0 + 1e-5))
    with pytest.raises(MotionError, match="shift it in time"):
        curve.then(curve.shifted(4.0 - 1e-5))
    with pytest.raises(MotionError, match="samples from"):
        curve.motion([start + 4.0 + 1e-5])
    assert curve.motion([start + 4.0 + 1e-9]).q == pytest.approx(0.0)


def test_a_short_piece_must_follow_as_closely_as_it_is_short() -> None:
    def still(begin: float, width: float) -> Curve:
        return Curve((PolynomialPiece([begin, begin + width], [[[0.0]]]),))

    assert len(still(0.0, 1.0).then(still(1.0 + 5e-10, 1.0)).pieces) == 2
    with pytest.raises(MotionError, match="shift it in time"):
        still(0.0, 1.0).then(still(1.0 + 5e-10, 1e-3))


def test_short_spans_excuse_a_millionth_of_the_acceleration_and_no_more() -> None:
    """Beside a span of 1e-7 s the rounding of positions explains an acceleration of any size; a jump counts as infinite
    jerk above 1e-6 of the largest acceleration, 10 rad/s² here."""
    for jump, infinite in ((0.9e-5, False), (1.2e-5, True), (1e-3, True)):
        spans = np.zeros((1, 3, 3))
        spans[0, 0] = 1.0, 0.0, 5.0  # q = 1 + 5 t²: 10 rad/s²
        spans[0, 1] = 6.0, 10.0, 5.0 + 0.5 * jump
        spans[0, 2] = 6.0 + 10.0 * 1e-7, 10.0 + 10.0 * 1e-7, 5.0 + 0.5 * jump
        curve = Curve((PolynomialPiece([0.0, 1.0, 1.0 + 1e-7, 2.0], spans),))
        assert np.isinf(curve.extremum(3).highest[0]) == infinite


def test_a_jump_of_acceleration_is_infinite_jerk() -> None:
    up = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.5]]  # joint 1: q̈ jumps from 0 to 1; joint 2 stays smooth
    curve = Curve((PolynomialPiece([0.0, 1.0, 2.0], [up, [[0.0, 0.0, 0.5], [0.5, 1.0, 0.5]]]),))
    jerk = curve.extremum(3)
    assert jerk.highest.tolist() == [np.inf, 0.0]
    assert jerk.lowest.tolist() == [0.0, 0.0]
    assert jerk.highest_at[0] == 1.0
    assert np.abs(curve.jumps(2)).max(axis=1, initial=0.0) == pytest.approx([1.0, 0.0])
    down = Curve((PolynomialPiece([0.0, 1.0, 2.0], [[[0.0, 0.0, 0.5], [0.5, 1.0, 0.0]]]),))
    assert (down.extremum(3).lowest, down.extremum(3).highest) == (-np.inf, 0.0)
    assert np.isfinite(curve.extremum(2).size).all()


def test_a_jump_too_small_to_tell_from_rounding_takes_as_long_as_the_shorter_span() -> None:
    """5e-7 rad/s² beside a span of 1e-8 s: not infinite, but by no means nothing."""
    pieces = [[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 2.5e-7]]]
    jerk = Curve((PolynomialPiece([0.0, 1.0, 1.0 + 1e-8, 2.0], pieces),)).extremum(3)
    assert jerk.highest[0] == pytest.approx(50.0, rel=1e-6)
    assert jerk.highest_at[0] == 1.0 + 1e-8


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-5])
@pytest.mark.parametrize("duration", [10.0, 1.0, 0.1])
def test_a_spline_that_hardly_moves_has_no_jumps(duration: float, size: float) -> None:
    """About q = 3 its accelerations are little more than rounding of its positions."""
    spline = BSpline(duration, 10, degree=5)
    shape = np.random.default_rng(0).standard_normal((1, spline.free.shape[1])) @ spline.free.T
    curve = spline.curve(spline.still(np.array([3.0])) + size * shape)
    unit = spline.curve(shape)
    assert (np.abs(curve.jumps(2)).max(axis=1, initial=0.0) > 0).all()
    rounding = 1e3 * np.finfo(float).eps / np.diff(curve.knots).min() ** 3
    assert curve.extremum(3).size == pytest.approx(size * unit.extremum(3).size, rel=1e-6, abs=rounding)


def test_the_seam_of_a_repeated_period_counts() -> None:
    assert np.isfinite(smooth().repeated(3).extremum(3).size).all()
    assert smooth().repeated(3).duration == pytest.approx(12.0)
    hop = np.array([0.0, 1.0, -1.0])  # q = t − t²: comes back with the velocity reversed
    with pytest.raises(MotionError, match="velocity of joint 1 jumps"):
        Curve((PolynomialPiece([0.0, 1.0], hop[None, None]),)).repeated(2)
    bump = np.array([0.0, 0.0, 1.0, -2.0, 1.0])  # q = t²(1 − t)²: at rest at both ends, q̈ = 2 there
    seam = Curve((PolynomialPiece([0.0, 1.0], bump[None, None]),)).repeated(2)
    assert np.isfinite(seam.extremum(3).size).all()
    slope = np.array([0.0, 0.0, 1.0, -5.0, 7.0, -3.0])  # at rest at both ends, q̈(0) = 2, q̈(1) = −4
    alone = Curve((PolynomialPiece([0.0, 1.0], slope[None, None]),))
    assert np.isfinite(alone.extremum(3).size).all()
    assert np.isinf(alone.repeated(2).extremum(3).size).all()
    periods = Curve((fourier_piece(),)).repeated(4)
    assert periods.extremum(3).highest == pytest.approx(fourier_piece().extremum(3).highest)


def test_a_file_of_positions_and_velocities_has_jumps_one_with_accelerations_has_none() -> None:
    time = np.linspace(0, 4, 4001)
    q, qd, qdd = (x.T + 1.0 for x in fourier_piece().derivatives(np.zeros(4001, dtype=int), time, 2))
    assert np.isinf(Curve((PolynomialPiece.from_samples(time, q, qd),)).extremum(3).size).all()
    assert np.isfinite(Curve((PolynomialPiece.from_samples(time, q, qd, qdd),)).extremum(3).size).all()


def test_extrema_of_stretches_together() -> None:
    one = Extremum.of(np.array([[1.0, 3.0, -2.0]]), np.array([0.0, 0.1, 0.2]))
    two = Extremum.of(np.array([[0.0, 4.0]]), np.array([1.0, 1.1]))
    both = Extremum.among([one, two])
    assert (both.lowest[0], both.lowest_at[0], both.highest[0], both.highest_at[0]) == (-2.0, 0.2, 4.0, 1.1)
    assert both.size[0] == 4.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PolynomialPiece([0, 1, 1], np.zeros((1, 2, 3))), "must increase"),
        (lambda: PolynomialPiece([0, 1], np.zeros((1, 2, 3))), "expected"),
        (lambda: PolynomialPiece([0, 1], np.zeros((1, 1, 11))), "degree 10"),
        (lambda: PolynomialPiece([0, np.nan], np.zeros((1, 1, 3))), "NaN"),
        (lambda: PolynomialPiece.from_samples([0.0], np.zeros((1, 2)), np.zeros((1, 2))), "two or more"),
        (lambda: PolynomialPiece.from_samples([0, 1], np.zeros((2, 2)), np.zeros((2, 3))), "two or more"),
        (lambda: PolynomialPiece.from_samples([0, 0], np.zeros((2, 2)), np.zeros((2, 2))), "must increase"),
        (lambda: FourierPiece(0, 1, 1.0, [1, 2], np.zeros((2, 2)), np.zeros((2, 1)), np.zeros(2)), "expected"),
        (lambda: FourierPiece(0, 1, 1.0, [1], [[np.inf]], [[0.0]], [0.0]), "NaN or infinity"),
        (lambda: FourierPiece(1, 1, 1.0, [1], [[1.0]], [[0.0]], [0.0]), "end must follow"),
        (lambda: FourierPiece(0, 1, 1.0, [0], [[1.0]], [[0.0]], [0.0]), "must be positive"),
    ],
)
def test_bad_pieces_are_refused(make: object, message: str) -> None:
    with pytest.raises(MotionError, match=message):
        make()  # type: ignore[operator]
