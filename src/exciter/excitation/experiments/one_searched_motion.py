"""One motion that is searched for everything at once, in two ways that Swevers et al. 1997 compare theirs with.

Otani & Kakizaki (1993): every joint moves by a cosine on a ramp, its velocity swings between zero and a maximum. Free
are the frequency and the maximum of each joint and the initial configuration; the criterion is the condition number.

Armstrong (1989): a sequence of joint accelerations that makes the smallest singular value large. The accelerations
themselves are the unknowns, the freest description of a motion and the one with most variables; positions and
velocities follow by integration. With limits kept by the optimiser it is a design like any other."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.criteria.criterion import AnyCriterion, DesignObjective, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns
from exciter.excitation.criteria.optimality_and_condition import ConditionNumber, EOptimality
from exciter.excitation.design import Design, design
from exciter.excitation.experiments.experiment import Experiment, ExperimentStage, ExperimentTask, sampled
from exciter.excitation.experiments.roadmap import FILE_PACE
from exciter.excitation.optimiser.limits import limit_ranges
from exciter.excitation.trajectories.cosine_ramp import CosineRampPiece
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.piecewise import MOST_FAMILY_SPANS, AccelerationSequence
from exciter.excitation.trajectories.trajectory import Duration
from exciter.robot.robot import Robot
from exciter.settings import Number, Vector, Whole
from exciter.typing import Array

CYCLES_PER_SECOND = 1000.0  # [1/s] of which the frequency of a joint is a whole fraction
BOX_SHARES = (1.0, 0.8, 0.6, 0.45, 0.3, 0.2, 0.12)  # of the joint ranges, about a posture: positions of a try
BOX_CENTRES = 6  # random postures about which boxes are tried, beside the first of the roadmap
LARGEST_TRIES_FACTOR = 10  # times the tries that are asked for, where none keeps all limits
CERTIFIED_RAMPS = 40  # the best ones, until one keeps all limits at every instant


@dataclass(frozen=True, eq=False)
class CosineRamp:
    """frequency (n,) [Hz] and speed (n,) [rad/s], the largest of each joint; start (n,) [rad]; duration [s]; within:
    lower and upper ends (n,) of the positions, those of the robot's limits unless given.

    Where the next cycle would pass a position limit, a joint runs it backwards; when no whole cycle is left before the
    end, it stands still. So all joints start and end at rest.
    """

    frequency: Array
    speed: Array
    start: Array
    duration: float
    within: tuple[Array, Array] | None = None

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
        lower, upper = (limit[j] for limit in self.within or robot.position_range())
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


def cosine_ramp(robot: Robot, search: OtaniSearch, x: Array, within: tuple[Array, Array] | None = None) -> CosineRamp:
    """Settings within all limits from numbers x (3, n) between 0 and 1: frequency, speed, start.

    q̇ reaches v, q̈ reaches π f v, the jerk 2 π² f² v, and a cycle takes v/(2 f), of which half the range is allowed so
    that one direction always fits. Cycles last whole milliseconds, so that those of two joints begin at one instant,
    or well apart. within: positions (n,), (n,) to stay between, in place of the joint limits."""
    lower, upper = limit_ranges(robot)
    if within is not None:
        lower[0], upper[0] = within
    low, high = search.frequency
    frequency = CYCLES_PER_SECOND / np.floor(CYCLES_PER_SECOND / (low * (high / low) ** x[0]))
    pulse = np.pi * frequency
    room = np.stack([frequency * (upper[0] - lower[0]), upper[1], upper[2] / pulse, upper[3] / (2.0 * pulse**2)])
    speed = room.min(axis=0) * (0.1 + 0.9 * x[1])
    start = lower[0] + x[2] * (upper[0] - lower[0])
    return CosineRamp(frequency=frequency, speed=speed, start=start, duration=search.duration, within=within)


@dataclass(frozen=True)
class OtaniExperiment(Experiment):
    """duration [s]; frequency [Hz]: lowest and highest that joints may have; tries: random settings, and as many random
    changes of the best ones."""

    word, title = "otani", "every joint by a cosine on a ramp, with the smallest condition number"
    duration: Annotated[float, Number(least=1.0, most=600.0, unit="s")] = 10.0
    frequency: Annotated[tuple[float, float], Vector(2, "Hz")] = (0.2, 1.0)
    tries: Annotated[int, Whole(1, 100_000)] = 200

    def __post_init__(self) -> None:
        OtaniSearch(self.duration, self.frequency, self.tries)

    def stages(self, task: ExperimentTask) -> tuple[ExperimentStage, ...]:
        search = OtaniSearch(self.duration, self.frequency, self.tries, seed=task.seed)
        found = sorted(_feasible(task, search), key=attrgetter("rank"))
        for one in found[:CERTIFIED_RAMPS]:
            if task.roadmap.keeps(one.curve):
                first, last = one.curve.motion([one.curve.start, one.curve.end]).q
                curve, begin = task.led([one.curve], first, last)
                log = sampled(curve, (begin, begin + one.curve.duration))
                stage = task.hand_made(
                    "excitation",
                    "excitation",
                    curve,
                    log,
                    columns=DesignColumns.of(task.model),
                    criterion=search.criterion,
                    draws=2 * search.tries,
                )
                return (stage,)
        raise task.roadmap.failed("excitation")


@dataclass(frozen=True, eq=False)
class TriedRamp:
    """x (3, n) between 0 and 1, the positions that it keeps to, its motion, and the criterion. both_ways: whether every
    joint moves both ways; else Coulomb friction is told from an offset at rest alone, where it is not known."""

    x: Array
    within: tuple[Array, Array]
    curve: Curve
    value: float
    both_ways: bool

    @property
    def rank(self) -> tuple[bool, float]:
        """The smaller the better."""
        return not self.both_ways, self.value


def _feasible(task: ExperimentTask, search: OtaniSearch) -> list[TriedRamp]:
    """Random settings within random boxes of positions, then changes of the best one: those that keep all limits at
    the samples of the criterion."""
    robot, roadmap, rng = task.robot, task.roadmap, np.random.default_rng(task.seed)
    objective = DesignObjective(task.model, search.criterion, DesignColumns.of(task.model), task.weights)
    time = np.linspace(0.0, search.duration, round(search.rate * search.duration) + 1)
    lower, upper = robot.position_range()
    centres = [roadmap.home, *roadmap.random_postures(BOX_CENTRES, "excitation")]
    found: list[TriedRamp] = []

    tries = count(1)

    def tried(x: Array, within: tuple[Array, Array]) -> TriedRamp | None:
        roadmap.deadline.check()
        best = min((one.value for one in found), default=np.inf)
        task.tell("excitation", f"trying {2 * search.tries} motions", iteration=next(tries), value=best)
        curve = cosine_ramp(robot, search, x, within).curve(robot)
        log = curve.motion(time)
        if roadmap.judge.breaks(log):
            return None
        both_ways = bool(((log.qd > 0.0).any(axis=0) & (log.qd < 0.0).any(axis=0)).all())
        found.append(TriedRamp(x, within, curve, objective.value(log), both_ways))
        return found[-1]

    for draw in range(LARGEST_TRIES_FACTOR * search.tries):
        if draw >= search.tries and found:
            break
        centre, half = centres[rng.integers(len(centres))], 0.5 * rng.choice(BOX_SHARES) * (upper - lower)
        x = rng.uniform(size=(3, robot.n))
        tried(_slower(x), (np.maximum(centre - half, lower), np.minimum(centre + half, upper)))
    if not found:
        raise roadmap.failed("excitation", f"none of {LARGEST_TRIES_FACTOR * search.tries} motions was found in which")
    best = min(found, key=attrgetter("rank"))
    for size in np.geomspace(0.5, 0.01, search.tries):
        near = tried(_slower(np.clip(best.x + size * rng.normal(size=best.x.shape), 0.0, 1.0)), best.within)
        best = best if near is None or near.rank >= best.rank else near
    excited = [one for one in found if np.isfinite(one.value)]
    if not excited:
        raise ExciterError(
            f"none of {2 * search.tries} motions excites all parameters; give a longer duration or higher frequencies"
        )
    return excited


def _slower(x: Array) -> Array:
    """Speeds that leave a little of the joint limits for the rows of a file."""
    return np.stack([x[0], np.minimum(x[1], FILE_PACE), x[2]])


# -- Armstrong ---------------------------------------------------------------------------------------------------------


def armstrong(model: DynamicModel, sequence: AccelerationSequence | None = None, **settings: Any) -> Design:
    """The acceleration sequence that maximises σ_min(FᵀF) within all limits; settings as of ``design``.

    ``random_trajectory(sequence, …)`` draws a random one, to compare with."""
    return design(model, sequence or AccelerationSequence(), **{"criterion": EOptimality(), **settings})


@dataclass(frozen=True)
class ArmstrongExperiment(Experiment):
    """duration [s], cut into equal intervals, at whose ends the accelerations are free."""

    word, title = "armstrong", "a sequence of accelerations with the largest smallest singular value"
    duration: Duration = 10.0
    intervals: Annotated[int, Whole(3, MOST_FAMILY_SPANS)] = 20

    def stages(self, task: ExperimentTask) -> tuple[ExperimentStage, ...]:
        family = AccelerationSequence(self.duration, self.intervals)
        return (task.searched("excitation", "excitation", family=family, criterion=EOptimality()),)
