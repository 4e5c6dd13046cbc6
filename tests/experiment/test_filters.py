"""Resampling, zero-phase filters, differences, parallel filtering: against SciPy on whole arrays and closed forms."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import FrozenInstanceError, fields, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import signal
from scipy.interpolate import PchipInterpolator

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.experiment.recording import Recording
from exciter.experiment.recording.recording_file import read_recording
from exciter.experiment.signals import equation_rows as rows_module
from exciter.experiment.signals.differentiation import FilteredDifferences, first_difference, second_difference
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows, filtered_rows, model_rows
from exciter.experiment.signals.low_pass_filter import NEGLIGIBLE_EDGE, Butterworth, Chebyshev
from exciter.experiment.signals.processed_motion import Processed
from exciter.experiment.signals.resample import (
    SPLINE_REACH_SAMPLES,
    grid,
    overlapped,
    resample,
    round_rate,
    sampling_rate,
    segments,
    split_at_gaps,
)
from exciter.identification.information.information import Information
from exciter.notes import texts
from exciter.parameters.terms import Coulomb, Dahl, Offset, RotorInertia, Viscous
from exciter.robot import Motion
from exciter.robot import embedded_robots as embedded
from support.filtered_pair import filtered_pair
from support.real_data import require_data
from support.robots import smooth_motion
from support.scripts import benchmark

FILTERS = [Butterworth(10.0), Butterworth(3.0, order=2), Butterworth(60.0, order=6), Chebyshev(40.0)]


def jittered(samples: int, rate: float = 1000.0, seed: int = 0, jitter: float = 0.3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (np.arange(samples) + jitter * rng.uniform(-1, 1, samples)) / rate


def position(time: np.ndarray, joints: int = 2) -> np.ndarray:
    w = 2 * np.pi * np.array([0.4, 1.1, 1.7])[:joints]
    return np.sin(w * time[:, None] + np.arange(joints)) + 0.3 * np.cos(2.7 * w * time[:, None])


def velocity(time: np.ndarray, joints: int = 2) -> np.ndarray:
    w = 2 * np.pi * np.array([0.4, 1.1, 1.7])[:joints]
    return w * np.cos(w * time[:, None] + np.arange(joints)) - 0.81 * w * np.sin(2.7 * w * time[:, None])


def log(time: np.ndarray, noise: float = 0.0, seed: int = 1) -> Recording:
    q = position(time) + noise * np.random.default_rng(seed).standard_normal((len(time), 2))
    return Recording(("a", "b"), time, q, velocity(time), 5.0 * np.sign(velocity(time)) + q)


def in_chunks(recording: Recording, sizes: list[int]):
    """Pieces of these sizes, again and again; zero is an empty piece."""
    start, k = 0, 0
    while start < len(recording):
        yield recording[start : start + sizes[k % len(sizes)]]
        start, k = start + sizes[k % len(sizes)], k + 1


SIZES = st.lists(st.integers(0, 3000), min_size=1, max_size=6).filter(lambda sizes: sum(sizes) > 40)


# -- resampling ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interval", "rate"),
    [(1.0007e-3, 1000), (0.2e-3, 5000), (5.004e-3, 200), (4e-3, 250), (1 / 1024, 1024), (1 / 150, 150), (0.3, 10 / 3)],
)
def test_a_rate_is_rounded_but_never_far_from_the_recorded_one(interval, rate):
    assert round_rate(1.0 / interval) == pytest.approx(rate, rel=2e-3 if rate == 10 / 3 else 1e-12)


@pytest.mark.parametrize("lost", [0.0, 0.01, 0.1])
def test_the_rate_is_not_moved_by_jitter_and_lost_samples(lost):
    time = jittered(5000, 500.0, jitter=0.2)
    kept = time[np.random.default_rng(3).random(5000) >= lost]
    assert sampling_rate(kept) == pytest.approx(500.0, rel=1e-4)
    later = np.where(kept > 4.0, kept + 1e3, kept)  # a gap does not count
    assert sampling_rate(later) == pytest.approx(500.0, rel=1e-4)
    for wrong in (kept[:1], np.zeros(5)):
        with pytest.raises(RecordingError):
            sampling_rate(wrong)


def test_resampling_believes_the_time_stamps_and_its_error_is_of_fourth_order():
    errors = []
    for rate in (50.0, 100.0, 200.0):
        given_at = jittered(int(10 * rate), rate, jitter=0.4)
        found = resample(log(given_at), rate)
        assert np.array_equal(found.time, grid(given_at[0], given_at[-1], rate))
        inner = slice(20, -20)
        errors.append(np.abs(found.q - position(found.time))[inner].max())
        assert np.abs(found.qd - velocity(found.time))[inner].max() < 100 * errors[-1]
    assert errors[0] / errors[1] > 10
    assert errors[1] / errors[2] > 10
    # taking the interval for constant would be far off, and a monotone cubic loses at the extrema
    assert errors[2] < 1e-3 * np.abs(position(given_at) - position(np.arange(2000) / 200.0)).max()
    pchip = PchipInterpolator(given_at, position(given_at))(found.time)
    assert errors[2] < 0.1 * np.abs(pchip - position(found.time))[inner].max()


def test_samples_on_the_grid_stay_as_they_are():
    recording = log(0.5 + np.arange(500) / 1000.0, noise=1e-3)
    found = resample(recording)
    assert np.array_equal(found.q, recording.q)
    assert np.array_equal(found.torque, recording.torque)
    shifted = resample(log(0.5004 + np.arange(500) / 1000.0))
    assert np.allclose(shifted.time * 1000, np.rint(shifted.time * 1000), atol=1e-9)
    assert np.abs(shifted.q - position(shifted.time)).max() < 1e-8


def resampled(chunks: Iterable[Recording], rate: float, longest: float) -> Iterator[Recording]:
    """``resample`` of a stream; a gap longer than ``longest`` [s] is left open, shorter ones are bridged."""
    for segment in segments(chunks, longest):
        for piece in overlapped(segment, SPLINE_REACH_SAMPLES):
            if len(piece.whole) < 2:  # a lone sample between two gaps
                continue
            whole, time = resample(piece.whole, rate), piece.whole.time
            start = -np.inf if piece.first else time[piece.inner.start]
            end = np.inf if piece.last else time[piece.inner.stop]
            if len(part := whole[(whole.time >= start) & (whole.time < end)]):
                yield part


@settings(max_examples=15, deadline=None)
@given(sizes=SIZES, rate=st.sampled_from([1000.0, 730.0, 1500.0]))
def test_a_stream_is_resampled_to_the_same_instants_and_values(sizes, rate):
    recording = log(jittered(6000, seed=len(sizes)))
    whole = resample(recording, rate)
    found = Recording.join(list(resampled(in_chunks(recording, sizes), rate, longest=0.1)))
    assert np.array_equal(found.time, whole.time)
    for name in ("q", "qd", "torque"):
        assert np.abs(getattr(found, name) - getattr(whole, name)).max() < 1e-12


def test_bad_samples_are_refused_in_one_line():
    time = np.arange(100) / 100.0
    q = position(time)
    q[7, 1] = np.nan
    twice = time.copy()
    twice[5] = twice[4]
    wrong = [
        (Recording(("a", "b"), time, q), "q has 1 samples with NaN or infinity, the first at 0.07 s"),
        (Recording(("a", "b"), twice, position(time)), "there twice, the first at 0.04 s"),
        (Recording(("a", "b"), time[:1], q[:1]), "at least 2"),
    ]
    for recording, words in wrong:
        with pytest.raises(RecordingError, match=words):
            resample(recording, 100.0)
    with pytest.raises(RecordingError, match="positive"):
        resample(wrong[0][0], -1.0)
    apart = Recording(("a", "b"), np.append(time[:-1], 1e12), position(time))
    with pytest.raises(RecordingError, match="cut the recording at its gaps"):
        resample(apart, 100.0)


# -- gaps and pieces -------------------------------------------------------------------------------------------------


def with_gaps(samples: int = 4000) -> Recording:
    """A short gap of 6 ms and long ones of 0.2 and 0.5 s, at 1 kHz."""
    time = np.arange(samples) / 1000.0
    time[1000:] += 0.005
    time[1500:] += 0.2
    time[3200:] += 0.5
    return log(time)


def test_a_recording_is_cut_at_long_gaps_only():
    recording = with_gaps()
    parts = split_at_gaps(recording, longest=0.01)
    assert [len(part) for part in parts] == [1500, 1700, 800]
    assert np.array_equal(Recording.join(parts).q, recording.q)
    assert [len(part) for part in split_at_gaps(recording, 0.001 * 1.5)] == [1000, 500, 1700, 800]
    assert len(split_at_gaps(recording, 1.0)) == 1


@settings(max_examples=25, deadline=None)
@given(sizes=SIZES)
def test_a_stream_is_cut_at_the_same_gaps(sizes):
    recording = with_gaps()
    found = [Recording.join(list(part)) for part in segments(in_chunks(recording, sizes), 0.01)]
    for part, expected in zip(found, split_at_gaps(recording, 0.01), strict=True):
        assert np.array_equal(part.time, expected.time)


@settings(max_examples=30, deadline=None)
@given(sizes=SIZES, samples=st.integers(1, 400), seconds=st.floats(0.0, 0.5))
def test_pieces_cover_the_whole_once_and_have_their_margins(sizes, samples, seconds):
    recording = log(jittered(5000))
    at = []
    pieces = list(overlapped(in_chunks(recording, sizes), samples, seconds))
    for piece in pieces:
        time, inner = piece.whole.time, piece.inner
        at.append(time[inner])
        if time[0] > recording.time[0]:  # else the margin is all there is
            assert inner.start >= samples
            assert time[inner.start] - time[0] >= seconds
        if not piece.last:
            assert len(time) - inner.stop >= samples
            assert time[-1] - time[inner.stop - 1] >= seconds
    assert np.array_equal(np.concatenate(at), recording.time)
    assert [p.first for p in pieces] == [True] + [False] * (len(pieces) - 1)
    assert [p.last for p in pieces] == [False] * (len(pieces) - 1) + [True]
    worked_on = sum(len(piece.whole) for piece in pieces)
    assert worked_on <= 4 * len(recording) + 2 * max(map(len, in_chunks(recording, sizes)))


# -- low-pass filters --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("low_pass", FILTERS, ids=repr)
@pytest.mark.parametrize("ratio", [0.2, 0.6, 1.0, 1.3])
def test_a_sine_comes_out_with_the_gain_of_both_passes_and_without_phase(low_pass, ratio):
    rate, f = 1000.0, ratio * low_pass.cutoff
    time = np.arange(12_000) / rate
    found = low_pass.zero_phase(np.sin(2 * np.pi * f * time)[:, None], rate)[:, 0]
    middle = slice(4000, 8000)
    basis = np.column_stack([np.sin(2 * np.pi * f * time), np.cos(2 * np.pi * f * time)])[middle]
    in_phase, quadrature = np.linalg.lstsq(basis, found[middle], rcond=None)[0]
    warped = np.tan(np.pi * f / rate) / np.tan(np.pi * low_pass.cutoff / rate)  # bilinear transformation
    if isinstance(low_pass, Butterworth):
        gain = 1.0 / (1.0 + warped ** (2 * low_pass.order))
    else:
        epsilon2 = 10 ** (low_pass.ripple / 10) - 1
        gain = 1.0 / (1.0 + epsilon2 * np.polynomial.Chebyshev.basis(low_pass.order)(warped) ** 2)
    assert in_phase == pytest.approx(gain, rel=1e-6, abs=1e-9)
    assert abs(quadrature) < 1e-8
    if ratio == 1.0 and isinstance(low_pass, Butterworth):
        assert 20 * np.log10(in_phase) == pytest.approx(-6.02, abs=0.01)


@pytest.mark.parametrize("low_pass", FILTERS, ids=repr)
def test_the_interior_is_that_of_filtfilt(low_pass):
    rate, n = 1000.0, 8000
    x = np.random.default_rng(3).standard_normal((n, 2)).cumsum(axis=0)
    if isinstance(low_pass, Butterworth):
        b, a = signal.butter(low_pass.order, low_pass.cutoff, fs=rate)
    else:
        b, a = signal.cheby1(8, 0.05, low_pass.cutoff, fs=rate)
    expected, found = signal.filtfilt(b, a, x, axis=0), low_pass.zero_phase(x, rate)
    inner = slice(3000, -3000)
    assert np.abs(found - expected)[inner].max() < 1e-4 * np.abs(x).max()  # filtfilt of polynomials is not exact
    sections = signal.sosfiltfilt(low_pass.sections(rate), x, axis=0)
    assert np.abs(found - sections)[inner].max() < 1e-9 * np.abs(x).max()


@pytest.mark.parametrize("low_pass", FILTERS, ids=repr)
@pytest.mark.parametrize("rate", [250.0, 1000.0, 5000.0])
def test_the_settling_length_is_that_of_the_impulse_response(low_pass, rate):
    length = low_pass.settle(rate, 1e-6)
    impulse = np.zeros(8 * length + 1)
    impulse[4 * length] = 1.0
    response = np.abs(signal.sosfiltfilt(low_pass.sections(rate), impulse, padlen=0))
    tail = response[5 * length :].sum() / response.sum()
    assert tail < 2e-6
    assert response[4 * length + length // 3 :].sum() / response.sum() > 1e-4  # and it is not generous


def test_the_noise_bandwidth_is_the_variance_that_passes():
    for low_pass in FILTERS:
        impulse = np.zeros(40_001)
        impulse[20_000] = 1.0
        response = signal.sosfiltfilt(low_pass.sections(1000.0), impulse)
        passed = np.sum(response**2) / response.sum() ** 2
        assert 2 * low_pass.noise_bandwidth(1000.0) / 1000.0 == pytest.approx(passed, rel=1e-3)


def test_filters_refuse_what_makes_no_sense():
    for wrong in (lambda: Butterworth(-1.0), lambda: Butterworth(10.0, order=0), lambda: Chebyshev(10.0, ripple=0.0)):
        with pytest.raises(RecordingError):
            wrong()
    with pytest.raises(RecordingError, match="more than 20 Hz"):
        Butterworth(10.0).sections(20.0)


@pytest.mark.parametrize("low_pass", FILTERS, ids=repr)
def test_a_filter_can_be_told_where_to_stop(low_pass):
    for frequency in (0.5, 45.0, 220.0):
        lower = low_pass.stopped_at(frequency, 1000.0)
        gain = np.abs(signal.freqz_sos(lower.sections(1000.0), worN=[frequency], fs=1000.0)[1]) ** 2
        assert gain[0] == pytest.approx(0.01, rel=1e-3)
        assert type(lower) is type(low_pass)


def test_very_low_cutoffs_work_or_are_refused():
    """SciPy's way back from sections to poles warns here; warnings are errors."""
    for low_pass in (Butterworth(2e-3, order=6), Chebyshev(2e-3)):
        assert 1e5 < low_pass.settle(1000.0) < 1e8
    with pytest.raises(RecordingError, match="too low for samples at 1000 Hz"):
        Butterworth(1e-5).settle(1000.0)


