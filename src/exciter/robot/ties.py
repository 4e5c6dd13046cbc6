"""Ties: what joins bodies of a tree into closed chains, and the first three derivatives of that.

A tie is a few equations c(q) = 0 in the positions of the tree's joints. ``Connect``: the origins of two frames coincide
(3). ``Weld``: the frames do (6). ``JointTie``: a position is a polynomial of another (1).

Screws. What a tie says depends on the joints between its two bodies only, so all of it is seen from their last common
carrier. With S_i the screw of joint i at the tie's point p (velocity of the body's point there, angular velocity, per
unit q̇_i), × the cross product of motion vectors, and V_i, A_i twist and its rate of the body of joint i,

    V = Σ S_i q̇_i,   A = Σ S_i q̈_i + V_i × S_i q̇_i
    ∂V/∂q_i = S_i × (V − V_i),   ∂A/∂q̇_i = V_i × S_i + S_i × (V − V_i)
    ∂A/∂q_i = S_i × (A − A_i) + (V_i × S_i) × (V − V_i)

as a screw carries along all that is further out. A weld is V_a = V_b and A_a = A_b. A connection is about the point
that is carried along: v and a = A_v + ω × v of both bodies. These are rows, and products with rows, of J and of its
derivatives; no third-order array is ever made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from exciter.errors import RobotError
from exciter.robot.geometry import frozen_array
from exciter.robot.robot import BASE, Frame, Joint
from exciter.robot.spatial import skew
from exciter.typing import Array, Index

POLYNOMIAL_COEFFICIENTS = 5  # MuJoCo's polycoef: up to the fourth power
FLIPPED_TRACE = 1.0  # of a relative rotation: below, it is more than a right angle away from none


@dataclass(frozen=True, eq=False)
class Connect:
    """The origins of frames a and b coincide: three equations, the bodies may turn about that point."""

    a: Frame
    b: Frame
    word: ClassVar[str] = "connect"

    @property
    def name(self) -> str:
        return f"{self.word} of '{self.a.name}' and '{self.b.name}'"


@dataclass(frozen=True, eq=False)
class Weld:
    """Frames a and b coincide, origins and axes: six equations."""

    a: Frame
    b: Frame
    word: ClassVar[str] = "weld"

    @property
    def name(self) -> str:
        return f"{self.word} of '{self.a.name}' and '{self.b.name}'"


@dataclass(frozen=True, eq=False)
class JointTie:
    """q_joint = zero + Σ_k coefficients[k] (q_leader − leader_zero)^k [rad, m]; without a leader (−1): the first alone.
    joint, leader: indices in the tree; names: of both, for messages."""

    joint: int
    leader: int
    coefficients: Array
    zero: float = 0.0
    leader_zero: float = 0.0
    names: tuple[str, str] = ("", "")
    word: ClassVar[str] = "joint"

    def __post_init__(self) -> None:
        given = np.zeros(POLYNOMIAL_COEFFICIENTS)
        if len(self.coefficients) > POLYNOMIAL_COEFFICIENTS:
            raise RobotError(f"{self.name} has {len(self.coefficients)} coefficients; at most 5 are allowed")
        given[: len(self.coefficients)] = self.coefficients
        object.__setattr__(self, "coefficients", frozen_array(given, given.shape, f"the coefficients of {self.name}"))

    @property
    def name(self) -> str:
        return f"equality of joints '{self.names[0]}' and '{self.names[1]}'" if self.names[1] else f"'{self.names[0]}'"

    def derivative(self, q: Array, order: int) -> Array:
        """Of the polynomial with respect to the leader's position q (N,); order 0: its value."""
        return np.asarray(np.polynomial.Polynomial(self.coefficients).deriv(order)(q - self.leader_zero))


Tie = Connect | Weld | JointTie
Placed = tuple[Array, Array, Array]  # a joint, seen from a carrier: rotation (N, 3, 3), axis and origin (N, 3)


def cross(u: Array, v: Array) -> Array:
    """u × v of vectors (…, 3); NumPy's own takes several times as long."""
    x, y, z = u[..., 0], u[..., 1], u[..., 2]
    a, b, c = v[..., 0], v[..., 1], v[..., 2]
    return np.stack([y * c - z * b, z * a - x * c, x * b - y * a], axis=-1)


def motion_cross(x: Array, y: Array) -> Array:
    """x × y of motion vectors (…, 6): velocity of a point, angular velocity."""
    turn = cross(x[..., 3:], y[..., 3:])
    return np.concatenate([cross(x[..., 3:], y[..., :3]) + cross(x[..., :3], y[..., 3:]), turn], axis=-1)


