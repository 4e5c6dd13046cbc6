"""Drives on joints that follow: more torques than coordinates, as the legs of a robot that stands have them.

The coordinates' rows are what all drives do together, y = N_Aᵀ τ_A, whatever forces hold the loops closed. A joint term
of a drive acts there through N, too: a column φ on the tree's joint b is N_bj φ in the row of coordinate j
(``ProjectedTerm``). Torques with independent errors of one size σ have Cov y = σ² N_AᵀN_A = σ² L Lᵀ, so that rows weigh
alike as L⁻¹ y (``DriveWhitening``): all that the torques tell without the forces, as the projection of logs has it
(``contacts.py``), where the equations of a base without drives have no error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from exciter.errors import ParameterError, RobotError
from exciter.parameters.terms.term import BoundTerm, Columns
from exciter.robot.coupling import Coupled, Coupling
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.typing import Array, Index


@dataclass(frozen=True, eq=False)
class ProjectedTerm(BoundTerm):
    """A term on the joints of the tree, as the coordinates feel it. No column is an energy's of its own: what it stores
    depends on q and q̇ of all coordinates, and its torque is given whole."""

    tree: BoundTerm
    coupling: Coupling

    @classmethod
    def of(cls, tree: BoundTerm, robot: Robot) -> Self:
        """tree: bound on ``robot.tree``."""
        assert robot.coupling is not None
        pattern, plain = robot.pattern, (False,) * len(tree.names)
        rows = {(int(j), column): None for body, column in tree.rows for j in np.flatnonzero(pattern[body])}
        columns: Columns = replace(tree.columns, n=robot.n, rows=tuple(rows), conservative=plain)
        return cls(columns, tree, robot.coupling)

    @cached_property
    def _parts(self) -> tuple[tuple[int, int, int, int], ...]:
        """Entry, entry on the tree, body, coordinate."""
        place = {pair: k for k, pair in enumerate(self.rows)}
        return tuple(
            (place[j, column], entry, body, j)
            for entry, (body, column) in enumerate(self.tree.rows)
            for j in range(self.columns.n)
            if (j, column) in place
        )

    @property
    def has_memory(self) -> bool:
        return self.tree.has_memory

    @property
    def notes(self) -> tuple[str, ...]:
        return self.tree.notes

    def after(self, motion: Motion) -> BoundTerm:
        return replace(self, tree=self.tree.after(self.coupling.motion(motion).tree)) if self.has_memory else self

    def values(self, motion: Motion) -> Array:
        self.samples(motion, [])  # refuses a motion of another robot
        moved = self.coupling.motion(motion)
        own, out = self.tree.values(moved.tree), np.zeros((len(self.rows), len(motion)))
        for k, entry, body, j in self._parts:
            out[k] += moved.null[..., body, j] * own[entry]
        return out

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        moved = self.coupling.motion(motion)
        own, null_bar = self.tree.values(moved.tree), np.zeros((len(motion), *self.coupling.shape))
        lifted = np.zeros_like(own)
        for k, entry, body, j in self._parts:
            lifted[entry] += moved.null[..., body, j] * seed[k]
            null_bar[:, body, j] += seed[k] * own[entry]
        tree_bar = self.tree.pullback(moved.tree, lifted)
        return self.coupling.pullback(motion, moved, tree_bar, null_bar if moved.null.ndim == 3 else None)


@dataclass(frozen=True, eq=False)
class DriveWhitening:
    """null (N, bodies, m); driven: bodies with drives; factor L (N, m, m) of N_AᵀN_A."""

    null: Array
    driven: Index
    factor: Array

    @classmethod
    def of(cls, robot: Robot, moved: Coupled | None) -> DriveWhitening | None:
        """None where every torque is that of a coordinate."""
        if moved is None or robot.drives is robot.joints:
            return None
        driven = np.flatnonzero([body.actuated for body in robot.bodies])
        own = moved.null[:, driven]
        try:
            return cls(moved.null, driven, np.asarray(np.linalg.cholesky(own.swapaxes(1, 2) @ own), dtype=float))
        except np.linalg.LinAlgError:
            raise RobotError(f"robot '{robot.name}' can move where none of its drives feels it; drive more") from None

    def rows(self, rows: Array) -> Array:
        """L⁻¹ rows, (m, b, N) of (m, b, N)."""
        return np.asarray(np.linalg.solve(self.factor, rows.transpose(2, 0, 1)).transpose(1, 2, 0))

    def back(self, rows: Array, seed: Array) -> tuple[Array, Array]:
        """Of what ``rows`` made, and the seed of that: the seed of what it was made of, and that of N (N, bodies, m).
        With Y = L⁻¹ W: W̄ = L⁻ᵀ Ȳ, L̄ = −W̄ Yᵀ; then L Lᵀ = M back to M̄ = ½ L⁻ᵀ (P + Pᵀ) L⁻¹, P the lower half of LᵀL̄
        with half its diagonal."""
        up = self.factor.swapaxes(1, 2)
        seed_in = np.asarray(np.linalg.solve(up, seed.transpose(2, 0, 1)), dtype=float)
        half = np.tril(-up @ seed_in @ rows.transpose(2, 1, 0))
        diagonal = np.arange(half.shape[1])
        half[:, diagonal, diagonal] *= 0.5
        square = np.linalg.solve(up, half + half.swapaxes(1, 2))
        square = 0.5 * np.linalg.solve(up, square.swapaxes(1, 2)).swapaxes(1, 2)
        null_bar = np.zeros(self.null.shape)
        null_bar[:, self.driven] = self.null[:, self.driven] @ (square + square.swapaxes(1, 2))
        return seed_in.transpose(1, 2, 0), null_bar


def one_weight(robot: Robot, weights: Array) -> float:
    """1/σ² [1/(N·m)²] of every drive, of weights (n,) of the coordinates, which must be one number then."""
    if (weights != weights[0]).any():
        problem = f"joints of robot '{robot.name}' that follow have drives of their own, of the same noise each"
        raise ParameterError(f"{problem}; give noise as one number, and no equations: of some joints only")
    return float(weights[0])
