"""Covariance with correlated errors, torque bands, whiteness, drift: against dense formulas, and by Monte Carlo."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.identification.estimators.least_squares import Essential, OrdinaryLeastSquares, WeightedLeastSquares
from exciter.identification.estimators.robust import Huber
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information import compressed as compressed_module
from exciter.identification.information.compressed import compress
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty import covariance_of_correlated_errors as correlated
from exciter.identification.uncertainty.conditioning import explain
from exciter.identification.uncertainty.covariance_of_correlated_errors import (
    HeteroscedasticErrors,
    StationaryErrors,
    sandwich,
    with_correlated_errors,
)
from exciter.identification.uncertainty.drift import find_drift
from exciter.identification.uncertainty.residual_autocorrelation import (
    LinearFit,
    Taper,
    blocked,
    correlations,
    fading,
    linear_fit,
)
from exciter.robot import Motion, load
from support.estimates import whiteness
from support.monte_carlo import Bench, Redrawn, linear, repeat
from support.torque_band import torque_band
from support.warming_robot import NOISE, ROBOT, coloured, model, moved, warming

pytestmark = pytest.mark.slow


def problem_of(motion: Motion, torque: np.ndarray, rate: float, through: ParallelFilter | None = None) -> Problem:
    return Problem(model(), (Run.at(motion, torque, rate),), InverseDynamic(through), folds=1)


def bench(motion: Motion, rate: float, errors, through: ParallelFilter | None = None) -> Bench:
    problem = problem_of(motion, model().torque(motion), rate, through)
    passed = () if through is None else (linear(through, problem),)
    return Bench(problem, problem.base.base_values(model().nominal), errors, *passed)


def autoregressive(rate: float = 60.0, seconds: float = 15.0, pole: float = 0.8) -> Bench:
    motion = moved(rate, seconds)
    return bench(motion, rate, lambda rng: NOISE * coloured(rng, len(motion), pole))


def true_covariance(b: Bench, errors_covariance: np.ndarray) -> np.ndarray:
    """Of weighted least squares with weights NOISE; errors_covariance (J N, J N), joint after joint."""
    w = np.concatenate([rows.w for _, rows in b.problem.rows()]).transpose(1, 0, 2) / NOISE[:, None, None]
    w = w.reshape(-1, w.shape[2])
    scale = np.repeat(NOISE, len(w) // 3)
    bread = np.linalg.inv(w.T @ w)
    return bread @ w.T @ (errors_covariance / np.outer(scale, scale)) @ w @ bread


def reported_variance(b: Bench, errors, draws: int) -> np.ndarray:
    given = WeightedLeastSquares(tuple(NOISE.tolist()))
    found = [with_correlated_errors(p, given.estimate(p), errors) for p in map(b.draw, range(draws))]
    return np.mean([e.covariance.diagonal() for e in found], axis=0)


# -- the sandwich against dense matrices -------------------------------------------------------------------------------


def torn(seed: int = 0) -> Redrawn:
    """Two runs, the first with a gap, in pieces of any length."""
    b = autoregressive(40.0, 12.0, 0.7)
    drawn = b.draw(seed)
    ((_, rows),) = drawn.given
    cuts = [0, 1, 60, 61, 130, 200, 290, 480]  # the gap is before 130, the second run begins at 290
    pieces = []
    for a, z in pairwise(cuts):
        part = rows[a:z]
        late = 5.0 if 130 <= a < 290 else 0.0
        pieces.append((int(a >= 290), replace(part, time=part.time + late)))
    runs = (b.problem.runs[0], b.problem.runs[0])
    whole = Redrawn(b.problem.model, runs, folds=1, make=lambda: tuple(pieces))
    labelled = [(i, np.zeros(len(r), dtype=np.int64), r) for i, r in pieces]
    whole.__dict__["compressed"] = compress(labelled, whole.names, whole.joints, 2, 1)
    return whole


STRETCHES = (slice(0, 130), slice(130, 290), slice(290, 480))


def dense(problem: Redrawn, fit: LinearFit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W (N, J, p), residuals (N, J), and number of the stretch of every instant."""
    w = np.concatenate([rows.w for _, rows in problem.given])
    y = np.concatenate([rows.y for _, rows in problem.given])
    stretch = np.zeros(len(y), dtype=int)
    for k, part in enumerate(STRETCHES):
        stretch[part] = k
    return w, y - w @ fit.values, stretch


