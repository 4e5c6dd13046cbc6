"""The data side of validation: predictions, baselines, histograms, what residuals depend on, and the noise floor."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import signal

from exciter.dynamics.base_reaction import BaseReaction
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import Payload, read_recording, write_recording
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.processed_motion import Processed
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.formulations.dynamic import BaseWrench, InverseDynamic
from exciter.identification.information.compressed import ResidualSizes, one_thread
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run, load_torque
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import Motion, load
from exciter.validation.baselines import (
    DESCRIPTION,
    GRAVITY,
    WAY_AVERAGED,
    WAY_PERIODS,
    WAY_WHITE,
    ZERO,
    baselines,
    noise_floor,
)
from exciter.validation.prediction import Prediction
from exciter.validation.residuals import histograms
from exciter.validation.structure import on_motion, on_slow, structures
from exciter.validation.validation import validate
from support.filtered_pair import filtered_pair
from support.torque_band import torque_band

RATE = 200.0
GENTLE = ParallelFilter(Butterworth(10.0), 4)
SIGMA = np.array([2.0, 1.0, 0.5])


@pytest.fixture(autouse=True)
def small_matrices():
    """Threads of the linear algebra would wait for each other."""
    with one_thread():
        yield


@pytest.fixture(scope="module")
def model() -> DynamicModel:
    return DynamicModel(load("kuka-ir361-asme"), (RotorInertia(), Viscous(), Coulomb()))


def truth(model: DynamicModel) -> np.ndarray:
    chi = 1.1 * model.nominal
    chi[model.inertial_size :] = np.where(chi[model.inertial_size :] > 0.0, chi[model.inertial_size :], 3.0)
    return chi


def moving(model: DynamicModel, seed: int, seconds: float = 12.0, period: float = 6.0) -> Motion:
    delta = 0.5 * np.random.default_rng(seed).standard_normal((model.n, 11))
    return motion_of(Fourier(period, 5), delta, np.arange(round(seconds * RATE)) / RATE)


def a_run(model: DynamicModel, seed: int, name: str = "run", more: np.ndarray | float = 0.0) -> Run:
    motion = moving(model, seed)
    noise = SIGMA * np.random.default_rng(seed).standard_normal(motion.q.shape)
    return Run.at(motion, model.torque(motion, truth(model)) + noise + more, RATE, name)


@pytest.fixture(scope="module")
def estimate(model):
    return WeightedLeastSquares().estimate(Problem(model, (a_run(model, 0),)))


def full(model: DynamicModel, values: np.ndarray) -> np.ndarray:
    chi = np.zeros(len(model.standard))
    chi[model.base.independent] = values
    return chi


def still(motion: Motion) -> Motion:
    return Motion(motion.time, motion.q, np.zeros_like(motion.q), np.zeros_like(motion.q))


# -- prediction --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("through", [None, GENTLE], ids=["as measured", "filtered"])
def test_prediction_is_what_the_models_say(model, estimate, through):
    """Every torque once more by inverse dynamics, the band by another way; through the filter like the rows."""
    run = a_run(model, 1)
    (piece,) = run.parts
    found = Prediction.of(Problem(model, (run,), InverseDynamic(through)), estimate)
    motion = piece.motion
    torques = {
        "measured": piece.torque,
        "predicted": model.torque(motion, full(model, estimate.values)),
        "description": model.torque(motion),
        "gravity": model.dynamics.inverse_dynamics(still(motion)),
    }
    kept = slice(None)
    if through is not None:
        kept = np.rint(found.time * RATE).astype(int)
        torques = {name: filtered_pair(tau, tau, RATE, through)[0] for name, tau in torques.items()}
    for name, tau in torques.items():
        assert_allclose(getattr(found, name), tau, rtol=1e-7, atol=1e-7)
    for name in ("time", "q", "qd", "qdd"):
        assert_allclose(getattr(found, name), getattr(motion, name)[kept], atol=1e-12)
    assert_allclose(found.residual, found.measured - found.predicted)
    if through is None:
        band = torque_band(model, estimate, motion)
        assert_allclose(found.band, band.reach * band.std, rtol=1e-6)
    assert (found.units, found.complete, found.rate) == (("N·m",) * 3, True, RATE if through is None else RATE / 4)


def test_prediction_of_a_run_in_pieces(model, estimate):
    """Pieces, as of a log larger than memory, give the same; a known load is taken off; what is too much is cut."""
    run, payload = a_run(model, 1), Payload("joint_3", 5.0, (0.1, 0.2, 0.0), (0.0,) * 6)
    (piece,) = run.parts
    loaded = replace(piece, torque=piece.torque + load_torque(model, payload, piece.motion))
    warm = np.linspace(20.0, 30.0, 3 * len(piece)).reshape(-1, 3)
    parts = [replace(loaded, temperature=warm)[a : a + 500] for a in range(0, len(piece), 500)]
    pieces = Run(tuple(parts), payload=payload)
    whole, torn = (Prediction.of(Problem(model, (one,), InverseDynamic(GENTLE)), estimate) for one in (run, pieces))
    for name in ("time", "q", "qd", "qdd", "measured", "predicted", "band", "description", "gravity"):
        assert_allclose(getattr(torn, name), getattr(whole, name), rtol=1e-6, atol=1e-6)
    assert whole.temperature is None
    assert_allclose(torn.temperature, warm[np.rint(torn.time * RATE).astype(int)])
    problem = Problem(model, (run,))
    cut = Prediction.of(problem, estimate, most=1000)
    assert (len(cut), cut.complete) == (1000, False)
    assert_allclose(cut.predicted, Prediction.of(problem, estimate).predicted[:1000])
    with pytest.raises(ParameterError, match="other parameters"):
        Prediction.of(problem, replace(estimate, names=("X", *estimate.names[1:])))
    with pytest.raises(RecordingError, match="short: no equations"):
        Prediction.of(Problem(model, (Run((piece[:20],), "short"),), InverseDynamic(GENTLE)), estimate)


def test_temperature_from_log_to_prediction(model, estimate, tmp_path):
    """Read once a second, linear between; the file's unit is °C."""
    motion = moving(model, 1)
    recording = synthetic_recording(model, motion, truth(model), SIGMA)
    warm = 20.0 + np.outer(motion.time, [0.1, 0.2, 0.3])
    seldom = np.where(np.arange(len(motion))[:, None] % 200 == 0, warm, np.nan)
    seldom[-1] = warm[-1]
    write_recording(replace(recording, temperature=seldom), tmp_path / "log.csv")
    run = Run.of(read_recording(tmp_path / "log.csv"), FilteredDifferences(cutoff=10.0))
    found = Prediction.of(Problem(model, (run,), InverseDynamic(GENTLE)), estimate)
    assert_allclose(found.temperature, 20.0 + np.outer(found.time, [0.1, 0.2, 0.3]), atol=1e-9)
    assert "temperature" in {one.quantity for one in structures(found)}


