"""An estimate in stages is one of weighted least squares, and has its covariance where errors are correlated."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.signal import lfilter

from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.estimators.staged import FrictionFirst, LinkByLink, StaticThenDynamic, TwoStep
from exciter.identification.identify_config import with_uncertainty
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.stages.stage import SteadyMotion
from exciter.identification.stages.stage_weights import StagedEstimate, StagedProblem
from exciter.identification.uncertainty.covariance_of_correlated_errors import StationaryErrors
from support.given_rows import Experiment, Repetitions, moving, with_poses

SIGMA = np.array([1.0, 2.0, 0.5])
MEMORY = 0.7  # correlation of neighbouring errors
SEQUENCES = (LinkByLink(), TwoStep(1), StaticThenDynamic(), FrictionFirst(SteadyMotion(0.05, 0.8)))


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return Experiment.of(with_poses(moving(900, seed=5), 30, 4))


def noisy(experiment: Experiment, seed: int, memory: float = 0.0) -> Problem:
    """memory: correlation of neighbouring errors in motion."""
    white = SIGMA * np.random.default_rng(seed).standard_normal(experiment.exact.shape)
    errors = lfilter([np.sqrt(1.0 - memory**2)], [1.0, -memory], white, axis=0)
    return experiment.problem(experiment.exact + errors)


def judged(estimator, problem: Problem) -> Estimate:
    return with_uncertainty(problem, estimator, estimator.estimate(problem), StationaryErrors())


@pytest.mark.parametrize("estimator", SEQUENCES, ids=lambda one: one.word)
def test_weights_and_poses_give_the_estimate_again(experiment, estimator) -> None:
    problem = noisy(experiment, 1)
    found = estimator.estimate(problem)
    assert isinstance(found, StagedEstimate)
    assert found.weights is not None
    poses = found.weights.poses
    assert bool(len(poses)) == isinstance(estimator, StaticThenDynamic)
    equations = StagedProblem.of_stages(problem, found.weights).compressed.information()
    values, covariance = equations.add(poses[:, :-1], poses[:, -1]).solve(problem.names)
    assert_allclose(values, found.values, atol=1e-7 * np.abs(found.values).max())
    assert_allclose(np.sqrt(covariance.diagonal()), found.std, rtol=1e-6)
    assert found.for_archive().weights is None


@pytest.mark.parametrize("estimator", SEQUENCES[:2], ids=lambda one: one.word)
def test_covariance_is_that_of_least_squares_where_the_estimate_is(estimator) -> None:
    experiment = Experiment.of(moving(900, seed=5))
    problem = noisy(experiment, 2, MEMORY)
    stages, plain = judged(estimator, problem), judged(WeightedLeastSquares(), problem)
    assert_allclose(stages.values, plain.values, rtol=1e-3, atol=1e-3 * plain.std.max())
    assert_allclose(stages.std, plain.std, rtol=0.01)
    assert stages.freedom <= plain.freedom * 1.01


@pytest.mark.parametrize("estimator", SEQUENCES[1:], ids=lambda one: one.word)
def test_intervals_hold_the_truth_where_errors_are_correlated(experiment, estimator) -> None:
    """Of 12 logs of 21 parameters, whose errors within a log go together: σ of the share is that of binomial chance
    times 1.15 (measured over 48 logs), 0.016. Four of them below 0.95 is what chance allows; errors that are taken as
    independent cover less than two thirds."""
    problems = [noisy(experiment, seed, MEMORY) for seed in range(12)]
    alone = Repetitions(experiment.true, tuple(estimator.estimate(problem) for problem in problems))
    found = Repetitions(experiment.true, tuple(judged(estimator, problem) for problem in problems))
    assert alone.covered.mean() < 0.67 < 0.95 - 4 * 0.016 < found.covered.mean()


def test_taken_as_known_it_keeps_a_covariance_of_its_own(experiment) -> None:
    problem, estimator = noisy(experiment, 1), TwoStep(1, known=True)
    found = estimator.estimate(problem)
    assert isinstance(found, StagedEstimate)
    assert found.weights is None
    kept = judged(estimator, problem)
    assert_allclose(kept.covariance, found.covariance)
    assert kept.notes[-1].subject == "uncertainty"
