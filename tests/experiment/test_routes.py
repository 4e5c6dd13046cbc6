"""What every route must do: one suite for all ways to differentiate."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from exciter.errors import ExciterError, RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.quality.prepare_log import process
from exciter.experiment.recording import About, AnalogFilter, Recording
from exciter.experiment.signals import noise as noise_module
from exciter.experiment.signals import processed_motion as processed_module
from exciter.experiment.signals.differentiation import FilteredDifferences, SmoothingSpline
from exciter.experiment.signals.fourier_fit import FourierFit, normal_equations, values
from exciter.experiment.signals.periods import PeriodAverage, average_periods
from exciter.experiment.signals.processed_motion import Route
from exciter.notes import texts
from exciter.robot.motion import Motion
from support.scripts import benchmark


@dataclass(frozen=True)
class Case:
    """tolerances of q, q̇, q̈ without noise, relative to their largest value; told: a word that names the choice."""

    name: str
    route: Route
    tolerances: tuple[float, float, float]
    told: str
    needs_period: bool = False


CASES = (
    Case("spectral", FourierFit(), (1e-9, 1e-9, 1e-9), "harmonics chosen", needs_period=True),
    Case("spline", SmoothingSpline(), (1e-6, 1e-5, 1e-4), "knots per second"),
    Case("filtered", FilteredDifferences(), (1e-4, 2e-4, 5e-4), "Hz"),
)
EVERY = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
RATE, PERIOD, PERIODS = 250.0, 4.0, 3
JOINTS = ("first", "second", "third")
FAMILY = Fourier(PERIOD, 3)
DELTA = np.random.default_rng(5).normal(0.0, 0.6, (3, FAMILY.coefficients))


def true_motion(time: np.ndarray) -> Motion:
    return motion_of(FAMILY, DELTA, time)


def true_torque(motion: Motion) -> np.ndarray:
    return 4.0 * np.sin(motion.q) + 0.5 * motion.qdd


def recorded(*, jitter: float = 0.0, start: float = 0.0, noise: float = 0.0, periods: float = PERIODS) -> Recording:
    rng = np.random.default_rng(11)
    time = np.arange(int(periods * PERIOD * RATE) + 1) / RATE
    time = time + jitter / RATE * rng.uniform(-0.5, 0.5, len(time))
    motion = true_motion(time)
    q = motion.q + noise * rng.standard_normal(motion.q.shape)
    return Recording(JOINTS, time + start, q, torque=true_torque(motion), about=About(period=PERIOD, settled=start))


def errors(motion: Motion, start: float = 0.0) -> list[float]:
    truth = true_motion(motion.time - start)
    return [
        float(np.abs(getattr(motion, name) - getattr(truth, name)).max() / np.abs(getattr(truth, name)).max())
        for name in ("q", "qd", "qdd")
    ]


@EVERY
@pytest.mark.parametrize(("jitter", "start"), [(0.0, 0.0), (0.6, 0.0), (0.6, 1234.5678)])
def test_noise_free_motion_is_recovered(case, jitter, start):
    processed = case.route.apply(recorded(jitter=jitter, start=start))
    for error, tolerance in zip(errors(processed.motion, start), case.tolerances, strict=True):
        assert error < tolerance * (1 if jitter == 0 else 3)
    torque = true_torque(true_motion(processed.motion.time - start))
    assert np.abs(processed.torque - torque).max() < 1e-4


@EVERY
def test_time_is_uniform_at_the_recorded_rate(case):
    processed = case.route.apply(recorded(jitter=0.5, start=7.0))
    assert processed.rate == pytest.approx(RATE, rel=0.01)  # a median of jittered intervals
    assert np.diff(processed.motion.time) == pytest.approx(1.0 / processed.rate, rel=1e-9)
    assert processed.motion.time[0] >= 7.0 - 0.5 / RATE
    assert len(processed) >= 0.9 * PERIOD * RATE


@EVERY
def test_torque_is_never_smoothed(case):
    """White noise that repeats with the period comes out as it went in."""
    recording = recorded()
    count = int(PERIOD * RATE)
    noise = np.random.default_rng(1).standard_normal((count, 3))[np.arange(len(recording)) % count]
    processed = case.route.apply(replace(recording, torque=noise))
    index = np.round(processed.motion.time * RATE).astype(int)
    assert processed.torque == pytest.approx(noise[index], abs=1e-9)


@EVERY
def test_currents_with_gains_are_torques(case):
    recording = recorded()
    gains = np.array([2.0, 3.0, 5.0])
    about = replace(recording.about, gains=tuple(gains))
    currents = replace(recording, torque=None, current=recording.torque / gains, about=about)
    assert case.route.apply(currents).torque == pytest.approx(case.route.apply(recording).torque)


@EVERY
def test_order_of_joints_is_kept(case):
    recording = recorded(noise=1e-5)
    order = [2, 0, 1]
    changed = replace(
        recording,
        joints=tuple(JOINTS[k] for k in order),
        q=recording.q[:, order],
        torque=recording.torque[:, order],
    )
    first, second = case.route.apply(recording), case.route.apply(changed)
    assert second.motion.qdd == pytest.approx(first.motion.qdd[:, order], abs=1e-9)
    assert second.torque == pytest.approx(first.torque[:, order], abs=1e-9)
    if first.position_noise is not None:
        assert second.position_noise == pytest.approx(first.position_noise[order])


@EVERY
def test_result_does_not_depend_on_the_clock(case):
    """A log that starts at another time gives the same motion at another time."""
    here, there = case.route.apply(recorded(noise=1e-5)), case.route.apply(recorded(noise=1e-5, start=1000.0))
    assert there.motion.time - here.motion.time == pytest.approx(1000.0, abs=1e-6)
    for name in ("q", "qd", "qdd"):
        scale = np.abs(getattr(here.motion, name)).max()
        assert getattr(there.motion, name) == pytest.approx(getattr(here.motion, name), abs=1e-6 * scale)


@EVERY
def test_words_say_what_was_chosen(case):
    words = texts(case.route.apply(recorded(noise=1e-5)).notes)
    assert any(case.told in word for word in words)
    assert not any("\n" in word for word in words)


@EVERY
def test_noise_left_in_positions_is_honest(case):
    processed = case.route.apply(recorded(noise=1e-4))
    assert processed.position_noise is not None
    actual = np.sqrt(((processed.motion.q - true_motion(processed.motion.time).q) ** 2).mean(axis=0))
    assert (actual < (3.0 if case.name == "filtered" else 2.0) * processed.position_noise).all()  # of it motion lost
    assert (actual > 0.3 * processed.position_noise).all()


@EVERY
@pytest.mark.parametrize("name", ["short", "no torque", "no gains", "nan", "duplicate", "no period"])
def test_bad_input_gets_one_line(case, name):
    good = recorded()
    with_nan = good.q.copy()
    with_nan[100, 1] = np.nan
    twice = good.time.copy()
    twice[50] = twice[49]
    bad = {
        "short": good[:12],
        "no torque": replace(good, torque=None),
        "no gains": replace(good, torque=None, current=good.torque),
        "nan": replace(good, q=with_nan),
        "duplicate": replace(good, time=twice),
        "no period": replace(good, about=About()),
    }[name]
    if name == "no period" and not case.needs_period:
        assert len(case.route.apply(bad)) > 0
        return
    with pytest.raises(ExciterError) as caught:
        case.route.apply(bad)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize("route", [SmoothingSpline(8.0), FilteredDifferences(5.0)], ids=["spline", "filtered"])
@pytest.mark.parametrize("size", [301, 5000])
def test_pieces_give_what_the_whole_gives(route, size):
    recording = recorded(jitter=0.5, noise=1e-5, periods=12)
    whole = route.apply(recording)
    pieces = list(route.stream(recording.chunks(size)))
    assert np.concatenate([p.motion.time for p in pieces]) == pytest.approx(whole.motion.time)
    for name in ("q", "qd", "qdd"):
        joined = np.concatenate([getattr(p.motion, name) for p in pieces])
        assert joined == pytest.approx(getattr(whole.motion, name), abs=1e-7 * 250**0.5)
    assert len(pieces) > 1 or size == 5000


@pytest.mark.parametrize("case", CASES[1:], ids=lambda case: case.name)
def test_a_long_rest_before_the_motion_does_no_harm(case, monkeypatch):
    """A stream is judged by its first motion, not by its first samples; a log in parts by the part that moves."""
    monkeypatch.setattr(processed_module, "TYPICAL_SAMPLES", 2000)
    rng = np.random.default_rng(8)
    rest, moving = 7000, 6000
    time = np.arange(rest + moving) / RATE
    truth = true_motion(np.clip(time - rest / RATE, 0.0, None))
    q = truth.q + 1e-4 * rng.standard_normal(truth.q.shape)
    recording = Recording(JOINTS, time, q, torque=true_torque(truth))
    late = lambda t: (t > (rest + 500) / RATE) & (t < time[-1] - 2.0)  # noqa: E731

    def error(parts):
        at = np.concatenate([p.motion.time for p in parts])
        found = np.concatenate([p.motion.qdd for p in parts])
        exact = true_motion(at - rest / RATE).qdd
        return np.sqrt(((found - exact)[late(at)] ** 2).mean() / (exact[late(at)] ** 2).mean())

    assert error(list(case.route.stream(recording.chunks(700)))) < 0.05
    torn = [recording[: rest - 300], recording[rest + 100 :]]
    assert error(process(Recording.join(torn), case.route).parts) < 0.05
    with pytest.raises(RecordingError, match="no joint moves") as caught:
        list(case.route.stream(recording[: rest - 10].chunks(700)))
    assert "give" in str(caught.value)
    with pytest.raises(RecordingError, match="no joint moves"):
        case.route.apply(recording[: rest - 10])
    monkeypatch.setattr(noise_module, "SEARCHED_WINDOWS", 2)  # memory is bounded
    with pytest.raises(RecordingError, match=r"no joint moves in the first 16\.\d* s"):
        list(case.route.stream(recording.chunks(700)))


def test_what_a_stream_leaves_out_is_told_at_the_latest_with_its_last_piece():
    recording = recorded(periods=12)
    torn = Recording.join([recording[:8000], recording[8500:8600]])
    for route in (SmoothingSpline(8.0), FilteredDifferences(5.0)):
        pieces = list(route.stream(torn.chunks(1000)))
        assert pieces[-1].motion.time[-1] < recording.time[8000]
        assert "1 parts between gaps so far were too short: 0.396 s left out" in texts(pieces[-1].notes)


# -- each route's own ------------------------------------------------------------------------------------------------


def test_series_is_the_trajectory_it_came_from():
    """Fitted coefficients, moved to the designer's clock, are the designer's."""
    series = FourierFit(harmonics=3).series(recorded(jitter=0.5, start=2.7))
    assert series.trajectory.numbers == FAMILY.numbers
    assert series.coefficients(2.7) == pytest.approx(DELTA, abs=1e-9)
    (basis,) = series.trajectory.basis(np.linspace(0.0, 3.0, 9), order=0)
    other = series.start + 1.3  # any clock gives the same motion
    assert series.motion(other + np.linspace(0.0, 3.0, 9)).q == pytest.approx(basis @ series.coefficients(other).T)
    later = series.motion(np.linspace(50.0, 52.0, 7))
    assert later.qdd == pytest.approx(true_motion(later.time - 2.7).qdd, abs=1e-8)


def test_series_knows_how_uncertain_it_is():
    """Monte Carlo: coefficients scatter as their covariance says."""
    rng = np.random.default_rng(3)
    clean = recorded()
    fits = []
    for _ in range(60):
        noisy = replace(clean, q=clean.q + 1e-3 * rng.standard_normal(clean.q.shape))
        fits.append(FourierFit(harmonics=3).series(noisy))
    scatter = np.std([fit.coefficients() - DELTA for fit in fits], axis=0)
    expected = np.sqrt(np.diag(fits[0].covariance(0)))
    assert scatter.mean(axis=0) == pytest.approx(expected, rel=0.25)
    error = np.sqrt(np.mean([(fit.motion(clean.time).qdd - true_motion(clean.time).qdd) ** 2 for fit in fits]))
    assert fits[0].noise_of_derivatives[2].mean() == pytest.approx(error, rel=0.15)
    one = FourierFit(harmonics=1).series(recorded(noise=1e-3))
    for k, basis in enumerate(one.trajectory.basis(clean.time[: int(PERIOD * RATE)])):
        variance = np.einsum("ij,jk,ik->i", basis, one.covariance(0), basis).mean()
        assert one.noise_of_derivatives[k, 0] == pytest.approx(np.sqrt(variance), rel=1e-3, abs=0.0)


def test_number_of_harmonics_follows_the_noise():
    """A weak 9th harmonic is taken when it shows above noise, and not when noise hides it."""
    base = recorded()
    ninth = 1e-4 * np.sin(2.0 * np.pi * 9.0 / PERIOD * base.time)[:, None] * np.array([1.0, 0.0, 0.0])
    rng = np.random.default_rng(4)
    for noise, expected in ((1e-5, 9), (1e-2, 3)):
        q = base.q + ninth + noise * rng.standard_normal(base.q.shape)
        series = FourierFit().series(replace(base, q=q))
        assert series.harmonics[-1] == expected
        assert series.used[1, : len(series.harmonics)].sum() in (3, 4)
    told = texts(FourierFit(harmonics=2).apply(base).notes)
    assert any("unexplained" in word for word in told)


@pytest.mark.parametrize(("power", "expected"), [(21.0, 3), (34.0, 20)])
def test_a_late_harmonic_must_pay_for_those_before_it(power, expected):
    """Σ (|Q_l|² − 4.6 n) l⁴ over a floor of equal lines p, n = p / ln 2: the 20th pays for 4 … 19 from 26.5 p on."""
    count = 1000
    lines = np.zeros((count // 2 + 1, 1), dtype=complex)
    lines[1:] = np.exp(1j * np.random.default_rng(0).uniform(0.0, 6.28, (count // 2, 1)))
    lines[1:4] *= 1e4
    lines[20] *= np.sqrt(power)
    q = np.fft.irfft(lines, count, axis=0)
    average = PeriodAverage(("a",), np.arange(count) / RATE, q, 0.0 * q, PERIOD, PERIOD, 1)
    assert FourierFit().of_average(average)[1].harmonics[-1] == expected
    limited = FourierFit().of_average(replace(average, torque_bandwidth=2.6 / PERIOD))[1]
    assert limited.harmonics == (1, 2)  # the torque has nothing above


@pytest.mark.parametrize("numbers", [(1, 2, 3, 4, 5), (2, 3, 7)])
def test_sums_without_a_basis_are_those_with_one(numbers):
    family, rng = Fourier(PERIOD, numbers), np.random.default_rng(2)
    time, q = np.sort(rng.uniform(0.0, 9.0, 5000)), rng.standard_normal((5000, 2))
    (basis,) = family.basis(time, order=0)
    gram, right = normal_equations(family, time, q)
    assert gram == pytest.approx(basis.T @ basis, abs=1e-9)
    assert right == pytest.approx(basis.T @ q, abs=1e-9)
    delta = rng.standard_normal((2, family.coefficients))
    found = np.concatenate([value for _, value in values(family, time, delta)])
    assert found == pytest.approx(basis @ delta.T, abs=1e-11)


def test_a_wrapped_angle_is_refused_not_smoothed():
    """Every period jumps by 2π at the same place: it repeats, and no motion does so."""
    recording = recorded(noise=1e-5)
    q = recording.q.copy()
    q[:, 1] += 2.0 * np.pi * (np.arange(len(q)) % int(PERIOD * RATE) > 300)
    with pytest.raises(RecordingError, match=r"motion of 'second' unexplained.*wrapped by 2π") as caught:
        FourierFit().apply(replace(recording, q=q))
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(RecordingError, match="wrapped"):
        process(replace(recording, q=q))  # another route would only hide it


def test_a_fit_may_have_more_harmonics_than_a_motion_for_a_robot():
    assert len(FourierFit(harmonics=300).apply(recorded()).motion) > 0


def test_harmonics_above_half_the_rate_are_refused():
    with pytest.raises(RecordingError, match="allowed are harmonics up to 499"):
        FourierFit(harmonics=600).apply(recorded())
    for wrong in ((0, 1), True):
        with pytest.raises(ExciterError, match="harmonics"):
            FourierFit(harmonics=wrong)


def test_average_of_a_long_log_is_enough():
    recording = recorded(noise=1e-5)
    processed, series = FourierFit(harmonics=3).of_average(average_periods(lambda: recording.chunks(500)))
    direct = FourierFit(harmonics=3).apply(recording)
    assert processed.motion.qdd == pytest.approx(direct.motion.qdd, abs=1e-7)
    assert series.samples == 3 * int(PERIOD * RATE)
    whole = FourierFit(harmonics=3).series(recording)
    assert series.covariance(1) == pytest.approx(whole.covariance(1), rel=0.01, abs=1e-3 * whole.covariance(1).max())
    noisy = recorded(noise=0.08)
    average = average_periods(noisy)
    both = FourierFit(harmonics=2).apply(noisy), FourierFit(harmonics=2).of_average(average)[0]
    told = [re.search(r"leaves ([\d.]+) of 'second' unexplained", " ".join(texts(one.notes))) for one in both]
    assert float(told[0].group(1)) == pytest.approx(float(told[1].group(1)), rel=0.02)


def test_an_analogue_filter_is_never_passed_over_in_silence():
    recording = recorded()
    recording = replace(recording, about=replace(recording.about, filter=AnalogFilter()))
    assert any("undone" in word for word in texts(FourierFit().apply(recording).notes))
    assert any("late" in word for word in texts(FourierFit(prewhitening=None).apply(recording).notes))


def test_spline_settings_are_checked():
    for settings in ({"degree": 2}, {"knots_per_second": -1.0}, {"edge": -1.0}):
        with pytest.raises(RecordingError):
            SmoothingSpline(**settings)
    with pytest.raises(RecordingError, match="too many"):
        SmoothingSpline(200.0).apply(recorded())
    with pytest.raises(RecordingError, match="too short"):
        SmoothingSpline(0.1).apply(recorded())
    gap = np.abs(recorded().time - 5.0) > 0.1
    with pytest.raises(RecordingError, match=r"gap of 0\.2"):
        SmoothingSpline().apply(recorded()[gap])


def test_spectral_beats_filtered_on_periodic_data():
    """The benchmark's own comparison, small: at every noise, in q̇ and in q̈."""
    module = benchmark("differentiation")
    case = replace(module.PERIODIC, duration=30.0, routes=("spectral", "filtered"))
    rows = module.table(case, noises=(1e-5, 1e-3), joints=3)
    for noise in (1e-5, 1e-3):
        spectral, filtered = (rows[route, noise] for route in ("spectral", "filtered"))
        assert spectral.velocity < 0.5 * filtered.velocity
        assert spectral.acceleration < 0.5 * filtered.acceleration
