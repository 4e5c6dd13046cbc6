"""Steps that no motion makes: single samples far from both neighbours, angles that wrap around, encoders that jump."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.experiment.quality.sample_tallies import Index
from exciter.experiment.recording.recording import Recording
from exciter.typing import Array

TURN_RAD = 2.0 * np.pi
LARGEST_STEP_RAD = 0.5  # usual steps beyond it leave open which way an angle went
TURN_REMAINDER_STEPS = 4.0  # usual largest steps that may remain when the turn is taken out
TURN_ROUNDING_RAD = 0.01  # that may remain, too, of rounded values of a turn
WHOLE_ROWS = "rows"  # in place of a signal's name
SIGMA_OVER_MAD = 1.4826  # standard deviation over median absolute deviation, Gaussian
LEAST_SPIKE_QUANTA = 5.0  # steps of the channel
NEIGHBOUR_INTERVALS = 2.5  # usual intervals: beyond it a sample is no neighbour
LEAST_SPIKE_RANGE_SHARE = 1e-3  # of the range
SURROUNDING_SAMPLES = np.concatenate([np.arange(-16, -1), np.arange(2, 17)])  # samples that tell how rough it is there
SPIKE_RETURN_SHARE = 1.0  # of a spike: how far from where it stood the channel may go on
ROW_JOINT_SHARE = 0.5  # of the joints: more at one time are one event


@dataclass(frozen=True)
class PositionSteps:
    """How many, and of the first: when [s] and how large."""

    count: int
    at: float
    size: float

    def __add__(self, later: PositionSteps) -> PositionSteps:
        return PositionSteps(self.count + later.count, self.at, self.size)


def turns_of(q: Array, turning: NDArray[np.bool_] | None = None) -> Index:
    """(N − 1, n) whole turns by which a position steps from one sample to the next: 0 but where an angle wraps around,
    beside steps that are small, and leaves such a step when they are taken out. turning (n,): joints that can."""
    last = np.maximum.accumulate(np.where(np.isfinite(q), np.arange(len(q))[:, None], 0), axis=0)
    step = np.diff(np.take_along_axis(q, last, axis=0), axis=0)  # over missing values
    whole = np.rint(np.where(np.isfinite(step), step, 0.0) / TURN_RAD)
    if not whole.any():
        return whole.astype(np.int64)
    left = np.abs(step - TURN_RAD * whole)
    usual = np.nanquantile(np.where(np.isfinite(left), left, 0.0), 0.99, axis=0)
    sure = (left <= TURN_REMAINDER_STEPS * usual + TURN_ROUNDING_RAD) & (usual < LARGEST_STEP_RAD)
    sure &= True if turning is None else turning
    return np.where(sure, whole, 0.0).astype(np.int64)


def unwrapped(q: Array, turning: NDArray[np.bool_] | None = None) -> Array:
    """(N, n) the same angles, continued over whole turns."""
    whole = np.cumsum(turns_of(q, turning), axis=0)
    return np.asarray(q - TURN_RAD * np.concatenate([np.zeros((1, q.shape[1])), whole]))


def steps_of(far: NDArray[np.bool_], time: Array, step: Array) -> dict[int, PositionSteps]:
    """By joint, of steps (K, n) that begin at times (K,)."""
    found = {}
    for j in map(int, np.flatnonzero(far.any(axis=0))):
        at = int(np.flatnonzero(far[:, j])[0])
        found[j] = PositionSteps(int(far[:, j].sum()), float(time[at]), float(step[at, j]))
    return found


class Spikes:
    """Isolated outliers per channel and of whole rows, turns and impossible steps of position: how many, and the first.

    fastest (n,): speed beyond which a step is none of motion; jump: least part of the joint's range that it has;
    turning (n,): joints whose angle may wrap around. Turns are taken out before anything else is looked for.
    """

    def __init__(
        self, deviations: float, fastest: Array | None, jump: float, turning: NDArray[np.bool_] | None = None
    ) -> None:
        self._deviations, self._fastest, self._jump, self._turning = deviations, fastest, jump, turning
        self._settled: dict[tuple[str, int], tuple[int, float]] = {}
        self._pending: dict[tuple[str, int], tuple[int, float]] = {}
        self.turns: dict[int, PositionSteps] = {}
        self.jumps: dict[int, PositionSteps] = {}

    def see(self, piece: Recording, old: int) -> None:
        if len(piece) < 3:
            return
        new, open_ = slice(max(old - 2, 0), len(piece) - 2), slice(len(piece) - 2, None)
        self._pending = {}
        q = unwrapped(piece.q, self._turning)
        found = {
            name: isolated(piece.time, q if name == "q" else getattr(piece, name), self._deviations)
            for name in piece.signals
        }
        self._see_steps(piece, q, max(old - 1, 0), found["q"])
        rows = np.max([at.mean(axis=1) for at in found.values()], axis=0) > (ROW_JOINT_SHARE if piece.n > 1 else 1.0)
        for name, at in [(WHOLE_ROWS, rows[:, None]), *((name, at & ~rows[:, None]) for name, at in found.items())]:
            _add(self._settled, name, at[new], piece.time[new])
            _add(self._pending, name, at[open_], piece.time[open_])  # until what follows has been seen

    @property
    def found(self) -> dict[tuple[str, int], tuple[int, float]]:
        """How many outliers a channel has, and when the first comes [s]."""
        out = dict(self._settled)
        for key, (count, first) in self._pending.items():
            known, at = out.get(key, (0, first))
            out[key] = (known + count, at)
        return out

    def _see_steps(self, piece: Recording, q: Array, old: int, spike: NDArray[np.bool_]) -> None:
        time = piece.time[old:-1]
        turns = turns_of(piece.q, self._turning)[old:]
        for j, steps in steps_of(turns != 0, time, np.diff(piece.q[old:], axis=0)).items():
            self.turns[j] = self.turns[j] + steps if j in self.turns else steps
        if self._fastest is None:
            return
        step, dt = np.diff(q[old:], axis=0), np.diff(piece.time[old:])
        far = np.abs(step) > self._fastest * np.maximum(dt, 1e-12)[:, None]
        far &= (dt > 0)[:, None] & (np.abs(step) > self._jump * _usual_range(q))
        far &= ~(spike[old:-1] | spike[old + 1 :])
        for j, steps in steps_of(far, time, step).items():
            self.jumps[j] = self.jumps[j] + steps if j in self.jumps else steps


def _add(sums: dict[tuple[str, int], tuple[int, float]], name: str, at: NDArray[np.bool_], time: Array) -> None:
    for j in map(int, np.flatnonzero(at.any(axis=0))):
        known, first = sums.get((name, j), (0, float(time[np.flatnonzero(at[:, j])[0]])))
        sums[name, j] = (known + int(at[:, j].sum()), first)


def isolated(time: Array, x: Array, deviations: float) -> NDArray[np.bool_]:
    """(N, n): samples that stand out from both neighbours on the same side, by ``deviations`` robust standard
    deviations of what a sample differs from its neighbours' mean.

    A spike comes back: what goes on from elsewhere is a jump. Beside a gap there is no neighbour.
    Beside a larger outlier a good sample seems to be one: it is not.
    """
    out = np.zeros(x.shape, dtype=bool)
    dt = np.diff(time)
    if len(x) < 3 or not (dt > 0).any():
        return out
    close = dt <= NEIGHBOUR_INTERVALS * np.median(dt[dt > 0])
    flanked = (close[:-1] & close[1:])[:, None]
    before, after = (np.where(flanked, x[1:-1] - side, np.nan) for side in (x[:-2], x[2:]))
    away = _away(x)
    for j in range(x.shape[1]):
        least = _outstanding(x[:, j], np.abs(np.diff(x[:, j]))[close], before[:, j], after[:, j], deviations)
        least[away[:, j] > SPIKE_RETURN_SHARE * least] = 0.0
        beside = np.maximum(np.concatenate([[0.0], least[:-1]]), np.concatenate([least[1:], [0.0]]))
        out[1:-1, j] = (least > 0) & (least >= beside)
    return out


def _away(x: Array) -> Array:
    """(N − 2, n) how far a channel is, after each sample, from where its step before or after would have led it."""
    step, across = np.diff(x, axis=0), x[2:] - x[:-2]
    if len(step) < 3:
        return np.zeros(across.shape)
    before, after = np.concatenate([step[2:3], step[:-2]]), np.concatenate([step[2:], step[-3:-2]])
    return np.asarray(np.fmin(np.abs(across - 2.0 * before), np.abs(across - 2.0 * after)))


def _outstanding(x: Array, steps: Array, before: Array, after: Array, deviations: float) -> Array:
    """(N − 2,) how far a sample stands off the nearer of its neighbours; 0 where that is usual."""
    least = np.zeros(len(before))
    moving, middle = steps[(steps > 0) & np.isfinite(steps)], np.abs(before + after)
    if moving.size < 3 or not np.isfinite(middle).any():
        return least
    floor = max(LEAST_SPIKE_QUANTA * float(np.quantile(moving, 0.01)), LEAST_SPIKE_RANGE_SHARE * float(_usual_range(x)))
    threshold = max(deviations * SIGMA_OVER_MAD * 0.5 * float(np.nanmedian(middle)), floor)
    size = np.where(before * after > 0, np.minimum(np.abs(before), np.abs(after)), 0.0)
    for at in np.flatnonzero(size > threshold):
        near = at + SURROUNDING_SAMPLES
        around = middle[near[(near >= 0) & (near < len(middle))]]
        around = around[np.isfinite(around)]
        if not around.size or size[at] > deviations * SIGMA_OVER_MAD * 0.5 * float(np.median(around)):
            least[at] = size[at]
    return least


def _usual_range(x: Array) -> Array:
    """Between the first and the last hundredth of the values, per column; 0 where there are none."""
    if not np.isfinite(x).any(axis=0).all():
        return np.zeros(x.shape[1:])
    low, high = np.nanquantile(x, (0.01, 0.99), axis=0)
    return np.asarray(high - low)
