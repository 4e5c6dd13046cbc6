"""Collision by the shapes themselves: meshes and primitives of the bodies, measured by coal.

Of whole bodies only the distance d at samples can be had; between them it falls no faster than the bodies approach:
d(t) ≥ (d₀ + d₁ − h L)/2 with L ≥ their relative speed. Joints that carry both bodies do not change d; each joint on the
way from one to the other moves the points of its body by at most |q̇| times their distance from its origin."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

import numpy as np

from exciter.dynamics.reference import Chain
from exciter.errors import ParameterError, RobotError
from exciter.excitation.certificate.adaptive import ConstraintRows
from exciter.excitation.certificate.certificate import RowName
from exciter.excitation.certificate.spans import Spans, distances
from exciter.excitation.constraints.constraint import ROW_LENGTH_M, checked_clearance, kinematics, robot_dynamics
from exciter.robot.capsules import body_name, body_names, body_of, uncovered
from exciter.robot.geometry import Shape
from exciter.robot.motion import Motion
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array

MESH_DISTANCE_ACCURACY_M = 1e-6  #: [m] to which distances of general shapes are trusted
Geometry = tuple[int, Any, Array, Array]  #: joint, coal geometry, rotation and translation in the joint's frame


@dataclass(frozen=True, eq=False)
class MeshDistance:
    """Rows (d − clearance) / ROW_LENGTH_M, d [m] the distance of two bodies by all of their collision shapes.
    pairs: bodies by the name of their joint ("base" for the base), of a link or of a capsule on them; the robot's
    collision pairs unless given. A mesh counts as its convex hull, which contains it: safe; bodies that overlap have a
    negative distance. Every sample and pair is one call of coal, thousands of times slower than capsules."""

    robot: Robot
    pairs: Sequence[tuple[str, str]] | None = None
    clearance: float = 0.0

    def __post_init__(self) -> None:
        pairs = self.robot.collision_pairs if self.pairs is None else self.pairs
        object.__setattr__(self, "pairs", tuple(pairs))
        checked_clearance(self.clearance)
        if not pairs:
            raise ParameterError(
                f"robot '{self.robot.name}' has no collision pairs; name pairs of bodies: "
                f"{', '.join(body_names(self.robot))}"
            )
        for a, b in self.bodies:
            if a == b:
                raise ParameterError(f"body '{body_name(self.robot, a)}' was paired with itself; name two bodies")
            for bare in {a, b} - self._shaped:
                name = body_name(self.robot, bare)
                raise ParameterError(f"body '{name}' has no collision shape; leave its pairs out")

    @cached_property
    def _shaped(self) -> set[int]:
        """Bodies that have a collision shape."""
        return {shape.joint for shape in self.robot.shapes if shape.collides}

    @cached_property
    def bodies(self) -> tuple[tuple[int, int], ...]:
        """The pairs as joint indices, −1 for the base; every one once."""
        try:
            named = [(body_of(self.robot, a), body_of(self.robot, b)) for a, b in self.pairs or ()]
        except RobotError as error:
            raise ParameterError(str(error)) from None
        return tuple({frozenset(pair): pair for pair in named}.values())

    @property
    def unchecked(self) -> tuple[str, ...]:
        missing = uncovered(self.robot, self._shaped, base=True)
        return (f"collisions of {missing}: no collision shape stands for them",) if missing else ()

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        names = [(body_name(self.robot, a), body_name(self.robot, b)) for a, b in self.bodies]
        return tuple(RowName("distance", f"{a} – {b}", "m", self.clearance, ROW_LENGTH_M, False) for a, b in names)

    @cached_property
    def geometries(self) -> tuple[Geometry, ...]:
        """Of every shape that is measured."""
        used = {joint for pair in self.bodies for joint in pair}
        shapes = [shape for shape in self.robot.shapes if shape.collides and shape.joint in used]
        return tuple((shape.joint, _geometry(shape), shape.rotation, shape.translation) for shape in shapes)

    def values(self, motion: Motion) -> Array:
        return (self._measured(motion)[0] - self.clearance) / ROW_LENGTH_M

    def linearised(self, motion: Motion) -> ConstraintRows:
        at = kinematics(self.robot, motion)
        distance, first, second, normal = self._measured(motion)
        dq = np.empty((len(self.bodies), self.robot.n, len(motion)))
        for k, (a, b) in enumerate(self.bodies):
            dq[k] = (at.pull(b, second[k], normal[k : k + 1]) - at.pull(a, first[k], normal[k : k + 1]))[0]
        return ConstraintRows((distance - self.clearance) / ROW_LENGTH_M, dq / ROW_LENGTH_M)

    def lower_bounds(self, spans: Spans) -> Array:
        chain, radius = robot_dynamics(self.robot).chain, body_radii(self.geometries)
        tree = spans.tree(self.robot)
        speed = np.array([approach(self.robot, chain, a, b, radius, tree) for a, b in self.bodies])
        ends = spans.ends  # neighbours share theirs, and each costs as many measurements as there are pairs
        time, first, place = np.unique(ends.time, return_index=True, return_inverse=True)
        rows = self.values(Motion(time, ends.q[first], ends.qd[first], ends.qdd[first]))[:, place]
        chord = 0.5 * (rows[:, 0::2] + rows[:, 1::2])
        return np.asarray(chord - (0.5 * spans.width * speed + MESH_DISTANCE_ACCURACY_M) / ROW_LENGTH_M)

    def _measured(self, motion: Motion) -> tuple[Array, Array, Array, Array]:
        """Distance (K, N), closest points on both bodies and the normal from the first to the second (K, 3, N)."""
        import coal

        at, request, result = kinematics(self.robot, motion), coal.DistanceRequest(), coal.DistanceResult()
        request.gjk_tolerance = request.epa_tolerance = 1e-10
        distance = np.full((len(self.bodies), at.samples), np.inf)
        first, second, normal = np.zeros((3, len(self.bodies), 3, at.samples))
        for t in range(at.samples):
            placed: dict[int, list[tuple[Any, Any]]] = {}  # shapes by joint
            for joint, shape, r, p in self.geometries:
                if joint != BASE:
                    link = at.rotation[joint, :, :, t] @ at.dynamics.chain.axis_frames[joint].T
                    r, p = link @ r, link @ p + at.origin[joint, :, t]
                placed.setdefault(joint, []).append((shape, coal.Transform3s(np.array(r), np.array(p))))
            for k, (a, b) in enumerate(self.bodies):
                for (one, here), (other, there) in product(placed[a], placed[b]):
                    result.clear()
                    d = coal.distance(one, here, other, there, request, result)
                    if d < distance[k, t] or math.isnan(d):  # what was not measured proves nothing
                        distance[k, t] = d
                        first[k, :, t], second[k, :, t] = result.getNearestPoint1(), result.getNearestPoint2()
                        normal[k, :, t] = result.normal
        return distance, first, second, normal


def _geometry(shape: Shape) -> Any:
    """The coal geometry of a shape; a mesh becomes its convex hull."""
    import coal

    solids = {"box": coal.Box, "sphere": coal.Sphere, "cylinder": coal.Cylinder, "capsule": coal.Capsule}
    if shape.kind in solids:
        return solids[shape.kind](*shape.size)
    if not isfile(Path(shape.mesh)):
        raise ParameterError(f"the mesh file '{shape.mesh}' is missing; put it there, or check capsules instead")
    try:
        mesh = coal.MeshLoader().load(shape.mesh, np.array(shape.size, dtype=float))
        mesh.buildConvexHull(True, "Qt")
    except (ValueError, RuntimeError) as error:
        raise ParameterError(f"the mesh file '{shape.mesh}' cannot be read: {error}; export it as STL or OBJ") from None
    return mesh.convex


def body_radii(geometries: Iterable[Geometry]) -> dict[int, float]:
    """By joint: how far [m] the body's shapes reach from the origin of its frame."""
    radius: dict[int, float] = {}
    for joint, geometry, rotation, translation in geometries:
        geometry.computeLocalAABB()
        centre = rotation @ np.asarray(geometry.aabb_center).ravel() + translation
        radius[joint] = max(radius.get(joint, 0.0), float(np.linalg.norm(centre)) + geometry.aabb_radius)
    return radius


def approach(robot: Robot, chain: Chain, a: int, b: int, radius: dict[int, float], spans: Spans) -> Array:
    """(M,) [m/s] ≥ how fast points of two bodies can approach each other, during each interval of the tree."""
    slack = spans.width**2 / 8.0 * spans.rates[2]
    ends = np.maximum(np.abs(spans.left.samples_last[1]), np.abs(spans.right.samples_last[1]))
    rate, apart = np.minimum(spans.rates[0], ends + slack), distances(chain, spans.ranges)
    paths = [() if body == BASE else robot.ancestors(body) for body in (a, b)]
    shared = set(paths[0]) & set(paths[1])
    total = np.zeros(len(spans.width))
    for body, path in zip((a, b), paths, strict=True):
        reach = np.full(len(spans.width), radius[body])
        for joint in reversed([j for j in path if j not in shared]):
            total += rate[joint] * (1.0 if chain.prismatic[joint] else reach)
            reach = reach + apart[joint]
    return total
