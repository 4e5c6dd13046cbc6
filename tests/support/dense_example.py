"""Two joints, three parameters, runs at two rates, with dense matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.information.compressed import Compressed, compress
from exciter.identification.uncertainty.residual_autocorrelation import LinearFit

Array = np.ndarray


NAMES, JOINTS = ("a", "b", "c"), ("first", "second")


WEIGHTS = np.array([2.0, 0.5])


RATES = (50.0, 20.0)


#: Ends of pieces of the two runs; the first has a gap after 60 instants. Its stretches are 60 and 64 instants long.
CUTS = ((0, 1, 23, 60, 61, 124), (0, 40, 83))


GAP_AT = 60


@dataclass(frozen=True, eq=False)
class Dense:
    """The equations of one stretch, w (N, J, p), y and present (N, J), at a rate [Hz]."""

    rate: float
    w: Array
    y: Array
    present: Array

    def in_blocks(self, seconds: float) -> Dense:
        """The sums of each block over the root of its size; what is left over is dropped."""
        size = max(1, round(seconds * self.rate))
        count = len(self.y) // size
        project = np.kron(np.eye(count), np.ones((1, size)) / np.sqrt(size)) @ np.eye(count * size, len(self.y))
        share = self.present[: count * size].reshape(count, size, -1).mean(axis=1)
        w, y = (np.tensordot(project, x, axes=1) for x in (self.w, self.y))
        return Dense(self.rate / size, w, y, share)


@dataclass(frozen=True, eq=False)
class Plain:
    """Equations as pieces of rows."""

    pieces: tuple[tuple[int, Rows], ...]
    names: tuple[str, ...] = NAMES
    joints: tuple[str, ...] = JOINTS

    def rows(self) -> Iterator[tuple[int, Rows]]:
        yield from self.pieces

    @cached_property
    def compressed(self) -> Compressed:
        labelled = [(run, np.zeros(len(rows), dtype=np.int64), rows) for run, rows in self.pieces]
        return compress(labelled, self.names, self.joints, 1 + max(run for run, _ in self.pieces), 1)


def example(*, rests: bool = False, pole: float = 0.6) -> tuple[Plain, list[Dense]]:
    """The first joint does not see c, the second not a. rests: the second joint stands still at times."""
    rng, pieces, parts = np.random.default_rng(4), [], []
    for run, (rate, cuts) in enumerate(zip(RATES, CUTS, strict=True)):
        n = cuts[-1]
        time = np.arange(n) / rate + 3.0 * run
        w = np.cumsum(rng.standard_normal((n, 2, 3)), axis=0) * 0.2 + rng.standard_normal((n, 2, 3))
        w[:, 0, 2] = w[:, 1, 0] = 0.0
        errors = rng.standard_normal((n, 2)) @ np.array([[1.0, 0.7], [0.0, 0.7]])
        for k in range(1, n):
            errors[k] += pole * errors[k - 1]
        y = w @ np.array([1.0, -2.0, 0.5]) + WEIGHTS * errors
        present = np.ones((n, 2))
        if rests:
            present[5:n:3, 1] = 0.0
            w, y = w * present[:, :, None], y * present
        late = np.where(np.arange(n) >= GAP_AT, 1.6 / rate - 1.0 / rate, 0.0) if run == 0 else np.zeros(n)
        for a, z in pairwise(cuts):
            rows = Rows.of(time[a:z] + late[a:z], w[a:z], y[a:z], rate, JOINTS, NAMES)
            pieces.append((run, replace(rows, present=present[a:z].mean(axis=0)) if rests else rows))
        ends = [0, GAP_AT, n] if run == 0 else [0, n]
        parts += [Dense(rate, w[a:z], y[a:z], present[a:z]) for a, z in pairwise(ends)]
    return Plain(tuple(pieces)), parts


def fitted(equations: Plain) -> LinearFit:
    """Weighted least squares, with weights that are not those of the noise."""
    values = equations.compressed.information(WEIGHTS).solve()[0]
    return LinearFit.of(equations.compressed, values, WEIGHTS, np.arange(3))


def parzen(lag: Array, lags: int) -> Array:
    """(1 − 6x² + 6x³ and 2(1 − x)³: the convolution of four boxes)."""
    x = np.abs(lag) / (lags + 1)
    return np.where(x >= 1, 0.0, np.where(x < 0.5, 1 - 6 * x**2 + 6 * x**3, 2 * (1 - x) ** 3))
