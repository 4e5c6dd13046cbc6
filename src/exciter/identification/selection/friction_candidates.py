"""Which friction each joint has, chosen with the prior in place: pre-sliding, √, load and ripple where they help.

Dry friction is a sign of the velocity unless the log shows that it follows the path (Dahl's), over a δ that its encoder
resolves: that one holds at rest, too, where a sign would be noise, and needs no dead zone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.recording.recording import LINK_SIDE
from exciter.experiment.signals.noise import estimate_noise, moves
from exciter.identification.runs.run import Run, bounded_parts
from exciter.identification.runs.unseen_joints import UnseenJoints
from exciter.parameters.terms import FrictionShape
from exciter.parameters.terms.coupled_friction import CoupledSqrtViscous, DriveCoupling, LoadFriction
from exciter.parameters.terms.friction import AsymmetricCoulomb, Coulomb, Dahl, Sign, SqrtViscous, Stribeck, Viscous
from exciter.parameters.terms.rotor_offset_springs import GasSpring, GravitySpring, Offset, Ripple, Spring
from exciter.parameters.terms.term import BoundTerm, JointTerm, RigidTorque
from exciter.parameters.terms.user_term import UserTerm
from exciter.robot.robot import Robot
from exciter.typing import Array

PRESLIDING_TRAVELS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)  #: [rad, m] δ that a first run tries
USUAL_PRESLIDING_TRAVELS = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3)  #: [rad, m] δ of ``usual_candidates``
STRIBECK_VELOCITIES = (0.03, 0.1, 0.3)  #: [rad/s, m/s]
NUMBER_IN_NAME = re.compile(r" [0-9.e-]+ (mrad|rad/s)")  #: what candidates of a family differ in
#: Of dry friction, by name, from the simplest on: a sign has no state, and pre-sliding is there where data want it.
DRY_FRICTION_SHAPES: dict[str, FrictionShape] = {"Coulomb": Sign()} | {
    f"Dahl {1e3 * delta:g} mrad": Dahl(delta) for delta in PRESLIDING_TRAVELS
}
#: [rad, m] δ before one is chosen: encoders on the link see the gear bend
FIRST_PRESLIDING_TRAVEL_MOTOR, FIRST_PRESLIDING_TRAVEL_LINK = 1e-4, 1e-3
RIPPLE_TRAVEL_RAD = 1.0  #: less, and what repeats once per turn cannot be distinguished from a straight line
SPRING_TERMS = (GasSpring, GravitySpring, Spring)
FRICTION_TERMS = (Viscous, Coulomb, Offset, SqrtViscous, LoadFriction, Ripple)  #: what is chosen anew
#: By the kind of a term: what names of candidates call it, and its torque
FRICTION_PARTS: dict[type, tuple[str, str]] = {
    Viscous: ("viscous", "Fv q̇: grows with the speed q̇"),
    Coulomb: ("Coulomb", "Fs sgn q̇: dry friction, the same at every speed, against the motion"),
    AsymmetricCoulomb: ("asymmetric Coulomb", "Fsp forwards, Fsn backwards: dry friction that differs by direction"),
    Dahl: (
        "Dahl",
        "Fs z, dry friction that builds up over a short travel δ after a reversal (pre-sliding) instead of jumping: "
        "dz/dq = (1 − z sgn q̇)/δ; the number is δ in thousandths of a radian, or of a metre where the joint slides",
    ),
    SqrtViscous: ("√", "Fr √|q̇| sgn q̇: rises steeply at low speed and less above, as in lubricated gears"),
    LoadFriction: (
        "load",
        "Fl z |τ|: a share Fl of the torque τ that the gear carries for weight and inertia of the links",
    ),
    Ripple: ("ripple", "Rs sin q + Rc cos q: repeats with every turn of the joint, as of cables or an eccentric gear"),
    Stribeck: ("Stribeck", "Fst sgn q̇ exp(−(q̇/v)²): more dry friction at low speed; the number is v [rad/s or m/s]"),
    Offset: ("offset", "constant: a sensor's zero, or dry friction that differs by direction"),
}


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
            if "joints" not in getattr(term, "__dataclass_fields__", ()) or isinstance(term, UserTerm):
                raise ParameterError(
                    f"candidate '{self.name}' has a {type(term).__name__}, which cannot be put on any joint; use terms "
                    "with joints=…, and keep this one in the model"
                )
            if getattr(term, "joints") is not None:  # noqa: B009 - not every JointTerm has it
                raise ParameterError(
                    f"candidate '{self.name}' has a {type(term).__name__} with joints of its own; leave them open"
                )


OFFSET_ALONE = FrictionCandidate("offset", (Offset(),))  #: of a joint that never moves
NO_FRICTION = FrictionCandidate("none: its torque is unusable", ())


@dataclass(frozen=True)
class LabelledTerm(JointTerm):
    """A term whose parameters have a label: several of a kind can be in one model."""

    term: JointTerm
    label: str

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        bound = self.term.bind(robot, rigid)
        return replace(bound, columns=replace(bound.columns, names=tuple(f"{self.label}{n}" for n in bound.names)))


def friction_parts(terms: Iterable[JointTerm]) -> dict[str, str]:
    """Of these terms: what names of candidates call them, and their torque; in the order of ``FRICTION_PARTS``."""
    kinds = {Dahl if type(term) is Coulomb and isinstance(term.shape, Dahl) else type(term) for term in terms}
    return dict(words for kind, words in FRICTION_PARTS.items() if kind in kinds)


def on_joints(term: JointTerm, joints: Sequence[str] | None) -> JointTerm:
    some: Any = {"joints": None if joints is None else tuple(joints)}
    return replace(term, **some)  # type: ignore[type-var]


def usual_delta(side: str | None) -> float:
    return FIRST_PRESLIDING_TRAVEL_LINK if side == LINK_SIDE else FIRST_PRESLIDING_TRAVEL_MOTOR


def starting_terms(kept: Sequence[JointTerm], side: str | None) -> tuple[JointTerm, ...]:
    """What settings are compared with before friction is chosen."""
    return (*kept, Viscous(), Coulomb(Dahl(usual_delta(side))), Offset())


def freest_terms(terms: Sequence[JointTerm]) -> tuple[JointTerm, ...]:
    """With friction that may rise or fall with the speed, however: what a lean of the base must do better than."""
    kept = (term for term in terms if not isinstance(term, Stribeck | SqrtViscous))
    return (*kept, Stribeck(velocity=STRIBECK_VELOCITIES[1]), SqrtViscous())


def friction_candidates(load: LoadFriction | None, *, ripple: bool = True) -> tuple[FrictionCandidate, ...]:
    """From the simplest on, with short pre-sliding first. load: shape open, None without gears. ripple: joints turn."""
    shapes = DRY_FRICTION_SHAPES
    loads = {} if load is None else {dry: replace(load, shape=shape) for dry, shape in shapes.items()}
    names = ["√", *(["load"] if loads else []), *(["ripple"] if ripple else [])]
    chosen = [some for count in range(len(names) + 1) for some in combinations(names, count)]
    found = []
    for some, (dry, shape) in product(chosen, shapes.items()):
        more = {"√": SqrtViscous(), "ripple": Ripple(), "load": loads.get(dry)}
        terms: Any = (Viscous(), Coulomb(shape), Offset(), *(more[name] for name in some))
        found.append(FrictionCandidate(" + ".join(["viscous", dry, *some, "offset"]), terms))
    return tuple(found)


def gear_load(model: DynamicModel, chi: ArrayLike) -> LoadFriction:
    """Friction that grows with the torque of identified links and springs; χ of ``model``."""
    values = np.asarray(chi, dtype=float)
    links = tuple(tuple(row) for row in values[: model.inertial_size].reshape(-1, 10).tolist())
    known = dict(zip(model.standard, values.tolist(), strict=True))
    springs = tuple(
        (term, tuple(known[name] for name in bound.names))
        for term, bound in zip(model.terms, model.bound, strict=True)
        if isinstance(term, SPRING_TERMS)
    )
    return LoadFriction(links=links, springs=springs)


def position_resolution(runs: Sequence[Run]) -> Array:
    """(n,) [rad, m] that positions of the finest log show of each joint that moves there: the step of an encoder, or of
    one that would be as noisy (σ is step/√12); 0 where no log is at hand."""
    logs = [log for run in runs if (log := run.bounded.recording) is not None]
    noise = [np.where(moves(log), estimate_noise(log.time, log.q).sigma, np.inf) for log in logs]
    least = np.min([np.full(bounded_parts(runs)[0].motion.n, np.inf), *noise], axis=0)
    return np.where(np.isfinite(least), np.sqrt(12.0) * least, 0.0)


def fixed_friction(unseen: UnseenJoints) -> dict[str, FrictionCandidate]:
    """Of joints that runs tell nothing of, by name."""
    return dict.fromkeys(unseen.still, OFFSET_ALONE) | dict.fromkeys(unseen.silent, NO_FRICTION)


def barred_terms(robot: Robot, runs: Sequence[Run]) -> dict[str, list[JointTerm]]:
    """What joints cannot have: pre-sliding shorter than the encoder resolves, which is a sign and nothing else; ripple
    where they do not turn, or too little, or where the weight of the links has the same shape, or nearly (the base may
    lean a little): the prior would decide, and gears' load would be its guess."""
    finest = position_resolution(runs)
    seen = [[part.motion.q for part in run.bounded.parts] for run in runs]
    travel = np.max([np.ptp(np.concatenate(parts), axis=0) for parts in seen], axis=0)
    gravity = np.asarray(robot.gravity, dtype=float)
    along = np.zeros(3)  # the nearest gravity along an axis of the base
    k = int(np.argmax(np.abs(gravity)))
    along[k] = np.sign(gravity[k]) * np.linalg.norm(gravity)
    alone = _own_ripple(robot) & _own_ripple(robot.with_gravity(along))
    barred: dict[str, list[JointTerm]] = {}
    for joint, moved, step in zip(robot.joints, travel, finest, strict=True):
        ripple = [] if joint.name in alone and moved >= RIPPLE_TRAVEL_RAD else [Ripple()]
        if short := [Coulomb(Dahl(delta)) for delta in PRESLIDING_TRAVELS if delta < step]:
            barred[joint.name] = [*ripple, *short]
        elif ripple:
            barred[joint.name] = [*ripple]
    return barred


