"""σ of estimates that are pulled to a prior: by Monte Carlo, robots and errors drawn anew, and in the limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import signal

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.estimators.physical import Prior
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.physical.prior_metric import Reference, StandardEquations
from exciter.identification.physical.prior_values import Described, PriorValues, UniformRods
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import (
    StationaryErrors,
    _off,
    with_correlated_errors,
    with_correlated_errors_and_prior,
)
from exciter.identification.uncertainty.covariance_of_correlated_errors import pulled as pulled_by_both
from exciter.identification.uncertainty.residual_autocorrelation import LinearFit
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.robot import load
from support.monte_carlo import Bench

RATE, SECONDS = 50.0, 10.0
NOISE = np.array([5.0, 5.0, 3.0])
GOOD, POOR = 0.5, 0.1  #: size of the motion


@dataclass(frozen=True, eq=False)
class Fixed(PriorValues):
    """Always the same."""

    given: Reference

    def reference(self, equations: StandardEquations) -> Reference:
        return self.given


@dataclass(frozen=True, eq=False)
class Arms:
    """Arms drawn around the reference, all of them moved alike; χ (p,) of the one in the middle."""

    problem: Problem
    reference: Reference
    chi: np.ndarray
    w: np.ndarray

    @classmethod
    @cache
    def of(cls, size: float) -> Arms:
        model = DynamicModel(load("kuka-ir361"), (RotorInertia(), Viscous(), Coulomb(), Offset()))
        delta = size * np.random.default_rng(5).standard_normal((3, 11))
        motion = motion_of(Fourier(10.0, 5), delta, np.arange(round(SECONDS * RATE)) / RATE)
        chi = np.append(model.nominal[:30], np.abs(model.nominal[30:]) + 5.0)
        problem = Problem(model, (Run.at(motion, model.torque(motion, chi), RATE),), folds=1)
        reference = Described().reference(StandardEquations.of(problem))
        chi[:30] = reference.links.ravel()
        return cls(problem, reference, chi, np.concatenate([rows.w for _, rows in problem.rows()]))

    def deviation(self, rng: np.random.Generator, off: float) -> np.ndarray:
        """(b,) of β, each number of L⁻¹ J L⁻ᵀ − 1 being off by ``off``."""
        numbers = off * rng.standard_normal((3, 10))
        links = np.einsum("kij,kj->ki", np.linalg.inv(self.reference.whitening), numbers).ravel()
        return self.problem.base.base_values(np.append(links, np.zeros(len(self.chi) - 30)))

    def bench(self, off: float, pole: float = 0.0) -> Bench:
        def errors(rng: np.random.Generator) -> np.ndarray:
            moved = self.w @ self.deviation(rng, off)
            white = rng.standard_normal((len(moved) + 200, 3))
            return moved + NOISE * signal.lfilter([np.sqrt(1.0 - pole**2)], [1.0, -pole], white, axis=0)[200:]

        return Bench(self.problem, self.problem.base.base_values(self.chi), errors)


def estimated(arms: Arms, problem: Problem, weight: float) -> Estimate:
    found = Prior(values=Fixed(arms.reference), weight=weight).estimate(problem)
    return with_correlated_errors_and_prior(problem, found, StationaryErrors())


def normalised(size: float, weight: float, off: float, pole: float = 0.0, times: int = 20) -> np.ndarray:
    """(times, b) errors over the half-width of their 95 % intervals."""
    arms = Arms.of(size)
    bench, found = arms.bench(off, pole), []
    for seed in range(times):
        true = bench.truth + arms.deviation(np.random.default_rng(seed), off)
        estimate = estimated(arms, bench.draw(seed), weight)
        low, high = estimate.interval()
        found.append((estimate.values - true) / (0.5 * (high - low)))
    return np.array(found)


@pytest.mark.parametrize("pole", [0.0, 0.9], ids=["white", "coloured"])
@pytest.mark.parametrize("size", [GOOD, POOR], ids=["good motion", "poor motion"])
def test_intervals_cover_where_the_prior_is_as_good_as_its_weight_says(size: float, pole: float) -> None:
    """20 times 25 intervals; those of one estimate are alike, so that a few per cent more or less are chance. Ten
    seconds of coloured errors are worth few independent ones."""
    covered = (np.abs(normalised(size, 100.0, 0.1, pole)) <= 1.0).mean()
    assert (0.9 if pole else 0.93) < covered < 0.985


@pytest.mark.parametrize(
    ("size", "weight", "off", "pole"),
    [(POOR, 100.0, 1.0, 0.0), (POOR, 100.0, 1.0, 0.9), (GOOD, 1e4, 1.0, 0.0)],
)
def test_intervals_cover_where_the_weight_is_far_too_strong(
    size: float, weight: float, off: float, pole: float
) -> None:
    """The links are off by ten times, and a hundred times, what the weight says."""
    assert off >= 10.0 * weight**-0.5
    covered = (np.abs(normalised(size, weight, off, pole)) <= 1.0).mean()
    assert 0.92 < covered < 0.99


def test_a_prior_that_is_wrong_beyond_measure_is_noticed() -> None:
    """A hundred times, and hardly any motion that could tell: errors are not covered as promised, but never by much."""
    errors = np.abs(normalised(POOR, 1e4, 1.0))
    assert (errors <= 1.0).mean() > 0.75
    assert np.sqrt((errors**2).mean()) < 1.2


def test_without_weight_it_is_the_covariance_of_least_squares() -> None:
    arms = Arms.of(GOOD)
    problem = arms.bench(0.1, 0.5).draw(0)
    plain = with_correlated_errors(problem, WeightedLeastSquares().estimate(problem), StationaryErrors())
    pulled = estimated(arms, problem, 1e-9)
    assert_allclose(pulled.values, plain.values, atol=1e-2 * plain.std.min())
    assert_allclose(pulled.covariance, plain.covariance, rtol=0.01, atol=0.01 * plain.std.min() ** 2)
    assert pulled.freedom == pytest.approx(plain.freedom, rel=0.01)


def test_it_is_the_formula_with_dense_matrices() -> None:
    """Errors that are independent: A⁻¹ (Wᵀ W / σ² + s² Sᵀ S) A⁻¹ with the s that is told."""
    arms = Arms.of(GOOD)
    problem = arms.bench(0.5).draw(1)
    found = Prior(values=Fixed(arms.reference), weight=100.0).estimate(problem)
    assert found.prior is not None
    assert found.weights is not None
    told = with_correlated_errors_and_prior(problem, found, StationaryErrors(lags=0, across_joints=False))
    s = float(re.search(r"off by (\S+) times", told.assumptions[-1].text)[1])
    assert 2.0 < s < 8.0  # 0.5 of the links' size, which the weight takes as 0.1
    w = arms.w.transpose(1, 0, 2) / found.weights[:, None, None]
    left = np.concatenate([rows.y for _, rows in problem.rows()]) - arms.w @ found.values
    data, prior = w.reshape(-1, w.shape[2]).T @ w.reshape(-1, w.shape[2]), found.prior[:, :-1].T @ found.prior[:, :-1]
    noise = (left**2).mean(axis=0) / found.weights**2
    meat = sum(noise[j] * w[j].T @ w[j] for j in range(3))
    bread = np.linalg.inv(data + prior)
    expected = bread @ (meat + s**2 * prior) @ bread
    assert_allclose(told.std, np.sqrt(expected.diagonal()), rtol=0.05)  # s has two digits, and the fit took freedom


def test_errors_that_are_known_besides_are_not_blamed_on_the_prior() -> None:
    arms = Arms.of(GOOD)
    problem = arms.bench(0.5).draw(1)
    found = Prior(values=Fixed(arms.reference), weight=100.0).estimate(problem)
    exact = problem.base.base_values(arms.chi)
    said = []
    for changes in (None, 1e-3 * (found.values - exact)[None], 10.0 * np.diag(found.values - exact)):
        told = with_correlated_errors_and_prior(problem, found, StationaryErrors(), changes)
        said.append(float(re.search(r"off by (\S+) times", told.assumptions[-1].text)[1]))
    assert said[0] == said[1] > 2.0  # nothing to speak of changes nothing
    assert said[2] < 1.0


def test_a_prior_that_is_better_than_its_weight_says_is_believed_a_little_more() -> None:
    arms = Arms.of(GOOD)
    problem = arms.bench(0.0).draw(0)
    exact, off = (estimated(arms, problem, weight) for weight in (1.0, 1e-6))
    s = float(re.search(r"off by (\S+) times", exact.assumptions[-1].text)[1])
    assert 0.1 < s < 1.0
    assert (exact.std < off.std * 1.01).all()


# -- how far off the prior is, in closed form --------------------------------------------------------------------------


def pulled(data: np.ndarray, s: np.ndarray, covariance: np.ndarray, values: np.ndarray) -> float:
    """s² of a prior ‖S β − t‖², t = 0, whose data have the information matrix ``data`` (b, b)."""
    root = np.linalg.inv(np.linalg.cholesky(data + s.T @ s).T)  # A⁻¹ = root rootᵀ
    return _off(np.column_stack([s, np.zeros(len(s))]), values, covariance, root.T @ s.T)


def test_errors_count_as_independent_as_the_weights_say_at_least() -> None:
    """One parameter of information d, prior s: β̂ = d ȳ/(d + s²), H = s²/(d + s²). With errors of variance 1/d,
    s β̂ has the variance (1 − H)² (s²/d + s²_off) = H (1 − H) + s²_off (1 − H)², also where residuals look like none."""
    for d, s in ((3.0, 1.0), (1.0, 3.0), (0.2, 0.3)):
        h = s**2 / (d + s**2)
        for wanted in (1.5, 7.0, 200.0):
            square = h * (1 - h) + wanted * (1 - h) ** 2
            beta = np.array([np.sqrt(square) / s])
            for seen in (0.0, 0.5, 1.0):  # of the variance that the weights say
                covariance = np.array([[seen * h * (1 - h) / s**2]])
                assert pulled(np.array([[d]]), np.array([[s]]), covariance, beta) == pytest.approx(wanted, rel=1e-5)
            twice = np.array([[2.0 * h * (1 - h) / s**2]])
            expected = wanted - h / (1 - h)
            if expected > 1.0:
                assert pulled(np.array([[d]]), np.array([[s]]), twice, beta) == pytest.approx(expected, rel=1e-5)


def test_what_the_data_pulled_is_as_large_as_expected_with_dense_matrices() -> None:
    """Several parameters, directions of H counted by H (1 − H), as a trace: tr C (M⁻¹ u uᵀ − 1) = 0 with u = S β̂,
    M = H (1 − H) + s² (1 − H)² and C = H (1 − H)."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        data, s = rng.standard_normal((2, 3, 3))
        data = data @ data.T
        inverse = np.linalg.inv(data + s.T @ s)
        h = s @ inverse @ s.T
        left = np.eye(3) - h
        values = 5.0 * rng.standard_normal(3)
        off = pulled(data, s, inverse @ data @ inverse, values)
        u, counts = s @ values, h @ left
        assert off > 1.0
        found = np.trace(counts @ np.linalg.solve(h @ left + off * left @ left, np.outer(u, u)))
        assert found == pytest.approx(np.trace(counts), rel=1e-4)


