"""Sections 1 and 2: what periods are good for: averaging, an estimate of the noise, derivatives in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy import stats

from exciter.experiment.recording import Recording
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.local_routes import second_difference
from exciter.experiment.signals.periods import average_periods
from exciter.experiment.synthetic import synthetic_recording
from exciter.identification.information import Information
from exciter.reproduction.finding import Value, claim, shown
from exciter.reproduction.paper import DataTable, Effort, Part
from exciter.reproduction.swevers_asme.equations import barycentric
from exciter.reproduction.swevers_asme.set_up import (
    ALL,
    EXPERIMENT,
    FAMILY,
    SAMPLES,
    columns,
    model,
    model_words,
    robot,
    sampled,
    table_1,
)
from exciter.robot.motion import Motion
from exciter.typing import Array

PERIODS = (1, 4, 16)
TORQUE_NOISE = 5.0  # [N·m] σ of one sample, about that of the authors' IEEE paper
POSITION_NOISE = 1e-4  # [rad]
SEED = 0  # of single logs
SEEDS = 1000  # repetition r of K periods has seed 1000 K + r
ALARM = 0.01  # chance that a true statement fails
ROUNDING = 1e-8


@cache
def exact() -> tuple[Motion, Array]:
    """One period of Table 1 (swapped): motion, rows of A (3 M, 15)."""
    motion = sampled(table_1(swapped=True))
    rows = columns().rows(model().regressor(motion)[:, :, columns().selected])
    return motion, rows.reshape(-1, rows.shape[-1])


def recording(periods: int, seed: int, position_noise: float | None = None) -> Recording:
    """A log of so many periods with white noise on the torques, and on the positions where given."""
    motion, chi = exact()[0], model().nominal
    return synthetic_recording(
        model(), motion, chi, TORQUE_NOISE, position_noise=position_noise, periods=periods, seed=seed
    )


def averaging(effort: Effort) -> Sequence[Part]:
    return [_averaged(effort), _derivatives()]


# -- averaging ---------------------------------------------------------------------------------------------------------


def _averaged(effort: Effort) -> Part:
    repetitions = effort.pick(40, 200)
    _, rows = exact()
    truth = barycentric(robot())
    _, covariance = Information.empty(len(truth)).add(rows / TORQUE_NOISE, np.zeros(len(rows))).solve()
    root = np.linalg.inv(np.linalg.cholesky(covariance))  # whitens errors of one period
    table: list[tuple[Value, ...]] = []
    inside, measured = [], []
    for periods in PERIODS:
        errors, noise = _repeated(periods, repetitions)
        squares = float(((errors @ root.T) ** 2).sum() * periods)  # χ² of so many degrees of freedom, if σ ∝ 1/√K
        freedom = errors.size
        inside.append(_fits(np.sqrt(squares / freedom), freedom, 1.0))
        if noise is not None:
            measured.append((periods, noise))
        table.append((periods, float(np.sqrt(squares / freedom / periods)), 1.0 / np.sqrt(periods), noise))
    same_estimate = _difference_of_estimates(PERIODS[-1])
    return Part(
        "Section 2, averaging",
        "Averaging over periods",
        f"{model_words()} Table 1 with a and b swapped; torques of the embedded robot with white noise of σ = "
        f"{TORQUE_NOISE:g} N·m per sample, positions exact. K periods are averaged and the {ALL} estimated by "
        f"least squares from one averaged period, {repetitions} times for each K, seeds {SEEDS} K, {SEEDS} K + "
        f"1, …; one log of seed {SEED} is also estimated as a whole.",
        (
            claim(
                "averaging K periods reduces errors of the parameters by 1/√K",
                all(inside),
                "sums of squared errors, whitened with the covariance of one period over K, against χ² intervals for "
                f"K = {', '.join(map(str, PERIODS))} (chance of a false alarm {100 * ALARM:g} % for all together)",
            ),
            claim(
                "one averaged period says as much as the whole log",
                same_estimate < ROUNDING,
                f"estimates from {PERIODS[-1]} × {SAMPLES} samples and from their mean of {SAMPLES} samples differ by "
                f"{same_estimate:.0e} of the largest parameter",
            ),
            claim(
                "periods tell the noise of the measurements",
                all(_fits(sigma, (periods - 1) * SAMPLES * 3 * repetitions) for periods, sigma in measured),
                f"σ over all repetitions and joints: {', '.join(f'{sigma:.3f}' for _, sigma in measured)} N·m, against "
                "χ² intervals as before",
            ),
        ),
        (
            DataTable(
                "averaging",
                "Errors of the parameters relative to what one period gives, and the noise that was measured",
                ("periods K", "errors, relative", "1/√K", "noise of one sample [N·m]"),
                table,
            ),
        ),
    )


def _fits(sigma: float, freedom: int, truth: float = TORQUE_NOISE) -> bool:
    """Whether σ, estimated with so many degrees of freedom, could be that of noise with the true σ."""
    low, high = stats.chi2.interval(1.0 - ALARM / len(PERIODS), freedom)
    return bool(low <= freedom * (sigma / truth) ** 2 <= high)


def _repeated(periods: int, repetitions: int) -> tuple[Array, float | None]:
    """Errors (R, 15) of the parameters, and the mean σ of one sample that the periods show; None for one period."""
    truth, (_, rows) = barycentric(robot()), exact()
    solve = np.linalg.pinv(rows)
    errors, noises = [], []
    for repetition in range(repetitions):
        average = average_periods(recording(periods, SEEDS * periods + repetition), FAMILY.period, settled=0.0)
        errors.append(solve @ average.torque.ravel() - truth)
        if average.torque_noise is not None:
            noises.append(average.torque_noise**2)
    return np.array(errors), float(np.sqrt(np.mean(noises))) if noises else None


def _difference_of_estimates(periods: int) -> float:
    log, (_, rows) = recording(periods, SEED), exact()
    mean = average_periods(log, FAMILY.period, settled=0.0)
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
    log = recording(PERIODS[-1], SEED, POSITION_NOISE)
    fit = FourierFit(FAMILY.harmonics, FAMILY.period, settled=0.0)
    fitted = fit.apply(log).motion
    average = average_periods(log, FAMILY.period, settled=0.0)
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
        f"{PERIODS[-1]} periods of Table 1 (swapped) at {EXPERIMENT['rate']:g} Hz, positions with white noise of σ = "
        f"{POSITION_NOISE:g} rad, seed {SEED}; q̈ in closed form from a Fourier series of {FAMILY.harmonics} harmonics "
        "fitted by least squares, and by second differences of the averaged positions.",
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