# -- differences -------------------------------------------------------------------------------------------------------


def test_central_differences_are_exact_for_parabolas():
    time = np.arange(50) / 20.0
    q = np.column_stack([3 * time**2 - 2 * time + 1, time])
    assert np.allclose(first_difference(q, 20.0), np.column_stack([6 * time - 2, np.ones(50)])[1:-1], atol=1e-12)
    assert np.allclose(second_difference(q, 20.0), [6.0, 0.0], atol=1e-10)
    cubic = second_difference(time[:, None] ** 3, 20.0)  # odd, so exact, too
    assert np.allclose(cubic[:, 0], 6 * time[1:-1], atol=1e-10)


def test_differences_of_a_sine_are_too_small_by_what_is_said():
    w, rate = 2 * np.pi * 5.0, 200.0
    time = np.arange(400) / rate
    q = np.sin(w * time)[:, None]
    x = w / rate
    assert np.allclose(first_difference(q, rate)[:, 0], np.sin(x) / x * w * np.cos(w * time[1:-1]), atol=1e-9)
    assert 1 - np.sin(x) / x == pytest.approx(x**2 / 6, rel=0.01)
    gain = (np.sin(x / 2) / (x / 2)) ** 2
    assert np.allclose(second_difference(q, rate)[:, 0], -gain * w**2 * np.sin(w * time[1:-1]), atol=1e-7)
    assert 1 - gain == pytest.approx(x**2 / 12, rel=0.01)
    with pytest.raises(RecordingError, match="at least 3"):
        first_difference(q[:2], rate)


