"""The motion of a design as trajectory_msgs/JointTrajectory of ROS 2, for controllers that take messages.

``exciter design`` certified the rows of trajectory.csv as a controller joins them. The message has these rows, bit for
bit, and it is written only when they are still the design's."""

from __future__ import annotations

from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import ExciterError, RobotError
from exciter.excitation.files.row_files import MotionSamples, parse_csv, ros2_json, ros2_yaml, sample
from exciter.excitation.files.trajectory_files import DESIGN, EXACT_FILE, TABLE_FILE, read_trajectory
from exciter.files import require_suffix, write_texts
from exciter.robot import Joint, Limits, Robot
from exciter.robot.yaml_file import parse_json

SAME_ROW_TOLERANCE = 1e-9  #: [rad, m and per s, s²], relative: what sines of another machine may differ by, and no edit


def joint_trajectory(folder: Path, *, as_json: bool = False) -> str:
    """The message of a folder that ``exciter design`` wrote: YAML, as ``ros2 topic pub`` takes it, or JSON."""
    DESIGN.refuse_open(folder)
    missing = [name for name in (TABLE_FILE, EXACT_FILE, DESIGN.name) if not isfile(folder / name)]
    if missing:
        raise ExciterError(
            f"there is no {missing[0]} in '{folder}': ros2 writes the motion that exciter design found and certified "
            f"({TABLE_FILE}, {EXACT_FILE}, {DESIGN.name}); give that folder (a result of exciter identify exports as "
            "urdf, mjcf, sdf, yaml, json, c, python)"
        )
    robot, rate = _certified(folder)
    planned = read_trajectory(folder / EXACT_FILE, robot)
    rows = parse_csv(_table(folder), robot, f"'{folder / TABLE_FILE}'")
    if not (rate * planned.duration < 2.0 * len(rows.time) and _same(rows, sample(planned, rate))):
        raise ExciterError(
            f"the rows of '{folder / TABLE_FILE}' are not those of {EXACT_FILE} at {rate:g} Hz, which were certified: "
            "one of them was changed since; design again"
        )
    return (ros2_json if as_json else ros2_yaml)(rows, robot.joint_names)


def write_joint_trajectory(path: Path, folder: Path) -> Path:
    """Write the message to ``path``: YAML, or JSON where it ends so."""
    require_suffix(path, ".yaml", ".yml", ".json")
    return write_texts(path.parent, {path.name: joint_trajectory(folder, as_json=path.suffix == ".json")})[0]


def _certified(folder: Path) -> tuple[Robot, float]:
    """The joints, and the rows per second that were certified [Hz]."""
    path = folder / DESIGN.name
    try:
        data = parse_json(path.read_text(encoding="utf-8"), str(path))
        joints, files = data["robot"]["joints"], data["files"]
        certified, rate = files["certificate"]["certified"], float(files["rate"])
        robot = _named(joints)
        if not 0.0 < rate < np.inf:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError, RobotError):
        raise ExciterError(f"'{path}' cannot be read as a design; design again") from None
    if certified is not True:
        raise ExciterError(f"the rows of '{folder / TABLE_FILE}' are not certified; design again within the limits")
    return robot, rate


def _table(folder: Path) -> str:
    """trajectory.csv as it was written with the design."""
    path = folder / TABLE_FILE
    try:
        content = path.read_bytes()
        DESIGN.refuse_changed(folder, {TABLE_FILE: content})
        return content.decode("utf-8")
    except OSError as error:
        raise ExciterError(f"cannot read '{path}': {error.strerror}; check its permissions") from None
    except UnicodeDecodeError:
        raise ExciterError(f"'{path}' cannot be read as a table; design again") from None


def _named(joints: list[Any]) -> Robot:
    """Joints by name: all that reading rows needs of a robot."""
    about = (np.eye(3), np.zeros(3), np.array([0.0, 0.0, 1.0]), Limits(-np.inf, np.inf), np.zeros(10))
    return Robot("design", tuple(Joint(str(name), "revolute", k - 1, *about) for k, name in enumerate(joints)))


def _same(rows: MotionSamples, planned: MotionSamples) -> bool:
    for channel in ("time", "q", "qd", "qdd"):
        one, other = getattr(rows, channel), getattr(planned, channel)
        if one is None or other is None or one.shape != other.shape:
            return False
        if not np.abs(one - other).max() <= SAME_ROW_TOLERANCE * max(1.0, np.abs(other).max()):
            return False
    return True
