"""Methods to compare: other formulations and estimators on the same logs, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exciter.errors import ExciterError
from exciter.identification.config.identify_config import IdentifyConfig
from exciter.identification.config.uncertainty import Errors, with_uncertainty
from exciter.identification.estimate import Estimate
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.registry import ESTIMATORS, SIMULATED
from exciter.identification.formulations.registry import FORMULATIONS
from exciter.identification.identification import Identification, Uncertainty
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.validation.comparison import Comparison, Method, compare


@dataclass(frozen=True)
class ComparedMethod:
    """A formulation and an estimator, by their words; None where it is that of the configuration."""

    name: str
    formulation: str | None
    estimator: str | None

    @classmethod
    def of(cls, text: str) -> ComparedMethod:
        """energy, huber, or energy/huber."""
        parts = text.split("/")
        formulation = next((part for part in parts if part in FORMULATIONS), None)
        estimator = next((part for part in parts if part in ESTIMATORS and part not in SIMULATED), None)
        if len(parts) != sum(word is not None for word in (formulation, estimator)) or formulation == "base-wrench":
            kinds = [word for word in FORMULATIONS.words if word != "base-wrench"]
            solved = [word for word in ESTIMATORS.words if word not in SIMULATED]
            raise ExciterError(
                f"--compare has '{text}'; give formulations ({', '.join(kinds)}), estimators ({', '.join(solved)}), or "
                "both, as in energy/ols"
            )
        return cls(text, formulation, estimator)


def compared(
    config: IdentifyConfig, found: Identification, others: Sequence[ComparedMethod], validation: Sequence[Run]
) -> Comparison:
    """What was asked for first, then the others; all judged by the same torques."""
    model, runs = found.problem.model, found.problem.runs
    name = config.method_name
    methods = [Method(name, found.problem.formulation, found.estimator)]
    for one in others:
        other = config.overridden(formulation=one.formulation, estimator=one.estimator)
        if one.name not in [method.name for method in methods]:
            methods.append(Method(one.name, other.formulation(runs), other.estimator(model.robot, runs=runs)))
    covariances = {method.name: covariance_of(method.estimator, config.uncertainty) for method in methods}
    return compare(model, runs, methods, validation, config.evaluation(runs, tuple(validation)), covariances)


def covariance_of(estimator: Estimator, errors: Errors) -> Uncertainty:
    """Standard deviations as the configuration wants them."""

    def with_covariance(problem: Problem, estimate: Estimate) -> Estimate:
        return with_uncertainty(problem, estimator, estimate, errors)

    return with_covariance