@dataclass(frozen=True, eq=False)
class Limb:
    """The joints (L,) of a tree from a carrier to a body, and a frame (rotation, translation) on that body."""

    carrier: int
    joints: Index
    placements: Array  # (L, 3, 4) at q = 0 in the one before
    axes: Array  # (L, 3)
    prismatic: Array  # (L,)
    rotation: Array
    translation: Array

    @classmethod
    def of(cls, tree: Sequence[Joint], carrier: int, frame: Frame) -> Limb:
        path, at = list[int](), frame.joint
        while at != carrier:
            path.insert(0, at)
            at = tree[at].parent
        own = [tree[k] for k in path]
        return cls(
            carrier=carrier,
            joints=np.array(path, dtype=np.int64),
            placements=np.array([np.column_stack([j.rotation, j.translation]) for j in own]).reshape(-1, 3, 4),
            axes=np.array([joint.axis for joint in own]).reshape(-1, 3),
            prismatic=np.array([joint.is_prismatic for joint in own], dtype=bool),
            rotation=frame.rotation,
            translation=frame.translation,
        )

    @cached_property
    def _turns(self) -> Array:
        """(L, 3, 3, 3): what stands before 1, sin q and 1 − cos q in the rotation of each joint (Rodrigues)."""
        about = [skew(axis) for axis in self.axes]
        found = [
            np.stack([p[:, :3], p[:, :3] @ k, p[:, :3] @ k @ k]) for p, k in zip(self.placements, about, strict=True)
        ]
        return np.array(found).reshape(-1, 3, 3, 3)

    def state(self, q: Array, known: dict[int, Placed] | None = None) -> LimbState:
        """Seen from the carrier, at tree positions (N, nb). known: joints that other limbs of the same carrier placed
        already; those of this one are added."""
        samples, known = len(q), {} if known is None else known
        rotation, origin = np.broadcast_to(np.eye(3), (samples, 3, 3)), np.zeros((samples, 3))
        axes, origins = np.empty((2, samples, len(self.joints), 3))
        for k, joint in enumerate(self.joints.tolist()):
            if joint not in known:
                known[joint] = self._placed(k, q[:, joint], rotation, origin)
            rotation, axes[:, k], origin = known[joint]
            origins[:, k] = origin
        return LimbState(axes, origins, rotation @ self.rotation, origin + rotation @ self.translation)

    def _placed(self, k: int, angle: Array, rotation: Array, origin: Array) -> Placed:
        """Of its k-th joint at positions (N,), on what the joint before carries."""
        fixed, about, twice = self._turns[k]
        origin = origin + rotation @ self.placements[k][:, 3]
        if self.prismatic[k]:
            rotation = rotation @ fixed
            axis = rotation @ self.axes[k]
            return rotation, axis, origin + axis * angle[:, None]
        rotation = rotation @ (
            fixed + np.sin(angle)[:, None, None] * about + (1.0 - np.cos(angle))[:, None, None] * twice
        )
        return rotation, rotation @ self.axes[k], origin

    def screws(self, state: LimbState, point: Array) -> Array:
        """(N, L, 6) at points (N, 3)."""
        out = np.empty((*state.axes.shape[:2], 6))
        out[..., :3], out[..., 3:] = cross(state.axes, point[:, None] - state.origins), state.axes
        if self.prismatic.any():
            out[:, self.prismatic, :3], out[:, self.prismatic, 3:] = state.axes[:, self.prismatic], 0.0
        return out


class LimbState(NamedTuple):
    """axes, origins (N, L, 3) of the joints; rotation (N, 3, 3) and origin (N, 3) of the frame; in the carrier."""

    axes: Array
    origins: Array
    rotation: Array
    origin: Array