def test_a_prediction_knows_which_joints_move(model, estimate):
    """Where a joint rests, both sides of its equation are zero, and nowhere else."""
    motion = replace_speeds(moving(model, 1))
    run = Run.at(motion, model.torque(motion, truth(model)), RATE)
    found = Prediction.of(Problem(model, (run,), InverseDynamic(None, 0.1)), estimate)
    assert 0.1 < found.moves.mean() < 0.9
    assert ((found.measured == 0.0) == ~found.moves).all()
    filtered = Prediction.of(Problem(model, (run,), InverseDynamic(GENTLE, 0.1)), estimate)
    kept = np.rint(filtered.time * RATE).astype(int)
    assert (filtered.moves == found.moves[kept]).all()
    assert (filtered[100:200].moves == filtered.moves[100:200]).all()
    assert Prediction.of(Problem(model, (run,), InverseDynamic()), estimate).moves.all()


def replace_speeds(motion: Motion) -> Motion:
    """Every other second at rest, by speeds and accelerations alone."""
    moves = (motion.time % 2.0 < 1.0)[:, None]
    return Motion(motion.time, motion.q, motion.qd * moves, motion.qdd * moves)


# -- baselines and histograms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("through", [None, GENTLE], ids=["as measured", "filtered"])
def test_baselines_are_the_residuals_of_the_compressed_equations(model, estimate, through):
    problem = Problem(model, (a_run(model, 1),), InverseDynamic(through))
    found = baselines(problem, estimate)
    for name, values in (("identified", estimate.values), (DESCRIPTION, problem.nominal)):
        expected, left = ResidualSizes.of(problem.measured, values), found.of(name)
        assert_allclose(left.rms, expected.rms, rtol=1e-8)
        assert_allclose(left.percent, expected.percent, rtol=1e-8)
        assert_allclose(left.total_percent, expected.total_percent, rtol=1e-8)
    assert_allclose(found.of(ZERO).percent, 100.0)
    assert_allclose(found.signal, ResidualSizes.of(problem.measured, estimate.values).signal)
    assert found.identified.total_percent < found.of(DESCRIPTION).total_percent < found.of(GRAVITY).total_percent < 100


