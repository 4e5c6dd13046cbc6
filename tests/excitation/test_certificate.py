"""Certificates: bounds hold, are tight where they should be, and verdicts are right; oracles are Pinocchio and coal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.errors import MotionError
from exciter.excitation.certificate.adaptive import CertificateEffort, certify
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.collision import Block, CapsuleDistance, Round, Wall
from exciter.excitation.constraints.constraint import AnyOf
from exciter.excitation.constraints.mesh import MeshDistance
from exciter.excitation.constraints.torque_limits_and_bounds import Body, TorqueLimits, rigid_torque
from exciter.excitation.constraints.workspace import Box, HalfSpace, OutsideCylinder
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.parameters import terms as t
from exciter.parameters.terms.term import Interval, Ranges, cosine, times
from exciter.robot import Motion, Robot
from exciter.robot import embedded_robots as embedded
from exciter.robot.geometry import Shape
from exciter.robot.jets import product, turning
from exciter.robot.pinocchio_model import to_pinocchio
from support.certificates import Array, even_spans, fourier, inside, resting
from support.joint_terms import ARM, LOAD, TERMS
from support.robots import CASES, random_robot
from support.scripts import benchmark

pytestmark = pytest.mark.slow

soundness = benchmark("certificate_soundness")
import soundness_files  # noqa: E402  (beside the script, which makes it known)

# -- pieces ---------------------------------------------------------------------------------------------------------


def test_jets_are_the_rule_of_leibniz() -> None:
    """For e^{2t} and e^{3t} at t = 0 the jets are exact: 2ᵏ, 3ᵏ and 5ᵏ."""
    two, three = (np.array([[float(b**k)] for k in range(5)]) for b in (2, 3))
    np.testing.assert_allclose(product(two, three, 4)[:, 0], [1, 5, 25, 125, 625])


def test_jets_of_what_turns_are_reached() -> None:
    """About a fixed axis at speed 3, differences of R x̂ and of R D Rᵀ: the bounds are the true derivatives."""
    steady, h = np.array([[3.0], [0.0], [0.0], [0.0]]), 1e-2

    def rotation(time: float) -> Array:
        c, s = np.cos(3.0 * time), np.sin(3.0 * time)
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])

    vectors = np.array([rotation(k * h)[:, 0] for k in range(-2, 3)])
    matrices = np.array([rotation(k * h) @ np.diag([1.0, -1.0, 0.0]) @ rotation(k * h).T for k in range(-2, 3)])
    for order in range(1, 5):
        vector, matrix = (np.diff(x, order, axis=0)[0] / h**order for x in (vectors, matrices))
        assert np.linalg.norm(vector) == pytest.approx(turning(steady)[order, 0], rel=5e-3)
        assert np.linalg.norm(matrix, 2) == pytest.approx(turning(steady, 2.0)[order, 0], rel=5e-3)


@pytest.mark.parametrize("name", ["panda", "gantry", "two-arms", "random-tree"])
def test_kinematics_at_the_ends_are_pinocchios(name: str) -> None:
    robot = CASES[name]()
    spans = even_spans(fourier(robot.n), 5)
    chain = Dynamics(robot).chain
    links, model = spans.links(chain), to_pinocchio(robot)
    data = model.createData()
    for k in range(10):
        q, qd, qdd = (x[k] for x in (spans.ends.q, spans.ends.qd, spans.ends.qdd))
        pin.forwardKinematics(model, data, q, qd, qdd)
        for i in range(robot.n):
            velocity = pin.getVelocity(model, data, i + 1, pin.LOCAL_WORLD_ALIGNED)
            moved = pin.getClassicalAcceleration(model, data, i + 1, pin.LOCAL_WORLD_ALIGNED)
            np.testing.assert_allclose(links[i].origin[:, k], data.oMi[i + 1].translation, atol=1e-12)
            np.testing.assert_allclose(links[i].omega[:, k], velocity.angular, atol=1e-12)
            np.testing.assert_allclose(links[i].alpha[:, k], moved.angular, atol=1e-11)
            np.testing.assert_allclose(links[i].acceleration[:, k], moved.linear, atol=1e-11)


@pytest.mark.parametrize("name", ["panda", "gantry", "random-tree", "random-serial"])
def test_derivatives_of_the_links_stay_below_their_bounds(name: str) -> None:
    """Differences of Pinocchio's ω and of a point's acceleration, up to the fourth derivative of its position."""
    robot = CASES[name]()
    curve = fourier(robot.n, 1)
    chain, spans = Dynamics(robot).chain, even_spans(curve, 40)
    links, h = spans.links(chain), 2e-3
    middle = 0.5 * (spans.start + spans.end)
    moments = [
        even_spans_at(curve, middle + k * h).links(chain) for k in (-1, 0, 1)
    ]  # ends of these hold the motion at the times themselves
    for i in range(robot.n):
        alpha = [moment[i].alpha[:, ::2] for moment in moments]
        acceleration = [moment[i].acceleration[:, ::2] for moment in moments]
        for at, bound in ((moments[1][i].omega[:, ::2], links[i].omega_jet[0]), (alpha[1], links[i].omega_jet[1])):
            assert (np.linalg.norm(at, axis=0) <= bound * (1 + 1e-9) + 1e-12).all()
        for values, bounds in ((alpha, links[i].omega_jet[1:]), (acceleration, links[i].moved)):
            slope, bend = (values[2] - values[0]) / (2 * h), (values[2] - 2 * values[1] + values[0]) / h**2
            assert (np.linalg.norm(values[1], axis=0) <= bounds[0] * (1 + 1e-9) + 1e-9).all()
            assert (np.linalg.norm(slope, axis=0) <= bounds[1] * 1.001 + 1e-6).all()
            assert (np.linalg.norm(bend, axis=0) <= bounds[2] * 1.001 + 1e-4).all()


def even_spans_at(curve: Curve, time: Array) -> Spans:
    """Very short intervals that begin at given times."""
    return Spans.of(curve, np.zeros(len(time), dtype=int), time, time + 1e-9)


# -- torque ---------------------------------------------------------------------------------------------------------


def rnea(robot: Robot, motion: Motion) -> Array:
    model = to_pinocchio(robot)
    data = model.createData()
    samples = zip(motion.q, motion.qd, motion.qdd, strict=True)
    return np.array([pin.rnea(model, data, *sample) for sample in samples]).T


def deviation(robot: Robot, curve: Curve, count: int) -> Array:
    """(n, M): largest distance from the chord by Pinocchio, as part of what the bound of the curvature allows."""
    dynamics = DynamicModel(robot).dynamics
    spans = even_spans(curve, count)
    ends, curvature = rigid_torque(dynamics.chain, dynamics.chain_inertias(None), spans)
    np.testing.assert_allclose(ends, rnea(robot, spans.ends), atol=1e-9, rtol=1e-9)
    fraction, motion = inside(spans, curve)
    chord = ends[:, 0::2, None] * (1 - fraction) + ends[:, 1::2, None] * fraction
    away = np.abs(rnea(robot, motion).reshape(*chord.shape) - chord).max(axis=2)
    return away / (spans.width**2 / 8 * curvature + 1e-9)


@pytest.mark.parametrize("name", ["panda", "kuka-ir361", "gantry", "two-arms", "random-tree", "random-serial"])
def test_torque_stays_within_its_bound_of_the_chord(name: str) -> None:
    robot = CASES[name]()
    for count in (10, 60):
        assert deviation(robot, fourier(robot.n, 2), count).max() <= 1.0
        for joint in range(robot.n):
            assert deviation(robot, fourier(robot.n, 3, moving=[joint]), count).max() <= 1.0


def test_the_bound_of_single_joints_is_nearly_reached() -> None:
    """So a bound that is too small by a factor of two would be noticed by the test above."""
    found = [
        deviation(robot, fourier(robot.n, 4, moving=[joint], size=size), 40).max()
        for robot in (random_robot(1, 3, prismatic=0.0), random_robot(7, 3, prismatic=0.5), embedded.robot("panda"))
        for joint in range(robot.n)
        for size in (0.05, 0.6)
    ]
    assert np.quantile(found, 0.8) > 0.6
    assert max(found) <= 1.0


@pytest.mark.parametrize("seed", range(4))
def test_parameters_of_no_real_body_are_bounded_too(seed: int) -> None:
    """Masses zero or negative, indefinite inertias; the oracle is the NumPy engine, which needs no centre of mass."""
    rng = np.random.default_rng(seed)
    robot = random_robot(seed, 4, tree=True)
    chi = rng.standard_normal((4, 10))
    chi[0, 0] = 0.0
    dynamics = DynamicModel(robot).dynamics
    curve = fourier(4, seed, moving=None if seed % 2 else [seed])
    spans = even_spans(curve, 30)
    ends, curvature = rigid_torque(dynamics.chain, dynamics.chain_inertias(chi), spans)
    np.testing.assert_allclose(ends, dynamics.inverse_dynamics(spans.ends, chi).T, atol=1e-10)
    fraction, motion = inside(spans, curve)
    chord = ends[:, 0::2, None] * (1 - fraction) + ends[:, 1::2, None] * fraction
    away = np.abs(dynamics.inverse_dynamics(motion, chi).T.reshape(*chord.shape) - chord).max(axis=2)
    assert (away <= spans.width**2 / 8 * curvature + 1e-9).all()


def test_a_body_is_seen_from_its_centre_of_mass_unless_that_is_far_away() -> None:
    real = embedded.robot("panda").inertias[2]
    np.testing.assert_allclose(Body.of(*real).first, 0.0, atol=1e-12)
    weightless = np.array([1e-9, 0.5, 0, 0, 1, 0, 1, 0, 0, 1.0])
    np.testing.assert_array_equal(Body.of(*weightless).point, 0.0)


# -- joint terms ----------------------------------------------------------------------------------------------------


def test_interval_arithmetic() -> None:
    rng = np.random.default_rng(0)
    low = rng.uniform(-8, 8, 300)
    high = low + rng.exponential(1.5, 300)
    inner = low + (high - low) * rng.random((200, 1, 300)).reshape(200, 300)
    least, most = cosine((low, high))
    assert (least <= np.cos(inner) + 1e-15).all()
    assert (np.cos(inner) <= most + 1e-15).all()
    narrow = high - low < 0.5
    assert (most - least)[narrow].max() <= 0.5
    a, b = (low[:150], high[:150]), (low[150:], high[150:])
    least, most = times(a, b)
    values = inner[:, :150] * inner[:, 150:]
    assert (least <= values).all()
    assert (values <= most).all()


@pytest.mark.parametrize("name", list(TERMS))
def test_terms_stay_within_their_ranges(name: str) -> None:
    """Each entry: within ``value_range``, and within the chord's neighbourhood where it has a curvature."""
    bound = TERMS[name][0].bind(ARM, LOAD)
    curve = fourier(3, 5, size=1.5)
    spans = even_spans(curve, 60)
    fraction, motion = inside(spans, curve)
    values = bound.values(motion).reshape(len(bound.rows), 60, len(fraction))

    def load(links: Array | None = None) -> Interval:
        torque = LOAD.inverse_dynamics(motion, links).T.reshape(3, 60, -1)
        return torque.min(axis=2) - 1e-9, torque.max(axis=2) + 1e-9

    low, high = bound.value_range(spans.ranges, load)
    curvature = bound.curvature(spans.rates)
    smooth = np.isfinite(curvature).all(axis=1)
    known = np.isfinite(low).all(axis=1) & np.isfinite(high).all(axis=1)
    assert (smooth | known).all() == (not name.startswith("user"))
    assert (low <= values.min(axis=2) + 1e-12).all()
    assert (values.max(axis=2) <= high + 1e-12).all()
    ends = bound.values(spans.ends)[smooth]
    chord = ends[:, 0::2, None] * (1 - fraction) + ends[:, 1::2, None] * fraction
    away = np.abs(values[smooth] - chord).max(axis=2)
    assert (away <= spans.width**2 / 8 * curvature[smooth] + 1e-12).all()


