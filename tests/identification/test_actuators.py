"""Drives from command and encoder: the simulator beside a loop of our own in MuJoCo, slopes beside differences, numbers
beside a robot whose drives are known, words for what cannot be told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

import exciter as ex
from exciter.errors import ExciterError, RecordingError
from exciter.experiment.recording.recording import SourceFile
from exciter.export.drive_snippets import DRIVE_SNIPPETS
from exciter.export.drives import described_drives
from exciter.files import HASHES
from exciter.identification.actuators.actuator_fit import cut, fit_actuators, gains_of, remarks, whole
from exciter.identification.actuators.actuator_settings import ActuatorSettings, PositionControl, SimulatorSettings
from exciter.identification.actuators.alike import likeliest_spread
from exciter.identification.actuators.control_law import clamped_commands, control_gains
from exciter.identification.actuators.drive_numbers import drive_numbers
from exciter.identification.actuators.drive_simulator import drive_simulator
from exciter.identification.actuators.moved_links import payload_places
from exciter.identification.actuators.shooting_fit import Penalty, ShootingProblem, repeated
from exciter.identification.actuators.untold import combinations
from support.driven_pendulum import (
    ARMATURE,
    DAMPING,
    DELAY,
    DOUBLE,
    FRICTION,
    KD,
    KP,
    RATE,
    commands,
    moved,
    noisy,
    settings,
)

ROBOTS = Path(__file__).parents[1] / "robots"


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("drives") / "double.xml"
    path.write_text(DOUBLE)
    return ex.load(path)


@pytest.fixture(scope="module")
def drives(robot):
    return ex.actuators(robot, noisy(1, seconds=4.0), settings(), validate=noisy(2, seconds=2.0))


def problem(robot, log, asked, **more):
    numbers = drive_numbers(robot, asked, gains_of(robot, asked))
    simulator = drive_simulator(robot, SimulatorSettings(), 1.0 / RATE)
    return ShootingProblem(simulator, numbers, cut(whole(log, 0), 2.0), None)


def true_numbers(start):
    return {
        **start,
        "armature": ARMATURE,
        "damping": DAMPING,
        "friction": FRICTION,
        "delay": np.full(2, DELAY),
    }


def test_the_simulator_is_mujoco(robot):
    """Roll-outs with an affine actuator, and a loop written out by hand, are the same motion."""
    time, told, q = moved(3, 3.0)
    log = ex.Recording.of(time, q, command=told, joints=("a", "b"))
    posed = problem(robot, log, settings())
    numbers = true_numbers(posed.numbers.start)
    stretch, simulator = whole(log, 0), posed.simulator
    assert simulator.step == 0.001  # the file's own
    state = np.concatenate([q[0], np.zeros(2)])[None]
    found = simulator.roll(simulator.with_numbers(numbers), numbers, state, [stretch])[0]
    assert np.abs(found - q).max() < 1e-9


EVERY_KIND = ("armature", "damping", "friction", "kp", "kd", "limit", "offset", "bias", "delay", "mass", "payload")


@pytest.mark.parametrize("integrator", ["implicitfast", "euler"])
@pytest.mark.parametrize("softness", [None, 0.1])
def test_variational_slopes_are_those_of_central_differences(robot, integrator, softness):
    """Of every unknown and first state, at a torque limit that is reached now and then: within 1 % (rms), since
    differences cross that limit."""
    law = PositionControl(kp={"a": 60.0, "b": 25.0}, kd={"a": 1.5, "b": 0.6}, limit={"a": 3.0, "b": 1.0})
    asked = settings(unknown=EVERY_KIND, payload={"b": (0.1, 0.02, 0.0)}, control=law)
    numbers = drive_numbers(robot, asked, gains_of(robot, asked))
    simulator = drive_simulator(
        robot, SimulatorSettings(integrator=integrator), 1.0 / RATE, payload_places(robot, asked)
    )
    posed = ShootingProblem(simulator, numbers, cut(whole(noisy(1, seconds=2.0), 0), 2.0), None)
    x, states = posed.numbers.coordinates, posed.begin()
    x[[u.kind.word == "delay" for u in posed.numbers.unknowns]] = 0.00213  # where commands have one rate
    rollouts = posed.rollouts
    by_theta, by_state = posed.slopes(x, states, posed.simulate(x, states, softness), softness)
    assert posed.rollouts == rollouts + 1
    for k, unknown in enumerate(posed.numbers.unknowns):
        step = np.zeros(len(x))
        step[k] = 1e-6
        central = (posed.simulate(x + step, states, softness)[0] - posed.simulate(x - step, states, softness)[0]) / 2e-6
        off = by_theta[0][:, :, k] - central
        assert np.linalg.norm(off) < 1e-2 * np.linalg.norm(central), unknown.name
    for k in range(4):
        step = np.zeros_like(states)
        step[:, k] = 1e-6
        central = (posed.simulate(x, states + step, softness)[0] - posed.simulate(x, states - step, softness)[0]) / 2e-6
        assert np.linalg.norm(by_state[0][:, :, k] - central) < 1e-2 * np.linalg.norm(central)


def test_slopes_by_differences_are_the_variational_ones(robot):
    """Limbs of their own, a number that both share; differences are what robots with followers have."""
    asked = settings(unknown=("armature", "damping", "kp", "offset", "delay"), shared={"damping": ("*",)})
    posed = problem(robot, noisy(1, seconds=2.0), asked)
    x, states = posed.numbers.coordinates, posed.begin()
    x[-1] = 0.00213
    now = posed.simulate(x, states)
    for ours, theirs in zip(posed.slopes(x, states, now, None), posed.differences(x, states, now, None), strict=True):
        off, size = ours[0] - theirs[0], np.abs(theirs[0]).max(axis=(0, 1))
        assert (np.abs(off).max(axis=(0, 1)) < 1e-2 * size).all()


def test_a_first_state_that_smoothed_friction_led_astray_is_begun_again(robot):
    """One stretch of four that begins at another posture and speed, as where a joint was about to slip: measured states
    are taken there, and states of the others stay."""
    posed = problem(robot, noisy(1, seconds=8.0), settings())
    x = posed.numbers.coordinates
    found = posed.fit(x, Penalty(x, 1e-6 * np.eye(len(x))), iterations=8)
    assert (posed.likelier(found.x, found.states) == found.states).all()
    astray = np.array(found.states)
    astray[2] += [-0.005, 0.002, 0.06, 0.0]
    chosen = posed.likelier(found.x, astray)
    assert (chosen[2] == posed.begin()[2]).all()
    assert (chosen[[0, 1, 3]] == found.states[[0, 1, 3]]).all()


def test_fits_by_both_slopes_end_at_the_same_numbers(robot):
    """Estimates within 0.01 σ, and σ within 1 %; the variational one with fewer roll-outs than there are unknowns'."""
    asked, log = settings(), noisy(1, seconds=4.0)
    numbers = drive_numbers(robot, asked, gains_of(robot, asked))
    weight = np.diag(numbers.spreads**-2.0)
    found = list[tuple[np.ndarray, np.ndarray, int]]()
    for varies in (True, False):
        posed = ShootingProblem(
            drive_simulator(robot, SimulatorSettings(), 1.0 / RATE), numbers, [whole(log, 0)], 1.345
        )
        posed.variations = posed.variations if varies else None
        fitted = posed.fit(numbers.coordinates, Penalty(numbers.coordinates, weight), iterations=20, close=0.01)
        std = np.sqrt(np.diag(np.linalg.inv(fitted.information + weight)))
        found.append((fitted.x, std, fitted.rollouts))
    (x, std, few), (other, other_std, many) = found
    assert (np.abs(x - other) < 1e-2 * std).all()
    np.testing.assert_allclose(std, other_std, rtol=1e-2)
    assert 4 * few < many