def test_the_worst_instant(model, estimate):
    hit = np.zeros((round(12 * RATE), 3))
    hit[1234, 1] = -500.0
    found = baselines(Problem(model, (a_run(model, 1, more=hit),)), estimate).identified
    assert found.when[1] == 1234 / RATE
    assert 490.0 < found.worst[1] < 510.0
    assert (found.worst[[0, 2]] < 12.0).all()


def test_histograms(model, estimate):
    """All errors counted, on the same bins; numbers by their definitions; Gaussian noise looks it, a crowd does not."""
    prediction = Prediction.of(Problem(model, (a_run(model, 1),)), estimate)
    found = histograms(prediction)
    for j, one in enumerate(found):
        for errors, tau in ((one.identified, prediction.predicted), (one.description, prediction.description)):
            left = prediction.measured[:, j] - tau[:, j]
            z = (left - left.mean()) / left.std()
            assert errors.counts.sum() == len(prediction)
            assert_allclose([errors.mean, errors.std], [left.mean(), left.std()], rtol=1e-9, atol=1e-12)
            assert_allclose([errors.skewness, errors.kurtosis], [(z**3).mean(), (z**4).mean() - 3.0], rtol=1e-6)
        assert abs(one.identified.skewness) < 0.2
        assert abs(one.identified.kurtosis) < 0.4
        expected = one.identified.gaussian
        likely = expected > 20
        assert (np.abs(one.identified.counts - expected)[likely] < 5.0 * np.sqrt(expected[likely])).all()
        assert one.description.std > 2.0 * one.identified.std
        assert len(one.edges) <= 201
    flat = replace(prediction, measured=prediction.predicted, description=prediction.predicted)
    assert histograms(flat)[0].identified.counts.sum() == len(prediction)
    crowd = replace(prediction, measured=prediction.predicted + np.where(prediction.time < 1.0, 9.0, 0.1)[:, None])
    assert histograms(crowd)[0].identified.kurtosis > 3.0


# -- what residuals depend on ------------------------------------------------------------------------------------------


def coloured(rng: np.random.Generator, samples: int, memory: float) -> np.ndarray:
    """AR(1) that forgets within ``memory`` samples, variance one."""
    a = np.exp(-1.0 / memory) if memory else 0.0
    e = signal.lfilter([np.sqrt(1.0 - a * a)], [1.0, -a], rng.standard_normal(samples + int(20 * memory)))
    return e[-samples:]


