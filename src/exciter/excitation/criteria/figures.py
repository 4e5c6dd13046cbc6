"""The figures that are always reported of a motion, by orthogonal decomposition of W; which parameters it misses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr, solve_triangular

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.excitation.criteria.criterion import Observed, rounding
from exciter.excitation.criteria.design_rows import Columns, DesignRows, TorqueRows
from exciter.robot.motion import Motion
from exciter.typing import Array

SINGULAR = 1e14  # a condition number with unit columns above this is rounding
ZERO_COLUMN = 1e-28  # of H's largest diagonal element: the square of what rounding leaves of a zero column
TAKES_PART = 0.3  # of the largest share in a direction that is not excited


@dataclass(frozen=True, eq=False)
class Figures:
    """Of W with rows over their noise, prior included.

    condition_number of W itself, condition_number_normalized with columns of unit length; log_det: log det WᵀW, of
    the information; predicted_std (b,): standard deviations of the parameters ``names``.
    """

    names: tuple[str, ...]
    condition_number: float
    condition_number_normalized: float
    log_det: float
    predicted_std: Array


def evaluate(
    model: DynamicModel,
    motion: Motion,
    weights: ArrayLike,
    columns: ArrayLike | Columns | None = None,
    formulation: DesignRows | None = None,
    prior: Array | None = None,
) -> Figures:
    """Figures of a motion for the base parameters, or the given columns; weights 1/σ² (n,) or one for all.

    prior (b, b): information of earlier experiments. Condition numbers are accurate up to about 1e12.
    """
    chosen = Columns.of(model, columns)
    rows = np.broadcast_to(np.asarray(weights, dtype=float), (model.n,))
    w = Observed(model, motion, chosen, rows, formulation or TorqueRows()).w
    if prior is not None:
        values, vectors = np.linalg.eigh(prior)
        w = np.vstack([w, np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T])
    return _figures(_triangle(w), chosen.names)


def _figures(r: Array, names: tuple[str, ...]) -> Figures:
    """From R (b, b), or from fewer rows than parameters."""
    norms = np.linalg.norm(r, axis=0)
    unit = r / np.where(norms > 0, norms, 1.0)
    normalized = _cond(unit)
    if normalized > SINGULAR or len(r) < len(names):
        return Figures(names, np.inf, np.inf, -np.inf, np.full(len(names), np.inf))
    upper = _triangle(unit)
    inverse = solve_triangular(upper, np.eye(len(names)))
    log_det = 2.0 * float(np.log(np.abs(upper.diagonal())).sum() + np.log(norms).sum())
    return Figures(names, _cond(r), normalized, log_det, np.linalg.norm(inverse, axis=1) / norms)


def _triangle(w: Array) -> Array:
    """R of W = Q R."""
    upper: Array = qr(w, mode="r")[0][: w.shape[1]]
    return upper


def _cond(r: Array) -> float:
    values = np.linalg.svd(r, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0 else np.inf


def unexcited(h: Array, names: Sequence[str]) -> list[str]:
    """Names of the parameters without any effect and, when all have one, of those that cannot be told apart: the
    largest entries of the directions in which H (b, b) is singular. Empty when H is regular."""
    if np.shape(h) != (len(names), len(names)):
        raise ParameterError(f"H has shape {np.shape(h)} and there are {len(names)} names; give one name per row")
    diagonal = h.diagonal()
    silent = ~(diagonal > ZERO_COLUMN * diagonal.max(initial=0.0))
    if silent.any():
        return [name for name, is_silent in zip(names, silent, strict=True) if is_silent]
    scale = 1.0 / np.sqrt(diagonal)  # unit columns: entries of parameters with different units compare
    values, vectors = np.linalg.eigh(h * np.outer(scale, scale))
    lost = vectors[:, values <= values[-1] * rounding(h)]
    share = np.linalg.norm(lost, axis=1)
    limit = TAKES_PART * share.max(initial=0.0)
    return [name for name, part in zip(names, share, strict=True) if part > 0 and part >= limit]