def test_drives_of_a_robot_that_is_known(robot):
    """Within the five per cent, and 0.2 ms, that users ask for, by far; and within five σ."""
    drives = ex.actuators(robot, noisy(1), settings(), validate=noisy(2))
    truth = np.concatenate([ARMATURE, DAMPING, FRICTION, [DELAY]])
    assert drives.fit.names[0] == "armature a"
    assert drives.fit.names[-1] == "delay"
    assert np.abs(drives.fit.values / truth - 1.0).max() < 0.02
    assert np.abs(drives.fit.values[-1] - DELAY) < 5e-5
    assert (np.abs(drives.fit.values - truth) < 5.0 * drives.fit.std).all()
    run = drives.validation[0]
    assert 10.0 * run.total < run.before_total  # the speed that it begins with is not known well
    assert not drives.fit.untold


@pytest.mark.parametrize("integrator", ["implicitfast", "euler"])
def test_the_inertia_of_a_step_is_what_rotors_differ_by(drives, robot, integrator):
    """The same log at steps of 1 and 5 ms: rotors differ by several per cent, with what the steps add they do not."""
    coarse = SimulatorSettings(step=0.005, integrator=integrator)
    other = fit_actuators(robot, [noisy(1, seconds=4.0)], settings(simulator=coarse))
    own = [(fit.drives["armature"], fit.simulator.inertia_of_step(fit.drives)) for fit in (drives.fit, other)]
    (fine, added), (bare, more) = own
    assert np.all(np.abs(bare / fine - 1.0) > 0.07)
    np.testing.assert_allclose(bare + more, fine + added, rtol=0.03)
    assert any(one.subject == "step of the simulation" for one in other.notes)


