"""One suite that every trajectory family must pass, then what is special to each; ramps."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from exciter.errors import ExciterError, MotionError
from exciter.excitation.files.trajectory_files import FAMILIES, TO_DESIGN, trajectory_from
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.piecewise import AccelerationSequence, BSpline, Quintic
from exciter.excitation.trajectories.ramps import Ramps, ramped
from exciter.excitation.trajectories.sweeps_and_steps import Chirp, Steps
from exciter.excitation.trajectories.trajectory import Trajectory, motion, retimed
from exciter.excitation.validation_motion.random_families import RandomPoints, RandomSpline
from exciter.robot import embedded_robots as embedded
from exciter.settings import written
from support.robots import random_robot
from support.settings_suite import check_described, check_read_again

Array = np.ndarray

#: name → (family, orders 1, 2, … that Z makes zero at the start, and at the end).
CASES: dict[str, tuple[Trajectory, int, int]] = {
    "fourier": (Fourier(10.0, 5), 0, 0),
    "fourier-one": (Fourier(3.0, 1), 0, 0),
    "fourier-skipping": (Fourier(7.0, (2, 3, 8)), 0, 0),
    "fourier-at-rest": (Fourier(10.0, 5, at_rest=True), 2, 2),
    "fourier-skipping-at-rest": (Fourier(4.0, (9, 2, 5), at_rest=True), 2, 2),
    "fourier-by-joint": (Fourier(6.0, {"a": 2, "b": 5, "c": (7, 3)}), 0, 0),
    "fourier-by-joint-at-rest": (Fourier(6.0, {"a": 2, "b": 5, "c": (7, 3)}, at_rest=True), 2, 2),
    "bspline-5": (BSpline(10.0, 8), 2, 2),
    "bspline-5-control": (BSpline(6.0, 8, variables="control"), 2, 2),
    "bspline-4": (BSpline(8.0, 6, degree=4), 2, 2),
    "bspline-4-control": (BSpline(8.0, 7, 4, "control"), 2, 2),
    "bspline-5-one": (BSpline(2.0, 1), 2, 2),
    "bspline-4-one": (BSpline(2.0, 1, degree=4), 2, 2),
    "quintic": (Quintic((0.0, 0.7, 2.0, 2.5, 6.0)), 2, 2),
    "quintic-even": (Quintic.even(9.0, 6), 2, 2),
    "quintic-one": (Quintic((0.0, 1.3)), 2, 2),
    "quintic-moving": (Quintic((0.0, 1.0, 2.5), at_rest_ends=False), 0, 0),
    "acceleration": (AccelerationSequence(10.0, 20), 2, 2),
    "acceleration-few": (AccelerationSequence(2.0, 3), 2, 2),
    "chirp": (Chirp(4.0, 0.3, 3.0), 2, 2),
    "chirp-in-turn": (Chirp(6.0, 0.5, 2.0, sweeps=3, fall=2.0, rise=0.3), 2, 2),
    "chirp-one-frequency": (Chirp(3.0, 1.0, 1.0, fall=0.0, rise=0.5), 2, 2),
    "steps": (Steps((0.4, 0.7, 0.3), (0.5, 0.2, 1.1, 0.3)), 2, 2),
    "steps-no-holds": (Steps((0.4, 0.7), (0.0, 0.0, 0.0)), 2, 2),
    "steps-even": (Steps.even(5.0, 4, 0.5), 2, 2),
}
every_family = pytest.mark.parametrize(("family", "start", "end"), CASES.values(), ids=CASES)
families = pytest.mark.parametrize("family", [case[0] for case in CASES.values()], ids=CASES)


def some(family: Trajectory, n: int = 3, seed: int = 0) -> Array:
    """Coefficients (n, c) that fulfil the family's conditions; the last joint stands still."""
    rng = np.random.default_rng(seed)
    delta = family.random(rng, n)
    if n > 1:
        delta[-1:] = family.still(rng.standard_normal(1))
    return delta


