"""Delay of torque against position, to a fraction of a sample: told, never applied.

Positive: the torque comes late, τ_log(t) = τ(t − d). The rows of each joint, W(t), explain τ_log(t + d) best at the
true d: the residual r = (1 − P) τ_log(t + d), P the projection on W's columns, is least there. A scan finds the valley
that fits all joints, Newton's method its bottom for each; τ_log is shifted as a curve, never expanded in d, since its
noise holds frequencies at which an expansion fails long before the motion's. Inertias need not be known. The error is
what leaving out each of twenty blocks of time changes (jackknife), so that residuals may be correlated and fits may
follow them; joints that disagree by more than their errors widen that of the mean (DerSimonian and Laird 1986).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from exciter.experiment.quality.finding import Finding, note, warning
from exciter.experiment.quality.smooth import Smooth
from exciter.experiment.quality.tally import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

BLOCKS = 20
ENOUGH = 2.0  # independent samples per column: with fewer a fit follows any delay
REACH = 0.3  # [s] that is scanned on either side; clocks that differ by more show in the motion itself
PART = 0.1  # of the longest piece, at most: rows that a shift would push over its end are left out
PER_PERIOD = 4.0  # points of the scan per period of the cut-off
STEPS = 20
REVERSAL = 7  # rows, four per period of the cut-off
SINGULAR = 1e-8  # relative singular value that is none
FITS = 0.5  # of the residual's power without shift: a valley so much lower is no chance


@dataclass(frozen=True, eq=False)
class Delay:
    """delay, error [s] of one joint; change [1/s]: of its torque per second, over the torque, both RMS."""

    delay: float
    error: float
    change: float


@dataclass(frozen=True, eq=False)
class Delays:
    """Of the joints (by number) that tell one. edge [s]: the end of the scan, where the best fit lies beyond it;
    power: what the best fit leaves of the residual's power without shift."""

    joints: dict[int, Delay]
    edge: float | None = None
    power: float = 1.0


def features(smooth: Smooth) -> Array:
    """(N, f) without a model: weight, friction and inertia of every joint as functions of its own q, q̇, q̈."""
    m = smooth.motion
    moving = np.ptp(m.q, axis=0) > 0
    q, qd, qdd = m.q[:, moving], m.qd[:, moving], m.qdd[:, moving]
    return np.hstack([np.ones((len(q), 1)), np.sin(q), np.cos(q), qd, np.sign(qd), qdd])


def away_from_reversals(qd: Array) -> NDArray[np.bool_]:
    """(N,) without the rows around changes of direction, where the filter rounds the torque but not sign(q̇)."""
    direction = np.sign(qd)
    return np.asarray(maximum_filter1d(direction, REVERSAL) == minimum_filter1d(direction, REVERSAL))


class Shifted:
    """The rows of one joint that explain its torque, and that torque at any delay up to ``reach`` [s]."""

    def __init__(self, w: Array, smooth: Smooth, j: int, reach: float) -> None:
        time, piece = smooth.motion.time, smooth.piece
        self._parts = []
        rows = []
        inner = away_from_reversals(smooth.motion.qd[:, j])
        for number, course in enumerate(smooth.courses):
            first, last = course.x[0] + reach, course.x[-1] - reach
            at = np.flatnonzero(inner & (piece == number) & (time >= first) & (time <= last))
            if at.size:
                rows.append(at)
                self._parts.append((time[at], course, j))
        kept = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
        w = w[kept]
        norms = np.linalg.norm(w, axis=0)
        u, s, _ = np.linalg.svd(w[:, norms > 0] / norms[norms > 0], full_matrices=False)
        self.basis: Array = u[:, s > SINGULAR * s[0]] if s.size else u

    def __len__(self) -> int:
        return len(self.basis)

    def torque(self, d: float, order: int = 0) -> Array:
        """(N,) τ_log(t + d), or a derivative of it."""
        return np.concatenate([course(time + d, order)[:, j] for time, course, j in self._parts])

    def power(self, d: float) -> float:
        """Σ r²."""
        tau = self.torque(d)
        r = tau - self.basis @ (self.basis.T @ tau)
        return float(r @ r)

    def newton(self, d: float) -> tuple[float, float]:
        """Step towards the least residual, and the curvature ½ ∂²Σr²/∂d² there."""
        return _newton(self._derivatives(d), self.basis)

    def _derivatives(self, d: float) -> Array:
        return np.column_stack([self.torque(d, order) for order in range(3)])

    def error(self, d: float) -> float:
        """Jackknife over blocks of time: every block is left out once, fit and delay are found anew."""
        x, u = self._derivatives(d), self.basis
        projected = u.T @ x
        without = []
        for block in np.array_split(np.arange(len(u)), BLOCKS):
            left = np.ones(len(u), dtype=bool)
            left[block] = False
            gram = np.eye(u.shape[1]) - u[block].T @ u[block]
            fit = np.linalg.lstsq(gram, projected - u[block].T @ x[block], rcond=SINGULAR)[0]
            step, curvature = _newton((x - u @ fit)[left])
            if curvature <= 0.0:
                return np.inf
            without.append(step)
        return float(np.std(without) * np.sqrt(BLOCKS - 1.0))


