"""Motions that may excite drives, each from a list of numbers between 0 and 1: what a search draws and changes. The
first of them, one for each joint, are the posture that it moves about.

All last equally long, move within a band of frequencies, and fill a joint's limits of position, velocity, acceleration
and jerk up to a share of its own. Swept sines and steps come in two ways: all joints together, or in turn, the first
joints of all limbs, then the second ones, for limbs do not move each other on a fixed base."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exciter.excitation.optimiser.limits import RESAMPLING_CLEARANCE_SHARE, limit_ranges
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import LARGEST_OF_REST_TO_REST
from exciter.excitation.trajectories.sweeps_and_steps import Chirp, Steps
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.excitation.validation_motion.random_families import largest_swing
from exciter.identification.actuators.actuator_settings import DriveMotionSettings
from exciter.robot.robot import Robot
from exciter.typing import Array, Index

COMMANDED_RANGE_SHARE = 0.9  #: of the range of positions: drives go beyond what they are told
LEAST_SIZE_SHARE = 0.3  #: of what limits allow, below which no joint is tried
POSTURE_SHARE = 0.8  #: of the range of positions, in whose middle motions are centred
MOST_FALL = 2.0  #: of amplitudes over frequency: one amplitude of acceleration
LEAST_CYCLES = 1.0  #: of a sweep, at its lowest frequency
FEWEST_SINES, MOST_SINES, MOST_HARMONIC = 3, 12, 30
WIDEST_RATIO = 10.0  #: of frequencies to the usual one
STEP_RATIO, MOST_DRAWN_STEPS = 2.0, 100  #: of how long a step takes to half a usual period
LEAST_PAUSE = 0.1  #: of the longest holds, below which there are none


@dataclass(frozen=True, eq=False)
class Candidate:
    """A motion of a family by coefficients (n, c), run through so many periods; posture (n,): that it moves about."""

    trajectory: Trajectory
    delta: Array
    posture: Array
    periods: int = 1

    def smaller(self, share: float) -> Array:
        """Coefficients (n, c) of a share of the swing."""
        still = self.trajectory.still(self.posture)
        return np.asarray(still + share * (self.delta - still))


@dataclass(frozen=True, eq=False)
class MotionRoom:
    """What motions may fill. rate [Hz]: rows of the file, at which steps begin and end."""

    robot: Robot
    settings: DriveMotionSettings
    rate: float

    @property
    def n(self) -> int:
        return self.robot.n

    @property
    def duration(self) -> float:
        return self.settings.duration

    @cached_property
    def turns(self) -> Index:
        """(n,) when each joint moves, where they take turns."""
        found = np.zeros(self.n, dtype=np.int64)
        for limb in self.robot.limbs:
            found[list(limb)] = np.arange(len(limb))
        return found

    @cached_property
    def _limits(self) -> tuple[Array, Array]:
        """(4, n) of position, velocity, acceleration, jerk; that of position less wide."""
        lower, upper = limit_ranges(self.robot)
        middle, half = 0.5 * (lower[0] + upper[0]), 0.5 * COMMANDED_RANGE_SHARE * (upper[0] - lower[0])
        return np.vstack([middle - half, lower[1:]]), np.vstack([middle + half, upper[1:]])

    def posture(self, part: Array) -> Array:
        """(n,) from parts (n,) of the middle of all ranges."""
        lower, upper = self.range
        return np.asarray(0.5 * (lower + upper) + POSTURE_SHARE * (part - 0.5) * (upper - lower))

    def parts(self, posture: Array) -> Array:
        """(n,) of which ``posture`` makes this one, or one near to it."""
        lower, upper = self.range
        return np.clip(0.5 + (posture - 0.5 * (lower + upper)) / (POSTURE_SHARE * (upper - lower)), 0.0, 1.0)

    @property
    def range(self) -> tuple[Array, Array]:
        """(n,) lowest and highest position that is commanded."""
        lower, upper = self._limits
        return lower[0], upper[0]

    @cached_property
    def usual(self) -> float:
        """[Hz] of a sine that comes to the limits of acceleration and velocity (or position) of a joint, as it is for
        the joint in the middle of all; within the band."""
        (lower, upper), most = self.range, self._limits[1]
        half, velocity, acceleration = 0.5 * (upper - lower), most[1], most[2]
        limited = np.isfinite(acceleration)
        fast = np.where(limited, acceleration, 0.0)
        pace = np.where(limited, np.maximum(fast / velocity, np.sqrt(fast / half)), velocity / half)
        return float(np.clip(np.median(pace) / (2.0 * np.pi), self.settings.lowest, self.settings.highest))

    def frequencies(self, low: float, high: float, least: float = 0.0) -> tuple[float, float]:
        """[Hz] Two, from numbers in 0 … 1: below the usual one, and above; least: no lower one."""
        band = max(self.settings.lowest, min(least, self.usual)), self.settings.highest
        found = np.clip([self.usual * WIDEST_RATIO ** (low - 1.0), self.usual * WIDEST_RATIO**high], *band)
        return float(found[0]), float(found[1])

    def filled(self, family: Trajectory, swing: Array, posture: Array, size: Array, periods: int = 1) -> Candidate:
        """swing (n, c), about zero, as large as limits allow, times a size (n,)."""
        curve = family.curve(swing)
        room, reached = largest_swing(self.robot, curve, posture), curve.extremum(0)
        lower, upper = self.range
        for most, allowed in ((reached.highest, upper - posture), (-reached.lowest, posture - lower)):
            room = np.where(most > 0.0, np.minimum(room, allowed / np.where(most > 0.0, most, 1.0)), room)
        large = (1.0 - RESAMPLING_CLEARANCE_SHARE) * room * sized(size)
        return Candidate(family, family.still(posture) + large[:, None] * swing, posture, periods)

    def way(self, seconds: float) -> Array:
        """(n,) how far a quintic from rest to rest may go in that time."""
        orders = zip(LARGEST_OF_REST_TO_REST, self._limits[1][1:], strict=True)
        ways = [limit * seconds**k / largest for k, (largest, limit) in enumerate(orders, start=1)]
        return np.asarray((1.0 - RESAMPLING_CLEARANCE_SHARE) * np.min(ways, axis=0))

    def rows(self, seconds: float) -> float:
        """[s] the nearest time that is one of whole rows, one at least."""
        return max(1.0, round(seconds * self.rate)) / self.rate


def sized(part: Array) -> Array:
    """Shares of what limits allow, most of them large."""
    return np.asarray(1.0 - (1.0 - LEAST_SIZE_SHARE) * (1.0 - part) ** 2)


@dataclass(frozen=True)
class SweptSines:
    """Postures by joint, then (low, high, fall), and by joint (phase, size)."""

    in_turn: bool
    word = Chirp.word

    def size(self, room: MotionRoom) -> int:
        return 3 + 3 * room.n

    def motion(self, x: Array, room: MotionRoom) -> Candidate:
        turns = room.turns if self.in_turn else np.zeros(room.n, dtype=np.int64)
        sweeps = int(turns.max()) + 1
        posture, (low, high, fall), rest = x[: room.n], x[room.n : room.n + 3], x[room.n + 3 :]
        band = room.frequencies(low, high, LEAST_CYCLES * sweeps / room.duration)
        family = Chirp(room.duration, *band, sweeps, MOST_FALL * fall)
        phase, size = rest.reshape(2, room.n)
        swing, joints = np.zeros((room.n, family.coefficients)), np.arange(room.n)
        swing[joints, 1 + 2 * turns], swing[joints, 2 + 2 * turns] = (
            np.cos(2 * np.pi * phase),
            np.sin(2 * np.pi * phase),
        )
        return room.filled(family, swing, room.posture(posture), size)


@dataclass(frozen=True)
class SumOfSines:
    """Postures by joint, then (low, high, fall, how many), and by joint (size, phases). Periods are short where
    frequencies are high: extrema of a series are the roots of a polynomial."""

    word = Fourier.word

    def size(self, room: MotionRoom) -> int:
        return 4 + (2 + MOST_SINES) * room.n

    def motion(self, x: Array, room: MotionRoom) -> Candidate:
        n = room.n
        posture, (low, high, fall, many), rest = x[:n], x[n : n + 4], x[n + 4 :]
        count = FEWEST_SINES + round(many * (MOST_SINES - FEWEST_SINES))
        low, high = room.frequencies(low, high)
        periods = int(np.ceil(high * room.duration / MOST_HARMONIC))
        period = room.duration / periods
        numbers = np.unique(np.round(np.geomspace(max(1.0, low * period), max(1.0, high * period), count)).astype(int))
        if len(numbers) < FEWEST_SINES:
            numbers = np.union1d(numbers, np.arange(1, FEWEST_SINES + 1))
        family = Fourier(period, tuple(numbers.tolist()), at_rest=True)
        size, phase = rest[:n], 2 * np.pi * rest[n:].reshape(n, MOST_SINES)[:, : len(numbers)]
        amplitude = numbers ** (1.0 - MOST_FALL * fall)  # of velocity, as the coefficients are
        swing = np.hstack([amplitude * np.cos(phase), amplitude * np.sin(phase), np.zeros((n, 1))])
        return room.filled(family, family.nearest(swing), room.posture(posture), size, periods)


@dataclass(frozen=True)
class RandomSteps:
    """Postures by joint, then (how long a step takes, how long a hold), sizes by joint, and of every step its rise, its
    hold, and where the joints go. In its time each joint goes as far as its limits allow: up, or down where there is no
    room."""

    in_turn: bool
    word = Steps.word

    def _most(self, room: MotionRoom) -> int:
        shortest = 0.25 / (STEP_RATIO * room.usual)
        return int(np.clip(room.duration / shortest, 1, MOST_DRAWN_STEPS))

    def size(self, room: MotionRoom) -> int:
        return 2 * room.n + 2 + (2 + room.n) * self._most(room)

    def motion(self, x: Array, room: MotionRoom) -> Candidate:
        n, most = room.n, self._most(room)
        posture, (pace, pause), size = room.posture(x[:n]), x[n : n + 2], sized(x[n + 2 : 2 * n + 2])
        rises, holds, ways = np.split(x[2 * n + 2 :].reshape(2 + n, most), [1, 2])
        usual = 0.5 / room.usual * STEP_RATIO ** (2.0 * pace - 1.0)
        level, levels = posture, [posture]
        times, left = list[float](), room.duration
        for step in range(most):
            rise = room.rows(usual * (0.5 + rises[0, step]))
            hold = room.rows(2.0 * usual * pause * holds[0, step]) if pause > LEAST_PAUSE else 0.0
            if times and rise + hold > left:
                break
            moves = room.turns == step % (room.turns.max() + 1) if self.in_turn else np.ones(n, dtype=bool)
            level = np.where(moves, self._next(level, size * room.way(rise), ways[:, step], room), level)
            levels.append(level)
            times += [hold, rise]
            left -= rise + hold
        return Candidate(Steps(tuple(times[1::2]), (*times[::2], max(left, 0.0))), np.array(levels).T, posture)

    def _next(self, level: Array, way: Array, part: Array, room: MotionRoom) -> Array:
        lower, upper = room.range
        up = np.where(part >= 0.5, level + way <= upper, level - way < lower)
        return np.clip(np.where(up, level + way, level - way), lower, upper)


AnyKind = SweptSines | SumOfSines | RandomSteps


def kinds_of(room: MotionRoom) -> tuple[AnyKind, ...]:
    """Of the families that are asked for; joints take no turns where there is one in every limb."""
    ways = (False, True) if room.turns.max() > 0 else (False,)
    every: list[AnyKind] = [SweptSines(way) for way in ways]
    every += [SumOfSines(), *(RandomSteps(way) for way in ways)]
    return tuple(kind for kind in every if kind.word in room.settings.families)
