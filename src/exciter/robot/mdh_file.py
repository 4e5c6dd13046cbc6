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
height of the plane on which the robot is mounted, along z of the base.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from exciter.errors import RobotError, shown, unknown_name
from exciter.notes import note, texts
from exciter.robot.geometry import GREY, ROLES, Capsule, Shape
from exciter.robot.limits import Limits
from exciter.robot.mdh import MDHRow, MDHTable, cos_sin, in_mdh_frames
from exciter.robot.robot import BASE, STANDARD_GRAVITY, Frame, JointKind, Robot
from exciter.robot.spatial import INERTIAL_NAMES, transform_inertia
from exciter.robot.yaml_file import read_yaml
from exciter.settings.field_markers import LARGEST_OF_A_ROBOT
from exciter.typing import Array

TOP_KEYS = (
    "name", "source", "nominal", "notes", "lacking", "gravity", "home", "joints",
    "frames", "capsules", "collision_pairs", "shapes", "unshaped", "ground",
)  # fmt: skip
JOINT_KEYS = (
    "joint", "parent", "sigma", "type", "alpha", "d", "theta", "r", "gamma", "b",
    "limits", "inertia", "friction", "link",
)  # fmt: skip
COM_KEYS = ("mass", "com", "about_com")
NOMINAL_FRICTION_KEYS = ("viscous", "coulomb", "rotor_inertia")
SHAPE_SIZES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "mesh": 3}

_ANGLE = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<number>\d*\.?\d+(?:e[+-]?\d+)?)?\s*\*?\s*(?P<pi>pi|π)?"
    r"\s*(?:/\s*(?P<over>\d*\.?\d+))?\s*(?P<unit>deg|rad|°)?",
    re.IGNORECASE,
)


def read_mdh(path: str | Path) -> Robot:
    """The robot described by a YAML file; every mistake in the file is one clear line."""
    return robot_from(load_yaml(path), f"'{path}'")


def load_yaml(path: str | Path) -> dict[str, Any]:
    """The mapping in a YAML file."""
    data = read_yaml(path, "robot file")
    return _mapping(data, f"robot file '{path}'")


def robot_from(data: Mapping[str, Any], where: str) -> Robot:
    """The robot of an already loaded file; ``where`` names it in errors."""
    _known_keys(data, TOP_KEYS, where)
    entries = _sequence(_required(data, "joints", where), f"joints of {where}")
    names: list[str] = []
    rows, kinds, limits, inertias, frictions, links = [], [], [], [], [], []
    for number, entry in enumerate(entries, start=1):
        entry = _mapping(entry, f"joint {number} of {where}")
        name = _text(_required(entry, "joint", f"joint {number} of {where}"), f"joint {number} of {where}")
        what = f"joint '{name}' of {where}"
        _known_keys(entry, JOINT_KEYS, what)
        kind = _kind(entry, what)
        rows.append(_row(entry, name, kind, names, what))
        kinds.append(kind)
        limits.append(_limits(entry.get("limits", {}), kind, name, what))
        inertias.append(_inertia(entry.get("inertia", {}), what))
        friction = _mapping(entry.get("friction", {}), f"friction of {what}")
        _known_keys(friction, NOMINAL_FRICTION_KEYS, f"friction of {what}")
        frictions.append({k: _number(v, f"{k} of {what}") for k, v in friction.items()})
        links.append(_text(entry.get("link", ""), f"link of {what}"))
        names.append(name)
    capsules = _capsules(data.get("capsules", {}), names, where)
    given = [k for k in NOMINAL_FRICTION_KEYS if any(k in f for f in frictions)]
    return MDHTable(_text(_required(data, "name", where), f"name of {where}"), tuple(rows)).robot(
        limits=limits,
        inertias=np.array(inertias).reshape(len(rows), 10),
        kinds=kinds,
        links=links,
        friction={k: np.array([f.get(k, 0.0) for f in frictions]) for k in given},
        gravity=_vector(data.get("gravity", STANDARD_GRAVITY), 3, f"gravity of {where}"),
        frames=_frames(data.get("frames", {}), names, where),
        capsules=capsules,
        collision_pairs=_pairs(data.get("collision_pairs", []), [c.name for c in capsules], where),
        shapes=_shapes(data.get("shapes", []), capsules, names, where),
        ground=None if data.get("ground") is None else _number(data["ground"], f"ground of {where}"),
        nominal=_truth(data.get("nominal", False), f"nominal of {where}"),
        source=_text(data.get("source", ""), f"source of {where}"),
        notes=tuple(note("description", text) for text in _texts(data, "notes", where)),
        lacking=_texts(data, "lacking", where),
        unshaped=_texts(data, "unshaped", where),
    )


