"""Any trajectory file as the exact curve that a controller makes of it."""

from __future__ import annotations

import os
from os.path import isdir  # false, too, for a name that is too long
from pathlib import Path

from exciter.errors import MotionError, RobotError
from exciter.excitation.files.exact_file import exact_curve, is_exact
from exciter.excitation.files.row_files import is_ros2, message_as_written, parse_csv, parse_ros2
from exciter.excitation.trajectories.curve import Curve
from exciter.files import Seal, hidden_end
from exciter.robot.robot import Robot
from exciter.robot.xml_safety import read_bytes
from exciter.robot.yaml_file import parse_json, parse_yaml

MAX_BYTES = 300_000_000
BEGINNING = 10_000  # bytes in which a binary file gives itself away
TABLES = (".csv", ".tsv", ".txt", ".dat")
TABLE, EXACT, ROS2_YAML, ROS2_JSON = "trajectory.csv", "trajectory.json", "trajectory.ros2.yaml", "trajectory.ros2.json"
MOTION_FILES = (TABLE, EXACT, ROS2_YAML, ROS2_JSON)
ARCHIVE = "design.npz"  #: the whole design, to be opened again
DESIGN = Seal("design.json", (*MOTION_FILES, ARCHIVE, "report.html"), "design again")


def read_trajectory(path: str | Path, robot: Robot, *, jumps: bool = False) -> Curve:
    """The motion of a file, joints in the robot's order: trajectory.csv or any table of its kind, trajectory.json,
    ROS 2 JointTrajectory as YAML or JSON. A folder means the trajectory.json inside it.

    Tables and messages are interpolated as ``Samples`` says: quintic, cubic, or spline. A position or velocity that
    jumps is refused; ``jumps``: it is read too, for a certificate that says so. A file beside a design.json must be the
    one that was certified with it, which the design.json has to show; alone it is read for what it is.
    """
    path = Path(path)
    curve = _read(path / EXACT if isdir(path) else path, robot)
    if jumps:
        return curve
    try:
        return curve.continuous(robot.joint_names)
    except MotionError as error:
        raise MotionError(f"'{path}': {error}") from None


def _read(path: Path, robot: Robot) -> Curve:
    source, suffix = f"'{path}'", path.suffix.lower()
    if suffix not in (*TABLES, ".json", ".yaml", ".yml"):
        raise MotionError(f"{source} ends in '{path.suffix}'; a trajectory ends in .csv, .json or .yaml")
    DESIGN.refuse_open(path.parent)
    try:
        content = read_bytes(path, "trajectory", MAX_BYTES)
        for place in dict.fromkeys((path, Path(os.path.realpath(path)))):  # a link to a file of a design is that file
            _refuse_changed(place, content)
        if b"\0" in content[:BEGINNING]:
            raise MotionError(f"{source} is a binary file; expected text: a table, JSON or YAML")
        text = content.decode("utf-8")
    except RobotError as error:
        raise MotionError(str(error)) from None
    except UnicodeDecodeError:
        raise MotionError(
            f"{source} is a binary file, or text that is not UTF-8; expected a table, JSON or YAML"
        ) from None
    return curve_of(text, suffix, robot, source)


def curve_of(text: str, suffix: str, robot: Robot, source: str) -> Curve:
    """The same of the text of a file; suffix: of its name, source: what messages call it."""
    if suffix != ".json" and (wrong := hidden_end(text)) is not None:  # lines mean nothing in JSON
        raise MotionError(f"{source}: {wrong}")
    if suffix in TABLES:
        return parse_csv(text, robot, source).curve()
    try:
        data = parse_json(text, source) if suffix == ".json" else message_as_written(text) or parse_yaml(text, source)
    except RobotError as error:
        raise MotionError(str(error)) from None
    if is_ros2(data):
        return parse_ros2(data, robot, source).curve()
    if is_exact(data):
        return exact_curve(data, robot, source)
    raise MotionError(
        f"{source} is neither a trajectory.json (joints, trajectory, coefficients, pieces) nor a ROS 2 JointTrajectory "
        "(joint_names, points)"
    )


def _refuse_changed(path: Path, content: bytes) -> None:
    """Refuse a file of a design that is not the one of design.json beside it."""
    folder = path.parent
    if not DESIGN.is_there(folder):
        return
    if path.name in DESIGN.hashes(folder):
        DESIGN.refuse_changed(folder, {path.name: content})
    elif path.name in MOTION_FILES:
        raise MotionError(
            f"{DESIGN.name} beside '{path}' has no hash of it, so that nobody knows whether it is the motion that was "
            f"certified; {DESIGN.aside}"
        )
