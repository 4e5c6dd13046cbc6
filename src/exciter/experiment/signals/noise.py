"""How noisy samples are when no period can be compared with another, and where a log shows motion.
The motion is smooth, noise is not: divided differences of order m on true time remove any polynomial of degree m − 1
and leave noise, whose variance they multiply by Σ w². Assumed: noise is white above the band of the motion. A signal
that was low-passed before has nothing left up there, and the estimate is then a lower bound: ``earlier_low_pass``.

What settings are chosen from must not be the rest before the motion (``peeked_at_motion``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from exciter.errors import RecordingError
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.resample import Join, split_at_gaps, window
from exciter.typing import Array

ORDERS = range(2, 9)  # of the differences
FEWEST = 2 * (ORDERS[-1] + 1)  # samples
MOST = 200_000  # samples looked at: more do not sharpen the estimate
KEPT = 0.9  # of the differences, the smallest: jumps (stiction, reversals, gaps) are not noise
SAME = 1.05  # an estimate within this of the smallest is as good, and a lower order is less sensitive to colour
QUIET = 1e-4  # of a torque's spread: no sensor of torque or current is that quiet unless it was low-passed
MOVES = 20.0  # times its noise: the spread of a position that moves
WINDOWS = 10  # stretches of a stream that are held in memory in search of motion


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """sigma (n,): standard deviation of one sample. step (n,): quantisation, 0 where there is none. order (n,): of the
    differences used. low_pass: frequency [Hz] above which there is nothing, for torques; sigma is then a lower bound.
    """

    sigma: Array
    step: Array
    order: NDArray[np.int64]
    low_pass: float | None = None

    @property
    def lower_bound(self) -> bool:
        return self.low_pass is not None


def estimate_noise(time: Array, x: Array, *, judge_low_pass: bool = False) -> NoiseEstimate:
    """Noise of signals (N, n) sampled at increasing times (N,) [s], joint by joint.

    judge_low_pass: also ask whether they were low-passed before; for torques and currents only.
    """
    if len(x) < FEWEST:
        raise RecordingError(f"noise cannot be estimated from {len(x)} samples; at least {FEWEST} are needed")
    parts = _parts(len(x))
    found = np.array([_by_differences(time, x, order, parts) for order in ORDERS])  # (orders, n)
    first = np.argmax(found <= SAME * found.min(axis=0), axis=0)
    sigma = np.take_along_axis(found, first[None], axis=0)[0]
    step = np.array([quantisation_step(column) for column in x.T])
    ceiling = None
    if judge_low_pass:
        ceiling = earlier_low_pass(x, 1.0 / float(np.median(np.diff(time))))
    return NoiseEstimate(np.maximum(sigma, step / np.sqrt(12.0)), step, np.array(ORDERS)[first], ceiling)


def _parts(count: int) -> list[slice]:
    """All samples, or twenty stretches spread over a long log."""
    if count <= MOST:
        return [slice(0, count)]
    size = MOST // 20
    return [slice(int(a), int(a) + size) for a in np.linspace(0, count - size, 20)]


def _by_differences(time: Array, x: Array, order: int, parts: list[slice]) -> Array:
    """(n,) σ from divided differences, each scaled to the variance of a sample."""
    kept = []
    for part in parts:
        t, values = time[part], x[part]
        last = len(t) - order
        nodes = np.stack([t[i : last + i] for i in range(order + 1)])
        weights = np.empty_like(nodes)
        for i in range(order + 1):
            others = np.delete(nodes, i, axis=0)
            weights[i] = 1.0 / np.prod((nodes[i] - others) / np.ptp(nodes, axis=0), axis=0)
        weights /= np.sqrt((weights**2).sum(axis=0))
        kept.append(sum(weights[i, :, None] * values[i : last + i] for i in range(order + 1)))
    return trimmed_deviation(np.concatenate(kept))


def trimmed_deviation(x: Array) -> Array:
    """(n,) σ of samples (N, n) around zero from the smallest 90 % of |x|, right for Gaussian noise.

    Second moments, not the median: differences of a quantised signal have a few values only.
    """
    count = max(1, round(KEPT * len(x)))
    squares = np.partition(x**2, count - 1, axis=0)[:count]
    c = stats.norm.ppf(0.5 + 0.5 * KEPT)
    remaining = 1.0 - 2.0 * c * stats.norm.pdf(c) / KEPT  # variance of a Gaussian within ± c
    return np.asarray(np.sqrt(squares.mean(axis=0) / remaining))


def quantisation_step(x: Array) -> float:
    """The step of which all differences of samples (N,) are multiples; 0 where there is none."""
    values = np.unique(x[:50_000])
    steps = np.diff(values)
    steps = steps[steps > 1e-13 * np.abs(values[[0, -1]]).max(initial=0.0)]
    if len(steps) < 3:
        return 0.0
    step = float(steps.min())
    counts = np.round(steps / step)
    near = np.abs(steps / step - counts) < 0.02
    if near.mean() < 0.99:
        return 0.0
    return float(np.median(steps[near] / counts[near]))


def earlier_low_pass(x: Array, rate: float) -> float | None:
    """[Hz] Frequency above which a torque or current holds nothing, because it was low-passed before; None otherwise.

    x: (N,) or (N, n) at uniform instants (resample first: jitter fills the empty band), rate [Hz]. The top half of the
    spectrum, taken as white noise of the whole band, would have a standard deviation below 10⁻⁴ of the signal's: no
    such sensor is that quiet. The frequency is where the spectrum has come down to this floor, the highest of the
    joints. Positions are not judged so: encoders may be that good.
    """
    columns = x[:, None] if x.ndim == 1 else x
    if len(columns) < 64:
        return None
    window = min(len(columns), 1 << max(8, int(np.log2(max(len(columns) // 4, 1)))))
    frequency, power = signal.welch(
        columns, rate, "blackmanharris", min(window, len(columns)), axis=0, detrend="linear"
    )
    found: list[float] = []
    for column, levels in zip(columns.T, power.T, strict=True):
        spread = float(column.std())
        if spread == 0.0:
            continue
        floor = float(np.median(levels[frequency > 0.25 * rate]))
        if np.sqrt(floor * 0.5 * rate) > QUIET * spread:
            return None
        smooth = np.convolve(levels, np.full(5, 0.2), "same")
        above = np.flatnonzero(smooth[: int(0.9 * len(smooth))] > 100.0 * max(floor, 1e-300))
        found.append(float(frequency[above[-1]]) if len(above) else 0.0)
    return max(found) if found else None


def moves(recording: Recording) -> bool:
    """Whether a joint moves by more than noise, drift or the last digit of an encoder."""
    if len(recording) < FEWEST:
        return False
    later = np.diff(recording.time, prepend=-np.inf) > 0.0
    q = recording.q[later]
    if len(q) < FEWEST or not np.isfinite(q).all():
        return len(q) >= FEWEST  # to be refused where it can be said better
    return bool((q.std(axis=0) > MOVES * estimate_noise(recording.time[later], q).sigma).any())


def most_moving(recording: Recording, gap: float) -> Recording:
    """The part between gaps longer than ``gap`` [s] that holds most of the motion, each joint's counted alike."""
    parts = split_at_gaps(recording, gap)
    if len(parts) == 1:
        return parts[0]
    size = np.array([len(part) * part.q.var(axis=0) for part in parts])
    return parts[int(np.argmax((size / np.maximum(size.sum(axis=0), 1e-300)).sum(axis=1)))]


def peeked_at_motion(
    parts: Iterable[Recording], samples: int, join: Join[Recording]
) -> tuple[Recording | None, Iterator[Recording]]:
    """A first stretch of a stream in which something moves, some ``samples`` long, and the stream from its start.

    Refused where it is empty, or its first million samples or so are standstill.
    """
    stream, seen = iter(parts), list[Recording]()
    for _ in range(WINDOWS):
        if not (following := window(stream, samples)):
            break
        seen.append(join(following))
        if moves(seen[-1]):
            first = len(seen) - 1
            if first or not moves(seen[0][: len(seen[0]) // 2]):  # it has begun only just
                seen += window(stream, samples)
            return join(seen[first:]), chain(seen, stream)
    if sum(map(len, seen)) < FEWEST:
        return join(seen), chain(seen, stream)
    raise RecordingError(
        f"no joint moves in the first {seen[-1].time[-1] - seen[0].time[0]:.3g} s: nothing can be chosen from "
        "standstill; give the setting (cutoff, or knots_per_second), or cut the rest off"
    )
