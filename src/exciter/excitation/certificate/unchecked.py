"""What a certificate does not speak of. It is said beside every verdict: "certified" covers the limits that are proved.

A constraint says itself what of it rests on nothing, in its property ``unchecked`` if it has one; what nobody asked for
is added here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from exciter.excitation.certificate.certificate import Certificate
from exciter.excitation.constraints.any_of import AnyOf
from exciter.excitation.constraints.collision import CapsuleDistance
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.ground import Ground, grounds
from exciter.excitation.constraints.mesh import MeshDistance
from exciter.excitation.constraints.region import Region
from exciter.excitation.constraints.torque import TorqueLimits
from exciter.robot.limits import TIME_TO_FULL_SPEED
from exciter.robot.robot import Joint, Robot

LIMIT_KEYS = {"position": ("lower", "upper"), "velocity": ("velocity",), "acceleration": ("acceleration",)}
PER_TIME = {"position": "", "velocity": "/s", "acceleration": "/s²"}


def unchecked(robot: Robot, constraints: Iterable[Constraint], certificate: Certificate) -> tuple[str, ...]:
    """One sentence each, with what to do about it; nothing when all is covered that Exciter can cover."""
    parts = tuple(_members(constraints))
    known = bool(certificate.limits)
    found = _joint_limits(robot) if known else ["any limit: the robot has none, and none was given"]
    found += _torque(robot, parts) + _self_collision(robot, parts)
    found += [sentence for part in parts for sentence in getattr(part, "unchecked", ())]
    if not any(_knows_surroundings(part) for part in parts):
        grounded = bool(grounds(parts))
        what = "people and whatever stands around" if grounded else "floor, walls and people"
        keys = "workspace, obstacles" if grounded else "ground, workspace, obstacles"
        found.append(f"{what}: nothing is known of them; give constraints: {keys}")
    return tuple(dict.fromkeys([*found, *_ends(certificate)]))


def _members(constraints: Iterable[Constraint]) -> Iterator[Constraint]:
    """Every constraint, those within alternatives included."""
    for constraint in constraints:
        yield constraint
        if isinstance(constraint, AnyOf):
            yield from _members(constraint.constraints)


def _joint_limits(robot: Robot) -> list[str]:
    """Limits that nobody gave: those that were assumed, those that are not there, and numbers in place of them. A jerk
    limit is a choice."""
    assumed = [joint for joint in robot.joints if joint.limits.assumed]
    found = [f"acceleration{_of(robot, assumed)}: {_assumed(assumed)}"] if assumed else []
    for what, ends in LIMIT_KEYS.items():
        missing = [joint for joint in robot.joints if any(math.isinf(getattr(joint.limits, end)) for end in ends)]
        if what == "position":
            missing = [joint for joint in missing if joint.kind != "continuous"]
        far = [joint for joint in robot.joints if any(joint.limits.is_placeholder(end) for end in ends)]
        if what == "acceleration":
            far = [joint for joint in far if not joint.limits.assumed]
        advice = f"give limits: {{{', '.join(f'{end}: …' for end in ends)}}}"
        if missing:
            found.append(f"{what}{_of(robot, missing)}: no limit is known; {advice}")
        if far:
            told = _values([(joint, end) for joint in far for end in ends if joint.limits.is_placeholder(end)], what)
            found.append(f"{what}{_of(robot, far)}: {told} is a placeholder, no limit of a robot; {advice}")
    return found


def _assumed(joints: list[Joint]) -> str:
    """The values, per unit: "5 rad/s², 1 … 2 m/s² were assumed"."""
    return (
        f"{_values([(joint, 'acceleration') for joint in joints], 'acceleration')} "
        f"{'was' if len(joints) == 1 else 'were'} assumed, full speed in {TIME_TO_FULL_SPEED:g} s; "
        "give limits: {acceleration: …}"
    )


def _values(limits: list[tuple[Joint, str]], what: str) -> str:
    """Of limits by joint and name, their range for each unit."""
    told = []
    for prismatic, unit in ((False, "rad"), (True, "m")):
        values = [abs(getattr(joint.limits, end)) for joint, end in limits if joint.is_prismatic == prismatic]
        if values:
            low, high = f"{min(values):.4g}", f"{max(values):.4g}"
            told.append(f"{low if low == high else f'{low} … {high}'} {unit}{PER_TIME[what]}")
    return ", ".join(told)


def _of(robot: Robot, joints: list[Joint]) -> str:
    return " of all joints" if len(joints) == robot.n else f" of {', '.join(joint.name for joint in joints)}"


def _torque(robot: Robot, parts: tuple[Constraint, ...]) -> list[str]:
    limited = np.isfinite(robot.limit("torque"))
    if not limited.any():
        return ["torque: the robot has no torque limits; give limits: {torque: …}"]
    if not any(isinstance(part, TorqueLimits) for part in parts):
        return ["torque: it is not among the constraints"]
    free = [name for name, has in zip(robot.joint_names, limited, strict=True) if not has]
    return [f"torque of {', '.join(free)}: no limit is known; give limits: {{torque: …}}"] if free else []


def _self_collision(robot: Robot, parts: tuple[Constraint, ...]) -> list[str]:
    if any(isinstance(part, MeshDistance) or (isinstance(part, CapsuleDistance) and part.pairs) for part in parts):
        return []
    if robot.collision_pairs:
        return ["self-collision: it is not among the constraints"]
    advice = "give constraints: {self_collision: {pairs: [[one, other]], meshes: true}}"
    return [f"self-collision: no pair of bodies to be kept apart is known; {advice}"]


def _knows_surroundings(part: Constraint) -> bool:
    obstacles = [obstacle for obstacle in getattr(part, "obstacles", ()) if not isinstance(obstacle, Ground)]
    return isinstance(part, Region) or bool(obstacles)


def _ends(certificate: Certificate) -> list[str]:
    """A motion that begins or ends moving says nothing of how to get there, or to rest."""
    states = (("starts", certificate.starts_at_rest), ("ends", certificate.ends_at_rest))
    moving = " and ".join(word for word, at_rest in states if not at_rest)
    return [f"the way from rest and back: the motion {moving} while moving; add ramps"] if moving else []
