"""Things around the robot, fixed in the base: spheres, capsules, half-spaces and boxes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ParameterError, shown
from exciter.robot.geometry import Capsule
from exciter.robot.robot import BASE
from exciter.typing import Array

#: How far a segment is from an obstacle: distance (N,) [m], negative inside; its closest (deepest) point (3, N); the
#: unit normal (3, N) away from the obstacle.
Touch = tuple[Array, Array, Array]


def vector(values: ArrayLike, what: str) -> Array:
    """A read-only (3,) vector."""
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise ParameterError(f"{what} must be three finite numbers (x, y, z); given {shown(values)}")
    array.flags.writeable = False
    return array


def direction(values: ArrayLike, what: str) -> tuple[Array, float]:
    """A unit vector and the length that was given."""
    array = vector(values, what)
    length = float(np.linalg.norm(array))
    if length == 0.0:
        raise ParameterError(f"{what} is zero; give a direction (x, y, z)")
    unit = array / length
    unit.flags.writeable = False
    return unit, length


@dataclass(frozen=True, eq=False)
class Round:
    """A sphere (start = end) or capsule: all points within ``radius`` [m] of the segment start–end.

    against: names of capsules, links or joints of the robot that must keep away; all that move unless given.

    >>> ball = ex.Round.sphere("ball", centre=(1.5, 0, 0), radius=0.2)
    >>> ex.design(robot, ex.RandomPoints(points=4), constraints=[ball]).certificate.certified
    True
    """

    name: str
    start: Array
    end: Array
    radius: float
    against: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for end in ("start", "end"):
            object.__setattr__(self, end, vector(getattr(self, end), f"{end} of obstacle '{self.name}'"))
        if not (np.isfinite(self.radius) and self.radius > 0.0):
            raise ParameterError(f"the radius of obstacle '{self.name}' is {self.radius}; it must be positive [m]")

    @classmethod
    def sphere(cls, name: str, centre: Array, radius: float, against: tuple[str, ...] | None = None) -> Round:
        return cls(name, centre, centre, radius, against)

    @property
    def capsule(self) -> Capsule:
        """As a capsule of the base."""
        return Capsule(self.name, BASE, self.start, self.end, self.radius)


class Flat(ABC):
    """An obstacle with flat sides: it measures the segment in a capsule by itself."""

    name: str
    against: tuple[str, ...] | None

    @abstractmethod
    def touch(self, start: Array, end: Array) -> Touch:
        """For segments from start to end, both (3, N) [m] in the base."""

    def reach(self, normal: Array) -> Any:
        """(M,) [m] how far it reaches in the directions ``normal`` (3, M); infinite where that is not known."""
        return np.inf


@dataclass(frozen=True, eq=False)
class Wall(Flat):
    """Everything on the far side of a plane: normal · x < offset, as a floor, a wall or a ceiling."""

    name: str
    normal: Array
    offset: float
    against: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        unit, length = direction(self.normal, f"the normal of obstacle '{self.name}'")
        object.__setattr__(self, "normal", unit)
        object.__setattr__(self, "offset", float(self.offset) / length)
        if not np.isfinite(self.offset):
            raise ParameterError(f"the offset of obstacle '{self.name}' is {self.offset}; it must be finite [m]")

    def touch(self, start: Array, end: Array) -> Touch:
        heights = self.normal @ start, self.normal @ end
        point = np.where(heights[0] <= heights[1], start, end)
        return np.minimum(*heights) - self.offset, point, np.broadcast_to(self.normal[:, None], start.shape)

    def reach(self, normal: Array) -> Array:
        return np.where(normal.T @ self.normal >= 1.0 - 1e-12, self.offset, np.inf)


@dataclass(frozen=True, eq=False)
class Block(Flat):
    """A solid box of ``size`` (3,) [m] about ``centre``, its sides along the columns of ``rotation``.

    Exact outside. A segment that cuts the box counts as deep as the shortest way out through one of the six faces,
    which an edge may shorten: then the capsule's axis itself is inside, far beyond any limit.

    >>> crate = ex.Block("crate", centre=(1.5, 0, 0), size=(0.4, 0.4, 0.4))
    >>> motion = ex.design(robot, ex.RandomPoints(points=4), constraints=[crate])
    >>> {limit.where for limit in motion.certificate.limits if "crate" in limit.where} != set()
    True
    """

    name: str
    centre: Array
    size: Array
    rotation: Array = field(default_factory=lambda: np.eye(3))
    against: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("centre", "size"):
            object.__setattr__(self, name, vector(getattr(self, name), f"{name} of obstacle '{self.name}'"))
        if (self.size <= 0.0).any():
            raise ParameterError(f"the size of obstacle '{self.name}' is {self.size.tolist()}; it must be positive [m]")
        rotation = np.array(self.rotation, dtype=float)
        if rotation.shape != (3, 3) or not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-8):
            raise ParameterError(f"the rotation of obstacle '{self.name}' is not a 3 × 3 rotation matrix")
        rotation.flags.writeable = False
        object.__setattr__(self, "rotation", rotation)

    def touch(self, start: Array, end: Array) -> Touch:
        own = [self.rotation.T @ (x - self.centre[:, None]) for x in (start, end)]
        point = own[0] + self._nearest(own[0], own[1] - own[0]) * (own[1] - own[0])
        away = self._excess(point)
        distance = np.sqrt((away * away).sum(0))
        depth, deepest, out = self._way_out(*own)
        apart = distance > 0.0
        normal = np.where(apart, away / np.where(apart, distance, 1.0), out)
        placed = self.rotation @ np.where(apart, point, deepest) + self.centre[:, None]
        return np.where(apart, distance, -depth), placed, self.rotation @ normal

    def reach(self, normal: Array) -> Array:
        reach: Array = self.centre @ normal + 0.5 * self.size @ np.abs(self.rotation.T @ normal)
        return reach

    def _excess(self, x: Array) -> Array:
        """From the nearest point of the box to x."""
        return x - np.clip(x, -0.5 * self.size[:, None], 0.5 * self.size[:, None])

    def _nearest(self, x: Array, u: Array) -> Array:
        """s in [0, 1] for which x + s u is closest: the squared distance is convex in s, its slope continuous and
        straight between the values of s at which a coordinate passes a side."""
        half = 0.5 * self.size[:, None]
        moves = u != 0.0
        step = np.where(moves, u, 1.0)
        crossings = [np.where(moves, (side - x) / step, 0.0) for side in (-half, half)]
        bounds = np.zeros((1, x.shape[1])), np.ones((1, x.shape[1]))
        s = np.sort(np.clip(np.concatenate([*crossings, *bounds]), 0.0, 1.0), axis=0)
        slope = np.stack([(self._excess(x + at * u) * u).sum(0) for at in s])
        last = np.clip((slope < 0.0).sum(0) - 1, 0, len(s) - 2)  # the slope grows: negative ones come first
        columns = np.arange(x.shape[1])
        low, high = slope[last, columns], slope[last + 1, columns]
        falls = (low < 0.0) & (high > low)
        part = np.where(falls, np.minimum(-low / np.where(falls, high - low, 1.0), 1.0), 0.0)
        nearest: Array = s[last, columns] + part * (s[last + 1, columns] - s[last, columns])
        return nearest

    def _way_out(self, start: Array, end: Array) -> tuple[Array, Array, Array]:
        """Shortest way out of a face (N,), the end (3, N) that comes out last, and the face's normal (3, N)."""
        half = 0.5 * self.size[:, None]
        ways = np.concatenate([half - np.minimum(start, end), half + np.maximum(start, end)])  # faces +xyz, −xyz
        face = np.argmin(ways, axis=0)
        normal = np.concatenate([np.eye(3), -np.eye(3)])[face].T
        last = (normal * start).sum(0) <= (normal * end).sum(0)
        return ways[face, np.arange(start.shape[1])], np.where(last, start, end), normal


Obstacle = Round | Wall | Block