def test_priors_on_links_and_on_terms_count_each_by_itself_with_dense_matrices() -> None:
    """A⁻¹ (B + s₁² S₁ᵀS₁ + s₂² S₂ᵀS₂) A⁻¹, and each s² makes what was pulled as large as expected, the other's errors
    counted: offsets that are far from zero, links that are as described."""
    arms = Arms.of(GOOD)
    problem = arms.bench(0.0).draw(3)
    found = Prior(values=Fixed(arms.reference), weight=30.0, offset=1e-3).estimate(problem)
    assert found.prior is not None
    assert found.weights is not None
    information = problem.compressed.information(found.weights).add(found.prior[:, :-1], found.prior[:, -1])
    root = np.linalg.inv(information.r)
    fit = LinearFit(problem.compressed, found.values, found.weights, np.arange(len(found.values)), root)
    told = pulled_by_both(problem, fit, found.prior, problem.of_links, StationaryErrors(lags=0, across_joints=False))
    alone = (found.prior[:, :-1] != 0.0).sum(axis=1) == 1
    assert alone.sum() == 3  # offsets of three joints
    inverse, groups = root @ root.T, [found.prior[~alone, :-1], found.prior[alone, :-1]]
    pull = sum(s * inverse @ rows.T @ rows @ inverse for s, rows in zip(told.off, groups, strict=True))
    assert_allclose(told.covariance - told.sandwich.covariance, pull, atol=1e-9 * np.abs(pull).max())
    assert told.off[0] < 2.0
    assert told.off[1] > 100.0
    free = inverse @ information.r.T @ information.z
    h, across = groups[1] @ inverse @ groups[1].T, groups[0] @ inverse @ groups[1].T
    away, left = groups[1] @ free - found.prior[alone, -1], np.eye(3) - h
    noise = groups[1] @ told.sandwich.covariance @ groups[1].T + told.off[0] * across.T @ across
    expected = noise + told.off[1] * left @ left
    assert (away**2).sum() == pytest.approx(np.trace(expected), rel=1.0)  # three directions, counted by H (1 − H)