def test_exported_files_have_the_drives_and_nothing_else(drives, tmp_path):
    drives.save(tmp_path / "out")
    text = (tmp_path / "out/identified.xml").read_text()
    model, found = mujoco.MjModel.from_xml_string(text), drives.fit.drives
    assert np.array_equal(model.dof_armature, found["armature"])
    assert np.array_equal(model.dof_damping, found["damping"])
    assert np.array_equal(model.dof_frictionloss, found["friction"])
    assert np.array_equal(model.actuator_gainprm[:, 0], KP)
    assert np.array_equal(-model.actuator_biasprm[:, 2], KD)
    before = mujoco.MjModel.from_xml_string(DOUBLE)
    assert np.array_equal(model.body_mass, before.body_mass)
    assert np.array_equal(model.body_ipos, before.body_ipos)
    # driven by the command it moves as the fit says
    log = noisy(2, seconds=2.0)
    stretch, said = drives.fit.simulate(log)
    data, step = mujoco.MjData(model), model.opt.timestep
    model.opt.iterations, model.opt.tolerance = 100, 1e-12
    first = np.polynomial.polynomial.polyfit(log.time[:9], log.q[:9], 2)[1]
    data.qpos[:], data.qvel[:], delay = log.q[0], first, found["delay"][0]
    for k in range(len(log.time)):
        assert np.abs(data.qpos - said[k]).max() < 1e-9
        for tick in range(round(1.0 / RATE / step)):
            at = stretch.time[k] + tick * step - delay
            data.ctrl[:] = [np.interp(at, stretch.time, stretch.command[:, j]) for j in range(2)]
            mujoco.mj_step(model, data)


def test_no_log_tells_the_delay_of_commands_from_that_of_measurements(robot):
    """The sum alone shows: said in words."""
    asked = settings(unknown=("delay", "measurement_delay"))
    posed = problem(robot, noisy(1, seconds=4.0), asked)
    fitted = posed.fit(
        posed.numbers.coordinates, Penalty(posed.numbers.coordinates, np.diag(posed.numbers.spreads**-2.0))
    )
    (sentence,) = combinations(posed.numbers, fitted.information)
    assert "delay" in sentence
    assert "measurement_delay" in sentence


