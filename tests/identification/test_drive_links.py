"""Masses of links and payloads beside drives: found, written, read back; what cannot be told apart is said first."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import exciter as ex
from exciter.errors import ExciterError
from exciter.export.drives import described_drives
from exciter.identification.actuators.actuator_fit import fit_actuators, gains_of
from exciter.identification.actuators.actuator_settings import ActuatorSettings
from exciter.identification.actuators.drive_numbers import drive_numbers
from exciter.identification.actuators.moved_links import changed_links
from exciter.identification.actuators.untold import combinations
from support.driven_pendulum import ARMATURE, DOUBLE, noisy, settings

LIGHT = 'mass="0.3" diaginertia="0.0005 0.002 0.002"/>'
PLACE = (0.16, 0.0, 0.02)
LOAD = '<body pos="0.16 0 0.02"><inertial pos="0 0 0" mass="0.3" diaginertia="0 0 0"/></body>'
HEAVY = DOUBLE.replace(LIGHT, 'mass="0.36" diaginertia="0.0006 0.0024 0.0024"/>' + LOAD)


LOADED = {
    "unknown": ("armature", "damping", "friction", "delay", "mass", "payload"),
    "payload": {"b": PLACE},
    "known": {"mass": {"a": 1.0}},
    "alike": False,
}


def test_a_link_that_is_heavier_and_carries_something(tmp_path):
    """Found beside the drives; in the file that is written, too, which moves as the fit says; all else stays."""
    (tmp_path / "double.xml").write_text(DOUBLE)
    robot = ex.load(tmp_path / "double.xml")
    drives = ex.actuators(robot, noisy(1, seconds=3.0, text=HEAVY), settings(**LOADED))
    fit, truth = drives.fit, {"mass b": 0.36, "payload b": 0.3, "armature a": ARMATURE[0], "armature b": ARMATURE[1]}
    low, high = fit.interval()
    for name, value in truth.items():
        k = fit.names.index(name)
        assert fit.values[k] == pytest.approx(value, rel=0.01)
        assert low[k] <= value <= high[k], name
        assert fit.status[k] == "good"
    assert not fit.untold
    assert "mass a" not in fit.names
    model = mujoco.MjModel.from_xml_string(drives.description())
    assert drives.description().count("<inertial pos") == 3
    found = {name: row["value"] for name, row in drives.parameters.items()}
    assert model.body_mass[1:].tolist() == [1.0, pytest.approx(found["mass b"]), pytest.approx(found["payload b"])]
    np.testing.assert_allclose(model.body_inertia[2], found["mass b"] / 0.3 * np.array([0.0005, 0.002, 0.002]))
    np.testing.assert_array_equal(model.body_pos[3], PLACE)
    model.opt.iterations, model.opt.tolerance = 100, 1e-12
    log, data = noisy(2, seconds=1.0, text=HEAVY), mujoco.MjData(model)
    _, said = fit.simulate(log)
    data.qpos[:], data.qvel[:] = log.q[0], np.polynomial.polynomial.polyfit(log.time[:9], log.q[:9], 2)[1]
    for k, at in enumerate(log.time):
        assert np.abs(data.qpos - said[k]).max() < 1e-9
        for tick in range(5):
            instant = at + tick * 1e-3 - fit.drives["delay"][0]
            data.ctrl[:] = [np.interp(instant, log.time, log.command[:, j]) for j in range(2)]
            mujoco.mj_step(model, data)
    assert "mass (link that the joint moves" in drives.snippets()["drives_mjlab.py"]
    assert "b 0.36" in drives.snippets()["drives_mjlab.py"]


URDF_LINK = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.1 0 0" rpy="0 0.3 0"/><mass value="1.0"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
<link name="plate"><inertial><mass value="0.5"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="a" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint>
<joint name="screws" type="fixed"><parent link="upper"/><child link="plate"/><origin xyz="0.2 0 0.1"/></joint>
</robot>"""


