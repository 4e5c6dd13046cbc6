"""Delay of torque against position, to a fraction of a sample: told, never applied.

Positive: the torque comes late, τ_log(t) = τ(t − d). The rows of each joint, W(t), explain τ_log(t + d) best at the
true d: the residual r = (1 − P) τ_log(t + d), P the projection on W's columns, is made least by Newton's method.
Inertias need not be known. Its error comes from sums of r·∂r/∂d over blocks of time, so that residuals may be
correlated; joints that disagree by more than their errors widen that of the mean (DerSimonian and Laird 1986).
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
STEPS = 20
REVERSAL = 7  # rows, four per period of the cut-off
FARTHEST = 0.25  # periods of the cut-off: beyond it Taylor's series of the torque says nothing


@dataclass(frozen=True, eq=False)
class Delay:
    """delay, error [s] of one joint; change [1/s]: of its torque per second, over the torque, both RMS."""

    delay: float
    error: float
    change: float


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


def joint_delay(w: Array, smooth: Smooth, j: int) -> Delay | None:
    """From rows w (N, f) of joint j; None where its torque says nothing of time."""
    tau, rate, bend = (x[:, j] for x in (smooth.effort, smooth.effort_rate, smooth.effort_bend) if x is not None)
    own, speed = float(np.std(tau)), float(np.std(rate))
    kept = away_from_reversals(smooth.motion.qd[:, j])
    w, tau, rate, bend = w[kept], tau[kept], rate[kept], bend[kept]
    if len(w) < 2 * BLOCKS + w.shape[1]:
        return None
    norms = np.linalg.norm(w, axis=0)
    u, s, _ = np.linalg.svd(w[:, norms > 0] / norms[norms > 0], full_matrices=False)
    basis = u[:, s > 1e-8 * s[0]] if s.size else u

    def rest(x: Array) -> Array:
        return np.asarray(x - basis @ (basis.T @ x))

    tau, rate, bend = rest(tau), rest(rate), rest(bend)
    d, curvature = 0.0, 0.0
    for _ in range(STEPS):
        r, g = tau + d * rate + 0.5 * d**2 * bend, rate + d * bend
        curvature = float(g @ g + r @ bend)
        if curvature <= 0.0:
            return None
        step = -float(g @ r) / curvature
        d += step
        if abs(d) > FARTHEST / smooth.cutoff:
            return None
        if abs(step) < 1e-12:
            break
    r, g = tau + d * rate + 0.5 * d**2 * bend, rate + d * bend
    score = np.add.reduceat(g * r, np.linspace(0, len(r), BLOCKS, endpoint=False).astype(int))
    centred = score - score.mean()
    error = float(np.sqrt((centred**2).sum() * BLOCKS / (BLOCKS - 1))) / curvature
    return Delay(d, error, speed / max(own, 1e-300))


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
    smooth, rows, limits = evidence.smooth, evidence.regressor, evidence.thresholds
    if smooth is None or smooth.effort is None or len(smooth) < 10 * BLOCKS:
        return
    found = {}
    for j in np.flatnonzero(np.ptp(smooth.effort, axis=0) > 0):
        w = features(smooth) if rows is None else rows[:, j]
        if ENOUGH * np.count_nonzero(np.linalg.norm(w, axis=0)) <= smooth.independent:
            found[int(j)] = joint_delay(w, smooth, int(j))
    known = {j: value for j, value in found.items() if value is not None and value.error > 0}
    if not known:
        return
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
