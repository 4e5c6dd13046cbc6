"""Every estimator on every formulation, on exact data; and identification from beginning to end."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import Payload
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.processed_motion import Processed
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.identification.estimators.least_squares import (
    Essential,
    NonNegative,
    OrdinaryLeastSquares,
    Sequential,
    WeightedLeastSquares,
)
from exciter.identification.estimators.physical import PhysicallyConsistent, Prior
from exciter.identification.estimators.robust import Huber, IterativelyReweighted
from exciter.identification.estimators.staged import LinkByLink, TwoStep
from exciter.identification.estimators.total_least_squares import TotalLeastSquares
from exciter.identification.formulations.dynamic import BaseWrench, FilteredDynamic, InverseDynamic
from exciter.identification.formulations.energy import Energy, Power
from exciter.identification.formulations.gain_free import GainFree
from exciter.identification.identification import identify
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run, load_torque
from exciter.identification.uncertainty.covariance_of_correlated_errors import with_correlated_errors
from exciter.parameters.terms import Coulomb, Dahl, RotorInertia, Viscous
from exciter.robot import Motion, load

pytestmark = pytest.mark.slow

GENTLE = ParallelFilter(Butterworth(20.0))
FORMULATIONS = {
    "dynamic": InverseDynamic(),
    "parallel filter": InverseDynamic(GENTLE),
    "filtered": FilteredDynamic(GENTLE),
    "energy": Energy(),
    "power": Power(GENTLE),
    "gain-free": GainFree(GENTLE),
}
#: need torques, and bodies behind them
OF_TORQUES = (NonNegative, PhysicallyConsistent, Prior, LinkByLink, TwoStep)
ESTIMATORS = (
    OrdinaryLeastSquares(),
    OrdinaryLeastSquares(noise="common"),
    WeightedLeastSquares(),
    Huber(),
    IterativelyReweighted(),
    TotalLeastSquares(),
    Sequential(),
    NonNegative(),
    PhysicallyConsistent(),
    Prior(weight=0.0),
    Essential(),
    LinkByLink(),
    TwoStep(1),
)
RATE = 500.0


@pytest.fixture(scope="module")
def model() -> DynamicModel:
    return DynamicModel(load("kuka-ir361-asme"), (RotorInertia(), Viscous(), Coulomb()))


def physical(model: DynamicModel) -> np.ndarray:
    """Parameters that bodies can have, friction and rotors above zero."""
    chi = model.nominal.copy()
    chi[model.inertial_size :] = np.where(chi[model.inertial_size :] > 0, chi[model.inertial_size :], 1.0)
    return chi


def exciting(model: DynamicModel, seed: int, seconds: float = 6.0) -> Motion:
    delta = 0.5 * np.random.default_rng(seed).standard_normal((model.n, 11))
    return motion_of(Fourier(6.0, 5), delta, np.arange(int(seconds * RATE)) / RATE)


@pytest.fixture(scope="module")
def problems(model):
    motion = exciting(model, 0)
    run = Run.at(motion, model.torque(motion, physical(model)), RATE)
    return {name: Problem(model, (run,), formulation) for name, formulation in FORMULATIONS.items()}


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_any_estimator_on_any_formulation(model, problems, estimator, formulation):
    """Exact data give exact parameters, or one line that says why the two do not go together."""
    problem = problems[formulation]
    if len(problem.joints) == 1 and isinstance(estimator, LinkByLink | TwoStep):
        with pytest.raises(ExciterError, match="joint"):
            estimator.estimate(problem)
        return
    if problem.formulation.measured == "current" and isinstance(estimator, OF_TORQUES):
        with pytest.raises(ExciterError, match=r"no parameter of the model|currents"):
            estimator.estimate(problem)
        return
    found = estimator.estimate(problem)
    truth = problem.base.base_values(np.tile(physical(model), len(problem.base.standard) // len(model.standard)))
    solver = isinstance(estimator, PhysicallyConsistent | Prior)
    assert np.linalg.norm(found.values - truth) < (1e-4 if solver else 2e-6) * np.linalg.norm(truth)
    assert found.names == problem.names
    assert found.covariance.shape == (len(truth), len(truth))
    assert (found.covariance.diagonal() > -1e-20).all()
    assert found.assumptions
    assert len(found.status) == len(truth)
    if found.standard is not None:
        assert_allclose(problem.base.base_values(found.standard), found.values, rtol=1e-9, atol=1e-9)


def test_from_beginning_to_end(model):
    """Residuals, validation and the description beside them; a known payload is taken off."""
    rng = np.random.default_rng(3)
    chi = physical(model) * np.exp(0.1)
    runs = []
    for seed, payload in ((0, None), (1, Payload("joint_3", 5.0, (0.1, 0.2, 0.0), (0.0,) * 6)), (2, None)):
        motion = exciting(model, seed)
        torque = model.torque(motion, chi) + rng.normal(0.0, 2.0, motion.q.shape)
        if payload is not None:
            torque = torque + load_torque(model, payload, motion)
        runs.append(Run(Run.at(motion, torque, RATE).parts, f"run {seed}", payload=payload))
    problem = Problem(model, tuple(runs[:2]))
    found = identify(problem, WeightedLeastSquares(), runs[2:], uncertainty=with_correlated_errors)
    assert_allclose(found.fit.residuals.rms, 2.0, rtol=0.05)
    assert_allclose(found.validation[0].residuals.rms, 2.0, rtol=0.05)
    assert found.validation[0].run == "run 2"
    assert found.fit.description.total_percent > 2.0 * found.fit.residuals.total_percent
    error = found.estimate.values - model.base.base_values(chi)
    assert error @ np.linalg.solve(found.estimate.covariance, error) < 2.0 * len(error)
    assert "correlated in time" in found.estimate.assumptions[0].text


def test_a_noisy_run_does_not_spoil_a_quiet_one(model):
    """Runs of different noise are brought to equal terms: σ falls with every run, and tells the truth."""
    chi = physical(model)
    truth, rng = model.base.base_values(chi), np.random.default_rng(5)
    motions = [exciting(model, seed, seconds=3.0)[::5] for seed in (0, 1)]
    exact = [model.torque(motion, chi) for motion in motions]
    squares, wider = [], []
    for _ in range(30):
        runs = [
            Run.at(m, t + rng.normal(0.0, sigma, t.shape), RATE / 5, f"σ {sigma}")
            for m, t, sigma in zip(motions, exact, (20.0, 2.0), strict=True)
        ]
        both = WeightedLeastSquares().estimate(Problem(model, tuple(runs)))
        alone = WeightedLeastSquares().estimate(Problem(model, (runs[1],)))
        error = both.values - truth
        squares.append(error @ np.linalg.solve(both.covariance, error))
        wider.append((both.std / alone.std).max())
    low, high = chi2.ppf([0.001, 0.999], 30 * len(truth))
    assert low < sum(squares) < 1.05 * high
    assert max(wider) < 1.15  # of estimated noise
    unlike = Problem(model, tuple(runs), balanced=False)
    assert (WeightedLeastSquares().estimate(unlike).std > 2.0 * alone.std).any()
    scales = Problem(model, tuple(runs)).scales
    assert_allclose(scales[0] / scales[1], 10.0, rtol=0.15)


def test_what_a_force_plate_shows_is_measured_by_itself(model):
    motion = exciting(model, 0, seconds=3.0)
    rows = np.concatenate([rows.w for rows in base_wrench(model, motion)])
    chi = np.random.default_rng(3).standard_normal(rows.shape[2])
    part = Processed(motion, np.zeros(motion.q.shape), RATE, wrench=rows @ chi)
    found = identify(Problem(model, (Run((part,)),), BaseWrench()), WeightedLeastSquares())
    assert_allclose(found.estimate.values, chi, atol=1e-8)
    assert found.fit.residuals.total_percent < 1e-6
    with pytest.raises(ParameterError, match=r"no physical bounds; use wls"):
        identify(found.problem, PhysicallyConsistent())


def base_wrench(model, motion):
    formulation = BaseWrench()
    part = Processed(motion, np.zeros(motion.q.shape), RATE, wrench=np.zeros((len(motion), 6)))
    return formulation.rows(model, [part], formulation.base(model).independent)


def test_energy_is_measured_by_joint_torques(model, problems):
    found = identify(problems["energy"], WeightedLeastSquares(), judge=InverseDynamic())
    assert found.fit.residuals.joints == model.robot.joint_names
    assert found.fit.residuals.total_percent < 1e-3


def test_friction_that_remembers_sees_the_motion_whole():
    """Longer than the pieces it is cut into: nothing may be lost at the cuts."""
    model = DynamicModel(load("gautier-khalil"), (Viscous(), Coulomb(Dahl(0.05))))
    motion = exciting(model, 6, seconds=12.0)
    chi = np.random.default_rng(7).standard_normal(len(model.standard))
    found = WeightedLeastSquares(1.0).estimate(Problem(model, (Run.at(motion, model.torque(motion, chi), RATE),)))
    assert_allclose(found.values, model.base.base_values(chi), atol=1e-9)


def test_what_cannot_be_is_one_line(model):
    motion = exciting(model, 0)
    good = model.torque(motion, physical(model))
    still = Motion(motion.time, motion.q * [1, 0, 1], motion.qd * [1, 0, 1], motion.qdd * [1, 0, 1])
    cases = [
        (lambda: Problem(model, ()), RecordingError, "nothing to identify from"),
        (lambda: Run((), "empty"), RecordingError, "empty has no samples"),
        (lambda: Problem(model, (Run.at(motion, 0.0 * good, RATE),)).compressed, RecordingError, "zero throughout"),
        (
            lambda: WeightedLeastSquares().estimate(Problem(model, (Run.at(motion[:7], good[:7], RATE),))),
            ParameterError,
            r"21 equations for \d+ parameters",
        ),
        (
            lambda: WeightedLeastSquares().estimate(Problem(model, (Run.at(still, good, RATE),))),
            ParameterError,
            r"do not determine.*Fv2",
        ),
        (
            lambda: Problem(DynamicModel(load("panda")), (Run.at(motion, good, RATE),)).compressed,
            RecordingError,
            "3 joints",
        ),
        (
            lambda: WeightedLeastSquares((1.0, -1.0, 1.0)).estimate(Problem(model, (Run.at(motion, good, RATE),))),
            ParameterError,
            "noise is",
        ),
    ]
    other = Run.at(motion, good * [1, 0, 1], RATE, "second")
    swapped = synthetic_recording(model, motion[:100], model.nominal, 1.0)
    swapped = replace(swapped, joints=("joint_2", "joint_1", "joint_3"))
    slow = InverseDynamic(ParallelFilter(Butterworth(1.5)))
    cases += [
        (
            lambda: Problem(model, (Run.at(motion, good, RATE), other)).compressed,
            RecordingError,
            "'joint_2' is zero throughout second",
        ),
        (
            lambda: Problem(model, (Run(Run.at(motion, good, RATE).parts, recording=swapped),)),
            RecordingError,
            r"joint_2, joint_1, joint_3.*arranged",
        ),
        (
            lambda: WeightedLeastSquares().estimate(Problem(model, (Run.at(motion, good, RATE),), slow)),
            ParameterError,
            r"worth \d+ independent",
        ),
    ]
    for act, kind, message in cases:
        with pytest.raises(kind, match=message) as raised:
            act()
        assert "\n" not in str(raised.value)
