"""Exciting motions of earlier authors: Armstrong, Otani & Kakizaki, Vandanjon.

Armstrong (1989), as Swevers et al. 1997 describe it: a sequence of joint accelerations that makes the smallest singular
value large. The accelerations themselves are the unknowns, the freest description of a motion and the one with most
variables; positions and velocities follow by integration. With limits kept by the optimiser it is a design like any
other.

Otani & Kakizaki (1993), as they describe it: every joint moves by a cosine on a ramp, its velocity swings between zero
and a maximum. Free are the frequency and the maximum of each joint and the initial configuration; the criterion is the
condition number.

Vandanjon (1995), four kinds of motion, each for one physical phenomenon (Khalil & Dombre, 12.3.4.2): they go to and fro
between two points, gravity's once and slowly; one or two joints move, the others are locked:

- inertia: one joint accelerates as hard as it may on a short way;
- centrifugal coupling: one joint travels far at high constant speed, and the locked joints feel its square;
- inertial coupling: two joints accelerate together;
- gravity: one joint travels through its range so slowly that only weight (and friction) is left.

All experiments go into one system of equations, so the two points of each are chosen for the condition of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter import ConditionNumber, DynamicModel, ExciterError, Motion, Robot
from exciter.errors import MotionError
from exciter.excitation.criteria.criterion import AnyCriterion, Criterion, DesignObjective, MotionCriterion, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns
from exciter.excitation.criteria.optimality_and_condition import EOptimality
from exciter.excitation.design import Design, design
from exciter.excitation.optimiser.limits import limit_ranges
from exciter.excitation.trajectories.curve import Curve, Extremum
from exciter.excitation.trajectories.piecewise import AccelerationSequence
from exciter.typing import Array
from exciter_papers.baselines.poses_and_moves import cruising_move, quick_move, to_and_fro

Index = NDArray[np.int64]
Purpose = Literal["inertia", "centrifugal coupling", "inertial coupling", "gravity"]
#: Share of a joint's range between the two points: short ways need hard accelerations, long ones reach high speeds.
WAY_RANGE_SHARES: dict[Purpose, tuple[float, float]] = {
    "inertia": (0.1, 0.4),
    "centrifugal coupling": (0.6, 1.0),
    "inertial coupling": (0.1, 0.4),
    "gravity": (0.6, 1.0),
}


def armstrong(model: DynamicModel, sequence: AccelerationSequence | None = None, **settings: Any) -> Design:
    """The acceleration sequence that maximises σ_min(FᵀF) within all limits; settings as of ``design``.

    ``random_trajectory(sequence, …)`` draws a random one, to compare with.
    """
    return design(model, sequence or AccelerationSequence(), **{"criterion": EOptimality(), **settings})


@dataclass(frozen=True, eq=False)
class CosineRampPiece:
    """q = position + ½ speed (t − since − sin(ω (t − since))/ω), so that q̇ = ½ speed (1 − cos ω (t − since)).

    knots (S + 1,) [s]; omega: ω (n,) [rad/s]; per joint and span (n, S): speed, signed, the largest of the cycle
    [rad/s], zero at rest; since: when the cycle began [s]; position [rad] there. A span lies within one cycle of every
    joint.
    """

    knots: Array
    omega: Array
    speed: Array
    since: Array
    position: Array

    def __post_init__(self) -> None:
        for name in ("knots", "omega", "speed", "since", "position"):
            array = np.array(getattr(self, name), dtype=float)
            if not np.isfinite(array).all():
                raise MotionError(f"{name} of a cosine on a ramp contains NaN or infinity; give finite numbers")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        shape = (len(self.omega), len(self.knots) - 1)
        if shape[1] < 1 or any(x.shape != shape for x in (self.speed, self.since, self.position)):
            raise MotionError(f"speed, since and position of a cosine on a ramp must have shape {shape} each")
        if not ((np.diff(self.knots) > 0).all() and (self.omega > 0).all()):
            raise MotionError("a cosine on a ramp needs knots that increase and positive frequencies")

    @property
    def n(self) -> int:
        """Joints."""
        return len(self.omega)

    def derivatives(self, span: Index, time: Array, order: int) -> Array:
        """(order + 1, n, N): q, q̇, … at times (N,), each within the closed span of that number (N,), or at times (n, N)
        that differ from joint to joint."""
        omega, half = self.omega[:, None], 0.5 * self.speed[:, span]
        local = time - self.since[:, span]
        phase = omega * local
        values = np.empty((order + 1, *phase.shape))
        values[0] = self.position[:, span] + half * (local - np.sin(phase) / omega)
        for k in range(1, order + 1):  # the (k − 1)-th derivative of ½ speed (1 − cos phase)
            wave = -np.cos(phase + 0.5 * np.pi * (k - 1)) * omega ** (k - 1)
            values[k] = half * (1.0 + wave if k == 1 else wave)
        return values

    def extremum(self, order: int) -> Extremum:
        """Exact extrema of the order-th derivative: every derivative is extreme at a multiple of a quarter cycle, or
        at the end of a span."""
        spans = len(self.knots) - 1
        quarter = 0.5 * np.pi / self.omega[:, None, None] * np.arange(5)  # (n, 1, 5)
        start, end = self.knots[:-1, None], self.knots[1:, None]
        ends = np.broadcast_to(np.concatenate([start, end], axis=1), (self.n, spans, 2))
        time = np.concatenate([ends, np.clip(self.since[..., None] + quarter, start, end)], axis=2)
        flat = time.reshape(self.n, -1)
        values = self.derivatives(np.repeat(np.arange(spans), time.shape[2]), flat, order)[order]
        return Extremum.of(values, flat)

    def rates(self, span: Index, start: Array, end: Array) -> Array:
        """(4, n, M): |f| ≤ |f(centre)| + r |f'(centre)| + r²/2 max|f''|, r half the width; never more than max|f|."""
        size = np.abs(self.derivatives(span, 0.5 * (start + end), 5))
        half, omega = 0.5 * np.abs(self.speed[:, span]), self.omega[:, None]
        most = [2.0 * half if k == 1 else half * omega ** (k - 1) for k in range(1, 7)]
        radius = 0.5 * (end - start)
        taylor = [size[k] + radius * size[k + 1] + 0.5 * radius**2 * most[k + 1] for k in range(1, 5)]
        return np.stack([np.minimum(bound, most[k]) for k, bound in enumerate(taylor)])

    def shifted(self, dt: float) -> Self:
        """The same motion, dt [s] later."""
        return replace(self, knots=self.knots + dt, since=self.since + dt)


