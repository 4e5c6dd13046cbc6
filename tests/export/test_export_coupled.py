"""Joints that follow others in files for other tools: read back, and compiled, they give the same torques."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, RobotError
from exciter.export.generated_code import c_code, python_module
from exciter.export.mjcf import mjcf_text
from exciter.export.robot_xml import identified_robot
from exciter.export.sdf import sdf_text
from exciter.export.urdf import identified_urdf, urdf_text
from exciter.parameters.terms import Coulomb, LoadFriction, RotorInertia, Tanh, Viscous
from exciter.robot import Robot, load
from exciter.robot.load import RobotOptions
from support.compiled_code import C99, Compiled, compiled, imported, needs_gcc
from support.coupled_robots import COUPLED, gripper_urdf, mimicking
from support.export_cases import identified
from support.robots import states


def assert_same(read: Robot, robot: Robot) -> None:
    """Torques, limits and friction, whatever the order of joints."""
    assert set(read.joint_names) == set(robot.joint_names)
    assert set(read.tree_names) == set(robot.tree_names)
    order = [read.joint_names.index(name) for name in robot.joint_names]
    motion = states(robot, 20)
    turned = type(motion).at(*(x[:, np.argsort(order)] for x in (motion.q, motion.qd, motion.qdd)))
    expected = Dynamics(robot).inverse_dynamics(motion)
    got = Dynamics(read.with_gravity(robot.gravity)).inverse_dynamics(turned)[:, order]
    assert_allclose(got, expected, atol=1e-9 * np.abs(expected).max())
    for key in ("viscous", "coulomb"):
        assert_allclose(read.friction[key][order], robot.friction[key], rtol=1e-9)
    for which in ("lower", "upper", "torque"):
        assert_allclose(read.limit(which)[order], robot.limit(which), rtol=1e-9)


def test_urdf_keeps_mimic_joints(tmp_path) -> None:
    """Written anew, and in the user's own file, where it stays as it stands."""
    path = gripper_urdf(tmp_path / "gripper.urdf")
    for robot in (load(path), mimicking().with_limits(torque=30.0)):
        model, chi = identified(robot)
        found = identified_robot(model, chi)
        file = tmp_path / "written.urdf"
        file.write_text(urdf_text(found), encoding="utf-8")
        assert_same(load(file), found)
    model, chi = identified(load(path))
    file.write_text(identified_urdf(model, chi, path), encoding="utf-8")
    assert_same(load(file), identified_robot(model, chi))
    assert file.read_text().count("<mimic") == 2


def test_mjcf_keeps_them_as_equalities(tmp_path) -> None:
    for robot in (load(gripper_urdf(tmp_path / "gripper.urdf")), mimicking().with_limits(torque=30.0)):
        model, chi = identified(robot)
        file = tmp_path / "written.xml"
        file.write_text(mjcf_text(model, chi), encoding="utf-8")
        assert_same(load(file, RobotOptions(limits={"velocity": 1.0})), identified_robot(model, chi))


def test_what_has_no_place_is_refused() -> None:
    model, chi = identified(COUPLED["mimic"]())
    with pytest.raises(ExciterError, match=r"SDF 1\.9 has no place for joints that follow others; export URDF or MJCF"):
        sdf_text(model, chi)
    with pytest.raises(RobotError, match=r"'j4' .* does not follow a single joint in proportion, and URDF has"):
        urdf_text(COUPLED["mixed"]())


@needs_gcc
@pytest.mark.parametrize("name", COUPLED)
def test_code_is_the_model(name: str, tmp_path) -> None:
    robot = COUPLED[name]()
    model = DynamicModel(robot, (RotorInertia(), Viscous(), Coulomb(), LoadFriction(Tanh(0.1))))
    beta = np.random.default_rng(1).uniform(0.5, 2.0, len(model.base))
    motion = states(robot, 12)
    rows = model.base.project(model.regressor(motion))
    texts = c_code(model, beta)
    (tmp_path / "dynamics.h").write_text(texts.header)
    (tmp_path / "dynamics.c").write_text(texts.source)
    c = Compiled(compiled(tmp_path / "dynamics.c", *C99), model)
    python = imported(python_module(model, beta))
    for code in (c, python):
        given = (motion.q, motion.qd, motion.qdd)
        assert_allclose(code.torque(*given), rows @ beta, atol=1e-9)
        assert_allclose(code.regressor(*given), rows, atol=1e-9)
        held = model.base.project(model.regressor(type(motion).at(motion.q))) @ beta
        assert_allclose(code.gravity(motion.q), held, atol=1e-9)
        matrix = code.inertia_matrix(motion.q)
        assert_allclose(matrix, matrix.swapaxes(1, 2), atol=1e-9)
