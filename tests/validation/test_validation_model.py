"""Validation of the identified model itself: inertia matrix, simulation, methods side by side, a known load."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.experiment.recording import Payload
from exciter.experiment.virtual import ComputedTorque, Encoder, Sampling, TorqueMeter, VirtualRobot, draw
from exciter.identification.closed_loop.closed_loop import ClosedLoop
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from exciter.identification.formulations.dynamic import BaseWrench, InverseDynamic
from exciter.identification.formulations.energy import Energy
from exciter.identification.identification import identify
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run, load_torque
from exciter.parameters.terms import Coulomb, Dahl, DriveCoupling, LoadFriction, RotorInertia, UserTerm, Viscous
from exciter.robot import Motion, load
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.validation.comparison import IdentificationMethod, compare
from exciter.validation.inertia_matrix import PostureSearch, base_chi, check_inertia_matrix, inertia_matrices
from exciter.validation.known_load import MISSED, RECOVERED, WEAKLY, judge_known_load
from exciter.validation.simulation import (
    Following,
    Horizons,
    SimulatedArm,
    follow,
    simulate_closed_loop,
    simulate_open_loop,
    simulate_run,
)
from exciter_papers.known_load import recover_known_load
from support.robots import CASES, random_robot, smooth_motion
from support.standing import quadruped

KUKA = load("kuka-ir361")
FEW = PostureSearch(postures=256, starts=4)


def base_of(model: DynamicModel) -> np.ndarray:
    return model.base.base_values(model.nominal)


def plain(result) -> dict:
    """What ``to_dict`` gives goes through JSON unchanged, NaN and infinity refused."""
    data = result.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    return data


# -- the inertia matrix ------------------------------------------------------------------------------------------------


def composite(robot, postures: np.ndarray) -> np.ndarray:
    """A (N, n, n) of the bodies, by Pinocchio's composite-body algorithm."""
    model = to_pinocchio(robot)
    data = model.createData()
    upper = np.array([np.triu(pin.crba(model, data, q)) for q in np.atleast_2d(postures)])
    return upper + np.triu(upper, 1).swapaxes(1, 2)


@pytest.mark.parametrize("name", ["tx40", "gantry", "random-tree"])
def test_inertia_matrix_from_base_values_is_that_of_composite_bodies(name):
    """Rotors and drive coupling included, friction that depends on accelerations through the load left out."""
    robot, rng = CASES[name](), np.random.default_rng(1)
    couplings = (DriveCoupling("joint_5", "joint_6", ratio=0.7),) if name == "tx40" else ()
    model = DynamicModel(robot, (RotorInertia(), Coulomb(), LoadFriction(Dahl(1e-3)), *couplings))
    chi = model.nominal.copy()
    at = {name: k for k, name in enumerate(model.standard)}
    rotor = rng.uniform(0.1, 0.5, robot.n)
    for j in range(robot.n):
        chi[at[f"Ia{j + 1}"]], chi[at[f"Fl{j + 1}"]] = rotor[j], 0.2
    added = np.diag(rotor)
    if couplings:
        chi[at["Iam6"]] = 0.05
        added[4, 5] = added[5, 4] = 0.7 * 0.05
    q = rng.uniform(-1.5, 1.5, (3, robot.n))
    found = inertia_matrices(model, base_chi(model, model.base.base_values(chi)), q)
    assert_allclose(found, composite(robot, q) + added, rtol=1e-9, atol=1e-10)


