"""The frozen robot: names, limits in every documented way, sub-chains, and what it refuses."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import random_states
from exciter.dynamics.reference import NumpyEngine
from exciter.errors import MotionError, RobotError
from exciter.notes import texts
from exciter.robot import Motion, load
from exciter.robot.mdh import MDHRow, MDHTable, to_mdh
from support.paths import ROBOTS
from support.robots import random_robot


def test_a_robot_cannot_be_changed():
    robot = load("panda")
    with pytest.raises(FrozenInstanceError):
        robot.name = "other"
    for array in (robot.gravity, robot.joints[0].axis, robot.joints[0].inertia, robot.friction["viscous"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(TypeError):
        robot.friction["viscous"] = np.zeros(7)


def test_limits_for_all_by_joint_and_by_name():
    robot = load("panda").with_limits(velocity=1.0, torque=range(1, 8), jerk={"joint_2": 9.0}, lower=2.0, upper=3.0)
    assert robot.limit("velocity").tolist() == [1.0] * 7
    assert robot.limit("torque").tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert robot.limit("jerk")[1] == 9.0
    assert robot.limit("lower").tolist() == [2.0] * 7  # above the old upper limits: all change at once
    for wrong in (
        {"velocity": [1, 2]},
        {"velocity": {"elbow": 1.0}},
        {"speed": 1.0},
        {"velocity": np.nan},
        {"jerk": 0},
    ):
        with pytest.raises(RobotError):
            load("panda").with_limits(**wrong)


def test_assumed_accelerations_follow_the_velocity_until_given():
    robot = load(ROBOTS / "two_arms.urdf")
    assert_allclose(robot.limit("acceleration"), robot.limit("velocity") / 0.5)
    slower = robot.with_limits(velocity=0.1)
    assert_allclose(slower.limit("acceleration"), 0.2)
    assert any("of all joints are assumed" in remark for remark in texts(slower.remarks))
    name = robot.joint_names[0]
    some = robot.with_limits(acceleration={name: 5.0}).with_limits(velocity=0.1)
    assert some.limit("acceleration")[0] == 5.0
    assert not any(f"'{name}'" in remark for remark in texts(some.remarks) if "assumed" in remark)
    assert not any("assumed" in remark for remark in texts(robot.with_limits(acceleration=5.0).remarks))


def test_a_subchain_is_the_robot_with_the_other_branch_at_rest():
    """One arm of two: torques of the kept joints, and the tip's place, are those of the whole robot."""
    robot = load(ROBOTS / "two_arms.urdf")
    chain = robot.subchain("left_wrist")
    kept = [robot.index(name) for name in chain.joint_names]
    assert kept == list(robot.ancestors(robot.index("left_wrist")))
    few = random_states(chain, 10)
    q, qd, qdd = (np.zeros((10, robot.n)) for _ in range(3))
    q[:] = np.clip(0.0, robot.limit("lower"), robot.limit("upper"))
    q[:, kept], qd[:, kept], qdd[:, kept] = few.q, few.qd, few.qdd
    whole, part = Dynamics(robot, NumpyEngine()), Dynamics(chain, NumpyEngine())
    assert_allclose(part.inverse_dynamics(few), whole.inverse_dynamics(Motion.at(q, qd, qdd))[:, kept], atol=1e-10)
    assert_allclose(part.placement("left_wrist", few.q)[1], whole.placement("left_wrist", q)[1], atol=1e-12)
    base_frame = next(frame.name for frame in robot.frames if frame.joint < 0)
    with pytest.raises(RobotError, match="fixed on the base"):
        robot.subchain(base_frame)


def test_one_joint_can_be_locked_by_its_name():
    assert load("panda").lock("joint_7").joint_names == load("panda").lock(["joint_7"]).joint_names


def test_ranges_of_joints_without_ends():
    robot = load("panda").with_limits(upper={"joint_1": np.inf}, lower={"joint_2": -np.inf})
    lower, upper = robot.position_range()
    assert_allclose((upper - lower)[:2], 2 * np.pi)
    assert (lower[0], upper[1]) == (robot.limit("lower")[0], robot.limit("upper")[1])
    rail = random_robot(3, 1, prismatic=1.0).with_limits(lower=3.5, upper=6.0)
    q = random_states(rail, 50).q
    assert 3.5 <= q.min() <= q.max() <= 6.0


def test_lengths_are_not_taken_for_angles():
    """A length of −π m is a length: only angles have a sense that half a turn can change."""
    rows = (MDHRow("a", -1, 0, 0, 0, 0, 0), MDHRow("b", 0, 0, np.pi / 2, -np.pi, 0, -np.pi))
    again = to_mdh(MDHTable("long", rows).robot()).rows[1]
    assert (again.d, again.r) == (-np.pi, -np.pi)


def test_names_and_motions_that_mean_something_else_are_refused():
    robot = random_robot(1, 2)
    with pytest.raises(RobotError, match="named 'base'"):
        replace(robot, joints=(replace(robot.joints[0], name="base"), robot.joints[1]))
    with pytest.raises(RobotError, match="two joints named"):
        replace(robot, joints=(robot.joints[0], replace(robot.joints[1], name="j1")))
    with pytest.raises(MotionError, match="backwards"):
        Motion([0.0, 2.0, 1.0], *np.zeros((3, 3, 2)))


def told_of_wider_limits(robot):
    return [one.text.split("; is")[0] for one in robot.remarks if "wider than the description" in one.text]


def test_limits_wider_than_those_of_the_description_are_named():
    """Degrees for radians; narrower ones, limits where there was none, and rounded ones as ``init`` writes are fine."""
    joints = load("kuka-ir361").joints
    said = "lower limits in settings are wider than the description's: "
    named = ", ".join(f"{j.name} -170 instead of {j.limits.lower:g}" for j in joints)
    assert told_of_wider_limits(load("kuka-ir361", lower=-170.0)) == [said + named]
    fine = load("kuka-ir361", upper=0.1, velocity=0.5, acceleration=1.0, jerk=1e4)
    for robot in (fine, load("gautier-khalil", velocity=0.872664626)):
        assert not told_of_wider_limits(robot)
    assert not told_of_wider_limits(load("panda", velocity={"joint_7": 100.0}, lock=["joint_7"]))


def test_limits_of_a_file_are_the_description_however_settings_come(tmp_path):
    joint = '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
    joint += '<limit lower="-1" upper="1" velocity="2" effort="50"/></joint>'
    (tmp_path / "arm.urdf").write_text(f'<robot name="r"><link name="a"/><link name="b"/>{joint}</robot>')
    said = "velocity limits in settings are wider than the description's: j"
    assert told_of_wider_limits(load(tmp_path / "arm.urdf", velocity=90.0)) == [f"{said} 90 instead of 2"]
    twice = load(tmp_path / "arm.urdf", velocity=0.1, acceleration=5.0).with_limits(velocity=1.5, acceleration=8.0)
    assert not told_of_wider_limits(twice)  # the file has no acceleration limit, and 1.5 is less than its 2
    assert told_of_wider_limits(twice.with_limits(velocity=3.0)) == [f"{said} 3 instead of 2"]