def wandering(rng: np.random.Generator, time: np.ndarray, period: float) -> np.ndarray:
    w = 2 * np.pi / period * np.arange(1, 6)
    a = rng.standard_normal((2, 5))
    return (a[0] * np.cos(np.outer(time, w)) + a[1] * np.sin(np.outer(time, w))).sum(axis=1)


@pytest.mark.parametrize("memory", [0, 10, 40])
def test_noise_alone_is_seldom_taken_for_something(memory):
    """False alarms of tests at 5 %, shares that are zero on average, standard errors that are true; 100 repetitions."""
    time = np.arange(3000) / 100.0
    p, share, z = [], [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        e = coloured(rng, len(time), memory)
        motion = on_motion(e, wandering(rng, time, (5.0, 10.0, 30.0)[seed % 3]))
        slow = on_slow(e, time)
        p.append((motion.p_value, slow.p_value))
        share.append((motion.share, slow.share))
        z.append(motion.means / motion.errors)
    alarms, share = (np.array(p) < 0.05).mean(axis=0), np.array(share)
    assert (alarms < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 100)).all()  # 0.115
    assert alarms[0] > 0.005  # and not because nothing is ever found
    assert (np.abs(share.mean(axis=0)) < 4.0 * share.std(axis=0) / np.sqrt(100) + 0.003).all()
    assert 0.8 < np.std(z) < 1.4


@pytest.mark.parametrize("share", [0.15, 0.6])
def test_what_is_there_is_found_and_measured(share):
    """A friction that was left out and a drift, each of a known share of the variance, in coloured noise."""
    time = np.arange(6000) / 100.0
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, noise = wandering(rng, time, 20.0), coloured(rng, len(time), 5)
        for test, cause, quantity in ((on_motion, np.tanh(5 * x), x), (on_slow, np.exp(-time / 20.0), time)):
            cause = (cause - cause.mean()) / cause.std()
            one = test(np.sqrt(share) * cause + np.sqrt(1 - share) * noise, quantity)
            assert one.p_value < 1e-3
            found.append(one.share)
            if test is on_motion:
                assert_allclose(one.means[[0, -1]], np.sqrt(share) * cause[[x.argmin(), x.argmax()]], atol=0.45)
    assert_allclose(np.mean(found), share, rtol=0.12)


def test_a_cause_of_its_own_is_not_pinned_on_velocity():
    """Something periodic that the model misses, as the motion is periodic, and has nothing to do with velocity."""
    time = np.arange(3000) / 100.0
    p = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        p.append(on_motion(wandering(rng, time, 10.0) + coloured(rng, 3000, 5), wandering(rng, time, 10.0)).p_value)
    assert np.mean(np.array(p) < 1e-3) <= 0.025


def stops(rng: np.random.Generator, samples: int, joints: int) -> tuple[np.ndarray, np.ndarray]:
    """q, q̇ (N, n) of moves and rests of about a second each, at 50 Hz."""
    q, qd = np.zeros((2, samples, joints))
    for j in range(joints):
        k, here = 0, 0.0
        while k < samples:
            m, rest = rng.integers(30, 70, 2)
            goal, s = rng.uniform(-1, 1), np.arange(m) / m
            q[k : k + m, j] = (here + (goal - here) * (10 * s**3 - 15 * s**4 + 6 * s**5))[: samples - k]
            qd[k : k + m, j] = ((goal - here) * (30 * s**2 - 60 * s**3 + 30 * s**4) * 50 / m)[: samples - k]
            k, here = k + m + rest, goal
            q[k - rest : k, j] = here
    return q, qd


def left_over(e: np.ndarray, q: np.ndarray, qd: np.ndarray, moves: np.ndarray | None = None) -> Prediction:
    """A prediction whose residual is ``e`` (N, n)."""
    zero, tau, joints = np.zeros_like(q), 5.0 * q + 10.0 * qd, tuple(f"joint_{j + 1}" for j in range(q.shape[1]))
    time = np.arange(len(q)) / 50.0
    return Prediction(
        "", joints, ("N·m",) * len(joints), 50.0, time, q, qd, zero, tau + e, tau, zero, zero, zero, moves=moves
    )


