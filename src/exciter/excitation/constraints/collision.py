"""Collision by capsules: the robot with itself and with obstacles, every distance at least a clearance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.numba_engine import writable
from exciter.errors import ParameterError, RobotError
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.constraint import LENGTH, RowName, Rows
from exciter.excitation.constraints.kinematics import Kinematics, kinematics, robot_dynamics
from exciter.excitation.constraints.obstacles import Flat, Obstacle, Round, Touch
from exciter.excitation.constraints.segments import closest_points
from exciter.robot.capsules import capsules_of, uncovered, without_capsule
from exciter.robot.geometry import Capsule
from exciter.robot.motion import Motion
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class CapsuleDistance:
    """Rows (d − clearance) / LENGTH, d [m] the distance of two capsules, or of a capsule and an obstacle.

    pairs: names of capsules, links or joints that must not touch (a link or joint means all of its capsules); the
    robot's own collision pairs unless given, which it then must have; () for obstacles alone.
    obstacles: see ``obstacles``; each against what it names, or all capsules that move.
    clearance: [m] that stays free everywhere. points: more capsules than the robot has, for obstacles to name.
    Rows come in this order: pairs, round obstacles, flat obstacles.
    """

    robot: Robot
    pairs: Sequence[tuple[str, str]] | None = None
    clearance: float = 0.0
    obstacles: Sequence[Obstacle] = ()
    points: Sequence[Capsule] = ()

    def __post_init__(self) -> None:
        if self.pairs is None and not self.robot.collision_pairs:
            raise ParameterError(self._no_pairs)
        object.__setattr__(self, "pairs", self._checked_pairs())
        object.__setattr__(self, "obstacles", tuple(self.obstacles))
        object.__setattr__(self, "points", tuple(self.points))
        if not (np.isfinite(self.clearance) and self.clearance >= 0.0):
            raise ParameterError(f"the clearance is {self.clearance}; it must be 0 or more [m]")
        names = [body.name for body in (*self.robot.capsules, *self.points, *self.obstacles)]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ParameterError(f"two capsules or obstacles are named '{min(repeated)}'; names must be unique")
        if not self.rows:
            raise ParameterError(self._no_pairs)

    @property
    def _no_pairs(self) -> str:
        return (
            f"robot '{self.robot.name}' has no pair of capsules to check; name pairs of its capsules "
            f"({', '.join(c.name for c in self.robot.capsules) or 'it has none'}), or switch self-collision off"
        )

    def _checked_pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of capsules, by their own names; every one once."""
        capsules = (*self.robot.capsules, *self.points)
        found: dict[frozenset[int], tuple[str, str]] = {}
        for first, second in self.robot.collision_pairs if self.pairs is None else self.pairs:
            for a, b in product(self._capsules(first), self._capsules(second)):
                if capsules[a].joint == capsules[b].joint:
                    raise ParameterError(
                        f"capsules '{capsules[a].name}' and '{capsules[b].name}' are on the same body; "
                        "their distance never changes: name two bodies"
                    )
                found.setdefault(frozenset((a, b)), (capsules[a].name, capsules[b].name))
        return tuple(found.values())

    @property
    def uncovered(self) -> tuple[str, ...]:
        """The joints whose bodies have no capsule: neither obstacles nor self-collision see them."""
        return without_capsule(self.robot)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What an obstacle says itself; bodies without a capsule, unless what is asked takes their frames instead."""
        told = tuple(sentence for obstacle in self.obstacles for sentence in getattr(obstacle, "unchecked", ()))
        silent = self.pairs or any(not hasattr(obstacle, "unchecked") for obstacle in self.obstacles)
        shaped = {capsule.joint for capsule in self.robot.capsules}
        missing = uncovered(self.robot, shaped, base=bool(self.pairs)) if silent else ""
        return (*told, f"collisions of {missing}: no capsule stands for them") if missing else told

    # -- what is measured ------------------------------------------------------------------------------------

    @cached_property
    def bodies(self) -> tuple[Capsule, ...]:
        """The robot's capsules, further points, then round obstacles as capsules of the base (C)."""
        return (*self.robot.capsules, *self.points, *(o.capsule for o in self.obstacles if isinstance(o, Round)))

    @cached_property
    def pair_index(self) -> NDArray[np.int64]:
        """(P, 2) indices into ``bodies``: the pairs, then round obstacles."""
        assert self.pairs is not None
        names = [body.name for body in self.bodies]
        pairs = [(names.index(a), names.index(b)) for a, b in self.pairs]
        for obstacle in self.obstacles:
            if isinstance(obstacle, Round):
                pairs += [(index, names.index(obstacle.name)) for index in self._against(obstacle)]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    @cached_property
    def flat(self) -> tuple[tuple[Flat, int], ...]:
        """Flat obstacles and the capsule (index into ``bodies``) of each of their rows."""
        return tuple((o, index) for o in self.obstacles if isinstance(o, Flat) for index in self._against(o))

    @cached_property
    def radii(self) -> Array:
        """Sum of the radii per row (K,) [m]: distance = distance of the segments − this."""
        pairs = [self.bodies[a].radius + self.bodies[b].radius for a, b in self.pair_index]
        return np.array(pairs + [self.bodies[index].radius for _, index in self.flat])

    @cached_property
    def rows(self) -> tuple[RowName, ...]:
        names = [(self.bodies[a].name, self.bodies[b].name, False) for a, b in self.pair_index]
        names += [(self.bodies[k].name, flat.name, getattr(flat, "assumed", False)) for flat, k in self.flat]
        return tuple(
            RowName("distance", f"{a} – {b}", "m", self.clearance, LENGTH, False, assumed) for a, b, assumed in names
        )

    def _capsules(self, name: str) -> tuple[int, ...]:
        points = [point.name for point in self.points]
        if name in points:
            return (len(self.robot.capsules) + points.index(name),)
        try:
            return capsules_of(self.robot, name)
        except RobotError as error:
            raise ParameterError(str(error)) from None

    def _against(self, obstacle: Obstacle) -> Iterable[int]:
        if obstacle.against is not None:
            return dict.fromkeys(index for name in obstacle.against for index in self._capsules(name))
        return [k for k, capsule in enumerate(self.robot.capsules) if capsule.joint != BASE]

    # -- rows ------------------------------------------------------------------------------------------------

    def ends(self, motion: Motion) -> Array:
        """(C, 2, 3, N) [m]: the ends of the bodies' segments, in the base."""
        at = kinematics(self.robot, motion)
        return np.array([[at.point(b.joint, b.start), at.point(b.joint, b.end)] for b in self.bodies])

    def values(self, motion: Motion) -> Array:
        at = kinematics(self.robot, motion)
        distance = np.concatenate([self._pairs(at, derivatives=False)[0], *(t.distance[None] for t in self._touch(at))])
        return self._rows(distance)

    def linearised(self, motion: Motion) -> Rows:
        at = kinematics(self.robot, motion)
        distance, dq = self._pairs(at, derivatives=True)
        touches = self._touch(at)
        flat = [
            at.pull(self.bodies[index].joint, t.point, t.normal[None])
            for t, (_, index) in zip(touches, self.flat, strict=True)
        ]
        distance = np.concatenate([distance, *(t.distance[None] for t in touches)])
        return Rows(self._rows(distance), np.concatenate([dq, *flat]) / LENGTH)

    def lower_bounds(self, spans: Spans) -> Array:
        from exciter.excitation.certificate.distance_bound import capsule_lower_bounds

        return capsule_lower_bounds(self, spans)

    def _rows(self, distance: Array) -> Array:
        rows: Array = (distance - (self.radii + self.clearance)[:, None]) / LENGTH
        return rows

    def _touch(self, at: Kinematics) -> list[Touch]:
        touches = []
        for flat, index in self.flat:
            body = self.bodies[index]
            touches.append(flat.touch(at.point(body.joint, body.start), at.point(body.joint, body.end)))
        return touches

    def _pairs(self, at: Kinematics, *, derivatives: bool) -> tuple[Array, Array]:
        """Distance of the segments (P, N), and its derivatives (P, n, N) if wanted."""
        if at.dynamics.engine.name != "numba":
            return self._pairs_reference(at, derivatives=derivatives)
        joint, ends, side = self._packed
        prismatic = at.dynamics.chain.prismatic
        distance = np.empty((len(side), at.samples))
        dq = np.empty((*side.shape, at.samples) if derivatives else (0, 0, 0))
        compiled: Any = kernels("capsules", "exciter.excitation.kernels").segment_distances
        placements = writable(at.rotation, at.origin)
        compiled(*placements, prismatic, joint, ends, self.pair_index, side, derivatives, distance, dq)
        return distance, dq

    def _pairs_reference(self, at: Kinematics, *, derivatives: bool) -> tuple[Array, Array]:
        ends = np.array([[at.point(b.joint, b.start), at.point(b.joint, b.end)] for b in self.bodies])
        first, second = (ends[index] for index in self.pair_index.T)
        found = closest_points((first[:, 0], first[:, 1]), (second[:, 0], second[:, 1]))
        dq = np.zeros((len(self.pair_index), self.robot.n, at.samples) if derivatives else (0, 0, 0))
        for k in range(len(dq)):
            a, b = (self.bodies[index].joint for index in self.pair_index[k])
            normal = found.normal[k : k + 1]
            dq[k] = (at.pull(a, found.first[k], normal) - at.pull(b, found.second[k], normal))[0]
        return found.distance, dq

    @cached_property
    def _packed(self) -> tuple[NDArray[np.int64], Array, Array]:
        """For the kernel: joint (C,) and ends (C, 2, 3) of the bodies in the chain's frames, side (P, n)."""
        frames = robot_dynamics(self.robot).chain.axis_frames
        turned = [np.eye(3) if b.joint == BASE else frames[b.joint].T for b in self.bodies]
        ends = np.array([[t @ b.start, t @ b.end] for t, b in zip(turned, self.bodies, strict=True)])
        moves = np.zeros((len(self.bodies), self.robot.n))
        for k, body in enumerate(self.bodies):
            if body.joint != BASE:
                moves[k, list(self.robot.ancestors(body.joint))] = 1.0
        joint = np.array([body.joint for body in self.bodies], dtype=np.int64)
        return joint, ends, moves[self.pair_index[:, 0]] - moves[self.pair_index[:, 1]]
