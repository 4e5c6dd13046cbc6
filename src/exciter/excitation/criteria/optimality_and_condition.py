"""Criteria of the Gram matrix alone: D-, A- and E-optimality, and condition numbers of W, the literature's measures of
excitation, by singular values, norms, QR, of scaled columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpstrf

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.excitation.criteria.a_priori_sizes import USUAL_SIZE_FLOOR, Floor, Sizes, bound_sizes, checked_scale
from exciter.excitation.criteria.criterion import Criterion, CriterionSettings, inverse, rounding, singular
from exciter.excitation.criteria.observation_rows import DesignColumns
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.settings import Positive
from exciter.typing import Array

SURE_EIGENVALUE_SHARE = 1e-9  # of the largest: smaller ones have lost too many digits


def eigen(h: Array) -> tuple[Array, Array] | None:
    """Eigenvalues, ascending, and eigenvectors as columns; None when H is singular."""
    values, vectors = np.linalg.eigh(h)
    if values[0] > values[-1] * SURE_EIGENVALUE_SHARE:
        return values, vectors
    scale = np.sqrt(np.maximum(h.diagonal(), 0.0))  # columns of sizes far apart: by a factor, whose digits are twice
    if not (np.isfinite(scale) & (scale > 0)).all():
        return None
    lower, failed = dpotrf(h / np.outer(scale, scale), lower=True, clean=True)
    if failed or lower.diagonal().min() ** 2 <= rounding(h):
        return None
    _, roots, rows = np.linalg.svd(lower.T * scale)
    return None if roots[-1] <= roots[0] * rounding(h) else (roots[::-1] ** 2, rows[::-1].T)


@dataclass(frozen=True)
class DOptimality(CriterionSettings):
    """The volume of the uncertainty: the usual criterion.

    −log det H = log det of the covariance (Swevers et al. 1997, IEEE, III-B, with the sign put right).

    Scaling the parameters only adds a constant: the best motion does not depend on units.

    >>> value, slope = ex.DOptimality()(np.diag([1.0, 4.0]))
    >>> bool(np.isclose(value, -np.log(4.0)))
    True"""

    word, title = "d-optimal", "D-optimality"

    def __call__(self, h: Array) -> tuple[float, Array]:
        if (inverted := inverse(h)) is None:
            return singular(h)
        covariance, log_det = inverted
        return -log_det, -covariance


def _bound_scale(given: Any, model: DynamicModel, columns: DesignColumns | None, what: str) -> Any:
    """None: all alike."""
    return None if given is None else bound_sizes(given, model, columns, USUAL_SIZE_FLOOR, what)


@dataclass(frozen=True)
class AOptimality(CriterionSettings):
    """Σ (σ_i/scale_i)², σ_i² = (H⁻¹)_ii the predicted variances.

    Parameters have different units: give as scale (b,) the a-priori values, and relative variances are summed; by name
    (``{}``: none), the others have those of the description."""

    scale: Sizes = None

    word, title = "a-optimal", "A-optimality"

    def bound(self, model: DynamicModel, trajectory: Trajectory, columns: DesignColumns | None = None) -> AOptimality:
        return replace(self, scale=_bound_scale(self.scale, model, columns, self.word))

    def __call__(self, h: Array) -> tuple[float, Array]:
        size = np.ones(len(h)) if self.scale is None else checked_scale(self.scale, h, "the scale")
        if (inverted := inverse(h)) is None:
            return singular(h)
        covariance = inverted[0]
        part = covariance / size  # C S⁻¹
        return float((covariance.diagonal() / size**2).sum()), -part @ part.T


@dataclass(frozen=True)
class LogSigma(CriterionSettings):
    """Σ log σ_i, σ_i² = (H⁻¹)_ii the predicted variances: every σ counts by its ratio, whatever its unit.

    Unlike log det it does not reward errors that are correlated: of each parameter its own σ is made small."""

    word, title = "log-sigma", "sum of the logarithms of all σ"

    def __call__(self, h: Array) -> tuple[float, Array]:
        if (inverted := inverse(h)) is None:
            return singular(h)
        covariance = inverted[0]
        part = covariance / np.sqrt(covariance.diagonal())
        return 0.5 * float(np.log(covariance.diagonal()).sum()), -0.5 * part @ part.T


@dataclass(frozen=True)
class EOptimality(CriterionSettings):
    """−log σ_min(FᵀF): Armstrong's smallest singular value, made large.

    Unlike −σ_min, the logarithm grows without bound towards a singular H and fits one tolerance in any unit of
    information. Give as scale (b,) the a-priori values, and the worst relative error counts; by name (``{}``: none),
    the others have those of the description."""

    scale: Sizes = None

    word, title = "e-optimal", "E-optimality"

    def bound(self, model: DynamicModel, trajectory: Trajectory, columns: DesignColumns | None = None) -> EOptimality:
        return replace(self, scale=_bound_scale(self.scale, model, columns, self.word))

    def __call__(self, h: Array) -> tuple[float, Array]:
        size = np.ones(len(h)) if self.scale is None else checked_scale(self.scale, h, "the scale")
        even = np.outer(size, size)
        if (spectrum := eigen(h * even)) is None:
            return singular(h)
        values, vectors = spectrum
        worst = vectors[:, 0]
        return -float(np.log(values[0])), -even * np.outer(worst, worst) / values[0]


@dataclass(frozen=True)
class ConditionNumber(CriterionSettings):
    """The criterion of the literature, for comparison.

    cond(W) = σ_max/σ_min = √(λ_max/λ_min) of H [12.12], Gautier & Khalil (16).

    Not smooth where singular values coincide, which optima tend to do: expect an optimiser to slow down there.

    >>> ex.ConditionNumber()(np.diag([1.0, 4.0]))[0]
    2.0
    >>> ex.design(robot, criterion=ex.ConditionNumber(), starts=1).certificate.certified
    True"""

    word, title = "condition", "condition number"

    def __call__(self, h: Array) -> tuple[float, Array]:
        if (spectrum := eigen(h)) is None:
            return singular(h)
        values, vectors = spectrum
        cond = float(np.sqrt(values[-1] / values[0]))
        small, large = vectors[:, 0], vectors[:, -1]
        return cond, 0.5 * cond * (np.outer(large, large) / values[-1] - np.outer(small, small) / values[0])


@dataclass(frozen=True)
class QrCondition(CriterionSettings):
    """|r₁₁|/|r_bb| of W = Q R Pᵀ with column pivoting, never more than cond(W) (Gautier & Khalil 4.1, measure 2).

    The pivoted Cholesky factor of H is that R. Its first element is the longest column's norm and its last the
    distance of the last pivot's column from all others: √H_ff and 1/√(H⁻¹)_ll. It has kinks where pivots change."""

    word, title = "condition-qr", "condition number by QR"

    def __call__(self, h: Array) -> tuple[float, Array]:
        if (inverted := inverse(h)) is None:
            return singular(h)
        _, order, _, _ = dpstrf(h, lower=1)
        first, last = order[0] - 1, order[-1] - 1
        column = inverted[0][:, last]
        value = float(np.sqrt(h[first, first] * column[last]))
        dfdh = -np.outer(column, column) / column[last]
        dfdh[first, first] += 1.0 / h[first, first]
        return value, 0.5 * value * dfdh