def of_number(family: Trajectory, n: int) -> Trajectory:
    """The family for n joints, where it says something of each."""
    if not isinstance(given := getattr(family, "harmonics", None), dict):
        return family
    entries = [*given.values(), 3]
    return replace(family, harmonics={f"joint {k}": entries[k] for k in range(n)})


def inner_times(family: Trajectory, count: int = 60, seed: int = 1) -> Array:
    """Random times, none closer to a knot than finite differences reach."""
    knots = family.curve(some(family)).knots
    time = np.random.default_rng(seed).uniform(0, family.duration, count)
    return time[np.abs(time[:, None] - knots).min(axis=1) > 1e-3]


@families
def test_shapes_and_names(family: Trajectory) -> None:
    c, v = family.free.shape
    assert c == family.coefficients == len(family.labels) == len(set(family.labels)) == len(family.time_powers)
    assert np.linalg.matrix_rank(family.free) == v
    assert np.linalg.cond(family.free) < 50
    time = family.sample_times(7)
    assert time.shape == (7,)
    assert time[0] == 0.0
    assert np.diff(time) == pytest.approx(time[1])
    assert (time[-1] == family.duration) != family.periodic
    assert [b.shape for b in family.basis(time, 4)] == [(7, c)] * 5
    assert len(family.basis(time)) == 3


@families
def test_basis_derivatives_are_those_of_the_lower_order(family: Trajectory) -> None:
    time, h = inner_times(family), 1e-5
    exact = np.stack(family.basis(time, 5))
    slope = (np.stack(family.basis(time + h, 4)) - np.stack(family.basis(time - h, 4))) / (2 * h)
    scale = 1.0 + np.abs(exact).max(axis=(1, 2))
    assert (np.abs(exact[1:] - slope).max(axis=(1, 2)) / scale[1:]).max() < 1e-6


@families
def test_the_curve_is_the_basis_times_coefficients(family: Trajectory) -> None:
    time = np.concatenate([[0.0], np.sort(inner_times(family)), [family.duration]])
    family = of_number(family, 4)
    delta = np.random.default_rng(3).standard_normal((4, family.coefficients))  # conditions or not
    delta = delta if family.shares(4) is None else family.random(np.random.default_rng(3), 4)
    curve = family.curve(delta)
    assert (curve.start, curve.end, curve.n) == (0.0, pytest.approx(family.duration), 4)
    span = np.clip(np.searchsorted(curve.knots, time, side="right") - 1, 0, len(curve.knots) - 2)
    exact = curve.derivatives(span, time, 4)
    for order, basis in enumerate(family.basis(time, 4)):
        assert exact[order] == pytest.approx(delta @ basis.T, rel=1e-9, abs=1e-9 * np.abs(basis).max())
    sampled, direct = curve.motion(time), motion(family, delta, time)
    assert sampled.q == pytest.approx(direct.q, rel=1e-9, abs=1e-9)
    assert sampled.qdd == pytest.approx(direct.qdd, rel=1e-9, abs=1e-9 * np.abs(direct.qdd).max())
    smooth = 2 if not isinstance(family, BSpline) else family.degree - 1
    for order in range(smooth + 1):
        assert (
            np.abs(curve.jumps(order)).max(axis=1, initial=0.0) < 1e-9 * (1 + curve.extremum(min(order, 3)).size)
        ).all()


@every_family
def test_free_fulfils_the_conditions(family: Trajectory, start: int, end: int) -> None:
    delta = some(family)
    at = family.curve(delta)
    for time, span, orders in ((at.start, 0, start), (at.end, len(at.knots) - 2, end)):
        values = at.derivatives(np.array([span]), np.array([time]), 2)[..., 0]
        for order in range(1, orders + 1):
            assert np.abs(values[order]).max() < 1e-9 * (1 + at.extremum(order).size.max())
    assert at.extremum(1).size[0] > 1e-3  # and it moves
    # nothing else is given up: Z has as many columns as the conditions leave
    ends = np.array([0.0]) if family.periodic else np.array([0.0, family.duration])
    rows = np.vstack([row * family.duration**k for k, row in enumerate(family.basis(ends)) if k]) * (start > 0)
    assert family.free.shape[1] == family.coefficients - np.linalg.matrix_rank(rows, tol=1e-9)


