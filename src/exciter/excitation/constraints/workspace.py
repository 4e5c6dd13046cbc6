"""Regions of the workspace: half-space, box, sphere, cylinder; inside or outside.

With them the limits of the papers read

- heights 500 mm < z < 2500 mm (003, section 4): ``Box(robot, tool, lower=(-inf, -inf, 0.5), upper=(inf, inf, 2.5))``;
- "touches its base if r < 500 mm and z < 1600 mm" (003): ``OutsideCylinder(robot, tool, 0.5, upper=1.6)``, or
  ``AnyOf((HalfSpace(robot, tool, (0, 0, 1), 1.6), OutsideCylinder(robot, tool, 0.5)))``: the same set, the first
  with round edges;
- a box (004 eqs. (16), (33)–(35)) and a sphere about the base, |x| ≥ 0.3 m (004 eqs. (17), (36)): ``OutsideSphere``."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from exciter.errors import ExciterError, ParameterError
from exciter.excitation.certificate.certificate import RowName
from exciter.excitation.certificate.spans import Spans, norm
from exciter.excitation.constraints.collision import direction
from exciter.excitation.constraints.constraint import ROW_LENGTH_M, ConstraintRows, kinematics, moving_point, rows_of
from exciter.robot.motion import Motion, freeze
from exciter.robot.robot import Frame, Robot
from exciter.settings import Number, Registry, Settings, Text, Vector
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
    than the point moves (|∇| ≤ 1)."""

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
        """Check what is given, and bring it into the form that is computed with: vectors are read-only arrays."""
        _ = self.carrier  # refuses an unknown name at once
        freeze(self, *(one.name for one in fields(self) if isinstance(getattr(self, one.name), tuple)))

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
        if isinstance(self, SphereRegion | CylinderRegion):  # convex: above the tangent plane at the middle
            middle = x[:, 0::2] + 0.5 * step
            slope = np.einsum("kaM,aM->kM", np.broadcast_to(self.gradient(middle), (1, *middle.shape)), 0.5 * step)
            chord = np.maximum(chord, self.distance(middle) - np.abs(slope))
        return rows_of(chord - slack)


