"""The simulated closed loop against MuJoCo, Pinocchio, energy; estimators that use it where least squares is biased."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import toeplitz
from scipy.stats import chi2

from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, MotionError, ParameterError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.experiment.recording import About, Payload, Recording
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.virtual import (
    CompensationSpring,
    ComputedTorque,
    Encoder,
    GravityPD,
    Sampling,
    Start,
    TorqueMeter,
    TrueFriction,
    VirtualRobot,
    draw,
)
from exciter.identification.closed_loop.closed_loop import CLOSED_LOOP_KERNELS, ClosedLoop, Unmovable, joint_forces
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.estimators.simulated_motion import (
    DIDIM,
    InstrumentalVariables,
    coloured_covariance,
)
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.parameters.terms import Coulomb, Dahl, Offset, RotorInertia, SqrtViscous, Viscous
from exciter.robot import load
from exciter.robot.pinocchio_model import to_pinocchio
from support.robots import CASES

pytestmark = pytest.mark.slow

ROBOT = load("kuka-ir361")
RATE = 100.0  # [Hz] of the logs
CONTROL = ComputedTorque(rate=250.0)
NOISE = 2.0  # [N·m] of the torque


def curve_of(robot, period=4.0, size=0.3, periods=2):
    family = Fourier(period, 4)
    low, high = robot.position_range()
    delta = size * np.random.default_rng(0).standard_normal((robot.n, len(family.labels)))
    delta[:, -1] = np.where((low < 0.1) & (high > 0.1), 0.1, 0.5 * (low + high))
    return ramped(family, delta, robot, periods=periods)


def virtual_of(robot, truth, control, **settings):
    quiet = {"encoder": Encoder(counts=None), "meter": TorqueMeter(noise=0.0), "sampling": Sampling(RATE)}
    return VirtualRobot(robot, truth, control=control, **{**quiet, **settings})


# -- the simulation --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["random-tree", "gantry", "panda", "one-joint"])
def test_direct_dynamics_are_those_of_pinocchio(name):
    """q̈ of a state, by another algorithm in other frames."""
    robot = CASES[name]()
    model = DynamicModel(robot, ())
    dynamics = model.dynamics
    rng = np.random.default_rng(1)
    q, qd, torque = rng.uniform(-1.5, 1.5, (3, robot.n))
    chain, found = dynamics.chain, np.empty(robot.n)
    arm = (chain.parent, chain.prismatic, chain.rotation, chain.origin, chain.gravity)
    inertias = dynamics.chain_inertias(model.nominal)
    forces = joint_forces(model, model.nominal)
    alone = np.zeros((0, 0)), np.zeros(0)  # no body follows a joint
    assert kernels("forward", CLOSED_LOOP_KERNELS).look((*arm, inertias, forces, *alone), q, qd, torque, 1e-3, found)
    other = to_pinocchio(robot)
    assert_allclose(found, pin.aba(other, other.createData(), q, qd, torque), rtol=1e-8, atol=1e-8)


def arms():
    springs = (
        CompensationSpring("joint_2", 0.2, 0.35, -0.3, 300.0, free_length=0.1, preload=15.0),
        CompensationSpring("joint_3", 0.3, 0.1, 0.4, 200.0),
    )
    smooth = replace(draw(ROBOT, 1), friction=TrueFriction(viscous=20.0))
    names = dict(zip(("joint_2", "joint_3"), ROBOT.joint_names[1:], strict=True))
    sprung = replace(
        draw(ROBOT, 2),
        friction=TrueFriction(viscous=20.0, coulomb=(20.0, 10.0, 5.0), stribeck=(10.0, 5.0, 3.0)),
        springs=tuple(replace(spring, joint=names[spring.joint]) for spring in springs),
    )
    panda = load("panda")
    weak = replace(panda, joints=tuple(replace(j, limits=replace(j.limits, torque=30.0)) for j in panda.joints))
    return {
        "smooth": (ROBOT, smooth, CONTROL, 1e-9, 1e-8),
        "every tick a step": (ROBOT, smooth, ComputedTorque(), 1e-9, 1e-8),
        "springs, Stribeck": (ROBOT, sprung, GravityPD(rate=500.0), 1e-6, 1e-4),  # MuJoCo updates Stribeck once a step
        "dry, saturated": (weak, draw(weak, 1), ComputedTorque(rate=1000.0), 2e-4, 1e-3),
    }


@pytest.mark.parametrize("case", list(arms()))
def test_the_loop_does_what_the_virtual_robot_does(case):
    """MuJoCo with the same truth: motion and torque, on ticks and between, rest of dry joints included."""
    robot, truth, control, close, close_torque = arms()[case]
    start = Start(at_rest=False, error=0.01)
    curve = curve_of(robot, 1.0, 0.08, 1)
    simulated = virtual_of(robot, truth, control, start=start, sampling=Sampling(RATE, jitter=1e-3)).run(curve)
    found = ClosedLoop(robot, control, curve, start=start).run(truth.model, truth.chi, simulated.recording.time)
    assert_allclose(found.motion.q, simulated.motion.q, atol=close)
    torque = simulated.torque
    assert np.sqrt(((found.torque - torque) ** 2).mean()) < close_torque * np.sqrt((torque**2).mean())
    if case == "dry, saturated":
        assert simulated.saturated.any()
    else:
        assert_allclose(found.motion.qdd, simulated.motion.qdd, atol=2e4 * close)


def test_energy_is_what_the_drives_gave_less_friction():
    """d(hχ)/dt = q̇ᵀ(τ − friction), with a term that the virtual robot does not have."""
    terms = (RotorInertia(), Viscous(), SqrtViscous(), Offset())
    model = DynamicModel(ROBOT, terms)
    chi = model.nominal.copy()
    for k, name in enumerate(model.standard):
        chi[k] = 15.0 if name.startswith("Fr") else 3.0 if name.startswith("off") else chi[k]
    rate = 4000.0
    loop = ClosedLoop(ROBOT, ComputedTorque(rate=rate), curve_of(ROBOT, 1.0, 0.1, 1))
    found = loop.run(model, chi, np.arange(6000) / rate)
    motion = found.motion
    conservative = np.array([not name.startswith(("Fv", "Fr")) for name in model.standard])
    energy = model.energy(motion)[:, conservative] @ chi[conservative]
    friction = (model.torque(motion, np.where(conservative, 0.0, chi)) * motion.qd).sum(axis=1)
    given = (found.torque[:-1] * np.diff(motion.q, axis=0)).sum(axis=1)  # held within a step
    lost = 0.5 * (friction[1:] + friction[:-1]) / rate
    assert np.ptp(energy) > 3.0
    assert lost.sum() > 3.0
    assert_allclose(np.diff(energy), given - lost, atol=1e-3 * np.abs(given - lost).max())
    assert_allclose(energy[-1] - energy[0], given.sum() - lost.sum(), atol=1e-4 * np.ptp(energy))


def test_base_parameters_alone_move_the_arm():
    """Masses of zero and bodies that cannot exist: only what the torque depends on counts."""
    truth = draw(ROBOT, 3)
    model = truth.model
    only_base = np.zeros(len(model.standard))
    only_base[model.base.independent] = model.base.base_values(truth.chi)
    loop = ClosedLoop(ROBOT, CONTROL, curve_of(ROBOT, 2.0, 0.1, 1))
    time = np.arange(150) / RATE
    one, other = loop.run(model, truth.chi, time), loop.run(model, only_base, time)
    assert_allclose(other.motion.q, one.motion.q, atol=1e-9)
    assert_allclose(other.torque, one.torque, atol=1e-6)


# -- estimates -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def experiment():
    """MuJoCo, a log of 100 Hz without noise, and the loop that made it."""
    truth, curve = draw(ROBOT, 1), curve_of(ROBOT)
    sampling = Sampling(RATE, lead_out=True)
    simulated = virtual_of(ROBOT, truth, CONTROL, sampling=sampling, simulation_rate=1000.0).run(curve)
    return simulated, ClosedLoop(ROBOT, CONTROL, curve, rate=1000.0)


def noisy(simulated, seed, joints=1e-3, torque=NOISE):
    rng = np.random.default_rng(seed)
    log = simulated.recording
    errors = rng.standard_normal((2, *log.q.shape))
    return Recording(
        log.joints, log.time, log.q + joints * errors[0], None, log.torque + torque * errors[1], None, About()
    )


def problem_of(model, recording, cutoff, low_pass=10.0):
    run = Run.of(recording, FilteredDifferences(cutoff=cutoff))
    return Problem(model, (run,), InverseDynamic(ParallelFilter(Butterworth(low_pass))))


def judged(simulated, estimate):
    """Squared error over its covariance, per parameter; and the relative error of predicted torque."""
    model, chi = simulated.truth.model, simulated.truth.chi
    error = estimate.values - model.base.base_values(chi)
    torque = model.torque(simulated.motion, chi)
    wrong = model.base.project(model.regressor(simulated.motion)) @ error
    squares = error @ np.linalg.solve(estimate.covariance, error)
    return squares / len(error), np.sqrt((wrong**2).mean() / (torque**2).mean())


@pytest.mark.parametrize(("cutoff", "low_pass", "bias"), [(10.0, 10.0, 5.0), (40.0, 20.0, 100.0)])
def test_joint_noise_biases_least_squares_only(experiment, cutoff, low_pass, bias):
    """1e-3 rad at 100 Hz, filters from sensible to much too high."""
    simulated, loop = experiment
    problem = problem_of(simulated.truth.model, noisy(simulated, 0), cutoff, low_pass)
    route = FilteredDifferences(cutoff=cutoff)
    squares, wrong = judged(simulated, WeightedLeastSquares().estimate(problem))
    assert squares > bias
    limit = chi2.ppf(0.999, 21) / 21
    for estimator, least in ((InstrumentalVariables(loop, route), 0.04), (DIDIM(loop), 0.005)):
        estimate = estimator.estimate(problem)
        found, torque = judged(simulated, estimate)
        assert found < limit
        assert torque < min(least, wrong)
        assert "settled" in estimate.notes[-1].text


def test_without_noise_the_truth_is_found(experiment):
    """A log of 100 Hz: corners at reversals are what least squares cannot follow, and simulation can."""
    simulated, loop = experiment
    problem = problem_of(simulated.truth.model, noisy(simulated, 0, 0.0, 0.0), 30.0)
    assert judged(simulated, DIDIM(loop).estimate(problem))[1] < 1e-6
    assert judged(simulated, InstrumentalVariables(loop, FilteredDifferences(cutoff=30.0)).estimate(problem))[1] < 1e-6
    as_differentiated = judged(simulated, InstrumentalVariables(loop).estimate(problem))[1]
    assert 1e-3 < as_differentiated < 1e-2


def test_intervals_cover_the_truth():
    """Monte Carlo with a new noise on joints and torques every time; the loop itself makes the data, fast."""
    truth, curve = draw(ROBOT, 1), curve_of(ROBOT, 3.0, 0.3, 1)
    loop = ClosedLoop(ROBOT, GravityPD(rate=250.0), curve, rate=250.0)
    model, time = truth.model, np.arange(int(RATE * curve.duration) + 1) / RATE
    exact = loop.run(model, truth.chi, time)
    true, route, runs = model.base.base_values(truth.chi), FilteredDifferences(cutoff=20.0), 15
    estimators = (InstrumentalVariables(loop, route, tolerance=0.05), DIDIM(loop, tolerance=0.05))
    scaled, squares = np.empty((2, runs, len(true))), np.empty((2, runs))
    for run in range(runs):
        errors = np.random.default_rng(run).standard_normal((2, *exact.torque.shape))
        q, torque = exact.motion.q + 1e-3 * errors[0], exact.torque + 5.0 * errors[1]
        problem = problem_of(model, Recording(ROBOT.joint_names, time, q, None, torque, None, About()), 20.0)
        for k, estimator in enumerate(estimators):
            estimate = estimator.estimate(problem)
            error = estimate.values - true
            scaled[k, run] = error / estimate.std / estimate.quantile()
            squares[k, run] = error @ np.linalg.solve(estimate.covariance, error)
    coverage = (np.abs(scaled) < 1.0).mean(axis=(1, 2))
    assert (coverage > 0.92).all()
    assert (coverage < [0.99, 0.985]).all()
    means = 2.0 * scaled.mean(axis=1)  # of errors over σ, about
    assert (np.abs(means) < 4.5 / np.sqrt(runs)).all()
    low, high = chi2.ppf([0.0005, 0.9995], len(true) * runs)
    assert low < squares[1].sum() < high
    assert 0.6 * low < squares[0].sum() < high  # smoothing its spectrum makes blue noise look larger than it is


def test_a_slightly_wrong_controller_hardly_matters_a_wrong_clock_does(experiment):
    """Gains wrong by 20 %, and a clock that is one sample off."""
    simulated, loop = experiment
    problem = problem_of(simulated.truth.model, noisy(simulated, 0), 20.0)

    def found(**changes):
        return judged(simulated, DIDIM(replace(loop, **changes)).estimate(problem))[1]

    right = found()
    for factor in (0.8, 1.2):  # of both gains
        wrong = ComputedTorque(20.0 * np.sqrt(factor), np.sqrt(factor), rate=250.0)
        assert found(control=wrong) < right + 0.001
    assert found(offset=0.01) > 10.0 * right


def test_seven_axes_and_a_payload():
    """The hand of a Panda carries 1 kg that the problem takes as known; MuJoCo's torques, no motion needed."""
    robot = load("panda")
    truth, curve = draw(robot, 1), curve_of(robot, 1.5, 0.1, 1)
    payload = Payload(robot.frame_names[-1], 1.0, (0.0, 0.0, 0.1), (0.002, 0.0, 0.0, 0.002, 0.0, 0.001))
    control = ComputedTorque(rate=500.0)
    virtual = virtual_of(robot, truth, control, payload=payload, simulation_rate=1000.0)
    simulated = virtual.run(curve)
    loop = ClosedLoop(robot, control, curve, rate=1000.0)
    problem = problem_of(truth.model, simulated.recording, 30.0)
    assert problem.runs[0].payload is not None
    true = truth.model.base.base_values(truth.chi)
    along = DIDIM(loop).simulated(problem, true)
    (measured,), (piece,) = problem.runs[0].parts, along.runs[0].parts
    assert_allclose(piece.motion.q, measured.motion.q, atol=1e-3)
    estimate = DIDIM(loop).estimate(problem)
    torque = truth.model.torque(simulated.motion, truth.chi)
    wrong = truth.model.base.project(truth.model.regressor(simulated.motion)) @ (estimate.values - true)
    assert np.sqrt((wrong**2).mean() / (torque**2).mean()) < 1e-3