def test_a_few_directions_that_are_small_by_chance_do_not_make_a_prior_sure() -> None:
    """Σ C (u²/M − 1) + ½ (1/s² − 1) = 0: with u = 0 and directions seen by half, of C = ¼, s² is 1/(1 + n/2)."""
    for n in (1, 4, 40):
        one = np.eye(n)
        assert pulled(one, one, np.zeros((n, n)), np.zeros(n)) == pytest.approx(1.0 / (1.0 + n / 2.0), rel=1e-4)


def test_directions_that_the_prior_does_not_move_say_nothing_of_it() -> None:
    """The data alone decide the first: however far the prior is off there, it is not what is asked."""
    for far in (0.0, 1e3):
        found = pulled(np.diag([1e12, 1.0]), np.eye(2), np.zeros((2, 2)), np.array([far, 2.0]))
        assert found == pytest.approx(pulled(np.eye(1), np.eye(1), np.zeros((1, 1)), np.array([2.0])), rel=1e-3)


def test_where_the_data_say_nothing_the_prior_counts_as_its_weight_says() -> None:
    """Also next to directions of which they do: these alone tell how far off it is."""
    assert pulled(np.array([[1e-9]]), np.eye(1), np.zeros((1, 1)), np.array([50.0])) == pytest.approx(1.0)
    both = pulled(np.diag([1e-9, 3.0]), np.eye(2), np.zeros((2, 2)), np.array([50.0, 3.0]))
    assert both == pytest.approx(pulled(np.array([[3.0]]), np.eye(1), np.zeros((1, 1)), np.array([3.0])))
    assert both > 10.0


