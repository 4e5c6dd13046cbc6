"""Locked joints: against Pinocchio's reduced models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exciter.errors import RobotError
from exciter.robot import embedded_robots as embedded
from exciter.robot.description import read_mjcf, read_urdf
from exciter.robot.lock import lock
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.robot import Robot
from support.paths import ROBOTS

FILES = ("gantry.urdf", "two_arms.urdf", "gripper_arm.urdf", "arm.xml")


def read(name: str) -> Robot:
    return read_mjcf(ROBOTS / name) if name.endswith("xml") else read_urdf(ROBOTS / name)


LOADED = {name: read(name) for name in FILES}


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.sampled_from(FILES), st.integers(1, 2**8 - 1), st.integers(0, 2**31))
def test_locking_agrees_with_pinocchios_reduced_model(name: str, mask: int, seed: int) -> None:
    robot = LOADED[name]
    chosen = [i for i in range(robot.n) if mask >> i & 1]
    if not 0 < len(chosen) < robot.n:
        return
    rng = np.random.default_rng(seed)
    lower, upper = np.maximum(robot.limit("lower"), -3), np.minimum(robot.limit("upper"), 3)
    q, v, a = rng.uniform(lower, upper), *rng.uniform(-1, 1, (2, robot.n))
    locked = robot.lock({robot.joint_names[i]: q[i] for i in chosen})
    kept = [i for i in range(robot.n) if i not in chosen]
    assert locked.joint_names == tuple(robot.joint_names[i] for i in kept)

    full = to_pinocchio(robot)
    theirs = pin.buildReducedModel(full, [i + 1 for i in chosen], q)
    ours = to_pinocchio(locked)
    expected = pin.rnea(theirs, theirs.createData(), q[kept], v[kept], a[kept])
    found = pin.rnea(ours, ours.createData(), q[kept], v[kept], a[kept])
    np.testing.assert_allclose(found, expected, atol=1e-11 * max(1.0, np.abs(expected).max()))

    # a second way, without any reduction: the full robot, its locked joints at rest
    still = np.zeros(robot.n)
    still_v, still_a = still.copy(), still.copy()
    still_v[kept], still_a[kept] = v[kept], a[kept]
    whole = pin.rnea(full, full.createData(), q, still_v, still_a)[kept]
    np.testing.assert_allclose(found, whole, atol=1e-11 * max(1.0, np.abs(whole).max()))

    for model, configuration in ((full, q), (ours, q[kept])):
        model.fk = model.createData()
        pin.framesForwardKinematics(model, model.fk, configuration)
    for frame in (*robot.frames, *(robot.frame(n) for n in robot.joint_names)):
        kinds = (pin.FrameType.OP_FRAME, pin.FrameType.JOINT)
        before, after = (
            next(m.fk.oMf[m.getFrameId(frame.name, k)] for k in kinds if m.existFrame(frame.name, k))
            for m in (full, ours)
        )
        np.testing.assert_allclose(after.homogeneous, before.homogeneous, atol=1e-12)


def test_capsules_and_shapes_stay_where_they_were() -> None:
    robot = replace(LOADED["gripper_arm.urdf"], collision_pairs=(("upper", "finger_left"), ("pedestal", "upper")))
    q = {"pan": 0.4, "lift": -0.3, "elbow": 0.9, "finger_1": 0.03, "finger_2": 0.01}
    model, data = to_pinocchio(robot), to_pinocchio(robot).createData()
    pin.forwardKinematics(model, data, np.array([q[name] for name in robot.joint_names]))
    locked = robot.lock({"pan": 0.4, "lift": -0.3, "finger_1": 0.03})
    small, small_data = to_pinocchio(locked), to_pinocchio(locked).createData()
    pin.forwardKinematics(small, small_data, np.array([q[name] for name in locked.joint_names]))
    assert locked.joint_names == ("elbow", "finger_2")
    for before, after in zip(robot.capsules, locked.capsules, strict=True):
        for end in ("start", "end"):
            expected = data.oMi[before.joint + 1].act(np.array(getattr(before, end)))
            found = small_data.oMi[after.joint + 1].act(np.array(getattr(after, end)))
            np.testing.assert_allclose(found, expected, atol=1e-13)
    for old, new in zip(robot.shapes, locked.shapes, strict=True):
        expected = data.oMi[old.joint + 1] * pin.SE3(np.array(old.rotation), np.array(old.translation))
        found = small_data.oMi[new.joint + 1] * pin.SE3(np.array(new.rotation), np.array(new.translation))
        np.testing.assert_allclose(found.homogeneous, expected.homogeneous, atol=1e-13)
    assert {capsule.name: capsule.joint for capsule in locked.capsules}["upper"] == -1
    assert locked.collision_pairs == (("upper", "finger_left"),)  # pedestal and upper are one body now
    assert "'lift' at -0.3" in locked.notes[-1].text


def test_friction_of_the_joints_that_stay() -> None:
    robot = LOADED["gantry.urdf"]
    locked = robot.lock(["x", "z"])
    assert locked.friction["viscous"].tolist() == [12.0, 0.0]
    assert locked.friction["coulomb"].tolist() == [0.0, 0.0]


def test_mass_is_conserved_unless_it_joins_the_base() -> None:
    robot = LOADED["two_arms.urdf"]
    total = robot.inertias[:, 0].sum()
    assert robot.lock({"y_elbow": -1.0, "left_wrist": 0.2}).inertias[:, 0].sum() == pytest.approx(total)
    without_torso = robot.lock({"waist": 0.5})
    assert without_torso.inertias[:, 0].sum() == pytest.approx(total - 15.0)
    assert without_torso.frame("torso").joint == -1


def test_locking_in_two_steps_is_locking_at_once() -> None:
    robot = LOADED["gripper_arm.urdf"]
    at_once = robot.lock({"pan": 0.3, "lift": 0.2, "finger_1": 0.01})
    steps = robot.lock({"lift": 0.2}).lock({"finger_1": 0.01}).lock({"pan": 0.3})
    np.testing.assert_allclose(at_once.inertias, steps.inertias, atol=1e-15)
    for a, b in zip(at_once.joints, steps.joints, strict=True):
        np.testing.assert_allclose(a.rotation, b.rotation, atol=1e-15)
        np.testing.assert_allclose(a.translation, b.translation, atol=1e-15)


def test_locking_nothing_changes_nothing() -> None:
    assert lock(LOADED["gantry.urdf"], {}) is LOADED["gantry.urdf"]


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ({"wrist": 0.0}, "unknown joint 'wrist'; valid names: waist"),
        ({"y_elbow": 0.0}, "'y_elbow' cannot be locked at 0: its limits are -2.4 … -0.1"),
        ({"waist": float("nan")}, "'waist' cannot be locked at nan"),
        (dict.fromkeys(LOADED["two_arms.urdf"].joint_names, -0.1) | {"b_elbow": 0.1}, "keep at least one"),
    ],
)
def test_what_cannot_be_locked(positions: dict[str, float], message: str) -> None:
    with pytest.raises(RobotError, match=message):
        LOADED["two_arms.urdf"].lock(positions)


def test_inertia_that_no_body_has_still_reaches_pinocchio() -> None:
    robot = LOADED["gantry.urdf"]
    rng = np.random.default_rng(5)
    wild = rng.normal(size=(robot.n, 10))
    wild[0, 0] = -3.0
    wild[1, :4] = 0.0
    model = to_pinocchio(robot.with_inertias(wild))
    for index in range(robot.n):
        np.testing.assert_allclose(model.inertias[index + 1].toDynamicParameters(), wild[index], atol=1e-14)
    # linear in the parameters: the torque of a sum of inertias is the sum of the torques
    q, v, a = rng.normal(size=(3, robot.n))
    both = to_pinocchio(robot.with_inertias(wild + robot.inertias))
    torque = [pin.rnea(m, m.createData(), q, v, a) for m in (model, to_pinocchio(robot), both)]
    np.testing.assert_allclose(torque[0] + torque[1], torque[2], atol=1e-10)
    wild[1, 1] = 1.0
    with pytest.raises(RobotError, match=r"first moments .* but no mass"):
        to_pinocchio(robot.with_inertias(wild))


def test_a_locked_body_without_mass_is_not_forgotten():
    """It becomes part of the body that carries it, which has a mass: the torque lacks the weight all the same."""
    robot = embedded.robot("ur10e")
    inertias = np.array(robot.inertias)
    inertias[-1] = 0.0
    last = robot.joint_names[-1]
    bare = lock(robot.with_inertias(inertias), {last: 0.0})
    assert [last in text for text in bare.lacking] == [True]
    assert lock(robot, {last: 0.0}).lacking == ()
