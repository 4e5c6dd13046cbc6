"""Random motions: what the papers compare with, where searches may start, and families that are drawn to validate on.

Points and stops (Swevers et al. 1997, IEEE, V-C) are joined by the fastest straight moves, with a full stop at each:
every joint starts and stops with the others. B-splines (Rackl et al. 2012, IV-B) go through random way-points, from
rest to rest.
From a seed to a motion that keeps all limits at every instant: certificates say whether a drawn motion may stay; draws
are bounded, and what refused most of them is said."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ExciterError, MotionError
from exciter.excitation.certificate.adaptive import CertificateEffort, Constraint, certify, remembers
from exciter.excitation.certificate.certificate import FAILURES, Certificate, LimitVerdict, RowName
from exciter.excitation.optimiser import limits
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.piecewise import BSpline, Stops
from exciter.excitation.trajectories.ramps import Ramps, ramped
from exciter.excitation.trajectories.trajectory import Duration, Family, Trajectory, motion
from exciter.notes import Note, note
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import Number, Whole
from exciter.typing import Array

LIMIT_ROUNDING_SHARE = 1e-12  # by which a motion stays inside the limit that it is scaled up to
Times = tuple[float, float, float]
Judged = Callable[[Curve], Certificate]
Candidate = tuple[Trajectory, Array, tuple[Note, ...]]  # a family, coefficients (n, c), and what is said of them
SHORTEST_PHASE_S = 1e-3  # [s] of a phase: positions have too few digits for the jerk of shorter ones
PHASE_RESOLUTION_S = 1e-9  # [s] rows of files lie at whole ones; phases do too, so that rows lie where the jerk jumps
MOST_DRAWN_POINTS = 200
LONGEST_REST_S = 60.0  # [s]
LONGEST_RISE_S = 1.0  # [s]
LEAST_WAY_SHARE = 0.1  # of its range that some joint moves at least: enough to reach full acceleration
SLOWEST_PACE = 0.25  # pace of a move below which another point is drawn
PACE_HALVINGS = 5  # of the paces between too fast and slow enough
REFUSED_POINTS_IN_A_ROW = 50  # points refused in a row before the last one is given up, too
MOST_SPLINE_SEGMENTS = 200
DRAWN_POSTURES = 200  # drawn for each motion, one of them is its centre
ROOMY_CLEARANCE = 0.2  # 20 % of a torque limit, 2 cm: room enough about a posture
SPLINE_SWING_SHARES = (
    1.0 - limits.RESAMPLING_CLEARANCE_SHARE,
    0.9,
    0.8,
    0.7,
    0.6,
    0.5,
    0.4,
    0.3,
)  # of the largest swing
INSTANTS_PER_SEGMENT = 20  # at which a swing is looked at before it is certified
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
            hardest = next(iter(self.refused.most_common(1)), ("a limit",))[0]
            raise ExciterError(
                f"infeasible: no {self.what} that keeps all limits was found in {self.most} draws; hardest to keep is "
                f"{hardest}; loosen it, or allow more (trajectory: {{draws: …}})"
            )
        self.draws += 1

    def refuse(self, reason: LimitVerdict | RowName | str) -> None:
        self.refused[reason if isinstance(reason, str) else f"{reason.what} of {reason.where}"] += 1

    def certificate(self, curve: Curve) -> Certificate:
        return certify(self.robot, curve, self.constraints)

    def broken(self, curve: Curve) -> LimitVerdict | None:
        """A limit that is not proved, one that slowing down would not help first; None when all are kept."""
        found = certify(self.robot, curve, self.constraints, VERDICT_EFFORT).limits
        failures = [limit for limit in found if limit.status in FAILURES]
        return min(failures, key=lambda limit: limit.what == "torque", default=None)

    def rows(self, motion: Motion) -> tuple[list[RowName], Array]:
        """The K rows that mean something at samples which are no time series, and their values (K + 1, N) there; below
        zero they are broken, which the last one never is."""
        asked = [constraint for constraint in self.constraints if not remembers(constraint)]
        values = [*(constraint.values(motion) for constraint in asked), np.full((1, len(motion)), np.inf)]
        return [row for constraint in asked for row in constraint.rows], np.concatenate(values)

    def breaks(self, motion: Motion) -> bool:
        """Whether a constraint is broken at some sample; the row that is broken most then counts as a refusal."""
        rows, values = self.rows(motion)
        if broken := bool(values.min() < 0.0):
            self.refuse(rows[int(np.argmin(values.min(axis=1)))])
        return broken


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
    """The motion of a seed: drawn again until all limits are proved to hold. periods, ramps: as for a design."""
    began = time.monotonic()
    judge, rng = Judge(robot, tuple(constraints), settings.draws, settings.name), np.random.default_rng(seed)
    while True:
        family, delta, notes = settings.candidate(judge, rng)
        curve = family.curve(delta)
        if curve.duration * periods > LONGEST_DRAWN_MOTION_S:
            raise ExciterError(
                f"the motion would take {curve.duration * periods:.0f} s; allowed are {LONGEST_DRAWN_MOTION_S:.0f} s: "
                "ask for fewer points or periods, or a shorter duration or rest"
            )
        certificate = judge.certificate(curve)
        if certificate.certified and (ramps is not None or periods > 1):
            try:
                curve, certificate = certified_execution(family, delta, robot, periods, ramps, judge.certificate)
            except MotionError:
                judge.refuse("every limit on the way from and to the start posture")
                continue
        if certificate.certified:
            break
        judge.refuse(next(limit for limit in certificate.limits if limit.status in FAILURES))
    motion: dict[str, Any] = {"trajectory": family, "delta": delta, "curve": curve, "certificate": certificate}
    run: dict[str, Any] = {"constraints": judge.constraints, "ramps": ramps, "periods": periods, "seed": seed}
    return DrawnMotion(**motion, **run, notes=notes, draws=judge.draws, seconds=time.monotonic() - began)


def certified_execution(
    trajectory: Trajectory, delta: Array, robot: Robot, periods: int, ramps: Ramps | None, judged: Judged
) -> tuple[Curve, Certificate]:
    """The motion repeated, from rest to rest, with its certificate; MotionError where no ramps are certified."""
    certificates: list[Certificate] = []

    def allowed(whole: Curve) -> bool:
        certificates.append(judged(whole))
        return certificates[-1].certified

    curve = ramped(trajectory, delta, robot, periods=periods, ramps=ramps, allowed=allowed)
    return curve, certificates[-1]


def random_trajectory(trajectory: Trajectory, robot: Robot, seed: int, posture: ArrayLike | None = None) -> Array:
    """Coefficients (n, c) of a random motion of any family that fills the joint limits and keeps them for all time.
    Drawn normally distributed, about the posture (the middle of the ranges unless given), as large as limits allow."""
    centre = 0.5 * np.add(*robot.position_range()) if posture is None else np.asarray(posture, dtype=float)
    rng = np.random.default_rng(seed)
    powers = trajectory.time_powers.astype(float)
    scale = trajectory.duration**-powers  # every coefficient then moves by about as much
    trajectory = trajectory.of_joints(robot.joint_names)
    swing = trajectory.random(rng, robot.n) * scale
    return trajectory.still(centre) + largest_swing(robot, trajectory.curve(swing), centre)[:, None] * swing


def largest_swing(robot: Robot, swing: Curve, posture: Array) -> Array:
    """(n,): the factor by which each joint's motion about zero, put at the posture, reaches its tightest limit."""
    lower, upper = limits.limit_ranges(robot)
    limits.check_posture(robot, posture, lower[0], upper[0])
    room = np.full(robot.n, np.inf)
    for order in np.flatnonzero(np.isfinite(upper).any(axis=1)).tolist():
        reached, middle = swing.extremum(order), posture if order == 0 else 0.0
        for most, limit in ((reached.highest, upper[order] - middle), (-reached.lowest, middle - lower[order])):
            moves = most > 0
            room[moves] = np.minimum(room[moves], limit[moves] / most[moves])
    if not (np.isfinite(room) & (room > 0)).all():
        name = robot.joint_names[int(np.argmin(np.isfinite(room) & (room > 0)))]
        raise ExciterError(
            f"joint '{name}' cannot move: its posture is at a limit, its swing is zero, or its acceleration jumps and "
            "the jerk limit forbids that; choose a posture inside the range, or a smoother family"
        )
    return room * (1.0 - LIMIT_ROUNDING_SHARE)


