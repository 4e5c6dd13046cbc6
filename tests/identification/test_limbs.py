"""Limbs that share no joint but the base: solved one by one, and found to be what all of them together are."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel, excited_base, numeric_model_base, random_states
from exciter.experiment.signals import equation_rows
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.identification.estimators.least_squares import NonNegative, WeightedLeastSquares
from exciter.identification.estimators.physical import PhysicallyConsistent, Prior
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.joint_factors import JointFactors
from exciter.identification.information.problem import Problem
from exciter.identification.physical.prior_metric import StandardEquations, base_prior
from exciter.identification.physical.prior_values import BestKnown
from exciter.identification.runs.run import Run
from exciter.identification.selection.friction_candidates import usual_candidates
from exciter.identification.selection.friction_choice import FrictionChoice, choose_friction
from exciter.identification.uncertainty.covariance_of_correlated_errors import with_correlated_errors
from exciter.independent_blocks import independent_blocks, singular_values, upper_factor
from exciter.parameters.base import numeric_base
from exciter.parameters.terms import Coulomb, LoadFriction, RotorInertia, Viscous
from exciter.robot import load
from support.paths import ROBOTS
from support.robots import smooth_motion

SPLIT = (  #: modules that work block by block
    "exciter.independent_blocks",
    "exciter.parameters.base",
    "exciter.identification.information.information",
    "exciter.identification.estimators.least_squares",
    "exciter.identification.physical.prior_metric",
    "exciter.identification.physical.cone_program",
    "exciter.identification.selection.friction_equations",
)
USUAL = (RotorInertia(), Viscous(), Coulomb())


@pytest.fixture
def problem() -> Problem:
    """Two arms whose waist is locked; noise that the bounds of physics can feel."""
    model = DynamicModel(load(ROBOTS / "two_arms.urdf").lock({"waist": 0.2}), USUAL)
    assert [len(limb) for limb in model.robot.limbs] == [3, 2]
    motion = smooth_motion(model.robot, np.arange(1200) * 0.01, 5)
    torque = model.torque(motion, model.nominal)
    noise = 0.1 * torque.std(axis=0) * np.random.default_rng(1).standard_normal(torque.shape)
    return Problem(model, (Run.at(motion, torque + noise, 100.0),), folds=4)


def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in one block, from now on."""
    for name in SPLIT:
        module = importlib.import_module(name)
        assert hasattr(module, "independent_blocks")
        one = lambda rows: [(np.arange(len(rows)), np.arange(rows.shape[1]))]  # noqa: E731
        monkeypatch.setattr(module, "independent_blocks", one)


def again(problem: Problem) -> Problem:
    """Nothing remembered."""
    return Problem(problem.model, problem.runs, problem.formulation, problem.folds)


def test_blocks_are_connected_columns_and_their_factor_is_that_of_all():
    rng = np.random.default_rng(0)
    rows = np.zeros((9, 7))
    rows[:4, [0, 2, 5]], rows[4:8, [1, 4]] = rng.standard_normal((4, 3)), rng.standard_normal((4, 2))
    assert [(at.tolist(), columns.tolist()) for at, columns in independent_blocks(rows)] == [
        ([0, 1, 2, 3], [0, 2, 5]),
        ([4, 5, 6, 7], [1, 4]),
    ]
    with_right = np.column_stack([rows, rng.standard_normal(9)])
    upper = upper_factor(with_right)
    assert_allclose(upper.T @ upper, with_right.T @ with_right, atol=1e-14)
    assert_allclose(upper, np.triu(upper))
    assert upper[0, 1] == upper[1, 2] == 0.0


def test_factors_of_joints_have_their_own_columns_alone(problem):
    found = problem.compressed
    dense = found.factors
    assert max(len(own) for own in found.by_piece.own) < dense.shape[-1]
    values, rng = problem.nominal, np.random.default_rng(0)
    left = dense @ np.append(-values, 1.0)
    assert_allclose(found.squares(values), (left**2).sum(axis=2), rtol=1e-10)
    inverse, sigma = np.linalg.inv(found.information().r), rng.uniform(1.0, 2.0, found.rows.shape)
    hat = (((dense[..., :-1] / sigma[..., None, None]) @ inverse) ** 2).sum(axis=(2, 3))
    assert_allclose(found.taken(inverse, sigma), hat * found.inflation, rtol=1e-9)
    assert_allclose(JointFactors.of(dense).dense, dense)
    chosen = rng.permutation(dense.shape[-1] - 1)[:9]
    some, sides = found.columns(chosen), dense[..., [*chosen, -1]]
    assert_allclose(np.linalg.matrix_transpose(some.factors) @ some.factors, sides.swapaxes(2, 3) @ sides, atol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [
        WeightedLeastSquares(),
        NonNegative(),
        Prior(weight=10.0, nonnegative=True),
        PhysicallyConsistent(Prior(weight=0.1)),
    ],
    ids=lambda estimator: estimator.word,
)
def test_estimates_of_limbs_are_those_of_the_robot(problem, estimator, monkeypatch):
    split = estimator.estimate(problem)
    with_errors = with_correlated_errors(problem, split) if isinstance(estimator, WeightedLeastSquares) else split
    whole(monkeypatch)
    problem = again(problem)
    together = estimator.estimate(problem)
    assert_allclose((split.values - together.values) / together.std, 0.0, atol=1e-6)
    assert_allclose(split.std, together.std, rtol=1e-7)
    assert_allclose(split.noise, together.noise, rtol=1e-8)
    if with_errors is not split:
        expected = with_correlated_errors(problem, together)
        assert_allclose(with_errors.covariance, expected.covariance, atol=1e-9 * expected.covariance.max())
    if estimator.word == "consistent":  # bounds hold, or nothing was tested
        assert any("held" in note.text for note in split.notes)


