"""Ordinary least squares with one σ for all equations, [12.5]–[12.10] of Khalil & Dombre, from dense W and Y."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import exciter as ex
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.identification.estimators.least_squares import OrdinaryLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.identify_config import IdentifyConfig, IdentifySettings
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import load
from support.monte_carlo import Bench, repeat
from support.robots import smooth_motion

NOISE = np.array([2.0, 0.5, 0.1])
FILTERS = {"as measured": None, "decimated": ParallelFilter(factor=5), "all kept": ParallelFilter(Butterworth(5.0), 1)}


def problem(through: ParallelFilter | None) -> Problem:
    model = DynamicModel(load("gautier-khalil"), (Viscous(), Coulomb()))
    motion = smooth_motion(model.robot, np.arange(2000) * 0.01, 1)
    torque = model.torque(motion) + NOISE * np.random.default_rng(1).standard_normal(motion.q.shape)
    return Problem(model, (Run.at(motion, torque, 100.0),), InverseDynamic(through), folds=3)


@pytest.mark.parametrize("through", FILTERS)
def test_it_is_the_chapter_to_the_letter(through):
    given = problem(FILTERS[through])
    rows = [rows.equations() for _, rows in given.rows()]
    w, y = np.vstack([one for one, _ in rows]), np.concatenate([one for _, one in rows])
    r, c = w.shape
    chi = np.linalg.pinv(w) @ y  # [12.5]
    sigma = np.linalg.norm(y - w @ chi) / np.sqrt(r - c)  # [12.7]
    covariance = sigma**2 * np.linalg.inv(w.T @ w)  # [12.8]
    found = OrdinaryLeastSquares(noise="common").estimate(given)
    assert_allclose(found.values, chi, rtol=1e-8)
    assert_allclose(found.noise, np.full(3, sigma), rtol=1e-9)
    assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-9 * np.abs(covariance).max())
    assert_allclose(found.std, np.sqrt(covariance.diagonal()), rtol=1e-8)  # [12.9]
    assert_allclose(found.relative_std_percent, 100.0 * np.sqrt(covariance.diagonal()) / np.abs(chi), rtol=1e-7)
    assert found.freedom == r - c
    texts = " ".join(one.text for one in found.assumptions)
    assert "one σ for the errors of all equations" in texts
    assert ("too small" in texts) == (through != "as measured")


DRAWS = 400


def bench(noise) -> Bench:
    """Few rows, so that r − c is not r: 50 instants of three joints for 21 parameters."""
    model = DynamicModel(load("gautier-khalil"), (Viscous(), Coulomb()))
    motion = smooth_motion(model.robot, np.arange(50) * 0.1, 1)
    given = Problem(model, (Run.at(motion, model.torque(motion), 10.0),), InverseDynamic(), folds=1)
    return Bench(given, model.base.base_values(model.nominal), lambda rng: noise * rng.standard_normal(motion.q.shape))


def test_sigma_is_that_of_the_errors_again_and_again():
    """Errors of one σ in all equations: σ_ρ² [12.7] has no bias, the covariance [12.8] is that of the errors in every
    direction, and intervals cover what they say."""
    drawn = bench(0.7)
    found = repeat(drawn, OrdinaryLeastSquares(noise="common").estimate, DRAWS)
    p = found.errors.shape[1]
    assert np.abs(found.bias).max() < 4.0
    assert_allclose(found.ratio, 1.0, atol=0.16)  # σ of one ratio: 1/√(2 DRAWS) = 0.035
    assert found.ratio.mean() == pytest.approx(1.0, abs=0.03)
    # F(p, r − c): its mean and σ; squares are errorᵀ Cov⁻¹ error
    freedom = 3 * 50 - p
    expected = stats.f(p, freedom)
    assert found.squares.mean() / p == pytest.approx(expected.mean(), abs=4.0 * expected.std() / np.sqrt(DRAWS))
    assert abs(found.coverage - 0.95) < 4.0 * found.coverage_error
    sigma = np.array([OrdinaryLeastSquares("common").estimate(drawn.draw(seed)).noise[0] for seed in range(DRAWS)])
    assert (sigma**2).mean() == pytest.approx(0.49, rel=4.0 * np.sqrt(2.0 / freedom / DRAWS))
    # where joints differ, it is wrong, as its assumption says
    wrong = repeat(bench(NOISE), OrdinaryLeastSquares(noise="common").estimate, DRAWS // 4)
    assert wrong.ratio.max() > 1.2
    assert wrong.ratio.min() < 0.3


def test_sigma_per_joint_is_another_one():
    """Where joints differ, as here by 20, one σ is wrong for all of them; the values are the same."""
    own, one = (OrdinaryLeastSquares(noise).estimate(problem(None)) for noise in ("per-joint", "common"))
    assert_allclose(own.values, one.values, rtol=1e-12)
    assert_allclose(own.noise, NOISE, rtol=0.1)
    assert own.noise.min() < 0.2 * one.noise[0] < own.noise.max()


def test_settings_ask_for_it():
    settings = IdentifyConfig.of({"identify": {"estimator": {"ols": {"noise": "common"}}}}, "here").settings
    assert settings.estimator == OrdinaryLeastSquares(noise="common")
    with pytest.raises(ExciterError, match="noise is 'one'; allowed are per-joint, common"):
        IdentifyConfig.of({"identify": {"estimator": {"ols": {"noise": "one"}}}}, "here")
    for word in ("correlated", "hac"):
        with pytest.raises(ExciterError, match="two covariances"):
            IdentifySettings(estimator=OrdinaryLeastSquares(noise="common"), uncertainty=word)


def test_the_front_door_keeps_it():
    """What an identification adds to a covariance elsewhere (errors that are alike, missing terms) stays out."""
    given = problem(None).runs[0].parts[0]
    log = ex.Recording.of(given.motion.time, given.motion.q, given.torque)
    one = ex.OrdinaryLeastSquares(noise="common")
    found = ex.identify("gautier-khalil", log, estimator=one, automatic=False, accept_problems=True)
    estimate = found.identification.estimate
    assert (estimate.noise == estimate.noise[0]).all()
    assert "[12.6]–[12.9]" in estimate.assumptions[0].text
    compressed = found.identification.problem.compressed
    gram = compressed.information().gram()
    assert_allclose(estimate.covariance, estimate.noise[0] ** 2 * np.linalg.inv(gram), rtol=1e-6)
