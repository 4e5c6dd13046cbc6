"""Free bases: six joints in front, from URDF and MJCF; conversions against Pinocchio's SE(3)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import exciter as ex
from exciter.dynamics.dynamics import Dynamics
from exciter.errors import MotionError, RobotError
from exciter.robot import Robot, load
from exciter.robot import base_motion as base
from exciter.robot.robot import FREE_BASE_JOINTS
from support.constrained_robots import FLYING_ARM
from support.paths import ROBOTS

QUADRUPED = ROBOTS / "quadruped.urdf"


@pytest.fixture(scope="module")
def quadruped() -> Robot:
    return load(QUADRUPED, base="free")


@pytest.fixture(scope="module")
def flying_arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("free") / "arm.xml"
    path.write_text(FLYING_ARM, encoding="utf-8")
    return path


def pinocchio_rank(model: pin.Model, samples: int) -> tuple[int, np.ndarray]:
    """Of stacked free-flyer regressors, columns brought to equal length; and an orthonormal basis of the rows."""
    rng, data, rows = np.random.default_rng(0), model.createData(), []
    for _ in range(samples):
        q = pin.integrate(model, pin.neutral(model), rng.standard_normal(model.nv))
        rows.append(pin.computeJointTorqueRegressor(model, data, q, *rng.standard_normal((2, model.nv))))
    stacked = np.vstack(rows)
    _, values, vt = np.linalg.svd(stacked, full_matrices=False)
    rank = int((values > 1e-9 * values[0]).sum())
    return rank, vt[:rank]


def test_base_link_is_carried_by_six_joints_without_drives(quadruped: Robot) -> None:
    assert quadruped.joint_names[:6] == FREE_BASE_JOINTS
    assert quadruped.free_base == tuple(range(6))
    assert quadruped.actuated == tuple(range(6, 18))
    fixed, whole = load(QUADRUPED), pin.buildModelFromUrdf(str(QUADRUPED), pin.JointModelFreeFlyer())
    assert (fixed.n, fixed.free_base, fixed.base_link) == (12, (), -1)
    np.testing.assert_allclose(quadruped.joints[5].inertia, whole.inertias[1].toDynamicParameters(), atol=1e-12)
    assert quadruped.frame("trunk").joint == 5
    assert quadruped.frame("imu_link").joint == 5
    assert [joint.is_massless for joint in quadruped.joints[:6]] == [True] * 5 + [False]
    model = ex.DynamicModel(quadruped, (ex.Viscous(), ex.Offset()))
    assert [name for name in model.standard if name.startswith("Fv")] == [f"Fv{j}" for j in range(7, 19)]


def test_inverse_dynamics_are_those_of_a_free_flyer(quadruped: Robot) -> None:
    """τ of the six base joints is the force on the base, and the moment seen through the rates of the angles."""
    rng, model = np.random.default_rng(1), pin.buildModelFromUrdf(str(QUADRUPED), pin.JointModelFreeFlyer())
    data, dynamics = model.createData(), Dynamics(quadruped)
    q, (qd, qdd) = rng.uniform(-1.0, 1.0, (20, 18)), rng.standard_normal((2, 20, 18))
    ours = dynamics.inverse_dynamics(ex.Motion.at(q, qd, qdd))
    seen = base.BaseMotion.of_joints(q[:, :6], qd[:, :6], qdd[:, :6])
    for k in range(20):
        turn = seen.rotation[k]
        local = [turn.T @ seen.velocity[k], seen.spin[k]]
        spatial = turn.T @ seen.acceleration[k] - np.cross(seen.spin[k], local[0])  # d/dt in turning axes
        w, x, y, z = base.quaternions(seen.rotation[k : k + 1])[0]
        pose = np.concatenate([seen.position[k], [x, y, z, w], q[k, 6:]])
        velocity = np.concatenate([*local, qd[k, 6:]])
        acceleration = np.concatenate([spatial, seen.spin_rate[k], qdd[k, 6:]])
        tau = pin.rnea(model, data, pose, velocity, acceleration)
        wrench = np.concatenate([turn @ tau[:3], base.rate_matrix(q[k : k + 1, 3:6])[0].T @ tau[3:6]])
        np.testing.assert_allclose(ours[k], np.concatenate([wrench, tau[6:]]), atol=1e-10)


@pytest.mark.parametrize("which", ["quadruped", "arm", "rock"])
def test_base_parameters_are_the_rank_and_the_row_space_of_free_flyer_regressors(
    which: str, flying_arm: Path, tmp_path: Path
) -> None:
    if which == "arm":
        robot, model = load(flying_arm), pin.buildModelFromMJCF(str(flying_arm))
    else:
        path = QUADRUPED
        if which == "rock":
            path = tmp_path / "rock.urdf"
            path.write_text(
                '<robot name="rock"><link name="rock"><inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" '
                'iyy="1.5" iyz="0" izz="2"/></inertial></link></robot>',
                encoding="utf-8",
            )
        robot, model = load(path, base="free"), pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    dynamic = ex.DynamicModel(robot)
    rank, rows = pinocchio_rank(model, 40 + 2 * model.nv)
    assert len(dynamic.base) == rank == 10 + 7 * (robot.n - 6)
    # what we say does not show is not seen by Pinocchio: links in its order, in the frames of the joints
    hidden = np.linalg.svd(dynamic.base.grouping)[2][rank:]
    for chi in hidden:
        links = dynamic.joint_frame_inertias(chi)[5:]
        names = ["root_joint" if which != "arm" else model.names[1], *robot.joint_names[6:]]
        order = [model.getJointId(name) - 1 for name in names]
        theirs = np.zeros((len(order), 10))
        theirs[order] = links
        assert np.abs(rows @ theirs.ravel()).max() < 1e-7 * max(np.abs(theirs).max(), 1e-3)
    carriages = dynamic.base.grouping[:, :50]
    assert not carriages.any()


def test_free_joint_of_mjcf_is_found_held_or_refused(flying_arm: Path, tmp_path: Path) -> None:
    robot = load(flying_arm)
    assert robot.free_base
    assert robot.ground == 0.0
    assert load(flying_arm, base="free").joint_names == robot.joint_names
    held = load(flying_arm, base="fixed")
    assert held.joint_names == ("shoulder", "wrist")
    np.testing.assert_allclose(Dynamics(held).placement("frame", np.zeros((1, 2)))[1], [[1.0, 2.0, 3.0]])
    np.testing.assert_allclose(Dynamics(robot).placement("frame", np.zeros((1, 8)))[1], [[0.0, 0.0, 0.0]])
    ball = FLYING_ARM.replace("</worldbody>", '<body name="ball"><freejoint/><geom size="0.1"/></body></worldbody>')
    (tmp_path / "two.xml").write_text(ball, encoding="utf-8")
    with pytest.raises(RobotError, match=r"2 free joints in the world .*'frame', 'ball'"):
        load(tmp_path / "two.xml")
    with pytest.raises(RobotError, match="the base of robot 'panda' is fixed, not free"):
        load("panda", base="free")


def test_a_body_alone_is_free_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "drone.urdf"
    path.write_text('<robot name="drone"><link name="frame"/></robot>', encoding="utf-8")
    robot = load(path)
    assert robot.joint_names == FREE_BASE_JOINTS
    assert any("one body that moves freely" in note.text for note in robot.notes)


# -- pose, twist, IMU ----------------------------------------------------------------------------------------------


def smooth(time: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    size, rate, phase = rng.uniform(0.3, 1.0, 6), rng.uniform(1.0, 3.0, 6), rng.uniform(0.0, 6.0, 6)
    angle = rate * time[:, None] + phase
    return size * np.sin(angle), size * rate * np.cos(angle), -size * rate**2 * np.sin(angle)


def test_conversions_agree_with_pinocchio_and_finite_differences() -> None:
    step, time = 1e-4, np.linspace(0.0, 2.0, 30)
    motion = base.BaseMotion.of_joints(*smooth(time))
    ahead, behind = (base.BaseMotion.of_joints(*smooth(time + s * step)) for s in (1.0, -1.0))
    for k in range(len(time)):
        poses = [pin.SE3(one.rotation[k], one.position[k]) for one in (behind, ahead)]
        between = pin.log6(poses[0].inverse() * poses[1]).vector / (2.0 * step)
        local = np.concatenate([motion.rotation[k].T @ motion.velocity[k], motion.spin[k]])
        np.testing.assert_allclose(local, between, atol=1e-6)
    np.testing.assert_allclose(motion.spin_rate, (ahead.spin - behind.spin) / (2.0 * step), atol=1e-6)
    np.testing.assert_allclose(motion.acceleration, (ahead.velocity - behind.velocity) / (2.0 * step), atol=1e-6)
    for ours, theirs in zip(motion.joints(), smooth(time), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_quaternions_of_any_rotation_and_turns_that_go_on() -> None:
    rng = np.random.default_rng(4)
    given = rng.standard_normal((200, 4))
    turns = base.rotations(given / np.linalg.norm(given, axis=1, keepdims=True))
    for k in range(200):
        w, x, y, z = given[k]
        np.testing.assert_allclose(turns[k], pin.Quaternion(w, x, y, z).normalized().matrix(), atol=1e-12)
    np.testing.assert_allclose(base.rotations(base.quaternions(turns)), turns, atol=1e-12)
    spinning = np.column_stack([np.linspace(0.0, 20.0, 300), 0.3 * np.ones(300), np.zeros(300)])
    pieces = np.split(base.rotation_of_angles(spinning), [120])
    first = base.angles_of_rotation(pieces[0])
    np.testing.assert_allclose(np.vstack([first, base.angles_of_rotation(pieces[1], first[-1])]), spinning, atol=1e-9)
    with pytest.raises(MotionError, match="norm is 0; it must be 1"):
        base.rotations(np.zeros((1, 4)))
    with pytest.raises(MotionError, match="pitch ±90"):
        base.angle_rates(np.array([[0.0, np.pi / 2.0, 0.0]]), np.ones((1, 3)))


def test_an_accelerometer_feels_gravity_and_its_lever() -> None:
    """A point of the base that is differentiated twice, in its own axes and less gravity."""
    step, time, place, gravity = 1e-4, np.linspace(0.0, 2.0, 20), np.array([0.1, -0.2, 0.3]), np.array([0.1, 0.2, -9.8])
    motions = [base.BaseMotion.of_joints(*smooth(time + s * step)) for s in (-1.0, 0.0, 1.0)]
    points = [one.position + one.rotation @ place for one in motions]
    acceleration = (points[0] - 2.0 * points[1] + points[2]) / step**2
    felt = motions[1].specific_force(gravity, place)
    exact = np.einsum("Nji,Nj->Ni", motions[1].rotation, acceleration - gravity)
    np.testing.assert_allclose(felt, exact, atol=1e-5)
    spin, spin_rate, turn = motions[1].spin, motions[1].spin_rate, motions[1].rotation
    back = base.acceleration_of_imu(turn, spin, spin_rate, felt, gravity, place)
    np.testing.assert_allclose(back, motions[1].acceleration, atol=1e-12)