def test_correlations_are_those_of_the_definition():
    problem = torn()
    fit = linear_fit(problem, WeightedLeastSquares().estimate(problem))
    (found,) = correlations(problem, fit)
    w, e, stretch = dense(problem, fit)
    bread = fit.inverse_root @ fit.inverse_root.T
    for lag in (0, 1, 7, 30):
        same = stretch[lag:] == stretch[: len(e) - lag]
        later, before = e[lag:][same], e[: len(e) - lag][same]
        np.testing.assert_allclose(found.covariance[lag], later.T @ before / len(e), rtol=1e-9, atol=1e-10)
        hat = np.einsum("tjp,pq,tjq->j", w[lag:][same], bread, w[: len(e) - lag][same]) / fit.weights**2
        np.testing.assert_allclose(found.leverage[lag], hat, rtol=0.5, atol=0.6)  # by random probes
    assert found.rows.tolist() == [480.0, 480.0, 480.0]
    assert found.leverage[0].sum() == pytest.approx(21.0, rel=0.25)


@pytest.mark.parametrize("across", [True, False])
def test_stationary_covariance_is_the_dense_sandwich(across):
    """A⁻¹ Wᵀ C W A⁻¹ with the whole matrix C, zero between stretches, block by block of joints."""
    problem, lags = torn(), 9
    fit = linear_fit(problem, OrdinaryLeastSquares().estimate(problem))
    found = sandwich(problem, fit, StationaryErrors(lags, across))
    (c,) = correlations(problem, fit)
    taper = Taper.parzen(lags)
    w, e, stretch = dense(problem, fit)
    n = len(e)
    apart = np.subtract.outer(np.arange(n), np.arange(n))
    near = (np.abs(apart) <= lags) & (stretch[:, None] == stretch[None, :])
    left = np.sqrt(c.left(taper))
    meat = np.zeros((21, 21))
    for j in range(3):
        for i in range(3):
            after, before = c.covariance[:, j, i], c.covariance[:, i, j]
            lagged = np.where(apart >= 0, after[np.clip(apart, 0, lags)], before[np.clip(-apart, 0, lags)])
            lagged = lagged * taper.weights[np.clip(np.abs(apart), 0, lags)] * near / (left[j] * left[i])
            if across or i == j:
                meat += w[:, j].T @ lagged @ w[:, i]
    bread = np.linalg.inv(sum(w[:, j].T @ w[:, j] for j in range(3)))
    np.testing.assert_allclose(found.covariance, bread @ meat @ bread, rtol=1e-7, atol=1e-9 * found.covariance.max())
    assert np.linalg.eigvalsh(found.covariance / np.outer(*[np.sqrt(found.covariance.diagonal())] * 2)).min() > -1e-9


def test_newey_west_is_its_formula():
    problem, lags = torn(), 12
    fit = linear_fit(problem, WeightedLeastSquares().estimate(problem))
    found = sandwich(problem, fit, HeteroscedasticErrors(lags))
    (c,) = correlations(problem, fit)
    taper = Taper.bartlett(lags)
    w, e, stretch = dense(problem, fit)
    scores = np.einsum("tjp,tj->tp", w, e / (fit.weights**2 * np.sqrt(c.left(taper))))
    meat = np.zeros((21, 21))
    for lag in range(lags + 1):
        same = stretch[lag:] == stretch[: len(e) - lag]
        part = taper.weights[lag] * scores[lag:][same].T @ scores[: len(e) - lag][same]
        meat += part if lag == 0 else part + part.T
    bread = fit.inverse_root @ fit.inverse_root.T
    np.testing.assert_allclose(found.covariance, bread @ meat @ bread, rtol=1e-7, atol=1e-9 * found.covariance.max())


def test_blocks_are_an_orthogonal_projection():
    """Sums of eight rows over √8, across pieces of any length; what is left over at the end is dropped."""
    ((_, rows),) = autoregressive(40.0, 12.0).draw(0).given
    pieces = [rows[a:z] for a, z in ((0, 3), (3, 5), (5, 100), (100, 101), (101, 477), (477, 480))]
    made = list(blocked(iter(pieces), 7))
    sides = np.concatenate([piece.sides for piece in made])
    expected = rows.sides[: 68 * 7].reshape(68, 7, *rows.sides.shape[1:]).sum(axis=1) / np.sqrt(7)
    np.testing.assert_allclose(sides, expected, atol=1e-9)
    assert made[0].rate == pytest.approx(40.0 / 7)


