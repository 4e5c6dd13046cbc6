"""The inverse dynamic model: one row per joint and sample, τ = Φ χ [12.18], over the noise of that joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.layout import ColumnLayout
from exciter.dynamics.model import DynamicModel, MotionRows
from exciter.excitation.criteria.adjoints import regressor_pullback
from exciter.excitation.criteria.columns import coefficient_rows
from exciter.robot.motion import Motion, MotionGradient
from exciter.settings import Settings

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class InverseDynamic(Settings):
    """Rows √w_j Φ_j."""

    word: ClassVar[str] = "dynamic"
    title: ClassVar[str] = "the inverse dynamic model"
    name: ClassVar[str] = word
    interval: ClassVar[int] = 1

    def kinds(self, model: DynamicModel) -> int:
        return model.n

    def rows(
        self, model: DynamicModel, motion: Motion, selected: Index, layout: ColumnLayout, weights: Array
    ) -> InverseDynamicRows:
        return InverseDynamicRows(model.rows(motion, layout, weights), selected)


@dataclass(frozen=True, eq=False)
class InverseDynamicRows:
    """Gram matrix and its adjoint without W; W only when a criterion asks for its elements."""

    sums: MotionRows
    selected: Index

    def gram(self) -> Array:
        return self.sums.gram()

    def pullback(self, dfdh: Array) -> MotionGradient:
        return self.sums.pullback(dfdh)

    def dense(self) -> Array:
        """(N n, s), the joints of a sample one after the other."""
        phi = self.sums.model.regressor(self.sums.motion)[:, :, self.selected]
        rows: Array = (phi * np.sqrt(self.sums.weights)[:, None]).reshape(-1, len(self.selected))
        return rows

    def dense_pullback(self, seed: Array) -> MotionGradient:
        model, motion = self.sums.model, self.sums.motion
        whitened = seed.reshape(len(motion), model.n, -1) * np.sqrt(self.sums.weights)[:, None]
        return regressor_pullback(model, motion, coefficient_rows(self.selected, whitened, len(model.standard)))
