"""Robust, total and essential least squares: exact on exact data, honest by Monte Carlo, equal to other oracles."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, stats

from exciter.errors import ParameterError
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.identification.estimators.least_squares import Essential, WeightedLeastSquares
from exciter.identification.estimators.robust import (
    GAUSSIAN_ABSOLUTE_MEDIAN,
    AbsoluteMedian,
    Bisquare,
    Huber,
    HuberLoss,
    IterativelyReweighted,
)
from exciter.identification.estimators.total_least_squares import (
    TotalLeastSquares,
    total_covariance,
    total_least_squares,
)
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.joint_factors import JointFactors
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.notes import in_one_line, texts
from support.given_rows import Experiment, Given, moving

pytestmark = pytest.mark.slow

SIGMA = np.array([1.0, 2.0, 0.5])
ROBUST = (Huber(), IterativelyReweighted())
ALL = (*ROBUST, TotalLeastSquares(), Essential())


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return Experiment.of(moving(300))


def gaussian(experiment: Experiment, rng: np.random.Generator) -> np.ndarray:
    return SIGMA * rng.standard_normal(experiment.exact.shape)


def contaminated(experiment: Experiment, rng: np.random.Generator) -> np.ndarray:
    """5 % of the errors are thirty times as large."""
    return gaussian(experiment, rng) * np.where(rng.random(experiment.exact.shape) < 0.05, 30.0, 1.0)


# -- all of them -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_exact_data_give_exact_parameters(experiment, estimator):
    found = estimator.estimate(experiment.problem(experiment.exact))
    assert_allclose(found.values, experiment.true, rtol=1e-9, atol=1e-9)
    assert (found.std < 1e-9).all()


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_any_equations_will_do(experiment, estimator):
    """Filtered and decimated rows, in several runs; and rows of one equation per instant, which belong to no joint."""
    motion = moving(900, harmonics=8)
    torque = experiment.model.torque(motion, np.linspace(0.5, 1.5, len(experiment.model.standard)))
    true = experiment.model.base.base_values(np.linspace(0.5, 1.5, len(experiment.model.standard)))
    runs = tuple(Run.at(motion[part], torque[part], 100.0) for part in (slice(0, 400), slice(400, 900)))
    filtered = Problem(experiment.model, runs, InverseDynamic(ParallelFilter(factor=2)))
    assert_allclose(estimator.estimate(filtered).values, true, rtol=1e-8, atol=1e-8)
    whole = experiment.problem(experiment.exact)
    summed = whole.formulation.given.sides.sum(axis=1, keepdims=True)
    rows = type(whole.formulation.given)(experiment.motion.time, summed, 100.0, ("power",), experiment.names)
    power = Problem(experiment.model, whole.runs, Given(rows), folds=1)
    found = estimator.estimate(power)
    assert_allclose(found.values, experiment.true, rtol=1e-7, atol=1e-7)
    assert found.noise.shape == (1,)


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_too_few_equations_are_refused(estimator):
    few = Experiment.of(moving(300)[:6])
    with pytest.raises(ParameterError, match="18 equations for 21 parameters"):
        estimator.estimate(few.problem(few.exact))


# -- M-estimators ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "noise"),
    [(Huber(), gaussian), (Huber(), contaminated), (IterativelyReweighted(), contaminated)],
    ids=["Huber, Gaussian", "Huber, outliers", "bisquare, outliers"],
)
def test_robust_uncertainty_is_the_real_one(experiment, estimator, noise):
    repetitions = experiment.repeated(
        estimator, lambda rng: experiment.problem(experiment.exact + noise(experiment, rng)), 60
    )
    repetitions.assert_honest()


@pytest.mark.parametrize("estimator", ROBUST, ids=lambda e: type(e).__name__)
def test_outliers_hardly_matter_and_are_counted(experiment, estimator):
    """5 % of one joint's equations far off: the error stays near that of clean data, far below least squares'."""
    rng = np.random.default_rng(8)
    clean = experiment.exact + gaussian(experiment, rng)
    bad = clean.copy()
    struck = rng.choice(300, 15, replace=False)
    bad[struck, 1] += rng.choice([-1.0, 1.0], 15) * 200.0
    weighted = WeightedLeastSquares().estimate(experiment.problem(bad))
    found, undisturbed = (estimator.estimate(experiment.problem(y)) for y in (bad, clean))

    def size(estimate):
        return np.linalg.norm((estimate.values - experiment.true) / undisturbed.std)

    assert size(found) < 1.5 * size(undisturbed) + 1.0
    assert size(found) < 0.2 * size(weighted)
    assert_allclose(found.noise, SIGMA, rtol=0.25)
    assert weighted.noise[1] > 10 * SIGMA[1]
    counts = {one.joint: one.numbers["count"] for one in found.notes[1:]}
    assert tuple(counts) == experiment.model.robot.joint_names
    assert 15 <= counts["joint_2"] <= 25
    assert max(counts["joint_1"], counts["joint_3"]) < 12
    assert "passes" in found.notes[0].text


@pytest.mark.parametrize("loss", [HuberLoss(), Bisquare()], ids=lambda e: type(e).__name__)
def test_the_estimate_solves_the_equations_of_its_loss(experiment, loss):
    """Σ wᵀ ψ(e/s)/s = 0 over the whole W, which the estimator never has."""
    rng = np.random.default_rng(5)
    y = experiment.exact + contaminated(experiment, rng)
    found = IterativelyReweighted(loss, tolerance=1e-8).estimate(experiment.problem(y))
    u = (y - experiment.w @ found.values) / found.noise
    left = np.einsum("njp,nj->p", experiment.w / found.noise[:, None], u * loss.weight(u))
    plain = np.einsum("njp,nj->p", np.abs(experiment.w) / found.noise[:, None], np.abs(u))
    assert (np.abs(left) < 1e-7 * plain).all()


@pytest.mark.parametrize("loss", [HuberLoss(), Bisquare()], ids=lambda e: type(e).__name__)
def test_losses(loss):
    u = np.linspace(-6, 6, 1001)
    h = 1e-6
    slope = ((u + h) * loss.weight(u + h) - (u - h) * loss.weight(u - h)) / (2 * h)
    smooth = np.abs(np.abs(u) - getattr(loss, "k", loss.half)) > 1e-3
    assert_allclose(loss.slope(u)[smooth], slope[smooth], atol=1e-6)
    assert_allclose(loss.weight(np.array([loss.half])), 0.5)
    assert_allclose(loss.efficiency, 0.95, atol=1e-3)
    with pytest.raises(ParameterError, match=r"is 0.0; give a number > 0"):
        type(loss)(0.0)


def test_without_a_loss_only_variances_are_reweighted(experiment):
    problem = experiment.problem(experiment.exact + gaussian(experiment, np.random.default_rng(1)))
    found, expected = IterativelyReweighted(None).estimate(problem), WeightedLeastSquares().estimate(problem)
    assert_allclose(found.values, expected.values, rtol=1e-12)
    # a Huber loss that nothing is beyond is least squares, too, only with scales from medians
    wide = Huber(1e9).estimate(problem)
    same = WeightedLeastSquares(tuple(wide.noise)).estimate(problem)
    assert_allclose(wide.values, same.values, rtol=1e-9)


def test_the_median_of_a_stream():
    """In pieces, with a guess that is far off, against NumPy's median of all."""
    residuals = np.random.default_rng(2).standard_normal((3, 20001)) * SIGMA[:, None] * 0.01
    median = AbsoluteMedian(np.ones(3) * 7.0)
    for piece in np.array_split(residuals, 13, axis=1):
        median.see(piece)
    assert_allclose(median.value, np.median(np.abs(residuals), axis=1) / GAUSSIAN_ABSOLUTE_MEDIAN, rtol=2e-3)


