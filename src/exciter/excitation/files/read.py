"""Any trajectory file as the exact curve that a controller makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from exciter.errors import MotionError, RobotError
from exciter.excitation.files.csv_file import parse_csv
from exciter.excitation.files.exact_file import exact_curve, is_exact
from exciter.excitation.files.ros2_file import is_ros2, message_as_written, parse_ros2
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.robot import Robot
from exciter.robot.xml_safety import read_bytes

MAX_BYTES = 300_000_000
BEGINNING = 10_000  # bytes in which a binary file gives itself away
TABLES = (".csv", ".tsv", ".txt", ".dat")
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a long motion takes the plain one many seconds


def read_trajectory(path: str | Path, robot: Robot) -> Curve:
    """The motion of a file, joints in the robot's order: trajectory.csv or any table of its kind, trajectory.json,
    ROS 2 JointTrajectory as YAML or JSON. A folder means the trajectory.json inside it.

    Tables and messages are interpolated as ``Samples`` says: quintic, cubic, or spline.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "trajectory.json"
    source, suffix = f"'{path}'", path.suffix.lower()
    if suffix not in (*TABLES, ".json", ".yaml", ".yml"):
        raise MotionError(f"{source} ends in '{path.suffix}'; a trajectory ends in .csv, .json or .yaml")
    try:
        content = read_bytes(path, "trajectory", MAX_BYTES)
        if b"\0" in content[:BEGINNING]:
            raise MotionError(f"{source} is a binary file; expected text: a table, JSON or YAML")
        text = content.decode("utf-8")
    except RobotError as error:
        raise MotionError(str(error)) from None
    except UnicodeDecodeError:
        raise MotionError(
            f"{source} is a binary file, or text that is not UTF-8; expected a table, JSON or YAML"
        ) from None
    if suffix in TABLES:
        return parse_csv(text, robot, source).curve()
    data = _data(text, suffix, source)
    if is_ros2(data):
        return parse_ros2(data, robot, source).curve()
    if is_exact(data):
        return exact_curve(data, robot, source)
    raise MotionError(
        f"{source} is neither a trajectory.json (joints, trajectory, coefficients, pieces) nor a ROS 2 JointTrajectory "
        "(joint_names, points)"
    )


def _data(text: str, suffix: str, source: str) -> Any:
    try:
        if suffix == ".json":
            return json.loads(text)
        return message_as_written(text) or yaml.load(text, Loader)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        kind = "JSON" if suffix == ".json" else "YAML"
        raise MotionError(f"{source} is not valid {kind}: {error}") from None
