"""The feasible SQP and what it stands on: variables, linear limits, starts, stages; each against something known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import NumpyEngine
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.optimality_and_condition import (
    ConditionNumber,
    DOptimality,
    NormalizedCondition,
    ScaledCondition,
    SoftCondition,
)
from exciter.excitation.criteria.weighted_sums import (
    ConditionAndEquilibrium,
    ConditionAndTorque,
    Logarithm,
    WeightedSum,
    positive,
    softened,
    stages,
)
from exciter.excitation.optimiser import quadratic_program
from exciter.excitation.optimiser.limits import JointLimits, NonlinearLimits, Variables, limit_ranges
from exciter.excitation.optimiser.quadratic_program import QuadraticProgram, QuadraticRows, solved
from exciter.excitation.optimiser.search import curve_of, joint_excess, random_start, scaled_to_limits
from exciter.excitation.optimiser.sqp import Program, SQPSettings, minimise
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.piecewise import AccelerationSequence, BSpline, Quintic
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.parameters.terms import Coulomb, Tanh, Viscous
from exciter.robot import load
from exciter.robot.motion import MotionGradient

FAMILIES = {
    "fourier": Fourier(10.0, 4),
    "fourier at rest": Fourier(10.0, 4, at_rest=True),
    "fourier by joint": Fourier(10.0, {"joint_1": 2, "joint_2": (1, 3, 5), "joint_3": 4}, at_rest=True),
    "bspline": BSpline(8.0, segments=6),
    "quintic": Quintic.even(12.0, 4),
    "acceleration": AccelerationSequence(6.0, 12),
}
ROBOT = load("gautier-khalil").with_limits(velocity=1.5, acceleration=4.0, jerk=30.0, lower=-1.0, upper=1.4)


def limits_of(trajectory, robot=ROBOT, stretch=None, points=150) -> JointLimits:
    variables = Variables(trajectory, robot.n, stretch)
    lower, upper = limit_ranges(robot)
    grid = variables.grid(trajectory.sample_times(points), 3)
    return JointLimits(variables, grid, lower, upper, np.full((4, robot.n), 0.01))


def unconstrained(limits: JointLimits) -> NonlinearLimits:
    return NonlinearLimits.of(limits.variables, limits.grid, (), 0.0)


def begun(limits: JointLimits, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    middle = 0.5 * (limits.lower[0] + limits.upper[0])
    return random_start(limits, unconstrained(limits), middle, np.random.default_rng(seed), lambda *_: None)


# -- variables ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("stretched", [False, True])
def test_variables_give_the_motion_of_the_family(name, stretched):
    """y → (family, δ) → motion, against the matrices the optimiser uses; with a free duration too."""
    family = FAMILIES[name]
    variables = Variables(family, 3, (0.5, 2.0) if stretched else None)
    y = 0.3 * np.random.default_rng(1).standard_normal(variables.size)
    if stretched:
        y[-1] = 1.3
    grid = variables.grid(family.sample_times(23))
    motion = variables.motion(grid, y)
    result, delta = variables.result(y)
    assert_allclose(result.duration, family.duration * (1.3 if stretched else 1.0))
    expected = motion_of(result, delta, motion.time)
    for x in ("q", "qd", "qdd"):
        assert_allclose(getattr(motion, x), getattr(expected, x), atol=1e-8 * (1 + np.abs(getattr(expected, x)).max()))
    if not stretched:
        assert_allclose(variables.from_delta(delta), y, atol=1e-9)


@pytest.mark.parametrize("family", [Fourier(10.0, 3), FAMILIES["fourier by joint"]], ids=["alike", "by joint"])
@pytest.mark.parametrize("stretched", [False, True])
def test_the_gradient_in_y_is_that_of_finite_differences(family, stretched):
    model = DynamicModel(load("gautier-khalil"), (Viscous(), Coulomb(Tanh(0.1))), NumpyEngine())
    objective = DesignObjective(model, DOptimality(), model.base.independent, np.ones(3))
    variables = Variables(family, 3, (0.5, 2.0) if stretched else None)
    grid = variables.grid(family.sample_times(60))

    def f(y):
        return objective.value(variables.motion(grid, y))

    y = 0.4 * np.random.default_rng(2).standard_normal(variables.size)
    if stretched:
        y[-1] = 0.9
    motion = variables.motion(grid, y)
    gradient = variables.pullback(grid, y, motion, objective.value_and_gradient(motion)[1])
    h = 1e-6
    differences = [(f(y + h * e) - f(y - h * e)) / (2 * h) for e in np.eye(variables.size)]
    assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5 * np.abs(gradient).max())


# -- joint limits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Fourier(10.0, 3), FAMILIES["fourier by joint"]], ids=["alike", "by joint"])
@pytest.mark.parametrize("stretched", [False, True])
def test_rows_of_joint_limits_say_what_the_slack_does(family, stretched):
    """A step that a row allows keeps the limit; without a free duration rows are exact, with it never too generous."""
    limits = limits_of(family, stretch=(0.5, 2.0) if stretched else None)
    _, y = begun(limits)
    rng = np.random.default_rng(3)
    for _ in range(20):
        at, joint = rng.integers(0, len(limits.matrix), 40), rng.integers(0, 3, 40)
        a, low, high = limits.rows(y, at, joint)
        d = 0.1 * rng.standard_normal(len(y))
        below, above = (slack[at, joint] / limits.scale[at, joint] for slack in limits.slack(y + d))
        count = len(at)
        promised_below = (a @ d - low)[:count]
        promised_above = (high - a @ d)[-count:]
        if stretched:
            assert (promised_below <= below + 1e-9).all()
            assert (promised_above <= above + 1e-9).all()
        else:
            assert_allclose(promised_below, below, atol=1e-9)
            assert_allclose(promised_above, above, atol=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_swing_is_scaled_to_its_tightest_limit_for_all_time(name):
    limits = limits_of(FAMILIES[name])
    centre, y = begun(limits)
    for factor in (3.0, 0.5):
        shrunk, stretched = scaled_to_limits(limits, centre, centre + factor * (y - centre))
        worst = joint_excess(limits, curve_of(limits.variables, stretched)).max(axis=0)
        assert (worst <= 0.0).all()
        assert (worst > -3e-6).all()
        assert (joint_excess(limits, curve_of(limits.variables, shrunk)) <= 0.0).all()


# -- quadratic problems and the SQP ------------------------------------------------------------------------------------


def test_a_quadratic_problem_of_limbs_is_that_of_the_robot():
    """Rows that no two limbs have in common, and one that couples two of three; with thousands of rows, too."""
    rng = np.random.default_rng(3)
    limbs = (np.array([0, 1, 4]), np.array([2, 3]), np.array([5, 6, 7]))
    hessian = np.zeros((8, 8))
    for own in limbs:
        root = rng.standard_normal((len(own), len(own)))
        hessian[np.ix_(own, own)] = root @ root.T + 0.1 * np.eye(len(own))
    gradient, box = rng.standard_normal(8), (np.full(8, -2.0), np.full(8, 2.0))
    for count, coupled in ((20, False), (20, True), (4000, True)):
        a = np.zeros((count, 8))
        for row, k in zip(a, rng.integers(3, size=count), strict=True):
            row[limbs[k]] = rng.standard_normal(len(limbs[k]))
        a[0, 2] = a[0, 6] = 1.0 if coupled else 0.0
        low, high = -rng.uniform(0.01, 1.0, count), np.full(count, np.inf)
        program = QuadraticProgram(hessian, gradient, box, limbs)
        expected = solved(hessian, gradient, box, a, low, high, np.zeros(8 + count), np.inf)
        begin = np.zeros(8), np.zeros(count)
        for _ in range(2):  # anew, then from the multipliers that were found
            d, *begin = program.solve(QuadraticRows(a, low, high, np.arange(count), begin[1]), begin[0])
            assert_allclose(d, expected[0], atol=1e-7)
            assert_allclose(a.T @ begin[1], a.T @ expected[2], atol=1e-6)
            assert (a @ d >= low - 1e-8).all()
            program = QuadraticProgram(hessian, gradient, box, limbs)


def test_both_solvers_of_the_quadratic_problem_agree():
    rng = np.random.default_rng(4)
    for _ in range(20):
        m = rng.standard_normal((8, 8))
        hessian, gradient = m @ m.T + 0.1 * np.eye(8), rng.standard_normal(8)
        a, low = rng.standard_normal((30, 8)), -rng.uniform(0.0, 0.5, 30)
        box = (np.full(8, -0.5), np.full(8, 0.5))
        rows = a, low, np.full(30, np.inf)
        d, *multipliers = solved(hessian, gradient, box, *rows, np.zeros(38), np.inf)
        other_d, *other_multipliers = quadratic_program._interior_point(hessian, gradient, box, *rows)
        assert_allclose(d, other_d, atol=1e-6)
        assert_allclose(np.concatenate(multipliers), np.concatenate(other_multipliers), atol=1e-5)
        assert (a @ d >= low - 1e-8).all()
    rows = np.ones((1, 8)), np.array([100.0]), np.array([np.inf])
    assert solved(np.eye(8), gradient, box, *rows, np.zeros(9), np.inf) is None


def test_a_linear_criterion_ends_where_linear_programming_does():
    """The optimum of a linear function within joint limits, against scipy's simplex."""
    limits = limits_of(Fourier(10.0, 3))
    _, y = begun(limits)
    weights = np.random.default_rng(5).standard_normal(len(y))
    outcome = minimise(
        Program(lambda x: (float(weights @ x), weights), limits, unconstrained(limits)), y, SQPSettings(tolerance=1e-10)
    )
    every = np.indices((len(limits.matrix), 3)).reshape(2, -1)
    zero = np.zeros(len(y))
    a, low, high = limits.rows(zero, *every)
    finite = np.isfinite(high)
    exact = linprog(
        weights, np.vstack([a[finite], -a[finite]]), np.concatenate([high[finite], -low[finite]]), bounds=(None, None)
    )
    assert_allclose(outcome.value, exact.fun, rtol=1e-5)
    assert limits.room(outcome.y) > -1e-6


