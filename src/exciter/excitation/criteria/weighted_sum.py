"""Any weighted sum of criteria, of either kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.criteria.condition_number import ConditionNumber
from exciter.excitation.criteria.criterion import AnyCriterion, CriterionSettings, Evaluation, evaluation
from exciter.excitation.criteria.equilibrium import Equilibrium
from exciter.excitation.criteria.matrices import nominal_sizes
from exciter.excitation.criteria.observed import Observed
from exciter.excitation.criteria.scaled_condition import ScaledCondition
from exciter.excitation.criteria.torque_activity import InverseTorque
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.robot.motion import MotionGradient
from exciter.settings import Amount, Positive, Settings
from exciter.typing import Array


@dataclass(frozen=True)
class WeightedSum(Settings):
    """Σ weight · criterion, parts as pairs (weight > 0, criterion). All ∂f/∂H are added first: one pass back."""

    parts: tuple[tuple[float, AnyCriterion], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple((float(weight), criterion) for weight, criterion in self.parts))
        weights = [weight for weight, _ in self.parts]
        if not weights or not all(np.isfinite(w) and w > 0 for w in weights):
            raise ParameterError(f"a weighted sum needs parts with positive weights; given {weights}")

    def bound(self, model: DynamicModel, trajectory: Trajectory) -> WeightedSum:
        return WeightedSum(tuple((weight, bound(part, model, trajectory)) for weight, part in self.parts))

    def spelling(self, data: dict[str, Any]) -> Any:
        """``{condition: 1.0, a-optimal: {weight: 0.5, scale: […]}}``"""
        words: dict[str, Any] = {}
        for weight, part in data["parts"]:
            word, settings = (part, {}) if isinstance(part, str) else next(iter(part.items()))
            if word in words:
                raise ExciterError(f"a weighted sum has {word} twice; a configuration can have it once")
            words[word] = {"weight": weight, **settings} if settings else weight
        return words

    @property
    def name(self) -> str:
        return " + ".join(f"{weight:g} {criterion.name}" for weight, criterion in self.parts)

    def at(self, observed: Observed) -> Evaluation:
        dfdh: Array | None = None
        value, further = 0.0, []
        for weight, criterion in self.parts:
            part = evaluation(criterion, observed)
            if not np.isfinite(part.value):
                return part
            value += weight * part.value
            if part.dfdh is not None:
                dfdh = weight * part.dfdh if dfdh is None else dfdh + weight * part.dfdh
            further += [scaled(weight, gradient) for gradient in part.further]
        return Evaluation(value, dfdh, tuple(further))


def bound(criterion: AnyCriterion, model: DynamicModel, trajectory: Trajectory) -> AnyCriterion:
    """The criterion with what it leaves open taken from a model and the family of the motion."""
    own = getattr(criterion, "bound", None)  # one of Python code need not have it
    made: AnyCriterion = criterion if own is None else own(model, trajectory)
    return made


class SumByWord(CriterionSettings):
    """A weighted sum that has a word of its own."""

    @cached_property
    def sum(self) -> WeightedSum:
        raise NotImplementedError

    @property
    def name(self) -> str:
        return self.sum.name

    def at(self, observed: Observed) -> Evaluation:
        return self.sum.at(observed)


@dataclass(frozen=True)
class ConditionAndEquilibrium(SumByWord):
    """cond(W) + k₁ max|W_ij|/min|W_ij| [12.13]."""

    word: ClassVar[str] = "condition-equilibrium"
    title: ClassVar[str] = "condition number and equilibrium"
    k1: Positive = 1e-3

    @cached_property
    def sum(self) -> WeightedSum:
        return WeightedSum(((1.0, ConditionNumber()), (self.k1, Equilibrium())))


@dataclass(frozen=True)
class ConditionAndTorque(SumByWord):
    """ξ₁ cond(W diag Z) + ξ₂ / Σ mean |τ| (Rackl et al. (15)); values Z as of ``ScaledCondition``."""

    word: ClassVar[str] = "condition-torque"
    title: ClassVar[str] = "condition number and torque activity"
    values: tuple[Amount, ...] | None = None
    xi1: Positive = 1.0
    xi2: Positive = 1.0
    chi: tuple[Amount, ...] | None = None

    @cached_property
    def sum(self) -> WeightedSum:
        return WeightedSum(((self.xi1, ScaledCondition(self.values)), (self.xi2, InverseTorque(self.chi))))

    def bound(self, model: DynamicModel, trajectory: Trajectory) -> ConditionAndTorque:
        return self if self.values is not None else replace(self, values=nominal_sizes(model, self.word))


def scaled(weight: float, gradient: Callable[[], MotionGradient]) -> Callable[[], MotionGradient]:
    """The gradient times a number, still computed only when asked for."""

    def product() -> MotionGradient:
        g = gradient()
        return MotionGradient(weight * g.q, weight * g.qd, weight * g.qdd)

    return product
