"""Noise without periods, earlier low-passes, and cut-offs that are chosen."""

import numpy as np
import pytest
from scipy import signal

from exciter.errors import RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.piecewise import BSpline
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import Recording
from exciter.experiment.signals.differentiation import FilteredDifferences, SmoothingSpline
from exciter.experiment.signals.noise import choose_cutoff, earlier_low_pass, estimate_noise, quantisation_step
from exciter.experiment.signals.noise import moves as moving
from exciter.experiment.signals.resample import resample
from exciter.robot.motion import Motion
from support.real_data import require_data

pytestmark = pytest.mark.slow


def periodic(time: np.ndarray) -> Motion:
    family = Fourier(10.0, 5)
    return motion_of(family, 0.4 * np.random.default_rng(3).normal(size=(3, family.coefficients)), time)


def waypoints(time: np.ndarray) -> Motion:
    family = BSpline(60.0, 48, 5)
    points = np.random.default_rng(4).uniform(-1.0, 1.0, (3, 49))
    return motion_of(family, family.interpolate(points), time)


def moves(time: np.ndarray) -> Motion:
    """Moves of 1 s with rests of 1 s between: jumps in the jerk, a wide spectrum."""
    rng = np.random.default_rng(5)
    q, qd, qdd = np.zeros((3, len(time), 3))
    for k in range(int(time[-1] / 2.0)):
        u = np.clip(time - 2.0 * k - 0.5, 0.0, 1.0)[:, None]
        size = rng.uniform(-1.0, 1.0, 3)
        q += size * (10 * u**3 - 15 * u**4 + 6 * u**5)
        qd += size * (30 * u**2 - 60 * u**3 + 30 * u**4)
        qdd += size * (60 * u - 180 * u**2 + 120 * u**3)
    return Motion(time, q, qd, qdd)


# -- noise ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("truth", [periodic, waypoints, moves])
@pytest.mark.parametrize("rate", [100.0, 1000.0])
@pytest.mark.parametrize("jitter", [0.0, 0.6])
def test_white_noise_is_found(truth, rate, jitter):
    rng = np.random.default_rng(0)
    time = np.arange(int(10.0 * rate)) / rate + 1.0
    time = time + jitter / rate * rng.uniform(-0.5, 0.5, len(time))
    sigma = np.array([1e-5, 1e-4, 1e-3])
    q = truth(time).q + sigma * rng.standard_normal((len(time), 3))
    assert estimate_noise(time, q).sigma == pytest.approx(sigma, rel=0.15 if rate < 500 else 0.06)


def test_jumps_are_not_noise():
    """Reversals of Coulomb friction, and a few wild samples, do not count."""
    rng = np.random.default_rng(1)
    time = np.arange(10_000) / 1000.0
    motion = periodic(time)
    torque = 5.0 * np.sign(motion.qd) + 10.0 * np.sin(motion.q) + 0.2 * rng.standard_normal(motion.q.shape)
    torque[::1000] += 50.0
    assert estimate_noise(time, torque).sigma == pytest.approx(0.2, rel=0.08)


@pytest.mark.parametrize("bits", [12, 17])
def test_quantisation_is_found_and_counted(bits):
    step = 2.0 * np.pi / 2**bits
    time = np.arange(20_000) / 1000.0
    exact = periodic(time).q
    q = np.round(exact / step) * step
    noise = estimate_noise(time, q)
    assert noise.step == pytest.approx(step, rel=1e-6)
    actual = (q - exact).std(axis=0)
    assert (noise.sigma >= 0.95 * actual).all()
    assert (noise.sigma <= 1.3 * actual).all()


