"""What stands around the robot, as shapes of the 3D view: obstacles, and the borders given to a frame."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.ground import Ground
from exciter.excitation.constraints.obstacles import Block, Obstacle, Round
from exciter.excitation.constraints.workspace import (
    Box,
    HalfSpace,
    InsideCylinder,
    InsideSphere,
    OutsideCylinder,
    OutsideSphere,
    Region,
)
from exciter.report.scene import shape_data
from exciter.robot.geometry import Shape
from exciter.robot.robot import BASE
from exciter.robot.spatial import rotation_to
from exciter.typing import Array


def surroundings(constraints: Iterable[Constraint]) -> list[dict[str, Any]]:
    """Shapes fixed in the base; ``border`` tells a frame's borders from obstacles, ``ground`` the plane that the robot
    is mounted on from both. Alternatives (any of several
    regions) and a user's own constraints have no shape of their own and are left out."""
    shapes: list[dict[str, Any]] = []
    for constraint in constraints:
        if isinstance(constraint, Region):
            shapes += [{**shape, "border": True} for shape in _borders(constraint)]
        shapes += [{**_obstacle(o), "border": False} for o in getattr(constraint, "obstacles", ())]
    return shapes


def _obstacle(obstacle: Obstacle) -> dict[str, Any]:
    if isinstance(obstacle, Round):
        return shape_data(obstacle.capsule.solid)
    if isinstance(obstacle, Block):
        return shape_data(Shape("box", BASE, tuple(obstacle.size.tolist()), obstacle.rotation, obstacle.centre))
    return {**_plane(obstacle.normal, obstacle.offset), "ground": isinstance(obstacle, Ground)}


def _borders(region: Region) -> list[dict[str, Any]]:
    if isinstance(region, HalfSpace):
        return [_plane(region.normal, region.offset)]
    if isinstance(region, Box):
        sides = [
            (axis, side) for side in (region.lower, region.upper) for axis in range(3) if math.isfinite(side[axis])
        ]
        return [_plane(np.eye(3)[axis], float(side[axis])) for axis, side in sides]
    if isinstance(region, InsideSphere | OutsideSphere):
        return [shape_data(Shape("sphere", BASE, (region.radius,), np.eye(3), region.centre))]
    if isinstance(region, InsideCylinder | OutsideCylinder):
        ends = (region.lower, region.upper) if isinstance(region, OutsideCylinder) else (-math.inf, math.inf)
        return [_cylinder(region.radius, region.point, region.axis, *ends)]
    return []


def _plane(normal: Array, offset: float) -> dict[str, Any]:
    """normal · x = offset; the page draws as much of it as the scene is wide."""
    return {
        "kind": "plane",
        "rotation": rotation_to(normal).ravel().tolist(),
        "translation": (offset * normal).tolist(),
    }


def _cylinder(radius: float, point: Array, axis: Array, lower: float, upper: float) -> dict[str, Any]:
    """Ends that are infinite are null: the page cuts them off."""
    ends = [end if math.isfinite(end) else None for end in (lower, upper)]
    turn = rotation_to(axis).ravel().tolist()
    return {"kind": "cylinder", "radius": radius, "ends": ends, "rotation": turn, "translation": point.tolist()}
