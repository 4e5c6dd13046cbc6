"""Motions that the papers compare with: exact within joint limits, from rest to rest, and good for what they claim."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pinocchio
import pytest

from exciter.dynamics.model import DynamicModel, static_base
from exciter.errors import ExciterError
from exciter.excitation.certificate.certificate import joint_verdicts
from exciter.excitation.criteria.optimality_and_condition import ConditionNumber
from exciter.excitation.criteria.weighted_sums import Equilibrium
from exciter.excitation.experiments.four_motions import FourMotions, _exchange, draw, plan, vandanjon
from exciter.excitation.experiments.moves import ConstantVelocityMoves, constant_velocity, cruising_move, quick_move
from exciter.excitation.experiments.one_searched_motion import CosineRamp, OtaniSearch, armstrong, cosine_ramp, otani
from exciter.excitation.experiments.points import random_points
from exciter.excitation.experiments.poses import PoseSearch, select, static_poses
from exciter.excitation.experiments.segment_times import Segments, shortest_times
from exciter.excitation.trajectories.cosine_ramp import CosineRampPiece
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.piecewise import AccelerationSequence, BSpline, Quintic
from exciter.excitation.validation_motion.random_families import random_trajectory
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import Motion, Robot
from exciter.robot import embedded_robots as embedded
from exciter.robot.pinocchio_model import to_pinocchio

pytestmark = pytest.mark.slow

FAMILIES = {
    "fourier": Fourier(),
    "fourier-at-rest": Fourier(8.0, (1, 3, 4), at_rest=True),
    "bspline": BSpline(),
    "quintic": Quintic.even(10.0, 6),
    "acceleration": AccelerationSequence(10.0, 12),
}


def panda(**limits: float) -> Robot:
    return embedded.robot("panda").with_limits(**limits) if limits else embedded.robot("panda")


def assert_executable(robot: Robot, curve: Curve, *, touches: bool = False) -> None:
    """Limits hold by exact extrema and on dense samples; q̇, q̈ are derivatives; rest at both ends."""
    verdicts = joint_verdicts(robot, curve)
    assert verdicts
    assert all(verdict.status == "holds" for verdict in verdicts), min(verdicts, key=lambda v: v.margin)
    steps = np.linspace(0.0, 1.0, 60, endpoint=False)
    inside = curve.knots[:-1, None] + np.diff(curve.knots)[:, None] * steps
    time = np.append(inside.ravel(), curve.end)
    dense = curve.motion(time)
    low, high = robot.position_range()
    room = [(dense.q - low) / (high - low), (high - dense.q) / (high - low)]
    room += [1.0 - np.abs(x) / robot.limit(k) for x, k in ((dense.qd, "velocity"), (dense.qdd, "acceleration"))]
    assert min(float(x.min()) for x in room) > -1e-9
    for below, above in ((dense.q, dense.qd), (dense.qd, dense.qdd)):  # Simpson's rule against the difference
        middle = curve.motion(0.5 * (time[1:] + time[:-1]))
        inner = middle.qd if above is dense.qd else middle.qdd
        change = np.diff(time)[:, None] / 6.0 * (above[1:] + 4.0 * inner + above[:-1])
        assert np.abs(np.diff(below, axis=0) - change).max() < 1e-7
    ends = curve.motion([curve.start, curve.end])
    assert np.abs(ends.qd).max() < 1e-9
    assert np.abs(ends.qdd).max() < 1e-9
    if touches:
        assert min(abs(verdict.margin) for verdict in verdicts) < 1e-6


# -- random motions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("jerk", [np.inf, 30.0])
def test_random_trajectories_of_every_family_fill_the_limits_of_every_joint(name: str, jerk: float) -> None:
    family, robot = FAMILIES[name], panda(jerk=jerk)
    curve = family.curve(random_trajectory(family, robot, seed=3))
    verdicts = joint_verdicts(robot, curve)
    assert all(verdict.status == "holds" for verdict in verdicts)
    for joint in robot.joint_names:
        assert min(v.margin for v in verdicts if v.where == joint) == pytest.approx(0.0, abs=1e-9)
    if name != "fourier":
        assert np.abs(curve.motion([curve.start]).qd).max() < 1e-9


def test_random_trajectories_swing_about_the_posture_and_differ_by_seed() -> None:
    robot, family = panda(), Fourier()
    posture = robot.position_range()[0] + 0.3
    first = random_trajectory(family, robot, 1, posture)
    assert not np.allclose(first, random_trajectory(family, robot, 2, posture))
    assert np.array_equal(first, random_trajectory(family, robot, 1, posture))
    assert all(verdict.status == "holds" for verdict in joint_verdicts(robot, family.curve(first)))
    swing = first - family.still(posture)
    other = random_trajectory(family, robot, 1) - family.still(0.5 * np.add(*robot.position_range()))
    assert np.linalg.matrix_rank(np.vstack([swing[0], other[0]]), tol=1e-9) == 1  # the same shape, another size


def test_random_points_are_uniform_within_the_limits() -> None:
    robot = embedded.robot("gautier-khalil")
    points = random_points(robot, 20000, seed=0)
    low, high = robot.position_range()
    for values, a, b in ((points.q, low, high), (points.qd, -robot.limit("velocity"), robot.limit("velocity"))):
        share = (values - a) / (b - a)
        assert share.min() > 0 and share.max() < 1  # noqa: PT018
        assert np.allclose(np.quantile(share, [0.1, 0.5, 0.9], axis=0).T, [0.1, 0.5, 0.9], atol=0.02)


def test_a_posture_outside_the_limits_is_refused() -> None:
    with pytest.raises(ExciterError, match="not within the position limits"):
        random_trajectory(Fourier(), panda(), 0, np.full(7, 9.0))


# -- straight moves ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jerk", [np.inf, 20.0])
def test_quick_moves_take_the_shortest_time(jerk: float) -> None:
    robot = panda(jerk=jerk)
    rng = np.random.default_rng(0)
    for _ in range(10):
        points = rng.uniform(*robot.position_range(), (2, 7))
        move = quick_move(robot, *points)
        limits = (robot.limit(k) for k in ("velocity", "acceleration", "jerk"))
        searched = shortest_times(Segments.between(points, np.zeros_like(points)), *limits)[0]
        assert move.duration == pytest.approx(searched, rel=1e-6)
        assert_executable(robot, move, touches=True)
        assert quick_move(robot, *points, 0.5).duration == pytest.approx(2.0 * move.duration)


@pytest.mark.parametrize(("limits", "pace"), [({}, 1.0), ({}, 0.2), ({"jerk": 5.0}, 1.0), ({"acceleration": 0.5}, 1.0)])
def test_cruising_moves_have_constant_speed_over_half_of_the_way(limits: dict[str, float], pace: float) -> None:
    robot = panda(**limits)
    start, end = np.random.default_rng(1).uniform(*robot.position_range(), (2, 7))
    move = cruising_move(robot, start, end, pace)
    assert_executable(robot, move, touches=pace == 1.0)
    cruise = move.motion(np.linspace(*move.knots[1:3], 50))
    assert np.abs(cruise.qdd[1:-1]).max() == 0.0
    assert np.abs(np.ptp(cruise.qd, axis=0)).max() < 1e-9
    share = (cruise.q[-1] - cruise.q[0]) / (end - start)
    assert (share >= 0.5 - 1e-9).all()


# -- friction ----------------------------------------------------------------------------------------------------------


def test_friction_can_be_read_from_constant_velocities() -> None:
    """Torque at equal positions on the way there and back: half the difference is friction, whatever the weight."""
    robot = embedded.robot("panda")
    model = DynamicModel(robot, (Viscous(), Coulomb()))
    motion = constant_velocity(robot, ConstantVelocityMoves(paces=(0.2, 1.0)))
    assert_executable(robot, motion.curve)
    assert [c.joint for c in motion.cruises] == [name for name in robot.joint_names for _ in range(4)]
    chi = model.nominal.copy()
    rng = np.random.default_rng(0)
    viscous, coulomb = rng.uniform(0.5, 2.0, (2, 7))
    for j in range(7):
        chi[model.standard.index(f"Fv{j + 1}")] = viscous[j]
        chi[model.standard.index(f"Fs{j + 1}")] = coulomb[j]
    for there, back in zip(motion.cruises[::2], motion.cruises[1::2], strict=True):
        j = robot.index(there.joint)
        assert there.speed == pytest.approx(-back.speed)
        samples = [motion.curve.motion(np.linspace(c.start, c.end, 21)[1:-1]) for c in (there, back)]
        others = np.delete(np.arange(7), j)
        assert all(np.abs(m.qdd).max() < 1e-9 and np.abs(m.qd[:, others]).max() == 0.0 for m in samples)
        assert np.allclose(samples[0].qd[:, j], there.speed)
        forth, home = (model.torque(m, chi)[:, j] for m in samples)
        assert np.allclose(0.5 * (forth - home[::-1]), coulomb[j] + viscous[j] * there.speed)


def test_paces_are_shares() -> None:
    with pytest.raises(ExciterError, match="shares between 0 and 1"):
        ConstantVelocityMoves(paces=(0.5, 1.5))


# -- Otani & Kakizaki --------------------------------------------------------------------------------------------------


def random_cosine_ramp(robot: Robot, seed: int) -> CosineRamp:
    return cosine_ramp(robot, OtaniSearch(), np.random.default_rng(seed).uniform(size=(3, robot.n)))


@pytest.mark.parametrize("seed", range(5))
def test_cosine_ramps_keep_all_limits_and_swing_from_zero_to_their_speed(seed: int) -> None:
    robot = panda(jerk=3.0)
    settings = random_cosine_ramp(robot, seed)
    curve = settings.curve(robot)
    assert_executable(robot, curve)
    assert curve.duration == 10.0
    assert np.allclose(curve.extremum(1).size, settings.speed, rtol=1e-12)
    for j in range(robot.n):  # one cycle against the definition, by numerical integration of its velocity
        time = np.linspace(0.0, 1.0 / settings.frequency[j], 2001)
        speed = 0.5 * settings.speed[j] * (1.0 - np.cos(2.0 * np.pi * settings.frequency[j] * time))
        way = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(time) * (speed[1:] + speed[:-1]))])
        moved = curve.motion(time).q[:, j] - settings.start[j]
        assert np.allclose(np.abs(moved), way, atol=1e-5)


@pytest.mark.parametrize("order", range(4))
def test_extrema_and_rates_of_a_cosine_ramp_are_those_of_dense_samples(order: int) -> None:
    robot = panda()
    piece = random_cosine_ramp(robot, 7).curve(robot).pieces[0]
    assert isinstance(piece, CosineRampPiece)
    spans = len(piece.knots) - 1
    share = np.linspace(0.0, 1.0, 400)
    time = (piece.knots[:-1, None] + np.diff(piece.knots)[:, None] * share).ravel()
    span = np.repeat(np.arange(spans), len(share))
    values = piece.derivatives(span, time, order)[order]
    found = piece.extremum(order)
    scale = np.abs(values).max(axis=1)
    assert (found.highest >= values.max(axis=1) - 1e-12).all()
    assert np.allclose(found.highest / scale, values.max(axis=1) / scale, atol=2e-4)
    assert (found.lowest <= values.min(axis=1) + 1e-12).all()
    assert np.allclose(found.lowest / scale, values.min(axis=1) / scale, atol=2e-4)
    for j, (low, high) in enumerate(zip(found.lowest_at, found.highest_at, strict=True)):
        at = np.array([low, high])
        sides = [np.clip(np.searchsorted(piece.knots, at, side=s) - 1, 0, spans - 1) for s in ("left", "right")]
        reached = np.array([piece.derivatives(side, at, order)[order, j] for side in sides])  # from both sides
        assert np.abs(reached - [found.lowest[j], found.highest[j]]).min(axis=0).max() < 1e-9
    if order:
        start, end = time[:-1].reshape(-1), time[1:].reshape(-1)
        same = (span[:-1] == span[1:]) & (np.arange(len(start)) % 37 == 0)
        inside = start[same] + np.linspace(0.0, 1.0, 9)[:, None] * (end - start)[same]
        bounds = piece.rates(span[:-1][same], start[same], end[same])[order - 1]
        for moment in inside:
            exact = np.abs(piece.derivatives(span[:-1][same], moment, order)[order])
            assert (exact <= bounds + 1e-12).all()


def test_rates_hold_and_are_tight_over_long_intervals() -> None:
    robot = panda()
    piece = random_cosine_ramp(robot, 2).curve(robot).pieces[0]
    span = np.arange(len(piece.knots) - 1)
    start, end = piece.knots[:-1], piece.knots[1:]
    bounds = piece.rates(span, start, end)
    most = np.zeros_like(bounds)
    for share in np.linspace(0.0, 1.0, 101):
        most = np.maximum(most, np.abs(piece.derivatives(span, start + share * (end - start), 4)[1:]))
    assert (bounds >= most - 1e-12).all()
    narrow = piece.rates(span, start, start + 1e-6)
    assert np.allclose(narrow, np.abs(piece.derivatives(span, start, 4)[1:]), atol=1e-3)


def test_a_cosine_ramp_turns_round_before_the_limit() -> None:
    robot = embedded.robot("gautier-khalil")
    upper = robot.position_range()[1]
    settings = CosineRamp(np.full(3, 0.5), np.full(3, 0.4), upper - 0.5, 8.0)  # 0.4 per cycle
    q = settings.curve(robot).motion(np.arange(5) * 2.0).q[:, 0] - upper[0]
    assert np.allclose(q, [-0.5, -0.1, -0.5, -0.9, -1.3])


def test_a_cycle_longer_than_the_range_is_refused() -> None:
    robot = embedded.robot("gautier-khalil")
    with pytest.raises(ExciterError, match="fits neither way"):
        CosineRamp(np.full(3, 0.1), np.full(3, 0.8), np.zeros(3), 10.0).curve(robot)


def test_shifting_a_cosine_ramp_changes_nothing_else() -> None:
    robot = panda()
    curve = random_cosine_ramp(robot, 1).curve(robot)
    time = np.linspace(0.0, 10.0, 77)
    assert np.allclose(curve.shifted(3.0).motion(time + 3.0).q, curve.motion(time).q, atol=1e-9)


def test_otanis_search_improves_on_random_settings() -> None:
    model = DynamicModel(embedded.robot("gautier-khalil"))
    search = OtaniSearch(tries=40, rate=15.0)
    found = otani(model, search)
    assert_executable(model.robot, found.curve)
    time = np.linspace(0.0, 10.0, 151)
    columns = model.base.independent

    def cond(curve: Curve) -> float:
        return float(np.linalg.cond(model.regressor(curve.motion(time))[:, :, columns].reshape(-1, len(columns))))

    assert found.condition_number == pytest.approx(cond(found.curve), rel=1e-6)
    others = [cond(random_cosine_ramp(model.robot, seed).curve(model.robot)) for seed in range(20)]
    assert found.condition_number < 0.7 * np.median(others)


# -- Armstrong ---------------------------------------------------------------------------------------------------------


def test_armstrongs_sequence_raises_the_smallest_singular_value() -> None:
    model = DynamicModel(embedded.robot("gautier-khalil"))
    sequence = AccelerationSequence(8.0, 16)
    found = armstrong(model, sequence, samples=160, seed=1)
    assert found.certificate.certified
    assert_executable(model.robot, found.curve)
    columns, time = model.base.independent, sequence.sample_times(160)

    def smallest(curve: Curve) -> float:
        w = model.regressor(curve.motion(time))[:, :, columns].reshape(-1, len(columns))
        return float(np.linalg.svd(w, compute_uv=False)[-1] ** 2)

    assert -found.value == pytest.approx(np.log(smallest(found.curve)), abs=1e-6)
    random = [smallest(sequence.curve(random_trajectory(sequence, model.robot, seed))) for seed in range(20)]
    assert smallest(found.curve) > 2.0 * max(random)


# -- Vandanjon ---------------------------------------------------------------------------------------------------------


def test_each_of_the_four_motions_excites_what_it_is_for() -> None:
    robot = panda()
    rng, settings = np.random.default_rng(0), FourMotions()
    for purpose, joints in plan(robot.n):
        motion = draw(robot, purpose, joints, settings, rng)
        assert motion.moving == tuple(robot.joint_names[j] for j in joints)
        assert_executable(robot, motion.curve, touches=purpose in ("inertia", "inertial coupling"))
        samples = motion.curve.motion(np.linspace(0.0, motion.curve.duration, 400))
        moves = np.ptp(samples.q, axis=0) > 1e-9
        assert np.array_equal(np.flatnonzero(moves), joints)
        period = motion.curve.duration / settings.periods
        if purpose == "gravity":
            assert not np.allclose(samples.q[0], samples.q[-1])
            assert (np.abs(samples.qd) <= settings.slowness * robot.limit("velocity") * (1 + 1e-9)).all()
        else:  # periodic between two points
            later = motion.curve.motion(np.linspace(0.0, motion.curve.duration - period, 50) + period)
            assert np.allclose(later.q, motion.curve.motion(later.time - period).q, atol=1e-9)


def test_the_combined_experiments_are_conditioned_as_reported_and_better_than_the_first_draw() -> None:
    model = DynamicModel(embedded.robot("gautier-khalil"))
    settings = FourMotions(candidates=8)
    found = vandanjon(model, settings)
    rows = []
    for motion in found.motions:
        count = round(settings.rate * motion.curve.duration) + 1
        samples = motion.curve.motion(np.linspace(0.0, motion.curve.duration, count))
        rows.append(model.regressor(samples)[:, :, model.base.independent].reshape(-1, 15))
    w = np.vstack(rows)
    assert found.condition_number == pytest.approx(np.linalg.cond(w), rel=1e-6)
    assert found.value == pytest.approx(found.condition_number, rel=1e-6)
    assert np.allclose(found.information, w.T @ w)
    single = vandanjon(model, FourMotions(candidates=1))
    assert found.condition_number < 0.8 * single.condition_number
    assert {motion.purpose for motion in found.motions} == {
        "inertia",
        "centrifugal coupling",
        "inertial coupling",
        "gravity",
    }


def test_exchange_of_candidates_ends_where_no_single_one_improves() -> None:
    for seed in range(5):
        w = np.random.default_rng(seed).standard_normal((3, 5, 2, 4))
        grams = np.einsum("ekrb,ekrc->ekbc", w, w)

        def cond(choice: tuple[int, ...], grams: np.ndarray = grams) -> float:
            return float(np.sqrt(np.linalg.cond(grams[[0, 1, 2], list(choice)].sum(axis=0))))

        chosen, value = _exchange(grams, ConditionNumber())
        assert value == pytest.approx(cond(tuple(chosen)))
        neighbours = [(*chosen[:e], k, *chosen[e + 1 :]) for e in range(3) for k in range(5)]
        assert value <= min(cond(choice) for choice in neighbours) * (1 + 1e-8)
        assert value < np.median([cond(choice) for choice in product(range(5), repeat=3)])


def test_a_criterion_of_one_motion_is_refused_for_many() -> None:
    with pytest.raises(ExciterError, match="'equilibrium' needs one motion"):
        FourMotions(criterion=Equilibrium())  # type: ignore[arg-type]


# -- static poses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["panda", "lwr4"])
def test_static_poses_determine_the_twelve_gravity_parameters(name: str) -> None:
    model = DynamicModel(embedded.robot(name))
    found = static_poses(model)
    assert len(found.parameters) == 12
    low, high = model.robot.position_range()
    assert (found.q >= low).all()
    assert (found.q <= high).all()
    w = static_rows(model.robot, found.q)  # all 70 columns by Pinocchio: the rank is that of the base
    values = np.linalg.svd(w, compute_uv=False)
    assert values[11] > 1e-2 * values[0]
    assert values[12] < 1e-9 * values[0]
    count = len(found.q)
    random = [static_poses(model, PoseSearch(count, candidates=count, iterations=0, seed=s)) for s in range(20)]
    assert found.log_det > found.selected > max(x.log_det for x in random)
    assert found.condition_number < np.median([x.condition_number for x in random])


def static_rows(robot: Robot, q: np.ndarray) -> np.ndarray:
    model = to_pinocchio(robot)
    data, still = model.createData(), np.zeros(model.nv)
    return np.vstack([pinocchio.computeJointTorqueRegressor(model, data, x, still, still) for x in q])


def test_figures_of_static_poses_are_those_of_their_rows() -> None:
    model = DynamicModel(embedded.robot("tx40"))
    noise = np.linspace(0.5, 2.0, model.n)
    found = static_poses(model, PoseSearch(poses=6, candidates=300), noise=noise)
    assert len(found.q) == 6
    columns = static_base(model).independent
    rows = model.regressor(Motion.at(found.q))[:, :, columns] / noise[:, None]
    w = rows.reshape(-1, len(columns))
    assert found.log_det == pytest.approx(np.linalg.slogdet(w.T @ w)[1])
    assert found.condition_number == pytest.approx(np.linalg.cond(w))
    assert np.allclose(found.predicted_std, np.sqrt(np.diag(np.linalg.inv(w.T @ w))))


def test_exchange_finds_the_best_of_all_subsets() -> None:
    hits = 0
    for seed in range(20):
        rows = np.random.default_rng(seed).standard_normal((10, 2, 4))

        def log_det(chosen: tuple[int, ...], rows: np.ndarray = rows) -> float:
            w = rows[list(chosen)].reshape(-1, 4)
            return float(np.linalg.slogdet(w.T @ w)[1])

        best = max(log_det(subset) for subset in combinations(range(10), 3))
        chosen = select(rows, 3).tolist()
        found = log_det(tuple(chosen))
        neighbours = [(*chosen[:i], k, *chosen[i + 1 :]) for i in range(3) for k in range(10)]
        assert found >= max(log_det(choice) for choice in neighbours) - 1e-6
        assert found > best - 0.7  # exchange one by one is a local search
        hits += found > best - 1e-9
    assert hits >= 12


def test_poses_are_selected_for_the_joints_that_are_measured_well() -> None:
    model = DynamicModel(embedded.robot("panda"))
    noise = np.array([1.0, 10.0, 10.0, 0.1, 0.1, 0.1, 1.0])
    even, uneven = (static_poses(model, PoseSearch(6, iterations=0), noise=sigma) for sigma in (1.0, noise))
    columns = static_base(model).independent

    def log_det(q: np.ndarray) -> float:
        w = (model.regressor(Motion.at(q))[:, :, columns] / noise[:, None]).reshape(-1, len(columns))
        return float(np.linalg.slogdet(w.T @ w)[1])

    assert uneven.log_det == pytest.approx(log_det(uneven.q))
    assert uneven.log_det > log_det(even.q) + 0.1


def test_polished_poses_are_stationary() -> None:
    """Moving any joint of any pose, unless it is at its limit, changes log det to second order only."""
    model = DynamicModel(embedded.robot("lwr4"))
    found = static_poses(model, PoseSearch(poses=4, candidates=300, iterations=1000))
    columns = static_base(model).independent

    def log_det(q: np.ndarray) -> float:
        w = model.regressor(Motion.at(q))[:, :, columns].reshape(-1, len(columns))
        return float(np.linalg.slogdet(w.T @ w)[1])

    low, high = model.robot.position_range()
    step = 1e-4
    for k, j in product(range(4), range(7)):
        shift = np.zeros_like(found.q)
        shift[k, j] = step
        slope = (log_det(found.q + shift) - log_det(found.q - shift)) / (2 * step)
        if found.q[k, j] > high[j] - 1e-6:
            assert slope > -1e-2
        elif found.q[k, j] < low[j] + 1e-6:
            assert slope < 1e-2
        else:
            assert abs(slope) < 1e-2


def test_poses_keep_to_what_is_allowed() -> None:
    model = DynamicModel(embedded.robot("panda"))

    def allowed(q: np.ndarray) -> np.ndarray:
        return (q[:, 1] > 0.2) & (np.abs(q[:, 3] + 1.5) < 0.5)

    found = static_poses(model, PoseSearch(poses=6), allowed=allowed)
    assert allowed(found.q).all()
    assert found.log_det >= found.selected
    assert found.log_det < static_poses(model, PoseSearch(poses=6)).log_det


def test_a_tour_rests_in_every_pose() -> None:
    model = DynamicModel(embedded.robot("panda"))
    found = static_poses(model, PoseSearch(poses=5, candidates=200, iterations=20))
    curve = found.tour(model.robot, dwell=0.5)
    assert_executable(model.robot, curve)
    samples = curve.motion(np.arange(0.0, curve.duration, 0.01))
    at_rest = samples.q[np.abs(samples.qd).max(axis=1) == 0.0]
    for pose in found.q:
        assert (np.abs(at_rest - pose).max(axis=1) < 1e-9).sum() >= 45


def test_too_few_or_no_poses_are_refused() -> None:
    model = DynamicModel(embedded.robot("panda"))
    with pytest.raises(ExciterError, match="1 poses do not determine the 12 static parameters"):
        static_poses(model, PoseSearch(poses=1))
    with pytest.raises(ExciterError, match="only 0 of 2000 random postures are allowed"):
        static_poses(model, allowed=lambda q: np.zeros(len(q), dtype=bool))
    with pytest.raises(ExciterError, match="no weight acts"):
        static_poses(DynamicModel(model.robot.with_gravity(np.zeros(3))))
