"""σ of numbers from the slopes of their loss (scores), sample by sample, where neighbouring samples say the same.

The variance of a sum of scores is summed over lags with Bartlett's weights B. It is itself an estimate: with c_t the
part of sample t in the variance of a number, of errors that do not last it has ν = (Σ c)²/Σ B²_{ts} c_t c_s degrees of
freedom, and as many of errors that do, for the window then is what limits it (ν of uniform c is 3 N/2 L for L lags;
the number of stretches, where lags reach over all of each). A number of which few samples say much, as dry friction
of a joint that seldom turns round, has few, whatever the length of the log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exciter.typing import Array

LAGS_OF_REPEATS = 4.0  #: lags of scores, in samples that say the same: Bartlett's weights lose an eighth of σ at two


def lags_of(repeats: Array) -> int:
    """Of scores, where so many samples of each joint (n,) say the same."""
    return int(np.ceil(LAGS_OF_REPEATS * float(repeats.max())))


def correlated_scores(scores: Sequence[Array], lags: int) -> Array:
    """(p, p) covariance of the sum of scores (N, p) of each stretch, with neighbours up to ``lags`` (Bartlett's
    weights)."""
    p = scores[0].shape[1]
    total = np.zeros((p, p))
    for s in scores:
        total += s.T @ s
        for k in range(1, min(lags, len(s) - 1) + 1):
            cross = s[k:].T @ s[:-k]
            total += (1.0 - k / (lags + 1.0)) * (cross + cross.T)
    return total


def window_freedom(parts: Sequence[Array], lags: int) -> Array:
    """(p,) ν of each number; parts: c (N, p) of each stretch."""
    whole = np.maximum(sum(c.sum(axis=0) for c in parts), 1e-300)
    squares = np.zeros_like(whole)
    for c in parts:
        share = c / whole
        for k in range(min(lags, len(c) - 1) + 1):
            weight = (1.0 - k / (lags + 1.0)) ** 2 * (1.0 if k == 0 else 2.0)
            squares += weight * (share[k:] * share[: len(c) - k]).sum(axis=0)
    return np.asarray(1.0 / np.maximum(squares, 1e-300))
