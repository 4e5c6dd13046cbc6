"""The virtual robot against what does not share its equations: the estimator's model, energy, scipy, statistics."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import signal
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, MotionError, ParameterError
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.excitation.trajectories.ramps import ramped
from exciter.excitation.trajectories.trajectory import motion as sampled_motion
from exciter.experiment.recording import AnalogFilter, Payload, read_recording, write_recording
from exciter.experiment.virtual import (
    CompensationSpring,
    ComputedTorque,
    Encoder,
    ExactMotion,
    Flexibility,
    GearedDrive,
    GravityPD,
    Sampling,
    Spread,
    Start,
    TorqueMeter,
    TorqueRipple,
    TrueFriction,
    Truth,
    VirtualRobot,
    draw,
    read_truth,
)
from exciter.experiment.virtual.motion_execution import SimulationTiming, execute, plan
from exciter.experiment.virtual.plant import build
from exciter.experiment.virtual.sensors import filtered
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.experiment.virtual.true_parameters import TruthSettings, nearest_body, truth_from
from exciter.notes import texts
from exciter.parameters.consistency import consistency, consistency_margin
from exciter.parameters.inertial import symmetric
from exciter.parameters.terms import Coulomb, GravitySpring, Spring, Viscous
from exciter.robot import Joint, Limits, Motion, Robot
from exciter.robot import embedded_robots as embedded
from exciter.robot.spatial import from_pseudo_inertia, pseudo_inertia, skew
from support.robots import CASES, random_robot

pytestmark = pytest.mark.slow

QUIET = TorqueMeter(noise=0.0)
EXACT = Encoder(counts=None)


def sway(robot: Robot, period: float = 1.0, harmonics: int = 2, size: float = 0.4) -> Curve:
    """One period of a Fourier series around the middle of the ranges, moving from the start."""
    low, high = robot.position_range()
    family = Fourier(period, harmonics)
    delta = size * np.random.default_rng(0).standard_normal((robot.n, len(family.labels)))
    delta[:, -1] = np.where((low < 0.1) & (high > 0.1), 0.1, 0.5 * (low + high))
    return family.curve(delta)


def pendulum(mass: float = 2.0, length: float = 0.5, **limits: float) -> Robot:
    """One joint about y that carries a rod."""
    inertia = np.array([mass, 0.0, 0.0, -mass * length, mass * length**2, 0, mass * length**2, 0, 0, 0.0])
    inertia[[4, 6, 9]] += [0.02, 0.02, 0.01]
    joint = Joint("swing", "revolute", -1, np.eye(3), np.zeros(3), np.array([0.0, 1.0, 0.0]), Limits(**limits), inertia)
    return Robot("pendulum", (joint,))


def slipping(simulated) -> np.ndarray:
    """Samples whose joints do not come to rest within the present step."""
    motor = simulated.motor
    return np.abs(motor.qd) > 1e-3 + 2.0 * np.abs(motor.qdd) / simulated.rate


@pytest.fixture(scope="module")
def arm() -> Robot:
    return embedded.robot("tx40")


@pytest.fixture(scope="module")
def quiet(arm):
    """Three periods of a small arm without any effect of sensors."""
    virtual = VirtualRobot(
        arm, draw(arm, 1), meter=QUIET, encoder=EXACT, sampling=Sampling(200.0), simulation_rate=1000.0
    )
    return virtual.run(sway(arm), periods=3)


# -- an independent engine -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["panda", "tx40", "ur10e", "tree", "gantry", "gautier-khalil"])
def test_the_model_gives_the_torque_that_was_applied(name):
    """τ = Φ χ at simulated states, off the steps too: rotor, all friction, payload, and both kinds of springs."""
    robot = random_robot(2, 6, tree=True) if name == "tree" else CASES[name]()
    turning = [j.name for j in robot.joints if not j.is_prismatic]
    truth = draw(robot, 5)
    springs = [CompensationSpring(turning[-1], 0.3, 0.1, 0.4, 200.0)] if turning else []
    if len(turning) > 1:
        springs.append(CompensationSpring(turning[0], 0.2, 0.35, -0.3, 300.0, free_length=0.1, preload=15.0))
    friction = TrueFriction(tuple(np.linspace(0.5, 1.0, robot.n)), 1.0, tuple(np.linspace(0.3, 0.6, robot.n)), 0.2)
    truth = replace(truth, friction=friction, rotor_inertia=0.2, springs=springs)
    carrier = [name for name in robot.frame_names if robot.frame(name).joint == robot.n - 1][-1]
    payload = Payload(carrier, 1.5, (0.02, -0.03, 0.1), (0.004, 0.001, 0, 0.005, 0, 0.006))
    virtual = VirtualRobot(robot, truth, payload=payload, meter=QUIET, sampling=Sampling(200.0, jitter=7e-4))
    simulated = replace(virtual, simulation_rate=2000.0).run(sway(robot))
    loaded = truth.loaded(payload)
    expected = loaded.model.torque(simulated.motion, loaded.chi)
    slips = slipping(simulated)
    assert slips.mean() > 0.8
    np.testing.assert_allclose(simulated.torque[slips], expected[slips], rtol=1e-11, atol=1e-9)
    dry = friction.coulomb + np.array(friction.stribeck)
    assert (np.abs(simulated.dry_friction) <= dry + 1e-9).all()
    assert np.abs(truth.model.torque(simulated.motion, truth.chi) - expected).max() > 1.0  # the payload is felt
    assert {"Gs", "Fst", "Ia"} <= {name.rstrip("0123456789") for name in loaded.model.standard} or not turning


def test_motion_is_one_motion():
    """Velocities are the slopes of positions, accelerations those of velocities, between and on the steps."""
    robot = embedded.robot("panda")
    virtual = VirtualRobot(robot, draw(robot, 0), start=Start(at_rest=False), sampling=Sampling(1000.0, jitter=1e-4))
    truth = replace(virtual.truth, friction=TrueFriction(viscous=1.0), rotor_inertia=0.3)
    motion = replace(virtual, truth=truth).run(sway(robot, size=0.2)).motion
    inside = slice(300, -20)  # ends of a spline, and the controller's first ticks
    for values, rates, close in ((motion.q, motion.qd, 2e-6), (motion.qd, motion.qdd, 0.1)):
        slopes = CubicSpline(motion.time, values).derivative()(motion.time)
        np.testing.assert_allclose(slopes[inside], rates[inside], atol=close)


@pytest.mark.parametrize("name", ["two-arms", "random-tree", "panda"])
@pytest.mark.parametrize("viscous", [0.0, 0.4])
def test_a_passive_swing_keeps_its_energy(name, viscous):
    """Nothing but gravity, a spring and rotors: E is constant; with viscous friction it falls by ∫ Fv q̇²."""
    robot = CASES[name]()
    turning = next(j.name for j in robot.joints if not j.is_prismatic)
    spring = CompensationSpring(turning, 0.3, 0.2, 0.5, 400.0, free_length=0.15)
    truth = replace(draw(robot, 2), friction=TrueFriction(viscous), rotor_inertia=0.05, springs=[spring])
    plant = build(truth)
    timing, instants = SimulationTiming(1 / 4000, 1, 2000), np.arange(2001) / 4000
    still = Motion(instants, *np.zeros((3, 2001, robot.n)))
    start = np.full(robot.n, 0.7), np.linspace(-0.5, 0.5, robot.n)
    happened = execute(plant, lambda tick, q, qd: np.zeros(robot.n), still, timing, instants, start)
    model = truth.model
    kept = [not name.startswith("Fv") for name in model.standard]
    energy = model.energy(happened.link)[:, kept] @ truth.chi[kept]
    power = viscous * (happened.link.qd**2).sum(axis=1)
    lost = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]))]) / 4000
    assert np.ptp(happened.link.q, axis=0).max() > 0.3
    np.testing.assert_allclose(energy + lost, energy[0], atol=2e-6 * max(1.0, np.abs(energy).max()))


def test_dry_friction_holds_a_joint_that_is_not_pushed_hard_enough():
    robot = pendulum()
    weight = 2.0 * 0.5 * 9.81 * np.sin(0.5)
    for coulomb, moves in ((weight * 1.01, False), (weight * 0.9, True)):
        plant = build(Truth(robot, 0.0, TrueFriction(coulomb=coulomb)))
        timing, instants = SimulationTiming(1 / 4000, 1, 2000), np.array([0.0, 0.25, 0.5])
        still = Motion(np.arange(2001.0), *np.zeros((3, 2001, 1)))
        held = execute(plant, lambda *_: np.zeros(1), still, timing, instants, (np.array([0.5]), np.zeros(1)))
        travel = abs(held.link.q[-1, 0] - 0.5)
        assert travel > 1e-2 if moves else travel < 1e-6
        np.testing.assert_allclose(np.abs(held.dry_friction[1]), min(coulomb, weight), rtol=1e-4)


# -- flexible joints -------------------------------------------------------------------------------------------------


def test_flexible_joint_swings_at_its_resonance():
    """Kicked and left alone without gravity, motor against link: ω² = K (1/I + 1/J)."""
    robot = pendulum().with_gravity([0, 0, 0])
    rotor, stiffness = 0.3, 5000.0
    plant = build(Truth(robot, rotor), Flexibility(stiffness))
    steps = 4000
    instants = np.arange(steps + 1) / 4000
    still = Motion(instants, *np.zeros((3, steps + 1, 1)))
    kick = lambda tick, q, qd: np.array([100.0 if tick < 20 else 0.0])  # noqa: E731
    happened = execute(plant, kick, still, SimulationTiming(1 / 4000, 1, steps), instants, (np.zeros(1), np.zeros(1)))
    twist = (happened.motor.q - happened.link.q)[20:, 0]
    spectrum = np.abs(np.fft.rfft(twist * np.hanning(len(twist)), 16 * len(twist)))
    found = 2 * np.pi * np.fft.rfftfreq(16 * len(twist), 1 / 4000)[spectrum.argmax()]
    inertia = 2.0 * 0.5**2 + 0.02
    assert found == pytest.approx(np.sqrt(stiffness * (1 / inertia + 1 / rotor)), rel=2e-3)


@pytest.mark.parametrize("prismatic", [0.5, 1.0])
def test_flexible_robot_obeys_both_equations_and_becomes_rigid(prismatic):
    robot = random_robot(7, 2, prismatic=prismatic)
    truth = Truth(robot, 0.4, TrueFriction(0.6, 0.8))
    rigid = VirtualRobot(robot, truth, meter=QUIET, encoder=EXACT, sampling=Sampling(200.0)).run(sway(robot, 0.5, 1))
    error = []
    for stiffness in (5e3, 5e4):
        flexible = Flexibility(stiffness, damping=20.0, encoder_on_link=True)
        virtual = VirtualRobot(robot, truth, meter=replace(QUIET, link_side=True), encoder=EXACT, flexibility=flexible,
                               sampling=Sampling(200.0))  # fmt: skip
        simulated = virtual.run(sway(robot, 0.5, 1))
        model = DynamicModel(truth.robot)
        np.testing.assert_allclose(model.torque(simulated.motion), simulated.link_torque, atol=1e-7)
        np.testing.assert_allclose(simulated.recording.torque, simulated.link_torque, atol=1e-9)
        np.testing.assert_array_equal(simulated.recording.q, simulated.motion.q)
        motor = 0.4 * simulated.motor.qdd + 0.6 * simulated.motor.qd + simulated.dry_friction + simulated.link_torque
        np.testing.assert_allclose(motor, simulated.torque, atol=1e-7)
        slips = np.abs(simulated.motor.qd) > 0.02
        np.testing.assert_allclose(np.abs(simulated.dry_friction[slips]), 0.8, rtol=1e-6)
        error.append(np.abs(simulated.motion.q - rigid.motion.q)[20:].max())
    assert error[0] > 4 * error[1] > 0.0
    assert error[1] < 5e-3
    with pytest.raises(ParameterError, match="needs a rotor"):
        build(Truth(robot), Flexibility(1e4))


# -- what sensors do -------------------------------------------------------------------------------------------------


def test_encoder_counts(quiet, arm):
    drive = GearedDrive(gear=tuple(np.linspace(50, 100, arm.n)))
    for encoder, step in ((Encoder(500.0), 2 * np.pi / 500 / np.linspace(50, 100, arm.n)),
                          (Encoder(2000.0, on_motor=False), np.full(arm.n, 2 * np.pi / 2000))):  # fmt: skip
        q = encoder.position(quiet.motion.q, arm, drive, 0)
        np.testing.assert_allclose(q / step, np.rint(q / step), atol=1e-6)
        error = (q - quiet.motion.q) / step
        assert np.abs(error).max() <= 0.5 + 1e-9
        assert error.std() == pytest.approx(1 / np.sqrt(12), rel=0.1)
    assert (quiet.recording.q == quiet.motion.q).all()


def test_noise_has_the_variance_asked_for_and_is_white(arm):
    sigma = tuple(np.linspace(0.1, 0.6, arm.n))
    virtual = VirtualRobot(
        arm, draw(arm, 1), meter=TorqueMeter(noise=sigma), sampling=Sampling(1000.0),
        simulation_rate=1000.0,
        encoder=Encoder(None, noise=2e-4, velocity_noise=3e-3),
    )  # fmt: skip
    simulated = virtual.run(sway(arm), periods=2, seed=3)
    log = simulated.recording
    for noise, std in (
        (log.torque - simulated.torque, np.array(sigma)),
        (log.q - simulated.motion.q, 2e-4),
        (log.qd - simulated.motion.qd, 3e-3),
    ):
        np.testing.assert_allclose(noise.std(axis=0), np.broadcast_to(std, arm.n), rtol=0.08)  # 5 σ of 2001 samples
        neighbours = (noise[1:] * noise[:-1]).mean(axis=0) / noise.var(axis=0)
        assert np.abs(neighbours).max() < 5 / np.sqrt(len(log))
    both = np.corrcoef((log.torque - simulated.torque).ravel(), (log.q - simulated.motion.q).ravel())
    assert abs(both[0, 1]) < 5 / np.sqrt(log.q.size)
    assert VirtualRobot(arm, draw(arm, 1)).meter.std(arm) == pytest.approx(0.005 * arm.limit("torque"))


def test_ripple_is_a_sine_of_the_motor_angle(arm, quiet):
    drive, ripple = GearedDrive(gear=60.0), TorqueRipple(amplitude=0.7, per_turn=4.0)
    virtual = replace(quiet.virtual, drive=drive, meter=TorqueMeter(noise=0.0, ripple=ripple))
    simulated = virtual.run(sway(arm))
    extra = simulated.recording.torque - simulated.torque
    for j in range(arm.n):
        angle = 4.0 * 60.0 * simulated.motor.q[:, j]
        waves = np.stack([np.sin(angle), np.cos(angle)], axis=1)
        found = np.linalg.lstsq(waves, extra[:, j], rcond=None)[0]
        np.testing.assert_allclose(waves @ found, extra[:, j], atol=1e-9)
        assert np.hypot(*found) == pytest.approx(0.7)


@pytest.mark.parametrize("order", [1, 2, 5, 8])
def test_analogue_filter_has_the_gain_and_phase_of_the_books(order):
    settings, step = AnalogFilter(order, 40.0), 1e-4
    b, a = signal.butter(order, 2 * np.pi * 40.0, analog=True)
    time = np.arange(30000) * step
    at = 2.0 + np.sort(np.random.default_rng(0).uniform(0.0, 0.9, 400))  # on no step
    for frequency in (5.0, 40.0, 80.0):
        wave = np.sin(2 * np.pi * frequency * time)[:, None]
        answer = filtered(settings, np.zeros_like(wave), wave, step, at)[:, 0]
        phase = 2 * np.pi * frequency * at
        sine, cosine = np.linalg.lstsq(np.stack([np.sin(phase), np.cos(phase)], 1), answer, rcond=None)[0]
        expected = signal.freqs(b, a, [2 * np.pi * frequency])[1][0]
        assert complex(sine, cosine) == pytest.approx(expected, abs=3e-4)


def test_analogue_filter_of_held_inputs_is_exact():
    """Against scipy's simulation of the same state space, starting from a lasting first value; and between steps."""
    rng, step = np.random.default_rng(1), 1 / 2000
    held = rng.standard_normal((400, 2)) + 3.0
    time = np.arange(400) * step
    system = signal.butter(4, 2 * np.pi * 100.0, analog=True)
    answer = filtered(AnalogFilter(4, 100.0), held, np.zeros_like(held), step, time)
    for j in range(2):
        _, expected, _ = signal.lsim(system, held[:, j] - held[0, j], time, interp=False)
        np.testing.assert_allclose(answer[:, j], expected + held[0, j], atol=1e-9)
    fine = np.repeat(held, 5, axis=0)
    odd = np.arange(1, 1990, 7) * step / 5
    again = filtered(AnalogFilter(4, 100.0), fine, np.zeros_like(fine), step / 5, odd)
    np.testing.assert_allclose(filtered(AnalogFilter(4, 100.0), held, np.zeros_like(held), step, odd), again, atol=1e-9)


