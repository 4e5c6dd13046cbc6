"""One start of a design: random motion → local optimum → kept at every instant. The same in every process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.ground import grounds
from exciter.excitation.constraints.torque import TorqueLimits
from exciter.excitation.criteria import AnyCriterion, InverseDynamic
from exciter.excitation.objective import Objective
from exciter.excitation.optimiser.finish import curve_of, finish
from exciter.excitation.optimiser.joint_limits import JointLimits, limit_ranges
from exciter.excitation.optimiser.nonlinear import NonlinearLimits
from exciter.excitation.optimiser.sqp import Problem, SQPSettings, minimise
from exciter.excitation.optimiser.stages import stages
from exciter.excitation.optimiser.start import Infeasible, random_start, roomy_posture
from exciter.excitation.optimiser.variables import Grid, Variables
from exciter.excitation.trajectories.trajectory import Trajectory, motion

Array = NDArray[np.float64]
SMOOTHING = 0.03  # [rad/s or m/s] width of sign(q̇) while optimising; results are judged with the true sign
JOINT_MARGINS = (0.003, 0.01, 0.01, 0.01)  # of half ranges: position, velocity, acceleration, jerk between grid points
OTHER_MARGIN = 0.01  # of a nonlinear row: 1 % of a torque limit, 1 mm
COARSE = 250  # samples of the criterion while optimising, at least; more for families with many coefficients


@dataclass(frozen=True, eq=False)
class Attempt:
    """One start: the motion it found (None when there is none), its criterion, and the way there.

    value: with true friction signs at all samples. history: (seconds, value) on the way, of what is minimised last (the
    logarithm of a condition number), on few samples. complete: False when it was stopped early.
    obstacle: the limit that could not be kept, where there is no motion.
    """

    number: int
    trajectory: Trajectory
    delta: Array | None
    value: float
    evaluations: int
    seconds: float
    first_feasible: float
    history: tuple[tuple[float, float], ...]
    complete: bool
    obstacle: str = ""

    @property
    def feasible(self) -> bool:
        return self.delta is not None


@dataclass(frozen=True, eq=False)
class Search:
    """A design problem, ready for any number of starts.

    samples: of the log over the duration, which the criterion counts; columns: of the model's standard parameters, or a
    matrix of combinations; weights (n,): 1/σ² of the torques; stretch: range of the free duration, relative.
    """

    trajectory: Trajectory
    objective: Objective
    constraints: tuple[Constraint, ...]
    samples: int
    seed: int
    stretch: tuple[float, float] | None = None
    settings: SQPSettings = field(default_factory=SQPSettings)

    @property
    def model(self) -> DynamicModel:
        return self.objective.model

    @property
    def criterion(self) -> AnyCriterion:
        return self.objective.criterion

    # -- the problem on its grids --------------------------------------------------------------------------------

    @cached_property
    def variables(self) -> Variables:
        return Variables(self.trajectory, self.model.n, self.stretch)

    @cached_property
    def limits(self) -> JointLimits:
        lower, upper = limit_ranges(self.model.robot)
        grid = self.variables.grid(self.trajectory.sample_times(self._points(100, 9)), 3)
        margins = np.repeat(np.array(JOINT_MARGINS)[:, None], self.model.n, axis=1)
        return JointLimits(self.variables, grid, lower, upper, margins)

    @cached_property
    def nonlinear(self) -> NonlinearLimits | None:
        if not self.constraints:
            return None
        grid = self.variables.grid(self.trajectory.sample_times(self._points(200, 16)))
        return NonlinearLimits.of(self.variables, grid, [_smooth(c) for c in self.constraints], OTHER_MARGIN)

    def _points(self, least: int, per_coefficient: int) -> int:
        return max(least, per_coefficient * self.trajectory.coefficients)

    @cached_property
    def _grid(self) -> Grid:
        """Few samples can stand for many where information adds up over samples of torque; energy rows and noisy
        positions are another matter."""
        few = isinstance(self.objective.formulation, InverseDynamic) and "cramer-rao" not in self.criterion.name
        count = min(self.samples, self._points(COARSE, 16)) if few else self.samples
        return self.variables.grid(self.trajectory.sample_times(count))

    def _problem(self, criterion: AnyCriterion) -> Problem:
        """Minimise the criterion; the few samples of the grid stand for all samples of the log."""
        share = self.samples / len(self._grid.time)
        smooth = _smooth_model(self.model)
        objective = replace(self.objective, model=smooth, criterion=criterion, weights=share * self.objective.weights)
        variables, grid = self.variables, self._grid

        def value_and_gradient(y: Array) -> tuple[float, Array]:
            at = variables.motion(grid, y)
            value, gradient = objective.value_and_gradient(at)
            return value, variables.pullback(grid, y, at, gradient)

        return Problem(value_and_gradient, self.limits, self.nonlinear)

    # -- one start ---------------------------------------------------------------------------------------------------

    @cached_property
    def posture(self) -> Array:
        """(n,) about which every start begins."""
        try:
            return roomy_posture(self.limits, self.nonlinear, self.seed)
        except Infeasible as failed:
            names = [name for constraint in self.constraints for name in constraint.rows]
            name = names[failed.row]
            kind = "at most" if name.upper else "at least"
            advice = "loosen it, or another one"
            if any(name.where.endswith(f"– {ground.name}") for ground in grounds(self.constraints)):
                advice = "say where the robot is mounted: constraints: {ground: HEIGHT}, {height: …, normal: …} or none"
            raise ExciterError(
                f"infeasible: no posture within the joint limits keeps all limits at rest; hardest to keep is "
                f"{name.what} of {name.where} {kind} {name.limit:g} {name.unit}; {advice}"
            ) from None

    def run(
        self,
        number: int,
        deadline: float = np.inf,
        progress: Callable[[int, float], None] | None = None,
    ) -> Attempt:
        """The start of that number; stops early at ``deadline`` (time.time) or Ctrl-C, keeping what it has.

        One thread: matrices this small do not gain from more, and rounding would depend on their number.
        """
        with threadpool_limits(limits=1):
            return self._run(number, deadline, progress)

    def _run(self, number: int, deadline: float, progress: Callable[[int, float], None] | None) -> Attempt:
        began = time.time()
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
        centre, y = random_start(self.limits, self.nonlinear, self.posture, rng)
        track = _Track(y, began, deadline, progress)
        evaluations = 0
        todo = stages(self.criterion)
        try:
            for stage, criterion in enumerate(todo):
                final = stage == len(todo) - 1
                settings = self.settings if final else replace(self.settings, tolerance=100 * self.settings.tolerance)
                outcome = minimise(self._problem(criterion), track.y, settings, track if final else track.silently)
                track.y, evaluations = outcome.y, evaluations + outcome.evaluations
        except KeyboardInterrupt:
            track.stopped = True
        finished = finish(self._problem(todo[-1]), track.y, centre, self.certified, self.settings)
        evaluations += finished.evaluations
        seconds = time.time() - began
        if finished.y is None:
            why = _obstacle(self._certificate(track.y))
            return Attempt(
                number, self.trajectory, None, np.inf, evaluations, seconds, np.inf, (), not track.stopped, obstacle=why
            )
        family, delta = self.variables.result(finished.y)
        value = self.objective.value(motion(family, delta, family.sample_times(self.samples)))
        history = tuple(track.history)
        return Attempt(number, family, delta, value, evaluations, seconds, track.first, history, not track.stopped)

    def certified(self, y: Array) -> bool:
        return self._certificate(y).certified

    def _certificate(self, y: Array) -> Certificate:
        return certify(self.model.robot, curve_of(self.variables, y), self.constraints)


class _Track:
    """Follows a minimisation: the last motion, the history, and whether to stop."""

    def __init__(self, y: Array, began: float, deadline: float, progress: Callable[[int, float], None] | None) -> None:
        self.y, self.began, self.deadline, self.progress = y, began, deadline, progress
        self.first = time.time() - began
        self.history: list[tuple[float, float]] = []
        self.stopped = False

    def __call__(self, iteration: int, value: float, y: Array) -> bool:
        self.history.append((time.time() - self.began, value))
        if self.progress is not None:
            self.progress(iteration, value)
        return self.silently(iteration, value, y)

    def silently(self, iteration: int, value: float, y: Array) -> bool:
        self.y = y
        self.stopped = time.time() > self.deadline
        return self.stopped


def _obstacle(certificate: Certificate) -> str:
    """The limit that is hardest to keep, or to prove."""
    worst = certificate.worst
    if worst is None:
        return ""
    words = f"{worst.what} of {worst.where}" if worst.where else worst.what
    unprovable = worst.status == "open" and np.isinf(worst.bound)
    return f"{words} (it cannot be proved for all time: a constraint of your own needs bound=)" if unprovable else words


def _smooth_model(model: DynamicModel) -> DynamicModel:
    return DynamicModel(model.robot, tuple(term.smoothed(SMOOTHING) for term in model.terms), model.engine)


def _smooth(constraint: Constraint) -> Constraint:
    """Torque limits with a differentiable friction; others as they are."""
    if isinstance(constraint, TorqueLimits):
        return replace(constraint, model=_smooth_model(constraint.model))
    return constraint
