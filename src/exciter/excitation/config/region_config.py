"""``workspace:`` of the configuration: where a frame of the robot may be. One entry, one constraint."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ExciterError, ParameterError, shown
from exciter.excitation.config.section import Section, number
from exciter.excitation.constraints.any_of import AnyOf
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.workspace import (
    Box,
    HalfSpace,
    InsideCylinder,
    InsideSphere,
    OutsideCylinder,
    OutsideSphere,
)
from exciter.robot.robot import Robot

Array = NDArray[np.float64]
SIDES = tuple(f"{axis}_{side}" for axis in "xyz" for side in ("min", "max"))
ENDS = (("min", -math.inf), ("max", math.inf))
ORIGIN, UP = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def frame_name(section: Section, robot: Robot) -> str:
    """``frame`` of a section: one that the robot has."""
    name = section.get("frame")
    if name not in robot.frame_names:
        raise ExciterError(f"{section.at('frame')} is {shown(name)}; allowed are {', '.join(robot.frame_names)}")
    return str(name)


def radius(section: Section) -> float:
    if "radius" not in section:
        raise ExciterError(f"{section.where} has no radius; give it in m")
    return section.number("radius", 0.0, above=0.0)


def _half_space(robot: Robot, frame: str, given: Section) -> Constraint:
    return HalfSpace(robot, frame, given.vector("normal", 3), given.number("offset", 0.0))


def _box(robot: Robot, frame: str, given: Section) -> Constraint:
    return Box(robot, frame, _corner(given, "lower", -math.inf), _corner(given, "upper", math.inf))


def _sphere(kind: type[InsideSphere] | type[OutsideSphere]) -> Callable[[Robot, str, Section], Constraint]:
    return lambda robot, frame, given: kind(robot, frame, radius(given), given.vector("centre", 3, ORIGIN))


def _inside_cylinder(robot: Robot, frame: str, given: Section) -> Constraint:
    return InsideCylinder(robot, frame, radius(given), given.vector("point", 3, ORIGIN), given.vector("axis", 3, UP))


def _outside_cylinder(robot: Robot, frame: str, given: Section) -> Constraint:
    ends = (given.number("lower", -math.inf), given.number("upper", math.inf))
    point, axis = given.vector("point", 3, ORIGIN), given.vector("axis", 3, UP)
    return OutsideCylinder(robot, frame, radius(given), point, axis, *ends)


REGIONS: dict[str, tuple[tuple[str, ...], Callable[[Robot, str, Section], Constraint]]] = {
    "half_space": (("normal", "offset"), _half_space),
    "box": (("lower", "upper"), _box),
    "inside_sphere": (("radius", "centre"), _sphere(InsideSphere)),
    "outside_sphere": (("radius", "centre"), _sphere(OutsideSphere)),
    "inside_cylinder": (("radius", "point", "axis"), _inside_cylinder),
    "outside_cylinder": (("radius", "point", "axis", "lower", "upper"), _outside_cylinder),
}


def region(entry: Any, where: str, robot: Robot) -> Constraint:
    """One entry of ``workspace``: sides by name, one region, or any_of several entries."""
    section = Section.of(entry, where, ("frame", "any_of", *SIDES, *REGIONS))
    if "any_of" in section:
        if len(section.data) > 1:
            raise ExciterError(f"{where}: any_of stands alone; write the rest as further entries")
        members = enumerate(section.entries("any_of"))
        return AnyOf(tuple(region(member, f"{where}: any_of {k + 1}", robot) for k, member in members))
    frame = frame_name(section, robot)
    kinds = [kind for kind in REGIONS if kind in section]
    sides = {side: section.number(side, 0.0) for side in SIDES if side in section}
    if len(kinds) + bool(sides) != 1:
        raise ExciterError(
            f"{where} must say one thing of frame '{frame}': sides ({', '.join(SIDES)}), or one of {', '.join(REGIONS)}"
        )
    try:
        if sides:
            lower, upper = (np.array([sides.get(f"{axis}_{end}", open_) for axis in "xyz"]) for end, open_ in ENDS)
            return Box(robot, frame, lower, upper)
        keys, build = REGIONS[kinds[0]]
        return build(robot, frame, section.section(kinds[0], keys))
    except ParameterError as error:
        raise ExciterError(f"{where}: {error}") from None


def _corner(section: Section, key: str, missing: float) -> Array:
    """(3,); null or .inf where a side is open."""
    if key not in section:
        return np.full(3, missing)
    given = section.get(key)
    if not isinstance(given, list) or len(given) != 3:
        raise ExciterError(f"{section.at(key)} is {shown(given)}; give three numbers, null where a side is open")
    return np.array([missing if value in (None, missing) else number(value, section.at(key)) for value in given])
