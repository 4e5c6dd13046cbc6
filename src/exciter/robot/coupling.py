"""Couplings: how the bodies of a tree follow fewer coordinates, q = φ(u).

The joints of a robot (``Robot.joints``) are the coordinates u that move on their own. Its bodies (``Robot.bodies``)
hang on a tree of one-degree-of-freedom joints, some of which follow: fingers of a gripper, stages of a telescope. With
q̇ = N u̇ the rows of the coordinates are those of the tree, projected: τ_u = Nᵀ τ, W_u = Nᵀ W; forces that hold the
coupling do no work and vanish. Limits of followers become limits of their leaders, friction adds up on these."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from exciter.errors import RobotError, unknown_name
from exciter.notes import note, warning
from exciter.robot.geometry import frozen_array
from exciter.robot.limits import Limits
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Joint, Robot
from exciter.typing import Array, BoolArray

#: How friction and rotor inertia of a follower add to those of its leader: to which power of |∂q/∂u|.
FRICTION_POWERS = {"coulomb": 1, "viscous": 2, "rotor_inertia": 2}


@dataclass(frozen=True, eq=False)
class Coupled:
    """A motion of the coordinates, seen from the tree. tree: of its nb joints; null: N = ∂q/∂u, (nb, m), or (N, nb, m)
    where it changes from sample to sample; bent: ∂q̇/∂u (N, nb, m) then, None where N is constant."""

    tree: Motion
    null: Array
    bent: Array | None = None

    def __getitem__(self, part: slice) -> Coupled:
        """Some of the samples."""
        if self.null.ndim == 2:
            return Coupled(self.tree[part], self.null)
        return Coupled(self.tree[part], self.null[part], None if self.bent is None else self.bent[part])

    @cached_property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """Body and coordinate of what is not zero in N."""
        filled = self.null != 0.0
        body, joint = np.nonzero(filled if self.null.ndim == 2 else filled.any(axis=0))
        return tuple(zip(body.tolist(), joint.tolist(), strict=True))

    def project(self, rows: Array) -> Array:
        """Nᵀ rows: (m, …, N) of rows of the tree's joints (nb, …, N), samples last."""
        out = np.zeros((self.null.shape[-1], *rows.shape[1:]))
        for body, joint in self.entries:
            out[joint] += self.null[..., body, joint] * rows[body]
        return out

    def lift(self, seed: Array) -> Array:
        """N seed: (nb, …, N) of seeds of the coordinates' rows (m, …, N), samples last: the adjoint of ``project``."""
        out = np.zeros((self.null.shape[-2], *seed.shape[1:]))
        for body, joint in self.entries:
            out[body] += self.null[..., body, joint] * seed[joint]
        return out