@families
def test_still_is_still(family: Trajectory) -> None:
    posture = np.array([0.3, -1.2, 0.7])
    curve = family.curve(family.still(posture))
    assert curve.extremum(0).highest == pytest.approx(posture, abs=1e-12)
    assert curve.extremum(0).lowest == pytest.approx(posture, abs=1e-12)
    assert curve.extremum(1).size == pytest.approx(0.0, abs=1e-9)
    variables = np.linalg.lstsq(family.free, family.still(posture).T, rcond=None)[0]
    assert family.free @ variables == pytest.approx(family.still(posture).T, abs=1e-9)  # within reach of x


@families
def test_another_duration_is_the_same_path_slower(family: Trajectory) -> None:
    factor = 1.7
    slower, scaled = retimed(family, some(family), factor * family.duration)
    assert type(slower) is type(family)
    assert slower.duration == pytest.approx(factor * family.duration)
    assert slower.free == pytest.approx(family.free)
    time = np.linspace(0, family.duration, 13)
    for order, (new, old) in enumerate(zip(slower.basis(factor * time, 3), family.basis(time, 3), strict=True)):
        powers = factor ** (family.time_powers - float(order))
        assert new == pytest.approx(old * powers, rel=1e-8, abs=1e-8 * np.abs(old * powers).max() + 1e-12)
    for order in range(4):
        old = family.curve(some(family)).extremum(order)
        assert slower.curve(scaled).extremum(order).highest == pytest.approx(old.highest / factor**order, abs=1e-7)


def test_every_family_of_a_file_says_what_its_settings_may_be() -> None:
    check_described(FAMILIES, tag="family")


@pytest.mark.parametrize(
    "drawn", [RandomPoints(), RandomPoints(3, 0.0, 0.1, 50), RandomSpline(), RandomSpline(5.0, 4, 4, 7)]
)
def test_a_motion_to_be_drawn_is_read_as_it_was_written(drawn: RandomPoints | RandomSpline) -> None:
    check_read_again(TO_DESIGN.hint, drawn)
    with pytest.raises(ExciterError, match=r"family is 'random-.*'; allowed are fourier"):
        trajectory_from(written(drawn))  # such a motion has no coefficients


def test_settings_of_a_family_are_written_whatever_its_defaults() -> None:
    """A file of today must mean the same when a default is another."""
    assert written(Fourier()) == {"family": "fourier", "period": 10.0, "harmonics": 5, "at_rest": False}


@families
def test_round_trip_through_plain_data(family: Trajectory) -> None:
    data = json.loads(json.dumps(written(family)))
    assert trajectory_from(data) == family
    check_read_again(TO_DESIGN.hint, family)
    assert type(family) is FAMILIES[data["family"]]
    with pytest.raises(ExciterError, match="trajectory: unknown key 'speed'; valid names"):
        trajectory_from({**data, "speed": 1})


@families
@pytest.mark.parametrize("n", [1, 4])
def test_extrema_hold_for_all_time(family: Trajectory, n: int) -> None:
    family = of_number(family, n)
    curve = family.curve(some(family, n, seed=5))
    time = np.union1d(np.linspace(0, family.duration, 20_001), curve.knots)
    span = np.clip(np.searchsorted(curve.knots, time, side="right") - 1, 0, len(curve.knots) - 2)
    values = curve.derivatives(span, time, 3)
    for order in range(4):
        found, size = curve.extremum(order), 1e-9 + np.abs(values[order]).max(axis=1)
        assert ((values[order].max(axis=1) - found.highest) / size).max() < 1e-9
        assert ((found.lowest - values[order].min(axis=1)) / size).max() < 1e-9
        if order < 3:  # the grid may miss one side of a jump of the jerk
            assert ((found.highest - values[order].max(axis=1)) / size).max() < 1e-5
            assert ((values[order].min(axis=1) - found.lowest) / size).max() < 1e-5