@dataclass(frozen=True, eq=False)
class HalfSpace(Region):
    """A frame stays on one side of a plane.

    normal · x ≥ offset; both may be given in any length of the normal. z ≥ 0.3: normal (0, 0, 1), offset 0.3.

    >>> ex.HalfSpace(robot, "tool", normal=(0, 0, 1), offset=-0.5).rows[0].what
    'height'"""

    normal: Direction
    offset: Coordinate = 0.0

    word, title, concave = "half_space", "half-space", True

    def settle(self) -> None:
        super().settle()
        unit, length = direction(self.normal, f"the normal of a half-space for '{self.frame}'")
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
    ['x', 'y', 'height', 'x', 'y']"""

    lower: Annotated[Array, Vector(3, "m", -math.inf)] = field(default_factory=lambda: np.full(3, -np.inf))
    upper: Annotated[Array, Vector(3, "m", math.inf)] = field(default_factory=lambda: np.full(3, np.inf))

    word, title, concave = "box", "box", True

    def entry(self, data: Any) -> Any:
        """By its finite sides: ``z_min: 0.1``."""
        sides = {f"{'xyz'[c]}_{'max' if upper else 'min'}": side for c, upper, side in sorted(self.sides)}
        return {"frame": self.frame, **sides}

    def settle(self) -> None:
        super().settle()
        if np.greater_equal(self.lower, self.upper).any():
            raise ParameterError(
                f"the box for '{self.frame}' is empty: lower {self.lower.tolist()}, upper {self.upper.tolist()}; "
                "every lower side must be below its upper one"
            )
        if not self.sides:
            raise ParameterError(f"the box for '{self.frame}' has no finite side; give lower or upper")

    @cached_property
    def sides(self) -> list[tuple[int, bool, float]]:
        """Coordinate, whether it is an upper one, and where [m], of the finite sides."""
        corners = ((False, self.lower), (True, self.upper))
        sides = [(c, upper, float(corner[c])) for upper, corner in corners for c in range(3)]
        return [side for side in sides if math.isfinite(side[2])]

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        return tuple(self._row(COORDINATES[c], side, upper=upper) for c, upper, side in self.sides)

    def distance(self, x: Array) -> Array:
        return np.stack([side - x[c] if upper else x[c] - side for c, upper, side in self.sides])

    def gradient(self, x: Array) -> Array:
        return np.array([np.eye(3)[c] * (-1.0 if upper else 1.0) for c, upper, _ in self.sides])[:, :, None]


@dataclass(frozen=True, eq=False)
class SphereRegion(Region):
    radius: Radius
    centre: Point = field(default_factory=lambda: np.zeros(3))

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        return (self._row("distance from a point", self.radius, upper=self.concave),)

    def distance(self, x: Array) -> Array:
        outward = (norm(x - self.centre[:, None]) - self.radius)[None]
        return -outward if self.concave else outward

    def gradient(self, x: Array) -> Array:
        outward = _unit(x - self.centre[:, None], np.array(UPWARD_AXIS))[None]
        return -outward if self.concave else outward


@dataclass(frozen=True, eq=False)
class InsideSphere(SphereRegion):
    """|x − centre| ≤ radius [m]."""

    word, title, concave = "inside_sphere", "inside of a sphere", True


@dataclass(frozen=True, eq=False)
class OutsideSphere(SphereRegion):
    """|x − centre| ≥ radius [m]."""

    word, title, concave = "outside_sphere", "outside of a sphere", False


@dataclass(frozen=True, eq=False)
class CylinderRegion(Region):
    """The distance outside is that from the solid cylinder with its flat ends, where it has any; inside it is minus the
    way to the nearest surface."""

    radius: Radius
    point: Point = field(default_factory=lambda: np.zeros(3))
    axis: Direction = field(default_factory=lambda: np.array(UPWARD_AXIS))

    lower: ClassVar[float] = -math.inf
    upper: ClassVar[float] = math.inf

    def settle(self) -> None:
        super().settle()
        object.__setattr__(self, "axis", direction(self.axis, f"the axis of a cylinder for '{self.frame}'")[0])
        if not self.lower < self.upper:
            raise ParameterError(
                f"the cylinder for '{self.frame}' reaches from {self.lower} to {self.upper}; lower must be below upper"
            )

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        if math.isinf(self.lower) and math.isinf(self.upper):
            return (self._row("distance from an axis", self.radius, upper=self.concave),)
        return (self._row("distance from a cylinder", 0.0, upper=False),)

    @cached_property
    def _aside(self) -> Array:
        """(3,) some direction across the axis."""
        aside = np.cross(self.axis, np.eye(3)[int(np.argmin(np.abs(self.axis)))])
        return np.asarray(aside / np.linalg.norm(aside))

    def _excess(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Distance (N,) beyond the mantle and beyond the ends, negative inside, and the ways (3, N) there: across the
        axis (any, where there is no other) and along it."""
        away = x - self.point[:, None]
        along = self.axis @ away
        across = away - self.axis[:, None] * along
        axial = np.where(along - self.upper >= self.lower - along, 1.0, -1.0) * self.axis[:, None]
        beyond = np.maximum(along - self.upper, self.lower - along)
        return norm(across) - self.radius, beyond, _unit(across, self._aside), axial

    def distance(self, x: Array) -> Array:
        outward, beyond, *_ = self._excess(x)
        beside_an_edge = (outward > 0.0) & (beyond > 0.0)
        distance = np.where(beside_an_edge, np.hypot(outward, beyond), np.maximum(outward, beyond))[None]
        return -distance if self.concave else distance

    def gradient(self, x: Array) -> Array:
        outward, beyond, radial, axial = self._excess(x)
        part = np.maximum(np.stack([outward, beyond]), 0.0)
        length = np.hypot(part[0], part[1])
        sideways = outward >= beyond  # inside: the nearest surface
        weight = np.where(length > 0.0, part / np.where(length > 0.0, length, 1.0), np.stack([sideways, ~sideways]))
        gradient: Array = (weight[0] * radial + weight[1] * axial)[None]
        return -gradient if self.concave else gradient


@dataclass(frozen=True, eq=False)
class InsideCylinder(CylinderRegion):
    """At most ``radius`` [m] from the line through ``point`` along ``axis``; the vertical through the base's origin."""

    word, title, concave = "inside_cylinder", "inside of a cylinder", True


@dataclass(frozen=True, eq=False)
class OutsideCylinder(CylinderRegion):
    """Outside the solid cylinder of ``radius`` [m] about the line through ``point`` along ``axis``, between the
    coordinates ``lower`` and ``upper`` [m] along it, counted from ``point``; either may be infinite."""

    lower: Coordinate = -math.inf  # type: ignore[misc]
    upper: Coordinate = math.inf  # type: ignore[misc]

    word, title, concave = "outside_cylinder", "outside of a cylinder", False


def _unit(x: Array, otherwise: Array) -> Array:
    """x (3, N) at length one; ``otherwise`` (3,) where it is zero."""
    length = norm(x)
    return np.where(length > 0.0, x / np.where(length > 0.0, length, 1.0), otherwise[:, None])


REGIONS = Registry[Region]("region", HalfSpace, Box, InsideSphere, OutsideSphere, InsideCylinder, OutsideCylinder)
