"""Names of bodies in pairs and obstacles: a capsule, a link (or any frame on a body), or a joint."""

from __future__ import annotations

from exciter.errors import RobotError, unknown_name
from exciter.robot.robot import BASE, Robot

THE_BASE = "base"


def body_of(robot: Robot, name: str) -> int:
    """The joint (index, −1: the base) that moves the body which a name stands for; every name that is allowed is
    allowed for meshes and capsules alike."""
    for capsule in robot.capsules:
        if capsule.name == name:
            return capsule.joint
    if name in robot.frame_names:
        return robot.frame(name).joint
    links = [joint.link for joint in robot.joints]
    if name in links and name:
        return links.index(name)
    if name == THE_BASE:
        return BASE
    raise RobotError(unknown_name("body", name, body_names(robot)))


def capsules_of(robot: Robot, name: str) -> tuple[int, ...]:
    """Indices of the capsules that a name stands for.

    The name of a capsule means that one. The name of a link means all capsules made of it (link/1, link/2, …), or, if
    it has none, all of the body it is rigidly joined to; the name of a joint (or "base") all of the body it moves.
    """
    names = [capsule.name for capsule in robot.capsules]
    if name in names:
        return (names.index(name),)
    joint = body_of(robot, name)
    on_body = [k for k, capsule in enumerate(robot.capsules) if capsule.joint == joint]
    own = [k for k in on_body if names[k].rpartition("/")[0] == name]
    if not on_body:
        raise RobotError(f"body '{name}' has no capsule; these have: {', '.join(_with_capsules(robot))}")
    return tuple(own or on_body)


def body_name(robot: Robot, joint: int) -> str:
    """The name of the joint that moves a body, or "base"."""
    return THE_BASE if joint == BASE else robot.joints[joint].name


def body_names(robot: Robot) -> tuple[str, ...]:
    """Every name that ``body_of`` knows."""
    links = (joint.link for joint in robot.joints if joint.link)
    return tuple(dict.fromkeys((*(c.name for c in robot.capsules), THE_BASE, *robot.frame_names, *links)))


def _with_capsules(robot: Robot) -> tuple[str, ...]:
    joints = {capsule.joint for capsule in robot.capsules}
    return tuple(name for name in body_names(robot) if body_of(robot, name) in joints)
