"""Whether the rows of a file were rounded so much that the motion through them is another one.

A position that is off by ε lets the interpolant between rows h apart accelerate by up to 12 ε/h²: six decimals at 1 kHz
are 6 rad/s². That holds for cubics and quintics, and for the spline through positions alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from exciter.excitation.trajectories.curve import Curve

LEAST_ROWS = 20  #: few rows may well be round numbers on purpose
MOST_DECIMALS = 9
SHARE = 0.01  #: of the largest acceleration, below which rounding is not worth a word


@dataclass(frozen=True)
class Rounding:
    """Positions with ``decimals`` digits behind the point, at rows ``step`` [s] apart; ``peak`` [rad/s², m/s²] is the
    largest acceleration of the motion through them."""

    decimals: int
    step: float
    peak: float

    @classmethod
    def of(cls, curve: Curve) -> Self | None:
        """The rounding of the positions at a curve's knots; None when they have all their digits."""
        if len(curve.knots) < LEAST_ROWS:
            return None
        q = curve.derivatives(np.arange(len(curve.knots) - 1), curve.knots[:-1], 0)[0]
        for decimals in range(MOST_DECIMALS + 1):
            if np.abs(q - np.round(q, decimals)).max() < 1e-12 * max(1.0, np.abs(q).max()):
                return cls(decimals, float(np.median(np.diff(curve.knots))), float(curve.extremum(2).size.max()))
        return None

    @property
    def acceleration(self) -> float:
        """[rad/s², m/s²] 12 ε/h², that rounding alone can cause."""
        return float(12.0 * 0.5 * 10.0**-self.decimals / self.step**2)

    @property
    def matters(self) -> bool:
        return self.acceleration > SHARE * self.peak

    def __str__(self) -> str:
        return (
            f"the positions look rounded to {self.decimals} decimals, which with rows every {1e3 * self.step:.3g} ms "
            f"means accelerations up to {self.acceleration:.3g} rad/s² (m/s²) between them; write more digits, 17 lose "
            "nothing"
        )
