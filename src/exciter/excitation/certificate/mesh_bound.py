"""Distances of whole bodies between samples, when only their distance at samples can be had.

d falls no faster than the bodies approach: d(t) ≥ (d₀ + d₁ − h L)/2 with L ≥ their relative speed. Joints that carry
both bodies do not change d; each joint on the way from one to the other moves the points of its body by at most |q̇|
times their distance from its origin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exciter.dynamics.chain import Chain
from exciter.excitation.certificate.link_jets import distances
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.constraint import LENGTH
from exciter.excitation.constraints.kinematics import robot_dynamics
from exciter.robot.motion import Motion
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.excitation.constraints.mesh import MeshDistance

ACCURACY = 1e-6  #: [m] to which distances of general shapes are trusted


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
