"""One descent from one start: variables x of 4.2 without q1, a budget of evaluations, and the way it took."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria import AnyCriterion, Columns, EnergyRows, evaluate
from exciter.excitation.criteria.criterion import Objective
from exciter.excitation.optimiser.points import Method, PointVariables
from exciter.typing import Array


class BudgetSpentError(Exception):
    """The evaluations are used up; methods of SciPy have no common way to be told so."""


@dataclass(frozen=True, eq=False)
class PointProblem:
    """f(x) over r + 1 points; W does not depend on q1, which stays at the lower limit (23b)."""

    model: DynamicModel
    r: int
    criterion: AnyCriterion

    @property
    def variables(self) -> PointVariables:
        return PointVariables.of(self.model.robot, self.r + 1)

    @property
    def active(self) -> NDArray[np.bool_]:
        """(2 (r + 1) n,): all variables but the positions of joint 1."""
        mask = np.ones((2, self.r + 1, self.model.n), dtype=bool)
        mask[0, :, 0] = False
        return mask.ravel()

    @property
    def size(self) -> int:
        """n_d of (23b)."""
        return int(self.active.sum())

    def start(self, seed: int) -> Array:
        """Normally distributed, as in 4.3."""
        return np.random.default_rng(seed).standard_normal(self.size)

    def cond(self, x: Array) -> float:
        """cond(W) in the 2-norm, whatever is minimised."""
        full = np.zeros(len(self.active))
        full[self.active] = x
        return evaluate(self.model, self.variables.motion(full), 1.0, None, EnergyRows()).condition_number


@dataclass(eq=False)
class Counted:
    """f and ∂f/∂x, counted. gradient: whether the method uses it; price: evaluations that one call stands for."""

    problem: PointProblem
    budget: int
    gradient: bool = True
    price: int = 1
    spent: int = 0
    better: list[tuple[int, float, Array]] = field(default_factory=list)  #: (evaluations, value, x) of improvements

    def __post_init__(self) -> None:
        problem = self.problem
        self._variables, self._active = problem.variables, problem.active
        self._full = np.zeros(len(self._active))
        columns = Columns.of(problem.model, None)
        self._objective = Objective(problem.model, problem.criterion, columns, np.ones(problem.model.n), EnergyRows())

    def __call__(self, x: Array) -> tuple[float, Array]:
        if self.spent + self.price > self.budget:
            raise BudgetSpentError
        self.spent += self.price
        self._full[self._active] = x
        motion = self._variables.motion(self._full)
        if self.gradient:
            value, slope = self._objective.value_and_gradient(motion)
            gradient = self._variables.pullback(self._full, slope.q, slope.qd)[self._active]
        else:
            value, gradient = self._objective.value(motion), np.zeros_like(x)
        if not self.better or value < self.better[-1][1]:
            self.better.append((self.spent, value, x.copy()))
        return value, gradient


@dataclass(frozen=True, eq=False)
class Descent:
    """cond(W) at the best x found; evaluations spent; history (K, 2): evaluations and cond(W) on the way."""

    cond: float
    evaluations: int
    history: Array

    def after(self, evaluations: Array) -> Array:
        """cond(W) that holds after so many evaluations; NaN before the first."""
        at = np.searchsorted(self.history[:, 0], evaluations, side="right") - 1
        found: Array = np.where(at >= 0, self.history[np.maximum(at, 0), 1], np.nan)
        return found


def descend(
    problem: PointProblem, method: Method, start: Array, budget: int, *, gradient: bool = True, price: int = 1
) -> Descent:
    """From one start until the method stops or the budget is spent."""
    function = Counted(problem, budget, gradient, price)
    with suppress(BudgetSpentError):
        method.minimise(function, start)
    kept = np.unique(np.geomspace(1, len(function.better), 40).astype(int)) - 1
    history = np.array([(spent, problem.cond(x)) for spent, _, x in (function.better[k] for k in kept)])
    return Descent(float(history[-1, 1]), function.spent, history)
