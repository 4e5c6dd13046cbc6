"""Capsules: what collision checks measure instead of shapes, never smaller than them; which of them must not touch, for
descriptions that do not say it; and names of bodies in pairs and obstacles: a capsule, a link (or any frame on a body),
or a joint."""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from exciter.errors import RobotError, unknown_name
from exciter.notes import COLLISION_SUBJECT, warning
from exciter.robot.coupling import coupled_motion
from exciter.robot.geometry import Capsule, Shape
from exciter.robot.loop_reach import within_reach
from exciter.robot.motion import Motion
from exciter.robot.names import bodies_have
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array

LARGEST_MESH_BYTES = 100_000_000
LARGEST_DISTANCE_M = 1e6  # [m] nothing on a robot is larger or farther away
SMALLEST_MESH_RADIUS_M = 1e-6  # [m] of a mesh that is a line or a point
CAPSULE_MARGIN_M = 1e-9  # [m] added, so that no point is outside by the last digit
CAPSULE_WIDENING_FACTORS = np.linspace(1.0, 1.5, 26)  # wider: caps end closer to a flat end
BASE_BODY_NAME = "base"
SAMPLED_POSTURES = 300
CLOSE_DISTANCE_M = 0.02  # [m] what is always closer than this cannot be kept apart by any useful clearance
ALWAYS_CLOSE_FRACTION = 0.95  # part of the postures
FARTHEST_POSITION_LIMIT = 1000.0  # [rad, m] limits beyond are no limits


def enclosing_capsule(name: str, shape: Shape) -> Capsule:
    """A capsule that contains the shape (of a mesh: all vertices), on the same joint. That of a cylinder has its radius
    and axis, the caps stick out; that of a box runs along the longest side, with half the diagonal of the other two."""
    if np.abs([*shape.size, *shape.translation]).max() > LARGEST_DISTANCE_M:
        problem = f"a {shape.kind} is larger or farther than {LARGEST_DISTANCE_M:g} m"
        raise RobotError(f"{problem}; check its size and origin")
    axis = np.array([0.0, 0.0, 1.0])
    if shape.kind == "mesh":
        start, end, radius = capsule_around(mesh_vertices(shape) @ shape.rotation.T + shape.translation)
        return Capsule(name=name, joint=shape.joint, start=start, end=end, radius=radius)
    if shape.kind == "sphere":
        radius, length = shape.size[0], 0.0
    elif shape.kind == "box":
        longest = int(np.argmax(shape.size))
        axis = np.eye(3)[longest]
        radius, length = 0.5 * float(np.hypot(*np.delete(shape.size, longest))), shape.size[longest]
    else:
        radius, length = shape.size
    half, middle = 0.5 * length * (shape.rotation @ axis), shape.translation
    return Capsule(name=name, joint=shape.joint, start=middle - half, end=middle + half, radius=radius)


def lowest_point(shape: Shape) -> float:
    """z [m] of the lowest point of a shape, in the frame in which it is placed."""
    down = -shape.rotation[2]  # −z of that frame, seen from the shape
    if shape.kind == "mesh":
        reach = float((mesh_vertices(shape) @ down).max())
    elif shape.kind == "sphere":
        reach = shape.size[0]
    elif shape.kind == "box":
        reach = 0.5 * float(np.abs(down) @ shape.size)
    else:
        radius, length = shape.size
        rim = radius if shape.kind == "capsule" else radius * float(np.hypot(down[0], down[1]))
        reach = rim + 0.5 * length * abs(float(down[2]))
    return float(shape.translation[2]) - reach


def mesh_vertices(shape: Shape) -> Array:
    """(V, 3) [m] vertices of the mesh file, scaled, in the shape's own frame."""
    return np.array(read_mesh(shape.mesh, shape.size).vertices(), dtype=float).reshape(-1, 3)


def read_mesh(path: str, scale: Sequence[float]) -> Any:
    """Coal's mesh of a file (STL, OBJ, DAE and others), scaled [m]; refused where no picture could be made of it."""
    import coal

    if not isfile(path):
        raise RobotError(f"the mesh file '{path}' is missing; put it there, or give mesh_root")
    if Path(path).stat().st_size > LARGEST_MESH_BYTES:
        raise RobotError(f"the mesh file '{path}' is larger than {LARGEST_MESH_BYTES / 1e6:g} MB; simplify it")
    try:  # the cheapest tree of boxes: only the triangles are wanted
        mesh = coal.MeshLoader(coal.NODE_TYPE.BV_AABB).load(path, np.array(scale, dtype=float))
        vertices = np.array(mesh.vertices(), dtype=float)
    except (ValueError, RuntimeError) as error:
        why = str(error).rpartition("message: ")[2].strip()  # without places in the loader's own source
        raise RobotError(f"the mesh file '{path}' cannot be read: {why}; export it as STL or OBJ") from None
    if not vertices.size or not np.abs(vertices).max() <= LARGEST_DISTANCE_M:  # NaN included
        raise RobotError(f"the mesh file '{path}' has no vertices, or some far away; export it again")
    return mesh


