"""``formulation:`` by word: which equations a motion and its torque give.

formulation: dynamic                       # inverse dynamic model, both sides through filter:
formulation: filtered                      # without accelerations; {filtered: {a: 20}} is a²/(s + a)² [rad/s]
formulation: {energy: {interval: 0.05}}    # [s]
formulation: power
formulation: base-wrench                   # what a force plate under the robot measures
formulation: base-link                     # the six equations of a free base, without joint torques
formulation: gain-free                     # currents, by parameters of each joint over its unknown drive gain"""

from __future__ import annotations

from dataclasses import replace

from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.identification.formulations.base_link import BaseLink
from exciter.identification.formulations.dynamic import BaseWrench, FilteredDynamic, InverseDynamic
from exciter.identification.formulations.energy import Energy, Power
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.formulations.gain_free import GainFree
from exciter.settings import Registry

FORMULATIONS = Registry[Formulation](
    "formulation", InverseDynamic, FilteredDynamic, Energy, Power, BaseWrench, BaseLink, GainFree
)
GENTLE_CUTOFF_PER_RATE = 0.1  #: cut-off over the rate, of formulations that need a filter, where the data ask for none


def with_filter(formulation: Formulation, both: ParallelFilter | None, rate: float) -> Formulation:
    """With the filter for both sides, where the formulation has one that was left open; rate [Hz] of the samples."""
    if isinstance(formulation, FilteredDynamic | Power):
        if formulation.parallel_filter == ParallelFilter():
            gentle = ParallelFilter(Butterworth(GENTLE_CUTOFF_PER_RATE * rate))
            return replace(formulation, parallel_filter=both or gentle)
    elif isinstance(formulation, InverseDynamic | BaseWrench | BaseLink) and formulation.parallel_filter is None:
        return replace(formulation, parallel_filter=both)
    return formulation
