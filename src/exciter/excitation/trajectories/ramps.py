"""From rest into an exciting motion and back to rest, by quintic ramps within the robot's joint limits.

A Fourier series moves all the time. A ramp leads from rest to its state (q, q̇, q̈) at some phase, another from the same
phase to rest after any number of periods. A motion that starts and ends at rest needs ramps only to be reached from a
given posture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import MotionError
from exciter.excitation.trajectories import polynomial_piece as polynomials
from exciter.excitation.trajectories.curve import SAME_STATE, Curve
from exciter.excitation.trajectories.fourier import FourierPiece
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.robot.robot import Robot
from exciter.typing import Array, BoolArray

Allowed = Callable[[Curve], bool]

#: Largest |φ|, |φ'|, |φ''| of φ = 30 x² (1 − x)²: of a quintic from rest to rest, velocity, acceleration and jerk are
#: A φ/u, A φ'/u² and A φ''/u³ over a way A in a time u.
LARGEST_OF_REST_TO_REST = (1.875, 10.0 / np.sqrt(3.0), 60.0)
JOINT_LIMIT_ROUNDING = 1e-12  # that a limit forgives
SLOWNESS_LEVELS = 8  # of slowness, tried at each phase
SLOWER_RAMP_FACTOR = 1.25  # a ramp that is refused is tried again this much slower


@dataclass(frozen=True)
class Ramps:
    """start, end: postures (n,) [rad] at rest; None: wherever it suits the motion. phases of a period, and durations
    from shortest to longest [s], are tried; tries: combinations within the joint limits shown to a further test."""

    start: tuple[float, ...] | None = None
    end: tuple[float, ...] | None = None
    phases: int = 48
    shortest: float = 0.5
    longest: float = 20.0
    tries: int = 100

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            if (posture := getattr(self, name)) is not None:
                object.__setattr__(self, name, tuple(float(q) for q in posture))
        if self.phases < 1 or self.tries < 1 or not 0.0 < self.shortest <= self.longest < np.inf:
            raise MotionError(f"{self}: phases and tries must be 1 or more, and 0 < shortest ≤ longest")

    @property
    def durations(self) -> Array:
        """(K,) [s] increasing by a twentieth each."""
        count = 1 + int(np.ceil(np.log(self.longest / self.shortest) / np.log(1.05)))
        return np.geomspace(self.shortest, self.longest, count)


def _within_limits(robot: Robot, start: Array, end: Array, width: Array) -> BoolArray:
    """(K,) whether quintics from states ``start`` to ``end``, each (3, n, K), obey all joint limits for all time."""
    rates = [robot.limit(name) for name in ("velocity", "acceleration", "jerk")]
    bounds = np.array([[robot.limit("lower"), *(-r for r in rates)], [robot.limit("upper"), *rates]])[..., None]
    slack = JOINT_LIMIT_ROUNDING * np.maximum(1.0, np.abs(bounds))
    lowest, highest = bounds[0] - slack[0], bounds[1] + slack[1]  # (4, n, 1)
    unit = polynomials.hermite(np.ones(len(width)), *(x * width ** np.arange(3)[:, None, None] for x in (start, end)))
    good = np.ones(len(width), dtype=bool)

    def within(order: int, low: Array, high: Array) -> BoolArray:
        return np.asarray(((low >= lowest[order]) & (high <= highest[order])).all(axis=0))

    for order in (1, 2, 3, 0):  # polynomials (n, K, d + 1) on [0, 1]: a few values refuse most, hulls accept most
        chosen = np.flatnonzero(good)
        shape = polynomials.derivative(unit[:, chosen], order) / width[chosen, None] ** order
        few = polynomials.evaluate(shape[..., None, :], np.linspace(0.0, 1.0, 9))
        good[chosen] = within(order, few.min(axis=-1), few.max(axis=-1))
        open_ = np.flatnonzero(good[chosen] & ~within(order, *polynomials.hull(shape)))  # roots decide
        exact = polynomials.evaluate(shape[:, open_, None], polynomials.stationary_points(shape[:, open_]))
        good[chosen[open_]] = within(order, exact.min(axis=-1, initial=np.inf), exact.max(axis=-1, initial=-np.inf))
    return good


def ramped(
    trajectory: Trajectory,
    delta: ArrayLike,
    robot: Robot,
    *,
    periods: int = 1,
    ramps: Ramps | None = None,
    allowed: Allowed | None = None,
) -> Curve:
    """The motion of coefficients (n, c), repeated, from rest to rest, from time 0. Ramps, short ones first, obey the
    robot's joint limits exactly; the exciting motion itself is not checked. ``allowed`` may refuse a whole motion for
    other reasons (torque, collisions): then the next one is tried, slower or at another phase."""
    ramps = ramps or Ramps()
    motion = trajectory.curve(delta)
    if periods < 1:
        raise MotionError(f"{periods} periods; give 1 or more")
    for posture in (ramps.start, ramps.end):
        if posture is not None and len(posture) != robot.n:
            raise MotionError(f"a posture of {len(posture)} joints; robot '{robot.name}' has {robot.n}")
        for joint, q in zip(robot.joints, posture or (), strict=False):
            if not joint.limits.lower <= q <= joint.limits.upper:
                raise MotionError(
                    f"the posture has joint '{joint.name}' at {q:.6g}, outside its range {joint.limits.lower:.6g} … "
                    f"{joint.limits.upper:.6g}"
                )
    none = SAME_STATE * np.maximum(1.0, [motion.extremum(k).size for k in (1, 2)])  # of velocity and acceleration
    rests = all((np.abs(_state(motion, end=end)[1:]) <= none).all() for end in (False, True))
    refused, candidates = 0, (_at_rest if rests else _moving)(motion, robot, periods, ramps)
    for curve in islice(candidates, ramps.tries):
        if allowed is None or allowed(curve):
            return curve
        refused += 1
    if refused:
        raise MotionError(
            f"all of {refused} ramps within the joint limits break another limit; let the trajectory start at rest "
            "(at_rest), or give another start posture"
        )
    raise MotionError(
        f"no ramp of {ramps.shortest:g} to {ramps.longest:g} s into the motion and out of it is within the joint "
        "limits; give another start posture, allow longer ramps, or let the trajectory start at rest"
    )


def _state(curve: Curve, *, end: bool) -> Array:
    """(3, n): q, q̇, q̈ at the start or the end."""
    span, at = (len(curve.knots) - 2, curve.end) if end else (0, curve.start)
    return curve.derivatives(np.array([span]), np.array([at]), 2)[:, :, 0]


def _ramp(width: float, start: Array, end: Array) -> Curve:
    shape = polynomials.hermite(np.array([width]), start[..., None], end[..., None])
    return Curve((polynomials.PolynomialPiece(np.array([0.0, width]), shape),))


def _chain(parts: list[Curve]) -> Curve:
    """Curves one after the other, from time 0."""
    whole = parts[0].shifted(-parts[0].start)
    for part in parts[1:]:
        whole = whole.then(part.shifted(whole.end - part.start))
    return whole


def _at_rest(motion: Curve, robot: Robot, periods: int, ramps: Ramps) -> Iterator[Curve]:
    """Of one that rests at both ends: moves to its start, back between repetitions, and to the end, ever slower."""
    first, last = _state(motion, end=False)[0], _state(motion, end=True)[0]
    start = first if ramps.start is None else np.array(ramps.start)
    end = last if ramps.end is None else np.array(ramps.end)
    slowness = 1.0
    while True:
        back = [*_move(last, first, robot, slowness), motion]
        lead_in, lead_out = _move(start, first, robot, slowness), _move(last, end, robot, slowness)
        parts = [*lead_in, motion, *(periods - 1) * back, *lead_out]
        yield _chain(parts)
        slowness *= SLOWER_RAMP_FACTOR
        longest = max((part.duration for part in parts if part is not motion), default=np.inf)
        if SLOWER_RAMP_FACTOR * longest > ramps.longest:
            return


def _move(q: Array, to: Array, robot: Robot, slowness: float) -> list[Curve]:
    """From rest to rest on a straight line, in the shortest time the limits allow; nothing when already there."""
    if (np.abs(to - q) <= SAME_STATE).all():
        return []
    still = np.zeros_like(q)
    limits = [robot.limit(name) for name in ("velocity", "acceleration", "jerk")]
    ratios = [largest * np.abs(to - q) / limit for largest, limit in zip(LARGEST_OF_REST_TO_REST, limits, strict=True)]
    width = max(float((ratio ** (1.0 / k)).max()) for k, ratio in enumerate(ratios, start=1))
    if width == 0.0:
        raise MotionError("no limit bounds how fast a segment may be; give acceleration limits")
    return [_ramp(slowness * width, np.stack([q, still, still]), np.stack([to, still, still]))]


def _moving(motion: Curve, robot: Robot, periods: int, ramps: Ramps) -> Iterator[Curve]:
    """Of one that is entered while it moves: pairs of ramps to ``entry`` and from ``exit_`` states (3, n, F) of one
    phase, the shortest pair first; where a phase can be chosen, at every phase."""
    series = motion.pieces[0]
    if isinstance(series, FourierPiece):
        period = motion.duration
        phases = period * np.arange(ramps.phases) / ramps.phases
        entry = exit_ = motion.derivatives(np.zeros(len(phases), dtype=np.int64), phases, 2)

        def exciting(index: int) -> Curve:
            return Curve((replace(series, start=0.0, end=periods * period, phase_time=-phases[index]),))
    else:
        entry, exit_ = (_state(motion, end=end)[..., None] for end in (False, True))

        def exciting(index: int) -> Curve:
            return motion.repeated(periods)

    width = np.tile(ramps.durations, entry.shape[2])
    phase = np.repeat(np.arange(entry.shape[2]), len(ramps.durations))
    entry, exit_ = entry[..., phase], exit_[..., phase]
    before, after = _resting(entry, width, ramps.start, -1.0), _resting(exit_, width, ramps.end, 1.0)
    good_in = _within_limits(robot, before, entry, width)
    good_out = _within_limits(robot, exit_, after, width)
    pairs: list[tuple[float, int, int]] = []
    for f in range(phase[-1] + 1):
        # longer ramps matter only when the shortest are refused, and then both had better be longer
        numbers = (np.flatnonzero(good & (phase == f)) for good in (good_in, good_out))
        few_in, few_out = (good[:: max(1, len(good) // SLOWNESS_LEVELS)] for good in numbers)
        pairs += [(width[i] + width[o], i, o) for i, o in zip(few_in, few_out, strict=False)]
    for _, i, o in sorted(pairs)[:: 1 + len(pairs) // ramps.tries]:
        lead_in = _ramp(float(width[i]), before[..., i], entry[..., i])
        lead_out = _ramp(float(width[o]), exit_[..., o], after[..., o])
        yield _chain([lead_in, exciting(int(phase[i])), lead_out])


def _resting(state: Array, width: Array, posture: tuple[float, ...] | None, sign: float) -> Array:
    """(3, n, K): rest before (sign −1) or after (+1) moving states (3, n, K), for ramps that last ``width`` (K,).
    Unless a posture is given the velocity is a mere cubic, half the way of the moving state in that time, corrected
    for its acceleration: such a ramp hardly overshoots."""
    q, qd, qdd = state
    rest = np.zeros_like(state)
    rest[0] = q + sign * 0.5 * qd * width + qdd * width**2 / 12.0 if posture is None else np.array(posture)[:, None]
    return rest
