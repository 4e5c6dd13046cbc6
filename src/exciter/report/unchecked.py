"""What a certificate does not speak of. It is said beside every verdict: "certified" covers the listed limits only."""

from __future__ import annotations

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
from exciter.robot.robot import Robot


def unchecked(robot: Robot, constraints: Iterable[Constraint], certificate: Certificate) -> tuple[str, ...]:
    """One sentence each, with what to do about it; nothing when all is covered that Exciter can cover."""
    parts = tuple(_members(constraints))
    found = [] if certificate.limits else ["any limit: the robot has none, and none was given"]
    found += _torque(robot, parts) + _self_collision(robot, parts)
    planes = grounds(parts)
    found += [sentence for plane in planes for sentence in plane.unchecked]
    capsules = [part for part in parts if isinstance(part, CapsuleDistance) and _others(part)]
    bodies = dict.fromkeys(body for part in capsules for body in part.uncovered)
    if bodies:
        found.append(f"collisions of the bodies of {', '.join(bodies)}: they have no capsule")
    if not any(_knows_surroundings(part) for part in parts):
        what = "people and whatever stands around" if planes else "floor, walls and people"
        keys = "workspace, obstacles" if planes else "ground, workspace, obstacles"
        found.append(f"{what}: nothing is known of them; give constraints: {keys}")
    return (*found, *_ends(certificate))


def _members(constraints: Iterable[Constraint]) -> Iterator[Constraint]:
    """Every constraint, those within alternatives included."""
    for constraint in constraints:
        yield constraint
        if isinstance(constraint, AnyOf):
            yield from _members(constraint.constraints)


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


def _others(part: Constraint) -> bool:
    """Whether distances are about more than the plane that the robot is mounted on."""
    return len(part.rows) > sum(len(ground.against or ()) for ground in grounds((part,)))


def _knows_surroundings(part: Constraint) -> bool:
    obstacles = [obstacle for obstacle in getattr(part, "obstacles", ()) if not isinstance(obstacle, Ground)]
    return isinstance(part, Region) or bool(obstacles)


def _ends(certificate: Certificate) -> list[str]:
    """A motion that begins or ends moving says nothing of how to get there, or to rest."""
    states = (("starts", certificate.starts_at_rest), ("ends", certificate.ends_at_rest))
    moving = " and ".join(word for word, at_rest in states if not at_rest)
    return [f"the way from rest and back: the motion {moving} while moving; add ramps"] if moving else []