def capsule_around(points: Array) -> tuple[Array, Array, float]:
    """Start, end (3,), radius [m] of the smallest capsule around points (V, 3) along a principal axis, x, y or z."""
    with suppress(scipy.spatial.QhullError, ValueError):  # they span no volume
        points = points[scipy.spatial.ConvexHull(points).vertices]
    spread = points - points.mean(axis=0)
    axes = np.vstack([np.linalg.eigh(spread.T @ spread)[1].T, np.eye(3)])
    start, end, radius = min((_along(axis, points) for axis in axes), key=_volume)
    return start, end, max(radius, SMALLEST_MESH_RADIUS_M) + CAPSULE_MARGIN_M


def _volume(capsule: tuple[Array, Array, float]) -> float:
    start, end, radius = capsule
    return float(np.pi * radius**2 * (np.linalg.norm(end - start) + 4.0 / 3.0 * radius))


def _along(axis: Array, points: Array) -> tuple[Array, Array, float]:
    """The smallest capsule parallel to ``axis`` through the middle of the points as seen along it."""
    across = np.linalg.svd(axis[None])[2][1:]
    centre, needed = smallest_circle(points @ across.T)
    aside = np.linalg.norm(points @ across.T - centre, axis=1)
    height = points @ axis
    radii = np.maximum(needed * CAPSULE_WIDENING_FACTORS, SMALLEST_MESH_RADIUS_M)[:, None]
    reach = np.sqrt(np.maximum(radii**2 - aside**2, 0.0))  # of a cap, beyond its end, at the points
    low, high = (height + reach).min(axis=1), (height - reach).max(axis=1)
    low, high = np.where(low < high, (low, high), 0.5 * (low + high))
    middle = across.T @ centre
    found = [(middle + a * axis, middle + b * axis, float(r)) for a, b, (r,) in zip(low, high, radii, strict=True)]
    return min(found, key=_volume)


def smallest_circle(points: Array) -> tuple[Array, float]:
    """Centre (2,) and radius of the smallest circle around points (V, 2). Two or three of the points fix it; the
    farthest point outside joins them until there is none."""
    support, before = points[:1], -1.0
    while True:
        centre, radius, support = _circle_of(support)
        distance = np.linalg.norm(points - centre, axis=1)
        farthest = int(np.argmax(distance))
        if distance[farthest] <= radius * (1.0 + 1e-12) or radius <= before:  # the latter: only rounding is left
            return centre, float(distance[farthest])
        support, before = np.vstack([support, points[farthest]]), radius


def _circle_of(points: Array) -> tuple[Array, float, Array]:
    """Centre and radius of the smallest circle around at most four points, and the points that fix it."""
    best: tuple[Array, float, Array] = points[0], np.inf, points
    subsets = (list(chosen) for count in (1, 2, 3) for chosen in combinations(range(len(points)), count))
    for chosen in (points[subset] for subset in subsets):
        sides = chosen[1:] - chosen[0]  # the centre is in the affine hull of the chosen ones, equally far from them
        offset = np.linalg.lstsq(2.0 * sides, (sides * sides).sum(axis=1), rcond=None)[0] if len(sides) else 0.0
        centre = chosen[0] + offset
        radius = float(np.linalg.norm(chosen - centre, axis=1).max())
        encloses = (np.linalg.norm(points - centre, axis=1) <= radius * (1.0 + 1e-12) + 1e-300).all()
        if encloses and radius < best[1]:
            best = centre, radius, chosen
    return best


def body_of(robot: Robot, name: str) -> int:
    """The joint (index, −1: the base) that moves the body which a name stands for, be it of meshes or of capsules."""
    for capsule in robot.capsules:
        if capsule.name == name:
            return capsule.joint
    links = [joint.link for joint in robot.bodies]
    if name in robot.frame_names:
        return robot.frame(name).joint
    if name and name in links:
        return links.index(name)
    if name == BASE_BODY_NAME:
        return BASE
    raise RobotError(unknown_name("body", name, body_names(robot)))


def capsules_of(robot: Robot, name: str) -> tuple[int, ...]:
    """Indices of the capsules that a name stands for: that capsule; all that are made of a link (link/1, link/2, …) or,
    if it has none, all of the body it is rigidly joined to; all of the body that a joint moves, or of the "base"."""
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
    return BASE_BODY_NAME if joint == BASE else robot.bodies[joint].name


def body_names(robot: Robot) -> tuple[str, ...]:
    links = (joint.link for joint in robot.bodies if joint.link)
    return tuple(dict.fromkeys((*(c.name for c in robot.capsules), BASE_BODY_NAME, *robot.frame_names, *links)))


