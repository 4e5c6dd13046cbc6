"""Motions for drives: certified on dense samples, more telling than plain ones, and with the σ that a fit then has."""

from __future__ import annotations

import json

import numpy as np
import pytest

import exciter as ex
from exciter.cli import main
from exciter.errors import ExciterError
from exciter.excitation.criteria.optimality_and_condition import LogSigma
from exciter.excitation.trajectories.piecewise import Stops
from exciter.excitation.trajectories.sweeps_and_steps import Chirp
from exciter.excitation.validation_motion.random_families import fastest_move, largest_swing
from exciter.identification.actuators.actuator_settings import DriveMotionSettings
from exciter.identification.actuators.drive_design import changed_numbers
from exciter.identification.actuators.expected_drives import DriveProspect
from exciter.identification.actuators.motion_candidates import MotionRoom, kinds_of
from support.paths import ROBOTS

NOISE, SECONDS, RATE = 2e-4, 4.0, 200.0
DOUBLE = """<mujoco><compiler angle="radian"/><option timestep="0.0025" integrator="implicitfast"/><worldbody>
<body pos="0 0 1"><joint name="a" axis="0 1 0" range="-1.5 1.5" armature="0.03" damping="0.25" frictionloss="0.3"/>
<inertial pos="0.1 0 0" mass="1.0" diaginertia="0.01 0.02 0.02"/>
<body pos="0.25 0 0"><joint name="b" axis="0 1 0" range="-1 2" armature="0.012" damping="0.1" frictionloss="0.08"/>
<inertial pos="0.08 0 0" mass="0.3" diaginertia="0.0005 0.002 0.002"/></body></body></worldbody></mujoco>"""
LAW = {"kp": {"a": 60.0, "b": 25.0}, "kd": {"a": 1.5, "b": 0.6}}


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("drives") / "double.xml"
    path.write_text(DOUBLE)
    return ex.load(path, velocity=3.0, acceleration=25.0, torque=20.0)


def settings(**more):
    motion = DriveMotionSettings(duration=SECONDS, noise=NOISE, **more)
    kinds = ("armature", "damping", "friction", "delay")
    return ex.ActuatorSettings(control=ex.PositionControl(**LAW), unknown=kinds, alike=False, motion=motion)


@pytest.fixture(scope="module")
def designed(robot):
    return ex.design(robot, actuators=settings(), starts=10)


def plain(robot):
    """One sine, and triangles whose corners are round, of the same length, as large and fast as limits allow."""
    middle = 0.5 * np.add(*robot.position_range())
    sine, swing = Chirp(SECONDS, 1.0, 1.0, fall=0.0), np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    size = largest_swing(robot, sine.curve(swing), middle)
    yield sine.curve(sine.still(middle) + size[:, None] * swing)
    ends = [middle - 0.5, middle + 0.5]
    move = fastest_move(robot, *ends, 0.05)
    count = int(SECONDS / Stops((move,)).duration)
    triangles = Stops((move,) * count).with_duration(SECONDS)
    yield triangles.curve(np.array([ends[k % 2] for k in range(count + 1)]).T)


def test_limits_hold_on_dense_samples_of_what_is_written(robot, designed, tmp_path):
    designed.save(tmp_path / "motion")
    data = json.loads((tmp_path / "motion/design.json").read_text())
    assert data["certificate"]["certified"]
    assert [row["predicted_std"] for row in data["parameters"]] == designed.design.predicted_std.tolist()
    assert data["parameters"][-1] | {"predicted_std": 0.0} == {
        "name": "delay", "expression": "delay", "unit": "s", "nominal": 0.0, "predicted_std": 0.0,
    }  # fmt: skip
    assert data["settings"]["actuators"]["motion"]["duration"] == SECONDS
    time = np.linspace(0.0, SECONDS, 40_001)
    for curve in (designed.curve, ex.check(robot, tmp_path / "motion/trajectory.csv").curve):
        assert curve.duration == pytest.approx(SECONDS)
        motion, slack = curve.motion(time), 1.0 + 1e-9
        assert ((motion.q >= robot.limit("lower")) & (motion.q <= robot.limit("upper"))).all()
        assert (np.abs(motion.qd) <= robot.limit("velocity") * slack).all()
        assert (np.abs(motion.qdd) <= robot.limit("acceleration") * slack).all()
        assert np.abs(motion.qd[[0, -1]]).max() < 1e-9
    again = ex.Designed.open(tmp_path / "motion")
    assert np.array_equal(again.design.predicted_std, designed.design.predicted_std)
    assert again.design.settings == designed.design.settings


