"""Motions of a robot that stands: what feet may do while base and arms move."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exciter as ex
from exciter.dynamics.contacts import GroundContact
from exciter.dynamics.dynamics import Dynamics
from exciter.errors import MotionError
from exciter.experiment.virtual.standing import standing_motion


def biped(folder: Path) -> ex.Robot:
    """Two legs of six joints on a free pelvis, and one arm."""
    leg = (("yaw", "0 0 1", "0"), ("roll", "1 0 0", "0"), ("pitch", "0 1 0", "0"))
    leg += (("knee", "0 1 0", "-0.4"), ("ankle", "0 1 0", "-0.4"), ("foot", "1 0 0", "0"))
    inertial = '<inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>'
    parts = [f'<link name="pelvis">{inertial}</link>']

    def hung(name: str, parent: str, axis: str, place: str) -> None:
        limit = '<limit lower="-2" upper="2" velocity="5" effort="50"/>'
        ends = f'<parent link="{parent}"/><child link="{name}"/><origin xyz="{place}"/><axis xyz="{axis}"/>'
        parts.append(f'<joint name="{name}_joint" type="revolute">{ends}{limit}</joint>')
        parts.append(f'<link name="{name}">{inertial}</link>')

    hung("arm", "pelvis", "0 1 0", "0 0 0.5")
    for side, y in (("left", 0.1), ("right", -0.1)):
        parent = "pelvis"
        for name, axis, down in leg:
            hung(f"{side}_{name}", parent, axis, f"0 {y if parent == 'pelvis' else 0} {down}")
            parent = f"{side}_{name}"
    (folder / "biped.urdf").write_text(f'<robot name="biped">{"".join(parts)}</robot>')
    return ex.load(folder / "biped.urdf", base="free")


def test_flat_feet_neither_slide_nor_turn_while_arms_move(tmp_path: Path) -> None:
    robot, time = biped(tmp_path), np.arange(200) / 1000.0
    start = np.zeros(robot.n)
    for side in ("left", "right"):
        start[[robot.index(f"{side}_{name}_joint") for name in ("pitch", "knee", "ankle")]] = -0.4, 0.8, -0.4
    stance = tuple(GroundContact(f"{side}_foot", "flat") for side in ("left", "right"))
    size = np.linspace(0.02, 0.1, robot.n)
    sine, cosine = np.sin(9.0 * time)[:, None], np.cos(9.0 * time)[:, None]
    asked = ex.Motion(time, start + sine * size, 9.0 * cosine * size, -81.0 * sine * size)
    motion, dynamics = standing_motion(robot, stance, asked, start), Dynamics(robot)
    arm, free = robot.index("arm_joint"), list(robot.free_base)
    for x, y in ((motion.q, asked.q), (motion.qd, asked.qd), (motion.qdd, asked.qdd)):
        np.testing.assert_array_equal(x[:, [*free, arm]], y[:, [*free, arm]])
    for contact in stance:
        for now, first in zip(
            dynamics.placement(contact.frame, motion.q), dynamics.placement(contact.frame, start[None]), strict=True
        ):
            np.testing.assert_allclose(now, np.broadcast_to(first, now.shape), atol=1e-9)
    inner = slice(1, -1)
    np.testing.assert_allclose(np.gradient(motion.q, time, axis=0)[inner], motion.qd[inner], atol=1e-3)
    np.testing.assert_allclose(np.gradient(motion.qd, time, axis=0)[inner], motion.qdd[inner], atol=1e-2)
    only_base = standing_motion(
        robot, stance, ex.Motion(time, *(x[:, free] for x in (asked.q, asked.qd, asked.qdd))), start
    )
    assert not (only_base.q[:, arm] - start[arm]).any()
    with pytest.raises(MotionError, match="cannot keep 9 coordinates"):
        standing_motion(robot, (stance[0], GroundContact("right_foot")), asked, start)