# -- the route ---------------------------------------------------------------------------------------------------------


def test_the_route_is_resampling_filter_and_differences_and_leaves_the_torque_alone():
    recording = log(jittered(9000, jitter=0.2), noise=1e-4)
    found = FilteredDifferences(cutoff=15.0, rate=1000.0).apply(recording)
    uniform = resample(recording, 1000.0)
    b, a = signal.butter(4, 15.0, fs=1000.0)
    q = signal.filtfilt(b, a, uniform.q, axis=0)
    qd, qdd = np.gradient(q, 1e-3, axis=0), np.diff(q, 2, axis=0) * 1e6
    at = np.searchsorted(uniform.time, found.motion.time - 1e-9)
    middle = slice(1500, -1500)
    for got, expected in ((found.motion.q, q[at]), (found.motion.qd, qd[at]), (found.motion.qdd, qdd[at - 1])):
        assert np.abs(got - expected)[middle].max() < 1e-7 * np.abs(expected).max()
    assert np.array_equal(found.torque, uniform.torque[at])
    cut = Butterworth(15.0).settle(1000.0)
    assert at[0] == cut
    assert at[-1] == len(uniform) - 1 - cut
    assert f"{cut} samples" in " ".join(texts(found.notes))
    assert np.abs(found.motion.qd - velocity(found.motion.time)).max() < 0.05


