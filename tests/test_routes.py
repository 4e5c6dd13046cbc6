"""What every route must do: one suite for all ways to differentiate."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from conftest import benchmark
from exciter.errors import ExciterError, RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import About, AnalogFilter, Recording
from exciter.experiment.signals.filtered_differences import FilteredDifferences
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.periods import average_periods
from exciter.experiment.signals.route import Route
from exciter.experiment.signals.smoothing_spline import SmoothingSpline
from exciter.robot.motion import Motion


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
    words = case.route.apply(recorded(noise=1e-5)).words
    assert any(case.told in word for word in words)
    assert not any("\n" in word for word in words)


@EVERY
def test_noise_left_in_positions_is_honest(case):
    processed = case.route.apply(recorded(noise=1e-4))
    if processed.position_noise is None:
        pytest.skip("this route does not estimate it")
    actual = np.sqrt(((processed.motion.q - true_motion(processed.motion.time).q) ** 2).mean(axis=0))
    assert (actual < 2.0 * processed.position_noise).all()
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


# -- each route's own ------------------------------------------------------------------------------------------------


def test_series_is_the_trajectory_it_came_from():
    """Fitted coefficients, moved to the designer's clock, are the designer's."""
    series = FourierFit(harmonics=3).series(recorded(jitter=0.5, start=2.7))
    assert series.trajectory.numbers == FAMILY.numbers
    assert series.coefficients(2.7) == pytest.approx(DELTA, abs=1e-9)
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
    told = FourierFit(harmonics=2).apply(base).words
    assert any("unexplained" in word for word in told)


def test_harmonics_above_half_the_rate_are_refused():
    with pytest.raises(RecordingError, match="allowed are harmonics up to 499"):
        FourierFit(harmonics=600).apply(recorded())
    with pytest.raises(ExciterError, match="harmonics"):
        FourierFit(harmonics=(0, 1))


def test_average_of_a_long_log_is_enough():
    recording = recorded(noise=1e-5)
    processed, series = FourierFit(harmonics=3).of_average(average_periods(lambda: recording.chunks(500)))
    direct = FourierFit(harmonics=3).apply(recording)
    assert processed.motion.qdd == pytest.approx(direct.motion.qdd, abs=1e-7)
    assert series.samples == 3 * int(PERIOD * RATE)


def test_an_analogue_filter_is_never_passed_over_in_silence():
    recording = recorded()
    recording = replace(recording, about=replace(recording.about, filter=AnalogFilter()))
    assert any("undone" in word for word in FourierFit().apply(recording).words)
    assert any("late" in word for word in FourierFit(prewhitening=None).apply(recording).words)


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
