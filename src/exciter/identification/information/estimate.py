"""An estimate: values, how sure they are, and what that rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from scipy import stats

from exciter.errors import ParameterError
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.notes import Note, note
from exciter.typing import Array

POOR_STD_RATIO = 10.0  #: relative σ over the smallest one, beyond which a parameter counts as poorly identified [12.10]
EXACT_DATA_NOISE = 1e-13  #: of the torque: what rounding leaves of exact data
WELL, POOR, INSIGNIFICANT = "well identified", "poorly identified", "not significant"
MOST_NOISE_ROUNDS = 100
SETTLED_NOISE_CHANGE = 1e-10  #: relative change of σ, below which weights and residuals agree
Fit = TypeVar("Fit")


def assumed(*texts: str) -> tuple[Note, ...]:
    """What a covariance rests on, a note for each statement."""
    return tuple(note("standard deviations", text) for text in texts)


WHITE = assumed("every equation has an error of its own, of one variance per joint, and W is exact")
FILTERED = assumed("filtered rows count for as many as their bandwidth is worth")
GIVEN = assumed("σ was given")


def student_quantile(level: float, freedom: float) -> float:
    """How many σ a two-sided confidence interval of ``level`` reaches to each side."""
    return float(stats.t.ppf(0.5 + 0.5 * level, max(freedom, 1.0)))


def finite_or_none(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters (p,) by name, with their covariance (p, p).

    joints, noise (J,): equations of an instant and the σ of their errors. freedom: rows less parameters, of
    independent rows. assumptions: what the covariance rests on. condition_number (…_normalized: columns of
    length one): of W. standard: a full set of standard parameters, where the estimator gives one.
    notes: what was done and decided.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    covariance: Array
    joints: tuple[str, ...]
    noise: Array
    freedom: float
    assumptions: tuple[Note, ...] = WHITE
    condition_number: float = float("nan")
    condition_number_normalized: float = float("nan")
    standard: Array | None = None
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, problem: Problem, regressor: Information, **found: Any) -> Self:
        """Of a problem's parameters; regressor: information of W, not divided by noise. found: the other fields."""
        return cls(
            names=problem.names,
            units=problem.units,
            joints=problem.joints,
            condition_number=regressor.condition_number,
            condition_number_normalized=regressor.condition_number_normalized,
            **found,
        )

    def __repr__(self) -> str:
        counted = ", ".join(f"{count} {word}" for word, count in self.counts.items() if count)
        return f"<estimate of {len(self.names)} parameters: {counted}>"

    @property
    def std(self) -> Array:
        return np.sqrt(np.maximum(self.covariance.diagonal(), 0.0))

    @property
    def correlation(self) -> Array:
        """(p, p) of the estimates; zero for a parameter that was not estimated."""
        std = np.where(self.std > 0.0, self.std, np.inf)
        return np.asarray(np.clip(self.covariance / np.outer(std, std), -1.0, 1.0))

    @property
    def relative_std_percent(self) -> Array:
        """σ % [12.10]; infinite for a parameter that is zero."""
        size = np.abs(self.values)
        return np.where(size > 0.0, 100.0 * self.std / np.where(size > 0.0, size, 1.0), np.inf)

    @property
    def status(self) -> tuple[str, ...]:
        """Per parameter: not significant when zero is within its 95 % interval, poorly identified when its relative σ
        is more than ten times the smallest one [12.10], else well identified."""
        relative = self.relative_std_percent
        limit = POOR_STD_RATIO * relative[relative > 0.0].min(initial=np.inf)
        insignificant = np.abs(self.values) <= self.quantile() * self.std
        words = np.where(insignificant, INSIGNIFICANT, np.where(relative > limit, POOR, WELL))
        return tuple(str(word) for word in words)

    @property
    def counts(self) -> dict[str, int]:
        status = self.status
        return {word: status.count(word) for word in (WELL, POOR, INSIGNIFICANT)}

    def quantile(self, level: float = 0.95) -> float:
        """How many σ a confidence interval reaches to both sides (Student)."""
        return student_quantile(level, self.freedom)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends (p,) of the confidence interval of each parameter."""
        reach = self.quantile(level) * self.std
        return self.values - reach, self.values + reach

    @property
    def information(self) -> Information:
        """As information, for what comes next: more data, a design, a payload."""
        return Information.of_estimate(self.values, self.covariance)


def enough_rows(compressed: Compressed) -> Compressed:
    """The same, where there is at least one equation more than parameters."""
    have, p = int(compressed.rows.sum()), len(compressed.parameters)
    worth = compressed.independent.sum()
    if min(have, worth) <= p:
        alike = "" if have <= p else f", worth {worth:.0f} independent ones,"
        raise ParameterError(
            f"{have} equations{alike} for {p} parameters; record longer, filter or decimate less, or ask for fewer "
            "parameters"
        )
    return compressed


def noise_of(compressed: Compressed, values: Array, weights: Array) -> Array:
    """σ (J,) of one row per joint, from the residuals of an estimate that was weighted by 1/``weights`` (J,): Σ e² of a
    joint has as many degrees of freedom as rows less what the fit took."""
    return residual_noise(compressed, values, taken(compressed, weights))


def residual_noise(compressed: Compressed, values: Array, took: Array) -> Array:
    """The same of an estimate that took so many degrees of freedom (J,) of each joint's rows; above rounding."""
    rows = compressed.rows.sum(axis=0)
    sigma = np.sqrt(compressed.squares(values).sum(axis=0) / np.maximum(rows - took, 1.0))
    return np.asarray(np.maximum(sigma, np.maximum(EXACT_DATA_NOISE * compressed.rms, 1e-300)))


