"""Delay of torque against position, to a fraction of a sample: reported, never applied.

Positive: the torque comes late, τ_log(t) = τ(t − d). The rows of each joint, W(t), explain τ_log(t + d) best at the
true d: the residual r = (1 − P) τ_log(t + d), P the projection on W's columns, is least there. A scan finds the valley
that fits all joints, Newton's method its bottom. τ_log is shifted as a curve, never expanded in d: at the frequencies
of its noise an expansion fails first, and would pull d towards zero. The error is the larger of two jackknives: over
blocks of time, as residuals may be correlated, and over joints, which may disagree by more than their noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy

from exciter.experiment.quality.smoothed_log import SINGULAR_ROWS, Smooth, determined, span, unexplained
from exciter.typing import Array, Index

JACKKNIFE_BLOCKS = 20
DELAY_SCAN_S = 0.3  # on either side; clocks that differ by more show in the motion itself
DELAY_SCAN_SHARE = 0.1  # of the longest piece, at most: rows that a shift would push over its end are left out
SCAN_POINTS_PER_PERIOD = 4.0  # of the cut-off
DELAY_NEWTON_STEPS = 20
ALONG_STEP_POWER_SHARE = 1e-6  # of a column's power: more that is not along sign(q̇), and it need not be looked at
BENDING_GAIN = 20.0  # −2 log of the likelihood: three columns gain that much by chance once in 6000 times
Course: TypeAlias = tuple[Array, Any]  # times [s] of rows, and the torque as a curve through its samples


class ShiftedFit:
    """r(d) = (1 − P) τ_log(t + d) of some joints, P the projection on the columns of their rows; |d| ≤ reach [s]. rows:
    (N, f) of each joint by its number. Only times that a shift pushes over no end are used, whatever the shift."""

    def __init__(self, rows: Mapping[int, Array], smooth: Smooth, reach: float, period: float | None) -> None:
        time, ends = smooth.motion.time, [course.x[[0, -1]] + (reach, -reach) for course in smooth.courses]
        inner = [(smooth.piece == k) & (time >= start) & (time <= end) for k, (start, end) in enumerate(ends)]
        at = np.flatnonzero(np.any(inner, axis=0))
        self._blocks = blocks(time[at], period)
        bases = {j: span(w[at]) for j, w in rows.items() if len(at) >= 2 * JACKKNIFE_BLOCKS + w.shape[1]}
        self.joints, self._bases = tuple(bases), tuple(bases.values())
        self._used = [(time[own], course) for own, course in zip(inner, smooth.courses, strict=True) if own.any()]
        self.free = np.array([max(smooth.independent - u.shape[1], 1.0) for u in self._bases])

    def torque(self, d: float, order: int = 0, only: int | None = None) -> Array:
        """(N, joints) τ_log(t + d), or a derivative of it; only: of the joint at this place."""
        courses = self._together if only is None else self._alone[only]
        return np.concatenate([course(at + d, order) for at, course in courses])

    @cached_property
    def _together(self) -> list[Course]:
        return self._of(self.joints)

    @cached_property
    def _alone(self) -> list[list[Course]]:
        """One takes less time than all at once."""
        return [self._of((j,)) for j in self.joints]

    def _of(self, joints: Sequence[int]) -> list[Course]:
        return [(at, scipy.interpolate.PPoly(course.c[..., list(joints)], course.x)) for at, course in self._used]

    def power(self, d: float) -> Array:
        """(joints,) Σ r²."""
        return np.array([float(np.sum(x**2)) for x in map(unexplained, self._bases, self.torque(d).T)])

    def slopes(self, d: float, only: int | None = None) -> Array:
        """(joints, 2): ½ ∂Σr²/∂d and ½ ∂²Σr²/∂d²."""
        return np.array([_slope(x.T @ x) for x, _, _ in self._left(d, only)])

    def slopes_without(self, d: float, only: int | None = None) -> Array:
        """(blocks, joints, 2): the same without one block of time each. x, which the rows u leave, and u are orthogonal
        over all times: the fit without a block is (1 − uᵀu)⁺ (−uᵀx), both products those of the block."""
        out = []
        for x, u, inverse in self._left(d, only):
            fit = np.stack([u[block].T @ x[block] for block in self._blocks])
            squares = x.T @ x - np.stack([x[block].T @ x[block] for block in self._blocks]) - fit.mT @ inverse @ fit
            out.append([_slope(one) for one in squares])
        return np.swapaxes(out, 0, 1)

    @cached_property
    def _inverses(self) -> list[Array]:
        """(blocks, f, f) of each joint: (1 − uᵀu)⁺, u the rows of a block."""
        grams = (np.eye(u.shape[1]) - np.stack([u[block].T @ u[block] for block in self._blocks]) for u in self._bases)
        return [np.asarray(np.linalg.pinv(gram, rcond=SINGULAR_ROWS, hermitian=True)) for gram in grams]

    def _left(self, d: float, only: int | None) -> Iterator[tuple[Array, Array, Array]]:
        """(N, 3) of each joint: what its rows leave of τ, its rate and the rate of that; those rows; ``_inverses``."""
        derivatives = np.stack([self.torque(d, order, only).T for order in range(3)], axis=-1)
        own = slice(None) if only is None else slice(only, only + 1)
        bases, inverses = self._bases[own], self._inverses[own]
        return ((unexplained(u, x), u, one) for u, x, one in zip(bases, derivatives, inverses, strict=True))


def _slope(squares: Array) -> tuple[float, float]:
    """From products (3, 3) of r, ∂r/∂d, ∂²r/∂d². The last keeps noise, which is shifted too, out of the curvature."""
    return float(squares[0, 1]), float(squares[1, 1] + squares[0, 2])


def blocks(time: Array, period: float | None) -> list[Index]:
    """Rows of every block. Of a motion that repeats, a part of the period each time it comes: no second witness."""
    if period is None or time.size == 0 or time[-1] - time[0] < 1.5 * period:
        return [part for part in np.array_split(np.arange(len(time)), JACKKNIFE_BLOCKS) if part.size]
    phase = np.floor((time - time[0]) / period % 1.0 * JACKKNIFE_BLOCKS)
    return [np.flatnonzero(phase == k) for k in range(JACKKNIFE_BLOCKS) if (phase == k).any()]


@dataclass(frozen=True, eq=False)
class Delays:
    """delay, error [s], common to all joints; joints: the same of each that tells one, by number. change [1/s]: of the
    torque per second, over the torque, both RMS, where it is largest. edge [s]: the end of the scan, where the best fit
    lies beyond it; power: what the best fit leaves of the residual's power without shift."""

    delay: float
    error: float
    joints: dict[int, tuple[float, float]]
    change: float = 0.0
    edge: float | None = None
    power: float = 1.0

    @property
    def known(self) -> bool:
        return 0.0 < self.error < np.inf


