"""Parameters of a stream of equations: each block of them is judged, kept back for the length of a window, and used
when nothing was wrong by then, so that what raises an alarm has not changed the parameters before it is noticed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from exciter.errors import ParameterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.following.follow_settings import (
    DOWNWEIGHT_ROWS,
    SECONDS_PER_HOUR,
    SKIP_ROWS,
    FollowSettings,
)
from exciter.identification.following.noise_level import MOST_COUNTED_SIGMA, NoiseLevel, whole
from exciter.identification.following.residual_alarm import WINDOW_STEPS, ResidualAlarm, ResidualWatch
from exciter.identification.information.information import Information
from exciter.identification.information.kalman import Belief, Innovations, KalmanFilter
from exciter.typing import Array

GAP_WINDOWS = 2.0  #: without equations, after which what comes is judged by itself
TRYING_SECONDS = 1.0  #: between two looks whether equations are enough to tell their noise
LONGEST_BEGINNING = 60.0  #: [s] after which the guess must do
LEAST_VARIANCE = 1e-12  #: of a correlation matrix: less is rounding, or a parameter that was held
HELD_STD_FRACTION = 1e-6  #: of its value: σ of a parameter that the start says is certain


@dataclass(frozen=True, eq=False)
class FollowState:
    """What is known at an instant ``time`` [s] of the log: values and std (p,), NaN where not determined yet. alarms:
    those that last. noise (J,): σ of the equations. used, skipped: how many equations were, so far. judged: whether the
    noise is known, so that residuals can be judged; or else all σ rest on a guess of it."""

    time: float
    belief: Belief
    alarms: tuple[ResidualAlarm, ...]
    noise: Array
    used: int
    skipped: int
    judged: bool

    @property
    def values(self) -> Array:
        return self.belief.values

    @property
    def std(self) -> Array:
        return self.belief.std


@dataclass(frozen=True, eq=False)
class _Block:
    time: Array
    w: Array
    y: Array
    share: float
    seen: Innovations
    seconds: Array | float = 0.0  # since the instant before, when they were used


class FollowedParameters:
    """names: of the parameters; joints: equations of an instant. noise (J,): σ of an equation, to begin with; learned:
    whether it is learned from residuals; noise_known: or else it is a guess, and found from the first equations. prior:
    what is known of the parameters at the start."""

    def __init__(
        self,
        names: Sequence[str],
        joints: Sequence[str],
        noise: Array,
        settings: FollowSettings,
        prior: Information | None = None,
        *,
        learned: bool = False,
        noise_known: bool = True,
    ) -> None:
        self.names, self.joints, self.settings = tuple(names), tuple(joints), settings
        self.noise = NoiseLevel(noise, learned=learned)
        self.watch = ResidualWatch(joints, settings.alarm)
        self.filter = KalmanFilter(names, noise, prior)
        self._prior, self._tried = prior, 0.0
        self._early: list[_Block] | None = [] if learned and not noise_known else None  # before the noise was known
        self._walks = settings.walks(self.names)
        self._pending: Rows | None = None
        self._blocks: deque[_Block] = deque()
        self._last: float | None = None  # [s] of the last equations that were used
        self._end: float | None = None  # [s] of the last that were seen
        self._next: float | None = None  # [s] of the next answer
        self._largest = np.zeros((len(self.joints), len(self.names)))  # entries of W so far
        self.used = self.skipped = 0
        self._set_drift()

    def see(self, rows: Rows) -> Iterator[FollowState]:
        """The next equations; answers that are due."""
        if self._pending is not None:
            rows = Rows.join([self._pending, rows])
        number = np.floor(rows.time / self.watch.step)
        cuts = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist()]
        for start, stop in pairwise(cuts):
            yield from self._block(rows, start, stop)
        self._pending = rows[cuts[-1] :]

    def finish(self) -> FollowState:
        """The stream has ended: all that is left is judged, and used."""
        if self._pending is not None and len(self._pending):
            for _ in self._block(self._pending, 0, len(self._pending)):
                pass
            self._pending = None
        self._release(0)
        if self._end is None:
            raise ParameterError("the stream had no equations; is the robot at rest, or the stream too short?")
        return self.state(self._end)

    def state(self, time: float) -> FollowState:
        belief = self._set_drift(time)
        alarms = tuple(self.watch.active.values())
        noise, judged = self.noise.noise.copy(), self._early is None
        return FollowState(time, belief, alarms, noise, self.used, self.skipped, judged)

    def _set_drift(self, time: float | None = None) -> Belief:
        """Walks are of the values as they are; what is believed at a time [s], which may be later than the last use."""
        belief = self.filter.belief(0.0 if time is None or self._last is None else max(time - self._last, 0.0))
        values = np.where(belief.determined, belief.values, 0.0)
        self.filter.drift = np.hypot(self._walks[:, 0] * values, self._walks[:, 1]) / np.sqrt(SECONDS_PER_HOUR)
        return belief

    def _block(self, rows: Rows, start: int, stop: int) -> Iterator[FollowState]:
        time, w, y = rows.time[start:stop], rows.w[start:stop], rows.y[start:stop]
        share = min(1.0, 2.0 * rows.bandwidth / rows.rate)
        if self._end is not None and time[0] - self._end > GAP_WINDOWS * self.settings.alarm.window:
            self._release(0)
            self.watch.gap()
            if self._last is not None and self._early is None:  # before, the blocks that are used again have it
                self.filter.walk(float(time[0]) - self._last)
                self._last = float(time[0])
        self._end = float(time[-1])
        ahead = 0.0 if self._last is None else max(float(time[-1]) - self._last, 0.0)
        self._largest = np.maximum(self._largest, np.abs(w).max(axis=0, initial=0.0))
        seen = self.filter.innovations(w, y, ahead)
        seen = replace(seen, counted=seen.counted & whole(w, self._largest))
        self._blocks.append(_Block(time, w, y, share, seen))
        if self._early is None and self.watch.see(time, seen, share):
            self._in_alarm()
        self._release(WINDOW_STEPS)
        if self._next is None:
            self._next = (np.floor(self._end / self.settings.every) + 1.0) * self.settings.every
        elif self._end >= self._next:
            self._next = (np.floor(self._end / self.settings.every) + 1.0) * self.settings.every
            yield self.state(self._end)

    def _in_alarm(self) -> None:
        policy = self.settings.alarm.rows
        if policy == SKIP_ROWS:
            self.skipped += sum(int(block.seen.counted.sum()) for block in self._blocks)
            self._blocks.clear()
        elif policy == DOWNWEIGHT_ROWS:
            self._blocks = deque(map(_downweighted, self._blocks))

    def _release(self, kept: int) -> None:
        """Use all blocks but the last ``kept``."""
        while len(self._blocks) > kept:
            block = self._blocks.popleft()
            since = 0.0 if self._last is None else max(float(block.time[-1]) - self._last, 0.0)
            seconds = np.zeros(len(block.time))
            seconds = np.diff(block.time, prepend=block.time[0] if self._last is None else self._last).clip(0.0)
            self.filter.noise = self.noise.noise
            self.filter.update(block.w, block.y, seconds, block.share)
            self._last = float(block.time[-1])
            self.used += int((np.abs(block.w).max(axis=2) > 0.0).sum())
            if self._early is None:
                self.noise.learn(block.seen, block.share, since)
            else:
                self._early.append(replace(block, seconds=seconds))
                self._begin(last=kept == 0)

    def _begin(self, *, last: bool) -> None:
        """Find the noise from what came so far, if that is enough, and use it again: the noise before was a guess."""
        early = self._early
        assert early is not None
        lasted = early[-1].time[-1] - early[0].time[0]
        if not last and lasted < self._tried + TRYING_SECONDS:
            return
        self._tried = lasted
        w, y = np.concatenate([one.w for one in early]), np.concatenate([one.y for one in early])
        if self.noise.begin(w, y, early[-1].share) or lasted > LONGEST_BEGINNING:
            self.filter = KalmanFilter(self.names, self.noise.noise, self._prior, self.filter.drift)
            for block in early:
                self.filter.update(block.w, block.y, block.seconds, block.share)
            self._early = None


def _downweighted(block: _Block) -> _Block:
    """Equations beyond k σ count as if their residual were k σ (Huber); done again, nothing changes."""
    size = np.sqrt(block.seen.squares)
    large = size > MOST_COUNTED_SIGMA
    weight = np.sqrt(np.where(large, MOST_COUNTED_SIGMA / np.where(large, size, 1.0), 1.0))
    seen = replace(block.seen, counted=block.seen.counted & ~large)
    return _Block(block.time, block.w * weight[..., None], block.y * weight, block.share, seen)


def prior_of_estimate(values: Array, covariance: Array) -> Information:
    """Also of one whose covariance is singular, as where a parameter was held at its value."""
    std = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    held = ~(std > 0.0)
    std = np.where(held, HELD_STD_FRACTION * np.maximum(np.abs(values), HELD_STD_FRACTION), std)
    correlation = covariance / np.outer(std, std)
    correlation[held] = correlation[:, held] = 0.0
    np.fill_diagonal(correlation, 1.0)
    size, directions = np.linalg.eigh(0.5 * (correlation + correlation.T))
    if size.min() < LEAST_VARIANCE:
        correlation = (directions * np.maximum(size, LEAST_VARIANCE)) @ directions.T
    return Information.of_estimate(values, correlation * np.outer(std, std))


def prior_of_description(nominal: Array, relative: float) -> Information:
    """Of values with a relative σ; nothing of those that are zero."""
    known = np.where(nominal != 0.0, 1.0 / (relative * np.where(nominal == 0.0, 1.0, np.abs(nominal))), 0.0)
    return Information.empty(len(nominal)).add(np.diag(known), known * nominal)
