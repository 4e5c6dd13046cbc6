"""A motion as rows of a file: what a controller is given, and how it moves between them; trajectory.csv, and
trajectory_msgs/JointTrajectory of ROS 2 as YAML or JSON.

With q, q̇, q̈ in every row a controller interpolates by quintics, with q and q̇ by cubics; both match the rows on
either side. Positions alone say nothing of the way between them: they are joined by the cubic spline with continuous
acceleration (not-a-knot at both ends, so that no rest is assumed that the file does not give). Controllers join
them in ways of their own, many by straight lines: ``unchecked_rows`` says so beside a certificate.

Rows may have been rounded so much that the motion through them is another one.
A position that is off by ε lets the interpolant between rows h apart accelerate by up to 12 ε/h²: six decimals at 1 kHz
are 6 rad/s². That holds for cubics and quintics, and for the spline through positions alone.

CSV: ``time``, then ``<joint>.q``, ``<joint>.qd``, ``<joint>.qdd`` for every joint; 17 significant digits.
Files of other tools are read too: columns in any order, separated by commas, semicolons, tabs or blanks, without the
velocities or accelerations, with longer words for them, the header behind a '#'.

ROS 2: joint_names, and points with positions, velocities, accelerations and time_from_start {sec, nanosec}. Also read:
messages wrapped in an action goal, and ROS 1 times."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy

from exciter.errors import MotionError, shown
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.files import csv_cells, csv_line, lines_of
from exciter.notes import Note, warning
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings.field_markers import LARGEST_OF_A_ROBOT
from exciter.typing import Array

FEWEST_ROUNDED_ROWS = 20  #: few rows may well be round numbers on purpose
MOST_ROUNDED_DECIMALS = 9
ROUNDING_ACCELERATION_FRACTION = 0.01  #: of the largest acceleration, below which rounding is not worth a word
NANOSECONDS_PER_SECOND = 1_000_000_000  # per second: the resolution of time in a ROS 2 message
MOST_FILE_ROWS = 1_000_000  # of a file: a quarter of an hour at 1 kHz, some hundred megabytes
SHORTEST_ROW_STEP_S = 0.5 / NANOSECONDS_PER_SECOND  # [s] between rows: less is no time at all to a controller
FEWEST_SPLINE_ROWS = 4  # fewer points than this leave a cubic undetermined
QUOTED = re.compile(r'"[^"]*"')
TIME = ("time", "t", "time_from_start", "timestamp")
COLUMN_WORDS = {
    "q": ("q", "position", "pos"),
    "qd": ("qd", "velocity", "vel"),
    "qdd": ("qdd", "acceleration", "acc"),
    "": ("tau", "torque", "effort", "current", "command"),  # a recording's own columns: not part of the motion
}
WRAPPERS = ("trajectory", "joint_trajectory")  # FollowJointTrajectory goal, RobotTrajectory
MESSAGE = ("joint_names", "points")
OTHER_MOTIONS = ("joints", "pieces", "coefficients")  # of a trajectory.json
PointTexts = Sequence[tuple[str, str]]  #: (key, value) pairs of a point of a message
MULTI_DOF = ("multi_dof_trajectory", "multi_dof_joint_trajectory")  # of bodies without joints, beside that of joints
POINT_KINDS = ("positions", "velocities", "accelerations")
FOLLOWED_TOLERANCE = 1e-6  # [rad, m] by which joints that follow may be off in a file
LARGEST_TIME_FIELD = 2**32 - 1  # sec and nanosec have 32 bits
# lines of ``ros2_yaml``: names, numbers and times that JSON and YAML 1.1 read alike; times as large as messages hold
ROS2_NAME = r'"[A-Za-z0-9_./ -]*"'
ROS2_FLOAT = r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:e[-+][0-9]+)?"
ROS2_WHOLE = r"(?:0|[1-9][0-9]{0,9})"
HEAD = re.compile(rf"joint_names: (\[{ROS2_NAME}(?:, {ROS2_NAME})*\])")
NO_POINT = re.compile(r"(?<![.0-9])([0-9])e")  # a mantissa of one digit
LINE = re.compile(
    rf"(?P<mark>[- ]) (?P<key>{'|'.join((*POINT_KINDS, 'time_from_start'))}): "
    rf'(?P<value>\[{ROS2_FLOAT}(?:, {ROS2_FLOAT})*\]|{{"sec": {ROS2_WHOLE}, "nanosec": {ROS2_WHOLE}}})'
)


@dataclass(frozen=True)
class Rounding:
    """Positions with ``decimals`` digits behind the point, at rows ``step`` [s] apart; peak: largest acceleration."""

    decimals: int
    step: float
    peak: float

    @classmethod
    def of(cls, curve: Curve) -> Self | None:
        """The rounding of the positions at a curve's knots; None when they have all their digits."""
        if len(curve.knots) < FEWEST_ROUNDED_ROWS:
            return None
        q = curve.derivatives(np.arange(len(curve.knots) - 1), curve.knots[:-1], 0)[0]
        for decimals in range(MOST_ROUNDED_DECIMALS + 1):
            if np.abs(q - np.round(q, decimals)).max() < 1e-12 * max(1.0, np.abs(q).max()):
                step, peak = np.median(np.diff(curve.knots)), curve.extremum(2).size.max()
                return cls(decimals=decimals, step=float(step), peak=float(peak))
        return None

    @property
    def acceleration(self) -> float:
        """[rad/s², m/s²] 12 ε/h², that rounding alone can cause."""
        return float(12.0 * 0.5 * 10.0**-self.decimals / self.step**2)

    @property
    def matters(self) -> bool:
        return self.acceleration > ROUNDING_ACCELERATION_FRACTION * self.peak

    def __str__(self) -> str:
        return (
            f"the positions look rounded to {self.decimals} decimals, which with rows every {1e3 * self.step:.3g} ms "
            f"means accelerations up to {self.acceleration:.3g} rad/s² (m/s²) between them; write more digits, 17 lose "
            "nothing"
        )