@pytest.mark.parametrize("name", [n for n in TERMS if not n.startswith("user") and "dahl" not in n and "load" not in n])
def test_ranges_become_tight(name: str) -> None:
    """A thousandth of the width: at most about a hundredth of the range, where the sign does not change."""
    bound = TERMS[name][0].bind(ARM, LOAD)
    curve = fourier(3, 5, size=1.5)

    def widest(width: float) -> Array:
        start = np.linspace(0.3, 4.7, 40)
        spans = Spans.of(curve, np.zeros(40, dtype=int), start, start + width)
        low, high = bound.value_range(spans.ranges, lambda links=None: (np.zeros((3, 40)), np.ones((3, 40))))
        flat = np.isfinite(bound.curvature(spans.rates))
        return np.median(np.where(flat, 0.0, high - low), axis=1)

    assert (widest(1e-4) <= 0.011 * widest(0.1) + 1e-12).all()


def test_ranges_of_the_motion_hold() -> None:
    curve = fourier(3, 6)
    spans = even_spans(curve, 20)
    _, motion = inside(spans, curve)
    ranges: Ranges = spans.ranges
    for values, low, high in zip(
        motion.samples_last,
        (ranges.q_low, ranges.qd_low, ranges.qdd_low),
        (ranges.q_high, ranges.qd_high, ranges.qdd_high),
        strict=True,
    ):
        split = values.reshape(3, 20, -1)
        assert (low <= split.min(axis=2)).all()
        assert (split.max(axis=2) <= high).all()


