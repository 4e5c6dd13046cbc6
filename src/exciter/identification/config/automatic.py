"""``automatic:`` of the section identify: settings that were left open are chosen from the logs (see ``recipe``).

What comes out is a configuration in which nothing is open any more, so that it asks for the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from exciter.excitation.config.section import Section
from exciter.excitation.config.terms import term_words
from exciter.experiment.signals.butterworth import Butterworth
from exciter.experiment.signals.filtered_differences import FilteredDifferences
from exciter.experiment.signals.parallel_filter import ParallelFilter
from exciter.identification.automatic.choice import Choice
from exciter.identification.automatic.recipe import Asked, Chosen, choose_settings
from exciter.identification.automatic.route import Remake
from exciter.identification.config.estimators import WORDS
from exciter.identification.config.identify_config import IdentifyConfig
from exciter.identification.config.routes import HIGHEST, LOWEST, WIDE, filter_of, filter_words, motion_band
from exciter.identification.config.words import word_with_settings
from exciter.identification.estimators.consistent import PhysicallyConsistent
from exciter.identification.estimators.prior import Prior
from exciter.identification.run import Run
from exciter.robot.robot import Robot

PULLED = ("consistent", "prior")  #: estimators with a prior, whose weight is chosen


@dataclass(frozen=True, eq=False)
class Automatic:
    """config: with everything chosen in it. runs: those identified from, through the route that was chosen."""

    config: IdentifyConfig
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
    weighted = "weight" in _estimator(config)[1]
    asked = Asked(
        config.model(robot),
        runs,
        both,
        max(motion_band(part) for run in runs for part in run.parts),
        remake,
        route=config.route is None and all(part.series is None for run in runs for part in run.parts),
        friction=config.section.get("friction") != "as-given",
        weight=prior.weight if weighted else None,
        values=prior.values,
        folds=config.folds,
        step=step,
    )
    chosen = choose_settings(asked)
    last = _estimator_choice(config)
    return Automatic(_settled(config, both, chosen), chosen.runs, chosen, (*first, *chosen.choices, *last))


def equation_filter(config: IdentifyConfig, runs: tuple[Run, ...]) -> tuple[ParallelFilter | None, tuple[Choice, ...]]:
    """Both sides of the equations through ten times the band of the motion: beyond it there is noise to be had."""
    parts = [part for run in runs for part in run.parts]
    if "filter" in config.section:
        return filter_of(config.section, parts), ()
    rate, band = min(part.rate for part in parts), max(motion_band(part) for part in parts)
    limit = min(part.torque_bandwidth for part in parts)
    low_pass = Butterworth(float(f"{min(max(WIDE * band, LOWEST), HIGHEST * rate):.3g}"))
    reason = f"{WIDE:g} times the band of the motion, which ends at {band:.2g} Hz, and {LOWEST:g} Hz at least"
    if low_pass.stop(rate) > limit:
        low_pass = low_pass.stopped_at(limit, rate)
        reason = f"the torque has nothing above {limit:.3g} Hz"
    both = ParallelFilter(low_pass)
    factor = both.at(rate, limit)[1]
    reason += f"; one of {factor} rows is kept: no more of them are independent"
    return both, (Choice("filter", f"both sides of the equations through {low_pass.cutoff:.3g} Hz", reason),)


def _estimator(config: IdentifyConfig) -> tuple[str, dict[str, Any]]:
    given = config.section.get("estimator")
    if given is None:
        return "consistent", {}
    word, settings = word_with_settings(given, config.section.at("estimator"), tuple(WORDS))
    return word, dict(settings or {})


def _estimator_choice(config: IdentifyConfig) -> tuple[Choice, ...]:
    if "estimator" in config.section:
        return ()
    reason = (
        "every link a body that can exist, friction, rotor inertia and stiffness ≥ 0; joints weighted by their noise"
    )
    return (Choice("estimator", "consistent", reason),)


def _settled(config: IdentifyConfig, both: ParallelFilter | None, chosen: Chosen) -> IdentifyConfig:
    data = {**config.section.data, "automatic": False, "filter": filter_words(both)}
    if isinstance(chosen.route, FilteredDifferences):
        route = chosen.route
        data["route"] = {"method": "differences", "cutoff": route.cutoff}
        if route.use_measured_velocity:
            data["route"]["measured_velocity"] = True
    word, settings = _estimator(config)
    if word in PULLED and "weight" not in settings:
        settings["weight"] = chosen.weight
    data["estimator"] = {word: settings} if settings else word
    if data.get("friction") == "choose":
        data["friction"] = "as-given"  # it was
    return replace(config, section=Section(data, config.section.where), terms=term_words(chosen.terms) or "none")