class PositionSpline(PolynomialPiece):
    """The spline through rows without velocities."""


def unchecked_rows(curve: Curve) -> tuple[Note, ...]:
    """What a certificate of a file's motion does not cover; nothing where its rows say how they are joined."""
    if not any(isinstance(piece, PositionSpline) for piece in curve.pieces):
        return ()
    text = (
        "how a controller joins rows without velocities: a spline through the positions was certified; straight lines "
        "jump in velocity at every row; give velocities"
    )
    return (warning("not checked", text),)


@dataclass(frozen=True, eq=False)
class MotionSamples:
    """time (N,) [s], increasing; q (N, n) [rad or m], and q̇, q̈ (N, n) where the file has them."""

    time: Array
    q: Array
    qd: Array | None = None
    qdd: Array | None = None

    @property
    def given(self) -> list[Array]:
        """q, and q̇, and q̈, as far as they are there."""
        return [block for block in (self.q, self.qd, self.qdd) if block is not None]

    def curve(self) -> Curve:
        """The motion through the rows: quintic, cubic, or spline, according to what they hold."""
        if self.qd is not None:
            return Curve((PolynomialPiece.from_samples(self.time, self.q, self.qd, self.qdd),))
        spline = scipy.interpolate.CubicSpline(self.time, self.q)  # powers fall along the first axis
        return Curve((PositionSpline(self.time, np.ascontiguousarray(spline.c[::-1].transpose(2, 1, 0))),))

    def checked(self, source: str, row: Callable[[int], str]) -> MotionSamples:
        """Itself, or one line about the first thing that cannot be a motion; ``row`` names a row as people count."""
        least = 2 if self.qd is not None else FEWEST_SPLINE_ROWS
        if len(self.time) < least:
            what = "q and q̇" if self.qd is not None else "q alone"
            rows = "1 row" if len(self.time) == 1 else f"{len(self.time)} rows"
            raise MotionError(f"{source} has {rows}; a motion given by {what} needs at least {least}")
        for name, values in zip(("time", "q", "q̇", "q̈"), (self.time, *self.given), strict=False):
            for k in np.argwhere(~np.isfinite(values))[:1, 0]:
                raise MotionError(f"{source} has NaN or infinity in {name} of {row(k)}; repair it, or cut it out")
            for k in np.argwhere(np.abs(values) > LARGEST_OF_A_ROBOT)[:1, 0]:
                raise MotionError(
                    f"{source} has a number beyond {LARGEST_OF_A_ROBOT:g} in {name} of {row(k)}; no robot gets there"
                )
        for k in np.flatnonzero(np.diff(self.time) <= SHORTEST_ROW_STEP_S)[:1]:
            raise MotionError(
                f"the time of {source} does not increase: {row(k)} has {self.time[k]:.9g} s and {row(k + 1)} has "
                f"{self.time[k + 1]:.9g} s, less than a nanosecond later; sort the rows and remove repeated ones"
            )
        return self