def test_long_logs_in_blocks_give_the_same(monkeypatch):
    """Errors that are alike, in blocks of 10 ms; white ones in blocks so long that W changes within them."""
    motion = moved(400.0, 15.0)
    alike = bench(motion, 400.0, lambda rng: NOISE * coloured(rng, len(motion), 0.9)).draw(0)
    fast = moved(50.0, 40.0, period=1.0)
    white = bench(fast, 50.0, lambda rng: NOISE * rng.standard_normal((len(fast), 3))).draw(0)
    for problem, block in ((alike, 0.01), (white, 0.1)):
        estimate = WeightedLeastSquares().estimate(problem)
        whole = with_correlated_errors(problem, estimate)
        with monkeypatch.context() as patched:
            patched.setattr(correlated, "LONG_LOG_ROWS", 1000)
            patched.setattr(correlated, "LONG_LOG_BLOCK_S", block)
            in_blocks = with_correlated_errors(problem, estimate)
        np.testing.assert_allclose(in_blocks.std, whole.std, rtol=0.12)


def test_rest_in_blocks_gives_the_same(monkeypatch):
    """Half of the time at rest, W changing within blocks: what is within them counts equations, too."""
    rng, motion = np.random.default_rng(3), moved(50.0, 80.0, period=1.0)
    torque = model().torque(motion) + NOISE * rng.standard_normal((len(motion), 3))
    zone = tuple(np.quantile(np.abs(motion.qd), 0.5, axis=0).tolist())
    problem = replace(problem_of(motion, torque, 50.0), formulation=InverseDynamic(None, zone))
    fit = linear_fit(problem, WeightedLeastSquares().estimate(problem))
    (c,) = correlations(problem, fit)
    np.testing.assert_allclose(c.rows, problem.compressed.rows.sum(axis=0))
    np.testing.assert_allclose(np.sqrt(c.covariance[0].diagonal()), NOISE, rtol=0.06)
    whole = sandwich(problem, fit, StationaryErrors(0))
    monkeypatch.setattr(correlated, "LONG_LOG_ROWS", 1000)
    monkeypatch.setattr(correlated, "LONG_LOG_BLOCK_S", 0.1)
    residuals = StationaryErrors(0).residuals(problem, fit)
    np.testing.assert_allclose(np.sqrt(residuals.fast), NOISE, rtol=0.06)
    in_blocks = sandwich(problem, fit, StationaryErrors(0))
    np.testing.assert_allclose(in_blocks.covariance.diagonal(), whole.covariance.diagonal(), rtol=0.15)
    assert in_blocks.freedom < 0.55 * 2 * 800  # of 800 blocks, half rest


# -- what it is for ----------------------------------------------------------------------------------------------------


def test_intervals_cover_where_errors_are_alike():
    """Errors of a pole at 0.7: formulas for independent ones cover some 60 %."""
    b = autoregressive(30.0, 20.0, 0.7)
    usual = WeightedLeastSquares()
    white = repeat(b, usual.estimate, 20)
    found = repeat(b, lambda p: with_correlated_errors(p, usual.estimate(p)), 100)
    assert white.coverage < 0.7
    assert found.coverage_error < 0.007
    assert 0.93 < found.coverage < 0.97


def test_bandwidth_alone_fails_where_the_motion_reaches_the_cutoff():
    """Rows.independent takes noise as flat as far as the motion goes; here it is not, and σ is too large by half."""
    motion = moved(30.0, 30.0, period=2.5)
    cut = ParallelFilter(Butterworth(1.5), 1)
    b = bench(motion, 30.0, lambda rng: NOISE * rng.standard_normal((len(motion), 3)), cut)
    through = b.through(np.eye(len(motion)))
    truth = true_covariance(b, np.kron(np.diag(NOISE**2), through @ through.T)).diagonal()
    simple = [WeightedLeastSquares(tuple(NOISE.tolist())).estimate(b.draw(0)), b.draw(0)]
    rows = simple[1].compressed
    simple_std = simple[0].std * np.sqrt((through @ through.T).diagonal().mean())  # σ of filtered rows, as it is
    assert rows.inflation.max() > 5.0
    assert np.median(simple_std / np.sqrt(truth)) > 1.25
    assert np.sqrt(reported_variance(b, StationaryErrors(), 25) / truth) == pytest.approx(np.ones(21), abs=0.15)


