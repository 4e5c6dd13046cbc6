"""Analogue filters of any kind: their responses beside SciPy's, simulated beside ``lsim``, and undone."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from scipy import signal

from exciter.errors import RecordingError
from exciter.experiment.quality.torque_checks import filter_delay
from exciter.experiment.recording import (
    About,
    AnalogFilter,
    MeasuredResponse,
    Recording,
    SignalFilters,
    TransferFunction,
    ZerosPolesGain,
    open_recording,
    write_recording,
)
from exciter.experiment.recording.analogue_filter import BESSEL, CHEBYSHEV, AnalogResponse, RationalResponse
from exciter.experiment.recording.signal_filters import filters_of
from exciter.experiment.signals.analogue_filter_undone import Prewhitening
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.virtual.sensors import filtered

DOUBLE = TransferFunction((1.0,), (4e-6, 4e-3, 1.0))  # two equal poles at 500 rad/s
LEAD_LAG = ZerosPolesGain(poles=((-150.0, 200.0), -400.0, -90.0), zeros=(-110.0,), gain=0.8)
ALL_PASS = ZerosPolesGain(poles=(-300.0,), zeros=(300.0,))  # as large as it was, later: a zero on the right
CLASSICAL = {
    "butterworth": AnalogFilter(8, 40.0),
    "bessel": AnalogFilter(5, 40.0, BESSEL),
    "chebyshev": AnalogFilter(6, 40.0, CHEBYSHEV, 0.5),
}
RATIONAL: dict[str, RationalResponse] = {**CLASSICAL, "double": DOUBLE, "lead-lag": LEAD_LAG, "all-pass": ALL_PASS}
RATE, PERIOD, FINER = 250.0, 2.0, 40
TONES = np.array([0.5, 1.5, 4.0, 9.0, 14.5])  # [Hz] of a motion that repeats after 2 s


def measured(analog: AnalogResponse, points: int = 150) -> MeasuredResponse:
    """As a spectrum analyser would have it, phases wrapped."""
    f = np.geomspace(0.2, 110.0, points)
    h = analog.response(f)
    return MeasuredResponse(tuple(f), tuple(np.abs(h)), tuple(np.degrees(np.angle(h))))


def polynomials(analog: RationalResponse) -> tuple[np.ndarray, np.ndarray]:
    return signal.zpk2tf(*analog.zpk)


@pytest.mark.parametrize("analog", RATIONAL.values(), ids=RATIONAL)
def test_responses_delays_and_limits_are_those_of_polynomials(analog: RationalResponse) -> None:
    """Beside ``freqs``; the delay beside a difference of phases; where noise grows tenfold beside a fine search."""
    f = np.array([0.0, 0.3, 5.0, 33.0, 120.0])
    expected = signal.freqs(*polynomials(analog), 2.0 * np.pi * f)[1]
    np.testing.assert_allclose(analog.response(f), expected, rtol=1e-9)
    slow = 1e-4
    phase = -np.angle(analog.response(np.array([slow]))[0] / analog.at_rest)
    assert analog.delay == pytest.approx(phase / (2.0 * np.pi * slow), rel=1e-6)
    fine = np.arange(1.0, 1e5) * 0.01
    loud = np.flatnonzero(np.abs(analog.response(fine)) < 0.1 * abs(analog.at_rest))
    assert analog.amplified(10.0, 1e3) == pytest.approx(fine[loud[0]] if loud.size else 1e3, abs=0.011)
    changed = np.flatnonzero(np.abs(np.abs(analog.response(fine) / analog.at_rest) - 1.0) > 0.0102)
    assert analog.passes <= (fine[changed[0]] if changed.size else np.inf)


@pytest.mark.parametrize("analog", RATIONAL.values(), ids=RATIONAL)
def test_a_simulated_filter_is_that_of_lsim(analog: RationalResponse) -> None:
    """An input that is straight between its steps, on steps and beside them; constant before it begins."""
    step = 1e-3
    time = np.arange(1500) * step
    u = 1.0 + np.cumsum(np.random.default_rng(2).normal(size=len(time))) * 0.1
    rest = u[0]
    expected = signal.lsim(polynomials(analog), u - rest, time)[1] + analog.at_rest * rest
    straight = u[:, None]
    found = filtered(analog, np.zeros_like(straight), straight, step, time)[:, 0]
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(u).max())
    finer = np.arange(0, 4 * len(time) - 3) * step / 4
    between = signal.lsim(polynomials(analog), np.interp(finer, time, u) - rest, finer)[1] + analog.at_rest * rest
    odd = filtered(analog, np.zeros_like(straight), straight, step, finer[1::4])[:, 0]
    np.testing.assert_allclose(odd, between[1::4], atol=1e-8 * np.abs(u).max())


def test_a_measured_response_is_simulated_as_the_filter_it_was_measured_of() -> None:
    step = 1e-3
    time = np.arange(4000) * step
    u = np.sin(2.0 * np.pi * np.outer(time, TONES)).sum(axis=1)[:, None] + 2.0
    of_poles, of_table = (filtered(one, np.zeros_like(u), u, step, time) for one in (DOUBLE, measured(DOUBLE, 400)))
    assert np.abs(of_table - of_poles).max() < 2e-3 * np.abs(u).max()


def logged(analog: AnalogResponse, periods: int, about: About) -> tuple[Recording, np.ndarray, np.ndarray]:
    """Two joints: a log whose torque went through a filter, by ``lsim`` in fine steps, and the torque before it."""
    assert isinstance(analog, RationalResponse)
    fine = np.arange(round(periods * PERIOD * RATE * FINER)) / (RATE * FINER)
    torque = 3.0 + (np.sin(2.0 * np.pi * np.outer(fine, TONES) + TONES) / (1.0 + TONES)).sum(axis=1)
    late = signal.lsim(polynomials(analog), torque, fine)[1]
    time, torque, late = fine[::FINER], torque[::FINER], late[::FINER]
    q = np.column_stack([np.sin(2.0 * np.pi * time / PERIOD), np.cos(2.0 * np.pi * time / PERIOD)])
    recording = Recording(("a", "b"), time, q, torque=np.column_stack([late, torque]), about=about)
    return recording, np.column_stack([torque, torque]), late


@pytest.mark.parametrize("table", [False, True], ids=["formula", "measured"])
@pytest.mark.parametrize("analog", [DOUBLE, LEAD_LAG, ALL_PASS, CLASSICAL["bessel"]], ids=repr)
def test_what_lsim_filtered_is_undone(analog: RationalResponse, table: bool) -> None:
    """Of one joint of two, line by line and by a kernel; by its formula, and by its table as far as that is exact."""
    known = measured(analog) if table else analog
    about = About(period=PERIOD, settled=PERIOD, filter=SignalFilters(torque=(known, None)))
    recording, truth, late = logged(analog, 6, about)
    size, close = np.ptp(truth), 2e-3 if table else 2e-5
    assert np.abs(late - truth[:, 0]).max() > 0.05 * size
    processed = FourierFit().apply(recording)
    at = np.searchsorted(recording.time, processed.motion.time - 1e-9)
    assert np.abs(processed.torque - truth[at]).max() < close * size
    undone = Prewhitening().apply(recording)
    at = np.searchsorted(recording.time, undone.time - 1e-9)
    settled = undone.time > 1.5
    assert settled.sum() > 500
    assert np.abs(undone.torque - truth[at])[settled].max() < close * size
    assert float(undone.about.notes["torque bandwidth [Hz]"]) <= 0.4 * RATE
    if table:
        assert processed.torque_bandwidth <= 110.0  # the table's end


def test_positions_are_freed_of_their_filter_too() -> None:
    """Both routes; the lower of both bandwidths counts."""
    analog = TransferFunction((1.0,), (1.0 / 125.0, 1.0))
    time = np.arange(int(8 * PERIOD * RATE)) / RATE
    phase = 2.0 * np.pi * time[:, None] / PERIOD * np.array([1.0, 3.0])
    h = analog.response(np.array([1.0, 3.0]) / PERIOD)
    exact, late = np.sin(phase), (h * np.exp(1j * phase)).imag
    about = About(period=PERIOD, settled=0.0, filter=SignalFilters(position=(analog,), torque=(AnalogFilter(2, 20.0),)))
    recording = Recording(("a", "b"), time, late, torque=np.ones_like(late), about=about)
    processed = FourierFit(harmonics=3).apply(recording)
    found = processed.motion.q[:, 1] - np.sin(2.0 * np.pi * processed.motion.time * 3.0 / PERIOD)
    assert np.abs(found).max() < 1e-9
    undone = Prewhitening().apply(recording)
    at = np.searchsorted(time, undone.time - 1e-9)
    assert np.abs(undone.q - exact[at]).max() < 1e-4
    limit = AnalogFilter(2, 20.0).amplified(10.0, 0.4 * RATE)
    assert processed.torque_bandwidth == pytest.approx(limit)
    assert filter_delay(about.filter, 2) == pytest.approx(AnalogFilter(2, 20.0).delay - 1.0 / 125.0)


def test_a_filter_that_never_forgets_is_refused() -> None:
    """A pole of hours beside a zero: no kernel of a log's length undoes it; line by line it is."""
    slow = ZerosPolesGain(poles=(-1e-5,), zeros=(-1.5e-5,))
    recording, _, _ = logged(DOUBLE, 2, About(period=PERIOD, settled=0.0, filter=slow))
    with pytest.raises(RecordingError, match=r"forgets too slowly|too few"):
        Prewhitening().apply(recording)
    assert np.isfinite(FourierFit().apply(recording).torque).all()