def test_masses_are_written_into_a_urdf(tmp_path):
    """Of all that is rigidly on a joint; read back the robot has them."""
    (tmp_path / "arm.urdf").write_text(URDF_LINK)
    robot = ex.load(tmp_path / "arm.urdf")
    asked = ActuatorSettings(unknown=("mass", "payload"), payload={"plate": (0.0, 0.0, 0.1)})
    numbers = {word: np.ones(1) for word in ("damping", "friction")} | {
        "mass": np.array([1.8]),
        "payload": 0.4 + np.zeros(1),
    }
    links = changed_links(robot, asked, numbers)
    robot.file.write_text(described_drives(robot.file, ("a",), numbers, links=links))
    point = np.array([0.2, 0.0, 0.2])
    expected = 1.2 * robot.joints[0].inertia
    expected[:4] += 0.4 * np.array([1.0, *point])
    expected[[4, 6, 7, 9]] += 0.4 * np.array([0.04, 0.08, -0.04, 0.04])  # Ixx, Iyy, Ixz, Izz of the point
    np.testing.assert_allclose(ex.load(robot.file).joints[0].inertia, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "asked", "said"),
    [
        (("", ""), {"unknown": ["payload"]}, "payload is asked for, but not where it is; give a place, as payload: "),
        (("", ""), {"payload": {"b": [0, 0, 0]}}, "has a place, but is not among the unknown"),
        (("", ""), {"unknown": ["payload"], "payload": {"world": [0, 0, 0]}}, "'world' does not move"),
        (("", ""), {"unknown": ["payload"], "payload": {"elbow": [0, 0, 0]}}, "elbow"),
        (("", ""), {"known": {"payload": {"a": 1}}, "payload": {"b": [0, 0, 0]}}, "joint 'a' has no payload"),
        ((f'<inertial pos="0.08 0 0" {LIGHT}', '<geom size="0.05"/>'), {"unknown": ["mass"]}, "give <inertial> for"),
        (("<worldbody>", '<compiler inertiafromgeom="true"/><worldbody>'), {"unknown": ["mass"]}, "looks at no"),
    ],
)  # fmt: skip
def test_masses_that_cannot_be_found_or_written_are_refused_before_the_fit(change, asked, said, tmp_path):
    (tmp_path / "double.xml").write_text(
        DOUBLE.replace(*change).replace("</body></body>", '<geom size="0.02"/></body></body>')
    )
    with pytest.raises(ExciterError, match=said):
        ex.actuators(tmp_path / "double.xml", noisy(1, seconds=1.0), {"actuators": {"control": {"kp": 20}, **asked}})


VERTICAL = DOUBLE.replace('axis="0 1 0"', 'axis="0 0 1"')
SCALED = ("armature", "damping", "friction", "kp", "kd", "mass")


@pytest.mark.parametrize(
    ("text", "asked", "scales", "alike"),
    [
        (VERTICAL, SCALED, 1, "armature a, mass a"),
        (VERTICAL, ("armature", "damping", "friction", "mass"), 0, "armature a, mass a"),
        (DOUBLE, ("armature", "damping", "friction", "kp"), 0, None),
        (DOUBLE, ("armature", "damping", "friction", "kp", "kd"), 0, "damping a, kd a"),
    ],
)
def test_what_nothing_can_tell_apart_is_said_before_the_fit(text, asked, scales, alike, tmp_path):
    """The scale of torque where neither gains nor masses in gravity are given; a mass without weight, from armature."""
    (tmp_path / "double.xml").write_text(text)
    said = list[str]()
    stop = RuntimeError("the first step")

    def tell(words):
        said.append(words)
        if words.startswith("smoothed friction"):
            raise stop

    with pytest.raises(RuntimeError):
        fit_actuators(
            ex.load(tmp_path / "double.xml"), [noisy(1, seconds=2.0, text=text)], settings(unknown=asked), tell
        )
    named = [one.removeprefix("cannot be told apart: ") for one in said if one.startswith("cannot be told apart")]
    of_scale = [one for one in named if one.startswith("nothing fixes the scale of torque")]
    assert len(of_scale) == scales
    for one in of_scale:
        assert all(f"{word} {joint}" in one for word in SCALED for joint in "ab")
        assert "kp a about 60 N·m/rad" in one
    assert any(one.startswith(f"{alike} change together") for one in named) == (alike is not None)
    assert len(set(named)) == len(named)


def test_gains_that_a_weak_direction_hardly_moves_are_no_scale_of_torque(tmp_path):
    """Two encoder biases that go together, and move Kp by 2 % of an even part: Kp is told, and only they are not."""
    (tmp_path / "double.xml").write_text(DOUBLE)
    robot = ex.load(tmp_path / "double.xml")
    asked = settings(unknown=("friction", "bias", "kp"), shared={"kp": ("*",)})
    numbers = drive_numbers(robot, asked, gains_of(robot, asked))
    weak = np.array([{"bias a": 1.0, "bias b": -0.8, "kp": 0.02}.get(name, 0.0) for name in numbers.names])
    weak /= np.linalg.norm(weak)
    information = 1e4 * (np.eye(len(weak)) - np.outer(weak, weak)) + 0.1 * np.outer(weak, weak)
    (said,) = combinations(numbers, information / np.outer(numbers.spreads, numbers.spreads))
    assert said.startswith("bias a, bias b change together")
    weak = np.array([{"friction": 1.0 / 3.0, "kp": 1.0}.get(name.split()[0], 0.0) for name in numbers.names])
    weak /= np.linalg.norm(weak)  # all torques by one factor, beside the spreads that are allowed
    information = 1e4 * (np.eye(len(weak)) - np.outer(weak, weak)) + 0.1 * np.outer(weak, weak)
    (said,) = combinations(numbers, information / np.outer(numbers.spreads, numbers.spreads))
    assert said.startswith("nothing fixes the scale of torque: friction a, friction b, kp scale together")
