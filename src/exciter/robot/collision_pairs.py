"""Which capsules must not touch, for descriptions that do not say it; and names of bodies in pairs and obstacles: a
capsule, a link (or any frame on a body), or a joint."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from exciter.errors import RobotError, unknown_name
from exciter.notes import COLLISIONS, Note, warning
from exciter.robot.geometry import Capsule
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.plain import bodies_have
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array

THE_BASE = "base"
POSTURES = 300
CLOSE = 0.02  # [m] what is always closer than this cannot be kept apart by any useful clearance
ALWAYS = 0.95  # part of the postures
FAR = 1000.0  # [rad, m] limits beyond are no limits


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
        joints = {capsule.joint for capsule in robot.capsules}
        known = ", ".join(known for known in body_names(robot) if body_of(robot, known) in joints)
        raise RobotError(f"body '{name}' has no capsule; these have: {known}")
    return tuple(own or on_body)


def body_name(robot: Robot, joint: int) -> str:
    """The name of the joint that moves a body, or "base"."""
    return THE_BASE if joint == BASE else robot.joints[joint].name


def body_names(robot: Robot) -> tuple[str, ...]:
    """Every name that ``body_of`` knows."""
    links = (joint.link for joint in robot.joints if joint.link)
    return tuple(dict.fromkeys((*(c.name for c in robot.capsules), THE_BASE, *robot.frame_names, *links)))


def with_collision_pairs(robot: Robot) -> Robot:
    """The robot with every pair of capsules that can be kept apart; the notes name the others.

    Bodies joined by a joint touch there, and a capsule is wider than what it stands for. Left out are parent and child,
    and pairs closer than 2 cm in 95 % of random postures within the position limits: capsules cannot tell these from
    neighbours. A pair that overlaps at the reference posture (zero, or the limit next to it) but not elsewhere is kept,
    because many arms are folded at zero.
    """
    pairs = _not_neighbours(robot)
    reference, close = _closeness(robot, pairs)
    inseparable = close >= ALWAYS
    told = [f"{a} – {b}" for a, b in pairs]
    left_out = [name for name, out in zip(told, inseparable, strict=True) if out]
    overlap = [name for name, d, out in zip(told, reference, inseparable, strict=True) if d < 0.0 and not out]
    notes = list[Note]()
    if bare := without_capsule(robot):
        notes.append(warning(COLLISIONS, f"{bodies_have(bare)} no capsule: no collision check covers that"))
    if left_out:
        text = (
            f"self-collision is not checked for {len(left_out)} of {len(pairs)} pairs, whose capsules are closer than "
            f"{100.0 * CLOSE:g} cm in nearly all postures: {', '.join(left_out)}"
        )
        notes.append(warning(COLLISIONS, text))
    if overlap:
        text = f"capsules overlap at the zero posture, which counts as a collision: {', '.join(overlap)}"
        notes.append(warning(COLLISIONS, text))
    kept = tuple(pair for pair, out in zip(pairs, inseparable, strict=True) if not out)
    return replace(robot, collision_pairs=kept, notes=(*robot.notes, *notes))


def without_capsule(robot: Robot) -> tuple[str, ...]:
    """The joints whose body no capsule stands for."""
    covered = {capsule.joint for capsule in robot.capsules}
    return tuple(joint.name for index, joint in enumerate(robot.joints) if index not in covered)


def uncovered(robot: Robot, shaped: Set[int], *, base: bool) -> str:
    """What no shape stands for, in words, or nothing: bodies other than the ``shaped`` ones (joint indices), links of
    bodies whose other links have one (those of the base are told as what stands still), the base if it is asked for."""
    bare = [joint.name for index, joint in enumerate(robot.joints) if index not in shaped]
    links = [link for link in robot.unshaped if robot.frame(link).joint in shaped - {BASE}]
    told = [f"the bodies of {', '.join(bare)}"] if bare else []
    told += [f"the links {', '.join(links)}"] if links else []
    return " and ".join([*told, *(["the base"] if base and BASE not in shaped else [])])


def _not_neighbours(robot: Robot) -> list[tuple[str, str]]:
    """Pairs of capsules on two bodies of which neither carries the other."""
    return [
        (a.name, b.name)
        for a, b in combinations(robot.capsules, 2)
        if a.joint != b.joint and not are_neighbours(robot, a.joint, b.joint)
    ]


def are_neighbours(robot: Robot, one: int, other: int) -> bool:
    """Whether a joint joins two bodies, given by the joints that move them (−1: the base)."""
    parents = [*robot.parents.tolist(), None]  # the last one is that of the base
    return bool(parents[one] == other or parents[other] == one)


def _closeness(robot: Robot, pairs: list[tuple[str, str]]) -> tuple[Array, Array]:
    """(P,) distance [m] at the reference posture, and the part of random postures in which the pair is close."""
    if not pairs:
        return np.zeros(0), np.zeros(0)
    lower, upper = np.clip(robot.position_range(), -FAR, FAR)
    postures = np.random.default_rng(0).uniform(lower, upper, (POSTURES, robot.n))
    reference, *others = _distances(robot, pairs, [np.clip(0.0, lower, upper), *postures])
    return reference, (np.array(others) < CLOSE).mean(axis=0)


def _distances(robot: Robot, pairs: list[tuple[str, str]], postures: list[Array]) -> list[Array]:
    """For every posture (n,) the distances (P,) [m], negative where capsules overlap."""
    import pinocchio as pin

    model, geometry = to_pinocchio(robot), pin.GeometryModel()
    number = {capsule.name: geometry.addGeometryObject(_solid(capsule)) for capsule in robot.capsules}
    for a, b in pairs:
        geometry.addCollisionPair(pin.CollisionPair(number[a], number[b]))
    data, measured = model.createData(), pin.GeometryData(geometry)
    found = []
    for q in postures:
        pin.computeDistances(model, data, geometry, measured, q)
        found.append(np.array([result.min_distance for result in measured.distanceResults]))
    return found


def _solid(capsule: Capsule) -> Any:
    """Pinocchio's object of a capsule."""
    import coal
    import pinocchio as pin

    shape = capsule.solid
    radius, length = shape.size
    solid = coal.Capsule(radius, length) if length > 0.0 else coal.Sphere(radius)
    return pin.GeometryObject(capsule.name, capsule.joint + 1, pin.SE3(shape.rotation, shape.translation), solid)