def test_filter_colours_noise_that_comes_before_it(quiet, arm):
    meter = TorqueMeter(noise=1.0, noise_before_filter=True, filter=AnalogFilter(8, 40.0))
    simulated = replace(quiet.virtual, meter=meter).run(sway(arm), periods=3)
    clean = replace(quiet.virtual, meter=replace(meter, noise=0.0)).run(sway(arm), periods=3)
    noise = simulated.recording.torque - clean.recording.torque
    bandwidth = np.pi / 16 / np.sin(np.pi / 16) * 40.0  # [Hz] of white noise that passes
    np.testing.assert_allclose(noise.std(), np.sqrt(bandwidth / (simulated.rate / 2)), rtol=0.15)
    late = np.abs(clean.recording.torque - clean.torque).max()
    assert late > 0.1  # a filter delays


def test_jitter_moves_instants_whose_stamps_are_true(quiet, arm):
    virtual = replace(quiet.virtual, sampling=Sampling(200.0, jitter=5e-4))
    moved = virtual.run(sway(arm), periods=3)
    late = moved.recording.time - quiet.recording.time
    assert late.std() == pytest.approx(5e-4, rel=0.15)
    assert (np.diff(moved.recording.time) > 0).all()
    dense = replace(quiet.virtual, sampling=Sampling(1000.0)).run(sway(arm), periods=3)
    np.testing.assert_allclose(
        moved.recording.q, CubicSpline(dense.motion.time, dense.motion.q)(moved.recording.time), atol=3e-7
    )