def test_how_far_off_a_prior_is_is_found_again_by_monte_carlo() -> None:
    """Forty parameters whose prior is off by 4 times what its weight says, twenty robots."""
    rng = np.random.default_rng(6)
    d, count = rng.uniform(0.3, 3.0, 40), 40
    found = []
    for _ in range(20):
        truth, errors = 4.0 * rng.standard_normal(count), rng.standard_normal(count) / np.sqrt(d)
        values = d * (truth + errors) / (d + 1.0)
        found.append(pulled(np.diag(d), np.eye(count), np.diag(d / (d + 1.0) ** 2), values))
    assert np.mean(found) == pytest.approx(16.0, rel=0.15)


# -- rounding decides nothing ------------------------------------------------------------------------------------------


def of_rods(robot: str) -> tuple[Problem, Prior]:
    """A motion whose links are pulled to uniform rods, of which many rows of the prior have one parameter, some of them
    but for rounding; and offsets, that are known beside."""
    model = DynamicModel(load(robot), (RotorInertia(), Viscous(), Coulomb(), Offset()))
    delta = POOR * np.random.default_rng(5).standard_normal((model.n, 11))
    motion = motion_of(Fourier(10.0, 5), delta, np.arange(round(SECONDS * RATE)) / RATE)
    torque = model.torque(motion, np.append(model.nominal[: model.inertial_size], np.full(4 * model.n, 3.0)))
    torque = torque + 0.5 * np.random.default_rng(6).standard_normal(torque.shape)
    problem = Problem(model, (Run.at(motion, torque, RATE),), folds=1)
    return problem, Prior(values=UniformRods(), weight=30.0, offset=0.03)


def told_of(problem: Problem, prior: Prior) -> Estimate:
    return with_correlated_errors_and_prior(problem, prior.estimate(problem), StationaryErrors())


@pytest.mark.parametrize("robot", ["kuka-ir361", "puma560", "panda"])
def test_torques_that_differ_by_rounding_have_the_same_standard_deviations(robot: str) -> None:
    problem, prior = of_rods(robot)
    told, (run,) = told_of(problem, prior), problem.runs
    for seed in range(3):
        rng = np.random.default_rng(seed)
        parts = [replace(p, torque=p.torque * (1.0 + 1e-13 * rng.standard_normal(p.torque.shape))) for p in run.parts]
        other = told_of(replace(problem, runs=(replace(run, parts=tuple(parts)),)), prior)
        assert_allclose(other.std, told.std, rtol=1e-6)


def test_it_does_not_matter_which_rows_say_what_is_known_of_links() -> None:
    """Any orthonormal basis of what is left of a prior without dependent parameters says the same."""
    problem, prior = of_rods("kuka-ir361")
    found, rng = prior.estimate(problem), np.random.default_rng(1)
    assert found.prior is not None
    linked = found.prior[:, problem.of_links].any(axis=1)
    assert (~linked).sum() == 3  # offsets of three joints
    assert ((found.prior[linked, :-1] != 0.0).sum(axis=1) == 1).any()  # links that are known by one parameter
    basis = np.linalg.qr(rng.standard_normal((linked.sum(), linked.sum())))[0]
    other = replace(found, prior=np.vstack([basis @ found.prior[linked], found.prior[~linked]]))
    told, same = (with_correlated_errors_and_prior(problem, one, StationaryErrors()) for one in (found, other))
    assert_allclose(same.covariance, told.covariance, rtol=1e-6, atol=1e-9 * told.covariance.diagonal().min())
