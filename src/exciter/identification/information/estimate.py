"""An estimate: values, how sure they are, and what that rests on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike

from exciter.identification.information.compressed import Compressed
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.notes import Note, note
from exciter.typing import Array

#: [%] relative σ below which a value is good: its 95 % interval is some ± 10 % (border of Rackl 2012, II-D)
GOOD_STD_PERCENT = 5.0
#: [%] the same of a fair one: the ends of its 95 % interval, some ± 40 %, differ by a factor of 2.3 at most
FAIR_STD_PERCENT = 20.0
POOR_STD_RATIO = 10.0  #: relative σ over the smallest one: more is not reliably identified by the rule after [12.10]
GOOD, FAIR, WEAK, INSIGNIFICANT = "good", "fair", "weak", "not significant"
STATUS_WORDS = (GOOD, FAIR, WEAK, INSIGNIFICANT)  #: of a parameter, the surest first
STATUS_LEGEND = (
    f"{GOOD}: σ below {GOOD_STD_PERCENT:g} % of the value, {FAIR}: below {FAIR_STD_PERCENT:g} %, {WEAK}: more, "
    f"{INSIGNIFICANT}: zero lies within the 95 % interval"
)
RATIO_LEGEND = (
    f"the papers compare with the parameter that is known best: σ / value more than {POOR_STD_RATIO:g} times the "
    "smallest one is not reliably identified by their rule [12.10], however small it is"
)


def assumed(*texts: str) -> tuple[Note, ...]:
    """What a covariance rests on, a note for each statement."""
    return tuple(note("standard deviations", text) for text in texts)


WHITE = assumed("every equation has an error of its own, of one variance per joint, and W is exact")
FILTERED = assumed("filtered rows count for as many as their bandwidth is worth")
GIVEN = assumed("σ was given")


def student_quantile(level: float, freedom: float) -> float:
    """How many σ a two-sided confidence interval of ``level`` reaches to each side."""
    return float(scipy.stats.t.ppf(0.5 + 0.5 * level, max(freedom, 1.0)))


def student_interval(values: Array, std: Array, freedom: float | Array, level: float) -> tuple[Array, Array]:
    """Lower and upper ends of the confidence interval of each of several values; freedom: of all, or of each."""
    reach = scipy.stats.t.ppf(0.5 + 0.5 * level, np.maximum(freedom, 1.0)) * std
    return values - reach, values + reach


def finite_or_none(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters (p,) by name, with their covariance (p, p). joints, noise (J,): equations of an instant and the σ of
    their errors. freedom: rows less parameters, of independent rows. assumptions: what the covariance rests on.
    condition_number (…_normalized: columns of length one): of W. standard: a full set of standard parameters, where the
    estimator gives one. notes: what was done and decided."""

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
        return f"<estimate: {self.counted}>"

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
        """Per parameter, one of ``STATUS_WORDS``: not significant when zero is within its 95 % interval, else by its
        relative σ alone."""
        relative = self.relative_std_percent
        insignificant = np.abs(self.values) <= self.quantile() * self.std
        sizes = [insignificant, relative < GOOD_STD_PERCENT, relative < FAIR_STD_PERCENT]
        return tuple(str(word) for word in np.select(sizes, [INSIGNIFICANT, GOOD, FAIR], WEAK))

    @property
    def ratio_to_best(self) -> Array:
        """(p,) relative σ over the smallest one, by which the papers judge [12.10]; infinite for one that is zero."""
        relative = self.relative_std_percent
        known = np.isfinite(relative)
        return np.where(known, np.where(known, relative, 0.0) / relative[relative > 0.0].min(initial=np.inf), np.inf)

    @property
    def poor_by_ratio(self) -> tuple[bool, ...]:
        """Per parameter: whether the rule after [12.10] calls it not reliably identified, however small its σ is."""
        return tuple(bool(poor) for poor in self.ratio_to_best > POOR_STD_RATIO)

    @property
    def counts(self) -> dict[str, int]:
        status = self.status
        return {word: status.count(word) for word in STATUS_WORDS}

    @property
    def counted(self) -> str:
        """``31 of 36 parameters good, 3 fair, 2 not significant``."""
        good, *others = self.counts.items()
        words = "".join(f", {count} {word}" for word, count in others if count)
        return f"{good[1]} of {len(self.names)} parameters {GOOD}{words}"

    def with_error(self, changes: ArrayLike, *why: Note) -> Self:
        """With further errors, each a change (p,) that all values may be off by together, once; why: what they are."""
        rows = np.atleast_2d(np.asarray(changes, dtype=float))
        return replace(self, covariance=self.covariance + rows.T @ rows, assumptions=(*self.assumptions, *why))

    def quantile(self, level: float = 0.95) -> float:
        """How many σ a confidence interval reaches to both sides (Student)."""
        return student_quantile(level, self.freedom)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends (p,) of the confidence interval of each parameter."""
        return student_interval(self.values, self.std, self.freedom, level)

    @property
    def information(self) -> Information:
        """As information, for what comes next: more data, a design, a payload."""
        return Information.of_estimate(self.values, self.covariance)


def filtered(inflation: Array) -> tuple[Note, ...]:
    """What is assumed where rows are not independent; see ``Compressed.inflation``."""
    return FILTERED if inflation.max() > 1.0 + 1e-9 else ()


def linear_estimate(
    problem: Problem, compressed: Compressed, values: Array, weights: Array, noise: Array, assumptions: tuple[Note, ...]
) -> Estimate:
    """The estimate that used 1/``weights`` (J,), while the errors have standard deviations ``noise`` (J,). Cov = A⁻¹ B
    A⁻¹ with A = Σ RᵀR/w² and B = Σ RᵀR σ²/w⁴ · inflation; where w = σ and rows are independent, A⁻¹."""
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