def test_model_errors_of_all_joints_are_one_note(robot):
    fitted = SimpleNamespace(repeats=np.array([50.0, 30.0]), sigma=np.array([2e-3, 5e-4]))
    log = SimpleNamespace(q=np.array([[0.0, 0.0], [1.0, 0.1]]))
    (one,) = remarks(robot, SimpleNamespace(unknowns=()), fitted, (), (), [log])
    assert one.text.endswith(": a 2 mrad, 0.2 %, 50; b 0.5 mrad, 0.5 %, 30")
    assert one.numbers["joints"] == ("a", "b")
    assert "how far the numbers are off by it only where a note 'structure' names what is lacking" in one.text


def test_spread_of_a_population_by_its_likelihood():
    rng = np.random.default_rng(0)
    own = rng.uniform(0.05, 0.2, 80)
    x = 1.0 + 0.5 * rng.standard_normal(80) + own * rng.standard_normal(80)
    assert likeliest_spread(x, np.diag(own**2)) == pytest.approx(0.5, rel=0.2)
    alike = 1.0 + own * rng.standard_normal(80)
    assert likeliest_spread(alike, np.diag(own**2)) < 0.08


def test_samples_that_say_the_same_count_once():
    rng, kept = np.random.default_rng(0), 0.9
    noise = rng.standard_normal((20_000, 1))
    lasting = np.zeros_like(noise)
    for k in range(1, len(noise)):
        lasting[k] = kept * lasting[k - 1] + noise[k]
    assert repeated([lasting])[0] == pytest.approx((1 + kept) / (1 - kept), rel=0.2)
    assert repeated([noise])[0] < 1.3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t, c, q: {"time": t, "q": q}, "no command column"),
        (lambda t, c, q: {"time": t, "q": q, "command": q}, "is its measured position"),
        (lambda t, c, q: {"time": t, "q": 0 * q, "command": c}, "is at rest"),
        (lambda t, c, q: {"time": t, "q": q * [1, 0], "command": c}, "joint 'b' does not move"),
        (lambda t, c, q: {"time": t, "q": q, "command": c * [1, -1]}, "opposite directions"),
        (lambda t, c, q: {"time": 1e3 * t, "q": q, "command": c}, "is time in ms"),
    ],
)
def test_logs_that_tell_nothing_are_refused(robot, change, said):
    log = ex.Recording.of(**change(*moved(1, 1.0)), joints=("a", "b"))
    with pytest.raises(ExciterError, match=said):
        fit_actuators(robot, [log], settings())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"control": {"kp": -20, "kd": 1}}, "kp"),
        ({"control": {"kp": 20, "kd": -1}}, "kd"),
        ({"control": {"law": "torque", "kp": 20}}, "law"),
        ({"control": {"kp": {"elbow": 20}}}, "elbow"),
        ({"control": {"kp": 20}, "unknown": ["stiction"]}, "stiction"),
        ({"control": {"kp": 20}, "shared": {"kp": ["*"]}}, "not among the unknown"),
        (
            {
                "control": {"kp": 20, "kd": 1},
                "unknown": ["measurement_delay"],
                "shared": {"measurement_delay": ["a", "*"]},
            },
            "measurement_delay is one number of all joints",
        ),
    ],
)
def test_settings_that_cannot_be_are_one_line(robot, asked, said):
    with pytest.raises(ExciterError, match=said) as error:
        ex.actuators(robot, noisy(1, seconds=1.0), {"actuators": asked})
    assert "\n" not in str(error.value)


def described(tmp_path, actuators, defaults=""):
    """The double pendulum with other actuators."""
    body = DOUBLE.partition("<actuator>")[0].replace("<mujoco>", f"<mujoco><default>{defaults}</default>")
    path = tmp_path / "described.xml"
    path.write_text(f"{body}<actuator>{actuators}</actuator></mujoco>")
    return ex.load(path)


LAWS = {
    "position": '<position joint="a" kp="60" kv="1.5" forcerange="-9 9"/><position joint="b" kp="25" dampratio="0.7"/>',
    "classes": '<position joint="a" class="strong"/><position joint="b"/>',
    "affine": '<general joint="a" gear="3" gainprm="7" biastype="affine" biasprm="0 -7 -0.4" forcerange="-2 2"/>'
    '<position joint="b" kp="2" gear="-2" dampratio="1"/>',
}
STRONG = '<position kp="60" forcelimited="true" forcerange="-8 8"/>'
CLASSES = f'<position kp="12" kv="0.3"/><default class="strong">{STRONG}</default>'


