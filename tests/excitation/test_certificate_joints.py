"""Verdicts about positions, velocities, accelerations and jerks, and about rest at both ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import LimitVerdict
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.robot import Robot
from exciter.robot import embedded_robots as embedded
from support.certificates import resting
from support.robots import random_robot, with_default_accelerations


def one_joint(**limits: float) -> Robot:
    """All limits infinite unless given."""
    free = {"lower": -np.inf, "upper": np.inf, **dict.fromkeys(("velocity", "acceleration", "jerk"), np.inf)}
    return random_robot(4, 1, prismatic=0.0).with_limits(**{**free, **limits})


def only(robot: Robot, curve: Curve, *, upper: bool = True) -> LimitVerdict:
    [verdict] = [limit for limit in certify(robot, curve).limits if limit.upper == upper]
    return verdict


def test_joint_limits_are_judged_by_exact_extrema() -> None:
    """Closed form of the quintic from rest to rest: |q̇| = 15/8 w/T, |q̈| = 10/√3 w/T², |q⃛| = 60 w/T³."""
    way, period = 0.5, 2.0
    exact = {
        "velocity": 15 / 8 * way / period,
        "acceleration": 10 / np.sqrt(3) * way / period**2,
        "jerk": 60 * way / period**3,
    }
    robot = embedded.robot("panda").with_limits(lower=-1e-3, upper=way, **exact, torque=np.inf)
    certificate = certify(robot, resting())
    assert certificate.certified
    assert len(certificate.limits) == 7 * 5
    for limit in certificate.limits:
        if limit.what != "position":
            assert limit.reached == pytest.approx(exact[limit.what], rel=1e-9)
            assert limit.margin == pytest.approx(0.0, abs=1e-9)
    broken = certify(robot.with_limits(velocity=exact["velocity"] * (1 - 1e-7)), resting())
    assert {limit.what for limit in broken.limits if limit.status == "broken"} == {"velocity"}
    assert broken.worst is not None
    assert broken.worst.at == pytest.approx(1.0, abs=1e-6)


def test_a_jump_of_acceleration_breaks_every_jerk_limit() -> None:
    q = np.array([[0.0], [0.3], [0.1]])
    curve = Curve((PolynomialPiece.from_samples([0.0, 1.0, 2.0], q, np.array([[0.0], [0.4], [0.0]])),))
    robot = random_robot(4, 1, prismatic=0.0).with_limits(jerk=1e6)
    [jerk] = [limit for limit in certify(robot, curve).limits if limit.what == "jerk"]
    assert jerk.status == "broken"
    assert jerk.at == 1.0
    assert certify(robot.with_limits(jerk=np.inf), curve).certified


@pytest.mark.parametrize("lower", [-np.inf, -1.0, -1e3, -1e9])
def test_a_wide_range_makes_no_limit_softer(lower: float) -> None:
    """Rounding of a position has its size, not that of the range: one 3e-9 rad beyond its limit is beyond it."""
    robot = one_joint(lower=lower, upper=2.0)
    for way, status in ((2.5, "broken"), (2.0 + 3e-9, "broken"), (2.0 + 1e-12, "holds")):
        verdict = only(robot, resting(1, way))
        assert verdict.status == status
        range_ = 2.0 - lower if np.isfinite(lower) else 2 * np.pi
        room = (2.0 - way) / range_
        assert verdict.margin == pytest.approx(room if status == "broken" else 0.0, abs=1e-15)
    below = only(one_joint(lower=-2.0, upper=1e9), resting(1, -2.0 - 3e-9), upper=False)
    assert below.status == "broken"


@pytest.mark.parametrize("limit", [0.2, 1.0, 5.0])
def test_rounding_has_the_size_of_the_limit_on_either_side(limit: float) -> None:
    """1e-9, and that part of a limit beyond one."""
    part = 1e-9 * max(1.0, limit)
    for size, status in ((0.8, "holds"), (1.2, "broken")):
        for sign in (1.0, -1.0):
            way = sign * (limit + size * part)
            robot = one_joint(lower=-limit if sign < 0 else -1e3, upper=limit if sign > 0 else 1e3)
            assert only(robot, resting(1, way), upper=sign > 0).status == status


@pytest.mark.parametrize("what", ["position", "velocity", "acceleration", "jerk"])
@pytest.mark.parametrize("joint", [0, 2])
def test_a_limit_of_one_joint_alone_is_judged(what: str, joint: int) -> None:
    """The others having none is no reason to look away; on either side of zero."""
    free = dict.fromkeys(("velocity", "acceleration", "jerk", "torque", "upper"), np.inf)
    robot = random_robot(4, 3, prismatic=0.0).with_limits(**free, lower=-np.inf)
    values = np.full(3, np.inf)
    values[joint] = 0.1
    limits = {"lower": -values, "upper": values} if what == "position" else {what: values}
    for way in (0.5, -0.5):
        found = certify(robot.with_limits(**limits), resting(3, way)).limits
        broken = [limit for limit in found if limit.status == "broken"]
        assert [(limit.what, limit.where) for limit in broken] == [(what, f"j{joint + 1}")]
        assert len(found) == (2 if what == "position" else 1)
    units = {"position": "", "velocity": "/s", "acceleration": "/s²", "jerk": "/s³"}
    for kind, length in (("revolute", "rad"), ("prismatic", "m")):
        joints = tuple(replace(j, kind=kind) for j in robot.joints)
        found = certify(replace(robot, joints=joints).with_limits(**limits), resting(3)).limits
        assert {limit.unit for limit in found} == {length + units[what]}


def test_a_narrow_range_is_judged_by_its_width() -> None:
    robot = one_joint(lower=0.0, upper=1e-3)
    for beyond, status in ((2e-12, "broken"), (5e-13, "holds")):
        assert only(robot, resting(1, 1e-3 + beyond)).status == status


def test_a_small_limit_of_velocity_is_judged_by_its_size() -> None:
    peak = 15 / 8 * 0.5 / 2.0
    for scale, kept in ((1e-6, "holds"), (1.0, "holds"), (1e4, "assumed")):  # the last is no limit of a robot
        for part, status in ((1e-8, "broken"), (1e-10, kept)):
            assert only(one_joint(velocity=scale * peak * (1 - part)), resting(1, 0.5 * scale)).status == status


@pytest.mark.parametrize("width", [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-2])
def test_a_short_span_hides_no_jump_of_acceleration(width: float) -> None:
    """Rest, a moment more of it, then q̈ = 1.2: rounding beside the short span is no excuse."""
    time, q = [0.0, 1.0, 1.0 + width, 2.0], np.array([[1.0], [1.0], [1.0], [1.2]])
    curve = Curve((PolynomialPiece.from_samples(time, q, 0 * q),))
    jerk = only(one_joint(jerk=100.0), curve)
    assert jerk.status == "broken"
    assert jerk.reached == np.inf
    assert jerk.at == time[2]


@pytest.mark.parametrize("speed", [0.0, 1e-5, 1.0])
@pytest.mark.parametrize("spacing", [1e-4, 1e-3, 1e-1])
def test_rounding_is_no_jump(speed: float, spacing: float) -> None:
    """Samples with accelerations of a smooth motion about q = 3, fast, slow, or none: the jerk stays what it is."""
    time = np.arange(0.0, 2000 * spacing, spacing)[:, None]
    q, qd, qdd = 3.0 + speed * np.sin(time), speed * np.cos(time), -speed * np.sin(time)
    curve = Curve((PolynomialPiece.from_samples(time[:, 0], q, qd, qdd),))
    rounding = 1e3 * np.finfo(float).eps / spacing**3  # what it does to the third power of a span
    assert curve.extremum(3).size[0] == pytest.approx(speed, rel=0.01, abs=rounding)


# -- limits that nobody gave ------------------------------------------------------------------------------------------


def test_an_assumed_acceleration_is_kept_but_not_counted() -> None:
    """Full speed in half a second is the tool's own guess: within it nothing is proved, beyond it is broken."""
    robot = with_default_accelerations(one_joint(velocity=1.0, lower=-1.0, upper=1.0))
    peak = 10 / np.sqrt(3) * 0.5 / 4.0
    certificate = certify(robot, resting(1))
    assert {limit.what: limit.status for limit in certificate.limits} == {
        "position": "holds",
        "velocity": "holds",
        "acceleration": "assumed",
    }
    assert certificate.certified
    assert (len(certificate.proved), len(certificate.assumed)) == (3, 1)
    tight = with_default_accelerations(one_joint(velocity=0.5 * 0.99 * peak))
    assert [v.status for v in certify(tight, resting(1)).limits if v.what == "acceleration"] == ["broken"]
    given = certify(robot.with_limits(acceleration=2.0), resting(1))
    assert {limit.status for limit in given.limits} == {"holds"}