@dataclass(frozen=True, eq=False)
class CosineRamp:
    """frequency (n,) [Hz] and speed (n,) [rad/s], the largest of each joint; start (n,) [rad]; duration [s].

    Where the next cycle would pass a position limit, a joint runs it backwards; when no whole cycle is left before the
    end, it stands still. So all joints start and end at rest.
    """

    frequency: Array
    speed: Array
    start: Array
    duration: float

    def curve(self, robot: Robot) -> Curve:
        """The exact motion within the position limits."""
        cycles = [self._cycles(robot, j) for j in range(robot.n)]
        knots = np.unique(np.concatenate([[0.0, self.duration], *(begin for begin, _, _ in cycles)]))
        knots = knots[np.append(np.diff(knots) > 1e-9 * self.duration, True)]
        knots[-1] = self.duration
        middle = 0.5 * (knots[:-1] + knots[1:])
        which = [np.searchsorted(begin, middle, side="right") - 1 for begin, _, _ in cycles]
        since, speed, position = (
            np.stack([cycle[k][chosen] for cycle, chosen in zip(cycles, which, strict=True)]) for k in range(3)
        )
        return Curve((CosineRampPiece(knots, 2.0 * np.pi * self.frequency, speed, since, position),))

    def _cycles(self, robot: Robot, j: int) -> tuple[Array, Array, Array]:
        """When each cycle of a joint begins, its signed speed (zero for the rest after the last), and q there."""
        lower, upper = (limit[j] for limit in robot.position_range())
        period = 1.0 / self.frequency[j]
        step, slack = 0.5 * self.speed[j] * period, 1e-12 * (upper - lower)
        count = int(np.floor(self.duration / period * (1.0 + 1e-12)))
        q, direction, speed = [float(self.start[j])], 1.0, []
        for _ in range(count):
            if not lower - slack <= q[-1] + direction * step <= upper + slack:
                direction = -direction
            if not lower - slack <= q[-1] + direction * step <= upper + slack:
                raise ExciterError(
                    f"a cycle of joint '{robot.joints[j].name}' takes {step:.4g}, which from {q[-1]:.4g} fits neither "
                    f"way into {lower:.4g} … {upper:.4g}; give a lower speed or a higher frequency"
                )
            speed.append(direction * self.speed[j])
            q.append(q[-1] + direction * step)
        return period * np.arange(count + 1), np.array([*speed, 0.0]), np.array(q)


