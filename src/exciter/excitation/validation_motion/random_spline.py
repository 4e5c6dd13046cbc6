"""B-splines through random way-points, from rest to rest (Rackl et al. 2012, IV-B)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from exciter.errors import ExciterError
from exciter.excitation.baselines.random_motion import random_trajectory
from exciter.excitation.optimiser.joint_limits import check_room
from exciter.excitation.trajectories.bspline import BSpline
from exciter.excitation.trajectories.trajectory import Duration, Family, motion
from exciter.excitation.validation_motion.draw import MOST_DRAWS, Candidate
from exciter.excitation.validation_motion.judge import Judge
from exciter.notes import Note, note
from exciter.robot.motion import Motion
from exciter.settings import Whole
from exciter.typing import Array

MOST_SEGMENTS = 200
POSTURES = 200  # drawn for each motion, one of them is its centre
ROOMY = 0.2  # 20 % of a torque limit, 2 cm: room enough about a posture
SHARES = (1.0 - 1e-6, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)  # of the largest swing within the joint limits, in turn
INSTANTS = 20  # per segment at which a swing is looked at before it is certified


@dataclass(frozen=True)
class RandomSpline(Family):
    """duration [s]; segments between way-points; degree 4 or 5; draws: of motions, before it is given up.

    Way-points are random about a posture with room, and each joint's swing is as large as its position, velocity,
    acceleration and jerk limits allow. A motion that breaks another limit is made smaller, then drawn again.
    """

    word: ClassVar[str] = "random-spline"
    title: ClassVar[str] = "random spline"
    duration: Duration = 20.0
    segments: Annotated[int, Whole(1)] = 20
    degree: Annotated[int, Whole(4)] = 5
    draws: Annotated[int, Whole(1, MOST_DRAWS)] = 50

    def __post_init__(self) -> None:
        if not 1 <= self.segments <= MOST_SEGMENTS:
            raise ExciterError(f"segments is {self.segments}; give a whole number from 1 to {MOST_SEGMENTS}")
        if self.draws < 1:
            raise ExciterError(f"draws is {self.draws}; give a whole number ≥ 1")
        _ = self.family  # refuses what a B-spline cannot be

    @property
    def family(self) -> BSpline:
        return BSpline(self.duration, self.segments, self.degree)

    @property
    def name(self) -> str:
        return f"random spline of {self.duration:g} s"

    def candidate(self, judge: Judge, rng: np.random.Generator) -> Candidate:
        """The largest share of a random swing about a random posture that keeps all limits where they are sampled."""
        family = self.family
        check_room(judge.robot, family)
        instants = family.sample_times(INSTANTS * self.segments)
        while True:
            judge.count()
            posture = _posture(judge, rng)
            seed = int(rng.integers(2**63))
            if judge.breaks(Motion.at(posture)):
                continue
            full, still = random_trajectory(family, judge.robot, seed, posture), family.still(posture)
            for share in SHARES:
                delta = still + share * (full - still)
                if judge.room(motion(family, delta, instants)).min() < 0.0:
                    continue
                if judge.broken(family.curve(delta)) is None:
                    return Candidate(family, delta, _notes(share))
            judge.breaks(motion(family, full, instants))


def _posture(judge: Judge, rng: np.random.Generator) -> Array:
    """(n,) of some random ones that nearest to the middle of all ranges which has room, else the one with most."""
    lower, upper = judge.robot.position_range()
    offset = rng.uniform(-0.9, 0.9, (POSTURES, judge.robot.n))
    offset = offset[np.argsort(np.abs(offset).max(axis=1))]
    postures: Array = 0.5 * (lower + upper) + 0.5 * offset * (upper - lower)
    room = judge.room(Motion.at(postures))
    posture: Array = postures[int(np.argmax(np.minimum(room, ROOMY)))]
    return posture


def _notes(share: float) -> tuple[Note, ...]:
    if share == SHARES[0]:
        return ()
    text = f"the motion has {100.0 * share:.0f} % of the size that the joint limits allow; other limits forbid more"
    return (note("size", text),)
