"""Closed loops in files for other tools: read back they give the same torques; what has no place for them says so."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import exciter as ex
from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.export.generated_code import python_module
from exciter.export.loops import WrittenLoops
from exciter.export.mjcf import mjcf_text
from exciter.export.sdf import sdf_text
from exciter.export.urdf import identified_urdf
from exciter.robot import Robot
from exciter.robot.loop_assembly import KinematicLoop, with_loops
from exciter.robot.motion import Motion
from support.loops import spatial_loop
from support.paths import ROBOTS


def palletiser() -> Robot:
    return ex.load(ROBOTS / "palletiser.urdf", ROBOTS / "palletiser.yaml")


def bent_weld() -> Robot:
    loops = [
        KinematicLoop("weld", ("left", "right")),
        KinematicLoop("joint", ("l0", "carrier"), coefficients=(0.1, 0.5, 0.2, 0, 0.1)),
    ]
    return with_loops(spatial_loop(), loops, with_loops(spatial_loop(), loops).joint_names)


MADE = {"palletiser": palletiser, "four bar": lambda: ex.load(ROBOTS / "four_bar.xml"), "weld": bent_weld}


def same(read: Robot, robot: Robot) -> None:
    assert set(read.joint_names) == set(robot.joint_names)
    order = [read.joint_names.index(name) for name in robot.joint_names]
    rng = np.random.default_rng(0)
    u = robot.coupling.home + rng.uniform(-0.05, 0.05, (5, robot.n))
    state = [u, *rng.uniform(-1, 1, (2, *u.shape))]
    turned = Motion.at(*(x[:, np.argsort(order)] for x in state))
    expected = Dynamics(robot).inverse_dynamics(Motion.at(*state))
    got = Dynamics(read.with_gravity(robot.gravity)).inverse_dynamics(turned)[:, order]
    np.testing.assert_allclose(got, expected, atol=1e-8 * np.abs(expected).max())
    driven = {body.name for body in robot.bodies if body.actuated}
    assert {body.name for body in read.bodies if body.actuated} == driven


@pytest.mark.parametrize("name", MADE)
def test_mjcf_joins_sites(name, tmp_path):
    robot, path = MADE[name](), tmp_path / "robot.xml"
    model = DynamicModel(robot)
    path.write_text(mjcf_text(model, model.nominal))
    same(ex.load(path), robot)
    compiled = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(compiled)
    mujoco.mj_resetDataKeyframe(compiled, data, 0)  # closed
    mujoco.mj_forward(compiled, data)
    assert np.abs(data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]).max() < 1e-9


@pytest.mark.parametrize("name", MADE)
def test_urdf_has_its_loops_beside_it(name, tmp_path):
    robot = MADE[name]()
    model, path, lines = DynamicModel(robot), tmp_path / "robot.urdf", tmp_path / "robot_loops.yaml"
    description = ROBOTS / "palletiser.urdf" if name == "palletiser" else None
    path.write_text(identified_urdf(model, model.nominal, description), newline="")
    lines.write_text(WrittenLoops.of(robot).lines)
    same(ex.load(path, lines), robot)


def test_lines_beside_a_urdf_say_where_gravity_points(tmp_path):
    """A planar robot that stands upright weighs nothing where it is taken to lie."""
    robot = palletiser().with_gravity((0.0, -9.81, 0.0))
    model, path, lines = DynamicModel(robot), tmp_path / "robot.urdf", tmp_path / "robot_loops.yaml"
    path.write_text(identified_urdf(model, model.nominal, ROBOTS / "palletiser.urdf"), newline="")
    lines.write_text(WrittenLoops.of(robot).lines)
    again = ex.load(path, lines)
    np.testing.assert_array_equal(again.gravity, robot.gravity)
    same(again, robot)
    assert "gravity" not in WrittenLoops.of(palletiser()).lines


def test_forms_without_a_place_refuse_in_one_line():
    model = DynamicModel(palletiser())
    for write in (
        lambda: sdf_text(model, model.nominal),
        lambda: python_module(model, model.base.base_values(model.nominal)),
    ):
        with pytest.raises(ExciterError) as refused:
            write()
        assert "\n" not in str(refused.value)
