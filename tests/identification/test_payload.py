"""Payload identification: exact on exact data in any frame, honest intervals, and a load of 3 kg on a virtual Panda."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import Payload
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.virtual import Encoder, Sampling, VirtualRobot, draw
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.problem import Problem
from exciter.identification.payload import (
    PayloadEstimate,
    gradient,
    identify_payload,
    load_effect,
    payload_between,
    payload_of,
    quantities,
)
from exciter.identification.runs.run import Run, load_torque
from exciter.notes import texts
from exciter.parameters import inertial
from exciter.parameters.consistency import link_consistency
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import Joint, Limits, Robot, load
from exciter.robot.robot import Frame
from exciter.robot.spatial import pseudo_inertia
from support.robots import random_inertia, random_robot, random_rotation

pytestmark = pytest.mark.slow

RATE = 100.0
LOAD = Payload("tool", 12.0, (0.05, -0.02, 0.1), (0.2, 0.02, -0.01, 0.15, 0.015, 0.1))


def model_of(name: str) -> DynamicModel:
    return DynamicModel(load(name), (Viscous(), Coulomb()))


def moved(model: DynamicModel, seed: int, size: float = 0.4, samples: int = 400, period: float = 4.0):
    family = Fourier(period=period, harmonics=4)
    delta = size * np.random.default_rng(seed).standard_normal((model.n, len(family.labels)))
    return motion_of(family, delta, np.arange(samples) * period / samples)


def run_of(model: DynamicModel, seed: int, payload: Payload | None = None, noise: float = 0.0, **motion) -> Run:
    path = moved(model, seed, **motion)
    torque = model.torque(path) + (0.0 if payload is None else load_torque(model, payload, path))
    return Run.at(path, torque + noise * np.random.default_rng(100 + seed).standard_normal(torque.shape), RATE)


def truth_of(payload: Payload) -> np.ndarray:
    return np.array([payload.mass, *payload.centre, *payload.inertia])


@pytest.fixture(scope="module")
def small() -> DynamicModel:
    return model_of("kuka-ir361")


def test_delta_method_has_the_exact_slopes():
    phi = inertial.from_mass_com_inertia(3.0, np.array([0.1, -0.2, 0.05]), np.diag([0.02, 0.03, 0.04]))
    steps = 1e-6 * np.eye(10)
    numeric = np.array([(quantities(phi + h) - quantities(phi - h)) / 2e-6 for h in steps]).T
    assert_allclose(gradient(phi), numeric, atol=1e-7)
    mass, centre, inertia = inertial.mass_com_inertia(phi)
    assert_allclose(quantities(phi), [mass, *centre, *inertial.upper_triangle(inertia)], atol=1e-14)


def test_exact_in_any_frame_of_any_link():
    """Turned and moved frames on the last and on an inner link; the load is found in the frame's own axes."""
    robot, rng = load("panda"), np.random.default_rng(1)
    frames = tuple(Frame(f"f{j}", j, random_rotation(rng), 0.2 * rng.standard_normal(3)) for j in (6, 3))
    model = DynamicModel(replace(robot, frames=(*robot.frames, *frames)), (RotorInertia(), Viscous(), Coulomb()))
    for frame in ("f6", "f3", "flange", "joint_5"):
        payload = replace(LOAD, frame=frame)
        found = identify_payload(model, frame, [run_of(model, 1, payload)], [run_of(model, 2)])
        assert_allclose(found.values, truth_of(payload), atol=1e-7)
        assert found.payload().mass == pytest.approx(12.0)
        assert_allclose(found.robot.values, model.base.base_values(model.nominal), atol=1e-6)


