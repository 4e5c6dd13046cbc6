"""Equations compressed by who uses them: one triangular factor per run, joint, and set of stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from exciter.experiment.signals.rows import Rows
from exciter.identification.problem import Problem
from exciter.identification.stages.instants import Instants, rows_with_motion
from exciter.identification.stages.selection import Everything, Unused
from exciter.identification.stages.stage import Stage
from exciter.robot.motion import Motion

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
STEP = 0.01  # [rad or m] a joint moved from one instant to the next: another pose, without the way there


@dataclass(frozen=True, eq=False)
class Cells:
    """c cells: factors (c, p + 1, p + 1) as in ``Compressed``, joint (c,), used (c, stages): by which, rows and
    independent (c,). The errors of different cells are independent of each other. reach [s]: how far around its
    instant an equation looks."""

    factors: Array
    joint: IntArray
    used: BoolArray
    rows: IntArray
    independent: Array
    reach: float = 0.0

    @property
    def inflation(self) -> Array:
        """(c,) by how much variances are larger than formulas for independent rows say."""
        return np.asarray(self.rows / self.independent)


def cells_of(problem: Problem, stages: Sequence[Stage]) -> Cells:
    """All equations that a stage uses, in one pass over the rows; in none where stages differ in joints only."""
    plain = all(isinstance(stage.selection, Everything) and stage.runs is None and not stage.mean for stage in stages)
    return _of_compressed(problem, stages) if plain else _of_rows(problem, stages)


def _of_compressed(problem: Problem, stages: Sequence[Stage]) -> Cells:
    compressed = problem.compressed
    collected = _Collected(len(problem.names))
    for j in range(len(compressed.joints)):
        label = sum(1 << k for k, stage in enumerate(stages) if stage.joints is None or j in stage.joints)
        for g, run in enumerate(compressed.run):
            key = int(run), j, label
            collected.add(key, compressed.factors[g, j], int(compressed.rows[g, j]), compressed.independent[g, j])
    return collected.cells(len(stages))


def _of_rows(problem: Problem, stages: Sequence[Stage]) -> Cells:
    collected = _Collected(len(problem.names))
    averaged = sum(1 << k for k, stage in enumerate(stages) if stage.mean)
    stretches: dict[tuple[int, int, int], _Stretch] = {}
    reach = 0.0
    for index, rows, there in rows_with_motion(problem):
        rows[:0].equations()  # refuses what must not be used
        reach = max(reach, there.reach)
        labels = _labels(stages, problem.runs[index].name, there)
        share = rows.independent / max(len(rows), 1)
        for j in range(len(rows.joints)):
            for label in np.unique(labels[:, j]):
                key = index, j, int(label)
                chosen = labels[:, j] == label
                if label & averaged:
                    for mean in stretches.setdefault(key, _Stretch()).through(rows, there.motion, j, chosen):
                        collected.add(key, mean[None], 1, 1.0)
                elif label:
                    count = int(chosen.sum())
                    collected.add(key, rows.sides[chosen, j], count, share * count)
    for key, stretch in stretches.items():
        for mean in stretch.end():
            collected.add(key, mean[None], 1, 1.0)
    return replace(collected.cells(len(stages)), reach=reach)


def _labels(stages: Sequence[Stage], run: str, there: Instants) -> IntArray:
    """(N, n) one bit per stage that uses the equation. Where columns are left out, they must be zero at all samples
    that the equation looks at; where all are kept, a filtered equation is as true as any."""
    labels = np.zeros(there.motion.q.shape, dtype=np.int64)
    for k, stage in enumerate(stages):
        if stage.runs is not None and run not in stage.runs:
            continue
        chosen = there.chosen_throughout(stage.selection) if stage.alone else there.chosen(stage.selection)
        if isinstance(stage.selection, Unused):
            chosen = labels == 0
        if stage.joints is not None:
            chosen = chosen & np.isin(np.arange(there.motion.n), stage.joints)
        labels |= np.where(chosen, 1 << k, 0)
    return labels


@dataclass(eq=False)
class _Collected:
    p: int
    found: dict[tuple[int, int, int], tuple[Array, int, float]] = field(default_factory=dict)

    def add(self, key: tuple[int, int, int], sides: Array, rows: int, independent: float) -> None:
        factor, had, worth = self.found.get(key, (np.zeros((0, self.p + 1)), 0, 0.0))
        upper: Array = np.asarray(np.linalg.qr(np.vstack([factor, sides]), mode="r"))
        self.found[key] = upper, had + rows, worth + float(independent)

    def cells(self, stages: int) -> Cells:
        used = {key: cell for key, cell in self.found.items() if key[2] and cell[1]}
        factors = np.zeros((len(used), self.p + 1, self.p + 1))
        for factor, (upper, _, _) in zip(factors, used.values(), strict=True):
            factor[: len(upper)] = upper
        labels = np.array([key[2] for key in used], dtype=np.int64)
        return Cells(
            factors,
            np.array([key[1] for key in used], dtype=np.int64),
            (labels[:, None] >> np.arange(stages)) & 1 == 1,
            np.array([cell[1] for cell in used.values()], dtype=np.int64),
            np.array([cell[2] for cell in used.values()]),
        )


@dataclass(eq=False)
class _Stretch:
    """Sum of the equations of a pose that is going on; where and when its last instant was."""

    total: Array | None = None
    count: int = 0
    time: float = -np.inf
    q: Array | None = None

    def through(self, rows: Rows, motion: Motion, joint: int, chosen: BoolArray) -> Iterator[Array]:
        """The means of poses that ended."""
        at = np.flatnonzero(chosen)
        if self.q is None:
            self.q = motion.q[at[0]]
        time, q = np.append(self.time, rows.time[at]), np.vstack([self.q, motion.q[at]])
        new = (np.diff(time) > 1.5 / rows.rate) | (np.abs(np.diff(q, axis=0)).max(axis=1) > STEP)
        starts = np.unique(np.append(0, np.flatnonzero(new)))
        sums = np.add.reduceat(rows.sides[at, joint], starts, axis=0)
        counts = np.diff(np.append(starts, len(at)))
        for start, total, count in zip(starts, sums, counts, strict=True):
            if new[start]:
                yield from self.end()
            self.total = total if self.total is None else self.total + total
            self.count += int(count)
        self.time, self.q = float(rows.time[at[-1]]), motion.q[at[-1]]

    def end(self) -> Iterator[Array]:
        if self.total is not None:
            yield self.total / self.count
        self.total, self.count = None, 0
