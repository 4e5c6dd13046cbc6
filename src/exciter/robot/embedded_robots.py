"""Robots that come with Exciter: kinematics and limits from published facts, one readable YAML file each.

Inertias and friction marked nominal are plausible, physically consistent where the published figures allow it;
they serve simulation and design, never as the truth about a particular robot."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from exciter.errors import RobotError, unknown_name
from exciter.robot.mdh_file import home_from, load_yaml, robot_from
from exciter.robot.robot import Robot
from exciter.typing import Array

_FOLDER = Path(__file__).parent / "library"


@cache
def names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


@cache
def robot(name: str) -> Robot:
    return robot_from(load_yaml(path(name)), f"embedded robot '{name}'")


def home(name: str) -> Array:
    """(n,) a posture of an embedded robot [rad or m], within its limits and free of self-collision."""
    return home_from(load_yaml(path(name)), robot(name), f"embedded robot '{name}'")


def path(name: str) -> Path:
    """The file of an embedded robot, to read or to start one's own from."""
    if name not in names():
        raise RobotError(unknown_name("embedded robot", name, names()))
    return _FOLDER / f"{name}.yaml"