def test_three_ways_to_the_same_load(small):
    """All at once; from a known robot and loaded runs; from two estimates: one load, one covariance."""
    loaded, empty = run_of(small, 1, LOAD, 0.5, samples=2000), run_of(small, 2, None, 0.5, samples=2000)
    together = identify_payload(small, "tool", [loaded], [empty])
    robot = WeightedLeastSquares().estimate(Problem(small, (empty,)))
    known = identify_payload(small, "tool", [loaded], robot=robot)
    other = WeightedLeastSquares().estimate(Problem(small, (loaded,)))
    between = payload_between(small, "tool", other, robot)
    for found in (known, between):
        assert (np.abs(found.values - together.values) < 0.1 * together.std).all()
        assert_allclose(found.std, together.std, rtol=0.02)
    assert not between.notes


def test_a_poor_motion_with_load_is_enough(small):
    """Loaded runs that could not identify the robot: it is known from the others."""
    path = moved(small, 1)
    only = replace(path, q=path.q * [0, 1, 1], qd=path.qd * [0, 1, 1], qdd=path.qdd * [0, 1, 1])
    loaded = Run.at(only, small.torque(only) + load_torque(small, LOAD, only), RATE)
    with pytest.raises(ParameterError, match="do not determine all"):
        WeightedLeastSquares().estimate(Problem(small, (loaded,)))
    with pytest.raises(ParameterError, match="of the load"):
        identify_payload(small, "tool", [loaded], [run_of(small, 2)])  # joint 1 has to move for all ten
    more = run_of(small, 3, LOAD, samples=12)
    assert_allclose(
        identify_payload(small, "tool", [loaded, more], [run_of(small, 2)]).values, truth_of(LOAD), atol=1e-6
    )


# -- statistics --------------------------------------------------------------------------------------------------------


def drawn(exact: Compressed, beta: np.ndarray, sigma: np.ndarray, rng: np.random.Generator) -> Compressed:
    """The same motion measured again: an orthogonal transformation of white noise is white noise."""
    factors, p = exact.factors.copy(), len(beta)
    noise = sigma[:, None] * rng.standard_normal((*factors.shape[:2], p))
    factors[..., :p, -1] = factors[..., :p, :p] @ beta + noise
    factors[..., p, -1] = sigma * np.sqrt(rng.chisquare(exact.rows - p))
    return exact.with_factors(factors)


def test_intervals_cover_and_the_covariance_is_the_real_one(small):
    effect = load_effect(small, small.base, "tool")
    true, phi = (
        small.base.base_values(small.nominal),
        inertial.from_mass_com_inertia(LOAD.mass, LOAD.centre, inertial.symmetric(*LOAD.inertia)),
    )
    with_load, without = (Problem(small, (run_of(small, k),), folds=1).compressed for k in (1, 2))
    sigma, rng, count = np.array([3.0, 4.0, 2.0]), np.random.default_rng(8), 250
    covered, squares, errors = np.zeros(10), 0.0, []
    for _ in range(count):
        found = payload_of(
            drawn(with_load, true + effect @ phi, 1.5 * sigma, rng), drawn(without, true, sigma, rng), effect
        )
        low, high = found.interval()
        covered += (low < truth_of(LOAD)) & (truth_of(LOAD) < high)
        error = found.phi - phi
        squares += error @ np.linalg.solve(found.covariance, error)
        errors.append((found.values - truth_of(LOAD)) / found.std)
    assert 0.93 <= covered.mean() / count <= 0.97
    assert (np.abs(covered / count - 0.95) < 0.04).all()
    assert (np.abs(np.mean(errors, axis=0)) < 4.0 / np.sqrt(count)).all()
    low, high = stats.chi2.ppf([0.0005, 0.9995], 10 * count)
    assert low < squares / 1.01 < high  # noise itself is estimated: a little more than χ²