def home_from(data: Mapping[str, Any], robot: Robot, where: str) -> Array:
    """(n,) the documented posture of a file [rad or m], within the limits; zero if not given."""
    home = _vector(data.get("home", [0.0] * robot.n), robot.n, f"home of {where}", angles=True)
    outside = (home < robot.limit("lower")) | (home > robot.limit("upper"))
    if outside.any():
        joint = robot.joint_names[int(np.argmax(outside))]
        raise RobotError(f"home of {where} is outside the position limits of joint '{joint}'")
    return home


# -- writing -------------------------------------------------------------------------------------------------


def write_mdh(robot_or_table: Robot | MDHTable, path: str | Path) -> None:
    """Write a robot (in its modified Denavit–Hartenberg frames) or a bare table as a file that reads back."""
    if isinstance(robot_or_table, MDHTable):
        table, data = robot_or_table, {"name": robot_or_table.name}
        joints = [_row_data(table, j) for j in range(len(table.rows))]
    else:
        robot, table = in_mdh_frames(robot_or_table)
        data = _robot_data(robot)
        joints = [_row_data(table, j) | _joint_data(robot, j) for j in range(robot.n)]
    text = yaml.safe_dump(data | {"joints": joints}, sort_keys=False, allow_unicode=True, width=110)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise RobotError(f"cannot write robot file '{path}': {error.strerror}; check the folder") from None


def _row_data(table: MDHTable, j: int) -> dict[str, Any]:
    row = table.rows[j]
    parent = "base" if row.parent == BASE else table.rows[row.parent].joint
    data: dict[str, Any] = {"joint": row.joint, "parent": parent, "sigma": row.sigma}
    data |= {k: getattr(row, k) for k in ("alpha", "d", "theta", "r")}
    return data | {k: getattr(row, k) for k in ("gamma", "b") if getattr(row, k) != 0.0}


def _joint_data(robot: Robot, j: int) -> dict[str, Any]:
    joint = robot.joints[j]
    data: dict[str, Any] = {"type": joint.kind, "link": joint.link}
    limits = {k: getattr(joint.limits, k) for k in Limits.names()}
    data["limits"] = {k: v for k, v in limits.items() if math.isfinite(v) or k == "acceleration"}
    data["inertia"] = dict(zip(INERTIAL_NAMES, joint.inertia.tolist(), strict=True))
    data["friction"] = {k: float(v[j]) for k, v in robot.friction.items() if k in NOMINAL_FRICTION_KEYS}
    return data


def _robot_data(robot: Robot) -> dict[str, Any]:
    on = {i: joint.name for i, joint in enumerate(robot.joints)} | {BASE: "base"}
    data: dict[str, Any] = {"name": robot.name, "source": robot.source, "nominal": robot.nominal}
    lacking = [*robot.lacking, *robot.torque_doubts]  # a table has no other place for a doubt
    data |= {"notes": texts(robot.notes), "lacking": lacking, "gravity": robot.gravity.tolist()}
    if robot.unshaped:
        data["unshaped"] = list(robot.unshaped)
    data["frames"] = {
        f.name: {"joint": on[f.joint], "xyz": f.translation.tolist(), "rpy": _rpy(f.rotation)} for f in robot.frames
    }
    data["capsules"] = {
        c.name: {
            "joint": on[c.joint],
            "start": c.start.tolist(),
            "end": c.end.tolist(),
            "radius": float(c.radius),
        }
        for c in robot.capsules
    }
    data["collision_pairs"] = [list(pair) for pair in robot.collision_pairs]
    data["shapes"] = [
        {"kind": s.kind, "joint": on[s.joint], "size": [float(v) for v in s.size]}
        | {"xyz": s.translation.tolist(), "rpy": _rpy(s.rotation)}
        | {"colour": [float(v) for v in s.colour], "mesh": s.mesh, "role": s.role}
        for s in robot.shapes
    ]
    return data if robot.ground is None else data | {"ground": float(robot.ground)}


