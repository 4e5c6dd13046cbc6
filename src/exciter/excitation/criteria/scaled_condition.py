"""Condition number of W weighted by what the parameters are expected to be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.excitation.criteria.condition_number import ConditionNumber
from exciter.excitation.criteria.criterion import Criterion, CriterionSettings
from exciter.excitation.criteria.matrices import checked_scale, nominal_sizes
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.settings import Amount
from exciter.typing import Array


@dataclass(frozen=True)
class ScaledCondition(CriterionSettings):
    """cond(W diag Z), values Z (b,) the a-priori size of each parameter [12.15], those of the description where
    it is bound to a model without any; first summand of Rackl et al. (15).

    What is estimated is then a factor on each a-priori value (Swevers et al. 1997, ASME, end of section 2), and the
    relative standard deviations become alike.
    """

    values: tuple[Amount, ...] | None = None

    word: ClassVar[str] = "condition-scaled"
    title: ClassVar[str] = "condition number with a-priori values"

    def __post_init__(self) -> None:
        if self.values is not None:
            object.__setattr__(self, "values", tuple(float(x) for x in self.values))

    def bound(self, model: DynamicModel, trajectory: Trajectory) -> ScaledCondition:
        return self if self.values is not None else replace(self, values=nominal_sizes(model, self.word))

    def __call__(self, h: Array) -> tuple[float, Array]:
        return self.by(ConditionNumber(), h)

    def by(self, condition: Criterion, h: Array) -> tuple[float, Array]:
        """With the given measure of condition."""
        if self.values is None:
            raise ParameterError(f"{self.name} has no values; give the size of every parameter, or bind it to a model")
        z = checked_scale(self.values, h, "a-priori values")
        even = np.outer(z, z)
        value, dfdh = condition(h * even)
        return value, dfdh * even
