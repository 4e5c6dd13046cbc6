"""A robot by file or by name: what every command's ROBOT argument means."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from exciter.errors import RobotError, unknown_name
from exciter.files import path_of
from exciter.robot.limits import Limits
from exciter.robot.options import RobotOptions, read_options
from exciter.robot.robot import Robot
from exciter.robot.xml_safety import parse_xml

__all__ = ["RobotOptions", "load", "read_options"]

SUFFIXES = (".urdf", ".xml", ".mjcf", ".yaml", ".yml")


def load(source: str | Path, options: RobotOptions | None = None, **said: Any) -> Robot:
    """The robot of a file, or an embedded one by name.

    Files: .urdf, .mjcf, .xml (which of the two, by its root element), .yaml (a modified-DH table).
    options: limits, gravity and locked joints to apply (``read_options`` reads them from YAML); the same as keywords:
    ``acceleration=5.0``, ``velocity={"joint_1": 1.0}``, ``gravity=(0, 0, -9.81)``, ``lock={"finger": 0.02}``.
    A plain name of an embedded robot means that robot, unless it is given as a path (``./panda``).

    >>> ex.load("gautier-khalil", acceleration=5.0)
    <gautier-khalil: joint_1, joint_2, joint_3>
    """
    from exciter.robot import library

    options = with_keywords(options or RobotOptions(), said)
    if isinstance(source, str) and source in library.names():
        return replace(options.apply(library.embedded(source)), file=library.path(source), options=options)
    path = existing(path_of(source, "the robot"))
    return replace(_from_file(path, options), file=path, options=options)


def with_keywords(options: RobotOptions, said: dict[str, Any]) -> RobotOptions:
    """limits by their own names, the rest by those of ``RobotOptions``."""
    own = [one.name for one in fields(RobotOptions) if one.name != "limits"]
    for name in said:
        if name not in (*own, *Limits.names()):
            raise RobotError(unknown_name("keyword", name, (*Limits.names(), *own)))
    limits = {**options.limits, **{name: value for name, value in said.items() if name in Limits.names()}}
    return replace(options, limits=limits, **{name: value for name, value in said.items() if name in own})


def existing(source: str | Path) -> Path:
    """The file of a description."""
    from exciter.robot.library import names

    path = Path(source)
    try:
        missing = not path.exists() and not path.is_symlink()
    except OSError as error:  # a name too long, a folder that may not be entered
        raise RobotError(f"cannot look for '{str(source)[:80]}': {error.strerror}; check the path") from None
    if missing:
        kind = "no file" if path.suffix in SUFFIXES or len(path.parts) > 1 else "no robot or file"
        raise RobotError(
            f"there is {kind} '{source}'; give an existing URDF, MJCF or YAML file, or an embedded robot: "
            f"{', '.join(names())}"
        )
    return path


def _from_file(path: Path, options: RobotOptions) -> Robot:
    from exciter.robot.description import read_mjcf, read_urdf
    from exciter.robot.mdh_file import read_mdh

    suffix = path.suffix.lower()
    if path.is_dir():
        raise RobotError(f"'{path}' is a folder; give the robot description file inside it")
    if suffix not in (*SUFFIXES, ".xacro"):
        raise RobotError(f"'{path}' ends in '{path.suffix}'; a robot file ends in {', '.join(SUFFIXES)}")
    if suffix in (".yaml", ".yml"):
        return options.apply(read_mdh(path))
    if suffix in (".urdf", ".xacro"):
        return read_urdf(path, options=options)
    if suffix == ".mjcf":
        return read_mjcf(path, options=options)
    root = parse_xml(path).tag
    if root == "robot":
        return read_urdf(path, options=options)
    if root == "mujoco":
        return read_mjcf(path, options=options)
    raise RobotError(f"the root element of '{path}' is <{root}>; allowed are <robot> (URDF) and <mujoco> (MJCF)")
