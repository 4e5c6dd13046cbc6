"""Trajectory files: any of them read as the exact curve that a controller makes of it, and those that a robot is given,
each read back and certified as a controller will interpolate it before it counts.

trajectory.json is the motion itself, not samples of it:

    joints        names, in the order of all rows below
    trajectory    the family and its settings; labels and coefficients by joint, for people and for the next design
    periods       how often the exciting part is run through; these two only where the motion is one of a family
    pieces        what the robot executes, ramps included: polynomials (knots [s]; per joint and span, increasing powers
                  of the time since the span's start) and stretches of Fourier series
    duration      of all of it [s]

What stands above the pieces must be true of them: a file that says two things is refused. A file without ``pieces``
means the family's own curve, ``periods`` times, without ramps.

Every kind of motion by its word: families to search in, motions that are drawn to validate a model on, and stops, which
a drawn motion becomes in its file.

trajectory: {family: fourier, period: 10, harmonics: [1, 2, 5], at_rest: true}
trajectory: {family: fourier, harmonics: {waist: 3, shoulder: [1, 2, 5], elbow: 5}}
trajectory: {family: bspline, duration: 10, segments: 8, degree: 5, variables: waypoints}
trajectory: {family: quintic, duration: 10, segments: 10, at_rest_ends: true}     # or times: [0, 1.5, 4]
trajectory: {family: acceleration, duration: 10, intervals: 20}
trajectory: {family: chirp, duration: 10, lowest: 0.2, highest: 2.0, sweeps: 1, fall: 1.0, rise: 0.1}
trajectory: {family: steps, duration: 10, steps: 8, rise: 0.5}                    # or rises: […], holds: […]
trajectory: {family: random-points, points: 20, rest: 0.2, rise: 0.05, draws: 2000}
trajectory: {family: random-spline, duration: 20, segments: 20, degree: 5, draws: 50}

For the first runs on hardware the same path is given in a longer time.
A motion run at the speed s ≤ 1 is q(s t): the positions of the whole, velocities times s, accelerations times s²,
jerks times s³. Inertial, centrifugal and Coriolis torques shrink with s², viscous friction with s; gravity and dry
friction stay. So a slow run is gentle, but it is not proved by the certificate of the fast one: certify it again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os.path import isdir  # false, too, for a name that is too long
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import ExciterError, MotionError, RobotError, shown
from exciter.excitation.certificate.certificate import FAILURES, Certificate
from exciter.excitation.files import row_files
from exciter.excitation.files.row_files import MOST_FILE_ROWS, MotionSamples, message_as_written, sample
from exciter.excitation.trajectories.cosine_ramp import CosineRampPiece
from exciter.excitation.trajectories.curve import Curve, CurvePiece
from exciter.excitation.trajectories.fourier import Fourier, FourierPiece
from exciter.excitation.trajectories.piecewise import AccelerationSequence, BSpline, Quintic, Stops
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.excitation.trajectories.sweeps_and_steps import Chirp, Steps
from exciter.excitation.trajectories.trajectory import Family, Trajectory
from exciter.excitation.validation_motion.random_families import RandomPoints, RandomSpline
from exciter.files import Seal, hidden_end, json_text, scratch
from exciter.robot.robot import Robot
from exciter.robot.xml_safety import read_bytes
from exciter.robot.yaml_file import parse_json, parse_yaml
from exciter.settings import OneOf, Registry, fill, written
from exciter.settings.field_markers import LARGEST_OF_A_ROBOT
from exciter.typing import Array

FAMILIES = Registry[Family](
    "trajectory family",
    Fourier,
    BSpline,
    Quintic,
    AccelerationSequence,
    Chirp,
    Steps,
    RandomPoints,
    RandomSpline,
    Stops,
)
DRAWN_FAMILIES = (RandomPoints, RandomSpline)  # not searched
TO_DESIGN = OneOf(FAMILIES, tag="family", usual=Fourier.word, without=(Stops.word,))
OF_A_FILE = OneOf(FAMILIES, tag="family", without=tuple(cls.word for cls in DRAWN_FAMILIES))
SAME_MOTION = 1e-6  # [rad, m and per s, s²], and relative: what other machines compute from the same coefficients
PIECES: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "polynomial": (PolynomialPiece, ("knots", "coefficients")),
    "fourier": (FourierPiece, ("start", "end", "omega", "harmonics", "a", "b", "offset", "phase_time")),
    "cosine-ramp": (CosineRampPiece, ("knots", "omegas", "speed", "since", "position")),
}
FAMILY_KEYS = ("trajectory", "labels", "coefficients", "periods")
MESSAGE_KEYS = ("points", "joint_trajectory")  # of ROS 2
LARGEST_TRAJECTORY_BYTES = 300_000_000
BINARY_CHECK_BYTES = 10_000  # of the beginning, which is searched for the zeros of a binary file
TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".dat")
MOTION_FILES = ("trajectory.csv", "trajectory.json", "trajectory.ros2.yaml", "trajectory.ros2.json")
TABLE_FILE, EXACT_FILE, ROS2_YAML, ROS2_JSON = MOTION_FILES
ARCHIVE = "design.npz"  #: the whole design, to be opened again
DESIGN = Seal("design.json", (*MOTION_FILES, ARCHIVE, "report.html"), "design again")
DEFAULT_FILE_RATE_HZ = 200.0  # [Hz] rows per second unless asked otherwise
NODES_PER_ROW = 1.2  # of the certificate of a file: one to begin with, some more where it must be split
HIGHEST_FILE_RATE_HZ = 1000.0  # [Hz] up to which more rows are tried
TIMED_ROWS = 50  # from which the time of all rows is estimated
SLOWEST_SPEED_FRACTION = 0.01  # of the speed of a motion, for the first runs


def trajectory_from(data: Mapping[str, Any]) -> Trajectory:
    """The family that a trajectory.json names; settings that are left out have their defaults."""
    if not isinstance(data, Mapping):
        raise ExciterError(f"trajectory is {shown(data)}; give a mapping with family: {', '.join(OF_A_FILE.words)}")
    made: Trajectory = fill(OF_A_FILE.hint, data, "trajectory", exact=True)
    return made


def exact_data(
    curve: Curve, robot: Robot, trajectory: Trajectory | None = None, delta: Array | None = None, periods: int = 1
) -> dict[str, Any]:
    """Plain data from which ``exact_curve`` builds the same curve; without a family where it is none of one."""
    data: dict[str, Any] = {"joints": list(robot.joint_names), "duration": curve.end - curve.start}
    if trajectory is not None and delta is not None:
        rows = zip(robot.joint_names, delta.tolist(), strict=True)
        data["trajectory"], data["labels"] = written(trajectory), list(trajectory.labels)
        data["coefficients"], data["periods"] = dict(rows), periods
    return {**data, "pieces": [_piece_data(piece) for piece in curve.pieces]}


def _piece_data(piece: CurvePiece) -> dict[str, Any]:
    for kind, (cls, attributes) in PIECES.items():
        if isinstance(piece, cls):
            return {"kind": kind} | {name: np.asarray(getattr(piece, name)).tolist() for name in attributes}
    raise MotionError(f"a {type(piece).__name__} has no exact form in trajectory.json; write a CSV file instead")


def exact_curve(data: Mapping[str, Any], robot: Robot, source: str) -> Curve:
    """The curve of a trajectory.json, joints in the robot's order; it may jump (``Curve.breaks``)."""
    for key in MESSAGE_KEYS:
        if key in data:  # whoever executes the file may take the other one
            raise MotionError(f"{source} has {key} beside a trajectory.json: two motions in one file; keep one")
    joints = data.get("joints")
    names = list(robot.joint_names)
    if not isinstance(joints, list) or sorted(joints, key=str) != sorted(names):
        raise MotionError(f"{source} is for the joints {shown(joints)}; this robot has {', '.join(names)}")
    try:  # whatever a hand-written file lacks becomes one line
        return _curve(data, names, [joints.index(name) for name in names])
    except ExciterError as error:
        raise MotionError(f"{source}: {error}") from None
    except KeyError as error:
        raise MotionError(f"{source} lacks {error}, or names something unknown by it") from None
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise MotionError(f"{source} does not have the form of a trajectory.json: {error}") from None


