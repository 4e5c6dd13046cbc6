"""Blocked cross-validation on compressed equations: a fold is left out, the fit is judged on it, nothing is re-read.

A fold is a stretch of time, or of the period where the motion repeats (``Run.fold``): neighbouring samples share their
errors, so folds of single samples would flatter whatever fits noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ParameterError
from exciter.identification.information.compressed import Compressed
from exciter.typing import Array

FoldFits = Callable[[Compressed], Iterable[Array]]


@dataclass(frozen=True, eq=False)
class Score:
    """squares (K, J): of residuals held out, over noise², in each of K folds; rows (K, J): how many."""

    squares: Array
    rows: Array

    @property
    def per_joint(self) -> Array:
        """(J,) mean squared residual held out, in units of the noise's variance."""
        return np.asarray(self.squares.sum(axis=0) / np.maximum(self.rows.sum(axis=0), 1))

    @property
    def mean(self) -> float:
        """Over all joints and folds."""
        return float(self.squares.sum() / self.rows.sum())

    def error_of_difference(self, other: Score) -> float:
        """σ of mean − other.mean, from how the difference scatters between folds."""
        difference = (self.squares - other.squares).sum(axis=1) / self.rows.sum(axis=1)
        return float(difference.std(ddof=1) / np.sqrt(len(difference)))


def cross_validate(compressed: Compressed, fits: FoldFits, noise: ArrayLike) -> tuple[Score, ...]:
    """fits: of equations, all but one fold, the parameters (p,) of each of several models, whose scores these are;
    noise: σ (J,) to measure residuals with."""
    folds = np.unique(compressed.fold)
    if len(folds) < 2:
        raise ParameterError("cross-validation needs at least 2 folds; give a longer recording, or more folds")
    sigma = compressed.per_group(noise)
    squares, rows = [], []
    for fold in folds:
        held_out = compressed.fold == fold
        found = fits(compressed.where(~held_out))
        squares.append([(compressed.squares(values) / sigma**2)[held_out].sum(axis=0) for values in found])
        rows.append(compressed.rows[held_out].sum(axis=0))
    return tuple(Score(np.array(one), np.array(rows, dtype=float)) for one in zip(*squares, strict=True))


def simplest_within_error(scores: Sequence[Score], largest_excess: float = np.inf) -> int:
    """Which of several, ordered from the simplest: the first whose score is not worse than the best's by more than the
    standard error of the difference, nor by more than ``largest_excess`` of the best's."""
    best = int(np.argmin([score.mean for score in scores]))
    for index, score in enumerate(scores[:best]):
        excess = score.mean - scores[best].mean
        if excess <= min(score.error_of_difference(scores[best]), largest_excess * scores[best].mean):
            return index
    return best
