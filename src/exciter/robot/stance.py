"""A legged robot that stands: its feet stay where they are on the ground, the base moves, the legs follow.

Every foot is a tie to the world (``Footing``): a point that pushes, within its friction cone, and never pulls. The six
joints of the free base lead, so that motions, limits and certificates are those of any closed chain; what the legs'
drives do shows in these coordinates as N_Aᵀ τ_A, whatever the forces of the ground are. The ground is level, and at
z = 0 of the world unless the posture says where the base is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast

import numpy as np

from exciter.errors import RobotError, unknown_name
from exciter.notes import note
from exciter.robot.closed_loops import ClosedLoops
from exciter.robot.loop_assembly import with_loops
from exciter.robot.loop_reach import reach
from exciter.robot.names import named
from exciter.robot.robot import BASE, FREE_BASE_JOINTS, Frame, Joint, Robot
from exciter.robot.ties import Connect, Limb
from exciter.settings import Number, Settings
from exciter.settings.field_markers import ListOfTexts
from exciter.typing import Array

FEWEST_FEET = 3
LEVEL_DIRECTION = (0.0, 0.0, 1.0)  # up, where there is no gravity
THIN_POLYGON_FRACTION = 1e-3  # of the length of the polygon of the feet: narrower, and it is a line
FARTHEST_M, FARTHEST_RAD = 1.0, 1.0  # [m], [rad] from the posture, within which the base may be
REACH_STEPS = 40  # postures on the way there
REACH_SHARE = 0.5  # of what legs reach along one joint of the base: it moves along all six at once
DRIVEN_RATIO = 1e-6  # of singular values of N_A: below, no drive resists a motion of the base


@dataclass(frozen=True, eq=False)
class Footing(Connect):
    """Frame a, on a leg, stays at frame b of the world. friction: |tangential| ≤ friction · normal force; radius [m]:
    of a round foot, which touches that far below; load: part of its share of the weight that it always carries."""

    friction: float = 0.6
    radius: float = 0.0
    load: float = 0.1

    @property
    def name(self) -> str:
        return f"foot '{self.a.name}' on the ground"


@dataclass(frozen=True)
class StanceSettings(Settings):
    """feet: frames that touch; friction of the ground; radius [m] of round feet, which touch below their frames; load:
    part of an equal share of the weight that every foot always carries, beside which forces are planned."""

    feet: Annotated[tuple[str, ...], ListOfTexts("frames")]
    friction: Annotated[float, Number(above=0.0)] = 0.6
    radius: Annotated[float, Number(least=0.0, unit="m")] = 0.0
    load: Annotated[float, Number(least=0.0, most=1.0)] = 0.1


def footings(robot: Robot) -> tuple[Footing, ...]:
    """What the robot stands on; none where it does not stand."""
    coupling = robot.coupling
    ties = coupling.ties.ties if isinstance(coupling, ClosedLoops) else ()
    return tuple(tie for tie in ties if isinstance(tie, Footing))


def upward(robot: Robot) -> Array:
    """(3,) unit vector against gravity."""
    size = float(np.linalg.norm(robot.gravity))
    return -robot.gravity / size if size else np.array(LEVEL_DIRECTION)


def touching(robot: Robot) -> Array:
    """(k, 3) [m] points of the world where the feet touch the ground."""
    return np.array([foot.b.translation - foot.radius * upward(robot) for foot in footings(robot)])


def standing(robot: Robot, stance: StanceSettings, posture: Mapping[str, float] | None = None) -> Robot:
    """The robot on its feet, where these are in a posture (zero, or the nearest limit, for joints that it does not
    name). Its joints are then those of the base, and of legs and arms what the feet leave free; a range and
    accelerations of the base that nobody gave are what legs, weight and friction could do at most."""
    if not robot.free_base or robot.coupling is not None:
        problem = "has no free base" if not robot.free_base else "has joints that follow others"
        advice = "load it with base: free" if not robot.free_base else "lock them"
        raise RobotError(f"robot '{robot.name}' {problem}, and cannot be stood on its feet; {advice}")
    q = _posture(robot, posture or {})
    frames = [_foot(robot, name) for name in stance.feet]
    if len(set(stance.feet)) < len(stance.feet):
        raise RobotError(f"stance: feet names a frame twice: {', '.join(stance.feet)}")
    places = np.array([_place(robot.joints, frame, q) for frame in frames]).reshape(-1, 3)
    _check_polygon(robot, stance, places)
    if "base_z" not in (posture or {}):
        up = upward(robot)
        lift = stance.radius - float((places @ up).min())
        q[list(robot.free_base[:3])] += lift * up
        places = places + lift * up
    world = [Frame(f"{name} on the ground", BASE, np.eye(3), at) for name, at in zip(stance.feet, places, strict=True)]
    ties = [Footing(a, b, stance.friction, stance.radius, stance.load) for a, b in zip(frames, world, strict=True)]
    drives = [robot.joint_names[k] for k in robot.actuated]
    at = dict(zip(robot.joint_names, q.tolist(), strict=True))
    stood = with_loops(robot, ties, drives, at, leading=FREE_BASE_JOINTS)
    if missing := [name for name in FREE_BASE_JOINTS if name not in stood.joint_names]:
        problem = f"with its feet ({', '.join(stance.feet)}) on the ground robot '{robot.name}' cannot move along"
        advice = "its legs are stretched, or have too few joints; give another posture, or name other feet"
        raise RobotError(f"{problem} {', '.join(missing)}: {advice}")
    _check_drives(stood)
    level = float((touching(stood) @ upward(stood)).min())
    ground = level if (upward(stood) == LEVEL_DIRECTION).all() else stood.ground
    return _limited(replace(stood, ground=ground), stance, places)


def _posture(robot: Robot, given: Mapping[str, float]) -> Array:
    q = np.array([min(max(0.0, joint.limits.lower), joint.limits.upper) for joint in robot.joints])
    for name, value in given.items():
        limits = robot.joints[robot.index(name)].limits
        if not limits.lower <= value <= limits.upper:
            allowed = f"its limits are {limits.lower:g} … {limits.upper:g}; give a position between them"
            raise RobotError(f"posture has joint '{name}' at {value:g}: {allowed}")
        q[robot.index(name)] = value
    return q


def _foot(robot: Robot, name: str) -> Frame:
    if name not in robot.frame_names:
        raise RobotError(f"a foot is at no frame: {unknown_name('frame', name, robot.frame_names)}")
    if robot.frame(name).joint in (BASE, *robot.free_base):
        raise RobotError(f"the foot '{name}' is on the base itself; name a frame of a leg")
    return robot.frame(name)


def _place(tree: Sequence[Joint], frame: Frame, q: Array) -> Array:
    """(3,) [m] in the world."""
    return np.asarray(Limb.of(tree, BASE, frame).state(q[None]).origin[0])


def _check_polygon(robot: Robot, stance: StanceSettings, places: Array) -> None:
    up = upward(robot)
    level = places - np.outer(places @ up, up)
    sizes = np.linalg.svd(level - level.mean(axis=0), compute_uv=False) if len(level) >= FEWEST_FEET else np.zeros(2)
    if sizes[1] <= THIN_POLYGON_FRACTION * sizes[0]:
        given = f"robot '{robot.name}' cannot stand on {', '.join(stance.feet) or 'nothing'}"
        raise RobotError(f"{given}: it would tip over; name {FEWEST_FEET} feet at least, not on one line")


def _check_drives(stood: Robot) -> None:
    """No motion that the feet allow may be one that no drive feels."""
    driven = [k for k, body in enumerate(stood.bodies) if body.actuated]
    coupling = stood.coupling
    assert isinstance(coupling, ClosedLoops)
    null = coupling.null_at(coupling.home)
    values = np.linalg.svd(null[driven], compute_uv=False)
    if len(driven) < stood.n or values[-1] < DRIVEN_RATIO * values[0]:
        problem = f"drives of robot '{stood.name}' cannot hold it on these feet: it moves without them"
        raise RobotError(f"{problem}; name other feet, or give another posture")


def _limited(stood: Robot, stance: StanceSettings, places: Array) -> Robot:
    """With a range and accelerations of the base where it has none."""
    gravity = float(np.linalg.norm(stood.gravity))
    lever = float(np.linalg.norm(places - places.mean(axis=0), axis=1).max())
    up, joints, ranges = upward(stood), list(stood.joints), _ranges(stood)
    for name in FREE_BASE_JOINTS:
        k = stood.index(name)
        joint, own = joints[k], joints[k].limits
        most = gravity / lever
        if joint.is_prismatic:
            steep = abs(float(up @ (joint.rotation @ joint.axis)))
            most = gravity * max(steep, stance.friction * math.sqrt(max(0.0, 1.0 - steep**2)))
        ends = {end: at for end, at in zip(("lower", "upper"), ranges[k], strict=True) if math.isinf(getattr(own, end))}
        given = {"acceleration": min(own.acceleration, most or math.inf), **ends}
        limits = replace(own, **cast(Any, given))
        joints[k] = replace(joint, limits=limits, kind=joint.kind if joint.is_prismatic else "revolute")
    told = (
        f"stands on {named(stance.feet)}, friction {stance.friction:g}: each joint of the base moves half as far as the"
    )
    told += " legs would reach along it alone, and accelerates no more than weight and friction could make it"
    return replace(
        stood, joints=tuple(joints), notes=(*stood.notes, note("stance", f"{told}; limits: by name changes"))
    )


def _ranges(stood: Robot) -> dict[int, tuple[float, float]]:
    """[m, rad] by joint of the base: how far the legs reach in both directions, while the others stay."""
    coupling = stood.coupling
    assert isinstance(coupling, ClosedLoops)
    base, parts = [stood.index(name) for name in FREE_BASE_JOINTS], np.linspace(0.0, 1.0, REACH_STEPS + 1)[1:]
    u = np.tile(coupling.home, (len(base), 2, REACH_STEPS, 1))
    for row, k in zip(u, base, strict=True):
        far = FARTHEST_M if stood.joints[k].is_prismatic else FARTHEST_RAD
        row[..., k] += far * np.array([[-1.0], [1.0]]) * parts
    kept = (reach(stood, u.reshape(-1, stood.n)) >= 1.0).reshape(len(base), 2, REACH_STEPS)
    found = dict[int, tuple[float, float]]()
    for k, row, reached in zip(base, u, kept, strict=True):
        count = int(np.argmin(np.append(reached.all(axis=0), False)))
        if not count:
            name = stood.joints[k].name
            raise RobotError(
                f"the legs of robot '{stood.name}' leave no room about the posture along {name}; give another posture"
            )
        far = REACH_SHARE * float(row[1, count - 1, k] - coupling.home[k])
        found[k] = float(coupling.home[k]) - far, float(coupling.home[k]) + far
    return found
