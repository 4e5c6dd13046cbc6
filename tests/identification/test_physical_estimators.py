"""Physically meaningful estimates: robots that can exist, priors that help and do not lie, σ that may be believed."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import least_squares
from scipy.stats import chi2

from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import NumpyEngine
from exciter.errors import ParameterError
from exciter.identification.estimators.least_squares import NonNegative, WeightedLeastSquares, bounded
from exciter.identification.estimators.physical import PhysicallyConsistent, Prior
from exciter.identification.information.compressed import ResidualSizes
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.identification.physical.bounds import (
    CentreBox,
    CentreSphere,
    MassBound,
    coefficient_matrix,
    nonnegative_base,
    physics,
    rotor_matrices,
)
from exciter.identification.physical.penalised_fit import TRACE_WEIGHT, PenalisedObjective, unconstrained
from exciter.identification.physical.prior_metric import (
    Entropic,
    PseudoInertia,
    Reference,
    StandardEquations,
    svec,
    whitened_links,
)
from exciter.identification.physical.prior_values import BestKnown, Described, UniformRods, uniform_rods
from exciter.identification.runs.run import Run
from exciter.notes import texts
from exciter.parameters import inertial
from exciter.parameters.consistency import consistency, dummies, link_consistency
from exciter.parameters.terms import Coulomb, DriveCoupling, Offset, RotorInertia, Viscous
from exciter.robot import embedded_robots as embedded
from exciter.robot import load
from exciter.robot.spatial import from_pseudo_inertia, pseudo_inertia
from support.real_data import require_data
from support.robots import random_robot, smooth_motion
from support.scripts import benchmark

pytestmark = pytest.mark.slow

USUAL = (RotorInertia(), Viscous(), Coulomb())
SLOW = 0.25  # part of a usual motion: excites poorly


def value_of(objective: PenalisedObjective, sides, chi: np.ndarray) -> float:
    """Less what no χ explains."""
    return objective._value(objective._with_trace(sides), chi)


def gradient_of(objective: PenalisedObjective, sides, chi: np.ndarray) -> np.ndarray:
    rows, target = objective._rows(objective._with_trace(sides), chi)
    return rows.T @ (rows @ chi - target)


def model_of(robot, terms=USUAL) -> DynamicModel:
    return DynamicModel(load(robot) if isinstance(robot, str) else robot, terms, NumpyEngine())


def true_chi(model: DynamicModel, rotor: float = 0.1) -> np.ndarray:
    """Nominal values, with rotors and friction above zero."""
    chi = model.nominal.copy()
    terms = chi[model.inertial_size :]
    moments = chi[: model.inertial_size].reshape(-1, 10)[:, [4, 6, 9]].max()
    terms[:] = [rotor * moments if name.startswith("Ia") else max(x, 1e-3) for name, x in zip(
        model.standard[model.inertial_size :], terms, strict=True
    )]  # fmt: skip
    return chi


def problem_of(model, chi, noise=0.0, *, part=1.0, samples=400, rate=40.0, seed=0, folds=10) -> Problem:
    """A smooth motion, ``part`` as wide as usual; noise: part of each joint's torque."""
    motion = smooth_motion(model.robot, np.arange(samples) / rate, seed)
    motion = replace(motion, q=part * motion.q, qd=part * motion.qd, qdd=part * motion.qdd)
    torque = model.torque(motion, chi)
    size = noise * np.sqrt((torque**2).mean(axis=0))
    torque = torque + size * np.random.default_rng(seed).standard_normal(torque.shape)
    return Problem(model, (Run.at(motion, torque, rate),), folds=folds)


def with_noise(problem: Problem, beta: np.ndarray, sigma: float, rng: np.random.Generator) -> Problem:
    """The same motion, other torques of β with white noise: drawn where the rows end up, in the factors."""
    exact, p = problem.compressed, len(beta)
    factors = exact.factors.copy()
    factors[..., :p, p] = factors[..., :p, :p] @ beta + sigma * rng.standard_normal((*factors.shape[:-2], p))
    factors[..., p, p] = sigma * np.sqrt(rng.chisquare(exact.rows - p))
    drawn = replace(problem)
    vars(drawn).update(base=problem.base, compressed=exact.with_factors(factors))
    return drawn


def links_of(model: DynamicModel, chi: np.ndarray) -> np.ndarray:
    return chi[: model.inertial_size].reshape(-1, 10)


