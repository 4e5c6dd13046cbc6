"""Identification from beginning to end: a problem and an estimator in, a result that judges itself out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ParameterError
from exciter.identification.estimate import Estimate
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.formulations.inverse_dynamic import InverseDynamic
from exciter.identification.problem import Problem
from exciter.identification.residuals import Residuals
from exciter.identification.run import Run
from exciter.parameters.consistency import consistency

Array = NDArray[np.float64]
Uncertainty = Callable[[Problem, Estimate], Estimate]


@dataclass(frozen=True, eq=False)
class Judged:
    """Residuals of the estimate on a run, and those of the description's own parameters to compare with."""

    run: str
    residuals: Residuals
    description: Residuals


@dataclass(frozen=True, eq=False)
class Identification:
    """problem, estimator: what was asked; estimate: the answer. fit, validation: how it does on the runs it was made
    from, and on runs it never saw. seconds: of computing."""

    problem: Problem
    estimator: Estimator
    estimate: Estimate
    judge: Problem
    fit: Judged
    validation: tuple[Judged, ...]
    seconds: float
    words: tuple[str, ...] = ()

    @cached_property
    def physically_consistent(self) -> bool | None:
        """Whether a full set was found and bodies can have it; None when only base parameters are known."""
        if self.estimate.standard is None:
            return None
        inertias = self.problem.model.joint_frame_inertias(self.estimate.standard)
        return consistency(inertias).consistent


def identify(
    problem: Problem,
    estimator: Estimator,
    validation: Sequence[Run] = (),
    judge: InverseDynamic | None = None,
    uncertainty: Uncertainty | None = None,
) -> Identification:
    """judge: joint torques by which every estimate is measured, whatever equations it was made from; the problem's own
    unless these are of another kind. uncertainty: what makes the covariance honest, see ``with_correlated_errors``."""
    clock = time.perf_counter()
    estimate = estimator.estimate(problem)
    if uncertainty is not None:
        estimate = uncertainty(problem, estimate)
    if not np.isfinite(estimate.values).all():
        raise ParameterError("the estimate is not finite; are the units of the log right?")
    measure = judging(problem, judge)
    values = judged_values(problem, measure, estimate)
    fit = judged(measure, values, ", ".join(run.name for run in problem.runs))
    seen = tuple(judged(replace(measure, runs=(run,)), values, run.name) for run in validation)
    return Identification(problem, estimator, estimate, measure, fit, seen, time.perf_counter() - clock)


def judging(problem: Problem, judge: InverseDynamic | None) -> Problem:
    """The problem whose equations are joint torques."""
    if judge is None and isinstance(problem.formulation, InverseDynamic):
        return problem
    return replace(problem, formulation=judge or InverseDynamic())


def judged_values(problem: Problem, measure: Problem, estimate: Estimate) -> Array:
    """The estimate in the parameters of the problem it is measured by."""
    if problem.names == measure.names:
        return estimate.values
    if estimate.standard is not None:
        return measure.base.base_values(estimate.standard)
    raise ParameterError(
        "these equations determine other parameters than joint torques do; measure with a full set (estimator "
        "'consistent')"
    )


def judged(measure: Problem, values: Array, name: str) -> Judged:
    compressed = measure.compressed
    nominal = measure.base.base_values(measure.model.nominal)
    return Judged(name, Residuals.of(compressed, values), Residuals.of(compressed, nominal))
