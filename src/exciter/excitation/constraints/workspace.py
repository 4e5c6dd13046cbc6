"""Regions of the workspace: half-space, box, sphere, cylinder; inside or outside.

With them the limits of the papers read

- heights 500 mm < z < 2500 mm (003, section 4): ``Box(robot, tool, lower=(-inf, -inf, 0.5), upper=(inf, inf, 2.5))``;
- "touches its base if r < 500 mm and z < 1600 mm" (003): ``OutsideCylinder(robot, tool, 0.5, upper=1.6)``, or
  ``AnyOf((HalfSpace(robot, tool, (0, 0, 1), 1.6), OutsideCylinder(robot, tool, 0.5)))``: the same set, the first
  with round edges;
- a box (004 eqs. (16), (33)–(35)) and a sphere about the base, |x| ≥ 0.3 m (004 eqs. (17), (36)): ``OutsideSphere``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ExciterError, ParameterError, shown
from exciter.excitation.certificate.spans import Spans, norm
from exciter.excitation.constraints.constraint import (
    ROW_LENGTH_M,
    ConstraintRows,
    RowName,
    kinematics,
    moving_point,
    rows_of,
)
from exciter.robot.motion import Motion
from exciter.robot.robot import Frame, Robot
from exciter.settings import Number, Settings, Text, Vector
from exciter.typing import Array

FrameName = Annotated[str, Text("a frame")]
Point = Annotated[Array, Vector(3, "m")]
Direction = Annotated[Array, Vector(3)]
Radius = Annotated[float, Number(above=0.0, unit="m")]
Coordinate = Annotated[float, Number(unit="m")]
UPWARD_AXIS = (0.0, 0.0, 1.0)
COORDINATES = ("x", "y", "height")


@dataclass(frozen=True, eq=False)
class Region(Settings, ABC):
    """The origin x of a frame must stay in a region of the base: rows c = distance(x) / ROW_LENGTH_M.

    frame: any name that ``robot.frame`` knows. Give ``distance``, ``gradient`` and ``rows``. No distance changes faster
    than the point moves (|∇| ≤ 1).
    """

    refusal: ClassVar[type[ExciterError]] = ParameterError

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

    def _row(self, what: str, limit: float, *, upper: bool) -> RowName:
        return RowName(what, self.frame, "m", limit, ROW_LENGTH_M, upper)

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
        return self.distance(self.points(motion)) / ROW_LENGTH_M

    def linearised(self, motion: Motion) -> ConstraintRows:
        x, at = self.points(motion), kinematics(self.robot, motion)
        gradient = np.broadcast_to(self.gradient(x) / ROW_LENGTH_M, (len(self.rows), *x.shape))
        return ConstraintRows(self.distance(x) / ROW_LENGTH_M, at.pull(self.carrier.joint, x, gradient))

    def lower_bounds(self, spans: Spans) -> Array:
        x, slack = moving_point(self.robot, self.carrier.joint, self.carrier.translation, spans)
        distance = self.distance(x)
        left, right = distance[:, 0::2], distance[:, 1::2]
        if self.concave:
            return rows_of(np.minimum(left, right) - slack)
        step = x[:, 1::2] - x[:, 0::2]
        chord = 0.5 * (left + right - np.linalg.norm(step, axis=0))  # no distance changes faster than the point moves
        if isinstance(self, OutsideSphere | OutsideCylinder):  # their distance is a convex function of x
            chord = np.maximum(chord, self._tangent_planes(x, step))
        return rows_of(chord - slack)

    def _tangent_planes(self, x: Array, step: Array) -> Array:
        """(K, M): the distance from a convex body lies above its tangent plane at the middle of the chord."""
        middle = x[:, 0::2] + 0.5 * step
        slope = np.abs(np.einsum("kaM,aM->kM", np.broadcast_to(self.gradient(middle), (1, *middle.shape)), 0.5 * step))
        planes: Array = self.distance(middle) - slope
        return planes


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


@dataclass(frozen=True, eq=False)
class HalfSpace(Region):
    """A frame stays on one side of a plane.

    normal · x ≥ offset; both may be given in any length of the normal. z ≥ 0.3: normal (0, 0, 1), offset 0.3.

    >>> ex.HalfSpace(robot, "tool", normal=(0, 0, 1), offset=-0.5).rows[0].what
    'height'
    """

    normal: Direction
    offset: Coordinate = 0.0

    word: ClassVar[str] = "half_space"
    title: ClassVar[str] = "half-space"
    concave: ClassVar[bool] = True

    def settle(self) -> None:
        super().settle()
        unit, length = direction(self.normal, f"the normal of a half-space for '{self.frame}'")
        if not math.isfinite(self.offset):
            raise ParameterError(f"the offset of a half-space for '{self.frame}' is {self.offset}; it must be finite")
        object.__setattr__(self, "normal", unit)
        object.__setattr__(self, "offset", self.offset / length)

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        along = int(np.argmax(np.abs(self.normal)))
        if abs(self.normal[along]) == 1.0:  # a coordinate: said as such
            upper = bool(self.normal[along] < 0.0)
            return (self._row(COORDINATES[along], -self.offset if upper else self.offset, upper=upper),)
        words = ", ".join(f"{component:.3g}" for component in self.normal)
        return (self._row(f"coordinate along ({words})", self.offset, upper=False),)

    def distance(self, x: Array) -> Array:
        return (self.normal @ x - self.offset)[None]

    def gradient(self, x: Array) -> Array:
        return self.normal[None, :, None]


@dataclass(frozen=True, eq=False)
class Box(Region):
    """A frame stays in a box.

    lower ≤ x ≤ upper (3,) [m], along the base's axes; infinite sides are left out. Rows: lower sides, then upper.

    >>> room = ex.Box(robot, "tool", lower=(-2, -2, -0.5), upper=(2, 2, np.inf))
    >>> [row.what for row in room.rows]
    ['x', 'y', 'height', 'x', 'y']
    """

    lower: Annotated[Array, Vector(3, "m", -math.inf)] = field(default_factory=lambda: np.full(3, -np.inf))
    upper: Annotated[Array, Vector(3, "m", math.inf)] = field(default_factory=lambda: np.full(3, np.inf))

    word: ClassVar[str] = "box"
    title: ClassVar[str] = "box"
    concave: ClassVar[bool] = True

    def entry(self, data: Any) -> Any:
        """By its finite sides: ``z_min: 0.1``."""
        corners = (("min", self.lower), ("max", self.upper))
        sides = {f"{axis}_{end}": float(corner[c]) for c, axis in enumerate("xyz") for end, corner in corners}
        return {"frame": self.frame, **{side: value for side, value in sides.items() if math.isfinite(value)}}

    def settle(self) -> None:
        super().settle()
        for side in ("lower", "upper"):
            corner = vector(getattr(self, side), f"{side} of a box for '{self.frame}'", finite=False)
            object.__setattr__(self, side, corner)
        if (self.lower >= self.upper).any():
            raise ParameterError(
                f"the box for '{self.frame}' is empty: lower {self.lower.tolist()}, upper {self.upper.tolist()}; "
                "every lower side must be below its upper one"
            )
        if not self._sides:
            raise ParameterError(f"the box for '{self.frame}' has no finite side; give lower or upper")

    @cached_property
    def _sides(self) -> list[tuple[int, bool]]:
        """(coordinate, upper) of the finite sides."""
        corners = ((False, self.lower), (True, self.upper))
        return [(c, upper) for upper, corner in corners for c in range(3) if math.isfinite(corner[c])]

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        corners = (self.lower, self.upper)
        return tuple(self._row(COORDINATES[c], float(corners[upper][c]), upper=upper) for c, upper in self._sides)

    def distance(self, x: Array) -> Array:
        return np.stack([self.upper[c] - x[c] if upper else x[c] - self.lower[c] for c, upper in self._sides])

    def gradient(self, x: Array) -> Array:
        return np.array([np.eye(3)[c] * (-1.0 if upper else 1.0) for c, upper in self._sides])[:, :, None]


@dataclass(frozen=True, eq=False)
class _Sphere(Region):
    radius: Radius
    centre: Point = field(default_factory=lambda: np.zeros(3))

    def settle(self) -> None:
        super().settle()
        checked_radius(self.radius, f"a sphere for '{self.frame}'")
        object.__setattr__(self, "centre", vector(self.centre, f"the centre of a sphere for '{self.frame}'"))

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        return (self._row("distance from a point", self.radius, upper=self.concave),)

    def distance(self, x: Array) -> Array:
        return self._outward((norm(self._from_centre(x)) - self.radius)[None])

    def gradient(self, x: Array) -> Array:
        return self._outward(_unit(self._from_centre(x), np.array(UPWARD_AXIS))[None])

    def _outward(self, rows: Array) -> Array:
        return -rows if self.concave else rows

    def _from_centre(self, x: Array) -> Array:
        return x - self.centre[:, None]


@dataclass(frozen=True, eq=False)
class InsideSphere(_Sphere):
    """|x − centre| ≤ radius [m]."""

    word: ClassVar[str] = "inside_sphere"
    title: ClassVar[str] = "inside of a sphere"
    concave: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class OutsideSphere(_Sphere):
    """|x − centre| ≥ radius [m]."""

    word: ClassVar[str] = "outside_sphere"
    title: ClassVar[str] = "outside of a sphere"
    concave: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class _Cylinder(Region):
    radius: Radius
    point: Point = field(default_factory=lambda: np.zeros(3))
    axis: Direction = field(default_factory=lambda: np.array(UPWARD_AXIS))

    def settle(self) -> None:
        super().settle()
        checked_radius(self.radius, f"a cylinder for '{self.frame}'")
        object.__setattr__(self, "point", vector(self.point, f"the point of a cylinder for '{self.frame}'"))
        object.__setattr__(self, "axis", direction(self.axis, f"the axis of a cylinder for '{self.frame}'")[0])

    def _along_and_across(self, x: Array) -> tuple[Array, Array]:
        """Coordinate along the axis (N,) and the component across it (3, N)."""
        away = x - self.point[:, None]
        along: Array = self.axis @ away
        return along, away - self.axis[:, None] * along

    @cached_property
    def _across(self) -> Array:
        """Some direction across the axis: the way out where there is no other."""
        across = np.cross(self.axis, np.eye(3)[int(np.argmin(np.abs(self.axis)))])
        unit: Array = across / np.linalg.norm(across)
        return unit


@dataclass(frozen=True, eq=False)
class InsideCylinder(_Cylinder):
    """At most ``radius`` [m] from the line through ``point`` along ``axis``; the vertical through the base's origin."""

    word: ClassVar[str] = "inside_cylinder"
    title: ClassVar[str] = "inside of a cylinder"
    concave: ClassVar[bool] = True

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        return (self._row("distance from an axis", self.radius, upper=True),)

    def distance(self, x: Array) -> Array:
        return (self.radius - norm(self._along_and_across(x)[1]))[None]

    def gradient(self, x: Array) -> Array:
        return -_unit(self._along_and_across(x)[1], self._across)[None]


