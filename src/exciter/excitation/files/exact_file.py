"""trajectory.json: the motion itself, not samples of it.

    joints        names, in the order of all rows below
    trajectory    the family and its settings; labels and coefficients by joint, for people and for the next design
    periods       how often the exciting part is run through; these two only where the motion is one of a family
    pieces        what the robot executes, ramps included: polynomials (knots [s]; per joint and span, increasing powers
                  of the time since the span's start) and stretches of Fourier series

A file without ``pieces`` means the family's own curve, ``periods`` times, without ramps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ExciterError, MotionError, shown
from exciter.excitation.trajectories.curve import Curve, Piece
from exciter.excitation.trajectories.fourier_piece import FourierPiece
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.excitation.trajectories.registry import trajectory_from
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.robot.robot import Robot

Array = NDArray[np.float64]
LARGEST_COEFFICIENT = 1e100  # so that values between knots are finite
SHORTEST_SPAN = 1e-12  # [s]
PIECES: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "polynomial": (PolynomialPiece, ("knots", "coefficients")),
    "fourier": (FourierPiece, ("start", "end", "omega", "harmonics", "a", "b", "offset", "phase_time")),
}


def exact_data(
    curve: Curve, robot: Robot, trajectory: Trajectory | None = None, delta: Array | None = None, periods: int = 1
) -> dict[str, Any]:
    """Plain data from which ``exact_curve`` builds the same curve; the family and its coefficients are left out where
    the curve is not one of a family."""
    data: dict[str, Any] = {"joints": list(robot.joint_names), "duration": curve.end - curve.start}
    if trajectory is not None and delta is not None:
        rows = zip(robot.joint_names, delta.tolist(), strict=True)
        data["trajectory"], data["labels"] = trajectory.to_dict(), list(trajectory.labels)
        data["coefficients"], data["periods"] = dict(rows), periods
    return {**data, "pieces": [_piece_data(piece) for piece in curve.pieces]}


def _piece_data(piece: Piece) -> dict[str, Any]:
    for kind, (cls, attributes) in PIECES.items():
        if isinstance(piece, cls):
            return {"kind": kind} | {name: np.asarray(getattr(piece, name)).tolist() for name in attributes}
    raise MotionError(f"a {type(piece).__name__} has no exact form in trajectory.json; write a CSV file instead")


def is_exact(data: Any) -> bool:
    return isinstance(data, Mapping) and ("pieces" in data or "trajectory" in data) and "joint_names" not in data


def exact_curve(data: Mapping[str, Any], robot: Robot, source: str) -> Curve:
    """The curve of a trajectory.json, joints in the robot's order; it may jump (``Curve.breaks``)."""
    joints = data.get("joints")
    if not isinstance(joints, list) or sorted(map(str, joints)) != sorted(robot.joint_names):
        raise MotionError(f"{source} is for the joints {shown(joints)}; this robot has {', '.join(robot.joint_names)}")
    order = [joints.index(name) for name in robot.joint_names]
    if "pieces" not in data:
        return _guarded(lambda: _family_curve(data, robot), source)
    if not isinstance(data["pieces"], list) or not data["pieces"]:
        raise MotionError(f"{source} has no pieces; expected a list of polynomial and fourier pieces")
    return _guarded(lambda: Curve(tuple(_piece(entry, order) for entry in data["pieces"])), source)


def _piece(entry: Mapping[str, Any], order: list[int]) -> Piece:
    cls, names = PIECES[entry["kind"]]
    values = {name: np.array(entry[name], dtype=float) for name in names}
    for name, value in values.items():
        if value.size and not np.abs(value).max() <= LARGEST_COEFFICIENT:  # NaN included
            raise MotionError(f"{name} of a piece has NaN, infinity, or a number beyond {LARGEST_COEFFICIENT:g}")
    if "knots" in values and (np.diff(values["knots"]) < SHORTEST_SPAN).any():
        raise MotionError(f"the knots of a piece must increase, by {SHORTEST_SPAN:g} s at least")
    for name in ("coefficients", "a", "b", "offset"):
        if name in values:
            values[name] = values[name][order]
    if "harmonics" in values and (values["harmonics"] % 1).any():
        raise MotionError(f"harmonics {shown(entry['harmonics'])} of a piece must be whole numbers")
    piece: Piece = cls(**{name: value if value.ndim else float(value) for name, value in values.items()})
    return piece


def _family_curve(data: Mapping[str, Any], robot: Robot) -> Curve:
    trajectory = trajectory_from(data["trajectory"])
    delta = np.array([data["coefficients"][name] for name in robot.joint_names], dtype=float)
    if not np.abs(delta).max(initial=0.0) <= LARGEST_COEFFICIENT:
        raise MotionError(f"the coefficients have NaN, infinity, or a number beyond {LARGEST_COEFFICIENT:g}")
    curve = trajectory.curve(delta)
    return curve.again(data.get("periods", 1))


def _guarded(build: Callable[[], Curve], source: str) -> Curve:
    """Whatever a hand-written file lacks becomes one line."""
    try:
        return build()
    except ExciterError as error:
        raise MotionError(f"{source}: {error}") from None
    except KeyError as error:
        raise MotionError(f"{source} lacks {error}, or names something unknown by it") from None
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise MotionError(f"{source} does not have the form of a trajectory.json: {error}") from None
