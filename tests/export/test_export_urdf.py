"""URDF files we write anew, read back by ourselves, by Pinocchio and by MuJoCo: the same torques."""

from dataclasses import replace

import mujoco
import numpy as np
import pinocchio
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.export.robot_xml import identified_robot, left_out, roll_pitch_yaw
from exciter.export.urdf import identified_urdf, urdf_text
from exciter.parameters.consistency import WRITTEN_BODY_FRACTION, consistency_margin, presentable
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.robot import Frame, load
from support.paths import ROBOTS
from support.robots import random_robot, random_rotation, states

LINKS = ("world", "base_link", "universe")


def pinocchio_torque(path, robot, motion):
    """Torques (N, n) of a URDF file in the robot's order of joints, which need not be Pinocchio's."""
    model = pinocchio.buildModelFromUrdf(str(path))
    model.gravity.linear = robot.gravity
    data = model.createData()
    joints = [model.joints[model.getJointId(name)] for name in robot.joint_names]
    torque = np.empty(motion.q.shape)
    for k in range(len(motion)):
        q, v, a = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        for joint, angle, speed, rate in zip(joints, motion.q[k], motion.qd[k], motion.qdd[k], strict=True):
            q[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
            v[joint.idx_v], a[joint.idx_v] = speed, rate
        torque[k] = pinocchio.rnea(model, data, q, v, a)[[joint.idx_v for joint in joints]]
    return torque


def test_urdf_has_the_same_dynamics(any_robot, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(urdf_text(any_robot), encoding="utf-8")
    again = load(path).with_gravity(any_robot.gravity)
    order = [again.index(name) for name in any_robot.joint_names]
    motion = states(any_robot, 20)
    own = DynamicModel(any_robot).torque(motion)
    back = pinocchio_torque(path, any_robot, motion)
    assert_allclose(back, own, rtol=1e-9, atol=1e-9 * np.abs(own).max())
    assert sorted(order) == list(range(any_robot.n))
    for name in any_robot.frame_names:
        frame, other = any_robot.frame(name), again.frame(name)
        assert order[frame.joint] == other.joint if frame.joint >= 0 else other.joint == -1
        assert_allclose(other.translation, frame.translation, atol=1e-12)
    for which in ("lower", "upper", "velocity"):
        given = any_robot.limit(which)
        kept = np.isfinite(given) & np.isfinite(any_robot.limit("lower")) & np.isfinite(any_robot.limit("upper"))
        assert_allclose(again.limit(which)[order][kept], given[kept])
    for key in ("viscous", "coulomb"):
        if key in any_robot.friction:
            assert_allclose(again.friction[key][order], any_robot.friction[key])


def test_mujoco_loads_it(tmp_path):
    robot = load("panda")
    path = tmp_path / "panda.urdf"
    path.write_text(urdf_text(robot), encoding="utf-8")
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    motion = states(robot, 1)
    data.qpos, data.qvel, data.qacc = motion.q[0], motion.qd[0], motion.qdd[0]
    assert_allclose(model.dof_damping, robot.friction["viscous"])
    model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    mujoco.mj_inverse(model, data)
    assert_allclose(data.qfrc_inverse, DynamicModel(robot).torque(motion)[0], rtol=1e-8, atol=1e-8)


def test_identified_robot_has_the_parameters():
    model = DynamicModel(load("ur10e"), (RotorInertia(), Viscous(), Coulomb(joints=("elbow_joint",)), Offset()))
    chi = physical(model)
    robot = identified_robot(model, chi)
    assert_allclose(robot.friction["coulomb"], [0.0, 0.0, chi[model.standard.index("Fs3")], 0.0, 0.0, 0.0])
    assert_allclose(robot.friction["viscous"], [chi[model.standard.index(f"Fv{j}")] for j in range(1, 7)])
    assert_allclose(DynamicModel(robot).nominal, chi[: model.inertial_size], rtol=1e-9, atol=1e-12)
    assert {*left_out(model, chi)} == {f"{s}{j}" for s in ("Ia", "off") for j in range(1, 7)}
    assert "<!-- a - - b -->" in urdf_text(robot, "a -- b")
    for name in ("Fv2", "Ia1", "Fs3"):  # friction that drives, a rotor that pulls
        wrong = chi.copy()
        wrong[model.standard.index(name)] = -1.0
        with pytest.raises(ParameterError, match=rf"{name} is negative.*consistent"):
            identified_robot(model, wrong)
    wrong = chi.copy()
    wrong[10] = -1.0
    with pytest.raises(ParameterError, match=r"negative mass.*consistent"):
        identified_robot(model, wrong)


def physical(model):
    chi = np.ones(len(model.standard))
    chi[: model.inertial_size] = 1.1 * model.nominal[: model.inertial_size]
    return chi


def test_names_that_clash_get_others(tmp_path):
    """A joint called like the one of a frame, and links called like the ground."""
    robot = random_robot(5, 3)
    joints = [replace(j, name=n, link=l) for j, n, l in zip(robot.joints, ("tool_fixed", "b", "c"), LINKS, strict=True)]
    robot = replace(robot, joints=tuple(joints), frames=(Frame("tool", 2, np.eye(3), np.array([0.0, 0.1, 0.2])),))
    path = tmp_path / "robot.urdf"
    path.write_text(urdf_text(robot), encoding="utf-8")
    motion = states(robot, 5)
    assert_allclose(pinocchio_torque(path, robot, motion), DynamicModel(robot).torque(motion), rtol=1e-9, atol=1e-9)
    assert load(path).frame("tool").joint == 2


def test_angles_give_the_rotation_back():
    rng = np.random.default_rng(0)
    level = [
        Rotation.from_euler("xyz", [0.3, s * (np.pi / 2 - d), 0.4]).as_matrix()
        for s in (1, -1)
        for d in (0, 1e-12, 1e-7)
    ]
    for rotation in (*level, *(random_rotation(rng) for _ in range(20))):
        back = Rotation.from_euler("xyz", roll_pitch_yaw(rotation)).as_matrix()
        assert_allclose(back, rotation, atol=1e-14)


def test_no_robot_for_base_parameters_alone():
    model = DynamicModel(load("panda"), (Viscous(),))
    with pytest.raises(ParameterError, match=r"only base parameters.*the estimator consistent.*yaml, c or python"):
        identified_urdf(model, None)
    with pytest.raises(ParameterError, match=r"shape \(3,\).*77 finite"):
        identified_urdf(model, [1.0, 2.0, 3.0])
    with pytest.raises(ParameterError, match="finite"):
        identified_urdf(model, np.full(77, np.nan))


def test_other_descriptions_are_written_anew():
    """Embedded robots, modified-DH tables and MJCF have no URDF to go back to."""
    for source, description in (("panda", None), (ROBOTS / "arm.xml", ROBOTS / "arm.xml")):
        model = DynamicModel(load(source), (Viscous(), RotorInertia()))
        text = identified_urdf(model, physical(model), description)
        assert text.startswith('<?xml version="1.0"?>\n<!-- Inertias and friction identified by Exciter. ')
        assert "without a place here: Ia1 1 kg·m², " in text
        assert f'<robot name="{model.robot.name}">' in text


def test_bodies_on_the_edge_are_made_thick():
    """A rod, a point and nothing at all: MuJoCo refuses all three as they are."""
    rod = np.array([2.0, 0.2, 0.0, 0.0, 0.0, 0.0, 0.05, 0.0, 0.0, 0.05])
    thick = presentable(rod)
    assert_allclose(thick, rod, atol=3 * WRITTEN_BODY_FRACTION)
    assert consistency_margin(thick) > 0.1 * WRITTEN_BODY_FRACTION
    for phi in (
        np.zeros(10),
        np.array([1.0, *np.zeros(9)]),
        np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
    ):
        assert consistency_margin(presentable(phi)) > 0.0
        assert_allclose(presentable(phi), phi, atol=1e-9)
    body = load("panda").joints[3].inertia
    assert np.array_equal(presentable(body), body)
    robot = random_robot(7, 2).with_inertias([rod, rod])
    model = DynamicModel(robot)
    mujoco.MjModel.from_xml_string(identified_urdf(model, model.nominal))


@pytest.mark.parametrize(("lower", "upper"), [(-np.inf, np.inf), (-0.3, np.inf), (-0.3, 0.7)])
def test_a_sliding_joint_stays_free_to_move(lower, upper):
    """Without both ends a prismatic joint would be read as 0 … 0, and never move."""
    robot = load(ROBOTS / "gantry.urdf")
    name = next(joint.name for joint in robot.joints if joint.is_prismatic)
    text = urdf_text(robot.with_limits(lower={name: lower}, upper={name: upper}))
    model = pinocchio.buildModelFromXML(text)
    k = model.joints[model.getJointId(name)].idx_q
    assert model.lowerPositionLimit[k] == (lower if np.isfinite(lower) else -1e9)
    assert model.upperPositionLimit[k] == (upper if np.isfinite(upper) else 1e9)