def test_more_jitter_than_the_rate_allows_is_refused():
    """Whatever is allowed has the deviation asked for, to a percent, and keeps its order."""
    instants = Sampling(100.0, jitter=1.5e-3).instants(1000.0, seed=1)
    assert (np.diff(instants) > 0).all()
    assert np.std(instants - np.arange(len(instants)) / 100.0) == pytest.approx(1.5e-3, rel=0.02)
    with pytest.raises(ParameterError, match=r"^jitter is 0.0016; at 100 Hz .* 0 ≤ jitter ≤ 0.0015 \[s\]"):
        Sampling(100.0, jitter=1.6e-3)


def test_exact_motion_is_a_recording_with_accelerations(quiet, arm, tmp_path):
    """As tables and arrays, to the last bit; a table is read as a recording, too."""
    exact = quiet.virtual.run(sway(arm, 0.5), seed=2).exact
    assert exact.signals == ("q", "qd", "qdd", "torque")
    assert isinstance(exact[3:5], ExactMotion)
    write_recording(exact, tmp_path / "m.csv")
    write_recording(exact, tmp_path / "m.npz")
    header, *rows = (tmp_path / "m.csv").read_text().splitlines()
    first = arm.joint_names[0]
    assert header.split(",")[:5] == ["time", *(f"{first}.{word}" for word in ("q", "qd", "qdd", "tau"))]
    table = np.array([row.split(",") for row in rows], dtype=float)
    np.testing.assert_array_equal(table[:, 0], exact.time)
    for k, name in enumerate(exact.signals):
        np.testing.assert_array_equal(table[:, 1 + k :: 4], getattr(exact, name))
    with np.load(tmp_path / "m.npz") as data:
        np.testing.assert_array_equal(data["qdd"], exact.qdd)
    for name in ("m.csv", "m.npz"):
        back = read_recording(tmp_path / name)
        assert back.signals == ("q", "qd", "torque")
        np.testing.assert_array_equal(back.torque, exact.torque)
        assert back.about.gravity == tuple(arm.gravity)


