"""Vandanjon's four kinds of motion (1995), each for one physical phenomenon (Khalil & Dombre, 12.3.4.2).

Motions go to and fro between two points, gravity's once and slowly; one or two joints move, the others are locked:

- inertia: one joint accelerates as hard as it may on a short way;
- centrifugal coupling: one joint travels far at high constant speed, and the locked joints feel its square;
- inertial coupling: two joints accelerate together;
- gravity: one joint travels through its range so slowly that only weight (and friction) is left.

All experiments go into one system of equations, so the two points of each are chosen for the condition of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.baselines.straight_moves import cruising_move, quick_move, to_and_fro
from exciter.excitation.criteria import Columns, ConditionNumber
from exciter.excitation.criteria.criterion import Criterion, MotionCriterion
from exciter.excitation.objective import Objective
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array

Purpose = Literal["inertia", "centrifugal coupling", "inertial coupling", "gravity"]
#: Share of a joint's range between the two points: short ways need hard accelerations, long ones reach high speeds.
WAYS: dict[Purpose, tuple[float, float]] = {
    "inertia": (0.1, 0.4),
    "centrifugal coupling": (0.6, 1.0),
    "inertial coupling": (0.1, 0.4),
    "gravity": (0.6, 1.0),
}


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
    columns: ArrayLike | Columns | None = None,
) -> VandanjonDesign:
    """Pairs of points such that all experiments together are well conditioned; noise σ (n,) [N·m], one unless given.

    Candidates are random; then one experiment after the other is exchanged for a better candidate, until none is.
    """
    settings = settings or FourMotions()
    weights = model.per_joint(1.0 if noise is None else noise, "noise") ** -2.0
    objective = Objective(model, settings.criterion, Columns.of(model, columns), weights)
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
    return VandanjonDesign(motions, information, value, float(np.linalg.cond(rows)))


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
        way = rng.uniform(*WAYS[purpose]) * (upper[j] - lower[j])
        low = rng.uniform(lower[j], upper[j] - way)
        start[j], end[j] = (low, low + way) if rng.random() < 0.5 else (low + way, low)
    if purpose == "gravity":
        curve = cruising_move(robot, start, end, settings.slowness)
    else:
        move = cruising_move if purpose == "centrifugal coupling" else quick_move
        curve = to_and_fro(move(robot, start, end), move(robot, end, start), settings.periods)
    return TestMotion(purpose, tuple(robot.joint_names[j] for j in joints), curve)


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