def check_rows(duration: float, rate: float) -> None:
    """Refuse a motion [s] whose rows, at a rate [Hz], nobody could read back."""
    if duration * rate > MOST_FILE_ROWS:
        raise MotionError(
            f"{duration:.6g} s at {rate:.6g} rows per second are {duration * rate:.3g} rows; at most {MOST_FILE_ROWS} "
            "are written: ask for fewer periods, a shorter motion, or a lower rate"
        )


def sample(curve: Curve, rate: float) -> MotionSamples:
    """Rows at k/rate [Hz] from the curve's start, which becomes time zero, to its end. The row nearest to a knot moves
    onto it: between two rows the motion is then smooth, and a quintic through them does not swing where the jerk jumps.
    Times are whole nanoseconds, so that every format holds the same motion."""
    check_rows(curve.duration, rate)
    step = 1.0 / rate
    knots = curve.knots - curve.start
    grid = np.arange(1, int(np.ceil(knots[-1] * rate))) * step
    right = np.clip(np.searchsorted(knots, grid), 1, len(knots) - 1)
    nearest = np.minimum(np.abs(grid - knots[right - 1]), np.abs(grid - knots[right]))
    exact = np.union1d(knots, grid[nearest > 0.5 * step])
    nanoseconds = np.unique(np.rint(exact * NANOSECONDS_PER_SECOND).astype(np.int64))
    time = nanoseconds / NANOSECONDS_PER_SECOND
    motion = curve.motion(np.clip(time + curve.start, curve.start, curve.end))
    return MotionSamples(time=time, q=motion.q, qd=motion.qd, qdd=motion.qdd)


def commanded(samples: MotionSamples, robot: Robot) -> tuple[MotionSamples, tuple[str, ...]]:
    """What is written, by name: of all bodies where some that follow have drives, which a controller must be given."""
    if robot.drives is robot.joints or robot.coupling is None or samples.qd is None or samples.qdd is None:
        return samples, robot.joint_names
    tree = robot.coupling.motion(Motion(samples.time, samples.q, samples.qd, samples.qdd)).tree
    return MotionSamples(samples.time, tree.q, tree.qd, tree.qdd), robot.tree_names


def _check_followers(robot: Robot, q: Array, given: Mapping[str, Array], source: str) -> None:
    """Positions (N,) of joints that follow, by name, beside those of the joints (N, n)."""
    if not given or robot.coupling is None:
        return
    tree = robot.coupling.motion(Motion.at(q)).tree.q
    for name, values in given.items():
        if not (off := float(np.abs(values - tree[:, robot.body(name)]).max())) <= FOLLOWED_TOLERANCE:
            problem = f"{source} has '{name}' up to {off:.3g} rad (m) from where the other joints take it"
            raise MotionError(f"{problem}; leave out its columns, or design the motion again")


def csv_text(samples: MotionSamples, joints: tuple[str, ...]) -> str:
    """All columns; a quintic needs q, q̇ and q̈."""
    blocks = samples.given
    columns = [samples.time, *(block[:, j] for j in range(len(joints)) for block in blocks)]
    header = csv_line(["time", *(f"{name}.{word}" for name in joints for word in ("q", "qd", "qdd")[: len(blocks)])])
    stream = io.StringIO()
    np.savetxt(stream, np.column_stack(columns), fmt="%.17g", delimiter=",", header=header, comments="")
    return stream.getvalue()


def parse_csv(text: str, robot: Robot, source: str) -> MotionSamples:
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
        missing = [name for name in robot.joint_names if (word, name) not in where]
        if len(missing) == robot.n and word != "q":
            return None
        if missing:
            raise MotionError(
                f"{source} has no column '{missing[0]}.{word}'; every joint needs one ({', '.join(robot.joint_names)})"
            )
        return table[:, [where[word, name] for name in robot.joint_names]]

    q, qd, qdd = block("q"), block("qd"), block("qdd")
    if qdd is not None and qd is None:
        raise MotionError(f"{source} has accelerations (qdd) but no velocities (qd); add them, or leave out the former")
    samples = MotionSamples(table[:, where["time", ""]], q, qd, qdd)  # type: ignore[arg-type]  # q is there
    samples = samples.checked(source, lambda k: f"line {rows[k][0]}")
    followers = [name for name in robot.tree_names if ("q", name) in where and name not in robot.joint_names]
    _check_followers(robot, samples.q, {name: table[:, where["q", name]] for name in followers}, source)
    return samples