# -- exact data -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", ["kuka-ir361-asme", "panda"])
@pytest.mark.parametrize(
    "estimator",
    [NonNegative(), PhysicallyConsistent(), Prior(weight=1.0), Prior(Entropic(), UniformRods(), weight=1.0)],
    ids=lambda e: type(e).__name__,
)
def test_exact_data_give_exact_parameters(robot, estimator):
    """A prior that is wrong (rods) or right must not matter where the data are exact."""
    model = model_of(robot)
    chi = true_chi(model)
    problem = problem_of(model, chi)
    found = estimator.estimate(problem)
    true = model.base.base_values(chi)
    assert_allclose(found.values, true, atol=1e-9 * np.abs(true).max())
    if found.standard is not None:
        assert_allclose(model.base.base_values(found.standard), found.values, atol=1e-12 * np.abs(true).max())
        assert consistency(links_of(model, found.standard)).consistent


def test_exact_data_on_the_edge_of_what_can_exist():
    """Friction of exactly zero and links that are rods and points: rounding alone must not move anything."""
    model = model_of("panda")
    chi = true_chi(model)
    chi[[model.standard.index(name) for name in ("Ia2", "Fv1", "Fv5", "Fs7")]] = 0.0
    links = links_of(model, chi)
    for j in (3, 6):  # a point mass where the centre is
        links[j] = inertial.from_mass_com_inertia(links[j, 0], inertial.centre_of_mass(links[j]), np.zeros((3, 3)))
    found = PhysicallyConsistent(Prior(values=UniformRods(), weight=0.0), margin=1e-7).estimate(problem_of(model, chi))
    true = model.base.base_values(chi)
    assert_allclose(found.values, true, atol=1e-5 * np.abs(true).max())
    reference = UniformRods().reference(StandardEquations.of(problem_of(model, chi)))
    bodies = np.linalg.eigvalsh(whitened_links(links_of(model, found.standard), reference.lower))
    assert bodies.min() >= 1e-7 * (1.0 - 1e-6)  # the margin itself, not the solver's idea of it


# -- robots that can exist ------------------------------------------------------------------------------------------


def test_every_posture_of_a_poorly_excited_panda_has_a_positive_inertia():
    """10 000 postures, rotors included; the unconstrained estimate fails there, so the test can."""
    model = model_of("panda", (*USUAL, Offset()))
    chi = true_chi(model)
    problem = problem_of(model, chi, 0.05, part=SLOW)
    found = PhysicallyConsistent().estimate(problem)
    assert all(link_consistency(phi, tolerance=0.0).consistent for phi in links_of(model, found.standard))
    assert (found.standard[70 : 70 + 21] >= 0.0).all()
    q = np.random.default_rng(1).uniform(-2.9, 2.9, (10_000, 7))
    rotors = np.einsum("t,tij->ij", found.standard[70:], rotor_matrices(problem.model))
    matrices = model.dynamics.inertia_matrix(q, found.standard[:70]) + rotors
    assert (np.linalg.eigvalsh(matrices)[:, 0] > 0.0).all()

    free = unconstrained(StandardEquations.of(problem), BestKnown().reference(StandardEquations.of(problem)))
    rotors = np.einsum("t,tij->ij", free.chi[70:], rotor_matrices(problem.model))
    wrong = np.linalg.eigvalsh(model.dynamics.inertia_matrix(q[:500], free.chi[:70]) + rotors)[:, 0]
    assert (wrong <= 0.0).any()

    plain = WeightedLeastSquares().estimate(problem)
    held_out = problem_of(model, chi, 0.05, part=SLOW, seed=3).compressed
    rise = (
        ResidualSizes.of(held_out, found.values).total_percent - ResidualSizes.of(held_out, plain.values).total_percent
    )
    assert rise <= 0.1
    assert "held at the limit of what can exist" in " ".join(texts(found.notes))


def scaled(robot, size: float):
    """The same robot, ``size`` times as large, of the same material."""
    powers = size ** np.array([3.0, 4, 4, 4, 5, 5, 5, 5, 5, 5])
    joints = [replace(j, translation=size * j.translation, inertia=powers * j.inertia) for j in robot.joints]
    frames = [replace(f, translation=size * f.translation) for f in robot.frames]
    friction = {name: size**5 * values for name, values in robot.friction.items()}
    return replace(robot, joints=tuple(joints), frames=tuple(frames), friction=friction, capsules=(), shapes=())