def test_every_iterate_is_feasible_and_better_than_the_one_before():
    model = DynamicModel(ROBOT, (Viscous(), Coulomb(Tanh(0.03))))
    limits = limits_of(Fourier(10.0, 3))
    variables = limits.variables
    objective = DesignObjective(model, DOptimality(), model.base.independent, np.ones(3))
    grid = variables.grid(variables.trajectory.sample_times(100))

    def criterion(y):
        motion = variables.motion(grid, y)
        value, gradient = objective.value_and_gradient(motion)
        return value, variables.pullback(grid, y, motion, gradient)

    seen = []

    def report(iteration, value, y):
        seen.append(value)
        assert limits.room(y) > -1e-6
        return False

    outcome = minimise(Program(criterion, limits, unconstrained(limits)), begun(limits)[1], report=report)
    assert (np.diff(seen) < 0).all()
    assert outcome.reason == "converged"
    assert outcome.value < seen[0] - 10
    stopped = minimise(
        Program(criterion, limits, unconstrained(limits)), begun(limits)[1], report=lambda k, f, y: k == 5
    )
    assert stopped.reason == "stopped"
    assert_allclose(stopped.value, seen[4])


# -- stages ------------------------------------------------------------------------------------------------------------


def test_stages_lead_to_the_criterion_itself():
    assert stages(DOptimality()) == (DOptimality(),)
    soft4, soft16, last = stages(ConditionNumber())
    assert last == Logarithm(ConditionNumber())
    assert soft4 == Logarithm(SoftCondition(4.0))
    assert soft16 == Logarithm(SoftCondition(16.0))
    mixed = WeightedSum(((1.0, NormalizedCondition()), (0.1, DOptimality())))
    assert not positive(mixed)
    assert stages(mixed)[-1] == mixed
    assert len(stages(mixed)) == 3