def test_a_step_is_not_seen_where_there_is_none():
    rng = np.random.default_rng(2)
    assert quantisation_step(rng.standard_normal(5000)) == 0.0
    assert quantisation_step(np.zeros(100)) == 0.0
    encoder = 3.0285e-5 * np.unique(rng.integers(-30_000, 30_000, 3000))
    assert quantisation_step(encoder.astype(np.float32).astype(float)) == pytest.approx(3.0285e-5, rel=1e-4)
    assert quantisation_step(rng.uniform(-1, 1, 3000).astype(np.float32).astype(float)) < 1e-6
    assert quantisation_step(0.01 * rng.integers(-50, 50, 3000)) == pytest.approx(0.01)


def test_standstill_of_an_encoder_is_not_silent():
    q = np.full((1000, 1), 0.3)
    q[::3] += 0.001
    q[5::7] += 0.002
    assert estimate_noise(np.arange(1000) / 100.0, q).sigma[0] >= 0.001 / np.sqrt(12.0) * 0.999
    slow = np.floor(np.arange(1000) / 120.0)[:, None] * 0.001  # a step now and then: trimmed differences see nothing
    assert estimate_noise(np.arange(1000) / 100.0, slow).sigma[0] == pytest.approx(0.001 / np.sqrt(12.0))


def test_too_few_samples():
    with pytest.raises(RecordingError, match="at least 18"):
        estimate_noise(np.arange(10.0), np.zeros((10, 1)))
    with pytest.raises(RecordingError, match="too few"):
        choose_cutoff(np.zeros((10, 1)), 1.0)


# -- earlier low-pass ----------------------------------------------------------------------------------------------


def test_an_earlier_low_pass_is_noticed():
    rng = np.random.default_rng(3)
    time = np.arange(10_000) / 200.0
    motion = periodic(time)
    torque = 10.0 * np.sin(motion.q) + 3.0 * np.sign(motion.qd) + 0.2 * rng.standard_normal(motion.q.shape)
    assert earlier_low_pass(torque, 200.0) is None
    assert estimate_noise(time, torque, judge_low_pass=True).low_pass is None
    sections = signal.butter(4, 8.0, fs=200.0, output="sos")
    smooth = signal.sosfiltfilt(sections, torque, axis=0)
    ceiling = earlier_low_pass(smooth, 200.0)
    assert 8.0 < ceiling < 60.0
    noise = estimate_noise(time, smooth, judge_low_pass=True)
    assert noise.low_pass is not None
    assert (noise.sigma < 0.02).all()
    assert earlier_low_pass(smooth[:, 0], 200.0) > 8.0


@pytest.mark.parametrize("name", ["measurements_1", "measurements_2"])
def test_the_low_pass_of_lwr4_is_found(name):
    with np.load(require_data("lwr4") / f"{name}.npz") as data:
        joints = tuple(f"j{k}" for k in range(7))
        recording = resample(Recording(joints, data["times"], data["positions"], torque=data["torques"]))
    ceiling = earlier_low_pass(recording.needed_torque(), 1.0 / recording.interval)
    assert 2.0 < ceiling < 10.0


def test_the_torques_of_panda_were_not_low_passed():
    folder = require_data("panda")
    time = np.loadtxt(folder / "exciting_traj_time.txt")
    q, torque = (np.loadtxt(folder / f"exciting_traj_{x}.txt").reshape(-1, 7) for x in ("positions", "torques"))
    later = np.concatenate([[True], np.diff(time) > 0.0])
    recording = resample(Recording(tuple("abcdefg"), time[later], q[later], torque=torque[later]))
    assert earlier_low_pass(recording.needed_torque(), 1.0 / recording.interval) is None
    choice = choose_cutoff(recording.q, 1.0 / recording.interval)
    assert 0.9 < choice.cutoff < 20.0  # it moves below 0.9 Hz


# -- cut-offs ------------------------------------------------------------------------------------------------------


CUTOFFS = [
    (periodic, 200.0, 60.0),
    (waypoints, 200.0, 60.0),
    (moves, 500.0, 20.0),
]


