"""Rows of a design: which rows an experiment gives for which parameters. Criteria do not care which.

Parameters are standard columns, or combinations of them, χ = C θ, with the regressor W C and the Gram matrix CᵀHC: a
condition number depends on how authors write parameters down.

The inverse dynamic model gives one row per joint and sample. The energy model gives one per interval, the change of
total energy per parameter [12.43], Gautier & Khalil (5)–(9). Intervals are chained: the end of one is the start of the
next. Columns that store no energy (friction) enter by the work ∫ q̇ᵀφ dt that they take [12.45, 12.46], by the
trapezoidal rule over the samples; that needs samples in time, not points that stand for themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics import coupled_rows
from exciter.dynamics.driven_followers import DriveWhitening, one_weight
from exciter.dynamics.model import DynamicModel, MotionRows
from exciter.dynamics.reference import ColumnLayout, LagrangeRows
from exciter.errors import ParameterError, unknown_name
from exciter.robot.motion import Motion, MotionGradient
from exciter.settings import Number, Settings
from exciter.typing import Array, BoolArray, Index


@dataclass(frozen=True, eq=False)
class DesignColumns:
    """names (b,); layout of the s standard columns in use; combination C (s, b), None for the identity. nuisance (b,):
    parameters that are unknown and not of interest, None where all are; known: names of those left out."""

    names: tuple[str, ...]
    selected: Index
    layout: ColumnLayout
    combination: Array | None = None
    nuisance: BoolArray | None = None
    known: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: DynamicModel, columns: ArrayLike | DesignColumns | None = None) -> DesignColumns:
        """From standard column numbers (b,), or a matrix C (p, b) with χ = C θ; the base parameters unless given."""
        if isinstance(columns, DesignColumns):
            return columns
        base = model.base.independent
        array = base if columns is None else np.asarray(columns)
        if array.ndim == 2:
            matrix = np.asarray(columns, dtype=float)
            if len(matrix) != len(model.standard) or not np.isfinite(matrix).all() or not matrix.any(axis=0).all():
                raise ParameterError(
                    f"the combination matrix has shape {matrix.shape}; it must have {len(model.standard)} rows, "
                    "finite numbers, and something in every column"
                )
            selected = np.flatnonzero(matrix.any(axis=1))
            names = tuple(f"theta{k + 1}" for k in range(matrix.shape[1]))
            return cls(names, selected, model.layout(selected), np.ascontiguousarray(matrix[selected]))
        if array.ndim != 1 or not (array.size and np.issubdtype(array.dtype, np.integer)):
            raise ParameterError(
                f"columns have shape {array.shape} and type {array.dtype}; give column numbers, or a matrix with "
                f"{len(model.standard)} rows that combines the standard parameters"
            )
        names = model.base.names if np.array_equal(array, base) else tuple(model.standard[k] for k in array)
        return cls(names, array.astype(np.int64), model.layout(array))

    @classmethod
    def combined(cls, model: DynamicModel, parameters: Mapping[str, Mapping[str, float]]) -> DesignColumns:
        """By their coefficients: {"kd2": {"XX2": 1, "YY2": -1}} stands for χ(XX2) = kd2, χ(YY2) = −kd2."""
        matrix = np.zeros((len(model.standard), len(parameters)))
        for k, coefficients in enumerate(parameters.values()):
            for name, value in coefficients.items():
                if name not in model.standard:
                    raise ParameterError(unknown_name("standard parameter", name, model.standard))
                matrix[model.standard.index(name), k] = value
        return replace(cls.of(model, matrix), names=tuple(parameters))

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def interest(self) -> Index:
        """Numbers of the parameters that a criterion is about."""
        return np.arange(len(self)) if self.nuisance is None else np.flatnonzero(~self.nuisance)

    @property
    def of_interest(self) -> tuple[str, ...]:
        return tuple(self.names[k] for k in self.interest)

    @property
    def beside(self) -> tuple[str, ...]:
        """Names of those that are estimated along."""
        return tuple(name for name in self.names if name not in self.of_interest)

    def rows(self, w: Array) -> Array:
        """W C (…, b) of W (…, s)."""
        return w if self.combination is None else w @ self.combination


def regressor_pullback(model: DynamicModel, motion: Motion, seed: Array) -> MotionGradient:
    """Gradient of Σ seed ⊙ Φ with respect to every sample, seed (N, n, p)."""
    rigid = coupled_rows.regressor_pullback(model.dynamics, motion, seed[:, :, : model.inertial_size])
    terms = np.array([seed[:, row, model.inertial_size + column] for row, column in model.entries])
    return rigid + model.terms_pullback(motion, terms.reshape(len(model.entries), len(motion)))


@dataclass(frozen=True)
class TorqueRows(Settings):
    """Rows √w_j Φ_j of the inverse dynamic model, τ = Φ χ [12.18], over the noise of joint j."""

    word, title = "dynamic", "the inverse dynamic model"
    name: ClassVar[str] = word

    def kinds(self, model: DynamicModel) -> int:
        """How many kinds of rows alternate (one per joint, or one); structural zeros are those of a kind."""
        return model.n

    def rows(self, model: DynamicModel, motion: Motion, columns: DesignColumns, weights: Array) -> ObservedTorqueRows:
        """For the s standard columns in use, with weights 1/σ² (n,) of the joint torques."""
        return ObservedTorqueRows(model, motion, columns.layout, weights, columns.selected)


@dataclass(frozen=True, eq=False)
class ObservedTorqueRows(MotionRows):
    """Gram matrix and its adjoint without W; W only when a criterion asks for its elements."""

    selected: Index

    @property
    def w(self) -> Array:
        """(N n, s), the joints of a sample one after the other."""
        phi = self.model.regressor(self.motion)[:, :, self.selected]
        if (white := self._whitening) is not None:
            phi = white.rows(phi.transpose(1, 2, 0)).transpose(2, 0, 1)
            one_weight(self.model.robot, self.weights)
        return (phi * np.sqrt(self.weights)[:, None]).reshape(-1, len(self.selected))

    @cached_property
    def _whitening(self) -> DriveWhitening | None:
        """Where joints that follow have drives of their own."""
        return DriveWhitening.of(self.model.robot, self.model.dynamics.coupled(self.motion))

    def rows_pullback(self, seed: Array) -> MotionGradient:
        """Gradient of Σ seed ⊙ W, seed (R, s)."""
        full = np.zeros((len(self.motion), self.model.n, len(self.model.standard)))
        own = seed.reshape(*full.shape[:2], -1) * np.sqrt(self.weights)[:, None]
        moved = self.model.dynamics.coupled(self.motion)
        if (white := self._whitening) is None or moved is None:
            full[..., self.selected] = own
            return regressor_pullback(self.model, self.motion, full)
        rows = self.w.reshape(*full.shape[:2], -1) / np.sqrt(self.weights)[:, None]
        back, null_bar = white.back(rows.transpose(1, 2, 0), own.transpose(1, 2, 0))
        full[..., self.selected] = back.transpose(2, 0, 1)
        still = np.zeros((3, *moved.tree.q.shape))
        turned = self.model.dynamics.pulled(self.motion, moved, MotionGradient(*still), null_bar)
        return regressor_pullback(self.model, self.motion, full) + turned


@dataclass(frozen=True)
class EnergyRows(Settings):
    """Rows (h(t_i + T) − h(t_i)) / noise, one interval T after the other, from the first sample on.

    interval T [s] of one equation, as of the identification's energy model, rounded to samples; from each sample to the
    next unless given, which is what points that stand for themselves need. noise: standard deviation of an energy
    difference [J]; a row mixes all joints, so weights per joint do not apply."""

    interval: Annotated[float | None, Number(above=0.0, unit="s")] = None
    noise: Annotated[float, Number(above=0.0, unit="J")] = 1.0

    word, title = "energy", "the energy model"
    name: ClassVar[str] = word

    def kinds(self, model: DynamicModel) -> int:
        return 1

    def length(self, time: Array) -> int:
        """How many samples an interval takes, of samples at even instants (N,) [s]."""
        if self.interval is None or len(time) < 2:
            return 1
        return max(1, round(self.interval * (len(time) - 1) / float(time[-1] - time[0])))

    def rows(self, model: DynamicModel, motion: Motion, columns: DesignColumns, weights: Array) -> ObservedEnergyRows:
        every = self.length(motion.time)
        if len(motion) <= every:
            raise ParameterError(
                f"{len(motion)} samples give no interval of {every}; give more samples, or a shorter interval"
            )
        return ObservedEnergyRows(model, motion, columns.selected, every, self.noise)


@dataclass(frozen=True, eq=False)
class ObservedEnergyRows:
    """every: samples from one end of an interval to the next."""

    model: DynamicModel
    motion: Motion
    selected: Index
    every: int
    noise: float

    @cached_property
    def _lossy(self) -> Index:
        """Standard columns that store no energy."""
        flags = [flag for term in self.model.bound for flag in term.conservative]
        return self.model.inertial_size + np.flatnonzero(~np.array(flags, dtype=bool))

    @cached_property
    def _lagrange(self) -> LagrangeRows:
        return self.model.dynamics.lagrange(self.motion)

    @cached_property
    def w(self) -> Array:
        h = self.model.energy(self.motion, self._lagrange)
        if (lossy := self._lossy).size:
            power = np.zeros((len(self.motion), len(self.model.standard)))
            for (row, column), values in zip(self.model.entries, self.model.term_values(self.motion), strict=True):
                power[:, self.model.inertial_size + column] += self.motion.qd[:, row] * values
            power = power[:, lossy]  # the work of these since the first sample, per unit of the parameter [J …]
            h[0, lossy] = 0.0
            h[1:, lossy] = np.cumsum(0.5 * np.diff(self.motion.time)[:, None] * (power[1:] + power[:-1]), axis=0)
        return np.diff(h[:: self.every].take(self.selected, axis=1), axis=0) / self.noise

    def gram(self) -> Array:
        return self.w.T @ self.w

    def pullback(self, dfdh: Array) -> MotionGradient:
        return self.rows_pullback(self.w @ (dfdh + dfdh.T))

    def rows_pullback(self, seed: Array) -> MotionGradient:
        h_bar, change, every = np.zeros((len(self.motion), len(self.model.standard))), seed / self.noise, self.every
        h_bar[every::every, self.selected] += change
        h_bar[: every * len(change) : every, self.selected] -= change
        if not (lossy := self._lossy).size:
            return self.model.energy_pullback(self.motion, h_bar, self._lagrange)
        work_bar = np.zeros_like(h_bar)
        work_bar[:, lossy] = h_bar[:, lossy]
        h_bar[:, lossy] = 0.0
        stored = self.model.energy_pullback(self.motion, h_bar, self._lagrange)
        later = np.cumsum(work_bar[:0:-1], axis=0)[::-1]  # of every step between two samples
        half = 0.5 * np.diff(self.motion.time)[:, None] * later
        power_bar = np.zeros_like(work_bar)
        power_bar[1:] += half
        power_bar[:-1] += half
        values, qd_bar = self.model.term_values(self.motion), np.zeros_like(self.motion.qd)
        seeds = np.zeros_like(values)
        for k, (row, column) in enumerate(self.model.entries):
            bar = power_bar[:, self.model.inertial_size + column]
            seeds[k] = bar * self.motion.qd[:, row]
            qd_bar[:, row] += bar * values[k]
        nothing = np.zeros_like(qd_bar)
        work = self.model.terms_pullback(self.motion, seeds) + MotionGradient(nothing, qd_bar, nothing)
        return stored + work


DesignRows = TorqueRows | EnergyRows  # settings that make rows of a motion
