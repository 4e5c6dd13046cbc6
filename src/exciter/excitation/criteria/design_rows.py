"""Rows of a design: which rows an experiment gives for the parameters. Criteria do not care which.

Those of the inverse dynamic model are here, one per joint and sample; ``energy_rows`` has those of the energy model.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.layout import ColumnLayout
from exciter.dynamics.model import DynamicModel, MotionRows
from exciter.excitation.criteria.adjoints import regressor_pullback
from exciter.excitation.criteria.columns import coefficient_rows
from exciter.robot.motion import Motion, MotionGradient
from exciter.settings import Settings
from exciter.typing import Array

Index = NDArray[np.int64]


class ObservedRows(Protocol):
    """W (R, s) of a motion for s standard columns, every row over its noise, and adjoints."""

    def gram(self) -> Array:
        """WᵀW (s, s)."""

    def pullback(self, dfdh: Array) -> MotionGradient:
        """Gradient of f(WᵀW) for ∂f/∂H (s, s)."""

    def dense(self) -> Array:
        """W itself (R, s)."""

    def dense_pullback(self, seed: Array) -> MotionGradient:
        """Gradient of Σ seed ⊙ W, seed (R, s)."""


class DesignRows(Hashable, Protocol):
    """Settings that make rows of a motion."""

    @property
    def name(self) -> str:
        """A word for it."""

    @property
    def interval(self) -> int:
        """Samples from one row of a kind to the next."""

    def kinds(self, model: DynamicModel) -> int:
        """How many kinds of rows alternate (one per joint, or one); structural zeros are those of a kind."""

    def rows(
        self, model: DynamicModel, motion: Motion, selected: Index, layout: ColumnLayout, weights: Array
    ) -> ObservedRows:
        """Rows for the selected standard columns (s,), with weights 1/σ² (n,) of the joint torques."""


@dataclass(frozen=True)
class TorqueRows(Settings):
    """Rows √w_j Φ_j of the inverse dynamic model, τ = Φ χ [12.18], over the noise of joint j."""

    word: ClassVar[str] = "dynamic"
    title: ClassVar[str] = "the inverse dynamic model"
    name: ClassVar[str] = word
    interval: ClassVar[int] = 1

    def kinds(self, model: DynamicModel) -> int:
        return model.n

    def rows(
        self, model: DynamicModel, motion: Motion, selected: Index, layout: ColumnLayout, weights: Array
    ) -> ObservedTorqueRows:
        return ObservedTorqueRows(model.rows(motion, layout, weights), selected)


@dataclass(frozen=True, eq=False)
class ObservedTorqueRows:
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