# -- distances ------------------------------------------------------------------------------------------------------


def test_bounds_of_obstacles_and_bodies_hold() -> None:
    """Walls, boxes, spheres and whole bodies against dense sampling, on coarse intervals; and they become tight."""
    robot = embedded.robot("panda")
    centre, size = np.array([0.9, 0.1, 0.9]), np.array([0.2, 0.3, 0.1])
    obstacles = (
        Wall("wall", (1.0, 1.0, 0.3), -1.0),
        Block("block", centre, size, np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]),
        Round.sphere("ball", np.array([-0.7, 0.6, 1.2]), 0.1),
    )
    capsules = CapsuleDistance(robot, obstacles=obstacles)
    bodies = MeshDistance(robot, pairs=[("base", "joint_5"), ("joint_1", "joint_7")])
    curve = fourier(7, 8)
    for constraint, counts, most in ((capsules, (10, 60, 600), 0.005), (bodies, (10, 60), 2.0)):
        for count in counts:
            spans = even_spans(curve, count)
            fraction, motion = inside(spans, curve, 5)
            values = constraint.values(motion).reshape(len(constraint.rows), count, len(fraction)).min(axis=2)
            free = np.where(values > 0, values, np.inf)  # how deep bodies overlap is no distance
            gap = free - constraint.lower_bounds(spans)
            assert gap.min() >= 0.0
        assert np.median(gap[np.isfinite(gap)]) <= most