class LimbMotion(NamedTuple):
    """Screws (N, L, 6); V_i (N, L, 6), V (N, 6); A_i, A likewise."""

    screws: Array
    twists: Array
    twist: Array
    rates: Array
    rate: Array

    @classmethod
    def of(cls, screws: Array, qd: Array, qdd: Array) -> LimbMotion:
        """qd, qdd: (N, L) of the limb's joints."""
        twists = np.cumsum(screws * qd[..., None], axis=1)
        rates = np.cumsum(screws * qdd[..., None] + motion_cross(twists, screws) * qd[..., None], axis=1)
        none = np.zeros((len(screws), 6))
        empty = screws.shape[1] == 0
        return cls(screws, twists, none if empty else twists[:, -1], rates, none if empty else rates[:, -1])

    def by_velocity(self, carried: bool) -> Array:
        """∂A/∂q̇_i (N, L, 6); carried: of the point that goes along, in the first three."""
        s, beyond = self.screws, self.twist[:, None] - self.twists
        out = motion_cross(self.twists, s) + motion_cross(s, beyond)
        if carried:
            v, omega = self.twist[:, None, :3], self.twist[:, None, 3:]
            out[..., :3] += cross(s[..., 3:], v) + cross(omega, s[..., :3])
        return out

    def by_position(self, carried: bool) -> Array:
        """∂A/∂q_i (N, L, 6); carried: as above."""
        s, beyond = self.screws, self.twist[:, None] - self.twists
        out = motion_cross(s, self.rate[:, None] - self.rates)
        out += motion_cross(motion_cross(self.twists, s), beyond)
        if carried:
            swept = motion_cross(s, beyond)
            v, omega, alpha = self.twist[:, None, :3], self.twist[:, None, 3:], self.rate[:, None, 3:]
            out[..., :3] += cross(alpha, s[..., :3]) + cross(swept[..., 3:], v)
            out[..., :3] += cross(omega, swept[..., :3] + cross(omega, s[..., :3]))
        return out


@dataclass(frozen=True, eq=False)
class Ties:
    """All equations of a tree of nb joints, in order. length [m]: a turn of one radian counts as that distance, so that
    equations and singular values of J are distances per radian (of a sliding joint: per ``length``). mix (r, k): the
    combinations that say something; the others hold by themselves wherever these do, as those of a planar loop do."""

    tree: tuple[Joint, ...]
    ties: tuple[Tie, ...]
    length: float = 1.0
    mix: Array | None = None

    @cached_property
    def rows(self) -> tuple[slice, ...]:
        """Equations of each tie."""
        sizes = [{"connect": 3, "weld": 6, "joint": 1}[tie.word] for tie in self.ties]
        ends = np.cumsum([0, *sizes]).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))

    @property
    def count(self) -> int:
        return self.rows[-1].stop if self.rows else 0

    @cached_property
    def column_sizes(self) -> Array:
        """(nb,) by which columns of J are made comparable: the length for joints that slide."""
        return np.where([joint.is_prismatic for joint in self.tree], self.length, 1.0)

    @cached_property
    def limbs(self) -> tuple[tuple[Limb, Limb] | None, ...]:
        found = list[tuple[Limb, Limb] | None]()
        for tie in self.ties:
            if isinstance(tie, JointTie):
                found.append(None)
                continue
            above = {BASE, *self._ancestors(tie.a.joint)}
            carrier = next(k for k in (*self._ancestors(tie.b.joint), BASE) if k in above)
            found.append((Limb.of(self.tree, carrier, tie.a), Limb.of(self.tree, carrier, tie.b)))
        return tuple(found)

    def _ancestors(self, joint: int) -> list[int]:
        """From the joint itself to the base."""
        path = list[int]()
        while joint != BASE:
            path.append(joint)
            joint = self.tree[joint].parent
        return path

    def at(self, q: Array) -> TiedState:
        """At tree positions (N, nb)."""
        return TiedState(self, q)

    def mixed(self, equations: Array) -> Array:
        """(N, r, …) of equations (N, k, …)."""
        return equations if self.mix is None else np.einsum("rk,Nk...->Nr...", self.mix, equations)


