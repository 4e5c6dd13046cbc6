"""Points at which all joints stop, joined by straight moves whose acceleration is a trapezoid of time.

A move rises to its full acceleration in t_j at constant jerk, keeps it for t_a, falls in t_j, cruises for t_v, and
brakes the same way: seven phases, the fastest from rest to rest within limits of velocity, acceleration and jerk. The
share of the way that is done reaches the velocity, acceleration and jerk

    v = 1/(2 t_j + t_a + t_v),    a = v/(t_j + t_a),    j = a/t_j.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ExciterError, shown
from exciter.excitation.trajectories.piecewise import MOST_SPANS, PiecewisePolynomial, positive_duration
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.settings import Number, Vector
from exciter.typing import Array

SIGNS = (1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0)  # of the jerk, phase by phase


@dataclass(frozen=True)
class Stops(PiecewisePolynomial):
    """moves: (t_j, t_a, t_v) [s] of each, t_j > 0; rest [s]: how long the joints stand at every point.

    Coefficients (n, moves + 1): the points [rad or m].
    """

    word: ClassVar[str] = "stops"
    title: ClassVar[str] = "straight moves between stops"
    moves: tuple[Annotated[tuple[float, float, float], Vector(3, "s")], ...]
    rest: Annotated[float, Number(least=0.0, unit="s")] = 0.0

    def __post_init__(self) -> None:
        if len(self.moves) > MOST_SPANS:
            raise ExciterError(f"{len(self.moves)} moves between stops; at most {MOST_SPANS}")
        moves = np.array(self.moves, dtype=float)
        if moves.ndim != 2 or moves.shape[1] != 3 or not (np.isfinite(moves).all() and (moves >= 0.0).all()):
            raise ExciterError(f"moves {shown(self.moves)} between stops; give times [t_j, t_a, t_v] ≥ 0 for each")
        if not (moves[:, 0] > 0.0).all() or not 0.0 <= self.rest < np.inf:
            raise ExciterError(
                f"moves {shown(self.moves)} with a rest of {self.rest} s; t_j must be positive, the rest ≥ 0"
            )
        object.__setattr__(self, "moves", tuple((float(j), float(a), float(v)) for j, a, v in moves))

    @property
    def duration(self) -> float:  # type: ignore[override]
        """[s] all moves, and a rest at every point."""
        return float(self.functions.knots[-1])

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"q{i}" for i in range(len(self.moves) + 1))

    @property
    def time_powers(self) -> NDArray[np.int64]:
        """Points are positions."""
        return np.zeros(self.coefficients, dtype=np.int64)

    @cached_property
    def stop_times(self) -> Array:
        """(moves + 1, 2) [s] from when to when the joints stand at each point."""
        moving = np.array([_phases(*move).sum() for move in self.moves])
        arrival = np.concatenate([[0.0], np.cumsum(moving + self.rest)])
        return np.stack([arrival, arrival + self.rest], axis=1)

    @cached_property
    def functions(self) -> PolynomialPiece:
        """The share of each point in the posture: 1 where the joints stand at it."""
        points = len(self.moves) + 1
        spans: list[Array] = []
        widths: list[float] = []

        def add(width: float, shares: dict[int, Array]) -> None:
            if width > 0.0:
                widths.append(width)
                spans.append(np.zeros((points, 4)))
                for point, share in shares.items():
                    spans[-1][point] = share

        one = np.array([1.0, 0.0, 0.0, 0.0])
        for i, move in enumerate(self.moves):
            add(self.rest, {i: one})
            for width, done in zip(_phases(*move), _shares(*move), strict=True):
                add(width, {i: one - done, i + 1: done})
        add(self.rest, {points - 1: one})
        knots = np.concatenate([[0.0], np.cumsum(widths)])
        return PolynomialPiece(knots, np.stack(spans, axis=1))

    @cached_property
    def free(self) -> Array:
        """Z (c, v): every point is free."""
        return np.eye(self.coefficients)

    def with_duration(self, duration: float) -> Self:
        """All times scaled."""
        scale = positive_duration(duration) / self.duration
        moves = tuple((scale * j, scale * a, scale * v) for j, a, v in self.moves)
        return replace(self, moves=moves, rest=scale * self.rest)


def _phases(t_j: float, t_a: float, t_v: float) -> Array:
    """(7,) [s]"""
    return np.array([t_j, t_a, t_j, t_v, t_j, t_a, t_j])


def _shares(t_j: float, t_a: float, t_v: float) -> Array:
    """(7, 4): share of the way that is done in each phase, increasing powers of the time since its start."""
    jerk = 1.0 / (t_j * (t_j + t_a) * (2.0 * t_j + t_a + t_v))
    state, rows = np.zeros(3), []
    for width, sign in zip(_phases(t_j, t_a, t_v), SIGNS, strict=True):
        s, v, a = state
        j = sign * jerk
        rows.append([s, v, a / 2.0, j / 6.0])
        state = np.array(
            [s + width * (v + width * (a / 2.0 + width * j / 6.0)), v + width * (a + width * j / 2.0), a + width * j]
        )
    return np.array(rows)