@dataclass(frozen=True)
class OtaniSearch:
    """Random settings, then random changes of the best ones that become smaller and smaller: ``tries`` of each.

    frequency: range (lowest, highest) [Hz] that joints may have. rate: samples per second that the criterion sees.
    """

    duration: float = 10.0
    frequency: tuple[float, float] = (0.2, 1.0)
    tries: int = 200
    rate: float = 25.0
    criterion: AnyCriterion = field(default_factory=ConditionNumber)
    seed: int = 0

    def __post_init__(self) -> None:
        low, high = self.frequency
        if not (0 < low <= high < np.inf and low * self.duration >= 1.0 and self.tries >= 1 and self.rate > 0):
            raise ExciterError(
                f"frequencies {low:g} … {high:g} Hz over {self.duration:g} s with {self.tries} tries; the slowest "
                "cycle must fit into the duration, and one try or more is needed"
            )


@dataclass(frozen=True, eq=False)
class OtaniDesign:
    """The best settings found, their motion, the criterion and cond(W) there."""

    settings: CosineRamp
    curve: Curve
    value: float
    condition_number: float


def otani(
    model: DynamicModel, search: OtaniSearch | None = None, *, columns: ArrayLike | DesignColumns | None = None
) -> OtaniDesign:
    """Frequencies, speeds and initial configuration by random search, within all joint limits."""
    search = search or OtaniSearch()
    robot, rng = model.robot, np.random.default_rng(search.seed)
    objective = DesignObjective(model, search.criterion, DesignColumns.of(model, columns), np.ones(model.n))
    time = np.linspace(0.0, search.duration, round(search.rate * search.duration) + 1)

    def value(x: Array) -> float:
        return objective.value(cosine_ramp(robot, search, x).curve(robot).motion(time))

    best = rng.uniform(size=(3, robot.n))
    least = value(best)
    for size in np.concatenate([np.ones(search.tries - 1), np.geomspace(0.5, 0.01, search.tries)]):
        near = np.clip(best + size * rng.normal(size=best.shape), 0.0, 1.0)
        x = near if size < 1.0 else rng.uniform(size=best.shape)
        if (found := value(x)) < least:
            best, least = x, found
    if not np.isfinite(least):
        raise ExciterError(
            f"none of {2 * search.tries} motions excites all parameters; give a longer duration or higher frequencies"
        )
    settings = cosine_ramp(robot, search, best)
    curve = settings.curve(robot)
    cond = evaluate(model, curve.motion(time), 1.0, columns).condition_number
    return OtaniDesign(settings=settings, curve=curve, value=least, condition_number=cond)


def cosine_ramp(robot: Robot, search: OtaniSearch, x: Array) -> CosineRamp:
    """Settings within all limits from numbers x (3, n) between 0 and 1: frequency, speed, start.

    q̇ reaches v, q̈ reaches π f v, the jerk 2 π² f² v, and a cycle takes v/(2 f), of which half the range is allowed so
    that one direction always fits.
    """
    lower, upper = limit_ranges(robot)
    low, high = search.frequency
    frequency = low * (high / low) ** x[0]
    pulse = np.pi * frequency
    room = np.stack([frequency * (upper[0] - lower[0]), upper[1], upper[2] / pulse, upper[3] / (2.0 * pulse**2)])
    speed = room.min(axis=0) * (0.1 + 0.9 * x[1])
    start = lower[0] + x[2] * (upper[0] - lower[0])
    return CosineRamp(frequency=frequency, speed=speed, start=start, duration=search.duration)


@dataclass(frozen=True)
class FourMotions:
    """periods: how often a motion goes to and fro; slowness: speed of gravity's motions as a share of the fastest;
    candidates: pairs of points drawn for every experiment; rate: samples per second that the criterion sees."""

    periods: int = 2
    slowness: float = 0.05
    candidates: int = 24
    rate: float = 20.0
    criterion: Criterion = field(default_factory=ConditionNumber)
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.criterion, MotionCriterion):
            raise ExciterError(
                f"the criterion '{self.criterion.name}' needs one motion; four kinds of them give a Gram matrix: "
                "choose a condition number or D-, A-, E-optimality"
            )
        if self.periods < 1 or self.candidates < 1 or not 0 < self.slowness <= 1 or not self.rate > 0:
            raise ExciterError(f"{self}: periods and candidates must be 1 or more, slowness a share, the rate positive")


@dataclass(frozen=True, eq=False)
class TestMotion:
    """One experiment: what it is for, which joints move, and how."""

    __test__ = False  # a motion for tests of robots, not a test

    purpose: Purpose
    moving: tuple[str, ...]
    curve: Curve