@families
@pytest.mark.parametrize("n", [1, 3])
def test_rates_hold_throughout_intervals(family: Trajectory, n: int) -> None:
    family = of_number(family, n)
    curve = family.curve(some(family, n, seed=6))
    rng = np.random.default_rng(7)
    span = rng.integers(0, len(curve.knots) - 1, 30)
    left, width = curve.knots[span], np.diff(curve.knots)[span]
    for part, loose in ((0.5, np.inf), (0.05, np.inf), (1e-3, 1.3)):
        start = left + rng.uniform(0, 1 - part, 30) * width
        end = start + part * width
        bounds = curve.rates(span, start, end)
        inside = start + rng.uniform(0, 1, (50, 30)) * (end - start)
        true = np.abs([curve.derivatives(span, row, 4)[1:] for row in inside]).max(axis=0)
        assert (true <= bounds * (1 + 1e-9) + 1e-9).all()
        assert (bounds <= loose * (true + 1e-2 * true.max(axis=2, keepdims=True) + 1e-6)).all()


# -- what is special to each ------------------------------------------------------------------------------------


def test_fourier_is_equation_11() -> None:
    family = Fourier(8.0, (1, 3))
    assert family.labels == ("a1", "a3", "b1", "b3", "q0")
    a1, a3, b1, b3, q0 = delta = np.array([0.3, -0.2, 0.5, 0.1, 0.7])
    w, t = 2 * np.pi / 8.0, 1.234
    q = q0 + a1 / w * np.sin(w * t) + a3 / (3 * w) * np.sin(3 * w * t)
    q -= b1 / w * np.cos(w * t) + b3 / (3 * w) * np.cos(3 * w * t)
    assert family.curve(delta).motion([t]).q[0, 0] == pytest.approx(q)
    assert Fourier(8.0, 3).numbers == (1, 2, 3)
    assert Fourier(8.0, [5, 1]).numbers == (1, 5)


def test_bspline_passes_its_waypoints_and_rackls_counts() -> None:
    rng = np.random.default_rng(0)
    for degree in (4, 5):
        family = BSpline(9.0, 6, degree)
        assert family.coefficients == 11  # six segments: eleven control points
        points = rng.standard_normal((3, 7))
        curve = family.curve(family.interpolate(points))
        assert curve.motion(family.waypoint_times).q == pytest.approx(points.T)
        assert family.free @ points.T == pytest.approx(family.interpolate(points).T)
        ends = curve.motion([0.0, 9.0])
        assert np.abs([ends.qd, ends.qdd]).max() < 1e-9
    assert len(BSpline(9.0, 6, 4)._spline.t) == 16  # n + 2p + 2
    spline = BSpline(9.0, 6, 4).curve(BSpline(9.0, 6, 4).interpolate(points))
    assert (
        np.abs(spline.jumps(3)).max(axis=1, initial=0.0) < 1e-9 * spline.extremum(3).size
    ).all()  # degree 4: the jerk is continuous
    assert np.abs(spline.motion([0.0]).qdd).max() < 1e-9
    with pytest.raises(MotionError, match=r"expected \(n, 7\)"):
        family.interpolate(np.zeros((3, 6)))


def test_quintic_is_equation_28() -> None:
    family = Quintic((0.0, 1.6), at_rest_ends=False)
    qa, qb, va, vb = 0.3, -0.8, 0.5, 0.9
    (c,) = family.curve([qa, qb, va, vb]).pieces[0].coefficients[0]  # type: ignore[attr-defined]
    u, travel = 1.6, qb - qa
    a3 = 10 * travel / u**3 - (6 * va + 4 * vb) / u**2
    a4 = -15 * travel / u**4 + (8 * va + 7 * vb) / u**3
    a5 = 6 * travel / u**5 - 3 * (va + vb) / u**4
    assert c == pytest.approx([qa, va, 0.0, a3, a4, a5])