class TiedState:
    """A batch of tree positions, seen by the ties: errors (N, k) of all equations; error (N, r) and jacobian (N, r, nb)
    of those that count. Made once, asked often."""

    def __init__(self, ties: Ties, q: Array) -> None:
        self.ties, self.q = ties, q
        self.errors = np.zeros((len(q), ties.count))
        self.jacobian = np.zeros((len(q), ties.count, len(ties.tree)))
        self.flipped = np.zeros(len(q), dtype=bool)
        self._screws = list[tuple[Array, Array] | None]()
        placed = dict[int, dict[int, Placed]]()  # by carrier, and joint: limbs share what is before they part
        for tie, rows, limbs in zip(ties.ties, ties.rows, ties.limbs, strict=True):
            if isinstance(tie, JointTie):
                self._joint(tie, rows.start)
                self._screws.append(None)
                continue
            assert limbs is not None
            known = placed.setdefault(limbs[0].carrier, {})
            a, b = (limb.state(q, known) for limb in limbs)
            both = limbs[0].screws(a, a.origin), limbs[1].screws(b, b.origin)
            self._screws.append(both)
            self.errors[:, rows.start : rows.start + 3] = a.origin - b.origin
            if tie.word == "weld":
                turned = a.rotation @ b.rotation.swapaxes(1, 2)  # of b to a, axes of the carrier
                entries = turned[:, 2, 1] - turned[:, 1, 2], turned[:, 0, 2] - turned[:, 2, 0]
                error = 0.5 * np.stack([*entries, turned[:, 1, 0] - turned[:, 0, 1]], axis=-1)
                self.errors[:, rows.start + 3 : rows.stop] = ties.length * error
                self.flipped |= np.trace(turned, axis1=1, axis2=2) < FLIPPED_TRACE
            for limb, screws, sign in zip(limbs, both, (1.0, -1.0), strict=True):
                self._add(self.jacobian, rows, limb, screws, sign)
        self.error, self.jacobian = ties.mixed(self.errors), ties.mixed(self.jacobian)

    def _joint(self, tie: JointTie, row: int) -> None:
        follower = self.q[:, tie.joint] - tie.zero
        self.jacobian[:, row, tie.joint] = 1.0
        if tie.leader < 0:
            self.errors[:, row] = follower - tie.coefficients[0]
        else:
            leader = self.q[:, tie.leader]
            self.errors[:, row] = follower - tie.derivative(leader, 0)
            self.jacobian[:, row, tie.leader] -= tie.derivative(leader, 1)
        size = self.ties.length / self.ties.column_sizes[tie.joint]  # distances, of whichever joint
        self.errors[:, row] *= size
        self.jacobian[:, row] *= size

    def _add(self, out: Array, rows: slice, limb: Limb, columns: Array, sign: float) -> None:
        """Columns (N, L, 6) of a limb's joints into out (N, count, nb)."""
        moved = sign * columns.swapaxes(1, 2)
        moved[:, 3:] *= self.ties.length
        out[:, rows, limb.joints] += moved[:, : rows.stop - rows.start]

    def by_velocity(self, qd: Array) -> Array:
        """∂γ/∂q̇ (N, r, nb) of γ = J̇ q̇ at tree velocities (N, nb); γ is quadratic: half of this times q̇."""
        out = np.zeros((len(self.q), self.ties.count, len(self.ties.tree)))
        for k, (tie, rows) in enumerate(zip(self.ties.ties, self.ties.rows, strict=True)):
            if isinstance(tie, JointTie):
                if tie.leader >= 0:
                    bend = -2.0 * tie.derivative(self.q[:, tie.leader], 2) * qd[:, tie.leader]
                    out[:, rows.start, tie.leader] += bend * self.ties.length / self.ties.column_sizes[tie.joint]
                continue
            for limb, motion, sign in self._motions(k, qd, np.zeros_like(qd)):
                self._add(out, rows, limb, motion.by_velocity(tie.word == "connect"), sign)
        return self.ties.mixed(out)

    def by_position(self, qd: Array, qdd: Array) -> Array:
        """∂(J q̈ + γ)/∂q (N, r, nb), for q̇, q̈ (N, nb) that keep the ties."""
        out = np.zeros((len(self.q), self.ties.count, len(self.ties.tree)))
        for k, (tie, rows) in enumerate(zip(self.ties.ties, self.ties.rows, strict=True)):
            if isinstance(tie, JointTie):
                if tie.leader >= 0:
                    at, v = self.q[:, tie.leader], qd[:, tie.leader]
                    bend = tie.derivative(at, 2) * qdd[:, tie.leader] + tie.derivative(at, 3) * v * v
                    out[:, rows.start, tie.leader] -= bend * self.ties.length / self.ties.column_sizes[tie.joint]
                continue
            for limb, motion, sign in self._motions(k, qd, qdd):
                self._add(out, rows, limb, motion.by_position(tie.word == "connect"), sign)
        return self.ties.mixed(out)

    def _motions(self, tie: int, qd: Array, qdd: Array) -> list[tuple[Limb, LimbMotion, float]]:
        limbs, screws = self.ties.limbs[tie], self._screws[tie]
        assert limbs is not None
        assert screws is not None
        return [
            (limb, LimbMotion.of(own, qd[:, limb.joints], qdd[:, limb.joints]), sign)
            for limb, own, sign in zip(limbs, screws, (1.0, -1.0), strict=True)
        ]
