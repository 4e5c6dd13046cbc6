"""What a criterion is: a number to be made small, with its exact derivative.

Most criteria need the Gram matrix H = WᵀΣ⁻¹W only (``Criterion``); some need the rows or torques themselves
(``MotionCriterion``). ``evaluation`` makes both look alike, so that a weighted sum may mix them.

The largest or smallest of several numbers (singular values, elements of W) has a kink where two of them coincide.
Values are exact there too; the derivative is that of one of the two, so an optimiser sees a slope that jumps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpotrf, dpotri

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, shown
from exciter.excitation.criteria.design_rows import Columns, DesignRows, ObservedRows
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.robot.motion import Motion, MotionGradient
from exciter.settings import Settings
from exciter.typing import Array


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


def eigen(h: Array) -> tuple[Array, Array] | None:
    """Eigenvalues, ascending, and eigenvectors as columns; None when H is singular."""
    values, vectors = np.linalg.eigh(h)
    return None if values[0] <= values[-1] * rounding(h) else (values, vectors)


def singular(h: Array) -> tuple[float, Array]:
    """What a criterion answers when it is infinite."""
    return np.inf, np.zeros_like(h)


def nominal_sizes(model: DynamicModel, what: str) -> tuple[float, ...]:
    """(b,) sizes of the parameters in the description, none of which may be zero."""
    sizes = np.abs(model.base.base_values(model.nominal))
    for name, size in zip(model.base.names, sizes, strict=True):
        if not size > 0:
            raise ParameterError(
                f"{what} needs the size of every parameter; {name} is 0 in the description, give values"
            )
    return tuple(sizes.tolist())


def checked_scale(values: Sequence[float] | ArrayLike, h: Array, what: str) -> Array:
    """(b,) positive numbers, one per parameter."""
    given = np.asarray(values, dtype=float)
    if given.shape != (len(h),) or not (np.isfinite(given).all() and given.all()):
        raise ParameterError(
            f"{what} must be {len(h)} numbers other than zero, one per parameter; given {shown(given.tolist())}"
        )
    size: Array = np.abs(given)
    return size


@dataclass(frozen=True, eq=False)
class Observed:
    """weights (n,): 1/σ² of the joint torques; prior (b, b): information H₀ of earlier experiments, or None."""

    model: DynamicModel
    motion: Motion
    columns: Columns
    weights: Array
    formulation: DesignRows
    prior: Array | None = None

    @cached_property
    def _rows(self) -> ObservedRows:
        columns = self.columns
        return self.formulation.rows(self.model, self.motion, columns.selected, columns.layout, self.weights)

    @cached_property
    def gram(self) -> Array:
        """WᵀW (b, b) of this motion alone, rows over their noise."""
        return self.columns.gram(self._rows.gram())

    @cached_property
    def h(self) -> Array:
        """H = H₀ + WᵀW (b, b)."""
        return self.gram if self.prior is None else self.gram + self.prior

    def pullback(self, dfdh: Array) -> MotionGradient:
        """Gradient of f(H) with respect to every sample, from ∂f/∂H (b, b)."""
        return self._rows.pullback(self.columns.gram_seed(dfdh))

    @cached_property
    def w(self) -> Array:
        """W (R, b), rows over their noise: only where a criterion needs more than H."""
        return self.columns.rows(self._rows.dense())

    def rows_pullback(self, seed: Array) -> MotionGradient:
        """Gradient of Σ seed ⊙ W, seed (R, b)."""
        return self._rows.dense_pullback(self.columns.rows_seed(seed))


class CriterionSettings(Settings):
    """What a file can choose. companion: it is meaningful beside another one only."""

    companion: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("scale", "values", "chi"):  # where there are any: one number each, from any sequence
            if (given := getattr(self, name, None)) is not None:
                object.__setattr__(self, name, tuple(float(x) for x in given))

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
class Evaluation:
    """A value, its part that depends on H as ∂f/∂H (b, b), and the gradients of all else, computed when asked for."""

    value: float
    dfdh: Array | None = None
    further: tuple[Callable[[], MotionGradient], ...] = ()

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

    def at(self, observed: Observed) -> Evaluation:
        """Value at a motion, with what its gradient needs."""


AnyCriterion = Criterion | MotionCriterion


def evaluation(criterion: AnyCriterion, observed: Observed) -> Evaluation:
    """A criterion of either kind at a motion."""
    if callable(criterion):  # a look at the whole protocol would cost as much as a small criterion itself
        return Evaluation(*criterion(observed.h))
    return criterion.at(observed)
