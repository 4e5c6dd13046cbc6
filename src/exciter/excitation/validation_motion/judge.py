"""Who says whether a drawn motion may stay: certificates, a bounded number of draws, and what refused most of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import Effort, certify, remembers
from exciter.excitation.certificate.certificate import FAILURES, Certificate, LimitVerdict
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array

QUICK = Effort(refine=0)  # a verdict is wanted, not how close it was


@dataclass(eq=False)
class Judge:
    """most: draws after which it is given up; refused: how often each limit was the reason."""

    robot: Robot
    constraints: tuple[Constraint, ...]
    most: int
    what: str
    draws: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def count(self) -> None:
        """One more draw; an error when there were too many."""
        if self.draws == self.most:
            hardest = next((reason for reason, _ in self.refused.most_common(1)), "a limit")
            raise ExciterError(
                f"infeasible: no {self.what} that keeps all limits was found in {self.most} draws; hardest to keep is "
                f"{hardest}; loosen it, or allow more (trajectory: {{draws: …}})"
            )
        self.draws += 1

    def refuse(self, reason: LimitVerdict | str) -> None:
        self.refused[reason if isinstance(reason, str) else f"{reason.what} of {reason.where}"] += 1

    def certificate(self, curve: Curve, effort: Effort | None = None) -> Certificate:
        return certify(self.robot, curve, self.constraints, effort)

    def broken(self, curve: Curve) -> LimitVerdict | None:
        """A limit that is not proved, one that slowing down would not help first; None when all are kept."""
        limits = [limit for limit in self.certificate(curve, QUICK).limits if limit.status in FAILURES]
        return min(limits, key=lambda limit: limit.what == "torque", default=None)

    def room(self, motion: Motion) -> Array:
        """(N,) the smallest row of all constraints at each sample; negative: broken."""
        room = np.full(len(motion), np.inf)
        for _, values in self._rows(motion):
            room = np.minimum(room, values.min(axis=0))
        return room

    def breaks(self, motion: Motion) -> bool:
        """Whether a constraint is broken at some sample; the one that is broken most then counts as a refusal."""
        worst, reason = 0.0, ""
        for constraint, values in self._rows(motion):
            lowest = values.min(axis=1)
            if lowest.min() < worst:
                row = constraint.rows[int(np.argmin(lowest))]
                worst, reason = float(lowest.min()), f"{row.what} of {row.where}"
        if reason:
            self.refuse(reason)
        return bool(reason)

    def _rows(self, motion: Motion) -> Iterator[tuple[Constraint, Array]]:
        """Each constraint with its rows (K, N) at samples that are no time series, where these mean something."""
        yield from ((c, c.values(motion)) for c in self.constraints if not remembers(c))