def _curve(data: Mapping[str, Any], joints: list[str], order: list[int]) -> Curve:
    """Of the pieces, where there are any, else of the family; what the file says beside them is compared."""
    periods = data.get("periods", 1)
    if "pieces" not in data:
        curve = _family_curve(data, joints).again(periods)
    elif not isinstance(data["pieces"], list) or not data["pieces"]:
        raise MotionError("it has no pieces; expected a list of polynomial and fourier pieces")
    else:
        curve = Curve(tuple(_piece(entry, order) for entry in data["pieces"]))
        if any(key in data for key in FAMILY_KEYS):
            (own,) = (one := _family_curve(data, joints)).pieces
            one.again(periods)  # a number that can be one of periods
            if not abs(sum(_turns(piece, own) for piece in curve.pieces) - periods) <= SAME_MOTION:
                raise MotionError(
                    f"its pieces do not run {periods} times through the trajectory with these coefficients: one of "
                    "both was changed; design again, or leave out trajectory, labels, coefficients and periods"
                )
    if "duration" in data:
        given = data["duration"]
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise MotionError(f"its duration is {shown(given)}; expected seconds")
        if not abs(given - curve.duration) <= SAME_MOTION * curve.duration:
            raise MotionError(
                f"its duration is {shown(given)} s, and its motion lasts {curve.duration:.9g} s: one of both was "
                "changed; design again, or leave the duration out"
            )
    return curve


