"""Distances between samples: regions of the workspace, capsules, and whole bodies.
A point x fixed in a link stays within e = h²/8 · max|ẍ| of the chord of its positions at both ends of an interval;
what can be said about the chord then holds up to e.

Of whole bodies only the distance at samples can be had:
d falls no faster than the bodies approach: d(t) ≥ (d₀ + d₁ − h L)/2 with L ≥ their relative speed. Joints that carry
both bodies do not change d; each joint on the way from one to the other moves the points of its body by at most |q̇|
times their distance from its origin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from exciter.dynamics.engine import Chain
from exciter.excitation.certificate.link_jets import distances
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.constraint import LENGTH
from exciter.excitation.constraints.kinematics import robot_dynamics
from exciter.excitation.constraints.obstacles import Block, Flat, Wall
from exciter.excitation.constraints.segments import closest_points
from exciter.excitation.constraints.workspace import OutsideCylinder, OutsideSphere, Region
from exciter.robot.motion import Motion
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.excitation.constraints.collision import CapsuleDistance
    from exciter.excitation.constraints.mesh import MeshDistance

ACCURACY = 1e-6  #: [m] to which distances of general shapes are trusted
__all__ = ["capsule_lower_bounds", "mesh_lower_bounds", "region_lower_bounds"]
ROUNDING = 1e-9  #: relative, and absolute [m]; errors of double precision stay a factor 10⁴ below
OUTSIDE_CONVEX = (OutsideSphere, OutsideCylinder)  #: their distance is a convex function of x


def mesh_lower_bounds(constraint: MeshDistance, spans: Spans) -> Array:
    """(K, M): rows of pairs of bodies are at least this throughout each interval."""
    chain, robot = robot_dynamics(constraint.robot).chain, constraint.robot
    radius = body_radii(constraint)
    speed = np.array([approach(robot, chain, a, b, radius, spans) for a, b in constraint.bodies])
    rows = constraint.values(_once(spans.ends))[:, np.unique(spans.ends.time, return_inverse=True)[1]]
    chord = 0.5 * (rows[:, 0::2] + rows[:, 1::2])
    bounds: Array = chord - (0.5 * spans.width * speed + ACCURACY) / LENGTH
    return bounds


def _once(motion: Motion) -> Motion:
    """Every instant once: neighbours share their ends, and each costs as many measurements as there are pairs."""
    first = np.unique(motion.time, return_index=True)[1]
    return Motion(motion.time[first], motion.q[first], motion.qd[first], motion.qdd[first])


def body_radii(constraint: MeshDistance) -> dict[int, float]:
    """By joint: how far [m] the body's shapes reach from the origin of its frame."""
    radius: dict[int, float] = {}
    for joint, geometry, rotation, translation in constraint.geometries:
        geometry.computeLocalAABB()
        centre = rotation @ np.asarray(geometry.aabb_center).ravel() + translation
        radius[joint] = max(radius.get(joint, 0.0), float(np.linalg.norm(centre)) + geometry.aabb_radius)
    return radius


def approach(robot: Robot, chain: Chain, a: int, b: int, radius: dict[int, float], spans: Spans) -> Array:
    """(M,) [m/s] ≥ how fast points of two bodies can approach each other, during each interval."""
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


def rows_of(distance: Array) -> Array:
    """Lower bounds of distances [m] as rows, less what rounding may do."""
    return (distance - ROUNDING * (1.0 + np.abs(distance))) / LENGTH


# -- a point ---------------------------------------------------------------------------------------------------


def moving_point(robot: Robot, joint: int, point: Array, spans: Spans) -> tuple[Array, Array]:
    """Positions (3, 2 M) [m] at ``spans.ends`` of a point (3,) in the frame of a joint (−1: the base), and how far
    (M,) [m] it can be from the chord between them."""
    if joint == BASE:
        return np.repeat(point[:, None], 2 * len(spans.width), axis=1), np.zeros(len(spans.width))
    chain = robot_dynamics(robot).chain
    in_link = chain.axis_frames[joint].T @ point
    x, acceleration = spans.nodes(chain).point(joint, in_link)
    bound = spans.jets(chain).point(joint, float(np.linalg.norm(point)), acceleration, spans.width)
    return x, spans.width**2 / 8.0 * bound


def region_lower_bounds(region: Region, spans: Spans) -> Array:
    """(K, M): rows of a region are at least this throughout each interval."""
    frame = region.carrier
    x, slack = moving_point(region.robot, frame.joint, frame.translation, spans)
    distance = region.distance(x)
    left, right = distance[:, 0::2], distance[:, 1::2]
    if region.concave:
        return rows_of(np.minimum(left, right) - slack)
    step = x[:, 1::2] - x[:, 0::2]
    chord = 0.5 * (left + right - np.linalg.norm(step, axis=0))  # no distance changes faster than the point moves
    if isinstance(region, OUTSIDE_CONVEX):
        chord = np.maximum(chord, _tangent_planes(region, x, step))
    return rows_of(chord - slack)


