"""``automatic:`` of the section identify: settings that were left open are chosen from the logs (see ``recipe``).

What comes out is a configuration in which nothing is open any more, so that it asks for the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from exciter.excitation.config.section import Section
from exciter.experiment.signals.butterworth import Butterworth
from exciter.experiment.signals.motion_band import motion_band
from exciter.experiment.signals.parallel_filter import ParallelFilter
from exciter.identification.automatic.choice import Choice
from exciter.identification.automatic.recipe import Asked, Chosen, choose_settings
from exciter.identification.automatic.route import Remake
from exciter.identification.config.estimators import WORDS
from exciter.identification.config.identify_config import IdentifyConfig
from exciter.identification.config.routes import LOWEST, WIDE, filter_of, filter_words, stopped, wide
from exciter.identification.config.words import word_with_settings
from exciter.identification.estimators.consistent import PhysicallyConsistent
from exciter.identification.estimators.prior import Prior
from exciter.identification.one_thread import one_thread
from exciter.identification.run import Run
from exciter.robot.robot import Robot
from exciter.settings import written

PULLED = ("consistent", "prior")  #: estimators with a prior, whose weight is chosen


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
    known = config.estimator(robot, runs=runs) if "estimator" in config.section else None
    prior = known.prior if isinstance(known, PhysicallyConsistent) else known if isinstance(known, Prior) else Prior()
    word, given = _estimator(config)
    asked = Asked(
        config.model(robot),
        runs,
        both,
        motion_band(part for run in runs for part in run.bounded.parts),
        remake,
        route=config.route is None and all(part.series is None for run in runs for part in run.bounded.parts),
        friction=config.section.get("friction") != "as-given",
        weight=prior.weight if "weight" in given else None,
        offset=word in PULLED and "offset" not in given,
        tilt=config.robot.gravity is None and all(_gravity_is_open(run) for run in runs),
        values=prior.values,
        folds=config.folds,
        step=step,
    )
    with one_thread():
        chosen = choose_settings(asked)
    stands = robot if chosen.gravity is None else robot.with_gravity(chosen.gravity)
    settled = _settled(config, both, chosen)
    last = (*_rest_choice(config, settled, stands, chosen.runs), *_estimator_choices(config))
    found = [one for one in chosen.choices if word in PULLED or one.setting != "estimator: weight"]
    return Automatic(settled, stands, chosen.runs, chosen, (*first, *found, *last))


def _gravity_is_open(run: Run) -> bool:
    return run.recording is None or run.recording.about.gravity is None


def equation_filter(config: IdentifyConfig, runs: tuple[Run, ...]) -> tuple[ParallelFilter | None, tuple[Choice, ...]]:
    """Both sides of the equations through ten times the band of the motion: beyond it there is noise to be had."""
    parts = [part for run in runs for part in run.bounded.parts]
    if "filter" in config.section:
        return filter_of(config.section, parts), ()
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


def _estimator(config: IdentifyConfig) -> tuple[str, dict[str, Any]]:
    given = config.section.get("estimator")
    if given is None:
        return "consistent", {}
    word, settings = word_with_settings(given, config.section.at("estimator"), tuple(WORDS))
    return word, dict(settings or {})


def _rest_choice(
    config: IdentifyConfig, settled: IdentifyConfig, robot: Robot, runs: tuple[Run, ...]
) -> tuple[Choice, ...]:
    """Which joints have no equation while they rest."""
    if "dead_zone" in config.section:
        return ()
    zone = settled.judge(runs).zone(settled.model(robot))
    slow = ", ".join(f"{name} {z:.2g}" for name, z in zip(robot.joint_names, zone, strict=True) if z)
    if not slow:
        return (Choice("dead_zone", "none", "pre-sliding friction holds at rest too: no equation is left out"),)
    reason = "a hundredth of the fastest: a joint that is slower rests, and a sign cannot say what friction holds it"
    return (Choice("dead_zone", f"{slow} rad/s (m/s where joints slide)", reason),)


def _estimator_choices(config: IdentifyConfig) -> tuple[Choice, ...]:
    """The estimator, and how joints are weighted."""
    if "estimator" in config.section:
        return ()
    reason = (
        "least squares; every link a body that can exist, friction, rotor inertia and "
        "stiffness ≥ 0; where the motion tells little, the prior holds: inertias of the description, uniform rods "
        "where these are placeholders"
    )
    weighed = "1 N·m means little at a shoulder and much at a wrist: σ is taken from the residuals of each joint"
    found = (Choice("estimator", "consistent", reason),)
    if "noise" in config.section:
        return found
    return (*found, Choice("noise", "equations of a joint over the σ of its torque", weighed))


def _settled(config: IdentifyConfig, both: ParallelFilter | None, chosen: Chosen) -> IdentifyConfig:
    data = {**config.section.data, "automatic": False, "filter": filter_words(both)}
    if (route := chosen.route) is not None:
        data["route"] = {"method": "differences", "cutoff": route.cutoff, "bands": route.bands}
        if route.use_measured_velocity:
            data["route"]["measured_velocity"] = True
    word, settings = _estimator(config)
    if word in PULLED and settings.get("weight") in (None, "auto"):
        settings["weight"] = chosen.weight
    if chosen.offset is not None:
        settings["offset"] = chosen.offset
    data["estimator"] = {word: settings} if settings else word
    if data.get("friction") == "choose":
        data["friction"] = "as-given"  # it was
    options, gravity = config.robot, chosen.gravity
    if gravity is not None:
        options = replace(options, gravity=(float(gravity[0]), float(gravity[1]), float(gravity[2])))
    section = Section(data, config.section.where)
    return replace(config, robot=options, section=section, terms=written(chosen.terms) or "none")