def test_the_tightest_limit_is_one_that_somebody_gave() -> None:
    robot = with_default_accelerations(one_joint(velocity=0.5 * 1.01 * 10 / np.sqrt(3) * 0.5 / 4.0))
    [broken] = [limit for limit in certify(robot, resting(1)).limits if limit.status == "broken"]
    assert broken.what == "velocity"
    robot = with_default_accelerations(one_joint(velocity=0.5))
    certificate = certify(robot.with_limits(upper=9.0), resting(1))
    assert certificate.worst is not None
    assert certificate.worst.status == "holds"
    assert certify(robot, resting(1)).certified


# -- jumps ------------------------------------------------------------------------------------------------------------


def jumping(order: int, size: float, *, pieces: bool, offset: float = 0.0, start: float = 0.0) -> Curve:
    """Two joints that move alike; the position or velocity of the second one jumps by ``size`` after a second."""
    coefficients = np.array([[[offset, 0.2, 0.1, 0.0], [offset + 0.3, 0.4, -0.2, 0.0]]] * 2)
    coefficients[1, 1, order] += size
    knots = start + np.array([0.0, 1.0, 2.0])
    if not pieces:
        return Curve((PolynomialPiece(knots, coefficients),))
    return Curve(tuple(PolynomialPiece(knots[k : k + 2], coefficients[:, k : k + 1]) for k in range(2)))


