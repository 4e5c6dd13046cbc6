"""Rows of joints that bodies follow: W = Nᵀ W_tree, and joint terms beside it.

The tree's own columns come from the engine, sample by sample; they are projected, and every row is then used without
what structure makes zero. Its Gram matrix and the adjoint of that go the same way back: seeds of the joints' rows are
lifted to the tree's, and from there to the motion of its joints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from exciter.dynamics.driven_followers import DriveWhitening, one_weight
from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.reference import Chain, ColumnLayout, NumpyEngine, RowBatch
from exciter.robot.coupling import Coupled
from exciter.robot.motion import Motion, MotionGradient
from exciter.typing import Array, BoolArray, Index

PROJECTED_BATCH_SAMPLES = 256  # at a time: the rows of all bodies stay within a few tens of MB


class TreeRows(NamedTuple):
    """Of a batch of samples: what the tree does, its rows (bodies, b, N) and those of the joints (n, b, N)."""

    samples: slice
    moved: Coupled
    tree: Array
    joints: Array


def reached(chain: Chain, pattern: BoolArray, layout: ColumnLayout) -> list[Index]:
    """Of every joint the columns, ascending, that are not zero by structure; pattern (bodies, n): which it moves."""
    moves = np.zeros((chain.n, chain.n), dtype=bool)
    moves[chain.joint, chain.link_of] = True  # the tree's joint moves the body
    found = []
    for j in range(pattern.shape[1]):
        bodies = layout.inertial[moves[pattern[:, j]].any(axis=0)]
        columns = np.append(bodies[bodies >= 0], layout.term_column[layout.term_row == j])
        found.append(np.unique(columns[columns >= 0]))
    return found


@dataclass(frozen=True, eq=False)
class ProjectedRows:
    """Chosen columns over a motion of the joints. terms (E, N): values of joint terms; weights (n,)."""

    dynamics: Dynamics
    motion: Motion
    layout: ColumnLayout
    terms: Array
    weights: Array

    @cached_property
    def _moved(self) -> Coupled:
        moved = self.dynamics.coupled(self.motion)
        assert moved is not None
        return moved

    @cached_property
    def _rows(self) -> list[Index]:
        return reached(self.dynamics.chain, self.dynamics.robot.pattern, self.layout)

    def batches(self, room: int = 0) -> Iterator[TreeRows]:
        """``room`` columns of zeros follow the chosen ones."""
        dynamics, layout = self.dynamics, self.layout
        nothing = np.zeros(0, dtype=np.int64)
        bodies = replace(layout, term_row=nothing, term_column=nothing)
        for start in range(0, len(self.motion), PROJECTED_BATCH_SAMPLES):
            part = slice(start, min(start + PROJECTED_BATCH_SAMPLES, len(self.motion)))
            moved = self._moved[part]
            size = dynamics.chain.n, layout.size + room, len(moved.tree)
            values, none = np.zeros(size), np.zeros((0, len(moved.tree)))
            batch = RowBatch(dynamics.chain, bodies, none, np.ones(dynamics.chain.n), *moved.tree.samples_last)
            dynamics.engine.columns(batch, values)
            joints = moved.project(values)
            for row, column, term in zip(layout.term_row, layout.term_column, self.terms[:, part], strict=True):
                if column >= 0:
                    joints[row, column] += term
            yield TreeRows(part, moved, values, joints)

    def gram(self) -> Array:
        """H = Σ_j w_j W_jᵀ W_j (b, b)."""
        h = np.zeros((self.layout.size, self.layout.size))
        for batch in self.batches():
            if (white := self._whitening(batch.moved)) is not None:
                w = white.rows(batch.joints).transpose(1, 0, 2).reshape(len(h), -1)
                h += one_weight(self.dynamics.robot, self.weights) * (w @ w.T)
                continue
            for j, index in enumerate(self._rows):
                w = batch.joints[j, index]
                h[np.ix_(index, index)] += self.weights[j] * (w @ w.T)
        return h

    def _whitening(self, moved: Coupled) -> DriveWhitening | None:
        return DriveWhitening.of(self.dynamics.robot, moved)

    def adjoint(self, matrix: Array, torque_seed: Array | None, inertias: Array) -> tuple[MotionGradient, Array]:
        """Gradient of f(H) + Σ torque_seed ⊙ τ with respect to every sample but through joint terms, and ∂/∂terms
        (E, N); matrix: ∂f/∂H + its transpose; torque_seed (n, N) acts on the torque of inertias (bodies, 10)."""
        dynamics, layout, samples = self.dynamics, self.layout, len(self.motion)
        chain, terms_bar = dynamics.chain, np.zeros_like(self.terms)
        gradient, varies = np.empty((3, chain.n, samples)), self._moved.null.ndim == 3
        null_bar = np.zeros(self._moved.null.shape) if varies else None
        wanted = layout.term_column >= 0
        squares = [weight * matrix[np.ix_(at, at)] for weight, at in zip(self.weights, self._rows, strict=True)]
        for part, moved, tree, joints in self.batches():
            seed = np.zeros((len(joints), layout.size + 1, len(moved.tree)))  # the last column: of what is left out
            if (white := self._whitening(moved)) is not None:
                weighed = white.rows(joints)
                weighted = one_weight(dynamics.robot, self.weights) * matrix
                back = np.einsum("cd,jdN->jcN", weighted, weighed, optimize=True)
                seed[:, :-1], turned = white.back(weighed, back)
            else:
                for j, (index, square) in enumerate(zip(self._rows, squares, strict=True)):
                    seed[j, index] = square @ joints[j, index]
            terms_bar[wanted, part] = seed[layout.term_row[wanted], layout.term_column[wanted]]
            bodies = np.zeros((len(chain.joint), 10, len(moved.tree)))  # N seed, of the columns that a body's row has
            for body, j in moved.entries:
                own = np.flatnonzero(chain.joint == body)
                bodies[own] += moved.null[..., body, j] * seed[j, layout.inertial[chain.link_of[own]]]
            if null_bar is not None:
                null_bar[part] = np.einsum("jcN,bcN->Nbj", seed[:, :-1], tree, optimize=True)
            if white is not None and null_bar is not None:
                null_bar[part] += turned
            if torque_seed is not None:
                torque = moved.lift(torque_seed[:, part])
                bodies += torque[chain.joint, None] * inertias[chain.link_of, :, None]
                if null_bar is not None:
                    tau = dynamics.engine.torque(chain, inertias, *moved.tree.samples_last)
                    null_bar[part] += np.einsum("bN,jN->Nbj", tau, torque_seed[:, part])
            gradient[:, :, part] = dynamics.engine.rows_adjoint(chain, bodies, *moved.tree.samples_last)
        q, qd, qdd = gradient
        return dynamics.pulled(self.motion, self._moved, MotionGradient(q.T, qd.T, qdd.T), null_bar), terms_bar


def regressor_pullback(dynamics: Dynamics, motion: Motion, seed: Array) -> MotionGradient:
    """Gradient of Σ seed ⊙ Φ with respect to every sample, seed (N, n, 10 per body)."""
    moved, chain, tree_bar = dynamics.coupled(motion), dynamics.chain, seed.transpose(1, 2, 0)
    tree, null_bar = motion if moved is None else moved.tree, None
    if moved is not None:
        if moved.null.ndim == 3:
            null_bar = np.einsum("Njp,Nbp->Nbj", seed, dynamics.tree.regressor(moved.tree), optimize=True)
        tree_bar = moved.lift(tree_bar)
    pairs = tree_bar.reshape(chain.n, chain.n, 10, len(motion))[chain.joint, chain.link_of]
    bodies = np.einsum("PkN,Pck->PcN", pairs, chain.parameter_map[chain.link_of])
    engine = NumpyEngine() if moved is None else dynamics.engine
    q, qd, qdd = engine.rows_adjoint(chain, bodies, *tree.samples_last)
    return dynamics.pulled(motion, moved, MotionGradient(q.T, qd.T, qdd.T), null_bar)