@dataclass(frozen=True, eq=False)
class OutsideCylinder(_Cylinder):
    """Outside the solid cylinder of ``radius`` [m] about the line through ``point`` along ``axis``, between the
    coordinates ``lower`` and ``upper`` [m] along it, counted from ``point``; either may be infinite.

    The distance is that from the cylinder with its flat ends; inside it is minus the way to the nearest surface.
    """

    lower: Coordinate = -math.inf
    upper: Coordinate = math.inf

    word: ClassVar[str] = "outside_cylinder"
    title: ClassVar[str] = "outside of a cylinder"
    concave: ClassVar[bool] = False

    def settle(self) -> None:
        super().settle()
        if not self.lower < self.upper:
            raise ParameterError(
                f"the cylinder for '{self.frame}' reaches from {self.lower} to {self.upper}; lower must be below upper"
            )

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        if math.isinf(self.lower) and math.isinf(self.upper):
            return (self._row("distance from an axis", self.radius, upper=False),)
        return (self._row("distance from a cylinder", 0.0, upper=False),)

    def distance(self, x: Array) -> Array:
        outward, beyond = self._excess(*self._along_and_across(x))
        beside_an_edge = (outward > 0.0) & (beyond > 0.0)
        return np.where(beside_an_edge, np.hypot(outward, beyond), np.maximum(outward, beyond))[None]

    def gradient(self, x: Array) -> Array:
        along, across = self._along_and_across(x)
        outward, beyond = self._excess(along, across)
        radial = _unit(across, self._across)
        axial = np.where(along - self.upper >= self.lower - along, 1.0, -1.0) * self.axis[:, None]
        part = np.maximum(np.stack([outward, beyond]), 0.0)
        length = np.hypot(part[0], part[1])
        sideways = outward >= beyond  # inside: the nearest surface
        weight = np.where(length > 0.0, part / np.where(length > 0.0, length, 1.0), np.stack([sideways, ~sideways]))
        gradient: Array = weight[0] * radial + weight[1] * axial
        return gradient[None]

    def _excess(self, along: Array, across: Array) -> tuple[Array, Array]:
        """Distance beyond the mantle and beyond the ends, negative inside."""
        return norm(across) - self.radius, np.maximum(along - self.upper, self.lower - along)


def _unit(x: Array, otherwise: Array) -> Array:
    """x (3, N) at length one; ``otherwise`` (3,) where it is zero."""
    length = norm(x)
    return np.where(length > 0.0, x / np.where(length > 0.0, length, 1.0), otherwise[:, None])
