"""From a seed to a motion that keeps all limits at every instant."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from exciter.errors import ExciterError, MotionError
from exciter.excitation.certificate.certificate import FAILURES, Certificate
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.ramps import Ramps, ramped
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.excitation.validation_motion.judge import Judge
from exciter.notes import Note
from exciter.robot.robot import Robot
from exciter.typing import Array

MOST_DRAWS = 1_000_000  # of random points or motions
LONGEST = 3600.0  # [s] of a motion: beyond, files and reports would grow without bound


@dataclass(frozen=True, eq=False)
class Candidate:
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

    def candidate(self, judge: Judge, rng: np.random.Generator) -> Candidate:
        """One motion that may well keep all limits; every draw is counted by the judge."""


@dataclass(frozen=True, eq=False)
class Drawn:
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
) -> Drawn:
    """The motion of a seed: drawn again until joint limits and constraints are proved to hold for all time.

    periods, ramps: how often it is executed, and from where, as for a design.
    """
    began = time.monotonic()
    judge, rng = Judge(robot, tuple(constraints), settings.draws, settings.name), np.random.default_rng(seed)
    while True:
        candidate = settings.candidate(judge, rng)
        found = _executed(candidate, judge, periods, ramps)
        if found is not None:
            seconds = time.monotonic() - began
            return Drawn(
                candidate.trajectory,
                candidate.delta,
                *found,
                judge.constraints,
                ramps,
                periods,
                candidate.notes,
                judge.draws,
                seed,
                seconds,
            )


def _executed(
    candidate: Candidate, judge: Judge, periods: int, ramps: Ramps | None
) -> tuple[Curve, Certificate] | None:
    """The whole motion and its certificate; None where it is not certified."""
    curve = candidate.trajectory.curve(candidate.delta)
    if curve.duration * periods > LONGEST:
        raise ExciterError(
            f"the motion would take {curve.duration * periods:.0f} s; allowed are {LONGEST:.0f} s: ask for fewer "
            "points or periods, or a shorter duration or rest"
        )
    certificates = [judge.certificate(curve)]

    def allowed(whole: Curve) -> bool:
        certificates.append(judge.certificate(whole))
        return certificates[-1].certified

    if certificates[0].certified and (ramps is not None or periods > 1):
        try:
            curve = ramped(
                candidate.trajectory, candidate.delta, judge.robot, periods=periods, ramps=ramps, allowed=allowed
            )
        except MotionError:
            judge.refuse("every limit on the way from and to the start posture")
            return None
    if not certificates[-1].certified:
        judge.refuse(next(limit for limit in certificates[-1].limits if limit.status in FAILURES))
        return None
    return curve, certificates[-1]
