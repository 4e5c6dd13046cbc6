"""``uncertainty:`` by word: what is assumed of the errors when standard deviations are computed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from exciter.errors import ParameterError
from exciter.identification.estimate import Estimate
from exciter.identification.estimators.consistent import PhysicallyConsistent
from exciter.identification.estimators.essential import Essential
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.ordinary import OrdinaryLeastSquares
from exciter.identification.estimators.prior import AUTO
from exciter.identification.estimators.sequential import Sequential
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.physical.settle import PhysicalEstimate
from exciter.identification.problem import Problem
from exciter.identification.uncertainty.correlated import CorrelatedErrors, StationaryErrors, with_correlated_errors
from exciter.identification.uncertainty.hac import HeteroscedasticErrors
from exciter.identification.uncertainty.pulled import with_correlated_errors_and_prior
from exciter.notes import note
from exciter.settings import Registry, Settings


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
    assumption = f"{free.assumption}; of the fit without bounds, which is on the safe side"
    notes = (*estimate.notes, *free.notes)
    return replace(estimate, covariance=free.covariance, freedom=free.freedom, assumption=assumption, notes=notes)
