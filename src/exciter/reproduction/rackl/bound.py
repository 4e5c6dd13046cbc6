"""A lower bound of a condition number that needs no eigenvalues: cond(W) ≥ longest / shortest column.

‖W e_k‖ lies between the smallest and the largest singular value for every unit vector e_k. So a motion whose weighted
columns differ by a factor cannot have a smaller weighted condition number, whatever else it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.excitation.criteria import evaluate
from exciter.excitation.design import Design
from exciter.excitation.trajectories.trajectory import motion
from exciter.reproduction.rackl.set_up import columns, names_16
from exciter.robot.motion import Motion
from exciter.typing import Array


@dataclass(frozen=True)
class ColumnRatio:
    """log of √(‖d‖_p ‖1/d‖_p), d the squared lengths of the columns of W diag Z: the log of the bound as p → ∞, never
    below it, and smooth. values Z (b,)."""

    values: tuple[float, ...]
    power: float = 32.0

    name: ClassVar[str] = "column-ratio"

    def __call__(self, h: Array) -> tuple[float, Array]:
        squared = np.square(self.values)
        d = h.diagonal() * squared
        if not d.min() > 0.0:
            return np.inf, np.zeros_like(h)
        large, small = (d / d.max()) ** self.power, (d.min() / d) ** self.power
        spread = np.log(large.sum() * small.sum()) / self.power
        slope = large / large.sum() - small / small.sum()
        return float(0.5 * (np.log(d.max() / d.min()) + spread)), np.diag(0.5 * slope / d * squared)


@dataclass(frozen=True)
class Weighted:
    """Of W diag Z of a motion: its condition number, the bound, and the names of longest and shortest column."""

    condition: float
    bound: float
    longest: str
    shortest: str


def weighted(found: Design, weights: tuple[float, ...], slower: float = 1.0) -> Weighted:
    """For the sixteen columns of Table I, by SVD. slower: how many times as long the same way-points take."""
    names = names_16()
    chosen = np.diag(weights)
    matrix = np.zeros((len(found.model.standard), len(names)))
    matrix[columns(found.model, names)] = chosen
    log = motion(found.trajectory, found.delta, found.trajectory.sample_times(found.samples))
    log = Motion(slower * log.time, log.q, log.qd / slower, log.qdd / slower**2)
    figures = evaluate(found.model, log, 1.0, matrix)
    w = found.model.regressor(log) @ matrix
    lengths = np.linalg.norm(w.reshape(-1, len(names)), axis=0)
    long, short = int(lengths.argmax()), int(lengths.argmin())
    return Weighted(figures.condition_number, float(lengths[long] / lengths[short]), names[long], names[short])