def _columns(names: list[str], robot: Robot, source: str) -> dict[tuple[str, str], int]:
    """(word, joint) → column; ("time", "") for time."""
    where: dict[tuple[str, str], int] = {}
    for k, name in enumerate(names):
        if (key := _meaning(name, robot) or _meaning(name.strip(), robot)) is None:
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
    known = [joint.name for joint in robot.drives]  # of those that follow, too, where they have drives
    if name == TIME[0] or (name.lower() in TIME and name not in known):
        return "time", ""
    for separator in "./":
        joint, _, kind = name.rpartition(separator)
        for word, aliases in COLUMN_WORDS.items():
            if joint in known and kind.lower() in aliases:
                return word, joint
    return ("q", name) if name in known else None


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


def ros2_json(samples: MotionSamples, joints: tuple[str, ...], points: Iterable[PointTexts] | None = None) -> str:
    """The message; points: its ``point_texts``, where they are there already."""
    return _json_message(json.dumps(joints), map(_json_point, points or point_texts(samples)))


def _json_message(names: str, points: Iterable[str]) -> str:
    text = ",\n".join(f"  {point}" for point in points)
    return f'{{\n "joint_names": {names},\n "points": [\n{text}\n ]\n}}\n'


def _json_point(point: PointTexts) -> str:
    return "{" + ", ".join([f'"{key}": {value}' for key, value in point]) + "}"


def ros2_yaml(samples: MotionSamples, joints: tuple[str, ...], points: Iterable[PointTexts] | None = None) -> str:
    """The same message as YAML, as ``ros2 topic pub`` and ``ros2 action send_goal`` take it."""
    lines = [f"joint_names: {json.dumps(joints)}", "points:"]
    for point in points or point_texts(samples):
        lines += [f"{' ' if k else '-'} {key}: {value}" for k, (key, value) in enumerate(point)]
    return "\n".join(lines) + "\n"


def point_texts(samples: MotionSamples) -> Iterator[PointTexts]:
    """Of every row; values are written so that JSON and YAML 1.1 read the same numbers."""
    ticks = np.rint(samples.time * NANOSECONDS_PER_SECOND).astype(np.int64)
    for tick, *rows in zip(ticks.tolist(), *samples.given, strict=True):
        seconds, nanoseconds = divmod(tick, NANOSECONDS_PER_SECOND)
        numbers = (_numbers_text(row.tolist()) for row in rows)
        time = f'{{"sec": {seconds}, "nanosec": {nanoseconds}}}'
        yield [*zip(POINT_KINDS, numbers, strict=False), ("time_from_start", time)]


def _numbers_text(values: list[float]) -> str:
    """Shortest texts that give the numbers back. YAML 1.1 takes 1e-05 for a word, so that there must be a point."""
    text = repr(values)
    return NO_POINT.sub(r"\1.0e", text) if "e" in text else text


def message_as_written(text: str) -> dict[str, Any] | None:
    """What YAML reads, a hundred times slower, in a message of ``ros2_yaml``; None where a line is none of its own."""
    try:
        names, points = _own_message(text)
        return {"joint_names": json.loads(names), "points": [json.loads(_json_point(point)) for point in points]}
    except ForeignLine:
        return None


def json_as_written(text: str) -> str | None:
    """The same message as ``ros2_json`` writes it: their numbers have the same texts."""
    try:
        names, points = _own_message(text)
        return _json_message(names, map(_json_point, points))
    except ForeignLine:
        return None


class ForeignLine(Exception):
    """A line that ``ros2_yaml`` does not write."""


def _own_message(text: str) -> tuple[str, Iterator[PointTexts]]:
    """Names and points of a message of ``ros2_yaml``, as it has them."""
    lines = iter(text.removesuffix("\n").split("\n"))
    head = HEAD.fullmatch(next(lines, ""))
    if head is None or next(lines, "") != "points:":
        raise ForeignLine
    return head[1], _own_points(lines)


