"""The plane that a robot is mounted on, what of the robot must stay on its side of it, and all that is drawn around.

A base frame's z axis points out of the mounting: up from a floor, down from a ceiling, away from a wall. So the free
side is that of the normal, z unless another one is given, and gravity only names the plane. Every body whose height
above the plane some joint can change counts: by its capsules, and by each of its frames that no capsule contains (the
tool's, or all of them where a body has no shape). A body that only turns about the normal or slides along the plane,
such as the first one of most arms, cannot move into it. Of a robot that stands the bodies of its feet touch the plane:
of these the origin of the joint that moves them counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ParameterError
from exciter.excitation.constraints.collision import Block, CapsuleDistance, Obstacle, Round, Wall, direction
from exciter.excitation.constraints.constraint import ROW_LENGTH_M, kinematics
from exciter.excitation.constraints.workspace import Box, CylinderRegion, HalfSpace, SphereRegion
from exciter.robot.geometry import Capsule
from exciter.robot.loop_reach import rest_posture, within_reach
from exciter.robot.motion import Motion
from exciter.robot.robot import BASE, Frame, Robot
from exciter.robot.spatial import rotation_to
from exciter.robot.stance import footings
from exciter.typing import Array

MOUNTING_NORMAL = (0.0, 0.0, 1.0)
FRAME_POINT_RADIUS_M = 1e-6  # [m] of a frame's origin taken as a capsule
LEVEL_AXIS_RAD = 1e-4  # [rad] descriptions print π/2 with few digits: 0.1 mm of height for 1 m of arm
SWEPT_POSITIONS = 361  # of one joint over its range
LEVEL_PLANE_COSINE = 0.99  # cosine between two normals from which on planes are parallel: 8 degrees
LOWEST_PEDESTAL_M = 0.05  # [m] a plate below this is part of the floor
HIGHEST_PEDESTAL_M = 2.0  # [m] in the middle of which, or of a lower one, an obstacle must stand,
WIDEST_PEDESTAL_M = 0.3  # [m] and as close to the axis of the base
FARTHEST_GROUND_M = 3.0  # [m] below the base's origin; what is farther away carries no robot
WALL_PLANE_COSINE = 0.5  # cosine between normal and gravity beyond which a plane is no wall


@dataclass(frozen=True, eq=False)
class Ground(Wall):
    """The mounting plane as an obstacle, against the bodies that could reach it. assumed: nobody said where it is.
    unchecked: that, and what of the robot is not kept away from it, a sentence each."""

    assumed: bool = False
    unchecked: tuple[str, ...] = ()


def mounting_plane(
    robot: Robot,
    height: float = 0.0,
    normal: ArrayLike = MOUNTING_NORMAL,
    clearance: float = 0.0,
    *,
    assumed: bool = False,
) -> CapsuleDistance | None:
    """Keeps the robot at least ``clearance`` [m] on its side of the plane ``height`` [m] from the base's origin along
    the normal, of any length; None if nothing can reach it. assumed: nobody said where it is: kept, not proved."""
    unit, _ = direction(np.asarray(normal, dtype=float), "the normal of the ground")
    moved = _moved(robot, unit)
    points, feet = tuple(_points(robot, moved)), {foot.a.joint for foot in footings(robot)}
    bodies = [capsule for capsule in (*robot.capsules, *points) if capsule.joint in moved]
    bodies = [one for one in bodies if one.joint not in feet or one.name == _origin_name(robot.tree_names[one.joint])]
    stuck = [body for body in bodies if not _clears(robot, body, unit, height + clearance, moved)]
    counted = tuple(body.name for body in bodies if body not in stuck)
    if stuck and not counted and not assumed:
        names = ", ".join(body.name for body in stuck)
        raise ParameterError(
            f"no posture keeps {names} on its side of a plane at {height:g} m; give another height, or none"
        )
    if not counted:
        return None
    word = _word(robot, unit)
    bare = Ground(f"{word} (ground)", unit, height, counted, assumed, tuple(_unchecked(robot, word, moved, stuck)))
    distance = CapsuleDistance(robot, (), clearance, (bare,), points)
    if not assumed:
        return distance
    described = replace(bare, unchecked=(_assumption(distance, word, height), *bare.unchecked))
    return replace(distance, obstacles=(described,))


def grounds(constraints: Iterable[object]) -> tuple[Ground, ...]:
    """The mounting planes among the obstacles of constraints."""
    return tuple(obstacle for obstacle in _obstacles(constraints) if isinstance(obstacle, Ground))


def advice(where: str, constraints: Iterable[object]) -> str:
    """What to do about a limit that cannot be kept, by where it is: often nobody said what the robot stands on."""
    if any(where.endswith(f"– {ground.name}") for ground in grounds(constraints)):
        return "say where the robot is mounted: constraints: {ground: HEIGHT}, {height: …, normal: …} or none"
    return "loosen it, or another one"


def _obstacles(constraints: Iterable[object]) -> list[Obstacle]:
    return [obstacle for constraint in constraints for obstacle in getattr(constraint, "obstacles", ())]


def has_a_floor(robot: Robot, constraints: Iterable[object]) -> bool:
    """Whether the robot is kept from what it is mounted on: by a ground, or because no body can change its height."""
    return any(map(is_a_ground, _obstacles(constraints))) or not _moved(robot, np.array(MOUNTING_NORMAL))


def is_a_ground(obstacle: object) -> bool:
    """The mounting plane, or what replaces it: a level half-space, not far below, that all bodies keep out of."""
    if isinstance(obstacle, Ground) or not isinstance(obstacle, Wall) or obstacle.against is not None:
        return isinstance(obstacle, Ground)
    return _is_level(obstacle) and obstacle.offset > -FARTHEST_GROUND_M


def pedestal(robot: Robot, constraints: Iterable[object]) -> tuple[float, float] | None:
    """Heights [m] between which something must carry the base: from the ground, or what replaces it, up to where its
    capsules end, or to its origin; None where nothing is missing, or where an obstacle stands below the base."""
    obstacles = _obstacles(constraints)
    levels = [one.offset for one in obstacles if isinstance(one, Wall) and _is_level(one) and is_a_ground(one)]
    foot = min((min(c.start[2], c.end[2]) - c.radius for c in robot.capsules if c.joint == BASE), default=0.0)
    foot = float(min(foot, robot.base_bottom, 0.0))
    level = max(levels, default=math.inf)
    if not level < foot - LOWEST_PEDESTAL_M:
        return None
    below = np.array([[0.0], [0.0], [foot - 0.5 * min(foot - level, HIGHEST_PEDESTAL_M)]])
    apart = [_from_capsule(one, below[:, 0]) for one in obstacles if isinstance(one, Round)]
    apart += [float(one.touch(below, below)[0][0]) for one in obstacles if isinstance(one, Block)]
    return None if any(distance < WIDEST_PEDESTAL_M for distance in apart) else (level, foot)


def _is_level(wall: Wall) -> bool:
    return float(np.dot(MOUNTING_NORMAL, wall.normal)) > LEVEL_PLANE_COSINE


def _word(robot: Robot, normal: Array) -> str:
    """What a person would call the plane, by gravity."""
    size = float(np.linalg.norm(robot.gravity))
    if size == 0.0:
        return "mounting plane"
    along = float(normal @ robot.gravity) / size
    return "floor" if along < -WALL_PLANE_COSINE else "ceiling" if along > WALL_PLANE_COSINE else "wall"


def _assumption(distance: CapsuleDistance, word: str, height: float) -> str:
    """Where the plane was assumed; and what to write if the robot is beyond it as it is described."""
    robot = distance.robot
    end = ", where the base's shapes end" if height != 0.0 and height == robot.base_bottom else ""
    where = f"{word}: assumed at z = {height:.4g} of the base{end}"
    room = distance.values(Motion.at(rest_posture(robot)[None]))[:, 0] * ROW_LENGTH_M
    if room.min() >= 0.0:
        return f"{where}; constraints: {{ground: HEIGHT}} says where it is, {{ground: none}} that there is none"
    below = math.floor(100.0 * (height + room.min()) + 1e-6) / 100.0  # down to a centimetre, but for rounding
    body = distance.rows[int(np.argmin(room))].where.partition(" – ")[0]
    return (
        f"{where}, but at q = 0 {body} is beyond it: if it is elsewhere, write constraints: {{ground: {below:g}}} or "
        "lower, or {ground: none}"
    )


def _moved(robot: Robot, normal: Array) -> set[int]:
    """The joints whose bodies can change their height: some joint on the way to them is not level. Before the first
    such joint there are only turns about the normal and slides across it, which change no angle to it: any tells."""
    at = kinematics(robot, Motion.at(rest_posture(robot)[None]))
    moved: set[int] = set()
    for index, joint in enumerate(robot.bodies):
        axis = at.rotation[index, :, 2, 0]
        off_level = abs(normal @ axis) if joint.is_prismatic else np.linalg.norm(np.cross(normal, axis))
        if joint.parent in moved or not off_level < LEVEL_AXIS_RAD:
            moved.add(index)
    return moved


def _points(robot: Robot, moved: set[int]) -> Iterator[Capsule]:
    """Origins of frames that no capsule of their body contains and whose height can change, every place once."""
    own = [Frame(joint.name, index, np.eye(3), np.zeros(3)) for index, joint in enumerate(robot.bodies)]
    covers = list(robot.capsules)
    names = {capsule.name for capsule in robot.capsules}
    for frame in (*own, *robot.frames):
        joint = robot.bodies[frame.joint]
        aside = float(np.linalg.norm(np.cross(joint.axis, frame.translation)))
        stays = joint.parent not in moved and not joint.is_prismatic and aside < FRAME_POINT_RADIUS_M
        inside = (_from_capsule(one, frame.translation) <= 0.0 for one in covers if one.joint == frame.joint)
        if frame.joint not in moved or stays or any(inside):
            continue
        name = _origin_name(frame.name)
        while name in names:
            name += "'"
        names.add(name)
        covers.append(Capsule(name, frame.joint, frame.translation, frame.translation, FRAME_POINT_RADIUS_M))
        yield covers[-1]


def _origin_name(frame: str) -> str:
    return f"origin of {frame}"


def _from_capsule(capsule: Capsule | Round, point: Array) -> float:
    """Distance [m] of a point (3,), negative inside."""
    along = capsule.end - capsule.start
    square = float(along @ along)
    part = 0.0 if square == 0.0 else float(np.clip((point - capsule.start) @ along / square, 0.0, 1.0))
    return float(np.linalg.norm(point - capsule.start - part * along)) - capsule.radius


def _clears(robot: Robot, body: Capsule, normal: Array, height: float, moved: set[int]) -> bool:
    """Whether some position of its own joint frees a capsule whose joint itself stays at one height. One that never
    does belongs to the mounting: the body sits on it. What is further out can be moved away by other joints."""
    joint, (low, high) = body.joint, robot.position_range()
    if robot.bodies[joint].parent in moved:
        return True
    q, own = np.zeros((SWEPT_POSITIONS, robot.n)), np.flatnonzero(robot.pattern[joint])
    q[:, own] = np.linspace(low[own], high[own], SWEPT_POSITIONS)
    at = kinematics(robot, Motion.at(within_reach(robot, q)))
    lowest = np.min([normal @ at.point(joint, end) for end in (body.start, body.end)], axis=0)
    return bool((lowest - body.radius).max() > height)


def _unchecked(robot: Robot, name: str, moved: set[int], stuck: list[Capsule]) -> Iterator[str]:
    if stuck:
        yield (
            f"{name}: {', '.join(body.name for body in stuck)} cannot be kept away from it in any posture; if it is "
            "elsewhere, give constraints: {ground: HEIGHT}"
        )
    covered = {capsule.joint for capsule in robot.capsules} | {BASE}
    bare = [robot.bodies[joint].name for joint in sorted(moved - covered)]
    if bare:
        yield f"{name}: the bodies of {', '.join(bare)} beyond the origins of their frames: they have no shape"
    links = [link for link in robot.unshaped if robot.frame(link).joint in moved & covered]
    if links:
        yield (
            f"{name}: the links {', '.join(links)} beyond the origins of their frames and what could be measured: they "
            "have no shape, or not all"
        )


# -- what is drawn -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Surrounding:
    """A shape fixed in the base, along its own z. size [m]: box (x, y, z), sphere (radius,), capsule (radius, length),
    plane (), cylinder (radius, lower end, upper end), infinite where it does not end. border: of where a frame may be,
    not an obstacle. ground: the plane that the robot is mounted on."""

    kind: Literal["box", "sphere", "capsule", "plane", "cylinder"]
    size: tuple[float, ...]
    rotation: Array
    translation: Array
    border: bool = False
    ground: bool = False


def surroundings(constraints: Iterable[object]) -> list[Surrounding]:
    """Obstacles, and the borders given to a frame; alternatives and a user's own constraints have no shape."""
    found = []
    for one in constraints:
        if isinstance(one, HalfSpace):
            found.append(_plane(one.normal, one.offset, border=True))
        elif isinstance(one, Box):
            found += [_plane(np.eye(3)[axis], side, border=True) for axis, _, side in one.sides]
        elif isinstance(one, SphereRegion):
            found.append(Surrounding("sphere", (one.radius,), np.eye(3), one.centre, border=True))
        elif isinstance(one, CylinderRegion):
            size = (one.radius, one.lower, one.upper)
            found.append(Surrounding("cylinder", size, rotation_to(one.axis), one.point, border=True))
        for obstacle in getattr(one, "obstacles", ()):
            if isinstance(obstacle, Round):
                solid = obstacle.capsule.solid
                found.append(Surrounding("capsule", solid.size, solid.rotation, solid.translation))
            elif isinstance(obstacle, Block):
                found.append(Surrounding("box", tuple(obstacle.size.tolist()), obstacle.rotation, obstacle.centre))
            else:
                found.append(_plane(obstacle.normal, obstacle.offset, ground=isinstance(obstacle, Ground)))
    return found


def _plane(normal: Array, offset: float, **kind: bool) -> Surrounding:
    """normal · x = offset."""
    return Surrounding("plane", (), rotation_to(normal), offset * normal, **kind)
