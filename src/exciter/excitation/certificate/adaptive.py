"""The certificate of a curve: exact where extrema are exact, adaptive bounds for everything else.

A constraint bounds its rows from below on every interval of a coarse grid. Intervals that prove nothing are split in
four until each row is proved (bound ≥ 0 everywhere), broken (it is negative at some instant: a witness) or the effort
is used up; then it stays open, and the curve is not certified. What is proved is refined a little further, so that
the margin that is reported is close to the true one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import MotionError
from exciter.excitation.certificate.certificate import Certificate, LimitVerdict, RowName, Status, joint_verdicts, rests
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array, BoolArray, Index

INTERVALS_PER_BLOCK = 2048  #: at a time: temporaries stay in the cache, and outweigh the calls that make them
SPLIT_PARTS = 4  #: into which an interval is split
BROKEN_ROW_ROUNDING = 1e-9  #: a row this far below zero is broken by more than rounding


@dataclass(frozen=True, eq=False)
class ConstraintRows:
    """Values c (K, N) and derivatives ∂c/∂q, ∂c/∂q̇, ∂c/∂q̈ (K, n, N), samples last; None where nothing depends on it."""

    values: Array
    dq: Array
    dqd: Array | None = None
    dqdd: Array | None = None

    @property
    def slopes(self) -> tuple[Array, Array, Array]:
        """The derivatives, zero where nothing depends on it."""
        zero = np.zeros_like(self.dq)
        return self.dq, zero if self.dqd is None else self.dqd, zero if self.dqdd is None else self.dqdd

    @cached_property
    def sensitivities(self) -> tuple[Array | None, ...]:
        """(K, N): Σ |∂c/∂q_j| over the joints, the same of q̇ and q̈; None where nothing depends on it."""
        return tuple(None if x is None else np.abs(x).sum(axis=1) for x in (self.dq, self.dqd, self.dqdd))

    def slopes_at(self, row: Index, at: Index) -> tuple[Array | None, ...]:
        """(M, n): the derivatives of rows ``row`` (M,) at samples ``at`` (M,)."""
        return tuple(None if x is None else x[row, :, at] for x in (self.dq, self.dqd, self.dqdd))


class LinearRows(Protocol):
    """What an optimiser asks of the rows of a constraint about a motion: all values, and slopes of those in reach."""

    @property
    def values(self) -> Array: ...

    @property
    def sensitivities(self) -> tuple[Array | None, ...]: ...

    def slopes_at(self, row: Index, at: Index) -> tuple[Array | None, ...]: ...


@runtime_checkable
class Constraint(Protocol):
    """K rows that must be ≥ 0 at every instant, with derivatives. One with so many rows that their derivatives are
    better made only where they are asked for also has ``linearised_in_part(motion)``, which gives ``LinearRows``."""

    @property
    def rows(self) -> tuple[RowName, ...]:
        """What the K rows are."""

    def values(self, motion: Motion) -> Array:
        """c (K, N)."""

    def linearised(self, motion: Motion) -> ConstraintRows:
        """c and its derivatives with respect to q, q̇, q̈ of the same sample."""

    def lower_bounds(self, spans: Spans) -> Array:
        """(K, M): c is at least this throughout each of M short intervals; −inf where nothing can be said."""


@dataclass(frozen=True)
class CertificateEffort:
    """How hard to try. Rows are dimensionless: 0.01 is 1 % of a torque limit, 1 mm of a distance.
    grid: intervals to begin with, more where the curve has more spans. tolerance: how far a margin that is reported may
    lie below the true one, and the same part of that margin again. Instants per constraint: refine, spent to get there;
    most, beyond those of the grid, at which proofs are given up. narrowest: width [s] that is not split."""

    grid: int = 200
    tolerance: float = 0.01
    refine: int = 2_000
    most: int = 50_000
    narrowest: float = 1e-7


def certify(
    robot: Robot,
    curve: Curve,
    constraints: Sequence[Constraint] = (),
    effort: CertificateEffort | None = None,
    check: Callable[[], None] | None = None,
    *,
    from_rest: bool = False,
) -> Certificate:
    """Whether all finite limits of the joints, and all further constraints, hold from the curve's start to its end.
    from_rest: it must begin and end at rest, as a file. check: called between the steps; what it raises ends them."""
    if curve.n != robot.n:
        raise MotionError(f"the curve moves {curve.n} joints, robot '{robot.name}' has {robot.n}")
    effort = CertificateEffort() if effort is None else effort
    verdicts, nodes = joint_verdicts(robot, curve, from_rest=from_rest), 0
    if constraints:
        grid = _grid(curve, effort.grid)
        searches = [_RowSearch(constraint, curve, effort, check or (lambda: None)) for constraint in constraints]
        for spans in grid.parts(curve):  # what constraints share is worked out once, and held for a block only
            for search in searches:
                search.coarse.append(search.bounds(spans, spans.ends))
        for search in searches:
            search.run(grid)
            found = zip(search.constraint.rows, search.lowest, search.bound, search.at, strict=True)
            verdicts += [_verdict(row, float(low), float(bound), float(at)) for row, low, bound, at in found]
            nodes += search.nodes
    return Certificate(tuple(verdicts), curve.duration, nodes, *rests(robot, curve))


@dataclass(frozen=True, eq=False)
class _Grid:
    """Intervals [start, end] (M,), in the order of time, each within the curve's span of that number (M,)."""

    span: Index
    start: Array
    end: Array

    def parts(self, curve: Curve) -> Iterator[Spans]:
        """All of them, as many at a time as stay in the cache."""
        for first in range(0, len(self.start), INTERVALS_PER_BLOCK):
            which = slice(first, first + INTERVALS_PER_BLOCK)
            yield Spans.of(curve, self.span[which], self.start[which], self.end[which])

    def split(self, which: BoolArray) -> _Grid:
        """The chosen intervals in four equal parts each."""
        fraction = np.arange(SPLIT_PARTS + 1) / SPLIT_PARTS
        start, end = self.start[which, None], self.end[which, None]
        cuts = start + fraction * (end - start)
        cuts[:, -1] = end[:, 0]
        return _Grid(np.repeat(self.span[which], SPLIT_PARTS), cuts[:, :-1].ravel(), cuts[:, 1:].ravel())


