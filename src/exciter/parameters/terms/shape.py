"""How dry friction follows the direction of motion: true sign, smooth sign (pre-sliding: ``dahl``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.errors import MotionError
from exciter.parameters.terms.per_joint import Speed, check_positive, per_joint
from exciter.parameters.terms.ranges import Interval
from exciter.settings import Settings
from exciter.typing import Array

REST = 1e-9  # [rad/s or m/s] a slower joint stands still


class BoundShape(ABC):
    """z in −1 … 1 of each joint over time, from its q and q̇ (m, N)."""

    memory: ClassVar[bool] = False  #: whether z depends on earlier samples

    @abstractmethod
    def values(self, q: Array, qd: Array) -> Array:
        """(m, N) z."""

    def after(self, q: Array, qd: Array) -> BoundShape:
        """The shape for samples the first of which is the last of these; itself where nothing is remembered."""
        if self.memory:
            raise MotionError(f"{type(self).__name__} remembers earlier samples, and cannot go on: it needs after()")
        return self

    def value_range(self, low: Array, high: Array) -> Interval:
        """Lowest and highest z while q̇ stays between low and high (m, M); z grows with q̇ unless a shape says more."""
        return self.values(low, low), self.values(high, high)

    @abstractmethod
    def pullback(self, q: Array, qd: Array, seed: Array) -> tuple[Array | None, Array | None]:
        """Gradients of Σ seed ⊙ z with respect to q and q̇, each (m, N); None where it is zero."""


class FrictionShape(Settings, ABC):
    """Settings of a shape, frozen, without joints."""

    @abstractmethod
    def bind(self, joints: Sequence[str]) -> BoundShape:
        """The shape on the named joints, in that order."""

    def smoothed(self, width: float) -> FrictionShape:
        """The shape to optimise with; only the true sign needs another."""
        return self


@dataclass(frozen=True)
class Sign(FrictionShape):
    """z = sgn(q̇), 0 at rest; its derivative is taken as zero.

    Below REST is rest: a planned stop is never exactly zero in floating point, and rounding must not choose the sign.
    """

    word: ClassVar[str] = "sign"
    title: ClassVar[str] = "sign"

    def bind(self, joints: Sequence[str]) -> BoundShape:
        return _Sign()

    def smoothed(self, width: float) -> FrictionShape:
        return Tanh(width)


class _Sign(BoundShape):
    def values(self, q: Array, qd: Array) -> Array:
        return np.where(np.abs(qd) > REST, np.sign(qd), 0.0)

    def value_range(self, low: Array, high: Array) -> Interval:
        """Of both readings of a motion slower than REST, rest and its sign: a certificate must hold for either."""
        lowest = np.sign(np.where(low > REST, low, np.minimum(low, 0.0)))
        highest = np.sign(np.where(high < -REST, high, np.maximum(high, 0.0)))
        return lowest, highest

    def pullback(self, q: Array, qd: Array, seed: Array) -> tuple[Array | None, Array | None]:
        return None, None


@dataclass(frozen=True)
class Tanh(FrictionShape):
    """z = tanh(q̇/width): smooth, for optimisation; width [rad/s or m/s], one or per joint."""

    word: ClassVar[str] = "tanh"
    title: ClassVar[str] = "tanh"
    width: Speed

    def __post_init__(self) -> None:
        check_positive(self.width, "the width of Tanh")

    def bind(self, joints: Sequence[str]) -> BoundShape:
        return _Tanh(per_joint(self.width, joints, "the width of Tanh"))


@dataclass(frozen=True, eq=False)
class _Tanh(BoundShape):
    width: Array

    def values(self, q: Array, qd: Array) -> Array:
        # tanh by one exponential: several times faster than np.tanh, which is what optimisation would spend here
        decay = np.exp(np.abs(qd) * (-2.0 / self.width))
        return np.copysign((1.0 - decay) / (1.0 + decay), qd)

    def pullback(self, q: Array, qd: Array, seed: Array) -> tuple[Array | None, Array | None]:
        return None, seed * (1.0 - self.values(q, qd) ** 2) / self.width
