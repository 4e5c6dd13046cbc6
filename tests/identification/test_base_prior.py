"""What a prior on the links says of the base parameters: against least squares in all standard parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import NumpyEngine
from exciter.identification.estimators.physical import Prior
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.identification.physical.penalised_fit import TRACE_WEIGHT, PenalisedObjective
from exciter.identification.physical.prior_metric import PseudoInertia, Reference, StandardEquations, base_prior
from exciter.identification.physical.prior_values import UniformRods
from exciter.identification.runs.run import Run
from exciter.parameters.base import BaseParameters
from exciter.parameters.terms import Coulomb, GravitySpring, JointTerm, Offset, RotorInertia, Viscous
from exciter.robot.spatial import pseudo_inertia
from support.robots import CASES, smooth_motion

USUAL: tuple[JointTerm, ...] = (RotorInertia(), Viscous(), Coulomb(), Offset())
#: A rotor that is grouped with its link, prismatic joints, a tree, links that torques do not see at all.
ROBOTS = ("kuka-ir361", "panda", "gantry", "random-tree", "prismatic-only")


def problem_of(robot: str, noise: float = 0.1) -> Problem:
    model = DynamicModel(CASES[robot](), USUAL, NumpyEngine())
    motion = smooth_motion(model.robot, np.arange(200) / 20.0)
    torque = model.torque(motion, np.abs(model.nominal) + 0.1)
    size = noise * np.sqrt((torque**2).mean(axis=0))
    torque = torque + size * np.random.default_rng(0).standard_normal(torque.shape)
    return Problem(model, (Run.at(motion, torque, 20.0),), folds=2)


def metric_rows(reference: Reference, p: int) -> tuple[np.ndarray, np.ndarray]:
    """‖L⁻¹ J L⁻ᵀ − 1‖² of all links as rows (…, p) for χ, number by number, and their right sides."""
    rows = np.zeros((16 * len(reference.links), p))
    for k, link in enumerate(reference.links):
        lower = np.linalg.cholesky(pseudo_inertia(link))
        for i in range(10):
            half = np.linalg.solve(lower, pseudo_inertia(np.eye(10)[i]))
            rows[16 * k : 16 * k + 16, 10 * k + i] = np.linalg.solve(lower, half.T).ravel()
    return rows, np.tile(np.eye(4).ravel(), len(reference.links))


def prior_rows(problem: Problem, reference: Reference, weight: float) -> tuple[np.ndarray, np.ndarray]:
    """λ times the metric, and offsets over their σ."""
    rows, right = (weight**0.5 * side for side in metric_rows(reference, len(problem.base.standard)))
    if reference.spread is not None:
        for k, name in enumerate(problem.model.standard[len(reference.links) * 10 :]):
            assert np.isfinite(reference.spread[k]) == name.startswith("off")
            if name.startswith("off"):
                row = np.eye(rows.shape[1])[10 * len(reference.links) + k]
                rows = np.vstack([rows, row / reference.spread[k]])
                right = np.append(right, reference.terms[k] / reference.spread[k])
    return rows, right


def least(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Least squares, columns of all sizes; of many minima one."""
    size = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
    return np.linalg.lstsq(rows / size, right, rcond=1e-11)[0] / size


def solved(information: Information) -> np.ndarray:
    return linalg.solve_triangular(information.r, information.z)


@pytest.fixture(scope="module", params=ROBOTS)
def problem(request: pytest.FixtureRequest) -> Problem:
    return problem_of(request.param)


def reference_of(problem: Problem, offset: float | None = None) -> Reference:
    """Rods: nothing like the links that moved."""
    equations = StandardEquations.of(problem)
    found = UniformRods().reference(equations)
    return found if offset is None else found.with_small_offsets(equations, offset)


@pytest.mark.parametrize("offset", [None, 0.01])
@pytest.mark.parametrize("weight", [1e-2, 1.0, 1e3])
def test_the_minimum_is_that_over_all_standard_parameters(
    problem: Problem, weight: float, offset: float | None
) -> None:
    reference, grouping = reference_of(problem, offset), problem.base.grouping
    information = problem.compressed.information(np.sqrt(problem.compressed.signal / 200))
    rows = base_prior(problem.base, reference, weight)
    beta = solved(information.add(rows[:, :-1], rows[:, -1]))
    prior, target = prior_rows(problem, reference, weight)
    chi = least(np.vstack([information.r @ grouping, prior]), np.append(information.z, target))
    assert_allclose(beta, grouping @ chi, atol=1e-7 * np.abs(beta).max())
    free = solved(information)
    assert np.abs(beta - free).max() > 1e-4 * np.abs(free).max()  # there is a pull


