"""Joint terms by the words of files and of the command line.

terms: none
terms: [rotor, viscous, coulomb, offset, {stribeck: {velocity: 0.1}}, {drive-coupling: {first: j5, second: j6}}]
terms: [ripple, {load-friction: {links: [[4.2, 0.1, …], …], springs: [{term: {gas-spring: {…}}, value: 900}]}}]
terms: [{coulomb: {shape: {dahl: {delta: 1e-3}}, joints: [j1]}}]   # shape: sign (unless given), tanh or dahl
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from exciter.errors import shown
from exciter.parameters.terms.asymmetric_coulomb import AsymmetricCoulomb
from exciter.parameters.terms.coulomb import Coulomb
from exciter.parameters.terms.coupled_sqrt_viscous import CoupledSqrtViscous
from exciter.parameters.terms.declared import declared_terms
from exciter.parameters.terms.drive_coupling import DriveCoupling
from exciter.parameters.terms.gas_spring import GasSpring
from exciter.parameters.terms.gravity_spring import GravitySpring
from exciter.parameters.terms.load_friction import LoadFriction
from exciter.parameters.terms.offset import Offset
from exciter.parameters.terms.ripple import Ripple
from exciter.parameters.terms.rotor_inertia import RotorInertia
from exciter.parameters.terms.spring import Spring
from exciter.parameters.terms.sqrt_viscous import SqrtViscous
from exciter.parameters.terms.stribeck import Stribeck
from exciter.parameters.terms.term import JointTerm
from exciter.parameters.terms.viscous import Viscous
from exciter.robot.robot import Robot
from exciter.settings import OneOf, Registry, fill
from exciter.settings.fill import adapter
from exciter.settings.kinds import Kind, says_none
from exciter.settings.wrong import wrong

TERMS = Registry[JointTerm](
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
ONE_TERM = OneOf(TERMS)


class ListOfTerms(Kind):
    """``none``, or a list; what stands there twice counts once."""

    @property
    def wanted(self) -> str:
        return f"none, or a list of {', '.join(TERMS.words)}"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[JointTerm, ...]:
        if says_none(given):
            return ()
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
    terms: tuple[JointTerm, ...] = fill(ListOfTerms().hint, given, where)
    return terms
