"""Which friction each joint has, chosen with the prior in place: pre-sliding, √, load and ripple where they help.

Dry friction is Dahl's before it is a sign: with a short δ it is Coulomb's, but follows the path and not the noise of
the velocity, so that joints at rest need no dead zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.model import DynamicModel
from exciter.experiment.recording.about import LINK
from exciter.identification.runs.run import Run
from exciter.identification.selection.friction_equations import FrictionCandidate
from exciter.parameters.terms import (
    Coulomb,
    CoupledSqrtViscous,
    Dahl,
    DriveCoupling,
    FrictionShape,
    GasSpring,
    GravitySpring,
    JointTerm,
    LoadFriction,
    Offset,
    Ripple,
    Sign,
    Spring,
    SqrtViscous,
    Viscous,
)
from exciter.robot.robot import Robot

DELTAS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)  #: [rad, m] travel of pre-sliding
#: Of dry friction, by name; a sign only where data clearly want it.
SHAPES: dict[str, FrictionShape] = {f"Dahl {1e3 * delta:g} mrad": Dahl(delta) for delta in DELTAS} | {"Coulomb": Sign()}
MOTOR_DELTA, LINK_DELTA = 1e-4, 1e-3  #: [rad, m] to begin with: encoders on the link see the gear bend
TURN = 1.0  #: [rad] a joint must have moved so far for what repeats once per turn to be told from a straight line
SPRINGS = (GasSpring, GravitySpring, Spring)
FRICTION = (Viscous, Coulomb, Offset, SqrtViscous, LoadFriction, Ripple)  #: what is chosen anew


def usual_delta(side: str | None) -> float:
    return LINK_DELTA if side == LINK else MOTOR_DELTA


def starting_terms(kept: Sequence[JointTerm], side: str | None) -> tuple[JointTerm, ...]:
    """What settings are compared with before friction is chosen."""
    return (*kept, Viscous(), Coulomb(Dahl(usual_delta(side))), Offset())


def friction_candidates(load: LoadFriction | None, *, ripple: bool = True) -> tuple[FrictionCandidate, ...]:
    """From the simplest on, pre-sliding from the shortest on; load: with its shape open, None where gears are not in
    the torque. ripple: whether joints turn."""
    found = []
    names = ["√", *(["load"] if load is not None else []), *(["ripple"] if ripple else [])]
    for count in range(len(names) + 1):
        for some in combinations(names, count):
            found += [_candidate(some, dry, load) for dry in SHAPES]
    return tuple(found)


def _candidate(some: Sequence[str], dry: str, load: LoadFriction | None) -> FrictionCandidate:
    shape = SHAPES[dry]
    terms: list[JointTerm] = [Viscous(), Coulomb(shape), Offset()]
    if "√" in some:
        terms.append(SqrtViscous())
    if "load" in some and load is not None:
        terms.append(LoadFriction(shape, links=load.links, springs=load.springs))
    if "ripple" in some:
        terms.append(Ripple())
    name = " + ".join(["viscous", dry, *some, "offset"])
    return FrictionCandidate(name, tuple(terms))


def gear_load(model: DynamicModel, chi: ArrayLike) -> LoadFriction:
    """Friction that grows with the torque of identified links and springs; χ of ``model``."""
    values = np.asarray(chi, dtype=float)
    links = tuple(tuple(row) for row in values[: 10 * model.n].reshape(-1, 10).tolist())
    known = dict(zip(model.standard, values.tolist(), strict=True))
    springs = tuple(
        (term, tuple(known[name] for name in bound.names))
        for term, bound in zip(model.terms, model.bound, strict=True)
        if isinstance(term, SPRINGS)
    )
    return LoadFriction(links=links, springs=springs)


def barred_terms(robot: Robot, runs: Sequence[Run]) -> dict[str, list[JointTerm]]:
    """What joints cannot have: ripple where there is no turn, or too little of it was seen, or where the weight of the
    links has the same shape, or has it nearly, as where a base leans a little: the prior would decide between them, and
    the load on the gears would be its guess."""
    travel = np.max([_travel(run) for run in runs], axis=0)
    alone = _own_ripple(robot) & _own_ripple(robot.with_gravity(_along_an_axis(robot.gravity)))
    return {
        joint.name: [Ripple()]
        for joint, moved in zip(robot.joints, travel, strict=True)
        if joint.name not in alone or moved < TURN
    }


def _along_an_axis(gravity: ArrayLike) -> NDArray[np.float64]:
    """(3,) the nearest gravity along an axis of the base."""
    given = np.asarray(gravity, dtype=float)
    nearest = np.zeros(3)
    k = int(np.argmax(np.abs(given)))
    nearest[k] = np.sign(given[k]) * np.linalg.norm(given)
    return nearest


def _own_ripple(robot: Robot) -> set[str]:
    """Joints whose ripple no other parameter can stand for."""
    turning = [joint.name for joint in robot.joints if not joint.is_prismatic]
    if not turning:
        return set()
    base = DynamicModel(robot, (Ripple(tuple(turning)),)).base
    members = np.abs(base.grouping) > 0.0
    single = {base.standard[k] for k, row in zip(base.independent, members, strict=True) if row.sum() == 1}
    found = [base.standard[10 * robot.n + k :: len(turning)] for k in range(len(turning))]  # Rs1 Rs2 … Rc1 Rc2 …
    return {name for name, own in zip(turning, found, strict=True) if set(own) <= single}


def _travel(run: Run) -> list[float]:
    low = np.min([part.motion.q.min(axis=0) for part in run.bounded.parts], axis=0)
    high = np.max([part.motion.q.max(axis=0) for part in run.bounded.parts], axis=0)
    return list(high - low)


def coupled_variants(kept: Sequence[JointTerm], side: str | None) -> list[tuple[str, tuple[JointTerm, ...]]]:
    """Kept terms with the friction of coupled motors with pre-sliding, and with a √ part beside it; in words."""
    couplings = [term for term in kept if isinstance(term, DriveCoupling)]
    if not couplings or any(isinstance(term, CoupledSqrtViscous) for term in kept):
        return [("as given", tuple(kept))]
    shape = Dahl(usual_delta(side))
    bent: list[JointTerm] = [
        DriveCoupling(t.first, t.second, t.ratio, shape) if isinstance(t, DriveCoupling) else t for t in kept
    ]
    roots = tuple(CoupledSqrtViscous(t.first, t.second, t.ratio) for t in couplings)
    return [("pre-sliding", tuple(bent)), ("pre-sliding and √", (*bent, *roots))]