class Coupling(Protocol):
    """How the tree follows the coordinates. shape: (nb, m). constant: N does not depend on where the robot is."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def constant(self) -> bool: ...

    @property
    def pattern(self) -> BoolArray:
        """(nb, m): which coordinate moves which joint of the tree."""
        ...

    def motion(self, motion: Motion) -> Coupled:
        """What the tree does, exactly, while the coordinates do this."""
        ...

    def pullback(
        self, motion: Motion, coupled: Coupled, tree_bar: MotionGradient, null_bar: Array | None = None
    ) -> MotionGradient:
        """Gradient with respect to every sample of the coordinates, from that with respect to the tree's motion, and
        (N, nb, m) with respect to N, None where it is zero or N constant."""
        ...

    def rates(self, left: Motion, right: Motion, rates: Array) -> Array:
        """(4, nb, M) ≥ |q̇| … |q⁗| of the tree throughout M intervals, with such bounds (4, m, M) of the coordinates and
        their motion at both ends; infinite where nothing is known."""
        ...

    def locked(self, positions: Mapping[int, float]) -> tuple[Coupling | None, dict[int, float]]:
        """With coordinates (by index) that stand still: how what still moves follows the others (None: each body is its
        own coordinate, in the order of the bodies), and the positions of the bodies that do not move any more."""
        ...


@dataclass(frozen=True, eq=False)
class LinearCoupling:
    """q = matrix u + offset: mimic joints, transmissions that couple joints. matrix (nb, m), offset (nb,) [rad, m]."""

    matrix: Array
    offset: Array

    constant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        shape = np.shape(self.matrix)
        if len(shape) != 2:
            raise RobotError(f"the matrix of a coupling has shape {shape}; it must be (bodies, joints)")
        object.__setattr__(self, "matrix", frozen_array(self.matrix, shape, "the matrix of a coupling"))
        object.__setattr__(self, "offset", frozen_array(self.offset, shape[:1], "the offset of a coupling"))

    @property
    def shape(self) -> tuple[int, int]:
        bodies, joints = self.matrix.shape
        return bodies, joints

    @property
    def pattern(self) -> BoolArray:
        return np.asarray(self.matrix != 0.0)

    def motion(self, motion: Motion) -> Coupled:
        q, qd, qdd = (x @ self.matrix.T for x in (motion.q, motion.qd, motion.qdd))
        return Coupled(Motion(motion.time, q + self.offset, qd, qdd), self.matrix)

    def pullback(
        self, motion: Motion, coupled: Coupled, tree_bar: MotionGradient, null_bar: Array | None = None
    ) -> MotionGradient:
        return MotionGradient(*((self.matrix.T @ x.T).T for x in (tree_bar.q, tree_bar.qd, tree_bar.qdd)))

    def rates(self, left: Motion, right: Motion, rates: Array) -> Array:
        return np.abs(self.matrix) @ rates

    def locked(self, positions: Mapping[int, float]) -> tuple[Coupling | None, dict[int, float]]:
        joints = [k for k in range(self.shape[1]) if k not in positions]
        still = np.array([positions.get(k, 0.0) for k in range(self.shape[1])])
        offset, moving = self.matrix @ still + self.offset, self.matrix[:, joints].any(axis=1)
        matrix, rest = self.matrix[moving][:, joints], offset[moving]
        free = matrix.shape[0] == matrix.shape[1] and (matrix == np.eye(len(rest))).all() and not rest.any()
        stands = {int(i): float(offset[i]) for i in np.flatnonzero(~moving)}
        return None if free else LinearCoupling(matrix, rest), stands

    def leader(self, body: int) -> tuple[int, float, float] | None:
        """Joint, multiplier and offset of a body that follows one joint; None where several move it."""
        moved = np.flatnonzero(self.matrix[body])
        return (
            (int(moved[0]), float(self.matrix[body, moved[0]]), float(self.offset[body])) if len(moved) == 1 else None
        )


@dataclass(frozen=True)
class Mimic:
    """q_follower = multiplier · q_leader + offset [rad, m]. tag: what says so in the file.

    >>> pair = robot.couple(ex.Mimic("joint_3", "joint_2", multiplier=-1.0))
    >>> pair.joint_names, pair.n_bodies
    (('joint_1', 'joint_2'), 3)"""

    follower: str
    leader: str
    multiplier: float = 1.0
    offset: float = 0.0
    tag: str = "mimic"


def with_mimics(robot: Robot, mimics: Sequence[Mimic]) -> Robot:
    """A robot, some joints of which now follow another: one coordinate less each, all bodies as they were. A leader may
    follow in turn. Position, velocity, acceleration and jerk limits of followers become limits of what they follow,
    friction and rotor inertia add to its; torque limits do not: the drive is the leader's."""
    if not mimics:
        return robot
    if robot.coupling is not None:
        raise RobotError(f"joints of '{robot.name}' follow others already; couple all of them at once")
    resolved = resolved_mimics(robot, mimics)
    names = robot.joint_names
    free = [name for name in names if name not in resolved]
    matrix, offset = np.zeros((robot.n, len(free))), np.zeros(robot.n)
    for body, name in enumerate(names):
        leader, ratio, shift = resolved.get(name, (name, 1.0, 0.0))
        matrix[body, free.index(leader)], offset[body] = ratio, shift
    joints = [robot.joints[names.index(name)] for name in free]
    told = (f"'{one}' = {_times(ratio)}'{leader}'{_plus(shift)}" for one, (leader, ratio, shift) in resolved.items())
    notes = [note("coupled joints", f"joints that follow others, with which they are one: {', '.join(told)}")]
    for joint in robot.joints:
        if joint.name in resolved:
            at = free.index(resolved[joint.name][0])
            joints[at], odd = tightened(joints[at], joint, *resolved[joint.name][1:])
            notes += [warning("position limit", odd)] if odd else []
    friction = {key: np.abs(matrix.T) ** FRICTION_POWERS.get(key, 1) @ values for key, values in robot.friction.items()}
    return replace(
        robot,
        joints=tuple(joints),
        bodies=robot.joints,
        coupling=LinearCoupling(matrix, offset),
        friction=friction,
        notes=(*robot.notes, *notes),
    )


