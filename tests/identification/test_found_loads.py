"""Loads that logs show: stated in part and completed, found beside unknown gains, with σ that has all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import Payload
from exciter.identification.drive_gains import identify_gains
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.energy import Energy
from exciter.identification.found_loads import (
    beyond_reversals,
    carrying,
    complete_load,
    find_load,
    scale_share,
    with_what_was_found,
)
from exciter.identification.identify_config import IndependentErrors
from exciter.identification.information.jackknife import of_stretches
from exciter.identification.information.problem import Problem
from exciter.identification.payload import load_effect
from exciter.identification.runs.run import Run, load_torque
from exciter.notes import Severity, texts
from exciter.parameters.terms import Coulomb, LoadFriction, Offset, Viscous
from exciter.robot import load

RATE = 100.0
WHITE = IndependentErrors()
LOAD = Payload("tool", 12.0, (0.05, -0.02, 0.1), (0.2, 0.02, -0.01, 0.15, 0.015, 0.1))
BY_MASS = Payload("tool", 12.0)
NOISE = np.array([1.0, 1.5, 0.8])


@pytest.fixture(scope="module")
def model() -> DynamicModel:
    return DynamicModel(load("kuka-ir361"), (Viscous(), Coulomb(), Offset()))


def run_of(model: DynamicModel, seed: int, payload: Payload | None = None, noise=0.0, gains=1.0, **about) -> Run:
    """Of currents where there are gains; nothing is stated of the load but what is given as ``stated``."""
    family, rng = Fourier(period=4.0, harmonics=4), np.random.default_rng(seed)
    path = motion_of(family, 0.4 * rng.standard_normal((model.n, len(family.labels))), np.arange(400) / RATE)
    torque = model.torque(path) + (0.0 if payload is None else load_torque(model, payload, path))
    torque = torque + noise * rng.standard_normal(torque.shape)
    run = Run.at(path, torque / gains, RATE, f"run {seed}")
    return replace(run, payload=about.get("stated"))


def truth_of(payload: Payload) -> np.ndarray:
    return np.array([payload.mass, *payload.centre, *payload.inertia])


# -- stated in part ----------------------------------------------------------------------------------------------------


def test_what_is_not_stated_is_found_from_the_logs(model):
    beside = Problem(model, (run_of(model, 1),))
    for stated in (BY_MASS, replace(BY_MASS, centre=LOAD.centre)):
        found = complete_load(stated, [run_of(model, 2, LOAD)], beside, model, WHITE)
        assert_allclose(found.payload.centre, LOAD.centre, atol=1e-6)
        assert_allclose(found.payload.inertia, LOAD.inertia, atol=1e-5)
        assert found.told
        assert "found from the logs beside it" in found.note.text
    noisy = Problem(model, (run_of(model, 1, None, NOISE),))
    wrong = complete_load(replace(BY_MASS, mass=14.0), [run_of(model, 2, LOAD, NOISE)], noisy, model, WHITE)
    assert wrong.note.severity == Severity.WARNING
    assert "does not agree" in wrong.note.text


def test_a_load_that_no_log_tells_from_the_robot_makes_its_link_uncertain(model):
    """One log, with a load of known mass: what the last link has of its own is anybody's guess, and so is its σ."""
    carried = run_of(model, 2, LOAD, NOISE)
    found = complete_load(BY_MASS, [carried], None, model, WHITE)
    assert not found.told
    assert found.note.severity == Severity.WARNING
    assert "give them, or a log without it" in found.note.text
    problem = Problem(model, (replace(carried, payload=found.payload),))
    plain = WeightedLeastSquares().estimate(problem)
    estimate = with_what_was_found(problem, plain, (found,))
    error = np.abs(estimate.values - model.base.base_values(model.nominal))
    felt = np.abs(load_effect(model, model.base, "tool")[:, 1:]).any(axis=1)
    assert (error[felt] > 10.0 * plain.std[felt]).any()  # of the load
    assert (error < 3.3 * estimate.std).all()
    assert_allclose(estimate.std[~felt], plain.std[~felt])