def test_pieces_of_a_log_are_those_of_the_whole(experiment):
    """A log that is read piece by piece, again and again: the same estimates."""
    simulated, loop = experiment
    whole = problem_of(simulated.truth.model, noisy(simulated, 0), 20.0)
    (part,) = whole.runs[0].parts

    class Pieces:
        def __iter__(self):
            cuts = [0, 150, 160, 420, len(part)]
            return (part[a:b] for a, b in pairwise(cuts))

    pieces = replace(whole, runs=(replace(whole.runs[0], parts=Pieces()),))
    for estimator in (DIDIM(loop), InstrumentalVariables(loop, FilteredDifferences())):
        one, other = estimator.estimate(whole), estimator.estimate(pieces)
        assert_allclose(other.values, one.values, atol=0.02 * one.std.min(), rtol=1e-3)
        assert_allclose(other.std, one.std, rtol=0.01)


def test_coloured_covariance_is_that_of_coloured_errors():
    """Blue errors that both joints share: in the mean the sum over all pairs of instants, the whole Toeplitz matrix;
    far from what white errors of the same variance would give."""
    rng = np.random.default_rng(3)
    count, noise = 800, np.array([2.0, 0.5])
    phase = np.array([[0.0], [0.5 * np.pi]])  # so that it matters which joint's errors come first
    z = np.sin(np.arange(count)[:, None, None] * np.array([0.2, 0.3, 0.4]) + phase)
    ahead = np.array([[3.0, 0.3], [0.9, 1.0]])
    behind = -np.array([[2.4, 0.0], [0.0, 0.8]])  # e_t = ahead n_{t+1} + behind n_t
    levels = [ahead @ ahead.T + behind @ behind.T, behind @ ahead.T]  # R(0), R(1)
    total, pad = np.zeros((3, 3)), np.zeros(count - 2)
    for i, j in np.ndindex(2, 2):
        column, row = (np.array([levels[0][i, j], level]) for level in (levels[1][i, j], levels[1][j, i]))
        matrix = toeplitz(np.append(column, pad), np.append(row, pad))
        total += z[:, i].T @ matrix @ z[:, j] / (noise[i] ** 2 * noise[j] ** 2)
    white = np.einsum("j,tjp,tjq->pq", levels[0].diagonal() / noise**4, z, z)
    time, draws, mean = np.arange(count) / 50.0, 40, np.zeros((3, 3))
    for _ in range(draws):
        n = rng.standard_normal((count + 1, 2))
        e = n[1:] @ ahead.T + n[:-1] @ behind.T
        parts = [slice(0, 200), slice(200, 210), slice(210, None)]
        series = Rows.of(time, z, e, 50.0, ("a", "b"), ("x", "y", "z"))
        found = coloured_covariance(lambda series=series, parts=parts: (series[s] for s in parts), noise)
        mean += found / draws
    whole = coloured_covariance(lambda: [series], noise)
    assert_allclose(found, whole, rtol=1e-12, atol=1e-12 * whole.max())
    assert_allclose(mean, total, atol=0.12 * total.max())
    assert (white.diagonal() > 2.0 * total.diagonal()).all()


