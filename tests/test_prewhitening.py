"""The analogue filter of the torque, simulated as a continuous filter far above the log's rate, and undone."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import signal

from exciter.errors import RecordingError
from exciter.experiment.recording import About, AnalogFilter, Recording
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.periods import average_periods
from exciter.experiment.signals.prewhitening import Prewhitening, filtered_alike, response

ANALOG = AnalogFilter(8, 40.0)
RATE, FINER = 400.0, 16
PERIOD = 2.0
NOISE = 0.01


def through_filter(x: np.ndarray) -> np.ndarray:
    """Second-order sections in series as differential equations, each exact for straight lines between fine samples;
    at rest before the first."""
    poles = signal.butter(ANALOG.order, 2.0 * np.pi * ANALOG.cutoff, analog=True, output="zpk")[1]
    for pole in poles[poles.imag > 0]:
        square = abs(pole) ** 2
        system = ([[0.0, 1.0], [-square, 2.0 * pole.real]], [[0.0], [square]], [[1.0, 0.0]], [[0.0]])
        system = tuple(np.array(part) for part in system)
        numerator, denominator = signal.ss2tf(*signal.cont2discrete(system, 1.0 / (RATE * FINER), "foh")[:4])
        x = signal.lfilter(numerator[0], denominator, x)
    return x


def current(time: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """A sum of sines, weaker the faster, 2 A in all."""
    rng = np.random.default_rng(3)
    size, phase = 2.0 / (1.0 + frequencies), rng.uniform(0.0, 6.0, len(frequencies))
    return (size * np.sin(2.0 * np.pi * np.outer(time, frequencies) + phase)).sum(axis=1)


def recorded(
    frequencies: np.ndarray, duration: float, seed: int = 0, noise: float = NOISE
) -> tuple[Recording, np.ndarray]:
    """A log of the filtered current, and the current before the filter."""
    fine = np.arange(int(duration * RATE * FINER) + 1) / (RATE * FINER)
    exact = current(fine, frequencies)
    filtered = through_filter(exact)[::FINER]
    time = fine[::FINER]
    rng = np.random.default_rng(seed)
    q = np.column_stack([np.sin(2.0 * np.pi * time / PERIOD), np.cos(2.0 * np.pi * time / PERIOD)])
    measured = np.column_stack([filtered, 2.0 * filtered]) + noise * rng.standard_normal((len(time), 2))
    about = About(period=PERIOD, settled=PERIOD, filter=ANALOG, gains=(1.0, 1.0))
    return Recording(("a", "b"), time, q, current=measured, about=about), exact[::FINER]


HARMONICS = np.arange(1.0, 71.0) / PERIOD  # up to 35 Hz
ANY = np.array([0.31, 0.77, 1.9, 3.3, 7.1, 11.7, 19.3, 27.7])


def test_a_40_hz_filtered_current_is_recovered_within_noise():
    """Periodic: 16 periods averaged, then harmonic by harmonic."""
    recording, exact = recorded(HARMONICS, 17 * PERIOD)
    average = average_periods(recording)
    first = int(np.searchsorted(recording.time, average.time[0] - 1e-9))
    truth = np.outer(exact[first : first + len(average.time)], [1.0, 2.0])
    before = np.sqrt(((average.torque - truth) ** 2).mean(axis=0))
    assert (before > 50.0 * average.torque_noise_of_mean).all()  # 20 ms late
    undone = Prewhitening().of_average(average, ANALOG)
    error = np.sqrt(((undone.torque - truth) ** 2).mean(axis=0))
    assert (error < 1.5 * undone.torque_noise_of_mean).all()
    assert (undone.torque_noise_of_mean < 3.0 * average.torque_noise_of_mean).all()
    assert (error < 0.02 * before).all()


def test_the_route_undoes_the_filter_by_itself():
    recording, exact = recorded(HARMONICS, 17 * PERIOD)
    processed = FourierFit().apply(recording)
    first = int(np.searchsorted(recording.time, processed.motion.time[0] - 1e-9))
    truth = np.outer(exact[first : first + len(processed)], [1.0, 2.0])
    assert np.sqrt(((processed.torque - truth) ** 2).mean(axis=0)) == pytest.approx(processed.torque_noise, rel=0.5)


def test_a_motion_that_does_not_repeat_is_recovered_within_noise():
    recording, exact = recorded(ANY, 20.0)
    undone = Prewhitening().apply(recording)
    told = undone.about.notes["prewhitening"]
    gain = float(re.search(r"samples times ([\d.]+)", told).group(1))
    limit = float(re.search(r"undone up to ([\d.]+) Hz", told).group(1))
    assert 27.0 < limit < 62.0
    kept = np.searchsorted(recording.time, undone.time - 1e-9)
    truth = np.outer(exact[kept], [1.0, 2.0])
    settled = undone.time > 1.0  # the log starts with the filter at rest, which no motion was
    error = np.sqrt(((undone.current - truth)[settled] ** 2).mean(axis=0))
    before = np.sqrt(((recording.current[kept] - truth)[settled] ** 2).mean(axis=0))
    assert (error < 1.2 * gain * NOISE).all()
    assert (error < 0.1 * before).all()
    assert len(undone) > 0.9 * len(recording)
    assert undone.about.filter is None  # not to be done twice
    assert undone.q == pytest.approx(recording.q[kept], abs=1e-12)


def test_noise_grows_as_told():
    rng = np.random.default_rng(5)
    time = np.arange(20_000) / RATE
    noise = rng.standard_normal((len(time), 1))
    recording = Recording(("a",), time, np.sin(time)[:, None], torque=noise, about=About(filter=ANALOG))
    for bandwidth in (20.0, 40.0, 55.0):
        undone = Prewhitening(bandwidth).apply(recording)
        told = float(re.search(r"samples times ([\d.]+)", undone.about.notes["prewhitening"]).group(1))
        assert undone.torque.std() == pytest.approx(told, rel=0.03)


def test_bandwidth_follows_the_noise():
    """Louder noise hides the faster part of the current, and is not blown up for it."""
    limits = []
    for noise in (1e-4, 3.0):
        average = average_periods(recorded(HARMONICS, 9 * PERIOD, noise=noise)[0])
        (told,) = [word for word in Prewhitening().of_average(average, ANALOG).words if "undone" in word]
        limits.append(float(re.search(r"undone up to ([\d.]+) Hz", told).group(1)))
    assert limits[0] == pytest.approx(35.0, abs=1.5)
    assert limits[1] < 32.0


def test_the_other_way_both_sides_are_late_alike():
    """Positions through the filter's copy agree with positions through the continuous filter."""
    fine = np.arange(int(10.0 * RATE * FINER) + 1) / (RATE * FINER)
    exact = current(fine, ANY[:6])
    filtered = through_filter(exact)[::FINER]
    time = fine[::FINER]
    q = exact[::FINER][:, None]
    recording = Recording(("a",), time, q, torque=filtered[:, None], about=About(filter=ANALOG))
    alike = filtered_alike(recording)
    settled = alike.time > 1.0
    assert alike.q[settled] == pytest.approx(alike.torque[settled], abs=2e-3)
    kept = np.searchsorted(time, alike.time - 1e-9)
    assert np.abs(q[kept] - alike.torque)[settled].max() > 0.5  # without it


def test_constant_torque_stays():
    time = np.arange(4000) / RATE
    recording = Recording(
        ("a",), time, np.sin(time)[:, None], torque=np.full((4000, 1), 7.0), about=About(filter=ANALOG)
    )
    assert Prewhitening(30.0).apply(recording).torque == pytest.approx(7.0, abs=1e-9)


def test_response_is_butterworths():
    frequency = np.array([1.0, 40.0, 80.0])
    gain = np.abs(response(ANALOG, frequency))
    assert gain == pytest.approx(1.0 / np.sqrt(1.0 + (frequency / 40.0) ** 16))


def test_bad_settings_get_one_line():
    recording, _ = recorded(ANY, 5.0)
    with pytest.raises(RecordingError, match="positive frequency"):
        Prewhitening(0.0)
    with pytest.raises(RecordingError, match="too much for this filter"):
        Prewhitening(150.0).apply(recording)
    with pytest.raises(RecordingError, match="no analogue filter"):
        Prewhitening().apply(replace(recording, about=About(gains=(1.0, 1.0))))
    with pytest.raises(RecordingError, match="too few"):
        Prewhitening(30.0).apply(recording[:80])
