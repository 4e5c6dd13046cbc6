"""Planned against executed: how far the joints were from where they were sent, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.signal import fftconvolve, find_peaks

from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.quality.evidence import Evidence
from exciter.experiment.quality.words import listed, number, percent, time_span, unit
from exciter.notes import Note, note, problem, warning
from exciter.typing import Array

CLOSED = 1e-3  # of the range: start and end of a planned motion that repeats
REFINED = 20  # steps of Gauss–Newton
COARSE = 0.02  # [s]
FEW, MANY = 1_000, 10_000  # samples that shifts are compared on, and the best is refined on
CANDIDATES = 8  # best shifts of the correlation that are tried
EQUALLY = 0.05  # relative: RMS differences that are no better or worse than another
NOTHING = 0.01  # sampling intervals: a shift that is none
SMALL = 1e-4  # of a joint's range: a difference that is none
OVERLAP = 0.5  # of the shorter of log and plan: with less a shift fits by chance
EXCHANGED = 0.3  # of the RMS difference: what is left when two joints that were exchanged change back


@dataclass(frozen=True, eq=False)
class Plan:
    """A planned motion as a function of time from its start; a closed one is repeated."""

    curve: Curve

    @cached_property
    def length(self) -> float:
        return self.curve.end - self.curve.start

    @cached_property
    def repeats(self) -> bool:
        ends = self.curve.motion(np.array([self.curve.start, self.curve.end]))
        return bool((np.abs(ends.q[1] - ends.q[0]) < CLOSED * self.range).all())

    @cached_property
    def range(self) -> Array:
        """(n,) of the planned positions."""
        q = self.curve.motion(np.linspace(self.curve.start, self.curve.end, 200)).q
        return np.asarray(np.maximum(np.ptp(q, axis=0), 1e-9))

    def at(self, time: Array) -> tuple[Array, Array]:
        """q and q̇ (N, n); one that does not repeat rests at its ends."""
        local = np.mod(time, self.length) if self.repeats else np.clip(time, 0.0, self.length)
        order = np.argsort(local, kind="stable")
        motion = self.curve.motion(self.curve.start + local[order])
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return motion.q[back], motion.qd[back]

    def inside(self, time: Array) -> np.ndarray:
        return np.full(len(time), True) if self.repeats else (time >= 0.0) & (time <= self.length)

    def difference(self, time: Array, q: Array, shift: float) -> Array:
        """(K, n) recorded − planned, where there is a plan."""
        inside = self.inside(time - shift)
        return np.asarray(q[inside] - self.at(time[inside] - shift)[0])


def planned(evidence: Evidence) -> Iterator[Note]:
    """RMS and worst difference per joint, as recorded and at the shift in time that fits best."""
    if evidence.planned is None:
        return
    plan = Plan(evidence.planned)
    start = evidence.survey.timing.first
    time = np.concatenate([window.time for window in evidence.windows]) - start
    q = np.concatenate([window.q for window in evidence.windows])
    good = np.isfinite(q).all(axis=1)
    time, q = time[good], q[good]
    grid, coarse = evidence.survey.coarse.positions()
    shift = best_shift(plan, grid - start, coarse, time, q)
    moved, still = plan.difference(time, q, shift), plan.difference(time, q, 0.0)
    if not len(moved):
        return
    numbers = {"shift": float(shift), "rms": _rms(moved).tolist(), "worst": _worst(moved).tolist()}
    if len(still):
        numbers |= {"unshifted_rms": _rms(still).tolist(), "unshifted_worst": _worst(still).tolist()}
    words = "the recorded motion fits the planned one best "
    if abs(shift) < NOTHING * evidence.survey.timing.interval:
        words += f"without a shift in time: off by {_each(evidence, moved)}"
    else:
        words += f"{time_span(abs(shift))} {'later' if shift > 0 else 'earlier'}: off by {_each(evidence, moved)}"
        words += f"; without a shift by {_each(evidence, still)}" if len(still) else ""
    yield note("planned motion", words, **numbers)
    yield from _far_off(evidence, plan, moved)
    yield from _exchanged(evidence, plan, plan.at(time - shift)[0][plan.inside(time - shift)], moved)


def _far_off(evidence: Evidence, plan: Plan, difference: Array) -> Iterator[Note]:
    limits = evidence.thresholds
    rms, worst = _rms(difference), _worst(difference)
    for j, joint in enumerate(evidence.joints):
        share = float(rms[j] / plan.range[j])
        if share > limits.planned:
            one = unit(evidence, "q", j)
            words = (
                f"it is off the planned position by {number(rms[j])} {one} RMS, {number(worst[j])} {one} at worst "
                f"({percent(share)} of the planned range); "
                f"{'another motion?' if share > limits.planned_other else 'a loose controller, or another motion?'}"
            )
            found = problem if share > limits.planned_other else warning
            yield found("planned motion", words, joint, rms=float(rms[j]), worst=float(worst[j]), share=share)


def _exchanged(evidence: Evidence, plan: Plan, target: Array, difference: Array) -> Iterator[Note]:
    """Two joints that fit each other's plan."""
    q, size = target + difference, _rms(difference)
    for i, j in combinations(np.flatnonzero(size > evidence.thresholds.planned * plan.range).tolist(), 2):
        other = _rms(q[:, [i, j]] - target[:, [j, i]])
        if (other < EXCHANGED * size[[i, j]]).all():
            names = [evidence.joints[i], evidence.joints[j]]
            words = f"{listed(names)} fit the plan with the two exchanged: is their order that of the plan?"
            yield warning("planned motion", words, exchanged=names)


