"""The quadratic subproblem: a step within bounds, block by block where parts of it have nothing to do with each other.

Maintained solvers do the work: DAQP (dual active set), PIQP (interior point) where that gives up. Measured on recorded
subproblems of a 7-axis design, DAQP is the fastest by far: see docs/design.md. Its work grows with all rows, of which
few hold a step: who has many gives those that are needed, and the multipliers of before to begin with."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import daqp
import numpy as np
import piqp

from exciter.excitation.optimiser.deadline import OutOfTime
from exciter.independent_blocks import independent_blocks
from exciter.typing import Array, Index

DAQP_INFINITY = 1e30  # a bound that is none
QP_TOLERANCE = 1e-9
DAQP_TIME_UP_FLAG = -7  # exit flag of DAQP
LEAST_QP_SECONDS = 1e-6  # of a quadratic problem that is begun: zero would mean no limit to its solver
Box = tuple[Array, Array]
Step = tuple[Array, Array, Array]  # minimiser d, multipliers of box (size,) and rows (M,), positive at upper bounds


@dataclass(frozen=True, eq=False)
class QuadraticRows:
    """low ≤ A d ≤ high, A (M, size), each row with a number of its own; multipliers (M,) to begin with, zero of a row
    that is not expected to hold the step."""

    a: Array
    low: Array
    high: Array
    numbers: Index
    multipliers: Array


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """min ½ dᵀ B d + gᵀ d, box₀ ≤ d ≤ box₁, with rows that come and go. limbs: variables that B has in blocks of their
    own, all of them; none: it has one. Where no row has to do with two of them either, each is a problem of its own,
    which is not solved again as long as its rows stay the same."""

    hessian: Array
    gradient: Array
    box: Box
    limbs: Sequence[Index] = ()
    _solved: dict[tuple[bytes, bytes], Step] = field(default_factory=dict, init=False)

    def solve(self, given: QuadraticRows, box_multipliers: Array, seconds: float = math.inf) -> Step | None:
        """None: no feasible step; ``OutOfTime`` after seconds."""
        began, size = time.monotonic(), len(self.gradient)
        d, of_box, of_rows = np.zeros(size), np.zeros(size), np.zeros(len(given.a))
        for columns, rows in self._problems(given.a):
            key = columns.tobytes(), given.numbers[rows].tobytes()
            if (found := self._solved.get(key)) is None:
                left = max(seconds - (time.monotonic() - began), LEAST_QP_SECONDS)
                box = self.box[0][columns], self.box[1][columns]
                own = self.hessian[np.ix_(columns, columns)], self.gradient[columns], box
                within = given.a[np.ix_(rows, columns)], given.low[rows], given.high[rows]
                begin = np.concatenate([box_multipliers[columns], given.multipliers[rows]])
                found = solved(*own, *within, begin, left)
            if found is None:
                return None
            self._solved[key] = found
            d[columns], of_box[columns], of_rows[rows] = found
        return d, of_box, of_rows

    def _problems(self, a: Array) -> Iterator[tuple[Index, Index]]:
        """Variables and rows of problems that have nothing to do with each other."""
        if len(self.limbs) < 2:
            yield np.arange(a.shape[1]), np.arange(len(a))
            return
        reached = np.stack([a[:, limb].any(axis=1) for limb in self.limbs], axis=1)  # (M, limbs)
        for rows, members in independent_blocks(np.vstack([reached, np.eye(len(self.limbs))])):
            yield np.sort(np.concatenate([self.limbs[k] for k in members])), rows[rows < len(a)]


def solved(
    hessian: Array, gradient: Array, box: Box, a: Array, low: Array, high: Array, begin: Array, seconds: float
) -> Step | None:
    """One problem; begin (size + M,): multipliers of box and rows that are expected, zero where none is known."""
    upper = np.minimum(np.concatenate([box[1], high]), DAQP_INFINITY)
    lower = np.maximum(np.concatenate([box[0], low]), -DAQP_INFINITY)
    limit = {} if math.isinf(seconds) else {"time_limit": seconds}
    for start in ({"dual_start": begin}, {}) if begin.any() else ({},):
        d, _, flag, info = daqp.solve(hessian, gradient, a, upper, lower, primal_tol=QP_TOLERANCE, **start, **limit)
        if flag == DAQP_TIME_UP_FLAG:
            raise OutOfTime
        if flag == 1 and np.isfinite(d).all():
            multipliers = np.array(info["lam"])
            return np.array(d), multipliers[: len(d)], multipliers[len(d) :]
    return _interior_point(hessian, gradient, box, a, low, high)


def _interior_point(hessian: Array, gradient: Array, box: Box, a: Array, low: Array, high: Array) -> Step | None:
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = QP_TOLERANCE
    solver.setup(hessian, gradient, None, None, a, low, high, *box)
    if solver.solve() != piqp.PIQP_SOLVED:
        return None
    found = solver.result
    of_box, of_rows = np.array(found.z_bu) - np.array(found.z_bl), np.array(found.z_u) - np.array(found.z_l)
    return np.array(found.x), of_box, of_rows
