"""Robots as small YAML files: a modified Denavit–Hartenberg table with limits, inertias and friction.

    name: two-links
    source: an example
    joints:
      - {joint: shoulder, alpha: 0, d: 0, theta: 0, r: 0.3, limits: {lower: -90 deg, upper: 1.5, velocity: 2}}
      - {joint: slide, type: prismatic, alpha: pi/2, d: 0.2, theta: 0, r: 0, inertia: {M: 2, ZZ: 0.1}}
    frames: {tool: {joint: slide, xyz: [0, 0, 0.1], rpy: [0, 90 deg, 0]}}

Angles are radians, or words such as ``90 deg`` and ``-pi/2``; everything else is SI. What is left out is zero
(lengths, angles, inertias), infinite (limits) or the previous joint (parent); an acceleration limit left out
follows from the velocity limit, as for every description without one. Inertias are given either by the
papers' names about the frame's origin (M, MX, …, ZZ), or as ``mass``, ``com`` and ``about_com``, the inertia
tensor about the centre of mass as [XX, XY, XZ, YY, YZ, ZZ]. ``shapes: capsules`` draws the capsules. ``ground`` is the
height of the plane on which the robot is mounted, along z of the base."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from exciter.errors import RobotError, shown, unknown_name
from exciter.notes import note
from exciter.robot.geometry import GREY, ROLES, Capsule, Shape
from exciter.robot.limits import Limits
from exciter.robot.mdh import MDH_NUMBERS, MDHRow, MDHTable, cos_sin
from exciter.robot.robot import BASE, STANDARD_GRAVITY, Frame, JointKind, Robot
from exciter.robot.spatial import INERTIAL_NAMES, transform_inertia
from exciter.robot.yaml_file import read_yaml
from exciter.settings.field_markers import LARGEST_OF_A_ROBOT
from exciter.typing import Array

T = TypeVar("T")
Reader = Callable[[Any, str], T]  # of a value, and of how messages call it
_FACTS_KEYS = ("name", "source", "nominal", "notes", "lacking", "gravity", "home", "joints")
TOP_KEYS = (*_FACTS_KEYS, "frames", "capsules", "collision_pairs", "shapes", "unshaped", "ground")
JOINT_KEYS = ("joint", "parent", "sigma", "type", *MDH_NUMBERS, "limits", "inertia", "friction", "link")
COM_KEYS = ("mass", "com", "about_com")
NOMINAL_FRICTION_KEYS = ("viscous", "coulomb", "rotor_inertia")
SHAPE_SIZES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "mesh": 3}

_ANGLE = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<number>\d*\.?\d+(?:e[+-]?\d+)?)?\s*\*?\s*(?P<pi>pi|π)?"
    r"\s*(?:/\s*(?P<over>\d*\.?\d+))?\s*(?P<unit>deg|rad|°)?",
    re.IGNORECASE,
)
_NEEDED = object()  # in place of a default


def read_mdh(path: str | Path) -> Robot:
    return robot_from(load_yaml(path), f"'{path}'")


def load_yaml(path: str | Path) -> dict[str, Any]:
    return _Section(read_yaml(path, "robot file"), f"robot file '{path}'").given


def robot_from(data: dict[str, Any], where: str) -> Robot:
    """The robot of an already loaded file; ``where`` names it in errors."""
    file = _Section(data, where, TOP_KEYS)
    names: list[str] = []
    rows, facts, frictions, point = [], [], [], _vector(3)
    for number, entry in enumerate(file.read(_sequence, "joints"), start=1):
        unnamed = _Section(entry, f"joint {number} of {where}")
        names.append(_text(unnamed.value("joint"), unnamed.what))
        section = _Section(entry, f"joint '{names[-1]}' of {where}", JOINT_KEYS)
        kind = _kind(section)
        rows.append(_row(section, kind, names))
        limits, inertia = _limits(section, kind, names[-1]), _inertia(section)
        friction = section.below("friction", NOMINAL_FRICTION_KEYS)
        frictions.append({key: friction.read(_number, key) for key in friction.given})
        facts.append({"kind": kind, "limits": limits, "inertia": inertia, "link": section.read(_text, "link", "")})
    capsules = tuple(
        Capsule(name, one.joint(names), one.read(point, "start"), one.read(point, "end"), one.read(_number, "radius"))
        for name, one in file.entries("capsules", "capsule", ("joint", "start", "end", "radius"))
    )
    table = MDHTable(file.read(_text, "name"), tuple(rows))
    given = [k for k in NOMINAL_FRICTION_KEYS if any(k in f for f in frictions)]
    return Robot(
        name=table.name,
        joints=tuple(table.joint(j, **fact) for j, fact in enumerate(facts)),
        friction={k: np.array([f.get(k, 0.0) for f in frictions]) for k in given},
        gravity=file.read(point, "gravity", STANDARD_GRAVITY),
        frames=tuple(
            Frame(name, entry.joint(names), *_placement(entry))
            for name, entry in file.entries("frames", "frame", ("joint", "xyz", "rpy"))
        ),
        capsules=capsules,
        collision_pairs=_pairs(file, [capsule.name for capsule in capsules]),
        shapes=_shapes(file, capsules, names),
        ground=None if data.get("ground") is None else file.read(_number, "ground"),
        nominal=file.read(_truth, "nominal", False),
        source=file.read(_text, "source", ""),
        notes=tuple(note("description", text) for text in file.read(_texts, "notes", [])),
        lacking=file.read(_texts, "lacking", []),
        unshaped=file.read(_texts, "unshaped", []),
    )


def home_from(data: dict[str, Any], robot: Robot, where: str) -> Array:
    """(n,) the documented posture of a file [rad or m], within the limits; zero if not given."""
    home = _Section(data, where).read(_vector(robot.n, _angle), "home", [0.0] * robot.n)
    outside = (home < robot.limit("lower")) | (home > robot.limit("upper"))
    if outside.any():
        joint = robot.joint_names[int(np.argmax(outside))]
        raise RobotError(f"home of {where} is outside the position limits of joint '{joint}'")
    return home


class _Section:
    """A mapping of the file. what: how messages call it; of: what its values are of, in messages."""

    def __init__(self, given: Any, what: str, keys: Iterable[str] | None = None, of: str = "") -> None:
        if not isinstance(given, dict):
            raise RobotError(f"{what} is {shown(given)}; expected 'key: value' lines")
        if keys is not None and (unknown := [key for key in given if key not in keys]):
            raise RobotError(f"{what}: {unknown_name('key', str(unknown[0]), keys)}")
        self.given, self.what, self.of = given, what, of or what

    def value(self, key: str, default: Any = _NEEDED) -> Any:
        if key not in self.given and default is _NEEDED:
            raise RobotError(f"{self.what} lacks '{key}'; add it")
        return self.given.get(key, default)

    def read(self, kind: Reader[T], key: str, default: Any = _NEEDED) -> T:
        return kind(self.value(key, default), f"{key} of {self.of}")

    def below(self, key: str, keys: Iterable[str] | None = None) -> _Section:
        """The mapping of a key, empty where it is not given."""
        return _Section(self.given.get(key, {}), f"{key} of {self.what}", keys, of=self.what)

    def entries(self, key: str, one: str, keys: Iterable[str]) -> Iterator[tuple[str, _Section]]:
        """Name and mapping of each entry of the mapping of a key; one: what an entry is."""
        for name, entry in self.below(key).given.items():
            yield str(name), _Section(entry, f"{one} '{name}' of {self.what}", keys)

    def joint(self, names: list[str], key: str = "joint") -> int:
        name = self.value(key)
        if name not in names and name != "base":
            raise RobotError(f"{key} of {self.of}: {unknown_name('joint', str(name), [*names, 'base'])}")
        return names.index(name) if name in names else BASE


def _kind(joint: _Section) -> JointKind:
    given, what = joint.given, joint.what
    sigma = given.get("sigma")
    if "sigma" in given and (isinstance(sigma, bool) or sigma not in (0, 1)):
        raise RobotError(f"sigma of {what} is {shown(sigma)}; allowed are 0 (revolute), 1 (prismatic)")
    kind = given.get("type", "prismatic" if sigma == 1 else "revolute")
    if kind not in ("revolute", "continuous", "prismatic"):
        raise RobotError(f"type of {what} is {shown(kind)}; allowed are revolute, continuous, prismatic")
    if "sigma" in given and (kind == "prismatic") != (sigma == 1):
        raise RobotError(f"{what} has type {kind} and sigma {sigma}, which contradict each other; give one of them")
    return kind  # type: ignore[no-any-return]


def _row(joint: _Section, kind: JointKind, names: list[str]) -> MDHRow:
    """names: of all joints so far, its own last."""
    angles = {k: joint.read(_angle, k, 0.0) for k in ("alpha", "theta", "gamma")}
    lengths = {k: joint.read(_number, k, 0.0) for k in ("d", "r", "b")}
    parent = joint.joint(names[:-1], "parent") if "parent" in joint.given else len(names) - 2
    return MDHRow(joint=names[-1], parent=parent, sigma=int(kind == "prismatic"), **angles, **lengths)


def _limits(joint: _Section, kind: JointKind, name: str) -> Limits:
    given, values = joint.below("limits", Limits.names()).given, {}
    for key, value in given.items():
        read = _number if kind == "prismatic" or key == "torque" else _angle
        values[key] = read(value, f"{key} limit of {joint.what}", finite=False)
    limits = Limits().replaced(name, **values)
    return limits if "acceleration" in given else limits.with_default_acceleration()


def _inertia(joint: _Section) -> Array:
    """(10,) in Pinocchio's order, about the origin of the joint's frame."""
    central = any(key in COM_KEYS for key in joint.below("inertia").given)
    given = joint.below("inertia", COM_KEYS if central else INERTIAL_NAMES)
    if central:
        mass, com = given.read(_number, "mass"), given.read(_vector(3), "com", [0.0] * 3)
        xx, xy, xz, yy, yz, zz = given.read(_vector(6), "about_com", [0.0] * 6)
        phi = transform_inertia([mass, 0, 0, 0, xx, xy, yy, xz, yz, zz], np.eye(3), com)
    else:
        phi = np.array([given.read(_number, k, 0.0) for k in INERTIAL_NAMES])
    if phi[0] < 0:
        raise RobotError(f"the mass of {joint.what} is {phi[0]:g} kg; it must not be negative")
    return phi


def _pairs(file: _Section, capsules: list[str]) -> tuple[tuple[str, str], ...]:
    given, what = file.read(_sequence, "collision_pairs", []), f"collision_pairs of {file.what}"
    for pair in given:
        if not isinstance(pair, list) or len(pair) != 2:
            raise RobotError(f"{what}: {shown(pair)} is not a pair of capsule names")
        for name in pair:
            if name not in capsules:
                raise RobotError(f"{what}: {unknown_name('capsule', str(name), capsules)}")
    return tuple((one, other) for one, other in given)


def _shapes(file: _Section, capsules: Iterable[Capsule], names: list[str]) -> tuple[Shape, ...]:
    if file.given.get("shapes") == "capsules":
        return tuple(capsule.solid for capsule in capsules)
    shapes = []
    for number, entry in enumerate(file.read(_sequence, "shapes", []), start=1):
        what = f"shape {number} of {file.what}"
        given = _Section(entry, what, ("kind", "joint", "size", "xyz", "rpy", "colour", "mesh", "role"))
        kind = given.value("kind")
        if kind not in tuple(SHAPE_SIZES):
            raise RobotError(f"{what}: {unknown_name('kind', str(kind), SHAPE_SIZES)}")
        joint, size = given.joint(names), tuple(given.read(_vector(SHAPE_SIZES[kind]), "size").tolist())
        red, green, blue, alpha = given.read(_vector(4), "colour", GREY).tolist()
        mesh, role = given.read(_text, "mesh", ""), given.value("role", Shape.role)
        if role not in ROLES:
            raise RobotError(f"{what}: {unknown_name('role', str(role), ROLES)}")
        shapes.append(Shape(kind, joint, size, *_placement(given), (red, green, blue, alpha), mesh, role))
    return tuple(shapes)


def _placement(entry: _Section) -> tuple[Array, Array]:
    xyz, rpy = entry.read(_vector(3), "xyz", [0.0] * 3), entry.read(_vector(3, _angle), "rpy", [0.0] * 3)
    (cr, sr), (cp, sp), (cy, sy) = map(cos_sin, rpy)
    rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    return rz @ ry @ rx, xyz


def _number(value: Any, what: str, finite: bool = True) -> float:
    if isinstance(value, str):  # YAML 1.1 takes 1e-3 for a word
        try:
            value = float(value)
        except ValueError:
            raise RobotError(f"{what} is '{value}'; expected a number") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RobotError(f"{what} is {shown(value)}; expected a number")
    if math.isnan(value) or (finite and math.isinf(value)):
        raise RobotError(f"{what} is {value}; expected a finite number")
    if finite and abs(value) > LARGEST_OF_A_ROBOT:
        raise RobotError(f"{what} is {value:g}; no robot has a number beyond {LARGEST_OF_A_ROBOT:g}")
    return float(value)


def _angle(value: Any, what: str, finite: bool = True) -> float:
    """A number [rad], or words like '90 deg', 'pi/2', '-3*pi/4', '1.2 rad'."""
    if not isinstance(value, str):
        return _number(value, what, finite)
    match = _ANGLE.fullmatch(value.strip())
    if not match or not (match["number"] or match["pi"]) or (match["pi"] and match["unit"] in ("deg", "°")):
        raise RobotError(f"{what} is '{value}'; expected radians, or words such as '90 deg' or '-pi/2'")
    result = float(match["number"] or 1.0) * (math.pi if match["pi"] else 1.0)
    over = float(match["over"] or 1.0)
    if over == 0:
        raise RobotError(f"{what} is '{value}', a division by zero")
    result = result / over if match["sign"] != "-" else -result / over
    return _number(math.radians(result) if match["unit"] in ("deg", "°") else result, what, finite)


def _vector(n: int, one: Reader[float] = _number) -> Reader[Array]:
    def read(value: Any, what: str) -> Array:
        if not isinstance(value, list | tuple) or len(value) != n:
            raise RobotError(f"{what} is {shown(value)}; expected a list of {n} numbers")
        return np.array([one(v, what) for v in value])

    return read


def _sequence(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise RobotError(f"{what}: {shown(value)} given; expected a list")
    return value


def _texts(value: Any, what: str) -> tuple[str, ...]:
    return tuple(_text(entry, what) for entry in _sequence(value, what))


def _of(kind: type[T], expected: str) -> Reader[T]:
    def read(value: Any, what: str) -> T:
        if not isinstance(value, kind):
            raise RobotError(f"{what} is {shown(value)}; expected {expected}")
        return value

    return read


_text, _truth = _of(str, "text (quote it if it looks like a number)"), _of(bool, "true or false")
