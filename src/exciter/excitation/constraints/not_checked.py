"""What a certificate does not cover. Reported beside every verdict: "certified" covers the limits that are proved.

A constraint says itself what of it rests on nothing, in its property ``unchecked`` if it has one; what nobody asked for
is added here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import combinations
from operator import itemgetter

import numpy as np

from exciter.errors import LoopError
from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.constraints.collision import CapsuleDistance
from exciter.excitation.constraints.constraint import AnyOf, Constraint
from exciter.excitation.constraints.follower_limits import FollowerLimits
from exciter.excitation.constraints.ground import has_a_floor, is_a_ground, pedestal
from exciter.excitation.constraints.mesh import MeshDistance
from exciter.excitation.constraints.stance_forces import StanceForces
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.trajectories.curve import Curve
from exciter.notes import Note, warning
from exciter.robot.capsules import are_neighbours, body_name
from exciter.robot.closed_loops import ClosedLoops
from exciter.robot.limits import TIME_TO_FULL_SPEED_S
from exciter.robot.robot import BASE, Joint, Robot
from exciter.robot.stance import footings

NOT_CHECKED = "not checked"  #: subject of the notes
FOLLOWED_INSTANTS = 501  #: of a motion, at which it is looked how far what follows moves
STEEP_RATE = 30.0  #: |∂q/∂u|, by the size of the robot: 0.1 mrad of an encoder is 3 mrad of a follower
MOST_PAIRS_NAMED = 8  #: pairs of bodies in a sentence
LIMIT_KEYS = {"position": ("lower", "upper"), "velocity": ("velocity",), "acceleration": ("acceleration",)}
PER_TIME = {"position": "", "velocity": "/s", "acceleration": "/s²"}


def unchecked(
    robot: Robot, constraints: Iterable[Constraint], certificate: Certificate, curve: Curve | None = None
) -> tuple[Note, ...]:
    """A note on each, with what to do about it; nothing when all is covered that Exciter can cover. curve: the motion,
    where it is to be said how sure it is that what follows does."""
    parts = tuple(_members(constraints))
    known = bool(certificate.limits)
    found = [*_joint_limits(robot)] if known else ["any limit: the robot has none, and none was given"]
    found += [*_followers(robot, parts), *_torque(robot, parts), *_self_collision(robot, parts)]
    found += [sentence for part in parts for sentence in getattr(part, "unchecked", ())]
    found += [] if curve is None else [*_nearly_singular(robot, curve)]
    if not has_a_floor(robot, parts):
        found.append(
            "what the robot is mounted on: nothing keeps it away from that (ground: none, or no body that could be "
            "kept); if there is something, give constraints: {ground: HEIGHT}"
        )
    if gap := pedestal(robot, parts):
        found.append(
            f"what carries the robot between z = {gap[0]:.4g} and {gap[1]:.4g} m of the base: nothing keeps it away "
            "from that; give constraints: {obstacles: [{box: …}]}"
        )
    still = [link for link in robot.unshaped if robot.frame(link).joint == BASE]
    if still:
        found.append(
            f"what stands still, {', '.join(still)}: not all of it could be measured; give constraints: obstacles"
        )
    obstacles = (one for part in parts for one in getattr(part, "obstacles", ()))
    if all(map(is_a_ground, obstacles)):  # borders of a frame say nothing
        found.append("people and whatever stands around: nothing is known of them; give constraints: obstacles")
    states = (("starts", certificate.starts_at_rest), ("ends", certificate.ends_at_rest))
    moving = " and ".join(word for word, at_rest in states if not at_rest)
    if moving and not any(limit.what.endswith(" rest") for limit in certificate.limits):  # broken: said there
        found.append(f"the way from rest and back: the motion {moving} with a velocity or an acceleration; add ramps")
    return tuple(warning(NOT_CHECKED, text) for text in dict.fromkeys(found))


def _members(constraints: Iterable[Constraint]) -> Iterator[Constraint]:
    """Every constraint, those within alternatives included."""
    for constraint in constraints:
        yield constraint
        if isinstance(constraint, AnyOf):
            yield from _members(constraint.constraints)


def _followers(robot: Robot, parts: Iterable[Constraint]) -> Iterator[str]:
    """Limits of what follows in loops, or follows several joints, where nothing keeps them."""
    following = FollowerLimits.of(robot)
    if following is not None and not any(isinstance(part, FollowerLimits) for part in parts):
        names = ", ".join(robot.tree_names[k] for k in following.followers)
        yield f"limits of {names}, which follow: not among the constraints"


def _nearly_singular(robot: Robot, curve: Curve) -> Iterator[str]:
    """Loops that close by the certificate, where little errors of what leads are large ones of what follows: those of
    tracking, and of the description's lengths, which no certificate knows."""
    loops = robot.coupling
    if not isinstance(loops, ClosedLoops):
        return
    instants = np.linspace(curve.start, curve.end, FOLLOWED_INSTANTS)
    try:
        steepest, k, body, joint = loops.steepest(curve.motion(instants))
    except LoopError:  # the certificate says it
        return
    if steepest > STEEP_RATE:
        follower, leader = robot.tree_names[body], robot.joint_names[joint]
        yield (
            f"what tracking and lengths that differ from the description change near singular postures: at "
            f"{instants[k]:.4g} s {follower} moves {steepest:.0f} times as far as {leader}; limits: velocity and "
            f"position of {follower} keep the motion away from there"
        )


