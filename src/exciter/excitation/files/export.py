"""The files a robot is given, each read back and certified as a controller will interpolate it before it counts.

For the first runs on hardware the same path is given in a longer time.
A motion run at the speed s ≤ 1 is q(s t): the positions of the whole, velocities times s, accelerations times s²,
jerks times s³. Inertial, centrifugal and Coriolis torques shrink with s², viscous friction with s; gravity and dry
friction stay. So a slow run is gentle, but it is not proved by the certificate of the fast one: certify it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from exciter.errors import ExciterError, MotionError
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.files.read import EXACT_FILE, ROS2_JSON, ROS2_YAML, TABLE_FILE, exact_data, read_trajectory
from exciter.excitation.files.row_files import MOST_FILE_ROWS, MotionSamples, csv_text, ros2_json, ros2_yaml, sample
from exciter.excitation.trajectories.curve import Curve, CurvePiece
from exciter.excitation.trajectories.fourier import FourierPiece
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.files import json_text, scratch
from exciter.robot.robot import Robot
from exciter.typing import Array

DEFAULT_FILE_RATE_HZ = 200.0  # [Hz] rows per second unless asked otherwise
NODES_PER_ROW = 1.2  # of the certificate of a file: one to begin with, some more where it must be split
HIGHEST_FILE_RATE_HZ = 1000.0  # [Hz] up to which more rows are tried
TIMED_ROWS = 50  # from which the time of all rows is estimated
SLOWEST_SPEED_FRACTION = 0.01  # of the speed of a motion, for the first runs


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
        (folder / TABLE_FILE).write_text(csv_text(samples, robot.joint_names), encoding="utf-8")
        certificate = certify(read_trajectory(folder / TABLE_FILE, robot))
        if certificate.certified:
            _write_messages(folder, robot, samples)
            return Exported(rate=tried, rows=len(samples.time), certificate=certificate)
    worst = certificate.failures[0]
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
        (folder / TABLE_FILE).write_text(csv_text(few, robot.joint_names), encoding="utf-8")
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
    certified = samples.curve()
    for name, text in ((ROS2_YAML, ros2_yaml), (ROS2_JSON, ros2_json)):
        (folder / name).write_text(text(samples, robot.joint_names), encoding="utf-8")
        back = read_trajectory(folder / name, robot)
        if not same_curve(back, certified):
            raise ExciterError(f"{name} does not read back as it was written; please report this with the robot file")


def same_curve(one: Curve, other: Curve) -> bool:
    """Whether two curves are equal bit for bit at, and between, their knots."""
    if not np.array_equal(one.knots, other.knots):
        return False
    span = np.arange(len(one.knots) - 1)
    times = (one.knots[:-1], 0.5 * (one.knots[:-1] + one.knots[1:]))
    return all(np.array_equal(one.derivatives(span, t, 3), other.derivatives(span, t, 3)) for t in times)


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
    raise MotionError(f"a {type(piece).__name__} cannot be slowed down; write it as a CSV file and slow that down")


def certified_slowed(curve: Curve, speed: float, certify: Callable[[Curve], Certificate]) -> tuple[Curve, Certificate]:
    """A motion at part of its speed and its certificate; refused where it breaks a limit (gravity alone can)."""
    slow = slowed(curve, speed)
    certificate = certify(slow)
    if not certificate.certified:
        worst = certificate.failures[0]
        how = "breaks" if worst.status == "broken" else "is not proved to keep"
        raise MotionError(
            f"at {100.0 * speed:g} % of its speed the motion {how} a limit: {worst.what} of {worst.where} comes to "
            f"{worst.reached:.6g} {worst.unit} with a limit of {worst.limit:.6g}; 'exciter check' shows all of them"
        )
    return slow, certificate