def test_bodies_approach_no_faster_than_their_bound_and_almost_as_fast() -> None:
    """A ball on a slide straight towards another, and one on a lever: half the speed would be too little."""
    for kind, axis, arm in (("prismatic", [1.0, 0, 0], [0.0, 0, 0]), ("revolute", [0, 0, 1.0], [0.0, -1.0, 0])):
        joint = replace(random_robot(0, 1).joints[0], kind=kind, axis=axis, rotation=np.eye(3), translation=np.zeros(3))
        balls = [Shape("sphere", j, (0.05,), np.eye(3), p) for j, p in ((-1, np.array([3.0, -1.0, 0])), (0, arm))]
        robot = replace(random_robot(0, 1), joints=(joint,), shapes=tuple(balls))
        constraint = MeshDistance(robot, pairs=[("base", joint.name)])
        curve = Curve((PolynomialPiece(np.array([0.0, 0.4]), np.array([[[-0.2, 1.0]]])),))
        spans = even_spans(curve, 8)
        bounds, fall = constraint.lower_bounds(spans)[0], np.diff(constraint.values(spans.ends)[0])[::2]
        least = constraint.values(spans.ends)[0].reshape(-1, 2).min(axis=1)
        assert (bounds <= least).all()
        assert (least - bounds <= 0.2 * np.abs(fall)).all()


