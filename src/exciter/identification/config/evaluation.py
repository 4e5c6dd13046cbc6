"""``evaluation:`` of the section identify: which torque percentages of residuals are of, whatever was identified from.

100 · RMS(τ_f − τ̂_f) / RMS(τ_f) over every sample: τ_f is the measured torque through a zero-phase Butterworth filter,
τ̂_f the prediction through the same one. Edges are cut; nothing is decimated, and rest counts like motion. So methods
with filters and dead zones of their own are compared by one figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from exciter.errors import ExciterError, RecordingError
from exciter.experiment.signals.low_pass import Butterworth
from exciter.experiment.signals.rows import ParallelFilter
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.formulations.inverse_dynamic import InverseDynamic
from exciter.identification.run import Run
from exciter.parameters.terms.term import PerJoint
from exciter.settings import Number, Settings, Whole


@dataclass(frozen=True)
class Evaluation(Settings):
    """``{cutoff: 10, order: 4}``: cutoff [Hz] and order of one pass."""

    cutoff: Annotated[float, Number(above=0.0, unit="Hz")]
    order: Annotated[int, Whole(1)] = 4

    def __post_init__(self) -> None:
        _ = self.judge  # refuses orders that no filter has

    @property
    def judge(self) -> InverseDynamic:
        return InverseDynamic(ParallelFilter(Butterworth(self.cutoff, self.order), factor=1), 0.0)

    def judging(self, runs: Iterable[Run], where: str) -> InverseDynamic:
        """Of runs, which must allow it; where: the setting stands, for messages."""
        judge = self.judge
        assert judge.parallel_filter is not None
        try:
            for run in runs:
                for part in run.bounded.parts:
                    judge.parallel_filter.at(part.rate, part.torque_bandwidth)
        except RecordingError as error:
            raise ExciterError(f"{where}: {error}") from None
        return judge


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
