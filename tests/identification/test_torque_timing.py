"""Torques that are logged a part of a sample late: the delay is found, and σ counts what parameters take of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.estimators.staged import TwoStep
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.identify_config import with_uncertainty
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import StationaryErrors
from exciter.identification.uncertainty.torque_timing import HALF_SAMPLE_STD, timing_error
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.pipeline.counted_uncertainty import covariance_of
from exciter.robot import load

ROBOT = load("kuka-ir361")
MODEL = DynamicModel(ROBOT, (RotorInertia(), Viscous(), Coulomb(), Offset()))
NOISE = np.array([1.0, 2.0, 0.5])
RATE, SECONDS, PERIOD = 100.0, 20.0, 5.0
DELAY = -0.25 / RATE  # as of torques that are held for half a sample
DECIMATED = InverseDynamic(ParallelFilter(Butterworth(12.0), factor=2), dead_zone=0.05)
ESTIMATORS = pytest.mark.parametrize("estimator", [WeightedLeastSquares(), TwoStep(1)], ids=["wls", "stages"])


def problem_of(seed: int, delay: float, noise: float = 1.0, formulation: InverseDynamic = DECIMATED) -> Problem:
    """A log whose torques are ``delay`` [s] later than its positions; their dry friction turns with the joints."""
    delta = 0.1 * np.random.default_rng(1).standard_normal((3, 11))
    time = np.arange(round(SECONDS * RATE)) / RATE
    motion, acting = (motion_of(Fourier(PERIOD, 5), delta, at) for at in (time, time - delay))
    dry = np.char.startswith(MODEL.standard, "Fs")
    smooth, turning = (np.where(which, MODEL.nominal, 0.0) for which in (~dry, dry))
    torque = MODEL.torque(acting, smooth) + MODEL.torque(motion, turning)
    torque += noise * NOISE * np.random.default_rng(100 + seed).standard_normal(torque.shape)
    return Problem(MODEL, (Run.at(motion, torque, RATE),), formulation)


@ESTIMATORS
def test_a_delay_is_found_with_what_parameters_take_of_it(estimator: Estimator) -> None:
    """Of exact data to the square of the delay; what it changes is what the estimate from torques without it says."""
    late = problem_of(1, DELAY, noise=1e-3)
    found = estimator.estimate(late)
    error = timing_error(late, found)
    assert error is not None
    assert_allclose(error.delay, DELAY, rtol=0.02)
    assert error.std < 0.02 * abs(DELAY)
    taken = (found.values - estimator.estimate(problem_of(1, 0.0, noise=1e-3)).values) / found.std
    assert_allclose(np.sign(DELAY) * error.change / found.std, taken, atol=0.05 * np.abs(taken).max())


def test_half_a_sample_is_known_before() -> None:
    """Noise that hides any delay leaves what is known of the log: an instant anywhere within a sample."""
    problem = problem_of(1, 0.0, noise=1e3)
    error = timing_error(problem, WeightedLeastSquares().estimate(problem))
    assert error is not None
    assert_allclose(error.size, HALF_SAMPLE_STD / RATE, rtol=0.05)


@ESTIMATORS
def test_sigma_counts_the_delay(estimator: Estimator) -> None:
    """The squared length of errors in the measure of their covariance is χ² of as many degrees of freedom as there are
    parameters, logs being independent of each other: without the delay it is far beyond what chance allows."""
    true, judged = MODEL.base.base_values(MODEL.nominal), covariance_of(estimator, StationaryErrors())
    lengths, plain = [], []
    for seed in range(6):
        problem = problem_of(seed, DELAY)
        estimate = estimator.estimate(problem)
        for found, into in (
            (judged(problem, estimate), lengths),
            (with_uncertainty(problem, estimator, estimate, StationaryErrors()), plain),
        ):
            error = (found.values - true) / found.std
            into.append(error @ np.linalg.solve(found.covariance / np.outer(found.std, found.std), error))
    most = stats.chi2.ppf(0.999, len(true) * len(lengths))
    assert sum(lengths) < most < 0.5 * sum(plain)


def test_where_there_is_no_delay_little_is_counted() -> None:
    """Without a delay σ grow by little, for the data say that there is none."""
    estimator, problem = WeightedLeastSquares(), problem_of(2, 0.0)
    plain = with_uncertainty(problem, estimator, estimator.estimate(problem), StationaryErrors())
    counted = covariance_of(estimator, StationaryErrors())(problem, plain)
    assert (counted.std >= plain.std).all()
    assert np.median(counted.std / plain.std) < 1.1


def test_a_robot_that_rests_tells_nothing() -> None:
    problem = problem_of(1, DELAY)
    (run,) = problem.runs
    (part,) = run.parts
    still = replace(part.motion, q=0.0 * part.motion.q, qd=0.0 * part.motion.qd, qdd=0.0 * part.motion.qdd)
    resting = replace(problem, runs=(Run.at(still, part.torque, RATE),), formulation=InverseDynamic())
    assert timing_error(resting, WeightedLeastSquares().estimate(problem)) is None
