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
from exciter.identification.uncertainty.error_bounds import error_bounds, motion_errors
from exciter.parameters.terms import Viscous
from exciter.robot import Motion, load

RATE, POSITION_NOISE = 200.0, 2e-5


@pytest.fixture(scope="module")
def model() -> DynamicModel:
    return DynamicModel(load("gautier-khalil"), (Viscous(),))


def exact(model: DynamicModel, time: np.ndarray) -> Motion:
    return motion_of(Fourier(5.0, 5), 0.3 * np.random.default_rng(0).standard_normal((model.n, 11)), time)


def recording(model: DynamicModel, seed: int, position_noise: float | None = None):
    motion = exact(model, np.arange(int(5.0 * RATE)) / RATE)
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


def test_the_bound_of_torques_is_reached_by_the_worst_of_them(model: DynamicModel) -> None:
    """All errors in the direction that the parameters feel most: none is larger, and the bound is no larger either."""
    noise = np.array([2.0, 0.5, 0.1])
    motion = exact(model, np.arange(600) / 50.0)
    rows = model.base.project(model.regressor(motion)) / noise[:, None]
    worst = np.linalg.svd(rows.reshape(-1, rows.shape[2]), full_matrices=False)[0][:, -1]
    torque = model.torque(motion) + noise * np.sqrt(len(worst)) * worst.reshape(-1, model.n)
    problem = Problem(model, (Run.at(motion, torque, 50.0),))
    found = identify(problem, WeightedLeastSquares(noise=tuple(noise)))
    assert found.bounds is not None
    error = np.linalg.norm(found.estimate.values - model.base.base_values(model.nominal))
    assert error / np.linalg.norm(found.estimate.values) == pytest.approx(found.bounds.by_dy, rel=1e-6)


@pytest.mark.parametrize("route", [FourierFit(5), FilteredDifferences(cutoff=10.0)], ids=["series", "differences"])
def test_the_error_of_w_is_what_noise_of_positions_makes_of_it(model: DynamicModel, route) -> None:
    """Beside W of the exact motion; the bound counts errors that are rather too large than too small."""
    ratios = []
    for seed in range(8):
        log, _ = recording(model, seed, POSITION_NOISE)
        problem = Problem(model, (Run.of(log, route),))
        estimate = WeightedLeastSquares().estimate(problem)
        found = error_bounds(problem, estimate)
        assert found is not None
        (part,) = problem.runs[0].parts
        moved, still = (
            (model.base.project(model.regressor(one)) / estimate.noise[:, None]).reshape(-1, len(estimate.names))
            for one in (part.motion, exact(model, part.motion.time))
        )
        assert found.dw is not None
        ratios.append(found.dw * np.linalg.norm(still, 2) / np.linalg.norm(moved - still, 2))
    assert min(ratios) > 0.75
    assert 1.0 < np.median(ratios) < 1.7


def test_errors_of_motions_are_what_a_filter_or_a_series_leaves(model: DynamicModel) -> None:
    """σ of the k-th derivative: of white noise through a sharp low-pass by its spectrum, of a series as it says."""
    motion = exact(model, np.arange(1000)[::2] / RATE)
    piece = Processed(
        motion, motion.q, 0.5 * RATE, position_noise=np.array([1e-4, 2e-4, 1e-3]), position_bandwidth=10.0
    )
    log, _ = recording(model, 0, POSITION_NOISE)
    (fitted,) = Run.of(log, FourierFit(5)).parts
    frequency = 2.0 * np.pi * np.random.default_rng(0).uniform(0.0, 10.0, 200_000)
    spectrum = np.sqrt([(frequency ** (2 * k)).mean() for k in range(3)])[:, None] * piece.position_noise
    for one, expected in ((piece, spectrum), (fitted, fitted.series.noise_of_derivatives)):
        drawn = motion_errors(one, motion.time)
        draws = np.stack([drawn(np.random.default_rng(seed)) for seed in range(60)])
        np.testing.assert_allclose(np.sqrt((draws**2).mean(axis=(0, 2))), expected, rtol=0.12)
        for k in (0, 1):  # each is the derivative of the one before
            slope = np.diff(draws[0, k], axis=0) * 0.5 * RATE
            middle = 0.5 * (draws[0, k + 1, 1:] + draws[0, k + 1, :-1])
            assert np.abs(slope - middle).max() < 0.05 * np.abs(middle).max()
    assert motion_errors(Processed(motion, motion.q, RATE), motion.time) is None


def test_energy_has_bounds_of_its_right_side_only(model: DynamicModel) -> None:
    log, _ = recording(model, 0)
    problem = Problem(model, (Run.of(log, FilteredDifferences()),), Energy(0.1))
    found = error_bounds(problem, WeightedLeastSquares().estimate(problem))
    assert found is not None
    assert found.dw is None
    assert found.by_dy > 0.0
