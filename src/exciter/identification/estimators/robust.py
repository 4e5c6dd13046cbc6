"""Robust estimation: equations with large residuals count less (M-estimators by iteratively reweighted least squares).

Σ_j Σ_i ρ(e_ij / s_j) is minimal, e the residuals and s_j the scale of joint j. Every pass goes through the rows once,
multiplies both sides of each equation by √weight and keeps triangular factors only. s_j is the median of |e| over
0.6745: the standard deviation where errors are Gaussian, and hardly moved by outliers.

What it is for: bad samples of the torque (collisions, dropped packets, friction that sticks at reversals). A wrong
row of W (a jump in q) has leverage, and no weight that looks at residuals alone protects against that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy

from exciter.errors import ExciterError, ParameterError
from exciter.experiment.signals.equation_rows import Rows
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.information.compressed import EXACT_DATA_NOISE, Labelled, compress
from exciter.identification.information.estimate import Estimate, assumed, filtered
from exciter.identification.information.problem import Problem
from exciter.notes import Note, done
from exciter.settings import OneOf, Positive, Registry, Settings
from exciter.typing import Array

MEDIAN_DECADES, MEDIAN_BINS_PER_DECADE = 6, 250  # on both sides of a guess; the median is interpolated within its bin
GAUSSIAN_ABSOLUTE_MEDIAN = NormalDist().inv_cdf(0.75)  #: median of |e| of Gaussian errors with σ = 1
STEP_TOLERANCE_SIGMAS = 0.01  #: of a standard deviation of each parameter
STEADY_SCALE_CHANGE = 0.01  # relative change of a scale, below which it stays
RESCALING_PASSES, MOST_REWEIGHTING_PASSES = 10, 50
ROUNDING_TORQUE_FRACTION = 1e-10  # of the torque
STARTING_TOLERANCE_SIGMAS = 0.1  # tolerance of Huber's answer where it is only a start
ROBUST_ASSUMPTIONS = assumed(
    "every equation has an error of its own, symmetric about zero and of one distribution per joint, outliers "
    "included, and W is exact: covariance E[ψ²]/E[ψ′]² of M-estimators"
)
FILTERED_OUTLIERS = assumed("a filter smears outliers")


class Loss(Settings, ABC):
    """ρ(u) through its derivative ψ(u) = u · weight(u)."""

    refusal: ClassVar[type[ExciterError]] = ParameterError

    @abstractmethod
    def weight(self, u: Array) -> Array:
        """ψ(u) / u, between 0 and 1."""

    @abstractmethod
    def slope(self, u: Array) -> Array:
        """ψ′(u)."""

    @property
    @abstractmethod
    def half(self) -> float:
        """|u| at which the weight is a half."""

    @property
    def usual(self) -> float:
        """Share of equations with Gaussian errors that count less than half."""
        return float(2.0 * scipy.stats.norm.sf(self.half))

    @property
    def efficiency(self) -> float:
        """Variance of least squares over that of this estimate where errors are Gaussian: E[ψ′]² / E[ψ²]."""
        u = np.linspace(-9.0, 9.0, 18001)
        density = scipy.stats.norm.pdf(u)
        slope, square = (self.slope(u) * density).sum(), ((u * self.weight(u)) ** 2 * density).sum()
        return float(slope**2 / square / density.sum())


@dataclass(frozen=True)
class HuberLoss(Loss):
    """Squares up to k scales, absolute values beyond (Huber 1964): convex, one answer. k = 1.345: 95 % efficient."""

    word, title = "huber", "Huber's loss"
    k: Positive = 1.345

    def weight(self, u: Array) -> Array:
        return np.asarray(self.k / np.maximum(np.abs(u), self.k))

    def slope(self, u: Array) -> Array:
        return np.asarray((np.abs(u) <= self.k).astype(float))

    @property
    def half(self) -> float:
        return 2.0 * self.k


@dataclass(frozen=True)
class Bisquare(Loss):
    """Tukey's bisquare: equations beyond c scales do not count at all. c = 4.685: 95 % efficient.

    Not convex, so it is started from Huber's answer."""

    word, title = "bisquare", "Tukey's bisquare"
    c: Positive = 4.685

    def weight(self, u: Array) -> Array:
        return np.asarray(np.maximum(1.0 - (u / self.c) ** 2, 0.0) ** 2)

    def slope(self, u: Array) -> Array:
        square = (u / self.c) ** 2
        return np.where(square < 1.0, (1.0 - square) * (1.0 - 5.0 * square), 0.0)

    @property
    def half(self) -> float:
        return float(self.c * np.sqrt(1.0 - np.sqrt(0.5)))


LOSSES = Registry[Loss]("loss", Bisquare, HuberLoss)