def test_dropped_samples_leave_gaps(quiet, arm):
    simulated = replace(quiet.virtual, sampling=Sampling(200.0, dropped=0.2)).run(sway(arm), periods=3)
    kept = np.isin(quiet.recording.time, simulated.recording.time)
    assert 0.7 < kept.mean() < 0.9
    assert len(simulated.recording) == len(simulated.motion) == len(simulated.torque) == kept.sum()
    np.testing.assert_array_equal(simulated.recording.q, quiet.recording.q[kept])
    np.testing.assert_array_equal(simulated.recording.torque, quiet.recording.torque[kept])


def test_currents_and_link_side(quiet, arm):
    drive = GearedDrive(gear=tuple(range(40, 40 + arm.n)), torque_constant=0.2)
    current = replace(quiet.virtual, drive=drive, meter=replace(QUIET, current=True)).run(sway(arm), periods=3)
    log = current.recording
    assert log.torque is None
    assert log.about.gains == pytest.approx(0.2 * np.arange(40, 40 + arm.n))
    np.testing.assert_allclose(log.needed_torque(), quiet.recording.torque, rtol=1e-12)
    link = replace(quiet.virtual, meter=replace(QUIET, link_side=True)).run(sway(arm), periods=3)
    rigid = DynamicModel(quiet.truth.robot).torque(link.motion)
    np.testing.assert_allclose(link.recording.torque, rigid, atol=1e-8)
    with pytest.raises(ParameterError, match="motor's side"):
        TorqueMeter(current=True, link_side=True)