def _newton(x: Array, basis: Array | None = None) -> tuple[float, float]:
    """From r, ∂r/∂d, ∂²r/∂d² (N, 3); their part within the basis does not count."""
    r, g, bend = (x if basis is None else x - basis @ (basis.T @ x)).T
    curvature = float(g @ g + r @ bend)
    return (-float(g @ r) / curvature if curvature > 0.0 else 0.0), curvature


def joint_delay(shifted: Shifted, start: float, farthest: float) -> Delay | None:
    """Newton from ``start``; None where it does not settle within ``farthest`` [s] of it."""
    d = start
    for _ in range(STEPS):
        step, curvature = shifted.newton(d)
        d += step
        if curvature <= 0.0 or abs(d - start) > farthest:
            return None
        if abs(step) < 1e-9:
            break
    error = shifted.error(d)
    if not 0.0 < error < farthest:
        return None
    size, speed = (float(np.std(shifted.torque(d, order))) for order in range(2))
    return Delay(d, error, speed / max(size, 1e-300))


def delays_of(smooth: Smooth, rows: Array | None) -> Delays:
    """From rows (N, n, b) of a regressor, or of ``features``."""
    if smooth.effort is None or len(smooth) < 10 * BLOCKS:
        return Delays({})
    longest = max(float(course.x[-1] - course.x[0]) for course in smooth.courses)
    reach = min(REACH, PART * longest)
    joints = {}
    for j in map(int, np.flatnonzero(np.ptp(smooth.effort, axis=0) > 0)):
        w = features(smooth) if rows is None else rows[:, j]
        if ENOUGH * np.count_nonzero(np.linalg.norm(w, axis=0)) <= smooth.independent:
            one = Shifted(w, smooth, j, reach)
            if len(one) >= 2 * BLOCKS + one.basis.shape[1]:
                joints[j] = one
    if not joints:
        return Delays({})
    half = int(np.ceil(PER_PERIOD * smooth.cutoff * reach))
    grid = np.linspace(-reach, reach, 2 * half + 1)
    power = np.array([[one.power(d) for d in grid] for one in joints.values()])
    free = np.array([max(smooth.independent - one.basis.shape[1], 1.0) for one in joints.values()])
    total = free @ np.log(np.maximum(power, 1e-300))  # joints are as likely as their residuals are small
    best = int(np.argmin(total))
    left = float(np.exp((total[best] - total[half]) / free.sum()))
    if best in (0, 2 * half):
        return Delays({}, float(grid[best]), left)
    found = {j: joint_delay(one, grid[best], 2.0 * (grid[1] - grid[0])) for j, one in joints.items()}
    return Delays({j: delay for j, delay in found.items() if delay is not None}, None, left)


def together(delays: Array, errors: Array) -> tuple[float, float]:
    """Weighted mean and its error [s] of joints that may disagree by more than their own errors."""
    weights = 1.0 / errors**2
    mean = float(delays @ weights / weights.sum())
    excess = float(weights @ (delays - mean) ** 2) - (len(delays) - 1)
    spare = float(weights.sum() - (weights**2).sum() / weights.sum())
    between = max(excess, 0.0) / spare if spare > 0 else 0.0
    weights = 1.0 / (errors**2 + between)
    return float(delays @ weights / weights.sum()), float(1.0 / np.sqrt(weights.sum()))


def delay(evidence: Evidence) -> Iterator[Finding]:
    """Per joint, and of all of them as the mean weighted by their errors."""
    found, limits = evidence.delays, evidence.thresholds
    if found is None:
        return
    if found.edge is not None and found.power < FITS:
        words = (
            f"torque and position fit best {1e3 * abs(found.edge):.3g} ms apart, the farthest that was tried, the "
            f"torque {'after' if found.edge > 0 else 'before'} the position: are both of the same motion and clock?"
        )
        yield warning("delay", words, edge=found.edge, residual=found.power)
    if not found.joints:
        return
    known = found.joints
    found_delays = np.array([value.delay for value in known.values()])
    mean, error = together(found_delays, np.array([value.error for value in known.values()]))
    interval = evidence.survey.timing.interval
    effect = abs(mean) * max(value.change for value in known.values())
    numbers = {
        "delay": mean,
        "error": error,
        "samples": mean / interval,
        "per_joint": {evidence.joints[j]: value.delay for j, value in known.items()},
        "per_joint_error": {evidence.joints[j]: value.error for j, value in known.items()},
    }
    words = (
        f"the torque comes {1e3 * abs(mean):.3g} ± {1e3 * error:.2g} ms {'after' if mean >= 0 else 'before'} the "
        f"position ({mean / interval:+.2g} samples)"
    )
    sure = abs(mean) > max(limits.delay_errors * error, limits.delay_samples * interval)
    if sure and effect > limits.delay_effect:
        words += (
            f": it changes the torque by {100 * effect:.2g} %; nothing is shifted by itself (a filter at the source "
            "and friction before sliding look the same)"
        )
        yield warning("delay", words, **numbers)
    else:
        yield note("delay", words, **numbers)