def _own_ripple(robot: Robot) -> set[str]:
    """Joints whose ripple no other parameter can stand for."""
    turning = [joint.name for joint in robot.joints if not joint.is_prismatic]
    if not turning:
        return set()
    base = DynamicModel(robot, (Ripple(tuple(turning)),)).base
    members = np.abs(base.grouping) > 0.0
    single = {base.standard[k] for k, row in zip(base.independent, members, strict=True) if row.sum() == 1}
    found = [base.standard[10 * robot.n_bodies + k :: len(turning)] for k in range(len(turning))]  # Rs1 Rs2 … Rc1 …
    return {name for name, own in zip(turning, found, strict=True) if set(own) <= single}


def coupled_variants(kept: Sequence[JointTerm], side: str | None) -> list[tuple[str, tuple[JointTerm, ...]]]:
    """Kept terms with the friction of coupled motors with pre-sliding, and with a √ part beside it; in words."""
    couplings = [term for term in kept if isinstance(term, DriveCoupling)]
    if not couplings or any(isinstance(term, CoupledSqrtViscous) for term in kept):
        return [("as given", tuple(kept))]
    shape = Dahl(usual_delta(side))
    bent = [replace(term, shape=shape) if isinstance(term, DriveCoupling) else term for term in kept]
    roots = tuple(CoupledSqrtViscous(t.first, t.second, t.ratio) for t in couplings)
    return [("pre-sliding", tuple(bent)), ("pre-sliding and √", (*bent, *roots))]


def in_metres(name: str) -> str:
    """The name of a candidate on a joint that slides: its δ is a length, its v a speed."""
    return name.replace(" mrad", " mm").replace(" rad/s", " m/s")


def distinct_terms(candidates: Iterable[FrictionCandidate]) -> list[JointTerm]:
    found: list[JointTerm] = []
    for candidate in candidates:
        found += [term for term in candidate.terms if term not in found]
    return found


def usual_candidates(
    *, deltas: Sequence[float] = USUAL_PRESLIDING_TRAVELS, velocities: Sequence[float] = STRIBECK_VELOCITIES
) -> tuple[FrictionCandidate, ...]:
    """From the simplest on: none, Coulomb, viscous, both, with an offset or asymmetric; pre-sliding (Dahl, a candidate
    for each of ``deltas``) instead of the sign; a root of the speed; Stribeck."""
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
    return tuple(FrictionCandidate(name, terms, NUMBER_IN_NAME.sub("", name)) for name, terms in sets)
