"""Locked joints: the body of a joint that does not move becomes part of whatever carries it.

Inertias are added in the carrier's frame; frames, capsules and shapes are seen from it. What ends up on the
base keeps its frames and capsules (joint −1) but no inertia: the base does not move, and does no work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from exciter.errors import RobotError
from exciter.notes import note
from exciter.robot.placeholders import bare_bodies, unreal_bodies
from exciter.robot.robot import BASE, Frame, Joint, Robot, carried
from exciter.robot.spatial import axis_rotation, transform_inertia
from exciter.typing import Array

Carried = dict[int, tuple[int, Array, Array]]  # by joint: the new joint on which its frame is fixed, and where


def lock(robot: Robot, positions: Mapping[str, float]) -> Robot:
    """The robot with joints frozen at ``positions`` [rad or m], by name."""
    frozen = {robot.index(name): _checked(robot.joints[robot.index(name)], q) for name, q in positions.items()}
    if not frozen:
        return robot
    if len(frozen) == robot.n:
        raise RobotError(f"locking all joints of '{robot.name}' leaves nothing that moves; keep at least one")
    joints: list[Joint] = []
    where: Carried = {BASE: (BASE, np.eye(3), np.zeros(3))}
    for index, joint in enumerate(robot.joints):
        on, rotation, translation = where[joint.parent]
        rotation, translation = rotation @ joint.rotation, rotation @ joint.translation + translation
        if index not in frozen:
            where[index] = (len(joints), np.eye(3), np.zeros(3))
            joints.append(replace(joint, parent=on, rotation=rotation, translation=translation))
            continue
        if joint.is_prismatic:
            translation = rotation @ (frozen[index] * joint.axis) + translation
        else:
            rotation = rotation @ axis_rotation(joint.axis, frozen[index])
        where[index] = (on, rotation, translation)
        if on != BASE:
            added = transform_inertia(joint.inertia, rotation, translation)
            joints[on] = replace(joints[on], inertia=joints[on].inertia + added)
    names = {frame.name for frame in robot.frames}
    own = [Frame(robot.joints[i].name, *where[i]) for i in sorted(frozen) if robot.joints[i].name not in names]
    moved = carried(robot, where)
    body = {capsule.name: capsule.joint for capsule in moved.capsules}
    kept = [i for i in range(robot.n) if i not in frozen]
    said = ", ".join(f"'{robot.joints[i].name}' at {q:g}" for i, q in sorted(frozen.items()))
    locked = replace(
        moved,
        joints=tuple(joints),
        frames=(*moved.frames, *own),
        collision_pairs=tuple((a, b) for a, b in robot.collision_pairs if body.get(a) != body.get(b)),
        friction={term: values[kept] for term, values in robot.friction.items()},
        notes=(*robot.notes, note("locked joints", f"locked: {said}")),
        file=None,
        options=None,
    )
    return replace(locked, lacking=(*robot.lacking, *_forgotten(robot, locked, where)))


def _checked(joint: Joint, position: float) -> float:
    if not np.isfinite(position):
        raise RobotError(f"joint '{joint.name}' cannot be locked at {position}; give a finite position")
    if not joint.limits.lower <= position <= joint.limits.upper:
        raise RobotError(
            f"joint '{joint.name}' cannot be locked at {position:g}: its limits are {joint.limits.lower:g} … "
            f"{joint.limits.upper:g}; give a position between them"
        )
    return float(position)


def _forgotten(robot: Robot, locked: Robot, where: Carried) -> list[str]:
    """What joined bodies no longer show: that one of them, locked or carrying, has no mass or that of no body."""
    no_mass, unreal = "no mass: torques lack their weight", "an inertia of no body: torques rest on it"
    said = []
    for found, words in ((bare_bodies, no_mass), (unreal_bodies, unreal)):
        shown = {*found(locked), BASE}
        lost = [robot.joint_names[i] for i in found(robot) if where[i][0] not in shown]
        if lost:
            said.append(f"the bodies of joints {', '.join(lost)}, joined by locking, have {words}")
    return said
