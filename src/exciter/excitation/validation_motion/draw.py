"""From a seed to a motion that keeps all limits at every instant.

Certificates say whether a drawn motion may stay; draws are bounded, and what refused most of them is said.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from exciter.errors import ExciterError, MotionError
from exciter.excitation.certificate.adaptive import CertificateEffort, certify, remembers
from exciter.excitation.certificate.certificate import FAILURES, Certificate, LimitVerdict
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.ramps import Ramps, ramped
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.notes import Note
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array

VERDICT_EFFORT = CertificateEffort(refine=0)  # a verdict is wanted, not how close it was
MOST_DRAWS = 1_000_000  # of random points or motions
LONGEST_DRAWN_MOTION_S = 3600.0  # longer ones would make files and reports grow without bound


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

    def certificate(self, curve: Curve, effort: CertificateEffort | None = None) -> Certificate:
        return certify(self.robot, curve, self.constraints, effort)

    def broken(self, curve: Curve) -> LimitVerdict | None:
        """A limit that is not proved, one that slowing down would not help first; None when all are kept."""
        limits = [limit for limit in self.certificate(curve, VERDICT_EFFORT).limits if limit.status in FAILURES]
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


@dataclass(frozen=True, eq=False)
class CandidateMotion:
    """A motion that was drawn: coefficients (n, c) of a family, and what is to be said of how they came about."""

    trajectory: Trajectory
    delta: Array
    notes: tuple[Note, ...] = ()


class RandomMotion(Protocol):
    """Settings of a kind of random motion."""

    @property
    def draws(self) -> int:
        """How many draws are made before it is given up."""

    @property
    def name(self) -> str:
        """For messages."""

    def candidate(self, judge: Judge, rng: np.random.Generator) -> CandidateMotion:
        """One motion that may well keep all limits; every draw is counted by the judge."""


@dataclass(frozen=True, eq=False)
class DrawnMotion:
    """A certified random motion. curve: what the robot executes, ramps and periods included."""

    trajectory: Trajectory
    delta: Array
    curve: Curve
    certificate: Certificate
    constraints: tuple[Constraint, ...]
    ramps: Ramps | None
    periods: int
    notes: tuple[Note, ...]
    draws: int
    seed: int
    seconds: float


def draw(
    robot: Robot,
    settings: RandomMotion,
    constraints: Sequence[Constraint] = (),
    *,
    seed: int = 0,
    periods: int = 1,
    ramps: Ramps | None = None,
) -> DrawnMotion:
    """The motion of a seed: drawn again until joint limits and constraints are proved to hold for all time.

    periods, ramps: how often it is executed, and from where, as for a design.
    """
    began = time.monotonic()
    judge, rng = Judge(robot, tuple(constraints), settings.draws, settings.name), np.random.default_rng(seed)
    while True:
        candidate = settings.candidate(judge, rng)
        if (found := _executed(candidate, judge, periods, ramps)) is not None:
            return DrawnMotion(
                trajectory=candidate.trajectory,
                delta=candidate.delta,
                curve=found[0],
                certificate=found[1],
                constraints=judge.constraints,
                ramps=ramps,
                periods=periods,
                notes=candidate.notes,
                draws=judge.draws,
                seed=seed,
                seconds=time.monotonic() - began,
            )


def _executed(
    candidate: CandidateMotion, judge: Judge, periods: int, ramps: Ramps | None
) -> tuple[Curve, Certificate] | None:
    """The whole motion and its certificate; None where it is not certified."""
    curve = candidate.trajectory.curve(candidate.delta)
    if curve.duration * periods > LONGEST_DRAWN_MOTION_S:
        raise ExciterError(
            f"the motion would take {curve.duration * periods:.0f} s; allowed are {LONGEST_DRAWN_MOTION_S:.0f} s: "
            "ask for fewer points or periods, or a shorter duration or rest"
        )
    certificate = judge.certificate(curve)
    if certificate.certified and (ramps is not None or periods > 1):
        try:
            curve, certificate = certified_execution(
                candidate.trajectory, candidate.delta, judge.robot, periods, ramps, judge.certificate
            )
        except MotionError:
            judge.refuse("every limit on the way from and to the start posture")
            return None
    if not certificate.certified:
        judge.refuse(next(limit for limit in certificate.limits if limit.status in FAILURES))
        return None
    return curve, certificate


def certified_execution(
    trajectory: Trajectory,
    delta: Array,
    robot: Robot,
    periods: int,
    ramps: Ramps | None,
    judged: Callable[[Curve], Certificate],
) -> tuple[Curve, Certificate]:
    """The motion repeated, from rest to rest, with its certificate; MotionError where no ramps are certified."""
    certificates: list[Certificate] = []

    def allowed(whole: Curve) -> bool:
        certificates.append(judged(whole))
        return certificates[-1].certified

    curve = ramped(trajectory, delta, robot, periods=periods, ramps=ramps, allowed=allowed)
    return curve, certificates[-1]
