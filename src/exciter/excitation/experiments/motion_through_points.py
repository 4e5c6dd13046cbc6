"""A motion through points of the energy model that are optimal within all limits (Gautier & Khalil 1992, section 5).

The paper finds points first and joins them afterwards by quintics in the shortest times. Quintics swing out between
points that lie near a limit and are passed at speed, and whatever brings the motion back (smaller limits, points drawn
inwards) spoils the points: cond(W) 9.4 becomes 34. Here the points are the coefficients of the motion itself, so that
every limit of the whole motion holds while cond(W) at the points falls; then segments are made as short as their points
allow, points are improved for these times, and so on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Annotated

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.criteria.criterion import AnyCriterion, DesignObjective, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns, EnergyRows
from exciter.excitation.criteria.optimality_and_condition import ConditionNumber
from exciter.excitation.criteria.weighted_sums import ConditionAndEquilibrium
from exciter.excitation.design import TIGHT_CERTIFICATE_FACTOR
from exciter.excitation.experiments.experiment import (
    Experiment,
    ExperimentStage,
    ExperimentTask,
    base_columns,
    sampled,
)
from exciter.excitation.experiments.segment_times import Segments, shortest_times
from exciter.excitation.optimiser.deadline import NEVER, Deadline, OutOfTime
from exciter.excitation.optimiser.limits import finite_limits
from exciter.excitation.optimiser.search import Attempt, Search
from exciter.excitation.optimiser.track import ReportValue
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.piecewise import MOST_FAMILY_SPANS, Quintic
from exciter.excitation.trajectories.ramps import JOINT_LIMIT_ROUNDING
from exciter.excitation.trajectories.trajectory import motion
from exciter.notes import Note, Severity
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import Number, Whole
from exciter.typing import Array, BoolArray
from exciter.workers import one_thread

REVERSAL_PEAK = 3.0  # of |q̈|: what a quintic needs to turn −v into v, times v over its time
FURTHER_EQUATIONS = 15  # than parameters, unless their number is given: as in the paper, 30 for 15 parameters
SHORTENED_PACE = 0.995  # of acceleration and jerk limits: the rest is for what a controller does between rows of a file
INSTANTS_OF_A_SEGMENT = 24  # at which positions and constraints are looked at, before a certificate decides
TIME_HALVINGS = 7  # between the time of a segment and the shortest that velocity, acceleration and jerk allow
SHORTENING_SHARES = (1.0, 0.75, 0.5, 0.25)  # of what was gained, until all limits are certified
CERTIFICATES_AFTER_SEARCH = 3  # of the time: for times that are shortened, and for the whole motion
LEAST_RESERVE_SHARE = 0.1  # of the time, for these and for the figures
LEAST_ROUND_GAIN = 1e-3  # of the criterion, by which points must improve for another round
STAGE = SUBJECT = "points"
EXPLORED_SHARE = 0.7  # of the time that must be left for another start to be looked at


@dataclass(frozen=True, eq=False)
class PassedPoints:
    """r + 1 points that the motion passes at times (r + 1,) [s], with coefficients δ (n, 2 r + 2) of the quintics; the
    first and the last are at rest. value: the criterion of the energy model there."""

    times: Array
    delta: Array
    value: float

    @property
    def q(self) -> Array:
        """(r + 1, n)"""
        return np.split(self.delta, 2, axis=1)[0].T

    @property
    def qd(self) -> Array:
        """(r + 1, n)"""
        return np.split(self.delta, 2, axis=1)[1].T

    @property
    def trajectory(self) -> Quintic:
        return Quintic(tuple(self.times.tolist()))

    @property
    def curve(self) -> Curve:
        return self.trajectory.curve(self.delta)

    def lasting(self, durations: Array) -> PassedPoints:
        """The same points, with other durations (r,) [s] of the segments."""
        return replace(self, times=np.concatenate([[0.0], np.cumsum(durations)]))

    def condition_number(self, model: DynamicModel) -> float:
        """cond(W) of the energy model at the points."""
        return evaluate(model, Motion.at(self.q, self.qd), 1.0, energy_columns(model), EnergyRows()).condition_number


@dataclass(frozen=True, eq=False)
class MotionThroughPoints:
    """first: the points of the search, in equal times; final: after times were shortened; evaluations it took."""

    first: PassedPoints
    final: PassedPoints
    evaluations: int


@dataclass(frozen=True)
class PointsExperiment(Experiment):
    """equations r: intervals between points, 15 more than inertial parameters unless given; equilibrium: weight λ₂ of
    the equilibrium S beside cond(W) in (18), none unless given; explore: iterations in which all starts are compared,
    keep: how many of them are carried through; rounds: how often times are shortened and points improved for them.

    >>> ex.design_experiment(robot, {"points": {"equations": 16, "rounds": 1}}, starts=1).certified
    True"""

    word, title = "points", "optimum points of the energy model, joined by quintics in the shortest times"
    equations: Annotated[int | None, Whole(2, MOST_FAMILY_SPANS)] = None
    equilibrium: Annotated[float, Number(least=0.0)] = 0.0
    explore: Annotated[int, Whole(1, 10_000)] = 60
    keep: Annotated[int, Whole(1, 1000)] = 2
    rounds: Annotated[int, Whole(0, 100)] = 3

    @property
    def criterion(self) -> AnyCriterion:
        return ConditionAndEquilibrium(self.equilibrium) if self.equilibrium else ConditionNumber()

    def stages(self, task: ExperimentTask) -> tuple[ExperimentStage, ...]:
        result = motion_through_points(
            task.model, self, task.constraints, starts=task.starts, seed=task.seed, task=task, deadline=task.deadline
        )
        found = result.final
        curve, _ = task.led([found.curve], found.q[0], found.q[-1])
        log = sampled(curve)
        if names := task.objective.unexcited(log):
            raise ExciterError(
                f"the motion through {len(found.q)} points does not excite {', '.join(names)}; give more equations, "
                "leave it out of the terms, or choose another experiment"
            )
        stage = task.hand_made(
            STAGE, "excitation", curve, log, columns=DesignColumns.of(task.model), draws=result.evaluations
        )
        note = Note(Severity.DONE, SUBJECT, None, words(task.model, result))
        design = replace(stage.design, notes=(note,))
        if len(curve.pieces) == 1:  # no way from and to another posture: the family says it exactly
            design = replace(design, trajectory=found.trajectory, delta=found.delta)
        return (replace(stage, design=design),)


def words(model: DynamicModel, result: MotionThroughPoints) -> str:
    first, final = ((one.condition_number(model), one.times[-1]) for one in (result.first, result.final))
    return (
        f"cond(W) of the energy model at {len(result.final.q)} points is {final[0]:.4g}, passed in {final[1]:.4g} s "
        f"({first[0]:.4g} in {first[1]:.4g} s while times were equal)"
    )


def energy_columns(model: DynamicModel) -> DesignColumns:
    """The base parameters that store energy: points without the motion between them tell about no other."""
    lossy = {name for term in model.bound for name, kept in zip(term.names, term.conservative, strict=True) if not kept}
    which = [k for k, column in enumerate(model.base.independent) if model.standard[column] not in lossy]
    if not which:
        raise ExciterError(f"no parameter of robot '{model.robot.name}' stores energy; points tell nothing")
    return base_columns(model, np.array(which, dtype=np.int64))


def motion_through_points(
    model: DynamicModel,
    settings: PointsExperiment | None = None,
    constraints: Sequence[Constraint] = (),
    *,
    starts: int = 16,
    seed: int = 0,
    deadline: Deadline = NEVER,
    task: ExperimentTask | None = None,
) -> MotionThroughPoints:
    """The points of least cond(W), or of (18), such that the quintics through them keep all limits at every instant,
    from rest to rest; each segment as short as it may be. task: whose progress is reported."""
    settings, columns = settings or PointsExperiment(), energy_columns(model)
    equations = settings.equations or len(columns) + FURTHER_EQUATIONS
    if equations < len(columns):
        raise ExciterError(
            f"{equations} equations cannot determine {len(columns)} parameters; give {len(columns)} or more"
        )
    objective = DesignObjective(model, settings.criterion, columns, np.ones(model.n), EnergyRows())
    family = Quintic.even(equations * first_time(model.robot), equations)
    search = Search(family, objective, tuple(constraints), equations + 1, seed)
    with deadline.kept(), one_thread():
        initial, certificate_seconds = _rehearsed(search, deadline)
        reserve = max(CERTIFICATES_AFTER_SEARCH * certificate_seconds, LEAST_RESERVE_SHARE * deadline.left)
        until = deadline.moved(-reserve) if np.isfinite(deadline.at) else deadline
        attempts = _searched(search, settings, starts, until, certificate_seconds, task)
        if any(one.cancelled for one in attempts):
            raise KeyboardInterrupt
        if initial is not None and until.passed and not any(one.feasible for one in attempts):
            attempts.append(initial)
        best = min(attempts, key=attrgetter("value"), default=None)
        if best is None or best.delta is None:
            obstacles = [one.obstacle for one in attempts if one.obstacle]
            if not obstacles:
                raise OutOfTime
            raise ExciterError(f"infeasible: no motion through points keeps {obstacles[0]}; loosen it")
        first = PassedPoints(times=np.array(family.times), delta=best.delta, value=best.value)
        shorter = shortened(search, first, deadline)
        final, evaluations = _in_rounds(search, best.number, shorter, settings.rounds, until, certificate_seconds, task)
    evaluations += sum(one.evaluations for one in attempts)
    return MotionThroughPoints(first=first, final=final, evaluations=evaluations)


def first_time(robot: Robot) -> float:
    """[s] of a segment, to begin with: long enough for every joint to turn around from its full speed to that."""
    velocity = finite_limits(robot, "velocity", "the faster a point the better it excites")
    acceleration, (lower, upper) = robot.limit("acceleration"), robot.position_range()
    turning = np.where(np.isfinite(acceleration), REVERSAL_PEAK * velocity / acceleration, (upper - lower) / velocity)
    return float(turning.max())


def _rehearsed(search: Search, deadline: Deadline) -> tuple[Attempt | None, float]:
    """The motion that the first start begins with, which remains where time is short, and about what a certificate of
    a better one takes [s]; where time does not matter neither is asked for."""
    if not np.isfinite(deadline.at):
        return None, 0.0
    deadline.check()
    found, began = search.initial_motion(0, deadline), deadline.clock()
    if found.delta is not None:
        certify(search.model.robot, search.trajectory.curve(found.delta), search.constraints, check=deadline.check)
    return found, TIGHT_CERTIFICATE_FACTOR * (deadline.clock() - began)


def _searched(
    search: Search,
    settings: PointsExperiment,
    starts: int,
    deadline: Deadline,
    certificate_seconds: float,
    task: ExperimentTask | None,
) -> list[Attempt]:
    """The best starts, as far as a short look says, carried through to the end, or as far as time allows."""
    keep = min(settings.keep, starts)
    numbers: list[int] = list(range(starts))
    if keep < starts:
        looks: list[tuple[float, int]] = []
        for number in numbers:
            if np.isfinite(deadline.at) and deadline.left <= EXPLORED_SHARE * deadline.seconds:
                break
            told = _teller(task, f"a look at start {number + 1} of {starts}", number)
            looks.append((search.explored(number, settings.explore, deadline, told), number))
        numbers = [number for _, number in sorted(looks)] or numbers
    found: list[Attempt] = []
    for k, number in enumerate(numbers[:keep]):
        if deadline.passed or any(one.cancelled for one in found):
            break
        told = _teller(task, f"{k + 1} of the {keep} best starts to its end")
        found.append(search.run(number, deadline, told, certificate_seconds))
    return found


def _teller(task: ExperimentTask | None, doing: str, looked_at: int | None = None) -> ReportValue | None:
    """Of the iterations of one search; looked_at: starts, all unless given."""
    if task is None:
        return None
    done = task.starts if looked_at is None else looked_at
    task.tell(STAGE, doing, done)
    return lambda iteration, value: task.tell(STAGE, doing, done, iteration=iteration, value=value)


def _in_rounds(
    search: Search,
    number: int,
    points: PassedPoints,
    rounds: int,
    deadline: Deadline,
    certificate_seconds: float,
    task: ExperimentTask | None,
) -> tuple[PassedPoints, int]:
    """Points that are better for their times, and times that are shorter for these; how many evaluations that took."""
    evaluations = 0
    with suppress(OutOfTime):
        for k in range(rounds):
            deadline.check()
            told = _teller(task, f"shorter times, round {k + 1} of {rounds} at most")
            timed = replace(search, trajectory=points.trajectory, instants=points.times)
            found = timed.run(number, deadline, told, certificate_seconds, points.delta)
            evaluations += found.evaluations
            gain = points.value - found.value
            if found.delta is None or not gain > 0.0:
                break
            points = replace(points, delta=found.delta, value=found.value)
            points = shortened(search, points, deadline)
            if gain < LEAST_ROUND_GAIN * points.value:
                break
    return points, evaluations


def shortened(search: Search, points: PassedPoints, deadline: Deadline = NEVER) -> PassedPoints:
    """The same points in shorter times: every segment as short as velocity, acceleration and jerk allow (section 5.2,
    corrected), or less short where positions or a constraint would be broken; certified as a whole."""
    robot = search.model.robot
    paced = (SHORTENED_PACE * robot.limit(kind) for kind in ("acceleration", "jerk"))
    now = np.diff(points.times)
    least = np.minimum(now, shortest_times(Segments.between(points.q, points.qd), robot.limit("velocity"), *paced))
    fits, out = np.where(_kept(search, points.lasting(least)), least, now), least
    for _ in range(TIME_HALVINGS):
        middle = 0.5 * (fits + out)
        kept = _kept(search, points.lasting(middle))
        fits, out = np.where(kept, middle, fits), np.where(kept, out, middle)
    for share in SHORTENING_SHARES:
        timed = points.lasting(now + share * (fits - now))
        if certify(robot, timed.curve, search.constraints, check=deadline.check).certified:
            return timed
    return points


def _kept(search: Search, points: PassedPoints) -> BoolArray:
    """(r,) which of the segments stay within the position limits and keep all constraints, at some instants each."""
    durations = np.diff(points.times)[:, None]
    time = points.times[:-1, None] + durations * np.linspace(0.0, 1.0, INSTANTS_OF_A_SEGMENT)
    at = motion(points.trajectory, points.delta, np.minimum(time.ravel(), points.times[-1]))
    lower, upper = search.model.robot.position_range()
    slack = JOINT_LIMIT_ROUNDING * (upper - lower)
    fine = ((at.q >= lower - slack) & (at.q <= upper + slack)).all(axis=1)
    for constraint in search.constraints:
        fine &= (constraint.values(at) >= 0.0).all(axis=0)
    return np.asarray(fine.reshape(len(durations), -1).all(axis=1))
