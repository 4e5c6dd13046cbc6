"""Settings for a first run, one after the other, from the training runs alone.

1. The filter of the equations, from the band of the motion.
2. The route from positions to accelerations, by cross-validation.
3. Coupled motors: pre-sliding and √ friction, where a coupling was named.
4. The friction of each joint and the weight of the prior, by cross-validation, twice: what one is depends on the other,
   and the load that friction grows with on both.
5. How near to zero offsets are, by cross-validation.
6. Whether the base leans, by cross-validation.

Cross-validation is over stretches of time, of the period where a motion repeats (``Run.fold``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.experiment.recording.about import LINK
from exciter.experiment.signals.local_routes import FilteredDifferences
from exciter.experiment.signals.processed import motion_band
from exciter.experiment.signals.rows import ParallelFilter
from exciter.identification.config.identify_config import IdentifyConfig
from exciter.identification.config.identify_settings import AS_GIVEN, CHOOSE, EquationFilter
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.physical import AUTO, PhysicallyConsistent, Prior
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.compressed import one_thread
from exciter.identification.information.cross_validation import simplest_within_error
from exciter.identification.information.problem import FOLDS, Problem
from exciter.identification.physical.penalised_fit import PenalisedObjective
from exciter.identification.physical.prior_metric import PseudoInertia
from exciter.identification.physical.prior_values import BestKnown, PriorValues
from exciter.identification.physical.standard_equations import StandardEquations
from exciter.identification.runs.run import Run, common_side
from exciter.identification.selection.cutoff_choice import Remake, choose_equation_filter, choose_route
from exciter.identification.selection.friction_candidates import (
    FRICTION_TERMS,
    barred_terms,
    coupled_variants,
    friction_candidates,
    gear_load,
    starting_terms,
)
from exciter.identification.selection.friction_choice import FrictionChoice, choose_friction
from exciter.identification.selection.prior_and_tilt_choice import WEIGHTS, choose_offset, choose_tilt, choose_weight
from exciter.identification.selection.trial import Choice, Trial
from exciter.parameters.terms import JointTerm, Offset
from exciter.robot.robot import Robot
from exciter.typing import Array

ROUNDS = 2  #: of friction and the weight of the prior
FIRST_WEIGHT = 10.0  #: of the prior, until it is chosen
WEAK = 1e-3  #: weight with which noise is estimated: residuals of a strong prior would be its own errors
TRIED = np.array([100.0, 10.0, 1.0])  # weights of the prior, while variants are compared


@dataclass(frozen=True, eq=False)
class Asked:
    """What the user fixed, and what the choices are made from.

    model: with the terms that were given; those of friction are chosen anew where ``friction``. route: whether it is to
    be chosen; remake: runs through a route. weight: of the prior, None: to be chosen. offset: whether to choose how
    near to zero they are; tilt: whether gravity may lean.
    """

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
    folds: int = FOLDS
    step: Callable[[str], None] = lambda words: None


@dataclass(frozen=True, eq=False)
class Chosen:
    """runs: through the route that was chosen, if one was. terms: of the model. weight: of the prior. offset: see
    ``Prior``. gravity (3,) [m/s²]: where it leans."""

    runs: tuple[Run, ...]
    route: FilteredDifferences | None
    terms: tuple[JointTerm, ...]
    weight: float
    choices: tuple[Choice, ...]
    friction: FrictionChoice | None
    offset: float | None = None
    gravity: Array | None = None


def choose_settings(asked: Asked) -> Chosen:
    side = common_side(asked.runs)
    model, choices = asked.model, []
    kept = tuple(term for term in model.terms if not (asked.friction and isinstance(term, FRICTION_TERMS)))
    start = starting_terms(kept, side) if asked.friction else kept
    runs, route = asked.runs, None
    if asked.route:
        asked.step("choosing the cut-off")
        found = choose_route(
            asked.remake, lambda some: _trial(asked, replace(model, terms=start), some), asked.band, runs
        )
        if found is not None:
            runs, route = found.runs, found.route
            choices.append(found.choice)
    if asked.friction:
        asked.step("choosing friction")
        kept, coupled = _coupled(asked, kept, side, runs)
        choices += coupled
    found_terms = _terms(asked, kept, side, runs)
    gravity: Array | None = None
    leans: tuple[Choice, ...] = ()
    if asked.tilt and np.any(model.robot.gravity):
        asked.step("looking whether the base leans")
        trial = replace(found_terms.trial, offset=found_terms.offset)
        gravity, choice = choose_tilt(trial, found_terms.weight, trial.noise(WEAK))
        leans = (choice,)
        if gravity is not None:  # what was chosen for a robot that stands upright may have stood for the lean
            leaning = replace(asked, model=replace(model, robot=model.robot.with_gravity(gravity)))
            found_terms = _terms(leaning, kept, side, runs)
    every = (*choices, *found_terms.choices, *leans)
    terms = found_terms.trial.problem.model.terms
    return Chosen(runs, route, terms, found_terms.weight, every, found_terms.friction, found_terms.offset, gravity)


@dataclass(frozen=True, eq=False)
class _Terms:
    """Friction, weight of the prior and size of offsets, which belong together; trial: with all but the offset."""

    trial: Trial
    weight: float
    offset: float | None
    friction: FrictionChoice | None
    choices: tuple[Choice, ...]


def _terms(asked: Asked, kept: tuple[JointTerm, ...], side: str | None, runs: tuple[Run, ...]) -> _Terms:
    friction: FrictionChoice | None = None
    if asked.friction:
        trial, weight, friction, choices = _friction_and_weight(asked, kept, side, runs)
    else:
        trial = _trial(asked, replace(asked.model, terms=kept), runs)
        weight, choice = _weight(asked, trial)
        choices = [choice]
    offset = None
    if asked.offset and any(isinstance(term, Offset) for term in trial.problem.model.terms):
        offset, choice = choose_offset(trial, weight, trial.noise(WEAK))
        choices.append(choice)
    return _Terms(trial, weight, offset, friction, tuple(choices))


def _trial(asked: Asked, model: DynamicModel, runs: tuple[Run, ...]) -> Trial:
    return Trial(Problem(model, runs, InverseDynamic(asked.filter), asked.folds), asked.values)


def _weight(asked: Asked, trial: Trial) -> tuple[float, Choice]:
    if asked.weight is not None:
        return asked.weight, Choice("estimator", f"{asked.weight:.3g}", "as given", "weight")
    return choose_weight(trial, trial.noise(WEAK))


def _coupled(
    asked: Asked, kept: tuple[JointTerm, ...], side: str | None, runs: tuple[Run, ...]
) -> tuple[tuple[JointTerm, ...], list[Choice]]:
    variants = coupled_variants(kept, side)
    if len(variants) == 1:
        return kept, []
    trials = [_trial(asked, replace(asked.model, terms=starting_terms(terms, side)), runs) for _, terms in variants]
    noise = trials[-1].noise(WEAK)
    scores = [min(trial.scores(TRIED, noise), key=lambda score: score.mean) for trial in trials]
    chosen = simplest_within_error(scores)
    listed = ", ".join(f"{score.mean:.4g} with {name}" for (name, _), score in zip(variants, scores, strict=True))
    choice = Choice("terms", variants[chosen][0], f"error {listed}", "coupled motors")
    return variants[chosen][1], [choice]


def _friction_and_weight(
    asked: Asked, kept: tuple[JointTerm, ...], side: str | None, runs: tuple[Run, ...]
) -> tuple[Trial, float, FrictionChoice, list[Choice]]:
    """Alternately, until both are of the same model."""
    model = replace(asked.model, terms=starting_terms(kept, side))
    trial = _trial(asked, model, runs)
    first, _ = _weight(asked, trial)
    weight = first if 0.0 < first < WEIGHTS[-1] else asked.weight or FIRST_WEIGHT  # faint: the prior is far off
    barred = barred_terms(model.robot, runs)
    for _ in range(ROUNDS):
        load = None if side == LINK else gear_load(trial.problem.model, _full_set(trial, weight))
        candidates = friction_candidates(load, ripple=not any(j.is_prismatic for j in model.robot.joints))
        problem = replace(trial.problem, model=replace(model, terms=kept))
        friction = choose_friction(problem, candidates, (trial.reference, weight), barred)
        trial = _trial(asked, replace(model, terms=friction.terms), runs)
        weight, why = _weight(asked, trial)
    listed = "; ".join(f"{one.joint} {one.chosen.candidate.name}" for one in friction.per_joint)
    reason = (
        "for every joint the simplest model that predicts stretches left out as well as the best, with the prior in "
        "place"
    )
    return trial, weight, friction, [Choice("friction", listed, reason), why]


def _full_set(trial: Trial, weight: float) -> Array:
    """χ (p,) of all equations and the prior."""
    equations = StandardEquations.of(trial.problem)
    objective = PenalisedObjective(equations, trial.reference, PseudoInertia(), weight)
    return objective.minimum(equations.sides(equations.weights(trial.noise(WEAK))))[0]


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
    given, first = config.settings.filter, list[Choice]()
    if given is None:
        both: ParallelFilter | None
        both, choice = choose_equation_filter(runs)
        first = [choice]
    else:
        both = given.parallel
    prior = prior_of(config.settings.estimator or PhysicallyConsistent())
    known = prior or Prior()
    asked = Asked(
        config.model(robot),
        runs,
        both,
        motion_band(part for run in runs for part in run.bounded.parts),
        remake,
        route=config.route is None and all(part.series is None for run in runs for part in run.bounded.parts),
        friction=config.settings.friction != AS_GIVEN,
        weight=None if isinstance(known.weight, str) else known.weight,
        offset=prior is not None and prior.offset is None,
        tilt=config.robot.gravity is None and all(_gravity_is_open(run) for run in runs),
        values=known.values,
        folds=config.folds,
        step=step,
    )
    with one_thread():
        chosen = choose_settings(asked)
    stands = robot if chosen.gravity is None else robot.with_gravity(chosen.gravity)
    settled = _settled(config, both, chosen)
    last = (*_rest_choice(config, settled, stands, chosen.runs), *_estimator_choices(config))
    found = [one for one in chosen.choices if prior is not None or one.part != "weight"]
    return Automatic(settled, stands, chosen.runs, chosen, (*first, *found, *last))


def _gravity_is_open(run: Run) -> bool:
    return run.recording is None or run.recording.about.gravity is None


def prior_of(estimator: Estimator) -> Prior | None:
    """The prior of an estimator that has one: its weight, and how near to zero offsets are, can be chosen."""
    if isinstance(estimator, PhysicallyConsistent):
        return estimator.prior
    return estimator if isinstance(estimator, Prior) else None


def _rest_choice(
    config: IdentifyConfig, settled: IdentifyConfig, robot: Robot, runs: tuple[Run, ...]
) -> tuple[Choice, ...]:
    """Which joints have no equation while they rest."""
    if config.settings.dead_zone is not None:
        return ()
    zone = settled.judge(runs).zone(settled.model(robot))
    slow = ", ".join(f"{name} {z:.2g}" for name, z in zip(robot.joint_names, zone, strict=True) if z)
    if not slow:
        return (Choice("dead_zone", "none", "pre-sliding friction holds at rest too: no equation is left out"),)
    reason = "a hundredth of the fastest: a joint that is slower rests, and a sign cannot say what friction holds it"
    return (Choice("dead_zone", f"{slow} rad/s (m/s where joints slide)", reason),)


def _estimator_choices(config: IdentifyConfig) -> tuple[Choice, ...]:
    """The estimator, and how joints are weighted."""
    if config.settings.estimator is not None:
        return ()
    reason = (
        "least squares; every link a body that can exist, friction, rotor inertia and "
        "stiffness ≥ 0; where the motion tells little, the prior holds: inertias of the description, uniform rods "
        "where these are placeholders"
    )
    weighed = "1 N·m means little at a shoulder and much at a wrist: σ is taken from the residuals of each joint"
    found = (Choice("estimator", "consistent", reason),)
    if config.settings.noise is not None:
        return found
    return (*found, Choice("noise", "equations of a joint over the σ of its torque", weighed))


def _settled(config: IdentifyConfig, both: ParallelFilter | None, chosen: Chosen) -> IdentifyConfig:
    settings, estimator = config.settings, config.settings.estimator or PhysicallyConsistent()
    if (prior := prior_of(estimator)) is not None:
        weight = chosen.weight if prior.weight in (None, AUTO) else prior.weight
        offset = prior.offset if chosen.offset is None else chosen.offset
        pulled = replace(prior, weight=weight, offset=offset)
        estimator = replace(estimator, prior=pulled) if isinstance(estimator, PhysicallyConsistent) else pulled
    options, gravity = config.robot, chosen.gravity
    if gravity is not None:
        options = replace(options, gravity=(float(gravity[0]), float(gravity[1]), float(gravity[2])))
    return replace(config, robot=options, terms=chosen.terms).with_settings(
        automatic=False,
        filter=EquationFilter.of(both),
        route=settings.route if chosen.route is None else chosen.route,
        estimator=estimator,
        friction=AS_GIVEN if settings.friction == CHOOSE else settings.friction,  # it was chosen
    )
