"""Joint terms: everything at the joints that adds linear columns to the regressor, by subject, and by their words:

terms: none
terms: [rotor, viscous, coulomb, offset, {stribeck: {velocity: 0.1}}, {drive-coupling: {first: j5, second: j6}}]
terms: [ripple, {load-friction: {links: [[4.2, 0.1, …], …], springs: [{term: {gas-spring: {…}}, value: 900}]}}]
terms: [{coulomb: {shape: {dahl: {delta: 1e-3}}, joints: [j1]}}]   # shape: sign (unless given), tanh or dahl"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from exciter.errors import shown
from exciter.parameters.terms.coupled_friction import CoupledSqrtViscous as CoupledSqrtViscous
from exciter.parameters.terms.coupled_friction import DriveCoupling as DriveCoupling
from exciter.parameters.terms.coupled_friction import LoadFriction as LoadFriction
from exciter.parameters.terms.friction import AsymmetricCoulomb as AsymmetricCoulomb
from exciter.parameters.terms.friction import Coulomb as Coulomb
from exciter.parameters.terms.friction import Dahl as Dahl
from exciter.parameters.terms.friction import FrictionShape as FrictionShape
from exciter.parameters.terms.friction import Sign as Sign
from exciter.parameters.terms.friction import SqrtViscous as SqrtViscous
from exciter.parameters.terms.friction import Stribeck as Stribeck
from exciter.parameters.terms.friction import Tanh as Tanh
from exciter.parameters.terms.friction import Viscous as Viscous
from exciter.parameters.terms.rotor_offset_springs import GasSpring as GasSpring
from exciter.parameters.terms.rotor_offset_springs import GravitySpring as GravitySpring
from exciter.parameters.terms.rotor_offset_springs import Offset as Offset
from exciter.parameters.terms.rotor_offset_springs import Ripple as Ripple
from exciter.parameters.terms.rotor_offset_springs import RotorInertia as RotorInertia
from exciter.parameters.terms.rotor_offset_springs import Spring as Spring
from exciter.parameters.terms.term import BoundTerm as BoundTerm
from exciter.parameters.terms.term import JointTerm as JointTerm
from exciter.parameters.terms.term import RigidTorque as RigidTorque
from exciter.parameters.terms.user_term import UserTerm as UserTerm
from exciter.robot.robot import Robot
from exciter.settings import OneOf, Registry, fill
from exciter.settings.field_markers import Kind, says_none, wrong
from exciter.settings.fill import filled

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
        listed = filled(tuple[Annotated[JointTerm, ONE_TERM], ...], given, context)
        return tuple(term for k, term in enumerate(listed) if term not in listed[:k])

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"const": "none"}, {"type": "array", "items": ONE_TERM.schema()}]}


Terms = Annotated[tuple[JointTerm, ...], ListOfTerms()]


def joint_terms(given: Any, robot: Robot, where: str) -> tuple[JointTerm, ...]:
    """Joint terms of ``none``, or of a list; without any, those that the description declares."""
    if given is None:
        return declared_terms(robot)
    return fill(ListOfTerms().hint, given, where)