def test_three_kilograms_on_a_virtual_panda():
    """10 s of an exciting motion without and with the load; encoders and torques as they are."""
    robot, family = load("panda"), Fourier(period=5.0, harmonics=5)
    curve = ramped(family, panda_motion(robot, family), robot, periods=2)
    payload = Payload("flange", 3.0, (0.02, -0.01, 0.08), (0.012, 0.001, -0.0005, 0.010, 0.0008, 0.006))
    truth, runs = draw(robot, seed=7), []
    for seed, carried in ((1, None), (2, payload)):
        virtual = VirtualRobot(
            robot, truth, payload=carried, encoder=Encoder(noise=1e-5), sampling=Sampling(500.0), simulation_rate=1000.0
        )
        log = virtual.run(curve, seed=seed).recording
        runs.append(Run.of(replace(log, about=replace(log.about, payload=None))))  # nobody tells
    model = DynamicModel(robot, (RotorInertia(), Viscous(), Coulomb()))
    both = InverseDynamic(ParallelFilter())
    found = identify_payload(model, "flange", [runs[1]], [runs[0]], formulation=both)
    error = found.values - truth_of(payload)
    assert abs(error[0]) <= 0.005 * 3.0
    assert np.linalg.norm(error[1:4]) <= 0.002
    assert np.abs(error[4:]).max() < 0.002
    assert (np.abs(error) < 3.3 * found.std).all()
    assert np.sum(np.abs(error) < stats.norm.ppf(0.975) * found.std) >= 8
    assert not found.notes


def panda_motion(robot, family: Fourier) -> np.ndarray:
    """Random coefficients, scaled into the limits and put in their middle."""
    delta = np.random.default_rng(3).standard_normal((robot.n, len(family.labels)))
    low, high = robot.position_range()
    instants = np.linspace(0.0, family.period, 500)
    path = motion_of(family, delta, instants)
    shares = [
        0.9 * (high - low) / np.ptp(path.q, axis=0),
        0.8 * robot.limit("velocity") / np.abs(path.qd).max(axis=0),
        0.6 * robot.limit("acceleration") / np.abs(path.qdd).max(axis=0),
    ]
    delta *= np.min(shares, axis=0)[:, None]
    q = motion_of(family, delta, instants).q
    delta[:, family.labels.index("q0")] += 0.5 * (high + low) - 0.5 * (q.max(axis=0) + q.min(axis=0))
    return delta


# -- words -------------------------------------------------------------------------------------------------------------


def test_it_says_what_is_not_significant(small):
    slow = {"period": 200.0, "samples": 400, "noise": 2.0}
    found = identify_payload(small, "tool", [run_of(small, 1, LOAD, **slow)], [run_of(small, 2, **slow)])
    assert any("too slow" in word for word in texts(found.notes))
    assert abs(found.mass - LOAD.mass) < 4.0 * found.std[0]
    swapped = identify_payload(small, "tool", [run_of(small, 2, noise=3.0)], [run_of(small, 1, LOAD, 3.0)])
    assert any("swapped" in word for word in texts(swapped.notes))
    quick = identify_payload(small, "tool", [run_of(small, 1, LOAD, 0.3)], [run_of(small, 2, None, 0.3)])
    assert not quick.notes


def test_friction_that_grows_with_the_load_is_told(small):
    """Joint 2 rubs more with the load than any load explains."""
    path = moved(small, 1, samples=1000)
    torque = small.torque(path) + load_torque(small, LOAD, path)
    torque[:, 1] += 0.3 * np.abs(load_torque(small, LOAD, path)[:, 1]) * np.sign(path.qd[:, 1])
    torque += 3.0 * np.random.default_rng(1).standard_normal(torque.shape)
    loaded, empty = Run.at(path, torque, RATE), run_of(small, 2, None, 3.0, samples=1000)
    found = identify_payload(small, "tool", [loaded], [empty])
    assert any("larger with the load: joint_2 (" in word for word in texts(found.notes))
    robot = WeightedLeastSquares().estimate(Problem(small, (empty,)))
    assert any("larger with" in w for w in texts(identify_payload(small, "tool", [loaded], robot=robot).notes))
    other = WeightedLeastSquares().estimate(Problem(small, (loaded,)))
    assert any("more than any load" in word for word in texts(payload_between(small, "tool", other, robot).notes))