# -- verdicts -------------------------------------------------------------------------------------------------------


def pendulum() -> tuple[Robot, Curve]:
    robot = embedded.robot("kuka-ir361").with_limits(lower=-9, upper=9, velocity=99, acceleration=999, jerk=np.inf)
    return robot, fourier(3, 9)


def test_torque_that_rises_between_samples_is_found() -> None:
    robot, curve = pendulum()
    tau = np.abs(rnea(robot, curve.motion(np.linspace(0, 5, 100_001)))).max(axis=1)
    for factor, status in ((1.0 + 1e-6, "holds"), (1.0 - 1e-6, "broken")):
        limited = robot.with_limits(torque=tau * factor)
        model = DynamicModel(limited)
        certificate = certify(limited, curve, [TorqueLimits(model, model.nominal)])  # without friction, on purpose
        worst = {}
        for limit in certificate.limits:
            if limit.what == "torque":
                worst.setdefault(limit.where, []).append(limit)
        for joint, (where, pair) in enumerate(worst.items()):
            tighter = min(pair, key=lambda limit: limit.margin)
            assert tighter.status == status, where
            assert abs(tighter.reached) == pytest.approx(tau[joint], rel=1e-5)
            if status == "broken":
                value = rnea(robot, curve.motion([tighter.at]))[joint, 0]
                assert abs(value) > tau[joint] * factor
        assert certificate.certified == (status == "holds")


def test_margins_are_close_to_the_truth() -> None:
    robot, curve = pendulum()
    tau = np.abs(rnea(robot, curve.motion(np.linspace(0, 5, 20_001)))).max(axis=1)
    limited = robot.with_limits(torque=2 * tau)
    for limit in certify(limited, curve, [TorqueLimits(DynamicModel(limited))]).limits:
        if limit.what == "torque":
            true = 1.0 - (limit.reached if limit.upper else -limit.reached) / abs(limit.limit)
            assert true - 0.02 * (1 + true) <= limit.margin <= true


def test_what_cannot_be_proved_stays_open() -> None:
    """A user's term says nothing between samples; friction with memory is bounded by its largest value."""
    robot, curve = pendulum()
    robot = robot.with_limits(torque=1e4)
    unknown = DynamicModel(robot, (t.UserTerm("Kc", robot.joint_names[0], lambda q, qd, qdd: q**3),))
    chi = np.append(unknown.nominal[:-1], 1.0)
    limits = [v for v in certify(robot, curve, [TorqueLimits(unknown, chi)]).limits if v.what == "torque"]
    assert [v.status for v in limits] == ["open", "holds", "holds"] * 2
    assert certify(robot, curve, [TorqueLimits(unknown)]).certified  # its parameter is zero
    presliding = DynamicModel(robot, (t.Coulomb(t.Dahl(1e-3)),))
    chi = np.append(presliding.nominal[:-3], [5.0, 5.0, 5.0])
    assert certify(robot, curve, [TorqueLimits(presliding, chi)]).certified


def test_effort_that_is_used_up_leaves_open() -> None:
    robot, curve = pendulum()
    tau = np.abs(rnea(robot, curve.motion(np.linspace(0, 5, 20_001)))).max(axis=1)
    limited = robot.with_limits(torque=tau * 1.001)
    torque = TorqueLimits(DynamicModel(limited))
    hasty = certify(limited, curve, [torque], CertificateEffort(grid=10, refine=0, most=25))
    assert not hasty.certified
    assert {v.status for v in hasty.limits if v.what == "torque"} == {"open"}
    assert certify(limited, curve, [torque]).certified


def test_either_of_two_constraints_is_enough() -> None:
    """Swevers' "r ≥ 0.5 m or z ≥ 1.6 m" holds although neither part does for all time."""
    robot, curve = pendulum()
    x = HalfSpace(robot, "tool", (0, 0, 1), 0.0).points(curve.motion(np.linspace(0, 5, 2001)))
    height, radius = float(np.median(x[2])), np.hypot(x[0], x[1])
    free = float(radius[x[2] <= height + 0.01].min()) - 0.01
    high, wide = HalfSpace(robot, "tool", (0, 0, 1), height), OutsideCylinder(robot, "tool", free)
    certificate = certify(robot, curve, [AnyOf((high, wide))])
    assert certificate.certified
    assert not certify(robot, curve, [high]).certified


