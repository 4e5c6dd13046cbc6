"""Bounds (11)–(13) of estimates: never broken by logs with noise, and reported with every result."""

from __future__ import annotations

import numpy as np
import pytest

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.processed_motion import Processed
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.formulations.energy import Energy
from exciter.identification.identification import identify
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.error_bounds import derivative_noise, error_bounds
from exciter.parameters.terms import Viscous
from exciter.robot import load

RATE, POSITION_NOISE = 200.0, 2e-5


@pytest.fixture(scope="module")
def model() -> DynamicModel:
    return DynamicModel(load("gautier-khalil"), (Viscous(),))


def recording(model: DynamicModel, seed: int, position_noise: float | None = None):
    delta = 0.3 * np.random.default_rng(0).standard_normal((model.n, 11))
    motion = motion_of(Fourier(5.0, 5), delta, np.arange(int(5.0 * RATE)) / RATE)
    chi = model.nominal + np.append(np.zeros(30), [3.0, 4.0, 2.0])
    log = synthetic_recording(model, motion, chi, 0.5, position_noise=position_noise, periods=4, seed=seed)
    return log, model.base.base_values(chi)


@pytest.mark.parametrize("position_noise", [None, POSITION_NOISE])
def test_no_log_breaks_the_bound(model: DynamicModel, position_noise: float | None) -> None:
    for seed in range(6):
        log, truth = recording(model, seed, position_noise)
        found = identify(Problem(model, (Run.of(log, FourierFit(5)),)), WeightedLeastSquares())
        assert found.bounds is not None
        assert found.bounds.by_both is not None
        error = np.linalg.norm(found.estimate.values - truth) / np.linalg.norm(truth)
        assert error < found.bounds.by_both
        assert found.bounds.by_dy < found.bounds.by_both
        trace = np.sqrt(found.estimate.covariance.trace()) / np.linalg.norm(found.estimate.values)
        assert found.bounds.expected == pytest.approx(trace, rel=0.2)


def test_noise_of_derivatives_is_what_a_filter_leaves(model: DynamicModel) -> None:
    """White noise through a sharp low-pass: σ of the k-th derivative by its spectrum, here by random sinusoids."""
    motion = motion_of(Fourier(5.0, 5), np.zeros((3, 11)), np.arange(1000) / RATE)
    piece = Processed(motion, motion.q, RATE, position_noise=np.full(3, 1e-4), position_bandwidth=10.0)
    frequency = 2.0 * np.pi * np.random.default_rng(0).uniform(0.0, 10.0, 200_000)
    expected = [1e-4 * np.sqrt((frequency ** (2 * k)).mean()) for k in range(3)]
    assert np.allclose(derivative_noise(piece), np.array(expected)[:, None], rtol=0.01)
    assert derivative_noise(Processed(motion, motion.q, RATE)) is None


def test_energy_has_bounds_of_its_right_side_only(model: DynamicModel) -> None:
    log, _ = recording(model, 0)
    problem = Problem(model, (Run.of(log, FilteredDifferences()),), Energy(0.1))
    found = error_bounds(problem, WeightedLeastSquares().estimate(problem))
    assert found is not None
    assert found.dw is None
    assert found.by_dy > 0.0
