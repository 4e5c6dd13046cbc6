"""``filter:``, ``evaluation:`` and ``uncertainty:`` of the section identify.

What both sides of the equations go through; which torque percentages of residuals are of, whatever was identified
from; what is assumed of the errors when standard deviations are computed.

Percentages are 100 · RMS(τ_f − τ̂_f) / RMS(τ_f) over every sample: τ_f is the measured torque through a zero-phase
Butterworth filter, τ̂_f the prediction through the same one. Edges are cut; nothing is decimated, and rest counts
like motion. So methods with filters and dead zones of their own are compared by one figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from exciter.errors import ExciterError, ParameterError, RecordingError, shown
from exciter.experiment.signals.local_routes import HIGHEST, FilteredDifferences
from exciter.experiment.signals.low_pass import Butterworth
from exciter.experiment.signals.processed import Processed, Route, motion_band
from exciter.experiment.signals.rows import ParallelFilter
from exciter.identification.estimators.consistent import PhysicallyConsistent
from exciter.identification.estimators.essential import Essential
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.prior import AUTO
from exciter.identification.estimators.weighted import OrdinaryLeastSquares, Sequential, WeightedLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.estimate import Estimate, assumed
from exciter.identification.information.problem import Problem
from exciter.identification.physical.settle import PhysicalEstimate
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.correlated import (
    CorrelatedErrors,
    HeteroscedasticErrors,
    StationaryErrors,
    with_correlated_errors,
)
from exciter.identification.uncertainty.pulled import with_correlated_errors_and_prior
from exciter.notes import note
from exciter.parameters.terms.term import PerJoint
from exciter.settings import Number, Registry, Settings, Whole
from exciter.settings.wrong import wrong

MOST_THINNED = 1_000_000  # samples of which one is kept
WIDE = 10.0  # times the band of the motion: dry friction, and what links make of a motion, reach beyond it
LOWEST = 3.0  # [Hz]
NONE = "none"  #: no filter


@dataclass(frozen=True)
class EquationFilter(Settings):
    """``{cutoff: 10, order: 4, factor: 5}``: a Butterworth low-pass, cutoff [Hz] and order of one pass, and of how many
    samples one is kept, unless given what the cut-off allows; ``none``, or a cutoff of None: as measured."""

    cutoff: Annotated[float | None, Number(above=0.0, unit="Hz", open=NONE)]
    order: Annotated[int, Whole(1)] = 4
    factor: Annotated[int | None, Whole(1, MOST_THINNED)] = None

    def __post_init__(self) -> None:
        _ = self.parallel  # refuses orders that no filter has

    @classmethod
    def of(cls, both: ParallelFilter | None) -> EquationFilter:
        if both is None:
            return cls(None)
        assert isinstance(both.low_pass, Butterworth)  # there are no settings for others
        return cls(both.low_pass.cutoff, both.low_pass.order, both.factor)

    @property
    def parallel(self) -> ParallelFilter | None:
        return None if self.cutoff is None else ParallelFilter(Butterworth(self.cutoff, self.order), self.factor)

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        if not isinstance(given, str):
            return given
        if given.strip().lower() != NONE:
            raise wrong(f" is {shown(given)}; give none, or {{cutoff: …}} [Hz]")
        return {"cutoff": NONE}

    @classmethod
    def described(cls, schema: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [{"const": NONE}, schema]}

    def spelling(self, data: dict[str, Any]) -> Any:
        return NONE if self.cutoff is None else {"cutoff": self.cutoff, "order": self.order, **data}


def usual_filter(pieces: Sequence[Processed]) -> ParallelFilter | None:
    """Ten times the band of the motion, or what the positions went through if that is less."""
    if not pieces:
        return None
    rate = min(piece.rate for piece in pieces)
    position = min(piece.position_bandwidth for piece in pieces)
    torque = min(piece.torque_bandwidth for piece in pieces)
    return ParallelFilter(stopped(Butterworth(min(position, wide(motion_band(pieces), rate))), rate, torque))


def wide(band: float, rate: float) -> float:
    """[Hz] cut-off for equations of a motion up to ``band`` [Hz]."""
    return min(max(WIDE * band, LOWEST), HIGHEST * rate)


def stopped(low_pass: Butterworth, rate: float, torque: float) -> Butterworth:
    """The filter, lowered where it would pass what an analogue one took from the torque, above ``torque`` [Hz]."""
    return low_pass.stopped_at(torque, rate) if low_pass.stop(rate) > torque else low_pass


def differentiated(route: Route | None, runs: Iterable[Run]) -> FilteredDifferences | None:
    """The filtered differences that runs went through, chosen or given; None where it was another route."""
    if isinstance(route, FilteredDifferences):
        return route
    parts = [part for run in runs for part in run.bounded.parts]
    chosen = route is None and parts and all(part.position_bandwidth < float("inf") for part in parts)
    return FilteredDifferences() if chosen else None


def noise_share(formulation: Formulation, runs: Iterable[Run]) -> float:
    """σ of filtered white noise over that of its samples; one for equations that go through no filter."""
    both: ParallelFilter | None = getattr(formulation, "parallel_filter", None)
    if both is None:
        return 1.0
    rate, limit = min((part.rate, part.torque_bandwidth) for run in runs for part in run.bounded.parts)
    return float(min(1.0, 2.0 * both.at(rate, limit)[0].noise_bandwidth(rate) / rate) ** 0.5)


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


@dataclass(frozen=True)
class IndependentErrors(Settings):
    """Every equation has an error of its own, as estimators take them."""

    word, title = "independent", "errors that are independent"


Errors = CorrelatedErrors | IndependentErrors
ERRORS = Registry[Settings]("assumption", StationaryErrors, HeteroscedasticErrors, IndependentErrors)
LINEAR = (OrdinaryLeastSquares, WeightedLeastSquares, Sequential, Essential)  #: others have a covariance of their own


def with_uncertainty(problem: Problem, estimator: Estimator, estimate: Estimate, errors: Errors) -> Estimate:
    """The estimate with the covariance of such errors, where the estimator leaves that open; where not, it is said
    so."""
    if isinstance(errors, IndependentErrors):
        return estimate
    if isinstance(estimator, LINEAR):
        return with_correlated_errors(problem, estimate, errors)
    if isinstance(estimator, PhysicallyConsistent) and estimator.prior.weight in (None, AUTO, 0.0):
        return _of_the_free_fit(problem, estimate, errors)
    if isinstance(estimate, PhysicalEstimate) and estimate.prior is not None:
        return with_correlated_errors_and_prior(problem, estimate, errors)
    own = f"uncertainty: {errors.word} is for least squares; {type(estimator).__name__} has a covariance of its own"
    return replace(estimate, notes=(*estimate.notes, note("uncertainty", own)))


def _of_the_free_fit(problem: Problem, estimate: Estimate, errors: CorrelatedErrors) -> Estimate:
    """Bounds bring an estimate nearer to any truth that keeps them, so that the covariance of the fit without them is
    on the safe side; where the data alone do not determine all, it stays as it is."""
    try:
        free = with_correlated_errors(problem, WeightedLeastSquares().estimate(problem), errors)
    except ParameterError:
        return estimate
    assumptions = free.assumptions + assumed("of the fit without bounds, which is on the safe side")
    notes = (*estimate.notes, *free.notes)
    return replace(estimate, covariance=free.covariance, freedom=free.freedom, assumptions=assumptions, notes=notes)