def test_what_a_robot_cannot_show_is_named():
    """One joint about an axis: its moment of inertia and two first moments are all that it ever shows."""
    model = DynamicModel(random_robot(4, 1, prismatic=0.0), (Viscous(),))
    payload = Payload("j1", 2.0, (0.1, 0.2, -0.1), (0.02, 0.0, 0.0, 0.03, 0.0, 0.04))
    found = identify_payload(model, "j1", [run_of(model, 1, payload)], [run_of(model, 2)])
    assert not found.determined.any()
    assert any("no motion of this robot shows mass, cx" in word for word in texts(found.notes))
    for wanted in (found.consistent, found.payload):
        with pytest.raises(ParameterError, match="not fully determined"):
            wanted()
    assert found.to_dict()["parameters"][0]["value"] is None
    effect = load_effect(model, model.base, "j1")
    assert_allclose(effect @ found.hidden, 0.0, atol=1e-12)
    assert found.hidden.shape[1] == 10 - np.linalg.matrix_rank(effect)
    axis = model.robot.joints[0].axis
    assert_allclose(axis @ inertial.inertia_matrix(found.phi) @ axis, axis @ about_origin(payload) @ axis, rtol=1e-6)


def arm(kinds: str, gravity: tuple[float, float, float]) -> DynamicModel:
    """Joints along z (revolute z, prismatic p) or x; all through one point but for two z in a row, 0.3 m apart."""
    joints, rng = [], np.random.default_rng(1)
    for k, kind in enumerate(kinds):
        axis = np.array([1.0, 0.0, 0.0]) if kind == "x" else np.array([0.0, 0.0, 1.0])
        offset = np.array([0.3, 0.0, 0.0]) if k and kinds[k - 1 : k + 1] == "zz" else np.zeros(3)
        joint = ("prismatic" if kind == "p" else "revolute", k - 1, np.eye(3), offset, axis)
        joints.append(Joint(f"j{k + 1}", *joint, Limits(-2.5, 2.5, 2.0, 5.0), random_inertia(rng)))
    return DynamicModel(Robot(kinds, tuple(joints), gravity=np.array(gravity)), (Viscous(),))


def test_what_a_robot_shows_in_part_is_right():
    """A SCARA never tips its load; a wrist in space feels no weight, and turns about one point."""
    payload = Payload("j3", 2.0, (0.1, 0.2, -0.1), (0.02, 0.0, 0.0, 0.03, 0.0, 0.04))
    scara = arm("zzp", (0.0, 0.0, -9.81))
    found = identify_payload(scara, "j3", [run_of(scara, 1, payload)], [run_of(scara, 2)])
    shown = [0, 1, 2, 9]  # mass, cx, cy, Izz
    assert np.flatnonzero(found.determined).tolist() == shown
    assert_allclose(found.values[shown], truth_of(payload)[shown], atol=1e-8)
    assert np.isinf(found.std[3])
    wrist = arm("zxz", (0.0, 0.0, 0.0))
    found = identify_payload(wrist, "j3", [run_of(wrist, 1, payload)], [run_of(wrist, 2)])
    assert not found.determined.any()  # inertia about the point, but not about a centre that is not known
    assert_allclose(inertial.inertia_matrix(found.phi), about_origin(payload), atol=1e-8)


def about_origin(payload: Payload) -> np.ndarray:
    phi = inertial.from_mass_com_inertia(payload.mass, payload.centre, inertial.symmetric(*payload.inertia))
    return inertial.inertia_matrix(phi)


# -- the nearest body ------------------------------------------------------------------------------------------------


def estimate_of(phi: np.ndarray, covariance: np.ndarray, small: DynamicModel) -> PayloadEstimate:
    found = identify_payload(small, "tool", [run_of(small, 1, LOAD)], [run_of(small, 2)])
    return replace(found, phi=phi, covariance=covariance, freedom=1000.0)