def test_effective_rows_of_a_slow_motion():
    """N (1 − a)/(1 + a) for errors of pole a, where the motion is slower than they are."""
    b = autoregressive(60.0, 40.0, 0.6)
    worth = []
    for seed in range(6):
        problem = b.draw(seed)
        worth.append(
            sandwich(problem, linear_fit(problem, WeightedLeastSquares().estimate(problem)), StationaryErrors())
        )
    assert np.mean([w.independent for w in worth], axis=0) == pytest.approx(2400.0 * 0.25, rel=0.2)
    assert all(w.faded and w.reach < 2.0 for w in worth)


def test_errors_alike_between_joints():
    """With them the true covariance is met; without, some σ are off by a quarter."""
    motion = moved(30.0, 15.0)
    mixed = np.linalg.cholesky(0.8 + 0.2 * np.eye(3))
    b = bench(motion, 30.0, lambda rng: NOISE * (rng.standard_normal((len(motion), 3)) @ mixed.T))
    covariance = np.kron(np.outer(NOISE, NOISE) * (mixed @ mixed.T), np.eye(len(motion)))
    truth = true_covariance(b, covariance).diagonal()
    with_joints = np.sqrt(reported_variance(b, StationaryErrors(), 40) / truth)
    without = np.sqrt(reported_variance(b, StationaryErrors(across_joints=False), 20) / truth)
    assert np.abs(with_joints - 1.0).max() < 0.12
    assert np.abs(without - 1.0).max() > 0.2


def test_errors_that_grow_with_speed():
    """Newey and West's covariance meets the truth, parameter by parameter; stationary errors are assumed in vain."""
    motion = moved(40.0, 30.0)
    size = 0.2 + np.abs(motion.qd) / np.abs(motion.qd).mean(axis=0)
    b = bench(motion, 40.0, lambda rng: NOISE * size * rng.standard_normal((len(motion), 3)))
    truth = true_covariance(b, np.diag(((NOISE * size) ** 2).T.ravel())).diagonal()
    robust = np.sqrt(reported_variance(b, HeteroscedasticErrors(), 30) / truth)
    stationary = np.sqrt(reported_variance(b, StationaryErrors(), 15) / truth)
    assert np.abs(robust - 1.0).max() < 0.2
    assert np.abs(stationary - 1.0).max() > 0.25


def test_what_was_done_is_said_and_values_stay():
    problem = autoregressive().draw(1)
    usual = WeightedLeastSquares().estimate(problem)
    found = with_correlated_errors(problem, usual)
    np.testing.assert_array_equal(found.values, usual.values)
    assert "stationary" in found.assumptions[0].text
    assert "joint_1: 900 rows are worth" in found.notes[-1].text
    assert 1.0 < found.freedom < usual.freedom
    assert found.information.r.shape == (21, 21)  # positive definite: usable as a prior


def test_a_residual_that_never_fades_is_said():
    motion = moved(60.0, 20.0)
    missing = 20.0 * np.sin(1.3 * motion.time[:, None]) * np.ones(3)
    problem = problem_of(motion, model().torque(motion) + missing, 60.0)
    found = with_correlated_errors(problem, WeightedLeastSquares().estimate(problem))
    assert "leaves something out" in found.notes[-1].text


def test_parameters_that_were_dropped_stay_so():
    problem = autoregressive().draw(2)
    essential = Essential().estimate(problem)
    found = with_correlated_errors(problem, essential)
    dropped = essential.std == 0.0
    assert 0 < dropped.sum() < 21
    np.testing.assert_array_equal(found.std == 0.0, dropped)


def test_estimates_that_are_not_least_squares_are_refused():
    problem = autoregressive().draw(3)
    with pytest.raises(ParameterError, match="ordinary or weighted least squares"):
        with_correlated_errors(problem, Huber(0.5).estimate(problem))
    estimate = WeightedLeastSquares().estimate(problem)
    with pytest.raises(ParameterError, match="other parameters"):
        with_correlated_errors(problem, replace(estimate, names=estimate.names[::-1]))
    with pytest.raises(ParameterError, match="lags"):
        StationaryErrors(-1)


def test_weights_that_do_not_settle_are_still_those_of_the_values(monkeypatch):
    """Few equations can take more rounds than there are; the estimate is least squares by the noise it tells."""
    monkeypatch.setattr(compressed_module, "MOST_NOISE_ROUNDS", 1)
    problem = autoregressive(seconds=2.0).draw(3)
    found = WeightedLeastSquares().estimate(problem)
    assert LinearFit.of(problem.compressed, found.values, found.noise, np.arange(len(found.values))).is_least_squares