TABLE = "frequency [Hz], gain [dB], phase [rad]\n1,0,-0.02\n10,-0.1,-0.2\n50,-3,-1.0\n"
FORMS = {
    "{order: 4, cutoff: 30}": AnalogFilter(4, 30.0),
    "{order: 4, cutoff: 30, family: bessel}": AnalogFilter(4, 30.0, BESSEL),
    "{numerator: [1], denominator: [4e-6, 4e-3, 1]}": DOUBLE,
    "{poles: [[-150, 200], -400, -90], zeros: [-110], gain: 0.8}": LEAD_LAG,
    "{b: {order: 4, cutoff: 30}, a: none}": SignalFilters(torque=(None, AnalogFilter(4, 30.0))),
    "[{order: 2, cutoff: 30}, null]": SignalFilters(torque=(AnalogFilter(2, 30.0), None)),
    "{position: {order: 2, cutoff: 60}, torque: {order: 4, cutoff: 30}}": SignalFilters(
        position=(AnalogFilter(2, 60.0),), torque=(AnalogFilter(4, 30.0),)
    ),
    "{torque: {order: 4, cutoff: 30}}": AnalogFilter(4, 30.0),
    "{file: response.csv}": MeasuredResponse(
        (1.0, 10.0, 50.0), (1.0, 10.0 ** (-0.1 / 20.0), 10.0 ** (-3.0 / 20.0)), tuple(np.degrees([-0.02, -0.2, -1.0]))
    ),
    "{frequency: [1, 9, 20], gain: [1, 0.9, 0.5], phase: [-1, -20, -50]}": MeasuredResponse(
        (1.0, 9.0, 20.0), (1.0, 0.9, 0.5), (-1.0, -20.0, -50.0)
    ),
}


