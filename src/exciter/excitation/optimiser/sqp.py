"""Feasible sequential quadratic programming: every iterate keeps all limits, so the best so far can always be used.

At a feasible y the step solves a quadratic model of the criterion (damped BFGS) subject to the joint limits, which are
linear and therefore kept exactly, the linearised nonlinear limits, and a trust region. A trial that breaks a nonlinear
limit is corrected with the Jacobian frozen and the limit's true value at the trial (the idea of feasible sequential
programming); if that does not help the trust region shrinks. −log det is unbounded below outside the limits: the
criterion is never evaluated there.

The quadratic subproblem is solved by maintained solvers: DAQP (dual active set), PIQP (interior point) where that
gives up. Measured on recorded subproblems of a 7-axis design, DAQP is the fastest by far: see docs/design.md."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import daqp
import numpy as np
import piqp

from exciter.errors import LoopError
from exciter.excitation.optimiser.deadline import Deadline, OutOfTime
from exciter.excitation.optimiser.limits import JointLimits, LinearisedLimits, NonlinearLimits
from exciter.independent_blocks import independent_blocks
from exciter.typing import Array, Index

DAQP_INFINITY = 1e30  # a bound that is none
QP_TOLERANCE = 1e-9
DAQP_TIME_UP_FLAG = -7  # exit flag of DAQP
Pairs = tuple[Index, ...]  # row and column numbers of some entries
Box = tuple[Array, Array]
Step = tuple[Array, Array]  # minimiser d and multipliers of the rows (M,), positive at upper bounds
Report = Callable[[int, float, Array], bool]  # number of an iteration, value, y
LEAST_DECREASE_RATIO = 1e-4  # of the predicted decrease that a step must really give
LEAST_TRUST_RADIUS = 1e-7
FEW_ROWS_PER_VARIABLE = 4  # of a quadratic problem with many more rows: the nearest are looked at first
MOST_ROW_ROUNDS = 20  # of rows that are added where a step breaks them
LEAST_QP_SECONDS = 1e-6  # of a quadratic problem that is begun: zero would mean no limit to its solver
JOINT_LIMIT_TOLERANCE = 1e-7  # of half a range, on the grid; the margins of the joint limits are far larger


def solve(
    hessian: Array,
    gradient: Array,
    box: Box,
    a: Array,
    low: Array,
    high: Array,
    seconds: float = math.inf,
    limbs: Sequence[Index] = (),
) -> Step | None:
    """min ½ dᵀ B d + gᵀ d, box₀ ≤ d ≤ box₁, low ≤ A d ≤ high; None: no feasible step; ``OutOfTime`` after seconds.
    limbs: variables that B has in blocks of their own, all of them; none: it has one. Where no row has to do with two
    of them either, each is a problem of its own."""
    began, d, multipliers = time.monotonic(), np.zeros(len(gradient)), np.zeros(len(a))
    for columns, rows in _problems(a, limbs):
        own = (hessian[np.ix_(columns, columns)], gradient[columns], (box[0][columns], box[1][columns]))
        left = max(seconds - (time.monotonic() - began), LEAST_QP_SECONDS)
        found = _with_few_rows(*own, a[np.ix_(rows, columns)], low[rows], high[rows], left)
        if found is None:
            return None
        d[columns], multipliers[rows] = found
    return d, multipliers


def _problems(a: Array, limbs: Sequence[Index]) -> Iterator[tuple[Index, Index]]:
    """Variables and rows of problems that have nothing to do with each other."""
    if len(limbs) < 2:
        yield np.arange(a.shape[1]), np.arange(len(a))
        return
    reached = np.stack([a[:, limb].any(axis=1) for limb in limbs], axis=1)  # (M, limbs)
    for rows, members in independent_blocks(np.vstack([reached, np.eye(len(limbs))])):
        yield np.sort(np.concatenate([limbs[k] for k in members])), rows[rows < len(a)]


def _with_few_rows(
    hessian: Array, gradient: Array, box: Box, a: Array, low: Array, high: Array, seconds: float
) -> Step | None:
    """The same with the nearest rows first, where there are many, and those added that a step breaks: few of thousands
    hold it, and a solver's work grows with all of them."""
    few = FEW_ROWS_PER_VARIABLE * len(gradient)
    if len(a) <= 2 * few:
        return _solved(hessian, gradient, box, a, low, high, seconds)
    size = np.maximum(np.linalg.norm(a, axis=1), 1e-300)
    taken = np.zeros(len(a), dtype=np.bool_)
    taken[np.argpartition(np.minimum(high, -low) / size, few)[:few]] = True
    began = time.monotonic()
    for _ in range(MOST_ROW_ROUNDS):
        left = max(seconds - (time.monotonic() - began), LEAST_QP_SECONDS)
        found = _solved(hessian, gradient, box, a[taken], low[taken], high[taken], left)
        if found is None:
            return None
        value = a @ found[0]
        broken = (np.maximum(low - value, value - high) > QP_TOLERANCE) & ~taken
        if not broken.any():
            multipliers = np.zeros(len(a))
            multipliers[taken] = found[1]
            return found[0], multipliers
        taken |= broken
    return _solved(hessian, gradient, box, a, low, high, seconds)


