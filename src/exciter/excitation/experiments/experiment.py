"""What a staged experiment is: settings that make stages, each a certified motion for some of the parameters.

An experiment is a small settings object with its word; ``stages`` makes its motions for a task, which holds what every
design holds: model, all constraints, noise, family of the motions that are searched, starts, seed, deadline. A new one
is a class and a line in ``EXPERIMENTS``."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.linalg import qr

from exciter.dynamics.model import DynamicModel
from exciter.errors import ClusterLost, ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import FAILURES
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.criteria.criterion import AnyCriterion, DesignObjective, Figures, evaluate
from exciter.excitation.criteria.observation_rows import DesignColumns
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.design import CRITERION_SAMPLES_PER_S, Design, design
from exciter.excitation.experiments.moves import Cruise, chained
from exciter.excitation.experiments.roadmap import Roadmap
from exciter.excitation.optimiser.deadline import NEVER, Deadline
from exciter.excitation.optimiser.run_starts import Progress, refuse_stopped
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.hand_made import HandMade
from exciter.excitation.trajectories.ramps import Ramps
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import Settings, Whole
from exciter.typing import Array, Index
from exciter.workers import HERE, Workers

TELLS_APART = 1e-7  # singular values below this, of columns of unit length, count as zero
SILENT_COLUMN_SHARE = 1e-9  # of the largest column: a smaller one is rounding
MOVES_AT_ALL = 1e-9  # [rad or m] less is standing still
StageProgress = Callable[[str, Progress], None]  # name of a stage, and how its search goes


@dataclass(frozen=True, eq=False, kw_only=True)
class ExperimentStage:
    """name: of its folder; purpose: as in a plan; design: the certified motion, with figures for the parameters
    that the stage is for. dwells [s], cruises: where the robot stands still, or one joint has a constant velocity."""

    name: str
    purpose: str
    design: Design
    dwells: tuple[tuple[float, float], ...] = ()
    cruises: tuple[Cruise, ...] = ()

    @property
    def moves(self) -> tuple[str, ...]:
        """Joints that move."""
        reached = self.design.curve.extremum(0)
        moving = reached.highest - reached.lowest > MOVES_AT_ALL
        return tuple(name for name, one in zip(self.design.model.robot.joint_names, moving, strict=True) if one)


@dataclass(frozen=True, eq=False, kw_only=True)
class ExperimentTask:
    """What stages are made for. noise σ (n,) [N·m]; prior (b, b): information there is already; family, criterion: of
    motions that are searched; ramps: where motions begin and end, anywhere unless given; home (n,): where ways between
    postures begin if it may be taken; rate [Hz]: of the files, for which time is kept."""

    model: DynamicModel
    constraints: tuple[Constraint, ...]
    noise: Array
    family: Trajectory
    criterion: AnyCriterion
    home: Array
    prior: Array | None = None
    samples: int | None = None
    periods: int = 1
    ramps: Ramps | None = None
    starts: int = 16
    seed: int = 0
    workers: Workers = HERE
    rate: float | None = None
    deadline: Deadline = NEVER
    progress: StageProgress | None = None
    began: float = field(default_factory=time.monotonic)

    @property
    def robot(self) -> Robot:
        return self.model.robot

    @property
    def weights(self) -> Array:
        """(n,) 1/σ²."""
        return np.asarray(self.noise**-2.0)

    @cached_property
    def roadmap(self) -> Roadmap:
        """Ways between postures; all stages share it."""
        middle = 0.5 * np.add(*self.robot.position_range())
        first = [] if self.ramps is None or self.ramps.start is None else [np.array(self.ramps.start)]
        preferred = [*first, self.home, middle]
        return Roadmap.about(self.robot, self.constraints, preferred, self.seed, self.deadline)

    @cached_property
    def objective(self) -> DesignObjective:
        """Information about all base parameters."""
        return DesignObjective(self.model, DOptimality(), self.model.base.independent, self.weights)

    def with_information(self, *grams: Array) -> Array:
        """(b, b) what is known already, and what earlier stages tell."""
        b = len(self.model.base.independent)
        return sum(grams, np.zeros((b, b)) if self.prior is None else self.prior)

    # -- stages --------------------------------------------------------------------------------------------------------

    def tell(self, stage: str, doing: str, done: int = 0, *, iteration: int = 0, value: float = np.inf) -> None:
        """How a stage goes that is not a search of starts, in words; or one that counts its starts in its own way."""
        if self.progress is not None:
            seconds = time.monotonic() - self.began
            self.progress(stage, Progress(done, self.starts, done, iteration, value, seconds, doing))

    def searched(self, name: str, purpose: str, *, left: int = 1, **changes: Any) -> ExperimentStage:
        """The best motion of the family; changes: of what ``design`` is given. left: searches, this one included, that
        share the time that is left."""
        limited = np.isfinite(self.deadline.at)
        share = self.deadline.left / left
        until = replace(self.deadline, at=self.deadline.clock() + share, seconds=share) if limited else NEVER
        report, told = self.progress, None
        if report is not None:

            def told(one: Progress) -> None:
                report(name, one)

        settings: dict[str, Any] = {
            "criterion": self.criterion,
            "noise": self.noise,
            "constraints": self.constraints,
            "prior": self.prior,
            "samples": self.samples,
            "ramps": self.ramps,
            "periods": self.periods,
            "seed": self.seed,
            "starts": self.starts,
            "workers": self.workers,
            "time_limit": until if limited else None,
            "file_rate": self.rate if limited else None,
            "progress": told,
        }
        family = changes.pop("family", self.family)
        try:
            found = design(self.model, family, **{**settings, **changes})
        except ClusterLost:
            raise
        except ExciterError as error:
            raise ExciterError(f"stage {name}: {error}") from None
        refuse_stopped(found.interrupted and not found.out_of_time, found.notes)
        return ExperimentStage(name=name, purpose=purpose, design=found)

    def hand_made(
        self,
        name: str,
        purpose: str,
        curve: Curve,
        log: Motion,
        *,
        columns: DesignColumns | None = None,
        criterion: AnyCriterion | None = None,
        draws: int = 0,
        dwells: Sequence[tuple[float, float]] = (),
        cruises: Sequence[Cruise] = (),
    ) -> ExperimentStage:
        """A motion that was put together, from rest to rest: certified as a whole, or refused with the limit that is
        not kept. log: the samples that its equations are taken from; columns: the parameters that it is for, those that
        the samples tell apart unless given."""
        began = time.monotonic()
        curve = curve.shifted(-curve.start)
        certificate = certify(self.robot, curve, self.constraints, check=self.deadline.check, from_rest=True)
        if not certificate.certified:
            worst = next(limit for limit in certificate.limits if limit.status in FAILURES)
            how = "is broken" if worst.status == "broken" else "is not proved to be kept"
            raise ExciterError(f"infeasible: stage {name}: {worst.what} of {worst.where} {how}; loosen it")
        chosen = told_apart(self.model, log, self.weights) if columns is None else columns
        criterion = criterion or DOptimality()
        figures = dict(vars(evaluate(self.model, log, self.weights, chosen)))
        family = HandMade(curve)
        found = Design(
            model=self.model,
            trajectory=family,
            delta=family.own_delta,
            curve=curve,
            ramps=None,
            periods=1,
            criterion=criterion,
            value=DesignObjective(self.model, criterion, chosen, self.weights).value(log),
            parameters=figures.pop("names"),
            log_det=-figures.pop("log_det"),
            **figures,
            certificate=certificate,
            constraints=self.constraints,
            attempts=(),
            seconds=time.monotonic() - began,
            evaluations=draws,
            samples=len(log),
            noise=self.noise,
            seed=self.seed,
            interrupted=False,
        )
        return ExperimentStage(name=name, purpose=purpose, design=found, dwells=tuple(dwells), cruises=tuple(cruises))

    def led(self, parts: Sequence[Curve], first: Array, last: Array) -> tuple[Curve, float]:
        """Parts one after the other, from and to the posture of the ramps where there is one; and when [s] the first
        part begins. first, last: postures in which the parts begin and end."""
        if self.ramps is None or self.ramps.start is None:
            return chained(list(parts)), 0.0
        rest = np.array(self.ramps.start)
        for posture in (rest, first, last):
            if not self.roadmap.joined(posture):
                raise self.roadmap.failed("between the posture of the ramps and the motion")
        there, back = self.roadmap.travel(rest, first), self.roadmap.travel(last, rest)
        return chained([*there, *parts, *back]), sum(part.duration for part in there)


class Experiment(Settings):
    """A procedure. estimator: the word with which its logs are identified."""

    estimator: ClassVar[str] = "wls"
    by_word: ClassVar[bool] = True

    @abstractmethod
    def stages(self, task: ExperimentTask) -> tuple[ExperimentStage, ...]:
        """In order; each certified."""


@dataclass(frozen=True)
class RepeatedExperiment(Experiment):
    """repeats: how often a periodic motion that is searched is run through, unless ``trajectory: periods`` asks for
    more. One period is short beside what filters lose at its ends, and beside poses or sweeps of other stages."""

    repeats: Annotated[int, Whole(1, 100)] = 3

    def repeated(self, task: ExperimentTask) -> ExperimentTask:
        return replace(task, periods=max(task.periods, self.repeats)) if task.family.periodic else task


# -- which parameters --------------------------------------------------------------------------------------------------


def base_columns(model: DynamicModel, which: Index) -> DesignColumns:
    """Some of the base parameters, by their numbers among these, under their own names."""
    found = DesignColumns.of(model, model.base.independent[which])
    return replace(found, names=tuple(model.base.names[k] for k in which))


def told_apart(model: DynamicModel, log: Motion, weights: Array) -> DesignColumns:
    """As many base parameters as the torques of a motion tell apart."""
    base = model.base.independent
    rows = model.regressor(log)[:, :, base] * np.sqrt(weights)[:, None]
    which = independent_columns(rows.reshape(-1, len(base)))
    if not len(which):
        raise ExciterError(f"the motion tells nothing about the parameters of robot '{model.robot.name}'")
    return base_columns(model, which)


def independent_columns(rows: Array) -> Index:
    """Numbers of columns, as many as are independent, increasing; those that matter most are preferred."""
    size = np.linalg.norm(rows, axis=0)
    there = np.flatnonzero(size > SILENT_COLUMN_SHARE * size.max(initial=0.0))
    if not len(there):
        return there
    r, order = qr(rows[:, there] / size[there], mode="r", pivoting=True)
    diagonal = np.abs(np.diagonal(r))
    rank = int((diagonal > TELLS_APART * diagonal[0]).sum())
    return np.sort(there[order[:rank]])


def together(stages: Sequence[ExperimentStage]) -> Figures:
    """What all samples of all stages tell about the base parameters."""
    first = stages[0].design
    base, weights = first.model.base, first.noise**-2.0
    objective = DesignObjective(first.model, DOptimality(), base.independent, weights)
    total = sum((objective.gram(sampled(stage.design.curve)) for stage in stages), np.zeros((len(base), len(base))))
    scale = np.sqrt(total.diagonal())
    if not scale.all():
        return Figures(names=base.names, predicted_std=np.full(len(base), np.inf))
    values, vectors = np.linalg.eigh(total / np.outer(scale, scale))
    if values[0] <= len(base) * np.finfo(float).eps * values[-1]:
        return Figures(names=base.names, predicted_std=np.full(len(base), np.inf))
    own = np.linalg.eigvalsh(total)
    return Figures(
        names=base.names,
        predicted_std=np.sqrt((vectors**2 / values).sum(axis=1)) / scale,
        condition_number=float(np.sqrt(own[-1] / own[0])) if own[0] > 0.0 else np.inf,
        condition_number_normalized=float(np.sqrt(values[-1] / values[0])),
        log_det=float(np.log(values).sum() + 2.0 * np.log(scale).sum()),
    )


def sampled(curve: Curve, stretch: tuple[float, float] | None = None) -> Motion:
    """The samples of a curve, or of a stretch [s] of it, that its log is expected to have."""
    start, end = (curve.start, curve.end) if stretch is None else stretch
    return curve.motion(np.linspace(start, end, max(2, round(CRITERION_SAMPLES_PER_S * (end - start)) + 1)))


def gathered(logs: Sequence[Motion]) -> Motion:
    """Samples of several motions, as states that stand for themselves."""
    return Motion.at(*(np.concatenate([getattr(log, name) for log in logs]) for name in ("q", "qd", "qdd")))
