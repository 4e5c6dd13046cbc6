"""Two experiments that begin with what one phenomenon alone is seen in: weight at rest, friction at constant velocity.

Static: at rest a motor's torque is that of gravity, and up to the dry friction more or less. A joint that came from
above is held by friction of one sign, one that came from below by the other: the mean of both is gravity. So every
pose is taken twice, all joints from above and all from below, with a time at rest each (Rackl et al. 2012, II-C).

Constant velocity: one joint sweeps to and fro at several speeds while the others stand (Khalil & Dombre, 12.3.3 ii).

An exciting motion follows in both; it is designed with what the first stage tells as prior information."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from exciter.dynamics.model import DynamicModel, static_base, static_columns
from exciter.errors import ExciterError
from exciter.excitation.criteria.observation_rows import DesignColumns
from exciter.excitation.experiments.experiment import (
    ExperimentStage,
    ExperimentTask,
    RepeatedExperiment,
    gathered,
    sampled,
)
from exciter.excitation.experiments.moves import Cruise, FrictionMotion, rest, sweep
from exciter.excitation.experiments.poses import PoseSearch, nearest_first, static_poses
from exciter.excitation.experiments.roadmap import PACES, REST_CLEARANCE, Roadmap
from exciter.excitation.trajectories.curve import Curve
from exciter.parameters.base import BaseParameters
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import Number, Whole
from exciter.typing import Array, BoolArray

LEAST_POSES = 8
POSE_EQUATIONS_PER_PARAMETER = 4  # of the poses together, unless their number is given
POSE_SELECTIONS = 20  # with the poses left out that cannot be reached
SWEEP_GRID_POSITIONS = 121  # of a joint, at which it is asked how far it may travel
WAITING_POSTURES = 24  # random ones, of the joints that wait
CERTIFIED_WAITING_POSTURES = 6  # of these, those with the longest ways
WAY_SHARES = (1.0, 0.9, 0.75, 0.6, 0.4)  # of a way that is certified as a whole
LEAST_TRAVEL_SHARE = 0.05  # of its range that a joint must be able to travel
GOOD_TRAVEL_SHARE = 0.9  # of the longest way: one from where the robot waits anyway is preferred


@dataclass(frozen=True)
class StaticExperiment(RepeatedExperiment):
    """poses: how many, 4 equations per gravity parameter and 8 at least unless given; dwell [s]: at rest, each time;
    approach: from how far above and below a pose is taken, as a share of the joint's range; candidates: random postures
    from which the poses are chosen."""

    word, title = "static", "poses at rest, approached from both sides; then an exciting motion"
    estimator = "static"
    poses: Annotated[int | None, Whole(2, 1000)] = None
    dwell: Annotated[float, Number(least=0.1, most=60.0, unit="s")] = 1.0
    approach: Annotated[float, Number(above=0.0, most=0.2)] = 0.03
    candidates: Annotated[int, Whole(10, 100_000)] = 1000

    def stages(self, task: ExperimentTask) -> tuple[ExperimentStage, ...]:
        base = static_base(task.model)
        if not len(base):
            raise ExciterError(f"no weight acts on the joints of robot '{task.robot.name}'; poses at rest tell nothing")
        task.tell("poses", "poses that tell most, and ways between them")
        poses = self._poses(task, base)
        parts, dwells = self._tour(task.roadmap, poses)
        curve, begin = task.led(parts, self._side(task.robot, poses[0], 1.0), poses[-1])
        dwells = [(begin + start, begin + end) for start, end in dwells]
        log = Motion.at(np.repeat(poses, 2, axis=0))
        columns = replace(DesignColumns.of(task.model, static_columns(task.model)), names=base.names)
        first = task.hand_made("poses", "rest", curve, log, columns=columns, dwells=dwells)
        known = task.with_information(task.objective.gram(log))
        return first, self.repeated(task).searched("excitation", "excitation", prior=known)

    def _side(self, robot: Robot, pose: Array, sign: float) -> Array:
        """(…, n) from where a pose is taken: all joints above it, or below."""
        lower, upper = robot.position_range()
        return np.asarray(pose + sign * self.approach * (upper - lower))

    def _poses(self, task: ExperimentTask, base: BaseParameters) -> Array:
        """(K, n) in the order of the tour; each can be reached from the others, and approached from both sides."""
        roadmap, count = task.roadmap, self.poses or _usual_poses(task.model, base)

        def allowed(q: Array) -> BoolArray:
            sides = [roadmap.allowed(self._side(task.robot, q, sign)) for sign in (1.0, -1.0)]
            return np.asarray(roadmap.allowed(q) & sides[0] & sides[1])

        candidates = roadmap.random_postures(self.candidates, "poses")
        candidates = candidates[allowed(candidates)]
        for _ in range(POSE_SELECTIONS):
            if len(candidates) < count:
                break
            search = PoseSearch(count, candidates=len(candidates), seed=task.seed)
            found = static_poses(task.model, search, noise=task.noise, allowed=allowed, candidates=candidates)
            kept: list[Array] = []
            lost: list[int] = []
            for pose, number in zip(found.q, found.chosen, strict=True):
                drawn = candidates[number]
                usable = next((one for one in (pose, drawn) if self._usable(task, one)), None)
                if usable is None:
                    lost.append(int(number))
                else:
                    kept.append(usable)
            if not lost:
                return nearest_first(task.robot, np.array(kept), roadmap.home)
            candidates = np.delete(candidates, lost, axis=0)
        raise roadmap.failed("poses", f"{count} poses that can be reached were not found in which")

    def _usable(self, task: ExperimentTask, pose: Array) -> bool:
        """Whether both approaches are certified, and the first of them can be reached."""
        roadmap = task.roadmap
        above, below = (self._side(task.robot, pose, sign) for sign in (1.0, -1.0))
        if roadmap.move(above, pose) is None or roadmap.move(below, pose) is None:
            return False
        return roadmap.joined(above) and roadmap.joined(pose)

    def _tour(self, roadmap: Roadmap, poses: Array) -> tuple[list[Curve], list[tuple[float, float]]]:
        """Moves and rests, and when the rests are."""
        parts: list[Curve] = []
        dwells: list[tuple[float, float]] = []
        at = self._side(roadmap.robot, poses[0], 1.0)
        for pose in poses:
            above, below = (self._side(roadmap.robot, pose, sign) for sign in (1.0, -1.0))
            from_above = [*roadmap.travel(at, above), *roadmap.travel(above, pose)]
            from_below = [*roadmap.travel(pose, below), *roadmap.travel(below, pose)]
            for way in (from_above, from_below):
                begin = sum(part.duration for part in (*parts, *way))
                parts += [*way, rest(pose, self.dwell)]
                dwells.append((begin, begin + self.dwell))
            at = pose
        return parts, dwells


def _usual_poses(model: DynamicModel, base: BaseParameters) -> int:
    return max(LEAST_POSES, -(-POSE_EQUATIONS_PER_PARAMETER * len(base) // model.n))


@dataclass(frozen=True)
class ConstantVelocityExperiment(RepeatedExperiment):
    """paces: shares of the fastest speed that leaves half of the way at constant velocity; travel: share of a joint's
    range that is swept, where nothing is in the way."""

    word, title = "constant-velocity", "one joint after the other at constant velocities; then an exciting motion"
    estimator = "friction-first"
    paces: tuple[Annotated[float, Number(above=0.0, most=1.0)], ...] = (0.2, 0.4, 0.7, 1.0)
    travel: Annotated[float, Number(above=0.0, most=1.0)] = 0.6

    def __post_init__(self) -> None:
        if not self.paces:
            raise ExciterError("paces is empty; give one at least")

    def stages(self, task: ExperimentTask) -> tuple[ExperimentStage, ...]:
        roadmap, robot = task.roadmap, task.robot
        parts: list[Curve] = []
        cruises: list[Cruise] = []
        sweeps = [self._swept(task, j) for j in range(robot.n)]
        first = at = sweeps[0][1]
        for swept, low in sweeps:
            parts += roadmap.travel(at, low)
            begin = sum(part.duration for part in parts)
            cruises += [_later(one, begin) for one in swept.cruises]
            parts.append(swept.curve)
            at = low
        curve, begin = task.led(parts, first, at)
        cruises = [_later(one, begin) for one in cruises]
        steady = gathered([sampled(curve, (one.start, one.end)) for one in cruises])
        first_stage = task.hand_made("sweeps", "constant-velocity", curve, steady, cruises=cruises)
        known = task.with_information(task.objective.gram(steady))
        return first_stage, self.repeated(task).searched("excitation", "excitation", prior=known)

    def _swept(self, task: ExperimentTask, j: int) -> tuple[FrictionMotion, Array]:
        """The sweep of a joint, and the posture (n,) in which it begins and ends."""
        roadmap, robot = task.roadmap, task.robot
        joint = robot.joint_names[j]
        task.tell("sweeps", f"a way for {joint}")
        for low, high in self._ways(roadmap, j):
            for share in WAY_SHARES:
                middle, half = 0.5 * (low + high), 0.5 * share * (high - low)
                ends = middle - half, middle + half
                if (found := self._paced(roadmap, joint, *ends)) is not None and roadmap.joined(ends[0]):
                    return found, ends[0]
        raise roadmap.failed("sweeps", f"no way of joint '{joint}' was found on which")

    def _paced(self, roadmap: Roadmap, joint: str, low: Array, high: Array) -> FrictionMotion | None:
        """At the highest speeds that torque limits allow."""
        for pace in PACES:
            found = sweep(roadmap.robot, joint, low, high, [pace * one for one in self.paces])
            obstacle = roadmap.obstacle(found.curve)
            if obstacle is None:
                return found
            if obstacle != "torque":
                return None
        return None

    def _ways(self, roadmap: Roadmap, j: int) -> Sequence[tuple[Array, Array]]:
        """Postures (n,) at both ends of ways of a joint, long ones first: for several postures of the others."""
        lower, upper = roadmap.robot.position_range()
        grid = np.linspace(lower[j], upper[j], SWEEP_GRID_POSITIONS)
        waiting = [roadmap.home, *roadmap.random_postures(WAITING_POSTURES, "sweeps")]
        found: list[tuple[float, Array, Array]] = []
        for posture in waiting:
            there = np.repeat(posture[None], len(grid), axis=0)
            there[:, j] = grid
            first, last = _longest_run(roadmap.allowed(there, REST_CLEARANCE))
            if last > first:
                middle, length = 0.5 * (grid[first] + grid[last]), grid[last] - grid[first]
                length = min(length, self.travel * (upper[j] - lower[j]))
                low, high = posture.copy(), posture.copy()
                low[j], high[j] = middle - 0.5 * length, middle + 0.5 * length
                found.append((length / (upper[j] - lower[j]), low, high))
        found = [one for one in found if one[0] >= LEAST_TRAVEL_SHARE]
        longest = max((one[0] for one in found), default=0.0)
        preferred = [one for one in found[:1] if one[0] >= GOOD_TRAVEL_SHARE * longest]
        ordered = [*preferred, *sorted(found, key=lambda one: -one[0])]
        return [(low, high) for _, low, high in ordered[:CERTIFIED_WAITING_POSTURES]]


def _longest_run(allowed: BoolArray) -> tuple[int, int]:
    """First and last of the longest row of neighbours that are allowed; (0, 0) where there is none."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], allowed, [False]]).astype(int)))
    runs = edges.reshape(-1, 2)
    if not len(runs):
        return 0, 0
    first, after = runs[int(np.argmax(runs[:, 1] - runs[:, 0]))]
    return int(first), int(after) - 1


def _later(one: Cruise, seconds: float) -> Cruise:
    return Cruise(joint=one.joint, speed=one.speed, start=one.start + seconds, end=one.end + seconds)