def features(smooth: Smooth) -> Array:
    """(N, f) without a model: weight, friction and inertia of every joint as functions of its own q, q̇, q̈."""
    m = smooth.motion
    moving = np.ptp(m.q, axis=0) > 0
    q, qd, qdd = m.q[:, moving], m.qd[:, moving], m.qdd[:, moving]
    return np.hstack([np.ones((len(q), 1)), np.sin(q), np.cos(q), qd, np.sign(qd), qdd])


def with_friction(w: Array, smooth: Smooth, j: int, *, bends: bool) -> Array:
    """Rows w (N, f) of joint j, columns along sign(q̇) rounded as the filter rounds the torque's steps. One more column
    lets friction turn early or late, as where joints stick, and that is no delay; more of them, where its contacts
    bend, let it build up along the way."""
    w, steps = w.copy(), np.sign(smooth.motion.qd)
    lengths = (steps**2).sum(axis=0)[:, None]
    factors = steps.T @ w / np.maximum(lengths, 1.0)  # (n, f)
    power = (w**2).sum(axis=0)
    likely = (factors != 0.0) & (np.abs(power - factors**2 * lengths) <= ALONG_STEP_POWER_SHARE * power)
    for i in np.flatnonzero(likely.any(axis=1)):
        some = np.flatnonzero(likely[i])
        step, factor = steps[:, i], factors[i, some]
        along = np.abs(w[:, some] - np.outer(step, factor)).max(axis=0) <= 1e-9 * np.abs(factor)
        w[:, some[along]] = np.outer(smooth.direction[:, i], factor[along])
    return np.column_stack([w, smooth.late[:, j] if bends else smooth.late[:, j, :1]])


def _own(w: Array) -> Array:
    """The columns of w that are not zero: of many limbs those of one."""
    return np.asarray(w[:, w.any(axis=0)])


def newton(slopes: Callable[[float], Array], start: float, farthest: float) -> float | None:
    """Where slopes(d) = (½ ∂/∂d, ½ ∂²/∂d²) of a sum of squares says it is least, within ``farthest`` of the start."""
    d = start
    for _ in range(DELAY_NEWTON_STEPS):
        first, second = slopes(d)
        if second <= 0.0:
            return None
        d -= first / second
        if abs(d - start) > farthest:
            return None
        if abs(first) < 1e-9 * second:
            break
    return d


