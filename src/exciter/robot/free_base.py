"""A free base: six joints in front of the robot, which no drive moves.

A legged robot, a drone or a mobile arm has no base that stands still. Its base link then hangs on six joints of one
degree of freedom each: base_x, base_y, base_z slide along the axes of the world, base_yaw, base_pitch, base_roll turn
about z, y and x. The last carries the inertia of the base link, the five before it move no body. So the robot is a tree
like any other, whose first six equations are those of the whole robot in the world; no drive acts in them
(``Joint.actuated`` is False): they need no torque, and are moved by contacts and gravity alone.

The pose of the base link in the world is T = Trans(x, y, z) Rz(yaw) Ry(pitch) Rx(roll). At a pitch of ±90° yaw and roll
turn about the same line, and their rates are not defined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from exciter.errors import RobotError
from exciter.notes import Note, note
from exciter.robot.description import JointFacts, Link, PlainDescription
from exciter.robot.limits import Limits
from exciter.robot.load import FIXED, FREE
from exciter.robot.robot import FREE_BASE_JOINTS, JointKind

HANGING: tuple[tuple[JointKind, tuple[int, int, int]], ...] = (
    ("prismatic", (1, 0, 0)),
    ("prismatic", (0, 1, 0)),
    ("prismatic", (0, 0, 1)),
    ("continuous", (0, 0, 1)),
    ("continuous", (0, 1, 0)),
    ("continuous", (1, 0, 0)),
)


def based(plain: PlainDescription, wanted: str | None, source: str) -> PlainDescription:
    """The description with its base as wanted: free, fixed, or as the file has it; free, too, where nothing else could
    move."""
    moves = any(link.joint is not None for link in plain.links)
    if wanted == FIXED or (wanted is None and moves and not plain.floating):
        if not moves:
            raise RobotError(
                f"{source} has no moving joint; with a fixed base at least one is needed, with base: free none"
            )
        return plain
    told = () if plain.floating or wanted == FREE else (_alone(source),)
    return with_free_base(replace(plain, notes=(*plain.notes, *told)), _floating(plain, source), source)


def _alone(source: str) -> Note:
    return note("free base", f"{source} has no moving joint: it is taken as one body that moves freely (base: free)")


def _floating(plain: PlainDescription, source: str) -> str:
    """The link that floats: the one the file says, else the only one that the world, or nothing, carries."""
    candidates = plain.floating or plain.grounded
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise RobotError(f"{source} has no body that could move freely; give it a joint, or a body")
    listed, kind = ", ".join(f"'{name}'" for name in candidates), "free joints" if plain.floating else "bodies"
    advice = "keep one of them" if plain.floating else "give the one that moves freely a <freejoint/>"
    raise RobotError(
        f"{source} has {len(candidates)} {kind} in the world ({listed}), a robot has one free base; {advice}"
    )


def with_free_base(plain: PlainDescription, link: str, source: str) -> PlainDescription:
    """The description with this link, which nothing moves so far, on six joints of the world, in front of all others.
    Where it was put does not matter any more: its pose is that of the joints."""
    taken = {one.joint.name for one in plain.links if one.joint is not None}.intersection(FREE_BASE_JOINTS)
    if taken:
        name = next(iter(sorted(taken)))
        raise RobotError(f"{source} has a joint named '{name}', which a free base has, too; rename it")
    world = [one.name for one in plain.links if one.name != link and not one.parent]
    carrier, hanging = world[0] if world else "", list[Link]()
    eye, nowhere = np.eye(3), np.zeros(3)
    for name, (kind, axis) in zip(FREE_BASE_JOINTS, HANGING, strict=True):
        facts = JointFacts(name, kind, np.array(axis, dtype=float), Limits(), actuated=False)
        hanging.append(Link(f"{link}/{name}", carrier, eye, nowhere, joint=facts, hidden=True))
        carrier = hanging[-1].name
    old = next(one for one in plain.links if one.name == link)
    last = hanging.pop()
    base = replace(old, parent=last.parent, rotation=eye, translation=nowhere, joint=last.joint)
    rest = [one for one in plain.links if one.name != link]
    above = [one for one in rest if one.name in world[:1]]
    below = _tree_of(link, rest)
    others = [one for one in rest if one not in above and one not in below]
    if apart := [one.joint.name for one in others if one.joint is not None]:
        problem = f"{source} has a free joint ('{link}') beside joint '{apart[0]}', which stands on the world"
        raise RobotError(f"{problem}; remove one of them, or hold what is free where it is: base: fixed")
    return replace(plain, links=(*above, *hanging, base, *below, *others))


def _tree_of(link: str, links: Sequence[Link]) -> list[Link]:
    """All links that it carries, in their order."""
    inside, found = {link}, []
    for one in links:
        if one.parent in inside:
            inside.add(one.name)
            found.append(one)
    return found
