"""A stage: some parameters from some of the equations.

Small rules name both: columns of a problem, and equations by what the motion does at and around their instants. Filters
drop instants, so equations and motion are matched by time, piece by piece. Equations are compressed by who uses them:
one triangular factor per run, joint, and set of stages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import ClassVar

import numpy as np

from exciter.dynamics.parameter_kinds import columns_at_rest, friction_columns
from exciter.errors import ExciterError, ParameterError, RecordingError
from exciter.experiment.signals.equation_rows import Rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.dynamic import FilteredDynamic, InverseDynamic
from exciter.identification.formulations.formulation import DIFFERENCE_REACH, Formulation
from exciter.identification.information.problem import Problem
from exciter.robot.motion import Motion
from exciter.settings import NonNegative, Settings
from exciter.typing import Array, BoolArray, Index

#: a rule that chooses (p,) of ``problem.names``; what earlier stages determined, and what the equations do not, is left
#: out by itself
Parameters = Callable[[Problem], BoolArray]
FORGOTTEN_FILTER_SHARE = 1e-5  # share of what lies further away that may still come in
LONGEST_FILTER_BANDWIDTHS = 45.0  # over the noise bandwidth: the filter of ``decimate``, which remembers longest
LARGEST_MISS_INTERVALS = 0.51  # of a sampling interval, by which equations may miss a sample
SEGMENT_GAP_INTERVALS = 1.5  # of sampling: what follows within is of the same segment; beyond, a filter starts anew
NEW_POSE_DISTANCE = 0.01  # [rad or m] a joint moved from one instant to the next: another pose, without the way there
Key = tuple[int, int, int]  # number of a run, joint, and label: which stages use an equation, one bit each
FEWEST_POSE_EQUATIONS = 2.0  # independent equations of a pose, below which their spread tells nothing
Pose = tuple[Array, int, float, float]  # the mean (1, p + 1) of its equations, one, and the variance of the y in it


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
    given. selection, runs: at which instants, and of which runs by name, all unless given.

    alone: parameters that are neither determined here nor known have no part in these equations (at rest inertias
    have none), so that their columns are left out; else they are estimated along and forgotten. Filtered equations are
    then chosen only where the selection holds as far as the filter looks.
    mean: consecutive equations of a stretch without motion become one, their mean: what they share (friction that
    holds the joint) is one error, not hundreds."""

    name: str
    parameters: Parameters = others
    joints: tuple[int, ...] | None = None
    selection: Selection = field(default_factory=Everything)
    runs: tuple[str, ...] | None = None
    alone: bool = False
    mean: bool = False


def reach(formulation: Formulation, piece: Processed, bandwidth: float) -> float:
    """[s] to both sides. piece: the first of a run. bandwidth [Hz]: of its rows, where no more is known of them."""
    if not isinstance(formulation, InverseDynamic | FilteredDynamic):
        return LONGEST_FILTER_BANDWIDTHS / bandwidth
    if (both := formulation.parallel_filter) is None:
        return 0.0
    low_pass, _ = both.at(piece.rate, piece.torque_bandwidth)
    samples = low_pass.settle(piece.rate, FORGOTTEN_FILTER_SHARE)
    return (samples + DIFFERENCE_REACH * isinstance(formulation, FilteredDynamic)) / piece.rate


@dataclass(frozen=True, eq=False)
class Instants:
    """motion: at the instants of N equations. around: all samples within ``reach`` [s] of them, at ``rate`` [Hz]."""

    motion: Motion
    around: Motion
    reach: float
    rate: float

    def chosen(self, selection: Selection, *, throughout: bool) -> BoolArray:
        """(N, n) by the motion at the instant itself; throughout: and at all samples that the equation looks at."""
        if not (throughout and self.reach):
            return selection.chosen(self.motion)
        time, at = self.around.time, self.motion.time
        outside = np.zeros((len(time) + 1, self.motion.n), dtype=np.int64)
        np.cumsum(~selection.chosen(self.around), axis=0, out=outside[1:])
        gaps = np.flatnonzero(np.diff(time) > SEGMENT_GAP_INTERVALS / self.rate) + 1
        edges = np.concatenate([[0], gaps, [len(time)]])
        segment = np.searchsorted(edges, nearest(time, at), side="right")
        low = np.maximum(np.searchsorted(time, at - self.reach), edges[segment - 1])
        high = np.minimum(np.searchsorted(time, at + self.reach, side="right"), edges[segment])
        return np.asarray(outside[high] == outside[low])


