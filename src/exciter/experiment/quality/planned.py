"""Planned against executed: how far the joints were from where they were sent, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import fftconvolve

from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.quality.finding import Finding, note, warning
from exciter.experiment.quality.tally import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

CLOSED = 1e-3  # of the range: start and end of a planned motion that repeats
REFINED = 20  # steps of Gauss–Newton
COARSE = 0.02  # [s]


def planned(evidence: Evidence) -> Iterator[Finding]:
    """RMS and worst difference per joint, at the shift in time that fits best."""
    curve, limits = evidence.planned, evidence.thresholds
    if curve is None:
        return
    time = np.concatenate([window.time for window in evidence.windows])
    q = np.concatenate([window.q for window in evidence.windows])
    good = np.isfinite(q).all(axis=1)
    time, q = time[good] - evidence.survey.timing.first, q[good]
    grid, coarse = evidence.survey.coarse.positions()
    shift = refined(curve, time, q, _shift(curve, grid - evidence.survey.timing.first, coarse))
    target, inside = _at(curve, time - shift)[0], _inside(curve, time - shift)
    if not inside.any():
        return
    difference = (q - target)[inside]
    span = np.ptp(target[inside], axis=0)
    worst = np.abs(difference).max(axis=0)
    rms = np.sqrt((difference**2).mean(axis=0))
    words = f"the recorded motion fits the planned one best {abs(shift):.4g} s {'later' if shift >= 0 else 'earlier'}"
    yield note("planned motion", words, shift=float(shift), rms=rms.tolist(), worst=worst.tolist())
    for j, joint in enumerate(evidence.joints):
        share = rms[j] / max(span[j], 1e-12)
        if share > limits.planned:
            words = (
                f"it is off the planned position by {rms[j]:.3g} RMS, {worst[j]:.3g} at worst ({100 * share:.0f} % of "
                f"the planned range); {'another motion?' if share > limits.planned_other else 'a loose controller?'}"
            )
            numbers = {"rms": float(rms[j]), "worst": float(worst[j]), "share": float(share)}
            yield warning("planned motion", words, joint, **numbers)


def _repeats(curve: Curve) -> bool:
    ends = curve.motion(np.array([curve.start, curve.end]))
    span = np.maximum(np.ptp(curve.motion(np.linspace(curve.start, curve.end, 200)).q, axis=0), 1e-9)
    return bool((np.abs(ends.q[1] - ends.q[0]) < CLOSED * span).all())


def _at(curve: Curve, time: Array) -> tuple[Array, Array]:
    """Planned q and q̇ (N, n) at times from its start; a closed motion is repeated, another one rests at its ends."""
    length = curve.end - curve.start
    local = np.mod(time, length) if _repeats(curve) else np.clip(time, 0.0, length)
    order = np.argsort(local, kind="stable")
    motion = curve.motion(curve.start + local[order])
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return motion.q[back], motion.qd[back]


def _inside(curve: Curve, time: Array) -> np.ndarray:
    return np.full(len(time), True) if _repeats(curve) else (time >= 0.0) & (time <= curve.end - curve.start)


def _shift(curve: Curve, time: Array, q: Array) -> float:
    """[s] by cross-correlation of velocities on a coarse grid; joints weigh by their own motion."""
    length = curve.end - curve.start
    if len(time) < 8:
        return 0.0
    grid = np.arange(time[0], time[-1], COARSE)
    seen = np.gradient(np.column_stack([np.interp(grid, time, column) for column in q.T]), COARSE, axis=0)
    local = np.arange(0.0, length, COARSE)
    wanted = np.gradient(_at(curve, local)[0], COARSE, axis=0)
    scale = np.maximum(wanted.std(axis=0), 1e-9)
    score = sum(fftconvolve(s / c, (w / c)[::-1]) for s, w, c in zip(seen.T, wanted.T, scale, strict=True))
    best = int(np.argmax(score)) - (len(local) - 1)
    shift = float(grid[0] + best * COARSE)
    return _nearest(shift, length) if _repeats(curve) else shift


def _nearest(shift: float, length: float) -> float:
    """The same phase, nearest to zero."""
    return float((shift + 0.5 * length) % length - 0.5 * length)


def refined(curve: Curve, time: Array, q: Array, shift: float) -> float:
    """Gauss–Newton on Σ (q − q_planned(t − shift))²."""
    if len(time) > 20_000:
        time, q = time[:: len(time) // 20_000], q[:: len(time) // 20_000]
    for _ in range(REFINED):
        target, speed = _at(curve, time - shift)
        use = _inside(curve, time - shift)
        slope = float((speed[use] ** 2).sum())
        if slope == 0.0:
            break
        step = -float((speed[use] * (q - target)[use]).sum()) / slope
        shift += step
        if abs(step) < 1e-9:
            break
    return shift