def jumps_of(curve: Curve, robot: Robot | None = None) -> list[LimitVerdict]:
    robot = random_robot(4, 2, prismatic=0.0) if robot is None else robot
    return [limit for limit in certify(robot, curve).limits if limit.what.startswith("jump")]


@pytest.mark.parametrize("pieces", [False, True], ids=["spans of one piece", "two pieces"])
@pytest.mark.parametrize(("order", "what", "unit"), [(0, "position", "rad"), (1, "velocity", "rad/s")])
@pytest.mark.parametrize("size", [-1.0, 1e-3, 3e-9])
def test_a_jump_of_position_or_velocity_is_a_broken_limit(
    pieces: bool, order: int, what: str, unit: str, size: float
) -> None:
    """Whatever else is limited: this robot knows of no limit at all."""
    free = dict.fromkeys(("velocity", "acceleration", "jerk", "torque", "upper"), np.inf)
    robot = random_robot(4, 2, prismatic=0.0).with_limits(**free, lower=-np.inf)
    assert certify(robot, jumping(order, 0.0, pieces=pieces)).limits == ()
    certificate = certify(robot, jumping(order, size, pieces=pieces))
    assert not certificate.certified
    [jump] = certificate.limits
    assert (jump.what, jump.where, jump.unit, jump.status) == (
        f"jump of {what}",
        robot.joint_names[1],
        unit,
        "broken",
    )
    assert jump.at == 1.0
    assert jump.reached == pytest.approx(abs(size), rel=1e-5)
    assert 0.0 < jump.limit < jump.reached
    assert jump.margin == pytest.approx(1.0 - jump.reached / jump.limit)
    assert jump.upper


def test_what_rounding_explains_is_no_jump() -> None:
    """1e-9, what doubles of that size are off by, and what a clock that counts from 1970 is; nothing beyond."""
    for order in (0, 1):
        for size, count in ((0.9e-9, 0), (1.2e-9, 1)):
            assert len(jumps_of(jumping(order, size, pieces=False))) == count
    for size, count in ((1e-9, 0), (1e-7, 1)):  # a joint a thousand turns away knows its position to 1e-12
        assert len(jumps_of(jumping(0, size, pieces=False, offset=6e3))) == count
    for size, count in ((1e-7, 0), (1e-5, 1)):  # 2e-7 s at 0.4 rad/s
        assert len(jumps_of(jumping(0, size, pieces=True, start=1.7e9))) == count


def test_the_largest_jump_is_told() -> None:
    """Not the one that is farthest beyond rounding, of which a short span has more."""
    knots, still = [0.0, 1.0, 2.0, 2.0 + 1e-7], [[1.0, 0.0], [1.0, 1e-3], [1.001, 3e-3]]
    [jump] = jumps_of(Curve((PolynomialPiece(knots, [still]),)), one_joint())
    assert (jump.what, jump.at) == ("jump of velocity", 2.0)
    assert jump.reached == pytest.approx(2e-3)


