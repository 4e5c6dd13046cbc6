"""``automatic:`` of the section identify: settings that were left open are chosen from the logs (see ``recipe``).

What comes out is a configuration in which nothing is open any more, so that it asks for the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from exciter.experiment.signals.low_pass import Butterworth
from exciter.experiment.signals.processed import motion_band
from exciter.experiment.signals.rows import ParallelFilter
from exciter.identification.config.identify_config import AS_GIVEN, CHOOSE, IdentifyConfig
from exciter.identification.config.sections import LOWEST, WIDE, EquationFilter, stopped, wide
from exciter.identification.estimators.consistent import PhysicallyConsistent
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.prior import AUTO, Prior
from exciter.identification.information.compressed import one_thread
from exciter.identification.runs.run import Run
from exciter.identification.selection.recipe import Asked, Chosen, choose_settings
from exciter.identification.selection.route import Remake
from exciter.identification.selection.trial import Choice
from exciter.robot.robot import Robot


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
    both, first = equation_filter(config, runs)
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


def equation_filter(config: IdentifyConfig, runs: tuple[Run, ...]) -> tuple[ParallelFilter | None, tuple[Choice, ...]]:
    """Both sides of the equations through ten times the band of the motion: beyond it there is noise to be had."""
    parts = [part for run in runs for part in run.bounded.parts]
    if (given := config.settings.filter) is not None:
        return given.parallel, ()
    rate, band = min(part.rate for part in parts), motion_band(parts)
    limit = min(part.torque_bandwidth for part in parts)
    wanted = Butterworth(float(f"{wide(band, rate):.3g}"))
    low_pass = stopped(wanted, rate, limit)
    reason = f"{WIDE:g} times the highest frequency of the motion ({band:.2g} Hz), at least {LOWEST:g} Hz"
    if low_pass != wanted:
        reason = f"the torque has nothing above {limit:.3g} Hz"
    both = ParallelFilter(low_pass)
    factor = both.at(rate, limit)[1]
    reason += f"; one sample of {factor} is kept: once filtered, those between tell nothing new"
    return both, (Choice("filter", f"both sides of the equations through {low_pass.cutoff:.3g} Hz", reason),)


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
