"""Vandanjon (1995), four kinds of motion, each for one physical phenomenon (Khalil & Dombre, 12.3.4.2): they go to and
fro between two points, gravity's once and slowly; one or two joints move, the others are locked:

- inertia: one joint accelerates as hard as it may on a short way;
- centrifugal coupling: one joint travels far at high constant speed, and the locked joints feel its square;
- inertial coupling: two joints accelerate together;
- gravity: one joint travels through its range so slowly that only weight (and friction) is left.

All experiments go into one system of equations, so the two points of each are chosen for the condition of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.criteria.criterion import Criterion, DesignObjective, MotionCriterion
from exciter.excitation.criteria.observation_rows import DesignColumns
from exciter.excitation.criteria.optimality_and_condition import ConditionNumber
from exciter.excitation.experiments.experiment import Experiment, ExperimentStage, ExperimentTask, sampled
from exciter.excitation.experiments.moves import cruising_move, quick_move, to_and_fro
from exciter.excitation.experiments.roadmap import Roadmap
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import Number, Whole
from exciter.typing import Array

Phenomenon = Literal["inertia", "centrifugal coupling", "inertial coupling", "gravity"]
#: Share of a joint's range between the two points: short ways need hard accelerations, long ones reach high speeds.
WAY_RANGE_SHARES: dict[Phenomenon, tuple[float, float]] = {
    "inertia": (0.1, 0.4),
    "centrifugal coupling": (0.6, 1.0),
    "inertial coupling": (0.1, 0.4),
    "gravity": (0.6, 1.0),
}
SHORTER_WAYS = (1.0, 0.5, 0.25)  # of the usual ones, tried where no motion keeps all limits
DRAWS_PER_CANDIDATE = 10  # random pairs of points, for each candidate that is wanted


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

    purpose: Phenomenon
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


def plan(n: int) -> list[tuple[Phenomenon, tuple[int, ...]]]:
    """Every joint for inertia, centrifugal coupling and gravity, every pair of neighbours for inertial coupling."""
    alone: list[Phenomenon] = ["inertia", "centrifugal coupling", "gravity"]
    single: list[tuple[Phenomenon, tuple[int, ...]]] = [(purpose, (j,)) for purpose in alone for j in range(n)]
    return single + [("inertial coupling", (j, j + 1)) for j in range(n - 1)]


def draw(
    robot: Robot, purpose: Phenomenon, joints: tuple[int, ...], settings: FourMotions, rng: np.random.Generator
) -> TestMotion:
    """A random pair of points for one experiment: a posture, and moving joints a random way apart, either direction."""
    start, end = points(robot, purpose, joints, rng.uniform(*robot.position_range()), rng)
    curve = between(robot, purpose, start, end, settings.periods, settings.slowness)
    return TestMotion(purpose=purpose, moving=tuple(robot.joint_names[j] for j in joints), curve=curve)


def points(
    robot: Robot,
    purpose: Phenomenon,
    joints: tuple[int, ...],
    posture: Array,
    rng: np.random.Generator,
    share: float = 1.0,
) -> tuple[Array, Array]:
    """(n,), (n,): the posture with moving joints a random way apart, either direction; share of the usual ways."""
    lower, upper = robot.position_range()
    start, end = posture.copy(), posture.copy()
    for j in joints:
        way = share * rng.uniform(*WAY_RANGE_SHARES[purpose]) * (upper[j] - lower[j])
        low = rng.uniform(lower[j], upper[j] - way)
        start[j], end[j] = (low, low + way) if rng.random() < 0.5 else (low + way, low)
    return start, end


def between(
    robot: Robot, purpose: Phenomenon, start: Array, end: Array, periods: int, slowness: float, pace: float = 1.0
) -> Curve:
    """The motion of one experiment; pace: as a share of the fastest that joint limits allow."""
    if purpose == "gravity":
        return cruising_move(robot, start, end, pace * slowness)
    move = cruising_move if purpose == "centrifugal coupling" else quick_move
    return to_and_fro(move(robot, start, end, pace), move(robot, end, start, pace), periods)


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


@dataclass(frozen=True)
class VandanjonExperiment(Experiment):
    """periods: how often a motion goes to and fro; slowness: speed of gravity's motions as a share of the fastest;
    candidates: certified pairs of points from which those of every experiment are chosen."""

    word, title = "vandanjon", "four kinds of motions: inertia, centrifugal and inertial coupling, gravity"
    periods: Annotated[int, Whole(1, 100)] = 2
    slowness: Annotated[float, Number(above=0.0, most=1.0)] = 0.1
    candidates: Annotated[int, Whole(1, 1000)] = 12

    def stages(self, task: ExperimentTask) -> tuple[ExperimentStage, ...]:
        wanted, candidates = plan(task.robot.n), list[list[TestMotion]]()
        for k, (kind, joints) in enumerate(wanted):
            task.tell(_folder(kind), f"candidates of motion {k + 1} of {len(wanted)}")
            candidates.append(self._candidates(task, kind, joints))
        task.tell("all stages", "the best candidates together")
        chosen = self._chosen(task, candidates)
        kinds = {kind: [one for one in chosen if one.purpose == kind] for kind in WAY_RANGE_SHARES}
        return tuple(self._stage(task, kind, motions) for kind, motions in kinds.items() if motions)

    def _candidates(self, task: ExperimentTask, kind: Phenomenon, joints: tuple[int, ...]) -> list[TestMotion]:
        """Certified motions of one experiment, on shorter ways where the usual ones are not to be had."""
        robot, roadmap, found = task.robot, task.roadmap, list[TestMotion]()
        moving = tuple(robot.joint_names[j] for j in joints)
        for share in SHORTER_WAYS:
            pool = roadmap.random_postures(DRAWS_PER_CANDIDATE * self.candidates, kind)
            pairs = [points(robot, kind, joints, posture, roadmap.rng, share) for posture in pool]
            both = roadmap.allowed(np.vstack([*(a for a, _ in pairs), *(b for _, b in pairs)]))
            for (start, end), good in zip(pairs, both[: len(pairs)] & both[len(pairs) :], strict=True):
                if good and (curve := self._paced(roadmap, kind, start, end)) is not None:
                    found.append(TestMotion(purpose=kind, moving=moving, curve=curve))
                if len(found) == self.candidates:
                    return found
            if found:
                return found
        raise roadmap.failed(_folder(kind), f"no motion of {' and '.join(moving)} was found in which")

    def _paced(self, roadmap: Roadmap, kind: Phenomenon, start: Array, end: Array) -> Curve | None:
        made = partial(between, roadmap.robot, kind, start, end, self.periods, self.slowness)
        return roadmap.paced(lambda pace: made(pace=pace))

    def _chosen(self, task: ExperimentTask, candidates: Sequence[Sequence[TestMotion]]) -> list[TestMotion]:
        """One candidate of each experiment, such that all together are well conditioned, and each can be reached."""
        criterion = ConditionNumber()
        objective = DesignObjective(task.model, criterion, DesignColumns.of(task.model), task.weights)
        known = [[(one, objective.gram(sampled(one.curve))) for one in row] for row in candidates]
        while True:
            most = max(len(row) for row in known)
            grams = np.array([[row[k % len(row)][1] for k in range(most)] for row in known])
            numbers, value = _exchange(grams, criterion)
            if not np.isfinite(value):
                raise ExciterError(
                    "the motions of one or two joints together do not excite all parameters; give more candidates, or "
                    "use another experiment"
                )
            places = [int(k) % len(row) for row, k in zip(known, numbers, strict=True)]
            chosen = [row[k][0] for row, k in zip(known, places, strict=True)]
            lost = [not all(task.roadmap.joined(posture) for posture in _ends(one.curve)) for one in chosen]
            if not any(lost):
                return chosen
            for row, k, gone in zip(known, places, lost, strict=True):
                if gone and len(row) == 1:
                    raise task.roadmap.failed(_folder(row[0][0].purpose), "no way to its motions was found on which")
                if gone:
                    del row[k]

    def _stage(self, task: ExperimentTask, kind: Phenomenon, motions: Sequence[TestMotion]) -> ExperimentStage:
        """All motions of a kind, with the ways between them."""
        at, _ = _ends(motions[0].curve)
        parts, first = list[Curve](), at
        for one in motions:
            start, end = _ends(one.curve)
            parts += [*task.roadmap.travel(at, start), one.curve]
            at = end
        curve, _ = task.led(parts, first, at)
        return task.hand_made(_folder(kind), _folder(kind), curve, sampled(curve), draws=len(motions) * self.candidates)


def _folder(kind: Phenomenon) -> str:
    return kind.replace(" ", "-")


def _ends(curve: Curve) -> tuple[Array, Array]:
    """(n,), (n,): the first and the last posture."""
    first, last = curve.motion([curve.start, curve.end]).q
    return first, last
