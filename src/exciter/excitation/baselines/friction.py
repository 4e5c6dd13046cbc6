"""Motions at constant velocity, axis by axis, from which friction can be read (Khalil & Dombre, 12.3.3 ii).

One joint at a time travels to and fro at several speeds while the others stand still: no joint accelerates, so what
the torque of that joint has besides gravity is friction, one value for each speed and direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ExciterError
from exciter.excitation.baselines.straight_moves import chained, cruising_move, quick_move
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.robot import Robot


@dataclass(frozen=True)
class Cruise:
    """From start to end [s] the joint moves at ``speed`` [rad/s or m/s], signed, and no other joint moves."""

    joint: str
    speed: float
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class FrictionMotion:
    """One motion from rest to rest, and the stretches of constant velocity in it."""

    curve: Curve
    cruises: tuple[Cruise, ...]


@dataclass(frozen=True)
class ConstantVelocity:
    """paces: shares of the fastest speed that leaves half of the way at constant velocity; travel: share of the joint's
    range that is used, about its middle; posture (n,): where the other joints wait, the middle unless given."""

    paces: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 1.0)
    travel: float = 0.8
    posture: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("paces", "posture"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, tuple(float(x) for x in given))
        if not self.paces or not all(0 < pace <= 1 for pace in self.paces) or not 0 < self.travel <= 1:
            raise ExciterError(f"paces and travel are shares between 0 and 1, not {self.paces} and {self.travel}")


def constant_velocity(robot: Robot, settings: ConstantVelocity | None = None) -> FrictionMotion:
    """Every joint in turn, every pace, both directions."""
    settings = settings or ConstantVelocity()
    lower, upper = robot.position_range()
    middle, half = 0.5 * (lower + upper), 0.5 * settings.travel * (upper - lower)
    home = middle if settings.posture is None else np.array(settings.posture)
    parts: list[Curve] = []
    cruises: list[Cruise] = []
    at = home
    for j, joint in enumerate(robot.joints):
        low, high = home.copy(), home.copy()
        low[j], high[j] = middle[j] - half[j], middle[j] + half[j]
        parts += _approach(robot, at, low)
        for pace in settings.paces:
            for start, end in ((low, high), (high, low)):
                before = sum(part.duration for part in parts)
                move = cruising_move(robot, start, end, pace)
                begin, finish = (float(knot) for knot in move.knots[1:3])
                speed = float(move.motion([0.5 * (begin + finish)]).qd[0, j])
                cruises.append(Cruise(joint.name, speed, before + begin, before + finish))
                parts.append(move)
        at = low
    parts += _approach(robot, at, home)
    return FrictionMotion(chained(parts), tuple(cruises))


def _approach(robot: Robot, start: ArrayLike, end: ArrayLike) -> list[Curve]:
    return [] if np.array_equal(start, end) else [quick_move(robot, start, end)]
