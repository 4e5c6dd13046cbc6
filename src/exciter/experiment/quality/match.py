"""How well measured torques follow the model's, joint by joint, whatever friction and rotors add.

From torque τ_i of the log and model torque of joint j what 1, q̇_j, sign(q̇_j) and q̈_j explain is removed: offset,
friction and rotor inertia need not be known. The correlation of what is left tells which channel belongs to which
joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.robot.motion import Motion
from exciter.typing import Array

VISIBLE = 1e-6  # of a joint's own largest torque: a model torque below is rounding


@dataclass(frozen=True, eq=False)
class Match:
    """correlation (n, n): measured torque of row i with model torque of column j. scale (n, n): the one over the
    other, least squares."""

    correlation: Array
    scale: Array

    @property
    def score(self) -> float:
        """Σ of squared correlations on the diagonal, those of the right sign only."""
        return float((np.maximum(self.correlation.diagonal(), 0.0) ** 2).sum())


def unknown_terms(motion: Motion, model: DynamicModel | None = None) -> list[Array]:
    """(N, 4) per joint: an orthonormal basis of offset, friction and rotor inertia, whatever their coefficients; and of
    the joint terms of a model, where one is given."""
    columns = ((np.ones_like(qd), qd, np.sign(qd), qdd) for qd, qdd in zip(motion.qd.T, motion.qdd.T, strict=True))
    usual = [np.asarray(np.linalg.qr(np.column_stack(terms))[0]) for terms in columns]
    if model is None:
        return usual
    more = model.regressor(motion)[:, :, 10 * model.n :]
    return [_completed(basis, more[:, j]) for j, basis in enumerate(usual)]


def _completed(basis: Array, columns: Array) -> Array:
    """An orthonormal basis (N, 4 + r) that also spans columns (N, c)."""
    norms = np.linalg.norm(columns, axis=0)
    own = columns[:, norms > 0] / norms[norms > 0]
    own = own - basis @ (basis.T @ own)
    u, s, _ = np.linalg.svd(own, full_matrices=False)
    return np.column_stack([basis, u[:, s > VISIBLE]])


def match(model: DynamicModel, motion: Motion, effort: Array, unknown: Sequence[Array] | None = None) -> Match:
    """Of smooth rows (N, n); unknown: ``unknown_terms`` of the motion, where they are there already."""
    unknown = unknown_terms(motion) if unknown is None else unknown
    bodies = model.torque(motion)
    correlation, scale = np.zeros((2, motion.n, motion.n))
    size = np.linalg.norm(bodies, axis=0).max(initial=0.0)
    for j in range(motion.n):
        beside = unknown[j]
        wanted = bodies[:, j] - beside @ (beside.T @ bodies[:, j])
        seen = effort - beside @ (beside.T @ effort)
        length = float(np.linalg.norm(wanted))
        if length <= VISIBLE * size:
            continue
        norms = np.linalg.norm(seen, axis=0)
        correlation[:, j] = (seen.T @ wanted) / np.where(norms > 0, norms, np.inf) / length
        scale[:, j] = (seen.T @ wanted) / length**2
    return Match(correlation, scale)
