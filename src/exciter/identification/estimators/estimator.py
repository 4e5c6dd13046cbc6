"""What an estimator is: a problem in, an estimate that says how sure it is out."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, TypeVar

from exciter.errors import ExciterError, ParameterError
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.settings import Numbers, Settings, Whole

MOST_SIMULATIONS = 1000  #: of one estimate
#: σ of the equations, one or one per equation of an instant
EquationNoise = Annotated[float | tuple[float, ...] | None, Numbers(above=0.0)]
Rounds = Annotated[int, Whole(1, MOST_SIMULATIONS)]
E = TypeVar("E", bound="Estimator")


class Estimator(Settings, ABC):
    """Settings of an estimator, frozen, without data."""

    by_word: ClassVar[bool] = True
    refusal: ClassVar[type[ExciterError]] = ParameterError

    @abstractmethod
    def estimate(self, problem: Problem) -> Estimate:
        """The parameters ``problem.names`` with their covariance, and what that rests on."""


def completed(estimator: E, **known: Any) -> E:
    """With what is known beside its settings (σ, the closed loop) in fields left open, those of a prior included."""
    given: dict[str, Any] = {}
    for field in dataclasses.fields(estimator):  # type: ignore[arg-type]
        value = getattr(estimator, field.name)
        if isinstance(value, Estimator):
            given[field.name] = completed(value, **known)
        elif value is None and known.get(field.name) is not None:
            given[field.name] = known[field.name]
    return dataclasses.replace(estimator, **given) if given else estimator  # type: ignore[type-var]


def takes_noise(estimator: Estimator) -> bool:
    """Whether it has a place for σ of the equations or of the torques, left open."""
    return completed(estimator, noise=1.0, torque_noise=1.0) is not estimator