# -- transients and periods ------------------------------------------------------------------------------------------


def test_transients_die_out_and_the_rest_repeats(quiet, arm):
    """From rest into a motion that moves, with an error of position: after ``settled`` every period is the same."""
    virtual = replace(quiet.virtual, start=Start(error=0.02), meter=replace(QUIET, filter=AnalogFilter()))
    log = virtual.run(sway(arm), periods=3).recording
    assert log.about.period == pytest.approx(1.0)
    size = np.abs(log.torque).max()
    first = int(np.ceil(log.about.settled * 200))
    assert 0.2 < log.about.settled < 1.0
    np.testing.assert_allclose(log.torque[first:401], log.torque[first + 200 : 601], atol=1e-5 * size)
    np.testing.assert_allclose(log.q[first:401], log.q[first + 200 : 601], atol=1e-7)
    assert np.abs(log.torque[:10] - log.torque[200:210]).max() > 0.05 * size
    assert np.abs(log.q[:10] - log.q[200:210]).max() > 1e-3


def test_plans(arm):
    """The periodic part is found between ramps, and repeated there; other motions are repeated as a whole."""
    family = Fourier(2.0, 2)
    delta = 0.1 * np.random.default_rng(0).standard_normal((arm.n, len(family.labels)))
    curve = ramped(family, delta, arm, periods=2).shifted(3.0)
    same = plan(curve)
    assert same.curve.start == 0.0
    assert same.curve.duration == pytest.approx(curve.duration)
    assert (same.period, same.end - same.start) == (pytest.approx(2.0), pytest.approx(4.0))
    longer = plan(curve, 5)
    assert longer.curve.duration == pytest.approx(curve.duration + 6.0)
    t = np.array([0.1, same.start + 0.7])
    np.testing.assert_allclose(longer.curve.motion(t).q, same.curve.motion(t).q)
    np.testing.assert_allclose(longer.curve.motion(t[1:] + 8.0).qdd, same.curve.motion(t[1:]).qdd, atol=1e-9)
    np.testing.assert_allclose(longer.curve.motion([longer.curve.end]).q, same.curve.motion([same.curve.end]).q)
    resting = ramped(Fourier(2.0, 3, at_rest=True), np.zeros((arm.n, 7)), arm, periods=3)
    assert plan(resting).end - plan(resting).start == pytest.approx(6.0)
    move = Curve((PolynomialPiece(np.array([0.0, 1.0]), np.zeros((arm.n, 1, 3)) + np.array([0.0, 1.0, -1.0])),))
    assert plan(move).period is None
    with pytest.raises(MotionError, match="cannot be run 2 times"):
        plan(move, 2)
    closed = Curve((PolynomialPiece(np.array([0.0, 1.0]), np.zeros((arm.n, 1, 5)) + np.array([0, 0, 1, -2, 1])),))
    assert (plan(closed, 3).period, plan(closed, 3).end) == (1.0, 3.0)
    with pytest.raises(MotionError, match="give 1 or more"):
        plan(closed, 0)


def test_lead_out_is_logged_when_asked_for(arm):
    family = Fourier(1.0, 1)
    delta = 0.05 * np.ones((arm.n, 3))
    curve = ramped(family, delta, arm, periods=1)
    virtual = VirtualRobot(arm, draw(arm, 0), simulation_rate=1000.0)
    short, whole = (replace(virtual, sampling=Sampling(100.0, lead_out=out)).run(curve) for out in (False, True))
    assert short.recording.time[-1] == pytest.approx(plan(curve).end, abs=0.01)
    assert whole.recording.time[-1] == pytest.approx(curve.duration, abs=0.01)
    assert short.recording.about.period == 1.0
    assert whole.recording.about.period is None
    assert whole.recording.about.settled is None


