"""What linear estimators share: noise from residuals, covariance from both, and refusing too few rows."""

from __future__ import annotations

import numpy as np

from exciter.errors import ParameterError
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.estimate import FILTERED, Estimate
from exciter.identification.information.problem import Problem
from exciter.notes import Note
from exciter.typing import Array

TINY = 1e-13  # of the torque: what rounding leaves of exact data


def enough_rows(compressed: Compressed) -> None:
    """At least one equation more than parameters."""
    have, p = int(compressed.rows.sum()), len(compressed.parameters)
    worth = compressed.independent.sum()
    if min(have, worth) <= p:
        alike = "" if have <= p else f", worth {worth:.0f} independent ones,"
        raise ParameterError(
            f"{have} equations{alike} for {p} parameters; record longer, filter or decimate less, or ask for fewer "
            "parameters"
        )


def noise_of(compressed: Compressed, values: Array, weights: Array) -> Array:
    """σ (J,) of one row per joint, from the residuals of an estimate that was weighted by 1/``weights`` (J,).

    Σ e² of a joint has as many degrees of freedom as rows less what the fit took: the trace of its part of the hat
    matrix; correlated rows take more (inflation).
    """
    took = taken(compressed, weights)
    rows = compressed.rows.sum(axis=0)
    freedom = np.maximum(rows - took, 1.0)
    signal = np.sqrt(compressed.signal / np.maximum(rows, 1))
    sigma = np.sqrt(compressed.squares(values).sum(axis=0) / freedom)
    return np.asarray(np.maximum(sigma, np.maximum(TINY * signal, 1e-300)))


def taken(compressed: Compressed, weights: Array) -> Array:
    """(J,) degrees of freedom that each joint's rows gave to the fit."""
    information = compressed.information(weights)
    inverse = np.linalg.inv(information.r)
    sigma = compressed.per_group(weights)
    rotated = (compressed.factors[..., :-1] / sigma[..., None, None]) @ inverse
    return np.asarray(((rotated**2).sum(axis=(2, 3)) * compressed.inflation).sum(axis=0))


def linear_estimate(
    problem: Problem, compressed: Compressed, values: Array, weights: Array, noise: Array, assumptions: tuple[Note, ...]
) -> Estimate:
    """The estimate that used 1/``weights`` (J,), while the errors have standard deviations ``noise`` (J,).

    Cov = A⁻¹ B A⁻¹ with A = Σ RᵀR/w² and B = Σ RᵀR σ²/w⁴ · inflation; where w = σ and rows are independent, A⁻¹.
    """
    information = compressed.information(weights)
    inverse = np.linalg.inv(information.r)
    spread = compressed.per_group(weights) ** 2 / (noise * np.sqrt(compressed.inflation))
    meat = compressed.information(spread).r @ inverse @ inverse.T
    filtered = compressed.inflation.max() > 1.0 + 1e-9
    return Estimate(
        problem.names,
        problem.units,
        values,
        meat.T @ meat,
        compressed.joints,
        noise,
        float(compressed.independent.sum() - len(values)),
        assumptions + (FILTERED if filtered else ()),
        compressed.information().condition_number,
        compressed.information().condition_number_normalized,
    )
