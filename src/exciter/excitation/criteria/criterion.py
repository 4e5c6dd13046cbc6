"""What a criterion is: a number to be made small, with its exact derivative; and the figures that are always reported.

Most criteria need the Gram matrix H = WᵀΣ⁻¹W only (``Criterion``); some need the rows or torques themselves
(``MotionCriterion``). ``Observed.evaluation`` makes both look alike, so that a weighted sum may mix them.
The optimiser sees a ``DesignObjective``: a motion in, the criterion and its exact gradient by every sample out.
The figures of a motion, and which parameters it misses, come by orthogonal decomposition of W (``evaluate``).

The largest or smallest of several numbers (singular values, elements of W) has a kink where two of them coincide.
Values are exact there too; the derivative is that of one of the two, so an optimiser sees a slope that jumps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError
from exciter.excitation.criteria import observation_rows
from exciter.excitation.criteria.observation_rows import DesignColumns, DesignRows, TorqueRows
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.robot.motion import Motion, MotionGradient
from exciter.settings import Settings
from exciter.typing import Array, BoolArray

SINGULAR_CONDITION_NUMBER = 1e14  # a condition number with unit columns above this is rounding
ZERO_COLUMN_SHARE = 1e-28  # of H's largest diagonal element: the square of what rounding leaves of a zero column
UNEXCITED_LEAST_SHARE = 0.3  # of the largest share in a direction that is not excited


def rounding(h: Array) -> float:
    """What counts as zero beside one in a matrix of this size."""
    return float(len(h) * np.finfo(float).eps)


def inverse(h: Array) -> tuple[Array, float] | None:
    """H⁻¹ and log det H; None when H is singular."""
    scale = np.sqrt(np.maximum(h.diagonal(), 0.0))  # equilibrated first: parameters have different units
    if not (np.isfinite(scale) & (scale > 0)).all():
        return None
    even = np.outer(scale, scale)
    lower, failed = dpotrf(h / even, lower=True)
    if failed or lower.diagonal().min() ** 2 <= rounding(h):
        return None
    half, _ = dpotri(lower, lower=True)  # its lower triangle
    full: Array = (np.tril(half) + np.tril(half, -1).T) / even
    return full, 2.0 * float(np.log(lower.diagonal() * scale).sum())


def singular(h: Array) -> tuple[float, Array]:
    """What a criterion answers when it is infinite."""
    return np.inf, np.zeros_like(h)


@dataclass(frozen=True, eq=False)
class ReducedInformation:
    """H = JᵀH_all J with Jᵀ = [1, −H_in H_nn⁻¹]: the Schur complement, inverse of the block of H_all⁻¹ that belongs to
    the parameters of interest, whatever the others (n) are (D_s-optimality for log det). J (b, i).

    To first order J may be held: ∂f/∂H_all = J (∂f/∂H) Jᵀ. Of parameters n that cannot be told from each other, only
    what can be told counts: they need not be determined."""

    h: Array
    j: Array

    @classmethod
    def of(cls, whole: Array, nuisance: BoolArray | None) -> ReducedInformation:
        if nuisance is None:
            return cls(whole, np.eye(len(whole)))
        others, interest = np.flatnonzero(nuisance), np.flatnonzero(~nuisance)
        across = whole[np.ix_(others, interest)]
        j = np.zeros((len(whole), len(interest)))
        j[interest] = np.eye(len(interest))
        j[others] = -_solved(whole[np.ix_(others, others)], across)
        own = whole[np.ix_(interest, interest)]
        half = own + across.T @ j[others]
        h = 0.5 * (half + half.T)
        lost = h.diagonal() <= rounding(whole) * own.diagonal()  # only rounding is left of what others explain
        h[lost] = h[:, lost] = 0.0
        return cls(h, j)

    def lifted(self, dfdh: Array) -> Array:
        """∂f/∂H_all (b, b)."""
        return self.j @ dfdh @ self.j.T


def _solved(h: Array, right: Array) -> Array:
    """H⁻¹ times a matrix; by the directions in which H tells something where it is singular."""
    if (inverted := inverse(h)) is not None:
        return inverted[0] @ right
    scale = np.sqrt(np.maximum(h.diagonal(), 0.0))
    scale = np.where(scale > np.sqrt(ZERO_COLUMN_SHARE) * scale.max(initial=0.0), scale, np.inf)
    values, vectors = np.linalg.eigh(h / np.outer(scale, scale))
    told = values > rounding(h) * values.max(initial=0.0)
    along = vectors[:, told] / scale[:, None]
    return np.asarray((along / values[told]) @ (along.T @ right))


@dataclass(frozen=True, eq=False)
class Observed:
    """weights (n,): 1/σ² of the joint torques; prior (b, b): information H₀ of earlier experiments, or None."""

    model: DynamicModel
    motion: Motion
    columns: DesignColumns
    weights: Array
    formulation: DesignRows
    prior: Array | None = None

    @cached_property
    def _rows(self) -> observation_rows.ObservedTorqueRows | observation_rows.ObservedEnergyRows:
        """Of the s standard columns in use; C (s, b) combines them, where there is one."""
        return self.formulation.rows(self.model, self.motion, self.columns, self.weights)

    @cached_property
    def gram(self) -> Array:
        """WᵀW (b, b) of this motion alone, rows over their noise."""
        h, c = self._rows.gram(), self.columns.combination
        return h if c is None else c.T @ h @ c

    @cached_property
    def whole(self) -> Array:
        """H₀ + WᵀW (b, b) of all unknown parameters."""
        return self.gram if self.prior is None else self.gram + self.prior

    @cached_property
    def _reduced(self) -> ReducedInformation:
        return self.reduced(self.whole)

    @property
    def h(self) -> Array:
        """H = H₀ + WᵀW: what is told about the parameters of interest, where others are estimated along."""
        return self.whole if self.columns.nuisance is None else self._reduced.h

    def reduced(self, whole: Array) -> ReducedInformation:
        """Of information (b, b) of all unknown parameters."""
        return ReducedInformation.of(whole, self.columns.nuisance)

    def pullback(self, dfdh: Array) -> MotionGradient:
        """Gradient of f(H) with respect to every sample, from ∂f/∂H."""
        c, m = self.columns.combination, dfdh if self.columns.nuisance is None else self._reduced.lifted(dfdh)
        return self._rows.pullback(m if c is None else c @ m @ c.T)

    @cached_property
    def w(self) -> Array:
        """W (R, b), rows over their noise: only where a criterion needs more than H."""
        return self.columns.rows(self._rows.w)

    def rows_pullback(self, seed: Array) -> MotionGradient:
        """Gradient of Σ seed ⊙ W, seed (R, b)."""
        c = self.columns.combination
        return self._rows.rows_pullback(seed if c is None else seed @ c.T)

    def evaluation(self, criterion: AnyCriterion) -> CriterionEvaluation:
        """A criterion of either kind at this motion."""
        if callable(criterion):  # a look at the whole protocol would cost as much as a small criterion itself
            value, dfdh = criterion(self.h)
            return CriterionEvaluation(value=value, dfdh=dfdh)
        return criterion.at(self)


class CriterionSettings(Settings):
    """What a file can choose. companion: it is meaningful beside another one only."""

    companion: ClassVar[bool] = False
    refusal: ClassVar[type[ExciterError]] = ParameterError

    @property
    def name(self) -> str:
        return self.word

    def bound(self, model: DynamicModel, trajectory: Trajectory, columns: DesignColumns | None = None) -> AnyCriterion:
        """With what is left open taken from the model and the family of the motion; columns: the parameters it is
        about, the base parameters unless given."""
        return self  # type: ignore[return-value]


@runtime_checkable
class Criterion(Protocol):
    """A function of H. One class per criterion, settings only."""

    @property
    def name(self) -> str:
        """A word for it."""

    def __call__(self, h: Array) -> tuple[float, Array]:
        """Value and symmetric ∂f/∂H (b, b); infinite, with zeros, when H is singular."""


@dataclass(frozen=True, eq=False)
class CriterionEvaluation:
    """A value, its part that depends on H as ∂f/∂H (b, b), and the gradients of all else, computed when asked for."""

    value: float
    dfdh: Array | None = None
    further: tuple[Callable[[], MotionGradient], ...] = ()

    def times(self, factor: float, value: float) -> CriterionEvaluation:
        """That value, and derivatives times a factor."""

        def scaled(gradient: Callable[[], MotionGradient]) -> MotionGradient:
            g = gradient()
            return MotionGradient(factor * g.q, factor * g.qd, factor * g.qdd)

        dfdh = None if self.dfdh is None else factor * self.dfdh
        return CriterionEvaluation(value=value, dfdh=dfdh, further=tuple(partial(scaled, g) for g in self.further))

    def gradient(self, observed: Observed) -> MotionGradient:
        """With respect to every sample; zero where the value is infinite."""
        if not np.isfinite(self.value):
            return MotionGradient.sum(observed.motion, [])
        parts = [part() for part in self.further]
        if self.dfdh is not None:
            parts.append(observed.pullback(self.dfdh))
        return MotionGradient.sum(observed.motion, parts)


@runtime_checkable
class MotionCriterion(Protocol):
    """A function of more than H: of single elements of W, of torques, of how the motion is parameterised."""

    @property
    def name(self) -> str:
        """A word for it."""

    def at(self, observed: Observed) -> CriterionEvaluation:
        """Value at a motion, with what its gradient needs."""


AnyCriterion = Criterion | MotionCriterion


@dataclass(frozen=True, eq=False)
class Figures:
    """Of W with rows over their noise, prior included: condition_number, normalized with columns of unit length,
    log_det of the information WᵀW, and predicted_std (b,) of the parameters ``names``."""

    names: tuple[str, ...]
    predicted_std: Array
    condition_number: float = np.inf
    condition_number_normalized: float = np.inf
    log_det: float = -np.inf


def evaluate(
    model: DynamicModel,
    motion: Motion,
    weights: ArrayLike,
    columns: ArrayLike | DesignColumns | None = None,
    formulation: DesignRows | None = None,
    prior: Array | None = None,
) -> Figures:
    """Figures of a motion for the base parameters, or those of interest among given columns; weights 1/σ² (n,) or one.
    prior (b, b): information of earlier experiments. Condition numbers are accurate up to about 1e12."""
    chosen = DesignColumns.of(model, columns)
    rows = np.broadcast_to(np.asarray(weights, dtype=float), (model.n,))
    w = Observed(model, motion, chosen, rows, formulation or TorqueRows()).w
    if prior is not None:
        values, vectors = np.linalg.eigh(prior)
        w = np.vstack([w, np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T])
    beside = np.array([], dtype=np.int64) if chosen.nuisance is None else np.flatnonzero(chosen.nuisance)
    names, b, k = chosen.of_interest, len(chosen.interest), len(beside)
    w = w[:, np.concatenate([beside, chosen.interest])]
    r = qr(w, mode="r")[0][: k + b]  # of W = Q R; its last block is what is left of W when others explain what they can
    lengths = np.linalg.norm(r, axis=0)[k:]
    r = _rest(r[:, :k], r[:, k:]) if k else r
    norms = np.linalg.norm(r, axis=0)
    norms = np.where(norms > SINGULAR_CONDITION_NUMBER**-1 * lengths, norms, 0.0)
    unit = r / np.where(norms > 0, norms, 1.0)
    normalized = float(np.linalg.cond(unit))
    if normalized > SINGULAR_CONDITION_NUMBER or len(r) < b:
        return Figures(names=names, predicted_std=np.full(b, np.inf))
    upper = qr(unit, mode="r")[0]
    return Figures(
        names=names,
        condition_number=float(np.linalg.cond(r)),
        condition_number_normalized=normalized,
        log_det=2.0 * float(np.log(np.abs(upper.diagonal())).sum() + np.log(norms).sum()),
        predicted_std=np.linalg.norm(solve_triangular(upper, np.eye(b)), axis=1) / norms,
    )


def _rest(others: Array, own: Array) -> Array:
    """Upper triangular factor (b, b) of own columns (R, b) without what others (R, k), perhaps dependent, explain."""
    lengths = np.linalg.norm(others, axis=0)
    u, values, _ = np.linalg.svd(others / np.where(lengths > 0, lengths, 1.0), full_matrices=False)
    told = u[:, values > len(own) * np.finfo(float).eps * values.max(initial=0.0)]
    left = own - told @ (told.T @ own)
    return np.asarray(qr(left - told @ (told.T @ left), mode="r")[0][: own.shape[1]])


def unexcited(h: Array, names: Sequence[str]) -> list[str]:
    """Names of the parameters without any effect and, when all have one, of those that cannot be told apart: the
    largest entries of the directions in which H (b, b) is singular. Empty when H is regular."""
    if np.shape(h) != (len(names), len(names)):
        raise ParameterError(f"H has shape {np.shape(h)} and there are {len(names)} names; give one name per row")
    diagonal = h.diagonal()
    silent = ~(diagonal > ZERO_COLUMN_SHARE * diagonal.max(initial=0.0))
    if silent.any():
        return [name for name, is_silent in zip(names, silent, strict=True) if is_silent]
    scale = 1.0 / np.sqrt(diagonal)  # unit columns: entries of parameters with different units compare
    values, vectors = np.linalg.eigh(h * np.outer(scale, scale))
    lost = vectors[:, values <= values[-1] * rounding(h)]
    share = np.linalg.norm(lost, axis=1)
    limit = UNEXCITED_LEAST_SHARE * share.max(initial=0.0)
    return [name for name, part in zip(names, share, strict=True) if part > 0 and part >= limit]


@dataclass(frozen=True, eq=False)
class DesignObjective:
    """criterion(H₀ + WᵀΣ⁻¹W) of motions.
    columns: standard column numbers (b,), a matrix C (p, b) with χ = C θ, or ``DesignColumns``. weights (n,): 1/σ² of
    the joint torques. prior (b, b): information H₀ of earlier experiments; a motion that is sampled more coarsely than
    it will be recorded needs weights multiplied by the ratio, or the prior counts too much."""

    model: DynamicModel
    criterion: AnyCriterion
    columns: ArrayLike | DesignColumns
    weights: Array
    formulation: DesignRows = field(default_factory=TorqueRows)
    prior: Array | None = None

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=float)
        if weights.shape != (self.model.n,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ParameterError(
                f"weights must be {self.model.n} numbers ≥ 0, one per joint; given {np.asarray(self.weights).tolist()}"
            )
        object.__setattr__(self, "weights", weights)
        if self.prior is None:
            return
        prior, b = np.asarray(self.prior, dtype=float), len(self.chosen)
        if prior.shape != (b, b) or not (np.isfinite(prior).all() and np.allclose(prior, prior.T, rtol=1e-9)):
            raise ParameterError(f"the prior information has shape {prior.shape}; it must be symmetric, {b} × {b}")
        object.__setattr__(self, "prior", prior)

    @cached_property
    def chosen(self) -> DesignColumns:
        """The parameters the criterion is about, by name."""
        return DesignColumns.of(self.model, self.columns)

    def observed(self, motion: Motion) -> Observed:
        """The motion as criteria see it."""
        return Observed(self.model, motion, self.chosen, self.weights, self.formulation, self.prior)

    def gram(self, motion: Motion) -> Array:
        """WᵀΣ⁻¹W (b, b), without prior: add it to the prior of the next design."""
        return self.observed(motion).gram

    def value(self, motion: Motion) -> float:
        return self.observed(motion).evaluation(self.criterion).value

    def value_and_gradient(self, motion: Motion) -> tuple[float, MotionGradient]:
        """f and its gradient with respect to q, q̇, q̈ of every sample; zero where f is infinite."""
        observed = self.observed(motion)
        result = observed.evaluation(self.criterion)
        return result.value, result.gradient(observed)

    def unexcited(self, motion: Motion) -> list[str]:
        """Names of the parameters that neither the motion nor the prior tells anything about."""
        h, nuisance = self.observed(motion).whole, self.chosen.nuisance
        if nuisance is None:
            return unexcited(h, self.chosen.names)
        silent = ~(h.diagonal() > ZERO_COLUMN_SHARE * h.diagonal().max(initial=0.0))
        kept = np.flatnonzero(~(nuisance & silent))  # others need not be excited
        found = unexcited(h[np.ix_(kept, kept)], [self.chosen.names[k] for k in kept])
        return [name for name in found if name in self.chosen.of_interest]