def described(folder, text: str):
    (folder / "response.csv").write_text(TABLE)
    (folder / "log.dat").write_text("t,q1,q2,i1,i2\n" + "\n".join(f"{k / 100},0,1,2,3" for k in range(9)))
    whole = "file: log.dat\njoints: [a, b]\ntime: {column: t}\nposition: {columns: [q1, q2], unit: rad}\n"
    whole += f"torque: {{columns: [i1, i2], unit: N·m}}\nfilter: {text}\n"
    (folder / "recording.yaml").write_text(whole)
    return open_recording(folder / "recording.yaml").read()


@pytest.mark.parametrize("text", FORMS)
def test_every_way_of_saying_it_is_read_and_written(text: str, tmp_path) -> None:
    """Also from Exciter's own files, and for the joints in another order."""
    recording = described(tmp_path, text)
    assert recording.about.filter == FORMS[text]
    for name in ("own.csv", "own.npz"):
        write_recording(recording, tmp_path / name)
        assert open_recording(tmp_path / name).read().about.filter == FORMS[text]
    other = Recording(("b", "a"), recording.time, recording.q, about=About(filter=FORMS[text]))
    turned = replace(other, about=replace(other.about))
    for name in ("torque", "position"):
        before = filters_of(turned.about.filter, name, 2)
        assert filters_of(turned.arranged(_Two()).about.filter, name, 2) == before[::-1]