def _solved(
    hessian: Array, gradient: Array, box: Box, a: Array, low: Array, high: Array, seconds: float
) -> Step | None:
    upper = np.minimum(np.concatenate([box[1], high]), DAQP_INFINITY)
    lower = np.maximum(np.concatenate([box[0], low]), -DAQP_INFINITY)
    limit = {} if math.isinf(seconds) else {"time_limit": seconds}
    d, _, flag, info = daqp.solve(hessian, gradient, a, upper, lower, primal_tol=QP_TOLERANCE, **limit)
    if flag == DAQP_TIME_UP_FLAG:
        raise OutOfTime
    if flag == 1 and np.isfinite(d).all():
        return np.array(d), np.array(info["lam"])[len(d) :]
    return _interior_point(hessian, gradient, box, a, low, high)


def _interior_point(hessian: Array, gradient: Array, box: Box, a: Array, low: Array, high: Array) -> Step | None:
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = QP_TOLERANCE
    solver.setup(hessian, gradient, None, None, a, low, high, *box)
    if solver.solve() != piqp.PIQP_SOLVED:
        return None
    return np.array(solver.result.x), np.array(solver.result.z_u) - np.array(solver.result.z_l)


@dataclass(frozen=True)
class SQPSettings:
    """tolerance: stop when a step promises less than this share of |f|; radius [rad]: first trust region."""

    tolerance: float = 1e-6
    iterations: int = 300
    radius: float = 0.3
    largest_radius: float = 1.0
    corrections: int = 4  # of a trial that breaks a nonlinear limit
    push_back: float = 5e-3  # distance to a nonlinear limit that every step aims for
    lazy_rounds: int = 6


@dataclass(frozen=True, eq=False)
class Program:
    """Criterion with gradient, joint limits, and nonlinear limits, whose deadline is that of all the work. limbs:
    variables whose parts of the criterion add up, all of them; none where it has no such parts."""

    criterion: Callable[[Array], tuple[float, Array]]
    limits: JointLimits
    nonlinear: NonlinearLimits
    limbs: tuple[Index, ...] = ()

    def within(self, deadline: Deadline) -> Program:
        return replace(self, nonlinear=replace(self.nonlinear, deadline=deadline))


@dataclass(frozen=True, eq=False)
class Proposal:
    """A step, the nonlinear rows that took part in finding it, and their multipliers ≥ 0."""

    d: Array
    rows: Pairs
    multipliers: Array

    def predicted(self, g: Array, b: Array) -> float:
        return -float(g @ self.d + 0.5 * self.d @ b @ self.d)