# -- total least squares -----------------------------------------------------------------------------------------------


def test_total_least_squares_of_one_group_is_the_singular_vector():
    """Closed form from the triangular factor, against the SVD of the whole matrix, and against elimination of exact
    columns by projection."""
    rng = np.random.default_rng(1)
    sides = rng.standard_normal((80, 6))
    sizes = np.array([0.5, 1.0, 2.0, 0.3, 0.7, 1.5])
    factor = np.linalg.qr(sides, mode="r")
    v = np.linalg.svd(sides / sizes)[2][-1] / sizes
    assert_allclose(total_least_squares(factor, sizes), -v[:-1] / v[-1], rtol=1e-9)
    exact = sizes * [0, 1, 1, 0, 1, 1]
    projector = linalg.null_space(sides[:, [0, 3]].T)
    rest = projector.T @ sides[:, [1, 2, 4, 5]]
    noisy = sizes[[1, 2, 4, 5]]
    v = np.linalg.svd(rest / noisy)[2][-1] / noisy
    values = total_least_squares(factor, exact)
    assert_allclose(values[[1, 2, 4]], -v[:-1] / v[-1], rtol=1e-9)
    left = sides[:, -1] - sides[:, [1, 2, 4]] @ values[[1, 2, 4]]
    assert_allclose(values[[0, 3]], np.linalg.lstsq(sides[:, [0, 3]], left)[0], rtol=1e-9)
    everything_exact = total_least_squares(factor, np.array([0.0, 0, 0, 0, 0, 1]))
    assert_allclose(everything_exact, np.linalg.lstsq(sides[:, :5], sides[:, 5])[0], rtol=1e-9)