def least(matrices: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(N,) smallest scaled eigenvalues, as a generalised problem A v = λ D v."""
    return np.array([linalg.eigh(matrix, np.diag(scale), eigvals_only=True)[0] for matrix in matrices])


@pytest.mark.parametrize("robot", [load("gautier-khalil"), random_robot(6, 3, prismatic=0.5)], ids=lambda r: r.name)
def test_the_minimum_is_one_and_not_above_dense_sampling(robot):
    model = DynamicModel(robot, (RotorInertia(),))
    found = check_inertia_matrix(model, base_of(model), search=FEW)
    assert found.definite
    assert found.sure is None
    rotor = np.diag(robot.friction.get("rotor_inertia", np.zeros(robot.n)))
    low, high = robot.position_range()
    dense = np.random.default_rng(0).uniform(low, high, (3000, robot.n))
    brute = least(composite(robot, dense) + rotor, found.scale).min()
    assert found.smallest <= min(brute, found.sampled)
    assert found.smallest == pytest.approx(least(composite(robot, found.posture) + rotor, found.scale)[0], rel=1e-9)
    assert found.description == pytest.approx(found.smallest)
    near = np.clip(found.posture + 0.01 * np.random.default_rng(1).standard_normal((50, robot.n)), low, high)
    assert least(composite(robot, near) + rotor, found.scale).min() > found.smallest - 1e-6


def test_a_free_base_is_not_singular_where_its_three_angles_are():
    """At a pitch of ±π/2, whatever the bodies; a body that cannot be is found as ever."""
    model = DynamicModel(quadruped())
    found = check_inertia_matrix(model, base_of(model), search=FEW)
    assert found.definite
    assert found.smallest > 1e-3
    assert not found.posture[:6].any()
    bad = model.nominal.copy()
    bad[50:60] *= -1.0  # the trunk
    assert not check_inertia_matrix(model, model.base.base_values(bad), search=FEW).definite


def test_minima_are_looked_for_from_the_worst_postures():
    """A single start: from the worst of eight postures it goes down, from the best one into another valley."""
    model = DynamicModel(random_robot(5, 3, prismatic=0.0), (RotorInertia(),))
    found = check_inertia_matrix(model, base_of(model), search=PostureSearch(postures=8, starts=1, seed=1))
    assert found.smallest < 0.95 * found.sampled


def test_an_estimate_that_no_arm_can_have_is_found_out():
    """Indefinite in a corner of the workspace only, which some 250 postures need not meet."""
    model = DynamicModel(KUKA, (Viscous(), Coulomb()))
    values = base_of(model)
    true = check_inertia_matrix(model, values, search=FEW)
    u = true.direction / np.sqrt((true.direction**2 * true.scale).sum())
    motion = [Motion.at(true.posture, None, a) for a in (u, 0 * u)]
    slope = u @ np.subtract(*[model.regressor(m)[0][:, model.base.independent] for m in motion])
    assert slope @ values == pytest.approx(true.smallest, rel=1e-6)  # linear in the parameters
    bad = values - 1.002 * true.smallest * slope / (slope @ slope)
    found = check_inertia_matrix(model, bad, search=FEW)
    assert not found.definite
    assert "not positive definite" in found.sentences[0]
    chi = base_chi(model, bad)
    assert np.linalg.eigvalsh(inertia_matrices(model, chi, found.posture)[0])[0] < 0.0
    low, high = KUKA.position_range()
    dense = inertia_matrices(model, chi, np.random.default_rng(0).uniform(low, high, (2000, 3)))
    assert (np.linalg.eigvalsh(dense)[:, 0] < 0.0).mean() < 0.1
    assert found.description > 0.1
    assert plain(found)["positive_definite"] is False


def test_sure_is_what_the_covariance_says():
    """σ of the eigenvalue against estimates drawn from the covariance; nearer than 2 σ to zero is no certainty."""
    model = DynamicModel(KUKA, (RotorInertia(), Viscous(), Coulomb()))
    values, rng = base_of(model), np.random.default_rng(2)
    root = 1e-3 * rng.standard_normal((len(values), len(values)))
    found = check_inertia_matrix(model, values, root @ root.T, FEW)
    drawn = values + rng.standard_normal((400, len(values))) @ root.T
    drawn = np.array([inertia_matrices(model, base_chi(model, b), found.posture)[0] for b in drawn])
    smallest = least(drawn, found.scale)
    assert np.std(smallest) == pytest.approx(found.std, rel=0.15)
    assert found.sure
    assert found.surety < 0.9 * found.smallest / found.std  # elsewhere it is less sure than at the smallest
    doubtful = check_inertia_matrix(model, values, root @ root.T * (found.surety / 1.5) ** 2, FEW)
    assert doubtful.surety == pytest.approx(1.5)
    assert doubtful.definite
    assert doubtful.sure is False
    assert doubtful.verdict == "positive definite, but not surely"
    assert plain(doubtful)["sure"] is False


def test_inertia_matrix_refuses_what_it_cannot_use():
    model = DynamicModel(KUKA, ())
    with pytest.raises(ParameterError, match="base parameters"):
        check_inertia_matrix(model, [1.0])
    with pytest.raises(ParameterError, match="covariance"):
        check_inertia_matrix(model, base_of(model), np.eye(2))
    with pytest.raises(ParameterError, match="power of two"):
        PostureSearch(postures=100)


# -- simulation --------------------------------------------------------------------------------------------------------

CONTROL = ComputedTorque(rate=250.0)


@pytest.fixture(scope="module")
def curve():
    family = Fourier(3.0, 3)
    delta = 0.25 * np.random.default_rng(0).standard_normal((KUKA.n, len(family.labels)))
    return ramped(family, delta, KUKA, periods=1)


@pytest.fixture(scope="module")
def executed(curve):
    """What MuJoCo makes of a robot with dry friction, without noise; the torque is held between samples."""
    quiet = {"encoder": Encoder(counts=None), "meter": TorqueMeter(noise=0.0), "sampling": Sampling(250.0)}
    return VirtualRobot(KUKA, draw(KUKA, 3), control=CONTROL, **quiet).run(curve)


@pytest.fixture(scope="module")
def run(executed) -> Run:
    return Run.at(executed.motion, executed.torque, 250.0)


def true_values(executed) -> tuple[DynamicModel, np.ndarray]:
    truth = executed.truth
    model = DynamicModel(KUKA, truth.model.terms)
    return model, truth.model.base.base_values(truth.chi)


def test_open_loop_goes_where_another_simulator_went(executed, run):
    """The truth is nearly exact, a model that is 10 % wrong is not, the description and no model are worse."""
    model, values = true_values(executed)
    horizons = Horizons((0.2, 0.05), starts=20)
    found = simulate_open_loop(model, values, run, horizons)
    assert_allclose(found.horizons, [0.048, 0.2], atol=1e-9)  # whole samples of 4 ms
    assert found.starts == 20
    assert found.stopped == found.description_stopped == 0
    assert found.relative[-1] < 0.02
    wrong = simulate_open_loop(model, 1.1 * values, run, horizons)
    assert (wrong.model[-1] > 3.0 * found.model[-1]).all()
    assert found.relative[-1] < 0.1 * min(found.description_relative[-1], 1.0)
    k = np.linspace(0.0, run.span[1] - 0.2, 20)
    k = np.rint((k - run.span[0]) * 250.0).astype(int)
    motion = executed.motion
    straight = motion.q[k] + 0.2 * motion.qd[k] - motion.q[k + 50]
    assert_allclose(found.constant_velocity[-1], np.sqrt((straight**2).mean(axis=0)))
    assert plain(found)["horizons"][1]["joints"]["joint_1"]["model"] == found.model[1, 0]


def test_open_loop_stays_at_rest_where_dry_friction_holds():
    model = DynamicModel(KUKA, (Coulomb(),))
    q = np.tile([0.2, 0.3, -0.4], (200, 1))
    weight = model.torque(Motion.at(q[:1]))[0]
    friction = model.nominal[-3:]
    still = Motion(np.arange(200) / 1000.0, q, 0 * q, 0 * q)
    run = Run.at(still, np.tile(weight + 0.9 * friction, (200, 1)), 1000.0)
    horizons = Horizons((0.1,), starts=3)
    assert simulate_open_loop(model, base_of(model), run, horizons).model.max() < 1e-12
    free = replace(model, terms=())
    assert simulate_open_loop(free, base_of(free), run, horizons).model.min() > 1e-4


def exact_run(model: DynamicModel, rate: float, seconds: float, payload: Payload | None = None, chi=None) -> Run:
    """An analytic motion, and the torque the inverse model says."""
    motion = smooth_motion(model.robot, np.arange(round(rate * seconds)) / rate, seed=3)
    torque = model.torque(motion, chi) + (0.0 if payload is None else load_torque(model, payload, motion))
    return replace(Run.at(motion, torque, rate), payload=payload)


def test_simulation_with_a_load_and_terms_of_any_kind():
    """Inverse model → torque → direct model → motion: a known load, and terms that the simulator does not have."""
    robot = load("gautier-khalil")
    spring = UserTerm("Kc2", "joint_2", lambda q, qd, qdd: q**3, dq=lambda q, qd, qdd: 3 * q**2, dqd=0.0, dqdd=0.0)
    model = DynamicModel(robot, (RotorInertia(), Viscous(), spring))
    chi = model.nominal.copy()
    chi[-1] = 40.0
    run = exact_run(model, 200.0, 2.0, Payload("joint_3", 3.0, (0.1, 0.0, 0.1), (0.02, 0, 0, 0.02, 0, 0.02)), chi)
    values = model.base.base_values(chi)
    found = simulate_run(model, values, run, Horizons((0.1,), starts=10), Following(seconds=1.0))
    assert found.open_loop.relative[0] < 1e-3
    assert (found.closed_loop.percent < 0.1).all()
    assert found.closed_loop.tracking.max() < 1e-5
    assert found.closed_loop.seconds == pytest.approx(1.0, abs=0.01)
    assert sum("does not have UserTerm" in word for word in found.sentences) == 1
    without = simulate_run(
        model, values, replace(run, payload=None), Horizons((0.1,), starts=10), Following(seconds=1.0)
    )
    assert without.open_loop.relative[0] > 0.05
    assert without.closed_loop.percent.max() > 1.0
    assert plain(found)["closed_loop"]["joints"]["joint_2"]["torque_percent"] == found.closed_loop.percent[1]


def test_closed_loop_of_the_robots_own_controller(executed, run, curve):
    """The same controller and reference: the true parameters do what was recorded, others do not."""
    model, values = true_values(executed)
    loop = ClosedLoop(KUKA, CONTROL, curve)
    found = simulate_closed_loop(model, values, run, loop=loop)
    assert found.bandwidth is None
    assert found.tracking.max() < 1e-4
    assert found.percent.max() < 2.0
    other = simulate_closed_loop(model, 1.2 * values, run, loop=loop)
    assert (other.tracking > 10.0 * found.tracking).all()
    followed = simulate_closed_loop(model, values, run, Following(seconds=2.0))
    assert followed.bandwidth is not None
    assert followed.percent.max() < 5.0
    wrong = simulate_closed_loop(model, 1.2 * values, run, Following(seconds=2.0))
    assert (wrong.percent > 3.0 * followed.percent).all()
    speed = np.abs(executed.motion.qd[:501])
    moving = speed >= 0.01 * speed.max(axis=0)  # a joint at rest takes what its controller gives
    assert (~moving).any(axis=0).all()
    predicted = model.torque(executed.motion[:501], base_chi(model, 1.2 * values))
    assert_allclose(wrong.prediction_percent, percent_moving(predicted, executed.torque[:501], moving), rtol=1e-9)
    assert_allclose(wrong.percent, percent_moving(wrong.simulated, executed.torque[:501], moving), rtol=1e-9)
    assert len(followed.time) == len(followed.simulated) == 501


def percent_of(model, values, run, count):
    (part,) = run.parts
    predicted = model.torque(part.motion[:count], base_chi(model, values))
    return percent_moving(predicted, part.torque[:count], np.ones_like(predicted))


def percent_moving(torque, measured, moving):
    return 100.0 * np.sqrt(((torque - measured) ** 2 * moving).sum(axis=0) / (measured**2 * moving).sum(axis=0))


def test_rest_is_the_controllers_affair():
    """Joint 3 stands still, held by whatever its drive likes: no torque of it is compared, and all is said."""
    model = DynamicModel(KUKA, (Viscous(), Coulomb()))
    motion = exact_run(model, 250.0, 1.0).parts[0].motion
    q, qd, qdd = (np.array(values) for values in (motion.q, motion.qd, motion.qdd))
    q[:, 2], qd[:, 2], qdd[:, 2] = 0.3, 0.0, 0.0
    qd[::7, 2] = 1e-4  # noise of an encoder
    moved = Motion(motion.time, q, qd, qdd)
    held = model.torque(moved) + 2.0 * np.sin(40.0 * motion.time)[:, None] * [0.0, 0.0, 1.0]
    found = simulate_closed_loop(model, base_of(model), Run.at(moved, held, 250.0), dead_zone=0.01)
    assert np.isnan(found.percent).tolist() == [False, False, True]
    assert "; joint_3 rests, " in found.sentences[0]
    assert f"joint_1 {found.percent[0]:.3g} % ({found.prediction_percent[0]:.3g} %), " in found.sentences[0]
    assert plain(found)["joints"]["joint_3"]["torque_percent"] is None
    smooth = DynamicModel(KUKA, (Viscous(),))
    free = simulate_closed_loop(smooth, base_of(smooth), Run.at(moved, held, 250.0), dead_zone=0.01)
    assert np.isfinite(free.percent).all()  # without dry friction, rest has its torque


def test_the_controller_that_follows_brings_errors_to_nothing_as_it_says():
    """From a step at the first sample, e = (1 + ω t) exp(−ω t) with critical damping."""
    model = DynamicModel(KUKA)
    arm = SimulatedArm.of(model, base_chi(model, base_of(model)), None)
    count, rate, omega = 300, 1000.0, 2.0 * np.pi * 5.0
    q = np.zeros((count, 3))
    q[0] = 1e-3 * np.array([1.0, -0.5, 0.7])
    motion = Motion(np.arange(count) / rate, q, 0.0 * q, 0.0 * q)
    found = follow(arm, motion, rate, 5.0, 1.0).motion.q
    expected = q[0] * ((1.0 + omega * motion.time) * np.exp(-omega * motion.time))[:, None]
    assert_allclose(found[5:], expected[5:], atol=5e-2 * 1e-3)


def test_what_no_arm_can_have_is_said_not_raised():
    model = DynamicModel(KUKA, (Viscous(), Coulomb(Dahl(1e-3))))
    run = exact_run(model, 250.0, 1.0)
    found = simulate_run(model, -base_of(model), run, Horizons((0.1,), starts=5))
    assert found.open_loop.stopped == 5
    assert found.open_loop.description_stopped == 0
    assert np.isnan(found.open_loop.model).all()
    assert "not positive definite" in found.closed_loop.stopped
    words = " ".join(found.sentences)
    assert "5 of 5 simulations the identified model could not move" in words
    assert "Dahl" in words
    assert "dry friction below zero" in words
    assert (SimulatedArm.of(model, base_chi(model, -base_of(model))).chi[-3:] == 0.0).all()
    assert plain(found)["closed_loop"]["joints"]["joint_1"]["torque_rms"] is None


def test_horizons_stay_within_pieces_of_a_log():
    model = DynamicModel(KUKA, (Viscous(),))
    run = exact_run(model, 250.0, 1.0)
    (part,) = run.parts
    torn = replace(run, parts=(part[:60], part[60:100], part[150:]))
    found = simulate_open_loop(model, base_of(model), torn, Horizons((0.2,), starts=40))
    assert 0 < found.starts < 40
    assert found.relative[0] < 1e-3
    with pytest.raises(RecordingError, match="shorter horizons"):
        simulate_open_loop(model, base_of(model), torn, Horizons((0.5,)))


# -- methods side by side ----------------------------------------------------------------------------------------------


def noisy(model: DynamicModel, seed: int, noise: float = 1.0, payload: Payload | None = None) -> Run:
    motion = smooth_motion(model.robot, np.arange(1500) / 200.0, seed=seed)
    torque = model.torque(motion) + (0.0 if payload is None else load_torque(model, payload, motion))
    torque = torque + noise * np.random.default_rng(seed).standard_normal(torque.shape)
    return Run.at(motion, torque, 200.0, f"run {seed}")


class Biased(Estimator):
    """Too sure of one parameter, and wrong about it."""

    def estimate(self, problem):
        found = WeightedLeastSquares().estimate(problem)
        return replace(found, values=found.values + np.where(np.arange(len(found.values)) == 2, 12.0 * found.std, 0.0))


def test_methods_are_judged_alike_and_disagreement_is_named():
    model = DynamicModel(KUKA, (Viscous(), Coulomb()))
    runs, unseen = [noisy(model, 1)], [noisy(model, 2)]
    methods = [
        IdentificationMethod("weighted", InverseDynamic(), WeightedLeastSquares()),
        IdentificationMethod("energy", Energy(interval=0.1), OrdinaryLeastSquares()),
        IdentificationMethod("biased", InverseDynamic(), Biased()),
        IdentificationMethod("plate", BaseWrench(), OrdinaryLeastSquares()),
    ]
    found = compare(model, runs, methods, unseen)
    weighted, energy, biased, plate = found.methods
    alone = identify(Problem(model, tuple(runs)), WeightedLeastSquares(), unseen)
    assert_allclose(weighted.estimate.values, alone.estimate.values)
    assert weighted.fit.residuals.total_percent == pytest.approx(alone.fit.residuals.total_percent)
    assert weighted.validation[0].residuals.total_percent == alone.validation[0].residuals.total_percent
    for one in (weighted, energy, biased):
        assert_allclose(one.fit.residuals.percent, percent_of(model, one.estimate.values, runs[0], 1500), rtol=1e-6)
    assert plate.estimate is None
    assert "other parameters" in plate.failed
    pairs = {(d.first, d.second): d for d in found.differences}
    assert len(pairs) == 3
    assert pairs["weighted", "energy"].disagree == ()
    far = pairs["weighted", "biased"]
    assert far.disagree == (model.base.names[2],)
    assert far.normalized[2] == pytest.approx(-12.0 / np.sqrt(2.0))
    change = biased.estimate.values - weighted.estimate.values
    (part,) = runs[0].parts
    made = model.torque(part.motion, base_chi(model, change)) - model.torque(part.motion, 0 * model.nominal)
    assert far.torque_percent == pytest.approx(100.0 * np.sqrt((made**2).sum() / (part.torque**2).sum()), rel=1e-6)
    words = " ".join(found.sentences)
    assert f"weighted and biased disagree on {model.base.names[2]} (8.5 σ)" in words
    assert "as if they did not" in words
    assert "smallest residual on the validation: " in words
    data = plain(found)
    assert [one["failed"] is None for one in data["methods"]] == [True, True, True, False]
    assert data["methods"][0]["parameters"][0]["std"] == weighted.estimate.std[0]


def test_methods_need_names_of_their_own():
    model = DynamicModel(KUKA, ())
    twice = [IdentificationMethod("a", InverseDynamic(), OrdinaryLeastSquares())] * 2
    with pytest.raises(ParameterError, match="name of its own"):
        compare(model, [noisy(model, 1)], twice)


# -- a known load ------------------------------------------------------------------------------------------------------

LOAD = Payload("tool", 12.0, (0.05, -0.02, 0.1), (0.2, 0.02, -0.01, 0.15, 0.015, 0.1))


@pytest.fixture(scope="module")
def carried():
    model = DynamicModel(KUKA, (Viscous(), Coulomb()))
    return model, [noisy(model, 1)], [noisy(model, 2, payload=LOAD)]


def test_a_known_load_is_recovered_and_another_is_not(carried):
    model, unloaded, loaded = carried
    found = recover_known_load(model, unloaded, loaded, LOAD)
    assert found.verdict == RECOVERED
    assert_allclose(found.sigmas, (found.found.values - found.known) / found.found.std)
    assert abs(found.errors[0]) < 0.2
    motion = loaded[0].parts[0].motion
    nearly = replace(LOAD, mass=12.5)
    heavier = recover_known_load(model, unloaded, loaded, nearly)
    assert "mass" in heavier.outside
    got = load_torque(model, found.found.payload(), motion) - load_torque(model, nearly, motion)
    own = load_torque(model, nearly, motion)
    assert heavier.torque_percent == pytest.approx(100.0 * np.sqrt((got**2).sum() / (own**2).sum()), rel=1e-5)
    wrong = recover_known_load(model, unloaded, loaded, replace(LOAD, centre=(0.05, -0.02, 0.4)))
    assert wrong.verdict == MISSED
    assert "cz" in wrong.sentences[0]
    assert plain(wrong)["quantities"][0]["known"] == 12.0
    unsure = recover_known_load(model, unloaded, loaded, nearly, known_std=0.5)
    assert unsure.agrees
    assert not heavier.agrees


def test_torque_share_of_one_sigma_is_the_mean_of_draws(carried):
    model, unloaded, loaded = carried
    found = recover_known_load(model, unloaded, loaded, LOAD)
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal(found.found.phi, found.found.covariance, 300)
    problem = Problem(model, tuple(loaded))
    shares = [
        judge_known_load(replace(found.found, phi=phi), found.found.payload(), problem).torque_percent for phi in draws
    ]
    assert np.sqrt(np.mean(np.square(shares))) == pytest.approx(found.torque_percent_std, rel=0.1)


def test_agreement_of_an_uncertain_load_is_worth_little(carried):
    model, _, _ = carried
    small = Payload("tool", 0.3, (0.0, 0.0, 0.1), (0.001, 0, 0, 0.001, 0, 0.001))
    loaded = [noisy(model, 2, noise=20.0, payload=small)]
    found = recover_known_load(model, [noisy(model, 1, noise=20.0)], loaded, small)
    assert found.verdict == WEAKLY
    assert "excite more" in found.sentences[0]


def test_a_run_that_names_the_load_itself_has_it_put_back(carried):
    model, unloaded, loaded = carried
    told = [replace(run, payload=LOAD) for run in loaded]
    found = recover_known_load(model, unloaded, told, LOAD)
    assert found.verdict == RECOVERED
    assert any("put back" in word for word in found.sentences)
    with pytest.raises(ParameterError, match="one frame"):
        judge_known_load(found.found, replace(LOAD, frame="joint_3"), Problem(model, tuple(loaded)))
    with pytest.raises(ParameterError, match="no mass"):
        recover_known_load(model, unloaded, loaded, Payload("tool", 0.0))
