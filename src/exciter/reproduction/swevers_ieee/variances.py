"""Variance of the noise from the difference between periods, with the divisor printed and the right one (V-A)."""

from __future__ import annotations

import numpy as np

from exciter.reproduction.finding import claim, shown
from exciter.reproduction.paper import DataTable, Part
from exciter.reproduction.swevers_ieee.experiment import C2, PERIODS, POSITION_VARIANCE, TORQUE_VARIANCE
from exciter.reproduction.swevers_ieee.repetitions import CHANCE, Case, two_sided
from exciter.reproduction.swevers_ieee.set_up import NOISE, SAMPLES
from exciter.typing import Array


def variance_part(case: Case) -> Part:
    """case: logs with the published variances."""
    freedom = (PERIODS - 1) * SAMPLES
    true = np.array([POSITION_VARIANCE, TORQUE_VARIANCE])
    right = case.squares / (PERIODS * freedom)
    printed = case.squares / (PERIODS * (PERIODS * SAMPLES - 1))
    ours = np.array([pair.ml.noise**2 for pair in case.pairs])
    total = freedom * right.size

    def chance(variances: Array) -> float:
        return two_sided(float((freedom * variances / true).sum()), total)

    bias, exact = float((printed / true).mean()), float((right / true).mean())
    expected = freedom / (PERIODS * SAMPLES - 1)
    corrected = true / expected
    findings = (
        claim(
            "the printed divisor 16 N − 1 gives the variance of the noise without bias",
            chance(printed) > CHANCE,
            f"the mean over periods is taken at each of the N samples, which costs N degrees of freedom: the printed "
            f"estimate is {bias:.4f} of the true variance (expected: 15 N/(16 N − 1) = {expected:.4f}); "
            f"χ² of {total} degrees of freedom has the chance {chance(printed):.1g}",
        ),
        shown(
            "mean estimated over true variance, divisor 15 N",
            exact,
            f"two-sided chance of its χ²: {chance(right):.2f}",
        ),
        shown(
            "largest difference of Exciter's torque variances from divisor 15 N, relative",
            float(np.abs(ours / right[:, 1] - 1.0).max()),
        ),
        claim(
            f"the torque noise of the simulations ({', '.join(f'{v:.0f}' for v in NOISE**2)} (N·m)²) is the measured "
            "one",
            bool((np.round(TORQUE_VARIANCE) == np.round(NOISE**2)).all()),
            "rounded; with the right divisor the measured variances would have been "
            + ", ".join(f"{v:.2f}" for v in corrected[1]),
        ),
    )
    rows = [
        [signal, joint + 1, true[k, joint], corrected[k, joint], *means[k, joint]]
        for k, signal in enumerate(("angle [rad²]", "torque [(N·m)²]"))
        for joint in range(3)
        for means in [np.stack([printed.mean(axis=0), right.mean(axis=0)], axis=-1)]
    ]
    table = DataTable(
        "noise-variance",
        "Variance of the averaged signals: published, published with the right divisor, and estimated from virtual "
        "logs whose true variance is the published one",
        ("signal", "joint", "published", "published, right divisor", "16 N − 1 (mean)", "15 N (mean)"),
        rows,
    )
    return Part(
        "Section V-A, variances",
        "Noise estimated from the difference between periods",
        f"{len(case.pairs)} virtual logs (seeds 0 …) of {PERIODS} periods with {SAMPLES} samples each, {C2}, white "
        "noise on angles and torques. The published variances of the averages serve as the true ones; a recorded "
        f"sample has {PERIODS} times as much. Tests with a false-alarm chance of {CHANCE:g}.",
        findings,
        (table,),
        differences=f"The published variances are too small by {100 * (1 - expected):.1f} %, σ by "
        f"{100 * (1 - np.sqrt(expected)):.1f} %: too little to matter.",
    )
