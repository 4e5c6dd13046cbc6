"""Joints that stand still: locked by name or pattern, or all but a chain.

The body of a joint that does not move becomes part of whatever carries it: inertias are added in the carrier's frame,
frames, capsules and shapes are seen from it. What ends up on the base keeps frames and capsules, but no inertia: the
base does not move, and does no work. What follows a locked joint stands still where that puts it; what followed several
and now follows one gives it its limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from exciter.errors import RobotError, unknown_name
from exciter.notes import Note, note, warning
from exciter.robot.coupling import Coupling, LinearCoupling, tightened
from exciter.robot.names import named
from exciter.robot.robot import BASE, Carried, Frame, Joint, Robot, carried
from exciter.robot.spatial import axis_rotation, transform_inertia

WILDCARDS = "*?["
FOLLOWED_POSITION_TOLERANCE = 1e-6  #: [rad, m] a position given for a joint that follows is the one it has


def matching(pattern: str, names: Sequence[str]) -> list[str]:
    """Names that are, or match, a pattern (* any characters, ? one, [ab] one of these), capital letters as they are."""
    if pattern in names:
        return [pattern]
    return [name for name in names if fnmatchcase(name, pattern)] if any(c in pattern for c in WILDCARDS) else []


def locked_positions(robot: Robot, positions: Mapping[str, float]) -> dict[str, float]:
    """By the name of every joint that names and patterns stand for, followers included; a name goes before patterns."""
    found: dict[str, float] = {}
    exact = {name: q for name, q in positions.items() if name in robot.tree_names}
    for pattern, q in positions.items():
        names = matching(pattern, robot.tree_names)
        if not names:
            raise RobotError(unknown_name("joint", pattern, robot.joint_names))
        found |= dict.fromkeys(names, q)
    return found | exact


def lock(robot: Robot, positions: Mapping[str, float]) -> Robot:
    """The robot with joints frozen at ``positions`` [rad or m], by name or pattern."""
    named_ones = locked_positions(robot, positions)
    joints = {robot.index(name): q for name, q in named_ones.items() if name in robot.joint_names}
    for limits, name, q in ((robot.joints[i].limits, robot.joints[i].name, q) for i, q in joints.items()):
        if not np.isfinite(q):
            raise RobotError(f"joint '{name}' cannot be locked at {q}; give a finite position")
        if not limits.lower <= q <= limits.upper:
            allowed = f"its limits are {limits.lower:g} … {limits.upper:g}; give a position between them"
            raise RobotError(f"joint '{name}' cannot be locked at {q:g}: {allowed}")
    coupling, frozen = (None, joints) if robot.coupling is None else robot.coupling.locked(joints)
    _check_followers(robot, named_ones, frozen, positions)
    if not frozen:
        return robot
    if len(joints) == robot.n:
        raise RobotError(f"locking all joints of '{robot.name}' leaves nothing that moves; keep at least one")
    bodies: list[Joint] = []
    where: Carried = {BASE: (BASE, np.eye(3), np.zeros(3))}
    for index, joint in enumerate(robot.bodies):
        on, rotation, translation = where[joint.parent]
        rotation, translation = rotation @ joint.rotation, rotation @ joint.translation + translation
        if index not in frozen:
            where[index] = (len(bodies), np.eye(3), np.zeros(3))
            bodies.append(replace(joint, parent=on, rotation=rotation, translation=translation))
            continue
        if joint.is_prismatic:
            translation = rotation @ (frozen[index] * joint.axis) + translation
        else:
            rotation = rotation @ axis_rotation(joint.axis, frozen[index])
        where[index] = (on, rotation, translation)
        if on != BASE:
            added = transform_inertia(joint.inertia, rotation, translation)
            bodies[on] = replace(bodies[on], inertia=bodies[on].inertia + added)
    names = {frame.name for frame in robot.frames}
    own = [Frame(robot.tree_names[i], *where[i]) for i in sorted(frozen) if robot.tree_names[i] not in names]
    moved = carried(robot, where)
    on_body = {capsule.name: capsule.joint for capsule in moved.capsules}
    kept = [i for i in range(robot.n) if i not in joints]
    said = ", ".join(f"'{robot.tree_names[i]}' at {q:g}" for i, q in sorted(frozen.items()))
    tree = {body.name: body for body in bodies}
    left = [replace(tree[one.name], limits=one.limits, kind=one.kind) for one in (robot.joints[i] for i in kept)]
    odd = _pass_limits_on(robot, coupling, bodies, left)
    locked = replace(
        moved,
        joints=tuple(left),
        bodies=tuple(bodies),
        coupling=coupling,
        frames=(*moved.frames, *own),
        collision_pairs=tuple((a, b) for a, b in robot.collision_pairs if on_body.get(a) != on_body.get(b)),
        friction={},
        notes=(*robot.notes, note("locked joints", f"locked: {said}"), *odd),
        file=None,
        options=None,
    )
    place = {one.name: k for k, one in enumerate(robot.drives)}
    still = [place[one.name] for one in locked.drives]
    friction = {term: values[still] for term, values in robot.friction.items()}
    return replace(locked, friction=friction, lacking=(*robot.lacking, *_forgotten(robot, locked, where)))


def _pass_limits_on(
    robot: Robot, coupling: Coupling | None, bodies: Sequence[Joint], joints: list[Joint]
) -> list[Note]:
    """Limits of bodies that followed several joints of the robot, and now follow one: they become its limits, in place.
    What is odd about them, in words."""
    if not isinstance(robot.coupling, LinearCoupling) or not isinstance(coupling, LinearCoupling):
        return []
    found = list[Note]()
    for k, body in enumerate(bodies):
        led = coupling.leader(k)
        if led is not None and robot.coupling.leader(robot.body(body.name)) is None:
            joints[led[0]], odd = tightened(joints[led[0]], body, *led[1:])
            found += [warning("position limit", odd)] if odd else []
    return found


def _check_followers(
    robot: Robot, found: Mapping[str, float], frozen: Mapping[int, float], given: Mapping[str, float]
) -> None:
    """A joint that follows stands still where its leaders put it, and not without them."""
    for name in (name for name in found if name not in robot.joint_names):
        body = robot.tree_names.index(name)
        leaders = named(robot.leaders(body))
        if body not in frozen:
            raise RobotError(f"joint '{name}' follows {leaders}, and cannot be locked alone; lock what it follows")
        wanted = given.get(name, 0.0)  # 0 where a list says none
        if wanted != 0.0 and abs(wanted - frozen[body]) > FOLLOWED_POSITION_TOLERANCE:
            problem = (
                f"joint '{name}' cannot be locked at {wanted:g}: it follows {leaders}, and is at {frozen[body]:g} then"
            )
            raise RobotError(f"{problem}; leave it out")


def only(robot: Robot, names: Iterable[str]) -> Robot:
    """See ``Robot.only``."""
    links = {body.link: k for k, body in enumerate(robot.bodies) if body.link}
    known = {**links, **{name: robot.frame(name).joint for name in robot.frame_names}}
    roots = set[int]()
    for name in names:
        found = matching(name, [*known]) or [one for one in known if one.startswith(name)]
        if not name or not found:
            raise RobotError(f"only: {unknown_name('joint, link or frame', name, [*known])}")
        roots |= {known[one] for one in found}
    if roots <= {BASE}:
        raise RobotError(f"only: {named([*names])} is fixed on the base; name a joint, link or frame that moves")
    kept = set[int]()
    for body in range(robot.n_bodies):
        path = robot.ancestors(body)
        if roots.intersection(path):
            kept |= {*path}
    return keep(robot, kept)


def keep(robot: Robot, bodies: Iterable[int]) -> Robot:
    """With joints that move none of these locked at zero, or at the limit nearest to it."""
    moving = robot.pattern[sorted(bodies)]
    rest = [joint for k, joint in enumerate(robot.joints) if not moving[:, k].any()]
    return robot.lock({j.name: min(max(0.0, j.limits.lower), j.limits.upper) for j in rest})


def _forgotten(robot: Robot, locked: Robot, where: Carried) -> list[str]:
    """What joined bodies no longer show: that one of them, locked or carrying, has no mass or that of no body."""
    from exciter.robot.placeholders import bare_bodies, unreal_bodies

    no_mass, unreal = "no mass: torques lack their weight", "an inertia of no body: torques rest on it"
    said = []
    for found, words in ((bare_bodies, no_mass), (unreal_bodies, unreal)):
        shown = {*found(locked), BASE}
        lost = [robot.tree_names[i] for i in found(robot) if where[i][0] not in shown]
        if lost:
            said.append(f"the bodies of joints {', '.join(lost)}, joined by locking, have {words}")
    return said
