"""``constraints:`` of the configuration: what a motion must respect beyond the joint limits.

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
plane that it is mounted on, unless ``ground`` is none: at the height of its description, or z = 0 of the base.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, shown
from exciter.excitation.config.region_config import ORIGIN, frame_name, radius, region
from exciter.excitation.config.section import Section, number, says_none
from exciter.excitation.constraints.collision import CapsuleDistance
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.ground import OUT_OF_THE_MOUNTING, mounting_plane
from exciter.excitation.constraints.mesh import MeshDistance
from exciter.excitation.constraints.obstacles import Block, Obstacle, Round, Wall
from exciter.excitation.constraints.torque import TorqueLimits
from exciter.robot.robot import Robot
from exciter.robot.spatial import from_pseudo_inertia

Array = NDArray[np.float64]
CLEARANCE = 0.01  # [m]
KEYS = ("torque", "self_collision", "workspace", "obstacles", "ground")


@dataclass(frozen=True)
class ConstraintConfig:
    """The section as given, checked against a robot when its constraints are made."""

    section: Section = field(default_factory=lambda: Section({}, "constraints"))

    def constraints(self, model: DynamicModel) -> tuple[Constraint, ...]:
        """Every constraint that is asked for, or that the model's robot itself asks for; its terms have no part."""
        robot, found = model.robot, list[Constraint]()
        torque = self._torque(robot)
        if torque is not None:
            found.append(torque)
        found += [
            region(entry, f"{self.section.at('workspace')} {k + 1}", robot)
            for k, entry in enumerate(self.section.entries("workspace"))
        ]
        return (*found, *self._distances(robot), *self._ground(robot))

    def _switch(self, key: str, default: bool, keys: tuple[str, ...]) -> Section | None:
        """true, false or settings → settings, or None when it is off."""
        given = self.section.get(key)
        if given is False or (given is None and not default):
            return None
        return Section.of(None if given is True else given, self.section.at(key), keys)

    def _torque(self, robot: Robot) -> TorqueLimits | None:
        limited = bool(np.isfinite(robot.limit("torque")).any())
        section = self._switch("torque", limited, ("margin", "payload"))
        if section is None:
            return None
        margin = section.number("margin", 0.0, least=0.0)
        empty = TorqueLimits.of(robot, margin=margin)  # its gaps stay: a payload makes no arm's masses known
        return replace(empty, chi=_with_payload(empty.model, section))

    def _distances(self, robot: Robot) -> list[Constraint]:
        section = self._switch("self_collision", bool(robot.collision_pairs), ("clearance", "pairs", "meshes"))
        obstacles = [
            obstacle(entry, f"{self.section.at('obstacles')} {k + 1}", k + 1)
            for k, entry in enumerate(self.section.entries("obstacles"))
        ]
        clearance = CLEARANCE if section is None else section.number("clearance", CLEARANCE, least=0.0)
        if section is not None and not section.flag("meshes", False):
            return [CapsuleDistance(robot, _pairs(section), clearance, obstacles)]
        found: list[Constraint] = [] if section is None else [MeshDistance(robot, _pairs(section), clearance)]
        return [*found, CapsuleDistance(robot, (), clearance, obstacles)] if obstacles else found

    def _ground(self, robot: Robot) -> list[Constraint]:
        """The plane that the robot is mounted on; nothing where there is none, or nothing can reach it."""
        given, where = self.section.get("ground"), self.section.at("ground")
        if given is False or says_none(given):
            return []
        known, plane = robot.base_bottom if robot.ground is None else robot.ground, Section({}, where)
        if isinstance(given, Mapping):
            plane = Section.of(given, where, ("height", "normal", "clearance"))
        elif given is not None and given is not True:
            plane = Section({"height": _height(given, where)}, where)
        normal = plane.vector("normal", 3, OUT_OF_THE_MOUNTING)
        height = plane.number("height", 0.0 if "normal" in plane else known)
        assumed = robot.ground is None and "height" not in plane and "normal" not in plane
        clearance = plane.number("clearance", CLEARANCE, least=0.0)
        try:
            found = mounting_plane(robot, height, normal, clearance, assumed=assumed)
        except ParameterError as error:
            raise ExciterError(f"{where}: {error}") from None
        return [] if found is None else [found]


