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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from exciter.errors import RobotError
from exciter.robot.limits import Limits
from exciter.robot.robot import Robot
from exciter.robot.yaml_file import read_yaml
from exciter.settings import ByName, Number, Place, Settings, Vector, fill

LIMITS = ByName(ByName(Number(infinite=True), what="joint", all=True), Limits.names(), "limit")


@dataclass(frozen=True)
class RobotOptions(Settings):
    """Limits by kind (one number, or by joint name), gravity [m/s²], locked joints [rad, m], mesh folder; meshes:
    whether shapes in files of their own are looked at."""

    inner: ClassVar[tuple[str, ...]] = ("meshes",)
    limits: Annotated[Mapping[str, float | Mapping[str, float]], LIMITS] = field(default_factory=dict)
    gravity: Annotated[tuple[float, float, float] | None, Vector(3, "m/s²")] = None
    lock: Annotated[Mapping[str, float], ByName(Number(), what="joint", listed=0.0)] = field(default_factory=dict)
    mesh_root: Annotated[Path | None, Place("a folder")] = None
    meshes: bool = True

    def spelling(self, data: dict[str, Any]) -> dict[str, Any]:
        return data if self.mesh_root is None else {**data, "mesh_root": str(self.mesh_root.resolve())}

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
    return options_from(read_yaml(path, "options file"), str(path), path.parent)


def options_from(data: Any, source: str = "options", folder: Path | None = None) -> RobotOptions:
    """Options from a mapping as YAML gives it; ``folder`` is where a relative mesh_root starts."""
    return fill(RobotOptions, data, source, error=RobotError, folder=folder)
