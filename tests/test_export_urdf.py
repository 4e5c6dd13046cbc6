"""URDF files we write, read back by ourselves, by Pinocchio and by MuJoCo: the same torques."""

import mujoco
import numpy as np
import pinocchio
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from conftest import random_rotation, states
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.export.urdf import identified_robot, roll_pitch_yaw, urdf_text
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import load


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
    model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    mujoco.mj_inverse(model, data)
    assert_allclose(data.qfrc_inverse, DynamicModel(robot).torque(motion)[0], rtol=1e-8, atol=1e-8)


def test_identified_robot_has_the_parameters():
    model = DynamicModel(load("ur10e"), (RotorInertia(), Viscous(), Coulomb()))
    chi = model.nominal * 1.1
    robot = identified_robot(model, chi)
    assert_allclose(DynamicModel(robot, model.terms).nominal, chi, rtol=1e-9, atol=1e-12)
    assert "rotor inertia" in urdf_text(robot)
    chi[10] = -1.0
    with pytest.raises(ParameterError, match=r"negative mass.*consistent"):
        identified_robot(model, chi)


def test_angles_give_the_rotation_back():
    rng = np.random.default_rng(0)
    level = [Rotation.from_euler("xyz", [0.3, s * np.pi / 2, 0.4]).as_matrix() for s in (1, -1)]
    for rotation in (*level, *(random_rotation(rng) for _ in range(20))):
        back = Rotation.from_euler("xyz", roll_pitch_yaw(rotation)).as_matrix()
        assert_allclose(back, rotation, atol=1e-7)