def test_sigma_of_the_robot_is_that_of_a_fit_of_both(model):
    """Block inversion: the covariance given the load, and what comes back of it, are those of all unknowns together."""
    runs = run_of(model, 1, None, NOISE), run_of(model, 2, LOAD, NOISE)
    beside = Problem(model, runs[:1])
    found = complete_load(BY_MASS, runs[1:], beside, model, WHITE)
    problem = Problem(model, (runs[0], replace(runs[1], payload=found.payload)), balanced=False)
    plain = WeightedLeastSquares().estimate(problem)
    effect = load_effect(model, model.base, "tool")[:, 1:]
    compressed = Problem(model, runs, balanced=False, folds=1).compressed
    r = compressed.factors[..., :-1] / plain.noise[:, None, None]
    columns = np.concatenate([r, (r @ effect) * (compressed.run == 1)[:, None, None, None]], axis=-1)
    w, b = columns.reshape(-1, columns.shape[-1]), len(plain.values)
    together = np.linalg.inv(w.T @ w)
    exact = np.zeros((10, 10))
    exact[1:, 1:] = together[b:, b:]
    estimate = with_what_was_found(problem, plain, (replace(found, covariance=exact),))
    assert_allclose(estimate.std, np.sqrt(together.diagonal())[:b], rtol=1e-6)
    assert (estimate.std > 1.2 * plain.std).any()
    ratio = np.sqrt(found.covariance.diagonal()[1:] / exact.diagonal()[1:])  # with noise and excess of its own fits
    assert ((ratio > 0.9) & (ratio < 2.0)).all()


def test_logs_that_state_a_load_in_part_are_refused_where_it_must_be_known(model):
    with pytest.raises(RecordingError, match="centre and inertia of the load of 12 kg on 'tool' are not given") as told:
        WeightedLeastSquares().estimate(Problem(model, (run_of(model, 1, LOAD, stated=BY_MASS),)))
    assert "\n" not in str(told.value)


# -- gains -------------------------------------------------------------------------------------------------------------


def test_gains_and_another_load_from_a_mass(model):
    """Three runs of currents: empty, with a load weighed on a scale, and with one of which nothing is known."""
    rng, count, inside, worst = np.random.default_rng(3), 40, np.zeros(4), 0.0
    for draw in range(count):
        gains = rng.uniform(5.0, 80.0, 3)
        other = replace(LOAD, mass=float(rng.uniform(5.0, 20.0)))
        first = [run_of(model, 3 * draw, None, 0.3 * NOISE, gains)]
        first.append(run_of(model, 3 * draw + 1, LOAD, 0.3 * NOISE, gains, stated=BY_MASS))
        found = identify_gains(model, first)
        worst = max(worst, float(np.abs(found.gains / gains - 1.0).max()))
        seen = [run_of(model, 3 * draw + k, one, 0.3 * NOISE) for k, one in ((0, None), (2, other))]
        scale = found.gains / gains
        seen = [replace(run, parts=tuple(replace(x, torque=x.torque * scale) for x in run.parts)) for run in seen]
        payload = find_load(Problem(model, tuple(seen[:1])), seen[1:], "tool", WHITE, found.relative_covariance)
        low, high = payload.interval()
        inside += ((low < truth_of(other)) & (truth_of(other) < high))[:4]
    assert worst < 0.2
    assert inside[0] >= 0.9 * count
    assert (inside >= 0.85 * count).all()


def test_torques_that_are_larger_by_a_factor(model):
    """∂β̂/∂ ln K against a fit to torques that are larger by a thousandth, with a load that is known."""
    runs = run_of(model, 1, None, NOISE), run_of(model, 2, LOAD, NOISE, stated=LOAD)
    problem = Problem(model, runs, balanced=False)
    before = WeightedLeastSquares().estimate(problem)
    share = scale_share(problem, before)
    for joint in range(model.n):
        factor = np.ones(model.n)
        factor[joint] += 1e-3
        more = tuple(replace(run, parts=tuple(replace(x, torque=x.torque * factor) for x in run.parts)) for run in runs)
        weights = before.noise
        after = Problem(model, more, balanced=False).compressed.information(weights).solve()[0]
        start = problem.compressed.information(weights).solve()[0]
        assert_allclose(share[:, joint], (after - start) / 1e-3, rtol=1e-6, atol=1e-6 * np.abs(share[:, joint]).max())


# -- friction, and what the model misses -------------------------------------------------------------------------------


def test_friction_that_grows_with_the_load_has_the_load_in_it(model):
    robot = model.robot
    rubbing = DynamicModel(robot, (Viscous(), Coulomb(), LoadFriction()))
    chi = rubbing.nominal.copy()
    chi[[rubbing.standard.index(f"Fl{k}") for k in (1, 2, 3)]] = 0.1
    empty, full = run_of(model, 1), run_of(model, 2)
    phi = np.array(LOAD.phi)
    heavier = carrying(rubbing, "tool", phi)

    def along(run: Run, with_model: DynamicModel, payload: Payload | None) -> Run:
        path = run.parts[0].motion
        torque = with_model.torque(path, chi) + (0.0 if payload is None else load_torque(model, payload, path))
        return Run.at(path, torque, RATE, run.name)

    runs = along(empty, rubbing, None), along(full, heavier, LOAD)
    found = find_load(Problem(rubbing, runs[:1]), runs[1:], "tool", WHITE)
    assert_allclose(found.values[:4], truth_of(LOAD)[:4], rtol=2e-3, atol=2e-4)
    assert carrying(model, "tool", phi) is model


