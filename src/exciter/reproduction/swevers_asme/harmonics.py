"""Section 3: how many harmonics, which ones, and what of the excitation lies where in frequency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from exciter.excitation.trajectories.trajectory import acceleration_spectrum
from exciter.report.plot import Line, Plot
from exciter.reproduction.finding import Value, claim, same, shown
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.reproduction.swevers_asme.averaging import averaging
from exciter.reproduction.swevers_asme.optimum import SEED, Case, Optimum, best_of
from exciter.reproduction.swevers_asme.set_up import ALL, EXPERIMENT, FAMILY, PAPER, model, model_words, sampled
from exciter.typing import Array

COUNTS = tuple(range(1, 8))
BAND = (3, 4, 5)  #: harmonics without the low ones
#: Sets with omitted harmonics: three of the five, two of them, every other one
OMITTED: tuple[tuple[int, ...], ...] = (BAND, (2, 3, 4), (1, 3, 5), (4, 5), (2, 4, 6, 8, 10))
SILENT = 1e-12  # of the largest line of a spectrum: nothing there


def run(effort: Effort) -> Sequence[Part]:
    starts = effort.pick(2, 10)
    by_count = {count: _optimum(tuple(range(1, count + 1)), starts) for count in COUNTS}
    omitted = {numbers: _optimum(numbers, starts) for numbers in OMITTED}
    return [_few(by_count, starts), _omitted(omitted, by_count, starts), _bandwidth(omitted[BAND]), *averaging(effort)]


def _optimum(numbers: tuple[int, ...], starts: int) -> Optimum:
    return best_of(Case(family=replace(FAMILY, harmonics=numbers)), starts)


def _few(found: dict[int, Optimum], starts: int) -> Part:
    few = PAPER["condition_number"]["few_harmonics"]
    enough = min(count for count, x in found.items() if x.value < few)
    rows: list[tuple[Value, ...]] = [
        (count, x.case.family.coefficients, x.value, float(np.median(x.values)), x.certificate.certified)
        for count, x in found.items()
    ]
    values = np.array([x.value for x in found.values()])
    counts = np.array(list(found), dtype=float)
    own = EXPERIMENT["harmonics"]
    return Part(
        "Section 3, number of harmonics",
        "Few coefficients are enough",
        f"{model_words()} Here: condition number of A, {ALL}, all limits certified, harmonics 1 … N; {starts} "
        f"starts for each N, seed {SEED}.",
        (
            same(f"coefficients per joint with {own} harmonics", EXPERIMENT["coefficients"], FAMILY.coefficients, 0),
            claim(
                f"a few harmonics are enough for condition numbers below {few}",
                enough <= own,
                f"{enough} harmonics ({found[enough].case.family.coefficients} coefficients per joint) reach "
                f"{found[enough].value:.2f}, {own} reach {found[own].value:.2f}, {COUNTS[-1]} reach {values[-1]:.2f}",
            ),
            shown(
                f"gain by {COUNTS[-1]} harmonics over {own} [%]",
                100.0 * float(1.0 - values[-1] / found[own].value),
                f"{found[COUNTS[-1]].case.family.coefficients} coefficients per joint instead of {FAMILY.coefficients}",
            ),
            shown("all of them are certified", all(x.certificate.certified for x in found.values())),
        ),
        (
            DataTable(
                "harmonics",
                "Condition number of A against the number of harmonics",
                ("harmonics", "coefficients per joint", "best", "median of starts", "certified"),
                rows,
            ),
        ),
        (
            Plot(
                "Condition number against the number of harmonics",
                counts,
                "harmonics",
                "condition number",
                [Line("best of all starts", values, points=True)],
                log=True,
                level=float(few),
            ),
        ),
    )


def _omitted(found: dict[tuple[int, ...], Optimum], by_count: dict[int, Optimum], starts: int) -> Part:
    full, low, band = by_count[EXPERIMENT["harmonics"]], by_count[len(BAND)], found[BAND]
    rows: list[tuple[Value, ...]] = [_omitted_row(x) for x in (full, low, *found.values())]
    alike = [x for x in (low, *found.values()) if len(x.case.family.numbers) == len(BAND)]
    leaks = max(_outside(x) for x in found.values())
    return Part(
        "Section 3, omitted harmonics",
        "Harmonics left out on purpose",
        f"As before, with sets of harmonics of {1.0 / FAMILY.period:g} Hz that leave others out; {starts} starts each, "
        f"seed {SEED}. The paper has no example of this; the sets are ours.",
        (
            claim(
                "leaving harmonics out restricts the motion to a band of frequencies",
                leaks < SILENT,
                f"largest line of q̈ outside the chosen harmonics: {leaks:.0e} of the largest inside",
            ),
            shown(
                f"condition number of A with harmonics {_numbers(band)} only",
                band.value,
                f"harmonics {_numbers(full)} reach {full.value:.2f}; sets of {len(BAND)}, best first: {_ranked(alike)}",
            ),
            shown("all of them are certified", all(x.certificate.certified for x in found.values())),
        ),
        (
            DataTable(
                "omitted",
                "Condition number of A with omitted harmonics; the first two rows leave no low ones out",
                ("harmonics", "band [Hz]", "coefficients per joint", "best", "median of starts", "certified"),
                rows,
            ),
        ),
        (_spectra(full), _spectra(band)),
    )


def _numbers(found: Optimum) -> str:
    return ", ".join(map(str, found.case.family.numbers))


def _ranked(found: Sequence[Optimum]) -> str:
    return "; ".join(f"{_numbers(x)} reach {x.value:.2f}" for x in sorted(found, key=lambda x: x.value))


def _omitted_row(found: Optimum) -> tuple[Value, ...]:
    family = found.case.family
    band = " … ".join(f"{l / family.period:g}" for l in (family.numbers[0], family.numbers[-1]))
    return (
        _numbers(found),
        band,
        family.coefficients,
        found.value,
        float(np.median(found.values)),
        found.certificate.certified,
    )


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
    rows: list[tuple[Value, ...]] = [(name, *(float(x) for x in row)) for name, row in share.items()]
    rigid, whole = share["inertia and gravity"].max(), share["with friction"].max()
    return Part(
        "Section 3, bandwidth",
        "What a band-limited motion does to the torque",
        f"The optimum with harmonics {_numbers(found)}. Torques of the embedded robot (masses and inertias are "
        f"ours, friction is that of the authors' IEEE paper) at {SPECTRAL} samples of one period; share of "
        "their power, mean excepted, above the highest frequency of the motion, "
        f"{family.numbers[-1] / family.period:g} Hz.",
        (
            shown(
                "torque power above the band of the motion, largest of three joints, without friction [%]",
                100.0 * float(rigid),
                "products of velocities and sines of angles make sums and differences of the frequencies",
            ),
            shown(
                "the same with friction [%]",
                100.0 * float(whole),
                "Coulomb friction jumps whenever a joint turns back",
            ),
        ),
        (
            DataTable(
                "torque-band",
                "Share of the torque's power above the band of the motion",
                ("torque", *(f"joint {j}" for j in (1, 2, 3))),
                rows,
            ),
        ),
        (_torque_plot(found),),
        "The paper says that a band-limited trajectory can completely avoid the excitation of flexibility. It names no "
        "flexible mode, so that this is not judged. The motion is band-limited, the torques are not; friction gives "
        "them lines that fall as 1/f.",
    )


SPECTRAL = 4096  # samples of one period, for spectra of torques


def _torque_lines(found: Optimum, friction: bool) -> Array:
    """(F, 3) amplitudes [N·m] at multiples of the fundamental frequency."""
    chi = model().nominal.copy()
    if not friction:
        chi[10 * model().n :] = 0.0
    tau = model().torque(sampled(found.delta, found.case.family, SPECTRAL), chi)
    return np.asarray(2.0 * np.abs(np.fft.rfft(tau, axis=0)) / SPECTRAL)


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
