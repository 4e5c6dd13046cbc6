"""``delay:`` of a recording.yaml: signals that a log has later than the positions of the same instant, brought back.

A bus, a filter or a slower loop makes a log write at time t what was so at t − delay. So the value that belongs to the
positions at t is found at t + delay, between samples by the cubic through the four around it: linear in the samples,
exact where an instant is one of them; of commands, which may step, by the line between the two. Where the log ends
sooner, its samples are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Annotated, ClassVar

import numpy as np

from exciter.errors import ExciterError, RecordingError
from exciter.parameters.terms.term import PerJoint, per_joint
from exciter.settings import Number, PerJointNumber, Settings
from exciter.typing import Array

INTERPOLATED_INSTANTS = 1 << 16  #: at a time: bounds memory
LONGEST_DELAY_S = 1.0  #: of a signal of one log; more is another unit, or another log
CUBIC_REACH_SAMPLES = 4  #: to each side of an instant, of the cubic and of the intervals it is judged by
SAME_INSTANT_INTERVALS = 1e-6  #: a time stamp this near is meant
STEPPING_SIGNALS = ("command",)
LOST_SAMPLES_RATIO = 2.5  #: to the shorter interval beside it: a longer one has lost samples
Piece = tuple[int, Array, dict[str, Array]]  # number of the first row, times (N,) [s], values (N, k) by signal
DelaySeconds = Annotated[PerJoint | None, PerJointNumber(least=-LONGEST_DELAY_S, most=LONGEST_DELAY_S, unit="s")]


@dataclass(frozen=True)
class SignalDelays(Settings):
    """By signal, [s] by which the log has it later than the position of the same instant; below zero: sooner."""

    refusal: ClassVar[type[ExciterError]] = RecordingError
    velocity: DelaySeconds = None
    torque: DelaySeconds = None
    current: DelaySeconds = None
    command: DelaySeconds = None
    wrench: Annotated[float | None, Number(least=-LONGEST_DELAY_S, most=LONGEST_DELAY_S, unit="s")] = None

    def of(self, joints: Sequence[str]) -> dict[str, Array]:
        """By signal (k,) [s], of those that have any."""
        names = ("velocity", "torque", "current", "command")
        given: dict[str, PerJoint | None] = {name: getattr(self, name) for name in names}
        found = {name: per_joint(one, joints, f"delay: {name}")[:, 0] for name, one in given.items() if one is not None}
        if self.wrench is not None:
            found["wrench"] = np.full(6, self.wrench)
        return {name: delay for name, delay in found.items() if delay.any()}


def undelayed(pieces: Iterable[Piece], delays: Mapping[str, Array], gap: float, rows: int) -> Iterator[Piece]:
    """Pieces of at most ``rows`` in order, every signal at the instants of the positions; nothing is bridged over gaps
    longer than ``gap`` [s]: there it is missing (NaN)."""
    every = np.concatenate([*delays.values(), [0.0]])
    ahead, behind, begin = float(every.max()), float(-every.min()), np.inf
    held: Piece | None = None
    given = 0  # rows of what is held that were given already, and are needed beside others
    for piece in pieces:
        held = piece if held is None else _joined(held, piece)
        first, time, values = held
        begin = min(begin, float(time[0]))
        if len(time) <= CUBIC_REACH_SAMPLES:
            continue
        end = int(np.searchsorted(time, time[-1 - CUBIC_REACH_SAMPLES] - ahead))
        if end > given:
            yield from _parts(held, given, end, delays, (begin + behind, np.inf), gap, rows)
            drop = max(int(np.searchsorted(time, time[end] - behind)) - CUBIC_REACH_SAMPLES, 0)
            held = first + drop, time[drop:], {name: x[drop:] for name, x in values.items()}
            given = end - drop
    if held is not None:
        limits = begin + behind, float(held[1][-1]) - ahead
        yield from _parts(held, given, len(held[1]), delays, limits, gap, rows)


def _joined(held: Piece, piece: Piece) -> Piece:
    values = {name: np.concatenate([x, piece[2][name]]) for name, x in held[2].items()}
    return held[0], np.concatenate([held[1], piece[1]]), values


def _parts(
    held: Piece,
    start: int,
    end: int,
    delays: Mapping[str, Array],
    limits: tuple[float, float],
    gap: float,
    rows: int,
) -> Iterator[Piece]:
    """Rows ``start`` … of what is held, of instants within ``limits`` [s]."""
    first, time, values = held
    rounding = SAME_INSTANT_INTERVALS * float(np.median(np.diff(time))) if len(time) > 1 else 0.0
    start = max(start, int(np.searchsorted(time, limits[0] - rounding)))
    end = min(end, int(np.searchsorted(time, limits[1] + rounding, "right")))
    for at in range(start, end, rows):
        part = slice(at, min(at + rows, end))
        moved = {name: x[part] for name, x in values.items()}
        for name, delay in delays.items():
            moved[name] = moved[name].copy()
            for seconds in np.unique(delay[delay != 0.0]).tolist():
                some = np.flatnonzero(delay == seconds)
                instants, steps = time[part] + seconds, name in STEPPING_SIGNALS
                moved[name][:, some] = _between(time, values[name][:, some], instants, gap, steps=steps)
        yield first + at, time[part], moved


def _between(time: Array, values: Array, at: Array, gap: float, *, steps: bool = False) -> Array:
    """(M, c) of samples (N, c) at times (N,), of which the first of several at one time counts. steps: that a cubic
    would overshoot."""
    own = np.diff(time, prepend=-np.inf) > 0.0
    time, values = time[own], values[own]
    if len(time) < 4:
        return np.full((len(at), values.shape[1]), np.nan)
    found, _ = local_cubic(time, values, at)
    interval = np.diff(time)
    beside = np.minimum(np.append(interval[1:], np.inf), np.append(np.inf, interval[:-1]))
    long = interval > np.maximum(gap, LOST_SAMPLES_RATIO * beside)
    before = np.clip(np.searchsorted(time, at, "right") - 1, 0, len(interval) - 1)
    torn = np.convolve(long, np.ones(3), "same")[before] > 0  # the cubic would look beyond the gap
    line = np.full(len(at), steps) | torn
    i = before[line]
    share = ((at[line] - time[i]) / interval[i])[:, None]
    between = (1.0 - share) * values[i] + share * values[i + 1]
    found[line] = np.where(long[i][:, None], np.nan, between)
    for i in (before, before + 1):
        same = np.abs(at - time[i]) <= SAME_INSTANT_INTERVALS * interval[before]
        found[same] = values[i[same]]
    return found


def local_cubic(time: Array, values: Array, at: Array) -> tuple[Array, float]:
    """Values (M, c) at times ``at`` (M,) from samples (N ≥ 4, c) at increasing times (N,), and their noise gain. The
    gain is the mean of Σ w² over the interpolation weights w: white noise of variance σ² in the samples has variance
    gain · σ² in what is interpolated (1 where instants coincide, less between them)."""
    result = np.empty((len(at), values.shape[1]))
    squares = 0.0
    for first in range(0, len(at), INTERPOLATED_INSTANTS):
        part = slice(first, first + INTERPOLATED_INSTANTS)
        start = np.clip(np.searchsorted(time, at[part], "right") - 2, 0, len(time) - 4)  # the first of four samples
        nodes = time[start[:, None] + np.arange(4)]
        weights = np.ones_like(nodes)  # Lagrange's
        for i, j in permutations(range(4), 2):
            weights[:, i] *= (at[part] - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
        result[part] = sum(weights[:, i, None] * values[start + i] for i in range(4))
        squares += float((weights**2).sum())
    return result, squares / max(len(at), 1)