# -- the controller --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ur10e", "kuka-ir361", "two-arms"])
def test_tracking_is_good(name):
    robot = CASES[name]()
    curve = sway(robot, size=0.1)
    virtual = VirtualRobot(robot, draw(robot, 3), start=Start(at_rest=False), simulation_rate=2000.0)
    computed = virtual.run(curve)
    assert computed.tracking.max() < 5e-3
    pd = replace(virtual, control=GravityPD(rate=1000.0)).run(curve)
    assert computed.tracking.mean() < pd.tracking.mean() < 0.05
    stiffer = replace(virtual, control=ComputedTorque(bandwidth=40.0)).run(curve)
    assert stiffer.tracking.mean() < 0.6 * computed.tracking.mean()


def test_gains_can_be_given():
    robot = pendulum()
    kp, kd = GravityPD(stiffness=[300.0], derivative=[9.0]).gains(robot, 1.0)
    assert (kp[0], kd[0]) == (300.0, 9.0)
    kp, kd = ComputedTorque(bandwidth=10.0, damping=0.5).gains(robot, 1.0)
    assert (kp[0], kd[0]) == (pytest.approx((20 * np.pi) ** 2), pytest.approx(20 * np.pi))


def test_drives_saturate_and_it_is_told():
    robot = pendulum(torque=4.0)  # the weight alone needs up to 9.8 N·m
    simulated = VirtualRobot(robot, Truth(robot), meter=QUIET).run(sway(robot, size=4.0))
    assert np.abs(simulated.torque).max() == 4.0
    assert 0.05 < simulated.saturated[0] < 1.0
    assert any("at its limit of 4 " in words for words in texts(simulated.run_notes))
    outside = pendulum(lower=-0.05, upper=0.05)
    words = texts(VirtualRobot(outside, Truth(outside), meter=QUIET).run(sway(robot, size=0.3)).run_notes)
    assert any("beyond its limits -0.05 … 0.05" in line for line in words)


def test_steps_that_diverge_are_made_shorter(monkeypatch):
    """Where the loop becomes faster along the motion than it was at its start."""
    robot = pendulum()
    machine = VirtualRobot(robot, Truth(robot), control=GravityPD(bandwidth=200.0), meter=QUIET)
    monkeypatch.setattr(VirtualRobot, "_needed_rate", lambda *_: 0.0)
    monkeypatch.setattr("exciter.experiment.virtual.virtual_robot.LEAST_SIMULATION_RATE_HZ", 500.0)
    monkeypatch.setattr("exciter.experiment.virtual.virtual_robot.LEAST_STEPS_PER_SAMPLE", 1)
    simulated = machine.run(sway(robot))
    said = [words for words in texts(simulated.run_notes) if "made half as long" in words]
    assert len(said) == round(np.log2(simulated.rate / 500.0)) > 0
    assert np.abs(simulated.error).max() < 1e-2
    with pytest.raises(ExciterError, match="diverged before"):  # whoever gives a rate means it
        replace(machine, simulation_rate=500.0).run(sway(robot))


def test_what_cannot_be_simulated_is_one_clear_line(arm, monkeypatch):
    robot = pendulum()
    curve = sway(robot)
    with pytest.raises(ExciterError, match="diverged before"):
        VirtualRobot(robot, Truth(robot), control=GravityPD(bandwidth=5000.0, rate=100.0)).run(curve)
    with pytest.raises(MotionError, match="moves 1 joints; robot 'tx40' has 6"):
        VirtualRobot(arm, draw(arm, 0)).run(curve)
    with pytest.raises(ExciterError, match="more than are kept in memory"):
        VirtualRobot(robot, Truth(robot)).run(curve, periods=10**5)
    with pytest.raises(ExciterError, match="raise simulation_rate"):
        VirtualRobot(robot, Truth(robot), simulation_rate=500.0, control=GravityPD(rate=1000.0)).run(curve)
    grounded = replace(robot, frames=(replace(robot.frame("swing"), name="floor", joint=-1),))
    with pytest.raises(ExciterError, match="fixed on the base"):
        Truth(grounded).loaded(Payload("floor", 1.0))
    with pytest.raises(ParameterError, match=r"the payload: .*triangle"):
        Truth(robot).loaded(Payload("swing", 1.0, inertia=(1, 0, 0, 0.1, 0, 0.1)))
    with pytest.raises(ParameterError, match=r"'swing': negative mass .*bodies that exist"):
        Truth(robot.with_inertias([[-1.0, *[0.0] * 9]]))
    with pytest.raises(ParameterError, match="nothing to move"):
        build(Truth(robot.with_inertias(np.zeros((1, 10)))))
    with pytest.raises(ParameterError, match="no masses"):
        draw(robot.with_inertias(np.zeros((1, 10))))
    for least in ({"drive": GearedDrive(gear=5e-324)}, {"drive": GearedDrive(torque_constant=9e-13)},
                  {"encoder": Encoder(counts=(5e-324,))}):  # fmt: skip
        with pytest.raises(ParameterError, match=r"(gear|constant|counts) is .*; it must lie in 1e-12 … 1e\+12"):
            VirtualRobot(robot, Truth(robot), **least)
    with pytest.raises(ParameterError, match="stribeck velocity is 0; it must lie in 1e-12"):
        Truth(robot, friction=TrueFriction(stribeck_velocity=0.0))
    VirtualRobot(robot, Truth(robot), drive=GearedDrive(1e-12, 1e-12), encoder=Encoder(1e-12))
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ExciterError, match="pip install mujoco"):
        build(Truth(robot))