@pytest.mark.parametrize("word", LAWS)
def test_gains_of_the_description(word, tmp_path):
    """Torques of MuJoCo's own actuators, told g times the command, are the law's at any state; given values win."""
    robot = described(tmp_path, LAWS[word], CLASSES)
    gains = gains_of(robot, ActuatorSettings())
    model = mujoco.MjModel.from_xml_path(str(robot.file))
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    for _ in range(20):
        data.qpos[:], data.qvel[:], told = rng.uniform(-1, 1, (3, 2))
        data.ctrl[:] = model.actuator_gear[:, 0] * told
        mujoco.mj_forward(model, data)
        law = gains["kp"] * (told - data.qpos) - gains["kd"] * data.qvel
        np.testing.assert_allclose(data.qfrc_actuator, np.clip(law, -gains["limit"], gains["limit"]), rtol=1e-9)
    assert np.isfinite(gains["limit"]).tolist() == [True, False]
    mixed = gains_of(robot, ActuatorSettings(control=PositionControl(kp={"b": 3.0}, limit={"a": 1.0})))
    assert (mixed["kp"][0], mixed["kp"][1], mixed["limit"][0]) == (gains["kp"][0], 3.0, 1.0)
    np.testing.assert_array_equal(mixed["kd"], gains["kd"])


def test_a_dampratio_is_that_at_the_ref_of_the_joints(tmp_path):
    """MuJoCo's compiler takes inertias where the file has the bodies, which ref calls another angle."""
    robot = described(tmp_path, '<position joint="a" kp="60" dampratio="1"/><position joint="b" kp="25" kv="1"/>')
    text = robot.file.read_text()
    for name, ref in (("a", 0.4), ("b", 1.2)):
        text = text.replace(f'<joint name="{name}"', f'<joint ref="{np.degrees(ref)}" name="{name}"')
    robot.file.write_text(text)
    model = mujoco.MjModel.from_xml_path(str(robot.file))
    assert model.qpos0 == pytest.approx([0.4, 1.2])
    assert gains_of(ex.load(robot.file), ActuatorSettings())["kd"][0] == pytest.approx(-model.actuator_biasprm[0, 2])


@pytest.mark.parametrize(
    "bounds", ['forcerange="-4 9"', 'gear="-2" forcerange="-4.5 2"'], ids=["as it is", "through the gear"]
)
def test_limits_that_differ_by_direction_are_told(bounds, tmp_path):
    """Simulated as the smaller one both ways; not where settings say a limit."""
    robot = described(tmp_path, f'<position joint="a" kp="60" kv="1" {bounds}/><position joint="b" kp="25"/>')
    gains, notes = control_gains(robot, ActuatorSettings())
    assert gains["limit"][0] == pytest.approx(4.0)
    told = [note for note in notes if note.subject == "torque limit"]
    assert [note.joint for note in told] == ["a"]
    assert "-4 … 9 N·m" in told[0].text
    assert "± 4" in told[0].text
    given = control_gains(robot, ActuatorSettings(control=PositionControl(limit={"a": 9.0})))[1]
    assert not [note for note in given if note.subject == "torque limit"]


def test_commands_that_mujoco_would_clamp_are_told(tmp_path):
    robot = described(
        tmp_path,
        '<position joint="a" kp="60" gear="2" ctrlrange="-1 1"/><position joint="b" kp="25" ctrlrange="-1 1"/>',
    )
    commands = np.array([[0.0, -0.9], [0.6, 0.9]])
    (note,) = clamped_commands(robot, commands)
    assert (note.subject, note.joint) == ("command", "a")
    assert "-0.5 … 0.5" in note.text


