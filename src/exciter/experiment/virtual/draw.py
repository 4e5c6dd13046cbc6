"""True parameters drawn by a seed: near the description, and always those of a machine that can exist."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from exciter.dynamics.dynamics import Dynamics
from exciter.errors import ParameterError
from exciter.experiment.virtual.truth import Friction, Truth, stream
from exciter.notes import Note, note
from exciter.parameters.consistency import link_consistency
from exciter.parameters.inertial import has_centre
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.robot.spatial import from_pseudo_inertia, pseudo_inertia
from exciter.settings import Number, Settings
from exciter.typing import Array

FLOOR = 1e-3  # smallest eigenvalue, in scaled units, of a body that the description gets wrong
POSTURES = 64
USUAL_ACCELERATION, USUAL_VELOCITY = 5.0, 2.0  # [rad/s², rad/s] where a description has no limits
INVENTED = {"rotor_inertia": 0.2, "coulomb": 0.03, "viscous": 0.03}  # of inertia, torque, and torque at full speed
MOST_ACCELERATION = 300.0  # [rad/s²] of a drive without load: no invented rotor is lighter


@dataclass(frozen=True)
class Spread(Settings):
    """How far the truth lies from the description: relative standard deviations of masses, sizes, places, friction."""

    bodies: Annotated[float, Number(least=0.0, most=1.0)] = 0.1
    friction: Annotated[float, Number(least=0.0, most=2.0)] = 0.2

    def __post_init__(self) -> None:
        for name, most in (("bodies", 1), ("friction", 2)):
            if not 0.0 <= getattr(self, name) <= most:
                raise ParameterError(f"{name} is {getattr(self, name):g}; give 0 ≤ {name} ≤ {most}")


def draw(robot: Robot, seed: int = 0, spread: Spread | None = None) -> Truth:
    """The truth of a robot and a seed, whatever motion is executed later."""
    spread = spread or Spread()
    rng = stream(seed, "truth")
    described, notes = believed(robot)
    inertias = np.array([_altered(phi, spread.bodies, rng) for phi in described.inertias])
    factor = np.exp(spread.friction * rng.standard_normal((3, robot.n)))
    rotor, coulomb, viscous = (
        tuple((scale * np.abs(described.friction.get(key, np.zeros(robot.n)))).tolist())
        for key, scale in zip(INVENTED, factor, strict=True)
    )
    return Truth(robot.with_inertias(inertias), rotor, Friction(viscous, coulomb), notes=notes)


def believed(robot: Robot) -> tuple[Robot, tuple[Note, ...]]:
    """The description, completed to a machine that can be built; and what had to be assumed.

    Bodies that cannot exist become the nearest that can; friction and rotors are invented where nothing is said of
    either. The truth is drawn around it, and it is what a controller believes.
    """
    inertias = robot.inertias
    notes: tuple[Note, ...] = ()
    if not inertias[:, 0].any():
        raise ParameterError(
            f"the description of '{robot.name}' has no masses, so there is nothing to draw a truth around; "
            "give a description that has them"
        )
    for j, joint in enumerate(robot.joints):
        if not link_consistency(joint.inertia).consistent:
            inertias[j] = nearest_body(joint.inertia)
            text = (
                f"no body can have the parameters the description gives to joint '{joint.name}': the truth is drawn "
                "around the nearest body that exists"
            )
            notes += (note("inertias", text, joint.name),)
    robot = robot.with_inertias(inertias)
    if any(key in robot.friction and robot.friction[key].any() for key in INVENTED):
        return robot, notes
    text = (
        "the description speaks neither of friction nor of rotors: values were invented (rotors that fit the drives, "
        f"dry and viscous friction {100 * INVENTED['coulomb']:g} % of the drive's torque each); identify with rotor, "
        "viscous, coulomb"
    )
    notes += (note("friction", text),)
    return replace(robot, friction={**robot.friction, **invented(robot)}), notes


def nearest_body(phi: Array) -> Array:
    """φ (10,) whose pseudo-inertia, scaled to unit mass and size, has its negative eigenvalues raised to FLOOR."""
    j = pseudo_inertia(phi)
    mass = abs(phi[0]) if has_centre(phi) else 1.0
    root = np.sqrt(mass)
    size = np.sqrt(np.linalg.norm(j[:3, :3], 2)) or np.linalg.norm(j[:3, 3]) / root or root
    scale = np.array([size, size, size, root])
    values, vectors = np.linalg.eigh(j / np.outer(scale, scale))
    raised = (vectors * np.maximum(values, FLOOR)) @ vectors.T
    return from_pseudo_inertia(raised * np.outer(scale, scale))


def _altered(phi: Array, spread: float, rng: np.random.Generator) -> Array:
    """The body stretched, sheared and moved by a random affine map A, and made heavier or lighter: A J Aᵀ is a body
    again, whatever A is."""
    j = pseudo_inertia(phi)
    size = np.sqrt(max(np.trace(j[:3, :3]), 0.0)) / np.sqrt(phi[0]) if phi[0] > 0.0 else 0.0
    change = np.eye(4)
    change[:3, :3] += 0.5 * spread * rng.standard_normal((3, 3))
    change[:3, 3] = 0.5 * spread * size * rng.standard_normal(3)
    heavier = np.exp(spread * rng.standard_normal())
    return from_pseudo_inertia(heavier * change @ j @ change.T)


# -- what is usual for a robot ---------------------------------------------------------------------------------------


def typical_inertia(robot: Robot) -> Array:
    """(n,) mean diagonal of the inertia matrix over postures within the limits [kg·m²]."""
    low, high = robot.position_range()
    q = np.random.default_rng(0).uniform(low, high, (POSTURES, robot.n))
    mean: Array = np.diagonal(Dynamics(robot).inertia_matrix(q), axis1=1, axis2=2).mean(axis=0)
    return mean


def drive_torque(robot: Robot) -> Array:
    """(n,) [N·m] what the drives are made for: the torque limit, or weight and a usual acceleration together."""
    limit = robot.limit("torque")
    if np.isfinite(limit).all():
        return limit
    low, high = robot.position_range()
    q = np.random.default_rng(0).uniform(low, high, (POSTURES, robot.n))
    weight = np.abs(Dynamics(robot).inverse_dynamics(Motion.at(q))).max(axis=0)
    acceleration = robot.limit("acceleration")
    usual = np.where(np.isfinite(acceleration), acceleration, USUAL_ACCELERATION)
    return np.where(np.isfinite(limit), limit, weight + np.abs(typical_inertia(robot)) * usual)


def invented(robot: Robot) -> dict[str, Array]:
    """Rotor inertia and friction of a description that has none."""
    torque, velocity = drive_torque(robot), robot.limit("velocity")
    speed = np.where(np.isfinite(velocity), velocity, USUAL_VELOCITY)
    rotor = np.maximum(INVENTED["rotor_inertia"] * typical_inertia(robot), torque / MOST_ACCELERATION)
    return {
        "rotor_inertia": rotor,
        "coulomb": INVENTED["coulomb"] * torque,
        "viscous": INVENTED["viscous"] * torque / speed,
    }
