"""Alarm where residuals are larger than noise and what is not known of the parameters explain.

Innovations over their standard deviation, squared, are one on average. Their mean over a sliding window is χ²/ν with ν
independent equations in it: of filtered rows those that their bandwidth is worth (``Rows.independent``). What is not
known of the parameters is alike in all equations of a window: with a part u of the variance that is noise, ν becomes
1/(u²/ν + (1 − u)²). It is less still where means of windows so far were seen to scatter more, as errors of a real model
do. The threshold is that of a probability which, for as many tests as are made in an hour, gives the alarms per hour
that are allowed (Bonferroni: windows overlap, so that there are fewer)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from exciter.identification.following.follow_settings import SECONDS_PER_HOUR, AlarmSettings
from exciter.identification.information.kalman import Innovations
from exciter.typing import Array

WINDOW_STEPS = 4  #: tests in the time of a window
ALL_JOINTS = "all joints"
ENDING_PROBABILITY = 0.05  #: an alarm ends when its window is no more unlikely than this
BEGINNING_PROBABILITY = 0.01  #: of a step, from which on an alarm is said to last
SCATTER_WINDOWS = 50  #: of which the scatter is believed
REMEMBERED_WINDOWS = 1000
COUNTED_TENTHS = 10.0  #: degrees of freedom are rounded, so that quantiles need not be found again and again


@dataclass(frozen=True)
class ResidualAlarm:
    """joint: whose residuals are too large, or all of them together. since, until [s]: from the first step that was too
    large to the end of the alarm, None: it lasts. raised [s]: when it was noticed. ratio: largest root mean square
    residual of a window over what is expected. torque [N·m, N]: root mean square residual then; mean: its mean; of all
    joints: not given."""

    joint: str
    since: float
    raised: float
    ratio: float
    torque: float | None = None
    mean: float | None = None
    until: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if value is not None}

    @property
    def sentence(self) -> str:
        """For people."""
        end = "and lasts" if self.until is None else f"to {self.until:.3f} s"
        size = "" if self.torque is None else f", {self.torque:.3g} N·m or N (mean {self.mean:+.3g})"
        return f"{self.joint}: residual {self.ratio:.3g} times what is expected{size}, from {self.since:.3f} s {end}"


@dataclass(frozen=True, eq=False)
class _Step:
    """Sums over some instants: squares and counted (J + 1,), all joints last; error, errors squared and counted."""

    start: float
    end: float
    squares: Array
    counted: Array
    noisy: Array
    error: Array
    energy: Array


@lru_cache(maxsize=4096)
def _quantile(probability: float, tenths: int) -> float:
    """Of χ²/ν."""
    freedom = max(tenths, 1) / COUNTED_TENTHS
    return float(scipy.stats.chi2.isf(probability, freedom) / freedom)


def threshold(probability: float, freedom: Array) -> Array:
    """(K,) that χ²/ν exceeds with that probability, of so many degrees of freedom ν each."""
    return np.array([_quantile(probability, round(COUNTED_TENTHS * max(float(nu), 0.1))) for nu in freedom])


class ResidualWatch:
    """joints: equations of an instant. Steps of the window's quarter are seen one after the other."""

    def __init__(self, joints: Sequence[str], settings: AlarmSettings) -> None:
        self.names, self.settings = (*joints, ALL_JOINTS), settings
        self.step = settings.window / WINDOW_STEPS
        tests = SECONDS_PER_HOUR / self.step * len(self.names)
        self.probability = min(settings.per_hour / tests, BEGINNING_PROBABILITY)
        self._steps: deque[_Step] = deque(maxlen=WINDOW_STEPS)
        self._since_window = 0
        self._windows = 0  # whose scatter is in the two below
        self._mean, self._variance = np.ones(len(self.names)), np.zeros(len(self.names))
        self.active: dict[str, ResidualAlarm] = {}
        self.past: list[ResidualAlarm] = []

    @property
    def alarms(self) -> tuple[ResidualAlarm, ...]:
        """All so far, in order of time, single joints first."""
        every = (*self.past, *self.active.values())
        return tuple(sorted(every, key=lambda one: (one.since, one.joint == ALL_JOINTS, one.joint)))

    def gap(self) -> None:
        """Nothing was measured for long: what comes next is judged by itself."""
        self._steps.clear()

    def see(self, time: Array, seen: Innovations, share: float) -> bool:
        """Of the next step; share: of an independent equation that each is worth. Whether there is alarm."""
        counted = seen.counted
        squares = np.append(seen.squares.sum(axis=0), seen.total.sum())
        error, noisy = np.where(counted, seen.error, 0.0), np.where(counted, seen.noisy, 0.0)
        self._steps.append(
            _Step(
                start=float(time[0]),
                end=float(time[-1]),
                squares=squares,
                counted=np.append(counted.sum(axis=0), counted.sum()),
                noisy=np.append(noisy.sum(axis=0), noisy.sum()),
                error=error.sum(axis=0),
                energy=(error**2).sum(axis=0),
            )
        )
        steps = self._steps
        number = np.sum([step.counted for step in steps], axis=0)
        mean = np.sum([step.squares for step in steps], axis=0) / np.maximum(number, 1)
        noise = np.sum([step.noisy for step in steps], axis=0) / np.maximum(number, 1)
        independent = np.maximum(number * share, 1e-3)
        freedom = self._freedom(1.0 / (noise**2 / independent + (1.0 - noise) ** 2))
        limit, calm = threshold(self.probability, freedom), threshold(ENDING_PROBABILITY, freedom)
        for k, name in enumerate(self.names):
            if number[k] and mean[k] > limit[k]:
                self._raise(k, name, float(mean[k]), share)
            elif name in self.active and (number[k] == 0 or mean[k] < calm[k]):
                self.past.append(replace(self.active.pop(name), until=float(time[-1])))
        if not self.active:
            self._learn(mean, number)
        return bool(self.active)

    def _raise(self, k: int, name: str, mean: float, share: float) -> None:
        steps, ratio = self._steps, float(np.sqrt(mean))
        sizes: dict[str, Any] = {}
        if k < len(self.names) - 1:
            number = max(sum(step.counted[k] for step in steps), 1)
            sizes = {
                "torque": float(np.sqrt(sum(step.energy[k] for step in steps) / number)),
                "mean": float(sum(step.error[k] for step in steps) / number),
            }
        if (before := self.active.get(name)) is not None:
            self.active[name] = replace(before, ratio=ratio, **sizes) if ratio > before.ratio else before
            return
        since = steps[-1].start
        for step in reversed(steps):
            own = step.squares[k] / max(step.counted[k], 1)
            if own < threshold(BEGINNING_PROBABILITY, np.array([share * step.counted[k]]))[0]:
                break
            since = step.start
        self.active[name] = ResidualAlarm(name, since, steps[-1].end, ratio, **sizes)

    def _freedom(self, independent: Array) -> Array:
        """(K,) of a window: as many as are independent, or as its scatter so far shows, if that is less."""
        if self._windows < SCATTER_WINDOWS:
            return independent
        shown = 2.0 * self._mean**2 / np.maximum(self._variance, 1e-12)
        return np.minimum(independent, shown)

    def _learn(self, mean: Array, number: Array) -> None:
        """From windows that do not overlap, without alarm."""
        self._since_window += 1
        if self._since_window < WINDOW_STEPS or len(self._steps) < WINDOW_STEPS:
            return
        self._since_window = 0
        self._windows += 1
        gain = 1.0 / min(self._windows, REMEMBERED_WINDOWS)
        there = number > 0
        apart = np.where(there, mean - self._mean, 0.0)
        self._mean += gain * apart
        self._variance += gain * ((1.0 - gain) * apart**2 - self._variance) * there