def test_a_gap_in_time_is_no_way_around_continuity() -> None:
    """Pieces may miss each other by a billionth of their length; at that speed it must be no way worth speaking of."""
    fast, long = 1e3, 1.0
    first = PolynomialPiece([0.0, long], [[[0.0, fast]]])
    for late, count in ((0.0, 0), (9e-10, 1)):
        second = PolynomialPiece([long + late, 2 * long], [[[fast * long, fast]]])
        assert len(jumps_of(Curve((first, second)), one_joint())) == count


def test_what_is_no_number_is_a_jump() -> None:
    huge = PolynomialPiece([0.0, 10.0, 20.0], [[[0.0, 1e308, -1e308], [0.0, 0.0, 0.0]]])
    with np.errstate(over="ignore", invalid="ignore"):
        found = jumps_of(Curve((huge,)), one_joint())
    assert {jump.what for jump in found} == {"jump of position", "jump of velocity"}
    assert all(jump.reached == np.inf and jump.status == "broken" for jump in found)


# -- rest -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("height", "size"), [(1e14, 3.0), (1e9, 5e-5)])
def test_huge_positions_excuse_no_jump(height: float, size: float) -> None:
    curve = Curve((PolynomialPiece(np.array([0.0, 1.0, 2.0]), np.array([[[height], [height + size]]])),))
    assert [jump.order for jump in curve.breaks()] == [0]


def test_a_late_clock_excuses_no_jump() -> None:
    start, speed = 1e13, 0.5
    knots = start + np.array([0.0, 1.0, 2.0])
    curve = Curve((PolynomialPiece(knots, np.array([[[0.0, speed], [speed + 0.012, speed]]])),))
    assert [jump.order for jump in curve.breaks()] == [0]


def test_many_small_jumps_are_a_large_one() -> None:
    """Each below what rounding excuses beside spans this short; together 0 → 0.09 rad/s in a moment."""
    steps, width, rise = 10_000, 1e-12, 9e-7
    velocity = rise * np.arange(1, steps + 1)
    position = np.concatenate([[0.0], np.cumsum(velocity * width)[:-1]])
    knots = np.concatenate([[0.0, 1.0], 1.0 + width * np.arange(1, steps + 1)])
    spans = np.concatenate([[[0.0, 0.0]], np.stack([position, velocity], axis=1)])
    assert 1 in [jump.order for jump in Curve((PolynomialPiece(knots, spans[None]),)).breaks()]


def start_of(qd: float, qdd: float, *, end: bool) -> Curve:
    """A quintic with this velocity and acceleration at one end, and rest at the other."""
    zero, state = (0.0, 0.0, 0.0), (0.0, qd, qdd)
    samples = np.array([zero, state] if end else [state, zero])
    return Curve((PolynomialPiece.from_samples([0.0, 1.0], *samples.T[:, :, None]),))


@pytest.mark.parametrize("end", [False, True])
@pytest.mark.parametrize(
    ("limits", "qd", "qdd", "rest"),
    [
        ({}, 0.0, 0.0, True),
        ({}, 1e-3, 0.0, False),
        ({}, 0.0, 0.1, False),
        ({}, 1e-8, 1e-6, True),
        ({"velocity": 10.0}, 5e-6, 0.0, True),
        ({"velocity": 10.0}, -2e-5, 0.0, False),
        ({"acceleration": 20.0}, 0.0, -0.01, True),
        ({"acceleration": 20.0}, 0.0, -0.03, False),
        ({}, 1e-6, 0.0, True),  # slow joints: of 1 rad/s and 1 rad/s² …
        ({}, 1.01e-6, 0.0, False),
        ({}, 0.0, 1e-3, True),
        ({}, 0.0, 1.01e-3, False),
        ({"velocity": 0.25}, 0.25e-6, 0.0, True),  # … unless a limit says what is fast
        ({"velocity": 0.25}, 0.26e-6, 0.0, False),
        ({"acceleration": 8.0}, 0.0, 8e-3, True),
        ({"acceleration": 8.0}, 0.0, 8.1e-3, False),
        ({"velocity": 1e8}, 0.9e-4, 0.0, True),  # what is no limit excuses nothing
        ({"velocity": 1e8}, 1.1e-4, 0.0, False),
        ({"acceleration": 1e8}, 0.0, 0.09, True),
        ({"acceleration": 1e8}, 0.0, 0.11, False),
    ],
)
def test_rest_is_said_of_either_end_and_changes_no_verdict(
    limits: dict[str, float], qd: float, qdd: float, rest: bool, end: bool
) -> None:
    certificate = certify(one_joint(**limits), start_of(qd, qdd, end=end))
    here, there = certificate.starts_at_rest, certificate.ends_at_rest
    assert (there if end else here) == rest
    assert here if end else there
    assert certificate.certified
    said = certificate.to_dict()
    assert (said["starts_at_rest"], said["ends_at_rest"]) == (here, there)