@pytest.mark.parametrize("word", LAWS)
def test_gains_are_written_through_the_gear(word, tmp_path):
    """Into the same file, and read back from it."""
    actuators = LAWS[word].replace(" kp=", ' armature="0.1" kp=')
    robot = described(tmp_path, actuators, CLASSES)
    names = ("armature", "damping", "friction", "kp", "kd", "limit")
    drives = dict(zip(names, np.random.default_rng(0).uniform(1, 9, (6, 2)), strict=True))
    robot.file.write_text(described_drives(robot.file, robot.joint_names, drives))
    again = ex.load(robot.file)
    found = gains_of(again, ActuatorSettings())
    for name in ("kp", "kd", "limit"):
        np.testing.assert_allclose(found[name], drives[name], rtol=1e-12)
    np.testing.assert_allclose(again.friction["rotor_inertia"], drives["armature"])
    np.testing.assert_allclose(again.friction["viscous"], drives["damping"])


@pytest.mark.parametrize(
    ("actuators", "control", "said"),
    [
        ("", None, "nor does the description .no actuator drives it.; say in the settings: actuators: .control"),
        ('<motor joint="a"/><motor joint="b"/>', None, "its actuator is no position actuator"),
        ('<position joint="a" kp="2"/><velocity joint="b"/>', None, "kp of joint 'b' is not given, .*no position"),
        ('<position joint="a" kp="2"/><position joint="b" kp="2" timeconst="0.1"/>', None, "'b' .*filters or"),
        ('<position joint="a" kp="2"/>', {"kp": {"a": 3}}, "kp of joint 'b' is not given, .*: no actuator drives it"),
        ('<position joint="a"/><position joint="a"/><position joint="b"/>', None, "joint 'a' .*: 2 actuators drive it"),
        ('<position joint="a"/><general joint="b" gainprm="1" biastype="affine" biasprm="0 -50 -1"/>', None, "gain"),
    ],
)  # fmt: skip
def test_without_a_law_it_is_asked_for(actuators, control, said, tmp_path):
    asked = ActuatorSettings(control=None if control is None else PositionControl(**control))
    with pytest.raises(ExciterError, match=said):
        gains_of(described(tmp_path, actuators), asked)


def test_gains_that_were_read_are_noted(robot):
    """Of a file whose own gains are one: where they come from is said."""
    fit = fit_actuators(robot, [noisy(1, seconds=1.0)], settings(control=None, unknown=("damping",), alike=False))
    assert str(fit.notes[0]).count("kp of 'a', 'b', kd of 'a', 'b': those of the MJCF's position actuators") == 1


GRIPPER = """<mujoco><option timestep="0.001" integrator="implicitfast"/><worldbody>
<body><joint name="wrist" axis="0 1 0" armature="0.02" damping="0.2" frictionloss="0.1"/>
<inertial pos="0.1 0 0" mass="0.5" diaginertia="0.01 0.02 0.02"/>
<body pos="0.2 0.05 0"><joint name="right" axis="0 1 0"/>
<inertial pos="0.05 0 0" mass="0.1" diaginertia="1e-4 2e-4 2e-4"/></body>
<body pos="0.2 0 0"><joint name="left" axis="0 1 0" armature="0.01" damping="0.05" frictionloss="0.05"/>
<inertial pos="0.05 0 0" mass="0.1" diaginertia="1e-4 2e-4 2e-4"/></body></body></worldbody>
<equality><joint joint1="right" joint2="left" polycoef="0.3 -0.8 0 0 0" solref="0.01 1"/></equality>
<actuator><position joint="wrist" kp="30" kv="1"/><position joint="left" kp="8" kv="0.2"/></actuator></mujoco>"""