@pytest.mark.parametrize("criterion", [ConditionNumber(), NormalizedCondition(), ScaledCondition((1.0, 2.0, 0.5, 3.0))])
def test_soft_condition_numbers_close_in_from_above(criterion):
    w = np.random.default_rng(6).standard_normal((20, 4)) * [1.0, 2.0, 0.3, 4.0]
    h = w.T @ w
    true = criterion(h)[0]
    values = [softened(criterion, power)(h)[0] for power in (1.0, 4.0, 16.0, 64.0, 1000.0)]
    assert (np.diff(values) <= 1e-12).all()
    assert values[-1] >= true * (1 - 1e-12)
    assert_allclose(values[-1], true, rtol=2e-3)
    value, slope = softened(criterion, 4.0)(h)
    step = np.random.default_rng(7).standard_normal((4, 4))
    step = step + step.T
    e = 1e-6
    difference = (softened(criterion, 4.0)(h + e * step)[0] - softened(criterion, 4.0)(h - e * step)[0]) / (2 * e)
    assert_allclose((slope * step).sum(), difference, rtol=1e-6)
    assert value > true


@pytest.mark.parametrize("criterion", [ConditionAndTorque((1.0, 2.0)), ConditionAndEquilibrium()])
def test_a_sum_that_has_a_word_is_softened_in_its_parts(criterion):
    """Else the search would minimise its condition number with all its kinks, and end far from the best."""
    first = stages(criterion)[0]
    assert stages(criterion) == stages(criterion.sum)
    assert first != criterion


@pytest.mark.parametrize("stretch", [None, (0.7, 1.3)], ids=["fixed", "free duration"])
@pytest.mark.parametrize("name", ["fourier by joint", "fourier at rest", "bspline"])
def test_a_locked_joint_stays_where_it_is_and_gradients_are_those_of_the_others(name, stretch):
    locked = np.array([np.nan, 0.3, np.nan])
    variables = Variables(FAMILIES[name], ROBOT.n, stretch, locked)
    grid, rng = variables.grid(FAMILIES[name].sample_times(40)), np.random.default_rng(2)
    y = 0.2 * rng.standard_normal(variables.size)
    if stretch is not None:
        y[-1] = 1.1
    assert variables.size < Variables(FAMILIES[name], ROBOT.n, stretch).size
    motion = variables.motion(grid, y)
    assert_allclose(motion.q[:, 1], 0.3, atol=1e-12)
    assert_allclose(motion.qdd[:, 1], 0.0, atol=1e-11)
    seeds = rng.standard_normal((3, *motion.q.shape))

    def value(y: np.ndarray) -> float:
        there = variables.motion(grid, y)
        return float(sum((seed * x).sum() for seed, x in zip(seeds, (there.q, there.qd, there.qdd), strict=True)))

    slope = [(value(y + step) - value(y - step)) / 2e-6 for step in 1e-6 * np.eye(variables.size)]
    exact = variables.pullback(grid, y, motion, MotionGradient(*seeds))
    assert_allclose(slope, exact, rtol=1e-6, atol=1e-6 * np.abs(exact).max())
