"""MJCF files we write, loaded by MuJoCo: the same torques, limits, frames; and read back by ourselves."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.export.mjcf import mjcf_text
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.robot import load
from exciter.robot.description import read_mjcf
from exciter.robot.drawing import drawing
from exciter.robot.load import RobotOptions
from support.export_cases import identified
from support.meshes import meshed_arm, write_mesh
from support.paths import ROBOTS
from support.robots import random_robot, states

CASES = {
    "panda": lambda: load("panda"),
    "tx40": lambda: load("tx40"),
    "gripper-arm": lambda: load(ROBOTS / "gripper_arm.urdf"),
    "gripper-locked": lambda: load(ROBOTS / "gripper_arm.urdf").lock({"finger_1": 0.02, "finger_2": 0.01}),
    "two-arms": lambda: load(ROBOTS / "two_arms.urdf"),
    "gantry": lambda: load(ROBOTS / "gantry.urdf"),
    "mjcf": lambda: load(ROBOTS / "arm.xml"),
    "tree": lambda: random_robot(2, 7, tree=True),
}


def inverse(text, robot, motion):
    """(N, n) torques of MuJoCo, joint stops aside; dry friction acts, on joints that slide."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    data = mujoco.MjData(model)
    at = [int(model.joint(name).dofadr[0]) for name in robot.joint_names]
    torque = np.empty(motion.q.shape)
    for k in range(len(motion)):
        data.qpos[at], data.qvel[at], data.qacc[at] = motion.q[k], motion.qd[k], motion.qdd[k]
        mujoco.mj_inverse(model, data)
        torque[k] = data.qfrc_inverse[at]
    return torque


@pytest.mark.parametrize("case", CASES)
def test_mujoco_predicts_the_same_torques(case):
    """Rigid bodies, rotors, damping, and dry friction wherever a joint slides at 0.05 rad/s (m/s) or more."""
    model, chi = identified(CASES[case]())
    motion = states(model.robot, 30)
    own = model.torque(motion, chi)
    sliding = np.abs(motion.qd) > 0.05
    back = inverse(mjcf_text(model, chi), model.robot, motion)
    assert_allclose(back[sliding], own[sliding], rtol=1e-9, atol=1e-9 * np.abs(own).max())
    assert sliding.mean() > 0.9


@pytest.mark.parametrize("case", ["panda", "gripper-arm", "two-arms"])
def test_what_a_user_expects_is_there(case, tmp_path):
    robot = CASES[case]()
    model, chi = identified(robot)
    compiled = mujoco.MjModel.from_xml_string(mjcf_text(model, chi))
    assert_allclose(compiled.opt.gravity, robot.gravity)
    assert not (compiled.geom_contype | compiled.geom_conaffinity).any()
    assert compiled.ngeom == sum(s.visible and s.kind != "mesh" for s in robot.shapes) or compiled.ngeom == len(
        robot.capsules
    )
    for index, joint in enumerate(robot.joints):
        motor, hinge = compiled.actuator(joint.name), compiled.joint(joint.name)
        assert motor.trnid[0] == hinge.id
        limits = joint.limits
        assert bool(motor.ctrllimited[0]) == np.isfinite(limits.torque)
        if motor.ctrllimited[0]:
            assert_allclose(motor.ctrlrange, [-limits.torque, limits.torque])
        assert bool(hinge.limited[0]) == np.isfinite(limits.upper)
        if hinge.limited[0]:
            assert_allclose(hinge.range, [limits.lower, limits.upper])
        assert_allclose(hinge.armature[0], chi[model.standard.index(f"Ia{index + 1}")])
    # frames, at a posture: MuJoCo's sites against our own reading of the file
    path = tmp_path / "robot.mjcf"
    path.write_text(mjcf_text(model, chi), encoding="utf-8")
    again = load(path)
    order = [again.index(name) for name in robot.joint_names]
    for frame in robot.frames:
        other = again.frame(frame.name)
        assert other.joint == (order[frame.joint] if frame.joint >= 0 else -1)
        assert_allclose(other.translation, frame.translation, atol=1e-12)
        assert_allclose(other.rotation, frame.rotation, atol=1e-12)
    assert_allclose(again.limit("torque")[order], robot.limit("torque"))
    motion = states(robot, 5)
    shuffled = type(motion).at(*(getattr(motion, key)[:, np.argsort(order)] for key in ("q", "qd", "qdd")))
    read = DynamicModel(again, (RotorInertia(), Viscous(), Coulomb())).torque(shuffled)[:, order]
    own = model.torque(motion, chi)
    assert_allclose(read, own, rtol=1e-9, atol=1e-9 * np.abs(own).max())


