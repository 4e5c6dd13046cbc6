"""What a description does not say: limits, gravity and locked joints, given in a small YAML file.

    limits:
      acceleration: 5.0              # one number for all joints, or by name:
      velocity: {joint_1: 1.0}       # also jerk, torque, lower, upper; .inf where there is no limit
    gravity: [0, 0, -9.81]           # m/s² in the base frame
    lock: {finger_1: 0.02}           # or a list of names, locked at zero
    mesh_root: ..                    # folder that meshes may lie in, seen from this file

In code the same is ``robot.with_limits(...)``, ``robot.with_gravity(...)``, ``robot.lock(...)``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from exciter.errors import RobotError, shown, unknown_name
from exciter.robot.limits import Limits
from exciter.robot.robot import Robot
from exciter.robot.yaml_file import read_yaml
from exciter.settings.kinds import LARGEST_OF_A_ROBOT

KEYS = ("limits", "gravity", "lock", "mesh_root")


@dataclass(frozen=True)
class RobotOptions:
    """Limits by kind (one number, or by joint name), gravity [m/s²], locked joints [rad, m], mesh folder; meshes:
    whether shapes in files of their own are looked at."""

    limits: Mapping[str, float | Mapping[str, float]] = field(default_factory=dict)
    gravity: tuple[float, float, float] | None = None
    lock: Mapping[str, float] = field(default_factory=dict)
    mesh_root: Path | None = None
    meshes: bool = True

    def apply(self, robot: Robot) -> Robot:
        """The robot with limits and gravity set, then joints locked."""
        robot = robot.with_limits(**self.limits)
        if self.gravity is not None:
            robot = robot.with_gravity(self.gravity)
        return robot.lock(self.lock) if self.lock else robot


def with_default_accelerations(robot: Robot) -> Robot:
    """Acceleration limits where there are none, from the velocity limits; ``robot.remarks`` says so."""
    joints = tuple(replace(j, limits=j.limits.with_default_acceleration()) for j in robot.joints)
    return replace(robot, joints=joints)


def read_options(path: str | Path) -> RobotOptions:
    """Options from a YAML file."""
    path = Path(path)
    data = read_yaml(path, "options file")
    return options_from({} if data is None else data, str(path), path.parent)


def options_from(data: Any, source: str = "options", folder: Path | None = None) -> RobotOptions:
    """Options from a mapping as YAML gives it; ``folder`` is where a relative mesh_root starts."""
    data = _mapping(data, source)
    for key in data:
        if key not in KEYS:
            raise RobotError(f"{source}: {unknown_name('key', key, KEYS)}")
    limits: dict[str, float | Mapping[str, float]] = {}
    for which, given in _mapping(data.get("limits") or {}, f"{source}: limits").items():
        if which not in Limits.names():
            raise RobotError(f"{source}: {unknown_name('limit', which, Limits.names())}")
        what = f"{source}: limits: {which}"
        limits[which] = (
            {name: _number(value, f"{what}: {name}") for name, value in _mapping(given, what).items()}
            if isinstance(given, Mapping)
            else _number(given, what)
        )
    mesh_root = data.get("mesh_root")
    if mesh_root is not None and not isinstance(mesh_root, str):
        raise RobotError(f"{source}: mesh_root must be the path of a folder")
    return RobotOptions(
        limits=limits,
        gravity=_gravity(data.get("gravity"), source),
        lock=_lock(data.get("lock"), source),
        mesh_root=None if mesh_root is None else (folder or Path()) / mesh_root,
    )


def _gravity(given: Any, source: str) -> tuple[float, float, float] | None:
    if given is None:
        return None
    if not isinstance(given, list) or len(given) != 3:
        raise RobotError(f"{source}: gravity must be three numbers [x, y, z] in m/s²")
    x, y, z = (_number(value, f"{source}: gravity") for value in given)
    if not all(abs(value) <= LARGEST_OF_A_ROBOT for value in (x, y, z)):
        raise RobotError(f"{source}: gravity must be three finite numbers [x, y, z] in m/s²")
    return x, y, z


def _lock(given: Any, source: str) -> dict[str, float]:
    if given is None:
        return {}
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        return dict.fromkeys(given, 0.0)
    if not isinstance(given, Mapping):
        raise RobotError(f"{source}: lock must be a list of joint names, or positions by joint name")
    at = {name: _number(v, f"{source}: lock: {name}") for name, v in _mapping(given, f"{source}: lock").items()}
    for name, position in at.items():
        if not abs(position) <= LARGEST_OF_A_ROBOT:
            raise RobotError(f"{source}: lock: {name} is {position:g}; give a position [rad, m]")
    return at


def _mapping(given: Any, what: str) -> dict[str, Any]:
    """A mapping whose keys are names; names that look like numbers come back as text."""
    if not isinstance(given, Mapping):
        raise RobotError(f"{what} must be a mapping (name: value)")
    return {str(key): value for key, value in given.items()}


def _number(given: Any, what: str) -> float:
    """A number; YAML reads 1e3 (no dot) as text, which is accepted too."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise RobotError(f"{what} is {shown(given)}; give a number")
    try:
        value = float(given)
    except (ValueError, OverflowError):
        raise RobotError(f"{what} is {shown(given)}; give a number") from None
    if math.isnan(value):
        raise RobotError(f"{what} is NaN; give a number, or leave it out")
    return value
