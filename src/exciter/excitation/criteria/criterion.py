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
from exciter.typing import Array

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
    def h(self) -> Array:
        """H = H₀ + WᵀW (b, b)."""
        return self.gram if self.prior is None else self.gram + self.prior

    def pullback(self, dfdh: Array) -> MotionGradient:
        """Gradient of f(H) with respect to every sample, from ∂f/∂H (b, b)."""
        c = self.columns.combination
        return self._rows.pullback(dfdh if c is None else c @ dfdh @ c.T)

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

    def bound(self, model: DynamicModel, trajectory: Trajectory) -> AnyCriterion:
        """With what is left open taken from the model and the family of the motion."""
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
    """Figures of a motion for the base parameters, or the given columns; weights 1/σ² (n,) or one for all.
    prior (b, b): information of earlier experiments. Condition numbers are accurate up to about 1e12."""
    chosen = DesignColumns.of(model, columns)
    rows = np.broadcast_to(np.asarray(weights, dtype=float), (model.n,))
    w = Observed(model, motion, chosen, rows, formulation or TorqueRows()).w
    if prior is not None:
        values, vectors = np.linalg.eigh(prior)
        w = np.vstack([w, np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T])
    b = len(chosen)
    r = qr(w, mode="r")[0][:b]  # of W = Q R
    norms = np.linalg.norm(r, axis=0)
    unit = r / np.where(norms > 0, norms, 1.0)
    normalized = float(np.linalg.cond(unit))
    if normalized > SINGULAR_CONDITION_NUMBER or len(r) < b:
        return Figures(names=chosen.names, predicted_std=np.full(b, np.inf))
    upper = qr(unit, mode="r")[0]
    return Figures(
        names=chosen.names,
        condition_number=float(np.linalg.cond(r)),
        condition_number_normalized=normalized,
        log_det=2.0 * float(np.log(np.abs(upper.diagonal())).sum() + np.log(norms).sum()),
        predicted_std=np.linalg.norm(solve_triangular(upper, np.eye(b)), axis=1) / norms,
    )


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
        return unexcited(self.observed(motion).h, self.chosen.names)