def _tangent_planes(region: Region, x: Array, step: Array) -> Array:
    """(K, M): the distance from a convex body lies above its tangent plane at the middle of the chord."""
    middle = x[:, 0::2] + 0.5 * step
    slope = np.abs(np.einsum("kaM,aM->kM", np.broadcast_to(region.gradient(middle), (1, *middle.shape)), 0.5 * step))
    planes: Array = region.distance(middle) - slope
    return planes


# -- capsules --------------------------------------------------------------------------------------------------


def capsule_lower_bounds(constraint: CapsuleDistance, spans: Spans) -> Array:
    """(K, M): rows of capsule pairs and of capsules against obstacles are at least this throughout each interval."""
    ends = [
        [moving_point(constraint.robot, body.joint, point, spans) for point in (body.start, body.end)]
        for body in constraint.bodies
    ]
    x = np.array([[position for position, _ in body] for body in ends])  # (C, 2, 3, 2 M)
    slack = np.array([[far for _, far in body] for body in ends])  # (C, 2, M)
    distance = [segments_apart(x[constraint.pair_index], slack[constraint.pair_index])]
    distance += [obstacle_apart(flat, x[index], slack[index])[None] for flat, index in constraint.flat]
    apart = np.concatenate(distance) - (constraint.radii + constraint.clearance)[:, None]
    return rows_of(apart)


def segments_apart(x: Array, slack: Array) -> Array:
    """(P, M) ≤ the distance of two segments throughout each interval: positions (P, 2, 2, 3, 2 M) of the two ends of
    both at the interval's ends, and how far (P, 2, 2, M) each can be from its chord.

    Differences of points of both segments are mixtures of the four differences of their ends; if these stay on one side
    of a plane, so do all. Planes: across the shortest connection at either end of the interval, and in between.
    """
    first, second = x[:, 0], x[:, 1]
    corner = first[:, :, None] - second[:, None, :]  # (P, 2, 2, 3, 2 M)
    far = slack[:, 0, :, None] + slack[:, 1, None, :]  # (P, 2, 2, M)
    normal = closest_points((first[:, 0], first[:, 1]), (second[:, 0], second[:, 1])).normal
    return _best_plane(normal, lambda n: np.min(_lowest(n[:, None, None], corner, far), axis=(1, 2)))


def obstacle_apart(obstacle: Flat, x: Array, slack: Array) -> Array:
    """(M,) ≤ the distance of a segment from an obstacle: positions (2, 3, 2 M) of its ends, and how far (2, M) each can
    be from its chord. The distance changes no faster than the ends move; a known obstacle is also behind a plane."""
    touch = obstacle.touch(x[0], x[1])
    step = np.linalg.norm(x[..., 1::2] - x[..., 0::2], axis=1).max(axis=0)
    apart: Array = 0.5 * (touch.distance[0::2] + touch.distance[1::2] - step) - slack.max(axis=0)
    if not isinstance(obstacle, Wall | Block):
        return apart
    planes = _best_plane(touch.normal, lambda n: np.min(_lowest(n, x, slack), axis=0) - _reach(obstacle, n))
    return np.maximum(apart, planes)


def _reach(obstacle: Wall | Block, normal: Array) -> Array:
    """(M,) how far an obstacle reaches in the direction ``normal`` (3, M)."""
    if isinstance(obstacle, Wall):
        return np.where(normal.T @ obstacle.normal >= 1.0 - 1e-12, obstacle.offset, np.inf)
    return obstacle.centre @ normal + 0.5 * obstacle.size @ np.abs(obstacle.rotation.T @ normal)


def _best_plane(normal: Array, apart: Callable[[Array], Array]) -> Array:
    """The largest of ``apart`` over unit normals (…, 3, M): those at both ends of each interval, and their mean."""
    left, right = normal[..., 0::2], normal[..., 1::2]
    mean = left + right
    length = np.sqrt((mean * mean).sum(axis=-2, keepdims=True))
    mean = np.where(length > 0.1, mean / np.where(length > 0.1, length, 1.0), left)
    best: Array = np.max([apart(n) for n in (left, right, mean)], axis=0)
    return best


def _lowest(normal: Array, x: Array, slack: Array) -> Array:
    """(…, M): n · x is at least this on the chord of x (…, 3, 2 M), within ``slack`` (…, M)."""
    left, right = ((normal * at).sum(axis=-2) for at in (x[..., 0::2], x[..., 1::2]))
    lowest: Array = np.minimum(left, right) - slack
    return lowest
