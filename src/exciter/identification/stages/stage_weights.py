"""An estimate in stages as one of weighted least squares: by what each of its equations was divided.

Unless stages take earlier ones as known, their estimate is that of all equations that any of them used, each with the
σ of its stage and joint. So divided, equations of all stages have errors alike: whatever is asked of residuals of least
squares (how they are correlated, what the model lacks) is asked of these. Means of poses are no course of time: they
are known beside, independent of each other, without what holds the joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.information.compressed import Compressed, compress
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.stages.stage import Cells, Key, Labels, nearest
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class StageWeights:
    """weight: that equations of a cell were multiplied with, by its key; labels: as ``Cells``. poses (m, p + 1): rows
    of W and y of means of poses over their σ, for the p parameters alone. balanced: as ``Problem``."""

    weight: Mapping[Key, float]
    labels: Labels
    poses: Array
    balanced: bool

    @classmethod
    def of(cls, cells: Cells, noise: Array, p: int, *, balanced: bool) -> StageWeights:
        """noise (c,): σ of an equation of every cell."""
        each = 1.0 / (noise * np.sqrt(cells.inflation))
        moving = {key: float(each[c]) for c, key in enumerate(cells.keys) if not cells.means[c]}
        posed = (cells.factors * each[:, None, None])[cells.means].reshape(-1, cells.factors.shape[2])
        holds = [k for k in range(p, cells.unknowns) if posed[:, k].any()]
        ordered = posed[:, [*holds, *range(p), cells.unknowns]]
        left = np.asarray(np.linalg.qr(ordered, mode="r"))[len(holds) :, len(holds) :]
        return cls(weight=moving, labels=cells.labels, poses=left, balanced=balanced)

    def at(self, run: int, rows: Rows) -> Array:
        """(J, N) of equations of a run; zero where no stage used them."""
        weights = np.zeros((len(rows.joints), len(rows)))
        if run not in self.labels:
            return weights
        time, labels = self.labels[run]
        chosen = labels[nearest(time, rows.time)]
        for j in range(len(weights)):
            for label in np.unique(chosen[:, j]).tolist():
                weights[j, chosen[:, j] == label] = self.weight.get((run, j, label), 0.0)
        return weights


@dataclass(frozen=True, eq=False)
class StagedEstimate(Estimate):
    """weights: of the equations it is least squares of; None where earlier stages were taken as known, or of a result
    that was saved."""

    weights: StageWeights | None = None

    def for_archive(self) -> StagedEstimate:
        return self if self.weights is None else replace(self, weights=None)


@dataclass(frozen=True, eq=False)
class StagedProblem(Problem):
    """The equations that stages used, multiplied with their weights."""

    weights: StageWeights | None = None

    @classmethod
    def of_stages(cls, problem: Problem, weights: StageWeights) -> StagedProblem:
        given = {field.name: getattr(problem, field.name) for field in fields(Problem)}
        return cls(**{**given, "balanced": weights.balanced}, weights=weights)

    def weighted(self, run: int, rows: Rows) -> Rows:
        rows = super().weighted(run, rows)
        if self.weights is None:
            return rows
        weight, there = self.weights.at(run, rows), rows.sides.any(axis=2).T
        sides = rows.sides.transpose(1, 2, 0) * weight[:, None]  # time is last in memory
        sides.flags.writeable = False
        counted = rows.counted * (there & (weight > 0.0)).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
        return replace(rows, sides=sides.transpose(2, 0, 1), present=counted / max(len(rows), 1), left=None)

    @cached_property
    def compressed(self) -> Compressed:
        labelled = ((index, np.zeros(len(rows), dtype=np.int64), rows) for index, rows in self.rows())
        return compress(labelled, self.names, self.joints, len(self.runs), 1)