@pytest.mark.parametrize("size", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("values", [Described(), UniformRods()], ids=["described", "rods"])
def test_grams_and_tonnes(size, values):
    """A Panda of 2 g and one of 1 t, with a good prior and without one."""
    model = model_of(scaled(load("panda"), size))
    chi = model.nominal.copy()
    chi[70:77] = 0.1 * chi[9]
    problem = problem_of(model, chi, 0.03, part=SLOW)
    found = PhysicallyConsistent(Prior(values=values, weight=0.0)).estimate(problem)
    assert all(link_consistency(phi, tolerance=0.0).consistent for phi in links_of(model, found.standard))
    assert (found.standard[70:] >= 0.0).all()
    fit = ResidualSizes.of(problem.compressed, found.values).total_percent
    assert fit < found.free.total_percent + 0.1
    assert ResidualSizes.of(problem_of(model, chi, seed=5).compressed, found.values).total_percent < 60.0


def test_the_solver_agrees_with_an_independent_one():
    """Least squares over factors, J = X Xᵀ, in which every number is a body, and squares for what is ≥ 0."""
    model = model_of(random_robot(11, 2, prismatic=0.0), (RotorInertia(), Viscous()))
    problem = problem_of(model, true_chi(model, 0.01), 0.3, part=SLOW, samples=100)
    equations = StandardEquations.of(problem)
    reference = UniformRods().reference(equations)
    weights = equations.weights(unconstrained(equations, reference).noise)
    sides = equations.sides(weights)
    objective = PenalisedObjective(equations, reference, PseudoInertia(), 0.1)
    chi, factor = objective.minimum(sides, physics(equations, reference, 1e-9))
    free, _ = objective.minimum(sides)
    assert value_of(objective, sides, chi) > value_of(objective, sides, free) + 0.5  # bounds do hold it

    rows, columns = np.tril_indices(4)

    def expand(theta):
        factors = np.zeros((2, 4, 4))
        factors[:, rows, columns] = theta[:20].reshape(2, 10)
        root = reference.lower @ factors
        links = from_pseudo_inertia(root @ root.swapaxes(1, 2))
        return np.concatenate([links.ravel(), equations.term_scale * theta[20:] ** 2])

    def residuals(theta):
        x = expand(theta)
        links = (x - reference.chi)[:20].reshape(2, 10)
        pull = np.einsum("nij,nj->ni", reference.whitening, links).ravel()
        terms = (x - reference.chi)[20:] / equations.term_scale
        return np.concatenate(
            [sides[0] @ x - sides[1], np.sqrt(0.1 + TRACE_WEIGHT) * pull, np.sqrt(TRACE_WEIGHT) * terms]
        )

    start = np.concatenate([np.tile(np.eye(4)[rows, columns], 2), np.full(4, 0.1)])
    other = least_squares(residuals, start, max_nfev=150, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    ours, theirs = value_of(objective, sides, chi), value_of(objective, sides, expand(other.x))
    assert ours < theirs < 1.01 * ours  # it creeps toward the edge of what can exist
    assert np.linalg.norm(factor @ (chi - expand(other.x))) ** 2 < 2.2 * (theirs - ours)  # convex: it cannot be farther


@pytest.mark.parametrize("size", [0.05, 4.0])
def test_the_solver_is_optimal(size):
    """A proof, without a solver: no body and no friction ≥ 0 leads down from there (the gradient is in the dual cone),
    and none that was used leads up (it is at right angles to the answer)."""
    model = model_of(scaled(load("panda"), size))
    problem = problem_of(model, model.nominal, 0.03, part=SLOW)
    equations = StandardEquations.of(problem)
    reference = UniformRods().reference(equations)
    sides = equations.sides(equations.weights(unconstrained(equations, reference).noise))
    objective = PenalisedObjective(equations, reference, PseudoInertia())
    chi, _ = objective.minimum(sides, physics(equations, reference, 0.0))
    gradient = sides[0].T @ (sides[0] @ chi - sides[1])
    gradient[:70] += (
        TRACE_WEIGHT
        * np.einsum(
            "nji,njk,nk->ni", reference.whitening, reference.whitening, links_of(model, chi - reference.chi)
        ).ravel()
    )
    gradient[70:] += TRACE_WEIGHT * (chi - reference.chi)[70:] / equations.term_scale**2
    pulls = reference.lower.swapaxes(1, 2) @ coefficient_matrix(links_of(model, gradient)) @ reference.lower
    scale = np.abs(pulls).max()
    assert scale > 0.1  # bounds do hold it
    assert (np.linalg.eigvalsh(pulls)[:, 0] > -1e-5 * scale).all()
    bodies = whitened_links(links_of(model, chi), reference.lower)
    assert (np.abs(np.einsum("nij,nij->n", pulls, bodies)) < 1e-5 * scale).all()
    terms = gradient[70:] * equations.term_scale
    assert (terms > -1e-6 * np.abs(terms).max()).all()
    assert (np.abs(terms * chi[70:] / equations.term_scale) < 1e-6 * np.abs(terms).max()).all()


def test_coupled_rotors_are_positive_together():
    """Ia5, Ia6 ≥ 0 and Iam6 ≥ 0 alone would let a motor that turns two joints have negative energy."""
    terms = (RotorInertia(), DriveCoupling("joint_5", "joint_6"))
    model = model_of("tx40", terms)
    chi = true_chi(model)
    names = list(model.standard)
    chi[names.index("Iam6")] = 1.2 * chi[names.index("Ia6")]
    problem = problem_of(model, chi, 0.02)
    equations = StandardEquations.of(problem)
    found = PhysicallyConsistent().estimate(problem)
    matrix = np.einsum("t,tij->ij", found.standard[60:], rotor_matrices(equations.model))
    assert np.linalg.eigvalsh(matrix)[0] >= -1e-9 * np.abs(matrix).max()
    assert found.standard[names.index("Iam6")] > 0.0


# -- bounds ---------------------------------------------------------------------------------------------------------


def test_bounds_on_masses_and_centres_hold():
    """In the joint frames of the description, which are not those of the parameters."""
    model = model_of(random_robot(1, 3, prismatic=0.0))
    assert np.abs(model.mdh.rotations[1] - np.eye(3)).max() > 0.1
    assert np.abs(model.mdh.translations[1]).max() > 0.05
    chi = true_chi(model)
    problem = problem_of(model, chi, 0.02)
    first, second = model.robot.joint_names[0], model.robot.joint_names[1]
    truth = inertial.centre_of_mass(model.joint_frame_inertias(chi)[1])
    aim = truth + np.array([0.05, -0.05, 0.02])
    bounds = (
        MassBound(first, lower=1.5 * chi[0]),
        MassBound(upper=0.9 * chi[: model.inertial_size : 10].sum() + 0.5 * chi[0]),
        CentreSphere(second, tuple(aim), 0.01),
        CentreBox(second, tuple(aim), (np.inf, np.inf, aim[2] + 1e-3)),
    )
    found = PhysicallyConsistent(bounds=bounds).estimate(problem)
    links = model.joint_frame_inertias(found.standard)
    assert links[0, 0] >= 1.5 * chi[0] * (1.0 - 1e-7)
    assert links[:, 0].sum() <= bounds[1].upper * (1.0 + 1e-7)
    centre = inertial.centre_of_mass(links[1])
    assert np.linalg.norm(centre - aim) <= 0.01 + 1e-6
    assert (centre >= aim - 1e-6).all()
    assert centre[2] <= aim[2] + 1e-3 + 1e-6
    free = PhysicallyConsistent().estimate(problem)
    assert np.linalg.norm(inertial.centre_of_mass(model.joint_frame_inertias(free.standard)[1]) - aim) > 0.011


@pytest.mark.parametrize(
    ("bounds", "named"),
    [
        ((MassBound("joint_2", lower=50.0), MassBound(upper=40.0)), ["mass of 'joint_2'", "all moving links"]),
        (
            (CentreBox("joint_3", (0.5, -1, -1), (1, 1, 1)), CentreSphere("joint_3", (0, 0, 0), 0.1)),
            ["between (0.5, -1, -1)", "within 0.1 m"],
        ),
    ],
    ids=["masses", "centres"],
)
def test_bounds_that_clash_are_named(bounds, named):
    model = model_of("kuka-ir361-asme")
    problem = problem_of(model, true_chi(model), 0.02)
    innocent = MassBound("joint_1", upper=500.0)
    with pytest.raises(ParameterError, match="clash") as error:
        PhysicallyConsistent(bounds=(innocent, *bounds)).estimate(problem)
    assert all(words in str(error.value) for words in named)
    assert "joint_1" not in str(error.value)
    assert "\n" not in str(error.value)


def test_bad_settings_are_refused():
    for wrong in (
        lambda: MassBound("a", 2.0, 1.0),
        lambda: MassBound("a", upper=0.0),
        lambda: CentreBox("a", (0, 0, 1), (1, 1, 0)),
        lambda: CentreSphere("a", (0, 0, 0), -1.0),
        lambda: Prior(weight=-1.0),
        lambda: PhysicallyConsistent(margin=0.0),
        lambda: UniformRods(mass=0.0),
    ):
        with pytest.raises(ParameterError):
            wrong()
    model = model_of("kuka-ir361-asme")
    problem = problem_of(model, true_chi(model), 0.02)
    with pytest.raises(Exception, match="nobody"):
        PhysicallyConsistent(bounds=(MassBound("nobody", 1.0),)).estimate(problem)
    with pytest.raises(ParameterError, match="2 folds"):
        Prior().estimate(replace(problem, folds=1))


# -- non-negative ---------------------------------------------------------------------------------------------------


def test_bounded_least_squares_is_optimal():
    """Karush–Kuhn–Tucker: gradient zero where free, not negative where held."""
    rng = np.random.default_rng(2)
    w, y = rng.standard_normal((40, 8)), rng.standard_normal(40)
    information = Information.empty(8).add(w, y)
    bound = np.arange(8) % 2 == 0
    values = bounded(information, bound)
    gradient = w.T @ (w @ values - y)
    held = bound & (values == 0.0)
    assert held.any()
    assert (bound & ~held).any()
    assert (values[bound] >= 0.0).all()
    assert_allclose(gradient[~held], 0.0, atol=1e-9)
    assert (gradient[held] >= -1e-12).all()


def test_which_groups_no_robot_has_negative():
    """Against random bodies: bound ones are never negative, and unbound ones are, some time or other."""
    model = model_of("gautier-khalil", (*USUAL, Offset()))
    problem = problem_of(model, model.nominal)
    bound = nonnegative_base(problem)
    names = np.array(problem.names)
    assert {"ZZR1", "ZZR2", "ZZ3", "Ia3", "Fv1", "Fs3"} <= set(names[bound])
    rng = np.random.default_rng(0)
    bodies = from_pseudo_inertia(np.array([x @ x.T for x in rng.standard_normal((3 * 3000, 4, 4))])).reshape(-1, 30)
    terms = np.abs(rng.standard_normal((3000, 12)))
    terms[:, 9:] *= rng.choice([-1.0, 1.0], (3000, 3))  # offsets have any sign
    values = model.base.base_values(np.column_stack([bodies, terms]))
    assert (values[:, bound] >= 0.0).all()
    assert (values[:, ~bound] < 0.0).any(axis=0).all()


# -- uncertainty ----------------------------------------------------------------------------------------------------


def coverage(estimators, problem, beta, sigma, runs, seed=0):
    """Share of 95 % intervals and of 95 % ellipsoids that contain β, and the errors (runs, p) over σ, per estimator."""
    rng = np.random.default_rng(seed)
    found = [[] for _ in estimators]
    for _ in range(runs):
        drawn = with_noise(problem, beta, sigma, rng)
        for results, estimator in zip(found, estimators, strict=True):
            results.append(estimator.estimate(drawn))
    shares = []
    limit = chi2.ppf(0.95, len(beta))
    for results in found:
        errors = np.array([(e.values - beta) for e in results])
        std = np.array([e.std for e in results])
        inside = np.abs(errors) <= results[0].quantile() * std
        squares = [e @ np.linalg.solve(r.covariance, e) for e, r in zip(errors, results, strict=True)]
        shares.append((inside.mean(), np.mean(np.array(squares) <= limit), errors / std, results))
    return shares


def test_intervals_cover_where_bounds_hold_and_where_they_do_not():
    """Interior: the same as weighted least squares. At bounds: σ of the unbounded estimate, on the safe side."""
    model = model_of("kuka-ir361-asme")
    chi = true_chi(model)
    beta = model.base.base_values(chi)
    problem = problem_of(model, chi, folds=1, samples=300)
    interior = coverage(
        (WeightedLeastSquares(), NonNegative(), PhysicallyConsistent()), problem, beta, sigma=0.05, runs=8
    )
    plain = interior[0][3]
    for _, _, _, results in interior[1:]:
        for a, b in zip(results, plain, strict=True):
            assert (np.abs(a.values - b.values) < 1e-2 * b.std).all()
            assert_allclose(a.covariance, b.covariance, rtol=1e-2, atol=1e-4 * np.abs(b.covariance).max())

    names = list(model.standard)
    chi[[names.index(name) for name in ("Ia2", "Fv1", "Fs3")]] = 0.0
    beta = model.base.base_values(chi)
    runs = 100
    slack = 3.0 * np.sqrt(0.05 * 0.95 / runs)
    for share, ellipsoid, errors, results in coverage(
        (NonNegative(), PhysicallyConsistent()), problem, beta, sigma=20.0, runs=runs
    ):
        assert np.mean(["held" in " ".join(texts(r.notes)) for r in results]) > 0.5
        assert share > 0.94
        assert ellipsoid > 0.95 - slack
        assert (errors**2).mean() < 1.0  # nearer than the unbounded one


def test_intervals_cover_when_the_prior_is_as_wrong_as_it_says():
    """Robots drawn from the prior itself: the reported covariance is that of the errors."""
    model = model_of("kuka-ir361-asme")
    problem = problem_of(model, true_chi(model), folds=1, part=0.6, samples=150)
    equations = StandardEquations.of(problem)
    reference = Described().reference(equations)
    weight, sigma, runs = 400.0, 8.0, 150
    rng = np.random.default_rng(3)
    squares, inside = [], []
    for _ in range(runs):
        chi = true_chi(model)
        for j in range(3):
            drawn = svec(np.eye(4)) + rng.standard_normal(10) / np.sqrt(weight)
            chi[10 * j : 10 * j + 10] = np.linalg.solve(reference.whitening[j], drawn)
        beta = model.base.base_values(chi)
        found = Prior(weight=weight).estimate(with_noise(problem, beta, sigma, rng))
        error = found.values - beta
        squares.append(error @ np.linalg.solve(found.covariance, error))
        inside.append(np.abs(error) <= found.quantile() * found.std)
    p = len(beta)
    low, high = chi2.ppf([0.0005, 0.9995], p * runs)
    assert low * 0.97 < sum(squares) < high * 1.03
    assert 0.93 < np.mean(inside) < 0.97
    plain = WeightedLeastSquares().estimate(with_noise(problem, beta, sigma, rng))
    assert (found.std <= plain.std * 1.3).all()
    assert (found.std < 0.7 * plain.std).any()  # and it does help


# -- priors ---------------------------------------------------------------------------------------------------------


def test_entropic_objective_against_finite_differences():
    model = model_of("kuka-ir361-asme")
    problem = problem_of(model, true_chi(model), 0.3, part=SLOW)
    equations = StandardEquations.of(problem)
    reference = Described().reference(equations)
    sides = equations.sides(equations.signal)
    objective = PenalisedObjective(equations, reference, Entropic(), 3.0)
    rng = np.random.default_rng(0)

    def random_direction():
        links = np.linalg.solve(reference.whitening, rng.standard_normal((3, 10, 1)))
        return np.append(links, equations.term_scale * rng.standard_normal(9))

    chi = reference.chi + 0.05 * random_direction()
    for _ in range(20):
        step = 1e-5 * random_direction()
        slope = (value_of(objective, sides, chi + step) - value_of(objective, sides, chi - step)) / 2.0
        assert_allclose(gradient_of(objective, sides, chi) @ step, slope, rtol=1e-6, atol=1e-9)
    best, factor = objective.minimum(sides)
    assert (np.linalg.eigvalsh(pseudo_inertia(links_of(model, best))) > 0.0).all()
    scale = np.linalg.norm(factor, axis=0)
    assert (np.abs(gradient_of(objective, sides, best)) < 1e-4 * scale).all()
    step = 1e-5 * random_direction()
    curvature = (gradient_of(objective, sides, best + step) - gradient_of(objective, sides, best - step)) / 2.0
    assert_allclose(curvature, factor.T @ factor @ step, rtol=1e-3, atol=1e-5 * np.abs(curvature).max())


def test_metrics_agree_near_the_prior_and_do_not_depend_on_units():
    model = model_of("kuka-ir361-asme")
    links = model.nominal[:30].reshape(3, 10)
    rng = np.random.default_rng(1)
    reference = Reference(links, np.zeros(0))
    near = np.array([np.linalg.solve(s, svec(np.eye(4)) + 1e-4 * rng.standard_normal(10)) for s in reference.whitening])
    quadratic = PseudoInertia().value(near, reference)
    assert_allclose(Entropic().value(near, reference), quadratic, rtol=1e-3)
    explicit = sum(
        0.5 * np.trace(np.linalg.solve(a, b - a) @ np.linalg.solve(a, b - a))
        for a, b in zip(pseudo_inertia(links), pseudo_inertia(near), strict=True)
    )
    assert_allclose(quadratic, explicit, rtol=1e-6)
    millimetres = np.array([1.0, 1e3, 1e3, 1e3, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6])
    small = Reference(links * millimetres, np.zeros(0))
    for metric in (PseudoInertia(), Entropic()):
        assert_allclose(metric.value(near * millimetres, small), metric.value(near, reference), rtol=1e-5)
    assert Entropic().value(-near, reference) == np.inf


@pytest.mark.parametrize("metric", [PseudoInertia(), Entropic()], ids=["pseudo-inertia", "entropic"])
def test_cross_validation_weighs_priors_by_their_worth(metric):
    """Strong where the prior is right and the data are poor, weak where it is wrong and they are rich."""
    model = model_of("kuka-ir361-asme")
    chi = true_chi(model)
    poor = problem_of(model, chi, 0.3, part=SLOW)
    trusted = Prior(metric).estimate(poor)
    plain = WeightedLeastSquares().estimate(poor)
    fresh = problem_of(model, chi, seed=7)
    errors = [ResidualSizes.of(fresh.compressed, e.values).total_percent for e in (trusted, plain)]
    assert errors[0] < 0.3 * errors[1]
    wrong = chi.copy()
    bodies = links_of(model, wrong)
    bodies[:] = [1.7 * bodies[0], 0.5 * bodies[1], 2.0 * bodies[2]]
    rich = problem_of(model, wrong, 0.01, samples=1200)
    doubted = Prior(metric).estimate(rich)
    assert trusted.choice.weight >= 100.0 * doubted.choice.weight
    errors = [ResidualSizes.of(problem_of(model, wrong, seed=7).compressed, e.values).total_percent
              for e in (doubted, WeightedLeastSquares().estimate(rich))]  # fmt: skip
    assert errors[0] < 1.2 * errors[1]
    assert "by cross-validation" in " ".join(texts(trusted.notes))


def test_a_prior_within_bounds_of_physics():
    """Composition: the same prior, alone and with LMIs, entropic and quadratic, with a bound that holds."""
    model = model_of("kuka-ir361-asme")
    problem = problem_of(model, true_chi(model), 0.3, part=SLOW)
    heavy = (MassBound("joint_3", lower=40.0),)
    for metric in (PseudoInertia(), Entropic()):
        prior = Prior(metric, weight=10.0)
        found = PhysicallyConsistent(prior, bounds=heavy).estimate(problem)
        assert all(link_consistency(phi, tolerance=0.0).consistent for phi in links_of(model, found.standard))
        assert_allclose(found.standard[20], 40.0, rtol=1e-6)
        equations = StandardEquations.of(problem)
        reference = BestKnown().reference(equations)
        objective = PenalisedObjective(equations, reference, metric, 10.0)
        sides = equations.sides(equations.weights(unconstrained(equations, reference).noise))
        value = value_of(objective, sides, found.standard)
        rng = np.random.default_rng(0)
        for _ in range(50):  # nothing better nearby that is allowed
            links = links_of(model, found.standard) * (1.0 + 1e-3 * rng.standard_normal((3, 1)))
            links = links + 1e-3 * reference.links * rng.uniform(0.0, 1.0, (3, 1))
            other = np.concatenate([links.ravel(), found.standard[30:]])
            assert links[2, 0] < 40.0 or value_of(objective, sides, other) > value - 1e-9


def test_dummies_are_found_and_real_robots_are_not():
    for name in embedded.names():
        assert not dummies(load(name)), name
    robot = load("panda")
    for links in (
        np.zeros((7, 10)),
        np.tile(robot.inertias[0], (7, 1)),
        np.outer(robot.inertias[:, 0], np.eye(10)[0]),
        robot.inertias * 0.0 + np.array([1.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1]) * np.arange(1, 8)[:, None],
    ):
        joints = tuple(replace(j, inertia=phi) for j, phi in zip(robot.joints, links, strict=True))
        assert dummies(replace(robot, joints=joints))


def test_dummies_of_published_descriptions():
    for name, expected in (("panda", True), ("kr300", True), ("lwr4", False), ("tx40", False)):
        assert bool(dummies(load(require_data(name) / f"{name}.urdf"))) == expected, name


@pytest.mark.parametrize("robot", [*embedded.names(), "tree"])
def test_rods_are_bodies_of_any_robot(robot):
    loaded = random_robot(2, 5, tree=True) if robot == "tree" else load(robot)
    rods = uniform_rods(loaded)
    assert consistency(rods).margin > 1e-3
    assert_allclose(rods[:, 0].sum(), 1.0)


def test_rods_get_their_mass_from_the_data():
    """A Panda whose description holds placeholders: said so, and about as heavy as it is."""
    robot = load("panda")
    truth = model_of("panda")
    dummy = np.array([1.0, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01])
    model = model_of(replace(robot, joints=tuple(replace(j, inertia=dummy) for j in robot.joints)))
    problem = problem_of(truth, true_chi(truth), 0.02)
    problem = replace(problem, model=model)
    reference = BestKnown().reference(StandardEquations.of(problem))
    assert "placeholders" in reference.notes[0].text
    assert 0.5 < reference.links[:, 0].sum() / robot.inertias[:, 0].sum() < 2.0


@pytest.mark.parametrize("factor", [1e-3, 1e4])
def test_masses_in_wrong_units_are_noticed(factor):
    """Grams for kilograms would pull everything to zero, or make every pull too weak."""
    truth = model_of("kuka-ir361-asme")
    joints = tuple(replace(j, inertia=factor * j.inertia) for j in truth.robot.joints)
    problem = problem_of(truth, true_chi(truth), 0.03, part=SLOW)
    problem = replace(problem, model=model_of(replace(truth.robot, joints=joints)))
    found = PhysicallyConsistent().estimate(problem)
    assert "are they in kg" in found.notes[1].text
    assert ResidualSizes.of(problem.compressed, found.values).total_percent < 4.0
    assert 0.3 < links_of(truth, found.standard)[:, 0].sum() / links_of(truth, truth.nominal)[:, 0].sum() < 3.0
    assert "are they in kg" not in " ".join(
        texts(Described().reference(StandardEquations.of(replace(problem, model=truth))).notes)
    )


def test_impossible_descriptions_become_bodies():
    """Papers' tables give base parameters; the links behind them need not exist."""
    model = model_of("gautier-khalil")
    assert not consistency(links_of(model, model.nominal)).consistent
    reference = Described().reference(StandardEquations.of(problem_of(model, model.nominal)))
    assert (np.linalg.eigvalsh(whitened_links(reference.links, reference.lower)) > 0.0).all()
    assert "can exist" in reference.notes[1].text


def test_a_missing_term_is_betrayed_by_the_residuals():
    """A spring that the model lacks: unbounded least squares hides it in bodies that do not exist."""
    model = model_of("kuka-ir361-asme")
    chi = true_chi(model)
    problem = problem_of(model, chi, 0.01)
    part = problem.runs[0].parts[0]
    torque = part.torque.copy()
    torque[:, 1] += 4000.0 * np.sin(part.motion.q[:, 1] + 2.5)
    spring = replace(problem, runs=(Run.at(part.motion, torque, part.rate),))
    assert "may lack a term" in PhysicallyConsistent().estimate(spring).notes[-1].text
    assert "may lack a term" not in PhysicallyConsistent().estimate(problem).notes[-1].text


@pytest.mark.parametrize(("name", "share"), [("kr300", 0.7)])
def test_physics_helps_a_real_robot_that_hardly_moves(name, share):
    """Run A to run B, never seen: bodies that exist predict far better than those of least squares."""
    benchmark_module = benchmark("consistent")
    train, held_out = benchmark_module.recorded(require_data(name), name)
    plain = ResidualSizes.of(held_out.compressed, WeightedLeastSquares().estimate(train).values).total_percent
    found = PhysicallyConsistent().estimate(train)
    assert ResidualSizes.of(held_out.compressed, found.values).total_percent < share * plain