class AbsoluteMedian:
    """Counts (J, bins) of log₁₀(|e| / guess), guess (J,). A median beyond the bins is given as their end."""

    def __init__(self, guess: Array) -> None:
        self.guess = guess
        self.counts = np.zeros((len(guess), 2 * MEDIAN_DECADES * MEDIAN_BINS_PER_DECADE), dtype=np.int64)

    def see(self, residuals: Array) -> None:
        """Count residuals (J, N); one that is exactly zero is of 0 = 0, no equation."""
        size = np.maximum(np.abs(residuals) / self.guess[:, None], 10.0**-MEDIAN_DECADES)
        bins = ((np.log10(size) + MEDIAN_DECADES) * MEDIAN_BINS_PER_DECADE).astype(np.int64)
        last = self.counts.shape[1] - 1
        for row, found, there in zip(self.counts, np.minimum(bins, last), residuals != 0.0, strict=True):
            row += np.bincount(found[there], minlength=last + 1)

    @property
    def value(self) -> Array:
        """(J,) median / 0.6745: σ where errors are Gaussian."""
        edges = np.arange(self.counts.shape[1] + 1) / MEDIAN_BINS_PER_DECADE - MEDIAN_DECADES
        cumulated = np.pad(np.cumsum(self.counts, axis=1), ((0, 0), (1, 0)))
        median = [np.interp(0.5 * row[-1], row, 10.0**edges) for row in cumulated]
        return np.asarray(self.guess * np.array(median) / GAUSSIAN_ABSOLUTE_MEDIAN)


@dataclass(frozen=True)
class IterativelyReweighted(Estimator):
    """loss: Bisquare or HuberLoss, or another; None: squares, so that only the variances of the joints are reweighted,
    which is what ``WeightedLeastSquares`` does.

    tolerance: the iteration ends when no parameter moves by more than this share of its standard deviation. Scales
    follow the residuals until they change by less than a hundredth, and stay: a median jumps from one residual to the
    next, and would keep parameters from settling. A loss that is not convex starts from Huber's answer and scales."""

    word, title, also = "irls", "iteratively reweighted least squares", Bisquare
    loss: Annotated[Loss | None, OneOf(LOSSES)] = field(default_factory=Bisquare)
    tolerance: Positive = STEP_TOLERANCE_SIGMAS

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        """``{c: 4.7}`` is that of the bisquare."""
        if not isinstance(given, Mapping) or "c" not in given or "loss" in given:
            return given
        return {**{k: v for k, v in given.items() if k != "c"}, "loss": {Bisquare.word: {"c": given["c"]}}}

    def spelling(self, data: dict[str, Any]) -> Any:
        if isinstance(self.loss, Bisquare) and data.pop("loss", None) is not None:
            data["c"] = self.loss.c
        return data

    def estimate(self, problem: Problem) -> Estimate:
        if self.loss is None:
            return WeightedLeastSquares().estimate(problem)
        compressed = problem.compressed.enough()
        values, _ = compressed.reweighted()
        rms = np.sqrt(compressed.squares(values).sum(axis=0) / np.maximum(compressed.rows.sum(axis=0), 1))
        median = AbsoluteMedian(_floored(problem, rms))  # of a first fit, which outliers may have pulled
        for _, rows in problem.rows():
            median.see(_residual(rows, values))
        scale, convex, first = _scale(problem, median, compressed.rows.sum(axis=0)), isinstance(self.loss, HuberLoss), 0
        if not convex:
            near = max(self.tolerance, STARTING_TOLERANCE_SIGMAS)
            start, first = _settled(problem, HuberLoss(), scale, values, near, RESCALING_PASSES)
            scale, values = start.scale, start.values
        rescaled = RESCALING_PASSES if convex else 0
        seen, passes = _settled(problem, self.loss, scale, values, self.tolerance, rescaled)
        correlated = filtered(compressed.inflation)
        return Estimate.of(
            problem,
            compressed.information(),
            values=seen.next_values,
            covariance=seen.covariance,
            noise=seen.scale,
            freedom=float(compressed.independent.sum() - len(values)),
            assumptions=(*ROBUST_ASSUMPTIONS, *correlated, *(FILTERED_OUTLIERS if correlated else ())),
            notes=_notes(seen, self.loss, first + passes),
        )


@dataclass(frozen=True)
class Huber(Estimator):
    """Huber's M-estimator; k: residuals, in scales of their joint, beyond which an equation counts less.

    >>> ex.identify(robot, log, estimator=ex.Huber(k=1.2)).fit[0].total_percent < 1.0
    True"""

    word, title = "huber", "least squares with Huber's weights"
    k: Positive = 1.345
    tolerance: Positive = STEP_TOLERANCE_SIGMAS

    def estimate(self, problem: Problem) -> Estimate:
        return IterativelyReweighted(HuberLoss(self.k), self.tolerance).estimate(problem)