@dataclass(frozen=True)
class FrobeniusCondition(CriterionSettings):
    """‖A‖_F ‖A⁻¹‖_F of A = H (Gautier & Khalil (21), (22)); of the order of cond(W)², at least b.

    No kinks, unlike the 2-norm; the paper found that it converges best."""

    word, title = "condition-frobenius", "condition number by the Frobenius norm"

    def __call__(self, h: Array) -> tuple[float, Array]:
        if (inverted := inverse(h)) is None:
            return singular(h)
        k = inverted[0]
        size, inverse_size = float(np.linalg.norm(h)), float(np.linalg.norm(k))
        value = size * inverse_size
        return value, value * (h / size**2 - k @ k @ k / inverse_size**2)


@dataclass(frozen=True)
class NormalizedCondition(CriterionSettings):
    """cond(W D⁻¹), D the norms of the columns (Swevers et al. 1997, IEEE, below (10); criterion c1).

    It does not see how large the columns are: a joint that barely moves costs nothing. Do not use it alone."""

    word, title = "condition-normalized", "condition number with unit columns"

    def __call__(self, h: Array, condition: Criterion | None = None) -> tuple[float, Array]:
        """condition: another measure of it."""
        diagonal = h.diagonal()
        if not (diagonal > 0).all():
            return singular(h)
        scale = 1.0 / np.sqrt(diagonal)
        even = np.outer(scale, scale)
        unit = h * even
        value, dfdn = (condition or ConditionNumber())(unit)
        return value, dfdn * even - np.diag((dfdn * unit).sum(axis=1) / diagonal)