def test_a_curve_of_another_robot_is_refused() -> None:
    robot, _ = pendulum()
    with pytest.raises(MotionError, match="7 joints"):
        certify(robot, resting())


def test_many_short_spans() -> None:
    """A file of 2000 samples, as a controller interpolates it: as good as the motion it was made from."""
    robot, curve = pendulum()
    time = np.linspace(0.0, 5.0, 2001)
    motion = curve.motion(time)
    file = Curve((PolynomialPiece.from_samples(time, motion.q, motion.qd, motion.qdd),))
    tau = np.abs(rnea(robot, motion)).max(axis=1)
    limited = robot.with_limits(torque=1.01 * tau)
    box = Box(limited, "tool", upper=(9.0, 9.0, 9.0))
    assert certify(limited, file, [TorqueLimits(DynamicModel(limited)), box]).certified


# -- attempts to break certificates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [5, 16, 22, 35, 41, 48, 59])
def test_no_certificate_can_be_broken(seed: int) -> None:
    """A sample of ``benchmarks/certificate_soundness.py``: every family, prismatic joints, trees, single joints."""
    assert soundness.trial(seed, samples=2000) == []


def test_no_file_that_jumps_is_certified() -> None:
    """150 files made by hand: spans, pieces, series, families, in any order of joints."""
    assert [line for seed in range(150) for line in soundness_files.file_trial(seed)] == []


def test_no_description_proves_more_than_it_says() -> None:
    """With and without masses and friction, whatever is to be identified, with a payload."""
    assert [line for seed in range(40) for line in soundness_files.description_trial(seed, 500)] == []


@pytest.mark.skipif(not soundness_files.MEASURES_COLLISION_SHAPES, reason="MeshDistance measures what is drawn")
def test_what_collides_is_measured_not_what_is_drawn() -> None:
    assert [line for seed in range(2) for line in soundness_files.shapes_trial(seed, 150)] == []


def test_the_attempt_finds_what_files_hide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans that are not looked at, friction that is left out, and missing data that counts: each is found out."""
    from exciter.excitation.constraints import torque_limits_and_bounds as torque

    for target, name, fake, trial in (
        (Curve, "breaks", lambda self: (), soundness_files.file_trial),
        (torque, "declared_terms", lambda robot: (), soundness_files.description_trial),
        (torque, "torque_gaps", lambda model: (), soundness_files.description_trial),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(target, name, fake)
            assert [line for seed in range(12) for line in trial(seed, 200)], name


def test_the_attempt_finds_a_bound_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the curvature of the rigid torque, or half the slack of a point, is found out by single-joint motions."""
    from exciter.excitation.constraints import torque_limits_and_bounds as torque_bound
    from exciter.excitation.constraints import workspace

    def halved(*given: object) -> tuple[Array, Array]:
        ends, curvature = rigid_torque(*given)  # type: ignore[arg-type]
        return ends, 0.5 * curvature

    def near(*given: object) -> tuple[Array, Array]:
        x, slack = moving_point(*given)  # type: ignore[arg-type]
        return x, 0.5 * slack

    moving_point, rng = workspace.moving_point, np.random.default_rng(0)
    robot = soundness.draw_robot(rng, "gantry")
    robot = replace(robot, friction={name: np.zeros(robot.n) for name in robot.friction})
    curve = fourier(robot.n, 4, moving=[1])
    motion = soundness.dense(curve, 500)

    def wrong(cases: list[object]) -> list[str]:
        return [line for case in cases for _ in range(5) for line in soundness.unsound_intervals(case, curve, rng)]

    for target, name, fake, cases in (
        (torque_bound, "rigid_torque", halved, [soundness.torque_case(robot, motion)]),
        (workspace, "moving_point", near, list(soundness.region_cases(robot, motion, rng))),
    ):
        assert not wrong(cases)
        monkeypatch.setattr(target, name, fake)
        assert wrong(cases), name
