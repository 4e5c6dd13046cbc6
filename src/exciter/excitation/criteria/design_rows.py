"""Rows of a design: which rows an experiment gives for the parameters. Criteria do not care which."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.layout import ColumnLayout
from exciter.dynamics.model import DynamicModel
from exciter.robot.motion import Motion, MotionGradient

Array = NDArray[np.float64]
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
