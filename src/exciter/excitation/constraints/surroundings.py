"""What stands around the robot, as shapes to look at: obstacles, and the borders given to a frame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

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
from exciter.robot.spatial import rotation_to
from exciter.typing import Array


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


def surroundings(constraints: Iterable[Constraint]) -> tuple[Surrounding, ...]:
    """Alternatives (any of several regions) and a user's own constraints have no shape of their own: none of them."""
    found: list[Surrounding] = []
    for constraint in constraints:
        if isinstance(constraint, Region):
            found += _borders(constraint)
        found += [_obstacle(one) for one in getattr(constraint, "obstacles", ())]
    return tuple(found)


def _obstacle(obstacle: Obstacle) -> Surrounding:
    if isinstance(obstacle, Round):
        solid = obstacle.capsule.solid
        return Surrounding("capsule", solid.size, solid.rotation, solid.translation)
    if isinstance(obstacle, Block):
        return Surrounding("box", tuple(obstacle.size.tolist()), obstacle.rotation, obstacle.centre)
    return _plane(obstacle.normal, obstacle.offset, ground=isinstance(obstacle, Ground))


def _borders(region: Region) -> Iterator[Surrounding]:
    if isinstance(region, HalfSpace):
        yield _plane(region.normal, region.offset, border=True)
    elif isinstance(region, Box):
        for side in (region.lower, region.upper):
            for axis in range(3):
                if math.isfinite(side[axis]):
                    yield _plane(np.eye(3)[axis], float(side[axis]), border=True)
    elif isinstance(region, InsideSphere | OutsideSphere):
        yield Surrounding("sphere", (region.radius,), np.eye(3), region.centre, border=True)
    elif isinstance(region, InsideCylinder | OutsideCylinder):
        ends = (region.lower, region.upper) if isinstance(region, OutsideCylinder) else (-math.inf, math.inf)
        size = (region.radius, *ends)
        yield Surrounding("cylinder", size, rotation_to(region.axis), region.point, border=True)


def _plane(normal: Array, offset: float, *, border: bool = False, ground: bool = False) -> Surrounding:
    """normal · x = offset."""
    return Surrounding("plane", (), rotation_to(normal), offset * normal, border, ground)
