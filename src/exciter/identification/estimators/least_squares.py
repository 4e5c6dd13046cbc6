"""Least squares: ordinary [12.5]–[12.9]; weighted, every equation over the σ of its joint; sequential;
with base parameters ≥ 0 where every robot that can exist has them so; on the essential parameters alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import scipy
from scipy import linalg

from exciter.errors import ParameterError, unknown_name
from exciter.identification.estimators.estimator import EquationNoise, Estimator
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.estimate import GIVEN, WHITE, Estimate, assumed, linear_estimate
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.identification.information.sequential import SequentialEstimator
from exciter.identification.physical.bounds import nonnegative_base
from exciter.identification.physical.prior_metric import StandardEquations
from exciter.independent_blocks import independent_blocks
from exciter.notes import Note, done
from exciter.settings import Names, Number
from exciter.settings.field_markers import OneWord
from exciter.typing import Array, BoolArray

PER_JOINT_NOISE, COMMON_NOISE = "per-joint", "common"  #: noise of ordinary least squares
ROUNDED_INFLATION = 1e-9  # by which rows that are independent may seem to be less
ONE_SIGMA = assumed(
    "one σ for the errors of all equations of all joints, each of its own, r rows less c parameters, and W is exact "
    "[12.6]–[12.9]; joints whose noise differs have other standard deviations"
)
FILTERED_ALL_COUNT = assumed("filtered rows count as if they were independent: standard deviations are too small")
NONNEGATIVE_ASSUMPTIONS = assumed(
    "covariance of the estimate without bounds: true values ≥ 0 are never farther from the bounded estimate than from "
    "the unbounded one, in the measure of that covariance"
)
CHOSEN_BY_THE_DATA = assumed(
    "chosen by the same data: intervals of the parameters kept hold given that those dropped are zero, which a test "
    "cannot prove, and are somewhat too narrow for parameters near the level of the test"
)


@dataclass(frozen=True)
class OrdinaryLeastSquares(Estimator):
    """Least squares, all equations alike.

    noise: of joints with errors of their own size (``per-joint``: the covariance is a sandwich), or ``common``: one
    σ_ρ² = ‖Y − W χ̂‖² / (r − c) for all equations and σ_ρ² (WᵀW)⁻¹, exactly [12.6]–[12.9], every row counted.

    >>> ex.identify(robot, log, estimator=ex.OrdinaryLeastSquares()).fit[0].total_percent < 1.0
    True
    >>> one = ex.identify(robot, log, estimator=ex.OrdinaryLeastSquares(noise="common")).estimate
    >>> bool((one.noise == one.noise[0]).all())
    True"""

    word, title = "ols", "ordinary least squares"
    noise: Annotated[str, OneWord((PER_JOINT_NOISE, COMMON_NOISE))] = PER_JOINT_NOISE

    @property
    def has_one_sigma(self) -> bool:
        return self.noise == COMMON_NOISE

    def estimate(self, problem: Problem) -> Estimate:
        compressed, alike = problem.compressed.enough(), np.ones(len(problem.joints))
        values, covariance = compressed.information().solve(problem.names)
        if self.has_one_sigma:
            return _of_one_sigma(problem, compressed, values, covariance)
        return linear_estimate(problem, compressed, values, alike, compressed.noise_of(values, alike), WHITE)


def _of_one_sigma(problem: Problem, compressed: Compressed, values: Array, inverse: Array) -> Estimate:
    """[12.6]–[12.9]; inverse: (WᵀW)⁻¹."""
    freedom = float(compressed.rows.sum() - len(values))
    sigma = compressed.residual_noise(
        values, np.zeros(len(problem.joints)), np.ones(len(problem.joints))
    )  # above rounding, by joint
    squares = float((sigma**2 * compressed.rows.sum(axis=0)).sum())
    variance = squares / freedom
    beside = FILTERED_ALL_COUNT if compressed.inflation.max() > 1.0 + ROUNDED_INFLATION else ()
    return Estimate.of(
        problem,
        compressed.information(),
        values=values,
        covariance=variance * inverse,
        noise=np.full(len(problem.joints), np.sqrt(variance)),
        freedom=freedom,
        assumptions=ONE_SIGMA + beside,
    )


@dataclass(frozen=True)
class WeightedLeastSquares(Estimator):
    """Least squares, each equation weighted by the noise of its joint.

    noise: σ of the errors, one or one per equation of an instant (period statistics, for example); None: from the
    residuals, again and again until weights and residuals agree.

    >>> ex.identify(robot, log, estimator=ex.WeightedLeastSquares(noise=(0.15, 0.5, 0.1))).fit[0].total_percent < 1.0
    True"""

    word, title = "wls", "weighted least squares"
    noise: EquationNoise = None

    def estimate(self, problem: Problem) -> Estimate:
        compressed = problem.compressed.enough()
        if self.noise is None:
            values, noise = compressed.reweighted()
            return linear_estimate(problem, compressed, values, noise, noise, WHITE)
        noise = compressed.per_group(self.noise)[0].copy()
        values, _ = compressed.information(noise).solve(problem.names)
        return linear_estimate(problem, compressed, values, noise, noise, WHITE + GIVEN)


@dataclass(frozen=True)
class Sequential(Estimator):
    """noise: σ per equation of an instant; None: what weighted least squares finds in the residuals first."""

    word, title = "sequential", "sequential least squares (Bierman)"
    noise: EquationNoise = None

    def estimate(self, problem: Problem) -> Estimate:
        compressed, given = problem.compressed.enough(), () if self.noise is None else GIVEN
        weights = compressed.reweighted()[1] if self.noise is None else self.noise
        noise = compressed.per_group(weights)[0]
        live = SequentialEstimator(problem.names, noise)
        for _, rows in problem.rows():
            live.update(rows.w, rows.y)
        return linear_estimate(problem, compressed, live.values, noise, noise, WHITE + given)


@dataclass(frozen=True)
class NonNegative(Estimator):
    """Friction, rotor inertia, stiffness, and combinations such as ZZR1 that no physical robot has negative."""

    word, title = "nonnegative", "least squares with friction and rotor inertia not negative"

    def estimate(self, problem: Problem) -> Estimate:
        compressed, bound = StandardEquations.of(problem).whole.enough(), nonnegative_base(problem)

        def solve(noise: Array) -> Array:
            return bounded(compressed.information(noise), bound)

        values, noise, _ = compressed.settled(solve, compressed.reweighted()[1])
        found = linear_estimate(problem, compressed, values, noise, noise, WHITE + NONNEGATIVE_ASSUMPTIONS)
        held = [name for name, value, b in zip(problem.names, values, bound, strict=True) if b and value == 0.0]
        text = f"held at zero: {', '.join(held)}" if held else "no bound was reached"
        return replace(found, notes=(done("bounds", text),))


def bounded(information: Information, bound: BoolArray) -> Array:
    """(p,) minimum of ‖R β − z‖² with β ≥ 0 where ``bound``, exactly (Lawson & Hanson); R need not be square."""
    values = np.zeros(len(bound))
    for rows, columns in independent_blocks(information.r):
        values[columns] = _bounded(information.r[np.ix_(rows, columns)], information.z[rows], bound[columns])
    return values


def _bounded(r: Array, z: Array, bound: BoolArray) -> Array:
    free, held = np.flatnonzero(~bound), np.flatnonzero(bound)
    both = np.column_stack([r[:, free], r[:, held], z])
    upper: Array = np.asarray(np.linalg.qr(both, mode="r"))
    f, p = len(free), len(bound)
    right = upper[f:p, f:p]
    scale = np.maximum(np.linalg.norm(right, axis=0), 1e-300)
    values = np.zeros(p)
    if held.size:  # nnls of no columns is no small thing: it ends the interpreter
        values[held] = scipy.optimize.nnls(right / scale, upper[f:p, p])[0] / scale
    values[free] = linalg.solve_triangular(upper[:f, :f], upper[:f, p] - upper[:f, f:p] @ values[held])
    return values


@dataclass(frozen=True)
class EliminationStep:
    """One parameter put to the test. relative_std_percent: its relative σ [12.10] then. f, probability: of the step;
    together: probability of all dropped so far, this one included. before, after: root mean square residual of an
    independent equation, in units of its noise. dropped: what was decided."""

    name: str
    relative_std_percent: float
    f: float
    probability: float
    together: float
    before: float
    after: float
    dropped: bool

    @property
    def note(self) -> Note:
        what = "dropped" if self.dropped else "kept, and with it the rest"
        text = (
            f"{self.name} {what}: relative σ {self.relative_std_percent:.3g} %, F = {self.f:.3g} (p = "
            f"{self.probability:.2g}; all dropped together p = {self.together:.2g}), residual {self.before:.5f} → "
            f"{self.after:.5f} of the noise"
        )
        return done("essential", text)


@dataclass(frozen=True)
class Essential(Estimator):
    """Parameters that are not significant are set to zero, the others estimated again (12.7; Pham 91b).
    level: probability with which a parameter that is zero is kept all the same. keep: parameters that stay.

    Backward elimination on the compressed equations. The next candidate is the parameter with the largest relative
    standard deviation [12.10]. It goes when the residual does not rise significantly, by an F-test of that step, and by
    one of all that was dropped so far together against the whole model; else elimination ends."""

    word, title = "essential", "least squares on the essential parameters"
    level: Annotated[float, Number(above=0.0, below=1.0)] = 0.05
    keep: Names = ()

    def estimate(self, problem: Problem) -> Estimate:
        compressed = problem.compressed.enough()
        steps = self.steps(compressed)
        dropped = {step.name for step in steps if step.dropped}
        kept = np.array([k for k, name in enumerate(problem.names) if name not in dropped], dtype=np.int64)
        reduced = compressed.columns(kept)
        values, noise = reduced.reweighted()
        found = linear_estimate(problem, reduced, values, noise, noise, WHITE + CHOSEN_BY_THE_DATA)
        every, covariance = np.zeros(len(problem.names)), np.zeros((len(problem.names),) * 2)
        every[kept], covariance[np.ix_(kept, kept)] = values, found.covariance
        count = done("essential", f"{len(kept)} essential of {len(problem.names)} parameters")
        return replace(found, values=every, covariance=covariance, notes=(count, *(step.note for step in steps)))

    def steps(self, compressed: Compressed) -> tuple[EliminationStep, ...]:
        """The evidence, in order; the last one is what elimination stopped at, where it did."""
        names = compressed.parameters
        if unknown := [name for name in self.keep if name not in names]:
            raise ParameterError(unknown_name("parameter", unknown[0], names))
        _, noise = compressed.reweighted()
        # over its noise and √inflation, a group of rows counts for as many as are independent
        information = compressed.information(compressed.per_group(noise) * np.sqrt(compressed.inflation))
        rows = float(compressed.independent.sum())
        freedom = max(rows - len(names), 1.0)
        kept, squares, risen = list(range(len(names))), information.residual, 0.0
        steps: list[EliminationStep] = []
        while len(kept) > 1:
            free = [i for i, k in enumerate(kept) if names[k] not in self.keep]
            if not free:
                break
            p, sides = len(kept), np.column_stack([information.r[:, kept], information.z])
            upper: Array = np.asarray(np.linalg.qr(sides, mode="r"))
            inverse = np.linalg.inv(upper[:p, :p])
            size = np.abs(inverse @ upper[:p, p]) / np.sqrt((inverse**2).sum(axis=1))  # over σ
            i, count = min(free, key=lambda i: size[i]), len(steps) + 1
            f = float(size[i] ** 2)  # what the squared residual rises by, over the noise's variance
            risen += f
            alone, together = (
                float(scipy.stats.f.sf(f, 1, freedom)),
                float(scipy.stats.f.sf(risen / count, count, freedom)),
            )
            step = EliminationStep(
                name=names[kept[i]],
                relative_std_percent=float(100.0 / max(size[i], 1e-300)),
                f=f,
                probability=alone,
                together=together,
                before=float(np.sqrt(squares / rows)),
                after=float(np.sqrt((squares + f) / rows)),
                dropped=min(alone, together) >= self.level,
            )
            steps.append(step)
            if not step.dropped:
                break
            squares += f
            kept.pop(i)
        return tuple(steps)


#: others have a covariance of their own
LINEAR_ESTIMATORS = (OrdinaryLeastSquares, WeightedLeastSquares, Sequential, Essential)