def until_noise_settles(
    fit: Callable[[Array], tuple[Fit, Array]], noise: Array, change: float = SETTLED_NOISE_CHANGE
) -> tuple[Fit, Array, bool]:
    """A fit with weights 1/``noise`` (J,) gives what it found and the σ (J,) of its residuals, again and again until
    weights and residuals agree: the last fit, that σ, and whether they do."""
    for _ in range(MOST_NOISE_ROUNDS):
        found, after = fit(noise)
        before, noise = noise, after
        if (np.abs(noise - before) <= change * noise).all():
            return found, noise, True
    return found, noise, False


def filtered(inflation: Array) -> tuple[Note, ...]:
    """What is assumed where rows are not independent; see ``Compressed.inflation``."""
    return FILTERED if inflation.max() > 1.0 + 1e-9 else ()


def taken(compressed: Compressed, weights: Array) -> Array:
    """(J,) degrees of freedom that each joint's rows gave to a fit that was weighted by 1/``weights`` (J,)."""
    inverse: Array = np.asarray(np.linalg.inv(compressed.information(weights).r), dtype=float)
    return np.asarray(compressed.taken(inverse, compressed.per_group(weights)).sum(axis=0))


def linear_estimate(
    problem: Problem, compressed: Compressed, values: Array, weights: Array, noise: Array, assumptions: tuple[Note, ...]
) -> Estimate:
    """The estimate that used 1/``weights`` (J,), while the errors have standard deviations ``noise`` (J,).

    Cov = A⁻¹ B A⁻¹ with A = Σ RᵀR/w² and B = Σ RᵀR σ²/w⁴ · inflation; where w = σ and rows are independent, A⁻¹.
    """
    inverse = np.linalg.inv(compressed.information(weights).r)
    spread = compressed.per_group(weights) ** 2 / (noise * np.sqrt(compressed.inflation))
    meat = compressed.information(spread).r @ inverse @ inverse.T
    return Estimate.of(
        problem,
        compressed.information(),
        values=values,
        covariance=meat.T @ meat,
        noise=noise,
        freedom=float(compressed.independent.sum() - len(values)),
        assumptions=assumptions + filtered(compressed.inflation),
    )
