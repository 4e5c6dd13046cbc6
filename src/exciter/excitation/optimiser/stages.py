"""What is minimised on the way to a criterion: smooth stand-ins first, and logarithms of what spans many decades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exciter.excitation.criteria import (
    AnyCriterion,
    AOptimality,
    ConditionAndSmallest,
    ConditionNumber,
    Evaluation,
    FrobeniusCondition,
    NormalizedCondition,
    Observed,
    QrCondition,
    ScaledCondition,
    WeightedSum,
    evaluation,
)
from exciter.excitation.criteria.condition import SoftCondition
from exciter.excitation.criteria.sums import SumByWord, scaled
from exciter.typing import Array

POWERS = (4.0, 16.0)  # of the stand-ins for a condition number, one stage each


@dataclass(frozen=True)
class Softened:
    """A condition number of scaled columns, by its smooth stand-in."""

    criterion: NormalizedCondition | ScaledCondition
    power: float

    @property
    def name(self) -> str:
        return f"soft {self.criterion.name}"

    def __call__(self, h: Array) -> tuple[float, Array]:
        return self.criterion.by(SoftCondition(self.power), h)


POSITIVE = (
    ConditionNumber,
    NormalizedCondition,
    ScaledCondition,
    SoftCondition,
    Softened,
    FrobeniusCondition,
    QrCondition,
    ConditionAndSmallest,
    AOptimality,
)


@dataclass(frozen=True)
class Logarithm:
    """log of a criterion that is always positive: the same minima, and steps that do not depend on its size."""

    criterion: AnyCriterion

    @property
    def name(self) -> str:
        return f"log {self.criterion.name}"

    def at(self, observed: Observed) -> Evaluation:
        found = evaluation(self.criterion, observed)
        if not np.isfinite(found.value):
            return found
        share = 1.0 / found.value
        dfdh = None if found.dfdh is None else share * found.dfdh
        return Evaluation(float(np.log(found.value)), dfdh, tuple(scaled(share, part) for part in found.further))


def stages(criterion: AnyCriterion) -> tuple[AnyCriterion, ...]:
    """Criteria to be minimised one after the other; the last one has the minima of the given one."""
    criterion = criterion.sum if isinstance(criterion, SumByWord) else criterion  # its parts are what is softened
    soft: Sequence[AnyCriterion] = [softened(criterion, power) for power in POWERS]
    if soft[0] == criterion:
        soft = ()
    return tuple(Logarithm(stage) if positive(stage) else stage for stage in (*soft, criterion))


def softened(criterion: AnyCriterion, power: float) -> AnyCriterion:
    """The criterion with smooth stand-ins for its condition numbers."""
    if isinstance(criterion, ConditionNumber):
        return SoftCondition(power)
    if isinstance(criterion, NormalizedCondition | ScaledCondition):
        return Softened(criterion, power)
    if isinstance(criterion, WeightedSum):
        return WeightedSum(tuple((weight, softened(part, power)) for weight, part in criterion.parts))
    return criterion


def positive(criterion: AnyCriterion) -> bool:
    if isinstance(criterion, WeightedSum):
        return all(positive(part) for _, part in criterion.parts)
    return isinstance(criterion, POSITIVE)
