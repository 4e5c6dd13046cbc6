"""The energy model: one row per interval, the change of total energy per parameter [12.43], Gautier & Khalil (5)–(9).

Intervals are chained: the end of one is the start of the next. Columns that store no energy (friction) enter by the
work ∫ q̇ᵀφ dt that they take [12.45, 12.46], by the trapezoidal rule over the samples; that needs samples in time,
not points that stand for themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.engine import LagrangeRows
from exciter.dynamics.layout import ColumnLayout
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.excitation.criteria.columns import coefficient_rows
from exciter.robot.motion import Motion, MotionGradient
from exciter.settings import Number, Settings, Whole
from exciter.typing import Array

Index = NDArray[np.int64]


@dataclass(frozen=True)
class EnergyRows(Settings):
    """Rows (h(t_{i+k}) − h(t_i)) / noise with k = ``interval`` samples, i = 0, k, 2 k, …

    noise: standard deviation of an energy difference [J]; a row mixes all joints, so weights per joint do not apply.
    """

    interval: Annotated[int, Whole(1)] = 1
    noise: Annotated[float, Number(above=0.0, unit="J")] = 1.0

    word: ClassVar[str] = "energy"
    title: ClassVar[str] = "the energy model"
    name: ClassVar[str] = word

    def __post_init__(self) -> None:
        if self.interval < 1 or not (np.isfinite(self.noise) and self.noise > 0):
            raise ParameterError(f"the energy model needs an interval ≥ 1 sample and a positive noise, not {self}")

    def kinds(self, model: DynamicModel) -> int:
        return 1

    def rows(
        self, model: DynamicModel, motion: Motion, selected: Index, layout: ColumnLayout, weights: Array
    ) -> ObservedEnergyRows:
        if len(motion) <= self.interval:
            raise ParameterError(f"{len(motion)} samples give no interval of {self.interval}; give more samples")
        return ObservedEnergyRows(self, model, motion, selected)


@dataclass(frozen=True, eq=False)
class ObservedEnergyRows:
    settings: EnergyRows
    model: DynamicModel
    motion: Motion
    selected: Index

    @cached_property
    def _points(self) -> Index:
        """Samples at which intervals meet."""
        return np.arange(0, len(self.motion), self.settings.interval)

    @cached_property
    def _lossy(self) -> Index:
        """Standard columns that store no energy."""
        flags = [flag for term in self.model.bound for flag in term.conservative]
        return 10 * self.model.n + np.flatnonzero(~np.array(flags, dtype=bool))

    @cached_property
    def _lagrange(self) -> LagrangeRows:
        return self.model.dynamics.lagrange(self.motion)

    @cached_property
    def _w(self) -> Array:
        h = self.model.energy(self.motion, self._lagrange)
        if len(self._lossy):
            h[:, self._lossy] = self._work()
        rows: Array = np.diff(h[np.ix_(self._points, self.selected)], axis=0) / self.settings.noise
        return rows

    def _work(self) -> Array:
        """(N, k): work taken by the k lossy columns since the first sample, per unit of the parameter [J …]."""
        power = np.zeros((len(self.motion), len(self.model.standard)))
        for (row, column), values in zip(self.model.entries, self.model.term_values(self.motion), strict=True):
            power[:, 10 * self.model.n + column] += self.motion.qd[:, row] * values
        power = power[:, self._lossy]
        work = np.zeros_like(power)
        np.cumsum(0.5 * np.diff(self.motion.time)[:, None] * (power[1:] + power[:-1]), axis=0, out=work[1:])
        return work

    def gram(self) -> Array:
        return self._w.T @ self._w

    def pullback(self, dfdh: Array) -> MotionGradient:
        return self.dense_pullback(self._w @ (dfdh + dfdh.T))

    def dense(self) -> Array:
        return self._w

    def dense_pullback(self, seed: Array) -> MotionGradient:
        h_bar = np.zeros((len(self.motion), len(self.model.standard)))
        change = coefficient_rows(self.selected, seed / self.settings.noise, len(self.model.standard))
        h_bar[self._points[1:]] += change
        h_bar[self._points[:-1]] -= change
        if not len(self._lossy):
            return self.model.energy_pullback(self.motion, h_bar, self._lagrange)
        work_bar = np.zeros_like(h_bar)
        work_bar[:, self._lossy] = h_bar[:, self._lossy]
        h_bar[:, self._lossy] = 0.0
        return self.model.energy_pullback(self.motion, h_bar, self._lagrange) + self._work_pullback(work_bar)

    def _work_pullback(self, work_bar: Array) -> MotionGradient:
        """Gradient of Σ work_bar ⊙ work, work_bar (N, p)."""
        later = np.cumsum(work_bar[:0:-1], axis=0)[::-1]  # of every step between two samples
        half = 0.5 * np.diff(self.motion.time)[:, None] * later
        power_bar = np.zeros_like(work_bar)
        power_bar[1:] += half
        power_bar[:-1] += half
        values, qd_bar = self.model.term_values(self.motion), np.zeros_like(self.motion.qd)
        seeds = np.zeros_like(values)
        for k, (row, column) in enumerate(self.model.entries):
            bar = power_bar[:, 10 * self.model.n + column]
            seeds[k] = bar * self.motion.qd[:, row]
            qd_bar[:, row] += bar * values[k]
        nothing = np.zeros_like(qd_bar)
        return self.model.terms_pullback(self.motion, seeds) + MotionGradient(nothing, qd_bar, nothing)