def _piece(entry: Mapping[str, Any], order: list[int]) -> CurvePiece:
    cls, names = PIECES[entry["kind"]]
    values = {name: _numbers(entry[name], name) for name in names}
    for name, value in values.items():
        if value.size and not np.abs(value).max() <= LARGEST_OF_A_ROBOT:  # NaN included
            raise MotionError(f"{name} of a piece has NaN, infinity, or a number beyond {LARGEST_OF_A_ROBOT:g}")
    if "knots" in values and (np.diff(values["knots"]) <= row_files.SHORTEST_ROW_STEP_S).any():
        raise MotionError(f"the knots of a piece must increase, by more than {row_files.SHORTEST_ROW_STEP_S:g} s")
    for name in ("coefficients", "a", "b", "offset", "omegas", "speed", "since", "position"):
        if name in values:
            if len(values[name]) != len(order):
                raise MotionError(f"{name} of a piece has {len(values[name])} rows for {len(order)} joints")
            values[name] = values[name][order]
    if "harmonics" in values and (values["harmonics"] % 1).any():
        raise MotionError(f"harmonics {shown(entry['harmonics'])} of a piece must be whole numbers")
    piece: CurvePiece = cls(**{name: value if value.ndim else float(value) for name, value in values.items()})
    return piece


def _numbers(given: Any, name: str) -> Array:
    """As an array: neither words nor true and false, which NumPy would turn into numbers."""
    rest = [given]
    while rest:
        one = rest.pop()
        if isinstance(one, list):
            rest += one
        elif type(one) not in (int, float):
            raise MotionError(f"{name} has {shown(one)} where a number is expected")
    return np.array(given, dtype=float)


def _family_curve(data: Mapping[str, Any], joints: list[str]) -> Curve:
    """Once through the motion of a family, joints in the robot's order."""
    trajectory, rows = trajectory_from(data["trajectory"]).of_joints(joints), data["coefficients"]
    if not isinstance(rows, Mapping) or sorted(rows) != sorted(joints):
        raise MotionError(f"coefficients must be given for {', '.join(joints)}, by name, and for no others")
    delta = _numbers([rows[name] for name in joints], "coefficients")
    if delta.shape != (len(joints), trajectory.coefficients):
        raise MotionError(
            f"coefficients of shape {delta.shape}; this trajectory has {trajectory.coefficients} for each of "
            f"{len(joints)} joints"
        )
    if "labels" in data and data["labels"] != list(trajectory.labels):
        raise MotionError(
            f"labels {shown(data['labels'])} are not those of this trajectory: {', '.join(trajectory.labels)}"
        )
    if not np.abs(delta).max(initial=0.0) <= LARGEST_OF_A_ROBOT:
        raise MotionError(f"the coefficients have NaN, infinity, or a number beyond {LARGEST_OF_A_ROBOT:g}")
    return trajectory.curve(delta)


