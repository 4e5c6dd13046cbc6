"""What regions have in common: a signed distance of one point of the robot, positive where it may be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ParameterError, shown
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.constraint import LENGTH, RowName, Rows
from exciter.excitation.constraints.kinematics import kinematics
from exciter.robot.motion import Motion
from exciter.robot.robot import Frame, Robot
from exciter.settings import Number, Settings, Text, Vector
from exciter.typing import Array

FrameName = Annotated[str, Text("a frame")]
Point = Annotated[Array, Vector(3, "m")]
Direction = Annotated[Array, Vector(3)]
Radius = Annotated[float, Number(above=0.0, unit="m")]
Coordinate = Annotated[float, Number(unit="m")]


@dataclass(frozen=True, eq=False)
class Region(Settings, ABC):
    """The origin x of a frame must stay in a region of the base: rows c = distance(x) / LENGTH.

    frame: any name that ``robot.frame`` knows. Give ``distance``, ``gradient`` and ``rows``. No distance changes faster
    than the point moves (|∇| ≤ 1).
    """

    robot: Robot
    frame: FrameName

    #: Whether the distance is a concave function of x (the region is convex): on a chord it is at least the smaller
    #: of the values at the ends.
    concave: ClassVar[bool]

    def __post_init__(self) -> None:
        if self.robot is not None:  # a file is read before its robot is known
            self.settle()

    def settle(self) -> None:
        """Check what is given, and bring it into the form that is computed with."""
        _ = self.carrier  # refuses an unknown name at once

    def on(self, robot: Robot) -> Self:
        """The region of a file, on its robot."""
        return self if self.robot is robot else replace(self, robot=robot)

    def entry(self, data: Any) -> Any:
        return {"frame": data.pop("frame"), self.word: data}

    @cached_property
    def carrier(self) -> Frame:
        """The frame on its body."""
        return self.robot.frame(self.frame)

    @property
    @abstractmethod
    def rows(self) -> tuple[RowName, ...]: ...

    @abstractmethod
    def distance(self, x: Array) -> Array:
        """(K, N) [m] of points x (3, N)."""

    @abstractmethod
    def gradient(self, x: Array) -> Array:
        """∂ distance / ∂x (K, 3, N), or (K, 3, 1) where it is constant."""

    def points(self, motion: Motion) -> Array:
        """x (3, N) [m] in the base."""
        return kinematics(self.robot, motion).point(self.carrier.joint, self.carrier.translation)

    def values(self, motion: Motion) -> Array:
        return self.distance(self.points(motion)) / LENGTH

    def linearised(self, motion: Motion) -> Rows:
        x = self.points(motion)
        gradient = np.broadcast_to(self.gradient(x) / LENGTH, (len(self.rows), *x.shape))
        return Rows(self.distance(x) / LENGTH, kinematics(self.robot, motion).pull(self.carrier.joint, x, gradient))

    def lower_bounds(self, spans: Spans) -> Array:
        from exciter.excitation.certificate.distance_bound import region_lower_bounds

        return region_lower_bounds(self, spans)


def vector(values: ArrayLike, what: str, *, finite: bool = True) -> Array:
    """A read-only (3,) vector."""
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (3,) or np.isnan(array).any() or (finite and not np.isfinite(array).all()):
        raise ParameterError(
            f"{what} must be three {'finite ' if finite else ''}numbers (x, y, z); given {shown(values)}"
        )
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


def checked_radius(radius: float, what: str) -> None:
    if not (np.isfinite(radius) and radius > 0.0):
        raise ParameterError(f"the radius of {what} is {radius}; it must be positive [m]")
