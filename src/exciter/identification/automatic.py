"""``automatic:`` of the section identify: settings left open, chosen one after the other from the training runs.

1. The filter of the equations, from the band of the motion.
2. The route from positions to accelerations, by cross-validation.
3. Coupled motors: pre-sliding and √ friction, where a coupling was named.
4. The friction of each joint and the weight of the prior, by cross-validation, twice: what one is depends on the other,
   and the load that friction grows with on both.
5. How near to zero offsets are, by cross-validation.
6. Whether the base leans, by cross-validation.

Cross-validation is over stretches of time, of the period where a motion repeats (``Run.fold``). The result is a
configuration in which nothing is open any more, so that it asks for the same again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.experiment.recording.recording import LINK_SIDE
from exciter.experiment.signals.contact_stretches import stances
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.processed_motion import motion_band
from exciter.identification.equation_filter import EquationFilter
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.physical import ACTIVE_BOUND_FRACTION, AUTO, PhysicallyConsistent, Prior
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.identify_config import CHOOSE_FRICTION, FRICTION_AS_GIVEN, IdentifyConfig
from exciter.identification.information.compressed import simplest_within_error
from exciter.identification.information.problem import USUAL_FOLDS, Problem
from exciter.identification.physical.penalised_fit import PenalisedObjective
from exciter.identification.physical.prior_metric import PseudoInertia, StandardEquations
from exciter.identification.physical.prior_values import BestKnown, PriorValues
from exciter.identification.runs.run import Run, bounded_parts, common_side, may_lean
from exciter.identification.runs.unseen_joints import UnseenJoints
from exciter.identification.selection import friction_candidates as frictions
from exciter.identification.selection import prior_and_tilt_choice as prior_and_tilt
from exciter.identification.selection.cross_validated_trial import Choice, Trial
from exciter.identification.selection.cutoff_choice import Remake, choose_equation_filter, choose_route
from exciter.identification.selection.friction_choice import FrictionChoice, choose_friction
from exciter.identification.selection.remembered_equations import remembering
from exciter.parameters.terms import Coulomb, JointTerm, LoadFriction, Offset, SqrtViscous
from exciter.parameters.terms.friction import Dahl
from exciter.parameters.terms.term import per_joint
from exciter.robot.robot import Robot
from exciter.typing import Array
from exciter.workers import one_thread

FRICTION_AND_WEIGHT_ROUNDS = 2
FIRST_PRIOR_WEIGHT = 10.0  #: until it is chosen
NOISE_PRIOR_WEIGHT = 1e-3  #: with which noise is estimated: residuals of a strong prior would be its own errors
COUPLING_PRIOR_WEIGHTS = np.array([100.0, 10.0, 1.0])  #: while variants of coupled motors are compared
JointTerms = tuple[JointTerm, ...]
ESTIMATOR_CHOICES = (  #: where none is asked for; and how joints are weighted
    Choice(
        "estimator",
        "consistent",
        "least squares; every link a body that can exist, friction, rotor inertia and stiffness ≥ 0; where the motion "
        "tells little, the prior holds: inertias of the description, uniform rods where these are placeholders",
    ),
    Choice(
        "noise",
        "equations of a joint over the σ of its torque",
        "1 N·m means little at a shoulder and much at a wrist: σ is taken from the residuals of each joint",
    ),
)

FRICTION_OF_LEGS = Choice(
    "friction",
    "as usual",
    "forces of the ground are taken off, so that friction of a joint is in the equations of others, too: models of it "
    "cannot be compared joint by joint",
)

UPRIGHT_ON_FEET = Choice(
    "gravity",
    "as described",
    "the attitude of the base was measured, and forces of the ground are taken off: it is not looked whether it leans",
)


@dataclass(frozen=True, eq=False)
class Asked:
    """What the user fixed, and what the choices are made from.

    model: with the terms that were given; those of friction are chosen anew where ``friction``. band [Hz]: of the
    motion. route: whether it is to be chosen; remake: runs through a route. weight: of the prior, None: to be chosen.
    offset: whether to choose how near to zero they are; tilt: whether gravity may lean. equations: of all trials."""

    model: DynamicModel
    runs: tuple[Run, ...]
    filter: ParallelFilter | None
    band: float
    remake: Remake
    route: bool = True
    friction: bool = True
    weight: float | None = None
    offset: bool = True
    tilt: bool = True
    values: PriorValues = field(default_factory=BestKnown)
    folds: int = USUAL_FOLDS
    step: Callable[[str], None] = lambda words: None
    equations: InverseDynamic | None = None

    @cached_property
    def side(self) -> str | None:
        return common_side(self.runs)

    @cached_property
    def unseen(self) -> UnseenJoints:
        return UnseenJoints.of(self.model.robot, self.runs)

    def starting(self, kept: JointTerms) -> JointTerms:
        """What settings are compared with before friction is chosen."""
        terms = frictions.starting_terms(kept, self.side) if self.friction else kept
        return self.unseen.terms(terms, self.model.robot)

    def trial(self, terms: JointTerms, runs: tuple[Run, ...]) -> Trial:
        return self.trial_of(replace(self.model, terms=terms), runs)

    def trial_of(self, model: DynamicModel, runs: tuple[Run, ...]) -> Trial:
        return Trial(Problem(model, runs, self.equations or remembering(self.filter), self.folds), self.values)

    def weighed(self, trial: Trial) -> tuple[float, Choice]:
        """The weight of the prior."""
        if self.weight is not None:
            return self.weight, Choice("estimator", f"{self.weight:.3g}", "as given", "weight")
        return prior_and_tilt.choose_prior_weight(trial, trial.noise(NOISE_PRIOR_WEIGHT))


@dataclass(frozen=True, eq=False)
class Chosen:
    """runs: through the route, if one was chosen. weight: of the prior. offset: see ``Prior``. gravity (3,) [m/s²]."""

    runs: tuple[Run, ...]
    terms: JointTerms
    weight: float
    offset: float | None
    friction: FrictionChoice | None
    choices: tuple[Choice, ...]
    route: FilteredDifferences | None = None
    gravity: Array | None = None


def choose_settings(asked: Asked) -> Chosen:
    model, choices = asked.model, list[Choice]()
    kept = tuple(term for term in model.terms if not (asked.friction and isinstance(term, frictions.FRICTION_TERMS)))
    runs, route, gravity = asked.runs, None, None
    if asked.route:
        asked.step("choosing the cut-off")
        start = replace(model, terms=asked.starting(kept))  # one for all: its base parameters are found once
        found = choose_route(asked.remake, lambda some: asked.trial_of(start, some), asked.band, runs)
        if found is not None:
            route, runs, choice = found
            choices.append(choice)
    asked = replace(asked, equations=remembering(asked.filter))
    if asked.friction:
        asked.step("choosing friction")
        kept, coupled = _coupled_motors(asked, kept, runs)
        choices += coupled
    made = _terms_and_prior(asked, kept, runs)
    leans = list[Choice]()
    if asked.tilt and np.any(model.robot.gravity):
        asked.step("looking whether the base leans")
        terms = frictions.freest_terms(made.terms) if asked.friction else made.terms
        trial = replace(asked.trial(terms, runs), offset=made.offset)
        gravity, choice = prior_and_tilt.choose_tilt(trial, made.weight, trial.noise(NOISE_PRIOR_WEIGHT))
        leans.append(choice)
        if gravity is not None:  # what was chosen for a robot that stands upright may have stood for the lean
            leaning = replace(asked, model=replace(model, robot=model.robot.with_gravity(gravity)))
            made = _terms_and_prior(leaning, kept, runs)
    return replace(made, route=route, gravity=gravity, choices=(*choices, *made.choices, *leans))


def _coupled_motors(asked: Asked, kept: JointTerms, runs: tuple[Run, ...]) -> tuple[JointTerms, list[Choice]]:
    variants = frictions.coupled_variants(kept, asked.side)
    if len(variants) == 1:
        return kept, []
    trials = [asked.trial(asked.starting(terms), runs) for _, terms in variants]
    noise = trials[-1].noise(NOISE_PRIOR_WEIGHT)
    scores = [trial.best_score(COUPLING_PRIOR_WEIGHTS, noise) for trial in trials]
    name, terms = variants[simplest_within_error(scores)]
    listed = ", ".join(f"{score.mean:.4g} with {one}" for (one, _), score in zip(variants, scores, strict=True))
    return terms, [Choice("terms", name, f"error {listed}", "coupled motors")]


def _terms_and_prior(asked: Asked, kept: JointTerms, runs: tuple[Run, ...]) -> Chosen:
    """Friction and weight of the prior in turn, until both are of one model; then offsets."""
    trial = asked.trial(asked.starting(kept), runs)
    weight, why = asked.weighed(trial)
    friction: FrictionChoice | None = None
    choices = list[Choice]()
    if asked.friction:
        if not 0.0 < weight < prior_and_tilt.PRIOR_WEIGHTS[-1]:  # faint: the prior is far off
            weight = asked.weight or FIRST_PRIOR_WEIGHT
        robot = asked.model.robot
        barred, ripple = frictions.barred_terms(robot, runs), not any(joint.is_prismatic for joint in robot.joints)
        for _ in range(FRICTION_AND_WEIGHT_ROUNDS):
            load = None if asked.side == LINK_SIDE else _gear_load(trial, weight)
            candidates = frictions.friction_candidates(load, ripple=ripple)
            problem = asked.trial(kept, runs).problem
            fixed = frictions.fixed_friction(asked.unseen)
            friction = choose_friction(problem, candidates, (trial.reference, weight), barred, fixed)
            trial = asked.trial(friction.terms, runs)
            weight, why = asked.weighed(trial)
        assert friction is not None
        listed = "; ".join(f"{one.joint} {one.chosen.candidate.name}" for one in friction.per_joint)
        reason = "for every joint the simplest model that predicts held-out blocks of time as well as the best"
        choices.append(Choice("friction", listed, f"{reason}, with the prior in place"))
    choices.append(why)
    offset, terms = None, trial.problem.model.terms
    if asked.offset and any(isinstance(term, Offset) for term in terms):
        offset, why = prior_and_tilt.choose_offset(trial, weight, trial.noise(NOISE_PRIOR_WEIGHT))
        choices.append(why)
    return Chosen(runs=runs, terms=terms, weight=weight, offset=offset, friction=friction, choices=tuple(choices))


def _gear_load(trial: Trial, weight: float) -> LoadFriction:
    """Of χ (p,) of all equations and the prior."""
    equations = StandardEquations.of(trial.problem)
    objective = PenalisedObjective(equations, trial.reference, PseudoInertia(), weight)
    chi, _ = objective.minimum(equations.sides(equations.weights(trial.noise(NOISE_PRIOR_WEIGHT))))
    return frictions.gear_load(equations.model, chi)


@dataclass(frozen=True, eq=False)
class Automatic:
    """config: with everything chosen in it. robot: as it stands. runs: identified from, through the route chosen."""

    config: IdentifyConfig
    robot: Robot
    runs: tuple[Run, ...]
    chosen: Chosen
    choices: tuple[Choice, ...]


def choose_automatically(
    config: IdentifyConfig,
    robot: Robot,
    runs: tuple[Run, ...],
    remake: Remake,
    step: Callable[[str], None] = lambda words: None,
) -> Automatic:
    """remake: the runs through another route. Keys that are given stay as they are."""
    settings, parts, choices = config.settings, bounded_parts(runs), list[Choice]()
    both = None if settings.filter is None else settings.filter.parallel
    if settings.filter is None:
        both, choice = choose_equation_filter(runs)
        choices.append(choice)
    prior = prior_of(settings.estimator or PhysicallyConsistent())
    known, on_feet = prior or Prior(), bool(stances(parts))
    if on_feet and settings.friction != FRICTION_AS_GIVEN:
        choices.append(FRICTION_OF_LEGS)
    tilt = may_lean(config.robot.gravity, runs)
    if on_feet and tilt:
        choices.append(UPRIGHT_ON_FEET)
    with one_thread():
        chosen = choose_settings(
            Asked(
                model=config.model(robot),
                runs=runs,
                filter=both,
                band=motion_band(parts),
                remake=remake,
                route=settings.route is None and all(part.series is None for part in parts),
                friction=settings.friction != FRICTION_AS_GIVEN and not on_feet,
                weight=None if isinstance(known.weight, str) else known.weight,
                offset=prior is not None and prior.offset is None,
                tilt=tilt and not on_feet,
                values=known.values,
                folds=config.folds,
                step=step,
            )
        )
    leaning = robot if chosen.gravity is None else robot.with_gravity(chosen.gravity)
    settled = _settled(config, both, chosen)
    if settings.dead_zone is None:
        settled = settled.with_settings(dead_zone=slowest_seen(settled, leaning, chosen.runs))
    choices += [one for one in chosen.choices if prior is not None or one.part != "weight"]
    if settings.dead_zone is None:
        choices.append(_rest_choice(settled, leaning, chosen.runs))
    if settings.estimator is None:
        choices += ESTIMATOR_CHOICES[: 1 if settings.noise is not None else None]
    return Automatic(config=settled, robot=leaning, runs=chosen.runs, chosen=chosen, choices=tuple(choices))


def without_idle_friction(problem: Problem, standard: Array) -> tuple[JointTerms, tuple[str, ...]]:
    """Terms without friction whose parameter χ ended at zero, and the names of what is left out: √ and load of a joint;
    and dry friction of size zero does not pre-slide, so that no state is carried for nothing."""
    equations, model = StandardEquations.of(problem), problem.model
    zero = np.abs(equations.split(standard)[1]) < ACTIVE_BOUND_FRACTION * equations.term_scale
    terms, gone, at = list[JointTerm](), list[str](), 0
    for term, bound in zip(model.terms, model.bound, strict=True):
        idle, at = zero[at : at + len(bound.names)], at + len(bound.names)
        slides = isinstance(term, Coulomb) and isinstance(term.shape, Dahl)
        if not (idle.any() and (slides or isinstance(term, SqrtViscous | LoadFriction))):
            terms.append(term)
            continue
        joints = [model.robot.joint_names[j] for j, _ in bound.rows]
        moved = [joint for joint, is_idle in zip(joints, idle, strict=True) if not is_idle]
        terms += [frictions.on_joints(term, moved)] if moved else []
        if slides:
            terms.append(Coulomb(joints=tuple(joint for joint in joints if joint not in moved)))
        else:
            gone += [name for name, is_idle in zip(bound.names, idle, strict=True) if is_idle]
    return tuple(terms), tuple(gone)


def slowest_seen(config: IdentifyConfig, robot: Robot, runs: tuple[Run, ...]) -> tuple[float, ...]:
    """[rad/s, m/s] of each joint: below it the direction of motion is not known, for within a period of the cut-off
    that positions went through the joint moves by less than an encoder shows; at most what is usual."""
    finest, band = frictions.position_resolution(runs), min(part.position_bandwidth for part in bounded_parts(runs))
    usual = per_joint(config.dead_zone(runs), robot.joint_names, "dead_zone")[:, 0]
    return tuple(np.minimum(usual, 2.0 * np.pi * band * finest).tolist())


def prior_of(estimator: Estimator) -> Prior | None:
    """The prior of an estimator that has one: its weight, and how near to zero offsets are, can be chosen."""
    if isinstance(estimator, PhysicallyConsistent):
        return estimator.prior
    return estimator if isinstance(estimator, Prior) else None


def _rest_choice(settled: IdentifyConfig, robot: Robot, runs: tuple[Run, ...]) -> Choice:
    """Which joints have no equation while they rest."""
    zone = settled.judge(runs).zone(settled.model(robot))
    slow = ", ".join(f"{name} {z:.2g}" for name, z in zip(robot.joint_names, zone, strict=True) if z)
    if not slow:
        return Choice("dead_zone", "none", "pre-sliding friction holds at rest too: no equation is left out")
    reason = "slower, an encoder does not show which way a joint moves, and a sign cannot say what friction holds it"
    return Choice("dead_zone", f"{slow} rad/s (m/s where joints slide)", reason)


def _settled(config: IdentifyConfig, both: ParallelFilter | None, chosen: Chosen) -> IdentifyConfig:
    settings, estimator = config.settings, config.settings.estimator or PhysicallyConsistent()
    if (prior := prior_of(estimator)) is not None:
        weight = chosen.weight if prior.weight in (None, AUTO) else prior.weight
        offset = prior.offset if chosen.offset is None else chosen.offset
        pulled = replace(prior, weight=weight, offset=offset)
        estimator = replace(estimator, prior=pulled) if isinstance(estimator, PhysicallyConsistent) else pulled
    options, gravity = config.robot, chosen.gravity
    if gravity is not None:
        options = replace(options, gravity=tuple(gravity.tolist()))
    return replace(config, robot=options, terms=chosen.terms).with_settings(
        automatic=False,
        filter=EquationFilter.of(both),
        route=settings.route if chosen.route is None else chosen.route,
        estimator=estimator,
        folds=None,  # nothing is left to be chosen by them
        friction=FRICTION_AS_GIVEN if settings.friction == CHOOSE_FRICTION else settings.friction,  # it was chosen
    )
