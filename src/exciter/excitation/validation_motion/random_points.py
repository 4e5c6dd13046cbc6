"""Random points visited at maximum acceleration, with a full stop at each (Swevers et al. 1997, IEEE, V-C)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from exciter.errors import ExciterError
from exciter.excitation.certificate.certificate import LimitVerdict
from exciter.excitation.trajectories.stops import Stops
from exciter.excitation.trajectories.trajectory import Duration, Family
from exciter.excitation.validation_motion.draw import MOST_DRAWS, Candidate
from exciter.excitation.validation_motion.fastest_move import SHORTEST, Times, check_accelerations, fastest_move
from exciter.excitation.validation_motion.judge import Judge
from exciter.notes import Note, note
from exciter.robot.motion import Motion
from exciter.settings import Number, Whole
from exciter.typing import Array

MOST_POINTS = 200
LONGEST_REST = 60.0  # [s]
LONGEST_RISE = 1.0  # [s]
APART = 0.1  # of its range that some joint moves at least: enough to reach full acceleration
SLOWEST = 0.25  # pace of a move below which another point is drawn
HALVINGS = 5  # of the paces between too fast and slow enough
STUCK = 50  # points refused in a row before the last one is given up, too


@dataclass(frozen=True)
class RandomPoints(Family):
    """points: how many, the first included; rest [s]: how long all joints stand at each; rise [s]: in which the
    acceleration grows to its limit, longer where a jerk limit asks for it; draws: of points, before it is given up.

    Points are uniformly distributed within the position limits. Moves are straight in joint space, all joints start and
    stop together, as fast as the limits of velocity, acceleration and jerk allow. A move that would break a torque
    limit is slowed down; a point is drawn again where standing there, or the way to it, breaks another limit.
    """

    word: ClassVar[str] = "random-points"
    title: ClassVar[str] = "random points"
    points: Annotated[int, Whole(2)] = 20
    rest: Annotated[float, Number(least=0.0, unit="s")] = 0.2
    rise: Duration = 0.05
    draws: Annotated[int, Whole(1, MOST_DRAWS)] = 2000

    def __post_init__(self) -> None:
        if not 2 <= self.points <= MOST_POINTS:
            raise ExciterError(f"points is {self.points}; give a whole number from 2 to {MOST_POINTS}")
        if self.rest != 0.0 and not SHORTEST <= self.rest <= LONGEST_REST:
            raise ExciterError(f"rest is {self.rest:g} s; give 0, or {SHORTEST:g} to {LONGEST_REST:g} s")
        if not SHORTEST <= self.rise <= LONGEST_RISE:
            raise ExciterError(f"rise is {self.rise:g} s; give {SHORTEST:g} to {LONGEST_RISE:g} s")
        if self.draws < self.points:
            raise ExciterError(f"draws is {self.draws}; give a whole number ≥ {self.points}, that of the points")

    @property
    def name(self) -> str:
        return f"motion through {self.points} random points"

    def candidate(self, judge: Judge, rng: np.random.Generator) -> Candidate:
        """Point after point, each reached by a certified move; where no point can be reached, the last one is left."""
        check_accelerations(judge.robot)
        points: list[Array] = []
        moves: list[tuple[Times, float]] = []  # to each point but the first, with its pace
        refused = 0
        while len(points) < self.points:
            judge.count()
            point = rng.uniform(*judge.robot.position_range())
            move = self._move(judge, points[-1], point) if points else None
            if move is not None:
                moves.append(move)
            if move is not None or not (points or judge.breaks(Motion.at(point))):
                points.append(point)
                refused = 0
                continue
            refused += 1
            if points and refused == STUCK:
                points, moves, refused = points[:-1], moves[:-1], 0
        family = Stops(tuple(times for times, _ in moves), self.rest)
        return Candidate(family, np.stack(points, axis=1), _notes([pace for _, pace in moves]))

    def _move(self, judge: Judge, start: Array, end: Array) -> tuple[Times, float] | None:
        """The fastest certified move and its pace; None, with the reason counted, when there is none."""
        lower, upper = judge.robot.position_range()
        if (np.abs(end - start) < APART * (upper - lower)).all():
            judge.refuse("the distance between points")
            return None
        if judge.breaks(Motion.at(end)):
            return None

        def times(pace: float) -> Times:
            return fastest_move(judge.robot, start, end, self.rise, pace)

        def broken(pace: float) -> LimitVerdict | None:
            return judge.broken(Stops((times(pace),), self.rest).curve(np.stack([start, end], axis=1)))

        reason = broken(1.0)
        if reason is None:
            return times(1.0), 1.0
        if reason.what != "torque" or broken(SLOWEST) is not None:
            judge.refuse(reason)
            return None
        slow, fast = SLOWEST, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (slow + fast)
            slow, fast = (middle, fast) if broken(middle) is None else (slow, middle)
        return times(slow), slow


def _notes(paces: list[float]) -> tuple[Note, ...]:
    """Which moves are not at maximum acceleration, and by how much."""
    slowed = [number for number, pace in enumerate(paces, start=1) if pace < 1.0]
    if not slowed:
        return ()
    slowest, fastest = (100.0 * bound(paces[number - 1] for number in slowed) for bound in (min, max))
    pace = f"{slowest:.0f} %" if len(slowed) == 1 else f"{slowest:.0f} … {fastest:.0f} %"
    text = (
        f"torque limits forbid full acceleration in {len(slowed)} of {len(paces)} moves, which are slowed to {pace} of "
        f"the fastest pace: {', '.join(map(str, slowed))}"
    )
    return (note("torque limit", text, slowed=slowed),)
