"""A stage: some parameters from some of the equations.

Small rules name both: columns of a problem, and equations by what the motion does at their instants, or by when a plan
says. Filters drop instants, so equations and motion are matched by time, piece by piece. Equations are compressed by
who uses them: one triangular factor per run, joint, and set of stages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import ClassVar

import numpy as np

from exciter.dynamics.parameter_kinds import columns_at_rest, friction_columns
from exciter.errors import ExciterError, ParameterError, RecordingError
from exciter.experiment.signals.equation_rows import Rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.information.compressed import FEWEST_FREE_ROWS
from exciter.identification.information.problem import Problem
from exciter.identification.stages.planned import Span
from exciter.identification.stages.poses import pose_rows
from exciter.robot.motion import Motion
from exciter.settings import NonNegative, Settings
from exciter.typing import Array, BoolArray, Index

#: a rule that chooses (p,) of ``problem.names``; what earlier stages determined, and what the equations do not, is left
#: out by itself
Parameters = Callable[[Problem], BoolArray]
LARGEST_MISS_INTERVALS = 0.51  # of a sampling interval, by which equations may miss a sample
Key = tuple[int, int, int]  #: number of a run, joint, and label: which stages use an equation, one bit each
Labels = dict[int, tuple[Array, Index]]  #: see ``Cells``


def others(problem: Problem) -> BoolArray:
    """All that are left."""
    return np.ones(len(problem.names), dtype=bool)


def friction_of(*joints: int) -> Parameters:
    """Of joint terms that store no energy, of some joints (numbers from 0), all unless given."""
    return lambda problem: np.asarray(friction_columns(problem.model, joints)[problem.base.independent])


def acting_at_rest(problem: Problem) -> BoolArray:
    """Gravity (first moments), and springs and offsets: all that a torque at rest depends on, friction aside."""
    return np.asarray(columns_at_rest(problem.model)[problem.base.independent])


class Selection(Settings, ABC):
    """A rule, without data."""

    refusal: ClassVar[type[ExciterError]] = ParameterError

    @abstractmethod
    def chosen(self, motion: Motion) -> BoolArray:
        """(N, n): instants at which the equation of each joint is used."""


@dataclass(frozen=True)
class Everything(Selection):
    def chosen(self, motion: Motion) -> BoolArray:
        return np.ones(motion.q.shape, dtype=bool)


@dataclass(frozen=True)
class Unused(Everything):
    """All that no earlier stage uses."""


@dataclass(frozen=True)
class AtRest(Selection):
    """All joints slower than ``speed`` [rad/s or m/s] and accelerated by less than ``acceleration`` [rad/s², m/s²]."""

    speed: NonNegative = 1e-3
    acceleration: NonNegative = 0.05

    def chosen(self, motion: Motion) -> BoolArray:
        still = (np.abs(motion.qd) <= self.speed) & (np.abs(motion.qdd) <= self.acceleration)
        return np.broadcast_to(still.all(axis=1, keepdims=True), motion.q.shape)


@dataclass(frozen=True)
class SteadyMotion(Selection):
    """The joint is faster than ``slowest`` [rad/s, m/s], accelerated by less than ``acceleration`` [rad/s², m/s²]."""

    slowest: NonNegative = 0.05
    acceleration: NonNegative = 0.05

    def chosen(self, motion: Motion) -> BoolArray:
        return (np.abs(motion.qd) >= self.slowest) & (np.abs(motion.qdd) <= self.acceleration)


@dataclass(frozen=True)
class Stage:
    """name: for people. parameters: which it determines. joints: whose equations it uses, numbers from 0, all unless
    given. selection, runs: at which instants, and of which runs by name, all unless given. spans: stretches of time
    [s] by run, where a plan says them; of runs that it does not name, nothing.

    poses: the robot stands still at what is chosen. Every pose gives one equation per joint, the mean of its samples,
    and parameters that are neither determined here nor known have no part in it (at rest inertias have none): their
    columns are left out. Else they are estimated along and forgotten. See ``poses``."""

    name: str
    parameters: Parameters = others
    joints: tuple[int, ...] | None = None
    selection: Selection = field(default_factory=Everything)
    runs: tuple[str, ...] | None = None
    spans: Mapping[str, tuple[Span, ...]] | None = None
    poses: bool = False

    def chosen(self, run: str, motion: Motion) -> BoolArray:
        """(N, n) instants of a run, whatever the joint of an equation."""
        if (self.runs is not None and run not in self.runs) or (self.spans is not None and run not in self.spans):
            return np.zeros(motion.q.shape, dtype=bool)
        found = self.selection.chosen(motion)
        if self.spans is None:
            return found
        inside = np.zeros(len(motion), dtype=bool)
        for start, end in self.spans[run]:
            inside |= (motion.time >= start) & (motion.time <= end)
        return found & inside[:, None]


def rows_with_motion(problem: Problem) -> Iterator[tuple[int, Rows, Motion]]:
    """(number of the run, equations, motion at their instants), as ``Problem.rows``; runs are read twice at once, and
    only pieces of a motion that equations may still ask for are kept."""
    there = ((index, rows) for index, rows in problem.rows() if len(rows))
    for index, group in groupby(there, key=itemgetter(0)):
        parts, held = problem.runs[index].parts, deque[Motion]()
        rate = next(piece for piece in parts if len(piece)).rate
        coming = iter(parts)
        for _, rows in group:
            time, margin = rows.time, 1.0 / rate
            around = _within(coming, held, time[0] - margin, time[-1] + margin)
            if around is None:
                raise RecordingError(f"there is no motion at {time[0]:.6g} s, where there are equations")
            near = nearest(around.time, time)
            miss = np.abs(around.time[near] - time).max(initial=0.0)
            if miss > LARGEST_MISS_INTERVALS / rate:
                raise RecordingError(f"equations are {miss:.3g} s from the nearest sample of the motion")
            yield index, rows, Motion(time, around.q[near], around.qd[near], around.qdd[near])


def _within(coming: Iterator[Processed], held: deque[Motion], first: float, last: float) -> Motion | None:
    """Samples from one instant [s] to another, without a copy of the others; instants increase from call to call."""
    while not held or held[-1].time[-1] < last:
        if (piece := next(coming, None)) is None:
            break
        if len(piece):
            held.append(piece.motion)
    while held and held[0].time[-1] < first:
        held.popleft()
    parts = [(motion, slice(*np.searchsorted(motion.time, (first, last)))) for motion in held]
    if not any(part.start < part.stop for _, part in parts):
        return None
    return Motion(*(np.concatenate([getattr(m, s)[part] for m, part in parts]) for s in ("time", "q", "qd", "qdd")))


def nearest(known: Array, time: Array) -> Index:
    """(N,) index of the instant of ``known``, which increases, that is nearest to each of ``time`` (N,)."""
    after = np.clip(np.searchsorted(known, time), 0, len(known) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(time - known[before] <= known[after] - time, before, after)


@dataclass(frozen=True, eq=False)
class Cells:
    """c cells: factors (c, m + 1, m + 1) as in ``Compressed``, joint (c,), used (c, stages): by which, rows and
    independent (c,). m: the p parameters, then where there are poses what holds each joint (``PoseRows``). The errors
    of different cells are independent of each other. scatter (c,): variance of equations that are means, as the
    spread of what they are the means of tells it, 0 where it tells nothing; NaN where equations are no means. keys: of
    the cells. labels: of every run, instants (N,) [s] of its equations in motion, and (N, n) which stages use them."""

    factors: Array
    joint: Index
    used: BoolArray
    rows: Index
    independent: Array
    scatter: Array
    keys: tuple[Key, ...]
    labels: Labels

    @property
    def inflation(self) -> Array:
        """(c,) by how much variances are larger than formulas for independent rows say."""
        return np.asarray(self.rows / self.independent)

    @property
    def means(self) -> BoolArray:
        """(c,) whether equations are means of poses."""
        return ~np.isnan(self.scatter)

    @property
    def unknowns(self) -> int:
        """m"""
        return int(self.factors.shape[2]) - 1

    def sources(self, stage: Index | int) -> Index:
        """(c,) numbers: cells of one source have one variance, that of a stage (c,) and joint. Beside poses, where runs
        are not brought to equal terms, a run in motion has its own if its equations are enough to tell."""
        run, joints = np.array([key[0] for key in self.keys]), self.joint.max() + 1
        own = ~self.means & self.means.any() & (self.independent > FEWEST_FREE_ROWS + self.unknowns)
        return np.asarray((stage * joints + self.joint) * (run.max() + 2) + np.where(own, run + 1, 0))

    @classmethod
    def of(cls, problem: Problem, stages: Sequence[Stage]) -> Cells:
        """All equations that a stage uses, in one pass over the rows; in none where stages differ in joints only."""
        holding = problem.model.n if any(stage.poses for stage in stages) else 0
        size, factors, sums = len(problem.names) + holding + 1, dict[Key, Array](), dict[Key, Array]()
        instants: Labels = {}

        def add(key: Key, sides: Array, rows: float, independent: float, scatter: float = np.nan) -> None:
            if sides.shape[1] < size:  # without what holds joints: they move
                sides = np.insert(sides, [sides.shape[1] - 1] * holding, 0.0, axis=1)
            had = factors.get(key, np.zeros((0, size)))
            factors[key] = np.asarray(np.linalg.qr(np.vstack([had, sides]), mode="r"))
            sums[key] = sums.get(key, 0.0) + np.array([rows, independent, rows * scatter])

        plain = all(stage == Stage(stage.name, stage.parameters, stage.joints) for stage in stages)
        (_add_compressed if plain else _add_rows)(problem, stages, add, instants)
        used = [key for key, total in sums.items() if key[2] and total[0]]
        square = np.zeros((len(used), size, size))
        for factor, key in zip(square, used, strict=True):
            factor[: len(factors[key])] = factors[key]
        _, joint, labels = np.array(used, dtype=np.int64).reshape(-1, 3).T
        rows, independent, scatter = np.reshape([sums[key] for key in used], (-1, 3)).T
        return cls(
            factors=square,
            joint=joint,
            used=(labels[:, None] >> np.arange(len(stages))) & 1 == 1,
            rows=np.maximum(np.round(rows), 1.0).astype(np.int64),
            independent=independent,
            scatter=scatter / rows,
            keys=tuple(used),
            labels=instants,
        )


def _add_compressed(problem: Problem, stages: Sequence[Stage], add: Callable[..., None], labels: Labels) -> None:
    compressed, always = problem.compressed, np.zeros((1, len(problem.joints)), dtype=np.int64)
    for j in range(len(compressed.joints)):
        label = sum(1 << k for k, stage in enumerate(stages) if stage.joints is None or j in stage.joints)
        always[0, j] = label
        for g, run in enumerate(compressed.run.tolist()):
            add((run, j, label), compressed.factors[g, j], int(compressed.rows[g, j]), compressed.independent[g, j])
    labels.update({index: (np.zeros(1), always) for index in range(len(problem.runs))})


def _add_rows(problem: Problem, stages: Sequence[Stage], add: Callable[..., None], found: Labels) -> None:
    held = dict[int, list[tuple[Array, Index]]]()
    for k, stage in enumerate(stages):
        if stage.poses:
            for index, poses in pose_rows(problem, stage.chosen):
                for j in range(problem.model.n) if stage.joints is None else stage.joints:
                    usable = poses.usable[:, j]
                    count, scatter = int(usable.sum()), float(poses.scatter[usable, j].mean())
                    add((index, j, 1 << k), poses.sides[usable, j], count, float(count), scatter)
    for index, rows, motion in rows_with_motion(problem):
        rows[:0].equations()  # refuses what must not be used
        labels = _labels(stages, problem.runs[index].name, motion)
        # what the dead zone leaves out is zero on both sides, and no equation; through a filter it is a share of them
        there, present = np.ones(labels.shape, dtype=bool), np.ones(len(rows.joints))
        if rows.present is not None:
            there = np.asarray(rows.sides.any(axis=2))
            present = rows.counted / np.maximum(there.sum(axis=0), 1)
        held.setdefault(index, []).append((rows.time, np.where(there, labels, 0)))
        share = rows.independent / max(len(rows), 1)
        for j in range(len(rows.joints)):
            for label in np.unique(labels[there[:, j], j]).tolist():
                chosen = (labels[:, j] == label) & there[:, j]
                if label:
                    count = min(present[j], 1.0) * int(chosen.sum())
                    add((index, j, label), rows.sides[chosen, j], count, share * count)
    for index, parts in held.items():
        found[index] = np.concatenate([time for time, _ in parts]), np.concatenate([labels for _, labels in parts])


def _labels(stages: Sequence[Stage], run: str, motion: Motion) -> Index:
    """(N, n) one bit per stage that uses the equation in motion. Poses have equations of their own, and at their
    instants there are no others."""
    labels, resting = np.zeros(motion.q.shape, dtype=np.int64), np.zeros(motion.q.shape, dtype=bool)
    for k, stage in enumerate(stages):
        chosen = stage.chosen(run, motion)
        if stage.poses:
            resting |= chosen
            continue
        chosen = chosen & ~resting
        if isinstance(stage.selection, Unused):
            chosen &= labels == 0
        if stage.joints is not None:
            chosen = chosen & np.isin(np.arange(motion.n), stage.joints)
        labels |= np.where(chosen, 1 << k, 0)
    return labels
