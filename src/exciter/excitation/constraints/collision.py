"""Collision by capsules: the robot with itself and with obstacles, every distance at least a clearance. Obstacles are
things around the robot, fixed in the base: spheres, capsules, half-spaces and boxes.

Closest points of segments are those of ``segments``, in NumPy; the compiled twin is ``kernels.capsules``. Between
samples the ends of a capsule's segment stay close to the chords of their positions (``moving_point``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.engine import writable
from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.reference import cross
from exciter.errors import ParameterError, RobotError, shown
from exciter.excitation.certificate.adaptive import LinearRows
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.constraint import (
    ROW_LENGTH_M,
    ConstraintRows,
    Kinematics,
    RowName,
    checked_clearance,
    kinematics,
    moving_point,
    robot_dynamics,
    rows_of,
)
from exciter.excitation.constraints.segments import best_plane, closest_points, lowest_on_chord, segments_apart
from exciter.excitation.kernels import UNBOUNDED_M
from exciter.robot.capsules import capsules_of, uncovered
from exciter.robot.geometry import Capsule
from exciter.robot.motion import Motion, freeze
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array, Index

FAR_PAIR_M = 0.5  # [m] between bodies that an optimiser leaves alone until they come closer
#: How far a segment is from an obstacle: distance (N,) [m], negative inside; its closest (deepest) point (3, N); the
#: unit normal (3, N) away from the obstacle.
Touch = tuple[Array, Array, Array]


def vector(values: ArrayLike, what: str) -> Array:
    """A read-only (3,) vector."""
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise ParameterError(f"{what} must be three finite numbers (x, y, z); given {shown(values)}")
    array.flags.writeable = False
    return array


def direction(values: ArrayLike, what: str) -> tuple[Array, float]:
    """A unit vector and the length that was given."""
    array = vector(values, what)
    length = float(np.linalg.norm(array))
    if length == 0.0:
        raise ParameterError(f"{what} is zero; give a direction (x, y, z)")
    unit = array / length
    unit.flags.writeable = False
    return unit, length


@dataclass(frozen=True, eq=False)
class Round:
    """A sphere (start = end) or capsule: all points within ``radius`` [m] of the segment start–end.

    against: names of capsules, links or joints of the robot that must keep away; all that move unless given.

    >>> ball = ex.Round.sphere("ball", centre=(1.5, 0, 0), radius=0.2)
    >>> ex.design(robot, ex.RandomPoints(points=4), constraints=[ball]).certificate.certified
    True"""

    name: str
    start: Array
    end: Array
    radius: float
    against: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for end in ("start", "end"):
            object.__setattr__(self, end, vector(getattr(self, end), f"{end} of obstacle '{self.name}'"))
        if not (np.isfinite(self.radius) and self.radius > 0.0):
            raise ParameterError(f"the radius of obstacle '{self.name}' is {self.radius}; it must be positive [m]")

    @classmethod
    def sphere(cls, name: str, centre: Array, radius: float, against: tuple[str, ...] | None = None) -> Round:
        return cls(name, centre, centre, radius, against)

    @property
    def capsule(self) -> Capsule:
        """As a capsule of the base."""
        return Capsule(self.name, BASE, self.start, self.end, self.radius)


@dataclass(frozen=True, eq=False)
class Wall:
    """Everything on the far side of a plane: normal · x < offset, as a floor, a wall or a ceiling."""

    name: str
    normal: Array
    offset: float
    against: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        unit, length = direction(self.normal, f"the normal of obstacle '{self.name}'")
        object.__setattr__(self, "normal", unit)
        object.__setattr__(self, "offset", float(self.offset) / length)
        if not np.isfinite(self.offset):
            raise ParameterError(f"the offset of obstacle '{self.name}' is {self.offset}; it must be finite [m]")

    def touch(self, start: Array, end: Array) -> Touch:
        """For segments from start to end, both (3, N) [m] in the base."""
        heights = self.normal @ start, self.normal @ end
        point = np.where(heights[0] <= heights[1], start, end)
        return np.minimum(*heights) - self.offset, point, np.broadcast_to(self.normal[:, None], start.shape)

    def reach(self, normal: Array) -> Array:
        """(M,) [m] how far it reaches in the directions ``normal`` (3, M); infinite where that is not known."""
        return np.where(normal.T @ self.normal >= 1.0 - 1e-12, self.offset, np.inf)


@dataclass(frozen=True, eq=False)
class Block:
    """A solid box of ``size`` (3,) [m] about ``centre``, its sides along the columns of ``rotation``.

    Exact outside. A segment that cuts the box counts as deep as the shortest way out through one of the six faces,
    which an edge may shorten: then the capsule's axis itself is inside, far beyond any limit.

    >>> crate = ex.Block("crate", centre=(1.5, 0, 0), size=(0.4, 0.4, 0.4))
    >>> motion = ex.design(robot, ex.RandomPoints(points=4), constraints=[crate])
    >>> {limit.where for limit in motion.certificate.limits if "crate" in limit.where} != set()
    True"""

    name: str
    centre: Array
    size: Array
    rotation: Array = field(default_factory=lambda: np.eye(3))
    against: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("centre", "size"):
            object.__setattr__(self, name, vector(getattr(self, name), f"{name} of obstacle '{self.name}'"))
        if (self.size <= 0.0).any():
            raise ParameterError(f"the size of obstacle '{self.name}' is {self.size.tolist()}; it must be positive [m]")
        freeze(self, "rotation")
        if self.rotation.shape != (3, 3) or not np.allclose(self.rotation @ self.rotation.T, np.eye(3), atol=1e-8):
            raise ParameterError(f"the rotation of obstacle '{self.name}' is not a 3 × 3 rotation matrix")

    def touch(self, start: Array, end: Array) -> Touch:
        own = [self.rotation.T @ (x - self.centre[:, None]) for x in (start, end)]
        point = own[0] + self._nearest(own[0], own[1] - own[0]) * (own[1] - own[0])
        away = self._excess(point)
        distance = np.sqrt((away * away).sum(0))
        depth, deepest, out = self._way_out(*own)
        apart = distance > 0.0
        normal = np.where(apart, away / np.where(apart, distance, 1.0), out)
        placed = self.rotation @ np.where(apart, point, deepest) + self.centre[:, None]
        return np.where(apart, distance, -depth), placed, self.rotation @ normal

    def reach(self, normal: Array) -> Array:
        return np.asarray(self.centre @ normal + 0.5 * self.size @ np.abs(self.rotation.T @ normal))

    def _excess(self, x: Array) -> Array:
        """From the nearest point of the box to x."""
        return x - np.clip(x, -0.5 * self.size[:, None], 0.5 * self.size[:, None])

    def _nearest(self, x: Array, u: Array) -> Array:
        """s in [0, 1] for which x + s u is closest: the squared distance is convex in s, its slope continuous and
        straight between the values of s at which a coordinate passes a side."""
        half = 0.5 * self.size[:, None]
        moves = u != 0.0
        step = np.where(moves, u, 1.0)
        crossings = [np.where(moves, (side - x) / step, 0.0) for side in (-half, half)]
        bounds = np.zeros((1, x.shape[1])), np.ones((1, x.shape[1]))
        s = np.sort(np.clip(np.concatenate([*crossings, *bounds]), 0.0, 1.0), axis=0)
        slope = np.stack([(self._excess(x + at * u) * u).sum(0) for at in s])
        last = np.clip((slope < 0.0).sum(0) - 1, 0, len(s) - 2)  # the slope grows: negative ones come first
        columns = np.arange(x.shape[1])
        low, high = slope[last, columns], slope[last + 1, columns]
        falls = (low < 0.0) & (high > low)
        part = np.where(falls, np.minimum(-low / np.where(falls, high - low, 1.0), 1.0), 0.0)
        return np.asarray(s[last, columns] + part * (s[last + 1, columns] - s[last, columns]))

    def _way_out(self, start: Array, end: Array) -> tuple[Array, Array, Array]:
        """Shortest way out of a face (N,), the end (3, N) that comes out last, and the face's normal (3, N)."""
        half = 0.5 * self.size[:, None]
        ways = np.concatenate([half - np.minimum(start, end), half + np.maximum(start, end)])  # faces +xyz, −xyz
        face = np.argmin(ways, axis=0)
        normal = np.concatenate([np.eye(3), -np.eye(3)])[face].T
        last = (normal * start).sum(0) <= (normal * end).sum(0)
        return ways[face, np.arange(start.shape[1])], np.where(last, start, end), normal


