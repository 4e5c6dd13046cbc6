"""Before the estimation: anti-aliasing filter and its inverse, derivatives by Fourier series (sections III-A, V-A)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import stats

from exciter import Motion, Recording
from exciter.experiment.recording import About, AnalogFilter
from exciter.experiment.signals.analogue_filter_undone import Prewhitening
from exciter.experiment.signals.differentiation import FilteredDifferences, first_difference, second_difference
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.periods import PeriodAverage, average_periods
from exciter.experiment.virtual import GearedDrive, TorqueMeter, TorqueRipple
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.paper import DataTable, Effort, Part, claim, shown
from exciter_papers.swevers_ieee.experiment import (
    C2,
    LOG_RATE,
    POSITION_VARIANCE,
    PRINTED_EXPERIMENT,
    RECORDED_PERIODS,
    logged,
)
from exciter_papers.swevers_ieee.set_up import IEEE_FAMILY, IEEE_SAMPLES, TORQUE_NOISE_STD, chi, model, sampled

ANALOG = AnalogFilter(**PRINTED_EXPERIMENT["filter"])
STEPS_PER_SAMPLE = 10  # steps of the continuous torque per sample
GEAR_RIPPLE = TorqueRipple(amplitude=10.0, per_turn=6.0)  # [N·m]: ours, to have something above half the rate
COMPARED_BAND_HZ = 30.0  # [Hz] in which torques are compared
WHITENESS_FALSE_ALARM_CHANCE = 1e-3  # of a false alarm
PERIOD_SLACK = 0.05  # of a period, by which a record misses being whole


def parts(delta: Array, effort: Effort) -> Sequence[Part]:
    """delta (3, 11): of motion c2."""
    return filter_part(delta), colour_part(delta, effort.pick(1, 10)), derivatives_part(delta, effort.pick(4, 30))


# -- the analogue side -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MeteredTorque:
    """Torque of standard parameters along a motion, continuous up to steps of a tenth of a sample, then metered."""

    delta: Array
    periods: int
    parameters: Array

    @cached_property
    def fine(self) -> tuple[Array, Array]:
        """q and torque (K, 3) at every step: one period to settle, then ``periods``."""
        one = sampled(self.delta, IEEE_SAMPLES * STEPS_PER_SAMPLE)
        torque = model().torque(one, self.parameters)
        q, torque = (np.tile(x, (self.periods + 1, 1)) for x in (one.q, torque))
        return np.concatenate([q, q[:1]]), np.concatenate([torque, torque[:1]])

    def metered(self, meter: TorqueMeter, every: int = STEPS_PER_SAMPLE, seed: int = 0) -> Array:
        """(N, 3) at every so many steps."""
        q, torque = self.fine
        step = 1.0 / (LOG_RATE * STEPS_PER_SAMPLE)
        at: Array = np.arange((self.periods + 1) * IEEE_SAMPLES * STEPS_PER_SAMPLE // every, dtype=float) * (
            step * every
        )
        robot, ripple = model().robot, meter.ripple
        rippled = torque if ripple is None else torque + ripple.values(q, robot, GearedDrive(), seed)
        return meter.measure(np.zeros_like(torque), rippled, step, at, robot, seed)

    def log(self, meter: TorqueMeter, seed: int = 0) -> Recording:
        """At 150 Hz; angles are exact."""
        torque = self.metered(meter, seed=seed)
        about = About(period=IEEE_FAMILY.period, settled=IEEE_FAMILY.period, filter=meter.filter)
        time = np.arange(len(torque)) / LOG_RATE
        return Recording(
            model().robot.joint_names, time, self.fine[0][:-1:STEPS_PER_SAMPLE], torque=torque, about=about
        )


def errors_of(average: PeriodAverage, log: Recording, undone: bool, truth: Array) -> Array:
    """(21,) of maximum likelihood in σ of the paper's noise; undone: the filter, which is else forgotten."""
    known = average if undone else replace(average, filter=None)
    recorded = log if undone else replace(log, about=replace(log.about, filter=None))
    processed, _ = FourierFit(len(IEEE_FAMILY.numbers)).of_average(known)
    problem = Problem(model(), (Run((processed,), period=IEEE_FAMILY.period, recording=recorded),), folds=1)
    found = MaximumLikelihood(np.sqrt(POSITION_VARIANCE).max(), tuple(TORQUE_NOISE_STD)).estimate(problem)
    return np.asarray((found.values - truth) / found.std)


