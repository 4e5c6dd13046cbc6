"""What a criterion is: a number to be made small, with its exact derivative.

Most criteria need the Gram matrix H = WᵀΣ⁻¹W only (``Criterion``); some need the rows or torques themselves
(``MotionCriterion``). ``evaluation`` makes both look alike, so that a weighted sum may mix them.

The largest or smallest of several numbers (singular values, elements of W) has a kink where two of them coincide.
Values are exact there too; the derivative is that of one of the two, so an optimiser sees a slope that jumps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria.observed import Observed
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.robot.motion import MotionGradient
from exciter.settings import Settings
from exciter.typing import Array


class CriterionSettings(Settings):
    """What a file can choose. companion: it is meaningful beside another one only."""

    companion: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return self.word

    def bound(self, model: DynamicModel, trajectory: Trajectory) -> AnyCriterion:
        """With what is left open taken from the model and the family of the motion."""
        return self  # type: ignore[return-value]


class Criterion(Protocol):
    """A function of H. One class per criterion, settings only."""

    @property
    def name(self) -> str:
        """A word for it."""

    def __call__(self, h: Array) -> tuple[float, Array]:
        """Value and symmetric ∂f/∂H (b, b); infinite, with zeros, when H is singular."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A value, its part that depends on H as ∂f/∂H (b, b), and the gradients of all else, computed when asked for."""

    value: float
    dfdh: Array | None = None
    further: tuple[Callable[[], MotionGradient], ...] = ()

    def gradient(self, observed: Observed) -> MotionGradient:
        """With respect to every sample; zero where the value is infinite."""
        if not np.isfinite(self.value):
            return MotionGradient.sum(observed.motion, [])
        parts = [part() for part in self.further]
        if self.dfdh is not None:
            parts.append(observed.pullback(self.dfdh))
        return MotionGradient.sum(observed.motion, parts)


@runtime_checkable
class MotionCriterion(Protocol):
    """A function of more than H: of single elements of W, of torques, of how the motion is parameterised."""

    @property
    def name(self) -> str:
        """A word for it."""

    def at(self, observed: Observed) -> Evaluation:
        """Value at a motion, with what its gradient needs."""


AnyCriterion = Criterion | MotionCriterion


def evaluation(criterion: AnyCriterion, observed: Observed) -> Evaluation:
    """A criterion of either kind at a motion."""
    if callable(criterion):  # a look at the whole protocol would cost as much as a small criterion itself
        return Evaluation(*criterion(observed.h))
    return criterion.at(observed)