@pytest.mark.parametrize(
    ("noise", "rests"), [("grows with speed", False), ("grows with speed", True), ("none at rest", True)]
)
def test_whatever_noise_is_a_log_raises_few_false_alarms(noise, rests):
    """All that is looked at in a log together, at 10 %; noise that is coloured, and not as large all the time."""
    alarms, runs, level, samples = 0, 24, 0.1, 1000
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        q, qd = stops(rng, samples, 2)
        if not rests:
            time = np.arange(samples) / 50.0
            q = np.column_stack([wandering(rng, time, 10.0) for _ in range(2)])
            qd = 50.0 * np.gradient(q, axis=0)
        e = np.column_stack([coloured(rng, samples, 10) for _ in range(2)])
        speed = np.abs(qd) / np.abs(qd).max(axis=0)
        if noise == "grows with speed":
            e = e * (0.2 + speed)
        if noise == "none at rest":
            e = signal.sosfiltfilt(signal.butter(4, 0.3, output="sos"), e * (speed > 0.01), axis=0)
        alarms += any(one.found for one in structures(left_over(e, q, qd), level))
    assert alarms / runs <= level + 3.0 * np.sqrt(level * (1.0 - level) / runs)  # 0.28


def test_equations_of_a_joint_at_rest_say_nothing():
    """An offset that the model misses is no friction because equations at rest have none; friction is found."""
    rng = np.random.default_rng(0)
    q, qd = stops(rng, 2000, 1)
    moves = np.abs(qd) > 0.01
    missed = {"offset": np.ones_like(qd), "friction": np.tanh(qd / 0.1)}
    found = {}
    for name, torque in missed.items():
        e = (torque + rng.standard_normal(qd.shape)) * moves
        found[name] = {one.quantity for one in structures(left_over(e, q, qd, moves)) if one.found}
        assert "velocity" in {one.quantity for one in structures(left_over(e, q, qd)) if one.found}
    assert not found["offset"]
    assert "velocity" in found["friction"]
    begins, ends = (np.flatnonzero(np.diff(moves[:, 0].astype(int)) == step) for step in (1, -1))
    for at in (begins, begins + 1, ends, ends + 1):  # a filter mixes the first and last instants of moves with rests
        mixed = e.copy()
        mixed[at] += 50.0
        pairs = zip(structures(left_over(mixed, q, qd, moves)), structures(left_over(e, q, qd, moves)), strict=True)
        assert all(one.share == other.share for one, other in pairs)
    assert structures(left_over(e, q, qd, np.zeros_like(moves))) == ()


def test_structure_in_words(model, estimate):
    """Friction that the model does not have shows in its joint, with what to do; nothing shows without."""
    motion = moving(model, 1)
    clean = structures(Prediction.of(Problem(model, (a_run(model, 1),)), estimate))
    assert len(clean) == 12  # three joints, four quantities
    assert not any(one.found for one in clean)
    stiction = np.zeros_like(motion.q)
    stiction[:, 2] = 4.0 * np.sign(motion.qd[:, 2]) * np.exp(-((motion.qd[:, 2] / 0.5) ** 2))
    dragging = Prediction.of(Problem(model, (a_run(model, 1, more=stiction),)), estimate)
    found = [one for one in structures(dragging) if one.found]
    assert found[0].joint == "joint_3"
    assert found[0].quantity == "velocity"
    assert found[0].sentence.startswith("joint_3: ")
    assert "depends on velocity: the friction model misses something; try another" in found[0].sentence
    assert {one.joint for one in found} == {"joint_3"}
    long = Prediction.join([replace(dragging, time=dragging.time + 12.0 * k) for k in range(6)])  # put in blocks
    again = next(one for one in structures(long) if one.joint == "joint_3")
    assert again.quantity == "velocity"
    assert_allclose(again.share, found[0].share, rtol=0.1)
    with_heat = replace(dragging, measured=dragging.predicted, temperature=dragging.q)
    assert structures(with_heat) == ()  # residuals of zero depend on nothing


