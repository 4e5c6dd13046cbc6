"""The analogue filter of the torque, simulated as a continuous filter far above the log's rate, and undone."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import signal

from exciter.errors import RecordingError
from exciter.experiment.recording import About, AnalogFilter, Recording, open_recording, write_recording
from exciter.experiment.signals.analogue_filter_undone import Prewhitening, filtered_alike
from exciter.experiment.signals.differentiation import FilteredDifferences, SmoothingSpline
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.low_pass_filter import Butterworth, torque_bandwidth
from exciter.experiment.signals.periods import average_periods
from exciter.experiment.signals.processed_motion import Processed
from exciter.notes import texts

pytestmark = pytest.mark.slow

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
    undone = Prewhitening().of_average(average)
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
    assert limit == pytest.approx(53.3, abs=0.1)
    kept = np.searchsorted(recording.time, undone.time - 1e-9)
    truth = np.outer(exact[kept], [1.0, 2.0])
    settled = undone.time > 1.0  # the log starts with the filter at rest, which no motion was
    error = np.sqrt(((undone.current - truth)[settled] ** 2).mean(axis=0))
    before = np.sqrt(((recording.current[kept] - truth)[settled] ** 2).mean(axis=0))
    assert (error < 1.2 * gain * NOISE).all()
    assert (error < 0.12 * before).all()
    assert len(undone) > 0.8 * len(recording)
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


def test_the_bandwidth_is_where_noise_grows_tenfold_and_goes_with_the_data(tmp_path):
    """Not lower where noise is loud: a row filter does that, on both sides."""
    for noise in (1e-4, 3.0):
        recording, _ = recorded(HARMONICS, 9 * PERIOD, noise=noise)
        average = Prewhitening().of_average(average_periods(recording))
        limit = average.torque_bandwidth
        assert np.abs(ANALOG.response(np.array([limit])))[0] == pytest.approx(0.1)
        assert any(f"undone up to {limit:.4g} Hz" in word for word in texts(average.notes))
        assert average.filter is None
        assert FourierFit().apply(recording).torque_bandwidth == limit
        assert FourierFit().of_average(average_periods(recording))[0].torque_bandwidth == limit
    undone = Prewhitening().apply(recording)
    write_recording(undone, tmp_path / "log.csv")
    for log in (undone, open_recording(tmp_path / "log.csv").read()):
        for route in (FilteredDifferences(5.0), SmoothingSpline(8.0)):
            processed = route.apply(log)
            pieces = list(route.stream(log.chunks(500)))
            assert {processed.torque_bandwidth, processed[5:20].torque_bandwidth} == {limit}
            assert {piece.torque_bandwidth for piece in pieces} == {limit}
            assert Processed.join(pieces).torque_bandwidth == limit
            assert processed.torque_noise is None  # what differences would see is below the noise
    with pytest.raises(RecordingError, match="must be a frequency"):
        FilteredDifferences(5.0).apply(replace(undone, about=About(notes={"torque bandwidth [Hz]": "much"})))


@pytest.mark.parametrize("rate", [250.0, 1000.0])
@pytest.mark.parametrize("analog", [ANALOG, AnalogFilter(2, 40.0), AnalogFilter(4, 20.0)], ids=repr)
def test_a_kernel_is_accurate_up_to_its_limit(analog, rate):
    """|K H − 1| by a direct sum at frequencies of our own."""
    time = np.arange(int(16.0 * rate) + 1) / rate
    impulse = np.zeros((len(time), 1))
    impulse[len(time) // 2] = 1.0
    recording = Recording(("a",), time, impulse, torque=impulse, about=About(filter=analog))
    for given in (None, 15.0):
        undone = Prewhitening(given).apply(recording)
        limit = Prewhitening(given).limit(analog, rate)
        frequency = np.linspace(0.0, limit, 97)
        phases = np.exp(-2j * np.pi * np.outer(frequency, undone.time - time[len(time) // 2]))
        assert np.abs(phases @ undone.torque[:, 0] * analog.response(frequency) - 1.0).max() < 2e-5
    alike = filtered_alike(recording)
    phases = np.exp(-2j * np.pi * np.outer(frequency, alike.time - time[len(time) // 2]))
    assert np.abs(phases @ alike.q[:, 0] - analog.response(frequency)).max() < 2e-5


def test_a_filter_left_in_is_told_and_bounds_the_torque():
    recording, _ = recorded(HARMONICS, 9 * PERIOD)
    for processed in (
        FilteredDifferences(5.0).apply(recording),
        next(FilteredDifferences(5.0).stream(recording.chunks(10_000))),
        SmoothingSpline(8.0).apply(recording),
        FourierFit(prewhitening=None).apply(recording),
        FourierFit(prewhitening=None).of_average(average_periods(recording))[0],
    ):
        assert any("late and attenuated" in word for word in texts(processed.notes))
        assert np.abs(ANALOG.response(np.array([processed.torque_bandwidth])))[0] == pytest.approx(0.99)
    alike = FilteredDifferences(5.0).apply(filtered_alike(recording))
    assert alike.torque_bandwidth == processed.torque_bandwidth
    assert not any("late" in word for word in texts(alike.notes))


# -- one side only: what must not happen -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def friction():
    """τ = I q̈ + Fv q̇ + Fc sign q̇ behind the filter, sampled at 1 kHz: W, χ, and logs with noise."""
    rate, finer, period, periods = 1000.0, 4, 5.0, 4
    fine = np.arange(int(periods * period * rate * finer)) / (rate * finer)
    a, b = np.random.default_rng(0).standard_normal((2, 4))
    turns = 2.0 * np.pi / period * np.outer(fine, [1, 2, 3, 5])
    qd = np.cos(turns) @ a + np.sin(turns) @ b
    qd /= np.abs(qd).max()
    w = np.column_stack([np.gradient(qd, 1.0 / (rate * finer)), qd, np.sign(qd)])
    chi = np.array([2.0, 1.0, 8.0])
    lines = np.fft.rfft(w @ chi) * ANALOG.response(np.fft.rfftfreq(len(fine), 1.0 / (rate * finer)))
    torque = np.fft.irfft(lines, len(fine))[::finer, None]
    time, q = fine[::finer], np.cumsum(qd)[::finer, None] / (rate * finer)
    about = About(period=period, settled=0.0, filter=ANALOG)
    logs = [
        Recording(("a",), time, q, torque=torque + 0.5 * rng.standard_normal(torque.shape), about=about)
        for rng in map(np.random.default_rng, range(4))
    ]
    return w[::finer], chi, rate, logs


@pytest.mark.parametrize("periodic", [True, False])
def test_undoing_the_filter_does_not_bias_friction(friction, periodic):
    """The regressor jumps where friction does, the torque cannot any more: equations are refused until both sides
    are low-passed below, and then right."""
    w, chi, rate, logs = friction
    found: dict[str, list[np.ndarray]] = {"not filtered": []}
    for log in logs:
        if periodic:
            average = Prewhitening().of_average(average_periods(log))
            time, torque, limit = average.time, average.torque, average.torque_bandwidth
        else:
            undone = Prewhitening().apply(log)
            time, torque, limit = undone.time, undone.torque, torque_bandwidth(undone.about)[0]
        here = w[np.round(time * rate).astype(int), None]
        rows = replace(Rows.of(time, here, torque, rate, ["a"], ["I", "Fv", "Fc"]), torque_bandwidth=limit)
        with pytest.raises(RecordingError, match="ParallelFilter"):
            rows.equations()
        found["not filtered"].append(np.linalg.lstsq(here[:, 0], torque[:, 0], rcond=None)[0] / chi - 1.0)
        for parallel in (ParallelFilter(), ParallelFilter(Butterworth(25.0)), ParallelFilter(factor=2)):
            equations = parallel.apply(rows).equations()
            found.setdefault(repr(parallel), []).append(np.linalg.lstsq(*equations, rcond=None)[0] / chi - 1.0)
    bias = {name: np.abs(np.mean(errors, axis=0)) for name, errors in found.items()}
    assert bias.pop("not filtered")[1] > 0.08  # viscous friction, 8 % and more
    assert len(bias) == 3
    for errors in bias.values():
        assert (errors < [0.004, 0.015, 0.002]).all()


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
    gain = np.abs(ANALOG.response(frequency))
    assert gain == pytest.approx(1.0 / np.sqrt(1.0 + (frequency / 40.0) ** 16))


def test_bad_settings_get_one_line():
    recording, _ = recorded(ANY, 5.0)
    with pytest.raises(RecordingError, match="positive frequency"):
        Prewhitening(0.0)
    with pytest.raises(RecordingError, match="too much for this filter"):
        Prewhitening(150.0).apply(recording)
    with pytest.raises(RecordingError, match=r"samples end at 61\.19 Hz"):
        Prewhitening(62.0).apply(recording)
    assert len(Prewhitening(61.0).apply(recording)) > 0
    with pytest.raises(RecordingError, match="no analogue filter"):
        Prewhitening().of_average(replace(average_periods(recording), filter=None))
    with pytest.raises(RecordingError, match="no analogue filter"):
        Prewhitening().apply(replace(recording, about=About(gains=(1.0, 1.0))))
    with pytest.raises(RecordingError, match="too few"):
        Prewhitening(30.0).apply(recording[:80])