def _rpy(rotation: Array) -> list[float]:
    """Roll, pitch, yaw [rad] with rotation = Rot_z(yaw) Rot_y(pitch) Rot_x(roll); yaw 0 where it is free."""
    cos_pitch = math.hypot(rotation[0, 0], rotation[1, 0])
    pitch = math.atan2(-rotation[2, 0], cos_pitch)
    if cos_pitch < 1e-9:  # roll and yaw turn about one axis
        return [math.atan2(-rotation[1, 2], rotation[1, 1]), pitch, 0.0]
    return [math.atan2(rotation[2, 1], rotation[2, 2]), pitch, math.atan2(rotation[1, 0], rotation[0, 0])]


# -- one joint -----------------------------------------------------------------------------------------------


def _kind(entry: Mapping[str, Any], what: str) -> JointKind:
    sigma = entry.get("sigma")
    if "sigma" in entry and (isinstance(sigma, bool) or sigma not in (0, 1)):
        raise RobotError(f"sigma of {what} is {shown(sigma)}; allowed are 0 (revolute), 1 (prismatic)")
    by_sigma: JointKind = "prismatic" if sigma == 1 else "revolute"
    kind = entry.get("type", by_sigma)
    if kind not in ("revolute", "continuous", "prismatic"):
        raise RobotError(f"type of {what} is {shown(kind)}; allowed are revolute, continuous, prismatic")
    if "sigma" in entry and (kind == "prismatic") != (sigma == 1):
        raise RobotError(f"{what} has type {kind} and sigma {sigma}, which contradict each other; give one of them")
    return kind  # type: ignore[no-any-return]


def _row(entry: Mapping[str, Any], name: str, kind: JointKind, before: list[str], what: str) -> MDHRow:
    angles = {k: _angle(entry.get(k, 0.0), f"{k} of {what}") for k in ("alpha", "theta", "gamma")}
    lengths = {k: _number(entry.get(k, 0.0), f"{k} of {what}") for k in ("d", "r", "b")}
    parent = len(before) - 1
    if "parent" in entry:
        parent = _joint_index(entry["parent"], before, f"parent of {what}")
    return MDHRow(joint=name, parent=parent, sigma=int(kind == "prismatic"), **angles, **lengths)


def _limits(given: Any, kind: JointKind, name: str, what: str) -> Limits:
    given = _mapping(given, f"limits of {what}")
    _known_keys(given, Limits.names(), f"limits of {what}")
    values = {}
    for key, value in given.items():
        angular = kind != "prismatic" and key != "torque"
        read = _angle if angular else _number
        values[key] = read(value, f"{key} limit of {what}", finite=False)
    limits = Limits().replaced(name, **values)
    return limits if "acceleration" in given else limits.with_default_acceleration()


def _inertia(given: Any, what: str) -> Array:
    """(10,) in Pinocchio's order, about the origin of the joint's frame."""
    given = _mapping(given, f"inertia of {what}")
    if any(key in given for key in COM_KEYS):
        _known_keys(given, COM_KEYS, f"inertia of {what}")
        mass = _number(_required(given, "mass", f"inertia of {what}"), f"mass of {what}")
        com = _vector(given.get("com", [0.0] * 3), 3, f"com of {what}")
        xx, xy, xz, yy, yz, zz = _vector(given.get("about_com", [0.0] * 6), 6, f"about_com of {what}")
        phi = transform_inertia([mass, 0, 0, 0, xx, xy, yy, xz, yz, zz], np.eye(3), com)
    else:
        _known_keys(given, INERTIAL_NAMES, f"inertia of {what}")
        phi = np.array([_number(given.get(k, 0.0), f"{k} of {what}") for k in INERTIAL_NAMES])
    if phi[0] < 0:
        raise RobotError(f"the mass of {what} is {phi[0]:g} kg; it must not be negative")
    return phi