# -- noise floor -------------------------------------------------------------------------------------------------------


def known_noise(noise: np.ndarray, through: ParallelFilter | None) -> np.ndarray:
    """σ that the rows have of a noise (N, n): the noise itself through the filter."""
    if through is not None:
        noise = filtered_pair(noise, noise, RATE, through)[0]
    return np.sqrt((noise**2).mean(axis=0))


def noisy(model: DynamicModel, period: float, memory: float, dry: float = 1.0) -> tuple[Processed, np.ndarray]:
    """dry: how much there is of Coulomb friction, whose jumps fall between samples."""
    motion = moving(model, 3, 24.0, period)
    rng = np.random.default_rng(8)
    noise = np.column_stack([s * coloured(rng, len(motion), memory) for s in SIGMA])
    chi = truth(model) * [dry if name.startswith("Fs") else 1.0 for name in model.standard]
    return Processed(motion, model.torque(motion, chi) + noise, RATE), noise


@pytest.mark.parametrize("through", [None, GENTLE], ids=["as measured", "filtered"])
@pytest.mark.parametrize(
    ("way", "period", "memory"),
    [(WAY_PERIODS, 6.0, 0), (WAY_PERIODS, 6.0, 8), (WAY_PERIODS, 6.0 + 1 / 300, 0), (WAY_WHITE, None, 0)],
    ids=["periods", "coloured", "between samples", "white"],
)
def test_floor_of_known_noise(model, through, way, period, memory):
    """Within 10 % of the noise that was added, through the filter of the rows."""
    piece, noise = noisy(model, period or 6.0, memory)
    problem = Problem(model, (Run((piece,), period=period),), InverseDynamic(through))
    found = noise_floor(problem, np.ones(3))
    assert found.way == way
    assert_allclose(found.sigma, known_noise(noise, through), rtol=0.1)
    assert_allclose(found.percent, 100.0 * found.sigma)


def test_floor_of_a_period_that_ends_between_samples(model):
    """Interpolation takes a tenth of white noise half way between samples; the floor has it nevertheless."""
    piece, noise = noisy(model, 6.0 + 0.5 / RATE, 0, dry=0.0)
    found = noise_floor(Problem(model, (Run((piece,), period=6.0 + 0.5 / RATE),)), np.ones(3))
    assert_allclose(found.sigma, known_noise(noise, None), rtol=0.04)


def test_floor_of_a_mean_over_periods(model):
    """Of eight periods: the noise of their mean, through the filter."""
    motion = moving(model, 3, 6.0)
    recording = synthetic_recording(model, motion, truth(model), SIGMA, position_noise=1e-6, periods=8, seed=2)
    run = Run.of(recording)
    noise = recording.torque - np.tile(model.torque(motion, truth(model)), (8, 1))
    for through in (None, GENTLE):
        found = noise_floor(Problem(model, (run,), InverseDynamic(through)), np.ones(3))
        assert found.way == WAY_AVERAGED
        assert_allclose(found.sigma, known_noise(noise, through) / np.sqrt(8), rtol=0.1)
        resting = InverseDynamic(through, tuple(np.quantile(np.abs(motion.qd), 0.25, axis=0)))  # a quarter of the time
        found = noise_floor(Problem(model, (run,), resting), np.ones(3))
        assert_allclose(found.sigma, known_noise(noise, through) / np.sqrt(8), rtol=0.1)