# -- the truth -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*embedded.names(), "random-tree", "prismatic-only"])
def test_drawn_truths_can_exist(name):
    robot = CASES[name]()
    for seed in range(5):
        truth = draw(robot, seed)
        assert consistency(truth.robot.inertias).consistent
        ratio = truth.robot.inertias[:, 0] / np.where(robot.inertias[:, 0] > 0, robot.inertias[:, 0], np.nan)
        assert np.nanmax(np.abs(np.log(ratio))) < 0.8
        assert (truth.rotor >= 0).all()
    assert (truth.friction.array("coulomb") > 0).all()
    exact = draw(robot, 0, Spread(0.0, 0.0))
    if consistency(robot.inertias).consistent:
        np.testing.assert_allclose(exact.robot.inertias, robot.inertias, rtol=1e-12, atol=1e-15)
    else:
        assert any("nearest body" in note for note in texts(exact.notes))
    assert any("invented" in note for note in texts(truth.notes)) == (not robot.friction)


def test_what_a_truth_gives_is_not_said_to_be_invented():
    robot = replace(CASES["panda"](), friction={})
    for given, invented in (
        ({}, ("rotors", "dry friction", "viscous friction")),
        ({"viscous": 0.1}, ("rotors", "dry friction")),
        ({"viscous": 0.1, "coulomb": 0.1, "rotor_inertia": 0.0}, ()),
    ):
        said = [text for text in texts(TruthSettings(**given).truth(robot, 0).notes) if "invented" in text]
        assert len(said) == bool(invented)
        named = "".join(said).partition("(")[2].partition(")")[0]
        assert tuple(part for part in ("rotors", "dry friction", "viscous friction") if part in named) == invented


def test_nearest_body_only_lifts_what_is_negative():
    phi = CASES["gautier-khalil"]().inertias[2]
    near = nearest_body(phi)
    assert consistency_margin(phi) < 0 < consistency_margin(near)
    np.testing.assert_allclose(nearest_body(near), near, rtol=1e-3)
    spread = np.array([[1.0, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, -0.1, 0], [0, 0, 0, 2.0]])  # ∫ x̃ x̃ᵀ dm of no body
    np.testing.assert_allclose(
        pseudo_inertia(nearest_body(from_pseudo_inertia(spread))), np.diag([1.0, 0.5, 1e-3, 2.0]), atol=1e-12
    )


@pytest.mark.parametrize("first", [0.0, 0.1])
@pytest.mark.parametrize("second", [0.0, 1.0])
def test_a_description_with_the_smallest_mass_there_is_still_has_a_truth(first, second):
    """Such a mass is a placeholder of somebody, who shall not see warnings of overflow."""
    arm = CASES["gautier-khalil"]()
    phi = np.array([5e-324, first, 0, 0, second, 0, second, 0, 0, second])
    truth = draw(arm.with_inertias([*arm.inertias[:2], phi]), 0)
    assert consistency(truth.robot.inertias).consistent


def test_payload_is_carried_where_its_frame_is(arm):
    """Its kinetic energy, seen through the Jacobian of the frame: m |v|² + ωᵀ I ω at its centre."""
    turned = Rotation.from_rotvec([0.3, -0.5, 0.8]).as_matrix()
    arm = replace(arm, frames=[f if f.name != "flange" else replace(f, rotation=turned) for f in arm.frames])
    payload = Payload("flange", 2.0, (0.1, -0.2, 0.3), (0.4, 0.01, 0.02, 0.5, 0.03, 0.6))
    truth, q = draw(arm, 0), np.linspace(-1.0, 1.0, arm.n)[None]
    added = np.subtract(*(Dynamics(t.robot).inertia_matrix(q)[0] for t in (truth.loaded(payload), truth)))
    dynamics = Dynamics(arm)
    rotation, jacobian = dynamics.placement("flange", q)[0][0], dynamics.jacobian("flange", q)[0]
    linear, angular = jacobian[:3], jacobian[3:]
    centre = linear - skew(rotation @ payload.centre) @ angular
    inertia = rotation @ symmetric(*payload.inertia) @ rotation.T
    np.testing.assert_allclose(added, 2.0 * centre.T @ centre + angular.T @ inertia @ angular, atol=1e-10)


