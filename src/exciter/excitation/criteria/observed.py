"""A motion as criteria see it: the rows it gives for the wanted parameters, with what earlier experiments told."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria.columns import Columns
from exciter.excitation.criteria.design_rows import DesignRows, ObservedRows
from exciter.robot.motion import Motion, MotionGradient
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Observed:
    """weights (n,): 1/σ² of the joint torques; prior (b, b): information H₀ of earlier experiments, or None."""

    model: DynamicModel
    motion: Motion
    columns: Columns
    weights: Array
    formulation: DesignRows
    prior: Array | None = None

    @cached_property
    def _rows(self) -> ObservedRows:
        columns = self.columns
        return self.formulation.rows(self.model, self.motion, columns.selected, columns.layout, self.weights)

    @cached_property
    def gram(self) -> Array:
        """WᵀW (b, b) of this motion alone, rows over their noise."""
        return self.columns.gram(self._rows.gram())

    @cached_property
    def h(self) -> Array:
        """H = H₀ + WᵀW (b, b)."""
        return self.gram if self.prior is None else self.gram + self.prior

    def pullback(self, dfdh: Array) -> MotionGradient:
        """Gradient of f(H) with respect to every sample, from ∂f/∂H (b, b)."""
        return self._rows.pullback(self.columns.gram_seed(dfdh))

    @cached_property
    def w(self) -> Array:
        """W (R, b), rows over their noise: only where a criterion needs more than H."""
        return self.columns.rows(self._rows.dense())

    def rows_pullback(self, seed: Array) -> MotionGradient:
        """Gradient of Σ seed ⊙ W, seed (R, b)."""
        return self._rows.dense_pullback(self.columns.rows_seed(seed))
