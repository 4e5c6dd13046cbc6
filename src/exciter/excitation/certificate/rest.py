"""Whether an arm that stands can follow a curve from its start, and stands at its end.

For a curve that is part of a longer motion this is a remark. For a whole motion, which an arm that stands is to run, a
velocity at either end is a jump like any other between two rows of a file, and so is an acceleration where the jerk is
limited (``end_jumps``).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exciter.excitation.certificate.certificate import LimitVerdict
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.robot import Robot
from exciter.typing import Array

#: Velocity and acceleration below this part of their limit are none. A controller that interpolates positions and
#: velocities starts a motion from rest with a small acceleration, of the order of the square of its sampling time.
AT_REST = {"velocity": 1e-6, "acceleration": 1e-3}
#: [rad/s, m/s] and [rad/s², m/s²] that are never none: a limit may be a placeholder.
MOST_AT_REST = {"velocity": 1e-4, "acceleration": 0.1}


def rests(robot: Robot, curve: Curve) -> tuple[bool, bool]:
    """At the start and at the end: no velocity and no acceleration."""
    resting = np.ones(2, dtype=bool)
    for what in AT_REST:
        size, allowed = _at_the_ends(robot, curve, what)
        resting &= (size <= allowed[:, None]).all(axis=0)
    return bool(resting[0]), bool(resting[1])


def end_jumps(robot: Robot, curve: Curve) -> Iterator[LimitVerdict]:
    """Every joint that would have to jump from rest, or to rest, by velocity; where its jerk is limited, by
    acceleration too."""
    jerky = np.isfinite(robot.limit("jerk"))
    for order, what in enumerate(AT_REST, start=1):
        size, allowed = _at_the_ends(robot, curve, what)
        moving = ~(size <= allowed[:, None])  # NaN is a jump
        for j, end in np.argwhere(moving & jerky[:, None] if order == 2 else moving):
            joint, at = robot.joints[j], (curve.start, curve.end)[end]
            unit = f"{'m' if joint.is_prismatic else 'rad'}/s{'²' if order == 2 else ''}"
            how, sizes = (
                f"{what} {('from', 'to')[end]} rest",
                {"allowed": float(allowed[j]), "size": float(size[j, end])},
            )
            yield LimitVerdict.jump(how, joint.name, unit, **sizes, at=at)


def _at_the_ends(robot: Robot, curve: Curve, what: str) -> tuple[Array, Array]:
    """Magnitude (n, 2) at the start and at the end, and up to which it is none (n,): by the size of the limit or,
    where there is none, of what the joint reaches, within reason."""
    order = list(AT_REST).index(what) + 1
    span, time = np.array([0, len(curve.knots) - 2]), np.array([curve.start, curve.end])
    limit = robot.limit(what)
    size = np.where(np.isfinite(limit), limit, np.maximum(1.0, curve.extremum(order).size))
    allowed = np.minimum(AT_REST[what] * size, MOST_AT_REST[what])
    return np.abs(curve.derivatives(span, time, order)[order]), allowed