Flat = Wall | Block  # with flat sides: each measures the segment in a capsule by itself
Obstacle = Round | Flat


@dataclass(frozen=True, eq=False)
class CapsuleDistance:
    """Rows (d − clearance) / ROW_LENGTH_M, d [m] the distance of two capsules, or of a capsule and an obstacle.
    pairs: names of capsules, links or joints that must not touch (a link or joint means all of its capsules); the
    robot's own collision pairs unless given, which it then must have; () for obstacles alone. obstacles: each against
    what it names, or all capsules that move. clearance: [m] that stays free everywhere. points: more capsules than the
    robot has, for obstacles to name. Rows come in this order: pairs, round obstacles, flat obstacles."""

    robot: Robot
    pairs: Sequence[tuple[str, str]] | None = None
    clearance: float = 0.0
    obstacles: Sequence[Obstacle] = ()
    points: Sequence[Capsule] = ()

    def __post_init__(self) -> None:
        unknown = self.pairs is None and not self.robot.collision_pairs
        object.__setattr__(self, "pairs", self._checked_pairs())
        object.__setattr__(self, "obstacles", tuple(self.obstacles))
        checked_clearance(self.clearance)
        names = [body.name for body in (*self.robot.capsules, *self.points, *self.obstacles)]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ParameterError(f"two capsules or obstacles are named '{min(repeated)}'; names must be unique")
        if unknown or not self.rows:
            raise ParameterError(
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
    def unchecked(self) -> tuple[str, ...]:
        """What an obstacle says itself; bodies without a capsule, unless what is asked takes their frames instead."""
        sentences = tuple(sentence for obstacle in self.obstacles for sentence in getattr(obstacle, "unchecked", ()))
        silent = self.pairs or any(not hasattr(obstacle, "unchecked") for obstacle in self.obstacles)
        shaped = {capsule.joint for capsule in self.robot.capsules}
        missing = uncovered(self.robot, shaped, base=bool(self.pairs)) if silent else ""
        return (*sentences, f"collisions of {missing}: no capsule stands for them") if missing else sentences

    @cached_property
    def bodies(self) -> tuple[Capsule, ...]:
        """The robot's capsules, further points, then round obstacles as capsules of the base (C)."""
        return (*self.robot.capsules, *self.points, *(o.capsule for o in self.obstacles if isinstance(o, Round)))

    @cached_property
    def pair_index(self) -> Index:
        """(P, 2) indices into ``bodies``: the pairs, then round obstacles."""
        names = [body.name for body in self.bodies]
        pairs = [(names.index(a), names.index(b)) for a, b in self.pairs or ()]
        balls = [obstacle for obstacle in self.obstacles if isinstance(obstacle, Round)]
        pairs += [(index, names.index(ball.name)) for ball in balls for index in self._against(ball)]
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
        limit = ("m", self.clearance, ROW_LENGTH_M, False)
        return tuple(RowName("distance", f"{a} – {b}", *limit, assumed) for a, b, assumed in names)

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

    def ends(self, at: Kinematics) -> Array:
        """(2, C, 3, N) [m]: the ends of the bodies' segments, in the base."""
        ends = [(at.point(body.joint, body.start), at.point(body.joint, body.end)) for body in self.bodies]
        return np.array(ends).swapaxes(0, 1)

    def values(self, motion: Motion) -> Array:
        return self.linearised(motion, derivatives=False).values

    def linearised(self, motion: Motion, *, derivatives: bool = True) -> ConstraintRows:
        at = kinematics(self.robot, motion)
        distance, dq = self._pairs(at, derivatives=derivatives)
        if self.flat:
            apart, slopes = self._flats(at, derivatives=derivatives)
            distance = np.concatenate([distance, apart])
            dq = np.concatenate([dq, at.of_joints(slopes)]) if derivatives else dq
        values = (distance - (self.radii + self.clearance)[:, None]) / ROW_LENGTH_M
        return ConstraintRows(values, dq / ROW_LENGTH_M)

    def _flats(self, at: Kinematics, *, derivatives: bool) -> tuple[Array, Array]:
        """Distance of the segments from flat obstacles (F, N), and its derivatives (F, bodies, N) by joints of the
        tree if wanted: z·(x × n) + n·(o × z), of a joint about z through o that moves the point x of normal n."""
        index = [index for _, index in self.flat]
        joint, own_ends, _, every = self._packed
        carrier = np.maximum(joint[index], 0)
        frame, origin, moving = at.rotation[carrier], at.origin[carrier], (joint[index] != BASE)[:, None, None]
        ends = [
            np.where(moving, np.einsum("fabN,fb->faN", frame, x) + origin, x[:, :, None])
            for x in own_ends[index].swapaxes(0, 1)
        ]
        distance, (point, normal) = np.empty((len(index), at.samples)), np.empty((2, len(index), 3, at.samples))
        for obstacle in dict.fromkeys(flat for flat, _ in self.flat):
            own = [k for k, (flat, _) in enumerate(self.flat) if flat is obstacle]
            start, end = (np.concatenate(list(one[own]), axis=1) for one in ends)
            apart, *found = obstacle.touch(start, end)
            distance[own] = apart.reshape(len(own), -1)
            for whole, part in zip((point, normal), found, strict=True):
                whole[own] = part.reshape(3, len(own), -1).swapaxes(0, 1)
        if not derivatives:
            return distance, np.zeros((0, 0, 0))
        axes, slides = at.rotation[:, :, 2], at.dynamics.chain.prismatic
        lever, dq = cross(point, normal), np.zeros((len(index), len(axes), at.samples))
        for k in np.flatnonzero(every[index].any(axis=0)):
            if slides[k]:
                dq[:, k] = (axes[k] * normal).sum(axis=1)
            else:
                dq[:, k] = (axes[k] * lever).sum(axis=1) + (cross(at.origin[k], axes[k]) * normal).sum(axis=1)
        return distance, dq * every[index][:, :, None]

    def linearised_in_part(self, motion: Motion) -> LinearRows:
        """Values and sensitivities of all rows; of hundreds of pairs few are close enough to need their slopes. Where
        they are far apart the value is a lower bound, and no step is said to reach them."""
        at = kinematics(self.robot, motion)
        if at.dynamics.engine.name != "numba":
            return self.linearised(motion)
        pairs, on = np.nonzero(self._packed[2])
        first_on = np.searchsorted(pairs, np.arange(len(self.pair_index) + 1))
        distance, total = self._sensitivities(at, first_on, on, self.radii + self.clearance + FAR_PAIR_M)
        flat = np.zeros((0, 0, 0))
        if self.flat:
            far, flat = self._flats(at, derivatives=True)
            distance = np.concatenate([distance, far])
            total = np.concatenate([total, np.einsum("fkN,k->fN", np.abs(flat), at.tree_weights)])
        values = (distance - (self.radii + self.clearance)[:, None]) / ROW_LENGTH_M
        return PairRows(values, (total / ROW_LENGTH_M, None, None), partial(self._slopes_at, at, flat))

    def _sensitivities(self, at: Kinematics, first_on: Index, on: Index, far: Array) -> tuple[Array, Array]:
        """Distances (P, N) of pairs that are not ``far`` (P,) [m], and how far they can change: see the kernel."""
        distance, total = np.empty((2, len(self.pair_index), at.samples))
        compiled: Any = kernels("capsules", "exciter.excitation.kernels").segment_sensitivities
        chain = (*writable(at.rotation, at.origin), at.dynamics.chain.prismatic, *self._packed[:2], self.pair_index)
        # another layout of ``on`` would compile everything again
        compiled(*chain, first_on, np.ascontiguousarray(on), at.tree_weights, far, distance, total)
        return distance, total

    def _slopes(self, at: Kinematics, row: Index, sample: Index) -> Array:
        """(M, n) of joints of the tree: derivatives of the distances of pairs row (M,) at samples that do not fall."""
        joint, ends, side, _ = self._packed
        dq = np.empty((len(row), side.shape[1]))
        compiled: Any = kernels("capsules", "exciter.excitation.kernels").segment_slopes
        chain = (*writable(at.rotation, at.origin), at.dynamics.chain.prismatic)
        compiled(*chain, joint, ends, self.pair_index, side, row, sample, dq)
        return dq

    def _slopes_at(self, kinematics: Kinematics, flat: Array, row: Index, at: Index) -> tuple[Array, None, None]:
        side = self._packed[2]
        paired, found = row < len(side), np.empty((len(row), side.shape[1]))
        if not paired.all():
            found[~paired] = flat[row[~paired] - len(side), :, at[~paired]]
        own = np.flatnonzero(paired)
        own = own[np.argsort(at[own], kind="stable")]
        found[own] = self._slopes(kinematics, row[own], at[own])
        return kinematics.of_joints_at(found / ROW_LENGTH_M, at), None, None

    def lower_bounds(self, spans: Spans) -> Array:
        points = [(body.joint, point) for body in self.bodies for point in (body.start, body.end)]
        ends = [moving_point(self.robot, *point, spans) for point in points]
        x = np.array([position for position, _ in ends]).reshape(len(self.bodies), 2, 3, -1)  # (C, 2, 3, 2 M)
        slack = np.array([far for _, far in ends]).reshape(len(self.bodies), 2, -1)  # (C, 2, M)
        distance = [self._apart(x, slack)]
        distance += [obstacle_apart(flat, x[index], slack[index])[None] for flat, index in self.flat]
        return rows_of(np.concatenate(distance) - (self.radii + self.clearance)[:, None])

    def _apart(self, x: Array, slack: Array) -> Array:
        known = np.isfinite(x).all() and np.isfinite(slack).all()  # what is not proves nothing, and no kernel drops it
        if robot_dynamics(self.robot).engine.name != "numba" or not known:
            return segments_apart(x[self.pair_index], slack[self.pair_index])
        out = np.empty((len(self.pair_index), slack.shape[-1]))
        compiled: Any = kernels("capsules", "exciter.excitation.kernels").segments_apart
        compiled(*writable(x, slack), self.pair_index, out)
        return out

    def _pairs(self, at: Kinematics, *, derivatives: bool) -> tuple[Array, Array]:
        """Distance of the segments (P, N), and its derivatives (P, n, N) if wanted."""
        joint, _, side, _ = self._packed
        if at.dynamics.engine.name == "numba":
            count, none = len(side), np.zeros(0, dtype=np.int64)
            distance, _ = self._sensitivities(at, np.zeros(count + 1, np.int64), none, np.full(count, UNBOUNDED_M))
            if not derivatives:
                return distance, np.zeros((0, 0, 0))
            row, sample = np.tile(np.arange(count), at.samples), np.repeat(np.arange(at.samples), count)
            slopes = self._slopes(at, row, sample).reshape(at.samples, count, side.shape[1])
            return distance, at.of_joints(slopes.transpose(1, 2, 0))
        ends, dq = self.ends(at), np.zeros((len(side) if derivatives else 0, self.robot.n, at.samples))
        distance, first, second, normal = closest_points(*(ends[:, index] for index in self.pair_index.T))
        for k in range(len(dq)):
            a, b = joint[self.pair_index[k]]
            dq[k] = (at.pull(a, first[k], normal[k : k + 1]) - at.pull(b, second[k], normal[k : k + 1]))[0]
        return distance, dq

    @cached_property
    def _packed(self) -> Packed:
        frames = robot_dynamics(self.robot).chain.axis_frames
        turned = [np.eye(3) if b.joint == BASE else frames[b.joint].T for b in self.bodies]
        ends = np.array([[t @ b.start, t @ b.end] for t, b in zip(turned, self.bodies, strict=True)])
        joint = np.array([body.joint for body in self.bodies], dtype=np.int64)
        moves = np.zeros((len(joint), self.robot.n_bodies))
        for k in np.flatnonzero(joint != BASE):
            moves[k, list(self.robot.ancestors(joint[k]))] = 1.0
        return Packed(joint, ends, moves[self.pair_index[:, 0]] - moves[self.pair_index[:, 1]], moves)


class Packed(NamedTuple):
    """For the kernels: joint (C,) and ends (C, 2, 3) of the bodies in the chain's frames, side (P, bodies): +1 of
    joints that move only the first body of a pair, −1 only the second; moves (C, bodies): of each body."""

    joint: Index
    ends: Array
    side: Array
    moves: Array


@dataclass(frozen=True, eq=False)
class PairRows:
    """Rows of pairs about a motion, slopes made where they are asked for."""

    values: Array
    sensitivities: tuple[Array | None, ...]
    slopes_at: Callable[[Index, Index], tuple[Array | None, ...]]


# -- between samples ---------------------------------------------------------------------------------------------------


def obstacle_apart(obstacle: Flat, x: Array, slack: Array) -> Array:
    """(M,) ≤ the distance of a segment from an obstacle, arguments as of ``segments_apart``, for one. It changes no
    faster than the ends move; what is known to reach so far only is also behind a plane."""
    distance, _, normal = obstacle.touch(x[0], x[1])
    step = np.linalg.norm(x[..., 1::2] - x[..., 0::2], axis=1).max(axis=0)
    apart: Array = 0.5 * (distance[0::2] + distance[1::2] - step) - slack.max(axis=0)
    return np.maximum(apart, best_plane(normal, lambda n: lowest_on_chord(n, x, slack).min(axis=0) - obstacle.reach(n)))