def delays_of(smooth: Smooth, regressor: Array | None, period: float | None = None) -> Delays:
    """From a regressor (N, n, b), or from ``features``; period [s] of the motion, where it is known."""
    unknown = Delays(0.0, 0.0, {})
    if smooth.effort is None or len(smooth) < 10 * JACKKNIFE_BLOCKS:
        return unknown
    reach = min(DELAY_SCAN_S, DELAY_SCAN_SHARE * max(float(course.x[-1] - course.x[0]) for course in smooth.courses))
    half = int(np.ceil(SCAN_POINTS_PER_PERIOD * smooth.cutoff * reach))
    grid = np.linspace(-reach, reach, 2 * half + 1)
    moving = [int(j) for j in np.flatnonzero(np.ptp(smooth.effort, axis=0) > 0)]
    columns = {j: features(smooth) if regressor is None else _own(regressor[:, j]) for j in moving}
    kinds = (False,) if regressor is None else (False, True)  # coupled motion that is not modelled is none of friction
    tried = [{j: with_friction(w, smooth, j, bends=bends) for j, w in columns.items()} for bends in kinds]
    tried = [{j: w for j, w in rows.items() if determined(w, smooth.independent)} for rows in tried]
    fits = [ShiftedFit(rows, smooth, reach, period) for rows in tried]
    if not fits[0].joints:
        return unknown
    scans = [dict(zip(fit.joints, np.array([fit.power(d) for d in grid]).T, strict=True)) for fit in fits]
    rows, powers = dict(tried[0]), dict(scans[0])
    for j, free in zip(fits[-1].joints, fits[-1].free, strict=True):
        # columns that a delay does not need must not blur it: contacts that bend show at any shift
        gain = free * float(np.log(max(scans[0][j].min(), 1e-300) / max(scans[-1][j].min(), 1e-300)))
        if gain > BENDING_GAIN:
            rows[j], powers[j] = tried[-1][j], scans[-1][j]
    fit = ShiftedFit({j: rows[j] for j in fits[0].joints}, smooth, reach, period)
    total = np.log(np.maximum([powers[j] for j in fit.joints], 1e-300)).T @ fit.free  # −2 log likelihood
    best = int(np.argmin(total))
    left = float(np.exp((total[best] - total[half]) / fit.free.sum()))
    if best in (0, 2 * half):
        return Delays(delay=0.0, error=0.0, joints={}, edge=float(grid[best]), power=left)
    return _settled(fit, float(grid[best]), float(grid[1] - grid[0]), left) or unknown


def _settled(fit: ShiftedFit, start: float, farthest: float, left: float) -> Delays | None:
    """From the valley at ``start``: all joints together, then each, then together by how well they tell time."""
    likely = fit.free / np.maximum(fit.power(start), 1e-300)
    common = newton(lambda at: likely @ fit.slopes(at), start, farthest)
    if common is None:
        return None
    own = {}
    for k, j in enumerate(fit.joints):
        at = newton(lambda x, k=k: fit.slopes(x, k)[0], common, farthest)  # type: ignore[misc]
        if at is not None and 0.0 < (error := _error(fit.slopes_without(at, k)[:, 0])) < np.inf:
            own[j] = (float(at), error)
    if not own:
        return None
    # inverse variances over curvatures; an error of twenty blocks is uncertain itself, so that the usual one is added
    # and none decides alone
    usual, curvature = float(np.median([error for _, error in own.values()])), fit.slopes(common)[:, 1]
    errors = np.array([own[j][1] if j in own else np.inf for j in fit.joints])
    weights = np.where(curvature > 0.0, 1.0 / (errors**2 + usual**2) / np.where(curvature > 0.0, curvature, 1.0), 0.0)
    d = newton(lambda at: weights @ fit.slopes(at), common, farthest)
    if d is None:
        return None
    error = _error(weights @ fit.slopes_without(d))
    if len(own) > 1:  # joints that disagree by more than their noise widen the error
        each = (weights[:, None] * fit.slopes(d))[weights > 0.0]
        error = max(error, _error(each.sum(axis=0) - each))
    size, speed = (np.std(fit.torque(d, order), axis=0) for order in range(2))
    change = float((speed / np.maximum(size, 1e-300)).max())
    return Delays(delay=float(d), error=error, joints=own, change=change, power=left)


def _error(without: Array) -> float:
    """Standard error, from slopes (parts, 2) without one part each; infinite where a part alone decides."""
    first, second = without.T
    return float(np.std(-first / second) * np.sqrt(len(without) - 1.0)) if (second > 0.0).all() else np.inf