# -- what is refused -------------------------------------------------------------------------------------------------


def test_bad_input_is_told_in_one_line(experiment):
    simulated, loop = experiment
    model, chi = simulated.truth.model, simulated.truth.chi
    recording = noisy(simulated, 0)
    problem = problem_of(model, recording, 20.0)
    other = load("gautier-khalil")

    def refused(kind, match, call):
        with pytest.raises(kind, match=match) as error:
            call()
        assert "\n" not in str(error.value)
        assert isinstance(error.value, ExciterError)

    renamed = replace(ROBOT, joints=tuple(replace(j, name=f"axis {k}") for k, j in enumerate(ROBOT.joints)))
    refused(ParameterError, "closed loop is one of", lambda: DIDIM(replace(loop, robot=renamed)).estimate(problem))
    refused(MotionError, "moves 7 joints", lambda: ClosedLoop(other, CONTROL, curve_of(load("panda"))))
    short = replace(loop, curve=curve_of(ROBOT, periods=1))
    refused(MotionError, "the reference from 0 to", lambda: DIDIM(short).estimate(problem))
    refused(MotionError, "clock", lambda: DIDIM(replace(loop, offset=3.0)).estimate(problem))
    refused(ParameterError, "2 closed loops for 1", lambda: DIDIM((loop, loop)).estimate(problem))
    dahl = DynamicModel(ROBOT, (Viscous(), Coulomb(Dahl(0.01))))
    refused(ParameterError, "Coulomb with Dahl", lambda: DIDIM(loop).estimate(problem_of(dahl, recording, 20.0)))
    refused(Unmovable, "positive definite", lambda: loop.run(model, -chi, [0.0, 0.1]))
    unstable = replace(loop, control=GravityPD(200.0, 0.01, rate=50.0))
    refused(Unmovable, "diverged", lambda: unstable.run(model, chi, np.arange(500) / RATE))
    refused(ParameterError, "finite numbers", lambda: loop.run(model, chi[:-1], [0.0]))
    refused(ParameterError, "offset", lambda: replace(loop, offset=np.nan))
    refused(ParameterError, "still change", lambda: DIDIM(loop, rounds=1).estimate(problem))
