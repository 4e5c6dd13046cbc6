"""Methods to compare: other formulations and estimators on the same logs, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exciter.errors import ExciterError, shown
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.registry import ESTIMATORS, SIMULATED_ESTIMATORS
from exciter.identification.formulations import FORMULATIONS
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.identification import Identification, Uncertainty
from exciter.identification.identify_config import Errors, IdentifyConfig, with_uncertainty, word_of
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.settings import written
from exciter.validation.comparison import Comparison, IdentificationMethod, compare

Compared = str | Formulation | Estimator


@dataclass(frozen=True)
class ComparedMethod:
    """A formulation and an estimator; None where it is that of the settings. name: for tables. by_word: without
    settings of its own."""

    name: str
    formulation: Formulation | None = None
    estimator: Estimator | None = None
    by_word: bool = False

    @classmethod
    def of(cls, given: Compared) -> ComparedMethod:
        """energy, huber, or energy/huber; or an object."""
        if isinstance(given, Formulation):
            return cls(method_name(given), formulation=given)
        if isinstance(given, Estimator):
            return cls(method_name(given), estimator=given)
        parts = given.split("/") if isinstance(given, str) else [given]
        formulation = next((part for part in parts if part in FORMULATIONS), None)
        estimator = next((part for part in parts if part in ESTIMATORS and part not in SIMULATED_ESTIMATORS), None)
        if len(parts) != sum(word is not None for word in (formulation, estimator)) or formulation == "base-wrench":
            kinds = [word for word in FORMULATIONS.words if word != "base-wrench"]
            solved = [word for word in ESTIMATORS.words if word not in SIMULATED_ESTIMATORS]
            raise ExciterError(
                f"{shown(given)} cannot be compared; give formulations ({', '.join(kinds)}), estimators "
                f"({', '.join(solved)}), or both, as in energy/ols"
            )
        return cls(
            given,
            None if formulation is None else FORMULATIONS[formulation](),
            None if estimator is None else ESTIMATORS[estimator](),
            by_word=True,
        )

    def in_place_of(self, config: IdentifyConfig) -> IdentifyConfig:
        """The settings with this method; one that they have already, asked for by its word, keeps its settings."""
        changes = {"formulation": self.formulation, "estimator": self.estimator}
        asked = {key: value for key, value in changes.items() if value is not None}
        had = {key: word_of(getattr(config.settings, key)) for key in asked}
        same = [key for key, value in asked.items() if self.by_word and had[key] == word_of(value)]
        return config.with_settings(**{key: value for key, value in asked.items() if key not in same})


def method_name(method: Formulation | Estimator) -> str:
    """Its word, with the settings that are not the usual ones: ``huber (k: 3.0)``."""
    plain = written(method)
    settings = next(iter(plain.values())) if isinstance(plain, Mapping) and plain else {}
    given = ", ".join(f"{key}: {value}" for key, value in settings.items()) if isinstance(settings, Mapping) else ""
    return f"{word_of(method)} ({given})" if given else word_of(method)


def compared_methods(given: Compared | Sequence[Compared]) -> tuple[ComparedMethod, ...]:
    """One need not stand in a list."""
    return tuple(ComparedMethod.of(one) for one in (given if isinstance(given, list | tuple) else (given,)))


def compared(
    config: IdentifyConfig, found: Identification, others: Sequence[ComparedMethod], validation: Sequence[Run]
) -> Comparison:
    """What was asked for first, then the others; all judged by the same torques."""
    model, runs = found.problem.model, found.problem.runs
    methods = [IdentificationMethod(config.method_name, found.problem.formulation, found.estimator)]
    for one in others:
        other = one.in_place_of(config)
        if one.name not in [method.name for method in methods]:
            methods.append(
                IdentificationMethod(one.name, other.formulation(runs), other.estimator(model.robot, runs=runs))
            )
    covariances = {method.name: covariance_of(method.estimator, config.uncertainty) for method in methods}
    return compare(model, runs, methods, validation, config.evaluation(runs, tuple(validation)), covariances)


def covariance_of(estimator: Estimator, errors: Errors) -> Uncertainty:
    """Standard deviations as the configuration wants them."""

    def with_covariance(problem: Problem, estimate: Estimate) -> Estimate:
        return with_uncertainty(problem, estimator, estimate, errors)

    return with_covariance
