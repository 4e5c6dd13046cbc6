"""trajectory.csv: ``time``, then ``<joint>.q``, ``<joint>.qd``, ``<joint>.qdd`` for every joint; 17 significant digits.

Files of other tools are read too: columns in any order, separated by commas, semicolons, tabs or blanks, without the
velocities or accelerations, with longer words for them, the header behind a '#'.
"""

from __future__ import annotations

import io
import re

import numpy as np

from exciter.errors import MotionError
from exciter.excitation.files.samples import Samples
from exciter.files import csv_cells, csv_line, lines_of
from exciter.robot.robot import Robot
from exciter.typing import Array

QUOTED = re.compile(r'"[^"]*"')
TIME = ("time", "t", "time_from_start", "timestamp")
WORDS = {
    "q": ("q", "position", "pos"),
    "qd": ("qd", "velocity", "vel"),
    "qdd": ("qdd", "acceleration", "acc"),
    "": ("tau", "torque", "effort", "current"),  # a recording's own columns: not part of the motion
}


def csv_text(samples: Samples, joints: tuple[str, ...]) -> str:
    """All columns; a quintic needs q, q̇ and q̈."""
    blocks = {"q": samples.q, "qd": samples.qd, "qdd": samples.qdd}
    present = {word: values for word, values in blocks.items() if values is not None}
    columns = [samples.time, *(values[:, j] for j in range(len(joints)) for values in present.values())]
    header = csv_line(["time", *(f"{name}.{word}" for name in joints for word in present)])
    stream = io.StringIO()
    np.savetxt(stream, np.column_stack(columns), fmt="%.17g", delimiter=",", header=header, comments="")
    return stream.getvalue()


def parse_csv(text: str, robot: Robot, source: str) -> Samples:
    """The rows of a CSV file, columns in the robot's order; one line when it does not fit the robot."""
    numbered = enumerate(lines_of(text.lstrip("\ufeff")), start=1)
    lines = [(number, line) for number, line in numbered if line.strip()]
    if not lines:
        raise MotionError(f"{source} is empty; expected a header (time, <joint>.q, …) and rows of numbers")
    head = lines[0][1].lstrip("# ").strip()
    bare = QUOTED.sub("", head)
    delimiter = next((mark for mark in ";," if mark in bare), None)  # None: blanks and tabs
    names = csv_cells(head, delimiter) if delimiter else [cell.strip('"') for cell in head.split()]
    rows = [(number, line) for number, line in lines[1:] if not line.startswith("#")]
    table = _numbers(rows, delimiter, len(names), source)
    where = _columns(names, robot, source)

    def block(word: str) -> Array | None:
        have = [name for name in robot.joint_names if (word, name) in where]
        if not have and word != "q":
            return None
        missing = [name for name in robot.joint_names if name not in have]
        if missing:
            raise MotionError(
                f"{source} has no column '{missing[0]}.{word}'; every joint needs one ({', '.join(robot.joint_names)})"
            )
        return table[:, [where[word, name] for name in robot.joint_names]]

    q, qd, qdd = block("q"), block("qd"), block("qdd")
    assert q is not None
    if qdd is not None and qd is None:
        raise MotionError(f"{source} has accelerations (qdd) but no velocities (qd); add them, or leave out the former")
    return Samples(table[:, where["time", ""]], q, qd, qdd).checked(source, lambda k: f"line {rows[k][0]}")


def _columns(names: list[str], robot: Robot, source: str) -> dict[tuple[str, str], int]:
    """(word, joint) → column; ("time", "") for time."""
    where: dict[tuple[str, str], int] = {}
    for k, name in enumerate(names):
        key = _meaning(name, robot) or _meaning(name.strip(), robot)
        if key is None:
            raise MotionError(
                f"{source} has a column '{name}'; allowed are time and <joint>.q, <joint>.qd, <joint>.qdd of the "
                f"joints {', '.join(robot.joint_names)}"
            )
        if key[0] and key in where:
            raise MotionError(f"{source} has two columns for '{name}'; keep one of them")
        where[key] = k
    if ("time", "") not in where:
        raise MotionError(f"{source} has no column 'time' [s]; its columns are {', '.join(names)[:200]}")
    return where


def _meaning(name: str, robot: Robot) -> tuple[str, str] | None:
    if name == TIME[0] or (name.lower() in TIME and name not in robot.joint_names):
        return "time", ""
    for separator in "./":
        joint, _, kind = name.rpartition(separator)
        for word, aliases in WORDS.items():
            if joint in robot.joint_names and kind.lower() in aliases:
                return word, joint
    return ("q", name) if name in robot.joint_names else None


def _numbers(rows: list[tuple[int, str]], delimiter: str | None, width: int, source: str) -> Array:
    if not rows:
        raise MotionError(f"{source} has a header but no rows of numbers")
    try:
        table: Array = np.loadtxt([line for _, line in rows], delimiter=delimiter, ndmin=2, comments=None)
    except ValueError:
        raise MotionError(_wrong_row(rows, delimiter, width, source)) from None
    if table.shape[1] != width:
        raise MotionError(f"{source} has {width} names in its header and {table.shape[1]} numbers in its rows")
    return table


def _wrong_row(rows: list[tuple[int, str]], delimiter: str | None, width: int, source: str) -> str:
    """Which line, and what is wrong with it."""
    for number, line in rows:
        cells = [cell.strip() for cell in line.split(delimiter)]
        if len(cells) != width:
            return f"{source}: line {number} has {len(cells)} values; the header names {width} columns"
        for cell in cells:
            try:
                float(cell)
            except ValueError:
                return f"{source}: line {number} has '{cell[:40]}' where a number is expected (decimal point, no units)"
    return f"{source} cannot be read as rows of numbers"
