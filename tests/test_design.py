"""The thin thread: Fourier motions, criteria, design within limits for all time, least squares with honest σ."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from conftest import random_robot
from exciter.dynamics.model import DynamicModel
from exciter.dynamics.numpy_engine import NumpyEngine
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.criteria import ConditionNumber, DOptimality
from exciter.excitation.design import JointLimits, design
from exciter.excitation.trajectories.fourier import Fourier
from exciter.experiment.synthetic import synthetic
from exciter.identification.information import Information
from exciter.identification.least_squares import weighted_least_squares
from exciter.parameters.terms import Coulomb, Dahl, Viscous
from exciter.robot import load

USUAL = (Viscous(), Coulomb())


def test_fourier_motion_is_its_own_derivative_and_repeats():
    trajectory = Fourier(period=4.0, harmonics=3, samples=50)
    delta = np.random.default_rng(0).standard_normal((2, 7))
    t, h = np.linspace(0.0, 4.0, 23), 1e-4
    motion, later, earlier = (trajectory.motion(delta, t + s) for s in (0.0, h, -h))
    assert_allclose((later.q - earlier.q) / (2 * h), motion.qd, atol=1e-6)
    assert_allclose((later.qd - earlier.qd) / (2 * h), motion.qdd, atol=1e-6)
    assert_allclose(trajectory.motion(delta, t + 4.0).q, motion.q, atol=1e-12)
    assert_allclose(trajectory.motion(delta).q, trajectory.motion(delta, trajectory.time).q)


def test_fourier_pullback_is_the_transpose():
    trajectory = Fourier(samples=30)
    rng = np.random.default_rng(1)
    delta, step = rng.standard_normal((2, 3, 11))
    gradient = trajectory.motion(rng.standard_normal((3, 11)))  # any motion serves as a gradient
    moved, still = trajectory.motion(delta + step), trajectory.motion(delta)
    change = sum(((getattr(moved, x) - getattr(still, x)) * getattr(gradient, x)).sum() for x in ("q", "qd", "qdd"))
    assert_allclose((trajectory.pullback(gradient) * step).sum(), change)


def test_published_table_of_a_fourier_trajectory():
    """Coefficients as printed in the papers: the reference set B_c2 evaluates to its known figures."""
    import json

    from conftest import SHARED_DATA

    path = SHARED_DATA.parent / "reference" / "papers_trajectories.json"
    if not path.exists():
        pytest.skip("the reference trajectories are not beside the project")
    model = DynamicModel(load("kuka-ir361"), USUAL, NumpyEngine())
    for name in ("B_c1", "B_c2"):
        reference = json.loads(path.read_text())[name]
        motion = Fourier(period=10.0, harmonics=5, samples=1500).motion(reference["coef"])
        w = model.base.project(model.regressor(motion)) / np.sqrt([25.0, 26.0, 10.0])[:, None]
        w = w.reshape(-1, 21)
        singular = np.linalg.svd(w / np.linalg.norm(w, axis=0), compute_uv=False)
        assert_allclose(singular[0] / singular[-1], reference["cond"], rtol=2e-4)
        assert_allclose(-np.linalg.slogdet(w.T @ w)[1] / np.log(10), reference["log10det"], atol=5e-4)


@pytest.mark.parametrize("robot", ["panda", "ur10e", "gantry", "one-sided"])
def test_limits_hold_between_the_samples(robot):
    """Any coefficients, however wild, become a motion within limits at every instant."""
    arm = random_robot(3, 3, prismatic=1.0) if robot == "gantry" else load("panda" if robot == "one-sided" else robot)
    if robot == "one-sided":
        arm = arm.with_limits(upper={"joint_1": np.inf}, lower={"joint_3": -np.inf, "joint_5": -np.inf})
        arm = arm.with_limits(upper={"joint_5": np.inf})
    trajectory = Fourier(period=3.0, harmonics=5)
    limits = JointLimits.of(arm, trajectory)
    time = np.linspace(0.0, 3.0, 40001)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((arm.n, 11)) * 10.0 ** rng.uniform(-4, 3, (arm.n, 1))
        motion = trajectory.motion(limits.shrink(x)[0], time)
        assert (motion.q >= arm.limit("lower") - 1e-12).all()
        assert (motion.q <= arm.limit("upper") + 1e-12).all()
        assert (np.abs(motion.qd) <= arm.limit("velocity") * (1 + 1e-12)).all()
        assert (np.abs(motion.qdd) <= arm.limit("acceleration") * (1 + 1e-12)).all()


def test_shrinking_has_the_gradient_it_claims():
    arm = load("panda")
    limits = JointLimits.of(arm, Fourier())
    rng = np.random.default_rng(2)
    x, direction, seed = rng.standard_normal((3, arm.n, 11))
    slope = (limits.shrink(x)[1](seed) * direction).sum()
    h = 1e-6
    difference = ((limits.shrink(x + h * direction)[0] - limits.shrink(x - h * direction)[0]) * seed).sum() / (2 * h)
    assert_allclose(slope, difference, rtol=1e-6)


def test_design_improves_on_its_start_and_stays_within_limits():
    model = DynamicModel(load("kuka-ir361"), USUAL, NumpyEngine())
    noise = np.sqrt([25.0, 26.0, 10.0])
    few = design(model, Fourier(), noise=noise, seed=3, iterations=1)
    many = design(model, Fourier(), noise=noise, seed=3)
    again = design(model, Fourier(), noise=noise, seed=3)
    assert many.value < few.value - 5
    assert many.value == again.value
    assert many.margin <= 1.0
    motion = many.trajectory.motion(many.coefficients, np.linspace(0.0, 10.0, 20001))
    assert (np.abs(motion.qd) <= 1.45 + 1e-12).all()
    assert (np.abs(motion.qdd) <= 3.0 + 1e-12).all()


def test_limits_that_cannot_be_kept_are_refused():
    arm = random_robot(3, 3, prismatic=1.0).with_limits(upper=np.inf)
    with pytest.raises(ExciterError, match="'j1' has no end"):
        JointLimits.of(arm, Fourier())
    arm = load("panda").with_limits(velocity=np.inf, acceleration=np.inf)
    with pytest.raises(ExciterError, match="neither a velocity nor an acceleration limit"):
        JointLimits.of(arm, Fourier())
    for settings in ({"period": 0.0}, {"harmonics": 0}, {"samples": 5}, {"period": np.nan}):
        with pytest.raises(ExciterError):
            Fourier(**settings)


def test_criteria_of_a_singular_matrix_are_infinite():
    h = np.ones((3, 3))
    for criterion in (DOptimality(), ConditionNumber()):
        assert criterion(h)[0] == np.inf
        assert criterion(np.zeros((3, 3)))[0] == np.inf


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
    trajectory = Fourier(samples=300)
    delta = JointLimits.of(model.robot, trajectory).shrink(np.random.default_rng(5).standard_normal((3, 11)))[0]
    motion, true, runs = trajectory.motion(delta), model.base.base_values(model.nominal), 200
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
    motion = Fourier(period=5.0, harmonics=3).motion(
        np.random.default_rng(6).standard_normal((3, 7)), np.arange(6000) / 600
    )
    chi = np.random.default_rng(7).standard_normal(len(model.standard))
    found = weighted_least_squares(model, motion, model.torque(motion, chi), 1.0)
    assert_allclose(found.values, model.base.base_values(chi), atol=1e-9)
    assert found.sigma0 < 1e-9


def test_bad_data_is_refused():
    model = DynamicModel(load("gautier-khalil"), USUAL, NumpyEngine())
    motion = Fourier().motion(np.ones((3, 11)))
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
    with pytest.raises(ParameterError):
        design(model, Fourier(), noise=[1.0, 2.0])
