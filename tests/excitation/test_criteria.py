"""One suite that every criterion must pass on both formulations, with and without prior; then what is special."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel, excited_base
from exciter.dynamics.reference import NumpyEngine
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.criteria import optimality_and_condition as c
from exciter.excitation.criteria import weighted_sums as sums
from exciter.excitation.criteria.cramer_rao import CramerRao, torque_jacobian_pullback
from exciter.excitation.criteria.criterion import DesignObjective, MotionCriterion, evaluate, unexcited
from exciter.excitation.criteria.observation_rows import (
    DesignColumns,
    DesignRows,
    EnergyRows,
    TorqueRows,
    regressor_pullback,
)
from exciter.excitation.criteria.targets import Targets, torque_squares, torque_states
from exciter.excitation.criteria.weighted_sums import DESIGN_ROWS, SUFFICIENT_CRITERIA, WordsOfCriteria, bound
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.parameters.terms import Coulomb, Dahl, GasSpring, LoadFriction, Offset, RotorInertia, Tanh, Viscous
from exciter.robot import Motion, load
from exciter.settings import OneOf, fill
from exciter_papers.swevers_asme.set_up import BARYCENTRIC_GROUPINGS, FRICTION
from exciter_papers.swevers_ieee.loop import iterate
from support.paths import SHARED_DATA
from support.robots import random_robot, smooth_motion, states
from support.settings_suite import check_described, check_read_again

Array = np.ndarray
ENGINE = NumpyEngine()
PARTS = ("q", "qd", "qdd")
USUAL = (Viscous(), Coulomb())
INTERVAL = 2


def along(f, h):
    """Central difference of fourth order of f(step) at zero."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def moved(motion: Motion, name: str, by: Array) -> Motion:
    arrays = {part: getattr(motion, part) for part in PARTS}
    arrays[name] = arrays[name] + by
    return Motion(motion.time, **arrays)


# -- what every criterion is compared with: formulas on the dense W ---------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case:
    """A robot, a motion, and W by the plainest way there is."""

    model: DynamicModel
    motion: Motion
    columns: Array
    weights: Array
    formulation: DesignRows

    def rows(self, motion: Motion) -> Array:
        """(R, b) of this motion, no prior."""
        dense = self.dynamic(motion) if self.formulation.name == "dynamic" else self.energy(motion)
        return dense @ self.columns if self.columns.ndim == 2 else dense[:, self.columns]

    def dynamic(self, motion: Motion) -> Array:
        phi = self.model.regressor(motion) * np.sqrt(self.weights)[:, None]
        return phi.reshape(-1, phi.shape[-1])

    def energy(self, motion: Motion) -> Array:
        """Stored energy of the rigid bodies, and work of friction by NumPy's own trapezoidal rule, per interval."""
        stored, phi = self.model.energy(motion), self.model.regressor(motion)
        power = np.einsum("Nj,Njp->Np", motion.qd, phi)
        rows = []
        for a in range(0, len(motion) - INTERVAL, INTERVAL):
            part = slice(a, a + INTERVAL + 1)
            work = np.trapezoid(power[part], motion.time[part], axis=0)
            change = stored[a + INTERVAL] - stored[a]
            rows.append(np.where(np.isnan(change), work, change) / self.formulation.noise)
        return np.array(rows)


ROBOTS = {"gautier-khalil": 30, "panda": 40}  # samples
FORMULATIONS = {"dynamic": TorqueRows(), "energy": EnergyRows(interval=INTERVAL, noise=0.5)}


@lru_cache
def case(robot: str, formulation: str) -> Case:
    """Columns by number on the small robot, by a matrix that combines and scales them on the large one."""
    model = DynamicModel(load(robot), (Viscous(), Coulomb(Tanh(0.3))), ENGINE)
    motion = smooth_motion(model.robot, np.linspace(0.0, 9.0, ROBOTS[robot]), seed=1)
    if formulation == "energy":  # points apart in state space, as in the paper; neighbours differ too little
        motion = states(model.robot, 4 * ROBOTS[robot])
    weights = np.linspace(1.0, 3.0, model.n)
    columns = model.base.independent
    plain = Case(model, motion, columns, weights, FORMULATIONS[formulation])
    if robot == "panda":
        scale = np.zeros((len(model.standard), len(columns)))
        scale[columns, np.arange(len(columns))] = 1.0 / np.linalg.norm(plain.rows(motion), axis=0)
        scale[columns[0], 1] = 0.3 * scale[columns[0], 0]  # θ₂ has a share of two standard parameters
        plain = Case(model, motion, scale, weights, plain.formulation)
    return plain


def z_of(b: int) -> tuple[float, ...]:
    return tuple(np.linspace(0.5, 2.0, b))