def test_it_tells_more_than_plain_motions(robot, designed):
    """Of the same length within the same limits; a seventh off every σ, by its logarithm, is far beyond rounding."""
    prospect = DriveProspect.of(robot, settings(), RATE)
    for curve in plain(robot):
        assert ex.check(robot, curve).certified
        expected = prospect.expected(prospect.response(curve))
        assert LogSigma()(expected.relative)[0] > designed.design.value + len(expected.std) / 7.0


def test_sigma_is_that_of_a_fit(robot, designed):
    """On a log with white noise of encoders, and the values are within a few of it."""
    response = designed.design.expected.response
    rng = np.random.default_rng(3)
    q = response.q + NOISE * rng.standard_normal(response.q.shape)
    log = ex.Recording.of(response.time, q, command=response.command, joints=robot.joint_names)
    fit = ex.actuators(robot, log, settings()).fit
    assert fit.names == designed.design.parameters
    ratio = fit.std / designed.design.predicted_std
    assert (np.maximum(ratio, 1.0 / ratio) < 1.5).all()
    assert (np.abs(fit.values - designed.design.expected.values) < 5.0 * fit.std).all()


def test_candidates_fill_the_limits_and_change_little_by_little(robot):
    room = MotionRoom(robot, settings().motion, RATE)
    rng = np.random.default_rng(0)
    assert {kind.word for kind in kinds_of(room)} == {"chirp", "fourier", "steps"}
    for kind in kinds_of(room):
        for _ in range(5):
            x = rng.random(kind.size(room))
            made = kind.motion(x, room)
            curve = made.trajectory.curve(made.delta).again(made.periods)
            assert curve.duration == pytest.approx(SECONDS)
            assert ex.check(robot, curve).certified
            near = changed_numbers(x, 0.1, rng)
            assert 0.0 < np.abs(near - x).max() < 0.6
            assert ((near >= 0.0) & (near <= 1.0)).all()


def test_what_no_motion_tells_apart_is_said(robot):
    asked = ex.ActuatorSettings(
        control=ex.PositionControl(**LAW), unknown=("delay", "measurement_delay"), motion=settings().motion
    )
    (sentence,) = ex.design(robot, "chirp", actuators=asked, starts=1).design.expected.untold
    assert "delay, measurement_delay" in sentence


@pytest.mark.parametrize(
    ("config", "more", "said"),
    [
        ("limits: {velocity: 3}", (), "control law of the drives is not given"),
        ("limits: {velocity: 3}\nactuators: {control: {kp: 20}}", ("--trajectory", "bspline"), "chirp, fourier, steps"),
        (
            "limits: {velocity: 3}\nactuators: {control: {kp: 20}}",
            ("--criterion", "condition-equilibrium"),
            "needs torques",
        ),
        ("limits: {velocity: 3}\nactuators: {control: {kp: 20}}", ("--jobs", "2"), "--jobs has no meaning"),
        ("actuators: {control: {kp: 20}}", (), "neither a velocity nor an acceleration limit"),
        ("actuators: {control: {kp: 20}, motion: {lowest: 3, highest: 1}}", (), "give lowest < highest"),
    ],
)
def test_bad_input_is_one_line(config, more, said, tmp_path, capsys):
    (tmp_path / "double.xml").write_text(DOUBLE)
    (tmp_path / "drives.yaml").write_text(config)
    where = (str(tmp_path / "double.xml"), "-o", str(tmp_path / "out"), "--config", str(tmp_path / "drives.yaml"))
    with pytest.raises(SystemExit) as stopped:
        main(["design", *where, "--for", "actuators", *more])
    assert stopped.value.code == 2
    told = capsys.readouterr().err.strip()
    assert said in told
    assert "\n" not in told
    assert not (tmp_path / "out").exists()


def test_a_free_base_is_to_be_clamped():
    robot = ex.load(ROBOTS / "quadruped.urdf", base="free", velocity=3.0)
    with pytest.raises(ExciterError, match=r"the base is free; .* give base: fixed"):
        ex.design(robot, actuators=settings())


def test_families_with_their_own_settings_are_not_taken(robot):
    with pytest.raises(ExciterError, match="by the word alone"):
        ex.design(robot, ex.Chirp(duration=4.0), actuators=settings())