def test_fading_is_not_fooled_by_a_slow_zero():
    """A correlation that swings through zero has not faded there."""
    k = np.arange(400)
    swing = np.exp(-k / 100.0) * np.cos(2.0 * np.pi * k / 200.0)
    found = fading(swing, 10_000)
    assert found.lag > 100
    assert found.faded
    assert fading(np.eye(1, 400)[0], 10_000).lag == 1
    assert not fading(np.cos(2.0 * np.pi * k / 100.0), 10_000).faded


# -- torque band -------------------------------------------------------------------------------------------------------


def test_torque_band_covers_torques_and_measurements():
    motion, other = moved(30.0, 10.0), moved(20.0, 5.0, period=7.0)
    b = bench(motion, 30.0, lambda rng: NOISE * rng.standard_normal((len(motion), 3)))
    exact = model().torque(other)
    covered, measured = [], []
    for seed in range(100):
        band = torque_band(model(), WeightedLeastSquares().estimate(b.draw(seed)), other)
        low, high = band.interval
        covered.append((low <= exact) & (exact <= high))
        low, high = band.prediction_interval
        seen = exact + NOISE * np.random.default_rng(900 + seed).standard_normal(exact.shape)
        measured.append((low <= seen) & (seen <= high))
    assert 0.93 < np.mean(covered) < 0.97
    assert 0.94 < np.mean(measured) < 0.96


def test_torque_band_is_the_quadratic_form():
    motion = moved(30.0, 10.0)
    estimate = WeightedLeastSquares().estimate(problem_of(motion, model().torque(motion) + 1.0, 30.0))
    band = torque_band(model(), estimate, motion)
    rows = model().regressor(motion)[:, :, model().base.independent]
    expected = np.sqrt(np.einsum("tjp,pq,tjq->tj", rows, estimate.covariance, rows))
    np.testing.assert_allclose(band.std, expected, rtol=1e-6)
    np.testing.assert_allclose(band.measured**2, expected**2 + estimate.noise**2, rtol=1e-6)
    with pytest.raises(ParameterError, match="base parameters"):
        torque_band(DynamicModel(load(ROBOT)), estimate, motion)


# -- whiteness ---------------------------------------------------------------------------------------------------------


def test_white_residuals_are_called_so_and_others_not():
    motion = moved(30.0, 15.0)
    b = bench(motion, 30.0, lambda rng: NOISE * rng.standard_normal((len(motion), 3)))
    usual = WeightedLeastSquares()
    p_values = np.array([[j.p_value for j in whiteness(p, usual.estimate(p))] for p in map(b.draw, range(60))])
    assert stats.kstest(p_values.ravel(), "uniform").pvalue > 1e-3
    problem = autoregressive(60.0, 20.0, 0.9).draw(0)
    for joint in whiteness(problem, usual.estimate(problem)):
        assert not joint.white
        assert joint.neighbour == pytest.approx(0.9, abs=0.06)
        assert 0.1 < joint.fades < 2.0
        assert joint.slow > 0.5
        assert "lowest tenth" in joint.sentence


# -- drift -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pole", [0.0, 0.8])
def test_steady_robots_rarely_raise_an_alarm(pole):
    """At a level of 20 %, with white and with correlated errors."""
    rng = np.random.default_rng(7)
    alarms = [bool(find_drift(warming(0.0, rng, pole), level=0.2)) for _ in range(40)]
    assert stats.binom.cdf(sum(alarms), 40, 0.1) > 0.005  # Bonferroni is careful: some 10 … 20 %
    assert stats.binom.sf(sum(alarms) - 1, 40, 0.2) > 0.005


def test_warming_up_is_found_within_and_between_runs():
    rng = np.random.default_rng(8)
    hits = 0
    for runs in (1, 2, 3, 1, 1, 1, 1, 1):
        found = find_drift(warming(0.1, rng, runs=runs))
        hits += any(d.parameter == "Fv3" and d.joint == "joint_3" for d in found)
    assert hits >= 7
    strong = find_drift(warming(0.3, rng, pole=0.5, runs=3))[0]
    assert strong.parameter == "Fv3"
    assert strong.change / strong.value == pytest.approx(-0.3, abs=4.0 * strong.std / strong.value)
    assert "viscous friction of joint_3 falls by" in strong.sentence
    assert strong.seconds == pytest.approx(60.0, abs=0.2)
    assert strong.sentence.endswith("warming up?")
    assert "misses something" in replace(strong, doubtful=True).sentence