def fastest_move(robot: Robot, start: Array, end: Array, rise: float, pace: float = 1.0) -> Times:
    """t_j, t_a, t_v [s] of ``Stops``. At pace 1 some joint is at a limit in every phase; a pace below 1 makes the same
    way in time / pace. rise [s]: no joint's acceleration grows to its limit in less. Whole nanoseconds, without phases
    that are too short: velocity, acceleration and jerk fall with each of the times, so that no limit is passed when
    they are rounded up, and a short phase lengthens the one before."""
    acceleration = robot.limit("acceleration")
    jerk = np.minimum(robot.limit("jerk"), acceleration / rise)
    with np.errstate(divide="ignore"):  # a joint that stands allows any speed
        fastest = [robot.limit("velocity"), acceleration, jerk] / np.abs(end - start)
    v, a, j = (1.0 - limits.RESAMPLING_CLEARANCE_SHARE) * fastest.min(axis=1)
    t_j = min((0.5 / j) ** (1.0 / 3.0), (v / j) ** 0.5, a / j)
    no_cruise = 0.5 * ((t_j**2 + 4.0 / (j * t_j)) ** 0.5 - 3.0 * t_j)  # of j t_j (t_j + t_a)(2 t_j + t_a) = 1
    t_a = max(0.0, min(no_cruise, v / (j * t_j) - t_j))
    t_v = max(0.0, 1.0 / (j * t_j * (t_j + t_a)) - 2.0 * t_j - t_a)
    t_j, t_a, t_v = t_j / pace, t_a / pace, t_v / pace
    if t_v < SHORTEST_PHASE_S:
        t_a, t_v = t_a + t_v, 0.0
    if t_a < SHORTEST_PHASE_S:
        t_j, t_a = t_j + t_a, 0.0
    times = np.array([max(t_j, SHORTEST_PHASE_S), t_a, t_v])
    return tuple((np.ceil(times / PHASE_RESOLUTION_S) * PHASE_RESOLUTION_S).tolist())