def lines_of(torque: Array, band: float = COMPARED_BAND_HZ) -> Array:
    """Spectral lines (L, 3) [N·m] of one period, up to a frequency [Hz]."""
    return np.asarray(np.fft.rfft(torque, axis=0)[: int(band * IEEE_FAMILY.period) + 1] / len(torque))


@dataclass(frozen=True, eq=False)
class Behind:
    """One period behind a meter: torque (N, 3), its error below the band [N·m rms], errors of parameters [σ]."""

    name: str
    torque: Array
    error: float
    parameters: Array

    @property
    def largest(self) -> float:
        return float(np.abs(self.parameters).max())


def behind(name: str, bench: MeteredTorque, meter: TorqueMeter) -> list[Behind]:
    """Without a filter; or with it, forgotten and undone. Compared with the same torque, sampled ten times faster."""
    log = bench.log(meter)
    average = average_periods(log)
    exact = lines_of(bench.metered(replace(meter, filter=None), 1)[IEEE_SAMPLES * STEPS_PER_SAMPLE :])
    truth = bench.parameters[model().base.independent]
    found = []
    for undone in (False,) if meter.filter is None else (False, True):
        torque = Prewhitening().of_average(average).torque if undone else average.torque
        word = "undone" if undone else "no filter" if meter.filter is None else "forgotten"
        errors = errors_of(average, log, undone, truth)
        off = 2.0 * np.abs((lines_of(torque) - exact)[1:]) ** 2  # the mean left out
        found.append(Behind(f"{name}, {word}", torque, float(np.sqrt(off.sum(axis=0).mean())), errors))
    return found


# -- parts -------------------------------------------------------------------------------------------------------------


def filter_part(delta: Array) -> Part:
    smooth = chi().copy()
    smooth[[model().standard.index(f"Fs{j}") for j in (1, 2, 3)]] = 0.0
    plain, slick = MeteredTorque(delta, 1, chi()), MeteredTorque(delta, 1, smooth)
    cases = []
    for name, bench, ripple in (("dry friction", plain, None), ("none", slick, None), ("ripple", plain, GEAR_RIPPLE)):
        for analog in (None, ANALOG):
            cases += behind(name, bench, TorqueMeter(noise=0.0, ripple=ripple, filter=analog))
    by = {case.name: case for case in cases}
    sampled_, forgotten, undone = (by[f"dry friction, {word}"] for word in ("no filter", "forgotten", "undone"))
    limit, delay = Prewhitening().limit(ANALOG, LOG_RATE), _delay()
    findings = (
        claim(
            "the filter distorts amplitude and phase",
            forgotten.largest > 3.0,
            f"it delays torques by {1e3 * delay:.1f} ms; forgotten, it moves a parameter by up to "
            f"{forgotten.largest:.1f} σ",
        ),
        claim(
            "the inverse filter corrects this",
            undone.error < 0.05 * forgotten.error and undone.largest < 1.0,
            f"below {COMPARED_BAND_HZ:g} Hz the torque is off by {undone.error:.2g} N·m rms instead of "
            f"{forgotten.error:.2g}, the "
            f"largest parameter by {undone.largest:.2g} σ. That is not the filter's: sgn q̇ of the model jumps between "
            f"samples. A robot without dry friction has {by['none, undone'].largest:.1g} σ left",
        ),
        claim(
            "the filter protects from aliasing",
            undone.error < 0.5 * sampled_.error and by["ripple, undone"].error < 0.5 * by["ripple, no filter"].error,
            f"without it, jumps of dry friction alone alias by {sampled_.error:.2g} N·m rms below "
            f"{COMPARED_BAND_HZ:g} Hz "
            f"({undone.error:.2g} with it, undone); with a ripple of {GEAR_RIPPLE.amplitude:g} N·m, "
            f"{GEAR_RIPPLE.per_turn:g} "
            f"times per motor turn, {by['ripple, no filter'].error:.2g} and {by['ripple, undone'].error:.2g}. It "
            "repeats, so that averaging periods does not help",
        ),
        shown("gain of the filter at half the sampling rate", _gain(0.5 * LOG_RATE)),
        shown(
            "frequency up to which the filter is undone [Hz]",
            limit,
            f"beyond, noise of the samples would be amplified more than {1.0 / _gain(limit):.0f} times; the equations "
            "are compared up to there only",
        ),
    )
    rows = [(c.name, c.error, c.largest, np.sqrt((c.parameters**2).mean())) for c in cases]
    headings = ("torque", f"error below {COMPARED_BAND_HZ:g} Hz [N·m rms]", "largest error [σ]", "rms error [σ]")
    table = DataTable(
        "anti-aliasing", "Torque (what disturbs it, what was done) and parameters; no noise", headings, rows
    )
    lines = [Line(case.name, case.torque[:, 0], "N·m") for case in (sampled_, forgotten, undone)]
    plot = Plot("Torque of joint 1", np.arange(IEEE_SAMPLES) / LOG_RATE, "time [s]", "torque [N·m]", lines)
    return Part(
        "Section V-A, anti-aliasing filter",
        "The analogue filter of the motor current and its inverse",
        f"Torque of Table I along {C2}, in steps of 1/{LOG_RATE * STEPS_PER_SAMPLE:g} s, through an analogue "
        "Butterworth low-pass "
        f"of order {ANALOG.order} and {ANALOG.cutoff:g} Hz, sampled at {LOG_RATE:g} Hz; no noise, errors in σ of the "
        "paper's. The paper identifies a digital equivalent of its filters and inverts it by zero-phase-error "
        "tracking; here the analogue response is divided out of every harmonic of the averaged period. The ripple is "
        "ours, motor at 100 turns per turn of the joint.",
        findings,
        table,
        plot,
    )


