"""One stage after the other, linear in the same errors, so that the covariance of all parameters is exact.

A cell (independent equations of one joint, compressed) says R x = z + ε with ε white of variance v. A stage has cells
for its own parameters a (and others n that it estimates along), and for parameters e that are known from earlier ones,
x̂_e = x_e + H_e ε with covariance C. With A, N, B its columns of R:

    z − B x̂_e = A x_a + N x_n + (ε − B H_e ε)

Generalised least squares with the covariance V + B C Bᵀ of the bracket is the same as estimating x_e, too, with
(x̂_e, C) as prior information, and keeping only x_a: x̂_a = L (z − B x̂_e). Earlier values stay as they are. The errors
of x̂_a are H_a = L (1 − B H_e): every parameter is a linear map H of the same ε, and H v Hᵀ is the covariance of all of
them with all cross terms, also where stages share equations. Taking earlier results for exact would be C = 0: the
weights are worse, and σ too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ParameterError
from exciter.identification.information.estimate import EXACT_DATA_NOISE, until_noise_settles
from exciter.identification.information.information import SINGULAR_VALUE_TOLERANCE
from exciter.identification.stages.compressed_stages import Cells
from exciter.typing import Array

BoolArray = NDArray[np.bool_]
UNDETERMINED_SHARE = 1e-6  # share of a parameter in directions the equations say nothing of
POOLED_POSE_FREEDOM = 2.0  # poses, that it counts for that all joints are alike


@dataclass(frozen=True, eq=False)
class State:
    """What is known so far: values (p,), known (p,), errors H (p, c, p) for the rows of z of every cell, and noise σ
    (c,) of one equation of a cell, NaN where no stage used it; with how many degrees of freedom left (c,) it was
    estimated, and from which (c,) of all sums of squares: that of a stage and joint, −1 where no stage used it."""

    values: Array
    known: BoolArray
    errors: Array
    noise: Array
    left: Array
    source: NDArray[np.int64]

    @classmethod
    def start(cls, cells: Cells, p: int) -> State:
        c = len(cells.factors)
        return cls(
            values=np.zeros(p),
            known=np.zeros(p, dtype=bool),
            errors=np.zeros((p, c, p)),
            noise=np.full(c, np.nan),
            left=np.ones(c),
            source=np.full(c, -1),
        )

    def covariance(self, cells: Cells) -> Array:
        """(p, p); rows and columns of unknown parameters are zero."""
        root = self.root(cells)
        return root @ root.T

    def freedom(self, cells: Cells) -> float:
        """Of the variance that is known worst: (Σ v)² / Σ (v² / f) with the parts v of a parameter's variance that
        rest on the same σ, known with f degrees of freedom (Satterthwaite)."""
        squares = (self.root(cells).reshape(self.errors.shape) ** 2).sum(axis=2)
        sources, first, which = np.unique(self.source, return_index=True, return_inverse=True)
        parts = squares @ np.eye(len(sources))[which]
        uncertain = parts.sum(axis=1) > 0.0
        parts = parts[uncertain] / parts[uncertain].sum(axis=1, keepdims=True)
        return float((1.0 / (parts**2 @ (1.0 / self.left[first]))).min(initial=cells.independent.sum()))

    def root(self, cells: Cells) -> Array:
        """(p, c·p) H √v."""
        sigma = np.where(np.isfinite(self.noise), self.noise, 0.0) * np.sqrt(cells.inflation)
        return np.asarray((self.errors * sigma[:, None]).reshape(len(self.values), -1))


@dataclass(frozen=True, eq=False)
class StageSolver:
    """A stage at work: unknown (u,) and known (e,) parameters that its cells speak of; rows of the cells stacked."""

    cells: Cells
    state: State
    stage: int
    mine: BoolArray  # (c,) cells of the stage
    unknown: NDArray[np.int64]
    known: NDArray[np.int64]

    @classmethod
    def of(cls, cells: Cells, state: State, stage: int, chosen: BoolArray, alone: bool) -> StageSolver:
        mine = cells.used[:, stage]
        size = np.abs(cells.factors[:, :, :-1])
        active = size[mine].max(axis=(0, 1), initial=0.0) > SINGULAR_VALUE_TOLERANCE * size.max()  # less is rounding
        unknown = active & ~state.known & (chosen if alone else True)
        return cls(cells, state, stage, mine, np.flatnonzero(unknown), np.flatnonzero(active & state.known))

    @property
    def determined(self) -> BoolArray:
        """(u,) unknown parameters that have no part in directions the equations say nothing of."""
        r = self._rows(self.unknown)
        norm = np.linalg.norm(r, axis=0)
        _, singular, directions = np.linalg.svd(np.linalg.qr(r / norm, mode="r"))
        full = np.zeros(len(self.unknown))
        full[: len(singular)] = singular
        lost = directions[full <= SINGULAR_VALUE_TOLERANCE * full.max(initial=1.0)]
        return np.asarray(np.linalg.norm(lost, axis=0) < UNDETERMINED_SHARE)

    def solve(self, wanted: BoolArray) -> State:
        """With the unknown parameters ``wanted`` (u,) determined, and noise from the residuals, both in agreement."""

        def fit(sigma: Array) -> tuple[None, Array]:
            return None, self._solve(sigma).noise

        _, sigma, _ = until_noise_settles(fit, self._solve(np.ones(int(self.mine.sum()))).noise)
        return self._state(self._solve(sigma), wanted, sigma)

    def _state(self, solved: _Solved, wanted: BoolArray, sigma: Array) -> State:
        state, mine = self.state, np.flatnonzero(self.mine)
        own = self.unknown[wanted]
        gain = solved.gain[wanted]  # L, (a, c_mine · p), for rows that are not divided by anything
        p = len(state.values)
        errors, values = state.errors.copy(), state.values.copy()
        noise, known = state.noise.copy(), state.known.copy()
        left, source = state.left.copy(), state.source.copy()
        errors[own] = -np.tensordot(gain @ self._rows(self.known), state.errors[self.known], axes=1)
        errors[np.ix_(own, mine)] += gain.reshape(len(own), len(mine), p)
        values[own], known[own], noise[mine], left[mine] = solved.values[wanted], True, sigma, solved.left
        source[mine] = self.stage * (self.cells.joint.max() + 1) + self.cells.joint[mine]
        return State(values=values, known=known, errors=errors, noise=noise, left=left, source=source)

    def _rows(self, columns: NDArray[np.int64]) -> Array:
        """(c_mine · p, …) rows of R, of some columns."""
        rows = self.cells.factors[self.mine][:, :-1][:, :, columns]
        return rows.reshape(rows.shape[0] * rows.shape[1], len(columns))

    def _solve(self, sigma: Array) -> _Solved:
        """With noise σ (c_mine,): unknowns, and η with x_e = x̂_e − C^½ η, whose prior is one row each."""
        cells, p = self.cells, len(self.state.values)
        weight = np.repeat(1.0 / (sigma * np.sqrt(cells.inflation[self.mine])), p)[:, None]
        a = self._rows(self.unknown) * weight
        b = self._rows(self.known) * weight
        right = self._rows(np.array([p]))[:, 0] * weight[:, 0] - b @ self.state.values[self.known]
        root = _square_root(self.state.root(cells)[self.known])
        e = len(self.known)
        system = np.block([[a, -b @ root], [np.zeros((e, a.shape[1])), np.eye(e)]])
        norm = np.linalg.norm(system, axis=0)
        u, s, vt = np.linalg.svd(system / norm, full_matrices=False)
        kept = s > SINGULAR_VALUE_TOLERANCE * s.max(initial=0.0)
        inverse = (vt[kept].T / s[kept]) @ u[:, kept].T / norm[:, None]
        found = inverse @ np.append(right, np.zeros(e))
        residual = (right - system[: len(right)] @ found) / weight[:, 0]
        leverage = (u[: len(right), kept] ** 2).sum(axis=1)
        noise, left = self._noise((residual**2).reshape(-1, p).sum(axis=1), leverage.reshape(-1, p).sum(axis=1))
        unknowns = len(self.unknown)
        gain = inverse[:unknowns, : len(right)] * weight[:, 0]
        return _Solved(values=found[:unknowns], gain=gain, noise=noise, left=left)

    def _noise(self, squares: Array, taken: Array) -> tuple[Array, Array]:
        """σ per cell: of all cells of its joint in this stage, over their remaining degrees of freedom; and how
        many independent ones are left."""
        cells, mine = self.cells, self.mine
        joint, rows = cells.joint[mine], cells.rows[mine].astype(float)
        squares = squares + cells.factors[mine, -1, -1] ** 2
        signal = (cells.factors[mine, :, -1] ** 2).sum(axis=1)
        n = int(joint.max()) + 1

        def total(values: Array) -> Array:
            return np.asarray(np.bincount(joint, values, n), dtype=float)

        count = np.maximum(total(rows), 1.0)
        freedom = total(rows) - total(taken * cells.inflation[mine])
        scatter = total(cells.scatter[mine] * rows) / count
        means = np.isfinite(scatter).all()
        variance = _of_poses(total(squares), freedom, scatter) if means else total(squares) / np.maximum(freedom, 1.0)
        floor = EXACT_DATA_NOISE * np.sqrt(total(signal) / count)
        sigma = np.maximum(np.sqrt(variance), np.maximum(floor, 1e-300))
        left = np.maximum(total(cells.independent[mine]) - total(taken), 1.0)
        return np.asarray(sigma[joint]), np.asarray(left[joint])


def _of_poses(squares: Array, freedom: Array, scatter: Array) -> Array:
    """(n,) variance per joint of equations that are means of poses, from sums of squared residuals.

    Poses are few. A joint whose equations can all be met, at the expense of the others, would get the variance 0, then
    an infinite weight, and be met exactly: the likelihood has no maximum. A prior gives it one, scaled inverse χ² with
    ν₀ = 2 degrees of freedom: v = (S + ν₀ v₀) / (ν + ν₀), where v₀ supposes that poses differ by more than the
    samples within them tell (stiction) by one factor for all joints, which the joints determine together. That is
    supposed, not measured: the remaining degrees of freedom, which widen intervals, do not count ν₀. And a mean is
    never better than the samples within poses say.
    """
    freedom, known = np.maximum(freedom, 0.0), scatter > 0.0
    shape = np.where(known, scatter, scatter[known].mean() if known.any() else 1.0)
    pooled = shape * (squares / shape).sum() / max(freedom.sum(), 1.0)
    return np.asarray(np.maximum((squares + POOLED_POSE_FREEDOM * pooled) / (freedom + POOLED_POSE_FREEDOM), scatter))


@dataclass(frozen=True, eq=False)
class _Solved:
    values: Array
    gain: Array
    noise: Array
    left: Array


def _square_root(root: Array) -> Array:
    """(e, e) C^½ of C = root rootᵀ, without forming C."""
    e = len(root)
    upper = np.zeros((e, e))
    found = np.linalg.qr(root.T, mode="r")
    upper[: len(found)] = found
    return upper.T


def refuse_few_rows(step: StageSolver, name: str, hint: str) -> None:
    have = int(step.cells.rows[step.mine].sum())
    if have <= len(step.unknown):
        raise ParameterError(
            f"stage '{name}' has {have} equations for {len(step.unknown)} parameters; choose equations less "
            f"strictly, or record longer{hint}"
        )