@dataclass(frozen=True)
class RandomPoints(Family):
    """A drawn motion, to validate on: from point to point, with full stops.

    points: how many, the first included; rest [s]: how long all joints stand at each; rise [s]: in which the
    acceleration grows to its limit, longer where a jerk limit asks for it; draws: of points, before it is given up.

    Points are uniformly distributed within the position limits. Moves are straight in joint space, all joints start and
    stop together, as fast as the limits of velocity, acceleration and jerk allow. A move that would break a torque
    limit is slowed down; a point is drawn again where standing there, or the way to it, breaks another limit.

    >>> ex.design(robot, ex.RandomPoints(points=4), seed=2).certificate.certified
    True"""

    word: ClassVar[str] = "random-points"
    title: ClassVar[str] = "random points"
    points: Annotated[int, Whole(2, MOST_DRAWN_POINTS)] = 20
    rest: Annotated[float, Number(least=0.0, most=LONGEST_REST_S, unit="s")] = 0.2
    rise: Annotated[float, Number(least=SHORTEST_PHASE_S, most=LONGEST_RISE_S, unit="s")] = 0.05
    draws: Annotated[int, Whole(1, MOST_DRAWS)] = 2000

    def __post_init__(self) -> None:
        if 0.0 < self.rest < SHORTEST_PHASE_S:
            raise ExciterError(f"rest is {self.rest:g} s; give 0, or {SHORTEST_PHASE_S:g} to {LONGEST_REST_S:g} s")
        if self.draws < self.points:
            raise ExciterError(f"draws is {self.draws}; give a whole number ≥ {self.points}, that of the points")

    @property
    def name(self) -> str:
        return f"motion through {self.points} random points"

    def candidate(self, judge: Judge, rng: np.random.Generator) -> Candidate:
        """Point after point, each reached by a certified move; where no point can be reached, the last one is left."""
        limits.finite_limits(judge.robot, "acceleration", "moves at maximum acceleration need one")
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
            if points and refused == REFUSED_POINTS_IN_A_ROW:
                points, moves, refused = points[:-1], moves[:-1], 0
        notes = _points_notes([pace for _, pace in moves])
        return Stops(tuple(times for times, _ in moves), self.rest), np.stack(points, axis=1), notes

    def _move(self, judge: Judge, start: Array, end: Array) -> tuple[Times, float] | None:
        """The fastest certified move and its pace; None, with the reason counted, when there is none."""
        lower, upper = judge.robot.position_range()
        if (np.abs(end - start) < LEAST_WAY_SHARE * (upper - lower)).all():
            judge.refuse("the distance between points")
            return None
        if judge.breaks(Motion.at(end)):
            return None

        def times(pace: float) -> Times:
            return fastest_move(judge.robot, start, end, self.rise, pace)

        def broken(pace: float) -> LimitVerdict | None:
            return judge.broken(Stops((times(pace),), self.rest).curve(np.stack([start, end], axis=1)))

        if (reason := broken(1.0)) is None:
            return times(1.0), 1.0
        if reason.what != "torque" or broken(SLOWEST_PACE) is not None:
            judge.refuse(reason)
            return None
        slow, fast = SLOWEST_PACE, 1.0
        for _ in range(PACE_HALVINGS):
            middle = 0.5 * (slow + fast)
            slow, fast = (middle, fast) if broken(middle) is None else (slow, middle)
        return times(slow), slow


