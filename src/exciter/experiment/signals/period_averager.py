"""Running sums over periods: what an average needs, from pieces of a log that never has to be in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exciter.errors import RecordingError, shown
from exciter.experiment.recording.recording import WRENCH_COLUMNS, Recording
from exciter.experiment.recording.recording_facts import About
from exciter.experiment.signals.resample import LONG_GAP_INTERVALS, check_complete, local_cubic, sampling_rate
from exciter.typing import Array

STANDSTILL_MOTION_FRACTION = 1e-3  #: of the largest: a joint that moves less is not asked whether it repeats
SAMPLES_BEYOND_PERIOD = 2  #: behind the last instant of a period that its interpolation needs
MOST_PERIOD_SAMPLES = 10_000_000


class PeriodAverager:
    """Whole periods from ``start`` [s] on, each resampled at ``samples`` instants; memory of two periods and a piece.

    Signals are the n positions, then the n torques, then the six of a wrench, if any. ``mean`` (N, signals) and
    ``squares`` (signals,) = Σ_j Σ_k (x_j − x̄)² are Welford's; ``steps`` (K − 1, signals) are ½ mean (x_{j+1} − x_j)² of
    neighbours, an estimate of σ² that slow drift does not reach; ``gain``: noise variance after resampling over that of
    a recorded sample.
    """

    def __init__(
        self,
        joints: tuple[str, ...],
        about: About,
        period: float,
        start: float,
        samples: int,
        most: int | None = None,
        wrench: bool = False,
    ) -> None:
        self.joints, self.about, self.period, self.start, self.samples = joints, about, period, start, samples
        self.signal_names = tuple(f"{what} of joint '{name}'" for what in ("position", "torque") for name in joints)
        self.signal_names += tuple(f"{name} of the wrench" for name in WRENCH_COLUMNS if wrench)
        self.most = most
        self.mean = np.zeros((samples, len(self.signal_names)))
        self.squares = np.zeros(len(self.signal_names))
        self.left_out: list[str] = []
        self.first = self.last = start
        self._starts: list[float] = []
        self._steps: list[Array] = []
        self._timing: list[Array] = []  # Σ (x_{j+1} − x_j) ẋ and Σ ẋ² of positions, per pair
        self._rough: list[Array] = []  # ¼ mean of squared differences of x_{j+1} − x_j from sample to sample, per pair
        self._gains = 0.0
        self._previous: Array | None = None
        self._waiting: list[Recording] = []
        self._next = 0  # period that is to come

    @classmethod
    def of(
        cls, piece: Recording, period: float | None = None, settled: float | None = None, most: int | None = None
    ) -> PeriodAverager:
        """For the recording of which this is the beginning; it is still to be added."""
        period = piece.about.period if period is None else period
        settled = piece.about.settled if settled is None else settled
        if period is None:
            raise RecordingError("the period of the motion is not known; give it (period [s] in recording.yaml)")
        if not 0.0 < period < float("inf"):
            raise RecordingError(f"period is {shown(period)}; give a positive number of seconds")
        if settled is not None and not np.isfinite(settled):
            raise RecordingError(f"settled is {shown(settled)}; give a time [s]")
        samples = period * (rate := sampling_rate(piece.time))
        if not 8 <= samples <= MOST_PERIOD_SAMPLES:
            raise RecordingError(
                f"a period of {period:.6g} s at {rate:.6g} Hz is {samples:.6g} samples; "
                f"8 … {MOST_PERIOD_SAMPLES} can be averaged"
            )
        start = float(piece.time[0]) if settled is None else max(float(settled), float(piece.time[0]))
        averager = cls(piece.joints, piece.about, period, start, round(samples), most, piece.wrench is not None)
        averager.first = float(piece.time[0])
        return averager

    # -- pieces in -------------------------------------------------------------------------------------------------

    def add(self, piece: Recording) -> None:
        """The next piece of the recording."""
        if len(piece) == 0:
            return
        self.last = float(piece.time[-1])
        self._waiting.append(replace(piece, torque=piece.needed_torque(), qd=None, current=None))
        self._whole_periods(SAMPLES_BEYOND_PERIOD)

    def finish(self) -> None:
        """There are no more pieces: a last period may end with the recording."""
        self._whole_periods(0)

    def _whole_periods(self, beyond: int) -> None:
        """Every period that has so many samples behind its last instant: the cubic there leans on two."""
        spacing = self.period / self.samples
        while self._waiting and (self.most is None or self._next < self.most):
            begin = self.start + self._next * self.period
            end = begin + (self.samples - 1) * spacing
            if self.last < end - 1e-6 * spacing:
                break
            held = Recording.join(self._waiting) if len(self._waiting) > 1 else self._waiting[0]
            self._waiting = [held]
            if len(held) - np.searchsorted(held.time, end, "right") < beyond:
                break
            self._one(held, begin, self.instants(begin))
            self._next += 1
            after = int(np.searchsorted(held.time, begin + self.period)) - 3
            self._waiting = [held[max(after, 0) :]]

    def _one(self, held: Recording, begin: float, at: Array) -> None:
        first, last = np.searchsorted(held.time, [at[0], at[-1]])
        part = held[max(int(first) - 2, 0) : int(last) + 3]
        check_complete(part)
        steps = np.diff(part.time)
        if (widest := steps.max()) > LONG_GAP_INTERVALS * self.period / self.samples:
            where = part.time[int(np.argmax(steps))]
            self.left_out.append(f"period from {begin:.6g} s: {widest:.3g} s without samples at {where:.6g} s")
            return
        wrench = () if part.wrench is None else (part.wrench,)
        values, gain = local_cubic(part.time, np.hstack([part.q, part.needed_torque(), *wrench]), at)
        self._accumulate(values, gain, begin)

    def _accumulate(self, values: Array, gain: float, begin: float) -> None:
        self._starts.append(begin)
        self._gains += gain
        before = values - self.mean
        self.mean += before / len(self._starts)
        self.squares += (before * (values - self.mean)).sum(axis=0)
        if self._previous is not None:
            step = values - self._previous
            self._steps.append(0.5 * (step**2).mean(axis=0))
            self._rough.append(0.25 * (np.diff(step, axis=0) ** 2).mean(axis=0))
            n = len(self.joints)
            rate = np.gradient(0.5 * (values + self._previous)[:, :n], self.period / self.samples, axis=0)
            self._timing.append(np.stack([(step[:, :n] * rate).sum(axis=0), (rate**2).sum(axis=0)]))
        self._previous = values

    def instants(self, begin: float) -> Array:
        """(N,) [s] of the samples of a period."""
        return np.asarray(begin + np.arange(self.samples) * (self.period / self.samples), dtype=np.float64)

    # -- sums out --------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """K: periods accumulated."""
        return len(self._starts)

    @property
    def starts(self) -> Array:
        """(K,) [s] where each of them begins."""
        return np.array(self._starts)

    @property
    def gain(self) -> float:
        return self._gains / max(self.count, 1)

    @property
    def steps(self) -> Array:
        return np.array(self._steps).reshape(-1, self.mean.shape[1])

    @property
    def unlike(self) -> Array:
        """(K, n) by how much of its motion the position of each joint differs from that in the period before, noise
        apart; 0 for the first, and for joints that stand still.

        Noise is rough from sample to sample, what does not repeat (a jump, a shift in time) is not.
        """
        n = len(self.joints)
        unlike = np.zeros((self.count, n))
        if self.count < 2:
            return unlike
        rough, spread = np.array(self._rough)[:, :n], self.spread[:n]
        moving = (spread > 5.0 * np.sqrt(np.median(rough, axis=0))) & (
            spread > STANDSTILL_MOTION_FRACTION * spread.max()
        )
        by_chance = 1.0 + 5.0 / np.sqrt(self.samples)
        smooth = np.sqrt(np.maximum(self.steps[:, :n] - by_chance * rough, 0.0))
        unlike[1:] = np.where(moving, smooth / np.where(moving, spread, 1.0), 0.0)
        return unlike

    @property
    def spread(self) -> Array:
        """(signals,) standard deviation of the mean over the period: the size of each signal."""
        return np.asarray(self.mean.std(axis=0))

    def period_error(self) -> tuple[float, float, float, float]:
        """Given period minus the data's [s], its σ [s], how much that smears the mean, relative to the motion, and the
        share of the difference between periods that it explains.

        x_{j+1} − x_j ≈ ẋ (T_given − T), least squares over all neighbours and joints, each joint weighted by 1/σ².
        """
        if not self._timing:
            return 0.0, float("inf"), 0.0, 0.0
        n, pairs = len(self.joints), len(self._timing)
        timing = np.array(self._timing)  # (pairs, 2, n)
        moving = timing[:, 1].sum(axis=0) > 0.0
        floor = (1e-9 * self.spread[:n]) ** 2
        weight = np.where(moving, 1.0, 0.0) / np.maximum(self.steps[:, :n].mean(axis=0), np.maximum(floor, 1e-300))
        products, squares = (timing.sum(axis=0) * weight).sum(axis=1)
        shift = float(products / squares)
        sigma = float(np.sqrt(2.0 / (squares / pairs)) / pairs)
        speed = np.sqrt(timing[:, 1].mean(axis=0) / self.samples)
        smear = abs(shift) * np.sqrt((self.count**2 - 1) / 12.0) * speed[moving] / self.spread[:n][moving]
        whole = 2.0 * self.samples * (self.steps[:, :n].sum(axis=0) * weight).sum()
        return shift, sigma, float(smear.max(initial=0.0)), float(shift**2 * squares / max(whole, 1e-300))
