"""``evaluation:`` of the section identify: which torque percentages of residuals are of, whatever was identified from.

100 · RMS(τ_f − τ̂_f) / RMS(τ_f) over every sample: τ_f is the measured torque through a zero-phase Butterworth filter,
τ̂_f the prediction through the same one. Edges are cut; nothing is decimated, and rest counts like motion. So methods
with filters and dead zones of their own are compared by one figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from exciter.errors import ExciterError, RecordingError, shown
from exciter.excitation.config.section import Section
from exciter.experiment.signals.butterworth import Butterworth
from exciter.experiment.signals.parallel_filter import ParallelFilter
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.formulations.inverse_dynamic import InverseDynamic
from exciter.identification.run import Run
from exciter.parameters.terms.per_joint import PerJoint

KEYS = ("cutoff", "order")
ORDER = 4  #: of one pass


def evaluation_of(top: Section, runs: Iterable[Run] = ()) -> InverseDynamic | None:
    """Of ``evaluation: {cutoff: 10, order: 4}``; None where it is not given. runs: that it must be possible for."""
    if "evaluation" not in top:
        return None
    if isinstance(top.get("evaluation"), str | int | float):
        raise ExciterError(
            f"{top.at('evaluation')} is {shown(top.get('evaluation'))}; give {{cutoff: …}} [Hz], or leave it out"
        )
    section = top.section("evaluation", KEYS)
    if "cutoff" not in section:
        raise ExciterError(f"{section.where} has no cutoff; give it in Hz: {{cutoff: 10, order: {ORDER}}}")
    _refuse_wrench(top)
    order = section.whole("order", ORDER, least=1, most=None)
    try:
        low_pass = Butterworth(section.number("cutoff", 0.0, above=0.0), order)
        both = ParallelFilter(low_pass, factor=1)
        for run in runs:
            for part in run.bounded.parts:
                both.at(part.rate, part.torque_bandwidth)  # refuses what this log does not allow
    except RecordingError as error:
        raise ExciterError(f"{section.where}: {error}") from None
    return InverseDynamic(both, 0.0)


def _refuse_wrench(top: Section) -> None:
    """A force plate shows no torques of joints."""
    given = top.get("formulation")
    words = list(given) if isinstance(given, dict) else [given]
    if "base-wrench" in words:
        raise ExciterError(f"{top.at('evaluation')} is of joint torques; base-wrench has none: leave evaluation: out")


def judged_words(judge: Formulation) -> str:
    """What percentages of residuals are of, in one sentence."""
    if not isinstance(judge, InverseDynamic):
        return "Percentages are of the measured side of the equations."
    both = judge.parallel_filter
    if both is None or both.low_pass is None:
        return "Percentages are of the measured torque."
    low_pass = both.low_pass
    through = (
        f"Percentages are of the measured torque through a {type(low_pass).__name__} low-pass of "
        f"{low_pass.cutoff:.4g} Hz, order {low_pass.order}, forwards and backwards; the prediction went through the "
        "same"
    )
    if _rests(judge.dead_zone):
        return f"{through}. While a joint with dry friction rests, it does not count."
    return f"{through}, and every sample counts, at rest too." if both.factor == 1 else f"{through}."


def _rests(dead_zone: PerJoint) -> bool:
    return bool(np.any(list(dead_zone.values()) if isinstance(dead_zone, Mapping) else dead_zone))