class _Pass:
    """Once through all rows with parameters (p,), and scale (J,) to measure residuals with: the equations reweighted,
    what solves them, what residuals say. sums (4, J): ψ², ψ′, ψ′², how many count less than half.
    next_scale (J,): of the residuals that were seen."""

    def __init__(self, problem: Problem, loss: Loss, scale: Array, values: Array) -> None:
        self.problem, self.scale, self.values = problem, scale, values
        self.sums = np.zeros((4, len(problem.joints)))
        median = AbsoluteMedian(scale)

        def labelled() -> Iterator[Labelled]:
            for index, rows in problem.rows():
                residual = _residual(rows, values)
                median.see(residual)
                u = residual / scale[:, None]
                weight, slope = loss.weight(u), np.where(u != 0.0, loss.slope(u), 0.0)
                self.sums += ((weight * u) ** 2).sum(1), slope.sum(1), (slope**2).sum(1), (weight < 0.5).sum(1)
                sides = rows.sides.transpose(1, 2, 0) * np.sqrt(weight)[:, None]  # time is last in memory
                sides.flags.writeable = False
                yield index, np.zeros(len(rows), dtype=np.int64), replace(rows, sides=sides.transpose(2, 0, 1))

        weighted = compress(labelled(), problem.names, problem.joints, len(problem.runs), 1, problem.jobs)
        self.rows = np.asarray(weighted.rows.sum(axis=0), dtype=float)
        self.next_values = weighted.information(scale).solve(problem.names)[0]
        self.next_scale = _scale(problem, median, self.rows)

    @property
    def covariance(self) -> Array:
        """A⁻¹ B A⁻¹ with A = Σ E[ψ′] RᵀR/s² and B = Σ E[ψ²] RᵀR/s² · inflation, of rows as they are; means are those
        of the joint, over its degrees of freedom, with Huber's correction for few of them."""
        compressed, scale, rows = self.problem.compressed, self.scale, np.maximum(self.rows, 1.0)
        taken = compressed.taken_by(scale)
        square, slope, slope_square = self.sums[0], self.sums[1] / rows, self.sums[2] / rows
        slope = np.maximum(slope, 1e-6)
        few = 1.0 + taken / rows * np.maximum(slope_square - slope**2, 0.0) / slope**2
        variance = square / np.maximum(rows - taken, 1.0)
        bread = np.linalg.inv(compressed.information(scale / np.sqrt(slope / few)).r)
        spread = compressed.per_group(scale / np.sqrt(np.maximum(variance, 1e-300))) / np.sqrt(compressed.inflation)
        half = compressed.information(spread).r @ bread @ bread.T
        return np.asarray(half.T @ half)


def _settled(
    problem: Problem, loss: Loss, scale: Array, values: Array, tolerance: float, rescaled: int
) -> tuple[_Pass, int]:
    """The last pass, and how many there were; rescaled: how many may change the scales."""
    for count in range(1, MOST_REWEIGHTING_PASSES + 1):
        seen = _Pass(problem, loss, scale, values)
        # of exact data, steps are compared with what rounding may move
        least = _floored(problem, scale, ROUNDING_TORQUE_FRACTION)
        _, covariance = problem.compressed.information(least).solve(problem.names)
        moved = float((np.abs(seen.next_values - values) / np.sqrt(covariance.diagonal())).max())
        steady = float(np.abs(seen.next_scale / scale - 1.0).max()) <= STEADY_SCALE_CHANGE
        if count > rescaled or (steady and count > 1):  # the first pass sees residuals it has the scale of
            rescaled = 0
        if moved <= tolerance and not rescaled:
            return seen, count
        values, scale = seen.next_values, seen.next_scale if rescaled else scale
    raise ParameterError(
        f"reweighting did not settle in {MOST_REWEIGHTING_PASSES} passes (last step: {moved:.2g} σ, allowed "
        f"{tolerance:g}); use the Huber loss, which has one answer, or raise the tolerance"
    )


def _notes(seen: _Pass, loss: Loss, passes: int) -> tuple[Note, ...]:
    first = (
        f"{type(loss).__name__}: settled after {passes} passes, {100 * loss.efficiency:.0f} % as efficient as least "
        "squares where errors are Gaussian; noise is that of the bulk of equations (median of residuals)"
    )
    lines = list[Note]()
    for joint, count, rows in zip(seen.problem.joints, seen.sums[3], seen.rows, strict=True):
        if not rows:
            continue
        text = (
            f"{joint}: {int(count)} of {int(rows)} equations count less than half "
            f"({100 * count / rows:.2g} %; Gaussian errors would give {100 * loss.usual:.2g} %)"
        )
        lines.append(done("outliers", text, joint, None, count=int(count), rows=int(rows)))
    return (done("iterations", first), *lines)


def _scale(problem: Problem, median: AbsoluteMedian, rows: Array) -> Array:
    """(J,) of residuals of so many rows (J,), with as many degrees of freedom as the fit weighted by the median's
    guess left."""
    few = np.sqrt(rows / np.maximum(rows - problem.compressed.taken_by(median.guess), 1.0))
    return _floored(problem, median.value * few)


def _residual(rows: Rows, values: Array) -> Array:
    """y − W x, (J, N)."""
    return np.asarray(np.append(-values, 1.0) @ rows.sides.transpose(1, 2, 0))


def _floored(problem: Problem, scale: Array, floor: float = EXACT_DATA_NOISE) -> Array:
    """Exact data leave rounding only."""
    compressed = problem.compressed
    return np.asarray(np.where(compressed.rows.any(axis=0), np.maximum(scale, floor * compressed.rms), 1.0))