def rows_with_motion(problem: Problem) -> Iterator[tuple[int, Rows, Instants]]:
    """(number of the run, equations, motion at their instants), as ``Problem.rows``; runs are read twice at once, and
    only pieces of a motion that equations may still ask for are kept."""
    there = ((index, rows) for index, rows in problem.rows() if len(rows))
    for index, group in groupby(there, key=itemgetter(0)):
        parts, held, far = problem.runs[index].parts, deque[Motion](), None
        first = next(piece for piece in parts if len(piece))
        coming, rate = iter(parts), first.rate
        for _, rows in group:
            far = reach(problem.formulation, first, rows.bandwidth) if far is None else far
            time, margin = rows.time, far + 1.0 / rate
            around = _within(coming, held, time[0] - margin, time[-1] + margin)
            if around is None:
                raise RecordingError(f"there is no motion at {time[0]:.6g} s, where there are equations")
            near = nearest(around.time, time)
            miss = np.abs(around.time[near] - time).max(initial=0.0)
            if miss > LARGEST_MISS_INTERVALS / rate:
                raise RecordingError(f"equations are {miss:.3g} s from the nearest sample of the motion")
            motion = Motion(time, around.q[near], around.qd[near], around.qdd[near])
            yield index, rows, Instants(motion=motion, around=around, reach=far, rate=rate)


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
    """c cells: factors (c, p + 1, p + 1) as in ``Compressed``, joint (c,), used (c, stages): by which, rows and
    independent (c,). The errors of different cells are independent of each other. reach [s]: how far around its
    instant an equation looks. scatter (c,): variance of equations that are means, as the spread of what they are the
    means of tells it, 0 where it tells nothing; NaN where equations are no means."""

    factors: Array
    joint: Index
    used: BoolArray
    rows: Index
    independent: Array
    scatter: Array
    reach: float = 0.0

    @property
    def inflation(self) -> Array:
        """(c,) by how much variances are larger than formulas for independent rows say."""
        return np.asarray(self.rows / self.independent)

    @classmethod
    def of(cls, problem: Problem, stages: Sequence[Stage]) -> Cells:
        """All equations that a stage uses, in one pass over the rows; in none where stages differ in joints only."""
        p, factors, sums = len(problem.names), dict[Key, Array](), dict[Key, Array]()

        def add(key: Key, sides: Array, rows: int, independent: float, scatter: float = np.nan) -> None:
            had = factors.get(key, np.zeros((0, p + 1)))
            factors[key] = np.asarray(np.linalg.qr(np.vstack([had, sides]), mode="r"))
            sums[key] = sums.get(key, 0.0) + np.array([rows, independent, rows * scatter])

        plain = all(type(stage.selection) is Everything and stage.runs is None and not stage.mean for stage in stages)
        reach = (_add_compressed if plain else _add_rows)(problem, stages, add)
        used = [key for key, total in sums.items() if key[2] and total[0]]
        square = np.zeros((len(used), p + 1, p + 1))
        for factor, key in zip(square, used, strict=True):
            factor[: len(factors[key])] = factors[key]
        _, joint, labels = np.array(used, dtype=np.int64).reshape(-1, 3).T
        rows, independent, scatter = np.reshape([sums[key] for key in used], (-1, 3)).T
        return cls(
            factors=square,
            joint=joint,
            used=(labels[:, None] >> np.arange(len(stages))) & 1 == 1,
            rows=rows.astype(np.int64),
            independent=independent,
            scatter=scatter / rows,
            reach=reach,
        )


