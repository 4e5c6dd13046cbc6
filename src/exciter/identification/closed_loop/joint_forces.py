"""Joint terms as the simulation's kernel wants them: a few numbers per joint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.closed_loop.kernels import rows as row
from exciter.parameters.terms import (
    AsymmetricCoulomb,
    BoundTerm,
    Coulomb,
    GravitySpring,
    JointTerm,
    Offset,
    Ripple,
    RotorInertia,
    Spring,
    SqrtViscous,
    Stribeck,
    Viscous,
)
from exciter.parameters.terms.dry_friction import DryFriction, Sign
from exciter.parameters.terms.term import per_joint
from exciter.typing import Array

#: term → rows that its kinds of columns add to, one after the other
PLACES: dict[type[JointTerm], tuple[tuple[int, ...], ...]] = {
    RotorInertia: ((row.ROTOR,),),
    Viscous: ((row.VISCOUS,),),
    SqrtViscous: ((row.ROOT,),),
    Coulomb: ((row.FORWARD, row.BACKWARD),),
    AsymmetricCoulomb: ((row.FORWARD,), (row.BACKWARD,)),
    Stribeck: ((row.STRIBECK,),),
    Offset: ((row.OFFSET,),),
    GravitySpring: ((row.SINE,), (row.COSINE,)),
    Ripple: ((row.SINE,), (row.COSINE,)),
    Spring: ((row.STIFFNESS,), (row.PRELOAD,)),
}


def refuse_other_terms(model: DynamicModel) -> None:
    """One line for a term that the simulation does not have."""
    for term in model.terms:
        shape = f" with {type(term.shape).__name__}" if isinstance(term, DryFriction) else ""
        if type(term) not in PLACES or (isinstance(term, DryFriction) and not isinstance(term.shape, Sign)):
            raise ParameterError(
                f"the closed loop cannot be simulated with {type(term).__name__}{shape}; it has "
                f"{', '.join(kind.__name__ for kind in PLACES)}, dry friction with Sign; use another estimator, or "
                "leave the term out"
            )


def joint_forces(model: DynamicModel, chi: Array) -> Array:
    """(17, n) of standard parameters χ (p,). Dry friction below zero, which no joint has, acts as none."""
    refuse_other_terms(model)
    forces = np.zeros((row.COUNT, model.n))
    at = 10 * model.n
    for term, bound in zip(model.terms, model.bound, strict=True):
        values = _at_zero(term, chi[at : at + len(bound.names)])
        at += len(bound.names)
        places = PLACES[type(term)]
        joints = bound.columns.joints[: len(values) // len(places)]
        for rows, part in zip(places, np.split(values, len(places)), strict=True):
            for number in rows:
                forces[number, joints] += part
        _shape(forces, term, bound, joints, model.robot.joint_names)
    return forces


def _at_zero(term: JointTerm, values: Array) -> Array:
    """Parameters of a sine and a cosine of q + offset as those of q: several terms of a joint then add up."""
    if not isinstance(term, GravitySpring):
        return values
    sine, cosine = values
    cos, sin = np.cos(term.offset), np.sin(term.offset)
    return np.array([sine * cos - cosine * sin, sine * sin + cosine * cos])


def _shape(forces: Array, term: JointTerm, bound: BoundTerm, joints: list[int], names: Sequence[str]) -> None:
    """The settings that are not parameters."""
    named = [names[j] for j in joints]
    if isinstance(term, SqrtViscous):
        forces[row.ROOT_WIDTH, joints] = per_joint(term.width, named, "the width of SqrtViscous")[:, 0]
    elif isinstance(term, Stribeck):
        forces[row.STRIBECK_VELOCITY, joints] = per_joint(term.velocity, named, "the velocity of Stribeck")[:, 0]
    elif isinstance(term, Spring):
        places = [row.BASE_ARM, row.LINK_ARM, row.ARM_OFFSET, row.FREE_LENGTH]
        forces[np.ix_(places, joints)] = np.array([[term.base_arm], [term.link_arm], [term.offset], [term.free_length]])