def minimise(
    problem: Program, y: Array, settings: SQPSettings | None = None, report: Report | None = None
) -> Minimisation:
    """From a feasible y to a local minimum, or as far as the deadline allows; ``report`` may stop it (True)."""
    run = Minimisation(problem, y, settings or SQPSettings())
    with suppress(OutOfTime):
        run.reason = run._descended(report)
    return run


class Minimisation:
    """y, value: the last feasible point; how it was reached, and why that ended."""

    def __init__(self, problem: Program, y: Array, settings: SQPSettings) -> None:
        self.problem, self.settings = problem, settings
        self.y, self.value, self.iteration, self.evaluations, self.reason = y, np.inf, 0, 0, "stopped"
        self._radius = settings.radius
        self._kept: Pairs = np.nonzero(np.zeros((0, 0)))  # joint-limit rows that were active
        limits = problem.limits  # (R, n): change of a row per unit step, in half ranges:
        self._linear_scale: Array = np.linalg.norm(limits.matrix, axis=1)[:, None] / limits.scale

    def _descended(self, report: Report | None) -> str:
        """Why it ended."""
        y, settings, nonlinear = self.y, self.settings, self.problem.nonlinear
        f, g = self._criterion(y)
        hessian: Array | None = None
        now = nonlinear.linearised(y)
        for self.iteration in range(1, settings.iterations + 1):
            self.y, self.value = y, f
            if report is not None and report(self.iteration, f, y):
                return "stopped"
            if (b := hessian) is None:  # a step along −g should be about as long as the trust region
                b = np.eye(len(g)) * max(float(np.linalg.norm(g)), 1e-12) / (2.0 * self._radius)
            near = np.nonzero(now.values < 0.3 * now.reach(self._radius) + settings.push_back)
            if (found := self._step(y, g, b, now, near, now.values[near])) is None:
                return "no step"
            if found.predicted(g, b) <= settings.tolerance * max(1.0, abs(f)):
                return "converged"
            trial = self._feasible_trial(y, g, b, now, found)
            d = (trial or found).d
            f_new, g_new = (np.inf, g) if trial is None else self._tried(y + d, g)
            ratio = (f - f_new) / max((trial or found).predicted(g, b), 1e-300)
            if trial is None or not ratio > LEAST_DECREASE_RATIO:
                self._radius = 0.4 * min(self._radius, float(np.abs(d).max()))
                if self._radius < LEAST_TRUST_RADIUS:
                    return "trust region"
                continue
            after = nonlinear.linearised(y + d)
            change = g_new - g - trial.multipliers @ (after.rows(*trial.rows) - now.rows(*trial.rows))
            hessian = _by_limbs(b, d, change, self.problem.limbs, first=hessian is None)
            y, f, g, now = y + d, f_new, g_new, after
            if ratio < 0.25:
                self._radius *= 0.6
            elif ratio > 0.75 and float(np.abs(d).max()) > 0.7 * self._radius:
                self._radius = min(1.6 * self._radius, settings.largest_radius)
        self.y, self.value = y, f
        return "iterations"

    def _criterion(self, y: Array) -> tuple[float, Array]:
        self.problem.nonlinear.deadline.check()
        self.evaluations += 1
        return self.problem.criterion(y)

    def _tried(self, y: Array, g: Array) -> tuple[float, Array]:
        """Infinite where loops cannot close at samples of the criterion, between those of the limits."""
        try:
            return self._criterion(y)
        except LoopError:
            return np.inf, g

    def _step(self, y: Array, g: Array, b: Array, now: LinearisedLimits, rows: Pairs, values: Array) -> Proposal | None:
        """The step for nonlinear rows with given values of c at d = 0 (true, or corrected ones)."""
        jacobian = now.rows(*rows)
        for aim in (self.settings.push_back, 0.0):
            if (found := self._solve(y, g, b, jacobian, aim - values)) is not None:
                return Proposal(found[0], rows, -found[1][: len(values)])
        return None

    def _feasible_trial(self, y: Array, g: Array, b: Array, now: LinearisedLimits, step: Proposal) -> Proposal | None:
        """A step whose end keeps the nonlinear limits, corrected where the linearised ones were not enough."""
        for _ in range(self.settings.corrections):
            values = self.problem.nonlinear.values(y + step.d)
            if (values >= 0.0).all():
                return step
            taking = values < self.settings.push_back
            taking[step.rows] = True
            rows = np.nonzero(taking)
            if (found := self._step(y, g, b, now, rows, values[rows] - now.rows(*rows) @ step.d)) is None:
                return None
            step = found
        return step if (self.problem.nonlinear.values(y + step.d) >= 0.0).all() else None

    def _solve(self, y: Array, g: Array, b: Array, extra: Array, extra_low: Array) -> Step | None:
        """The quadratic problem with rows extra d ≥ extra_low; joint-limit rows are added as they are needed. The step
        is cut where it would leave a joint limit that the subproblem had not seen, or by rounding."""
        limits, variables = self.problem.limits, self.problem.limits.variables
        deadline, radius = self.problem.nonlinear.deadline, self._radius
        lower, upper = np.full(len(y), -radius), np.full(len(y), radius)
        if variables.stretch is not None:
            lower[-1] = max(-radius, variables.stretch[0] - y[-1])
            upper[-1] = min(radius, variables.stretch[1] - y[-1])
        before = limits.slack(y) / limits.scale
        near = before.min(axis=0) < 0.35 * radius * self._linear_scale
        near[self._kept] = True
        for _ in range(self.settings.lazy_rounds):
            chosen = np.nonzero(near)
            a, l, h = limits.rows(y, chosen[0], chosen[1], before)
            rows, low = np.vstack([extra, a]), np.concatenate([extra_low, l])
            high = np.concatenate([np.full(len(extra), np.inf), h])
            deadline.check()
            left = max(deadline.left, LEAST_QP_SECONDS)
            found = solve(b, g, (lower, upper), rows, low, high, left, self.problem.limbs)
            if found is None:
                return None
            d, multipliers = found
            after = limits.slack(y + d) / limits.scale
            broken = after.min(axis=0) < -0.5 * JOINT_LIMIT_TOLERANCE
            if not (broken & ~near).any():
                break
            near |= broken
        active = multipliers[len(extra) :] != 0.0
        if variables.stretch is not None:
            active = active[: len(chosen[0])] | active[len(chosen[0]) :]
        self._kept = tuple(numbers[active] for numbers in chosen)
        before, after = before + JOINT_LIMIT_TOLERANCE, after + JOINT_LIMIT_TOLERANCE
        broken = after < 0.0
        if not broken.any():
            return d, multipliers
        room = np.maximum(before[broken], 0.0)
        return float((room / (room - after[broken])).min()) * d, multipliers


def _by_limbs(b: Array, d: Array, change: Array, limbs: Sequence[Index], *, first: bool) -> Array:
    """The update of each limb's own block: one step tells as much of each of them as of all together."""
    if len(limbs) < 2:
        return _bfgs(b, d, change, first=first)
    new = b.copy()
    for own in limbs:
        if d[own].any():
            new[np.ix_(own, own)] = _bfgs(b[np.ix_(own, own)], d[own], change[own], first=first)
    return new


def _bfgs(b: Array, d: Array, change: Array, *, first: bool) -> Array:
    """Damped update (Powell): stays positive definite whatever the curvature."""
    dy = float(d @ change)
    if first and dy > 0:
        b = np.eye(len(d)) * float(change @ change) / dy
    bd = b @ d
    dbd = float(d @ bd)
    theta = 1.0 if dy >= 0.2 * dbd else 0.8 * dbd / (dbd - dy)
    r = theta * change + (1.0 - theta) * bd
    new = b - np.outer(bd, bd) / dbd + np.outer(r, r) / float(d @ r)
    return 0.5 * (new + new.T)
