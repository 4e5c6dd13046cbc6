"""Many tests at once: p-values such that a level bounds what is named wrongly."""

from __future__ import annotations

import numpy as np

from exciter.typing import Array

HOLM, BENJAMINI_HOCHBERG = "holm", "benjamini-hochberg"
LEVEL_METHODS = (BENJAMINI_HOCHBERG, HOLM)
LEVEL_MEANING = {
    HOLM: "the chance that any healthy robot is named is at most {level:.3g}",
    BENJAMINI_HOCHBERG: "of the robots named, at most {level:.3g} are expected to be healthy; where all are healthy, "
    "the chance that any is named is at most {level:.3g}",
}  #: of a level


def adjusted(p_values: Array, method: str) -> Array:
    """(N,) p-values to be compared with a level: Holm's, or Benjamini and Hochberg's; NaN stays and does not count."""
    p = np.asarray(p_values, dtype=float)
    found = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    count = len(order)
    rank = np.arange(1, count + 1)
    if method == HOLM:
        stepped = np.maximum.accumulate(p[order] * (count - rank + 1))
    else:
        stepped = np.minimum.accumulate((p[order] * count / rank)[::-1])[::-1]
    found[order] = np.minimum(stepped, 1.0)
    return found


def any_of(p_values: Array) -> Array:
    """(N,) p of the smallest of several tests (N, G) of each, whatever these have to do with each other (Bonferroni);
    tests that are NaN were not made."""
    made = (~np.isnan(p_values)).sum(axis=1)
    least = np.min(np.where(np.isnan(p_values), np.inf, p_values), axis=1, initial=np.inf)
    return np.where(made > 0, np.minimum(1.0, made * least), np.nan)