def noisy_regressor(experiment: Experiment, share: float, rng: np.random.Generator) -> Problem:
    """Every entry of [W y] with errors of a share of its column's root mean square; not the signs of velocity."""
    size = share * np.sqrt((experiment.w**2).mean(axis=0)) * ~np.char.startswith(experiment.names, "Fs")
    w = experiment.w + size * rng.standard_normal(experiment.w.shape)
    size = share * np.sqrt((experiment.exact**2).mean(axis=0))
    return experiment.problem(experiment.exact + size * rng.standard_normal(experiment.exact.shape), w)


def test_total_least_squares_is_consistent_where_least_squares_is_not():
    experiment = Experiment.of(moving(1000))
    repetitions = experiment.repeated(TotalLeastSquares(), lambda rng: noisy_regressor(experiment, 0.1, rng), 60)
    repetitions.assert_honest()
    ordinary = experiment.repeated(WeightedLeastSquares(), lambda rng: noisy_regressor(experiment, 0.1, rng), 20)
    assert np.abs(ordinary.bias).max() > 8.0
    assert ordinary.covered.mean() < 0.9
    assert "10 %" in repetitions.found[0].notes[0].text or "9.9 %" in repetitions.found[0].notes[0].text


def test_total_least_squares_of_all_joints_is_a_minimum(experiment):
    """No step along any parameter lowers the sum over joints, formed from the whole matrix."""
    problem = noisy_regressor(experiment, 0.1, np.random.default_rng(3))
    estimator = TotalLeastSquares()
    found = estimator.estimate(problem)
    rows = problem.formulation.given
    sizes = estimator.sizes(problem.compressed)
    sigma = found.noise / np.sqrt(sizes**2 @ np.append(found.values**2, 1.0))

    def objective(x):
        squares = ((rows.y - rows.w @ x) ** 2).sum(axis=0)
        return (squares / (sigma**2 * (sizes**2 @ np.append(x**2, 1.0)))).sum()

    best = objective(found.values)
    for k in range(len(found.values)):
        step = np.zeros(len(found.values))
        step[k] = 1e-3 * found.std[k]
        rise = objective(found.values + step) - best, objective(found.values - step) - best
        assert min(rise) > 0.0
        assert_allclose(rise[0], rise[1], rtol=0.05)  # level at the minimum


def test_covariance_where_errors_of_the_columns_are_large():
    """Half the size of the columns: what they add to the covariance, and take from what W says, is no detail."""
    rng = np.random.default_rng(6)
    true, names, size = np.array([1.0, -2.0, 0.5]), ("a", "b", "c"), np.array([0.5, 0.5, 0.0, 0.5])
    w = rng.standard_normal((400, 3))
    whole = np.column_stack([w, w @ true])
    found, reported = [], []
    for _ in range(800):
        noisy = whole + size * rng.standard_normal(whole.shape)
        factor = np.linalg.qr(noisy, mode="r")[None, None]
        rows = np.array([[400]])
        packed = JointFactors.of(factor)
        compressed = Compressed(names, ("y",), packed, rows, rows.astype(float), np.zeros(1, int), np.zeros(1, int))
        values = total_least_squares(factor[0, 0], size)
        residual = compressed.squares(values)[0, 0] / (size**2 @ np.append(values**2, 1.0))
        found.append(values)
        reported.append(total_covariance(compressed, size[None], np.sqrt([residual / 397]), values))
    assert (np.abs(np.mean(found, axis=0) - true) < 0.02).all()
    assert_allclose(np.std(found, axis=0), np.sqrt(np.mean(reported, axis=0).diagonal()), rtol=0.08)
    with pytest.raises(ParameterError, match="explain all that W says of b"):
        total_covariance(compressed, np.array([[0.5, 3.0, 0.0, 0.5]]), np.ones(1), values)