class _Two:
    joint_names, n, free_base = ("a", "b"), 2, ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{numerator: [1, 0, 1], denominator: [1, 1]}", "2 zeros and 1 poles: it is improper"),
        ("{numerator: [1], denominator: [1, -2]}", r"it is unstable: a pole at 2 \+0j rad/s"),
        ("{numerator: [1], denominator: [1, 0, 4]}", "it is unstable: a pole at "),
        ("{numerator: [1, 0], denominator: [1, 1]}", "it passes nothing at 0 Hz"),
        ("{numerator: [2], denominator: [1]}", "it has no poles"),
        ("{numerator: [0], denominator: [1, 1]}", "need a coefficient other than 0"),
        ("{numerator: [1], denominator: [1e-30, 1, 1e300]}", "not beyond 1e\\+30"),
        ("{poles: [0]}", "it is unstable"),
        ("{poles: [-1], zeros: [[0, 0]]}", "passes nothing at 0 Hz"),
        ("{poles: [[1, 2, 3]]}", "poles has"),
        ("{poles: [-1], order: 3}", "order"),
        ("{order: 4, cutoff: 30, family: chebyshev}", "chebyshev needs a ripple"),
        ("{order: 4, cutoff: 30, ripple: 1}", "of chebyshev filters alone"),
        ("{order: 4, cutof: 30}", "cutoff"),
        ("{frequency: [1, 2], gain: [1, 1], phase: [0, 0]}", "give as many of each"),
        ("{frequency: [1, 2, 3], gain: [1, 1, 0], phase: [0, 0, 0]}", "ratios are above 0"),
        ("{frequency: [1, 3, 2], gain: [1, 1, 1], phase: [0, 0, 0]}", "must be above 0 and increase"),
        ("{frequency: [1, 2, 3], gain: [1, 1, 1], phase: [-80, -90, -99]}", "the phase is -80° at the lowest"),
        ("{frequency: [1, 2, 9], gain: [1, 1, 1], phase: [0, -9, -175]}", "the phase turns by 166°"),
        ("{file: nothing.csv}", "there is no file"),
        ("{file: log.dat}", "it must have frequency"),
        ("{a: {order: 2, cutoff: 3}}", "says nothing of joint 'b'"),
        ("{a: none, b: none}", "none for every joint"),
        ("[{order: 2, cutoff: 3}, null, null]", "has 3 filters"),
        ("40", "is 40; give"),
        ("{torque: 40}", "torque is 40; give"),
    ],
)
def test_what_no_filter_is_is_refused_in_one_line(text: str, said: str, tmp_path) -> None:
    assert yaml.safe_load(text)
    with pytest.raises(RecordingError, match=said) as error:
        described(tmp_path, text)
    assert "\n" not in str(error.value)
    assert "filter" in str(error.value)