def _each(evidence: Evidence, difference: Array) -> str:
    """RMS and worst: ``shoulder 0.012, 0.034 rad; …``, without what is less than 10⁻⁴ of the range."""
    rms, worst, size = _rms(difference), _worst(difference), evidence.survey.values.range("q")
    each = [
        f"{joint} {number(rms[j], 2)}, {number(worst[j], 2)} {unit(evidence, 'q', j)}"
        for j, joint in enumerate(evidence.joints)
        if worst[j] > SMALL * size[j]
    ]
    return f"{'; '.join(each)} (RMS, worst)" if each else "nothing worth a number"


def _rms(difference: Array) -> Array:
    return np.asarray(np.sqrt((difference**2).mean(axis=0)))


def _worst(difference: Array) -> Array:
    return np.asarray(np.abs(difference).max(axis=0))


# -- the shift in time --------------------------------------------------------------------------------------------


def best_shift(plan: Plan, grid: Array, coarse: Array, time: Array, q: Array) -> float:
    """[s] Of the shifts that fit equally well the smallest; joints weigh by their planned range."""
    many, few = (slice(None, None, max(1, len(time) // most)) for most in (MANY, FEW))
    all_time, all_q, time, q = time[many], q[many], time[few], q[few]
    least = OVERLAP * min(len(time), plan.length / max(float(time[-1] - time[0]), 1e-12) * len(time))
    tried = []
    for start in {0.0, *_candidates(plan, grid, coarse)}:
        shift = refined(plan, time, q, start)
        difference = plan.difference(time, q, shift) / plan.range
        if len(difference) >= max(least, 1.0):
            tried.append((float(np.sqrt((difference**2).mean())), shift))
    if not tried:
        return 0.0
    best = min(tried)[0]
    floor = 1e-6  # of the range: rounding
    shift = min((shift for fit, shift in tried if fit <= (1.0 + EQUALLY) * best + floor), key=abs)
    return refined(plan, all_time, all_q, shift)


def _candidates(plan: Plan, time: Array, q: Array) -> list[float]:
    """[s] Peaks of the cross-correlation of velocities on a coarse grid."""
    if len(time) < 8:
        return []
    grid = np.arange(time[0], time[-1], COARSE)
    seen = np.gradient(np.column_stack([np.interp(grid, time, column) for column in q.T]), COARSE, axis=0)
    local = np.arange(0.0, plan.length, COARSE)
    wanted = np.gradient(plan.at(local)[0], COARSE, axis=0)
    scale = np.maximum(wanted.std(axis=0), 1e-9)
    score = sum(fftconvolve(s / c, (w / c)[::-1]) for s, w, c in zip(seen.T, wanted.T, scale, strict=True))
    peaks = find_peaks(np.pad(score, 1, constant_values=-np.inf))[0] - 1
    peaks = peaks[np.argsort(-np.asarray(score)[peaks])][:CANDIDATES]
    shifts = [float(grid[0] + (peak - (len(local) - 1)) * COARSE) for peak in peaks]
    return [_nearest(shift, plan.length) for shift in shifts] if plan.repeats else shifts


def _nearest(shift: float, length: float) -> float:
    """The same phase, nearest to zero."""
    return float((shift + 0.5 * length) % length - 0.5 * length)


def refined(plan: Plan, time: Array, q: Array, shift: float) -> float:
    """Gauss–Newton on Σ (q − q_planned(t − shift))², joints over their planned range."""
    for _ in range(REFINED):
        use = plan.inside(time - shift)
        if not use.any():
            break
        target, speed = (x / plan.range for x in plan.at(time[use] - shift))
        slope = float((speed**2).sum())
        if slope == 0.0:
            break
        step = -float((speed * (q[use] / plan.range - target)).sum()) / slope
        shift += step
        if abs(step) < 1e-9:
            break
    return shift
