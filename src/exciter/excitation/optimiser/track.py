"""What is known of a start while it is under way, and when it ends early: its time is up, or others are far ahead."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exciter.excitation.optimiser.deadline import Deadline
from exciter.typing import Array

ReportValue = Callable[[int, float], None]  # number of an iteration, value of the criterion
LARGEST_REPAIR_SHARE = 0.3  # of the time of a start that is kept free for the repair of its motion
REPAIR_ITERATIONS = 12  # iterations after margins have grown
RESERVED_CERTIFICATES = 2  # for which a search or a repair stops in time: of the motion, and of one that shrinks
OUTDONE_ITERATIONS = 25  # over which the gain of a start is taken, and granted to it once more; see docs/speed.md


class Track:
    """Follows a start: the last motion that keeps its limits on the grid, the history, and whether to stop.

    bar: what others came to. Where even as many iterations as ``OUTDONE_ITERATIONS``, with the gain of the last ones
    again, would not lead there, the start is given up (``outdone``)."""

    y: Array

    def __init__(
        self, deadline: Deadline, progress: ReportValue | None, certificate_seconds: float, bar: float = np.inf
    ) -> None:
        self.deadline, self.progress, self.certificate_seconds, self.bar = deadline, progress, certificate_seconds, bar
        self.began, self.first = deadline.clock(), 0.0
        self.evaluations = self.iterations = 0
        self.history: list[tuple[float, float]] = []
        self.stopped = self.cancelled = self.outdone = False

    @property
    def seconds(self) -> float:
        return self.deadline.clock() - self.began

    def __call__(self, iteration: int, value: float, y: Array) -> bool:
        self.history.append((self.seconds, value))
        if len(self.history) > OUTDONE_ITERATIONS:
            gained = self.history[-1 - OUTDONE_ITERATIONS][1] - value
            self.outdone = value - gained > self.bar
        return self._followed(value, y) or self.outdone

    def silently(self, iteration: int, value: float, y: Array) -> bool:
        """Of a stand-in, whose value is not the criterion's."""
        return self._followed(np.inf, y)

    def _followed(self, value: float, y: Array) -> bool:
        self.y = y
        self.iterations += 1
        if self.progress is not None:
            self.progress(self.iterations, value)
        left, seconds = self.deadline.left, self.seconds
        repair = REPAIR_ITERATIONS * (seconds - self.first) / self.iterations  # by what iterations took so far
        most = LARGEST_REPAIR_SHARE * (left + seconds)
        return left <= RESERVED_CERTIFICATES * self.certificate_seconds + min(repair, most)