def test_the_consistent_load_is_the_nearest_body(small):
    """The conditions of the optimum: with g = C⁻¹ (φ* − φ̂) no body lies downhill, g φ ≥ 0 = g φ* for all of them. That
    is a matrix G ⪰ 0 with tr(G J) = g φ, which annihilates J*."""
    rng = np.random.default_rng(2)
    root = rng.standard_normal((10, 10)) * np.array([0.02, *(0.002,) * 3, *(0.001,) * 6])[:, None]
    phi = inertial.from_mass_com_inertia(3.0, np.array([0.05, 0.0, 0.1]), np.diag([0.01, 0.02, -0.005]))
    free = estimate_of(phi, root @ root.T, small)
    found = free.consistent()
    assert any("can exist" in word for word in texts(free.notes))
    assert not link_consistency(phi).consistent
    assert link_consistency(found.phi).consistent
    g = np.linalg.solve(root @ root.T, found.phi - phi)
    basis = pseudo_inertia(np.eye(10))
    upper = np.triu_indices(4)
    weights = np.where(upper[0] == upper[1], 1.0, 2.0)
    dual = np.zeros((4, 4))
    dual[upper] = np.linalg.solve(basis[:, upper[0], upper[1]] * weights, g)
    dual = np.triu(dual) + np.triu(dual, 1).T
    scale = np.array([10.0, 10.0, 10.0, 1.0])  # metres are large here
    values = np.linalg.eigvalsh(dual / np.outer(scale, scale))
    assert values[-1] > 1.0
    assert values[0] > -1e-4 * values[-1]
    assert np.trace(dual @ pseudo_inertia(found.phi)) < 1e-3 * np.abs(g * found.phi).sum()
    physical = identify_payload(small, "tool", [run_of(small, 1, LOAD)], [run_of(small, 2)])
    assert physical.consistent() is physical


def test_bad_input_is_one_clear_line(small):
    loaded, empty = run_of(small, 1, LOAD), run_of(small, 2)
    robot = WeightedLeastSquares().estimate(Problem(small, (empty,)))
    fixed = replace(small.robot, frames=(Frame("stand", -1, np.eye(3), np.zeros(3)),))
    wrong = replace(robot, names=robot.names[:-1], values=robot.values[:-1])
    still = Run.at(loaded.parts[0].motion, np.zeros((400, 3)), RATE)
    for match, call in (
        ("no run with the load", lambda: identify_payload(small, "tool", [], [empty])),
        ("cannot be distinguished", lambda: identify_payload(small, "tool", [loaded])),
        ("fixed on the base", lambda: identify_payload(DynamicModel(fixed), "stand", [loaded], [empty])),
        ("unknown frame 'hand'", lambda: identify_payload(small, "hand", [loaded], [empty])),
        ("same model and formulation", lambda: identify_payload(small, "tool", [loaded], robot=wrong)),
        ("zero throughout", lambda: identify_payload(small, "tool", [still], [empty])),
        ("base parameters of this model", lambda: payload_between(small, "tool", robot, wrong)),
    ):
        with pytest.raises(ExciterError, match=match) as told:
            call()
        assert "\n" not in str(told.value)
    with pytest.raises(RecordingError):
        identify_payload(small, "tool", [loaded], [run_of(model_of("tx40"), 1)])


def test_a_payload_known_already_is_taken_off(small):
    """The gripper is known: what comes on top of it is the load."""
    gripper = replace(LOAD, mass=2.0)
    path = moved(small, 1)
    torque = small.torque(path) + load_torque(small, LOAD, path) + load_torque(small, gripper, path)
    loaded = replace(Run.at(path, torque, RATE), payload=gripper)
    found = identify_payload(small, "tool", [loaded], [run_of(small, 2)])
    assert_allclose(found.values, truth_of(LOAD), atol=1e-7)
    assert any("taken off first" in word for word in texts(found.notes))
    plain = found.to_dict()
    assert plain["parameters"][0]["interval"][0] <= 12.0 + 1e-6
    assert plain["frame"] == "tool"
