"""Maximum likelihood with noise on angles and torques: its derivatives, its minimum, and its statistics."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, least_squares
from scipy.stats import chi2
from threadpoolctl import threadpool_limits

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import AnalogFilter, Payload
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.periods import average_periods
from exciter.experiment.virtual import Encoder, Sampling, TorqueMeter, VirtualRobot, draw
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.identification.estimators import maximum_likelihood
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.estimators.measured_period import Measured
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run, load_chi
from exciter.notes import texts
from exciter.parameters.terms import Coulomb, Dahl, Offset, RotorInertia, Tanh, Viscous
from exciter.robot import Motion, load
from support.robots import random_robot

pytestmark = pytest.mark.slow

KUKA = DynamicModel(load("kuka-ir361"), (Viscous(), Coulomb()))
TRUE = KUKA.base.base_values(KUKA.nominal)
TORQUE_NOISE = np.sqrt([25.0, 26.0, 10.0])  # [N·m] of an averaged sample, seed 002
MIDDLE, QUIET, LOUD = np.sqrt([1.6e-10, 1e-10, 1e-6])  # [rad] of an averaged sample; the paper measured the first


def excitation(period: float, samples: int, size: float = 0.5, harmonics: int = 5, n: int = 3) -> Motion:
    delta = size * np.random.default_rng(5).standard_normal((n, 2 * harmonics + 1))
    return motion_of(Fourier(period, harmonics), delta, np.arange(samples) * period / samples)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Matrices are small; threads would wait for each other."""
    with threadpool_limits(1):
        yield


SLOW, FAST = excitation(10.0, 250), excitation(2.5, 150, 0.25)


def recorded(motion, torque_noise, position_noise, seed, periods=2, model=KUKA, chi=None):
    """Noise is that of the average."""
    more = np.sqrt(periods)
    chi = model.nominal if chi is None else chi
    return synthetic_recording(
        model, motion, chi, more * torque_noise, position_noise=more * position_noise, periods=periods, seed=seed
    )


def run_of(log, harmonics=5, **about):
    return Run((FourierFit(harmonics).apply(log),), period=log.about.period, recording=log, **about)


def problem_of(motion, torque_noise, position_noise, seed, periods=2):
    return Problem(KUKA, (run_of(recorded(motion, torque_noise, position_noise, seed, periods)),))


# -- the equations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", [float("inf"), 6.0])
def test_jacobian_is_the_derivative(bandwidth):
    """Any joints, smooth friction, a payload, joints with fewer harmonics than others; a torque that was cut, of which
    instants at rest are not used."""
    robot = random_robot(2, 4, tree=True)
    model = DynamicModel(robot, (Viscous(), Coulomb(Tanh(0.3)), RotorInertia(), Offset()))
    payload = Payload("j4", 1.5, (0.1, 0.0, 0.2), (0.03, 0.0, 0.0, 0.03, 0.0, 0.02))
    rng = np.random.default_rng(1)
    log = recorded(
        excitation(3.0, 60, 0.4, 3, robot.n), 0.1, 1e-3, 3, 2, model, rng.standard_normal(len(model.standard))
    )
    run = run_of(log, 3, payload=payload)
    (piece,) = run.parts
    used = piece.series.used.copy()
    used[1, [2, 5]] = False  # joint 2 without harmonic 3
    piece = replace(piece, torque_bandwidth=bandwidth, series=replace(piece.series, used=used))
    one = Measured.of(model, model.base.independent, run, piece, None, None)
    assert (one.spectra is None) == np.isinf(bandwidth)
    one = one.beyond(np.full(robot.n, 0.2))
    assert not one.kept.all(axis=1).any()
    delta, beta = one.delta + 0.01, rng.standard_normal(len(one.columns))

    def errors(x):
        rows = dict(one.jacobian(x[: len(delta)], x[len(delta) :]))
        return np.concatenate([rows[j][-1] for j in range(model.n)])

    x = np.concatenate([delta, beta])
    rows = dict(one.jacobian(delta, beta))
    jacobian = np.concatenate([rows[j][:-1] for j in range(model.n)], axis=1).T
    step = 1e-5
    differences = -(approx_fprime(x, errors, step) + approx_fprime(x, errors, -step)) / 2.0
    assert_allclose(jacobian, differences, atol=2e-7 * np.abs(jacobian).max())
    squares = [(rows[j][-1] ** 2).sum() for j in range(model.n)]
    assert_allclose(one.squares(delta, beta), squares, rtol=1e-10)
    assert_allclose(one.gram(delta, beta)[:, -1, -1], squares, rtol=1e-10)


