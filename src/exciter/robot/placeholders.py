"""Numbers that stand for what nobody knows: bodies without a weight, inertias of no body, limits of no robot.

Descriptions carry them so that simulators start at all. Reading does not refuse them; what is proved of a robot must
not rest on them. Each rule here has a reason of physics. That limits or friction are round, or alike for all joints, is
none: robots of equal modules exist, and people who round. Masses of all links at once: ``parameters/consistency.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from exciter.robot.names import named
from exciter.robot.robot import BASE, STANDARD_GRAVITY, Robot
from exciter.robot.spatial import moment_matrix, pseudo_inertia, transform_inertia
from exciter.typing import Array

#: Of the mass of all bodies that move: half a gram of a 50 kg arm. No part that has a joint or a shape weighs less.
PLACEHOLDER_MASS_FRACTION = 1e-5
#: Of a body's largest second moment about its centre: what rounding to three printed digits can make negative.
PRINTED_MOMENT_TOLERANCE = 1e-3
#: Of the second moments about the joint: what doubles leave of a body far away from it.
CENTRAL_MOMENT_ROUNDING = 1e-9
#: [N·m, N] Only machines of several tonnes have such drives,
PLACEHOLDER_TORQUE_NM = 1e5
#: [m, –] and they need them: a true limit never holds the weight of all that moves on a lever of this length (ten times
#: the reach of the largest arms), nor accelerates it by as many g.
PLACEHOLDER_LEVER_M = 30.0
#: cos of the angle between gravity and an axis that counts as vertical is this close to 1.
VERTICAL_AXIS_TOLERANCE = 1e-9


def moved_mass(inertias: ArrayLike) -> float:
    """[kg] of all bodies (n, 10) together, negative ones left out."""
    return float(np.maximum(np.asarray(inertias)[..., 0], 0.0).sum())


def weighs_nothing(mass: float, total: float) -> bool:
    """Whether a mass [kg], among ``total`` that moves, is none or a placeholder; a negative one is another matter."""
    return 0.0 <= mass <= PLACEHOLDER_MASS_FRACTION * total


def is_physical(phi: ArrayLike) -> bool:
    """Whether a body can have φ (10,): a mass, and second moments about its centre that are not negative, which are the
    triangle inequalities of its moments of inertia; or nothing at all. Up to the digits that files print."""
    phi = np.asarray(phi, dtype=float)
    if phi[0] <= 0.0:
        return not phi.any()
    about_origin = float(np.linalg.norm(pseudo_inertia(phi)[:3, :3], 2))
    central = pseudo_inertia(transform_inertia(phi, np.eye(3), -phi[1:4] / phi[0]))[:3, :3]
    least, _, most = np.linalg.eigvalsh(central)
    return bool(least >= -PRINTED_MOMENT_TOLERANCE * max(most, 0.0) - CENTRAL_MOMENT_ROUNDING * about_origin)


def bare_bodies(robot: Robot) -> tuple[int, ...]:
    """Bodies, by joint, that have no mass of their own or a placeholder's. A body between joints that meet in a point
    may really have next to none, but a file cannot say so: it counts. What lies between two joints of one MJCF body is
    none. Where only a moment of inertia enters any torque, papers give that alone, and a mass of 0."""
    total = moved_mass(robot.inertias)
    bodies = [j for j, joint in enumerate(robot.bodies) if not joint.bodiless or joint.inertia.any()]
    bare = [j for j in bodies if weighs_nothing(robot.bodies[j].inertia[0], total)]
    return tuple(j for j in bare if robot.bodies[j].inertia[0] > 0.0 or not _enough_is_known(robot, j, total))


def unreal_bodies(robot: Robot) -> tuple[int, ...]:
    """Bodies, by joint, that have a mass and numbers that no body can have, where more than one of them matters."""
    total = moved_mass(robot.inertias)
    given = [j for j, joint in enumerate(robot.bodies) if not weighs_nothing(joint.inertia[0], total)]
    unreal = [j for j in given if not is_physical(robot.bodies[j].inertia)]
    return tuple(j for j in unreal if not _enough_is_known(robot, j, total))


def _enough_is_known(robot: Robot, j: int, total: float) -> bool:
    """Of the first body of an arm on a vertical axis the moment of inertia about it is all that enters a torque (PUMA
    560); one below that of a placeholder's mass at 1 m is none."""
    joint = robot.bodies[j]
    if joint.parent != BASE or joint.is_prismatic:
        return False
    down, axis = robot.gravity, joint.rotation @ joint.axis
    vertical = abs(down @ axis) >= (1.0 - VERTICAL_AXIS_TOLERANCE) * np.linalg.norm(down)
    moment = float(joint.axis @ moment_matrix(joint.inertia) @ joint.axis)
    return bool(vertical and moment > PLACEHOLDER_MASS_FRACTION * total)


def placeholder_torques(robot: Robot) -> tuple[int, ...]:
    limit, weight = robot.limit("torque"), float(np.linalg.norm(STANDARD_GRAVITY)) * moved_mass(robot.inertias)
    most = max(PLACEHOLDER_TORQUE_NM, PLACEHOLDER_LEVER_M * weight)
    return tuple(np.flatnonzero(np.isfinite(limit) & (limit >= most)).tolist())


def hidden_in_bodies(parts: Mapping[str, Array], solid: frozenset[str], robot: Robot) -> tuple[str, ...]:
    """What would be forgotten once links that are rigidly joined are one body, a sentence each. parts: φ (10,) of every
    link that moves, about any point. solid: those that have a shape, so that something is there; a link without one is
    a frame. Links of bodies that show the gap themselves are left out by the caller."""
    total = moved_mass(robot.inertias)
    bare = [name for name, phi in parts.items() if name in solid and weighs_nothing(phi[0], total)]
    unreal = [n for n, phi in parts.items() if not weighs_nothing(phi[0], total) and not is_physical(phi)]
    said = {
        "no mass is given for {}, in spite of a shape: torques lack that weight; give <inertial>": bare,
        "the inertia of {} is that of no body: torques rest on it; correct <inertial>": unreal,
    }
    links = {text: f"link{'s' if len(names) > 1 else ''} {named(names)}" for text, names in said.items() if names}
    return tuple(text.format(which) for text, which in links.items())