def _grid(curve: Curve, intervals: int) -> _Grid:
    """About as many equal intervals as asked, at least one per span."""
    width = np.diff(curve.knots)
    count = np.ceil(width * (intervals / curve.duration) - 1e-9).astype(np.int64).clip(1)
    span = np.repeat(np.arange(len(width)), count)
    number = np.arange(len(span)) - np.repeat(np.cumsum(count) - count, count)
    begin, end = curve.knots[span], curve.knots[span + 1]
    step = (end - begin) / count[span]
    last = number + 1 == count[span]
    return _Grid(span, begin + number * step, np.where(last, end, begin + (number + 1) * step))


def remembers(constraint: Constraint) -> bool:
    """Whether values depend on earlier samples, as with pre-sliding friction in a torque limit."""
    model = getattr(constraint, "model", None)
    if isinstance(model, DynamicModel) and any(term.has_memory for term in model.bound):
        return True
    return any(remembers(member) for member in getattr(constraint, "constraints", ()))


class _RowSearch:
    """Bounds and witnesses of the K rows of one constraint."""

    def __init__(
        self, constraint: Constraint, curve: Curve, effort: CertificateEffort, check: Callable[[], None]
    ) -> None:
        self.constraint, self.curve, self.effort, self.check = constraint, curve, effort, check
        rows = len(constraint.rows)
        self.lowest = np.full(rows, np.inf)  # smallest value met
        self.at = np.zeros(rows)
        self.bound = np.full(rows, np.inf)  # over the intervals that are done with
        self.nodes = 0
        self.coarse: list[Array] = []  # bounds on the grid

    def run(self, grid: _Grid) -> None:
        """From the grid, all of which was looked at, to finer intervals."""
        if remembers(self.constraint):  # its values mean something only along the whole motion
            self._meet(self.curve.motion(np.linspace(self.curve.start, self.curve.end, 20 * self.effort.grid + 1)))
        self.grid_nodes = self.nodes
        bounds = np.concatenate(self.coarse, axis=1)
        while True:
            wanted = self._wanted(grid, bounds)
            self.bound = np.minimum(self.bound, bounds[:, ~wanted].min(axis=1, initial=np.inf))
            if not wanted.any():
                return
            above = np.repeat(bounds[:, wanted], SPLIT_PARTS, axis=1)
            grid = grid.split(wanted)
            parts = [self.bounds(spans, spans.left) for spans in grid.parts(self.curve)]
            bounds = np.maximum(above, np.concatenate(parts, axis=1))  # what holds for the whole holds for its parts

    def bounds(self, spans: Spans, instants: Motion) -> Array:
        if not remembers(self.constraint):
            self._meet(instants)
        self.check()
        return self.constraint.lower_bounds(spans)

    def _meet(self, motion: Motion) -> None:
        """Remember the smallest values, and when."""
        self.check()
        values = self.constraint.values(motion)
        where = np.argmin(values, axis=1)
        smallest = values[np.arange(len(values)), where]
        self.at = np.where(smallest < self.lowest, motion.time[where], self.at)
        self.lowest = np.minimum(self.lowest, smallest)
        self.nodes += len(motion)

    def _wanted(self, grid: _Grid, bounds: Array) -> BoolArray:
        """(M,) the intervals to split: those that leave a row unproved, or (at first) its margin vague."""
        level = np.zeros_like(self.lowest)
        if self.nodes < self.effort.refine:
            level = np.maximum(0.0, self.lowest - self.effort.tolerance * (1.0 + np.abs(self.lowest)))
        level[self.lowest < 0.0] = -np.inf  # broken: nothing left to prove
        wanted = (bounds < level[:, None]).any(axis=0) & (grid.end - grid.start > SPLIT_PARTS * self.effort.narrowest)
        too_many: bool = self.nodes - self.grid_nodes + SPLIT_PARTS * int(wanted.sum()) > self.effort.most
        return np.zeros_like(wanted) if too_many else wanted


def _verdict(row: RowName, lowest: float, bound: float, at: float) -> LimitVerdict:
    status: Status = "open"
    if bound >= 0.0:
        status = row.kept
    elif lowest < -BROKEN_ROW_ROUNDING:
        status = "broken"
    sign = -1.0 if row.upper else 1.0
    reached, bounded = (row.limit + sign * c * row.scale for c in (lowest, bound))
    return row.verdict(status, reached=reached, bound=bounded, margin=lowest if status == "broken" else bound, at=at)