def test_the_measured_velocity_can_be_used():
    recording = log(np.arange(6000) / 1000.0, noise=1e-3)
    measured = FilteredDifferences(30.0, measured_velocity=True).apply(recording).motion
    differences = FilteredDifferences(30.0).apply(recording).motion
    truth = velocity(measured.time)
    assert np.abs(measured.qd - truth).max() < 0.1 * np.abs(differences.qd - truth).max()
    assert np.array_equal(measured.q, differences.q)
    assert np.allclose(measured.qdd[1:-1], np.gradient(measured.qd, 1e-3, axis=0)[1:-1], atol=1e-9)
    with pytest.raises(RecordingError, match="no velocity was recorded"):
        FilteredDifferences(30.0, measured_velocity=True).apply(replace(recording, qd=None))


def test_currents_with_gains_are_torques():
    recording = log(jittered(3000))
    current = replace(
        recording, torque=None, current=recording.torque / [2.0, 4.0], about=replace(recording.about, gains=(2.0, 4.0))
    )
    one, other = (FilteredDifferences(30.0).apply(r) for r in (recording, current))
    assert np.allclose(one.torque, other.torque, rtol=0, atol=1e-12)


ROUTES = [FilteredDifferences(20.0, rate=1000.0), FilteredDifferences(40.0, 2, 800.0, measured_velocity=True)]


def assert_same_processed(found: Processed, expected: Processed) -> None:
    assert np.array_equal(found.motion.time, expected.motion.time)
    pairs = [(getattr(found.motion, name), getattr(expected.motion, name)) for name in ("q", "qd", "qdd")]
    for got, wanted in (*pairs, (found.torque, expected.torque)):
        assert np.abs(got - wanted).max() <= 1e-9 * np.abs(wanted).max()


def joined(parts: list[Processed]) -> Processed:
    motion = Motion(
        *(np.concatenate([getattr(part.motion, name) for part in parts]) for name in ("time", "q", "qd", "qdd"))
    )
    return Processed(motion, np.concatenate([part.torque for part in parts]), parts[0].rate)


@settings(max_examples=10, deadline=None)
@given(sizes=SIZES, route=st.sampled_from(ROUTES))
def test_the_route_does_not_depend_on_the_pieces(sizes, route):
    recording = log(jittered(9000, jitter=0.2), noise=1e-4)
    parts = list(route.stream(in_chunks(recording, sizes)))
    assert_same_processed(joined(parts), route.apply(recording))


def test_several_pieces_are_made_where_they_can_be():
    recording = log(jittered(9000, jitter=0.2))
    assert len(list(ROUTES[1].stream(recording.chunks(500)))) >= 4


def test_short_gaps_are_bridged_long_ones_are_not():
    route, recording = FilteredDifferences(20.0, rate=1000.0), with_gaps()
    with pytest.raises(RecordingError, match=r"gap of 0\.201 s at 1\.504 s"):
        route.apply(recording)
    parts = list(route.stream(recording.chunks(700)))
    whole = [route.apply(part) for part in split_at_gaps(recording, 0.0105)]
    found = joined(parts)
    assert np.array_equal(found.motion.time, np.concatenate([part.motion.time for part in whole]))
    assert np.abs(found.motion.qdd - np.concatenate([part.motion.qdd for part in whole])).max() < 1e-6
    bridged = whole[0].motion
    assert np.abs(bridged.qd - velocity(bridged.time)).max() < 0.02
    lone = Recording.join([recording[:1500], log(5.0 + np.arange(100) / 1000.0), log(6.0 + np.arange(2000) / 1000.0)])
    parts = list(route.stream(lone.chunks(1000)))
    assert [part.motion.time[0] > 6.0 for part in parts][-1]
    assert not any(5.0 <= part.motion.time[0] < 5.5 for part in parts)
    assert "1 parts between gaps so far were too short: 0.099 s left out" in parts[-1].notes[-1].text
    lonely = Recording.join([recording[:1500], recording[2000:2001], recording[3200:]])
    assert len(list(route.stream(lonely.chunks(1000)))) == 2
    assert sum(len(part) for part in resampled([lonely], 1000.0, 0.01)) == 1505 + 800


