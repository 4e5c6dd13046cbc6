"""Any weighted sum of criteria, of either kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ParameterError
from exciter.excitation.criteria.criterion import AnyCriterion, Evaluation, evaluation
from exciter.excitation.criteria.observed import Observed
from exciter.robot.motion import MotionGradient

Array = NDArray[np.float64]


@dataclass(frozen=True)
class WeightedSum:
    """Σ weight · criterion, parts as pairs (weight > 0, criterion). All ∂f/∂H are added first: one pass back."""

    parts: tuple[tuple[float, AnyCriterion], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple((float(weight), criterion) for weight, criterion in self.parts))
        weights = [weight for weight, _ in self.parts]
        if not weights or not all(np.isfinite(w) and w > 0 for w in weights):
            raise ParameterError(f"a weighted sum needs parts with positive weights; given {weights}")

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


def scaled(weight: float, gradient: Callable[[], MotionGradient]) -> Callable[[], MotionGradient]:
    """The gradient times a number, still computed only when asked for."""

    def product() -> MotionGradient:
        g = gradient()
        return MotionGradient(weight * g.q, weight * g.qd, weight * g.qdd)

    return product
