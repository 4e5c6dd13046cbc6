"""What the optimiser sees: trajectory coefficients in, criterion and exact gradient out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria import Criterion
from exciter.excitation.fourier import Fourier

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Objective:
    """criterion(H(δ)) for the columns of ``model`` and torque noise weights 1/σ² (n,) per joint."""

    model: DynamicModel
    trajectory: Fourier
    criterion: Criterion
    columns: Sequence[int]
    weights: Array

    def value(self, delta: Array) -> float:
        h = self.model.gram(self.trajectory.motion(delta), self.columns, self.weights)
        return self.criterion(h)[0]

    def value_and_gradient(self, delta: Array) -> tuple[float, Array]:
        """f(δ) and ∂f/∂δ, shaped like δ (n, coefficients): one pass forward, one back, whatever their number."""
        motion = self.trajectory.motion(delta)
        value, dfdh = self.criterion(self.model.gram(motion, self.columns, self.weights))
        if not np.isfinite(value):
            return value, np.zeros((self.model.n, self.trajectory.coefficients))
        gradient = self.model.gram_pullback(motion, self.columns, dfdh, self.weights)
        return value, self.trajectory.pullback(gradient)
