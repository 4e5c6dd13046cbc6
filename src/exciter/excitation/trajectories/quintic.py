"""Points (q, q̇) joined by fifth-order polynomials (Gautier & Khalil 1992, eqs. (24)–(28))."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ExciterError, shown
from exciter.excitation.trajectories.piecewise import MOST_FAMILY_SPANS, PiecewisePolynomial
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.excitation.trajectories.trajectory import Duration
from exciter.settings import Amount, Settings, Switch, Whole, keys_of
from exciter.settings.fill import adapter, checked
from exciter.typing import Array


@dataclass(frozen=True)
class EvenTimes(Settings):
    """Instead of times, in a file."""

    duration: Duration = 10.0
    segments: Annotated[int, Whole(1, MOST_FAMILY_SPANS)] = 10


@dataclass(frozen=True)
class Quintic(PiecewisePolynomial):
    """Quintic polynomials between points that the joints pass at given times.

    times t_0 = 0 … t_r [s] at which the joints pass the points with zero acceleration.

    Coefficients (n, 2 r + 2): q_0 … q_r [rad], q̇_0 … q̇_r [rad/s]. at_rest_ends: the first and the last velocity are 0.

    >>> ex.design(robot, ex.Quintic(times=(0.0, 1.5, 3.0, 5.0)), starts=1).curve.duration
    5.0
    """

    word: ClassVar[str] = "quintic"
    title: ClassVar[str] = "fifth-order polynomials between points"
    also: ClassVar[type[Settings]] = EvenTimes
    times: tuple[Amount, ...]
    at_rest_ends: Switch = True

    def __post_init__(self) -> None:
        if len(self.times) > MOST_FAMILY_SPANS + 1:
            raise ExciterError(f"{len(self.times)} times of a quintic trajectory; at most {MOST_FAMILY_SPANS + 1}")
        if len(self.times) < 2 or self.times[0] != 0.0 or not (np.diff(self.times) > 0).all():
            raise ExciterError(f"times {shown(self.times)} of a quintic trajectory; two or more, from 0, increasing")
        checked(Duration, self.times[-1], "the last of the times of a quintic trajectory")

    @classmethod
    def spelled(cls, given: Any, context: Mapping[str, Any]) -> Any:
        if context.get("exact"):
            return given
        even = {key: given.get(key) for key in keys_of(EvenTimes)}
        rest = {key: value for key, value in given.items() if key not in even}
        if rest.get("times") is None:
            steps = adapter(EvenTimes).validate_python(even, context=context)
            rest["times"] = cls.even(steps.duration, steps.segments).times
        return rest

    @classmethod
    def even(cls, duration: float, segments: int, *, at_rest_ends: bool = True) -> Self:
        """Segments of equal duration."""
        steps = EvenTimes(duration, segments)
        return cls(tuple(np.linspace(0.0, steps.duration, steps.segments + 1).tolist()), at_rest_ends)

    @property
    def duration(self) -> float:  # type: ignore[override]
        """[s] t_r"""
        return self.times[-1]

    @property
    def labels(self) -> tuple[str, ...]:
        points = range(len(self.times))
        return tuple(f"q{i}" for i in points) + tuple(f"qd{i}" for i in points)

    @property
    def time_powers(self) -> NDArray[np.int64]:
        return np.repeat([0, 1], len(self.times))

    @cached_property
    def functions(self) -> PolynomialPiece:
        points = len(self.times)
        q, qd = np.split(np.eye(2 * points), 2)
        return PolynomialPiece.from_samples(self.times, q, qd, np.zeros_like(q))

    @cached_property
    def free(self) -> Array:
        """Z (c, v): all coefficients, or all but the first and the last velocity."""
        z = np.eye(self.coefficients)
        return np.delete(z, [len(self.times), -1], axis=1) if self.at_rest_ends else z

    def with_duration(self, duration: float) -> Self:
        """All times scaled."""
        scaled = np.array(self.times) / self.duration * duration
        return replace(self, times=tuple(scaled.tolist()))