def _turns(piece: CurvePiece, own: CurvePiece) -> float:
    """How often a piece runs through that of a family; a Fourier series may be entered at any phase."""
    if isinstance(piece, FourierPiece) and isinstance(own, FourierPiece):
        numbers = ("harmonics", "omega", "a", "b", "offset")
        same = all(_close(getattr(piece, name), getattr(own, name)) for name in numbers)
        return float(np.ptp(piece.knots) / np.ptp(own.knots)) if same else 0.0
    if isinstance(piece, PolynomialPiece) and isinstance(own, PolynomialPiece):
        widths, own_widths = np.diff(piece.knots), np.diff(own.knots)
        # (n, S, d + 1): what every power adds to the position until the end of its span [rad or m]
        ways = piece.coefficients * widths[:, None] ** np.arange(piece.degree + 1)
        own_ways = own.coefficients * own_widths[:, None] ** np.arange(own.degree + 1)
        return float(_close(widths, own_widths) and _close(ways, own_ways))
    return 0.0


def _close(given: Any, own: Any) -> bool:
    """Whether numbers are those of another machine, relative to the largest of them."""
    if np.shape(given) != np.shape(own):
        return False
    return bool(np.abs(np.subtract(given, own)).max() <= SAME_MOTION * np.abs(own).max())


def read_trajectory(path: str | Path, robot: Robot, *, jumps: bool = False) -> Curve:
    """The motion of a file, joints in the robot's order: trajectory.csv or any table of its kind, trajectory.json,
    ROS 2 JointTrajectory as YAML or JSON. A folder means the trajectory.json inside it.

    Tables and messages are interpolated as ``MotionSamples`` says: quintic, cubic, or spline. A position or velocity
    that jumps is refused; ``jumps``: it is read too, for a certificate that says so. A file beside a design.json must
    be the one that was certified with it, which the design.json has to show; alone it is read for what it is."""
    path = Path(path)
    file = path / EXACT_FILE if isdir(path) else path
    curve = curve_of(_text(file), file.suffix.lower(), robot, f"'{file}'")
    if jumps:
        return curve
    try:
        return curve.continuous(robot.joint_names)
    except MotionError as error:
        raise MotionError(f"'{path}': {error}") from None


def _text(path: Path) -> str:
    """Of a file that is none of a design, or the one that was certified with it."""
    source, suffix = f"'{path}'", path.suffix.lower()
    if suffix not in (*TABLE_SUFFIXES, ".json", ".yaml", ".yml"):
        raise MotionError(f"{source} ends in '{path.suffix}'; a trajectory ends in .csv, .json or .yaml")
    DESIGN.refuse_open(path.parent)
    try:
        content = read_bytes(path, "trajectory", LARGEST_TRAJECTORY_BYTES)
        for place in dict.fromkeys((path, Path(os.path.realpath(path)))):  # a link to a file of a design is that file
            folder = place.parent
            if DESIGN.is_there(folder) and place.name in DESIGN.hashes(folder):
                DESIGN.refuse_changed(folder, {place.name: content})
            elif DESIGN.is_there(folder) and place.name in MOTION_FILES:
                raise MotionError(
                    f"{DESIGN.name} beside '{place}' has no hash of it, so that nobody knows whether it is the motion "
                    f"that was certified; {DESIGN.aside}"
                )
        if b"\0" in content[:BINARY_CHECK_BYTES]:
            raise MotionError(f"{source} is a binary file; expected text: a table, JSON or YAML")
        return content.decode("utf-8")
    except RobotError as error:
        raise MotionError(str(error)) from None
    except UnicodeDecodeError:
        raise MotionError(
            f"{source} is a binary file, or text that is not UTF-8; expected a table, JSON or YAML"
        ) from None