def with_collision_pairs(robot: Robot) -> Robot:
    """The robot with every pair of capsules that can be kept apart; the notes name the others. Bodies joined by a joint
    touch there, and a capsule is wider than what it stands for. Left out are parent and child, and pairs closer than 2
    cm in 95 % of random postures within the position limits: capsules cannot tell these from neighbours. A pair that
    overlaps at the reference posture (zero, or the limit next to it) alone is kept: many arms are folded at zero."""
    both = [(a, b) for a, b in combinations(robot.capsules, 2) if a.joint != b.joint]
    pairs = [(a.name, b.name) for a, b in both if not are_neighbours(robot, a.joint, b.joint)]
    reference, close = _closeness(robot, pairs)
    inseparable = close >= ALWAYS_CLOSE_FRACTION
    names = np.array([f"{a} – {b}" for a, b in pairs], dtype=str)
    left_out, overlap = names[inseparable].tolist(), names[(reference < 0.0) & ~inseparable].tolist()
    bare = without_capsule(robot)
    close_by = f"whose capsules are closer than {100.0 * CLOSE_DISTANCE_M:g} cm in nearly all postures"
    unchecked = f"self-collision is not checked for {len(left_out)} of {len(pairs)} pairs"
    said = {
        f"{bodies_have(bare)} no capsule: no collision check covers that": bare,
        f"{unchecked}, {close_by}: {', '.join(left_out)}": left_out,
        f"capsules overlap at the zero posture, which counts as a collision: {', '.join(overlap)}": overlap,
    }
    notes = (*robot.notes, *(warning(COLLISION_SUBJECT, text) for text, which in said.items() if which))
    kept = tuple(pair for pair, out in zip(pairs, inseparable, strict=True) if not out)
    return replace(robot, collision_pairs=kept, notes=notes)


def without_capsule(robot: Robot) -> tuple[str, ...]:
    covered = {capsule.joint for capsule in robot.capsules}
    return tuple(j.name for index, j in enumerate(robot.bodies) if index not in covered and not j.is_massless)


def uncovered(robot: Robot, shaped: Set[int], *, base: bool) -> str:
    """What no shape stands for, in words, or nothing: bodies other than the ``shaped`` ones (joint indices), links of
    bodies whose other links have one (those of the base are told as what stands still), the base if it is asked for."""
    bare = [j.name for index, j in enumerate(robot.bodies) if index not in shaped and not j.is_massless]
    links = [link for link in robot.unshaped if robot.frame(link).joint in shaped - {BASE}]
    missing = [f"the bodies of {', '.join(bare)}"] if bare else []
    missing += [f"the links {', '.join(links)}"] if links else []
    return " and ".join([*missing, *(["the base"] if base and BASE not in shaped else [])])


def are_neighbours(robot: Robot, one: int, other: int) -> bool:
    """Whether a joint joins two bodies, given by the joints that move them (−1: the base)."""
    parents = [*robot.parents.tolist(), None]  # the last one is that of the base
    return bool(parents[one] == other or parents[other] == one)


def _closeness(robot: Robot, pairs: list[tuple[str, str]]) -> tuple[Array, Array]:
    """(P,) distance [m] at the reference posture, negative where capsules overlap; part of postures that are close."""
    import coal
    import pinocchio as pin

    if not pairs:
        return np.zeros(0), np.zeros(0)
    model, geometry, number = to_pinocchio(robot), pin.GeometryModel(), dict[str, int]()
    for capsule in robot.capsules:
        shape, (radius, length) = capsule.solid, capsule.solid.size
        solid = coal.Capsule(radius, length) if length > 0.0 else coal.Sphere(radius)
        at = pin.SE3(shape.rotation, shape.translation)
        body = pin.GeometryObject(capsule.name, capsule.joint + 1, at, solid)
        number[capsule.name] = geometry.addGeometryObject(body)
    for a, b in pairs:
        geometry.addCollisionPair(pin.CollisionPair(number[a], number[b]))
    lower, upper = np.clip(robot.position_range(), -FARTHEST_POSITION_LIMIT, FARTHEST_POSITION_LIMIT)
    postures = np.random.default_rng(0).uniform(lower, upper, (SAMPLED_POSTURES, robot.n))
    both = Motion.at(within_reach(robot, np.vstack([np.clip(0.0, lower, upper), postures])))
    data, measured, distances = model.createData(), pin.GeometryData(geometry), []
    for q in coupled_motion(robot, both).q:
        pin.computeDistances(model, data, geometry, measured, q)
        distances.append([result.min_distance for result in measured.distanceResults])
    reference, *others = np.array(distances)
    return reference, (np.array(others) < CLOSE_DISTANCE_M).mean(axis=0)
