"""What an estimator is: a problem in, an estimate that says how sure it is out."""

from __future__ import annotations

from abc import ABC, abstractmethod

from exciter.identification.estimate import Estimate
from exciter.identification.problem import Problem


class Estimator(ABC):
    """Settings of an estimator, frozen, without data."""

    @abstractmethod
    def estimate(self, problem: Problem) -> Estimate:
        """The parameters ``problem.names`` with their covariance, and what that rests on."""
