"""The moving robot of a report, with a base that moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exciter.dynamics.dynamics import Dynamics
from exciter.report.scene import Replay, Scene
from exciter.robot.geometry import Shape
from support.standing import quadruped, standing


def test_a_free_base_is_drawn_where_it_is() -> None:
    """Its six joints are among those that the page moves; nothing is drawn for those without a body."""
    trunk = Shape("box", 5, (0.36, 0.16, 0.08), np.eye(3), np.zeros(3))
    robot, motion = replace(quadruped(), shapes=(trunk,)), standing(1.0).stood.motion
    path = Dynamics(robot).placement("trunk", motion.q)[1]
    data = Scene(robot, "trunk", (Replay("log", "time", motion.time, motion.q, path),)).data()
    moved = [(joint["name"], joint["prismatic"], joint["parent"]) for joint in data["joints"][:6]]
    kinds = (True, True, True, False, False, False)
    assert moved == [
        (name, slides, k - 1) for k, (name, slides) in enumerate(zip(robot.joint_names, kinds, strict=False))
    ]
    assert data["frame"]["joint"] == 5
    assert {shape["joint"] for shape in data["shapes"]} == {5}
    ends = {stick[end] for stick in data["sticks"] for end in ("from", "to")}
    assert ends == set(range(6, 18))
