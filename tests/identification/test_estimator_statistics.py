"""Every estimator does what its numbers promise, by Monte Carlo: no bias, the covariance it reports, intervals that
cover 95 %.

An estimator joins by one line in ESTIMATORS. W is made once, errors are drawn anew 120 times; parameters of one draw
are correlated, so the precision of a coverage is measured between draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.virtual import Encoder, Sampling, TorqueMeter, TrueFriction, VirtualRobot, draw
from exciter.identification.estimators.least_squares import (
    NonNegative,
    OrdinaryLeastSquares,
    Sequential,
    WeightedLeastSquares,
)
from exciter.identification.estimators.robust import Huber
from exciter.identification.estimators.staged import LinkByLink
from exciter.identification.estimators.total_least_squares import TotalLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import with_correlated_errors
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import load
from support.monte_carlo import Bench, Statistics, linear, repeat

pytestmark = pytest.mark.slow

NOISE = np.array([5.0, 5.0, 3.0])
DRAWS = 120
USUAL = (Viscous(), Coulomb())


# -- regimes -----------------------------------------------------------------------------------------------------------


def bench(rate: float, seconds: float, through: ParallelFilter | None = None, period: float = 10.0) -> Bench:
    """Three axes on a Fourier motion; errors white per joint, then through the filter of the rows."""
    model = DynamicModel(load("kuka-ir361"), USUAL)
    delta = 0.5 * np.random.default_rng(5).standard_normal((3, 11))
    time = np.arange(round(seconds * rate)) / rate
    motion = motion_of(Fourier(period, 5), delta, time)
    problem = Problem(model, (Run.at(motion, model.torque(motion), rate),), InverseDynamic(through), folds=1)
    return Bench(
        problem,
        problem.base.base_values(model.nominal),
        lambda rng: NOISE * rng.standard_normal((len(time), 3)),
        *(() if through is None else (linear(through, problem),)),
    )


@cache
def white() -> Bench:
    return bench(20.0, 10.0)


@cache
def decimated() -> Bench:
    return bench(150.0, 10.0, ParallelFilter(factor=5))


@cache
def oversampled() -> Bench:
    """Ten times more rows than the filter leaves room for."""
    return bench(40.0, 20.0, ParallelFilter(Butterworth(3.0), 1))


@cache
def virtual() -> Bench:
    """Motion and torque of the virtual robot, differentiated and filtered as a user does; errors on its torque."""
    robot = load("kuka-ir361")
    truth = replace(draw(robot, 1), friction=TrueFriction((20.0, 20.0, 10.0), (15.0, 15.0, 8.0)))
    rate = 250.0
    machine = VirtualRobot(
        robot,
        truth,
        meter=TorqueMeter(noise=0.0),
        encoder=Encoder(counts=None),
        sampling=Sampling(rate),
        simulation_rate=2000.0,
    )
    delta = 0.25 * np.random.default_rng(5).standard_normal((3, 11))
    delta[:, -1] = 0.0
    simulated = machine.run(Fourier(10.0, 5).curve(delta))
    model = DynamicModel(robot, USUAL)
    run = Run.of(simulated.recording)
    through = ParallelFilter(factor=5)
    problem = Problem(model, (run,), InverseDynamic(through), folds=1)
    part = run.parts[0]
    of = dict(zip(truth.model.standard, truth.chi, strict=True))
    beta = problem.base.base_values(np.array([of[name] for name in model.standard]))
    clean = np.concatenate([rows.y - rows.w @ beta for _, rows in problem.rows()])
    return Bench(
        problem,
        beta,
        lambda rng: NOISE * rng.standard_normal((len(part), 3)),
        linear(through, problem),
        clean,
    )


@cache
def virtual_white() -> Bench:
    """The virtual robot's own motion, unfiltered rows, white errors on its torque; without dry friction, which holds
    joints at reversals by forces that no model of its sign has."""
    robot = load("kuka-ir361")
    truth = replace(draw(robot, 1), friction=TrueFriction((20.0, 20.0, 10.0)))
    machine = VirtualRobot(
        robot, truth, meter=TorqueMeter(noise=0.0), encoder=Encoder(counts=None), sampling=Sampling(50.0)
    )
    delta = 0.25 * np.random.default_rng(5).standard_normal((3, 11))
    simulated = machine.run(Fourier(5.0, 5).curve(delta))
    model = DynamicModel(robot, (Viscous(),))
    problem = Problem(model, (Run.at(simulated.motion, simulated.torque, 50.0),), folds=1)
    of = dict(zip(truth.model.standard, truth.chi, strict=True))
    beta = problem.base.base_values(np.array([of[name] for name in model.standard]))
    clean = simulated.torque - np.concatenate([rows.w for _, rows in problem.rows()]) @ beta
    count = len(simulated.motion)
    return Bench(problem, beta, lambda rng: NOISE * rng.standard_normal((count, 3)), bias=clean)


# -- estimators --------------------------------------------------------------------------------------------------------


weighted = cache(WeightedLeastSquares().estimate)  # of the same draws more than once


def correlated(estimate: Callable[[Problem], Estimate]) -> Callable[[Problem], Estimate]:
    return lambda problem: with_correlated_errors(problem, estimate(problem))


GIVEN = tuple(NOISE.tolist())
ESTIMATORS: list[tuple[str, Callable[[Problem], Estimate], Callable[[], Bench], float]] = [
    # name, estimator, regime, how far its σ may be off beyond chance
    ("ordinary", OrdinaryLeastSquares().estimate, white, 0.0),
    ("weighted, noise given", WeightedLeastSquares(GIVEN).estimate, white, 0.0),
    ("weighted", weighted, white, 0.02),
    ("sequential", Sequential(GIVEN).estimate, white, 0.0),
    ("Huber", Huber(tolerance=0.05).estimate, white, 0.03),
    ("non-negative", NonNegative().estimate, white, 0.02),
    ("ordinary, decimated", OrdinaryLeastSquares().estimate, decimated, 0.03),
    ("weighted, by bandwidth", weighted, oversampled, 0.06),
    ("ordinary, stationary", correlated(OrdinaryLeastSquares().estimate), decimated, 0.06),
    ("weighted, stationary", correlated(weighted), decimated, 0.06),
    ("weighted, oversampled", correlated(weighted), oversampled, 0.1),
    ("weighted, virtual robot", correlated(weighted), virtual, 0.06),
    ("weighted, virtual robot, white", weighted, virtual_white, 0.02),
    ("link by link, virtual robot, white", LinkByLink().estimate, virtual_white, 0.03),
    ("Huber, virtual robot, white", Huber(tolerance=0.05).estimate, virtual_white, 0.03),
    ("total, virtual robot, white", TotalLeastSquares({}).estimate, virtual_white, 0.02),
]


@pytest.mark.parametrize(("estimate", "regime", "off"), [e[1:] for e in ESTIMATORS], ids=[e[0] for e in ESTIMATORS])
def test_an_estimator_is_what_it_says(estimate, regime, off):
    found = repeat(regime(), estimate, DRAWS)
    no_bias(found)
    right_spread(found, off)
    right_coverage(found)


def no_bias(found: Statistics) -> None:
    assert np.abs(found.bias).max() < 4.0


def right_spread(found: Statistics, off: float) -> None:
    """Empirical variances over the reported ones follow χ², but for what an estimated covariance may be off."""
    low, high = np.sqrt(chi2.ppf([5e-5, 1.0 - 5e-5], DRAWS - 1) / (DRAWS - 1))
    assert found.ratio.min() > low - off, found.ratio
    assert found.ratio.max() < high + off, found.ratio


def right_coverage(found: Statistics) -> None:
    assert found.coverage_error < 0.007
    assert 0.93 < found.coverage < 0.97, found.coverage


@pytest.mark.parametrize("regime", [lambda: bench(8.0, 10.0), oversampled], ids=["white", "oversampled"])
def test_noise_from_residuals_has_no_bias(regime):
    """σ² of one row, on average: what the fit took is counted, more of it where rows are correlated."""
    b = regime()
    unit = np.eye(len(b.problem.runs[0].parts[0]))
    truth = NOISE**2 * (b.through(unit) ** 2).sum(axis=1).mean()
    found = np.array([weighted(b.draw(seed)).noise for seed in range(DRAWS)]) ** 2 / truth
    error = found.mean() - 1.0
    assert abs(error) < 4.0 * found.mean(axis=1).std(ddof=1) / np.sqrt(DRAWS)
    assert 4.0 * found.mean(axis=1).std(ddof=1) / np.sqrt(DRAWS) < 0.05
