"""Equations compressed by who uses them: one triangular factor per run, joint, and set of stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.information.problem import Problem
from exciter.identification.stages.stage import Everything, Instants, Stage, Unused, rows_with_motion
from exciter.robot.motion import Motion
from exciter.typing import Array

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
NEW_POSE_DISTANCE = 0.01  # [rad or m] a joint moved from one instant to the next: another pose, without the way there
FEWEST_POSE_EQUATIONS = 2.0  # independent equations of a pose, below which their spread tells nothing


@dataclass(frozen=True, eq=False)
class Cells:
    """c cells: factors (c, p + 1, p + 1) as in ``Compressed``, joint (c,), used (c, stages): by which, rows and
    independent (c,). The errors of different cells are independent of each other. reach [s]: how far around its
    instant an equation looks. scatter (c,): variance of equations that are means, as the spread of what they are the
    means of tells it, 0 where it tells nothing; NaN where equations are no means."""

    factors: Array
    joint: IntArray
    used: BoolArray
    rows: IntArray
    independent: Array
    scatter: Array
    reach: float = 0.0

    @property
    def inflation(self) -> Array:
        """(c,) by how much variances are larger than formulas for independent rows say."""
        return np.asarray(self.rows / self.independent)


def cells_of(problem: Problem, stages: Sequence[Stage]) -> Cells:
    """All equations that a stage uses, in one pass over the rows; in none where stages differ in joints only."""
    plain = all(type(stage.selection) is Everything and stage.runs is None and not stage.mean for stage in stages)
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
    stretches: dict[tuple[int, int, int], _PoseMean] = {}
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
                    for pose in stretches.setdefault(key, _PoseMean()).through(rows, there.motion, j, chosen):
                        collected.add(key, pose.mean[None], 1, 1.0, pose.variance)
                elif label:
                    count = int(chosen.sum())
                    collected.add(key, rows.sides[chosen, j], count, share * count)
    for key, stretch in stretches.items():
        for pose in stretch.end():
            collected.add(key, pose.mean[None], 1, 1.0, pose.variance)
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


@dataclass(frozen=True, eq=False)
class _Cell:
    factor: Array
    rows: int = 0
    independent: float = 0.0
    scatter: float = 0.0  # Σ over the rows


@dataclass(eq=False)
class _Collected:
    p: int
    found: dict[tuple[int, int, int], _Cell] = field(default_factory=dict)

    def add(
        self, key: tuple[int, int, int], sides: Array, rows: int, independent: float, scatter: float = np.nan
    ) -> None:
        had = self.found.get(key, _Cell(np.zeros((0, self.p + 1))))
        upper: Array = np.asarray(np.linalg.qr(np.vstack([had.factor, sides]), mode="r"))
        self.found[key] = _Cell(
            factor=upper,
            rows=had.rows + rows,
            independent=had.independent + float(independent),
            scatter=had.scatter + rows * scatter,
        )

    def cells(self, stages: int) -> Cells:
        used = {key: cell for key, cell in self.found.items() if key[2] and cell.rows}
        factors = np.zeros((len(used), self.p + 1, self.p + 1))
        for factor, cell in zip(factors, used.values(), strict=True):
            factor[: len(cell.factor)] = cell.factor
        labels = np.array([key[2] for key in used], dtype=np.int64)
        return Cells(
            factors=factors,
            joint=np.array([key[1] for key in used], dtype=np.int64),
            used=(labels[:, None] >> np.arange(stages)) & 1 == 1,
            rows=np.array([cell.rows for cell in used.values()], dtype=np.int64),
            independent=np.array([cell.independent for cell in used.values()]),
            scatter=np.array([cell.scatter / cell.rows for cell in used.values()]),
        )


@dataclass(frozen=True, eq=False)
class _Pose:
    """mean of its equations, [W y]; variance of the y in it, as their spread within the pose tells it."""

    mean: Array
    variance: float


@dataclass(eq=False)
class _PoseMean:
    """Sum of the equations of a pose that is going on, and Σ (y − first)²; how many, and how many are independent;
    where and when its last instant was."""

    total: Array | None = None
    first: float = 0.0
    squares: float = 0.0
    count: int = 0
    independent: float = 0.0
    time: float = -np.inf
    q: Array | None = None

    def through(self, rows: Rows, motion: Motion, joint: int, chosen: BoolArray) -> Iterator[_Pose]:
        """The poses that ended."""
        at = np.flatnonzero(chosen)
        if self.q is None:
            self.q = motion.q[at[0]]
        time, q = np.append(self.time, rows.time[at]), np.vstack([self.q, motion.q[at]])
        new = (np.diff(time) > 1.5 / rows.rate) | (np.abs(np.diff(q, axis=0)).max(axis=1) > NEW_POSE_DISTANCE)
        starts = np.unique(np.append(0, np.flatnonzero(new)))
        for start, sides in zip(starts, np.split(rows.sides[at, joint], starts[1:]), strict=True):
            if new[start]:
                yield from self.end()
            self._add(sides, rows.independent / len(rows))
        self.time, self.q = float(rows.time[at[-1]]), motion.q[at[-1]]

    def _add(self, sides: Array, share: float) -> None:
        if self.total is None:
            self.total, self.first = np.zeros(sides.shape[1]), float(sides[0, -1])
        self.total = self.total + sides.sum(axis=0)
        self.squares += float(((sides[:, -1] - self.first) ** 2).sum())
        self.count += len(sides)
        self.independent += share * len(sides)

    def end(self) -> Iterator[_Pose]:
        if self.total is not None:
            mean = self.total / self.count
            spread = max(self.squares / self.count - float(mean[-1] - self.first) ** 2, 0.0)
            # of m independent errors of variance v, the spread is v (1 − 1/m) and the mean's variance v / m
            yield _Pose(mean, spread / (self.independent - 1.0) if self.independent >= FEWEST_POSE_EQUATIONS else 0.0)
        self.total, self.squares, self.count, self.independent = None, 0.0, 0, 0.0
