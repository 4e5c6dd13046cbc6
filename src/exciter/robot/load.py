"""A robot by file or by name: what every command's ROBOT argument means."""

from __future__ import annotations

from pathlib import Path

from exciter.errors import RobotError
from exciter.robot.options import RobotOptions, read_options
from exciter.robot.robot import Robot
from exciter.robot.xml_safety import parse_xml

__all__ = ["RobotOptions", "load", "read_options"]

SUFFIXES = (".urdf", ".xml", ".mjcf", ".yaml", ".yml")


def load(source: str | Path, options: RobotOptions | None = None) -> Robot:
    """The robot of a file, or an embedded one by name.

    Files: .urdf, .mjcf, .xml (which of the two, by its root element), .yaml (a modified-DH table).
    options: limits, gravity and locked joints to apply (``read_options`` reads them from YAML).
    A plain name of an embedded robot means that robot, unless it is given as a path (``./panda``).
    """
    from exciter.robot.library import embedded, names

    options = options or RobotOptions()
    if isinstance(source, str) and source in names():
        return options.apply(embedded(source))
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
    return _from_file(path, options)


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