def _texts(data: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    what = f"{key} of {where}"
    return tuple(_text(entry, what) for entry in _sequence(data.get(key, []), what))


# -- what is fixed on the bodies -----------------------------------------------------------------------------


def _frames(given: Any, names: list[str], where: str) -> tuple[Frame, ...]:
    frames = []
    for name, entry in _mapping(given, f"frames of {where}").items():
        what = f"frame '{name}' of {where}"
        entry = _mapping(entry, what)
        _known_keys(entry, ("joint", "xyz", "rpy"), what)
        joint = _joint_index(_required(entry, "joint", what), names, f"joint of {what}")
        frames.append(Frame(str(name), joint, *_placement(entry, what)))
    return tuple(frames)


def _capsules(given: Any, names: list[str], where: str) -> tuple[Capsule, ...]:
    capsules = []
    for name, entry in _mapping(given, f"capsules of {where}").items():
        what = f"capsule '{name}' of {where}"
        entry = _mapping(entry, what)
        _known_keys(entry, ("joint", "start", "end", "radius"), what)
        joint = _joint_index(_required(entry, "joint", what), names, f"joint of {what}")
        start, end = (_vector(_required(entry, k, what), 3, f"{k} of {what}") for k in ("start", "end"))
        radius = _number(_required(entry, "radius", what), f"radius of {what}")
        capsules.append(Capsule(name=str(name), joint=joint, start=start, end=end, radius=radius))
    return tuple(capsules)


def _pairs(given: Any, capsules: list[str], where: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for pair in _sequence(given, f"collision_pairs of {where}"):
        if not isinstance(pair, list) or len(pair) != 2:
            raise RobotError(f"collision_pairs of {where}: {shown(pair)} is not a pair of capsule names")
        for name in pair:
            if name not in capsules:
                raise RobotError(f"collision_pairs of {where}: {unknown_name('capsule', str(name), capsules)}")
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def _shapes(given: Any, capsules: Iterable[Capsule], names: list[str], where: str) -> tuple[Shape, ...]:
    if given == "capsules":
        return tuple(capsule.solid for capsule in capsules)
    shapes = []
    for number, entry in enumerate(_sequence(given, f"shapes of {where}"), start=1):
        what = f"shape {number} of {where}"
        entry = _mapping(entry, what)
        _known_keys(entry, ("kind", "joint", "size", "xyz", "rpy", "colour", "mesh", "role"), what)
        kind = _required(entry, "kind", what)
        if kind not in tuple(SHAPE_SIZES):
            raise RobotError(f"{what}: {unknown_name('kind', str(kind), SHAPE_SIZES)}")
        joint = _joint_index(_required(entry, "joint", what), names, f"joint of {what}")
        size = tuple(_vector(_required(entry, "size", what), SHAPE_SIZES[kind], f"size of {what}").tolist())
        red, green, blue, alpha = _vector(entry.get("colour", GREY), 4, f"colour of {what}").tolist()
        mesh, role = _text(entry.get("mesh", ""), f"mesh of {what}"), entry.get("role", Shape.role)
        if role not in ROLES:
            raise RobotError(f"{what}: {unknown_name('role', str(role), ROLES)}")
        shapes.append(Shape(kind, joint, size, *_placement(entry, what), (red, green, blue, alpha), mesh, role))
    return tuple(shapes)


def _placement(entry: Mapping[str, Any], what: str) -> tuple[Array, Array]:
    xyz = _vector(entry.get("xyz", [0.0] * 3), 3, f"xyz of {what}")
    roll, pitch, yaw = _vector(entry.get("rpy", [0.0] * 3), 3, f"rpy of {what}", angles=True)
    (cr, sr), (cp, sp), (cy, sy) = cos_sin(roll), cos_sin(pitch), cos_sin(yaw)
    rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    return rz @ ry @ rx, xyz


# -- reading values ------------------------------------------------------------------------------------------


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


def _vector(value: Any, n: int, what: str, *, angles: bool = False) -> Array:
    if not isinstance(value, list | tuple) or len(value) != n:
        raise RobotError(f"{what} is {shown(value)}; expected a list of {n} numbers")
    return np.array([(_angle if angles else _number)(v, what) for v in value])


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RobotError(f"{what} is {shown(value)}; expected 'key: value' lines")
    return value


def _sequence(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise RobotError(f"{what}: {shown(value)} given; expected a list")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise RobotError(f"{what} is {shown(value)}; expected text (quote it if it looks like a number)")
    return value


def _truth(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise RobotError(f"{what} is {shown(value)}; expected true or false")
    return value


def _required(entry: Mapping[str, Any], key: str, what: str) -> Any:
    if key not in entry:
        raise RobotError(f"{what} lacks '{key}'; add it")
    return entry[key]


def _known_keys(entry: Mapping[str, Any], valid: Iterable[str], what: str) -> None:
    for key in entry:
        if key not in valid:
            raise RobotError(f"{what}: {unknown_name('key', str(key), valid)}")


def _joint_index(name: Any, names: list[str], what: str) -> int:
    if name in names:
        return names.index(name)
    if name == "base":
        return BASE
    raise RobotError(f"{what}: {unknown_name('joint', str(name), [*names, 'base'])}")
