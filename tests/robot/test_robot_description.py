"""Robots read from files: against Pinocchio's own reading of the URDF, and against MuJoCo for MJCF."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from exciter.errors import ExciterError
from exciter.notes import texts
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot.description import read_mjcf, read_urdf
from exciter.robot.load import RobotOptions, load, options_from
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.robot import Robot
from exciter.robot.spatial import axis_rotation
from exciter.robot.yaml_file import read_yaml
from exciter.settings import keys_of, written
from support.paths import ROBOTS, SHARED_DATA

OWN = [ROBOTS / f"{name}.urdf" for name in ("gantry", "two_arms", "gripper_arm")]
MEASURED = [SHARED_DATA / name / f"{name}.urdf" for name in ("kr300", "lwr4", "panda", "tx40")]
URDFS = [
    pytest.param(
        path,
        id=path.stem,
        marks=pytest.mark.skipif(not path.is_file(), reason=f"{path.name} of the measured robots is not here"),
    )
    for path in OWN + MEASURED
]


def pinocchio_configuration(model: Any, positions: dict[str, float]) -> Any:
    """q as Pinocchio wants it: cosine and sine for its continuous joints."""
    q = pin.neutral(model)
    for name, value in positions.items():
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = [math.cos(value), math.sin(value)] if joint.nq == 2 else value
    return q


def pinocchio_velocity(model: Any, values: dict[str, float]) -> Any:
    v = np.zeros(model.nv)
    for name, value in values.items():
        v[model.joints[model.getJointId(name)].idx_v] = value
    return v


@pytest.mark.parametrize("path", URDFS)
def test_inverse_dynamics_is_that_of_pinocchios_own_reading(path: Path) -> None:
    robot = read_urdf(path)
    ours, theirs = to_pinocchio(robot), pin.buildModelFromUrdf(str(path))
    assert sorted(robot.joint_names) == sorted(list(theirs.names)[1:])
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v, a = rng.uniform(-2, 2, (3, robot.n))
        expected = pin.rnea(
            theirs,
            theirs.createData(),
            pinocchio_configuration(theirs, dict(zip(robot.joint_names, q, strict=True))),
            pinocchio_velocity(theirs, dict(zip(robot.joint_names, v, strict=True))),
            pinocchio_velocity(theirs, dict(zip(robot.joint_names, a, strict=True))),
        )
        by_name = [expected[theirs.joints[theirs.getJointId(name)].idx_v] for name in robot.joint_names]
        np.testing.assert_allclose(
            pin.rnea(ours, ours.createData(), q, v, a), by_name, atol=1e-11 * max(1, np.abs(by_name).max())
        )


@pytest.mark.parametrize("path", URDFS)
def test_every_frame_is_where_pinocchio_has_it(path: Path) -> None:
    robot = read_urdf(path)
    ours, theirs = to_pinocchio(robot), pin.buildModelFromUrdf(str(path))
    q = np.random.default_rng(2).uniform(-2, 2, robot.n)
    data, their_data = ours.createData(), theirs.createData()
    pin.framesForwardKinematics(ours, data, q)
    named = dict(zip(robot.joint_names, q, strict=True))
    pin.framesForwardKinematics(theirs, their_data, pinocchio_configuration(theirs, named))
    links = [f for f in theirs.frames if f.type == pin.FrameType.BODY]
    assert {f.name for f in links} <= set(robot.frame_names)
    for index, frame in enumerate(theirs.frames):
        if frame.name == "universe" or (frame.type != pin.FrameType.BODY and frame.name in {f.name for f in links}):
            continue
        kind = pin.FrameType.JOINT if frame.type == pin.FrameType.JOINT else pin.FrameType.OP_FRAME
        mine = data.oMf[ours.getFrameId(frame.name, kind)]
        np.testing.assert_allclose(mine.homogeneous, their_data.oMf[index].homogeneous, atol=1e-12)
        assert (robot.frame(frame.name).joint == -1) == (frame.parentJoint == 0)


def forward_kinematics(robot: Robot, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """World placement of every joint frame, from the definition of Robot alone."""
    placed: list[tuple[np.ndarray, np.ndarray]] = []
    for joint, value in zip(robot.joints, q, strict=True):
        rotation, translation = (np.eye(3), np.zeros(3)) if joint.parent < 0 else placed[joint.parent]
        translation = rotation @ joint.translation + translation
        rotation = rotation @ joint.rotation
        if joint.is_prismatic:
            placed.append((rotation, translation + rotation @ joint.axis * value))
        else:
            placed.append((rotation @ axis_rotation(joint.axis, value), translation))
    return placed


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_the_pinocchio_model_moves_as_the_robot_is_defined(path: Path) -> None:
    robot = read_urdf(path)
    model = to_pinocchio(robot)
    data = model.createData()
    q = np.random.default_rng(3).uniform(-1, 1, robot.n)
    pin.forwardKinematics(model, data, q)
    assert model.nq == model.nv == robot.n
    assert list(model.names)[1:] == list(robot.joint_names)
    for index, (rotation, translation) in enumerate(forward_kinematics(robot, q)):
        np.testing.assert_allclose(data.oMi[index + 1].rotation, rotation, atol=1e-13)
        np.testing.assert_allclose(data.oMi[index + 1].translation, translation, atol=1e-13)


def test_kinds_axes_and_limits_of_the_gripper_arm() -> None:
    robot = read_urdf(ROBOTS / "gripper_arm.urdf")
    kinds = {joint.name: joint.kind for joint in robot.joints}
    assert kinds["pan"] == kinds["elbow"] == "continuous"
    assert kinds["lift"] == "revolute"
    assert kinds["finger_1"] == "prismatic"
    lift = robot.joints[robot.index("lift")]
    np.testing.assert_allclose(lift.axis, np.array([0, -2, 1]) / math.sqrt(5), atol=1e-15)
    assert (lift.limits.lower, lift.limits.upper, lift.limits.torque) == (-1.2, 1.9, 50.0)
    assert math.isinf(lift.limits.velocity)  # 0 in the file: not given
    pan = robot.joints[robot.index("pan")]
    assert math.isinf(pan.limits.upper)
    assert pan.limits.acceleration == pan.limits.velocity / 0.5
    assert math.isinf(robot.joints[robot.index("elbow")].limits.torque)
    assert robot.joints[robot.index("elbow")].link == "forearm"
    text = "\n".join(texts(robot.remarks))
    assert "no velocity limit in the file (absent or 0) for 'lift'" in text
    assert "no torque limit in the file (absent or 0) for 'elbow'" in text
    assert "full speed in 0.5 s" in text
    assert "mesh files absent: 1" in text  # to look at; the other one is to collide with
    assert "no capsule for shapes of links 'shoulder'" in text


def test_friction_is_kept_by_name_and_absent_when_the_file_has_none() -> None:
    robot = read_urdf(ROBOTS / "gripper_arm.urdf")
    assert robot.friction["viscous"][robot.index("pan")] == 0.8
    assert robot.friction["coulomb"][robot.index("lift")] == 0.3
    assert robot.friction["coulomb"][robot.index("elbow")] == 0.0
    assert "rotor_inertia" not in robot.friction
    assert not read_urdf(ROBOTS / "two_arms.urdf").friction


def test_a_fixed_joint_named_like_a_link_gives_way_to_the_link() -> None:
    robot = read_urdf(ROBOTS / "gripper_arm.urdf")
    assert robot.frame_names.count("camera") == 1
    assert robot.joints[robot.frame("camera").joint].name == "elbow"


def test_a_link_named_like_a_moving_joint_is_the_frame_of_that_name(tmp_path: Path) -> None:
    file = tmp_path / "same.urdf"
    file.write_text((ROBOTS / "gantry.urdf").read_text().replace('"bridge"', '"z"'))
    robot, original = read_urdf(file), read_urdf(ROBOTS / "gantry.urdf")
    assert robot.joints[robot.frame("z").joint].name == "x"
    models = [to_pinocchio(each) for each in (robot, original)]
    q = np.ones(4)
    first, second = (pin.rnea(model, model.createData(), q, q, q) for model in models)
    np.testing.assert_array_equal(first, second)


def test_one_joint_alone(tmp_path: Path) -> None:
    file = tmp_path / "pendulum.urdf"
    file.write_text(
        '<robot name="pendulum"><link name="base"/><link name="bob"><inertial><origin xyz="0 0 -0.5"/>'
        '<mass value="2"/></inertial></link><joint name="pivot" type="continuous"><parent link="base"/>'
        '<child link="bob"/><axis xyz="0 1 0"/></joint></robot>'
    )
    robot = read_urdf(file)
    model = to_pinocchio(robot)
    torque = pin.rnea(model, model.createData(), np.array([0.3]), np.array([0.7]), np.array([0.2]))
    assert torque[0] == pytest.approx(2 * 0.5**2 * 0.2 + 2 * 9.81 * 0.5 * math.sin(0.3), abs=1e-14)


def test_capsules_contain_the_collision_shapes() -> None:
    robot = read_urdf(ROBOTS / "gripper_arm.urdf")
    capsules = {capsule.name: capsule for capsule in robot.capsules}
    assert set(capsules) == {"pedestal", "upper", "finger_left"}
    assert robot.joints[capsules["upper"].joint].name == "lift"
    assert capsules["pedestal"].joint == -1

    def distance(name: str, point: np.ndarray) -> float:
        capsule = capsules[name]
        along = capsule.end - capsule.start
        s = np.clip((point - capsule.start) @ along / max(float(along @ along), 1e-30), 0, 1)
        return float(np.linalg.norm(point - capsule.start - s * along))

    angle = np.linspace(0, 2 * math.pi, 24)
    for x in (0.0, 0.4):  # the rims of the cylinder, in the frame of joint lift
        for a in angle:
            assert distance("upper", np.array([x, 0.06 * math.cos(a), 0.06 * math.sin(a)])) <= 0.06 + 1e-12
    turn = axis_rotation([0, 0, 1], 0.7)
    for corner in np.stack(np.meshgrid([-0.15, 0.15], [-0.15, 0.15], [-0.4, 0.0]), -1).reshape(-1, 3):
        point = turn @ corner + [0.1, 0.2, 0.4]
        assert distance("pedestal", point) <= capsules["pedestal"].radius + 1e-12
    assert capsules["finger_left"].radius == 0.02


def test_shapes_carry_colour_and_mesh_path_but_no_file_is_needed() -> None:
    robot = read_urdf(ROBOTS / "gripper_arm.urdf")
    box, mesh = (shape for shape in robot.shapes if shape.visible)
    assert (box.kind, box.size, box.colour) == ("box", (0.3, 0.3, 0.4), (1.0, 0.5, 0.0, 1.0))
    assert (mesh.kind, mesh.size) == ("mesh", (0.001, 0.001, 0.001))
    assert mesh.mesh.endswith("gripper_arm/meshes/shoulder.stl")


# -- options -------------------------------------------------------------------------------------------------


def test_options_give_what_urdf_lacks(tmp_path: Path) -> None:
    file = tmp_path / "options.yaml"
    file.write_text(
        "limits:\n  acceleration: {waist: 4.0}\n  jerk: 1e2\n  velocity: {a_shoulder: 1.5}\n"
        "  lower: {waist: 2.0}\n  upper: {waist: 3.0}\n"  # both beyond the old range at once
        "gravity: [0, 9.81, 0]\nlock: {left_wrist: 0.3}\n"
    )
    robot = load(ROBOTS / "two_arms.urdf", options_from(read_yaml(file, "options file"), str(file), tmp_path))
    waist = robot.joints[robot.index("waist")].limits
    assert (waist.acceleration, waist.jerk, waist.lower, waist.upper) == (4.0, 100.0, 2.0, 3.0)
    shoulder = robot.joints[robot.index("a_shoulder")].limits
    assert (shoulder.velocity, shoulder.acceleration) == (1.5, 3.0)  # the default follows the given velocity
    assert robot.gravity.tolist() == [0, 9.81, 0]
    assert "left_wrist" not in robot.joint_names


def test_options_are_written_as_they_are_read(tmp_path: Path) -> None:
    told = {"limits": {"lower": {"x": -1.0}, "torque": math.inf}, "gravity": [0, 0, 9.81], "lock": ["y"]}
    for data in ({}, told, {**told, "mesh_root": ".."}):
        options = options_from(data, folder=tmp_path.resolve() / "below")
        again = options_from(written(options))
        assert replace(again, mesh_root=None) == replace(options, mesh_root=None)
        assert again.mesh_root == (options.mesh_root and options.mesh_root.resolve())
    assert "meshes" not in keys_of(RobotOptions)


def test_one_file_serves_all_commands(tmp_path: Path) -> None:
    path = tmp_path / "exciter.yaml"
    path.write_text("gravity: [0, 0, 1]\nmesh_root: shapes\nterms: none\nidentify: {folds: 3}\n")
    file = SettingsFile.read(path)
    assert file.robot == RobotOptions(gravity=(0.0, 0.0, 1.0), mesh_root=tmp_path / "shapes")
    assert (file.design.robot, file.design.terms) == (file.robot, ())
    assert (file.identify.robot, file.identify.settings.folds) == (file.robot, 3)
    assert SettingsFile.read(None).robot == RobotOptions()
    for text, said in (
        ("gravty: 1", "unknown key 'gravty'.*did you mean 'gravity'"),
        ("- 1", "is .1.; give a mapping"),
    ):
        path.write_text(text)
        with pytest.raises(ExciterError, match=said):
            SettingsFile.read(path)


def test_code_and_file_give_the_same_limits() -> None:
    options = RobotOptions(limits={"acceleration": {"x": 2.0}, "torque": 50.0})
    by_options = options.apply(read_urdf(ROBOTS / "gantry.urdf"))
    by_code = read_urdf(ROBOTS / "gantry.urdf").with_limits(acceleration={"x": 2.0}, torque=50.0)
    assert [j.limits for j in by_options.joints] == [j.limits for j in by_code.joints]


# -- MJCF ----------------------------------------------------------------------------------------------------


def test_mjcf_gives_mujocos_inverse_dynamics_and_placements() -> None:
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the oracle of this test")
    robot = read_mjcf(ROBOTS / "arm.xml")
    model = mujoco.MjModel.from_xml_path(str(ROBOTS / "arm.xml"))
    data = mujoco.MjData(model)
    order = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) for name in robot.joint_names]
    assert sorted(order) == list(range(model.njnt))
    ours = to_pinocchio(robot)
    our_data = ours.createData()
    np.testing.assert_allclose(robot.gravity, model.opt.gravity)
    np.testing.assert_allclose(robot.friction["viscous"], np.ravel(model.dof_damping)[order])
    np.testing.assert_allclose(robot.friction["coulomb"], model.dof_frictionloss[order])
    np.testing.assert_allclose(robot.friction["rotor_inertia"], model.dof_armature[order])
    rng = np.random.default_rng(4)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    for _ in range(5):
        q, v, a = rng.uniform(-1.5, 1.5, (3, robot.n))
        data.qpos[order], data.qvel[order], data.qacc[order] = q, v, a
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        rigid = np.zeros(model.nv)
        mujoco.mj_rne(model, data, 1, rigid)
        expected = rigid[order] - robot.friction["rotor_inertia"] * a * mujoco_rne_counts_armature(mujoco)
        found = pin.rnea(ours, our_data, q, v, a)
        np.testing.assert_allclose(found, expected, atol=1e-11 * max(1, np.abs(expected).max()))
        pin.framesForwardKinematics(ours, our_data, q)
        for name in ("base", "column", "upper", "plate", "slider", "hand", "conveyor"):
            mine = our_data.oMf[ours.getFrameId(name, pin.FrameType.OP_FRAME)]
            np.testing.assert_allclose(mine.translation, data.body(name).xpos, atol=1e-12)
            np.testing.assert_allclose(mine.rotation.ravel(), data.body(name).xmat, atol=1e-12)
        for name in ("tip", "corner"):
            mine = our_data.oMf[ours.getFrameId(name, pin.FrameType.OP_FRAME)]
            np.testing.assert_allclose(mine.translation, data.site(name).xpos, atol=1e-12)


def mujoco_rne_counts_armature(mujoco: Any) -> float:
    """1 when mj_rne adds armature·q̈ (it differs between versions), measured on one massless-free wheel."""
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option gravity="0 0 0"/><worldbody><body><joint axis="0 0 1" armature="7"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>'
    )
    data, result = mujoco.MjData(model), np.zeros(1)
    mujoco.mj_forward(model, data)
    data.qacc[:] = 1.0
    mujoco.mj_rne(model, data, 1, result)
    return float((result[0] - 1.0) / 7.0)


def test_mjcf_limits_classes_and_shapes() -> None:
    robot = read_mjcf(ROBOTS / "arm.xml")
    limits = {joint.name: joint.limits for joint in robot.joints}
    kinds = {joint.name: joint.kind for joint in robot.joints}
    assert kinds == {
        "turn": "continuous",
        "lift": "revolute",
        "slide": "prismatic",
        "roll": "revolute",
        "pitch": "revolute",
        "belt": "prismatic",
    }
    assert limits["lift"].lower == pytest.approx(-math.pi / 2)
    assert limits["lift"].upper == pytest.approx(2 * math.pi / 3)
    assert (limits["slide"].lower, limits["slide"].upper) == (-0.1, 0.4)  # metres are not degrees
    assert limits["pitch"].torque == 12.0  # the smaller side of −12 … 15
    assert math.isinf(limits["belt"].upper)
    assert robot.joints[robot.index("roll")].inertia[0] == 0.0  # first of two joints: the body hangs on the second
    assert "hand/1" not in robot.frame_names
    by_body = sorted(capsule.name for capsule in robot.capsules)
    assert by_body == ["column/1", "column/2", "conveyor", "hand", "plate", "upper"]
    assert len([shape for shape in robot.shapes if shape.joint == robot.index("pitch")]) == 2


def test_load_decides_by_root_element(tmp_path: Path) -> None:
    copy = tmp_path / "robot.xml"
    copy.write_text((ROBOTS / "gantry.urdf").read_text())
    assert load(copy).joint_names == ("x", "y", "z", "spin")
    assert load(str(ROBOTS / "arm.xml")).name == "mjcf_arm"
    copy.with_suffix(".mjcf").write_text((ROBOTS / "arm.xml").read_text())
    assert load(copy.with_suffix(".mjcf")).n == 6
