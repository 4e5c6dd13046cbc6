"""``uncertainty:`` by word: what is assumed of the errors when standard deviations are computed."""

from __future__ import annotations

from exciter.identification.estimate import Estimate
from exciter.identification.estimators.essential import Essential
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.ordinary import OrdinaryLeastSquares
from exciter.identification.estimators.sequential import Sequential
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.uncertainty.correlated import CorrelatedErrors, StationaryErrors, with_correlated_errors
from exciter.identification.uncertainty.hac import HeteroscedasticErrors

WORDS: dict[str, CorrelatedErrors | None] = {
    "correlated": StationaryErrors(),
    "hac": HeteroscedasticErrors(),
    "independent": None,
}
LINEAR = (OrdinaryLeastSquares, WeightedLeastSquares, Sequential, Essential)  #: others have a covariance of their own


def with_uncertainty(problem: Problem, estimator: Estimator, estimate: Estimate, word: str) -> Estimate:
    """The estimate with the covariance of a word, where the estimator leaves that open."""
    errors = WORDS[word]
    if errors is None or not isinstance(estimator, LINEAR):
        return estimate
    return with_correlated_errors(problem, estimate, errors)