def _add_compressed(problem: Problem, stages: Sequence[Stage], add: Callable[..., None]) -> float:
    compressed = problem.compressed
    for j in range(len(compressed.joints)):
        label = sum(1 << k for k, stage in enumerate(stages) if stage.joints is None or j in stage.joints)
        for g, run in enumerate(compressed.run.tolist()):
            add((run, j, label), compressed.factors[g, j], int(compressed.rows[g, j]), compressed.independent[g, j])
    return 0.0


def _add_rows(problem: Problem, stages: Sequence[Stage], add: Callable[..., None]) -> float:
    """How far around its instant an equation looks [s]."""
    reach, stretches = 0.0, dict[Key, _PoseMean]()
    averaged = sum(1 << k for k, stage in enumerate(stages) if stage.mean)
    for index, rows, there in rows_with_motion(problem):
        rows[:0].equations()  # refuses what must not be used
        reach = max(reach, there.reach)
        labels = _labels(stages, problem.runs[index].name, there)
        share = rows.independent / max(len(rows), 1)
        for j in range(len(rows.joints)):
            for label in np.unique(labels[:, j]).tolist():
                key, chosen = (index, j, label), labels[:, j] == label
                if label & averaged:
                    for pose in stretches.setdefault(key, _PoseMean()).through(rows, there.motion, j, chosen):
                        add(key, *pose)
                elif label:
                    count = int(chosen.sum())
                    add(key, rows.sides[chosen, j], count, share * count)
    for key, stretch in stretches.items():
        for pose in stretch.end():
            add(key, *pose)
    return reach


def _labels(stages: Sequence[Stage], run: str, there: Instants) -> Index:
    """(N, n) one bit per stage that uses the equation. Where columns are left out, they must be zero at all samples
    that the equation looks at; where all are kept, a filtered equation is as true as any."""
    labels = np.zeros(there.motion.q.shape, dtype=np.int64)
    for k, stage in enumerate(stages):
        if stage.runs is not None and run not in stage.runs:
            continue
        chosen = there.chosen(stage.selection, throughout=stage.alone)
        if isinstance(stage.selection, Unused):
            chosen = labels == 0
        if stage.joints is not None:
            chosen = chosen & np.isin(np.arange(there.motion.n), stage.joints)
        labels |= np.where(chosen, 1 << k, 0)
    return labels


@dataclass(eq=False)
class _PoseMean:
    """Sum of a pose's equations so far, Σ (y − first)², how many, how many independent; when and where it last was."""

    total: Array | None = None
    first: float = 0.0
    squares: float = 0.0
    count: int = 0
    independent: float = 0.0
    time: float = -np.inf
    q: Array | None = None

    def through(self, rows: Rows, motion: Motion, joint: int, chosen: BoolArray) -> Iterator[Pose]:
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
            if self.total is None:
                self.total, self.first = np.zeros(sides.shape[1]), float(sides[0, -1])
            self.total = self.total + sides.sum(axis=0)
            self.squares += float(((sides[:, -1] - self.first) ** 2).sum())
            self.count += len(sides)
            self.independent += rows.independent / len(rows) * len(sides)
        self.time, self.q = float(rows.time[at[-1]]), motion.q[at[-1]]

    def end(self) -> Iterator[Pose]:
        if self.total is not None:
            mean = self.total / self.count
            spread = max(self.squares / self.count - float(mean[-1] - self.first) ** 2, 0.0)
            # of m independent errors of variance v, the spread is v (1 − 1/m) and the mean's variance v / m
            enough = self.independent >= FEWEST_POSE_EQUATIONS
            yield mean[None], 1, 1.0, spread / (self.independent - 1.0) if enough else 0.0
        self.total, self.squares, self.count, self.independent = None, 0.0, 0, 0.0
