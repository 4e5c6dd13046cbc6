"""Equations to go through once more: in order of time, without gaps, with as much around them as is needed.

Beside them the weighted linear least-squares fit, recognised from its estimate: which weights, which parameters free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from exciter.errors import ParameterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.experiment.signals.resample import peeked, segments
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.estimate import Estimate
from exciter.typing import Array

ERROR_GAP_INTERVALS = 1.5  #: intervals between samples, beyond which errors have nothing to do with each other
SAME_ESTIMATE_SIGMAS = 0.01  # σ: an estimate this close to that of least squares is the one of least squares
ESTIMATE_ROUNDING_FRACTION = 1e-9  # of the parameters over their σ: the same for data without noise


class LinearEquations(Protocol):
    """W χ = y of J ``joints`` for p parameters ``names``: a ``Problem``, or one with further columns."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def joints(self) -> tuple[str, ...]: ...

    @property
    def compressed(self) -> Compressed: ...

    def rows(self) -> Iterator[tuple[int, Rows]]: ...


def stretches(
    equations: Iterable[tuple[int, Rows]], block: float = 0.0, combinations: Array | None = None
) -> Iterator[tuple[float, Iterator[Rows]]]:
    """(rate [Hz], rows piece by piece) of every stretch without a gap, of (run, rows); a run is at least one. A stretch
    is gone when the next one is asked for.

    block [s]: rows within so much time are put together to one, see ``blocked``; rate is then that of the blocks.
    combinations (m, p + 1): of columns of W and y, in their place; the last is y.
    """
    for _, numbered in groupby(equations, key=itemgetter(0)):
        first, parts = peeked((rows for _, rows in numbered), 1, Rows.join)
        if first is not None:
            size = max(1, int(block * first.rate + 1e-9))
            for segment in segments(parts, ERROR_GAP_INTERVALS / first.rate):
                chosen = segment if combinations is None else (_combined(rows, combinations) for rows in segment)
                yield first.rate / size, blocked(chosen, size)


def _combined(rows: Rows, combinations: Array) -> Rows:
    sides = combinations @ by_time(rows)
    sides.flags.writeable = False
    return replace(rows, sides=sides.transpose(2, 0, 1), parameters=("combination",) * (len(combinations) - 1))


def blocked(parts: Iterable[Rows], size: int) -> Iterator[Rows]:
    """Sums of ``size`` rows that follow each other, over √size: an orthogonal projection of the equations onto what is
    slow, white errors keeping their σ. An end shorter than a block is left out."""
    if size == 1:
        yield from parts
        return
    rest: Rows | None = None
    for rows in parts:
        begin = 0
        if rest is not None:
            begin = min(size - len(rest), len(rows))
            rest = Rows.join([rest, rows[:begin]])
            if len(rest) == size:
                yield _sums(rest, 0, size)
                rest = None
        whole = (len(rows) - begin) // size * size
        if whole:
            yield _sums(rows, begin, size)
        if begin + whole < len(rows):
            rest = rows[begin + whole :]


def _sums(rows: Rows, begin: int, size: int) -> Rows:
    end = begin + (len(rows) - begin) // size * size
    sides, time = by_time(rows)[..., begin:end], rows.time[begin:end]
    sums = sides.reshape(*sides.shape[:2], -1, size).sum(axis=3) / np.sqrt(size)
    sums.flags.writeable = False
    return replace(rows, time=time.reshape(-1, size).mean(axis=1), sides=sums.transpose(2, 0, 1), rate=rows.rate / size)


def by_time(rows: Rows) -> Array:
    """(J, p + 1, N) W and y, time last as it is in memory."""
    return rows.sides.transpose(1, 2, 0)


@dataclass(frozen=True, eq=False)
class LinearFit:
    """values (p,), of which only ``free`` were estimated, with rows divided by weights (J,).

    inverse_root (f, f): R⁻¹ with RᵀR = A, the Gram matrix of the weighted free columns.
    """

    compressed: Compressed
    values: Array
    weights: Array
    free: NDArray[np.int64]
    inverse_root: Array

    @classmethod
    def of(cls, compressed: Compressed, values: Array, weights: Array, free: NDArray[np.int64]) -> LinearFit:
        information = compressed.columns(free).information(weights)
        information.refuse_singular([compressed.parameters[k] for k in free])
        root = linalg.solve_triangular(information.r, np.eye(len(free)))
        return cls(compressed=compressed, values=values, weights=weights, free=free, inverse_root=np.asarray(root))

    @property
    def is_least_squares(self) -> bool:
        """Whether the values are those of least squares with these weights, within a hundredth of σ."""
        left = self.compressed.factors @ np.append(-self.values, 1.0) / self.weights[:, None]
        scaled = self.compressed.factors[..., self.free] / self.weights[:, None, None]
        score = np.einsum("gjrf,gjr->f", scaled, left)
        size = np.linalg.norm(self.compressed.factors[..., -1] / self.weights[:, None])
        return bool(
            np.linalg.norm(self.inverse_root.T @ score)
            <= max(SAME_ESTIMATE_SIGMAS, ESTIMATE_ROUNDING_FRACTION * float(size))
        )


def linear_fit(equations: LinearEquations, estimate: Estimate) -> LinearFit:
    """Of an estimate that was ordinary or weighted (by its noise) least squares, perhaps of some parameters only.

    Parameters without any variance count as given. Any other estimate is refused: its covariance is another one.
    """
    compressed = equations.compressed
    if estimate.names != compressed.parameters:
        raise ParameterError("the estimate is of other parameters than the equations")
    free = np.flatnonzero(estimate.covariance.diagonal() > 0.0)
    candidates = [np.asarray(estimate.noise, dtype=float), np.ones(len(compressed.joints))]
    for weights in candidates:
        if weights.shape == (len(compressed.joints),) and (weights > 0.0).all():
            fit = LinearFit.of(compressed, estimate.values, weights, free)
            if fit.is_least_squares:
                return fit
    raise ParameterError(
        "the covariance for correlated errors is that of ordinary or weighted least squares; this estimate is neither: "
        "keep the covariance it came with"
    )
