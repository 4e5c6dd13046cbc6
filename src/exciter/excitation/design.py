"""The design of an experiment: the motion that makes a criterion smallest within all limits, with its certificate.

What a motion that was drawn tells about the parameters has the same form (``drawn_design``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.dynamics import Dynamics, Pictures
from exciter.dynamics.load_effect import LOAD_NAMES
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, MotionError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.not_checked import unchecked
from exciter.excitation.criteria.criterion import AnyCriterion, DesignObjective, Observed, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns, DesignRows, TorqueRows
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.excitable import check_excitable
from exciter.excitation.files.trajectory_files import export_seconds
from exciter.excitation.optimiser.deadline import NEVER, Deadline, OutOfTime
from exciter.excitation.optimiser.limits import check_room
from exciter.excitation.optimiser.run_starts import Checkpoint, Progress, run_starts
from exciter.excitation.optimiser.search import Attempt, Search
from exciter.excitation.trajectories.curve import Curve, span_of
from exciter.excitation.trajectories.ramps import Ramps
from exciter.excitation.trajectories.trajectory import Trajectory, motion
from exciter.excitation.validation_motion.random_families import DrawnMotion, certified_execution
from exciter.notes import Note, warning
from exciter.parameters import inertial
from exciter.parameters.perturbation_bounds import PerturbationBounds
from exciter.robot.motion import Motion
from exciter.typing import Array
from exciter.workers import HERE, Workers, one_thread

SAMPLES_PER_TIMED_SAMPLE = 10  # figures of one in so many samples are timed, before a search that has a time limit
RESERVE_FACTOR = 1.4  # times what was timed is kept free for what comes after the search
TIGHT_CERTIFICATE_FACTOR = 4.0  # by which a certificate of the best motion takes longer than of the initial one
UNTIMED_RESERVE_SHARE = 0.2  # of the time that is kept free where nothing could be timed
REPORT_SECONDS = 0.5  # for what is neither timed nor much: the report, and design.json
LARGEST_RESERVE_SHARE = 0.5  # of the time that is left, as far as files can be written in the overtime
UNSEARCHED_NOTE = warning(
    "time limit",
    "the time limit came before any start of the search had a motion: this one is what the first start begins with, "
    "certified and far from the best; give more time",
)
REACH_INSTANTS = 2000  # at which the place of the tool is looked at
ROUNDED_NOMINAL_SHARE = 1e-12  # of the largest nominal value: smaller ones are zero but for rounding
WELL_KNOWN_PERCENT = 10.0  # of its nominal value: a parameter with a smaller standard deviation is well determined
CRITERION_SAMPLES_PER_S = 100.0  # [1/s] samples of the log that the criterion counts, unless their number is given


@dataclass(frozen=True, eq=False)
class Design:
    """A certified exciting motion and what it promises. delta (n, c): coefficients of the family ``trajectory``; curve:
    what the robot executes, ramps and periods included. value: the criterion for one duration of the family at
    ``samples`` instants, with true friction signs; log_det: log det of the covariance; predicted_std (b,): of the
    parameters, in the order of ``parameters``. A motion that was drawn, not searched, has no attempts."""

    of_torques: ClassVar[bool] = True  # what is measured, and has noise: the torques, with their parameters
    model: DynamicModel
    trajectory: Trajectory
    delta: Array
    curve: Curve
    ramps: Ramps | None
    periods: int
    criterion: AnyCriterion
    value: float
    condition_number: float
    condition_number_normalized: float
    log_det: float
    parameters: tuple[str, ...]
    predicted_std: Array
    certificate: Certificate
    constraints: tuple[Constraint, ...]
    attempts: tuple[Attempt, ...]
    seconds: float
    evaluations: int
    samples: int
    noise: Array
    seed: int
    interrupted: bool
    out_of_time: bool = False  # it was the time limit that interrupted the search
    unsearched: bool = False  # it did so before any start had a motion: this one is what the first of them begins with
    notes: tuple[Note, ...] = ()  # on how the motion was found
    beside: tuple[str, ...] = ()  # parameters that are estimated along, and were not designed for
    known: tuple[str, ...] = ()  # parameters that need not be estimated

    @property
    def chosen(self) -> str:
        """What the motion is for, in a few words; empty where it is for all parameters."""
        if set(self.parameters) <= set(self.model.base.names) and not (self.beside or self.known):
            return ""
        words = [f"for {len(self.parameters)} chosen parameters"]
        words += [f"{len(self.beside)} estimated along"] * bool(self.beside)
        words += [f"{len(self.known)} taken as known"] * bool(self.known)
        return ", ".join(words)

    @property
    def summary(self) -> str:
        value, count = f"{self.criterion.name} {self.value:.6g}", self.evaluations
        value += f" ({self.chosen})" if self.chosen else ""
        if not self.attempts:
            draws = f"{count} {'draw' if count == 1 else 'draws'} in {self.seconds:.2f} s"
            return f"{self.curve.duration:.4g} s of random motion after {draws}; {value}"
        if self.unsearched:
            return f"{value}, not searched for: the time limit came first"
        feasible, outdone = (sum(getattr(one, word) for one in self.attempts) for word in ("feasible", "outdone"))
        starts = f"{feasible} of {len(self.attempts) - outdone} starts feasible"
        starts += f", {outdone} more given up far from the best" if outdone else ""
        return f"{value} after {count} evaluations in {self.seconds:.2f} s; {starts}"

    @property
    def reach(self) -> tuple[Array, Array]:
        """(3,), (3,) [m]: least and greatest coordinates of the tool in the base frame, beside what is there."""
        robot = self.model.robot
        q = self.curve.motion(np.linspace(self.curve.start, self.curve.end, REACH_INSTANTS)).q
        place = Dynamics(robot).placement(robot.tool_frame, q)[1]
        return place.min(axis=0), place.max(axis=0)

    def __repr__(self) -> str:
        return f"<{self.summary}>"

    @property
    def unchecked(self) -> tuple[Note, ...]:
        """What the certificate does not speak of."""
        return unchecked(self.model.robot, self.constraints, self.certificate, self.curve)

    @property
    def nominal(self) -> Array:
        """(b,) nominal values of the parameters designed for; NaN where zero, or where they are not base parameters:
        another choice of columns groups the standard parameters otherwise."""
        every = self.model.base.base_values(self.model.nominal)
        sure = np.where(np.abs(every) > ROUNDED_NOMINAL_SHARE * np.abs(every).max(initial=0.0), every, np.nan)
        return np.array([np.nan if k is None else sure[k] for k in self._base_numbers])

    @property
    def nominal_or_none(self) -> list[float | None]:
        """The same for files: zeros are there, what is not known is None."""
        base, values = self.model.base.names, zip(self.parameters, self.nominal, strict=True)
        return [float(np.nan_to_num(x)) if name in base else None for name, x in values]

    @property
    def further(self) -> dict[str, Any]:
        """What else a file says of it."""
        return {}

    @property
    def own_settings(self) -> dict[str, Any]:
        """Sections of a settings file that it was designed by, beside those of every design."""
        return {}

    @property
    def units(self) -> tuple[str, ...]:
        """Of the parameters designed for."""
        model, others = self.model, dict(zip(LOAD_NAMES, inertial.units(1), strict=True))
        others |= dict(zip(model.standard, model.units, strict=True))
        own = zip(self.parameters, self._base_numbers, strict=True)
        return tuple(others.get(n, "") if k is None else model.units[model.base.independent[k]] for n, k in own)

    @property
    def combinations(self) -> tuple[str | None, ...]:
        """Sums of standard parameters that they stand for: empty for one that stands alone, None for no base one."""
        return tuple(None if k is None else self.model.base.combination(k) for k in self._base_numbers)

    @cached_property
    def _base_numbers(self) -> list[int | None]:
        """Which base parameters they are; all None where the columns are others, or group them otherwise."""
        base = {name: k for k, name in enumerate(self.model.base.names)}
        whole = {*self.parameters, *self.beside, *self.known} == set(base)
        return [base[name] if whole else None for name in self.parameters]

    @property
    def relative_std_percent(self) -> Array:
        """(b,) predicted standard deviation in % of the nominal value; NaN where that is not known."""
        return 100.0 * self.predicted_std / np.abs(self.nominal)

    @property
    def well_known(self) -> int:
        """How many parameters are expected with a standard deviation below ``WELL_KNOWN_PERCENT``."""
        return int((self.relative_std_percent < WELL_KNOWN_PERCENT).sum())


@dataclass(frozen=True, eq=False)
class DesignView:
    """Motion and torque of all that the robot executes, N instants at ``rate`` [Hz], and the path of a frame."""

    design: Design
    rate: float
    frame: str

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rate) and self.rate > 0):
            raise ExciterError(f"the rate of a report is {self.rate} Hz; it must be a positive number")

    @cached_property
    def motion(self) -> Motion:
        curve = self.design.curve
        return curve.motion(np.linspace(curve.start, curve.end, max(int(np.ceil(self.rate * curve.duration)), 2) + 1))

    @cached_property
    def jerk(self) -> Array:
        """(N, n) [rad/s³ or m/s³]."""
        curve, time = self.design.curve, self.motion.time
        return np.asarray(curve.derivatives(span_of(curve.knots, time), time, 3)[3].T)

    @cached_property
    def torque(self) -> Array:
        """(N, n) [N·m or N] of the nominal model."""
        return self.design.model.torque(self.motion)

    @cached_property
    def pictures(self) -> Pictures:
        model, curve = self.design.model, self.design.curve
        dynamics = Dynamics(model.robot, model.engine)
        return Pictures.of(dynamics, self.frame, curve.start, curve.end, lambda time: curve.motion(time).q)

    def limits(self, what: str) -> tuple[Array, Array]:
        """(n,) lower and upper limit of position … jerk or torque: those that were certified, else the robot's own."""
        robot = self.design.model.robot
        upper = robot.limit("upper" if what == "position" else what)
        lower = robot.limit("lower") if what == "position" else -upper
        for verdict in self.design.certificate.limits:
            if verdict.what == what and verdict.where in robot.joint_names:
                (upper if verdict.upper else lower)[robot.index(verdict.where)] = verdict.limit
        return lower, upper


