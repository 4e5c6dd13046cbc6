"""Hand-made test motions: moves from rest to rest along a straight line in joint space.

Among them are motions at constant velocity, axis by axis, from which friction can be read (Khalil & Dombre,
12.3.3 ii). One joint at a time travels to and fro at several speeds while the others stand still: no joint accelerates,
so what the torque of that joint has besides gravity is friction, one value for each speed and direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ExciterError
from exciter.excitation.optimiser.limits import check_posture
from exciter.excitation.trajectories.curve import Curve, CurvePiece
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece, hermite
from exciter.robot.robot import Robot
from exciter.settings import Amount, Name, Number, Settings
from exciter.typing import Array

LIMITED_RATES = ("velocity", "acceleration", "jerk")
#: Largest derivatives of the quintic from 0 to 1 in one second.
QUINTIC_PEAK_RATES = np.array([15.0 / 8.0, 10.0 / np.sqrt(3.0), 60.0])
#: Least share of the way that is travelled at constant speed.
LEAST_CRUISE_SHARE = 0.5


@dataclass(frozen=True)
class Cruise(Settings):
    """From start to end [s] the joint moves at ``speed`` [rad/s or m/s], signed, and no other joint moves."""

    joint: Name
    speed: Amount
    start: Annotated[float, Number(least=0.0, unit="s")]
    end: Annotated[float, Number(above=0.0, unit="s")]

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise ExciterError(f"a stretch from {self.start:g} to {self.end:g} s; the end must come after the start")


def quick_move(robot: Robot, start: ArrayLike, end: ArrayLike, pace: float = 1.0) -> Curve:
    """One quintic, in the shortest time t the limits allow divided by the pace ≤ 1: over a way A from rest to rest
    |q̇| reaches 15/8 A/t, |q̈| 10/√3 A/t², the jerk 60 A/t³."""
    states = np.stack([_posture(robot, start), _posture(robot, end)])
    way, still = np.abs(states[1] - states[0]), np.zeros_like(states)
    order = np.arange(1, 4)[:, None]
    limits = np.stack([robot.limit(name) for name in LIMITED_RATES])
    width = float(((QUINTIC_PEAK_RATES[:, None] * way / limits) ** (1.0 / order)).max()) / pace
    return Curve((PolynomialPiece.from_samples([0.0, width], states, still, still),))


def cruising_move(robot: Robot, start: ArrayLike, end: ArrayLike, pace: float = 1.0) -> Curve:
    """Ramp up, constant speed over at least half of the way, ramp down. Speed: ``pace`` times the fastest one.

    On the ramps the velocity is a cubic of time that ends without acceleration, q̇ = v (3 x² − 2 x³). They last as long
    at every pace, so that slow moves are gentle.
    """
    a, b = _posture(robot, start), _posture(robot, end)
    way = b - a
    with np.errstate(divide="ignore"):
        velocity, acceleration, jerk = (float((robot.limit(name) / np.abs(way)).min()) for name in LIMITED_RATES)
    fastest = min(velocity, fastest_cruise(acceleration, jerk))
    ramp = max(1.5 * fastest / acceleration, float(np.sqrt(6.0 * fastest / jerk)))  # peaks: 1.5 v/t and 6 v/t²
    speed = pace * fastest
    knots = np.cumsum([0.0, ramp, 1.0 / speed - ramp, ramp])
    path = np.array([0.0, 0.5 * speed * ramp, 1.0 - 0.5 * speed * ramp, 1.0])
    rates = np.array([0.0, speed, speed, 0.0])
    states = np.stack([path, rates, np.zeros(4)])[:, None]
    share = hermite(np.diff(knots), states[..., :-1], states[..., 1:])  # (1, 3, 6) of the way
    share[0, 1, 2:] = 0.0  # no rounding where the speed is constant
    coefficients = way[:, None, None] * share
    coefficients[:, :, 0] += a[:, None]
    return Curve((PolynomialPiece(knots, coefficients),))


def fastest_cruise(acceleration: float, jerk: float) -> float:
    """Speed (in ways per second) at which both ramps together take the share of the way that is not cruised."""
    ramps = 1.0 - LEAST_CRUISE_SHARE  # speed · ramp time
    return min(float(np.sqrt(ramps * acceleration / 1.5)), float((ramps**2 * jerk / 6.0) ** (1.0 / 3.0)))


def rest(posture: ArrayLike, duration: float) -> Curve:
    """Standing still."""
    q = np.asarray(posture, dtype=float)
    return Curve((PolynomialPiece(np.array([0.0, duration]), q[:, None, None]),))


def chained(parts: list[Curve]) -> Curve:
    """One after the other, from time 0; each must start in the state in which the one before ends."""
    pieces: list[CurvePiece] = []
    at = 0.0
    for part in parts:
        pieces += part.shifted(at - part.start).pieces
        at += part.duration
    return Curve(tuple(pieces)).continuous()


def to_and_fro(there: Curve, back: Curve, times: int) -> Curve:
    """There and back again, several times: a periodic motion between two points."""
    return chained([there, back]).repeated(times)


def _posture(robot: Robot, q: ArrayLike) -> Array:
    """(n,) within the position limits."""
    return check_posture(robot, np.asarray(q, dtype=float), robot.limit("lower"), robot.limit("upper"))


@dataclass(frozen=True, eq=False)
class FrictionMotion:
    """One motion from rest to rest, and the stretches of constant velocity in it."""

    curve: Curve
    cruises: tuple[Cruise, ...]


@dataclass(frozen=True)
class ConstantVelocityMoves:
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


def constant_velocity(robot: Robot, settings: ConstantVelocityMoves | None = None) -> FrictionMotion:
    """Every joint in turn, every pace, both directions."""
    settings = settings or ConstantVelocityMoves()
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
        swept = sweep(robot, joint.name, low, high, settings.paces, sum(part.duration for part in parts))
        parts.append(swept.curve)
        cruises += swept.cruises
        at = low
    parts += _approach(robot, at, home)
    return FrictionMotion(chained(parts), tuple(cruises))


def sweep(
    robot: Robot, joint: str, low: ArrayLike, high: ArrayLike, paces: Sequence[float], begin: float = 0.0
) -> FrictionMotion:
    """One joint to and fro between two postures that differ in its position alone, at every pace; begin [s]: when it
    will be run, for its cruises."""
    parts: list[Curve] = []
    cruises: list[Cruise] = []
    for pace in paces:
        for start, end in ((low, high), (high, low)):
            move = cruising_move(robot, start, end, pace)
            first, last = (float(knot) for knot in move.knots[1:3])
            speed = float(move.motion([0.5 * (first + last)]).qd[0, robot.index(joint)])
            cruises.append(Cruise(joint=joint, speed=speed, start=begin + first, end=begin + last))
            parts.append(move)
            begin += move.duration
    return FrictionMotion(chained(parts), tuple(cruises))


def _approach(robot: Robot, start: ArrayLike, end: ArrayLike) -> list[Curve]:
    return [] if np.array_equal(start, end) else [quick_move(robot, start, end)]