def test_truth_as_data(arm, tmp_path):
    spring = CompensationSpring(arm.joint_names[1], 0.3, 0.2, 0.1, 500.0)
    truth = replace(draw(arm, 4), springs=[spring], friction=TrueFriction(2.0, 3.0, 1.0, 0.3))
    data = json.loads(json.dumps(truth.to_dict()))
    named = {entry["name"]: entry["value"] for entry in data["parameters"]}
    assert named["Gs2"] == pytest.approx(500.0 * 0.3 * 0.2)
    assert (named["Fst3"], named["Fs3"], named["Fv3"]) == (1.0, 3.0, 2.0)
    values = truth.model.base.base_values(truth.chi)
    assert [entry["value"] for entry in data["base"]] == pytest.approx(values)
    again = truth_from(data, arm, "truth.json")
    np.testing.assert_array_equal(again.chi, truth.chi)
    shuffled = {**data, "joints": data["joints"][::-1], "rotor_inertia": data["rotor_inertia"][::-1],
                "friction": {k: v[::-1] for k, v in data["friction"].items()}}  # fmt: skip
    np.testing.assert_array_equal(truth_from(shuffled, arm, "truth.json").chi, truth.chi)
    (tmp_path / "truth.json").write_text(json.dumps(data))
    np.testing.assert_array_equal(read_truth(tmp_path / "truth.json", arm).chi, truth.chi)
    (tmp_path / "truth.json").write_text("{")
    with pytest.raises(ParameterError, match=r"truth.json' is not valid JSON"):
        read_truth(tmp_path / "truth.json", arm)
    with pytest.raises(ExciterError, match="there is no file"):
        read_truth(tmp_path / "none.json", arm)
    for broken, match in (
        ([], "no 'links'"),
        ({**data, "links": {"other": {}}}, "is for the joints other"),
        ({**data, "links": {k: {} for k in data["links"]}}, "lacks 'M'"),
        ({**data, "rotor_inertia": [1.0]}, "1 values for 6 joints"),
        ({**data, "friction": {"glue": [0.0] * 6}}, "unknown friction 'glue'"),
        ({**data, "links": {k: {**v, "M": 5e-324} for k, v in data["links"].items()}}, "mass is 4.941e-324 kg but"),
        ({**data, "springs": [{"joint": "x"}]}, "does not have the form"),
        ({**data, "links": {k: {**v, "M": "heavy"} for k, v in data["links"].items()}}, "does not have the form"),
    ):
        with pytest.raises(ParameterError, match=match):
            truth_from(broken, arm, "truth.json")


def test_seeds(arm):
    """The same seed gives the same log bit by bit, another one another truth and other noise; the truth does not
    depend on the motion, nor one effect's numbers on another effect."""
    virtual = VirtualRobot(arm, draw(arm, 1), sampling=Sampling(200.0, jitter=1e-4, dropped=0.05), simulation_rate=1e3)
    curve = sway(arm)
    first, again, other = (virtual.run(curve, seed=seed).recording for seed in (1, 1, 2))
    for name in ("time", "q", "torque"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert len(other) != len(first) or not np.array_equal(other.torque, first.torque)
    np.testing.assert_array_equal(draw(arm, 1).chi, virtual.truth.chi)
    assert not np.isclose(draw(arm, 2).chi, virtual.truth.chi)[np.abs(virtual.truth.chi) > 1e-6].any()
    noisy = replace(virtual, sampling=Sampling(200.0), encoder=Encoder(noise=1e-3)).run(curve, seed=1)
    plain = replace(virtual, sampling=Sampling(200.0)).run(curve, seed=1)
    np.testing.assert_array_equal(noisy.recording.torque, plain.recording.torque)


# -- straight from the model -----------------------------------------------------------------------------------------


def test_synthetic_recording():
    robot = embedded.robot("kuka-ir361")
    model = DynamicModel(robot, (Viscous(), Coulomb()))
    family = Fourier(2.0, 2)
    delta = 0.3 * np.random.default_rng(0).standard_normal((3, len(family.labels)))
    period = sampled_motion(family, delta, np.arange(400) / 200.0)
    log = synthetic_recording(model, period, model.nominal, [1.0, 2.0, 3.0], position_noise=1e-3, periods=20, seed=1)
    assert len(log) == 8000
    assert log.about.period == pytest.approx(2.0)
    np.testing.assert_allclose(np.diff(log.time), 0.005, rtol=1e-6)
    exact = np.tile(model.torque(period, model.nominal), (20, 1))
    np.testing.assert_allclose((log.torque - exact).std(axis=0), [1.0, 2.0, 3.0], rtol=0.05)
    np.testing.assert_allclose((log.q - np.tile(period.q, (20, 1))).std(axis=0), 1e-3, rtol=0.05)
    assert not np.array_equal(log.torque[:400], log.torque[400:800])
    single = synthetic_recording(model, period, model.nominal, 1.0)
    assert single.about.period is None
    np.testing.assert_array_equal(single.q, period.q)
    uneven = Motion(np.array([0.0, 0.1, 0.5]), period.q[:3], period.qd[:3], period.qdd[:3])
    with pytest.raises(MotionError, match="evenly"):
        synthetic_recording(model, uneven, model.nominal, 1.0, periods=2)


def test_springs_have_the_terms_of_their_formulas():
    sine = CompensationSpring("swing", 0.3, 0.2, 0.1, 100.0)
    assert sine.modelled[0] == GravitySpring("swing", 0.1)
    assert isinstance(CompensationSpring("swing", 0.3, 0.2, 0.1, 100.0, preload=1.0).modelled[0], Spring)
    for wrong in ({"stiffness": 0.0}, {"base_arm": 0.2}, {"free_length": -1.0}):
        with pytest.raises(ParameterError):
            replace(sine, **wrong)
    with pytest.raises(ParameterError, match="two springs"):
        Truth(pendulum(), springs=[sine, sine])
