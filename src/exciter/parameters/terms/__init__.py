"""Joint terms: everything at the joints that adds linear columns to the regressor. Terms by subject."""

from exciter.parameters.terms.drive import CoupledSqrtViscous, DriveCoupling, Offset, Ripple, RotorInertia
from exciter.parameters.terms.dry_friction import AsymmetricCoulomb, Coulomb, Dahl, FrictionShape, Sign, Stribeck, Tanh
from exciter.parameters.terms.load_friction import LoadFriction
from exciter.parameters.terms.springs import GasSpring, GravitySpring, Spring
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque
from exciter.parameters.terms.user_term import UserTerm
from exciter.parameters.terms.viscous import SqrtViscous, Viscous

__all__ = [
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
    "UserTerm",
    "Viscous",
]