def test_a_prior_says_the_same_of_limbs_and_of_the_robot(problem, monkeypatch):
    reference = BestKnown().reference(StandardEquations.of(problem))
    split = base_prior(problem.base, reference, 3.0)
    whole(monkeypatch)
    together = base_prior(problem.base, reference, 3.0)
    assert_allclose(split.T @ split, together.T @ together, atol=1e-9 * np.abs(together).max() ** 2)


def test_friction_of_limbs_is_chosen_as_that_of_the_robot(problem, monkeypatch):
    candidates = usual_candidates()[:6]

    def choice() -> FrictionChoice:
        reference = BestKnown().reference(StandardEquations.of(problem))
        return choose_friction(problem, candidates, (reference, 10.0))

    split = choice()
    whole(monkeypatch)
    together = choice()
    assert repr(split) == repr(together)
    for name in (None, *(one.name for one in candidates)):
        assert_allclose(split.held_out(name), together.held_out(name), rtol=1e-9)
    assert len(split.doubts) == len(together.doubts)
    scale = max(abs(value) for doubt in together.doubts for value in doubt.values()) if together.doubts else 1.0
    for own, other in zip(split.doubts, together.doubts, strict=True):
        for key in other:  # of another limb nothing changes
            assert_allclose(own.get(key, 0.0), other[key], atol=1e-8 * scale)


def test_limbs_of_a_free_base_are_not_divided():
    """Both arms push the base that carries them."""
    for base, blocks in (("fixed", 2), ("free", 1)):
        robot = load(ROBOTS / "two_arms.urdf", base=base).lock({"waist": 0.2})
        model = DynamicModel(robot, USUAL)
        motion = smooth_motion(robot, np.arange(300) * 0.01, 5)
        rows = model.regressor(motion)[..., model.base.independent].reshape(-1, len(model.base))
        inertial = [k for k, column in enumerate(model.base.independent) if column < model.inertial_size]
        assert len(independent_blocks(rows[:, inertial])) == blocks


def test_base_parameters_of_limbs_are_those_of_the_robot(problem, monkeypatch):
    closed, split = problem.model.base, numeric_model_base(problem.model)
    whole(monkeypatch)
    together = numeric_model_base(problem.model)
    assert split.names == together.names == closed.names
    assert_allclose(split.decision.values, together.decision.values, atol=1e-12)
    for found in (split, together):
        assert_allclose(found.grouping, closed.grouping, atol=1e-9)


def test_rows_of_short_pieces_without_columns_of_other_limbs_are_those_of_long_ones(problem, monkeypatch):
    """Each column through the filter, the one way that packs nothing, is the oracle."""
    low_pass = ParallelFilter(factor=5)
    rows = InverseDynamic().rows(problem.model, problem.runs[0].parts, problem.base.independent)
    dense = np.concatenate([one.sides for one in rows])
    filtered = replace(problem, formulation=InverseDynamic(low_pass))
    split = np.concatenate([one.sides for _, one in filtered.rows()])
    found, (design, factor) = WeightedLeastSquares().estimate(filtered), low_pass.at(100.0)
    cut = -(-design.settle(100.0, low_pass.edge) // factor) * factor
    every = design.zero_phase(dense, 100.0)[cut : len(dense) - design.settle(100.0, low_pass.edge) : factor]
    assert_allclose(split, every, atol=1e-9 * np.abs(every).max())
    for name, least in (("LARGEST_PIECE_BYTES", 1), ("FEWEST_PIECE_INSTANTS", 70)):
        monkeypatch.setattr(equation_rows, name, least)
    short = replace(problem, formulation=InverseDynamic(low_pass))
    assert_allclose(WeightedLeastSquares().estimate(short).values, found.values, rtol=1e-9, atol=1e-9)


def test_numeric_base_of_limbs_is_that_of_dense_rows(problem: Problem) -> None:
    model = DynamicModel(problem.model.robot, (Viscous(), LoadFriction()))
    assert [len(joints) for joints, _ in model.limbs] == [3, 2]
    motion = random_states(model.robot, 120, seed=3)
    dense = numeric_base(model.regressor(motion).reshape(-1, len(model.standard)), model.standard)
    found = excited_base(model, motion)
    assert found.independent.tolist() == dense.independent.tolist()
    assert found.method == dense.method
    assert_allclose(found.grouping, dense.grouping, rtol=0.0, atol=1e-12)


def test_singular_values_of_blocks_are_those_of_all() -> None:
    rng = np.random.default_rng(4)
    rows = np.zeros((9, 8))  # two blocks, one with fewer rows than columns; a row and a column of zeros
    rows[:5, [0, 3, 6]], rows[5:8, [1, 2, 4, 7]] = rng.standard_normal((5, 3)), rng.standard_normal((3, 4))
    assert len(independent_blocks(rows)) == 2
    assert_allclose(singular_values(rows), np.linalg.svd(rows, compute_uv=False), atol=1e-14)