def design(
    model: DynamicModel,
    trajectory: Trajectory,
    *,
    criterion: AnyCriterion | None = None,
    noise: ArrayLike | None = None,
    constraints: Sequence[Constraint] = (),
    columns: ArrayLike | DesignColumns | None = None,
    formulation: DesignRows | None = None,
    prior: Array | None = None,
    samples: int | None = None,
    ramps: Ramps | None = None,
    periods: int = 1,
    duration_range: tuple[float, float] | None = None,
    locked: Mapping[str, float] | None = None,
    equations: Sequence[str] | None = None,
    seed: int = 0,
    starts: int = 16,
    race: bool = True,
    workers: Workers = HERE,
    time_limit: float | Deadline | None = None,
    file_rate: float | None = None,
    checkpoint: Path | None = None,
    resume: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> Design:
    """Minimise a criterion (D-optimality unless given) over the motions of a family, within all limits for all time.

    noise σ (n,) or one number [N·m]: of torques, one unless given. constraints: beyond the joint limits, which the
    robot has. columns: the parameters it is about (``DesignColumns``), the base parameters unless given. samples: of
    the log over one duration, 100 per second unless given. prior (b, b): information of earlier experiments.
    duration_range [s]: makes the duration free. locked: joints that stand still, and where; equations: joints whose
    torques count, all unless given. starts, from different seeds, over ``workers``; the best one is returned; race:
    those that cannot win are given up, else ``attempts`` has what each comes to. time_limit [s] (or a ``Deadline``)
    of it all, with file_rate [Hz] of ``export`` too, and Ctrl-C end the search early with what is reached. A checkpoint
    keeps completed starts; the best is returned, certified, when no time is left for more (resume: False: anew)."""
    deadline = time_limit if isinstance(time_limit, Deadline) else Deadline.after(time_limit)
    began = deadline.clock()
    robot, trajectory = model.robot, trajectory.of_joints(model.robot.joint_names)
    sigma = model.per_joint(1.0 if noise is None else noise, "noise")
    samples = round(trajectory.duration * CRITERION_SAMPLES_PER_S) if samples is None else samples
    check_room(robot, trajectory)
    if starts < 1 or samples < 2:
        raise ExciterError(f"a design needs 1 start and 2 samples at least; given {starts} and {samples}")
    criterion, formulation = criterion or DOptimality(), formulation or TorqueRows()
    weights = sigma**-2.0 * (1.0 if equations is None else np.isin(robot.joint_names, equations))
    objective = DesignObjective(model, criterion, DesignColumns.of(model, columns), weights, formulation, prior)
    stand = np.full(robot.n, np.nan)
    for name, position in (locked or {}).items():
        stand[robot.index(name)] = position
    stretch = None
    if duration_range is not None:
        low, high = duration_range
        if not 0.0 < low <= trajectory.duration <= high < np.inf:
            raise ExciterError(
                f"the duration may lie in {low:g} … {high:g} s, which must be positive and contain the trajectory's "
                f"own {trajectory.duration:g} s, where the search begins"
            )
        if "cramer-rao" in criterion.name or not isinstance(formulation, TorqueRows):
            raise ExciterError(
                "a free duration works with the inverse dynamic model and without cramer-rao; fix the duration"
            )
        stretch = low / trajectory.duration, high / trajectory.duration
    search = Search(trajectory, objective, tuple(constraints), samples, seed, stretch, locked=stand if locked else None)
    best_of = partial(_best_of, search, periods, ramps)
    kept = None if checkpoint is None else Checkpoint.opened(checkpoint, search, resume=resume)
    with nullcontext() if kept is None else kept.in_use(), deadline.kept(), one_thread():
        before = [] if kept is None else kept.attempts(starts, deadline)
        beginning = NEVER if before else deadline  # what was found already is not lost for want of time
        beginning.check()
        check_excitable(search)
        beginning.check()
        limited = np.isfinite(deadline.at)
        rehearsal = _rehearsed(search, best_of, deadline, file_rate, before) if limited else _Rehearsal(None)
        until, certificate_seconds = rehearsal.ends(deadline), rehearsal.certificate_seconds
        found, interrupted, out_of_time, remarks = run_starts(
            search, starts, workers, until, certificate_seconds, kept, before, race=race, progress=progress
        )
        feasible = [attempt for attempt in found if attempt.feasible]
        if not feasible and not out_of_time:
            obstacles = [attempt.obstacle for attempt in found if attempt.obstacle]
            hardest = max(obstacles, key=obstacles.count, default="a limit")
            count = "the start did not end" if len(found) == 1 else f"none of {len(found)} starts ended"
            raise ExciterError(
                f"infeasible: {count} with a motion that keeps all limits; hardest to keep is {hardest}; loosen it"
            )
        try:
            family, delta, curve, certificate = best_of(feasible, deadline.moved(-rehearsal.other_seconds))
        except OutOfTime:  # no start has a motion, or no time is left to find ramps for it
            if rehearsal.executable is None or not np.isfinite(rehearsal.value):
                raise
            family, delta, curve, certificate = rehearsal.executable
        promised = promises(objective, family, delta, samples)
        if not np.isfinite(promised["value"]):
            unexcited = objective.unexcited(motion(family, delta, family.sample_times(samples)))
            names = ", ".join(unexcited or promised["parameters"])
            raise ExciterError(
                f"the criterion is infinite: within these limits no motion was found that excites {names}"
            )
    initial = rehearsal.attempt
    unsearched = initial is not None and delta is initial.delta and not before
    return Design(
        **promised,
        curve=curve,
        ramps=ramps,
        periods=periods,
        certificate=certificate,
        constraints=search.constraints,
        attempts=found or (() if initial is None else (initial,)),
        seconds=deadline.clock() - began,
        evaluations=sum(attempt.evaluations for attempt in found),
        noise=sigma,
        seed=seed,
        interrupted=interrupted,
        out_of_time=out_of_time,
        unsearched=unsearched,
        notes=(*remarks, UNSEARCHED_NOTE) if unsearched else remarks,
    )


def drawn_design(
    model: DynamicModel,
    drawn: DrawnMotion,
    *,
    criterion: AnyCriterion | None = None,
    noise: ArrayLike | None = None,
    columns: ArrayLike | DesignColumns | None = None,
    formulation: DesignRows | None = None,
    prior: Array | None = None,
    samples: int | None = None,
) -> Design:
    """The figures of a design, for a motion that nothing was searched for: it has no attempts, its evaluations are the
    draws, and its value is infinite where it does not excite every parameter. Arguments as for ``design``."""
    sigma = model.per_joint(1.0 if noise is None else noise, "noise")
    criterion, formulation = criterion or DOptimality(), formulation or TorqueRows()
    chosen = DesignColumns.of(model, columns)
    objective = DesignObjective(model, criterion, chosen, sigma**-2.0, formulation, prior)
    samples = max(2, round(drawn.trajectory.duration * CRITERION_SAMPLES_PER_S)) if samples is None else samples
    fields = {**vars(drawn), **promises(objective, drawn.trajectory, drawn.delta, samples)}
    evaluations = fields.pop("draws")
    return Design(**fields, attempts=(), evaluations=evaluations, noise=sigma, interrupted=False)


def promises(objective: DesignObjective, family: Trajectory, delta: Array, samples: int) -> dict[str, Any]:
    """The fields of a design that say what a log of so many samples of one duration tells about the parameters."""
    log = motion(family, delta, family.sample_times(samples))
    columns, formulation = objective.chosen, objective.formulation
    figures = dict(vars(evaluate(objective.model, log, objective.weights, columns, formulation, objective.prior)))
    return {
        "model": objective.model,
        "trajectory": family,
        "delta": delta,
        "samples": samples,
        "criterion": objective.criterion,
        "value": objective.value(log),
        "parameters": figures.pop("names"),
        "beside": columns.beside,
        "known": columns.known,
        "log_det": -figures.pop("log_det"),
        **figures,
    }


def error_bounds(found: Design, rows: DesignRows) -> PerturbationBounds | None:
    """How far noise of the size that the design counts on could carry the parameters of the description at most; None
    where these are not the base parameters, or the motion does not determine them."""
    base, samples = found.model.base, found.trajectory.sample_times(found.samples)
    if found.parameters != base.names:
        return None
    log, columns = motion(found.trajectory, found.delta, samples), DesignColumns.of(found.model)
    w = Observed(found.model, log, columns, found.noise**-2.0, rows).w
    return PerturbationBounds.of(w, base.base_values(found.model.nominal), float(np.sqrt(len(w))))


_Executable = tuple[Trajectory, Array, Curve, Certificate]  #: a family, coefficients, all that is executed, its proof
#: The best of some attempts that can be entered and left within all limits, in time.
_Best = Callable[[Sequence[Attempt], Deadline], _Executable]


def _best_of(
    search: Search, periods: int, ramps: Ramps | None, attempts: Sequence[Attempt], deadline: Deadline
) -> _Executable:
    """A ``_Best``, behind how a motion of the search is repeated, entered and left."""
    robot, refused = search.model.robot, None

    def judged(curve: Curve) -> Certificate:
        deadline.check()
        return certify(robot, curve, search.constraints, check=deadline.check, from_rest=True)

    for attempt in sorted(attempts, key=attrgetter("value", "number")):
        if attempt.delta is not None:
            found = attempt.trajectory, attempt.delta
            try:
                return *found, *certified_execution(*found, robot, periods, ramps, judged)
            except MotionError as error:
                refused = refused or error
    raise refused or OutOfTime


@dataclass(frozen=True, eq=False)
class _Rehearsal:
    """What comes after a search that has a time limit, tried on the initial motion before it: the motion, as it may be
    executed, and about what a certificate, and then figures and files, will take [s]."""

    attempt: Attempt | None
    executable: _Executable | None = None
    certificate_seconds: float = 0.0
    other_seconds: float = 0.0

    @property
    def value(self) -> float:
        """Of the criterion: infinite where a small motion tells nothing of a parameter."""
        return np.inf if self.attempt is None else self.attempt.value

    @property
    def reserve(self) -> float:
        """To be kept free after the search [s]."""
        return RESERVE_FACTOR * (self.certificate_seconds + self.other_seconds)

    def ends(self, deadline: Deadline) -> Deadline:
        """Of the search. Certificates were timed on a motion that is far from its limits: those of the best one may
        take half of what is kept free beyond figures and files; the other half is for its ramps."""
        return replace(deadline.moved(-self.reserve), patience=0.5 * max(self.reserve - self.other_seconds, 0.0))

    def within(self, deadline: Deadline, overtime: float) -> _Rehearsal:
        """Where it would leave little for the search, as much less [s] as can be made up for later."""
        least = max(LARGEST_RESERVE_SHARE * deadline.left, self.reserve - overtime)
        if self.reserve <= least:
            return self
        certificate, other = (least / self.reserve * x for x in (self.certificate_seconds, self.other_seconds))
        return replace(self, certificate_seconds=certificate, other_seconds=other)


def _rehearsed(
    search: Search, best_of: _Best, deadline: Deadline, file_rate: float | None, before: Sequence[Attempt]
) -> _Rehearsal:
    """On the best motion of before, however long it takes, or else on the one that the first start begins with. A share
    of the time is kept free where that is not certified, or cannot be executed."""
    best = min(before, key=attrgetter("value", "number"), default=None)
    attempt, tight = (search.initial_motion(0, deadline), TIGHT_CERTIFICATE_FACTOR) if best is None else (best, 1.0)
    until = deadline if best is None else NEVER
    until.check()
    clock, begun = deadline.clock, deadline.clock()
    try:
        executable = None if attempt.delta is None else best_of(before or [attempt], until)
    except MotionError:
        executable = None
    if attempt.delta is None or executable is None:
        return _Rehearsal(attempt, other_seconds=UNTIMED_RESERVE_SHARE * deadline.left)
    executed = clock()
    found = _Rehearsal(attempt, executable=executable, certificate_seconds=tight * (executed - begun))
    if deadline.passed:
        return found
    few = max(2, search.samples // SAMPLES_PER_TIMED_SAMPLE)
    promises(search.objective, attempt.trajectory, attempt.delta, few)
    other, overtime = (clock() - executed) * search.samples / few, 0.0
    if file_rate is not None:
        *_, curve, certificate = executable
        nodes = certificate.nodes // max(1, len(search.constraints))
        other += export_seconds(search.model.robot, curve, file_rate, found.certificate_seconds, nodes) + REPORT_SECONDS
        overtime = deadline.overtime
    return replace(found, other_seconds=other).within(deadline, overtime)