@pytest.mark.parametrize(("weight", "offset"), [(0.1, None), (100.0, 0.1)])
def test_it_is_the_minimum_of_the_estimator(problem: Problem, weight: float, offset: float | None) -> None:
    """Which has a trace of the prior beside it, and of zero for the joint terms: that much they may differ."""
    equations, reference = StandardEquations.of(problem), reference_of(problem, offset)
    noise = 0.1 * equations.signal
    chi, _ = PenalisedObjective(equations, reference, PseudoInertia(), weight).minimum(equations.sides(noise))
    rows = base_prior(problem.base, reference, weight + TRACE_WEIGHT)
    information = problem.compressed.information(noise).add(rows[:, :-1], rows[:, -1])
    error = information.r @ (solved(information) - problem.base.base_values(chi))
    assert np.linalg.norm(error) < 1e-3  # in standard deviations
    found = Prior(values=UniformRods(), weight=weight, offset=offset).estimate(problem)
    same = base_prior(problem.base, reference, weight)
    assert found.prior is not None
    assert_allclose(found.prior.T @ found.prior, same.T @ same, rtol=1e-12, atol=1e-12)


def test_no_more_is_said_than_the_metric_says(problem: Problem) -> None:
    """The least distance among all χ of the same β, for any β; joint terms that stand alone are free."""
    base, reference = problem.base, reference_of(problem)
    rows = base_prior(base, reference)
    metric, target = metric_rows(reference, len(base.standard))
    null = linalg.null_space(base.grouping)
    rng = np.random.default_rng(1)
    for _ in range(3):
        chi = reference.chi * rng.uniform(-1.0, 2.0, len(base.standard))
        left = metric @ chi - target
        inside = metric @ null
        size = np.linalg.norm(inside, axis=0)
        expected = left - inside @ least(inside, left) if size.any() else left
        found = rows[:, :-1] @ base.base_values(chi) - rows[:, -1]
        assert_allclose(found @ found, expected @ expected, rtol=1e-8, atol=1e-10)
    names = [base.standard[k] for k in base.independent]
    for k, name in enumerate(names):
        if name[:2] in ("Fv", "Fs") or name.startswith("off"):
            assert not rows[:, k].any()


def other_base(base: BaseParameters, seed: int) -> BaseParameters:
    """The same combinations, led by other standard parameters."""
    mixed = np.random.default_rng(seed).permutation(len(base.standard))
    kept: list[int] = []
    for column in mixed.tolist():  # the first that are independent of those before them
        if np.linalg.matrix_rank(base.grouping[:, [*kept, column]], tol=1e-9) > len(kept):
            kept.append(column)
    independent = np.sort(kept)
    grouping = np.linalg.solve(base.grouping[:, independent], base.grouping)
    return replace(base, independent=independent, grouping=np.where(np.abs(grouping) < 1e-12, 0.0, grouping))


def test_it_does_not_matter_which_columns_are_independent(problem: Problem) -> None:
    base, reference = problem.base, reference_of(problem)
    chi = reference.chi + np.random.default_rng(2).standard_normal(len(base.standard))
    sums = []
    for one in (base, *(other_base(base, seed) for seed in range(3))):
        rows = base_prior(one, reference)
        left = rows[:, :-1] @ one.base_values(chi) - rows[:, -1]
        sums.append(left @ left)
        assert len(rows) == len(base_prior(base, reference))
    assert_allclose(sums, sums[0], rtol=1e-7)
    assert set(other_base(base, 0).independent) != set(base.independent)


def test_a_spring_that_looks_like_weight_takes_the_prior_with_it() -> None:
    """Joint terms are free: a spring that is grouped with MX2 leaves nothing known of their sum."""
    model = DynamicModel(CASES["kuka-ir361"](), (GravitySpring("joint_2"),), NumpyEngine())
    motion = smooth_motion(model.robot, np.arange(50) / 20.0)
    problem = Problem(model, (Run.at(motion, model.torque(motion), 20.0),), folds=2)
    reference = UniformRods(10.0).reference(StandardEquations.of(problem))
    free = [k for k in range(len(model.base)) if model.base.grouping[k, 30:].any()]
    assert free
    rows = base_prior(problem.base, reference)
    np.testing.assert_allclose(rows[:, free], 0.0, atol=1e-9 * np.abs(rows).max())
