"""Outliers: single samples far from both neighbours, and steps that no motion makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from exciter.experiment.quality.finding import Finding, note, problem, warning
from exciter.experiment.quality.tally import Array
from exciter.experiment.recording.recording import Recording

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

SIGMA = 1.4826  # standard deviation over median absolute deviation, Gaussian
QUANTA = 5.0  # steps of the channel that a spike has at least
RELATIVE = 1e-3  # of the range that a spike has at least
AROUND = np.concatenate([np.arange(-16, -1), np.arange(2, 17)])  # samples that tell how rough it is there
WRAP = 0.02  # relative to a turn


class Spikes:
    """Isolated outliers and impossible steps of position per channel: how many, and the first [s].

    fastest (n,): speed beyond which a step is none of motion; jump: least part of the joint's range that it has.
    """

    def __init__(self, deviations: float, fastest: Array | None, jump: float) -> None:
        self._deviations, self._fastest, self._jump = deviations, fastest, jump
        self.count: dict[tuple[str, int], int] = {}
        self.first: dict[tuple[str, int], float] = {}
        self.jumps: dict[int, int] = {}
        self.jump: dict[int, tuple[float, float]] = {}

    def see(self, piece: Recording, old: int) -> None:
        if len(piece) < 3:
            return
        for name in piece.signals:
            at = isolated(getattr(piece, name), self._deviations)
            at[: max(old - 1, 0)] = False  # the last old sample had no right neighbour before
            for j in np.flatnonzero(at.any(axis=0)):
                key = (name, int(j))
                self.count[key] = self.count.get(key, 0) + int(at[:, j].sum())
                self.first.setdefault(key, float(piece.time[np.flatnonzero(at[:, j])[0]]))
            if name == "q":
                self._see_jumps(piece, max(old - 1, 0), at)

    def _see_jumps(self, piece: Recording, old: int, spike: NDArray[np.bool_]) -> None:
        step, dt = np.diff(piece.q[old:], axis=0), np.diff(piece.time[old:])
        calm = ~(spike[old:-1] | spike[old + 1 :])
        if self._fastest is None:
            far = np.zeros(step.shape, dtype=bool)
        else:
            far = np.abs(step) > self._fastest * np.maximum(dt, 1e-12)[:, None]
            far &= (dt > 0)[:, None] & (np.abs(step) > self._jump * _usual_range(piece.q))
        turn = np.abs(np.abs(step) - 2.0 * np.pi) < WRAP * 2.0 * np.pi
        far = (far | turn) & calm
        for j in np.flatnonzero(far.any(axis=0)):
            at = int(np.flatnonzero(far[:, j])[0])
            self.jumps[int(j)] = self.jumps.get(int(j), 0) + int(far[:, j].sum())
            self.jump.setdefault(int(j), (float(piece.time[old + at]), float(step[at, j])))


def isolated(x: Array, deviations: float) -> NDArray[np.bool_]:
    """(N, n): samples that stand out from both neighbours on the same side, by ``deviations`` robust standard
    deviations of what a sample differs from its neighbours' mean."""
    out = np.zeros(x.shape, dtype=bool)
    if len(x) < 3:
        return out
    before, after = x[1:-1] - x[:-2], x[1:-1] - x[2:]
    for j in range(x.shape[1]):
        size = np.abs(np.diff(x[:, j]))
        moving = size[(size > 0) & np.isfinite(size)]
        middle = np.abs(before[:, j] + after[:, j])[np.isfinite(before[:, j] + after[:, j])]
        if moving.size < 3 or not middle.size:
            continue
        floor = max(QUANTA * float(np.quantile(moving, 0.01)), RELATIVE * float(_usual_range(x[:, j])))
        threshold = max(deviations * SIGMA * 0.5 * float(np.median(middle)), floor)
        least = np.minimum(np.abs(before[:, j]), np.abs(after[:, j]))
        at = np.flatnonzero((before[:, j] * after[:, j] > 0) & (least > threshold))
        around = np.abs(before[:, j] + after[:, j])[np.clip(at[:, None] + AROUND, 0, len(least) - 1)]
        local = deviations * SIGMA * 0.5 * np.nanmedian(around, axis=1) if at.size else np.zeros(0)
        out[1 + at[least[at] > local], j] = True
    return out


def _usual_range(x: Array) -> Array:
    """Between the first and the last hundredth of the values, per column; 0 where there are none."""
    if not np.isfinite(x).any(axis=0).all():
        return np.zeros(x.shape[1:])
    low, high = np.nanquantile(x, (0.01, 0.99), axis=0)
    return np.asarray(high - low)


def outliers(evidence: Evidence) -> Iterator[Finding]:
    """Spikes of any channel; steps of a position that are no motion."""
    spikes, samples = evidence.survey.spikes, evidence.survey.timing.samples
    for (name, j), count in spikes.count.items():
        words = (
            f"{count} single samples of {name} stand far off their neighbours, the first at "
            f"{spikes.first[name, j]:.6g} s; repair: {{spikes: true}} replaces them"
        )
        numbers = {"signal": name, "count": count, "share": count / samples, "at": spikes.first[name, j]}
        grave = name == "q" or count / samples > evidence.thresholds.spike_share
        yield (warning if grave else note)("spikes", words, evidence.joints[j], **numbers)
    if evidence.degrees:
        return
    for j, count in spikes.jumps.items():
        at, size = spikes.jump[j]
        turn = abs(abs(size) - 2.0 * np.pi) < WRAP * 2.0 * np.pi
        cause = "the angle wraps around" if turn else "an encoder jumped, or samples are missing without a gap in time"
        words = f"{count} steps of the position are no motion, the first of {size:.4g} after {at:.6g} s: {cause}"
        yield problem("jumps", words, evidence.joints[j], count=count, at=at, size=size)
