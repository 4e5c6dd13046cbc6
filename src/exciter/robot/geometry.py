"""Simple shapes on the bodies: what may collide, and what to look at. Nothing here enters the dynamics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from exciter.errors import RobotError
from exciter.robot.spatial import rotation_to
from exciter.settings.field_markers import LARGEST_OF_A_ROBOT
from exciter.typing import Array, Index

Role = Literal["both", "visual", "collision"]
Colour = tuple[float, float, float, float]  # red, green, blue, alpha in 0…1
GREY: Colour = (0.7, 0.7, 0.7, 1.0)
ROLES: tuple[Role, ...] = ("both", "visual", "collision")


def frozen_array(values: Any, shape: tuple[int, ...], what: str) -> Array:
    """A read-only float64 copy of the given shape, finite; ``what`` names it in the error."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise RobotError(f"{what} must be numbers of shape {shape}") from None
    if array.shape != shape:
        raise RobotError(f"{what} has shape {array.shape}; it must be {shape}")
    if not np.isfinite(array).all():
        raise RobotError(f"{what} contains NaN or infinity")
    if (largest := np.abs(array).max(initial=0.0)) > LARGEST_OF_A_ROBOT:
        raise RobotError(f"{what} contains {largest:g}; no robot has a number beyond {LARGEST_OF_A_ROBOT:g}")
    array.flags.writeable = False
    return array


class OnBody:
    """What is fixed on the body of ``joint`` (−1: the base), and placed in that joint's frame."""

    rotation: Array
    translation: Array

    def placed(self, joint: int, rotation: Array, translation: Array) -> Self:
        """The same on ``joint``, where (rotation, translation) is its old reference seen from that joint."""
        turned, moved = rotation @ self.rotation, rotation @ self.translation + translation
        return replace(self, joint=joint, rotation=turned, translation=moved)  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points within ``radius`` [m] of the segment start–end, in the frame of ``joint`` (−1: the base)."""

    name: str
    joint: int
    start: Array
    end: Array
    radius: float

    def __post_init__(self) -> None:
        for end in ("start", "end"):
            object.__setattr__(self, end, frozen_array(getattr(self, end), (3,), f"{end} of capsule '{self.name}'"))
        if not self.radius > 0:
            raise RobotError(f"capsule '{self.name}' has radius {self.radius}; it must be positive")

    def placed(self, joint: int, rotation: Array, translation: Array) -> Capsule:
        """As that of shapes."""
        start, end = rotation @ self.start + translation, rotation @ self.end + translation
        return replace(self, joint=joint, start=start, end=end)

    @property
    def solid(self) -> Shape:
        """The same as a shape, along its own z."""
        along = self.end - self.start
        length = float(np.linalg.norm(along))
        turn = rotation_to(along / length) if length > 0.0 else np.eye(3)
        return Shape("capsule", self.joint, (self.radius, length), turn, 0.5 * (self.start + self.end))


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles: vertices (V, 3) [m], faces (F, 3) of indices into them."""

    vertices: Array
    faces: Index


@dataclass(frozen=True, eq=False)
class Shape(OnBody):
    """A solid on the body of ``joint`` (−1: the base), placed in that joint's frame. size [m]: box (x, y, z), sphere
    (radius,), cylinder and capsule (radius, length along z), mesh (scale x, y, z). colour: red, green, blue, alpha in
    0…1. mesh: file below the allowed root, for kind "mesh" only. role: a visual shape is only looked at, a collision
    shape only measured. surface: of a mesh that was read for a picture, coarser than the file, scaled, in its frame."""

    kind: Literal["box", "sphere", "cylinder", "capsule", "mesh"]
    joint: int
    size: tuple[float, ...]
    rotation: Array
    translation: Array
    colour: Colour = GREY
    mesh: str = ""
    role: Role = "both"
    surface: Surface | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation", frozen_array(self.rotation, (3, 3), "rotation of a shape"))
        object.__setattr__(self, "translation", frozen_array(self.translation, (3,), "origin of a shape"))

    @property
    def collides(self) -> bool:
        return self.role != "visual"

    @property
    def visible(self) -> bool:
        return self.role != "collision"
