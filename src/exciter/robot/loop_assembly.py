"""Closing the loops of a robot: a posture in which all ties hold, how many equations say something, which joints lead.

Equations are counted where the loops are closed, at random postures: a singular one must not decide. Of the k equations
those combinations are kept that any of the postures needs (the left singular vectors of all their Jacobians side by
side); a planar loop keeps 3 of 6, and what a rounded description lacks in the others is told. Coordinates are joints
with drives as far as these are independent; among equals, the first in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from exciter.errors import RobotError, unknown_name
from exciter.notes import note, warning
from exciter.robot.closed_loops import ClosedLoops
from exciter.robot.geometry import frozen_array
from exciter.robot.names import named
from exciter.robot.robot import BASE, FREE_BASE_JOINTS, Frame, Robot
from exciter.robot.ties import Connect, JointTie, Tie, Ties, Weld
from exciter.settings import Settings, Vector
from exciter.settings.field_markers import ListOfTexts
from exciter.typing import Array

LOOPS_SUBJECT = "closed loops"
LOOP_KINDS = ("connect", "weld", "joint")
BASE_NAMES = ("base", "world")  # of the frame in which the robot stands
POSTURES = 24  # closed ones at random, at which equations are counted
FURTHER_STARTS = 200  # random ones, where the loops do not close from where the description puts the joints
POSTURE_SPREAD = 0.4  # [rad, or of the length] about the reference
MOVED_SHARE = 0.1  # of that: closed postures that are all nearer are one and the same
RANK_RATIO = 1e-4  # of singular values: what is below says nothing new, or only that numbers are rounded
LARGEST_GAP = 1e-3  # of the length: what equations that say nothing new may lack
ROUNDED_GAP = 1e-7  # of the length: what is not worth a word
REGULAR_RATIO = 1e-3  # of singular values of J at the reference: below, the posture is singular
PREFERRED_SHARE = 0.5  # of the largest independent part of a joint: from there the first in the file is taken
ASSEMBLY_STEPS = 200
ASSEMBLED_STEP = 1e-12  # [rad, or of the length]
ASSEMBLY_DAMPING = 1e-9  # of the trace of J Jᵀ


@dataclass(frozen=True, eq=False)
class KinematicLoop:
    """What joins two bodies of a robot, by names, for ``Robot.close``.

    kind: connect, weld (two frames, 'base' for where the robot stands; or places (4, 4) in these) or joint (the joint
    that follows and its leader: coefficients of a polynomial, lowest power first, of the leader's distance from the
    second of the zeros; the first of these is added).

    >>> robot.close(ex.KinematicLoop("joint", ("joint_3", "joint_2"), coefficients=(0.1, 0.5, 0.2)))
    <gautier-khalil: joint_1, joint_2>"""

    kind: str
    ends: tuple[str, str]
    places: tuple[Array, Array] | None = None
    coefficients: tuple[float, ...] = (0.0, 1.0)
    zeros: tuple[float, float] = (0.0, 0.0)

    def tie(self, robot: Robot) -> Tie:
        if self.kind == "joint":
            return self._joint_tie(robot)
        a, b = (_frame(robot, name) for name in self.ends)
        if a.joint == b.joint:
            both = f"frames '{a.name}' and '{b.name}'"
            raise RobotError(f"the loop {self.kind} joins {both}, which are on one body; name frames of two bodies")
        if self.places is not None:
            a, b = (_placed(frame, place) for frame, place in zip((a, b), self.places, strict=True))
        return (Connect if self.kind == "connect" else Weld)(a, b)

    def _joint_tie(self, robot: Robot) -> JointTie:
        joint, leader = self.ends
        if joint == leader:
            raise RobotError(f"joint '{joint}' is said to follow itself (equality); name another leader")
        at = robot.index(leader) if leader else -1
        return JointTie(robot.index(joint), at, np.array(self.coefficients), *self.zeros, names=self.ends)


@dataclass(frozen=True)
class LoopSettings(Settings):
    """``{connect: [frame, frame]}``, ``{weld: [frame, frame]}`` or ``{joint: [follower, leader], coefficients: …}``."""

    connect: Annotated[tuple[str, ...], ListOfTexts("two frames")] = ()
    weld: Annotated[tuple[str, ...], ListOfTexts("two frames")] = ()
    joint: Annotated[tuple[str, ...], ListOfTexts("two joints")] = ()
    coefficients: Annotated[tuple[float, ...], Vector(None)] = (0.0, 1.0)

    def __post_init__(self) -> None:
        given = [kind for kind in LOOP_KINDS if getattr(self, kind)]
        if len(given) != 1 or len(getattr(self, given[0])) != 2:
            wanted = "{connect: [frame, frame]}, {weld: [frame, frame]} or {joint: [follower, leader]}"
            raise RobotError(f"a loop joins two things, in one way; give {wanted}")

    @property
    def loop(self) -> KinematicLoop:
        kind = next(kind for kind in LOOP_KINDS if getattr(self, kind))
        first, second = getattr(self, kind)
        return KinematicLoop(kind, (first, second), coefficients=self.coefficients)


def _placed(frame: Frame, place: Array) -> Frame:
    at = frame.translation + frame.rotation @ place[:3, 3]
    return Frame(frame.name, frame.joint, frame.rotation @ place[:3, :3], at)


def _frame(robot: Robot, name: str) -> Frame:
    if name in BASE_NAMES and name not in robot.frame_names:
        return Frame(name, BASE, np.eye(3), np.zeros(3))
    if name not in robot.frame_names:
        raise RobotError(f"loops: {unknown_name('frame', name, (*robot.frame_names, *BASE_NAMES))}")
    return robot.frame(name)


def with_loops(
    robot: Robot,
    loops: Sequence[KinematicLoop | Tie],
    actuated: Sequence[str] | None = None,
    posture: Mapping[str, float] | None = None,
    leading: Sequence[str] = (),
) -> Robot:
    """A robot without coupling, bodies of which are now joined: its joints are the coordinates that are left, the other
    ones of the tree follow. actuated: joints with drives, those that lead unless given; posture [rad, m], by joint:
    near which the loops are to be closed, zero (or the limit nearest to it) for joints that it does not name. leading:
    joints that lead wherever that is possible; those with drives unless given."""
    if robot.coupling is not None:
        raise RobotError(f"robot '{robot.name}' has joints that follow already; give all loops when it is loaded")
    coupling, evidence = closed_loops(robot, loops, actuated, posture, leading)
    names, chosen = robot.joint_names, coupling.coordinates.tolist()
    driven = [names[k] for k in chosen] if actuated is None else actuated
    led = f"joints {named([names[k] for k in chosen])} move on their own"
    followers = coupling.followers.tolist()
    remarks = [note(LOOPS_SUBJECT, f"{evidence}; {led}, {named([names[k] for k in followers])} follow")]
    extra = [name for name in driven if robot.index(name) not in chosen]
    if extra and not leading:
        share = "torques of the coordinates are what all drives do together, projected (Nᵀτ)"
        remarks.append(warning(LOOPS_SUBJECT, f"{named(extra)} are driven beyond the freedom of the robot: {share}"))
    if not leading and (free := [names[k] for k in chosen if names[k] not in driven]):
        words = f"no drive moves {named(free)}, which the loops leave free: an equation of motion without a torque"
        remarks.append(warning(LOOPS_SUBJECT, words))
    bodies = tuple(replace(joint, actuated=joint.actuated and joint.name in driven) for joint in robot.joints)
    passive = [k for k, body in enumerate(bodies) if not body.actuated]
    rubbing = [names[k] for k in passive if any(values[k] != 0.0 for values in robot.friction.values())]
    left_out = f"friction and rotor inertia of {named(rubbing)}, which no drive moves, are left out of torques"
    return replace(
        robot,
        joints=tuple(bodies[k] for k in chosen),
        bodies=bodies,
        coupling=coupling,
        friction={key: values if extra else values[chosen] for key, values in robot.friction.items()},
        notes=(*robot.notes, *remarks),
        lacking=(*robot.lacking, *([left_out] if rubbing else [])),
    )


def with_drives(robot: Robot, actuated: Sequence[str]) -> Robot:
    """A robot with loops whose drives a user named, refused where these cannot be its coordinates."""
    extra = [name for name in actuated if name not in robot.joint_names]
    passive = [joint.name for joint in robot.joints if not joint.actuated and joint.name not in FREE_BASE_JOINTS]
    if extra and passive:
        problem = f"actuated: {named(extra)} cannot lead, for the loops move that with the other drives"
        raise RobotError(f"{problem}, and no drive moves {named(passive)}; name joints that move on their own")
    return robot


def closed_loops(
    robot: Robot,
    loops: Sequence[KinematicLoop | Tie],
    actuated: Sequence[str] | None = None,
    posture: Mapping[str, float] | None = None,
    first: Sequence[str] = (),
) -> tuple[ClosedLoops, str]:
    """The coupling of ``with_loops``, and what it rests on, in words."""
    for word, names in (("actuated", actuated or ()), ("posture", posture or {})):
        if unknown := [name for name in names if name not in robot.joint_names]:
            raise RobotError(f"{word}: {unknown_name('joint', unknown[0], robot.joint_names)}")
    ties = _with_length(Ties(robot.joints, tuple(x.tie(robot) if isinstance(x, KinematicLoop) else x for x in loops)))
    start = np.array([min(max(0.0, j.limits.lower), j.limits.upper) for j in robot.joints])
    for name, value in (posture or {}).items():
        start[robot.index(name)] = value
    reference, ties, evidence = _counted(ties, _closed_postures(ties, robot, start))
    driven = range(robot.n) if actuated is None else [robot.index(name) for name in actuated]
    led = {tie.joint for tie in ties.ties if isinstance(tie, JointTie)}
    leading = [k for k in driven if k not in led]
    groups = [robot.index(name) for name in first], leading, driven, range(robot.n)
    chosen = np.array(_coordinates(ties, reference, groups), dtype=np.int64)
    return ClosedLoops(ties, chosen, reference), evidence


def _with_length(ties: Ties) -> Ties:
    """With the largest distance between neighbouring joints of the loops for a length."""
    sizes = [
        np.linalg.norm(part, axis=-1).max(initial=0.0)
        for pair in ties.limbs
        if pair is not None
        for limb in pair
        for part in (limb.placements[:, :, 3], limb.translation[None])
    ]
    return replace(ties, length=float(max(sizes, default=0.0)) or 1.0)


def _assembled(ties: Ties, start: Array) -> tuple[Array, Array]:
    """Gauss–Newton in all joints, damped, from (M, nb): the nearest postures that keep all ties as well as can be, and
    what is missing (M,), in parts of the length."""
    q, sizes = start.copy(), ties.column_sizes
    for _ in range(ASSEMBLY_STEPS):
        state = ties.at(q)
        own = state.jacobian * sizes
        square = own @ own.swapaxes(1, 2)
        damping = ASSEMBLY_DAMPING * np.trace(square, axis1=1, axis2=2) + np.finfo(float).tiny
        solved = np.linalg.solve(square + damping[:, None, None] * np.eye(square.shape[1]), state.error[..., None])
        step = -(own.swapaxes(1, 2) @ solved)[..., 0]
        size = np.abs(step).max(axis=1, initial=0.0)
        q += sizes * step * np.minimum(1.0, POSTURE_SPREAD / np.maximum(size, np.finfo(float).tiny))[:, None]
        if (size < ASSEMBLED_STEP).all():
            break
    state = ties.at(q)
    missing = np.abs(state.errors).max(axis=1, initial=0.0) / ties.length
    return q, np.where(state.flipped, np.inf, missing)


def _closed_postures(ties: Ties, robot: Robot, start: Array) -> Array:
    """(P, nb): the reference, which is the one nearest to the start, and others about it."""
    rng = np.random.default_rng(0)
    first, missing = _assembled(ties, start[None])
    if missing[0] > LARGEST_GAP:
        lower, upper = robot.position_range()
        tried, gaps = _assembled(ties, rng.uniform(lower, upper, (FURTHER_STARTS, robot.n)))
        good = tried[gaps <= LARGEST_GAP]
        if not len(good):
            errors = np.abs(ties.at(tried[np.argmin(gaps)][None]).errors[0])
            worst = ties.ties[int(np.argmax([errors[rows].max() for rows in ties.rows]))]
            least = f"{float(gaps.min()) * ties.length:.3g} m are missing at best, of {FURTHER_STARTS} random starts"
            advice = "check its frames, or give a posture: near which it closes"
            raise RobotError(f"the loop {worst.name} cannot close in any posture tried: {least}; {advice}")
        first = good[[np.argmin(np.abs((good - start) / ties.column_sizes).max(axis=1))]]
    around = first + rng.uniform(-POSTURE_SPREAD, POSTURE_SPREAD, (POSTURES, robot.n)) * ties.column_sizes
    others, gaps = _assembled(ties, around)
    return np.vstack([first, others[gaps <= LARGEST_GAP]])


def _counted(ties: Ties, postures: Array) -> tuple[Array, Ties, str]:
    """The reference, the ties without what says nothing new, and the evidence in words."""
    state = ties.at(postures)
    jacobians = state.jacobian * ties.column_sizes
    beside = jacobians.swapaxes(0, 1).reshape(ties.count, -1)
    left, values, _ = np.linalg.svd(beside, full_matrices=False)
    kept = left[:, values > RANK_RATIO * values[0]].T if values[0] > 0.0 else np.zeros((0, ties.count))
    mixed = replace(ties, mix=frozen_array(kept, kept.shape, "the equations of loops"))
    singular = np.linalg.svd(kept @ jacobians, compute_uv=False)
    ranks = (singular > RANK_RATIO * values[0] / np.sqrt(len(postures))).sum(axis=1)
    rank = int(ranks.max())
    loops = ", ".join(tie.name for tie in ties.ties)
    if rank == len(ties.tree):
        problem = f"the loops ({loops}) leave no freedom: {rank} independent equations for as many joints"
        raise RobotError(f"{problem}; open one")
    if np.abs((postures - postures[0]) / ties.column_sizes).max() < MOVED_SHARE * POSTURE_SPREAD:
        raise RobotError(f"the loops ({loops}) leave no freedom: they close in one posture only; check their frames")
    if rank == 0:
        raise RobotError(f"the loops ({loops}) hold by themselves: no joint can open them; leave them out")
    regular = singular[:, rank - 1] > REGULAR_RATIO * singular[:, 0]
    if not regular[0]:
        advice = "give a posture: that is not stretched or folded, near the one that is meant"
        raise RobotError(f"the loops ({loops}) are singular where they are closed first; {advice}")
    gap = float(np.abs(state.errors - mixed.mixed(state.errors) @ kept).max()) if len(kept) < ties.count else 0.0
    freedom = len(ties.tree) - rank
    evidence = (
        f"loops closed: {rank} of {ties.count} equations are independent at {len(postures)} postures, {freedom} freedom"
    )
    evidence += "" if freedom == 1 else "s"
    if gap > ROUNDED_GAP * ties.length:
        evidence += f" (the others lack up to {gap:.2g} m: rounded numbers?)"
    return postures[0], mixed, evidence


def _coordinates(ties: Ties, reference: Array, groups: Sequence[Sequence[int]]) -> list[int]:
    """Joints of the tree, in its order, that determine all others: rows of the null space of J that are independent,
    by Gram–Schmidt with pivots, joints of the first group first."""
    jacobian = ties.at(reference[None]).jacobian[0] * ties.column_sizes
    _, values, right = np.linalg.svd(jacobian)
    rank = int((values > RANK_RATIO * values[0]).sum())
    rows = right[rank:].T.copy()
    chosen = list[int]()
    for among in groups:
        while len(chosen) < rows.shape[1]:
            sizes = np.linalg.norm(rows, axis=1)
            sizes[[k for k in range(len(rows)) if k not in among]] = 0.0
            if sizes.max() < REGULAR_RATIO:
                break
            best = int(np.flatnonzero(sizes >= PREFERRED_SHARE * sizes.max())[0])
            chosen.append(best)
            along = rows[best] / sizes[best]
            rows = rows - np.outer(rows @ along, along)
    return sorted(chosen)
