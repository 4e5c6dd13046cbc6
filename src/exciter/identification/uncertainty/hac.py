"""Newey and West's covariance: right also where the errors' size changes, with speed or load.

No model of the errors: the scores s_t = Σ_j w_jt e_jt / w_j² are summed over windows of L + 1 instants, and
B = Σ (window)(window)ᵀ / (L + 1) over all windows, which is Bartlett's taper and cannot be negative. It asks for more
data than a covariance of stationary errors, for it estimates p(p + 1)/2 numbers from so many windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.identification.estimate import assumed
from exciter.identification.uncertainty.correlated import CorrelatedErrors, Residuals
from exciter.identification.uncertainty.correlation import Taper
from exciter.identification.uncertainty.equations import Equations, by_time, stretches
from exciter.notes import Note
from exciter.typing import Array


@dataclass(frozen=True)
class HeteroscedasticErrors(CorrelatedErrors):
    """Errors of any size at any time, alike within ``lags`` samples at most, in time and between joints."""

    word, title = "hac", "errors that change their size"

    @property
    def assumptions(self) -> tuple[Note, ...]:
        text = "errors may change their size and be alike for a while, in time and between joints, and W is exact"
        return assumed(text)

    def taper(self, lags: int) -> Taper:
        return Taper.bartlett(lags)

    def meat(self, equations: Equations, residuals: Residuals) -> Array:
        fit = residuals.fit
        f = len(fit.free)
        total = np.zeros((f, f))
        width = {c.rate: taper.lags + 1 for c, taper in residuals.tapered}
        scale = {c.rate: 1.0 / (fit.weights**2 * np.sqrt(c.left(taper))) for c, taper in residuals.tapered}
        residual = np.append(-fit.values, 1.0)
        for rate, parts in stretches(equations, residuals.block):
            scores = (_scores(by_time(rows), residual, scale[rate], fit.free) for rows in parts)
            for window in _windows(scores, width[rate], f):
                total += window @ window.T / width[rate]
        return total[None, None]


def _scores(sides: Array, residual: Array, scale: Array, free: NDArray[np.int64]) -> Array:
    """(f, M)."""
    errors = (residual @ sides) * scale[:, None]
    return np.asarray(np.einsum("jfm,jm->fm", sides[:, free], errors))


def _windows(scores: Iterator[Array], width: int, f: int) -> Iterator[Array]:
    """(f, M) sums over ``width`` instants, also of those that hang over the ends of the stretch."""
    before = np.zeros((f, width))
    for piece in scores:
        whole = np.cumsum(np.concatenate([before, piece], axis=1), axis=1)
        yield whole[:, width:] - whole[:, :-width]
        before = np.concatenate([before, piece], axis=1)[:, piece.shape[1] :]
    whole = np.cumsum(before, axis=1)
    yield whole[:, -1:] - whole[:, :-1]