def test_acceleration_sequence_integrates_its_nodes() -> None:
    family = AccelerationSequence(6.0, 12)
    delta = np.random.default_rng(1).standard_normal(family.coefficients)
    curve = family.curve(delta)
    assert curve.motion(np.linspace(0, 6, 13)).qdd[:, 0] == pytest.approx(delta[1:])
    time = np.linspace(0, 6, 60_001)
    sampled = curve.motion(time)
    qdd = np.interp(time, np.linspace(0, 6, 13), delta[1:])
    qd = np.concatenate([[0], np.cumsum(0.5 * (qdd[1:] + qdd[:-1]) * np.diff(time))])
    q = delta[0] + np.concatenate([[0], np.cumsum(0.5 * (qd[1:] + qd[:-1]) * np.diff(time))])
    assert sampled.qd[:, 0] == pytest.approx(qd, abs=1e-9)
    assert sampled.q[:, 0] == pytest.approx(q, abs=1e-7)


def test_a_chirp_sweeps_its_frequency() -> None:
    """Beside the sine itself, whose phase is the integral of an exponential; joints may take turns."""
    family = Chirp(8.0, 0.5, 4.0, fall=1.0, rise=0.1)
    time = np.linspace(0.8, 7.2, 4001)  # where it has its full amplitude
    frequency = 0.5 * 8.0 ** (time / 8.0)
    phase = 2 * np.pi * 0.5 * 8.0 / np.log(8.0) * (8.0 ** (time / 8.0) - 1.0)
    wave = 0.2 + 0.3 * 0.5 / frequency * np.cos(phase)
    assert np.abs(family.curve([0.2, 0.0, 0.3]).motion(time).q[:, 0] - wave).max() < 1e-5
    turns = Chirp(9.0, 0.5, 2.0, sweeps=3)
    q = turns.curve(np.hstack([np.ones((3, 1)), np.kron(np.eye(3), [1.0, 0.0])])).motion(np.linspace(0, 9, 91)).q
    assert [set(np.flatnonzero(np.abs(one - 1.0) > 1e-12) // 30) for one in q.T] == [{0}, {1}, {2}]


def test_steps_hold_their_levels() -> None:
    family = Steps((0.4, 0.7), (0.5, 0.2, 1.1))
    assert family.duration == pytest.approx(2.9)
    at = [0.0, 0.5, 0.7, 0.9, 1.1, 1.45, 1.8, 2.9]
    assert family.curve([1.0, 3.0, 2.0]).motion(at).q[:, 0] == pytest.approx([1, 1, 2, 3, 3, 2.5, 2, 2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Chirp(10.0, 2.0, 1.0), "give lowest ≤ highest"),
        (lambda: Chirp(1000.0, 0.1, 50.0), "cycles of a swept sine; at most 827 are allowed"),
        (lambda: Chirp(sweeps=0), "sweeps is 0; give a whole number ≥ 1"),
        (lambda: Steps((0.5,), (1.0,)), "give one hold more than rises"),
        (lambda: Steps((0.0,), (1.0, 1.0)), "rises"),
        (lambda: Steps((1.0,) * 1000, (0.0,) * 1001), "1000 steps; at most 499"),
        (lambda: Steps.even(1.0, 5, 0.5), "take more than 1 s"),
        (lambda: Fourier(-1.0), r"period is -1.0; give a number ≥ 0.001"),
        (lambda: Fourier(harmonics=()), "give how many, a whole number ≥ 1"),
        (lambda: Fourier(harmonics=(1, 1)), "list of different ones"),
        (lambda: Fourier(harmonics=(0, 1)), "list of different ones"),
        (lambda: Fourier(harmonics=(1, 2.5)), "list of different ones"),
        (lambda: Fourier(harmonics=(3,), at_rest=True), "two or more"),
        (lambda: BSpline(0.0), "duration is 0.0; give a number ≥ 0.001"),
        (lambda: BSpline(degree=3), "degree is 3; give a whole number ≥ 4, at most 5"),
        (lambda: BSpline(segments=0), "segments is 0; give a whole number ≥ 1"),
        (lambda: BSpline(segments=2.5), "whole number"),
        (lambda: BSpline(variables="knots"), "allowed are waypoints, control"),
        (lambda: Quintic((0.0,)), "two or more"),
        (lambda: Quintic((0.0, 2.0, 1.0)), "increasing"),
        (lambda: Quintic((0.5, 2.0)), "from 0"),
        (lambda: Quintic.even(np.inf, 3), "duration is inf; give a number ≥ 0.001"),
        (lambda: Quintic.even(1.0, 0), "segments is 0; give a whole number ≥ 1"),
        (lambda: Quintic.even(1.0, 2).with_duration(0.0), "increasing"),
        (lambda: AccelerationSequence(1.0, 2), "intervals is 2; give a whole number ≥ 3"),
        (lambda: AccelerationSequence(np.nan), "duration is nan; give a number"),
        (
            lambda: trajectory_from({"family": "wavelet"}),
            "family is 'wavelet'; allowed are fourier, bspline",
        ),
        (lambda: trajectory_from({"family": "bspline", "duration": "long"}), "duration is 'long'; give a number ≥"),
        (lambda: trajectory_from({"family": "quintic"}), "trajectory has no times"),
        (lambda: BSpline(1.0, 3).curve(np.zeros((2, 7))), r"\(n, 8\)"),
    ],
)
def test_bad_settings_are_refused(make: object, message: str) -> None:
    with pytest.raises(ExciterError, match=message):
        make()  # type: ignore[operator]


# -- ramps ------------------------------------------------------------------------------------------------------


def near_limit_series(seed: int) -> tuple[Fourier, Array]:
    """A series of the Panda at 98 % of one limit of every joint, about the middle of its range."""
    robot, family = embedded.robot("panda"), Fourier(10.0, 5)
    rng = np.random.default_rng(seed)
    delta = np.column_stack([rng.standard_normal((7, 10)), np.zeros(7)])
    curve, (lower, upper) = family.curve(delta), robot.position_range()
    limits = [0.5 * (upper - lower), *(robot.limit(name) for name in ("velocity", "acceleration", "jerk"))]
    factor = np.min([limit / curve.extremum(k).size for k, limit in enumerate(limits)], axis=0)
    return family, 0.98 * factor[:, None] * delta + family.still(0.5 * (lower + upper))


def assert_within_limits(curve: Curve, robot: object) -> None:
    reached = [curve.extremum(k) for k in range(4)]
    assert (reached[0].lowest >= robot.limit("lower") - 1e-9).all()  # type: ignore[attr-defined]
    assert (reached[0].highest <= robot.limit("upper") + 1e-9).all()  # type: ignore[attr-defined]
    for order, name in ((1, "velocity"), (2, "acceleration"), (3, "jerk")):
        assert (reached[order].size <= robot.limit(name) * (1 + 1e-9)).all()  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("posture", [None, "middle", "aside"])
def test_ramps_lead_from_rest_to_rest_within_limits(seed: int, posture: str | None) -> None:
    robot = embedded.robot("panda")
    family, delta = near_limit_series(seed)
    lower, upper = robot.position_range()
    start = {None: None, "middle": 0.5 * (lower + upper), "aside": 0.6 * lower + 0.4 * upper}[posture]
    curve = ramped(family, delta, robot, periods=2, ramps=Ramps(start=start, end=start))
    assert_within_limits(curve, robot)
    ends = curve.motion([0.0, curve.end])
    assert np.abs([ends.qd, ends.qdd]).max() < 1e-9
    if start is not None:
        assert ends.q == pytest.approx(np.stack([start, start]))
    into, series, out = curve.pieces
    assert curve.end == pytest.approx(20.0 + np.ptp(into.knots) + np.ptp(out.knots))
    assert np.abs(curve.jumps(2)).max(axis=1, initial=0.0) == pytest.approx(0.0, abs=1e-9)
    # in between it is the series itself, from some phase on
    time = np.linspace(*series.knots, 50)
    phase = time - series.phase_time  # type: ignore[attr-defined]
    assert curve.motion(time).q == pytest.approx(
        motion(family, delta, np.sort(phase % 10.0)).q[np.argsort(np.argsort(phase % 10.0))], abs=1e-9
    )


def test_ramps_stay_within_positions_that_the_series_just_fills() -> None:
    family, delta = near_limit_series(1)
    reached = family.curve(delta).extremum(0)
    robot = embedded.robot("panda").with_limits(lower=reached.lowest - 1e-3, upper=reached.highest + 1e-3)
    for ramps in (Ramps(), Ramps(start=reached.highest), Ramps(end=0.9 * reached.lowest + 0.1 * reached.highest)):
        curve = ramped(family, delta, robot, ramps=ramps)
        assert_within_limits(curve, robot)
        free = [p for p, given in ((curve.pieces[0], ramps.start), (curve.pieces[2], ramps.end)) if given is None]
        for piece in free:  # a posture of our choice: the velocity is a cubic
            quartic, quintic = np.abs(piece.coefficients[:, 0, 4:]).T  # type: ignore[attr-defined]
            assert (quintic * np.ptp(piece.knots) <= 1e-9 * (1 + quartic)).all()


def test_what_rests_needs_no_ramp_unless_it_starts_elsewhere() -> None:
    robot = random_robot(0, 3, prismatic=0.0).with_limits(jerk=40.0)
    for family in (BSpline(8.0, 5), Quintic.even(8.0, 4), Fourier(9.0, 4, at_rest=True), AccelerationSequence(8.0, 12)):
        delta = 0.1 * some(family)
        alone = ramped(family, delta, robot)
        assert len(alone.pieces) == 1
        twice = ramped(family, delta, robot, periods=2)
        assert twice.duration >= 2 * family.duration - 1e-9
        away = ramped(family, delta, robot, ramps=Ramps(start=(1.0, -1.0, 0.5), end=(0.0, 0.0, 0.0)))
        assert away.motion([0.0]).q[0] == pytest.approx([1.0, -1.0, 0.5])
        assert away.motion([away.end]).q[0] == pytest.approx(np.zeros(3), abs=1e-9)
        lead = Curve((away.pieces[0],))
        travel = np.abs(np.diff(lead.motion([0.0, lead.end]).q, axis=0)[0])
        # closed form of a rest-to-rest quintic: peaks 15/8, 10/√3 and 60 times A/D, A/D², A/D³
        quickest = max(
            (15 / 8 * travel / robot.limit("velocity")).max(),
            np.sqrt(10 / np.sqrt(3) * travel / robot.limit("acceleration")).max(),
            np.cbrt(60 * travel / robot.limit("jerk")).max(),
        )
        assert lead.duration == pytest.approx(quickest, rel=1e-6)
        assert np.isfinite(away.extremum(3).size).all()


def test_a_quintic_that_starts_moving_gets_ramps_too() -> None:
    robot = random_robot(0, 3, prismatic=0.0)
    family = Quintic((0.0, 1.0, 2.0), at_rest_ends=False)
    curve = ramped(family, 0.2 * some(family), robot)
    assert len(curve.pieces) == 3
    assert np.abs(curve.motion([0.0, curve.end]).qd).max() < 1e-9


def test_a_refused_ramp_is_tried_again_slower_or_elsewhere() -> None:
    robot = embedded.robot("panda")
    family, delta = near_limit_series(0)
    quick = ramped(family, delta, robot)
    seen: list[float] = []

    def gentle(curve: Curve) -> bool:
        seen.append(curve.duration)
        return curve.duration > quick.duration + 1.0

    slow = ramped(family, delta, robot, allowed=gentle)
    assert slow.duration > quick.duration + 1.0
    assert seen == sorted(seen)
    assert seen[0] == pytest.approx(quick.duration)
    with pytest.raises(MotionError, match="break another limit"):
        ramped(family, delta, robot, allowed=lambda curve: False)
    rest = BSpline(8.0, 5)
    arm = random_robot(0, 3, prismatic=0.0)
    from_home = Ramps(start=(1.0, -1.0, 0.5))
    quickest = ramped(rest, 0.1 * some(rest), arm, ramps=from_home).duration
    slow = ramped(rest, 0.1 * some(rest), arm, ramps=from_home, allowed=lambda c: c.duration > quickest + 2.0)
    assert slow.duration > quickest + 2.0


def test_ramps_that_cannot_be_are_refused() -> None:
    robot = embedded.robot("panda")
    family, delta = near_limit_series(0)
    with pytest.raises(MotionError, match=r"no ramp of 0\.01 to 0\.02 s"):
        ramped(family, delta, robot, ramps=replace(Ramps(), shortest=0.01, longest=0.02))
    with pytest.raises(MotionError, match="outside its range"):
        ramped(family, delta, robot, ramps=Ramps(start=np.full(7, 5.0)))
    with pytest.raises(MotionError, match="a posture of 3 joints"):
        ramped(family, delta, robot, ramps=Ramps(end=np.zeros(3)))
    with pytest.raises(MotionError, match="0 periods"):
        ramped(family, delta, robot, periods=0)
    with pytest.raises(MotionError, match="shortest ≤ longest"):
        Ramps(shortest=3.0, longest=1.0)


def test_joints_have_the_harmonics_that_are_said_of_them() -> None:
    """By name, whatever the order; every joint alone is the series that has only these."""
    family = Fourier(6.0, {"b": (7, 3), "a": 2, "c": 4}, at_rest=True).of_joints(("a", "b", "c"))
    assert list(family.harmonics.items()) == [("a", 2), ("b", (3, 7)), ("c", 4)]
    assert family.numbers == (1, 2, 3, 4, 7)
    shares = family.shares(3)
    assert shares is not None
    for own, share, k in (((1, 2), shares[0], 0), ((3, 7), shares[1], 1), ((1, 2, 3, 4), shares[2], 2)):
        alone = Fourier(6.0, own, at_rest=True)
        assert share.shape == (family.free.shape[1], alone.free.shape[1])
        assert share.T @ share == pytest.approx(np.eye(share.shape[1]))
        delta = family.random(np.random.default_rng(k), 3)
        place = [family.labels.index(label) for label in alone.labels]
        assert not np.delete(delta[k], place).any()
        time = np.linspace(0.0, 6.0, 50)
        mine, other = motion(family, delta, time), motion(alone, delta[k, place], time)
        for part in ("q", "qd", "qdd"):
            assert getattr(mine, part)[:, k] == pytest.approx(getattr(other, part)[:, 0], abs=1e-12)
        assert family.nearest(delta) == pytest.approx(delta, abs=1e-12)
    with pytest.raises(MotionError, match="harmonics that joint 'a' has not"):
        family.curve(np.ones((3, family.coefficients)))
    with pytest.raises(MotionError, match="harmonics of 3 joints, and coefficients of 2"):
        family.curve(np.zeros((2, family.coefficients)))


@pytest.mark.parametrize(
    ("harmonics", "message"),
    [
        ({"a": 2, "b": 2}, "say nothing of joint 'c'"),
        ({"a": 2, "b": 2, "c": 2, "d": 2}, "unknown joint 'd'"),
        ({"a": 2, "b": 2, "c": 0}, "harmonics: c is 0; give how many"),
        ({"a": 2, "b": 2, "c": (1, 1)}, "harmonics: c is"),
        ({"a": 2, "b": 2, "c": 1}, "one harmonic of joint 'c' that starts at rest cannot move"),
        ({}, "harmonics is {}"),
    ],
)
def test_harmonics_that_no_joint_has_are_refused(harmonics, message) -> None:
    with pytest.raises(ExciterError, match=message):
        Fourier(5.0, harmonics, at_rest=True).of_joints(("a", "b", "c"))
