"""``formulation:`` by word: which equations a motion and its torque give.

formulation: dynamic                       # inverse dynamic model, both sides through filter:
formulation: filtered                      # without accelerations; {filtered: {a: 20}} is a²/(s + a)² [rad/s]
formulation: {energy: {interval: 0.05}}    # [s]
formulation: power
formulation: base-wrench                   # what a force plate under the robot measures
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exciter.excitation.config.section import Section
from exciter.experiment.signals.butterworth import Butterworth
from exciter.experiment.signals.parallel_filter import ParallelFilter
from exciter.experiment.signals.second_order import SecondOrder
from exciter.identification.config.words import settings_section, word_with_settings
from exciter.identification.formulations.base_wrench import BaseWrench
from exciter.identification.formulations.energy import Energy
from exciter.identification.formulations.filtered_dynamic import FilteredDynamic
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.formulations.inverse_dynamic import InverseDynamic
from exciter.identification.formulations.power import Power

Filter = ParallelFilter | None
GENTLE = 0.1  #: cut-off over the rate, of formulations that need a filter, where the data ask for none


def _gentle(rate: float) -> ParallelFilter:
    return ParallelFilter(Butterworth(GENTLE * rate))


def _dynamic(section: Section, both: Filter, rate: float) -> Formulation:
    return InverseDynamic(both)  # its dead zone: IdentifyConfig.judge


def _filtered(section: Section, both: Filter, rate: float) -> Formulation:
    if "a" in section:
        return FilteredDynamic(ParallelFilter(SecondOrder.of(section.number("a", 0.0, above=0.0))))
    return FilteredDynamic(both or _gentle(rate))


def _energy(section: Section, both: Filter, rate: float) -> Formulation:
    step = section.number("step", 0.0, above=0.0) if "step" in section else None
    return Energy(section.number("interval", Energy.interval, above=0.0), step, section.flag("even", Energy.even))


def _power(section: Section, both: Filter, rate: float) -> Formulation:
    return Power(both or _gentle(rate), section.flag("even", Power.even))


def _base_wrench(section: Section, both: Filter, rate: float) -> Formulation:
    return BaseWrench(both)


WORDS: dict[str, tuple[tuple[str, ...], Callable[[Section, Filter, float], Formulation]]] = {
    "dynamic": ((), _dynamic),
    "filtered": (("a",), _filtered),
    "energy": (("interval", "step", "even"), _energy),
    "power": (("even",), _power),
    "base-wrench": ((), _base_wrench),
}


def formulation_of(given: Any, where: str, both: Filter, rate: float) -> Formulation:
    """The formulation of a word; both: the filter for both sides, where the formulation has one; rate [Hz] of the
    samples."""
    word, settings = word_with_settings("dynamic" if given is None else given, where, tuple(WORDS))
    keys, make = WORDS[word]
    return make(settings_section(settings, where, word, keys), both, rate)