def test_visuals_are_those_of_the_description(tmp_path):
    """Meshes by files seen from where the export lies, or written into it; they neither weigh nor touch."""
    robot = load(meshed_arm(tmp_path / "arm"))
    model, chi = identified(robot)
    path = tmp_path / "other" / "place" / "arm.mjcf"
    path.parent.mkdir(parents=True)
    path.write_text(mjcf_text(model, chi, path.parent), encoding="utf-8")
    compiled = mujoco.MjModel.from_xml_path(str(path))
    kinds = [mujoco.mjtGeom(kind).name for kind in compiled.geom_type]
    assert kinds == ["mjGEOM_MESH", "mjGEOM_MESH", "mjGEOM_MESH", "mjGEOM_BOX"]
    assert set(compiled.geom_group) == {2}
    assert not (compiled.geom_contype | compiled.geom_conaffinity).any()
    assert ["../../arm/meshes/part.stl" in path.read_text(), "part.dae" in path.read_text()] == [True, False]
    bare, bare_chi = identified(replace(robot, shapes=(), capsules=(), collision_pairs=()))
    without_visuals = mujoco.MjModel.from_xml_string(mjcf_text(bare, bare_chi))
    for name in ("body_mass", "body_inertia", "body_ipos", "body_iquat"):
        np.testing.assert_array_equal(getattr(compiled, name), getattr(without_visuals, name))
    data = mujoco.MjData(compiled)
    mujoco.mj_forward(compiled, data)
    for geom, shape in enumerate(shape for shape in drawing(robot).shapes if shape.kind == "mesh"):
        mesh = compiled.geom_dataid[geom]
        first, count = compiled.mesh_vertadr[mesh], compiled.mesh_vertnum[mesh]
        seen = compiled.mesh_vert[first : first + count] @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        body = [0.0, 0.0, 0.5 * (shape.joint + 1)]  # at zero, all frames are parallel
        wanted = shape.surface.vertices @ shape.rotation.T + shape.translation + body
        assert_allclose(seen.min(axis=0), wanted.min(axis=0), atol=1e-6)
        assert_allclose(seen.max(axis=0), wanted.max(axis=0), atol=1e-6)
    assert [shape.kind for shape in read_mjcf(path, RobotOptions(mesh_root=tmp_path)).shapes] == ["mesh", "mesh", "box"]


def test_a_mesh_that_mujoco_refuses_is_left_out(tmp_path):
    """One triangle has fewer vertices than a mesh of MuJoCo needs: the model loads without it."""
    path = meshed_arm(tmp_path / "arm")
    write_mesh(path.parent / "meshes" / "part.stl", np.eye(3), np.array([[0, 1, 2]]))
    compiled = mujoco.MjModel.from_xml_string(mjcf_text(*identified(load(path))))
    assert compiled.nmesh == 2


def test_what_has_no_place_is_told():
    model, chi = identified(load("gautier-khalil").with_inertias(random_robot(1, 3).inertias), (Offset(), Viscous()))
    text = mjcf_text(model, chi)
    assert f"without a place here: off1 {chi[30]:.9g} N·m, off2" in text
    assert "Fv1" not in text
    mujoco.MjModel.from_xml_string(text)
    with pytest.raises(ParameterError, match=r"only base parameters are known.*MJCF"):
        mjcf_text(model, None)
    chi[10] = -1.0
    with pytest.raises(ParameterError, match="negative mass"):
        mjcf_text(model, chi)


def test_a_resting_joint_is_held():
    """Dry friction above the weight: simulated for a second, the arm creeps by next to nothing."""
    model, chi = identified(load("panda"))
    chi[[model.standard.index(f"Fs{j}") for j in range(1, 8)]] = 100.0
    compiled = mujoco.MjModel.from_xml_string(mjcf_text(model, chi))
    data = mujoco.MjData(compiled)
    data.qpos[:] = start = 0.5 * compiled.jnt_range.sum(1)
    for _ in range(500):
        mujoco.mj_step(compiled, data)
    assert np.abs(data.qpos - start).max() < 1e-3
    compiled.dof_frictionloss[:] = 0.0
    for _ in range(500):
        mujoco.mj_step(compiled, data)
    assert np.abs(data.qpos - start).max() > 0.1