def _joint_limits(robot: Robot) -> Iterator[str]:
    """Limits that were assumed, that are not there, or that are numbers in place of them. A jerk limit is a choice."""
    assumed = [joint for joint in robot.joints if joint.limits.assumed]
    if assumed:
        yield (
            f"acceleration{_of(robot, assumed)}: {_values([(one, 'acceleration') for one in assumed], 'acceleration')} "
            f"{'was' if len(assumed) == 1 else 'were'} assumed, full speed in {TIME_TO_FULL_SPEED_S:g} s; "
            "give limits: {acceleration: …}"
        )
    for what, ends in LIMIT_KEYS.items():
        missing = [joint for joint in robot.joints if any(math.isinf(getattr(joint.limits, end)) for end in ends)]
        if what == "position":
            missing = [joint for joint in missing if joint.kind != "continuous"]
        far = [joint for joint in robot.joints if any(joint.limits.is_placeholder(end) for end in ends)]
        if what == "acceleration":
            far = [joint for joint in far if not joint.limits.assumed]
        advice = f"give limits: {{{', '.join(f'{end}: …' for end in ends)}}}"
        if missing:
            yield f"{what}{_of(robot, missing)}: no limit is known; {advice}"
        if far:
            values = _values([(joint, end) for joint in far for end in ends if joint.limits.is_placeholder(end)], what)
            yield f"{what}{_of(robot, far)}: {values} is a placeholder, no limit of a robot; {advice}"


def _values(limits: list[tuple[Joint, str]], what: str) -> str:
    """Of limits by joint and name, their range for each unit: "5 rad/s², 1 … 2 m/s²"."""
    ranges = []
    for prismatic, unit in ((False, "rad"), (True, "m")):
        values = [abs(getattr(joint.limits, end)) for joint, end in limits if joint.is_prismatic == prismatic]
        if values:
            low, high = f"{min(values):.4g}", f"{max(values):.4g}"
            ranges.append(f"{low if low == high else f'{low} … {high}'} {unit}{PER_TIME[what]}")
    return ", ".join(ranges)


def _of(robot: Robot, joints: list[Joint]) -> str:
    alone = robot.coupling is None or robot.coupling.constant  # followers in loops have limits of their own
    return " of all joints" if alone and len(joints) == robot.n else f" of {', '.join(one.name for one in joints)}"


def _torque(robot: Robot, parts: tuple[Constraint, ...]) -> list[str]:
    limited = np.isfinite(robot.limit("torque"))
    if any(isinstance(part, StanceForces) for part in parts):
        return []  # which says so itself
    if footings(robot):
        return ["forces of the ground, and torques beside them: not among the constraints"]
    if not limited.any():
        return ["torque: the robot has no torque limits; give limits: {torque: …}"]
    if not any(isinstance(part, TorqueLimits) for part in parts):
        return ["torque: it is not among the constraints"]
    free = [name for name, has in zip(robot.joint_names, limited, strict=True) if not has]
    said = [f"torque of {', '.join(free)}: no limit is known; give limits: {{torque: …}}"] if free else []
    if robot.drives is not robot.joints:
        names = ", ".join(one.name for one in robot.drives if one.actuated and one.name not in robot.joint_names)
        why = "kept is what the others need without it; how a controller shares the torque among them is not known"
        said.append(f"torque of {names}, driven beyond the freedom of the robot: {why}")
    return said


def _self_collision(robot: Robot, parts: tuple[Constraint, ...]) -> Iterator[str]:
    """That it is not looked at, or which pairs it leaves out: bodies that a joint joins, and what is always close."""
    measured = [part for part in parts if isinstance(part, MeshDistance)]
    kept_apart = {frozenset(pair) for part in parts if isinstance(part, CapsuleDistance) for pair in part.pairs or ()}
    if measured or kept_apart:
        apart = {frozenset(pair) for part in measured for pair in part.bodies}
        solids = [(capsule.name, capsule.joint) for capsule in robot.capsules]
        bare = {shape.joint for shape in robot.shapes if shape.collides} - {joint for _, joint in solids}
        solids += [(body_name(robot, joint), joint) for joint in bare]  # shapes without a capsule
        joined, others = list[str](), list[str]()
        for a, b in combinations(sorted(solids, key=itemgetter(1)), 2):
            if a[1] != b[1] and frozenset((a[0], b[0])) not in kept_apart and frozenset((a[1], b[1])) not in apart:
                (joined if are_neighbours(robot, a[1], b[1]) else others).append(f"{a[0]} – {b[0]}")
        if joined:
            yield f"self-collision of neighbours, {_listed(joined)}: their position limits must keep them apart"
        if others:
            advice = "give constraints: {self_collision: {pairs: …}}"
            yield f"self-collision of {_listed(others)}: not among the pairs that are kept apart; {advice}"
    elif robot.collision_pairs:
        yield "self-collision: it is not among the constraints"
    else:
        advice = "give constraints: {self_collision: {pairs: [[one, other]], meshes: true}}"
        yield f"self-collision: no pair of bodies to be kept apart is known; {advice}"


def _listed(pairs: list[str]) -> str:
    more = f" and {len(pairs) - MOST_PAIRS_NAMED} more" if len(pairs) > MOST_PAIRS_NAMED else ""
    return f"{', '.join(pairs[:MOST_PAIRS_NAMED])}{more}"