def test_a_joint_that_follows_is_held_as_mujoco_holds_it(tmp_path):
    """Roll-outs are those of the file itself; what is found is written so that it counts once."""
    (tmp_path / "gripper.xml").write_text(GRIPPER)
    robot = ex.load(tmp_path / "gripper.xml")
    assert robot.joint_names == ("wrist", "left")
    model = mujoco.MjModel.from_xml_string(GRIPPER)
    model.opt.iterations, model.opt.tolerance = 100, 1e-12
    data, time = mujoco.MjData(model), np.arange(400) / RATE
    told, q = commands(time, 4), np.zeros((400, 2))
    data.qpos[:] = [told[0, 0], 0.3 - 0.8 * told[0, 1], told[0, 1]]
    for k, at in enumerate(time):
        q[k] = data.qpos[[0, 2]]
        for tick in range(5):
            data.ctrl[:] = [np.interp(at + tick * 1e-3, time, told[:, j]) for j in range(2)]
            mujoco.mj_step(model, data)
    log = ex.Recording.of(time, q, command=told, joints=robot.joint_names)
    asked = ActuatorSettings(unknown=("armature", "damping", "friction"), alike=False)
    posed = problem(robot, log, asked)
    numbers, stretch = posed.numbers.start, whole(log, 0)
    state = np.concatenate([q[0], np.zeros(2)])[None]
    found = posed.simulator.roll(posed.simulator.with_numbers(numbers), numbers, state, [stretch])[0]
    assert np.abs(found - q).max() < 1e-9
    worn = GRIPPER.replace('name="right" axis', 'name="right" armature="0.5" damping="3" axis')
    robot.file.write_text(worn)
    text = described_drives(robot.file, robot.joint_names, numbers, ["right"])
    again = mujoco.MjModel.from_xml_string(text)
    assert (again.dof_armature.tolist(), again.dof_damping[1]) == ([0.02, 0.0, 0.01], 0.0)


def test_robots_whose_drives_cannot_be_found_are_told_what_to_do(robot, tmp_path):
    (tmp_path / "free.xml").write_text(
        DOUBLE.replace(
            "<body>", "<body><freejoint/>" + DOUBLE[DOUBLE.index("<inertial") : DOUBLE.index("<body pos")] + "<body>", 1
        ).replace("</worldbody>", "</body></worldbody>")
    )
    log = noisy(1, seconds=1.0)
    with pytest.raises(ExciterError, match=r"the base is free; .* hung or clamped, .*: give base: fixed"):
        ex.actuators(tmp_path / "free.xml", log, settings())
    fixed = ex.load(tmp_path / "free.xml", base="fixed")
    assert gains_of(fixed, settings())["kp"].tolist() == KP.tolist()
    assert drive_simulator(fixed, SimulatorSettings(), 1.0 / RATE).n == 2
    with pytest.raises(ExciterError, match=r"close a loop with other joints; .*lock: "):
        drive_simulator(ex.load(ROBOTS / "four_bar.xml"), SimulatorSettings(), 1.0 / RATE)


def test_the_folder_has_a_report_and_opens_again(drives, tmp_path):
    data = drives.write(tmp_path)
    assert set(data[HASHES]) == {"identified.xml", "report.html", *(one.file for one in DRIVE_SNIPPETS)}
    assert ex.open(tmp_path).parameters == drives.parameters
    beside = drives.table.beside(ex.open(tmp_path))
    assert beside.agrees == (True,) * len(drives.parameters)
    page = replace(drives, comparisons=(beside,)).report()
    found = ["error", "motion-0", "motion-1", "parameters", "intervals", "untold", "beside-0", "files", "settings"]
    assert [one.key for one in page.sections] == found
    text, run = page.html(), drives.validation[0]
    assert len(text) < 3e6
    assert f"{1e3 * run.before_total:.3g} → {1e3 * run.total:.3g}" in text
    assert all(name in text for name in (*drives.parameters, "drives_isaaclab.py"))


def test_logs_that_were_fitted_validate_nothing(robot):
    """As of ``identify``, before anything is fitted: the same file, and the same time of it."""
    log = noisy(1, seconds=2.0)
    log = replace(log, name="log.csv", about=replace(log.about, sources=(SourceFile("log.csv", "0" * 64),)))
    with pytest.raises(RecordingError, match=r"^log.csv has samples that are identified from: it validates nothing"):
        ex.actuators(robot, log, settings(), validate=log[100:300])