def test_the_route_says_what_it_cannot_do():
    short = log(np.arange(100) / 1000.0)
    for attempt in (
        lambda: FilteredDifferences(5.0).apply(short),
        lambda: list(FilteredDifferences(5.0).stream([short])),
    ):
        with pytest.raises(RecordingError, match=r"too short: 0\.\d+ s are lost at each end"):
            attempt()
    with pytest.raises(RecordingError, match="nothing was recorded"):
        list(FilteredDifferences(5.0).stream([]))
    with pytest.raises(RecordingError, match="more than 1400 Hz"):
        FilteredDifferences(700.0).apply(short)
    with pytest.raises(RecordingError, match="neither torque nor current"):
        FilteredDifferences(50.0).apply(replace(log(np.arange(1000) / 1000.0), torque=None))
    low = FilteredDifferences(5.0, rate=100.0).apply(log(np.arange(3000) / 1000.0))
    assert "folded down" in " ".join(texts(low.notes))


def test_a_real_log_with_lost_packets_gives_the_velocity_that_was_measured():
    folder = require_data("panda")
    time, q, qd, torque = (
        np.loadtxt(folder / f"exciting_traj_{name}.txt") for name in ("time", "positions", "velocity", "torques")
    )
    shape = (len(time), 7)
    recording = Recording("1234567", time, q.reshape(shape), qd.reshape(shape), torque.reshape(shape))
    found = FilteredDifferences(10.0).apply(recording)
    measured = FilteredDifferences(10.0, measured_velocity=True).apply(recording)
    assert found.rate == 1000.0
    assert len(found) > 0.95 * 1000 * recording.duration  # 2 % of the samples are missing, and filled in

    def error(motion: Motion) -> float:
        return np.linalg.norm(motion.qd - measured.motion.qd) / np.linalg.norm(measured.motion.qd)

    assert error(found.motion) < 0.02
    constant = replace(recording, time=np.arange(len(time)) * recording.interval)  # what must not be assumed
    other = FilteredDifferences(10.0, rate=1000.0).apply(constant).motion
    both = min(len(other), len(measured))
    wrong = np.linalg.norm(other.qd[:both] - measured.motion.qd[:both]) / np.linalg.norm(measured.motion.qd)
    assert wrong > 5 * error(found.motion)


def test_a_cutoff_left_open_is_chosen_and_the_reason_told():
    cutoff = pytest.importorskip("exciter.experiment.signals.noise")
    recording = log(jittered(9000, jitter=0.2), noise=1e-3)
    found = FilteredDifferences().apply(recording)
    uniform = resample(recording, 1000.0)
    choice = cutoff.choose_cutoff(uniform.q, 1000.0)
    assert choice.reason in " ".join(texts(found.notes))
    assert np.array_equal(found.motion.q, FilteredDifferences(choice.cutoff).apply(recording).motion.q)
    assert sum(len(part) for part in FilteredDifferences().stream(recording.chunks(2000))) == len(found)


# -- rows and parallel filtering ---------------------------------------------------------------------------------------


@cache
def model_of(name: str) -> DynamicModel:
    return DynamicModel(embedded.robot(name), (RotorInertia(), Viscous(), Coulomb(), Offset()))


def noise_free(name: str, samples: int = 8000, rate: float = 1000.0) -> Processed:
    """Exact derivatives, exact torques of random parameters, friction that jumps."""
    model = model_of(name)
    motion = smooth_motion(model.robot, np.arange(samples) / rate, seed=7)
    chi = np.random.default_rng(5).uniform(0.1, 1.0, len(model.standard))
    return Processed(motion, model.torque(motion, chi), rate)


def estimate(rows) -> np.ndarray:
    information = None
    for part in rows:
        information = information or Information.empty(len(part.parameters))
        information = information.add(*part.equations())
    return information.solve()[0]


@pytest.mark.parametrize("name", ["panda", "tx40"])
@pytest.mark.parametrize(
    "parallel",
    [ParallelFilter(), ParallelFilter(Butterworth(10.0)), ParallelFilter(Butterworth(3.0), factor=1)],
    ids=["decimate", "butterworth", "no decimation"],
)
def test_parallel_filtering_leaves_noise_free_parameters_unchanged(name, parallel):
    model, processed = model_of(name), noise_free(name)
    columns = model.base.independent
    before = estimate(model_rows(model, processed, columns))
    after = estimate(filtered_rows(model, processed, parallel, columns))
    assert np.abs(after - before).max() < 1e-9 * np.abs(before).max()
    chi = np.random.default_rng(5).uniform(0.1, 1.0, len(model.standard))
    truth = model.base.base_values(chi)
    assert np.abs(before - truth).max() < 1e-9 * np.abs(before).max()


@pytest.mark.parametrize(("a", "least"), [(10.0, 1.0), (20.0, 0.8), (40.0, 0.4)])
def test_filtering_one_side_only_is_what_must_not_happen(a, least):
    """F(s) = a²/(s + a)² on y alone, by hand: parameters are off by 80 % and more; on both sides: none."""
    model, processed = model_of("gautier-khalil"), noise_free("gautier-khalil", 20_000)
    rows = Rows.join(list(model_rows(model, processed, model.base.independent)))
    truth = estimate([rows])
    b, den = signal.bilinear([a**2], [1.0, 2 * a, a**2], fs=rows.rate)
    y, w = signal.lfilter(b, den, rows.y, axis=0), signal.lfilter(b, den, rows.w, axis=0)
    p = w.shape[2]
    one_side = np.linalg.lstsq(rows.w.reshape(-1, p), y.ravel(), rcond=None)[0]
    both = np.linalg.lstsq(w.reshape(-1, p), y.ravel(), rcond=None)[0]
    assert np.linalg.norm(both - truth) < 1e-9 * np.linalg.norm(truth)
    assert np.linalg.norm(one_side - truth) > least * np.linalg.norm(truth)