def _points_notes(paces: list[float]) -> tuple[Note, ...]:
    slowed = {number: 100.0 * pace for number, pace in enumerate(paces, start=1) if pace < 1.0}
    if not slowed:
        return ()
    slowest, fastest = min(slowed.values()), max(slowed.values())
    pace = f"{slowest:.0f} %" if len(slowed) == 1 else f"{slowest:.0f} … {fastest:.0f} %"
    text = (
        f"torque limits forbid full acceleration in {len(slowed)} of {len(paces)} moves, which are slowed to {pace} of "
        f"the fastest pace: {', '.join(map(str, slowed))}"
    )
    return (note("torque limit", text, slowed=list(slowed)),)


@dataclass(frozen=True)
class RandomSpline(Family):
    """A drawn motion, to validate on: a smooth spline through random way-points.

    duration [s]; segments between way-points; degree 4 or 5; draws: of motions, before it is given up.

    Way-points are random about a posture with room, and each joint's swing is as large as its position, velocity,
    acceleration and jerk limits allow. A motion that breaks another limit is made smaller, then drawn again.

    >>> ex.design(robot, ex.RandomSpline(duration=8, segments=6), seed=2).curve.duration
    8.0"""

    word: ClassVar[str] = "random-spline"
    title: ClassVar[str] = "random spline"
    duration: Duration = 20.0
    segments: Annotated[int, Whole(1, MOST_SPLINE_SEGMENTS)] = 20
    degree: Annotated[int, Whole(4, 5)] = 5
    draws: Annotated[int, Whole(1, MOST_DRAWS)] = 50

    @property
    def name(self) -> str:
        return f"random spline of {self.duration:g} s"

    def candidate(self, judge: Judge, rng: np.random.Generator) -> Candidate:
        """The largest share of a random swing about a random posture that keeps all limits where they are sampled."""
        family = BSpline(self.duration, self.segments, self.degree)
        limits.check_room(judge.robot, family)
        instants = family.sample_times(INSTANTS_PER_SEGMENT * self.segments)
        while True:
            judge.count()
            posture = roomy_posture(judge, rng)
            seed = int(rng.integers(2**63))
            if judge.breaks(Motion.at(posture)):
                continue
            full, still = random_trajectory(family, judge.robot, seed, posture), family.still(posture)
            for share in SPLINE_SWING_SHARES:
                delta = still + share * (full - still)
                kept = judge.rows(motion(family, delta, instants))[1].min() >= 0.0
                if kept and judge.broken(family.curve(delta)) is None:
                    size = f"{100.0 * share:.0f} % of the size that the joint limits allow"
                    smaller = (note("size", f"the motion has {size}; other limits forbid more"),)
                    return family, delta, () if share == SPLINE_SWING_SHARES[0] else smaller
            judge.breaks(motion(family, full, instants))


def roomy_posture(judge: Judge, rng: np.random.Generator) -> Array:
    """(n,) of some random ones that nearest to the middle of all ranges which has room, else the one with most."""
    lower, upper = judge.robot.position_range()
    offset = rng.uniform(-0.9, 0.9, (DRAWN_POSTURES, judge.robot.n))
    offset = offset[np.argsort(np.abs(offset).max(axis=1))]
    postures: Array = 0.5 * (lower + upper) + 0.5 * offset * (upper - lower)
    room = judge.rows(Motion.at(postures))[1].min(axis=0)
    return np.asarray(postures[int(np.argmax(np.minimum(room, ROOMY_CLEARANCE)))])


RandomMotion = RandomPoints | RandomSpline  # what can be drawn