def test_what_total_least_squares_is_told(experiment):
    problem = noisy_regressor(experiment, 0.05, np.random.default_rng(3))
    exact = TotalLeastSquares(errors={}).estimate(problem)
    assert_allclose(exact.values, WeightedLeastSquares().estimate(problem).values, rtol=1e-6)
    told = TotalLeastSquares(errors={"ZZR1": 1.0, "Fv1": 0.5}, exact=())
    sizes = told.sizes(problem.compressed)
    assert sizes.sum() == 3.0 + 1.5  # in the equations of joint 1 only: zeros elsewhere are exact
    with pytest.raises(ParameterError, match="unknown parameter 'ZZ9'"):
        TotalLeastSquares(errors={"ZZ9": 1.0}).estimate(problem)
    with pytest.raises(ParameterError, match=r"ZZR1 is -1.0; give a number ≥ 0"):
        TotalLeastSquares(errors={"ZZR1": -1.0}).estimate(problem)


# -- essential parameters ----------------------------------------------------------------------------------------------


def test_parameters_that_are_zero_go_and_large_ones_stay(experiment):
    zeros = ("XY2", "YZ3", "Fs2")
    without = experiment.with_zeros(*zeros)
    repetitions = without.repeated(
        Essential(), lambda rng: without.problem(without.exact + gaussian(without, rng)), 120
    )
    kept = np.mean([found.values != 0.0 for found in repetitions.found], axis=0)
    zero = np.isin(without.names, zeros)
    assert (kept[~zero] == 1.0).all()
    assert 0.02 < kept[zero].mean() < 0.09  # the level is 0.05
    assert 0.93 < repetitions.covered[:, ~zero].mean() < 0.97
    found = repetitions.found[0]
    dropped = found.values == 0.0
    assert (found.std[dropped] == 0.0).all()
    assert all(found.status[k] == "not significant" for k in np.flatnonzero(dropped))
    assert (found.std[~zero] > 0.0).all()
    assert "dropped are zero" in in_one_line(found.assumptions)


def test_evidence_of_every_step(experiment):
    """F of a step against two least-squares fits of the whole rows; p-values from it; the last step is a refusal."""
    without = experiment.with_zeros("XY2", "YZ3", "Fs2")
    y = without.exact + gaussian(without, np.random.default_rng(4))
    problem = without.problem(y)
    steps = Essential().steps(problem.compressed)
    assert [step.dropped for step in steps] == [True] * (len(steps) - 1) + [False]
    noise = WeightedLeastSquares().estimate(problem).noise
    w = (without.w / noise[:, None]).reshape(-1, len(without.names))
    kept, before, full = list(range(len(without.names))), None, 0.0
    for step in steps:
        squares = float(np.linalg.lstsq(w[:, kept], (y / noise).ravel())[1][0])
        if before is not None:
            assert_allclose(squares - before[0], before[1].f, rtol=1e-6)
        assert_allclose(step.before, np.sqrt(squares / 900), rtol=1e-9)
        assert_allclose(step.probability, stats.f.sf(step.f, 1, 879), rtol=1e-9)
        q, full = 22 - len(kept), full or squares
        assert_allclose(step.together, stats.f.sf((squares + step.f - full) / q, q, 879), rtol=1e-6)
        before = squares, step
        kept.remove(without.names.index(step.name))
    found = Essential().estimate(problem)
    assert found.notes[0].text == f"{21 - len(steps) + 1} essential of 21 parameters"
    assert all(step.name in line for step, line in zip(steps, texts(found.notes[1:]), strict=True))


def test_what_must_stay_stays(experiment):
    without = experiment.with_zeros("XY2", "YZ3")
    problem = without.problem(without.exact + gaussian(without, np.random.default_rng(4)))
    assert Essential(keep=("XY2",)).estimate(problem).values[without.names.index("XY2")] != 0.0
    with pytest.raises(ParameterError, match="unknown parameter 'XY9'"):
        Essential(keep=("XY9",)).estimate(problem)
    with pytest.raises(ParameterError, match=r"level is 1.5; give a number > 0 and < 1"):
        Essential(level=1.5)