def test_minimum_and_bound_are_those_of_the_whole_criterion():
    """Against a general solver on (4) as printed, every recorded sample a row, nothing of the structure; two runs."""
    model = DynamicModel(load("gautier-khalil"), (Viscous(), Coulomb(Tanh(0.1))))
    sigma_q, sigma_tau = 3e-3, np.array([0.4, 0.3, 0.2])
    motions = [excitation(4.0, 50, 0.5, 2), excitation(3.0, 40, 0.4, 2)]
    logs = [synthetic_recording(model, m, model.nominal, sigma_tau, position_noise=sigma_q, periods=2, seed=1)
            for m in motions]  # fmt: skip
    problem = Problem(model, tuple(run_of(log, 2) for log in logs))
    found = MaximumLikelihood(sigma_q, tuple(sigma_tau)).estimate(problem)
    columns, p = problem.base.independent, len(problem.names)
    sizes = [3 * 5] * 2

    def residuals(x):
        parts, at = [], 0
        for log, size in zip(logs, sizes, strict=True):
            series = Fourier(log.about.period, 2)
            motion = motion_of(series, x[at : at + size].reshape(3, 5), log.time)
            chi = np.zeros(len(model.standard))
            chi[columns] = x[-p:]
            parts += [(log.q - motion.q) / sigma_q, (log.torque - model.torque(motion, chi)) / sigma_tau]
            at += size
        return np.concatenate([part.ravel() for part in parts])

    start = np.concatenate([*(run.parts[0].series.delta.ravel() for run in problem.runs), found.values])
    whole = least_squares(residuals, start, jac="3-point", x_scale="jac", xtol=1e-13, ftol=1e-13, gtol=1e-13)
    bound = np.linalg.inv(whole.jac.T @ whole.jac)[-p:, -p:]
    assert np.abs((found.values - whole.x[-p:]) / found.std).max() < 1e-4
    assert_allclose(found.covariance, bound, atol=1e-5 * np.abs(bound).max())
    assert "as the noise stated" in found.notes[0].text
    wls = WeightedLeastSquares(tuple(sigma_tau)).estimate(problem)
    assert np.abs((wls.values - found.values) / found.std).max() > 0.2  # so that there was something to find


def test_exact_data_give_exact_parameters():
    log = synthetic_recording(KUKA, SLOW, KUKA.nominal, 1e-12, periods=3)
    found = MaximumLikelihood().estimate(Problem(KUKA, (run_of(log),)))
    assert_allclose(found.values, TRUE, atol=1e-9 * np.abs(TRUE).max())
    once = synthetic_recording(KUKA, SLOW, KUKA.nominal, 1e-12)
    once = replace(once, about=replace(once.about, period=10.0, settled=0.0))
    single = MaximumLikelihood().estimate(Problem(KUKA, (run_of(once),)))
    assert_allclose(single.values, TRUE, atol=1e-8 * np.abs(TRUE).max())


def test_a_known_payload_and_another_run_are_taken_into_account():
    payload = Payload("tool", 20.0, (0.1, 0.0, 0.2), (0.5, 0.0, 0.0, 0.6, 0.0, 0.7))
    loaded = KUKA.nominal + load_chi(KUKA, payload)
    light, heavy = (recorded(m, 0.1, 1e-4, 1, chi=chi) for m, chi in ((SLOW, None), (FAST, loaded)))
    found = MaximumLikelihood().estimate(Problem(KUKA, (run_of(light), run_of(heavy, payload=payload))))
    alone = MaximumLikelihood().estimate(Problem(KUKA, (run_of(light),)))
    error = found.values - TRUE
    assert error @ np.linalg.solve(found.covariance, error) < chi2.isf(1e-3, len(TRUE))
    assert (found.std < alone.std).all()
    assert sum("moved the trajectory" in word for word in texts(found.notes)) == 2


# -- noise ------------------------------------------------------------------------------------------------------------


def statistics(estimates, quantile):
    """Bias over its standard error (p,), Σ of normalised squares, share of intervals that cover."""
    errors = np.array([one.values - TRUE for one in estimates])
    normal = errors / np.array([one.std for one in estimates])
    squares = [e @ np.linalg.solve(one.covariance, e) for e, one in zip(errors, estimates, strict=True)]
    return normal.mean(axis=0) * np.sqrt(len(errors)), float(sum(squares)), float((np.abs(normal) < quantile).mean())