def test_friction_that_changed_beside_the_load_does_not_bias_it(model):
    """Viscous friction is a third less, as in a warm robot: it is left to differ, and a warning says so."""
    path = run_of(model, 2).parts[0].motion
    warm = model.nominal.copy()
    warm[[model.standard.index(f"Fv{k}") for k in (1, 2, 3)]] *= 0.67
    rng = np.random.default_rng(5)
    torque = model.torque(path, warm) + load_torque(model, LOAD, path) + NOISE * rng.standard_normal(path.q.shape)
    found = find_load(Problem(model, (run_of(model, 1, None, NOISE),)), [Run.at(path, torque, RATE)], "tool", WHITE)
    assert any("left to differ" in word for word in texts(found.notes))
    assert (np.abs(found.values - truth_of(LOAD)) < 3.3 * found.std).all()


def test_leaving_out_stretches_against_fits_without_them(model):
    """Of linear least squares exactly; and like the formula where errors are independent."""
    problem = Problem(model, (run_of(model, 1, None, NOISE),), folds=20)
    estimate, compressed = WeightedLeastSquares().estimate(problem), problem.compressed
    values = compressed.information(estimate.noise).solve()[0]
    found = of_stretches(compressed, values, estimate.noise)
    without = np.array(
        [compressed.where(compressed.fold != k).information(estimate.noise).solve()[0] for k in range(20)]
    )
    spread = without - without.mean(axis=0)
    assert_allclose(found, 19 / 20 * spread.T @ spread, rtol=1e-6, atol=1e-12)
    ratio = np.sqrt(found.diagonal()) / estimate.std
    assert 0.8 < np.median(ratio) < 1.5


def test_errors_that_come_back_in_every_period_are_counted(model):
    """Ten periods with the same model error are worth one; formulas for independent rows divide it by √10."""
    family, rng, z = Fourier(period=4.0, harmonics=4), np.random.default_rng(8), {"formula": [], "stretches": []}
    for _ in range(12):
        path = motion_of(family, 0.4 * rng.standard_normal((3, len(family.labels))), np.arange(2000) / 50.0)
        missed = np.tile(NOISE * np.repeat(rng.standard_normal((40, 3)), 5, axis=0), (10, 1))
        problem = Problem(model, (replace(Run.at(path, model.torque(path) + missed, 50.0), period=4.0),), folds=20)
        estimate = WeightedLeastSquares().estimate(problem)
        error = estimate.values - model.base.base_values(model.nominal)
        left_out = of_stretches(problem.compressed, estimate.values, estimate.noise)
        z["formula"].append(error / estimate.std)
        z["stretches"].append(error / np.sqrt(left_out.diagonal()))
    assert np.sqrt(np.mean(np.square(z["formula"]))) > 3.0
    assert np.sqrt(np.mean(np.square(z["stretches"]))) < 1.4


def test_a_load_that_no_run_tells_is_an_error(model):
    with pytest.raises(ParameterError):
        find_load(Problem(model, (run_of(model, 1),)), [replace_still(model)], "tool", WHITE)


def replace_still(model: DynamicModel) -> Run:
    """Joint 1 alone moves: of the ten of a load it shows a few."""
    path = run_of(model, 2).parts[0].motion
    only = replace(path, q=path.q * [1, 0, 0], qd=path.qd * [1, 0, 0], qdd=path.qdd * [1, 0, 0])
    return Run.at(only, model.torque(only) + load_torque(model, LOAD, only), RATE)


def test_joints_that_turn_round_have_no_equation_in_the_search_for_a_load(model):
    """q̈ / (2π f) of the low-pass of positions, at most a fifth of the usual speed; a wider zone that is given stays."""
    run = run_of(model, 1)
    (part,) = run.parts
    for cutoff, expected in ((100.0, 1.0 / (2.0 * np.pi * 100.0)), (0.01, None), (np.inf, 0.0)):
        passed = replace(run, parts=(replace(part, position_bandwidth=cutoff),))
        acceleration, speed = (np.sqrt(np.mean(x**2, axis=0)) for x in (part.motion.qdd, part.motion.qd))
        wanted = 0.2 * speed if expected is None else expected * acceleration
        for given in (0.0, 0.05):
            problem = beyond_reversals(Problem(model, (passed,), InverseDynamic(dead_zone=given)), [passed])
            assert_allclose(problem.formulation.dead_zone, np.maximum(given, wanted), rtol=1e-12)
    other = Problem(model, (run,), Energy())
    assert beyond_reversals(other, [run]) is other
