"""Robots written as the YAML files that ``read_mdh`` reads."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import yaml

from exciter.errors import RobotError
from exciter.notes import texts
from exciter.robot.limits import Limits
from exciter.robot.mdh import MDHTable, in_mdh_frames
from exciter.robot.mdh_file import NOMINAL_FRICTION_KEYS
from exciter.robot.robot import BASE, Robot
from exciter.robot.spatial import INERTIAL_NAMES
from exciter.typing import Array


def write_mdh(robot_or_table: Robot | MDHTable, path: str | Path) -> None:
    """Write a robot (in its modified Denavit–Hartenberg frames) or a bare table as a file that reads back."""
    if isinstance(robot_or_table, MDHTable):
        table, data = robot_or_table, {"name": robot_or_table.name}
        joints = [_row_data(table, j) for j in range(len(table.rows))]
    else:
        robot, table = in_mdh_frames(robot_or_table)
        data = _robot_data(robot)
        joints = [_row_data(table, j) | _joint_data(robot, j) for j in range(robot.n)]
    text = yaml.safe_dump(data | {"joints": joints}, sort_keys=False, allow_unicode=True, width=110)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise RobotError(f"cannot write robot file '{path}': {error.strerror}; check the folder") from None


def _row_data(table: MDHTable, j: int) -> dict[str, Any]:
    row = table.rows[j]
    parent = "base" if row.parent == BASE else table.rows[row.parent].joint
    data: dict[str, Any] = {"joint": row.joint, "parent": parent, "sigma": row.sigma}
    data |= {k: getattr(row, k) for k in ("alpha", "d", "theta", "r")}
    return data | {k: getattr(row, k) for k in ("gamma", "b") if getattr(row, k) != 0.0}


def _joint_data(robot: Robot, j: int) -> dict[str, Any]:
    joint = robot.joints[j]
    data: dict[str, Any] = {"type": joint.kind, "link": joint.link}
    limits = {k: getattr(joint.limits, k) for k in Limits.names()}
    data["limits"] = {k: v for k, v in limits.items() if math.isfinite(v) or k == "acceleration"}
    data["inertia"] = dict(zip(INERTIAL_NAMES, joint.inertia.tolist(), strict=True))
    data["friction"] = {k: float(v[j]) for k, v in robot.friction.items() if k in NOMINAL_FRICTION_KEYS}
    return data


def _robot_data(robot: Robot) -> dict[str, Any]:
    on = {i: joint.name for i, joint in enumerate(robot.joints)} | {BASE: "base"}
    data: dict[str, Any] = {"name": robot.name, "source": robot.source, "nominal": robot.nominal}
    lacking = [*robot.lacking, *robot.torque_doubts]  # a table has no other place for a doubt
    data |= {"notes": texts(robot.notes), "lacking": lacking, "gravity": robot.gravity.tolist()}
    if robot.unshaped:
        data["unshaped"] = list(robot.unshaped)
    data["frames"] = {
        f.name: {"joint": on[f.joint], "xyz": f.translation.tolist(), "rpy": _rpy(f.rotation)} for f in robot.frames
    }
    data["capsules"] = {
        c.name: {
            "joint": on[c.joint],
            "start": c.start.tolist(),
            "end": c.end.tolist(),
            "radius": float(c.radius),
        }
        for c in robot.capsules
    }
    data["collision_pairs"] = [list(pair) for pair in robot.collision_pairs]
    data["shapes"] = [
        {"kind": s.kind, "joint": on[s.joint], "size": [float(v) for v in s.size]}
        | {"xyz": s.translation.tolist(), "rpy": _rpy(s.rotation)}
        | {"colour": [float(v) for v in s.colour], "mesh": s.mesh, "role": s.role}
        for s in robot.shapes
    ]
    return data if robot.ground is None else data | {"ground": float(robot.ground)}


def _rpy(rotation: Array) -> list[float]:
    """Roll, pitch, yaw [rad] with rotation = Rot_z(yaw) Rot_y(pitch) Rot_x(roll); yaw 0 where it is free."""
    cos_pitch = math.hypot(rotation[0, 0], rotation[1, 0])
    pitch = math.atan2(-rotation[2, 0], cos_pitch)
    if cos_pitch < 1e-9:  # roll and yaw turn about one axis
        return [math.atan2(-rotation[1, 2], rotation[1, 1]), pitch, 0.0]
    return [math.atan2(rotation[2, 1], rotation[2, 2]), pitch, math.atan2(rotation[1, 0], rotation[0, 0])]