def test_floor_that_cannot_be_known(model, estimate):
    piece, _ = noisy(model, 6.0, 0)
    smooth = replace(piece, torque=Butterworth(15.0).zero_phase(piece.torque, RATE))
    found = noise_floor(Problem(model, (Run((smooth,)),)), np.ones(3))
    assert found.sigma is None
    assert "low-passed" in found.sentence
    assert found.to_dict()["total_percent"] is None
    one = np.column_stack([smooth.torque[:, 0], piece.torque[:, 1:]])  # others have noise: no log that was low-passed
    found = noise_floor(Problem(model, (Run((replace(piece, torque=one),)),)), np.sqrt((one**2).mean(axis=0)))
    assert np.isnan(found.percent).tolist() == [True, False, False]
    assert found.total_percent is None
    assert f"what was measured of {found.joints[0]} is smoother than any sensor" in found.sentence
    cut = Problem(model, (Run((replace(piece, torque_bandwidth=30.0),)),), InverseDynamic(GENTLE))
    assert "analogue filter" in noise_floor(cut, np.ones(3)).sentence


# -- all together ------------------------------------------------------------------------------------------------------


def test_verdicts(model, estimate):
    """Down to the noise; what is missed and where; no better than the description; worse than nothing."""
    problem = Problem(model, (a_run(model, 0),), InverseDynamic(GENTLE))
    motion = moving(model, 1)
    rubbing = np.zeros_like(motion.q)
    rubbing[:, 1] = 1.5 * np.sign(motion.qd[:, 1]) * np.exp(-((motion.qd[:, 1] / 0.5) ** 2))
    runs = (a_run(model, 1, "clean"), a_run(model, 1, "rubbing", rubbing), a_run(model, 1, "other", -1e4 * motion.q))
    found = validate(problem, estimate, runs)
    clean, rubs, other = found.runs
    assert clean.verdict.startswith("explains the motion down to the noise: residual ")
    assert clean.missed == ()
    assert 0.8 < clean.baselines.identified.total_percent / clean.floor.total_percent < 1.2
    assert rubs.verdict.startswith("residual ")
    assert "of the torque, noise " in rubs.verdict
    assert "joint_2" in rubs.verdict
    assert "velocity" in rubs.verdict
    assert "no better than the description" in other.verdict
    (described,) = validate(problem, replace(estimate, values=problem.nominal), runs[:1]).runs
    assert "no better than the description" in described.verdict
    (reversed_,) = validate(problem, replace(estimate, values=-estimate.values), runs[:1]).runs
    assert "worse than no model" in reversed_.verdict
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))["runs"]
    assert [one["run"] for one in again] == ["clean", "rubbing", "other"]
    assert again[0]["models"]["zero"]["total_percent"] == 100.0
    assert again[0]["verdict"] == clean.verdict
    assert found.sentences[0] == f"clean: {clean.verdict}"


@pytest.mark.parametrize(("ratio", "better"), [(0.93, True), (0.97, False)])
def test_no_better_is_within_a_twentieth(model, estimate, ratio, better):
    """By which factor the model beats the description is all that decides, far above the noise."""
    (found,) = validate(Problem(model, (a_run(model, 1),), InverseDynamic(GENTLE)), estimate).runs
    mine, description, *others = found.baselines.models
    left = replace(mine, total_percent=ratio * description.total_percent)
    told = replace(found, baselines=replace(found.baselines, models=(left, description, *others))).verdict
    assert told.startswith("residual" if better else "no better than the description")