def _own_points(lines: Iterator[str]) -> Iterator[PointTexts]:
    point = dict[str, str]()
    for line in lines:
        if (found := LINE.fullmatch(line)) is None:
            raise ForeignLine
        mark, key, value = found.groups()
        if mark == "-" and point:
            yield [*point.items()]
            point = {}
        if (mark == "-") != (not point) or key in point or value.startswith("{") != (key == "time_from_start"):
            raise ForeignLine
        point[key] = value
    if point:
        yield [*point.items()]


def is_ros2(data: Any) -> bool:
    return isinstance(data, Mapping) and "joint_names" in [*_levels(data)][-1][0]


def _levels(data: Mapping[str, Any] | None) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """A message with its wrappers, from outside in, and which keys of each are the motion."""
    while data is not None:
        key = next((key for key in WRAPPERS if isinstance(data.get(key), Mapping)), None)
        yield data, MESSAGE if key is None else (key,)
        data = None if key is None else data[key]


def parse_ros2(data: Mapping[str, Any], robot: Robot, source: str) -> MotionSamples:
    """The points of a message, joints in the robot's order."""
    for message, own in _levels(data):  # whoever executes the file may take the other one of two motions
        others = [other for other in (*MESSAGE, *WRAPPERS, *OTHER_MOTIONS) if other in message and other not in own]
        bodies = [other for other in MULTI_DOF if isinstance(message.get(other), Mapping)]
        if others := [*others, *(other for other in bodies if message[other].get("points"))]:
            raise MotionError(
                f"{source} has {', '.join(others)} beside {' and '.join(own)}: two motions in one file; keep one"
            )
    names, points = message["joint_names"], message.get("points")
    driven = [joint.name for joint in robot.drives]
    if not isinstance(names, list) or sorted(names, key=str) not in (sorted(robot.joint_names), sorted(driven)):
        raise MotionError(
            f"{source} has joint_names {shown(names)}; expected the joints {', '.join(robot.joint_names)}"
        )
    if not isinstance(points, list) or not all(isinstance(point, Mapping) for point in points):
        raise MotionError(f"{source} has no list of points (positions, velocities, accelerations, time_from_start)")
    order = [names.index(name) for name in robot.joint_names]
    time = np.array([_time(point.get("time_from_start"), k, source) for k, point in enumerate(points)])
    blocks = [_block(points, kind, len(names), source) for kind in POINT_KINDS]
    q, qd, qdd = (None if block is None else block[:, order] for block in blocks)
    if q is None:
        raise MotionError(f"{source} has points without positions; every point needs them")
    if qdd is not None and qd is None:
        raise MotionError(f"{source} has accelerations but no velocities; add them, or leave out the former")
    samples = MotionSamples(time=time, q=q, qd=qd, qdd=qdd).checked(source, lambda k: f"point {k + 1}")
    followers = [name for name in names if name not in robot.joint_names]
    given = {} if blocks[0] is None else {one: blocks[0][:, names.index(one)] for one in followers}
    _check_followers(robot, q, given, source)
    return samples


def _block(points: Sequence[Mapping[str, Any]], kind: str, size: int, source: str) -> Array | None:
    """(N, size), or None when no point has it (an empty list means the same in ROS)."""
    rows = [point.get(kind) or [] for point in points]
    if not any(rows):
        return None
    for k, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != size:
            raise MotionError(f"{source}: point {k + 1} must have {size} {kind}, one per joint, as others have")
        if not set(map(type, row)) <= {int, float}:
            raise MotionError(
                f"{source}: point {k + 1} has {kind} {shown(row)} that are not numbers; write them without quotes, in "
                "YAML with a point (1.0e-05)"
            )
    return np.array(rows, dtype=float)


def _time(given: Any, index: int, source: str) -> float:
    """Seconds of {sec, nanosec}, of ROS 1's {secs, nsecs}."""
    if isinstance(given, Mapping) and set(given) <= {"sec", "secs", "nanosec", "nsecs"}:
        names = (("sec", "secs"), ("nanosec", "nsecs"))
        parts = [given.get(new, given.get(old, 0)) for new, old in names]
        whole = all(type(part) is int and abs(part) <= LARGEST_TIME_FIELD for part in parts)
        if whole and parts == [given.get(old, given.get(new, 0)) for new, old in names]:
            return float((parts[0] * NANOSECONDS_PER_SECOND + parts[1]) / NANOSECONDS_PER_SECOND)
    raise MotionError(
        f"{source}: point {index + 1} has time_from_start {shown(given)}; expected {{sec: …, nanosec: …}}, "
        "whole numbers of 32 bits"
    )
