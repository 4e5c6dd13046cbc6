"""What the optimiser sees: trajectory coefficients in, criterion and exact gradient out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.layout import ColumnLayout
from exciter.dynamics.model import DynamicModel, MotionRows
from exciter.excitation.criteria import Criterion
from exciter.excitation.trajectories.fourier import Fourier

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Objective:
    """criterion(H(δ)) for the columns of ``model`` and torque noise weights 1/σ² (n,) per joint."""

    model: DynamicModel
    trajectory: Fourier
    criterion: Criterion
    columns: Sequence[int] | NDArray[np.int64]
    weights: Array

    @cached_property
    def _layout(self) -> ColumnLayout:
        return self.model.layout(self.columns)

    def _rows(self, delta: Array) -> MotionRows:
        return self.model.rows(self.trajectory.motion(delta), self._layout, self.weights)

    def value(self, delta: Array) -> float:
        return self.criterion(self._rows(delta).gram())[0]

    def value_and_gradient(self, delta: Array) -> tuple[float, Array]:
        """f(δ) and ∂f/∂δ, shaped like δ (n, coefficients): one pass forward, one back, whatever their number."""
        rows = self._rows(delta)
        value, dfdh = self.criterion(rows.gram())
        if not np.isfinite(value):
            return value, np.zeros((self.model.n, self.trajectory.coefficients))
        return value, self.trajectory.pullback(rows.pullback(dfdh))
