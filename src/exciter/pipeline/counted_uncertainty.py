"""All that counts in the standard deviations of an identification, one after the other: errors of the equations, loads
and gains found before, friction that may be simpler, timing, noise of a free base's motion, what residuals show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from exciter.identification.drive_gains import DriveGains
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.found_loads import (
    GAINS_COUNT,
    CompletedLoad,
    with_what_was_found,
)
from exciter.identification.identification import Uncertainty
from exciter.identification.identify_config import (
    Errors,
    IndependentErrors,
    has_one_sigma,
    with_uncertainty,
)
from exciter.identification.information.estimate import Estimate, assumed
from exciter.identification.information.problem import Problem
from exciter.identification.uncertainty.missing_terms import find_missing
from exciter.identification.uncertainty.motion_noise import motion_noise_error
from exciter.identification.uncertainty.torque_timing import timing_error


def covariance_of(
    estimator: Estimator,
    errors: Errors,
    doubts: Sequence[Mapping[str, float]] = (),
    loads: Sequence[CompletedLoad] = (),
    gains: DriveGains | None = None,
) -> Uncertainty:
    """Standard deviations as the configuration wants them, with those of loads and gains that were found before, and of
    friction that could be a simpler one (``FrictionChoice.doubts``), of the timing, and of what residuals show."""
    scales = None if gains is None or gains.shared is not None else gains.relative_covariance

    def judged(problem: Problem, estimate: Estimate) -> Estimate:
        if isinstance(errors, IndependentErrors) or has_one_sigma(estimator):
            noisy = None
        else:  # before the rest: noise in W also pulls an estimate from its prior, which is not the prior's fault
            noisy = motion_noise_error(problem.bounded, estimate)
        beside = None if noisy is None else noisy.change[None]
        estimate = with_uncertainty(problem, estimator, estimate, errors, beside)
        if loads or scales is not None:
            estimate = with_what_was_found(problem, estimate, loads, scales)
        if gains is not None and gains.shared is not None and gains.names == estimate.names:
            covariance, said = estimate.covariance + gains.shared, (*estimate.assumptions, *GAINS_COUNT)
            estimate = replace(estimate, covariance=covariance, assumptions=said)
        if isinstance(errors, IndependentErrors) or has_one_sigma(estimator):
            return estimate
        if doubts:
            known = [problem.base.standard[k] for k in problem.base.independent]
            changes = [[doubt.get(name, 0.0) for name in known] for doubt in doubts]
            estimate = estimate.with_error(changes, *assumed(f"friction of {len(doubts)} joints may be simpler"))
        late, lacking = timing_error(problem.bounded, estimate), find_missing(problem.bounded, estimate)
        for off in (late, noisy):
            if off is not None:
                estimate = estimate.with_error(off.change, *off.assumptions)
        if lacking is not None:
            estimate = estimate.with_error(lacking.change, *assumed("what the model lacks counts by what it changes"))
            estimate = replace(estimate, notes=(*estimate.notes, *(one.note for one in lacking.missing)))
        return estimate

    return judged
