"""``constraints:`` of a configuration: what a motion must respect beyond the joint limits.

    constraints:
      torque: {margin: 0.1, payload: {frame: flange, mass: 2.0, centre: [0, 0, 0.05]}}   # or true, false
      self_collision: {clearance: 0.02, pairs: [[link_2, link_5]]}                       # or true, false
      workspace:
        - {frame: flange, z_min: 0.1, x_max: 0.8}
        - {frame: flange, outside_cylinder: {radius: 0.3, upper: 0.4}}
        - any_of: [{frame: flange, z_min: 1.6}, {frame: flange, outside_cylinder: {radius: 0.5}}]
      obstacles:
        - {sphere: {centre: [0.5, 0, 0.4], radius: 0.1}}
        - {capsule: {start: [1, 0, 0], end: [1, 0, 1], radius: 0.05}}
        - {half_space: {normal: [0, 0, 1], offset: 0}}
        - {box: {lower: [0.4, -1, 0], upper: [0.8, 1, 0.3]}}
      ground: -0.5                 # or none, or {height: -0.5, normal: [0, 0, 1], clearance: 0.05}

Torque limits apply when the robot has any, with the masses, friction and rotor inertia of the description, whatever
``terms:`` says is to be identified; self-collision when it has pairs of bodies to be kept apart; these, and
obstacles, keep a clearance of 1 cm unless another one is given. Pairs, and ``against: [link_5, joint_6]`` of an
obstacle, name links, joints or capsules; a link or joint means all capsules of it. The robot stays on its side of the
plane that it is mounted on, unless ``ground`` is none: at the height of its description, or z = 0 of the base."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, RobotError, shown, unknown_name
from exciter.excitation.constraints.collision import Block, CapsuleDistance, Obstacle, Round, Wall
from exciter.excitation.constraints.constraint import AnyOf, Constraint
from exciter.excitation.constraints.follower_limits import FollowerLimits
from exciter.excitation.constraints.ground import MOUNTING_NORMAL, mounting_plane
from exciter.excitation.constraints.mesh import MeshDistance
from exciter.excitation.constraints.stance_forces import StanceForces
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.constraints.workspace import REGIONS, Box, Coordinate, FrameName, Radius, Region
from exciter.robot.robot import Robot
from exciter.robot.spatial import from_pseudo_inertia
from exciter.settings import Name, Names, Number, OneOf, Registry, Settings, Switch, Vector, keys_of
from exciter.settings.field_markers import Kind, inside, says_none, wrong
from exciter.settings.fill import filled, json_schema
from exciter.typing import Array

Triple = tuple[float, float, float]
Point = Annotated[Triple, Vector(3, "m")]
Direction = Annotated[Triple, Vector(3)]
Clearance = Annotated[float, Number(least=0.0, unit="m")]
DEFAULT_CLEARANCE_M = 0.01  # [m]
BOX_SIDES = tuple(f"{axis}_{end}" for axis in "xyz" for end in ("min", "max"))


class RegionOfAFrame(Kind):
    """Sides by name, one region, or any_of several entries."""

    wanted = f"frame, and sides ({', '.join(BOX_SIDES)}) or one of {', '.join(REGIONS.words)}; or any_of"
    known = ("frame", "any_of", *BOX_SIDES, *REGIONS.words)

    def check(self, given: Any, context: Mapping[str, Any]) -> Region | AnyOf:
        if isinstance(given, Region | AnyOf):
            return given
        if not isinstance(given, Mapping):
            raise wrong(f" is {shown(given)}; give a mapping with {self.wanted}")
        for key in given:
            if key not in self.known:
                raise wrong(f": {unknown_name('key', str(key), self.known)}")
        data = {key: value for key, value in given.items() if value is not None}
        if "any_of" in data:
            if len(given) > 1:
                raise wrong(": any_of stands alone; write the rest as further entries")
            try:
                with inside(": any_of"):
                    several = filled(tuple[Annotated[Any, self], ...], data["any_of"], context)
                return AnyOf(several)
            except ExciterError as error:
                raise wrong(f": {error}") from None
        if "frame" not in data:
            raise wrong(" has no frame; give the name of a frame")
        sides, kinds = [key for key in BOX_SIDES if key in data], [key for key in REGIONS.words if key in data]
        if len(kinds) + bool(sides) != 1:
            raise wrong(
                f" must say one thing of frame {shown(data['frame'])}: sides ({', '.join(BOX_SIDES)}), or one of "
                f"{', '.join(REGIONS.words)}"
            )
        for side in sides:
            with inside(f": {side}"):
                data[side] = filled(Coordinate, data[side])
        ends = {"lower": "min", "upper": "max"}
        box = {name: [data.get(f"{axis}_{end}") for axis in "xyz"] for name, end in ends.items()}
        own = box if sides else data[kinds[0]]
        if not isinstance(own, Mapping):
            raise wrong(f": {kinds[0]} is {shown(own)}; give a mapping")
        with inside("" if sides else f": {kinds[0]}"):
            made: Region = filled(Box if sides else REGIONS[kinds[0]], {"frame": data["frame"], **own}, context)
        return made

    def schema(self) -> dict[str, Any]:
        number = json_schema(Coordinate)
        regions = {cls.word: json_schema(cls) for cls in REGIONS}
        for one in regions.values():
            del one["properties"]["frame"]
            one["required"].remove("frame")
        properties = {"frame": {"type": "string"}, **dict.fromkeys(BOX_SIDES, number), **regions}
        several = {"any_of": {"type": "array", "items": {"type": "object", "properties": properties}}}
        return {"type": "object", "properties": {**properties, **several}, "additionalProperties": False}


@dataclass(frozen=True)
class SphereShape(Settings):
    word = title = "sphere"
    centre: Point
    radius: Radius


@dataclass(frozen=True)
class CapsuleShape(Settings):
    word = title = "capsule"
    start: Point
    end: Point
    radius: Radius


@dataclass(frozen=True)
class HalfSpaceShape(Settings):
    word, title = "half_space", "half-space"
    normal: Direction
    offset: Coordinate = 0.0


@dataclass(frozen=True)
class BoxShape(Settings):
    word = title = "box"
    lower: Point
    upper: Point

    def __post_init__(self) -> None:
        if not (np.array(self.lower) < np.array(self.upper)).all():
            ends = f"lower {list(self.lower)}, upper {list(self.upper)}"
            raise ExciterError(f"it has {ends}; every lower side must be below its upper one")


OBSTACLES = Registry[Settings]("obstacle", SphereShape, CapsuleShape, HalfSpaceShape, BoxShape)


@dataclass(frozen=True)
class ObstacleSettings(Settings):
    """A body fixed in the base, by one of four shapes."""

    flat: ClassVar[tuple[str, ...]] = ("shape",)
    shape: Annotated[Settings, OneOf(OBSTACLES)]
    name: Name | None = None
    against: Names | None = None

    def obstacle(self, number: int) -> Obstacle:
        name, against = self.name or f"obstacle {number}", self.against or None
        match self.shape:
            case SphereShape(centre, radius):
                return Round.sphere(name, np.array(centre), radius, against)
            case CapsuleShape(start, end, radius):
                return Round(name, np.array(start), np.array(end), radius, against)
            case HalfSpaceShape(normal, offset):
                return Wall(name, np.array(normal), offset, against)
            case BoxShape(lower, upper):
                middle, size = 0.5 * np.add(lower, upper), np.subtract(upper, lower)
                return Block(name, middle, size, against=against)
        raise ExciterError(f"{name} is a {type(self.shape).__name__}; give one of {', '.join(OBSTACLES.words)}")


@dataclass(frozen=True)
class PayloadSettings(Settings):
    """A point mass that a frame carries."""

    frame: FrameName
    mass: Annotated[float, Number(above=0.0, unit="kg")]
    centre: Point = (0.0, 0.0, 0.0)

    def carried(self, model: DynamicModel) -> Array:
        """χ of the description, with it."""
        frame = model.robot.frame(self.frame)
        if frame.joint < 0:
            raise ParameterError(f"frame is '{frame.name}', which is fixed on the base; name one that moves")
        point = np.append(frame.translation + frame.rotation @ np.array(self.centre), 1.0)
        inertias = np.array(model.robot.inertias)
        inertias[frame.joint] += from_pseudo_inertia(self.mass * np.outer(point, point))
        return DynamicModel(model.robot.with_inertias(inertias), model.terms, model.engine).nominal


@dataclass(frozen=True)
class TorqueSettings(Settings):
    margin: Annotated[float, Number(least=0.0)] = 0.0
    payload: PayloadSettings | None = None


class TwoBodies(Kind):
    wanted = "two names of bodies, [first, second]"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[str, str]:
        listed = isinstance(given, list | tuple) and len(given) == 2
        if not listed or not all(isinstance(name, str) for name in given):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        return given[0], given[1]

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}


@dataclass(frozen=True)
class SelfCollision(Settings):
    clearance: Clearance = DEFAULT_CLEARANCE_M
    pairs: tuple[Annotated[tuple[str, str], TwoBodies()], ...] | None = None
    meshes: Switch = False

    def __post_init__(self) -> None:
        if self.pairs == ():
            raise ParameterError("pairs is empty; name pairs of bodies, or write self_collision: false")


@dataclass(frozen=True)
class GroundSettings(Settings):
    """height [m] along the normal, that of the description unless given."""

    height: Coordinate | None = None
    normal: Direction | None = None
    clearance: Clearance = DEFAULT_CLEARANCE_M

    def plane(self, robot: Robot) -> CapsuleDistance | None:
        known = robot.base_bottom if robot.ground is None else robot.ground
        assumed = robot.ground is None and self.height is None and self.normal is None
        height = self.height if self.height is not None else 0.0 if self.normal is not None else known
        return mounting_plane(robot, height, self.normal or MOUNTING_NORMAL, self.clearance, assumed=assumed)


@dataclass(frozen=True)
class OnOff(Kind):
    """true, false (None: as the robot asks for) or settings; of the ground also a height, or none."""

    settings: type[Settings]

    @property
    def wanted(self) -> str:
        if self.settings is GroundSettings:
            return "a height [m] along z of the base, none, or {height: …, normal: [x, y, z], clearance: …}"
        return f"true, false, or a mapping with some of the keys {', '.join(keys_of(self.settings))}"

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        ground = self.settings is GroundSettings
        if given is False or isinstance(given, self.settings) or (ground and says_none(given)):
            return given if isinstance(given, self.settings) else False
        if given is True or isinstance(given, Mapping):
            return filled(self.settings, {} if given is True else given, context)
        if ground and isinstance(given, int | float | str):
            with suppress(ValueError):
                return GroundSettings(height=float(filled(Coordinate, given)))
        raise wrong(f" is {shown(given)}; give {self.wanted}")

    def schema(self) -> dict[str, Any]:
        short = [{"type": "number"}, {"const": "none"}] if self.settings is GroundSettings else []
        return {"anyOf": [{"type": "boolean"}, *short, json_schema(self.settings)]}


@dataclass(frozen=True)
class ConstraintSettings(Settings):
    """What a motion must respect beyond the limits of the joints.

    torque, self_collision, ground: None leaves them to the robot, False is off. further: constraints and
    obstacles of Python code.

    >>> room = ex.Box(robot, "tool", lower=(-2, -2, -0.6), upper=(2, 2, 1))
    >>> within = ex.ConstraintSettings(workspace=(room,), ground=-0.8)
    >>> ex.design(robot, ex.RandomPoints(points=4), constraints=within).certificate.certified
    True"""

    inner: ClassVar[tuple[str, ...]] = ("further",)
    torque: Annotated[TorqueSettings | bool | None, OnOff(TorqueSettings)] = None
    self_collision: Annotated[SelfCollision | bool | None, OnOff(SelfCollision)] = None
    workspace: tuple[Annotated[Region | AnyOf, RegionOfAFrame()], ...] = ()
    obstacles: tuple[ObstacleSettings, ...] = ()
    ground: Annotated[GroundSettings | bool | None, OnOff(GroundSettings)] = None
    further: tuple[Constraint | Obstacle, ...] = ()

    def constraints(self, robot: Robot, where: str = "constraints") -> tuple[Constraint, ...]:
        """Every constraint that is asked for, or that the robot itself asks for. where: begins messages."""
        following = FollowerLimits.of(robot)
        found: list[Constraint] = [] if following is None else [following]
        limited, paired = bool(np.isfinite(robot.limit("torque")).any()), bool(robot.collision_pairs)
        torque = TorqueSettings() if self.torque is None and limited else self.torque
        margin = torque.margin if isinstance(torque, TorqueSettings) else 0.0
        if (forces := StanceForces.of(robot, margin, torques=torque is not False)) is not None:
            if isinstance(torque, TorqueSettings) and torque.payload is not None:
                raise ParameterError(f"{where}: torque: payload: a robot that stands carries none so far; leave it out")
            found.append(forces)
        elif isinstance(torque, TorqueSettings):
            empty = TorqueLimits.of(robot, margin=torque.margin)  # its gaps stay: a payload makes no arm's masses known
            with _located(f"{where}: torque: payload"):
                chi = empty.model.nominal if torque.payload is None else torque.payload.carried(empty.model)
            found.append(replace(empty, chi=chi))
        for k, region in enumerate(self.workspace):
            with _located(f"{where}: workspace {k + 1}"):
                found.append(region.on(robot))
        bodies = [one for one in self.further if isinstance(one, Obstacle)]
        for k, one in enumerate(self.obstacles):
            with _located(f"{where}: obstacles {k + 1}"):
                bodies.append(one.obstacle(k + 1))
        apart = SelfCollision() if self.self_collision is None and paired else self.self_collision
        pairs, clearance = (
            (apart.pairs, apart.clearance) if isinstance(apart, SelfCollision) else ((), DEFAULT_CLEARANCE_M)
        )
        if isinstance(apart, SelfCollision) and apart.meshes:
            found.append(MeshDistance(robot, pairs, clearance))
            pairs = ()
        if bodies or pairs != ():
            found.append(CapsuleDistance(robot, pairs, clearance, bodies))
        ground = GroundSettings() if self.ground is None else self.ground
        if isinstance(ground, GroundSettings):
            with _located(f"{where}: ground"):
                plane = ground.plane(robot)
            found += [] if plane is None else [plane]
        return (*found, *(one for one in self.further if not isinstance(one, Obstacle)))


@contextmanager
def _located(where: str) -> Iterator[None]:
    """Messages about what cannot be made begin with its place."""
    try:
        yield
    except (ParameterError, RobotError) as error:
        raise ExciterError(f"{where}: {error}") from None