@dataclass(frozen=True)
class ScaledCondition(CriterionSettings):
    """cond(W diag Z), values Z (b,) the a-priori size of each parameter [12.15]; first summand of Rackl et al. (15).
    By name, or without any, the others are those of the description where it is bound to a model.

    Estimated are then factors on a-priori values (Swevers et al. 1997, ASME, end of 2): relative σ become alike.
    floor: of what the parameter could be, that every size of the description has at least (``a_priori_sizes``)."""

    values: Sizes = None
    floor: Floor = USUAL_SIZE_FLOOR

    word, title = "condition-scaled", "condition number with a-priori values"

    def bound(
        self, model: DynamicModel, trajectory: Trajectory, columns: DesignColumns | None = None
    ) -> ScaledCondition:
        return replace(self, values=bound_sizes(self.values, model, columns, self.floor, self.word))

    def __call__(self, h: Array, condition: Criterion | None = None) -> tuple[float, Array]:
        """condition: another measure of it."""
        if self.values is None:
            raise ParameterError(f"{self.name} has no values; give the size of every parameter, or bind it to a model")
        z = checked_scale(self.values, h, "a-priori values")
        even = np.outer(z, z)
        value, dfdh = (condition or ConditionNumber())(h * even)
        return value, dfdh * even


@dataclass(frozen=True)
class ConditionAndSmallest(CriterionSettings):
    """cond(W) + k₂/σ_min(W) [12.14] (Pressé & Gautier): no good condition by columns that are all small.

    k₂ has the unit of σ_min, which grows with the square root of the number of samples."""

    k2: Positive = 1.0

    word, title = "condition-smallest", "condition number and smallest singular value"

    def __call__(self, h: Array) -> tuple[float, Array]:
        if (spectrum := eigen(h)) is None:
            return singular(h)
        values, vectors = spectrum
        low, high = np.sqrt(values[[0, -1]])
        small, large = vectors[:, 0], vectors[:, -1]
        by_low, by_high = -(high + self.k2) / low**2, 1.0 / low  # of (σ_max + k₂)/σ_min
        dfdh = by_high * np.outer(large, large) / (2 * high) + by_low * np.outer(small, small) / (2 * low)
        return float((high + self.k2) / low), dfdh


@dataclass(frozen=True)
class SoftCondition:
    """√(‖λ‖_p ‖1/λ‖_p) of the eigenvalues λ of H: cond(W) as p → ∞, never below it, and smooth.
    All large and all small singular values are pushed together, not only the extreme pair, which at an optimum of
    cond(W) is one of several equals. scaled: the condition number of scaled columns that it stands for."""

    power: float = 4.0
    scaled: NormalizedCondition | ScaledCondition | None = None

    @property
    def name(self) -> str:
        return f"soft {'condition' if self.scaled is None else self.scaled.name}"

    def __call__(self, h: Array) -> tuple[float, Array]:
        if self.scaled is not None:
            return self.scaled(h, SoftCondition(self.power))
        if (spectrum := eigen(h)) is None:
            return singular(h)
        values, vectors = spectrum
        large, small = (values / values[-1]) ** self.power, (values[0] / values) ** self.power
        spread = np.log(large.sum() * small.sum()) / self.power
        cond = float(np.sqrt(values[-1] / values[0]) * np.exp(0.5 * spread))
        slope = 0.5 * cond * (large / large.sum() - small / small.sum()) / values
        return cond, (vectors * slope) @ vectors.T
