"""Equality constraints of MJCF that join bodies: <connect> and <weld>, by bodies or by sites.

By bodies, what is joined is said of the first, and the other end is where that is in the posture that the file draws
(every joint at its ``ref``): a <connect> has an anchor in the first body, a <weld> holds the bodies as they are drawn,
or as its ``relpose`` says. How soft MuJoCo makes them (solref, solimp, torquescale) is left alone: here they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from exciter.errors import RobotError
from exciter.robot.loop_assembly import KinematicLoop
from exciter.robot.mjcf_model import CompiledMjcf, matrix, word_of
from exciter.robot.spatial import homogeneous
from exciter.typing import Array

EQUALITIES = mujoco.mjtEq
LOOP_EQUALITIES = (EQUALITIES.mjEQ_CONNECT, EQUALITIES.mjEQ_WELD)


def loops_of(file: CompiledMjcf, bodies: Sequence[str], source: str) -> tuple[KinematicLoop, ...]:
    """Of the active ones; what joins tendons or flexible bodies is refused. bodies: what they are called here, in the
    order of the file, the world first; in the file they need no names."""
    found, drawn = list[KinematicLoop](), _Drawn(file, bodies)
    for one in (one for one in file.spec.equalities if one.active and one.type != EQUALITIES.mjEQ_JOINT):
        if one.type not in LOOP_EQUALITIES:
            problem = f"{source} ties '{one.name1 or '?'}' by the equality <{word_of(one.type)}>"
            raise RobotError(f"{problem}, which is not supported; allowed are connect, weld and joint")
        found.append(_loop(one, drawn, source))
    return tuple(found)


class _Drawn:
    """Where bodies and sites are as the file draws them."""

    def __init__(self, file: CompiledMjcf, bodies: Sequence[str]) -> None:
        self.model, self.names, data = file.model, bodies, mujoco.MjData(file.model)
        mujoco.mj_kinematics(self.model, data)
        self.places = [homogeneous(data.xmat[k].reshape(3, 3), data.xpos[k]) for k in range(self.model.nbody)]

    def body(self, name: str, source: str) -> int:
        if not name:
            return 0
        index = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name)
        if index < 0:
            raise RobotError(f"an equality of {source} ties body '{name}', which is not there")
        return int(index)

    def site(self, name: str, source: str) -> tuple[int, Array]:
        """Its body, and where (4, 4) it is on that."""
        index = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_SITE, name)
        if index < 0:
            raise RobotError(f"an equality of {source} ties site '{name}', which is not there")
        at = homogeneous(matrix(self.model.site_quat[index]), self.model.site_pos[index])
        return int(self.model.site_bodyid[index]), at


def _loop(one: Any, drawn: _Drawn, source: str) -> KinematicLoop:
    kind = word_of(one.type)
    if one.objtype == mujoco.mjtObj.mjOBJ_SITE:
        (a, at_a), (b, at_b) = (drawn.site(name, source) for name in (one.name1, one.name2))
    else:
        a, b = (drawn.body(name, source) for name in (one.name1, one.name2))
        at_a, at_b = _ends(one, kind, np.asarray(np.linalg.solve(drawn.places[a], drawn.places[b]), dtype=float))
    return KinematicLoop(kind, (drawn.names[a], drawn.names[b]), places=(at_a, at_b))


def _ends(one: Any, kind: str, between: Array) -> tuple[Array, Array]:
    """Placements (4, 4) in both bodies that coincide; between: of the second in the first, as drawn."""
    if kind == "connect":
        anchor = homogeneous(np.eye(3), one.data[:3])
        return anchor, np.asarray(np.linalg.solve(between, anchor), dtype=float)
    quaternion = np.asarray(one.data[6:10])
    if (size := float(np.linalg.norm(quaternion))) > 0.0:
        between = homogeneous(matrix(quaternion / size), one.data[3:6])
    return between, np.eye(4)
