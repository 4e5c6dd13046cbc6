"""A stage: some parameters from some of the equations.

Small rules name both: columns of a problem, and equations by what the motion does at and around their instants. Filters
drop instants, so equations and motion are matched by time, piece by piece.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, RecordingError, unknown_name
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.formulations.dynamic import FilteredDynamic, InverseDynamic
from exciter.identification.formulations.formulation import DIFFERENCE_REACH, Formulation
from exciter.identification.information.problem import Problem
from exciter.robot.motion import Motion
from exciter.settings import NonNegative, Settings
from exciter.typing import Array

BoolArray = NDArray[np.bool_]
RANDOM_REST_POSES = 100  # random ones, to see which columns act at rest
ACTING_COLUMN_FRACTION = 1e-9  # of the largest entry


class Parameters(ABC):
    """A rule, without a robot. What earlier stages determined, and what the equations do not, is left out by itself."""

    @abstractmethod
    def chosen(self, problem: Problem) -> BoolArray:
        """(p,) of ``problem.names``."""


@dataclass(frozen=True)
class Others(Parameters):
    """All that are left."""

    def chosen(self, problem: Problem) -> BoolArray:
        return np.ones(len(problem.names), dtype=bool)


@dataclass(frozen=True)
class Named(Parameters):
    """By name."""

    names: tuple[str, ...]

    def chosen(self, problem: Problem) -> BoolArray:
        for name in self.names:
            if name not in problem.names:
                raise ParameterError(unknown_name("parameter", name, problem.names))
        return np.isin(problem.names, self.names)


@dataclass(frozen=True)
class FrictionParameters(Parameters):
    """Of joint terms that store no energy, of some joints (numbers from 0), all unless given."""

    joints: tuple[int, ...] | None = None

    def chosen(self, problem: Problem) -> BoolArray:
        return np.asarray(_friction(problem.model, self.joints)[problem.base.independent])


@dataclass(frozen=True)
class ActingAtRest(Parameters):
    """Gravity (first moments), and springs and offsets: all that a torque at rest depends on, friction aside."""

    def chosen(self, problem: Problem) -> BoolArray:
        model = problem.model
        poses = np.random.default_rng(0).uniform(-np.pi, np.pi, (RANDOM_REST_POSES, model.n))
        size = np.abs(model.regressor(Motion.at(poses))).max(axis=(0, 1))
        acting = size > ACTING_COLUMN_FRACTION * size.max()
        return np.asarray((acting & ~_friction(model))[problem.base.independent])


def _friction(model: DynamicModel, joints: Sequence[int] | None = None) -> BoolArray:
    """(standard,) columns of joint terms that store no energy, in the equations of some joints, all unless given."""
    found = np.zeros(len(model.standard), dtype=bool)
    at = 10 * model.n
    for term in model.bound:
        for row, column in term.rows:
            found[at + column] |= not term.conservative[column] and (joints is None or row in joints)
        at += len(term.names)
    return found


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
    """The joint moves, faster than ``slowest`` [rad/s or m/s], and is accelerated by less than ``acceleration``
    [rad/s² or m/s²]; whatever the other joints do."""

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
    holds the joint) is one error, not hundreds.
    """

    name: str
    parameters: Parameters = field(default_factory=Others)
    joints: tuple[int, ...] | None = None
    selection: Selection = field(default_factory=Everything)
    runs: tuple[str, ...] | None = None
    alone: bool = False
    mean: bool = False


FORGOTTEN_FILTER_SHARE = 1e-5  # share of what lies further away that may still come in
LONGEST_FILTER_BANDWIDTHS = 45.0  # over the noise bandwidth: the filter of ``decimate``, which remembers longest
LARGEST_MISS_INTERVALS = 0.51  # of a sampling interval, by which equations may miss a sample
SEGMENT_GAP_INTERVALS = (
    1.5  # sampling intervals: what follows within belongs to the same segment, beyond it a filter starts anew
)


def reach(formulation: Formulation, piece: Processed, bandwidth: float) -> float:
    """[s] to both sides. piece: the first of a run. bandwidth [Hz]: of its rows, where no more is known of them."""
    if isinstance(formulation, InverseDynamic):
        both = formulation.parallel_filter
        return 0.0 if both is None else _remembered(both, piece) / piece.rate
    if isinstance(formulation, FilteredDynamic):
        return (_remembered(formulation.parallel_filter, piece) + DIFFERENCE_REACH) / piece.rate
    return LONGEST_FILTER_BANDWIDTHS / bandwidth


