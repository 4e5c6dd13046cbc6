"""Joint terms: everything at the joints that adds linear columns to the regressor, by subject, and by their words:

terms: none
terms: [rotor, viscous, coulomb, offset, {stribeck: {velocity: 0.1}}, {drive-coupling: {first: j5, second: j6}}]
terms: [ripple, {load-friction: {links: [[4.2, 0.1, …], …], springs: [{term: {gas-spring: {…}}, value: 900}]}}]
terms: [{coulomb: {shape: {dahl: {delta: 1e-3}}, joints: [j1]}}]   # shape: sign (unless given), tanh or dahl
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from exciter.errors import shown
from exciter.parameters.terms.coulomb_and_presliding import (
    AsymmetricCoulomb,
    Coulomb,
    Dahl,
    FrictionShape,
    Sign,
    Stribeck,
    Tanh,
)
from exciter.parameters.terms.load_friction import LoadFriction
from exciter.parameters.terms.rotor_offset_ripple_coupling import (
    CoupledSqrtViscous,
    DriveCoupling,
    Offset,
    Ripple,
    RotorInertia,
)
from exciter.parameters.terms.springs import GasSpring, GravitySpring, Spring
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque
from exciter.parameters.terms.user_term import UserTerm
from exciter.parameters.terms.viscous import SqrtViscous, Viscous
from exciter.robot.robot import Robot
from exciter.settings import OneOf, Registry, fill
from exciter.settings.field_markers import Kind, says_none
from exciter.settings.fill import adapter
from exciter.settings.messages import wrong

__all__ = [
    "ONE_TERM",
    "TERM_REGISTRY",
    "AsymmetricCoulomb",
    "BoundTerm",
    "Coulomb",
    "CoupledSqrtViscous",
    "Dahl",
    "DriveCoupling",
    "FrictionShape",
    "GasSpring",
    "GravitySpring",
    "JointTerm",
    "ListOfTerms",
    "LoadFriction",
    "Offset",
    "RigidTorque",
    "Ripple",
    "RotorInertia",
    "Sign",
    "Spring",
    "SqrtViscous",
    "Stribeck",
    "Tanh",
    "Terms",
    "UserTerm",
    "Viscous",
    "declared_by_key",
    "declared_terms",
    "joint_terms",
]

TERM_REGISTRY = Registry[JointTerm](
    "joint term",
    RotorInertia,
    Viscous,
    Coulomb,
    Offset,
    AsymmetricCoulomb,
    SqrtViscous,
    Stribeck,
    LoadFriction,
    Ripple,
    Spring,
    GravitySpring,
    GasSpring,
    DriveCoupling,
    CoupledSqrtViscous,
)
ONE_TERM = OneOf(TERM_REGISTRY)


def declared_terms(robot: Robot) -> tuple[JointTerm, ...]:
    """Rotor inertia, viscous and Coulomb friction, each if ``robot.friction`` has it."""
    return tuple(declared_by_key(robot).values())


def declared_by_key(robot: Robot) -> dict[str, JointTerm]:
    """The same by their keys in ``robot.friction``."""
    known: dict[str, JointTerm] = {"rotor_inertia": RotorInertia(), "viscous": Viscous(), "coulomb": Coulomb()}
    return {key: term for key, term in known.items() if key in robot.friction}


class ListOfTerms(Kind):
    """``none``, or a list; what stands there twice counts once."""

    @property
    def wanted(self) -> str:
        return f"none, or a list of {', '.join(TERM_REGISTRY.words)}"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[JointTerm, ...]:
        if says_none(given):
            return ()
        if isinstance(given, JointTerm):
            return (given,)
        if not isinstance(given, list | tuple):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        listed = adapter(tuple[Annotated[JointTerm, ONE_TERM], ...]).validate_python(given, context=context)
        return tuple(term for k, term in enumerate(listed) if term not in listed[:k])

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"const": "none"}, {"type": "array", "items": ONE_TERM.schema()}]}


Terms = Annotated[tuple[JointTerm, ...], ListOfTerms()]


def joint_terms(given: Any, robot: Robot, where: str) -> tuple[JointTerm, ...]:
    """Joint terms of ``none``, or of a list; without any, those that the description declares."""
    if given is None:
        return declared_terms(robot)
    return fill(ListOfTerms().hint, given, where)