@pytest.mark.parametrize(
    ("motion", "torque_noise", "position_noise", "runs"),
    [(SLOW, TORQUE_NOISE, MIDDLE, 100), (FAST, 0.1 * TORQUE_NOISE, LOUD, 150)],
    ids=["noise of the paper", "angles matter"],
)
def test_covariance_is_the_real_one(motion, torque_noise, position_noise, runs):
    """Seed 002, IV: unbiased and efficient; with friction that jumps. Noise is estimated from two periods."""
    problems = [problem_of(motion, torque_noise, position_noise, seed) for seed in range(runs)]
    found = [MaximumLikelihood().estimate(problem) for problem in problems]
    bias, squares, covered = statistics(found, found[0].quantile())
    assert np.abs(bias).max() < 4.0
    low, high = chi2.ppf([0.001, 0.999], len(TRUE) * runs)
    assert low < squares < high
    assert 0.93 <= covered <= 0.97
    ratio = np.std([one.values for one in found], axis=0) / np.mean([one.std for one in found], axis=0)
    assert np.abs(ratio - 1.0).max() < 4.0 / np.sqrt(2.0 * runs)


def differentiated(log) -> Run:
    """The same averaged angles, differentiated as they are."""
    mean = average_periods(log)
    step = mean.period / len(mean.time)
    after, before = np.roll(mean.q, -1, axis=0), np.roll(mean.q, 1, axis=0)
    motion = Motion(mean.time, mean.q, (after - before) / (2.0 * step), (after - 2.0 * mean.q + before) / step**2)
    return Run.at(motion, mean.torque, mean.rate)


def test_beats_weighted_least_squares_where_angles_are_noisy_and_equals_it_where_they_are_not():
    """Seed 002, V-B, at variances 1e-10 … 1e-6 rad² of the averaged angles; the same data for all."""
    torque_noise, runs = 0.1 * TORQUE_NOISE, 20
    rms, apart = {}, {}
    for position_noise in (QUIET, 1e-4, LOUD):
        errors = {"ml": [], "series": [], "differences": []}
        steps = []
        for seed in range(runs):
            log = recorded(FAST, torque_noise, position_noise, 1000 + seed)
            problem = Problem(KUKA, (run_of(log),))
            ml = MaximumLikelihood().estimate(problem)
            series = WeightedLeastSquares(tuple(ml.noise)).estimate(problem)
            plain = WeightedLeastSquares(tuple(ml.noise)).estimate(Problem(KUKA, (differentiated(log),)))
            for word, one in zip(errors, (ml, series, plain), strict=True):
                errors[word].append((one.values - TRUE) / ml.std)
            steps.append(np.abs(ml.values - series.values) / ml.std)
        rms[position_noise] = {word: np.sqrt(np.mean(np.square(e))) for word, e in errors.items()}
        apart[position_noise] = np.max(steps)
    assert apart[QUIET] < 0.1  # σ: angles that are as good as exact change nothing
    assert rms[LOUD]["series"] > 2.0 * rms[LOUD]["ml"]
    assert rms[1e-4]["differences"] > 3.0 * rms[1e-4]["ml"]
    assert rms[LOUD]["differences"] > 50.0 * rms[LOUD]["ml"]
    assert all(0.8 < one["ml"] < 1.25 for one in rms.values())


def behind(analog, log, torque):
    """The log of a torque (N, n) in every period, behind an analogue filter where one is given; its noise as it was."""
    if analog is not None:
        lines = np.fft.rfft(torque, axis=0)
        through = analog.response(np.arange(len(lines)) / log.about.period)
        torque = np.fft.irfft(lines * through[:, None], len(torque), axis=0)
    return replace(log, torque=log.torque + np.tile(torque, (2, 1)), about=replace(log.about, filter=analog))


@pytest.mark.parametrize("analog", [None, AnalogFilter(order=4, cutoff=12.0)], ids=["as it is", "filtered"])
def test_direction_of_friction_is_not_guessed(analog):
    """Torques where q̇ may have either sign are left out; used, they would bias friction by many σ. So it is behind an
    analogue filter, which spreads them over all instants."""
    motion, runs = excitation(10.0, 600), 30
    made = [recorded(motion, 0.1 * TORQUE_NOISE, 3e-3, seed, chi=0.0 * KUKA.nominal) for seed in range(runs)]
    torque = KUKA.torque(motion, KUKA.nominal)
    logs = [Problem(KUKA, (run_of(behind(analog, log, torque)),)) for log in made]
    found = [MaximumLikelihood().estimate(problem) for problem in logs]
    assert np.abs(statistics(found, 1.96)[0]).max() < 4.0
    assert all(any("direction of its friction" in word for word in texts(one.notes)) for one in found)
    smooth = DynamicModel(KUKA.robot, (Viscous(), Coulomb(Tanh(0.5))))
    kept = MaximumLikelihood().estimate(Problem(smooth, logs[0].runs))
    assert not any("direction" in word for word in texts(kept.notes))