def accuracy(route: FilteredDifferences | SmoothingSpline, recording: Recording, truth: Motion) -> float:
    """Mean square error of q̈, ends left out."""
    processed = route.apply(recording).motion
    index = np.round(processed.time / (truth.time[1] - truth.time[0])).astype(int)
    inside = (processed.time > 3.0) & (processed.time < truth.time[-1] - 3.0)
    return float(((processed.qdd - truth.qdd[index])[inside] ** 2).mean())


@pytest.mark.parametrize(("truth", "rate", "duration"), CUTOFFS)
@pytest.mark.parametrize("noise", [1e-5, 1e-3])
def test_chosen_cutoff_is_nearly_the_best(truth, rate, duration, noise):
    """Against the best of a grid, which knows the truth: an RMS error of q̈ within 1.5, here and for the knots."""
    time = np.arange(int(duration * rate)) / rate
    motion = truth(time)
    q = motion.q + noise * np.random.default_rng(6).standard_normal(motion.q.shape)
    recording = Recording(("a", "b", "c"), time, q, torque=np.zeros_like(q))
    choice = choose_cutoff(q, rate)
    best = min(accuracy(FilteredDifferences(c), recording, motion) for c in choice.cutoff * np.geomspace(0.25, 4.0, 9))
    chosen = accuracy(FilteredDifferences(choice.cutoff), recording, motion)
    assert chosen < 1.5**2 * best
    assert choice.error.mean() == pytest.approx(np.sqrt(chosen), rel=2.0)
    automatic = accuracy(SmoothingSpline(), recording, motion)
    grid = 2.0 * choice.cutoff * np.geomspace(0.35, 3.0, 6)
    assert automatic < 1.6**2 * min(accuracy(SmoothingSpline(m), recording, motion) for m in grid if m < rate / 3)


@pytest.mark.parametrize("order", [1, 2, 8])
def test_a_route_of_another_order_chooses_for_that_order(order):
    time = np.arange(8000) / 200.0
    motion = periodic(time)
    q = motion.q + 1e-4 * np.random.default_rng(6).standard_normal(motion.q.shape)
    recording = Recording(("a", "b", "c"), time, q, torque=q)
    cutoff = choose_cutoff(q, 200.0, order).cutoff
    assert abs(cutoff / choose_cutoff(q, 200.0).cutoff - 1.0) > 0.03
    chosen = FilteredDifferences(order=order).apply(recording)
    assert np.array_equal(chosen.motion.q, FilteredDifferences(cutoff, order).apply(recording).motion.q)


def test_the_reason_speaks_of_the_joint_that_is_worst_for_its_own_motion():
    """A small joint, whose error is small but much for it; a wrist beside a base."""
    time = np.arange(8000) / 200.0
    q = np.column_stack([np.sin(time), 1e-3 * np.sin(1.3 * time)])
    q += np.random.default_rng(7).standard_normal(q.shape) * [1e-4, 5e-5]
    choice = choose_cutoff(q, 200.0)
    assert choice.error[0] > choice.error[1]
    assert "for joint 2, the worst for its own q̈" in choice.reason
    assert f"an error of {choice.error[1]:.2g} in q̈" in choice.reason


def test_reason_is_one_sentence_with_numbers():
    time = np.arange(4000) / 200.0
    q = periodic(time).q + 1e-4 * np.random.default_rng(7).standard_normal((4000, 3))
    choice = choose_cutoff(q, 200.0)
    assert f"{choice.cutoff:.3g} Hz" in choice.reason
    assert "at half the cut-off" in choice.reason
    assert "\n" not in choice.reason
    assert choice.per_joint.shape == choice.bandwidth.shape == choice.noise.shape == (3,)
    assert choice.noise == pytest.approx(1e-4, rel=0.25)