def curve_of(text: str, suffix: str, robot: Robot, source: str) -> Curve:
    """The same of the text of a file; suffix: of its name, source: what messages call it."""
    if suffix != ".json" and (wrong := hidden_end(text)) is not None:  # lines mean nothing in JSON
        raise MotionError(f"{source}: {wrong}")
    if suffix in TABLE_SUFFIXES:
        return row_files.parse_csv(text, robot, source).curve()
    try:
        data = parse_json(text, source) if suffix == ".json" else message_as_written(text) or parse_yaml(text, source)
    except RobotError as error:
        raise MotionError(str(error)) from None
    if row_files.is_ros2(data):
        return row_files.parse_ros2(data, robot, source).curve()
    if isinstance(data, Mapping) and ("pieces" in data or "trajectory" in data) and "joint_names" not in data:
        return exact_curve(data, robot, source)
    raise MotionError(
        f"{source} is neither a trajectory.json (joints, trajectory, coefficients, pieces) nor a ROS 2 JointTrajectory "
        "(joint_names, points)"
    )


@dataclass(frozen=True, eq=False)
class Exported:
    """What was written: rows per second [Hz], how many rows, and the certificate of the rows as interpolated."""

    rate: float
    rows: int
    certificate: Certificate

    def to_dict(self) -> dict[str, Any]:
        """As design.json has it."""
        return {"rate": self.rate, "rows": self.rows, "certificate": self.certificate.to_dict()}


def export(
    folder: Path,
    robot: Robot,
    curve: Curve,
    trajectory: Trajectory | None,
    delta: Array | None,
    certify: Callable[[Curve], Certificate],
    *,
    periods: int = 1,
    rate: float = DEFAULT_FILE_RATE_HZ,
) -> Exported:
    """Write trajectory.csv, .json, .ros2.yaml and .ros2.json to a folder (a staging one: what fails must not stay).
    trajectory, delta: the family and its coefficients, None for a curve of another kind. ``certify`` judges the rows of
    the table as they are read back; where they break a limit that the curve keeps, more are taken, up to 1 kHz."""
    (folder / EXACT_FILE).write_text(json_text(exact_data(curve, robot, trajectory, delta, periods)), encoding="utf-8")
    for tried in rates(rate, curve.duration):
        samples = sample(curve, tried)
        (folder / TABLE_FILE).write_text(row_files.csv_text(*row_files.commanded(samples, robot)), encoding="utf-8")
        certificate = certify(read_trajectory(folder / TABLE_FILE, robot))
        if certificate.certified:
            _write_messages(folder, robot, samples)
            return Exported(rate=tried, rows=len(samples.time), certificate=certificate)
    worst = next(limit for limit in certificate.limits if limit.status in FAILURES)
    raise ExciterError(
        f"the motion keeps its limits, but its rows at {tried:g} Hz, as a controller joins them, do not: {worst.what} "
        f"of {worst.where} comes to {worst.reached:.9g} {worst.unit} with a limit of {worst.limit:.9g}; design with a "
        "limit that is a little tighter, or ask for another rate (trajectory: {rate: …})"
    )


def export_seconds(robot: Robot, curve: Curve, rate: float, certificate_seconds: float, nodes: int) -> float:
    """About what ``export`` takes, from a few rows, and the time of a certificate of so many nodes per constraint."""
    samples = sample(curve, rate)
    few = MotionSamples(*(x[:TIMED_ROWS] for x in vars(samples).values()))
    began = time.perf_counter()
    with scratch() as folder:
        (folder / TABLE_FILE).write_text(row_files.csv_text(*row_files.commanded(few, robot)), encoding="utf-8")
        read_trajectory(folder / TABLE_FILE, robot)
        _write_messages(folder, robot, few)
    text = (time.perf_counter() - began) * len(samples.time) / len(few.time)
    return text + certificate_seconds * max(1.0, NODES_PER_ROW * len(samples.time) / max(1, nodes))


def rates(rate: float, duration: float = 0.0) -> tuple[float, ...]:
    """The rate asked for, then twice as many rows again and again, up to 1 kHz, and to what a file [s] may have."""
    tried = [rate]
    while tried[-1] < HIGHEST_FILE_RATE_HZ and min(2.0 * tried[-1], HIGHEST_FILE_RATE_HZ) * duration <= MOST_FILE_ROWS:
        tried.append(min(2.0 * tried[-1], HIGHEST_FILE_RATE_HZ))
    return tuple(tried)


