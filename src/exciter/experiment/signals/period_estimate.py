"""The period of a motion that repeats, from its positions; only on request: a period is known to whoever made it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import fft

from exciter.errors import RecordingError
from exciter.experiment.recording.recording import Recording
from exciter.experiment.signals.local_cubic import local_cubic
from exciter.experiment.signals.resample import check_complete
from exciter.typing import Array

COARSE = 1 << 14  # samples of the first look
REPEATS = 0.05  # of the motion's variance: a shift that leaves more is no period


@dataclass(frozen=True)
class PeriodEstimate:
    """period [s]; difference: RMS between the motion and itself one period later, relative to its spread."""

    period: float
    difference: float
    sentence: str


def estimate_period(recording: Recording) -> PeriodEstimate:
    """The shortest shift in time that maps the positions onto themselves; two whole periods must have been recorded.

    d(s) = Σ |q(t + s) − q(t)|² by fast Fourier transformation on a coarse grid; the shortest of its deep minima is then
    refined on true time by Gauss–Newton, over ever more periods.
    """
    check_complete(recording)
    spread = recording.q.std(axis=0)
    moving = spread > 1e-9 * np.maximum(1.0, np.abs(recording.q).max(axis=0))
    if len(recording) < 64 or not moving.any():
        raise RecordingError("a period can only be found in the motion of at least one joint, over 64 samples or more")
    time = recording.time - recording.time[0]
    q = (recording.q[:, moving] - recording.q[:, moving].mean(axis=0)) / spread[moving]
    grid = np.linspace(0.0, time[-1], min(COARSE, len(time)))
    values, _ = local_cubic(time, q, grid)
    first = _first_deep_minimum(values)
    if first is None:
        raise RecordingError(
            f"the positions do not repeat within the {time[-1]:.6g} s recorded; at least two whole periods are needed, "
            "and no long standstill"
        )
    period, count = first * grid[1], 1
    while True:
        count = min(count, int(0.9 * time[-1] / period))
        for _ in range(8):
            shift = _correction(time, q, count * period) / count
            period += shift
            if abs(shift) < 1e-12 * period:
                break
        if count >= int(0.9 * time[-1] / period):
            break
        count *= 2
    difference = float(np.sqrt(_mean_square(time, q, period)))
    sentence = f"the positions repeat every {period:.6g} s within {100 * difference:.2g} % of the motion"
    return PeriodEstimate(period, difference, sentence)


def _first_deep_minimum(values: Array) -> int | None:
    """Shift in samples: the shortest at which d is nearly as small as anywhere, after having been large."""
    count = len(values)
    squares = np.concatenate([[0.0], np.cumsum((values**2).sum(axis=1))])
    padded = fft.rfft(values, fft.next_fast_len(2 * count, real=True), axis=0)
    products = fft.irfft((np.abs(padded) ** 2).sum(axis=1), fft.next_fast_len(2 * count, real=True))[: count // 2 + 1]
    shifts = np.arange(count // 2 + 1)
    overlap = count - shifts
    both = squares[overlap] + squares[count] - squares[shifts]
    d = (both - 2.0 * products) / np.maximum(both, 1e-300)  # 0: the same, 1: nothing in common
    large = np.flatnonzero(d > 0.3)
    if not len(large):
        return None
    inner = np.arange(max(1, int(large[0])), len(d) - 1)
    minima = inner[(d[inner] <= d[inner - 1]) & (d[inner] <= d[inner + 1])]
    deep = minima[d[minima] < REPEATS]
    if not len(deep):
        return None
    good = deep[d[deep] <= 2.0 * d[deep].min() + 1e-3]
    return int(good[0])


def _shifted(time: Array, q: Array, shift: float) -> tuple[Array, Array]:
    """q(t + s) and q(t) where both were recorded."""
    now = time <= time[-1] - shift
    later, _ = local_cubic(time, q, time[now] + shift)
    return later, q[now]


def _correction(time: Array, q: Array, shift: float) -> float:
    later, now = _shifted(time, q, shift)
    rate = np.gradient(now, time[: len(now)], axis=0)
    return float(-((later - now) * rate).sum() / (rate**2).sum())


def _mean_square(time: Array, q: Array, shift: float) -> float:
    later, now = _shifted(time, q, shift)
    return float(((later - now) ** 2).mean())
