"""Joint terms: everything at the joints that adds linear columns to the regressor. One term per file."""

from exciter.parameters.terms.asymmetric_coulomb import AsymmetricCoulomb
from exciter.parameters.terms.coulomb import Coulomb
from exciter.parameters.terms.coupled_sqrt_viscous import CoupledSqrtViscous
from exciter.parameters.terms.dahl import Dahl
from exciter.parameters.terms.drive_coupling import DriveCoupling
from exciter.parameters.terms.gas_spring import GasSpring
from exciter.parameters.terms.gravity_spring import GravitySpring
from exciter.parameters.terms.load_friction import LoadFriction
from exciter.parameters.terms.offset import Offset
from exciter.parameters.terms.ripple import Ripple
from exciter.parameters.terms.rotor_inertia import RotorInertia
from exciter.parameters.terms.shape import FrictionShape, Sign, Tanh
from exciter.parameters.terms.spring import Spring
from exciter.parameters.terms.sqrt_viscous import SqrtViscous
from exciter.parameters.terms.stribeck import Stribeck
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque
from exciter.parameters.terms.user_term import UserTerm
from exciter.parameters.terms.viscous import Viscous

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