@lru_cache
def structural(case: Case) -> Array:
    """(R, b) places that are not zero along the whole motion for that kind of row."""
    w = np.abs(case.rows(case.motion))
    kinds = case.model.n if case.formulation.name == "dynamic" else 1
    return np.tile(w.reshape(-1, kinds, w.shape[1]).max(0) > 1e-12 * w.max(), (len(w) // kinds, 1))


def equilibrium(case: Case, motion: Motion) -> float:
    w = np.abs(case.rows(motion))[structural(case)]
    return w.max() / w.min()


def soft_equilibrium(case: Case, motion: Motion, power: float) -> float:
    w = np.abs(case.rows(motion))[structural(case)]
    return ((w**power).mean() * (w**-power).mean()) ** (1.0 / power)


def inverse_torque(case: Case, motion: Motion) -> float:
    return len(motion) / np.abs(case.model.regressor(motion) @ case.model.nominal).sum()


def cond_qr(w: Array) -> float:
    r = np.abs(np.diag(scipy.linalg.qr(w, mode="r", pivoting=True)[0]))
    return r[0] / r[w.shape[1] - 1]


def sigma(w: Array) -> Array:
    return np.linalg.svd(w, compute_uv=False)


def variances(w: Array) -> Array:
    return (np.linalg.pinv(w) ** 2).sum(1)


#: name → (criterion of b parameters, the same from W with the prior's rows below; from case and motion where needed)
CRITERIA = {
    "condition": (lambda b: c.ConditionNumber(), lambda w, *_: np.linalg.cond(w)),
    "qr": (lambda b: c.QrCondition(), lambda w, *_: cond_qr(w)),
    "frobenius": (lambda b: c.FrobeniusCondition(), lambda w, *_: np.linalg.cond(w.T @ w, "fro")),
    "normalized": (
        lambda b: c.NormalizedCondition(),
        lambda w, *_: np.linalg.cond(w / np.linalg.norm(w, axis=0)),
    ),
    "scaled": (lambda b: c.ScaledCondition(z_of(b)), lambda w, *_: np.linalg.cond(w * z_of(w.shape[1]))),
    "smallest": (
        lambda b: c.ConditionAndSmallest(3.0),
        lambda w, *_: np.linalg.cond(w) + 3.0 / sigma(w)[-1],
    ),
    "d-optimal": (lambda b: c.DOptimality(), lambda w, *_: -2 * np.log(sigma(w)).sum()),
    "a-optimal": (lambda b: c.AOptimality(), lambda w, *_: variances(w).sum()),
    "log-sigma": (lambda b: c.LogSigma(), lambda w, *_: 0.5 * np.log(variances(w)).sum()),
    "a-optimal, scaled": (
        lambda b: c.AOptimality(z_of(b)),
        lambda w, *_: (variances(w) / np.square(z_of(w.shape[1]))).sum(),
    ),
    "e-optimal": (lambda b: c.EOptimality(), lambda w, *_: -np.log(sigma(w)[-1] ** 2)),
    "e-optimal, scaled": (
        lambda b: c.EOptimality(z_of(b)),
        lambda w, *_: -np.log(sigma(w * z_of(w.shape[1]))[-1] ** 2),
    ),
    "targets": (
        lambda b: Targets(sigma=(0.0, *z_of(b)[1:]), power=4.0),
        lambda w, *_: np.log(((variances(w) / np.square(z_of(w.shape[1])))[1:] ** 4.0).sum()) / 4.0,
    ),
    "equilibrium": (lambda b: sums.Equilibrium(), lambda w, case, motion: equilibrium(case, motion)),
    "soft equilibrium": (
        lambda b: sums.SoftEquilibrium(3.0),
        lambda w, case, motion: soft_equilibrium(case, motion, 3.0),
    ),
    "condition and equilibrium": (
        lambda b: sums.ConditionAndEquilibrium(1e-3),
        lambda w, case, motion: np.linalg.cond(w) + 1e-3 * equilibrium(case, motion),
    ),
    "torque": (lambda b: sums.InverseTorque(), lambda w, case, motion: inverse_torque(case, motion)),
    "sum": (
        lambda b: sums.WeightedSum(((0.5, c.DOptimality()), (2.0, c.ConditionNumber()), (30.0, sums.InverseTorque()))),
        lambda w, case, motion: -np.log(sigma(w)).sum() + 2.0 * np.linalg.cond(w) + 30.0 * inverse_torque(case, motion),
    ),
}
NOT_OF_GRAM = ("equilibrium", "soft equilibrium", "condition and equilibrium", "torque", "sum")
#: steps short enough that pivots, signs of torques and the smallest element stay the same
KINKED = {"qr": 1e-6, "torque": 1e-6, "sum": 1e-5, **dict.fromkeys(NOT_OF_GRAM[:3], 1e-3)}
GRAM_CRITERIA = {name: make for name, (make, _) in CRITERIA.items() if name not in NOT_OF_GRAM}


@pytest.fixture(params=list(ROBOTS))
def robot(request):
    return request.param


@pytest.fixture(params=list(FORMULATIONS))
def formulation(request):
    return request.param


@lru_cache
def direction(robot: str, formulation: str, part: str) -> Array:
    """(N, n) in which one signal of a case's motion is shifted."""
    return np.random.default_rng(PARTS.index(part)).standard_normal(case(robot, formulation).motion.q.shape)


@lru_cache
def shifted(robot: str, formulation: str, part: str, by: float) -> tuple[Motion, Array]:
    """A case's motion with one signal shifted, and its W: the same for every criterion and prior."""
    setting = case(robot, formulation)
    motion = moved(setting.motion, part, by * direction(robot, formulation, part))
    return motion, setting.rows(motion)


@pytest.mark.parametrize("with_prior", [False, True], ids=["alone", "prior"])
@pytest.mark.parametrize("name", list(CRITERIA))
def test_value_and_gradient(name, robot, formulation, with_prior):
    """Value from the dense W and its gradient by differences of that, against the objective."""
    setting, (make, direct) = case(robot, formulation), CRITERIA[name]
    w = setting.rows(setting.motion)
    b, rng = w.shape[1], np.random.default_rng(7)
    root = rng.standard_normal((b // 2, b)) * np.linalg.norm(w, axis=0) * 0.1 if with_prior else np.zeros((0, b))
    prior = root.T @ root if with_prior else None
    objective = DesignObjective(setting.model, make(b), setting.columns, setting.weights, setting.formulation, prior)
    assert_allclose(objective.gram(setting.motion), w.T @ w, atol=1e-11 * np.abs(w.T @ w).max())

    def expected(motion: Motion, w: Array) -> float:
        return float(direct(np.vstack([w, root]), setting, motion))

    value, gradient = objective.value_and_gradient(setting.motion)
    assert value == objective.value(setting.motion)
    assert_allclose(value, expected(setting.motion, w), rtol=1e-8)
    step = KINKED.get(name, 1e-4)
    if "equilibrium" in name:
        step *= np.abs(w)[structural(setting)].min()
    for part in PARTS:
        exact = (getattr(gradient, part) * direction(robot, formulation, part)).sum()
        slope = along(lambda by, part=part: expected(*shifted(robot, formulation, part, by)), step)
        assert_allclose(slope, exact, rtol=1e-6, atol=1e-6 * np.linalg.norm(getattr(gradient, part)))
    if formulation == "energy" and name not in ("torque", "sum"):
        assert not gradient.qdd.any()


@pytest.mark.parametrize("with_prior", [False, True], ids=["alone", "prior"])
@pytest.mark.parametrize("name", list(CRITERIA))
def test_value_and_gradient_where_others_are_estimated_along(name, formulation, with_prior):
    """Dense W of every third parameter, without what the others explain: a projection, by NumPy."""
    setting, (make, direct) = case("gautier-khalil", formulation), CRITERIA[name]
    w = setting.rows(setting.motion)
    b, rng = w.shape[1], np.random.default_rng(7)
    nuisance = np.arange(b) % 3 != 0
    root = rng.standard_normal((b // 2, b)) * np.linalg.norm(w, axis=0) * 0.1 if with_prior else np.zeros((0, b))
    columns = replace(DesignColumns.of(setting.model, setting.columns), nuisance=nuisance)
    few, prior = int((~nuisance).sum()), root.T @ root if with_prior else None
    objective = DesignObjective(setting.model, make(few), columns, setting.weights, setting.formulation, prior)
    of_few = replace(setting, columns=setting.columns[~nuisance])

    def expected(motion: Motion, w: Array) -> float:
        every = np.vstack([w, root])
        span = np.linalg.qr(every[:, nuisance])[0]
        own = every[:, ~nuisance]
        return float(direct(own - span @ (span.T @ own), of_few, motion))

    value, gradient = objective.value_and_gradient(setting.motion)
    assert_allclose(value, expected(setting.motion, w), rtol=1e-7)
    step = KINKED.get(name, 1e-4)
    if "equilibrium" in name:
        step *= np.abs(of_few.rows(setting.motion))[structural(of_few)].min()
    for part in PARTS:
        exact = (getattr(gradient, part) * direction("gautier-khalil", formulation, part)).sum()
        slope = along(lambda by, part=part: expected(*shifted("gautier-khalil", formulation, part, by)), step)
        assert_allclose(slope, exact, rtol=1e-6, atol=1e-6 * np.linalg.norm(getattr(gradient, part)))


@pytest.mark.parametrize("name", list(GRAM_CRITERIA))
def test_derivative_by_the_matrix(name):
    """∂f/∂H is symmetric and the slope in any symmetric direction."""
    rng = np.random.default_rng(3)
    w = rng.standard_normal((30, 6))
    h, criterion = w.T @ w, GRAM_CRITERIA[name](6)
    value, dfdh = criterion(h)
    assert_allclose(dfdh, dfdh.T, atol=1e-14 * np.abs(dfdh).max())
    direction = rng.standard_normal((6, 6))
    direction = direction + direction.T
    assert_allclose(along(lambda s: criterion(h + s * direction)[0], 1e-3), (dfdh * direction).sum(), rtol=1e-7)
    assert hash(criterion) == hash(GRAM_CRITERIA[name](6))
    assert value == criterion(h.copy())[0]


@pytest.mark.parametrize("name", list(GRAM_CRITERIA))
def test_infinite_when_singular(name):
    criterion, rng = GRAM_CRITERIA[name](4), np.random.default_rng(0)
    thin = rng.standard_normal((3, 4))  # three rows cannot tell four parameters
    silent = np.diag([1.0, 2.0, 0.0, 1.0])
    singular = [thin.T @ thin, silent, np.ones((4, 4)), np.zeros((4, 4))]
    for _ in range(20):  # rounding makes the smallest eigenvalue of some of them positive
        w = rng.standard_normal((30, 4))
        w[:, 3] = w[:, :3] @ rng.standard_normal(3)
        singular.append(w.T @ w)
    for h in singular:
        value, dfdh = criterion(h)
        assert value == np.inf
        assert not dfdh.any()


def test_infinite_objective_has_a_zero_gradient_and_names_the_parameter():
    """A joint that never moves: friction of that joint leaves no trace, and its name is told."""
    setting = case("gautier-khalil", "dynamic")
    q, qd, qdd = (getattr(setting.motion, part).copy() for part in PARTS)
    q[:, 2], qd[:, 2], qdd[:, 2] = 0.3, 0.0, 0.0
    still = Motion(setting.motion.time, q, qd, qdd)
    total = sums.WeightedSum(((1.0, sums.InverseTorque()), (1.0, c.DOptimality())))
    for criterion in (c.DOptimality(), c.ConditionNumber(), sums.Equilibrium(), total):
        objective = DesignObjective(setting.model, criterion, setting.columns, setting.weights)
        value, gradient = objective.value_and_gradient(still)
        assert value == np.inf
        assert not any(getattr(gradient, part).any() for part in PARTS)
        assert {"Fv3", "Fs3"} <= set(objective.unexcited(still))
        assert objective.unexcited(setting.motion) == []


def test_unexcited_parameters_that_cannot_be_told_apart():
    rng = np.random.default_rng(1)
    w = rng.standard_normal((40, 5)) * [1e-3, 1.0, 50.0, 1.0, 7.0]
    w[:, 3] = 1e3 * w[:, 0] - 2.0 * w[:, 1]
    assert unexcited(w.T @ w, "abcde") == ["a", "b", "d"]
    assert unexcited(w[:, :3].T @ w[:, :3], "abc") == []
    w[:, 4] = 0.0
    assert unexcited(w.T @ w, "abcde") == ["e"]
    with pytest.raises(ParameterError, match="one name per row"):
        unexcited(w.T @ w, "abc")


def test_targets_of_torques():
    """tr(A C) is the mean variance of the torque that parameters of covariance C predict, by drawing them; the smooth
    maximum of several targets is never below the true one."""
    model = DynamicModel(load("gautier-khalil"), USUAL, ENGINE)
    b, rng = len(model.base), np.random.default_rng(2)
    root = rng.standard_normal((b, b))
    covariance = root @ root.T
    rows = model.base.project(model.regressor(torque_states(model.robot)))
    drawn = np.einsum("Njb,bk->Njk", rows, root @ rng.standard_normal((b, 4000)))
    variance = np.einsum("jbc,bc->j", torque_squares(model), covariance)
    assert_allclose(variance, (drawn**2).mean(axis=(0, 2)), rtol=0.15)
    wanted = (0.5, 0.0, 2.0)  # nothing of the second joint
    targets = Targets(torque=wanted).bound(model, Fourier())
    h = np.linalg.inv(covariance)
    value = targets(0.5 * (h + h.T))[0]
    worst = np.log(max(variance[0] / 0.25, variance[2] / 4.0))
    assert worst <= value <= worst + np.log(2.0) / 8.0 + 1e-9
    assert_allclose(along(lambda s: targets(np.exp(s) * 0.5 * (h + h.T))[0], 1e-3), -1.0, rtol=1e-6)
    for wrong, line in (((1.0,), "2 numbers|1 numbers"), ((0.0, 0.0, 0.0), "nothing is wanted")):
        with pytest.raises(ParameterError, match=line):
            Targets(torque=wrong).bound(model, Fourier())
    with pytest.raises(ParameterError, match="bind them"):
        Targets()(h)
    with pytest.raises(ParameterError, match="one per parameter"):
        Targets(sigma=(1.0,))(h)


# -- invariances ----------------------------------------------------------------------------------------------------


def test_units_of_the_parameters():
    """D-optimality shifts by −2 Σ log s when columns are scaled by s; the normalised condition does not change; a
    scaled criterion undoes the scaling; the raw condition number does change."""
    rng = np.random.default_rng(5)
    w, s = rng.standard_normal((50, 6)), 10.0 ** rng.uniform(-3, 3, 6)
    h, scaled = w.T @ w, (w * s).T @ (w * s)
    assert_allclose(c.DOptimality()(scaled)[0], c.DOptimality()(h)[0] - 2 * np.log(s).sum())
    assert_allclose(c.NormalizedCondition()(scaled)[0], c.NormalizedCondition()(h)[0])
    assert_allclose(c.ScaledCondition(tuple(1 / s))(scaled)[0], c.ConditionNumber()(h)[0])
    assert_allclose(c.AOptimality(tuple(1 / s))(scaled)[0], c.AOptimality()(h)[0])
    assert_allclose(c.EOptimality(tuple(1 / s))(scaled)[0], c.EOptimality()(h)[0])
    assert c.ConditionNumber()(scaled)[0] > 10 * c.ConditionNumber()(h)[0]
    assert c.QrCondition()(h)[0] <= c.ConditionNumber()(h)[0]


def test_prior_is_an_earlier_experiment():
    """H₀ of a first motion and then a second gives what both together give."""
    setting = case("gautier-khalil", "dynamic")
    other = smooth_motion(setting.model.robot, np.linspace(0.0, 5.0, 60), seed=9)
    objective = DesignObjective(setting.model, c.DOptimality(), setting.columns, setting.weights)
    later = DesignObjective(
        setting.model, c.DOptimality(), setting.columns, setting.weights, prior=objective.gram(setting.motion)
    )
    both = np.vstack([setting.rows(setting.motion), setting.rows(other)])
    assert_allclose(later.value(other), -2 * np.log(sigma(both)).sum(), rtol=1e-10)
    assert later.value(other) < min(objective.value(other), objective.value(setting.motion))
    figures = evaluate(setting.model, other, setting.weights, prior=later.prior)
    assert_allclose(figures.log_det, 2 * np.log(sigma(both)).sum(), rtol=1e-10)
    assert_allclose(figures.predicted_std, np.sqrt(variances(both)), rtol=1e-8)


def test_stand_ins_of_equilibrium_tend_to_it_and_come_after_the_condition_number():
    """S joins in when the condition number alone has settled the signs; the last stage is the criterion itself."""
    setting = case("gautier-khalil", "energy")
    values = [
        DesignObjective(setting.model, one, setting.columns, setting.weights, setting.formulation).value(setting.motion)
        for one in (*(sums.SoftEquilibrium(power) for power in (1.0, 8.0, 64.0, 4096.0)), sums.Equilibrium())
    ]
    assert values == sorted(values)
    assert_allclose(values[-2], values[-1], rtol=0.01)
    first, *later = sums.stages(sums.ConditionAndEquilibrium(0.01))
    assert first == sums.Logarithm(sums.WeightedSum(((1.0, c.SoftCondition(4.0)),)))
    assert all(weight == 0.01 for stage in later for weight, _ in stage.criterion.parts[1:])
    assert later[-1] == sums.Logarithm(sums.ConditionAndEquilibrium(0.01).sum)
    assert sums.stages(sums.Equilibrium())[0] == sums.Logarithm(sums.SoftEquilibrium(4.0))
    assert sums.stages(c.DOptimality()) == (c.DOptimality(),)
    assert (sums.hops(sums.ConditionAndEquilibrium()), sums.hops(c.ConditionNumber())) == (8, 0)


def test_equilibrium_sees_torque_rows_without_their_structural_zeros():
    """Rows of the last joint are zero for all other links; only true elements count, also with long intervals."""
    setting = case("gautier-khalil", "dynamic")
    objective = DesignObjective(setting.model, sums.Equilibrium(), setting.columns, setting.weights)
    w = np.abs(setting.rows(setting.motion))
    assert (w == 0).any()
    assert np.isfinite(objective.value(setting.motion))
    rows = EnergyRows(interval=4.2)
    long = DesignObjective(setting.model, sums.Equilibrium(), setting.columns, setting.weights, rows)
    assert np.isfinite(long.value(smooth_motion(setting.model.robot, np.linspace(0.0, 9.0, 130))))


@pytest.mark.parametrize("left", [0.0, 1e-15])
def test_equilibrium_leaves_out_what_vanishes_at_rest(left):
    """Friction of a joint at rest is zero to rounding. What is merely small counts, and so does a column of zeros."""
    setting = case("gautier-khalil", "dynamic")
    objective = DesignObjective(setting.model, sums.Equilibrium(), setting.columns, setting.weights)
    first = np.eye(len(setting.motion), 1) * setting.motion.qd[0]
    at_rest = moved(setting.motion, "qd", (left - 1.0) * first)
    w = np.abs(setting.rows(at_rest))
    counted = w[structural(setting) & (w > 1e-10 * w.max(axis=0))]
    assert counted.size < structural(setting).sum()
    value, gradient = objective.value_and_gradient(at_rest)
    assert_allclose(value, w.max() / counted.min(), rtol=1e-8)
    assert np.isfinite(gradient.qd).all()
    slow = objective.value(moved(setting.motion, "qd", (1e-9 - 1.0) * first))
    assert slow > 1e6 * value
    assert objective.value(moved(setting.motion, "qd", -setting.motion.qd)) == np.inf


# -- reported figures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cond", [1e2, 1e7, 1e12])
def test_figures_are_accurate_where_the_gram_matrix_is_not(cond):
    """A W of known singular values, fed in through the columns of a model: W C = U S Vᵀ."""
    model = DynamicModel(load("gautier-khalil"), (), ENGINE)
    motion = states(model.robot, 60)
    base = model.base.independent
    rng, b = np.random.default_rng(2), len(base)
    r = np.linalg.qr(model.regressor(motion)[:, :, base].reshape(-1, b))[1]
    values = np.geomspace(1.0, 1.0 / cond, b)
    v = np.linalg.qr(rng.standard_normal((b, b)))[0]
    matrix = np.zeros((len(model.standard), b))
    matrix[base] = np.linalg.solve(r, np.diag(values) @ v.T)
    figures = evaluate(model, motion, 1.0, matrix)
    assert_allclose(figures.condition_number, cond, rtol=1e-15 * cond + 1e-9)
    assert_allclose(figures.log_det, 2 * np.log(values).sum(), rtol=1e-3)
    assert_allclose(figures.predicted_std, np.linalg.norm(v / values, axis=1), rtol=1e-14 * cond + 1e-9)
    unit = np.diag(values) @ v.T
    assert_allclose(figures.condition_number_normalized, np.linalg.cond(unit / np.linalg.norm(unit, axis=0)), rtol=0.01)


def test_figures_of_a_motion_that_tells_too_little():
    model = DynamicModel(load("gautier-khalil"), USUAL, ENGINE)
    for motion in (states(model.robot, 3), Motion.at(np.zeros((50, 3)))):
        figures = evaluate(model, motion, np.ones(3))
        assert figures.condition_number == figures.condition_number_normalized == np.inf
        assert figures.log_det == -np.inf
        assert np.isinf(figures.predicted_std).all()
        assert figures.names == model.base.names


#: Order of the IEEE paper's Table I
TABLE_I = (
    *("ZZR1", "MXR2", "MY2", "XXR2", "XY2", "XZR2", "YZ2", "ZZR2", "MX3", "MY3", "XXR3", "XY3", "XZ3", "YZ3", "ZZ3"),
    *("Fv1", "Fv2", "Fv3", "Fs1", "Fs2", "Fs3"),
)


def fourier_motion(trajectory: Fourier, delta, samples: int = 40) -> Motion:
    return motion_of(trajectory, delta, trajectory.sample_times(samples))


def reference(name: str) -> dict:
    path = SHARED_DATA.parent / "reference" / "papers_trajectories.json"
    if not path.exists():
        pytest.skip(f"the reference trajectories are not beside the project: {path.name} is missing")
    return json.loads(path.read_text())[name]


@pytest.mark.parametrize("name", ["A_fric", "A_nofric"])
def test_reference_trajectories_of_the_asme_paper(name):
    """Symmetric bodies in the paper's barycentric parameters: condition, raw and normalised, with friction or not."""
    known = reference(name)
    model = DynamicModel(load("kuka-ir361-asme"), USUAL, ENGINE)
    motion = fourier_motion(Fourier(period=10.0, harmonics=5), known["coef"], 750)
    for parameters, key in (
        (BARYCENTRIC_GROUPINGS | FRICTION, "raw_norm_fric"),
        (BARYCENTRIC_GROUPINGS, "raw_norm_nofric"),
    ):
        columns = DesignColumns.combined(model, parameters)
        figures = evaluate(model, motion, 1.0, columns)
        reached = (figures.condition_number, figures.condition_number_normalized)
        assert_allclose(reached, known[key], rtol=5e-5)
        assert figures.names == tuple(parameters)
        for criterion, value in zip((c.ConditionNumber(), c.NormalizedCondition()), reached, strict=True):
            assert_allclose(DesignObjective(model, criterion, columns, np.ones(3)).value(motion), value, rtol=1e-9)


@pytest.mark.parametrize("name", ["B_c1", "B_c2"])
def test_reference_trajectories_of_the_ieee_paper(name):
    known = reference(name)
    model = DynamicModel(load("kuka-ir361"), USUAL, ENGINE)
    motion = fourier_motion(Fourier(period=10.0, harmonics=5), known["coef"], 1500)
    weights = 1.0 / np.array([25.0, 26.0, 10.0])
    figures = evaluate(model, motion, weights)
    assert_allclose(figures.condition_number_normalized, known["cond"], rtol=5e-5)
    assert_allclose(-figures.log_det / np.log(10), known["log10det"], rtol=5e-5)
    std = dict(zip(figures.names, figures.predicted_std, strict=True))
    assert_allclose([std[name] for name in TABLE_I], known["sigma"], rtol=2e-5, atol=6e-6)  # five decimals are listed
    objective = DesignObjective(model, c.DOptimality(), model.base.independent, weights)
    assert_allclose(objective.value(motion), -figures.log_det, rtol=1e-12)


# -- noise on the joint positions -----------------------------------------------------------------------------------


def small_experiment(harmonics=3):
    model = DynamicModel(load("gautier-khalil"), (RotorInertia(("joint_3",)), Viscous(), Coulomb(Tanh(0.2))), ENGINE)
    trajectory = Fourier(period=6.0, harmonics=harmonics, at_rest=True)
    rng = np.random.default_rng(4)
    delta = 0.8 * trajectory.random(rng, 3)
    chi = model.nominal + 0.3 * rng.standard_normal(len(model.standard))
    return model, trajectory, delta, chi


def fisher_by_differences(model, trajectory, delta, chi, noise, joint_noise) -> Array:
    """Covariance bound of the base parameters from the Jacobian of all measurements, by differences."""
    base, free = model.base.independent, trajectory.free
    own = scipy.linalg.block_diag(*(trajectory.shares(3) or [np.eye(free.shape[1])] * 3))  # x = own z
    x = own.T @ np.linalg.lstsq(free, delta.T)[0].T.ravel()
    theta = model.base.base_values(chi)

    def measured(theta, x):
        motion = fourier_motion(trajectory, (own @ x).reshape(3, -1) @ free.T)
        tau = model.regressor(motion)[:, :, base] @ theta
        return np.concatenate([(motion.q / joint_noise).ravel(), (tau / noise).ravel()])

    flat = np.concatenate([theta, x])
    columns = []
    for k in range(len(flat)):
        unit = np.eye(len(flat))[k]

        def at(step, unit=unit):
            y = flat + step * unit
            return measured(y[: len(theta)], y[len(theta) :])

        columns.append(along(at, 1e-3))
    j = np.array(columns).T
    return np.linalg.inv(j.T @ j)[: len(theta), : len(theta)]


BY_JOINT = {"joint_1": 2, "joint_2": 4, "joint_3": (1, 3)}


@pytest.mark.parametrize("harmonics", [3, BY_JOINT], ids=["alike", "by joint"])
def test_cramer_rao_bound_is_that_of_all_measurements(harmonics):
    model, trajectory, delta, chi = small_experiment(harmonics)
    noise, joint_noise = np.array([2.0, 3.0, 1.0]), (0.02, 0.03, 0.05)
    motion = fourier_motion(trajectory, delta)
    criterion = CramerRao(trajectory, joint_noise, tuple(chi))
    objective = DesignObjective(model, criterion, model.base.independent, 1 / noise**2)
    bound = fisher_by_differences(model, trajectory, delta, chi, noise, np.array(joint_noise))
    information = criterion.information(objective.observed(motion))[0]
    assert_allclose(np.linalg.inv(information), bound, atol=1e-6 * np.abs(bound).max())
    assert_allclose(objective.value(motion), np.linalg.slogdet(bound)[1], rtol=1e-7)

    exact = DesignObjective(model, c.DOptimality(), model.base.independent, 1 / noise**2).value(motion)
    tiny = DesignObjective(model, CramerRao(trajectory, 1e-7, tuple(chi)), model.base.independent, 1 / noise**2)
    assert objective.value(motion) > exact + 1.0  # noise on the positions costs
    assert_allclose(tiny.value(motion), exact, rtol=1e-7)


@pytest.mark.parametrize("inner", [c.DOptimality(), c.ConditionNumber()], ids=["log det", "cond"])
@pytest.mark.parametrize("beside", [False, True], ids=["all", "some"])
@pytest.mark.parametrize("with_prior", [False, True])
def test_cramer_rao_gradient(inner, with_prior, beside):
    model, trajectory, delta, chi = small_experiment(BY_JOINT if with_prior else 3)
    motion = fourier_motion(trajectory, delta)
    columns = np.zeros((len(model.standard), len(model.base)))
    columns[model.base.independent, np.arange(len(model.base))] = 1 / np.linalg.norm(
        model.regressor(motion)[:, :, model.base.independent].reshape(-1, len(model.base)), axis=0
    )
    prior = np.diag(np.linspace(0.1, 1.0, len(model.base))) if with_prior else None
    criterion = CramerRao(trajectory, 0.03, tuple(chi), inner)
    nuisance = np.arange(len(model.base)) % 3 == 1 if beside else None
    columns = replace(DesignColumns.of(model, columns), nuisance=nuisance)
    objective = DesignObjective(model, criterion, columns, np.array([1.0, 0.5, 2.0]), prior=prior)
    value, gradient = objective.value_and_gradient(motion)
    if beside:
        whole = criterion.information(objective.observed(motion))[0] + (0.0 if prior is None else prior)
        block = np.linalg.inv(whole)[np.ix_(~nuisance, ~nuisance)]
        assert_allclose(value, inner(np.linalg.inv(block))[0], rtol=1e-8)
    rng = np.random.default_rng(6)
    for part in PARTS:
        direction = rng.standard_normal(motion.q.shape)
        slope = along(lambda s, p=part, d=direction: objective.value(moved(motion, p, s * d)), 1e-3)
        assert_allclose(slope, (getattr(gradient, part) * direction).sum(), rtol=1e-6)
    assert value == objective.value(motion)


def test_adjoints_of_regressor_and_torque_derivatives():
    """On a tree with a sliding joint and axes in any direction, with terms of every kind."""
    robot = random_robot(8, 4, tree=True, prismatic=0.5)
    assert {joint.is_prismatic for joint in robot.joints} == {False, True}
    spring = GasSpring("j2", base_arm=0.8, link_arm=0.2, offset=1.0, volume=1e-3, area=1e-3)
    model = DynamicModel(robot, (RotorInertia(), Offset(), LoadFriction(Tanh(0.5)), spring), ENGINE)
    motion, rng = states(robot, 12), np.random.default_rng(8)
    by_phi = rng.standard_normal((12, 4, len(model.standard)))
    by_jacobian = rng.standard_normal((3, 12, 4, 4))
    chi = rng.standard_normal(len(model.standard))
    jacobian = model.torque_jacobian(motion, chi).transpose(0, 3, 1, 2)
    for k, part in enumerate(PARTS):
        direction = rng.standard_normal(motion.q.shape)

        def torque(step, part=part, direction=direction):
            return model.torque(moved(motion, part, step * direction), chi)

        assert_allclose(np.einsum("Nji,Ni->Nj", jacobian[k], direction), along(torque, 1e-3), rtol=1e-6, atol=1e-7)
    for f, gradient in (
        (lambda m: (by_phi * model.regressor(m)).sum(), regressor_pullback(model, motion, by_phi)),
        (
            lambda m: (by_jacobian * model.torque_jacobian(m, chi).transpose(0, 3, 1, 2)).sum(),
            torque_jacobian_pullback(model, motion, chi, by_jacobian),
        ),
    ):
        for part in PARTS:
            direction = rng.standard_normal(motion.q.shape)
            slope = along(lambda s, p=part, d=direction, f=f: f(moved(motion, p, s * d)), 1e-3)
            exact = (getattr(gradient, part) * direction).sum()
            assert_allclose(slope, exact, rtol=1e-6, atol=1e-7 * np.linalg.norm(getattr(gradient, part)))


def test_second_derivatives_of_rigid_torque_have_no_remainder():
    """Shifts by an eighth of a turn, against differences whose step goes to zero: equal to the last digits."""
    model = DynamicModel(load("panda"), (), ENGINE)
    motion, rng = states(model.robot, 5), np.random.default_rng(0)
    seed = np.zeros((3, 5, 7, 7))
    seed[0, :, :, 2] = rng.standard_normal((5, 7))  # d/dq₃ of a combination of torques
    gradient = torque_jacobian_pullback(model, motion, model.nominal, seed)
    unit = np.zeros((5, 7))
    unit[:, 2] = 1.0

    def pulled(step):
        m = moved(motion, "q", step * unit)
        return model.torque_pullback(m, seed[0, :, :, 2]).q

    assert_allclose(gradient.q, along(pulled, 2e-3), rtol=1e-9, atol=1e-9 * np.abs(gradient.q).max())


def test_design_and_estimate_until_the_estimate_settles():
    """Choose the best of a few motions for what is known, measure it with noise, estimate, choose again."""
    model, trajectory, _, _ = small_experiment()
    rng = np.random.default_rng(11)
    candidates = [0.8 * rng.standard_normal((3, trajectory.free.shape[1])) @ trajectory.free.T for _ in range(4)]
    base, truth = model.base.independent, model.base.base_values(model.nominal)
    asked = []

    def design(known: Array) -> Motion:
        chi = np.zeros(len(model.standard))
        chi[base] = known  # base parameters are standard parameters with all others zero
        asked.append(known)
        criterion = CramerRao(trajectory, 1e-3, tuple(chi))
        objective = DesignObjective(model, criterion, base, np.ones(3))
        return min((fourier_motion(trajectory, delta) for delta in candidates), key=objective.value)

    def estimate(motion: Motion) -> Array:
        w = model.regressor(motion)[:, :, base].reshape(-1, len(base))
        return np.linalg.lstsq(w, w @ truth + 1e-6 * rng.standard_normal(len(w)))[0]

    done = iterate(design, estimate, np.zeros(len(base)), rounds=6, tolerance=1e-2, scale=1.0)
    assert done.settled
    assert len(done.plans) == 2  # the first estimate is far from zero, the second agrees with it
    assert_allclose(done.chi[-1], truth, atol=1e-2)
    assert_allclose(asked[1], done.chi[1])
    wild = iterate(design, lambda _: rng.standard_normal(len(base)), truth, rounds=3)
    assert not wild.settled
    assert len(wild.plans) == 3
    for bad in (lambda _: [1.0], lambda _: np.full(len(base), np.nan)):
        with pytest.raises(ParameterError, match="round 1 estimated"):
            iterate(design, bad, truth)
    with pytest.raises(ParameterError, match="rounds"):
        iterate(design, estimate, truth, rounds=0)


CHOICE = Annotated[Any, WordsOfCriteria()]


def read(given):
    return fill(CHOICE, given, "x")


# -- words and bad input --------------------------------------------------------------------------------------------


def test_every_word_makes_its_criterion():
    check_described(sums.CRITERIA)
    check_described(DESIGN_ROWS)
    for word in SUFFICIENT_CRITERIA:
        criterion = read({word: {"joint_noise": 1e-3} if word == "cramer-rao" else {}})
        assert type(criterion) is sums.CRITERIA[word]
        if word not in ("condition-equilibrium", "condition-torque"):
            assert criterion.name == word
    assert isinstance(read({"condition-equilibrium": {"k1": 0.1}}), MotionCriterion)
    assert not isinstance(read("d-optimal"), MotionCriterion)
    assert read({"condition-smallest": {"k2": 2.0, "weight": 3.0}}) == c.ConditionAndSmallest(2.0)
    for given, message in (
        ("t-optimal", "x is 't-optimal'; allowed are d-optimal"),
        ({"d-optimal": {"scale": 1}}, "x: d-optimal takes no settings"),
        ({"condition-smallest": {"k2": 0}}, "x: condition-smallest: k2 is 0; give a number > 0"),
        ({"condition": {"weight": 0}}, "x: condition: weight is 0; give a number > 0"),
        ({"condition": True}, "x: condition is true; give a number > 0"),
        (3, "x is 3; give one of d-optimal"),
    ):
        with pytest.raises(ExciterError, match=message):
            read(given)


WRITTEN = [
    c.AOptimality(), c.AOptimality((1.0, 2.0)), c.EOptimality((3.0,)), c.DOptimality(), c.ScaledCondition(),
    c.LogSigma(), c.ScaledCondition((1.0, 0.1)), c.ScaledCondition({"XY2": 0.02, "Fv*": 5.0}, 0.1), c.AOptimality({}),
    c.ConditionAndSmallest(0.3), sums.ConditionAndEquilibrium(0.2),
    sums.ConditionAndTorque(),
    sums.ConditionAndTorque((1.0, 2.0), 0.5, 2.0, (1.0,)), CramerRao(None, 1e-4),
    CramerRao(None, (1e-4, 2e-4), (1.0, 2.0), c.AOptimality((1.0,))), c.QrCondition(), c.FrobeniusCondition(),
    c.NormalizedCondition(), c.ConditionNumber(),
    sums.WeightedSum(((2.0, c.ScaledCondition()), (0.5, sums.InverseTorque((1.0, 2.0))), (1.0, sums.Equilibrium()))),
]  # fmt: skip


@pytest.mark.parametrize("criterion", WRITTEN, ids=lambda one: type(one).__name__)
def test_a_written_criterion_is_read_as_the_same(criterion):
    check_read_again(CHOICE, criterion)


def test_numbers_of_a_criterion_may_come_in_any_sequence():
    """Arrays, too: a criterion stays a frozen value that compares and hashes."""
    kinds = (
        c.AOptimality,
        c.EOptimality,
        c.ScaledCondition,
        sums.InverseTorque,
        lambda chi: CramerRao(None, 1e-4, chi),
    )
    for made in kinds:
        assert {made(np.array([1.0, 2.0])), made([1, 2])} == {made((1.0, 2.0))}


def test_formulations_of_a_design_are_read_as_they_were_written():
    for rows in (TorqueRows(), EnergyRows(), EnergyRows(0.05, 0.5)):
        check_read_again(OneOf(DESIGN_ROWS).hint, rows)


def test_what_a_criterion_leaves_open_is_that_of_the_model_and_of_the_motion():
    model, family = DynamicModel(load("gautier-khalil"), (), ENGINE), Fourier()
    sizes = tuple(np.abs(model.base.base_values(model.nominal)))
    left_open = sums.WeightedSum(
        ((1.0, c.ScaledCondition()), (2.0, sums.ConditionAndTorque()), (3.0, CramerRao(None, 0.1)))
    )
    parts = [part for _, part in bound(left_open, model, family).parts]
    assert parts == [c.ScaledCondition(sizes), sums.ConditionAndTorque(sizes), CramerRao(family, 0.1)]
    given = sums.WeightedSum(((1.0, c.ScaledCondition((1.0,))), (1.0, CramerRao(Fourier(3.0), 0.1))))
    assert bound(given, model, family) == given
    for criterion in (c.ScaledCondition(), sums.ConditionAndTorque(), CramerRao(None, 0.1)):
        with pytest.raises(ParameterError, match=r"has no (values|trajectory); give"):
            DesignObjective(model, criterion, model.base.independent, np.ones(3)).value(states(model.robot, 30))


def test_bad_input_is_refused_in_one_line():
    model = DynamicModel(load("gautier-khalil"), USUAL, ENGINE)
    base, ones = model.base.independent, np.ones(3)
    motion = states(model.robot, 30)
    fourier = Fourier()
    remembers = DynamicModel(model.robot, (Coulomb(Dahl(0.1)),), ENGINE)
    for build, message in (
        (lambda: DesignObjective(model, c.DOptimality(), base, np.ones(2)), "weights must be 3 numbers"),
        (lambda: DesignObjective(model, c.DOptimality(), base, -ones), "weights must be 3 numbers"),
        (
            lambda: DesignObjective(model, c.DOptimality(), base, ones, prior=np.eye(3)),
            "prior information has shape",
        ),
        (
            lambda: DesignObjective(model, c.DOptimality(), [0.5], ones).value(motion),
            "give column numbers, or a matrix",
        ),
        (
            lambda: DesignObjective(model, c.DOptimality(), np.zeros((3, 2)), ones).value(motion),
            "combination matrix",
        ),
        (lambda: DesignObjective(model, c.DOptimality(), [0, 0], ones).value(motion), "different numbers"),
        (lambda: DesignColumns.combined(model, {"a": {"XX9": 1.0}}), "unknown standard parameter 'XX9'"),
        (
            lambda: DesignObjective(model, c.ScaledCondition((1.0, 0.0)), [0, 1], ones).value(motion),
            "other than zero",
        ),
        (lambda: DesignObjective(model, c.AOptimality((1.0,)), [0, 1], ones).value(motion), "must be 2 numbers"),
        (lambda: c.ConditionAndSmallest(-1.0), "k2 is -1.0; give a number > 0"),
        (lambda: sums.WeightedSum(()), "needs parts with positive weights"),
        (lambda: sums.WeightedSum(((-1.0, c.DOptimality()),)), "needs parts with positive weights"),
        (lambda: EnergyRows(interval=0), "interval is 0; give a number > 0"),
        (
            lambda: DesignObjective(model, c.DOptimality(), base, ones, EnergyRows(40)).value(motion),
            "give more samples",
        ),
        (
            lambda: DesignObjective(model, CramerRao(fourier, 0.1), base, ones, EnergyRows()).value(motion),
            "that of the inverse dynamic model; given 'energy'",
        ),
        (
            lambda: DesignObjective(model, CramerRao(fourier, 0.0), base, ones).value(motion),
            "joint_noise must be",
        ),
        (
            lambda: DesignObjective(remembers, CramerRao(fourier, 0.1), remembers.base.independent, ones).value(motion),
            "remembers: use a friction without memory",
        ),
    ):
        with pytest.raises(ExciterError, match=message):
            build()


def test_terms_with_memory_are_seen_whole():
    """Pre-sliding friction in both formulations: the gradient reaches back to earlier samples."""
    model = DynamicModel(load("gautier-khalil"), (Coulomb(Dahl(0.05)),), ENGINE)
    motion = smooth_motion(model.robot, np.linspace(0.0, 6.0, 90))
    columns = excited_base(model, motion).independent
    direction = np.random.default_rng(0).standard_normal(motion.q.shape)
    for formulation in (TorqueRows(), EnergyRows()):
        objective = DesignObjective(model, c.DOptimality(), columns, np.ones(3), formulation)
        gradient = objective.value_and_gradient(motion)[1]
        slope = along(lambda s, o=objective: o.value(moved(motion, "q", s * direction)), 1e-6)
        assert_allclose(slope, (gradient.q * direction).sum(), rtol=1e-5)
