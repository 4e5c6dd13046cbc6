"""Ways from posture to posture that keep all limits: straight moves in joint space where they are certified, and others
through postures in between.

Postures that were reached are the nodes of a graph, certified moves its edges. A new posture joins it by a straight
move from one of its nearest nodes, else by way of random postures, which stay for those that come later. So whatever
joined can be reached from whatever else did."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from exciter.errors import ExciterError
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.ground import advice
from exciter.excitation.experiments.moves import chained, quick_move
from exciter.excitation.optimiser.deadline import NEVER, Deadline
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.validation_motion.random_families import Judge
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array, BoolArray

REST_CLEARANCE = 0.02  # of a row of a constraint at a posture that is drawn: 2 % of a torque limit, 2 mm
RANDOM_POSTURES_AT_ONCE = 500
POSTURE_BATCHES = 20  # of random postures that are looked through before it is given up
RANGE_EDGE_SHARE = 0.03  # of a joint's range, at both ends, where no posture is drawn
FILE_PACE = 0.98  # of the fastest that joint limits allow: the rest is for what controllers do between rows of a file
PACES = (FILE_PACE, 0.7, 0.5, 0.35, 0.25)  # tried one after the other, where a torque limit forbids the faster one
INSTANTS_OF_A_MOVE = 33  # at which a move is looked at before it is certified
NEAREST_NODES = 8  # of the roadmap, tried for a straight move
VIA_POSTURES = 60  # random ones, tried for a way around
SAME_POSTURE = 1e-12  # [rad or m] by which postures may differ and be one


@dataclass(eq=False)
class Roadmap:
    """home (n,): its first node, where all limits are kept at rest. refused: how often each limit was in the way."""

    robot: Robot
    constraints: tuple[Constraint, ...]
    home: Array
    rng: np.random.Generator
    deadline: Deadline = NEVER
    nodes: list[Array] = field(default_factory=list)
    edges: list[dict[int, Curve]] = field(default_factory=list)
    moves: dict[tuple[bytes, bytes], Curve | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.judge = Judge(self.robot, self.constraints, 0, "move")
        self._add(self.home)

    @classmethod
    def about(
        cls, robot: Robot, constraints: Sequence[Constraint], preferred: Sequence[Array], seed: int, deadline: Deadline
    ) -> Roadmap:
        """Begun at the first of the preferred postures that keeps all limits with clearance, else at the random one
        that keeps them best."""
        judge, rng = Judge(robot, tuple(constraints), 0, "posture"), np.random.default_rng(seed)
        drawn = rng.uniform(*_inner_range(robot), (RANDOM_POSTURES_AT_ONCE, robot.n))
        candidates = np.vstack([*(one[None] for one in preferred), drawn])
        rows, values = judge.rows(Motion.at(candidates))
        room = values.min(axis=0)
        good = np.flatnonzero(room[: len(preferred)] >= REST_CLEARANCE)
        best = int(good[0]) if len(good) else int(np.argmax(room))
        if room[best] < 0.0:
            hardest = rows[int(np.argmax((values[:-1] < 0.0).mean(axis=1)))]
            raise ExciterError(
                "infeasible, whatever the stage: no posture within the joint limits keeps all limits at rest; hardest "
                f"to keep is {hardest.what} of {hardest.where}; {advice(hardest.where, constraints)}"
            )
        return cls(robot, tuple(constraints), candidates[best], rng, deadline)

    @property
    def refused(self) -> Counter[str]:
        return self.judge.refused

    @property
    def hardest(self) -> str:
        """The limit that was in the way most often."""
        return next(iter(self.refused.most_common(1)), ("a limit",))[0]

    # -- postures ------------------------------------------------------------------------------------------------------

    def allowed(self, q: Array, clearance: float = REST_CLEARANCE) -> BoolArray:
        """(N,) which of the postures (N, n) keep all limits at rest."""
        self.deadline.check()
        lower, upper = self.robot.position_range()
        inside = ((q >= lower) & (q <= upper)).all(axis=1)
        rows, values = self.judge.rows(Motion.at(np.clip(q, lower, upper)))
        for k in np.argmin(values, axis=0)[values.min(axis=0) < clearance]:
            if k < len(rows):
                self.judge.refuse(rows[k])
        return np.asarray(inside & (values.min(axis=0) >= clearance))

    def random_postures(self, count: int, what: str) -> Array:
        """(count, n) that are allowed, evenly distributed; an error about ``what`` where there are none."""
        found = np.zeros((0, self.robot.n))
        for _ in range(POSTURE_BATCHES):
            drawn = self.rng.uniform(*_inner_range(self.robot), (RANDOM_POSTURES_AT_ONCE, self.robot.n))
            found = np.vstack([found, drawn[self.allowed(drawn)]])
            if len(found) >= count:
                return found[:count]
        if not len(found):
            raise self.failed(what, "no posture was found in which")
        return found

    def failed(self, stage: str, what: str = "no motion was found in which") -> ExciterError:
        """To be raised where a stage cannot be had."""
        return ExciterError(
            f"infeasible: stage {stage}: {what} all limits are kept; hardest to keep is {self.hardest}; "
            f"{advice(self.hardest, self.constraints)}"
        )

    # -- motions -------------------------------------------------------------------------------------------------------

    def keeps(self, curve: Curve) -> bool:
        """Whether all limits are proved to hold; a few instants refuse most that do not."""
        return self.obstacle(curve) is None

    def obstacle(self, curve: Curve) -> str | None:
        """What a limit that is not kept is about (torque, distance, …); None where all are."""
        self.deadline.check()
        count = max(INSTANTS_OF_A_MOVE, 4 * len(curve.knots))
        rows, values = self.judge.rows(curve.motion(np.linspace(curve.start, curve.end, count)))
        lowest = values.min(axis=1)
        if lowest.min() < 0.0:
            broken = [rows[k] for k in np.flatnonzero(lowest < 0.0)]
            worst = min(broken, key=lambda row: row.what == "torque")
            self.judge.refuse(worst)
            return worst.what
        if (verdict := self.judge.broken(curve)) is not None:
            self.judge.refuse(verdict)
            return verdict.what
        return None

    def paced(self, made: Callable[[float], Curve]) -> Curve | None:
        """The fastest of a motion that keeps all limits: slower ones are tried where torque is the obstacle."""
        for pace in PACES:
            curve = made(pace)
            obstacle = self.obstacle(curve)
            if obstacle is None:
                return curve
            if obstacle != "torque":
                return None
        return None

    def move(self, start: Array, end: Array) -> Curve | None:
        """A straight move, certified there and back; None where there is none."""
        key = start.tobytes(), end.tobytes()
        if key not in self.moves:
            there, back = self._both_ways(start, end)
            self.moves[key], self.moves[key[::-1]] = there, back
        return self.moves[key]

    def _both_ways(self, start: Array, end: Array) -> tuple[Curve, Curve] | tuple[None, None]:
        def made(pace: float) -> Curve:
            return chained([quick_move(self.robot, start, end, pace), quick_move(self.robot, end, start, pace)])

        if (both := self.paced(made)) is None:
            return None, None
        there, back = (Curve((piece,)) for piece in both.pieces)
        return there, back.shifted(-back.start)

    # -- the graph -----------------------------------------------------------------------------------------------------

    def joined(self, posture: Array, *, around: bool = True) -> bool:
        """Whether a posture can be reached; it is a node from then on. around: by random postures, too."""
        if self._number(posture) is not None:
            return True
        if any(self._joined(near, posture) for near in self._nearest(posture)):
            return True
        if not around or not self.allowed(posture[None], 0.0)[0]:
            return False
        for via in self.random_postures(VIA_POSTURES, "between postures"):
            if any(self._joined(near, via) for near in self._nearest(via, 2)) and self._joined(
                len(self.nodes) - 1, posture
            ):
                return True
        return False

    def travel(self, start: Array, end: Array) -> list[Curve]:
        """Certified moves from one node to another, the straight one where there is one; none where they are one."""
        if np.abs(end - start).max() <= SAME_POSTURE:
            return []
        if (straight := self.move(start, end)) is not None:
            return [straight]
        first, last = self._number(start), self._number(end)
        if first is None or last is None:
            raise ExciterError("a way was asked for between postures that did not join the roadmap; join them first")
        queue: list[tuple[float, int, list[int]]] = [(0.0, first, [first])]
        done: set[int] = set()
        while queue:
            seconds, at, way = heapq.heappop(queue)
            if at == last:
                return [self.edges[a][b] for a, b in pairwise(way)]
            if at not in done:
                done.add(at)
                for after, move in self.edges[at].items():
                    heapq.heappush(queue, (seconds + move.duration, after, [*way, after]))
        raise ExciterError("two postures of the roadmap are not connected; please report this with the robot file")

    def _add(self, posture: Array) -> int:
        self.nodes.append(posture)
        self.edges.append({})
        return len(self.nodes) - 1

    def _number(self, posture: Array) -> int | None:
        near = np.abs(np.array(self.nodes) - posture).max(axis=1)
        return int(np.argmin(near)) if near.min() <= SAME_POSTURE else None

    def _nearest(self, posture: Array, count: int = NEAREST_NODES) -> Iterator[int]:
        lower, upper = self.robot.position_range()
        distance = np.linalg.norm((np.array(self.nodes) - posture) / (upper - lower), axis=1)
        yield from np.argsort(distance, kind="stable")[:count].tolist()

    def _joined(self, node: int, posture: Array) -> bool:
        """Whether a straight move leads from a node to a posture, which becomes one."""
        there = self.move(self.nodes[node], posture)
        if there is None:
            return False
        back = self.move(posture, self.nodes[node])
        assert back is not None, "moves are certified there and back"
        new = self._add(posture)
        self.edges[node][new], self.edges[new][node] = there, back
        return True


def _inner_range(robot: Robot) -> tuple[Array, Array]:
    """(n,), (n,): the position range without its edges."""
    lower, upper = robot.position_range()
    edge = RANGE_EDGE_SHARE * (upper - lower)
    return lower + edge, upper - edge
