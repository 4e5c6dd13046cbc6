"""Periodic excitation as finite Fourier series (Swevers et al. 1997, eq. (11) / (5)).

q_j(t) = q0_j + Σ_l a_jl/(ω l) sin(ω l t) − b_jl/(ω l) cos(ω l t): linear in (a, b, q0), joint by joint. The harmonics l
may be any set of whole numbers, so that a band of frequencies is avoided or hit on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag, null_space

from exciter.errors import ExciterError, shown
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier_piece import HIGHEST_HARMONIC, FourierPiece
from exciter.excitation.trajectories.piecewise import positive_duration
from exciter.excitation.trajectories.trajectory import Duration, Family, as_coefficients
from exciter.settings import Switch
from exciter.settings.kinds import Kind
from exciter.settings.wrong import wrong
from exciter.typing import Array

MOST_HARMONICS = 10_000  # of a series that is fitted to data; a motion for a robot has fewer (``fourier_piece``)


class Harmonics(Kind):
    wanted = f"how many, a whole number ≥ 1, or a list of different ones, at most {HIGHEST_HARMONIC}"

    def check(self, given: Any, context: Mapping[str, Any]) -> int | tuple[int, ...]:
        numbers = given if isinstance(given, list | tuple) else [given]
        whole = bool(numbers) and all(type(k) is int and 1 <= k <= HIGHEST_HARMONIC for k in numbers)
        if not whole or len(set(numbers)) < len(numbers):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        return tuple(numbers) if isinstance(given, list | tuple) else int(given)

    def schema(self) -> dict[str, Any]:
        one = {"type": "integer", "minimum": 1, "maximum": HIGHEST_HARMONIC}
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "uniqueItems": True}]}


@dataclass(frozen=True)
class Fourier(Family):
    """A Fourier series of each joint: periodic, so that a log of several periods can be averaged.

    period [s]; harmonics: how many (1 … h), or which; at_rest: q̇(0) = q̈(0) = 0.

    Coefficients (n, 2 h + 1), columns a_l …, b_l …, q0 [rad/s, rad/s, rad].

    >>> ex.design(robot, ex.Fourier(period=5, harmonics=(1, 2, 4), at_rest=True), starts=1).curve.duration
    5.0
    """

    word: ClassVar[str] = "fourier"
    title: ClassVar[str] = "Fourier series"
    period: Duration = 10.0
    harmonics: Annotated[int | tuple[int, ...], Harmonics()] = 5
    at_rest: Switch = False

    def __post_init__(self) -> None:
        if not isinstance(self.harmonics, int):
            object.__setattr__(self, "harmonics", tuple(sorted(self.harmonics)))
        highest = self.harmonics if isinstance(self.harmonics, int) else max(self.harmonics, default=0)
        if highest > MOST_HARMONICS:
            raise ExciterError(f"harmonics {shown(self.harmonics)}; they must be at most {MOST_HARMONICS}")
        numbers = self.numbers
        if not self.period > 0 or len(numbers) < 1:
            raise ExciterError(f"a Fourier trajectory needs a positive period and ≥ 1 harmonic, not {self}")
        positive_duration(self.period)
        if numbers[0] < 1 or len(set(numbers)) < len(numbers) or any(l != int(l) for l in numbers):
            raise ExciterError(f"harmonics {shown(numbers)}; they must be different whole numbers, 1 or more")
        if self.at_rest and len(numbers) < 2:
            raise ExciterError("one harmonic that starts at rest cannot move; give two or more")

    @property
    def numbers(self) -> tuple[int, ...]:
        """The harmonics l, increasing."""
        return tuple(range(1, self.harmonics + 1)) if isinstance(self.harmonics, int) else self.harmonics

    @property
    def duration(self) -> float:
        """[s] one period."""
        return self.period

    @property
    def periodic(self) -> bool:
        return True

    @property
    def coefficients(self) -> int:
        """c: coefficients per joint."""
        return 2 * len(self.numbers) + 1

    @property
    def labels(self) -> tuple[str, ...]:
        return (*(f"{letter}{l}" for letter in "ab" for l in self.numbers), "q0")

    @property
    def time_powers(self) -> NDArray[np.int64]:
        """a and b are velocities, q0 is a position."""
        return np.array([1] * (self.coefficients - 1) + [0])

    @cached_property
    def free(self) -> Array:
        """Z (c, v): all coefficients, or those with Σ a_l = 0 (velocity) and Σ l b_l = 0 (acceleration) at t = 0."""
        if not self.at_rest:
            return np.eye(self.coefficients)
        number = np.array([self.numbers], dtype=float)
        blocks = block_diag(null_space(np.ones_like(number)), null_space(number), 1.0)
        return np.asarray(blocks, dtype=float)

    def sample_times(self, count: int) -> Array:
        """(count,) [s] evenly over one period, its end excluded."""
        return np.linspace(0.0, self.period, count, endpoint=False)

    def basis(self, time: Array, order: int = 2) -> tuple[Array, ...]:
        """B₀ … B_order (N, c): q = B₀ δ, q̇ = B₁ δ, q̈ = B₂ δ."""
        omega = 2.0 * np.pi / self.period * np.array(self.numbers)
        sin, cos = np.sin(np.outer(time, omega)), np.cos(np.outer(time, omega))
        of_a, of_b = (sin, cos, -sin, -cos), (-cos, sin, cos, -sin)  # derivatives of sin and −cos, in turn
        offset = np.ones((len(time), 1)), np.zeros((len(time), 1))
        return tuple(
            np.hstack([of_a[k % 4] * omega ** (k - 1), of_b[k % 4] * omega ** (k - 1), offset[k > 0]])
            for k in range(order + 1)
        )

    def still(self, posture: ArrayLike) -> Array:
        """Coefficients (n, c) of standing still at a posture (n,)."""
        return np.outer(np.asarray(posture, dtype=float), self.time_powers == 0)

    def curve(self, delta: ArrayLike) -> Curve:
        """The exact motion of coefficients (n, c) over one period."""
        delta = as_coefficients(delta, self.coefficients)
        a, b = np.split(delta[:, :-1], 2, axis=1)
        omega = 2.0 * np.pi / self.period
        return Curve((FourierPiece(0.0, self.period, omega, np.array(self.numbers), a, b, delta[:, -1]),))

    def with_duration(self, duration: float) -> Self:
        """The same harmonics with another period [s]."""
        return replace(self, period=duration)
