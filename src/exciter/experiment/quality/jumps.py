"""Steps of a position that no motion makes: angles that wrap around, encoders that jump."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from exciter.experiment.quality.tally import Index
from exciter.experiment.quality.words import count, number, unit
from exciter.notes import Note, problem
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

TURN = 2.0 * np.pi
CREDIBLE = 0.5  # [rad] usual steps beyond it leave open which way an angle went
BESIDE = 4.0  # usual largest steps that may be left when the turn is taken out
ROUNDING = 0.01  # [rad] … and something for rounded values of a turn


@dataclass(frozen=True)
class Steps:
    """How many, and of the first: when [s] and how large."""

    count: int
    at: float
    size: float

    def __add__(self, later: Steps) -> Steps:
        return Steps(self.count + later.count, self.at, self.size)


def turns_of(q: Array, turning: NDArray[np.bool_] | None = None) -> Index:
    """(N − 1, n) whole turns by which a position steps from one sample to the next: 0 but where an angle wraps around,
    beside steps that are small, and leaves such a step when they are taken out. turning (n,): joints that can."""
    last = np.maximum.accumulate(np.where(np.isfinite(q), np.arange(len(q))[:, None], 0), axis=0)
    step = np.diff(np.take_along_axis(q, last, axis=0), axis=0)  # over missing values
    whole = np.rint(np.where(np.isfinite(step), step, 0.0) / TURN)
    if not whole.any():
        return whole.astype(np.int64)
    left = np.abs(step - TURN * whole)
    usual = np.nanquantile(np.where(np.isfinite(left), left, 0.0), 0.99, axis=0)
    sure = (left <= BESIDE * usual + ROUNDING) & (usual < CREDIBLE)
    sure &= True if turning is None else turning
    return np.where(sure, whole, 0.0).astype(np.int64)


def unwrapped(q: Array, turning: NDArray[np.bool_] | None = None) -> Array:
    """(N, n) the same angles, continued over whole turns."""
    whole = np.cumsum(turns_of(q, turning), axis=0)
    return np.asarray(q - TURN * np.concatenate([np.zeros((1, q.shape[1])), whole]))


def steps_of(far: NDArray[np.bool_], time: Array, step: Array) -> dict[int, Steps]:
    """By joint, of steps (K, n) that begin at times (K,)."""
    found = {}
    for j in map(int, np.flatnonzero(far.any(axis=0))):
        at = int(np.flatnonzero(far[:, j])[0])
        found[j] = Steps(int(far[:, j].sum()), float(time[at]), float(step[at, j]))
    return found


def jumps(evidence: Evidence) -> Iterator[Note]:
    """Turns first: whoever takes them for spikes or units is misled."""
    for j, turns in evidence.survey.spikes.turns.items():
        words = (
            f"the angle wraps around: {count(turns.count, 'step')} of a turn, the first after {turns.at:.6g} s; "
            "repair: {unwrap: true} makes it continuous"
        )
        numbers = {"count": turns.count, "at": turns.at, "size": turns.size}
        yield problem("jumps", words, evidence.joints[j], **numbers)
    for j, steps in evidence.survey.spikes.jumps.items():
        if j in evidence.foreign_units:
            continue
        words = (
            f"{count(steps.count, 'step')} of the position that no motion makes, the first of {number(steps.size)} "
            f"{unit(evidence, 'q', j)} after {steps.at:.6g} s: an encoder jumped, or samples are missing or repeated "
            "without a gap in time"
        )
        numbers = {"count": steps.count, "at": steps.at, "size": steps.size}
        yield problem("jumps", words, evidence.joints[j], **numbers)
