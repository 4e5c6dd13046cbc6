"""Candidates for the friction of a joint: small sets of joint terms, from the simplest on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from exciter.errors import ParameterError
from exciter.parameters.terms import (
    AsymmetricCoulomb,
    Coulomb,
    Dahl,
    FrictionShape,
    JointTerm,
    LoadFriction,
    Offset,
    Sign,
    SqrtViscous,
    Stribeck,
    UserTerm,
    Viscous,
)

DELTAS = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3)  #: [rad, m] travel of pre-sliding; encoders on the link see more of it
NUMBER = re.compile(r" [0-9.e-]+ (mrad|rad/s)")  # in a name: what a family differs in
VELOCITIES = (0.03, 0.1, 0.3)  #: [rad/s, m/s] of Stribeck


@dataclass(frozen=True)
class FrictionCandidate:
    """terms: what one joint would have, each a term that can be put on any joint (``joints`` left open). family: of
    candidates that differ in a setting only and are as simple as each other; its name unless given."""

    name: str
    terms: tuple[JointTerm, ...]
    family: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", tuple(self.terms))
        object.__setattr__(self, "family", self.family or self.name)
        for term in self.terms:
            if "joints" not in {f.name for f in _fields(term)} or isinstance(term, UserTerm):
                raise ParameterError(
                    f"candidate '{self.name}' has a {type(term).__name__}, which cannot be put on any joint; use terms "
                    "with joints=…, and keep this one in the model"
                )
            if getattr(term, "joints") is not None:  # noqa: B009 - not every JointTerm has it
                raise ParameterError(
                    f"candidate '{self.name}' has a {type(term).__name__} with joints of its own; leave them open"
                )


def on_joints(term: JointTerm, joints: Sequence[str] | None) -> JointTerm:
    """The same term on some joints, None for all."""
    some: Any = {"joints": None if joints is None else tuple(joints)}
    return replace(term, **some)  # type: ignore[type-var]


def usual_candidates(
    *, deltas: Sequence[float] = DELTAS, velocities: Sequence[float] = VELOCITIES, load: bool = False
) -> tuple[FrictionCandidate, ...]:
    """From the simplest on: none, Coulomb, viscous, both, with an offset or asymmetric; pre-sliding (Dahl, a candidate
    for each of ``deltas``) instead of the sign; a root of the speed; Stribeck; and with ``load`` friction that grows
    with the rigid torque, for torques of the motor's side and descriptions with inertias one can believe."""
    v, c, off, root = Viscous(), Coulomb(), Offset(), SqrtViscous()
    dry = [(f"Dahl {1e3 * delta:g} mrad", Dahl(float(delta))) for delta in deltas]
    every: list[tuple[str, FrictionShape]] = [("Coulomb", Sign()), *dry]
    sets: list[tuple[str, tuple[JointTerm, ...]]] = [
        ("none", ()),
        ("Coulomb", (c,)),
        ("viscous", (v,)),
        ("viscous + Coulomb", (v, c)),
        ("viscous + Coulomb + offset", (v, c, off)),
        ("viscous + asymmetric Coulomb", (v, AsymmetricCoulomb())),
        *((f"viscous + {name}", (v, Coulomb(s))) for name, s in dry),
        *((f"viscous + {name} + offset", (v, Coulomb(s), off)) for name, s in dry),
        *((f"viscous + √ + {name} + offset", (v, root, Coulomb(s), off)) for name, s in every),
        *(
            (f"viscous + Coulomb + Stribeck {speed:g} rad/s + offset", (v, c, Stribeck(velocity=float(speed)), off))
            for speed in velocities
        ),
    ]
    if load:
        for more, extra in (("", ()), ("√ + ", (root,))):
            sets += [
                (f"viscous + {more}{name} + load + offset", (v, *extra, Coulomb(s), LoadFriction(s), off))
                for name, s in every
            ]
    return tuple(FrictionCandidate(name, terms, NUMBER.sub("", name)) for name, terms in sets)


def _fields(term: JointTerm) -> tuple[Any, ...]:
    try:
        return fields(term)  # type: ignore[arg-type]
    except TypeError:
        return ()