def resting(problem: Problem) -> Problem:
    """Without equations for half of the time."""
    speeds = np.abs(np.concatenate([part.motion.qd for run in problem.runs for part in run.parts]))
    return replace(problem, formulation=InverseDynamic(None, tuple(np.quantile(speeds, 0.5, axis=0).tolist())))


def test_rest_raises_no_alarm_and_hides_no_offset():
    """While a joint rests, its offset has no equation either: a change that is seen in the rest is seen as it is."""
    rng = np.random.default_rng(7)
    alarms = [bool(find_drift(resting(warming(0.0, rng, 0.5)), level=0.2)) for _ in range(30)]
    assert stats.binom.sf(sum(alarms) - 1, 30, 0.2) > 0.005
    problem = warming(0.0, rng)
    (run,) = problem.runs
    (part,) = run.parts
    torque = part.torque + np.array([0.0, 6.0, 0.0]) * (part.motion.time[:, None] / 60.0)
    found = find_drift(resting(replace(problem, runs=(replace(run, parts=(replace(part, torque=torque),)),))))
    assert found[0].parameter == "off2"
    assert found[0].change == pytest.approx(6.0, abs=3.0 * found[0].std)


def test_offset_drift_is_told_in_newton_metres():
    rng = np.random.default_rng(9)
    problem = warming(0.0, rng)
    (run,) = problem.runs
    (part,) = run.parts
    torque = part.torque + np.array([0.0, 6.0, 0.0]) * (part.motion.time[:, None] / 60.0)
    found = find_drift(replace(problem, runs=(replace(run, parts=(replace(part, torque=torque),)),)))
    assert found[0].parameter == "off2"
    assert found[0].change == pytest.approx(6.0, abs=4.0 * found[0].std)
    assert found[0].sentence.startswith(f"offset of joint_2 rises by {found[0].change:.3g} N·m over")
    assert found[0].note.joint == "joint_2"
    assert found[0].sentence == f"offset of joint_2 {found[0].note.text}"
    with pytest.raises(ParameterError, match="level"):
        find_drift(problem, level=0.0)


# -- reasons -----------------------------------------------------------------------------------------------------------


def explained(motion: Motion):
    """Reasons by parameter, of those that are not good."""
    torque = model().torque(motion) + NOISE * np.random.default_rng(0).standard_normal((len(motion), 3))
    problem = problem_of(motion, torque, 30.0)
    estimate = WeightedLeastSquares().estimate(problem)
    reasons = {one.subject: one.text for one in explain(problem.compressed, estimate)}
    assert set(reasons) == {n for n, s in zip(estimate.names, estimate.status, strict=True) if s != "good"}
    return reasons, estimate


def test_reasons_name_the_other_parameter():
    """All joints swing together: inertias and gravity cannot be distinguished."""
    time = np.arange(600) / 60.0
    ratio = np.array([0.3, 0.2, -0.25])
    swing = [ratio * 3.0**k * np.sin(3.0 * time + 0.5 * np.pi * k)[:, None] for k in range(3)]
    reasons, estimate = explained(Motion(time, *swing))
    correlation = estimate.covariance / np.outer(estimate.std, estimate.std)
    unsure = [name for name in reasons if estimate.status[estimate.names.index(name)] in ("weak", "not significant")]
    assert unsure
    for name in unsure:
        k, sentence = estimate.names.index(name), reasons[name]
        most = max((i for i in range(21) if i != k), key=lambda i: abs(correlation[k, i]))
        assert f"hardly tells it from {estimate.names[most]} (correlation {correlation[k, most]:.2f})" in sentence
    assert {"ZZ3", "XZ3"} <= set(reasons)


def test_reasons_name_a_small_share_of_the_torque():
    motion = moved(30.0, 10.0)
    small = [x * [1.0, 1.0, 0.1] for x in (motion.q, motion.qd, motion.qdd)]
    reasons, estimate = explained(Motion(motion.time, *small))
    said = [s for s in reasons.values() if "(rms), the noise" in s]
    assert said
    assert all(f"the noise {estimate.noise[j]:.2g}" in s for s in said for j in range(3) if f"joint_{j + 1} is" in s)
