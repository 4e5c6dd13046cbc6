"""Section 3: how many harmonics, which ones, and what of the excitation lies where in frequency. Sections 1 and 2: what
periods are good for: averaging, an estimate of the noise, derivatives in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from scipy import stats

import exciter as ex
from exciter.excitation.trajectories.trajectory import acceleration_spectrum
from exciter.experiment.signals.differentiation import second_difference
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.periods import average_periods
from exciter.experiment.virtual.synthetic import synthetic_recording
from exciter.identification.information.information import Information
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.paper import DataTable, Effort, Part, Value, claim, same, shown
from exciter_papers.swevers_asme import set_up
from exciter_papers.swevers_asme.model import barycentric
from exciter_papers.swevers_asme.optimum import ASME_DESIGN_SEED, DesignCase, Optimum, best_of

HARMONIC_COUNTS = tuple(range(1, 8))
HIGH_HARMONICS = (3, 4, 5)  #: harmonics without the low ones
#: Sets with omitted harmonics: three of the five, two of them, every other one
OMITTED: tuple[tuple[int, ...], ...] = (HIGH_HARMONICS, (2, 3, 4), (1, 3, 5), (4, 5), (2, 4, 6, 8, 10))
SILENT_LINE_RATIO = 1e-12  # of the largest line of a spectrum: nothing there


def run(effort: Effort) -> Sequence[Part]:
    starts = effort.pick(2, 10)
    by_count = {count: _optimum(tuple(range(1, count + 1)), starts) for count in HARMONIC_COUNTS}
    omitted = {numbers: _optimum(numbers, starts) for numbers in OMITTED}
    return [
        _few(by_count, starts),
        _omitted(omitted, by_count, starts),
        _bandwidth(omitted[HIGH_HARMONICS]),
        *averaging(effort),
    ]


def _optimum(numbers: tuple[int, ...], starts: int) -> Optimum:
    return best_of(DesignCase(family=replace(set_up.ASME_FAMILY, harmonics=numbers)), starts)


def _few(found: dict[int, Optimum], starts: int) -> Part:
    few = set_up.ASME_FIGURES["condition_number"]["few_harmonics"]
    enough = min(count for count, x in found.items() if x.value < few)
    rows = [
        (count, x.case.family.coefficients, x.value, np.median(x.values), x.certificate.certified)
        for count, x in found.items()
    ]
    values = np.array([x.value for x in found.values()])
    counts = np.array(list(found), dtype=float)
    own = set_up.EXPERIMENT["harmonics"]
    return Part(
        "Section 3, number of harmonics",
        "Few coefficients are enough",
        f"{set_up.model_words()} Here: condition number of A, {set_up.ALL}, all limits certified, harmonics 1 … N; "
        f"{starts} starts for each N, seed {ASME_DESIGN_SEED}.",
        (
            same(
                f"coefficients per joint with {own} harmonics",
                set_up.EXPERIMENT["coefficients"],
                set_up.ASME_FAMILY.coefficients,
                0,
            ),
            claim(
                f"a few harmonics are enough for condition numbers below {few}",
                enough <= own,
                f"{enough} harmonics ({found[enough].case.family.coefficients} coefficients per joint) reach "
                f"{found[enough].value:.2f}, {own} reach {found[own].value:.2f}, {HARMONIC_COUNTS[-1]} reach "
                f"{values[-1]:.2f}",
            ),
            shown(
                f"gain by {HARMONIC_COUNTS[-1]} harmonics over {own} [%]",
                100.0 * float(1.0 - values[-1] / found[own].value),
                f"{found[HARMONIC_COUNTS[-1]].case.family.coefficients} coefficients per joint instead of "
                f"{set_up.ASME_FAMILY.coefficients}",
            ),
            shown("all of them are certified", all(x.certificate.certified for x in found.values())),
        ),
        DataTable(
            "harmonics",
            "Condition number of A against the number of harmonics",
            ("harmonics", "coefficients per joint", "best", "median of starts", "certified"),
            rows,
        ),
        Plot(
            "Condition number against the number of harmonics",
            counts,
            "harmonics",
            "condition number",
            [Line("best of all starts", values, points=True)],
            log=True,
            level=float(few),
        ),
    )


def _omitted(found: dict[tuple[int, ...], Optimum], by_count: dict[int, Optimum], starts: int) -> Part:
    full, low, band = by_count[set_up.EXPERIMENT["harmonics"]], by_count[len(HIGH_HARMONICS)], found[HIGH_HARMONICS]
    families = [(x, x.case.family) for x in (full, low, *found.values())]
    rows = [
        {
            "harmonics": _numbers(x),
            "band [Hz]": " … ".join(f"{family.numbers[k] / family.period:g}" for k in (0, -1)),
            "coefficients per joint": family.coefficients,
            "best": x.value,
            "median of starts": np.median(x.values),
            "certified": x.certificate.certified,
        }
        for x, family in families
    ]
    alike = [x for x in (low, *found.values()) if len(x.case.family.numbers) == len(HIGH_HARMONICS)]
    ranked = "; ".join(f"{_numbers(x)} reach {x.value:.2f}" for x in sorted(alike, key=lambda x: x.value))
    leaks = max(_outside(x) for x in found.values())
    return Part(
        "Section 3, omitted harmonics",
        "Harmonics left out on purpose",
        f"As before, with sets of harmonics of {1.0 / set_up.ASME_FAMILY.period:g} Hz that leave others out; {starts} "
        f"starts each, seed {ASME_DESIGN_SEED}. The paper has no example of this; the sets are ours.",
        (
            claim(
                "leaving harmonics out restricts the motion to a band of frequencies",
                leaks < SILENT_LINE_RATIO,
                f"largest line of q̈ outside the chosen harmonics: {leaks:.0e} of the largest inside",
            ),
            shown(
                f"condition number of A with harmonics {_numbers(band)} only",
                band.value,
                f"harmonics {_numbers(full)} reach {full.value:.2f}; sets of {len(HIGH_HARMONICS)}, best first: "
                f"{ranked}",
            ),
            shown("all of them are certified", all(x.certificate.certified for x in found.values())),
        ),
        DataTable.by_rows(
            "omitted", "Condition number of A with omitted harmonics; the first two rows leave no low ones out", rows
        ),
        (_spectra(full), _spectra(band)),
    )


def _numbers(found: Optimum) -> str:
    return ", ".join(map(str, found.case.family.numbers))


def _outside(found: Optimum) -> float:
    """Largest line of q̈ at harmonics that were left out, over the largest of all."""
    spectrum = acceleration_spectrum(found.case.family, found.delta)
    numbers = np.round(spectrum.frequency * found.case.family.period).astype(int)
    out = ~np.isin(numbers, found.case.family.numbers)
    return float(spectrum.amplitude[out].max() / spectrum.amplitude.max())


def _spectra(found: Optimum) -> Plot:
    spectrum = acceleration_spectrum(found.case.family, found.delta)
    lines = [Line(f"axis {j + 1}", spectrum.amplitude[:, j], "rad/s²") for j in range(3)]
    title = f"Spectrum of the acceleration, harmonics {_numbers(found)}"
    return Plot(title, spectrum.frequency, "frequency [Hz]", "rad/s²", lines, bars=True)


def _bandwidth(found: Optimum) -> Part:
    """The motion is band-limited; the torque, which excites the flexibility, is not."""
    family = found.case.family
    share = {
        "inertia and gravity": _torque_above(found, friction=False),
        "with friction": _torque_above(found, friction=True),
    }
    rows = [(name, *row) for name, row in share.items()]
    rigid, whole = share["inertia and gravity"].max(), share["with friction"].max()
    return Part(
        "Section 3, bandwidth",
        "What a band-limited motion does to the torque",
        f"The optimum with harmonics {_numbers(found)}. Torques of the embedded robot (masses and inertias are ours, "
        f"friction is that of the authors' IEEE paper) at {SPECTRUM_SAMPLES} samples of one period; share of their "
        "power, mean "
        f"excepted, above the highest frequency of the motion, {family.numbers[-1] / family.period:g} Hz.",
        (
            shown(
                "torque power above the band of the motion, largest of three joints, without friction [%]",
                100.0 * float(rigid),
                "products of velocities and sines of angles make sums and differences of the frequencies",
            ),
            shown(
                "the same with friction [%]", 100.0 * float(whole), "Coulomb friction jumps whenever a joint turns back"
            ),
        ),
        DataTable(
            "torque-band",
            "Share of the torque's power above the band of the motion",
            ("torque", *(f"joint {j}" for j in (1, 2, 3))),
            rows,
        ),
        _torque_plot(found),
        "The paper says that a band-limited trajectory can completely avoid the excitation of flexibility. It names no "
        "flexible mode, so that this is not judged. The motion is band-limited, the torques are not; friction gives "
        "them lines that fall as 1/f.",
    )


SPECTRUM_SAMPLES = 4096  # samples of one period, for spectra of torques


def _torque_lines(found: Optimum, friction: bool) -> Array:
    """(F, 3) amplitudes [N·m] at multiples of the fundamental frequency."""
    chi = set_up.model().nominal.copy()
    if not friction:
        chi[10 * set_up.model().n :] = 0.0
    tau = set_up.model().torque(set_up.sampled(found.delta, found.case.family, SPECTRUM_SAMPLES), chi)
    return np.asarray(2.0 * np.abs(np.fft.rfft(tau, axis=0)) / SPECTRUM_SAMPLES)


def _torque_above(found: Optimum, friction: bool) -> Array:
    """(3,) share of the power, without the mean, above the highest harmonic of the motion."""
    power = _torque_lines(found, friction)[1:] ** 2
    return np.asarray(power[found.case.family.numbers[-1] :].sum(axis=0) / power.sum(axis=0))


def _torque_plot(found: Optimum, shown_lines: int = 40) -> Plot:
    lines = _torque_lines(found, friction=True)[:shown_lines]
    frequency = np.arange(shown_lines) / found.case.family.period
    return Plot(
        f"Spectrum of the torques, harmonics {_numbers(found)}, friction included",
        frequency,
        "frequency [Hz]",
        "N·m",
        [Line(f"joint {j + 1}", lines[:, j], "N·m") for j in range(3)],
        bars=True,
    )


# -- averaging over periods --------------------------------------------------------------------------------------------

AVERAGED_PERIODS = (1, 4, 16)
LOG_TORQUE_NOISE_STD = 5.0  # [N·m] σ of one sample, about that of the authors' IEEE paper
LOG_POSITION_NOISE_STD = 1e-4  # [rad]
LOG_SEED = 0  # of single logs
SEEDS_PER_PERIOD_COUNT = 1000  # repetition r of K periods has seed 1000 K + r
HARMONICS_FALSE_ALARM_CHANCE = 0.01  # chance that a true statement fails
SPECTRUM_ROUNDING = 1e-8


@cache
def exact() -> tuple[ex.Motion, Array]:
    """One period of Table 1 (swapped): motion, rows of A (3 M, 15)."""
    motion = set_up.sampled(set_up.table_1(swapped=True))
    rows = set_up.columns().rows(set_up.model().regressor(motion)[:, :, set_up.columns().selected])
    return motion, rows.reshape(-1, rows.shape[-1])


def recording(periods: int, seed: int, position_noise: float | None = None) -> ex.Recording:
    """A log of so many periods with white noise on the torques, and on the positions where given."""
    motion, chi = exact()[0], set_up.model().nominal
    return synthetic_recording(
        set_up.model(), motion, chi, LOG_TORQUE_NOISE_STD, position_noise=position_noise, periods=periods, seed=seed
    )


def averaging(effort: Effort) -> Sequence[Part]:
    return [_averaged(effort), _derivatives()]


# -- averaging ---------------------------------------------------------------------------------------------------------


def _averaged(effort: Effort) -> Part:
    repetitions = effort.pick(40, 200)
    _, rows = exact()
    truth = barycentric(set_up.robot())
    _, covariance = Information.empty(len(truth)).add(rows / LOG_TORQUE_NOISE_STD, np.zeros(len(rows))).solve()
    root = np.linalg.inv(np.linalg.cholesky(covariance))  # whitens errors of one period
    table: list[tuple[Value, ...]] = []
    inside, measured = [], []
    for periods in AVERAGED_PERIODS:
        errors, noise = _repeated(periods, repetitions)
        squares = float(((errors @ root.T) ** 2).sum() * periods)  # χ² of so many degrees of freedom, if σ ∝ 1/√K
        freedom = errors.size
        inside.append(_fits(np.sqrt(squares / freedom), freedom, 1.0))
        if noise is not None:
            measured.append((periods, noise))
        table.append((periods, float(np.sqrt(squares / freedom / periods)), 1.0 / np.sqrt(periods), noise))
    same_estimate = _difference_of_estimates(AVERAGED_PERIODS[-1])
    return Part(
        "Section 2, averaging",
        "Averaging over periods",
        f"{set_up.model_words()} Table 1 with a and b swapped; torques of the embedded robot with white noise of σ = "
        f"{LOG_TORQUE_NOISE_STD:g} N·m per sample, positions exact. K periods are averaged and the {set_up.ALL} "
        "estimated by "
        f"least squares from one averaged period, {repetitions} times for each K, seeds {SEEDS_PER_PERIOD_COUNT} K, "
        f"{SEEDS_PER_PERIOD_COUNT} K + "
        f"1, …; one log of seed {LOG_SEED} is also estimated as a whole.",
        (
            claim(
                "averaging K periods reduces errors of the parameters by 1/√K",
                all(inside),
                "sums of squared errors, whitened with the covariance of one period over K, against χ² intervals for "
                f"K = {', '.join(map(str, AVERAGED_PERIODS))} (chance of a false alarm "
                f"{100 * HARMONICS_FALSE_ALARM_CHANCE:g} % for all together)",
            ),
            claim(
                "one averaged period says as much as the whole log",
                same_estimate < SPECTRUM_ROUNDING,
                f"estimates from {AVERAGED_PERIODS[-1]} × {set_up.ASME_SAMPLES} samples and from their mean of "
                f"{set_up.ASME_SAMPLES} "
                f"samples differ by {same_estimate:.0e} of the largest parameter",
            ),
            claim(
                "periods tell the noise of the measurements",
                all(_fits(sigma, (periods - 1) * set_up.ASME_SAMPLES * 3 * repetitions) for periods, sigma in measured),
                f"σ over all repetitions and joints: {', '.join(f'{sigma:.3f}' for _, sigma in measured)} N·m, against "
                "χ² intervals as before",
            ),
        ),
        DataTable(
            "averaging",
            "Errors of the parameters relative to what one period gives, and the noise that was measured",
            ("periods K", "errors, relative", "1/√K", "noise of one sample [N·m]"),
            table,
        ),
    )


def _fits(sigma: float, freedom: int, truth: float = LOG_TORQUE_NOISE_STD) -> bool:
    """Whether σ, estimated with so many degrees of freedom, could be that of noise with the true σ."""
    low, high = stats.chi2.interval(1.0 - HARMONICS_FALSE_ALARM_CHANCE / len(AVERAGED_PERIODS), freedom)
    return bool(low <= freedom * (sigma / truth) ** 2 <= high)


def _repeated(periods: int, repetitions: int) -> tuple[Array, float | None]:
    """Errors (R, 15) of the parameters, and the mean σ of one sample that the periods show; None for one period."""
    truth, (_, rows) = barycentric(set_up.robot()), exact()
    solve = np.linalg.pinv(rows)
    errors, noises = [], []
    for repetition in range(repetitions):
        average = average_periods(
            recording(periods, SEEDS_PER_PERIOD_COUNT * periods + repetition), set_up.ASME_FAMILY.period, settled=0.0
        )
        errors.append(solve @ average.torque.ravel() - truth)
        if average.torque_noise is not None:
            noises.append(average.torque_noise**2)
    return np.array(errors), float(np.sqrt(np.mean(noises))) if noises else None


def _difference_of_estimates(periods: int) -> float:
    log, (_, rows) = recording(periods, LOG_SEED), exact()
    mean = average_periods(log, set_up.ASME_FAMILY.period, settled=0.0)
    assert log.torque is not None
    whole = Information.empty(rows.shape[1])
    for piece in np.split(log.torque, periods):
        whole = whole.add(rows, piece.ravel())
    one = Information.empty(rows.shape[1]).add(rows, mean.torque.ravel())
    first, second = whole.solve()[0], one.solve()[0]
    return float(np.abs(first - second).max() / np.abs(first).max())


# -- derivatives -------------------------------------------------------------------------------------------------------


def _derivatives() -> Part:
    """q̈ from noisy positions: a fitted series against differences of the averaged samples."""
    motion, _ = exact()
    log = recording(AVERAGED_PERIODS[-1], LOG_SEED, LOG_POSITION_NOISE_STD)
    fit = FourierFit(set_up.ASME_FAMILY.numbers, set_up.ASME_FAMILY.period, settled=0.0)
    fitted = fit.apply(log).motion
    average = average_periods(log, set_up.ASME_FAMILY.period, settled=0.0)
    wrapped = np.vstack([average.q[-1:], average.q, average.q[:1]])
    differences = second_difference(wrapped, average.rate)
    error = {
        name: float(np.sqrt(((qdd - motion.qdd) ** 2).mean()))
        for name, qdd in (("fit", fitted.qdd), ("difference", differences))
    }
    predicted = float(np.sqrt((fit.series(log).noise_of_derivatives[2] ** 2).mean()))
    return Part(
        "Section 1, derivatives",
        "Accelerations from a fitted series",
        f"{AVERAGED_PERIODS[-1]} periods of Table 1 (swapped) at {set_up.EXPERIMENT['rate']:g} Hz, positions with "
        "white noise "
        f"of σ = {LOG_POSITION_NOISE_STD:g} rad, seed {LOG_SEED}; q̈ in closed form from a Fourier series of "
        f"{set_up.ASME_FAMILY.harmonics} harmonics fitted by least squares, and by second differences of the averaged "
        "positions.",
        (
            claim(
                "a fitted series gives accurate accelerations in an analytic way",
                error["fit"] < 0.01 * error["difference"],
                f"RMS error {error['fit']:.1e} rad/s² (predicted {predicted:.1e}), by differences "
                f"{error['difference']:.1e} rad/s²",
            ),
            shown("RMS error of q̈ by differences over that by the fit", error["difference"] / error["fit"]),
        ),
    )