@pytest.mark.parametrize("end", [False, True])
def test_a_motion_to_be_run_from_rest_must_not_jump_into_it(end: bool) -> None:
    """By velocity; by acceleration where the jerk is limited, because only there does a step of it break a limit."""
    limits = {"velocity": 10.0, "acceleration": 20.0}
    word = f"{'to' if end else 'from'} rest"
    for jerk, qd, qdd, found in (
        (np.inf, -2e-5, 0.0, "velocity"),
        (np.inf, 9e-6, 0.0, None),
        (np.inf, 0.0, 1.0, None),
        (1e4, 0.0, 0.021, "acceleration"),
        (1e4, 0.0, 0.019, None),
    ):
        curve = start_of(qd, qdd, end=end)
        certificate = certify(one_joint(**limits, jerk=jerk), curve, from_rest=True)
        broken = [(limit.what, limit.at, limit.reached) for limit in certificate.limits if limit.status == "broken"]
        size = pytest.approx(abs(qd if found == "velocity" else qdd))
        assert broken == ([] if found is None else [(f"jump of {found} {word}", 1.0 * end, size)])
        assert certificate.certified is (found is None)
        assert certify(one_joint(**limits, jerk=jerk), curve).certified


def test_a_jump_is_told_by_its_size_and_by_what_rounding_explains() -> None:
    told = LimitVerdict.jump("velocity", "j", "rad/s", allowed=0.1, size=0.5, at=2.0)
    assert told == LimitVerdict(
        "jump of velocity", "j", "rad/s", 0.1, 0.5, 0.5, pytest.approx(-4.0), 2.0, "broken", True
    )
    assert LimitVerdict.jump("position", "j", "m", allowed=0.0, size=1e-30, at=0.0).margin == -np.inf


def test_the_margin_of_a_limit_that_is_kept_is_a_part_of_its_range() -> None:
    """Of 0 … 4 rad, 3 rad: a quarter."""
    q = np.array([[1.0], [3.0]])
    curve = Curve((PolynomialPiece.from_samples([0.0, 5.0], q, 0 * q, 0 * q),))
    limits = certify(one_joint(lower=0.0, upper=4.0), curve).limits
    assert [limit.margin for limit in limits] == pytest.approx([0.25, 0.25])


def test_rest_of_a_fast_joint_without_limits_is_measured_by_what_it_reaches() -> None:
    """A quintic over 8 rad in 1 s: 15 rad/s and some 46 rad/s² at most."""
    for qd, qdd, rest in ((1.49e-5, 0.0, True), (1.52e-5, 0.0, False), (0.0, 0.045, True), (0.0, 0.048, False)):
        q, v, a = np.array([[0.0], [8.0]]), np.array([[qd], [0.0]]), np.array([[qdd], [0.0]])
        curve = Curve((PolynomialPiece.from_samples([0.0, 1.0], q, v, a),))
        certificate = certify(one_joint(), curve)
        assert (certificate.starts_at_rest, certificate.ends_at_rest) == (rest, True)


def test_one_moving_joint_is_enough() -> None:
    q, qd = np.zeros((2, 3)), np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
    curve = Curve((PolynomialPiece.from_samples([0.0, 1.0], q, qd, 0 * q),))
    certificate = certify(embedded.robot("kuka-ir361"), curve)
    assert (certificate.starts_at_rest, certificate.ends_at_rest) == (False, True)


def test_a_file_without_accelerations_still_starts_at_rest() -> None:
    """Interpolated with cubics of 10 ms it has a little acceleration at both ends, where the motion itself has none."""
    time = np.linspace(0.0, 2.0, 201)
    motion = resting().motion(time)
    file = Curve((PolynomialPiece.from_samples(time, motion.q, motion.qd),))
    assert np.abs(file.derivatives(np.array([0]), np.array([0.0]), 2)[2]).min() > 5e-5
    certificate = certify(embedded.robot("panda"), file)
    assert certificate.starts_at_rest
    assert certificate.ends_at_rest
