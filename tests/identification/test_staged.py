"""Estimation in stages: exact on exact data, uncertainty carried from stage to stage, never better than all at once."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError, unknown_name
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.estimators.staged import (
    FrictionFirst,
    LinkByLink,
    StageSequence,
    StaticThenDynamic,
    TwoStep,
)
from exciter.identification.formulations.dynamic import FilteredDynamic, InverseDynamic
from exciter.identification.formulations.energy import Energy, Power
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.stages.stage import (
    AtRest,
    Cells,
    Stage,
    SteadyMotion,
    acting_at_rest,
    friction_of,
    rows_with_motion,
)
from exciter.notes import in_one_line, texts
from exciter.parameters.terms import Offset
from exciter.robot import Motion
from exciter_papers.khalil_dombre.set_up import only_joints, with_known
from support.given_rows import Experiment, moving, with_poses

pytestmark = pytest.mark.slow

SIGMA = np.array([1.0, 2.0, 0.5])
STEADY = SteadyMotion(0.05, 0.8)
DECIMATED = ParallelFilter(Butterworth(10.0), factor=2)


@dataclass(frozen=True)
class Staged(StageSequence):
    """The same stages whatever the robot."""

    title = "least squares in stages"
    given: tuple[Stage, ...]
    known: bool = True

    def stages(self, problem):
        return self.given


def named(*names):
    """A rule: parameters by name."""

    def chosen(problem):
        for name in names:
            if name not in problem.names:
                raise ParameterError(unknown_name("parameter", name, problem.names))
        return np.isin(problem.names, names)

    return chosen


SEQUENCES = (
    LinkByLink(known=True),
    TwoStep(1, known=True),
    StaticThenDynamic(known=True),
    FrictionFirst(STEADY, known=True),
)
CORRECTED = tuple(replace(one, known=False) for one in SEQUENCES)


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    """Motion, then poses."""
    return Experiment.of(with_poses(moving(600, seed=5), 30, 4))


def noisy(experiment: Experiment, rng: np.random.Generator, sigma: np.ndarray = SIGMA) -> Problem:
    return experiment.problem(experiment.exact + sigma * rng.standard_normal(experiment.exact.shape))


@pytest.mark.parametrize("estimator", SEQUENCES + CORRECTED, ids=str)
def test_exact_data_give_exact_parameters(experiment, estimator):
    found = estimator.estimate(experiment.problem(experiment.exact))
    assert_allclose(found.values, experiment.true, rtol=1e-9, atol=1e-9)
    assert (found.std < 1e-9).all()


@pytest.mark.parametrize("estimator", SEQUENCES, ids=lambda e: type(e).__name__)
def test_uncertainty_is_the_real_one(experiment, estimator):
    repetitions = experiment.repeated(estimator, lambda rng: noisy(experiment, rng), 60)
    repetitions.assert_honest()
    all_at_once = WeightedLeastSquares(tuple(SIGMA)).estimate(noisy(experiment, np.random.default_rng(0)))
    std = np.mean([found.std for found in repetitions.found], axis=0)
    assert (std > 0.97 * all_at_once.std).all()  # Gauss–Markov; σ is estimated in one of them
    assert (std > 1.2 * all_at_once.std).any()


@pytest.mark.parametrize("estimator", [*SEQUENCES[:2], SEQUENCES[3]], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize(
    ("formulation", "tolerance"),
    [(InverseDynamic(ParallelFilter(factor=2)), 1e-8), (FilteredDynamic(ParallelFilter(factor=2)), 2e-3)],
    ids=["inverse", "filtered"],
)
def test_filtered_rows_will_do(experiment, estimator, formulation, tolerance):
    """Two runs, both sides through a low-pass, without and with accelerations."""
    motion = moving(1500, harmonics=8)
    chi = np.linspace(0.5, 1.5, len(experiment.model.standard))
    torque = experiment.model.torque(motion, chi)
    runs = tuple(Run.at(motion[part], torque[part], 100.0) for part in (slice(0, 700), slice(700, 1500)))
    found = estimator.estimate(Problem(experiment.model, runs, formulation)).values
    assert_allclose(found, experiment.model.base.base_values(chi), rtol=tolerance, atol=tolerance)


def dwelling(poses: int, dwell: float, way: float = 0.5, rate: float = 100.0) -> Motion:
    """From pose to pose within ``way`` [s], smoothly, and ``dwell`` [s] at rest in each."""
    goals = np.random.default_rng(1).uniform(-1.5, 1.5, (poses + 1, 3))
    each, there = round((way + dwell) * rate), round(way * rate)
    step = np.arange(poses * each)
    s = np.minimum(step % each / there, 1.0)[:, None]
    start, far = goals[step // each], np.diff(goals, axis=0)[step // each]
    q = start + far * (10 * s**3 - 15 * s**4 + 6 * s**5)
    return Motion(step / rate, q, far / way * 30 * (s * (1 - s)) ** 2, far / way**2 * 60 * s * (1 - s) * (1 - 2 * s))


def dwelling_problem(experiment: Experiment, formulation, dwell: float) -> tuple[Problem, np.ndarray]:
    """A run of motion and one of poses, exact; and the truth."""
    chi = np.linspace(0.5, 1.5, len(experiment.model.standard))
    motions = {"motion": moving(1500, harmonics=8), "poses": dwelling(8, dwell)}
    runs = tuple(Run.at(m, experiment.model.torque(m, chi), 100.0, name) for name, m in motions.items())
    return Problem(experiment.model, runs, formulation), experiment.model.base.base_values(chi)


@pytest.mark.parametrize(
    ("formulation", "tolerance"),
    [(InverseDynamic(DECIMATED), 1e-6), (InverseDynamic(), 1e-6), (FilteredDynamic(DECIMATED), 1e-3)],
)
@pytest.mark.parametrize("known", [False, True])
def test_poses_are_not_filtered(experiment, formulation, tolerance, known):
    """A filter would bring motion into dwells of 0.2 s from both sides, and it would be taken for gravity. A pose is a
    mean of samples instead, whatever the formulation."""
    problem, true = dwelling_problem(experiment, formulation, 0.2)
    found = StaticThenDynamic(known=known).estimate(problem)
    gravity = acting_at_rest(problem)
    assert_allclose(found.values[gravity], true[gravity], rtol=0.0, atol=1e-6)
    assert_allclose(found.values, true, rtol=0.0, atol=tolerance)
    assert found.notes[0].text.startswith("static: 4 parameters from 24 equations")  # 8 poses; not where it began


def test_friction_that_holds_joints_is_told_by_the_way_they_came(experiment):
    """Held by 3 N·m against the way each joint came: no error of gravity, and an offset is told from it."""
    model = DynamicModel(experiment.model.robot, (*experiment.model.terms, Offset()))
    chi = np.linspace(0.5, 1.5, len(model.standard))
    motion = dwelling(12, 0.4)
    rests = AtRest().chosen(motion)[:, 0]
    torque = model.torque(motion, chi)
    came = np.sign(motion.qd)
    for k in range(1, len(motion)):
        came[k] = np.where(np.abs(motion.qd[k]) > 0.1, came[k], came[k - 1])
    free, held = (torque + np.where(rests[:, None], size * came, 0.0) for size in (0.0, 3.0))
    moved = moving(1500, harmonics=8)
    other = Run.at(moved, model.torque(moved, chi), 100.0, "motion")
    found = [
        StaticThenDynamic(known=True).estimate(Problem(model, (other, Run.at(motion, one, 100.0, "poses")))).values
        for one in (free, held)
    ]
    assert_allclose(found[0], model.base.base_values(chi), atol=1e-6)
    assert_allclose(found[1], found[0], atol=1e-6)


# -- what a later stage makes of earlier ones --------------------------------------------------------------------------


def test_earlier_errors_must_be_carried_along():
    """Link by link with a last joint that is noisy: σ that takes earlier links for exact is far too small."""
    experiment, sigma = Experiment.of(moving(300)), np.array([0.2, 0.2, 3.0])
    repetitions = experiment.repeated(LinkByLink(known=True), lambda rng: noisy(experiment, rng, sigma), 45)
    repetitions.assert_honest()
    stages = [line.split(":") for line in texts(repetitions.found[0].notes)]
    assert [name for name, _ in stages] == ["link of joint_3", "link of joint_2", "link of joint_1"]
    first = np.abs(experiment.w[:, 2]).max(axis=0) > 1e-9
    second = (np.abs(experiment.w[:, 1]).max(axis=0) > 1e-9) & ~first
    covered, ratio = [], []
    for seed, found in enumerate(repetitions.found):
        problem = noisy(experiment, np.random.default_rng(seed), sigma)
        rows = with_known(only_joints(problem.compressed, [1]), found.values[first], np.flatnonzero(first))
        kept = [rows.parameters.index(experiment.names[k]) for k in np.flatnonzero(second)]
        values, covariance = rows.columns(kept).information(sigma[1]).solve()
        std = np.sqrt(covariance.diagonal())
        covered.append(np.abs(values - experiment.true[second]) < 1.96 * std)
        ratio.append(found.std[second] / std)
    assert np.mean(covered) < 0.75
    assert np.mean(ratio) > 2.0
    assert 0.92 < repetitions.covered[:, second].mean() < 0.98


def test_intervals_know_how_few_equations_a_stage_has():
    """Three or so degrees of freedom in each stage; all stages together have fifteen."""
    experiment = Experiment.of(moving(12))
    repetitions = experiment.repeated(LinkByLink(known=True), lambda rng: noisy(experiment, rng), 25)
    assert all(1.0 <= found.freedom < 4.0 for found in repetitions.found)
    assert 0.93 < repetitions.covered.mean() < 0.99
    few = Experiment.of(with_poses(moving(300), 6, 4))
    found = StaticThenDynamic(known=True).estimate(noisy(few, np.random.default_rng(0)))
    assert 3.0 < found.freedom < 7.0


def test_a_stage_is_generalised_least_squares():
    """Two stages against the textbook formulas on whole matrices: V + B C Bᵀ, gain, covariance with its cross terms."""
    experiment = Experiment.of(moving(120))
    rng = np.random.default_rng(7)
    y = experiment.exact + SIGMA * rng.standard_normal(experiment.exact.shape)
    problem = experiment.problem(y)
    found = Staged((Stage("last", joints=(2,)), Stage("others", joints=(0, 1)))).estimate(problem)
    last = np.abs(experiment.w[:, 2]).max(axis=0) > 1e-9
    w = experiment.w[:, 2][:, last]
    c = found.noise[2] ** 2 * np.linalg.inv(w.T @ w)
    values = np.linalg.lstsq(w, y[:, 2])[0]
    assert_allclose(found.values[last], values, rtol=1e-9)
    assert_allclose(found.covariance[np.ix_(last, last)], c, rtol=1e-6)
    rows = experiment.w[:, :2].reshape(-1, len(experiment.names))
    a, b = rows[:, ~last], rows[:, last]
    v = np.diag(np.tile(found.noise[:2] ** 2, 120)) + b @ c @ b.T
    gain = np.linalg.solve(a.T @ np.linalg.solve(v, a), np.linalg.solve(v, a).T)
    assert_allclose(found.values[~last], gain @ (y[:, :2].ravel() - b @ values), rtol=1e-6)
    own = found.covariance[np.ix_(~last, ~last)]
    assert_allclose(own, gain @ v @ gain.T, rtol=1e-6, atol=1e-9 * own.max())
    cross = found.covariance[np.ix_(~last, last)]
    assert_allclose(cross, -gain @ b @ c, rtol=1e-6, atol=1e-9 * np.abs(cross).max())


def test_stages_may_share_equations():
    """The same rows twice: errors of the stages are not independent, and the covariance knows."""
    experiment = Experiment.of(moving(300))
    twice = Staged((Stage("some", named("ZZR1", "ZZR2", "MXR2", "Fs1", "Fv2", "MX3", "ZZ3")), Stage("others")))
    repetitions = experiment.repeated(twice, lambda rng: noisy(experiment, rng), 45)
    repetitions.assert_honest()


def test_what_a_stage_cannot_determine_is_left_to_later_ones():
    """Only joint 1 moves in the first run: its friction is found there, the rest in the second."""
    motion = moving(400)
    one = np.array([1.0, 0.0, 0.0])
    still = Motion(motion.time, motion.q * one + [0.0, 0.5, 0.7], motion.qd * one, motion.qdd * one)
    experiment = Experiment.of(motion)
    runs = tuple(
        Run.at(m, experiment.model.torque(m), 100.0, name) for m, name in ((still, "locked"), (motion, "free"))
    )
    problem = Problem(experiment.model, runs)
    found = Staged((Stage("a", runs=("locked",)), Stage("b", runs=("free",)))).estimate(problem)
    true = experiment.model.base.base_values(experiment.model.nominal)
    assert_allclose(found.values, true, rtol=1e-8, atol=1e-8)
    assert found.notes[0].text.startswith("a: ")
    assert "ZZR1" in found.notes[0].text.split(";")[1]
    assert "left to later stages" in found.notes[0].text
    for name, early in (("Fv1", True), ("Fs1", True), ("ZZR1", False), ("Fv3", False)):
        k = problem.names.index(name)
        alone = Staged((Stage("a", named(name), runs=("locked",)), Stage("b", runs=("free",)))).estimate(problem)
        assert_allclose(alone.values[k], true[k], atol=1e-8)
        assert alone.notes[0].text.startswith("a: 1 parameter " if early else "a: 0 parameters")
    with pytest.raises(ParameterError, match=r"no stage determines .*Fv3"):
        Staged((Stage("a", runs=("locked",)),)).estimate(problem)


# -- which equations, which parameters ---------------------------------------------------------------------------------


def test_motion_is_matched_by_time(experiment):
    """Rows that were decimated, of a run in pieces with a gap, with the motion of exactly their instants."""
    motion = moving(1500, harmonics=8)
    torque = experiment.model.torque(motion)
    cuts = (slice(0, 337), slice(337, 900), slice(960, 1500))
    run = Run(tuple(Processed(motion[cut], torque[cut], 100.0) for cut in cuts))
    problem = Problem(experiment.model, (run, run), InverseDynamic(ParallelFilter(factor=4)))
    count = 0
    for _, rows, there in rows_with_motion(problem):
        assert (there.time == rows.time).all()
        assert_allclose(there.q, motion.q[np.round(rows.time * 100).astype(int)])
        assert_allclose(there.qdd, motion.qdd[np.round(rows.time * 100).astype(int)])
        count += len(rows)
    assert count > 200


def test_every_equation_is_used_once(experiment):
    stages = FrictionFirst(STEADY).stages(problem := experiment.problem(experiment.exact))
    cells = Cells.of(problem, stages)
    chosen = STEADY.chosen(experiment.motion)
    assert (cells.used.sum(axis=1) == 1).all()
    for joint in range(3):
        mine = cells.joint == joint
        assert cells.rows[mine & cells.used[:, joint]].sum() == chosen[:, joint].sum()
        assert cells.rows[mine].sum() == len(experiment.motion)


def test_parameters_by_rule(experiment):
    problem = experiment.problem(experiment.exact)

    def names(rule):
        return [name for name, chosen in zip(problem.names, rule(problem), strict=True) if chosen]

    assert names(acting_at_rest) == ["MXR2", "MY2", "MX3", "MY3"]
    assert names(friction_of(1)) == ["Fv2", "Fs2"]
    assert len(names(friction_of())) == 6


def test_poses_count_once_each():
    """Means of poses, of a run that is cut anywhere, with as many equations as poses."""
    motion = with_poses(moving(200), 12, 7)
    experiment = Experiment.of(motion)
    torque = experiment.model.torque(motion)
    for cuts in ([], [203, 230], list(range(1, 280, 11))):
        edges = [0, *cuts, len(motion)]
        parts = tuple(Processed(motion[a:b], torque[a:b], 100.0) for a, b in pairwise(edges))
        problem = Problem(experiment.model, (Run(parts),))
        cells = Cells.of(problem, StaticThenDynamic().stages(problem))
        assert cells.rows[cells.used[:, 0]].tolist() == [12, 12, 12]
        assert cells.rows[cells.used[:, 1]].sum() == 600
        poses = model_rows_of(experiment, motion)[200::7].reshape(-1, 3, len(problem.names) + 1)
        for j in range(3):
            factor = cells.factors[cells.used[:, 0] & (cells.joint == j)][0]
            factor = np.delete(factor, range(len(problem.names), len(problem.names) + 3), axis=1)  # nothing holds them
            assert_allclose(factor.T @ factor, poses[:, j].T @ poses[:, j], atol=1e-8)


def model_rows_of(experiment: Experiment, motion) -> np.ndarray:
    y = experiment.model.torque(motion)[:, :, None]
    return np.concatenate([experiment.model.regressor(motion)[:, :, experiment.model.base.independent], y], axis=2)


def test_friction_that_holds_a_pose_is_an_error_of_the_pose():
    """Friction of random sign at every pose: honest with one equation per pose, too sure with one per sample."""
    experiment = Experiment.of(with_poses(moving(400), 40, 5))
    gravity = acting_at_rest(experiment.problem(experiment.exact))

    def sticking(rng):
        friction = np.repeat(rng.choice([-3.0, 3.0], (40, 3)), 5, axis=0)
        noise = 0.3 * rng.standard_normal(experiment.exact.shape)
        noise[400:] += friction
        return experiment.problem(experiment.exact + noise)

    for known in (True, False):
        honest = experiment.repeated(StaticThenDynamic(known=known), sticking, 50)
        assert "nothing but the parameters of stage 'static'" in in_one_line(honest.found[0].assumptions)
        assert 0.92 < honest.covered[:, gravity].mean() < 0.98
    assert experiment.repeated(WeightedLeastSquares(), sticking, 10).covered[:, gravity].mean() < 0.75


@pytest.mark.parametrize("friction", [0.0, 10.0], ids=["white", "sticking"])
def test_sigma_is_honest_with_few_poses(friction):
    """Four poses: joint 2 has as many equations as there are parameters. Weighted by what it leaves, it would be met
    exactly, with σ as small as rounding."""
    poses, samples, times = 4, 5, 60
    experiment = Experiment.of(with_poses(moving(60), poses, samples))
    gravity = acting_at_rest(experiment.problem(experiment.exact))

    def sticking(rng):
        noise = rng.standard_normal(experiment.exact.shape)
        noise[60:] += np.repeat(friction * rng.choice([-1.0, 1.0], (poses, 3)), samples, axis=0)
        return experiment.problem(experiment.exact + SIGMA * noise)

    found = experiment.repeated(StaticThenDynamic(known=True), sticking, times)
    missed = (~found.covered).sum(axis=0)
    assert missed.max() <= binom.ppf(0.999, times, 0.05), missed
    normalised = found.errors / [estimate.std for estimate in found.found]
    rms = np.sqrt((normalised[:, gravity] ** 2).mean(axis=0))
    assert ((rms > 0.5) & (rms < 2.0)).all(), rms
    assert np.abs(normalised).max() < 12.0


def test_samples_within_poses_bound_sigma_from_below():
    """Torques that obey gravity from pose to pose, though each pose is noisy: that is luck."""
    experiment = Experiment.of(with_poses(moving(200), 6, 4))
    noise = np.zeros_like(experiment.exact)
    noise[200:] = np.tile([[1.0], [-1.0], [-1.0], [1.0]], (6, 3))
    problem = experiment.problem(experiment.exact + SIGMA * noise)
    cells = Cells.of(problem, StaticThenDynamic().stages(problem))
    assert_allclose(cells.scatter[cells.used[:, 0]], SIGMA**2 / 3.0)  # four samples: variance 4/3, of the mean a fourth
    assert np.isnan(cells.scatter[cells.used[:, 1]]).all()
    gravity = acting_at_rest(problem)
    rows = experiment.w[200::4][:, :, gravity] / (SIGMA[:, None] / np.sqrt(3.0))
    std = np.sqrt(np.linalg.inv(np.einsum("kja,kjb->ab", rows, rows)).diagonal())
    assert_allclose(StaticThenDynamic(known=True).estimate(problem).std[gravity], std, rtol=1e-6)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_equations_without_joints_are_refused(experiment):
    runs = experiment.problem(experiment.exact).runs
    for estimator in SEQUENCES:
        for formulation in (Energy(), Power()):
            with pytest.raises(ParameterError, match=r"stages go by joints.*use the inverse dynamic"):
                estimator.estimate(Problem(experiment.model, runs, formulation))


def test_stages_that_cannot_work_are_refused(experiment):
    problem = experiment.problem(experiment.exact)
    with pytest.raises(ParameterError, match="a wrist of 3 joints; the robot has 3"):
        TwoStep(3).estimate(problem)
    with pytest.raises(ParameterError, match="runs is \\[\\]; give a list of runs"):
        StaticThenDynamic(runs=())
    with pytest.raises(RecordingError, match="names run 'poses'; there are: run"):
        StaticThenDynamic(runs=("poses",)).estimate(problem)
    with pytest.raises(ParameterError, match="names joint 7"):
        Staged((Stage("a", joints=(7,)),)).estimate(problem)
    with pytest.raises(ParameterError, match="unknown parameter 'ZZ9'"):
        Staged((Stage("a", named("ZZ9")),)).estimate(problem)
    with pytest.raises(ParameterError, match=r"stage 'friction of joint_1' has \d equations for"):
        FrictionFirst(SteadyMotion(0.05, 0.05)).estimate(problem)
    nothing = experiment.exact * [1.0, 0.0, 1.0]
    for estimator in SEQUENCES:
        with pytest.raises(RecordingError, match="torque of 'joint_2' is zero throughout"):
            estimator.estimate(experiment.problem(nothing))
    with pytest.raises(ParameterError, match=r"speed is -1.0; give a number ≥ 0"):
        AtRest(speed=-1.0)
