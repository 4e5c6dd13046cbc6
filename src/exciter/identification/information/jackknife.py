"""The covariance of a fit by leaving out one stretch of time after the other (delete-a-group jackknife).

It asks nothing of errors but that those of one stretch have little to do with those of another: they may be alike
within a stretch, larger in some, and come back in every period of a motion, whose stretches are pieces of the period
(``Run.fold``). So it counts what a model misses at reversals, where formulas from residuals take it for noise."""

from __future__ import annotations

import numpy as np

from exciter.identification.information.compressed import Compressed
from exciter.typing import Array, Index

LEFT_OUT_STRETCHES = 20  #: of every run: σ is then known to 16 %, and a stretch is longer than errors stay alike
LEFT_OUT_RANK_TOLERANCE = 1e-10  #: of information with columns of length one: less says nothing


def left_out_covariance(grams: Array, scores: Array, known: Array | float = 0.0) -> Array:
    """(p, p) of the estimate; grams (K, p, p): information JᵀJ of every stretch, scores (K, p): Jᵀe of its residuals,
    both over the noise; known (p, p): information that no stretch brings. θ̂ without stretch k is
    θ̂ − (ΣJᵀJ − JₖᵀJₖ)⁻¹ Jₖᵀeₖ, exactly so for linear equations."""
    total, count = grams.sum(axis=0) + known, len(grams)
    scale = np.sqrt(np.maximum(total.diagonal(), 1e-300))
    others = (total - grams) / np.outer(scale, scale)
    inverse = np.linalg.pinv(others, rcond=LEFT_OUT_RANK_TOLERANCE, hermitian=True)
    changes = np.einsum("kpq,kq->kp", inverse, scores / scale) / scale
    changes -= changes.mean(axis=0)
    return np.asarray((count - 1) / count * changes.T @ changes)


def of_stretches(compressed: Compressed, values: Array, noise: Array) -> Array:
    """The same of least squares with values (p,), rows over ``noise`` (J,)."""
    weighted = compressed.factors / compressed.per_group(noise)[..., None, None]
    return left_out_covariance(*by_stretch(compressed.fold, weighted[..., :-1], weighted @ np.append(-values, 1.0)))


def by_stretch(fold: Index, slopes: Array, left: Array) -> tuple[Array, Array]:
    """(K, p, p) and (K, p), information and scores of slopes (G, …, p) and residuals (G, …), both over the noise."""
    slopes, left = slopes.reshape(len(fold), -1, slopes.shape[-1]), left.reshape(len(fold), -1)
    of_fold = (np.unique(fold)[:, None] == fold).astype(float)  # (K, G)
    grams, scores = slopes.swapaxes(1, 2) @ slopes, np.einsum("grp,gr->gp", slopes, left)
    return np.einsum("kg,gpq->kpq", of_fold, grams), of_fold @ scores


def widened(covariance: Array, other: Array) -> Array:
    """A covariance (p, p) with variances not below those of another one of the same estimate; correlations stay."""
    least, variance = other.diagonal(), np.maximum(covariance.diagonal(), 1e-300)
    scale = np.sqrt(np.maximum(least / variance, 1.0))
    return np.asarray(covariance * np.outer(scale, scale))
