"""Delay of torque against position, to a fraction of a sample: told, never applied.

Positive: the torque comes late, τ_log(t) = τ(t − d). The rows of each joint, W(t), explain τ_log(t + d) best at the
true d: the residual r = (1 − P) τ_log(t + d), P the projection on W's columns, is least there. A scan finds the valley
that fits all joints, Newton's method its bottom. τ_log is shifted as a curve, never expanded in d: its noise holds
frequencies at which an expansion fails long before the motion's, and would pull d towards zero. Inertias need not be
known. The error is the larger of two jackknives: over blocks of time, so that residuals may be correlated and fits
may follow them, and over joints, which may disagree by more than their noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import butter

from exciter.experiment.quality.shifted_fit import BLOCKS, ShiftedFit
from exciter.experiment.quality.smooth import Smooth
from exciter.experiment.quality.words import number, percent, span
from exciter.experiment.recording.about import AnalogFilter
from exciter.notes import Note, note, warning
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

ENOUGH = 2.0  # independent samples per column: with fewer a fit follows any delay
REACH = 0.3  # [s] that is scanned on either side; clocks that differ by more show in the motion itself
PART = 0.1  # of the longest piece, at most: rows that a shift would push over its end are left out
PER_PERIOD = 4.0  # points of the scan per period of the cut-off
STEPS = 20
EXPLAINED = 0.1  # of the delay that a filter explains: fast motion is delayed a little more
DOUBTFUL = 2.0  # errors: such a delay is as well none
BEYOND_DOUBT = 10.0  # errors: such a delay is told even if it explains little
FITS = 0.5  # of the residual's power without shift: a valley so much lower is no chance


@dataclass(frozen=True, eq=False)
class Delays:
    """delay, error [s], common to all joints; joints: the same of each that tells one, by number.

    change [1/s]: of the torque per second, over the torque, both RMS, where it is largest. edge [s]: the end of the
    scan, where the best fit lies beyond it; power: what the best fit leaves of the residual's power without shift.
    """

    delay: float
    error: float
    joints: dict[int, tuple[float, float]]
    change: float = 0.0
    edge: float | None = None
    power: float = 1.0

    @property
    def known(self) -> bool:
        return 0.0 < self.error < np.inf

    def why_not(self) -> str:
        """What kept it from being known."""
        if self.edge is not None:
            return f"the best fit lies {1e3 * abs(self.edge):.3g} ms or more off"
        return "too few samples, or the torques hardly depend on it"


def features(smooth: Smooth) -> Array:
    """(N, f) without a model: weight, friction and inertia of every joint as functions of its own q, q̇, q̈."""
    m = smooth.motion
    moving = np.ptp(m.q, axis=0) > 0
    q, qd, qdd = m.q[:, moving], m.qd[:, moving], m.qdd[:, moving]
    return np.hstack([np.ones((len(q), 1)), np.sin(q), np.cos(q), qd, np.sign(qd), qdd])


def with_friction(w: Array, smooth: Smooth, j: int) -> Array:
    """Rows w (N, f) of joint j with dry friction as the filter sees it.

    The torque's steps are rounded by the filter, so columns along sign(q̇) are rounded alike. One more column lets
    the joint's friction turn early or late: joints stick or wind up before they slide, and that is no delay.
    """
    w = w.copy()
    for qd, direction in zip(smooth.motion.qd.T, smooth.direction.T, strict=True):
        step = np.sign(qd)
        factor = step @ w / max(float(step @ step), 1.0)
        along = (factor != 0.0) & (np.abs(w - np.outer(step, factor)).max(axis=0) <= 1e-9 * np.abs(factor))
        w[:, along] = np.outer(direction, factor[along])
    return np.column_stack([w, smooth.turning[:, j]])


def jackknife(steps: Array) -> float:
    """Standard error of an estimate, from what it were without one part each."""
    return float(np.std(steps) * np.sqrt(len(steps) - 1.0))


def newton(slopes: Callable[[float], Array], start: float, farthest: float) -> float | None:
    """Where slopes(d) = (½ ∂/∂d, ½ ∂²/∂d²) of a sum of squares says it is least, within ``farthest`` of the start."""
    d = start
    for _ in range(STEPS):
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
    if smooth.effort is None or len(smooth) < 10 * BLOCKS:
        return unknown
    reach = min(REACH, PART * max(float(course.x[-1] - course.x[0]) for course in smooth.courses))
    rows = {}
    for j in map(int, np.flatnonzero(np.ptp(smooth.effort, axis=0) > 0)):
        w = with_friction(features(smooth) if regressor is None else regressor[:, j], smooth, j)
        if ENOUGH * np.count_nonzero(np.linalg.norm(w, axis=0)) <= smooth.independent:
            rows[j] = w
    fit = ShiftedFit(rows, smooth, reach, period)
    if not fit.joints:
        return unknown
    half = int(np.ceil(PER_PERIOD * smooth.cutoff * reach))
    grid = np.linspace(-reach, reach, 2 * half + 1)
    powers = np.array([fit.power(d) for d in grid])
    total = np.log(np.maximum(powers, 1e-300)) @ fit.free  # −2 log likelihood, the noise of each joint unknown
    best = int(np.argmin(total))
    left = float(np.exp((total[best] - total[half]) / fit.free.sum()))
    if best in (0, 2 * half):
        return Delays(0.0, 0.0, {}, edge=float(grid[best]), power=left)
    return _settled(fit, float(grid[best]), float(grid[1] - grid[0]), left) or unknown


def _settled(fit: ShiftedFit, start: float, farthest: float, left: float) -> Delays | None:
    """From the valley at ``start``: all joints together, as likely as their residuals are small, then each; then
    together again, those that tell time well counting most."""
    likely = fit.free / np.maximum(fit.power(start), 1e-300)
    common = newton(lambda at: likely @ fit.slopes(at), start, farthest)
    if common is None:
        return None
    own = {}
    for k, j in enumerate(fit.joints):
        at = newton(lambda x, k=k: fit.slopes(x)[k], common, farthest)  # type: ignore[misc]
        if at is not None and 0.0 < (error := _error(fit.slopes_without(at, k)[:, 0])) < np.inf:
            own[j] = (float(at), error)
    if not own:
        return None
    weights = _weights(fit, own, common)
    d = newton(lambda at: weights @ fit.slopes(at), common, farthest)
    if d is None:
        return None
    errors = [_error(weights @ fit.slopes_without(d))]
    if len(own) > 1:  # joints that disagree by more than their noise widen the error
        each = (weights[:, None] * fit.slopes(d))[weights > 0.0]
        errors.append(_error(each.sum(axis=0) - each))
    size, speed = (np.std(fit.torque(d, order), axis=0) for order in range(2))
    return Delays(float(d), max(errors), own, float((speed / np.maximum(size, 1e-300)).max()), None, left)


def _weights(fit: ShiftedFit, own: Mapping[int, tuple[float, float]], d: float) -> Array:
    """(joints,) of sums of slopes: inverse variances over curvatures. An error of twenty blocks is uncertain itself, so
    that the usual one is added and none decides alone."""
    usual = float(np.median([error for _, error in own.values()]))
    curvature = fit.slopes(d)[:, 1]
    weights = np.zeros(len(fit.joints))
    for k, j in enumerate(fit.joints):
        if j in own and curvature[k] > 0.0:
            weights[k] = 1.0 / (own[j][1] ** 2 + usual**2) / curvature[k]
    return weights


def _error(without: Array) -> float:
    """Of slopes (parts, 2) without one part each; infinite where a part alone decides."""
    first, second = without.T
    return jackknife(-first / second) if (second > 0.0).all() else np.inf


def delay(evidence: Evidence) -> Iterator[Note]:
    """Of all joints together, and of each."""
    found, limits = evidence.delays, evidence.thresholds
    if found is None:
        return
    if found.edge is not None and found.power < FITS:
        words = (
            f"torque and position fit best {1e3 * abs(found.edge):.3g} ms apart, the farthest that was tried, the "
            f"torque {'after' if found.edge > 0 else 'before'} the position: are both of the same motion and clock?"
        )
        yield warning("delay", words, edge=found.edge, residual=found.power)
    if not found.known:
        return
    mean, error = found.delay, found.error
    interval = evidence.survey.timing.interval
    effect = abs(mean) * found.change
    numbers = {
        "delay": mean,
        "error": error,
        "samples": mean / interval,
        "per_joint": {evidence.joints[j]: value for j, (value, _) in found.joints.items()},
        "per_joint_error": {evidence.joints[j]: value for j, (_, value) in found.joints.items()},
    }
    where = "after" if mean >= 0 else "before"
    words = (
        f"{number(1e3 * abs(mean))} ± {number(1e3 * error, 2)} ms {where} the position ({mean / interval:+.2g} samples)"
    )
    if abs(mean) > DOUBTFUL * error:
        words = f"the torque comes {words}"
    else:
        words = f"none shows between torque and position: the torque fits best {words}"
    sure = abs(mean) > max(limits.delay_errors * error, limits.delay_samples * interval)
    if evidence.regressor is None:  # what q, q̇, q̈ of each joint alone cannot explain may look like a delay
        words += ", roughly: without a robot coupled motion is not understood"
        sure &= found.power < FITS
    beyond_doubt = abs(mean) > BEYOND_DOUBT * error
    given = evidence.survey.about.filter
    expected = 0.0 if given is None else group_delay(given)
    allowed = max(limits.delay_errors * error, limits.delay_samples * interval, EXPLAINED * expected)
    if given is not None and abs(mean - expected) < allowed:
        words += f", as the filter given explains (expected {span(expected)})"
        yield note("delay", words, expected=expected, **numbers)
    elif sure and effect > limits.delay_effect and (beyond_doubt or found.power < limits.delay_power):
        words += f": it changes the torque by {percent(effect)}; nothing is shifted by itself"
        if given is None:
            words += "; if an analogue filter did it, say filter: {order: …, cutoff: …}"
        else:
            words += f"; the filter given explains {span(expected)} of it"
        yield warning("delay", words, expected=expected, **numbers)
    else:
        yield note("delay", words, expected=expected, **numbers)


def group_delay(given: AnalogFilter) -> float:
    """[s] of slow signals through a Butterworth filter: −d arg H/dω at ω = 0."""
    _, denominator = butter(given.order, 2.0 * np.pi * given.cutoff, analog=True)
    return float(denominator[-2] / denominator[-1])
