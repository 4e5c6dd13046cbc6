"""The joint terms a robot's description speaks of: those whose nominal values it gives."""

from __future__ import annotations

from exciter.parameters.terms.coulomb import Coulomb
from exciter.parameters.terms.rotor_inertia import RotorInertia
from exciter.parameters.terms.term import JointTerm
from exciter.parameters.terms.viscous import Viscous
from exciter.robot.robot import Robot


def declared_terms(robot: Robot) -> tuple[JointTerm, ...]:
    """Rotor inertia, viscous and Coulomb friction, each if ``robot.friction`` has it."""
    return tuple(declared_by_key(robot).values())


def declared_by_key(robot: Robot) -> dict[str, JointTerm]:
    """The same by their keys in ``robot.friction``."""
    known: dict[str, JointTerm] = {"rotor_inertia": RotorInertia(), "viscous": Viscous(), "coulomb": Coulomb()}
    return {key: term for key, term in known.items() if key in robot.friction}
