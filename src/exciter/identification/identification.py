"""Identification from beginning to end: a problem and an estimator in, a result that judges itself out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from exciter.dynamics.kernels.cache import working_seconds
from exciter.errors import ParameterError
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.compressed import ResidualSizes
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.physical.bounds import physical_problems
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.conditioning import Conditioning, explain
from exciter.identification.uncertainty.error_bounds import error_bounds
from exciter.notes import Note
from exciter.parameters.perturbation_bounds import PerturbationBounds
from exciter.typing import Array
from exciter.workers import one_thread

Uncertainty = Callable[[Problem, Estimate], Estimate]


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """Residuals of the estimate on a run, and those of the description's own parameters to compare with."""

    run: str
    residuals: ResidualSizes
    description: ResidualSizes


@dataclass(frozen=True, eq=False)
class Identification:
    """fit, validation: how the estimate does on the runs it was made from, and on held-out ones. seconds: it took.
    bounds: how far errors of torques and of W could carry the estimate at most."""

    problem: Problem
    estimator: Estimator
    estimate: Estimate
    judge: Problem
    fit: JudgedRun
    validation: tuple[JudgedRun, ...]
    seconds: float
    bounds: PerturbationBounds | None = None

    def __repr__(self) -> str:
        return f"<{self.estimator.word}: {self.estimate!r}>"

    @cached_property
    def physically_consistent(self) -> bool | None:
        """Whether a full set was found and a robot can have it; None when only base parameters are known."""
        standard = self.estimate.standard
        if standard is None or len(standard) != len(self.problem.model.standard):
            return None
        return not physical_problems(self.problem.model, standard)

    @cached_property
    def conditioning(self) -> Conditioning:
        return Conditioning.of(self.problem.compressed, self.estimate)

    @cached_property
    def reasons(self) -> tuple[Note, ...]:
        """Why parameters are not good, a note on each of them."""
        return explain(self.problem.compressed, self.estimate)


def identify(
    problem: Problem,
    estimator: Estimator,
    validation: Sequence[Run] = (),
    judge: InverseDynamic | None = None,
    uncertainty: Uncertainty | None = None,
    simplified: Callable[[Estimate], Problem] | None = None,
) -> Identification:
    """judge: joint torques by which every estimate is measured, whatever equations it was made from; the problem's own
    unless these are of another kind. uncertainty: what computes a valid covariance, see ``with_correlated_errors``.
    simplified: the problem that an estimate shows to be enough, solved instead unless it is the same."""
    clock = working_seconds()
    with one_thread():
        estimate = estimator.estimate(problem)
        if simplified is not None and (enough := simplified(estimate)) is not problem:
            problem, estimate = enough, estimator.estimate(enough)
        if uncertainty is not None:
            estimate = uncertainty(problem, estimate)
        if not np.isfinite(estimate.values).all():
            raise ParameterError("the estimate is not finite; are the units of the log right?")
        measure = judging(problem, judge)
        values = estimate.values
        fit = judged(measure, values, problem.run_names)
        held_out = tuple(judged(replace(measure, runs=(run,)), values, run.name) for run in validation)
        return Identification(
            problem=problem,
            estimator=estimator,
            estimate=estimate,
            judge=measure,
            fit=fit,
            validation=held_out,
            bounds=error_bounds(problem, estimate),
            seconds=working_seconds() - clock,
        )


def judging(problem: Problem, judge: InverseDynamic | None) -> Problem:
    """The problem whose equations are joint torques; that of a force plate itself."""
    if problem.names != problem.model.base.names:  # what a force plate shows is no torque of joints
        return problem
    if isinstance(problem.formulation, InverseDynamic) and judge in (None, problem.formulation):
        return problem  # with what is known of its rows
    return replace(problem, formulation=judge or InverseDynamic())


def judged(measure: Problem, values: Array, name: str) -> JudgedRun:
    compressed = measure.measured
    found, described = ResidualSizes.of(compressed, values), ResidualSizes.of(compressed, measure.nominal)
    return JudgedRun(run=name, residuals=found, description=described)