def _times(ratio: float) -> str:
    return {1.0: "", -1.0: "−"}.get(ratio, f"{ratio:g} ")


def _plus(shift: float) -> str:
    return f" {'+' if shift > 0.0 else '−'} {abs(shift):g}" if shift else ""


def resolved_mimics(robot: Robot, mimics: Sequence[Mimic]) -> dict[str, tuple[str, float, float]]:
    """By follower: the joint that moves on its own, multiplier and offset, through chains of followers."""
    own = {mimic.follower: mimic for mimic in mimics}
    for mimic in mimics:
        name = mimic.follower
        for one in (name, mimic.leader):
            if one not in robot.joint_names:
                raise RobotError(f"{mimic.tag} of '{name}': {unknown_name('joint', one, robot.joint_names)}")
        if own[name] is not mimic:
            problem = f"joint '{name}' follows both '{mimic.leader}' and '{own[name].leader}' ({mimic.tag})"
            raise RobotError(f"{problem}; one of them is allowed")
        if mimic.multiplier == 0.0 or not (math.isfinite(mimic.multiplier) and math.isfinite(mimic.offset)):
            problem = f"joint '{name}' follows '{mimic.leader}' ({mimic.tag}) with the multiplier {mimic.multiplier:g}"
            raise RobotError(f"{problem}; give another number than 0, or make the joint fixed")
    found = {}
    for name in own:
        ratio, shift, at, seen = 1.0, 0.0, name, [name]
        while at in own:
            mimic = own[at]
            ratio, shift, at = ratio * mimic.multiplier, ratio * mimic.offset + shift, mimic.leader
            if at in seen:
                circle = " → ".join(f"'{one}'" for one in (*seen[seen.index(at) :], at))
                raise RobotError(f"joints follow each other in a circle ({mimic.tag}): {circle}; let one of them lead")
            seen.append(at)
        found[name] = at, ratio, shift
    return found


def tightened(leader: Joint, follower: Joint, ratio: float, offset: float) -> tuple[Joint, str]:
    """The leader with limits that its follower keeps, too; and what is odd about them, in words."""
    own, other = leader.limits, follower.limits
    ends = sorted((end - offset) / ratio for end in (other.lower, other.upper))
    lower, upper = max(own.lower, ends[0]), min(own.upper, ends[1])
    odd = ""
    if not lower < upper:  # files that nobody simulated have them: a sign too many
        ours, theirs = (f"{low:g} … {high:g}" for low, high in ((own.lower, own.upper), ends))
        odd = f"the position limits of '{follower.name}' would keep '{leader.name}', which it follows, within {theirs}"
        odd += f" instead of {ours}: they contradict each other, and those of '{follower.name}' are not kept"
        lower, upper = own.lower, own.upper
    rates = {
        one: min(getattr(own, one), getattr(other, one) / abs(ratio)) for one in ("velocity", "acceleration", "jerk")
    }
    assumed = own.assumed if rates["acceleration"] == own.acceleration else other.assumed
    limits: Limits = replace(own, lower=lower, upper=upper, assumed=assumed, **rates)
    turning = leader.kind == "continuous" and (math.isfinite(lower) or math.isfinite(upper))
    return replace(leader, limits=limits, kind="revolute" if turning else leader.kind), odd


def mimics_of(robot: Robot, form: str) -> tuple[Mimic, ...]:
    """Followers of one joint each, for files of a form that have a place for these alone; others are refused."""
    coupling, found = robot.coupling, list[Mimic]()
    if coupling is None or not coupling.constant:  # loops are no mimics: who writes them does so himself
        return ()
    for body, name in enumerate(robot.tree_names):
        led = coupling.leader(body) if isinstance(coupling, LinearCoupling) else None
        if led is None:
            what = f"'{name}' of '{robot.name}' does not follow a single joint in proportion"
            raise RobotError(f"{what}, and {form} has no place for that; lock it, or use another form")
        if name not in robot.joint_names:
            found.append(Mimic(name, robot.joint_names[led[0]], *led[1:]))
    return tuple(found)


def coupled_motion(robot: Robot, motion: Motion) -> Motion:
    """Of the tree's joints, while the robot's joints do this."""
    return motion if robot.coupling is None else robot.coupling.motion(motion).tree
