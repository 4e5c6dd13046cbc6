"""Capsules around shapes: what collision checks measure instead of the shape, never smaller than it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from exciter.errors import RobotError
from exciter.robot.geometry import Capsule, Shape
from exciter.typing import Array

MAX_MESH_BYTES = 100_000_000
LARGEST = 1e6  # [m] nothing on a robot is larger or farther away
SMALLEST_RADIUS = 1e-6  # [m] of a mesh that is a line or a point
ROUNDING = 1e-9  # [m] added, so that no point is outside by the last digit
WIDER = np.linspace(1.0, 1.5, 26)  # a little wider than needed lets the caps end closer to a flat end


def enclosing_capsule(name: str, shape: Shape) -> Capsule:
    """A capsule that contains the shape, on the same joint.

    The capsule of a cylinder has its radius and its axis, the caps stick out; that of a box runs along the
    longest side, its radius is half the diagonal of the other two. That of a mesh contains all of its vertices.
    """
    if np.abs([*shape.size, *shape.translation]).max() > LARGEST:
        raise RobotError(f"a {shape.kind} is larger or farther away than {LARGEST:g} m; check its size and origin")
    axis = np.array([0.0, 0.0, 1.0])
    if shape.kind == "mesh":
        start, end, radius = capsule_around(mesh_vertices(shape) @ shape.rotation.T + shape.translation)
        return Capsule(name, shape.joint, start, end, radius)
    if shape.kind == "sphere":
        radius, length = shape.size[0], 0.0
    elif shape.kind == "box":
        longest = int(np.argmax(shape.size))
        axis = np.eye(3)[longest]
        radius, length = 0.5 * float(np.hypot(*np.delete(shape.size, longest))), shape.size[longest]
    else:
        radius, length = shape.size
    half = 0.5 * length * (shape.rotation @ axis)
    return Capsule(name, shape.joint, shape.translation - half, shape.translation + half, radius)


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
    import coal

    path = Path(shape.mesh)
    if not isfile(path):
        raise RobotError(f"the mesh file '{shape.mesh}' is missing; put it there, or give mesh_root")
    if path.stat().st_size > MAX_MESH_BYTES:
        raise RobotError(f"the mesh file '{shape.mesh}' is larger than {MAX_MESH_BYTES / 1e6:g} MB; simplify it")
    try:  # the cheapest tree of boxes: only the vertices are wanted
        mesh = coal.MeshLoader(coal.NODE_TYPE.BV_AABB).load(str(path), np.array(shape.size, dtype=float))
        vertices = np.array(mesh.vertices(), dtype=float).reshape(-1, 3)
    except (ValueError, RuntimeError) as error:
        raise RobotError(f"the mesh file '{shape.mesh}' cannot be read: {error}; export it as STL or OBJ") from None
    if not len(vertices) or not np.abs(vertices).max() <= LARGEST:  # NaN included
        raise RobotError(f"the mesh file '{shape.mesh}' has no vertices, or some far away; export it again")
    return vertices


def capsule_around(points: Array) -> tuple[Array, Array, float]:
    """Start, end (3,) and radius [m] of a small capsule that contains all points (V, 3).

    Of those along the principal axes of the points, and along x, y, z, the one of the smallest volume.
    """
    points = _outermost(points)
    spread = points - points.mean(axis=0)
    axes = np.vstack([np.linalg.eigh(spread.T @ spread)[1].T, np.eye(3)])
    start, end, radius = min((_along(axis, points) for axis in axes), key=lambda capsule: _volume(*capsule))
    return start, end, max(radius, SMALLEST_RADIUS) + ROUNDING


def _outermost(points: Array) -> Array:
    """The corners of the convex hull; all points when they span no volume."""
    try:
        corners: Array = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return points
    return corners


def _volume(start: Array, end: Array, radius: float) -> float:
    return float(np.pi * radius**2 * (np.linalg.norm(end - start) + 4.0 / 3.0 * radius))


def _along(axis: Array, points: Array) -> tuple[Array, Array, float]:
    """The smallest capsule parallel to ``axis`` through the middle of the points as seen along it."""
    across = np.linalg.svd(axis[None])[2][1:]
    centre, needed = smallest_circle(points @ across.T)
    aside = np.linalg.norm(points @ across.T - centre, axis=1)
    height = points @ axis
    radii = np.maximum(needed * WIDER, SMALLEST_RADIUS)[:, None]
    reach = np.sqrt(np.maximum(radii**2 - aside**2, 0.0))  # of a cap, beyond its end, at the points
    low, high = (height + reach).min(axis=1), (height - reach).max(axis=1)
    low, high = np.where(low < high, low, 0.5 * (low + high)), np.where(low < high, high, 0.5 * (low + high))
    middle = across.T @ centre
    found = [(middle + a * axis, middle + b * axis, float(r)) for a, b, (r,) in zip(low, high, radii, strict=True)]
    return min(found, key=lambda capsule: _volume(*capsule))


def smallest_circle(points: Array) -> tuple[Array, float]:
    """Centre (2,) and radius of the smallest circle around points (V, 2).

    Two or three of the points fix it; the farthest point outside joins them until there is none.
    """
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
    for chosen in _subsets(points):
        centre = _equidistant(chosen)
        radius = float(np.linalg.norm(chosen - centre, axis=1).max())
        encloses = (np.linalg.norm(points - centre, axis=1) <= radius * (1.0 + 1e-12) + 1e-300).all()
        if encloses and radius < best[1]:
            best = centre, radius, chosen
    return best


def _subsets(points: Array) -> Iterable[Array]:
    for count in (1, 2, 3):
        for chosen in combinations(range(len(points)), count):
            yield points[list(chosen)]


def _equidistant(points: Array) -> Array:
    """The point in the affine hull of one, two or three points that is equally far from them."""
    sides = points[1:] - points[0]
    offset = np.linalg.lstsq(2.0 * sides, (sides * sides).sum(axis=1), rcond=None)[0] if len(sides) else 0.0
    centre: Array = points[0] + offset
    return centre
