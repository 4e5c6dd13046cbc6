"""What the model lacks is found where it is, not where it is not, and counts in σ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.estimators.physical import PhysicallyConsistent, Prior
from exciter.identification.identify_config import with_uncertainty
from exciter.identification.information.estimate import Estimate, assumed
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import StationaryErrors
from exciter.identification.uncertainty.missing_terms import MODEL_SUBJECT, ModelError, find_missing
from exciter.identification.uncertainty.torque_timing import timing_error
from exciter.notes import Severity
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Stribeck, Viscous
from exciter.pipeline.counted_uncertainty import covariance_of
from exciter.robot import load

ROBOT = load("kuka-ir361")
TERMS = (RotorInertia(), Viscous(), Coulomb(), Offset())
NOISE = np.array([5.0, 5.0, 2.0])
RATE, SECONDS = 100.0, 20.0
FRICTION = {"Fv1": 40.0, "Fv2": 30.0, "Fv3": 5.0, "Fs1": 30.0, "Fs2": 40.0, "Fs3": 10.0}
PULLED = PhysicallyConsistent(Prior(weight=10.0))


def problem_of(seed: int, terms: tuple = TERMS, **more: float) -> tuple[Problem, np.ndarray]:
    """A log of a robot with Stribeck friction ``more``, to be explained by ``terms``; and true base parameters."""
    delta = 0.4 * np.random.default_rng(seed).standard_normal((3, 11))
    motion = motion_of(Fourier(SECONDS, 5), delta, np.arange(round(SECONDS * RATE)) / RATE)
    true = DynamicModel(ROBOT, (*TERMS, Stribeck(velocity=0.05)))
    known = dict(zip(true.standard, true.nominal, strict=True)) | FRICTION | more
    torque = true.torque(motion, [known[name] for name in true.standard])
    noise = NOISE * np.random.default_rng(100 + seed).standard_normal(torque.shape)
    model = DynamicModel(ROBOT, terms)
    beta = model.base.base_values([known[name] for name in model.standard])
    return Problem(model, (Run.at(motion, torque + noise, RATE),)), np.asarray(beta)


def judged(problem: Problem, estimator: Estimator) -> tuple[Estimate, ModelError | None]:
    found = with_uncertainty(problem, estimator, estimator.estimate(problem), StationaryErrors())
    return found, find_missing(problem, found)


@pytest.mark.parametrize("estimator", [WeightedLeastSquares(), PULLED], ids=["wls", "pulled"])
def test_friction_at_low_speed_is_found_on_the_joint_that_has_it(estimator: Estimator) -> None:
    problem, _ = problem_of(1, Fst2=20.0)
    _, lacking = judged(problem, estimator)
    assert lacking is not None
    (found,) = lacking.missing
    assert (found.joint, found.unit) == (ROBOT.joint_names[1], "N·m")
    assert 10.0 < found.size < 30.0  # its speed is not known
    assert found.note.subject == MODEL_SUBJECT
    assert found.note.severity == Severity.WARNING
    assert "more at low speed" in found.note.text


def test_a_right_model_lacks_nothing() -> None:
    """The chance of any finding is one in a hundred, so that one in thirty logs is possible, and three hardly are."""
    found = [judged(problem_of(seed)[0], WeightedLeastSquares())[1] for seed in range(30)]
    assert sum(one is not None for one in found) <= 2


def test_a_chance_is_of_all_joints_together() -> None:
    """A finding of one joint counts three times where three are asked: between level/3 and level it is none."""
    problem, _ = problem_of(1, Fst2=20.0)
    estimate, lacking = judged(problem, WeightedLeastSquares())
    assert lacking is not None
    p = lacking.missing[0].p_value
    assert find_missing(problem, estimate, level=2.9 * p) is None
    assert find_missing(problem, estimate, level=3.1 * p) is not None


def test_a_joint_that_says_nothing_does_not_silence_the_others() -> None:
    problem, _ = problem_of(1, Fst2=20.0)
    (run,) = problem.runs
    problem = replace(problem, runs=(replace(run, held=(2,)),))
    terms = tuple(replace(term, joints=ROBOT.joint_names[:2]) for term in TERMS)
    problem = replace(problem, model=DynamicModel(ROBOT, terms))
    _, lacking = judged(problem, PULLED)
    assert lacking is not None
    assert [one.joint for one in lacking.missing] == [ROBOT.joint_names[1]]


def test_what_the_model_has_is_not_asked_for() -> None:
    problem, _ = problem_of(1, (*TERMS, Stribeck(velocity=0.05)), Fst2=20.0)
    assert judged(problem, WeightedLeastSquares())[1] is None


def test_less_friction_at_low_speed_is_said_so() -> None:
    problem, _ = problem_of(2, Fst2=-20.0)
    _, lacking = judged(problem, WeightedLeastSquares())
    assert lacking is not None
    assert lacking.missing[0].size < 0.0
    assert "less at low speed" in lacking.missing[0].note.text


def test_the_change_is_that_of_a_fit_with_the_term_and_brings_values_nearer() -> None:
    """Columns of the same speed as a Stribeck term: the change is the difference of two weighted fits."""
    problem, beta = problem_of(1, Fst2=30.0)
    estimate, lacking = judged(problem, WeightedLeastSquares())
    assert lacking is not None
    assert [one.joint for one in lacking.missing] == [ROBOT.joint_names[1]]
    falling = Stribeck(joints=(ROBOT.joint_names[1],), velocity=lacking.missing[0].speed)
    wide = replace(problem.model, terms=(*TERMS, falling))
    full = Problem(wide, problem.runs).compressed
    values, _ = full.information(estimate.noise).solve()
    expected = dict(zip(full.parameters, values, strict=True))
    assert_allclose(estimate.values + lacking.change, [expected[name] for name in estimate.names], rtol=1e-6, atol=1e-6)
    at = estimate.names.index("Fs2")
    assert abs(estimate.values[at] + lacking.change[at] - beta[at]) < abs(estimate.values[at] - beta[at])


def test_it_counts_in_sigma_so_that_the_truth_is_inside() -> None:
    inside, before = [], []
    for seed in range(12):
        problem, beta = problem_of(seed, Fst1=20.0, Fst2=20.0, Fst3=6.0)
        estimate, lacking = judged(problem, WeightedLeastSquares())
        assert lacking is not None
        wider = estimate.with_error(lacking.change, *assumed("what the model lacks"))
        assert wider.assumptions[-1].text == "what the model lacks"
        for found, shares in ((estimate, before), (wider, inside)):
            low, high = found.interval()
            shares.append(((low <= beta) & (beta <= high)).mean())
    assert np.mean(inside) > 0.93
    assert np.mean(before) < np.mean(inside) - 0.03


def test_errors_that_are_added_are_changes_of_all_values_at_once() -> None:
    problem, _ = problem_of(1)
    found = WeightedLeastSquares().estimate(problem)
    changes = np.random.default_rng(0).standard_normal((2, len(found.values)))
    wider = found.with_error(changes)
    assert_allclose(
        wider.covariance - found.covariance, changes.T @ changes, atol=1e-9 * np.abs(found.covariance).max()
    )
    assert_allclose(found.with_error(changes[0]).std ** 2, found.std**2 + changes[0] ** 2)


def test_doubts_of_friction_and_what_is_missing_are_in_the_covariance_that_identify_takes() -> None:
    right, wrong = problem_of(1)[0], problem_of(1, Fst2=20.0)[0]
    estimator = WeightedLeastSquares()
    plain = covariance_of(estimator, StationaryErrors())(right, estimator.estimate(right))
    doubted = covariance_of(estimator, StationaryErrors(), [{"Fs2": 3.0, "not there": 9.0}])(
        right, estimator.estimate(right)
    )
    at = plain.names.index("Fs2")
    expected = plain.std**2 + np.where(np.arange(len(plain.std)) == at, 9.0, 0.0)
    assert_allclose(doubted.std**2, expected)
    lacking = covariance_of(estimator, StationaryErrors())(wrong, estimator.estimate(wrong))
    alone, found = judged(wrong, estimator)
    late = timing_error(wrong, alone)
    assert found is not None
    assert late is not None
    assert_allclose(lacking.std**2, alone.std**2 + found.change**2 + late.change**2)
    assert [one.subject for one in lacking.notes if one.severity == Severity.WARNING] == [MODEL_SUBJECT]
