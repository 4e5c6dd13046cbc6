"""Filtered rows are worth fewer independent ones, and every σ knows it: exactly, and by Monte Carlo.

A filter leaves neighbouring errors alike. Whoever forgets it (``Compressed.inflation``) reports σ that are too small by
the root of rows over independent rows, here by half.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import NumpyEngine
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import Payload
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.identification.drive_gains import DriveGains, gains_of
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.least_squares import (
    Essential,
    NonNegative,
    OrdinaryLeastSquares,
    WeightedLeastSquares,
)
from exciter.identification.estimators.physical import PhysicallyConsistent
from exciter.identification.estimators.robust import Huber, IterativelyReweighted
from exciter.identification.estimators.staged import FrictionFirst, LinkByLink, TwoStep
from exciter.identification.estimators.total_least_squares import TotalLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.payload import PayloadEstimate, load_effect, payload_of
from exciter.identification.runs.run import Run, load_chi
from exciter.identification.stages.stage import SteadyMotion
from exciter.parameters import inertial
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import Motion, load
from support.given_rows import RATE, Experiment, Given, moving, with_poses
from support.monte_carlo import Bench, linear

pytestmark = pytest.mark.slow

ROBOT = "kuka-ir361-asme"
NOISE = np.array([0.5, 0.5, 0.3])
LOAD = Payload("tool", 12.0, (0.05, -0.02, 0.1), (0.2, 0.02, -0.01, 0.15, 0.015, 0.1))
GAINS = np.array([50.0, 30.0, -20.0])  # [N·m/A] the third motor counts backwards
DRAWS = 60
T_3 = 3.182446  # 0.975 quantile of Student's distribution of three degrees of freedom, from tables


# -- exactly: rows held for several samples ----------------------------------------------------------------------------


def held(experiment: Experiment, y: np.ndarray, times: int) -> Problem:
    """Every sample of motion and torque held while ``times`` are taken: more rows, and not a word more in them."""
    old = experiment.motion
    step = np.tile(np.arange(times), len(old.time)) / (times * RATE)
    q, qd, qdd, w, right = (np.repeat(x, times, axis=0) for x in (old.q, old.qd, old.qdd, experiment.w, y))
    motion = Motion(np.repeat(old.time, times) + step, q, qd, qdd)
    rows = Rows.of(motion.time, w, right, times * RATE, experiment.model.robot.joint_names, experiment.names)
    rows = replace(rows, bandwidth=0.5 * RATE)
    return Problem(experiment.model, (Run.at(motion, right, times * RATE),), Given(rows), folds=1)


@cache
def still_and_moving() -> tuple[Experiment, np.ndarray]:
    """Few enough rows that what the fit takes of them matters; with poses at rest, and noise."""
    experiment = Experiment.of(with_poses(moving(60), 16, 3), robot=ROBOT)
    experiment = replace(experiment, true=experiment.model.base.base_values(experiment.model.nominal))
    errors = 0.1 * NOISE * np.random.default_rng(2).standard_normal(experiment.exact.shape)
    return experiment, experiment.exact + errors


@pytest.mark.parametrize(
    "estimator",
    [
        OrdinaryLeastSquares(),
        WeightedLeastSquares(),
        Huber(tolerance=1e-6),
        IterativelyReweighted(tolerance=1e-6),
        TotalLeastSquares(),
        TotalLeastSquares({}),
        Essential(),
        NonNegative(),
        PhysicallyConsistent(),
        LinkByLink(),
        TwoStep(1),
        FrictionFirst(SteadyMotion(acceleration=30.0)),
    ],
    ids=lambda e: type(e).__name__ + ("" if getattr(e, "errors", None) is None else ", W exact"),
)
def test_rows_that_are_held_say_no_more(estimator: Estimator):
    experiment, y = still_and_moving()
    once, often = (estimator.estimate(held(experiment, y, times)) for times in (1, 5))
    assert_allclose(often.values, once.values, rtol=1e-4, atol=1e-4 * once.std.max())
    assert_allclose(often.std, once.std, rtol=1e-3)
    assert often.freedom == pytest.approx(once.freedom)


def test_nor_do_they_prove_more():
    """The evidence of every step of an elimination: F, probabilities, residuals."""
    experiment, y = still_and_moving()
    once, often = (Essential().steps(held(experiment, y, times).compressed) for times in (1, 5))
    assert [step.name for step in often] == [step.name for step in once]
    numbers = [[(s.f, s.probability, s.together, s.before, s.after) for s in steps] for steps in (once, often)]
    assert_allclose(*numbers, rtol=1e-6)


def test_nor_do_they_of_loads_and_gains():
    experiment, y = still_and_moving()
    effect = load_effect(experiment.model, experiment.model.base, "tool")
    carried = experiment.model.base.base_values(load_chi(experiment.model, LOAD))
    loaded = y[::-1] - experiment.exact[::-1] + experiment.w @ (experiment.true + carried)
    pairs = [(held(experiment, y, times).compressed, held(experiment, loaded, times).compressed) for times in (1, 5)]
    once, often = (payload_of(with_load, without, effect) for without, with_load in pairs)
    assert_allclose(often.values, once.values, rtol=1e-6)
    assert_allclose(often.std, once.std, rtol=1e-5)
    assert often.freedom == pytest.approx(once.freedom)
    both = [without.merge(with_load) for without, with_load in pairs]  # as currents of gains that are one
    known = np.array([np.zeros(len(carried)), carried])
    first, second = (gains_of(compressed, known) for compressed in both)
    assert_allclose(second.gains, first.gains, rtol=1e-4)
    assert_allclose(second.std, first.std, rtol=1e-3)
    assert second.freedom == pytest.approx(first.freedom)


# -- by Monte Carlo: errors that were white before a filter ------------------------------------------------------------


@cache
def model() -> DynamicModel:
    return DynamicModel(load(ROBOT), (Viscous(), Coulomb()), NumpyEngine())


def truth() -> np.ndarray:
    """Six of 21 are zero."""
    return model().base.base_values(model().nominal)


@cache
def bench(seed: int, carried: Payload | None = None, gains: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Bench:
    """20 s at 24 Hz through a filter of 3 Hz, every row kept: 428 instants, worth 97; what is measured is torque over
    ``gains``."""
    rate, low_pass = 24.0, ParallelFilter(Butterworth(3.0), 1)
    delta = 0.5 * np.random.default_rng(seed).standard_normal((3, 11))
    motion = motion_of(Fourier(10.0, 5), delta, np.arange(480) / rate)
    problem = Problem(model(), (Run.at(motion, np.ones((480, 3)), rate),), InverseDynamic(low_pass), folds=1)
    true = truth() + (0.0 if carried is None else problem.base.base_values(load_chi(model(), carried)))
    torque = np.concatenate([rows.w @ true for _, rows in problem.rows()])
    noise = NOISE / np.abs(gains)
    return Bench(
        problem,
        true,
        lambda rng: noise * rng.standard_normal((480, 3)),
        linear(low_pass, problem),
        torque / gains - torque,
    )


@cache
def draws() -> list[Problem]:
    return [bench(5).draw(seed) for seed in range(DRAWS)]


def drawn(of: Bench, seed: int) -> Compressed:
    return of.draw(seed).compressed


@dataclass(frozen=True, eq=False)
class Intervals:
    """Ends (M, p) of 95 % intervals, and values (M, p)."""

    low: np.ndarray
    high: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, found: list[Estimate] | list[PayloadEstimate] | list[DriveGains], true: np.ndarray) -> Intervals:
        low, high = np.array([estimate.interval() for estimate in found]).transpose(1, 0, 2) - true
        return cls(low, high, 0.5 * (low + high))

    def assert_honest(self, precision: float = 0.01) -> None:
        """95 % of the intervals cover, within what chance does to the share; without bias."""
        covers = (self.low <= 0.0) & (self.high >= 0.0)
        chance = covers.mean(axis=1).std(ddof=1) / np.sqrt(len(covers))  # parameters of a draw are correlated
        assert chance < precision, chance
        assert abs(covers.mean() - 0.95) < max(0.02, 3.0 * chance), (covers.mean(), chance)
        bias = self.values.mean(axis=0) / self.values.std(axis=0) * np.sqrt(len(covers))
        assert np.abs(bias).max() < 4.0, bias


@pytest.mark.parametrize(
    "estimator",
    [Huber(tolerance=0.05), TotalLeastSquares({}), LinkByLink(), TwoStep(1), NonNegative(), PhysicallyConsistent()],
    ids=lambda e: type(e).__name__,
)
def test_intervals_of_filtered_rows_cover(estimator: Estimator):
    found = [estimator.estimate(problem) for problem in draws()]
    assert found[0].freedom < 3 * 97 - 21
    Intervals.of(found, truth()).assert_honest()


def test_essential_parameters_of_filtered_rows():
    """Those that are zero are kept as rarely as the level says; intervals of the others cover."""
    found = [Essential(0.05).estimate(problem) for problem in draws()]
    kept = np.array([estimate.values != 0.0 for estimate in found])
    zero = truth() == 0.0
    assert zero.sum() == 6
    assert kept[:, ~zero].all()
    assert 0.02 < kept[:, zero].mean() < 0.09  # one falsely kept ends elimination, so that others may stay with it
    of_all = Intervals.of(found, truth())
    Intervals(of_all.low[:, ~zero], of_all.high[:, ~zero], of_all.values[:, ~zero]).assert_honest()


def test_payload_of_filtered_rows():
    effect = load_effect(model(), model().base, "tool")
    loaded, empty = bench(5, LOAD), bench(6)
    found = [payload_of(drawn(loaded, k), drawn(empty, 1000 + k), effect) for k in range(120)]
    true = np.array([LOAD.mass, *LOAD.centre, *LOAD.inertia])
    Intervals.of(found, true).assert_honest()


def test_drive_gains_of_filtered_rows():
    parts = [bench(5, None, tuple(GAINS)), bench(5, LOAD, tuple(GAINS))]
    carried = np.array([np.zeros(len(truth())), parts[1].truth - truth()])
    found = [gains_of(drawn(parts[0], k).merge(drawn(parts[1], 1000 + k)), carried) for k in range(80)]
    Intervals.of(found, GAINS).assert_honest(0.02)


# -- few degrees of freedom --------------------------------------------------------------------------------------------


def test_intervals_of_few_degrees_of_freedom_are_students():
    """Three of them: 3.18 σ to both sides, where a normal distribution has 1.96."""
    one = np.ones(1)
    estimate = Estimate(("a",), ("",), 2.5 * one, np.eye(1), ("j",), one, 3.0)
    assert_allclose(estimate.interval(), [[2.5 - T_3], [2.5 + T_3]], rtol=1e-6)
    assert estimate.status == ("not significant",)
    assert replace(estimate, freedom=1e6).status == ("weak",)
    gains = DriveGains(("j",), one, 4.0 * np.eye(1), one > 0.0, ("a",), one, one, 3.0)
    assert_allclose(gains.interval(), [[1.0 - 2.0 * T_3], [1.0 + 2.0 * T_3]], rtol=1e-6)
    phi = inertial.from_mass_com_inertia(LOAD.mass, np.zeros(3), np.diag([0.2, 0.2, 0.1]))
    payload = PayloadEstimate("tool", phi, np.eye(10), np.zeros((10, 0)), 3.0, estimate, "")
    low, high = payload.interval()
    assert_allclose([low[0], high[0]], [LOAD.mass - T_3, LOAD.mass + T_3], rtol=1e-6)
