"""Square-root information and weighted least squares: any order, exact on exact data, honest σ by Monte Carlo."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from exciter.dynamics.model import DynamicModel
from exciter.dynamics.numpy_engine import NumpyEngine
from exciter.errors import ParameterError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.synthetic import synthetic
from exciter.identification.information import Information
from exciter.identification.least_squares import weighted_least_squares
from exciter.parameters.terms import Coulomb, Dahl, Viscous
from exciter.robot import Motion, load

USUAL = (Viscous(), Coulomb())


def fourier_motion(delta: np.ndarray, period: float, samples: int, periods: int = 1) -> Motion:
    trajectory = Fourier(period=period, harmonics=delta.shape[1] // 2)
    return motion_of(trajectory, delta, np.arange(periods * samples) * period / samples)


def test_information_adds_up_in_any_order():
    """Square-root information against NumPy's least squares, in pieces, merged either way round."""
    rng = np.random.default_rng(4)
    w, y = rng.standard_normal((60, 5)), rng.standard_normal(60)
    expected, residual, *_ = np.linalg.lstsq(w, y)
    parts = [Information.empty(5).add(w[k : k + 20], y[k : k + 20]) for k in (0, 20, 40)]
    for first, second, third in ((0, 1, 2), (2, 0, 1)):
        total = parts[first].merge(parts[second]).merge(parts[third])
        values, covariance = total.solve()
        assert_allclose(values, expected, rtol=1e-10)
        assert_allclose(covariance, np.linalg.inv(w.T @ w), rtol=1e-9)
        assert_allclose(total.residual, residual[0], rtol=1e-10)
        assert total.rows == 60
    with pytest.raises(ParameterError, match="do not determine"):
        Information.empty(5).add(w[:3], y[:3]).solve()


def test_reported_uncertainty_is_the_real_one():
    """Monte Carlo: unbiased, and the normalised errors follow the χ² that the covariance promises."""
    model = DynamicModel(load("kuka-ir361"), USUAL, NumpyEngine())
    noise = np.sqrt([25.0, 26.0, 10.0])
    delta = 0.5 * np.random.default_rng(5).standard_normal((3, 11))
    motion, true, runs = fourier_motion(delta, 10.0, 300), model.base.base_values(model.nominal), 200
    squares, errors = [], []
    for seed in range(runs):
        data = synthetic(model, motion, model.nominal, noise, seed)
        found = weighted_least_squares(model, motion, data.torque, noise)
        error = found.values - true
        errors.append(error / found.std)
        squares.append(error @ np.linalg.solve(found.covariance, error))
    low, high = chi2.ppf([0.001, 0.999], 21 * runs)
    assert low < sum(squares) < high
    assert (np.abs(np.mean(errors, axis=0)) < 4 / np.sqrt(runs)).all()


def test_least_squares_of_a_long_exact_log_is_exact():
    """Longer than the pieces it is cut into, with friction that remembers: nothing may be lost at the cuts."""
    model = DynamicModel(load("gautier-khalil"), (Viscous(), Coulomb(Dahl(0.05))), NumpyEngine())
    delta = np.random.default_rng(6).standard_normal((3, 7))
    motion = fourier_motion(delta, 5.0, 3000, periods=2)
    chi = np.random.default_rng(7).standard_normal(len(model.standard))
    found = weighted_least_squares(model, motion, model.torque(motion, chi), 1.0)
    assert_allclose(found.values, model.base.base_values(chi), atol=1e-9)
    assert found.sigma0 < 1e-9


def test_bad_data_is_refused():
    model = DynamicModel(load("gautier-khalil"), USUAL, NumpyEngine())
    motion = fourier_motion(np.ones((3, 11)), 10.0, 200)
    good = model.torque(motion)
    for torque, noise in (
        (good[:5], 1.0),
        (good * np.nan, 1.0),
        (good, 0.0),
        (good, -1.0),
        (good, [1.0, 2.0]),
        (good, np.nan),
    ):
        with pytest.raises(ParameterError):
            weighted_least_squares(model, motion, torque, noise)