def _write_messages(folder: Path, robot: Robot, samples: MotionSamples) -> None:
    """The same rows as ROS 2 messages; both must read back as the very curve that was certified."""
    rows, joints = row_files.commanded(samples, robot)
    points = [*row_files.point_texts(rows)]  # to write a number takes longer than to read it
    as_json, certified = row_files.ros2_json(rows, joints, points), samples.curve()
    for name, text in ((ROS2_JSON, as_json), (ROS2_YAML, row_files.ros2_yaml(rows, joints, points))):
        (folder / name).write_text(text, encoding="utf-8")
        same = name == ROS2_YAML and row_files.json_as_written(_text(folder / name)) == as_json  # which was read
        if not same and not same_curve(read_trajectory(folder / name, robot), certified):
            raise ExciterError(f"{name} does not read back as it was written; please report this with the robot file")


def same_curve(one: Curve, other: Curve) -> bool:
    """Whether two curves are equal bit for bit at, and between, their knots."""
    if not np.array_equal(one.knots, other.knots):
        return False
    if all(map(_same_powers, one.pieces, other.pieces)) and len(one.pieces) == len(other.pieces):
        return True
    span = np.arange(len(one.knots) - 1)
    times = (one.knots[:-1], 0.5 * (one.knots[:-1] + one.knots[1:]))
    return all(np.array_equal(one.derivatives(span, t, 3), other.derivatives(span, t, 3)) for t in times)


def _same_powers(one: CurvePiece, other: CurvePiece) -> bool:
    """Whether two pieces are the same polynomials, and so the same everywhere."""
    if not (isinstance(one, PolynomialPiece) and type(one) is type(other)):
        return False
    return np.array_equal(one.knots, other.knots) and np.array_equal(one.coefficients, other.coefficients)


def slowed(curve: Curve, speed: float) -> Curve:
    """The path of a curve at a part of its speed, 0.01 … 1, from time zero on."""
    if not SLOWEST_SPEED_FRACTION <= speed <= 1.0:
        raise MotionError(
            f"a speed of {100.0 * speed:g} %; give {100.0 * SLOWEST_SPEED_FRACTION:g} … 100 % of the motion's own"
        )
    return Curve(tuple(_slowed(piece, float(speed)) for piece in curve.shifted(-curve.start).pieces))


def _slowed(piece: CurvePiece, speed: float) -> CurvePiece:
    if isinstance(piece, PolynomialPiece):  # powers of the time since the knot: the k-th coefficient times s^k
        return PolynomialPiece(piece.knots / speed, piece.coefficients * speed ** np.arange(piece.degree + 1))
    if isinstance(piece, FourierPiece):  # ω and the amplitudes of the velocity, a and b, times s
        times = {name: getattr(piece, name) / speed for name in ("start", "end", "phase_time")}
        return replace(piece, **times, omega=piece.omega * speed, a=piece.a * speed, b=piece.b * speed)
    if isinstance(piece, CosineRampPiece):
        times = {name: getattr(piece, name) / speed for name in ("knots", "since")}
        return replace(piece, **times, omegas=piece.omegas * speed, speed=piece.speed * speed)
    raise MotionError(f"a {type(piece).__name__} cannot be slowed down; write it as a CSV file and slow that down")


def certified_slowed(curve: Curve, speed: float, certify: Callable[[Curve], Certificate]) -> tuple[Curve, Certificate]:
    """A motion at part of its speed and its certificate; refused where it breaks a limit (gravity alone can)."""
    slow = slowed(curve, speed)
    certificate = certify(slow)
    if not certificate.certified:
        worst = next(limit for limit in certificate.limits if limit.status in FAILURES)
        how = "breaks" if worst.status == "broken" else "is not proved to keep"
        raise MotionError(
            f"at {100.0 * speed:g} % of its speed the motion {how} a limit: {worst.what} of {worst.where} comes to "
            f"{worst.reached:.6g} {worst.unit} with a limit of {worst.limit:.6g}; 'exciter check' shows all of them"
        )
    return slow, certificate