def test_more_noise_means_a_lower_cutoff():
    time = np.arange(12_000) / 200.0
    exact = waypoints(time).q
    rng = np.random.default_rng(8)
    cutoffs = [choose_cutoff(exact + s * rng.standard_normal(exact.shape), 200.0).cutoff for s in (1e-6, 1e-4, 1e-2)]
    assert cutoffs[0] > 1.3 * cutoffs[1] > 1.3**2 * cutoffs[2]


def test_coloured_noise_is_not_taken_for_motion():
    """Noise that fades towards half the rate, as behind a sensor's own filter, is still noise."""
    rate = 1000.0
    time = np.arange(20_000) / rate
    motion = periodic(time)
    rng = np.random.default_rng(9)
    noise = signal.sosfiltfilt(signal.butter(2, 100.0, fs=rate, output="sos"), rng.standard_normal((20_000, 3)), axis=0)
    choice = choose_cutoff(motion.q + 1e-4 * noise, rate)
    assert 0.5 < choice.cutoff < 6.0


def test_joints_that_stand_still_do_no_harm():
    time = np.arange(4000) / 200.0
    q = np.column_stack([np.sin(time), np.full(4000, 0.3), np.zeros(4000)])
    alone, together = choose_cutoff(q[:, :1], 200.0), choose_cutoff(q, 200.0)
    assert together.cutoff == pytest.approx(alone.cutoff, rel=1e-6)
    assert np.isfinite(choose_cutoff(0.0 * q, 200.0).cutoff)
    recording = Recording(("a", "b", "c"), time, q, torque=q)
    for route in (FilteredDifferences(), SmoothingSpline()):
        assert np.abs(route.apply(recording).motion.qdd[:, 1:]).max() < 1e-6


def test_equal_numbers_do_not_move() -> None:
    """The spread of a constant that is not zero is rounding, and its noise is zero."""
    time = np.arange(500) / 200.0
    q = np.full((500, 3), [0.3, 0.0, 0.7])
    assert not moving(Recording(("a", "b", "c"), time, q)).any()
    q[:, 1] = np.sin(time)
    q[:, 2] += 1e-5 * np.random.default_rng(0).standard_normal(500)
    assert moving(Recording(("a", "b", "c"), time, q)).tolist() == [False, True, False]


def test_a_joint_that_is_held_does_not_choose_the_cutoff() -> None:
    """All that it shows is noise, which would best be lost altogether."""
    time, rng = np.arange(4000) / 200.0, np.random.default_rng(0)
    q = np.column_stack([np.sin(time) + 0.3 * np.sin(2.7 * time), np.full(len(time), 0.3)])
    recording = Recording(("a", "b"), time, q + 1e-5 * rng.standard_normal(q.shape), torque=q)
    together, alone = (
        choose_cutoff(recording.q, 200.0, asked=moving(recording)),
        choose_cutoff(recording.q[:, :1], 200.0),
    )
    assert together.cutoff == pytest.approx(alone.cutoff)
    assert choose_cutoff(recording.q, 200.0).cutoff < 0.5 * alone.cutoff
    for route in (FilteredDifferences(), SmoothingSpline()):
        found = route.apply(recording).motion
        exact = np.cos(found.time) + 0.81 * np.cos(2.7 * found.time)
        assert np.abs(found.qd[200:-200, 0] - exact[200:-200]).max() < 0.01


def test_an_estimate_that_is_kept_is_of_these_numbers():
    """One number more or less, another clock, another question: another estimate."""
    time, x = np.arange(2000) / 1000.0, np.random.default_rng(0).standard_normal((2000, 2))
    first = estimate_noise(time, x)
    assert estimate_noise(time.copy(), x.copy()) is first
    x[500:] *= 2.0
    assert (estimate_noise(time, x).sigma > 1.3 * first.sigma).all()
    turned = np.asfortranarray(x)
    np.testing.assert_array_equal(estimate_noise(time, turned).sigma, estimate_noise(time, x).sigma)
    assert (estimate_noise(time[:1000], x[1000:]).sigma > estimate_noise(time[:1000], x[:1000]).sigma).all()
