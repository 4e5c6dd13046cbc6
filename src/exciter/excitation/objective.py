"""What the optimiser sees: a motion in, the criterion and its exact gradient with respect to every sample out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.excitation.criteria.criterion import AnyCriterion, Evaluation, Observed, evaluation, unexcited
from exciter.excitation.criteria.design_rows import Columns, DesignRows, TorqueRows
from exciter.robot.motion import Motion, MotionGradient
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Objective:
    """criterion(H₀ + WᵀΣ⁻¹W) of motions.

    columns: standard column numbers (b,), a matrix C (p, b) with χ = C θ, or ``Columns``. weights (n,): 1/σ² of the
    joint torques. prior (b, b): information H₀ of earlier experiments; a motion that is sampled more coarsely than
    it will be recorded needs weights multiplied by the ratio, or the prior counts too much.
    """

    model: DynamicModel
    criterion: AnyCriterion
    columns: ArrayLike | Columns
    weights: Array
    formulation: DesignRows = field(default_factory=TorqueRows)
    prior: Array | None = None

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=float)
        if weights.shape != (self.model.n,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ParameterError(
                f"weights must be {self.model.n} numbers ≥ 0, one per joint; given {np.asarray(self.weights).tolist()}"
            )
        object.__setattr__(self, "weights", weights)
        if self.prior is None:
            return
        prior, b = np.asarray(self.prior, dtype=float), len(self.chosen)
        if prior.shape != (b, b) or not (np.isfinite(prior).all() and np.allclose(prior, prior.T, rtol=1e-9)):
            raise ParameterError(f"the prior information has shape {prior.shape}; it must be symmetric, {b} × {b}")
        object.__setattr__(self, "prior", prior)

    @cached_property
    def chosen(self) -> Columns:
        """The parameters the criterion is about, by name."""
        return Columns.of(self.model, self.columns)

    def observed(self, motion: Motion) -> Observed:
        """The motion as criteria see it."""
        return Observed(self.model, motion, self.chosen, self.weights, self.formulation, self.prior)

    def gram(self, motion: Motion) -> Array:
        """WᵀΣ⁻¹W (b, b), without prior: add it to the prior of the next design."""
        return self.observed(motion).gram

    def value(self, motion: Motion) -> float:
        return self._evaluation(self.observed(motion)).value

    def value_and_gradient(self, motion: Motion) -> tuple[float, MotionGradient]:
        """f and its gradient with respect to q, q̇, q̈ of every sample; zero where f is infinite."""
        observed = self.observed(motion)
        result = self._evaluation(observed)
        return result.value, result.gradient(observed)

    def _evaluation(self, observed: Observed) -> Evaluation:
        return evaluation(self.criterion, observed)

    def unexcited(self, motion: Motion) -> list[str]:
        """Names of the parameters that neither the motion nor the prior tells anything about."""
        return unexcited(self.observed(motion).h, self.chosen.names)
