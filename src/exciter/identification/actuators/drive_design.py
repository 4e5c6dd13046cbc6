"""The motion whose log tells most of the drives: random candidates, the best one changed little by little, certified.

The criterion is one of the registry, of the Fisher information of the output error (``ExpectedDrives.relative``) in
place of the Gram matrix of torques. Its slope would take as many roll-outs as there are coefficients, so that none is
taken: candidates are drawn (``motion_candidates``), each made smaller until all limits are proved to hold and the
simulated drives, too, stay within the range of positions; then the best of the best kinds are changed at random, and a
change stays when the criterion says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, MotionError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import FAILURES, Certificate
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.criteria.criterion import Criterion
from exciter.excitation.design import REPORT_SECONDS, RESERVE_FACTOR, Design
from exciter.excitation.files.trajectory_files import export_seconds
from exciter.excitation.optimiser.deadline import NEVER, Deadline, OutOfTime
from exciter.excitation.optimiser.run_starts import Progress
from exciter.excitation.optimiser.search import Attempt
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.ramps import Ramps
from exciter.excitation.validation_motion.random_families import Judge, certified_execution, roomy_posture
from exciter.identification.actuators.actuator_settings import ActuatorSettings, DriveMotionSettings
from exciter.identification.actuators.expected_drives import DriveProspect, ExpectedDrives
from exciter.identification.actuators.motion_candidates import AnyKind, Candidate, MotionRoom, kinds_of
from exciter.notes import Note, note, warning
from exciter.robot.robot import Robot
from exciter.settings import written
from exciter.typing import Array
from exciter.workers import one_thread

SWING_SHARES = (1.0, 0.75, 0.5, 0.3, 0.15)  #: of a candidate, tried one after the other
CHANGES_PER_START = 2  #: of the best one, for each candidate that is drawn
FIRST_CHANGE, LARGER, SMALLER = 0.2, 1.3, 0.9  #: of its numbers, each 0 … 1; after a change that is better, or is not
CHANGED_KINDS = (3, 2, 1)  #: of how many kinds the best one is changed: in each third of all changes
CHANGED_PART = 0.3  #: of the numbers at a time


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DriveDesign(Design):
    """A certified motion for drives: parameters are numbers of these, noise is σ of the encoders [rad or m]; settings:
    of the drives, expected: all that its log is expected to tell."""

    of_torques: ClassVar[bool] = False
    settings: ActuatorSettings
    expected: ExpectedDrives

    @property
    def chosen(self) -> str:
        return ""

    @property
    def nominal(self) -> Array:
        return np.where(self.expected.values != 0.0, self.expected.values, np.nan)

    @property
    def nominal_or_none(self) -> list[float | None]:
        return list(self.expected.values.tolist())

    @property
    def units(self) -> tuple[str, ...]:
        return self.expected.units

    @property
    def combinations(self) -> tuple[str | None, ...]:
        return (None,) * len(self.parameters)

    @property
    def own_settings(self) -> dict[str, Any]:
        return {"actuators": written(self.settings)}

    @property
    def further(self) -> dict[str, Any]:
        joints, lag = self.model.robot.joint_names, self.expected.response.largest_lag
        return {
            "cannot_be_told_apart": list(self.expected.untold),
            "largest_lag": dict(zip(joints, lag.tolist(), strict=True)),
        }


@dataclass(frozen=True, eq=False)
class _Found:
    """A certified candidate, or a share of its swing, the numbers x that it was made from, and what it is worth.
    number: of the attempt that it began with; step: by how much its numbers are changed next."""

    kind: AnyKind
    x: Array
    candidate: Candidate
    delta: Array
    curve: Curve
    certificate: Certificate
    expected: ExpectedDrives
    value: float
    number: int = -1
    step: float = FIRST_CHANGE


@dataclass(eq=False)
class _DriveSearch:
    """found: the best of each kind. reserve [s]: what files take, kept free where there is a time limit; longest [s]:
    of a look."""

    robot: Robot
    room: MotionRoom
    prospect: DriveProspect
    criterion: Criterion
    constraints: tuple[Constraint, ...]
    periods: int
    ramps: Ramps | None
    deadline: Deadline
    rng: np.random.Generator
    found: dict[AnyKind, _Found] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    evaluations: int = 0
    reserve: float = 0.0
    longest: float = 0.0

    def draw(self, kind: AnyKind) -> None:
        """One more candidate, which is an attempt."""
        begun, counted = self.deadline.clock(), self.evaluations
        x = self.rng.random(kind.size(self.room))
        x[: self.room.n] = self.room.parts(roomy_posture(Judge(self.robot, self.constraints, 1, "motion"), self.rng))
        candidate, found, obstacle = self.look(kind, x)
        seconds = self.deadline.clock() - begun
        self.attempts.append(
            Attempt(
                number=len(self.attempts),
                trajectory=candidate.trajectory,
                delta=None if found is None else found.delta,
                value=np.inf if found is None else found.value,
                evaluations=self.evaluations - counted,
                seconds=seconds,
                first_feasible=np.inf if found is None else seconds,
                history=() if found is None else ((seconds, found.value),),
                complete=True,
                obstacle=obstacle,
            )
        )
        if found is not None and (kind not in self.found or found.value < self.found[kind].value):
            self.found[kind] = replace(found, number=len(self.attempts) - 1)

    @property
    def best(self) -> _Found | None:
        return min(self.found.values(), key=attrgetter("value"), default=None)

    def best_kinds(self, most: int) -> list[AnyKind]:
        """Of which something was found, best first."""
        return sorted(self.found, key=lambda kind: self.found[kind].value)[:most]

    def change(self, kind: AnyKind) -> None:
        """The best one of a kind with some of its numbers moved, which stays where it is better."""
        before = self.found[kind]
        begun, attempt = self.deadline.clock(), self.attempts[before.number]
        found = self.look(kind, changed_numbers(before.x, before.step, self.rng))[1]
        seconds = attempt.seconds + self.deadline.clock() - begun
        attempt = replace(attempt, evaluations=attempt.evaluations + (found is not None), seconds=seconds)
        if found is not None and found.value < before.value:
            step = min(FIRST_CHANGE, LARGER * before.step)
            self.found[kind] = replace(found, number=before.number, step=step)
            own: dict[str, Any] = {"trajectory": found.candidate.trajectory, "delta": found.delta, "value": found.value}
            attempt = replace(attempt, **own, history=(*attempt.history, (seconds, found.value)))
        else:
            self.found[kind] = replace(before, step=SMALLER * before.step)
        self.attempts[before.number] = attempt

    def look(self, kind: AnyKind, x: Array) -> tuple[Candidate, _Found | None, str]:
        """The largest share of a candidate that keeps all limits; where there is none, what was in the way."""
        self.deadline.check()
        if self.best is not None and self.deadline.left < self.longest + self.reserve:
            raise OutOfTime
        begun = self.deadline.clock()
        candidate, obstacle = kind.motion(x, self.room), ""
        for share in SWING_SHARES:
            found, obstacle = self._certified(kind, x, candidate, share)
            if found is not None:
                self.longest = max(self.longest, self.deadline.clock() - begun)
                return candidate, found, ""
        return candidate, None, obstacle

    def _certified(self, kind: AnyKind, x: Array, candidate: Candidate, share: float) -> tuple[_Found | None, str]:
        delta = candidate.delta if share == 1.0 else candidate.smaller(share)
        judged = list[Certificate]()

        def judge(curve: Curve) -> Certificate:
            judged.append(certify(self.robot, curve, self.constraints, check=self.deadline.check, from_rest=True))
            return judged[-1]

        begun, periods = self.deadline.clock(), candidate.periods * self.periods
        try:
            curve, certificate = certified_execution(
                candidate.trajectory, delta, self.robot, periods, self.ramps, judge
            )
        except MotionError as error:
            broken = [limit for one in judged[-1:] for limit in one.limits if limit.status in FAILURES]
            return None, f"{broken[0].what} of {broken[0].where}" if broken else str(error)
        if np.isfinite(self.deadline.at) and self.best is None:
            seconds, nodes = self.deadline.clock() - begun, certificate.nodes // max(1, len(self.constraints))
            files = export_seconds(self.robot, curve, self.room.rate, seconds, nodes)
            self.reserve = RESERVE_FACTOR * (files + REPORT_SECONDS)
        response = self.prospect.response(curve)
        if not response.within(*self.robot.position_range()):
            return None, "the range of positions, by drives that go beyond their commands"
        self.evaluations += 1
        expected = self.prospect.expected(response)
        value = float(self.criterion(expected.relative)[0])
        return _Found(kind, x, candidate, delta, curve, certificate, expected, value), ""


def changed_numbers(x: Array, step: float, rng: np.random.Generator) -> Array:
    """Some of the numbers, one at least, moved within 0 … 1 by about ``step``."""
    chosen = rng.random(len(x)) < CHANGED_PART
    chosen[rng.integers(len(x))] = True
    moved = np.abs(x + step * chosen * rng.standard_normal(len(x)))
    return np.asarray(np.clip(1.0 - np.abs(1.0 - moved), 0.0, 1.0))


def design_for_drives(
    model: DynamicModel,
    settings: ActuatorSettings,
    *,
    constraints: Sequence[Constraint] = (),
    rate: float,
    periods: int = 1,
    ramps: Ramps | None = None,
    starts: int = 16,
    seed: int = 0,
    deadline: Deadline = NEVER,
    progress: Callable[[Progress], None] | None = None,
) -> DriveDesign:
    """The best of ``starts`` candidates of all kinds, and of twice as many changes of the best of each. rate [Hz]: of
    files, commands and log. The deadline, for files too, and Ctrl-C end it early with the best so far."""
    began, robot, criterion = deadline.clock(), model.robot, settings.motion.criterion
    if not isinstance(criterion, Criterion) or not callable(criterion):
        raise ExciterError(
            f"criterion {criterion.name} needs torques; for drives choose one of information alone, such as log-sigma "
            "or d-optimal"
        )
    prospect, room = DriveProspect.of(robot, settings, rate), MotionRoom(robot, settings.motion, rate)
    rng, kinds = np.random.default_rng(seed), kinds_of(room)
    search = _DriveSearch(robot, room, prospect, criterion, tuple(constraints), periods, ramps, deadline, rng)
    interrupted = out_of_time = False

    def told(doing: str) -> None:
        if progress is not None:
            value, done = np.inf if search.best is None else search.best.value, len(search.attempts)
            progress(Progress(done, starts, done, 0, value, deadline.clock() - began, doing))

    with deadline.kept(), one_thread():
        try:
            for number in range(starts):
                search.draw(kinds[number % len(kinds)])
                told(f"{number + 1} of {starts} candidates")
            changes = CHANGES_PER_START * starts if search.found else 0
            for number in range(changes):
                few = search.best_kinds(CHANGED_KINDS[len(CHANGED_KINDS) * number // changes])
                search.change(few[number % len(few)])
                told(f"{number + 1} of {changes} changes of the best")
        except (OutOfTime, KeyboardInterrupt) as stop:
            if search.best is None:
                raise
            interrupted, out_of_time = True, isinstance(stop, OutOfTime)
    if (best := search.best) is None:
        obstacles = [attempt.obstacle for attempt in search.attempts]
        raise ExciterError(
            f"infeasible: none of {starts} candidates keeps all limits; hardest to keep is "
            f"{max(obstacles, key=obstacles.count)}; loosen it"
        )
    expected, values = best.expected, np.linalg.eigvalsh(best.expected.relative)
    scale = np.sqrt(np.diag(expected.relative))
    return DriveDesign(
        model=model,
        trajectory=best.candidate.trajectory,
        delta=best.delta,
        curve=best.curve,
        ramps=ramps,
        periods=best.candidate.periods * periods,
        criterion=criterion,
        value=best.value,
        condition_number=float(np.sqrt(values[-1] / values[0])),
        condition_number_normalized=float(np.sqrt(np.linalg.cond(expected.relative / np.outer(scale, scale)))),
        log_det=-float(np.log(values).sum()),
        parameters=expected.names,
        predicted_std=expected.std,
        certificate=best.certificate,
        constraints=search.constraints,
        attempts=tuple(search.attempts),
        seconds=deadline.clock() - began,
        evaluations=search.evaluations,
        samples=len(expected.response.time),
        noise=prospect.noise,
        seed=seed,
        interrupted=interrupted,
        out_of_time=out_of_time,
        notes=_remarks(settings, expected),
        settings=settings,
        expected=expected,
    )


def _remarks(settings: ActuatorSettings, expected: ExpectedDrives) -> tuple[Note, ...]:
    found = [warning("cannot be told apart", text) for text in expected.untold]
    if settings.motion.noise == DriveMotionSettings().noise:
        level = float(expected.noise[0])
        text = f"predictions assume encoders with white noise of σ {level:g} rad (m), for motion: noise: is not given"
        found.append(note("noise", f"{text}; predicted σ are in proportion to it"))
    lag = float(expected.response.largest_lag.max())
    found.append(
        note(
            "commands",
            f"limits are proved for what is commanded; simulated drives are up to {lag:.2g} rad (m) away from it, and "
            "stay within the range of positions",
        )
    )
    return tuple(found)
