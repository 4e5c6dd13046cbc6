"""Feasible sequential quadratic programming: every iterate keeps all limits, so the best so far can always be used.

At a feasible y the step solves a quadratic model of the criterion (damped BFGS) subject to the joint limits, which are
linear and therefore kept exactly, the linearised nonlinear limits, and a trust region. A trial that breaks a nonlinear
limit is corrected with the Jacobian frozen and the limit's true value at the trial (the idea of feasible sequential
programming); if that does not help the trust region shrinks. −log det is unbounded below outside the limits: the
criterion is never evaluated there.

Few of the rows hold a step. Where there are many more than variables, the nearest are taken first, and those added that
a step breaks: the others are not even made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from exciter.errors import LoopError
from exciter.excitation.optimiser.deadline import Deadline, OutOfTime
from exciter.excitation.optimiser.limits import JointLimits, LinearisedLimits, NonlinearLimits
from exciter.excitation.optimiser.quadratic_program import (
    LEAST_QP_SECONDS,
    QP_TOLERANCE,
    QuadraticProgram,
    QuadraticRows,
)
from exciter.typing import Array, Index

Pairs = tuple[Index, ...]  # row and column numbers of some entries
Step = tuple[Array, Array]  # d, and multipliers (M,) of the nonlinear rows, negative where they hold it
Report = Callable[[int, float, Array], bool]  # number of an iteration, value, y
LEAST_DECREASE_RATIO = 1e-4  # of the predicted decrease that a step must really give
LEAST_TRUST_RADIUS = 1e-7
MANY_ROWS_PER_VARIABLE = 8  # of a quadratic problem: the nearest are looked at first
FEW_ROWS_PER_VARIABLE = 2  # as many of them
MOST_RESTORING_STEPS = 15  # toward a motion that keeps all limits
RESTORED_SHARES = (1.0, 0.5, 0.2)  # of what limits are broken by, that one of these steps is to mend
MOST_ROW_ROUNDS = 20  # of rows that are added where a step breaks them
JOINT_LIMIT_TOLERANCE = 1e-7  # of half a range, on the grid; the margins of the joint limits are far larger


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

    @property
    def holding(self) -> Proposal:
        """With the rows that hold it."""
        active = self.multipliers != 0.0
        return Proposal(self.d, tuple(x[active] for x in self.rows), self.multipliers[active])

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


def restored(problem: Program, y: Array, settings: SQPSettings | None = None) -> Array | None:
    """The nearest motion to y, about, that keeps all limits on their grids; None where few steps do not lead to one, or
    a loop is open on the way there, which has no slopes."""
    run = Minimisation(problem, y, settings or SQPSettings())
    nothing, identity = np.zeros(len(y)), np.eye(len(y))
    for _ in range(MOST_RESTORING_STEPS):
        try:
            now = problem.nonlinear.linearised(y)
        except LoopError:
            return None
        if (now.values >= 0.0).all() and problem.limits.room(y) >= -JOINT_LIMIT_TOLERANCE:
            return y
        rows, values = run._near(now)
        for share in RESTORED_SHARES:
            asked = np.where(values < 0.0, share * values, values)
            if (found := run._step(y, nothing, identity, now, rows, asked)) is not None:
                break
        else:
            return None
        y = y + found.d
    return None


class Minimisation:
    """y, value: the last feasible point; how it was reached, and why that ended."""

    def __init__(self, problem: Program, y: Array, settings: SQPSettings) -> None:
        self.problem, self.settings = problem, settings
        self.y, self.value, self.iteration, self.evaluations, self.reason = y, np.inf, 0, 0, "stopped"
        self._radius, limits = settings.radius, problem.limits
        self._held = np.zeros_like(limits.scale)  # (R, n) multipliers of the joint limits, of the last step
        self._held_nonlinear = np.zeros((len(problem.nonlinear.margins), len(problem.nonlinear.grid.time)))
        self._held_box = np.zeros(len(y))
        # (R, n): change of a row per unit step, in half ranges:
        self._linear_scale: Array = np.linalg.norm(limits.matrix, axis=1)[:, None] / limits.scale

    def _descended(self, report: Report | None) -> str:
        """Why it ended."""
        y, settings, nonlinear = self.y, self.settings, self.problem.nonlinear
        try:
            f, g = self._criterion(y)
            now = nonlinear.linearised(y)
        except LoopError:  # at samples between those that were looked at
            return "open loop"
        hessian: Array | None = None
        for self.iteration in range(1, settings.iterations + 1):
            self.y, self.value = y, f
            if report is not None and report(self.iteration, f, y):
                return "stopped"
            if (b := hessian) is None:  # a step along −g should be about as long as the trust region
                b = np.eye(len(g)) * max(float(np.linalg.norm(g)), 1e-12) / (2.0 * self._radius)
            if (found := self._step(y, g, b, now, *self._near(now))) is None:
                return "no step"
            if found.predicted(g, b) <= settings.tolerance * max(1.0, abs(f)):
                return "converged"
            trial, after = self._feasible_trial(y, g, b, now, found)
            d = (trial or found).d
            f_new, g_new = (np.inf, g) if trial is None else self._tried(y + d, g)
            ratio = (f - f_new) / max((trial or found).predicted(g, b), 1e-300)
            if trial is None or not ratio > LEAST_DECREASE_RATIO:
                self._radius = 0.4 * min(self._radius, float(np.abs(d).max()))
                if self._radius < LEAST_TRUST_RADIUS:
                    return "trust region"
                continue
            holding = trial.holding
            change = g_new - g - holding.multipliers @ (after.rows(*holding.rows) - now.rows(*holding.rows))
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

    def _near(self, now: LinearisedLimits) -> tuple[Pairs, Array]:
        """Nonlinear rows that a step may break, and their values."""
        near = np.nonzero(now.values < 0.3 * now.reach(self._radius) + self.settings.push_back)
        return near, now.values[near]

    def _step(self, y: Array, g: Array, b: Array, now: LinearisedLimits, rows: Pairs, values: Array) -> Proposal | None:
        """The step for nonlinear rows with given values of c at d = 0 (true, or corrected ones)."""
        for aim in (self.settings.push_back, 0.0):
            if (found := self._solve(y, g, b, now, rows, aim - values)) is not None:
                return Proposal(found[0], rows, -found[1])
        return None

    def _feasible_trial(
        self, y: Array, g: Array, b: Array, now: LinearisedLimits, step: Proposal
    ) -> tuple[Proposal | None, LinearisedLimits]:
        """A step whose end keeps the nonlinear limits, corrected where the linearised ones were not enough, and the
        limits there: most often the first one does, and is where the next step begins. None where loops cannot close:
        a shorter one is tried then."""
        for correction in range(self.settings.corrections + 1):
            try:
                there = self.problem.nonlinear.linearised(y + step.d)
            except LoopError:
                break
            if (there.values >= 0.0).all():
                return step, there
            if correction == self.settings.corrections:
                break
            taking = there.values < self.settings.push_back
            taking[step.rows] = True
            rows = np.nonzero(taking)
            values = there.values[rows] - now.changes(rows[0], rows[1], step.d)
            if (found := self._step(y, g, b, now, rows, values)) is None:
                break
            step = found
        return None, now

    def _solve(
        self, y: Array, g: Array, b: Array, now: LinearisedLimits, rows: Pairs, nonlinear_low: Array
    ) -> Step | None:
        """The quadratic problem with nonlinear rows J d ≥ nonlinear_low; rows are added as they are needed. The step is
        cut where it would leave a joint limit that the subproblem had not seen, or by rounding."""
        limits, variables = self.problem.limits, self.problem.limits.variables
        deadline, radius = self.problem.nonlinear.deadline, self._radius
        lower, upper = np.full(len(y), -radius), np.full(len(y), radius)
        if variables.stretch is not None:
            lower[-1] = max(-radius, variables.stretch[0] - y[-1])
            upper[-1] = min(radius, variables.stretch[1] - y[-1])
        before = limits.slack(y) / limits.scale
        room = before.min(axis=0) / np.maximum(self._linear_scale, 1e-300)  # to each row, in steps
        near, taken = room < 0.35 * radius, np.ones(len(nonlinear_low), dtype=np.bool_)
        many = np.count_nonzero(near) + len(taken) > MANY_ROWS_PER_VARIABLE * len(y)
        if many:
            far = -nonlinear_low / np.maximum(now.reach(1.0)[rows], 1e-300)
            few = FEW_ROWS_PER_VARIABLE * len(y)
            nearest = np.partition(np.concatenate([far, room[near]]), few)[few]
            near, taken = near & (room <= nearest), (far <= nearest) | (self._held_nonlinear[rows] != 0.0)
        near |= self._held != 0.0
        program = QuadraticProgram(b, g, (lower, upper), self.problem.limbs)
        made = _Made(now, rows)
        for _ in range(MOST_ROW_ROUNDS if many else self.settings.lazy_rounds):
            chosen = np.nonzero(near)
            a, l, h = limits.rows(y, chosen[0], chosen[1], before)
            which = np.flatnonzero(taken)
            held = np.concatenate([self._held_nonlinear[rows][which], np.resize(self._held[chosen], len(l))])
            second_sides = -1 - np.arange(len(l) - len(chosen[0]))  # where the duration is free
            given = QuadraticRows(
                a=np.vstack([made.of(which), a]),
                low=np.concatenate([nonlinear_low[which], l]),
                high=np.concatenate([np.full(len(which), np.inf), h]),
                numbers=np.concatenate([which, len(taken) + np.flatnonzero(near), second_sides]),
                multipliers=held if many else np.zeros(len(held)),
            )
            deadline.check()
            left = max(deadline.left, LEAST_QP_SECONDS)
            found = program.solve(given, self._held_box if many else np.zeros(len(y)), left)
            if found is None:
                return None
            d, self._held_box, multipliers = found
            self._hold(rows, which, chosen, multipliers)
            after = limits.slack(y + d) / limits.scale
            broken = (after.min(axis=0) < -0.5 * JOINT_LIMIT_TOLERANCE) & ~near
            missed = np.zeros_like(taken)
            if not taken.all():
                rest = np.flatnonzero(~taken)
                reached = now.changes(rows[0][rest], rows[1][rest], d)
                missed[rest] = reached < nonlinear_low[rest] - QP_TOLERANCE
            if not broken.any() and not missed.any():
                break
            near, taken = near | broken, taken | missed
        of_nonlinear = np.zeros(len(taken))
        of_nonlinear[which] = multipliers[: len(which)]
        before, after = before + JOINT_LIMIT_TOLERANCE, after + JOINT_LIMIT_TOLERANCE
        outside = after < 0.0
        if not outside.any():
            return d, of_nonlinear
        share = np.maximum(before[outside], 0.0)
        return float((share / (share - after[outside])).min()) * d, of_nonlinear

    def _hold(self, rows: Pairs, which: Index, chosen: Pairs, multipliers: Array) -> None:
        """Remember the multipliers of a step: of nonlinear rows, then of joint limits, twice (once for each side) where
        the duration is free."""
        self._held_nonlinear[:], self._held[:] = 0.0, 0.0
        self._held_nonlinear[rows[0][which], rows[1][which]] = multipliers[: len(which)]
        sides = 1 if self.problem.limits.variables.stretch is None else 2
        self._held[chosen] = multipliers[len(which) :].reshape(sides, len(chosen[0])).sum(axis=0)


class _Made:
    """Rows of the nonlinear limits, each made once."""

    def __init__(self, now: LinearisedLimits, rows: Pairs) -> None:
        self.now, self.rows = now, rows
        self.known = np.full(len(rows[0]), -1)
        self.jacobian = np.zeros((0, now.variables.size))

    def of(self, which: Index) -> Array:
        new = which[self.known[which] < 0]
        self.known[new] = len(self.jacobian) + np.arange(len(new))
        self.jacobian = np.vstack([self.jacobian, self.now.rows(self.rows[0][new], self.rows[1][new])])
        return np.asarray(self.jacobian[self.known[which]])


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