def test_decimation_is_that_of_scipy_and_the_paper():
    model, processed = model_of("gautier-khalil"), noise_free("gautier-khalil", 9000)
    rows = Rows.join(list(model_rows(model, processed, model.base.independent)))
    found = ParallelFilter().apply(rows)
    assert ParallelFilter().at(1000.0) == (Chebyshev(40.0, order=8, ripple=0.05), 10)
    assert found.rate == 100.0
    at = np.rint(found.time * 100).astype(int)
    assert np.array_equal(at, np.arange(at[0], at[-1] + 1))
    inner = slice(len(at) // 2 - 80, len(at) // 2 + 80)
    for column in range(rows.sides.shape[2]):
        expected = signal.decimate(rows.sides[:, :, column], 10, axis=0)[at]
        scale = max(1e-9, np.abs(expected).max())
        assert np.abs(found.sides[:, :, column] - expected)[inner].max() < 1e-7 * scale


@pytest.mark.parametrize("factor", [1, 2, 3, 5, 10, 17, 40])
def test_a_factor_left_open_follows_from_the_cutoff(factor):
    assert ParallelFilter(Chebyshev(0.8 * 500.0 / factor)).at(1000.0)[1] == factor
    low_pass, found = ParallelFilter(Butterworth(200.0 / factor)).at(1000.0)
    half = 500.0 / np.array([found, found + 1])
    gain = np.abs(signal.freqz_sos(low_pass.sections(1000.0), worN=half, fs=1000.0)[1]) ** 2
    assert gain[0] <= 0.0101
    assert gain[1] > 0.01
    assert ParallelFilter(Butterworth(10.0), factor=factor).at(1000.0)[1] == factor


@cache
def whole_rows(parallel: ParallelFilter) -> tuple[DynamicModel, Processed, Rows]:
    """The filter on the whole array at once, by SciPy."""
    model, processed = model_of("gautier-khalil"), noise_free("gautier-khalil", 7000)
    columns = model.base.independent
    sides = np.concatenate([model.regressor(processed.motion)[:, :, columns], processed.torque[:, :, None]], axis=2)
    low_pass, factor = parallel.at(1000.0)
    cut = low_pass.settle(1000.0, parallel.edge)
    filtered = signal.sosfiltfilt(low_pass.sections(1000.0), sides, axis=0, padlen=low_pass.settle(1000.0))
    kept = np.arange(0, 7000, factor)
    kept = kept[(kept >= cut) & (kept < 7000 - cut)]
    names = tuple(model.standard[k] for k in columns)
    rows = Rows(processed.motion.time[kept], filtered[kept], 1000.0 / factor, model.robot.joint_names, names)
    return model, processed, rows


@settings(max_examples=12, deadline=None)
@given(sizes=SIZES, parallel=st.sampled_from([ParallelFilter(), ParallelFilter(Butterworth(12.0), factor=7)]))
def test_filtered_rows_do_not_depend_on_the_pieces(sizes, parallel):
    model, processed, expected = whole_rows(parallel)
    pieces, start, k = [], 0, 0
    while start < len(processed):
        pieces.append(processed[start : start + sizes[k % len(sizes)]])
        start, k = start + sizes[k % len(sizes)], k + 1
    found = Rows.join(list(filtered_rows(model, iter(pieces), parallel, model.base.independent)))
    assert np.array_equal(found.time, expected.time)
    assert found.parameters == expected.parameters
    assert found.rate == expected.rate
    scale = np.abs(expected.sides).max(axis=0)
    assert (np.abs(found.sides - expected.sides).max(axis=0) <= 1e-9 * scale).all()


def test_rows_start_anew_after_a_gap():
    model, processed = model_of("gautier-khalil"), noise_free("gautier-khalil", 9000)
    columns, parallel = model.base.independent, ParallelFilter(Butterworth(10.0))
    apart = [processed[:4000], processed[4003:4010], processed[5000:]]
    found = Rows.join(list(filtered_rows(model, apart, parallel, columns)))
    each = [parallel.apply(Rows.join(list(model_rows(model, part, columns)))) for part in (apart[0], apart[2])]
    assert np.array_equal(found.time, np.concatenate([rows.time for rows in each]))
    assert np.array_equal(found.sides, np.concatenate([rows.sides for rows in each]))
    with pytest.raises(RecordingError, match="no equations are left"):
        list(filtered_rows(model, apart[1], parallel, columns))
    with pytest.raises(RecordingError, match="follow others at 1000 Hz"):
        list(filtered_rows(model, [apart[0], apart[2][::2]], parallel, columns))
    with pytest.raises(RecordingError, match="no equations to filter"):
        list(filtered_rows(model, [], parallel, columns))


def test_terms_that_remember_go_on_from_piece_to_piece(monkeypatch):
    """However a motion is cut, and however few samples are looked at at once; a gap begins anew."""
    robot = embedded.robot("gautier-khalil")
    model = DynamicModel(robot, (Coulomb(Dahl(0.02)),))
    processed = noise_free("gautier-khalil", 5000)
    rows = Rows.join(list(model_rows(model, processed, size=700)))
    assert np.abs(rows.w - model.regressor(processed.motion)).max() < 1e-12
    cut = Rows.join(list(model_rows(model, [processed[:2001], processed[2001:2002], processed[2002:]])))
    assert_allclose(cut.w, rows.w, atol=1e-12)
    torn = Rows.join(list(model_rows(model, [processed[:2000], processed[2500:]])))
    assert_allclose(torn.w[2000:], model.regressor(processed[2500:].motion), atol=1e-12)
    assert np.abs(torn.w[2000:] - rows.w[2500:]).max() > 0.1
    monkeypatch.setattr("exciter.dynamics.model.MEMORY_BLOCK_SAMPLES", 100)
    assert_allclose(Rows.join(list(model_rows(model, processed, size=70))).w, rows.w, atol=1e-12)


def test_rows_are_what_least_squares_wants():
    model, processed = model_of("gautier-khalil"), noise_free("gautier-khalil", 50)
    (rows,) = model_rows(model, processed)
    noise = np.array([1.0, 2.0, 0.5])
    w, y = rows.equations(noise)
    assert np.allclose(w.reshape(50, 3, -1) * noise[:, None], model.regressor(processed.motion), rtol=1e-12, atol=1e-12)
    assert np.allclose(y.reshape(50, 3) * noise, processed.torque)
    for wrong in ([1.0, 2.0], [1.0, 0.0, 1.0], [1.0, np.nan, 1.0]):
        with pytest.raises(RecordingError, match="one per joint"):
            rows.equations(wrong)
    with pytest.raises(RecordingError, match="expected"):
        replace(rows, joints=("a",))
    with pytest.raises(RecordingError, match="NaN"):
        replace(rows, sides=rows.sides * np.nan)
    with pytest.raises(RecordingError, match="3 joints, the robot 7"):
        next(model_rows(model_of("panda"), processed))


def test_there_is_no_way_to_one_side_of_rows():
    (rows,) = model_rows(model_of("gautier-khalil"), noise_free("gautier-khalil", 50))
    assert not {"w", "y"} & {f.name for f in fields(Rows)}
    with pytest.raises(TypeError):
        replace(rows, y=0 * rows.y)
    with pytest.raises((FrozenInstanceError, AttributeError)):
        rows.y = 0 * rows.y
    for side in (rows.y, rows.w, rows.sides, rows.time):
        with pytest.raises(ValueError, match="read-only"):
            side[...] = 0.0
    # all that can be done with rows; whoever adds to it, shall think of both sides
    assert own_names(rows_module) == {"Rows", "PackedRows", "model_rows", "ParallelFilter", "filtered_rows"}
    assert own_names(Rows) == {
        "of",
        "w",
        "y",
        "bandwidth",
        "torque_bandwidth",
        "notes",
        "present",
        "left",
        "projection",
        "there",
        "counted",
        "independent",
        "equations",
        "join",
    }
    settings = {"title", "low_pass", "factor", "edge", "look_ahead"}
    assert own_names(ParallelFilter) == settings | {"at", "windows", "apply", "stream"}
    takes = {
        thing.__name__: set(inspect.signature(thing).parameters)
        for thing in (ParallelFilter.apply, ParallelFilter.stream, filtered_rows, filtered_pair, Rows.of)
    }
    assert takes["apply"] == takes["stream"] == {"self", "rows"}
    assert takes["filtered_rows"] == {"model", "pieces", "parallel_filter", "columns"}
    assert takes["filtered_pair"] == {"measured", "predicted", "rate", "parallel_filter", "torque_bandwidth"}
    assert takes["of"] >= {"w", "y"}  # the only entrance, for both at once


def own_names(thing) -> set[str]:
    """What a class or module defines itself, and shows."""
    name = thing.__name__
    inside = (k for k, v in vars(thing).items() if inspect.isclass(thing) or getattr(v, "__module__", "") == name)
    return {k for k in inside if not k.startswith("_")}


def test_a_prediction_passes_the_same_filter_as_the_measurement():
    rng = np.random.default_rng(0)
    measured, predicted = rng.standard_normal((2, 5000, 3))
    parallel = ParallelFilter(Butterworth(10.0), factor=1)
    a, b = filtered_pair(measured, predicted, 1000.0, parallel)
    cut = Butterworth(10.0).settle(1000.0)
    assert a.shape == b.shape == (5000 - 2 * cut, 3)
    expected = signal.sosfiltfilt(Butterworth(10.0).sections(1000.0), predicted, axis=0, padlen=cut)[cut:-cut]
    assert np.abs(b - expected).max() < 1e-12
    swapped = filtered_pair(predicted, measured, 1000.0, parallel)
    assert np.allclose(swapped[0], b, rtol=0, atol=1e-14)
    assert np.allclose(swapped[1], a, rtol=0, atol=1e-14)
    with pytest.raises(RecordingError, match="must both be"):
        filtered_pair(measured[1:], predicted, 1000.0, parallel)


def test_filtered_errors_are_correlated_by_as_much_as_is_said():
    """Covariance of least squares from filtered rows: by the formula for independent errors times N / independent."""
    rng, rate, n, trials = np.random.default_rng(2), 200.0, 3000, 400
    time = np.arange(n) / rate
    w = np.column_stack([np.sin(0.9 * time), np.cos(0.4 * time), rng.standard_normal((n, trials))])  # many y beside W
    rows = Rows.of(time, w[:, None, :-1], w[:, -1:], rate, ["a"], [str(k) for k in range(trials + 1)])
    assert rows.independent == n
    for parallel in (ParallelFilter(), ParallelFilter(Butterworth(4.0), 2), ParallelFilter(Butterworth(4.0), 1)):
        kept = parallel.apply(rows)
        f, y = kept.sides[:, 0, :2], kept.sides[:, 0, 2:]
        estimates = np.linalg.lstsq(f, y, rcond=None)[0]
        variance = np.mean((y - f @ estimates) ** 2)
        stated = variance * np.diag(np.linalg.inv(f.T @ f)) * len(kept) / kept.independent
        assert np.all(np.abs(estimates.var(axis=1) / stated - 1) < 4 * np.sqrt(2 / trials))
        assert kept.independent < 0.9 * len(kept)


def test_rows_filtered_twice_keep_the_narrower_bandwidth():
    (rows,) = model_rows(model_of("gautier-khalil"), noise_free("gautier-khalil", 9000), size=9000)
    narrow, wide = ParallelFilter(Butterworth(5.0), factor=1), ParallelFilter(Butterworth(50.0), factor=1)
    for twice in (wide.apply(narrow.apply(rows)), narrow.apply(wide.apply(rows))):
        assert twice.bandwidth == Butterworth(5.0).noise_bandwidth(1000.0)
        assert len(twice.notes) == 2


def test_rows_whose_torque_was_cut_are_stopped_below():
    processed = replace(noise_free("gautier-khalil", 6000), torque_bandwidth=30.0)
    model, usual = model_of("gautier-khalil"), ParallelFilter()
    rows = Rows.join(list(model_rows(model, processed)))
    assert rows.torque_bandwidth == 30.0
    with pytest.raises(RecordingError, match=r"above 30 Hz.*ParallelFilter") as caught:
        rows.equations()
    assert len(str(caught.value).splitlines()) == 1
    low_pass, factor = usual.at(1000.0, 30.0)
    assert low_pass.stop(1000.0) == pytest.approx(30.0)
    assert factor == 16
    kept = Rows.join(list(filtered_rows(model, processed, usual)))
    assert len(kept.equations()[1]) == 3 * len(kept)
    assert any("lowered from 40 Hz: the torque has nothing above 30 Hz" in word for word in texts(kept.notes))
    assert usual.at(1000.0, 60.0) == usual.at(1000.0)
    assert ParallelFilter(factor=3).at(1000.0, 30.0) == (low_pass, 3)
    with pytest.raises(RecordingError, match=r"at most 16\.9\d Hz, or none"):
        ParallelFilter(Butterworth(17.5)).apply(rows)
    assert len(ParallelFilter(Butterworth(16.8)).apply(rows).equations()) == 2
    lower = replace(processed[3000:], torque_bandwidth=20.0)
    with pytest.raises(RecordingError, match="filter them apart"):
        list(filtered_rows(model, [processed[:2990], lower], usual))
    for one in (rows, processed):
        with pytest.raises(RecordingError, match="fold"):
            one[::10]
    measured = np.random.default_rng(0).standard_normal((5000, 2))
    with pytest.raises(RecordingError, match="nothing above 5 Hz"):
        filtered_pair(measured, measured, 1000.0, ParallelFilter(Butterworth(10.0)), torque_bandwidth=5.0)


def test_margins_reach_beyond_edges():
    """What a stream needs: an edge ends within the first piece, and margins are longer than edges."""
    for low_pass in FILTERS:
        assert low_pass.settle(1000.0, NEGLIGIBLE_EDGE) > 2 * low_pass.settle(1000.0, 1e-6)
    for wrong in (lambda: ParallelFilter(edge=1e-9), lambda: FilteredDifferences(5.0, edge=1e-9)):
        with pytest.raises(RecordingError, match=r"edge within|edge is 1e-09; give a number"):
            wrong()
    with pytest.raises(RecordingError, match="factor"):
        ParallelFilter(factor=0)


def test_the_benchmark_measures_what_it_says(tmp_path):
    signals = benchmark("signals")
    signals.written_npz(tmp_path / "log.npz", 23_000)
    signals.written_csv(tmp_path / "log.csv", 23_000)
    one, other = (read_recording(tmp_path / name) for name in ("log.npz", "log.csv"))
    for name in ("time", "q", "torque"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    pieces = signals.log_in_pieces(tmp_path / "log.npz")
    assert pieces["samples"] == 23_000
    assert pieces["kept"] == len(signals.ROUTE.apply(one))
    whole = signals.whole_in_memory(tmp_path / "log.csv", 12_345)
    assert whole["samples"] == 12_345
    assert whole["difference"] < 1e-9


@pytest.mark.parametrize("low_pass", [Butterworth(28.7), Butterworth(0.05, 2), Chebyshev(40.0)], ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (40, 1), (3000,), (3000, 7), (3000, 16), (3000, 37), (900, 2, 9)])
def test_many_series_at_once_are_filtered_as_each_alone_by_scipy(low_pass, shape):
    """Sixteen series side by side, and what is left of them; short ones, whose reflection is the whole of them."""
    samples = np.random.default_rng(0).standard_normal(shape).cumsum(axis=0)
    padding = min(low_pass.settle(1000.0), shape[0] - 1)
    expected = signal.sosfiltfilt(low_pass.sections(1000.0), samples, axis=0, padlen=padding)
    size = np.abs(expected).max()
    assert_allclose(low_pass.zero_phase(samples, 1000.0), expected, rtol=0.0, atol=1e-12 * size)
    turned = np.moveaxis(samples, 0, -1)
    assert_allclose(
        np.moveaxis(low_pass.zero_phase(turned, 1000.0, axis=-1), -1, 0), expected, rtol=0.0, atol=1e-12 * size
    )


@pytest.mark.parametrize("kept", [slice(None), slice(3, -7, 10), slice(0, None, 3), slice(5, 5)], ids=str)
def test_samples_that_are_kept_are_those_of_all(kept):
    samples, low_pass = np.random.default_rng(0).standard_normal((3, 400)), Butterworth(20.0)
    every = low_pass.zero_phase(samples, 1000.0, axis=1)
    assert_array_equal(low_pass.zero_phase(samples, 1000.0, axis=1, kept=kept), every[:, kept])
    assert_array_equal(low_pass.zero_phase(samples.T, 1000.0, kept=kept), every[:, kept].T)


def test_nan_stays_in_its_series():
    samples = np.random.default_rng(0).standard_normal((500, 5))
    samples[100, 2] = np.nan
    found = Butterworth(20.0).zero_phase(samples, 1000.0)
    assert np.isnan(found[:, 2]).all()
    assert np.isfinite(np.delete(found, 2, axis=1)).all()