def with_unknown_torques(run, zone, noise):
    """β and σ of least squares with the torque of every instant at rest as an unknown of its own; in lines up to the
    bandwidth of the torque, each over the noise that undoing the analogue filter gave it, one joint after the other."""
    (piece,) = run.parts
    count, p = len(piece), len(TRUE)
    lines = np.arange(1, int(piece.torque_bandwidth * run.period) + 1)
    phase = 2.0 * np.pi * np.outer(lines, np.arange(count)) / count
    pairs = np.concatenate([np.cos(phase), np.sin(phase)]) * np.sqrt(2.0 / count)
    through = np.abs(run.recording.about.filter.response(np.append(0.0, np.tile(lines / run.period, 2))))
    to_lines = np.concatenate([np.full((1, count), 1.0 / np.sqrt(count)), pairs]) * through[:, None]
    information, right = np.zeros((p, p)), np.zeros(p)
    phi = KUKA.regressor(piece.motion)[:, :, KUKA.base.independent]
    for j in range(KUKA.n):
        hidden = to_lines[:, np.abs(piece.motion.qd[:, j]) < zone]
        left = np.linalg.svd(hidden, full_matrices=False)
        known = left[0][:, left[1] > 1e-4]
        w, y = (x - known @ (known.T @ x) for x in (to_lines @ phi[:, j], to_lines @ piece.torque[:, j]))
        information += w.T @ w / noise[j] ** 2
        right += w.T @ y / noise[j] ** 2
    return np.linalg.solve(information, right), np.sqrt(np.diag(np.linalg.inv(information)))


@pytest.mark.parametrize("analog", [None, AnalogFilter(order=4, cutoff=20.0)], ids=["as it is", "filtered"])
def test_a_dead_zone_leaves_joints_at_rest_out(analog):
    """Held joints have whatever torque holds them: with the zone it does no harm, ignored it spoils friction; of exact
    angles the answer is that of weighted least squares on the same rows. Behind an analogue filter, which smears it,
    that of least squares with the torques at rest unknown."""
    zone, noise = 0.15, 0.1 * TORQUE_NOISE
    motion = excitation(10.0, 1000)
    torque = KUKA.torque(motion, KUKA.nominal) + np.where(np.abs(motion.qd) < zone, 40.0, 0.0)
    run = run_of(behind(analog, recorded(motion, noise, 1e-9, 1, chi=0.0 * KUKA.nominal), torque))
    ignored, problem = (Problem(KUKA, (run,), InverseDynamic(None, z)) for z in (0.0, zone))
    estimator = MaximumLikelihood(torque_noise=tuple(np.sqrt(2.0) * noise))
    found = estimator.estimate(problem)
    assert any("dead zone" in text for text in texts(found.notes))
    off = [np.abs((one.values - TRUE) / found.std).max() for one in (estimator.estimate(ignored), found)]
    assert off[0] > 10.0
    assert off[1] < 4.0
    if analog is None:
        same = WeightedLeastSquares(tuple(noise)).estimate(problem)
        values, std = same.values, same.std
    else:
        values, std = with_unknown_torques(run, zone, noise)
    assert np.abs((found.values - values) / found.std).max() < 0.05
    assert_allclose(found.std, std, rtol=0.02)
    with pytest.raises(RecordingError, match="'joint_1' rests throughout"):
        MaximumLikelihood().estimate(replace(problem, formulation=InverseDynamic(None, (100.0, 0.0, 0.0))))


def test_model_errors_count_as_noise():
    """Two runs, one of a robot whose friction the model does not have; unless noise is given."""
    stribeck = recorded(SLOW, 0.1 * TORQUE_NOISE, QUIET, 1)
    extra = np.tile(3.0 * np.sin(2.0 * SLOW.q), (2, 1))
    problem = Problem(KUKA, (run_of(replace(stribeck, torque=stribeck.torque + extra)),))
    honest = MaximumLikelihood().estimate(problem)
    strict = MaximumLikelihood(torque_noise=tuple(0.1 * np.sqrt(2.0) * TORQUE_NOISE)).estimate(problem)
    assert (honest.noise > 1.5 * strict.noise).any()
    assert_allclose(strict.noise, 0.1 * TORQUE_NOISE, rtol=1e-12)
    assert any("differ from the model by more than noise" in word for word in texts(honest.notes))
    assert "more than the noise stated" in strict.notes[0].text
    assert np.median(honest.std / strict.std) > 1.3