@dataclass(frozen=True, eq=False)
class VandanjonDesign:
    """The experiments, the information of all together (b, b) (a prior for a further design), the criterion there,
    and cond(W) of all rows."""

    motions: tuple[TestMotion, ...]
    information: Array
    value: float
    condition_number: float


def vandanjon(
    model: DynamicModel,
    settings: FourMotions | None = None,
    *,
    noise: ArrayLike | None = None,
    columns: ArrayLike | DesignColumns | None = None,
) -> VandanjonDesign:
    """Pairs of points such that all experiments together are well conditioned; noise σ (n,) [N·m], one unless given.

    Candidates are random; then one experiment after the other is exchanged for a better candidate, until none is.
    """
    settings = settings or FourMotions()
    weights = model.per_joint(1.0 if noise is None else noise, "noise") ** -2.0
    objective = DesignObjective(model, settings.criterion, DesignColumns.of(model, columns), weights)
    rng = np.random.default_rng(settings.seed)
    experiments = [
        [draw(model.robot, purpose, joints, settings, rng) for _ in range(settings.candidates)]
        for purpose, joints in plan(model.robot.n)
    ]
    grams = np.array([[objective.gram(_sampled(m.curve, settings.rate)) for m in row] for row in experiments])
    chosen, value = _exchange(grams, settings.criterion)
    if not np.isfinite(value):
        raise ExciterError(
            f"the criterion '{settings.criterion.name}' is infinite for every choice of points; the model has "
            "parameters that motions of one or two joints do not excite, leave them out or give more candidates"
        )
    motions = tuple(row[k] for row, k in zip(experiments, chosen, strict=True))
    rows = np.vstack([objective.observed(_sampled(motion.curve, settings.rate)).w for motion in motions])
    information = grams[np.arange(len(grams)), chosen].sum(axis=0)
    cond = float(np.linalg.cond(rows))
    return VandanjonDesign(motions=motions, information=information, value=value, condition_number=cond)


def plan(n: int) -> list[tuple[Purpose, tuple[int, ...]]]:
    """Every joint for inertia, centrifugal coupling and gravity, every pair of neighbours for inertial coupling."""
    alone: list[Purpose] = ["inertia", "centrifugal coupling", "gravity"]
    single: list[tuple[Purpose, tuple[int, ...]]] = [(purpose, (j,)) for purpose in alone for j in range(n)]
    return single + [("inertial coupling", (j, j + 1)) for j in range(n - 1)]


def draw(
    robot: Robot, purpose: Purpose, joints: tuple[int, ...], settings: FourMotions, rng: np.random.Generator
) -> TestMotion:
    """A random pair of points for one experiment: a posture, and moving joints a random way apart, either direction."""
    lower, upper = robot.position_range()
    start = rng.uniform(lower, upper)
    end = start.copy()
    for j in joints:
        way = rng.uniform(*WAY_RANGE_SHARES[purpose]) * (upper[j] - lower[j])
        low = rng.uniform(lower[j], upper[j] - way)
        start[j], end[j] = (low, low + way) if rng.random() < 0.5 else (low + way, low)
    if purpose == "gravity":
        curve = cruising_move(robot, start, end, settings.slowness)
    else:
        move = cruising_move if purpose == "centrifugal coupling" else quick_move
        curve = to_and_fro(move(robot, start, end), move(robot, end, start), settings.periods)
    return TestMotion(purpose=purpose, moving=tuple(robot.joint_names[j] for j in joints), curve=curve)


def _sampled(curve: Curve, rate: float) -> Motion:
    return curve.motion(np.linspace(curve.start, curve.end, max(2, round(rate * curve.duration) + 1)))


def _exchange(grams: Array, criterion: Criterion) -> tuple[NDArray[np.int64], float]:
    """Which candidate of each experiment, of information (E, K, b, b), makes the criterion of the sum smallest."""
    chosen = np.zeros(len(grams), dtype=np.int64)
    total = grams[:, 0].sum(axis=0)
    value, improved = criterion(total)[0], True
    while improved:
        improved = False
        for e, row in enumerate(grams):
            others = total - row[chosen[e]]
            values = [criterion(others + gram)[0] for gram in row]
            k = int(np.argmin(values))
            if values[k] < (value - 1e-9 * abs(value) if np.isfinite(value) else value):
                chosen[e], value, improved = k, values[k], True
                total = others + row[k]
    return chosen, value
