"""Until when work may go on: an instant of a clock that no change of the date moves, looked at between the steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from exciter.dynamics.kernels.cache import working_seconds
from exciter.errors import ExciterError

Clock = Callable[[], float]
OVERTIME_SHARE = 0.05  # of the time limit that files may take beyond it, once there is a motion
LEAST_OVERTIME_S = 5.0  # [s] of it: files that were estimated wrongly are better than none


class OutOfTime(Exception):
    """The deadline came first. Whoever can use what is there already catches it."""


@dataclass(frozen=True)
class Deadline:
    """at [s]: the instant, infinite for none; seconds: the whole time that was given; clock: monotonic. patience [s]:
    after the instant, in which the certificate of a motion that is there may end, for without one it is lost."""

    at: float = math.inf
    seconds: float = math.inf
    clock: Clock = working_seconds
    patience: float = 0.0

    @classmethod
    def after(cls, seconds: float | None, elapsed: float = 0.0, clock: Clock = working_seconds) -> Deadline:
        """So many seconds from now, less those that are over already; None: never."""
        limit = math.inf if seconds is None else seconds
        return cls(clock() - elapsed + limit, limit, clock)

    @property
    def left(self) -> float:
        """Seconds, negative when it has passed."""
        return self.at - self.clock()

    @property
    def passed(self) -> bool:
        return self.left <= 0.0

    def check(self) -> None:
        if self.passed:
            raise OutOfTime

    def moved(self, seconds: float) -> Deadline:
        """Later by so many seconds; earlier where they are negative."""
        return replace(self, at=self.at + seconds)

    @property
    def of_certificates(self) -> Deadline:
        """For what a certificate of the last motion takes."""
        return self.moved(self.patience)

    @property
    def overtime(self) -> float:
        """[s] beyond the instant in which what was found may be written."""
        return max(LEAST_OVERTIME_S, OVERTIME_SHARE * self.seconds)

    def of_files(self, *, resumed: bool) -> Deadline:
        """Until when what was found may be written; what a resumed run without time has from its checkpoint is, too."""
        return NEVER if resumed and self.passed else self.moved(self.overtime)

    def shared(self) -> Deadline:
        """For other processes of this machine, which share its monotonic clock, but not what was compiled here."""
        return replace(self, at=time.monotonic() + self.left, clock=time.monotonic)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What is not done in time is an error that a user can act on."""
        try:
            yield
        except OutOfTime:
            raise ExciterError(
                f"no motion that keeps all limits was found and certified in {self.seconds:g} s; give more time "
                "(time_limit), loosen a limit, or leave out constraints"
            ) from None


NEVER = Deadline()
