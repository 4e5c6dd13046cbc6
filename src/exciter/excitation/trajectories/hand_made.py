"""A motion that a procedure puts together, of no family: what was found for it is the curve itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import MotionError
from exciter.excitation.trajectories.curve import Curve, span_of
from exciter.excitation.trajectories.trajectory import Trajectory, as_coefficients
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class HandMade(Trajectory):
    """path: from time 0. One function of time per joint and coefficients that are one: δ (n, n) is the identity, so
    that whatever asks a family for its motion is answered."""

    word, title = "hand-made", "put together by a procedure"
    inner: ClassVar[tuple[str, ...]] = ("path",)
    path: Curve

    @property
    def duration(self) -> float:  # type: ignore[override]
        return self.path.duration

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"path {j + 1}" for j in range(self.path.n))

    def basis(self, time: Array, order: int = 2) -> tuple[Array, ...]:
        inside = np.clip(self.path.start + np.asarray(time, dtype=float), self.path.start, self.path.end)
        return tuple(self.path.derivatives(span_of(self.path.knots, inside), inside, order).transpose(0, 2, 1))

    def curve(self, delta: ArrayLike) -> Curve:
        if not np.array_equal(as_coefficients(delta, self.path.n), np.eye(self.path.n)):
            raise MotionError("a motion of no family has no other coefficients than the identity")
        return self.path

    @property
    def own_delta(self) -> Array:
        """(n, n) of the path itself."""
        return np.eye(self.path.n)