def test_an_analogue_filter_is_compared_where_it_left_something():
    """Periodic torques behind a filter of 12 Hz, then white noise: undone, cut at its bandwidth, noise coloured."""
    analog = AnalogFilter(order=4, cutoff=12.0)
    runs, found = 50, []
    for seed in range(runs):
        log = recorded(FAST, 0.2 * TORQUE_NOISE, 3e-4, seed, chi=0.0 * KUKA.nominal)
        log = behind(analog, log, KUKA.torque(FAST, KUKA.nominal))
        run = run_of(log)
        assert np.isfinite(run.parts[0].torque_bandwidth)
        found.append(MaximumLikelihood().estimate(Problem(KUKA, (run,))))
    bias, squares, covered = statistics(found, found[0].quantile())
    assert np.abs(bias).max() < 4.0
    low, high = chi2.ppf([0.001, 0.999], len(TRUE) * runs)
    assert low < squares < high
    assert 0.92 <= covered <= 0.98


def test_virtual_robot():
    """Controller, MuJoCo, encoder and meter: what the machine really is lies within the intervals."""
    robot = replace(KUKA.robot, friction={**KUKA.robot.friction, "coulomb": np.zeros(3)})  # no stick at reversals
    virtual = VirtualRobot(
        robot,
        truth := draw(robot, seed=5),
        encoder=Encoder(counts=None, noise=3e-4),
        meter=TorqueMeter(noise=TORQUE_NOISE),
        sampling=Sampling(rate=200.0),
    )
    delta = 0.2 * np.random.default_rng(3).standard_normal((3, 9))
    log = virtual.run(ramped(Fourier(3.0, 4), delta, robot, periods=4), seed=2).recording
    found = MaximumLikelihood().estimate(Problem(truth.model, (Run.of(log),)))
    error = found.values - truth.model.base.base_values(truth.chi)
    assert error @ np.linalg.solve(found.covariance, error) < chi2.isf(1e-3, len(error))


# -- what it cannot do ------------------------------------------------------------------------------------------------


def test_refused(monkeypatch):
    good = problem_of(FAST, TORQUE_NOISE, QUIET, 1)
    plain = Run.at(FAST, KUKA.torque(FAST), 60.0, "morning")
    still = replace(good.runs[0].parts[0], torque=good.runs[0].parts[0].torque * [1.0, 0.0, 1.0])
    standing = excitation(2.5, 150, 0.25)
    standing = Motion(standing.time, *(x * [1.0, 0.0, 1.0] for x in (standing.q, standing.qd, standing.qdd)))
    held = run_of(recorded(standing, TORQUE_NOISE, 1e-4, 1))
    memory = DynamicModel(KUKA.robot, (Viscous(), Coulomb(Dahl(1e-3))))
    for problem, message, kind in (
        (
            Problem(DynamicModel(load("tx40")), (replace(good.runs[0], recording=None),)),
            "3 joints, the robot 6",
            RecordingError,
        ),
        (Problem(KUKA, (plain,)), "morning is no average over periods.*period", RecordingError),
        (replace(good, formulation=InverseDynamic(ParallelFilter())), "without a filter", ParameterError),
        (Problem(memory, good.runs), "remembers", ParameterError),
        (Problem(KUKA, (Run((still,), "noon"),)), "joint_2' is zero throughout noon", RecordingError),
        (Problem(KUKA, (held,)), "do not determine.*Fv2", ParameterError),
    ):
        with pytest.raises(kind, match=message):
            MaximumLikelihood().estimate(problem)
    with pytest.raises(ParameterError, match=r"torque_noise is -1.0; give a number > 0"):
        MaximumLikelihood(torque_noise=-1.0)
    with pytest.raises(ParameterError, match="noise must be one positive number"):
        MaximumLikelihood(position_noise=(1e-4, 1e-4)).estimate(good)
    monkeypatch.setattr(maximum_likelihood, "MOST_TRAJECTORY_COEFFICIENTS", 32)
    with pytest.raises(ParameterError, match=r"33 coefficients, and at most 32 .* fewer harmonics"):
        MaximumLikelihood().estimate(good)