def colour_part(delta: Array, repetitions: int) -> Part:
    """Noise before or behind the filter, and what its inverse makes of it."""
    bench = MeteredTorque(delta, RECORDED_PERIODS, chi())
    undo = Prewhitening()
    limit = undo.limit(ANALOG, LOG_RATE)
    passing = float(np.sqrt(0.5 * LOG_RATE * STEPS_PER_SAMPLE / _noise_bandwidth()))
    clean = average_periods(MeteredTorque(delta, 1, chi()).log(TorqueMeter(noise=0.0, filter=ANALOG)))
    powers: dict[tuple[str, str], list[Array]] = {}
    for where, before in (("before", True), ("behind", False)):
        sigma = np.sqrt(RECORDED_PERIODS) * TORQUE_NOISE_STD * (passing if before else 1.0)
        meter = TorqueMeter(noise=tuple(sigma.tolist()), noise_before_filter=before, filter=ANALOG)
        for seed in range(repetitions):
            noisy = average_periods(bench.log(meter, seed))
            for done, one, zero in (
                ("filtered", noisy, clean),
                ("undone", undo.of_average(noisy), undo.of_average(clean)),
            ):
                lines = (
                    np.abs(np.fft.rfft((one.torque - zero.torque) / TORQUE_NOISE_STD, axis=0)[1:]) ** 2 / IEEE_SAMPLES
                )
                powers.setdefault((where, done), []).append(lines.mean(axis=1))
    frequency = np.arange(1, IEEE_SAMPLES // 2 + 1) / IEEE_FAMILY.period
    spectra = {key: np.mean(values, axis=0) for key, values in powers.items()}
    low, high = frequency <= 0.5 * limit, (frequency > 0.5 * limit) & (frequency <= limit)
    draws = 2 * 3 * repetitions  # degrees of freedom per line
    rows = []
    white = {}
    for (where, done), spectrum in spectra.items():
        ratio = float(spectrum[high].mean() / spectrum[low].mean())
        f = stats.f(draws * int(high.sum()), draws * int(low.sum()))
        chance = float(2.0 * min(f.cdf(ratio), f.sf(ratio)))
        white[where, done] = ratio, chance
        rows.append([f"{where} the filter", done, ratio, chance, spectrum[frequency <= limit].mean()])
    findings = (
        claim(
            "the filter colours noise that enters before it",
            white["before", "filtered"][1] < WHITENESS_FALSE_ALARM_CHANCE,
            f"power in the upper half of the band up to {limit:.1f} Hz over that in the lower half: "
            f"{white['before', 'filtered'][0]:.3f}",
        ),
        claim(
            "prewhitening removes the colouring",
            white["before", "undone"][1] > WHITENESS_FALSE_ALARM_CHANCE,
            f"upper over lower half {white['before', 'undone'][0]:.3f}, chance {white['before', 'undone'][1]:.2g}; "
            f"up to {limit:.1f} Hz, for noise that enters before the filter",
        ),
        shown(
            "upper over lower half of noise that enters behind the filter, once it is undone",
            white["behind", "undone"][0],
            "noise of the sampling, say: it is white before, and coloured by the inverse",
        ),
    )
    headings = ("noise enters", "torque", "upper/lower half", "chance if white", "mean power [(paper's σ)²]")
    table = DataTable("noise-colour", f"Spectrum of the noise up to {limit:.1f} Hz", headings, rows)
    smooth = np.full(21, 1.0 / 21)
    shown_lines = [
        Line(
            f"{where} the filter, {done}",
            np.where(frequency <= limit, np.convolve(spectrum, smooth, mode="same"), np.nan),
        )
        for (where, done), spectrum in spectra.items()
    ]
    plot = Plot("Power of the noise", frequency, "frequency [Hz]", "power [(paper's σ)²]", shown_lines, log=True)
    return Part(
        "Section V-A, prewhitening",
        "What the inverse filter does to noise",
        f"Logs of seeds 0 … {repetitions - 1}, {RECORDED_PERIODS} periods of {C2}, averaged, for noise that is white "
        "before the "
        "filter and for noise that is white behind it; in both cases a filtered sample of the average has the paper's "
        f"variance. F-tests on spectral lines, false alarm {WHITENESS_FALSE_ALARM_CHANCE:g}. The text once has "
        "'prewriting' for it.",
        findings,
        table,
        plot,
        "Whether prewhitening makes noise white depends on where it enters, which the paper does not say. What it says "
        "of the validation (V-C), that noise is high because of the inverse filtering, speaks for noise behind it.",
    )


def derivatives_part(delta: Array, repetitions: int) -> Part:
    motion = sampled(delta)
    fit = FourierFit(len(IEEE_FAMILY.numbers))
    squares: dict[str, list[Array]] = {}
    predicted = np.zeros(2)
    for seed in range(repetitions):
        average = average_periods(logged(motion, TORQUE_NOISE_STD, np.sqrt(POSITION_VARIANCE), seed))
        series = fit.of_average(average)[1]
        predicted = np.sqrt((series.noise_of_derivatives[1:] ** 2).mean(axis=1))
        around = np.concatenate([average.q[-1:], average.q, average.q[:1]])
        found = {
            "Fourier series": (series.motion(average.time).qd, series.motion(average.time).qdd),
            "low-passed and differenced": _filtered(average),
            "differenced": (first_difference(around, LOG_RATE), second_difference(around, LOG_RATE)),
        }
        for name, (qd, qdd) in found.items():
            squares.setdefault(name, []).append(
                np.array([((qd - motion.qd) ** 2).mean(), ((qdd - motion.qdd) ** 2).mean()])
            )
    rms = {name: np.sqrt(np.mean(values, axis=0)) for name, values in squares.items()}
    rows = [[name, *values] for name, values in rms.items()]
    rows.append(["predicted for the series", *predicted])
    best = rms["low-passed and differenced"][1] / rms["Fourier series"][1]
    line_error, whole, cut = _leakage(delta)
    findings = (
        claim(
            "the fit by least squares is the discrete Fourier transform with its main lines selected",
            line_error < 1e-10,
            f"coefficients agree to {line_error:.1g} of the largest",
        ),
        claim(
            "there is no leakage",
            whole < 1e-9,
            f"q̈ without noise is off by {whole:.1g} of its rms; a record {100 * PERIOD_SLACK:g} % short of a period "
            "would be "
            f"off by {cut:.2g}",
        ),
        claim(
            "other ways to differentiate are less accurate",
            best > 1.0,
            f"the error of q̈ is {best:.2g} times larger when the averaged angles are low-passed and differenced, "
            f"{rms['differenced'][1] / rms['Fourier series'][1]:.2g} times when they are differenced as they are",
        ),
        shown("rms error of q̈ by Fourier series over its prediction", rms["Fourier series"][1] / predicted[1]),
    )
    headings = ("derivative by", "error of q̇ [rad/s rms]", "error of q̈ [rad/s² rms]")
    return Part(
        "Section III-A",
        "Derivatives by Fourier series",
        f"{repetitions} logs (seeds 0 …) of {RECORDED_PERIODS} periods of {C2} with the published variances of the "
        "angles, "
        "averaged. Low-passed: Butterworth of order 4 forwards and backwards, its cut-off chosen from the data.",
        findings,
        DataTable("derivatives", "Errors of velocities and accelerations, all joints", headings, rows),
    )


# -- helpers -----------------------------------------------------------------------------------------------------------


def _gain(frequency: float) -> float:
    return float(np.abs(ANALOG.response(np.array([frequency]))[0]))


def _delay() -> float:
    """[s] of slow signals: −dφ/dω at zero."""
    step = 1e-3 * ANALOG.cutoff
    return float(-np.angle(ANALOG.response(np.array([step]))[0]) / (2.0 * np.pi * step))


def _noise_bandwidth() -> float:
    """[Hz] ∫|H|² df: white noise of so wide a band has the same variance."""
    frequency = np.linspace(0.0, 10.0 * ANALOG.cutoff, 20_001)
    return float(np.trapezoid(np.abs(ANALOG.response(frequency)) ** 2, frequency))


def _filtered(average: PeriodAverage) -> tuple[Array, Array]:
    """The product's route for motions that do not repeat, on the mean period laid end to end three times."""
    joints, n = average.joints, len(average.time)
    time = np.arange(3 * n) / LOG_RATE
    log = Recording(joints, time, np.tile(average.q, (3, 1)), torque=np.tile(average.torque, (3, 1)))
    motion = FilteredDifferences(rate=LOG_RATE).apply(log).motion
    middle = slice(int(np.searchsorted(motion.time, time[n] - 0.5 / LOG_RATE)), None)
    return motion.qd[middle][:n], motion.qdd[middle][:n]


def _leakage(delta: Array) -> tuple[float, float, float]:
    """Coefficients of fit and transform; error of q̈ by transform of a whole period, and of a shorter record."""
    motion = sampled(delta)
    harmonics = np.array(IEEE_FAMILY.numbers)
    fit = FourierFit(len(harmonics))
    log = Recording(model().robot.joint_names, motion.time, motion.q, torque=model().torque(motion, chi()))
    log = replace(log, about=About(period=IEEE_FAMILY.period, settled=0.0))
    fitted = fit.series(log).delta
    return (
        float(np.abs(fitted - _transformed(motion.q, IEEE_FAMILY.period)).max() / np.abs(fitted).max()),
        _acceleration_error(motion, len(motion)),
        _acceleration_error(motion, round((1.0 - PERIOD_SLACK) * len(motion))),
    )


def _transformed(q: Array, period: float) -> Array:
    """(n, 2 h + 1) coefficients of (11) from the lines of the discrete Fourier transform of a record."""
    harmonics = np.array(IEEE_FAMILY.numbers)
    lines = np.fft.rfft(q, axis=0)[harmonics].T * 2.0 / len(q)
    speed = 2.0 * np.pi / period * harmonics
    return np.hstack([-speed * lines.imag, -speed * lines.real, q.mean(axis=0)[:, None]])


def _acceleration_error(motion: Motion, count: int) -> float:
    """rms error of q̈ relative to its rms, the first ``count`` samples taken for a whole period."""
    part = motion[:count]
    family = replace(IEEE_FAMILY, period=count / LOG_RATE)
    qdd = family.basis(part.time)[2] @ _transformed(part.q, family.period).T
    return float(np.sqrt(((qdd - part.qdd) ** 2).mean() / (part.qdd**2).mean()))