def _remembered(both: ParallelFilter, piece: Processed) -> int:
    low_pass, _ = both.at(piece.rate, piece.torque_bandwidth)
    return low_pass.settle(piece.rate, FORGOTTEN_FILTER_SHARE)


@dataclass(frozen=True, eq=False)
class Instants:
    """motion: at the instants of N equations. around: all samples within ``reach`` [s] of them, at ``rate`` [Hz]."""

    motion: Motion
    around: Motion
    reach: float
    rate: float

    def chosen(self, selection: Selection) -> BoolArray:
        """(N, n) by what the motion does at the instant itself."""
        return selection.chosen(self.motion)

    def chosen_throughout(self, selection: Selection) -> BoolArray:
        """(N, n) by what the motion does at the instant and at all samples that the equation looks at."""
        if not self.reach:
            return self.chosen(selection)
        time, at = self.around.time, self.motion.time
        others = np.zeros((len(time) + 1, self.motion.n), dtype=np.int64)
        np.cumsum(~selection.chosen(self.around), axis=0, out=others[1:])
        edges = np.concatenate(
            [[0], np.flatnonzero(np.diff(time) > SEGMENT_GAP_INTERVALS / self.rate) + 1, [len(time)]]
        )
        segment = np.searchsorted(edges, nearest(time, at), side="right")
        low = np.maximum(np.searchsorted(time, at - self.reach), edges[segment - 1])
        high = np.minimum(np.searchsorted(time, at + self.reach, side="right"), edges[segment])
        return np.asarray(others[high] == others[low])


def rows_with_motion(problem: Problem) -> Iterator[tuple[int, Rows, Instants]]:
    """(number of the run, equations, motion at their instants), as ``Problem.rows``; runs are read twice at once."""
    current, follower = -1, None
    for index, rows in problem.rows():
        if not len(rows):
            continue
        if follower is None or index != current:
            current, follower = index, _Follower(problem, index, rows)
        yield index, rows, follower.at(rows.time)


class _Follower:
    """Keeps only the pieces of a motion that equations may still ask for."""

    def __init__(self, problem: Problem, index: int, rows: Rows) -> None:
        parts = problem.runs[index].parts
        first = next(piece for piece in parts if len(piece))
        self._parts, self._rate = iter(parts), first.rate
        self._reach = reach(problem.formulation, first, rows.bandwidth)
        self._held: deque[Motion] = deque()

    def at(self, time: Array) -> Instants:
        """Instants (N,) that increase, also from one call to the next."""
        margin = self._reach + 1.0 / self._rate
        around = self._within(time[0] - margin, time[-1] + margin)
        if around is None:
            raise RecordingError(f"there is no motion at {time[0]:.6g} s, where there are equations")
        near = nearest(around.time, time)
        miss = np.abs(around.time[near] - time).max(initial=0.0)
        if miss > LARGEST_MISS_INTERVALS / self._rate:
            raise RecordingError(f"equations are {miss:.3g} s from the nearest sample of the motion")
        motion = Motion(time, around.q[near], around.qd[near], around.qdd[near])
        return Instants(motion=motion, around=around, reach=self._reach, rate=self._rate)

    def _within(self, first: float, last: float) -> Motion | None:
        """Samples from one instant [s] to another, of pieces however long, without a copy of the others."""
        while not self._held or self._held[-1].time[-1] < last:
            piece = next(self._parts, None)
            if piece is None:
                break
            if len(piece):
                self._held.append(piece.motion)
        while self._held and self._held[0].time[-1] < first:
            self._held.popleft()
        parts = [(held, slice(*np.searchsorted(held.time, (first, last)))) for held in self._held]
        if not any(part.start < part.stop for _, part in parts):
            return None
        signals = (np.concatenate([getattr(m, s)[part] for m, part in parts]) for s in ("time", "q", "qd", "qdd"))
        return Motion(*signals)


def nearest(known: Array, time: Array) -> NDArray[np.int64]:
    """(N,) index of the instant of ``known``, which increases, that is nearest to each of ``time`` (N,)."""
    after = np.clip(np.searchsorted(known, time), 0, len(known) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(time - known[before] <= known[after] - time, before, after)