def _height(given: Any, where: str) -> float:
    try:
        return number(given, where)
    except ExciterError:
        raise ExciterError(
            f"{where} is {shown(given)}; give a height [m] along z of the base, none, or "
            "{height: …, normal: [x, y, z], clearance: …}"
        ) from None


def _pairs(section: Section) -> tuple[tuple[str, str], ...] | None:
    if "pairs" not in section:
        return None
    pairs = []
    for entry in section.entries("pairs"):
        if not isinstance(entry, list) or len(entry) != 2 or not all(isinstance(name, str) for name in entry):
            raise ExciterError(f"{section.at('pairs')} has {shown(entry)}; give two names of bodies, [first, second]")
        pairs.append((entry[0], entry[1]))
    if not pairs:
        raise ExciterError(f"{section.at('pairs')} is empty; name pairs of bodies, or write self_collision: false")
    return tuple(pairs)


def _with_payload(model: DynamicModel, section: Section) -> Array:
    """χ of the description, carrying a point mass if there is one."""
    if "payload" not in section:
        return model.nominal
    payload = section.section("payload", ("frame", "mass", "centre"))
    if "mass" not in payload:
        raise ExciterError(f"{payload.where} has no mass; give it in kg")
    frame = model.robot.frame(frame_name(payload, model.robot))
    if frame.joint < 0:
        raise ExciterError(f"{payload.at('frame')} is '{frame.name}', which is fixed on the base; name one that moves")
    at = frame.translation + frame.rotation @ payload.vector("centre", 3, ORIGIN)
    point = np.append(at, 1.0)
    inertias = np.array(model.robot.inertias)
    inertias[frame.joint] += from_pseudo_inertia(payload.number("mass", 0.0, above=0.0) * np.outer(point, point))
    loaded = DynamicModel(model.robot.with_inertias(inertias), model.terms, model.engine)
    return loaded.nominal


OBSTACLES = {
    "sphere": ("centre", "radius"),
    "capsule": ("start", "end", "radius"),
    "half_space": ("normal", "offset"),
    "box": ("lower", "upper"),
}


def obstacle(entry: Any, where: str, number: int) -> Obstacle:
    """One entry of ``obstacles``: a body fixed in the base, by one of four shapes."""
    section = Section.of(entry, where, (*OBSTACLES, "name", "against"))
    kinds = [kind for kind in OBSTACLES if kind in section]
    if len(kinds) != 1:
        raise ExciterError(f"{where} must be one of {', '.join(OBSTACLES)}; given {', '.join(kinds) or 'none of them'}")
    kind, name = kinds[0], str(section.get("name") or f"obstacle {number}")
    against = tuple(map(str, section.entries("against"))) or None
    given = section.section(kind, OBSTACLES[kind])
    try:
        if kind == "sphere":
            return Round.sphere(name, given.vector("centre", 3), radius(given), against)
        if kind == "capsule":
            return Round(name, given.vector("start", 3), given.vector("end", 3), radius(given), against)
        if kind == "half_space":
            return Wall(name, given.vector("normal", 3), given.number("offset", 0.0), against)
        lower, upper = given.vector("lower", 3), given.vector("upper", 3)
        if not (lower < upper).all():
            ends = f"lower {lower.tolist()}, upper {upper.tolist()}"
            raise ExciterError(f"{given.where} has {ends}; every lower side must be below its upper one")
        return Block(name, 0.5 * (lower + upper), upper - lower, against=against)
    except ParameterError as error:
        raise ExciterError(f"{where}: {error}") from None
