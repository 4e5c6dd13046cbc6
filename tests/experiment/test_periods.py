"""Periods: averages, their noise, transients, wrong periods, logs in pieces."""

import re
from dataclasses import replace

import numpy as np
import pytest

from exciter.errors import RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.experiment.recording import About, Recording
from exciter.experiment.recording.delayed_signals import local_cubic
from exciter.experiment.signals.periods import average_periods, estimate_period
from exciter.notes import texts

pytestmark = pytest.mark.slow

FAMILY = Fourier(4.0, 3)
DELTA = np.random.default_rng(7).normal(0.0, 0.5, (2, FAMILY.coefficients))
K, N = 16, 200


def truth(time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position, and a torque that repeats with it."""
    q, qd, _ = (basis @ DELTA.T for basis in FAMILY.basis(time))
    return q, 3.0 * np.sin(q) + qd


def recorded(
    rng: np.random.Generator,
    *,
    periods: float = K,
    start: float = 0.0,
    jitter: float = 0.0,
    noise: tuple[float, float] = (1e-3, 0.2),
    period: float | None = 4.0,
    settled: float | None = None,
) -> Recording:
    time = np.arange(int(periods * N)) * (4.0 / N)
    time = np.sort(time + jitter * (4.0 / N) * rng.uniform(-0.5, 0.5, len(time)))
    q, torque = truth(time)
    q, torque = (x + s * rng.standard_normal(x.shape) for x, s in zip((q, torque), noise, strict=True))
    about = About(period=period, settled=None if settled is None else settled + start)
    return Recording(("a", "b"), time + start, q, torque=torque, about=about)


# -- noise variances: Monte Carlo ----------------------------------------------------------------------------------


RUNS = 150


@pytest.fixture(scope="module")
def repeated() -> list[Recording]:
    rng = np.random.default_rng(1)
    return [recorded(rng, settled=0.0) for _ in range(RUNS)]


def monte_carlo_error(freedom: int) -> float:
    """Standard deviation of the mean, over runs and two joints, of a variance estimate with so many degrees."""
    return float(np.sqrt(2.0 / freedom / (2 * RUNS)))


def test_variance_of_16_periods_is_unbiased(repeated):
    averages = [average_periods(recording) for recording in repeated]
    for name, sigma in (("position_noise", 1e-3), ("torque_noise", 0.2)):
        ratio = np.mean([getattr(average, name) ** 2 for average in averages]) / sigma**2
        assert abs(ratio - 1.0) < 4.0 * monte_carlo_error(15 * N)


def test_the_printed_denominator_fails_the_same_check(repeated):
    """1/(16 N − 1) forgets that a mean was removed at each of the N samples: 15/16 of the variance."""
    printed = []
    for recording in repeated:
        x = recording.torque.reshape(K, N, 2)
        printed.append(((x - x.mean(axis=0)) ** 2).sum(axis=(0, 1)) / (K * N - 1))
    ratio = np.mean(printed) / 0.2**2
    assert abs(ratio - 1.0) > 10.0 * monte_carlo_error(15 * N)
    assert ratio == pytest.approx(15 / 16, abs=0.01)


def test_averaging_reduces_the_variance_16_fold(repeated):
    errors, claimed = [], []
    for recording in repeated:
        average = average_periods(recording)
        q, torque = truth(average.time)
        errors.append([((average.q - q) ** 2).mean() / 1e-3**2, ((average.torque - torque) ** 2).mean() / 0.2**2])
        claimed.append(
            [np.mean(average.position_noise_of_mean**2) / 1e-3**2, np.mean(average.torque_noise_of_mean**2) / 0.2**2]
        )
    tolerance = 4.0 * monte_carlo_error(N) / K
    assert np.mean(errors, axis=0) == pytest.approx([1 / K, 1 / K], abs=tolerance)
    assert np.mean(claimed, axis=0) == pytest.approx([1 / K, 1 / K], abs=tolerance)


def test_variance_is_unbiased_when_samples_fall_anywhere():
    """Interpolation averages noise away; the known gain of its weights puts it back."""
    rng = np.random.default_rng(2)
    averages = [average_periods(recorded(rng, jitter=0.6, settled=0.013)) for _ in range(40)]
    ratio = np.mean([average.torque_noise**2 for average in averages]) / 0.2**2
    assert ratio == pytest.approx(1.0, abs=0.02)
    error = np.mean([((a.torque - truth(a.time)[1]) ** 2).mean() for a in averages])
    claimed = np.mean([a.torque_noise_of_mean**2 for a in averages])
    assert error == pytest.approx(claimed, rel=0.05)
    assert claimed < 0.2**2 / 15  # 15 whole periods are left, and interpolation averages


# -- transients, gaps, drift -------------------------------------------------------------------------------------------


def with_transient(recording: Recording, size: float) -> Recording:
    decay = size * np.exp(-(recording.time - recording.time[0]) / 1.0)[:, None]
    return Recording(
        recording.joints, recording.time, recording.q + decay, torque=recording.torque, about=recording.about
    )


def test_transients_are_found_and_told():
    average = average_periods(with_transient(recorded(np.random.default_rng(3)), 0.3))
    assert average.count in (14, 15)
    assert average.time[0] == pytest.approx(4.0 * (16 - average.count))
    assert "transient" in average.left_out[0]
    assert "position of joint" in average.left_out[0]
    assert (average.position_noise < 1.05e-3).all()
    assert any("settled from" in word for word in texts(average.notes))


def test_standstill_before_and_after_is_left_out():
    recording = recorded(np.random.default_rng(4), periods=10)
    q, torque = recording.q.copy(), recording.torque.copy()
    rng = np.random.default_rng(0)
    for part in (slice(0, 2 * N), slice(9 * N, None)):
        q[part] = q[2 * N] + 1e-3 * rng.standard_normal(q[part].shape)
        torque[part] = torque[2 * N] + 0.2 * rng.standard_normal(q[part].shape)
    average = average_periods(Recording(("a", "b"), recording.time, q, torque=torque, about=recording.about))
    assert (average.count, average.time[0]) == (7, pytest.approx(8.0))
    assert "no longer repeats" in average.left_out[-1]


def test_few_periods_say_what_cannot_be_known():
    one = average_periods(recorded(np.random.default_rng(5), periods=1.5))
    assert one.position_noise is None
    assert "one period only" in " ".join(texts(one.notes))
    two = average_periods(recorded(np.random.default_rng(5), periods=2))
    assert "a transient cannot be distinguished from noise" in " ".join(texts(two.notes))


def test_a_period_with_a_gap_is_left_out():
    recording = recorded(np.random.default_rng(6), periods=8, settled=0.0)
    kept = np.ones(len(recording), dtype=bool)
    kept[3 * N + 20 : 3 * N + 60] = False
    average = average_periods(recording[kept])
    assert average.count == 7
    assert "without samples at 12.38 s" in average.left_out[0]
    assert np.allclose(average.q, truth(average.time)[0], atol=3e-3)


def doubled(recording: Recording, first: int, count: int) -> Recording:
    """A block of samples is there twice, and the clock goes on: all after it is late."""
    index = np.concatenate([np.arange(first + count), np.arange(first, len(recording))])
    late = recording.time[first + count] - recording.time[first]
    time = recording.time[index] + np.where(np.arange(len(index)) >= first + count, late, 0.0)
    return replace(recording, time=time, q=recording.q[index], torque=recording.torque[index])


def test_periods_that_break_in_the_middle_are_left_out_where_others_agree():
    recording = recorded(np.random.default_rng(15), periods=6, settled=0.0)
    late = average_periods(doubled(recording, 3 * N + 80, 10))
    assert (late.count, late.time[0]) == (3, 0.0)
    assert sum("breaks by" in why for why in late.left_out) == 3
    q = recording.q.copy()
    q[2 * N + 50 :, 0] += 2.0 * np.pi
    wrapped = average_periods(replace(recording, q=q))
    assert (wrapped.count, wrapped.time[0]) == (3, pytest.approx(12.0))
    assert all("joint 'a' breaks by" in why for why in wrapped.left_out)
    for average in (late, wrapped):
        exact = truth(average.time)[0]
        assert np.ptp(average.q - exact, axis=0).max() < 6e-3
        assert (average.position_noise < 1.1e-3).all()


def test_periods_of_which_no_two_agree_are_refused():
    recording = recorded(np.random.default_rng(15), periods=2, settled=0.0)
    with pytest.raises(
        RecordingError, match=r"joint '.' differs by .* of its motion between the period from 4"
    ) as caught:
        average_periods(doubled(recording, N + 100, 5))
    assert len(str(caught.value).splitlines()) == 1
    q = recording.q.copy()
    q[N + 50 : N + 60, 1] += 0.3
    with pytest.raises(RecordingError, match=r"joint 'b' differs by"):
        average_periods(replace(recording, q=q))
    noisy = recorded(np.random.default_rng(15), periods=3, settled=0.0, noise=(0.05, 0.2))
    assert average_periods(noisy).count == 3  # noise of 10 % is noise


def test_a_joint_that_stands_still_need_not_repeat():
    recording = recorded(np.random.default_rng(15), periods=4, settled=0.0)
    rng = np.random.default_rng(0)
    for drift in (0.0, 1e-5):
        q = np.column_stack([recording.q, 0.3 + drift * recording.time + 1e-5 * rng.standard_normal(len(recording))])
        three = Recording(("a", "b", "c"), recording.time, q, torque=q, about=recording.about)
        assert average_periods(three).count == 4


def test_a_clock_that_jumps_in_a_gap_is_noticed():
    recording = recorded(np.random.default_rng(6), periods=8, settled=0.0)
    time = recording.time.copy()
    time[3 * N + 40 :] += 0.5  # half a second passes unseen
    average = average_periods(replace(recording, time=time))
    assert average.count == 4
    assert average.time[0] == pytest.approx(16.0)
    assert any("without samples" in why for why in average.left_out)


def test_drift_between_periods_is_told():
    recording = recorded(np.random.default_rng(8), settled=0.0)
    steady = average_periods(recording)
    assert not steady.torque_drift.any()
    torque = recording.torque + np.array([0.0, 0.02]) * recording.time[:, None]  # 1.3 over the log
    average = average_periods(Recording(("a", "b"), recording.time, recording.q, torque=torque, about=recording.about))
    expected = 0.02 * 4.0 * np.sqrt((K**2 - 1) / 12)
    assert average.torque_drift[0] == 0.0
    assert average.torque_drift[1] == pytest.approx(expected, rel=0.1)
    assert any("torque of joint 'b' wanders" in word for word in texts(average.notes))


# -- the period ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0.99, 1.01])
def test_a_period_wrong_by_one_percent_is_refused(wrong):
    with pytest.raises(RecordingError, match=r"repeat every (4|3\.99\d*|4\.00\d*) s, not") as caught:
        average_periods(recorded(np.random.default_rng(9)), period=4.0 * wrong)
    assert "give the right period" in str(caught.value)


def test_a_slightly_wrong_period_is_told():
    average = average_periods(recorded(np.random.default_rng(9)), period=4.0004)
    assert any(
        re.search(r"repeat every (4|3\.9999\d|4\.0000\d) s, not 4\.0004 s", word) for word in texts(average.notes)
    )
    right = average_periods(recorded(np.random.default_rng(9)))
    assert any("agrees with the data" in word for word in texts(right.notes))


def test_no_period_at_all_is_refused():
    with pytest.raises(RecordingError, match=r"do not repeat every 2\.7 s"):
        average_periods(recorded(np.random.default_rng(9)), period=2.7)
    with pytest.raises(RecordingError, match="period of the motion is not known"):
        average_periods(recorded(np.random.default_rng(9), period=None))
    for settled in (np.nan, np.inf):
        with pytest.raises(RecordingError, match="give a time"):
            average_periods(recorded(np.random.default_rng(9)), settled=settled)
        with pytest.raises(RecordingError, match=r"settled is (nan|inf); give a number"):
            About(settled=settled)
    with pytest.raises(RecordingError, match="no whole period of 100 s"):
        average_periods(recorded(np.random.default_rng(9)), period=100.0)


@pytest.mark.parametrize(("jitter", "noise"), [(0.0, 0.0), (0.6, 1e-3), (0.0, 2e-2)])
def test_period_is_estimated_on_request(jitter, noise):
    recording = recorded(np.random.default_rng(10), jitter=jitter, noise=(noise, 0.1), start=55.0, period=None)
    estimate = estimate_period(recording)
    assert estimate.period == pytest.approx(4.0, rel=1e-6 + 0.02 * noise)
    assert "the positions repeat every" in estimate.sentence


def test_period_of_a_motion_without_one_is_not_invented():
    time = np.arange(2000) * 0.01
    q = np.column_stack([np.sin(time * time / 8.0)])
    with pytest.raises(RecordingError, match="do not repeat"):
        estimate_period(Recording(("a",), time, q))
    with pytest.raises(RecordingError, match="motion of at least one joint"):
        estimate_period(Recording(("a",), time, np.zeros((2000, 1))))


# -- pieces --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("lost", [0.0, 0.03])
def test_an_average_is_the_mean_of_cubics_whatever_the_pieces(size, lost):
    """Against the cubic through all samples at once, with jitter and lost samples."""
    recording = recorded(np.random.default_rng(13), periods=4.5, jitter=0.8, settled=0.3, start=1.0)
    recording = recording[np.random.default_rng(1).random(len(recording)) >= lost]
    averages = [average_periods(source) for source in (recording, lambda: recording.chunks(size))]
    count, samples = averages[0].count, len(averages[0].time)
    assert count == averages[1].count == 4
    at = averages[0].time[0] + 4.0 * np.arange(count)[:, None] + np.arange(samples) * (4.0 / samples)
    both = np.hstack([recording.q, recording.torque])
    mean = local_cubic(recording.time, both, at.ravel())[0].reshape(count, samples, 4).mean(axis=0)
    for average in averages:
        assert np.hstack([average.q, average.torque]) == pytest.approx(mean, abs=1e-12)


def test_a_period_that_ends_with_the_log_counts():
    recording = recorded(np.random.default_rng(14), periods=3, settled=0.0)
    assert average_periods(recording).count == average_periods(lambda: recording.chunks(1)).count == 3


@pytest.mark.parametrize("size", [37, 777])
def test_pieces_give_what_the_whole_gives(size):
    recording = with_transient(recorded(np.random.default_rng(11), jitter=0.5, start=3.3), 0.2)
    whole, pieces = average_periods(recording), average_periods(lambda: recording.chunks(size))
    assert pieces.left_out == whole.left_out
    assert len(whole.left_out) > 0
    for name in ("time", "q", "torque", "position_noise", "torque_noise_of_mean"):
        assert getattr(pieces, name) == pytest.approx(getattr(whole, name), rel=1e-12, abs=1e-12)