@pytest.mark.parametrize("period", [None, 6.0])
def test_a_joint_that_rests_throughout_is_not_judged(model, estimate, period):
    """All others are, whatever its drive holds it with; a log in which nothing moves is refused."""
    motion = moving(model, 1)
    q, qd, qdd = (np.array(values) for values in (motion.q, motion.qd, motion.qdd))
    q[:, 1], qd[:, 1], qdd[:, 1] = 0.3, 1e-4, 0.0
    motion = Motion(motion.time, q, qd, qdd)
    noise = SIGMA * np.random.default_rng(1).standard_normal(q.shape)
    torque = model.torque(motion, truth(model)) + noise + [0.0, 5.0, 0.0]
    judge = Problem(model, (a_run(model, 0),), InverseDynamic(GENTLE, 0.01))
    (found,) = validate(judge, estimate, [replace(Run.at(motion, torque, RATE), period=period)]).runs
    left = found.baselines.identified
    for column in (left.rms, left.percent, left.worst, left.when, found.floor.percent):
        assert np.isnan(column).tolist() == [False, True, False]
    assert "down to the noise" in found.verdict
    assert [word for word in found.sentences if "joint_2" in word] == [
        "joint_2 rests throughout: only its effect on other joints is judged"
    ]
    assert [one.joint for one in found.whiteness] == ["joint_1", "joint_3"]
    assert {one.joint for one in found.structures} == {"joint_1", "joint_3"}
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["models"]["identified"]["joints"]["joint_2"]["percent"] is None
    assert plain["floor"]["joints"]["joint_2"]["sigma"] is None
    seen = ResidualSizes.of(replace(judge, runs=(Run.at(motion, torque, RATE),)).measured, estimate.values)
    assert_allclose(seen.percent, left.percent, rtol=1e-6)
    idle = Motion(motion.time, q, 1e-4 * np.ones_like(q), 0.0 * q)
    with pytest.raises(RecordingError, match="every joint rests throughout"):
        validate(judge, estimate, [Run.at(idle, torque, RATE)])


def test_residuals_of_joints_that_go_together(model, estimate):
    motion = moving(model, 1)
    shared = np.random.default_rng(4).standard_normal((len(motion), 1)) * [0.0, 2.0, 2.0]
    (found,) = validate(Problem(model, (a_run(model, 1, more=shared),)), estimate).runs
    assert len(found.correlation.sentences) == 1
    assert "joint_2 and joint_3 correlate by 0.8" in found.correlation.sentences[0]
    expected = np.corrcoef(found.prediction.residual.T)
    assert_allclose(found.correlation.coefficients, expected, atol=1e-9)
    assert_allclose(found.correlation.errors[0, 1], 1 / np.sqrt(len(motion)), rtol=0.15)
    assert all(one.white for one in found.whiteness)


def test_runs_that_say_little(model, estimate):
    """A sample, a few of them, a gap, and torques without any error: judged as far as can be."""
    piece = a_run(model, 1).parts[0]
    exact = replace(piece, torque=model.torque(piece.motion, full(model, estimate.values)))
    runs = [Run(parts, str(k)) for k, parts in enumerate([(piece[:1],), (piece[:30],), (piece[:900], piece[1300:])])]
    one, few, torn, perfect = validate(Problem(model, (a_run(model, 0),)), estimate, [*runs, Run((exact,))]).runs
    assert (one.structures, one.whiteness, one.floor.sigma) == ((), (), None)
    assert "cannot be known" in one.verdict
    assert few.structures == ()
    assert "down to the noise" in torn.verdict
    assert torn.baselines.instants == len(piece) - 400
    assert perfect.baselines.identified.total_percent < 1e-9
    json.dumps([r.to_dict() for r in (one, few, torn, perfect)], allow_nan=False)


def test_a_force_plate_is_judged_alike(model):
    motion = moving(model, 1)
    wrench = BaseReaction(model).wrench(motion, truth(model)) + np.random.default_rng(0).normal(size=(len(motion), 6))
    run = Run((Processed(motion, np.zeros_like(motion.q), RATE, wrench=wrench),), "plate")
    problem = Problem(model, (run,), BaseWrench(GENTLE))
    (found,) = validate(problem, WeightedLeastSquares().estimate(problem)).runs
    assert "down to the noise" in found.verdict
    assert found.baselines.units == ("N",) * 3 + ("N·m",) * 3
    assert {one.quantity for one in found.structures} <= {"load", "time"}
    expected = BaseReaction(model).wrench(still(motion))
    assert_allclose(found.prediction.gravity, filtered_pair(expected, expected, RATE, GENTLE)[0], rtol=1e-7, atol=1e-6)
