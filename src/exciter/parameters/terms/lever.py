"""The lever of a spring or cylinder: one end on the base side at distance D, one on the link at distance k.

Seen along the joint's axis both ends and the axis are a triangle with the angle δ = q + offset at the axis:

    length L = √(D² + k² − 2 D k cos δ),   lever arm h = dL/dq = D k sin δ / L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters.terms.per_joint import check_positive
from exciter.parameters.terms.ranges import Interval, cosine, sine, times
from exciter.settings import Number
from exciter.typing import Array

Arm = Annotated[float, Number(above=0.0, unit="m")]
Angle = Annotated[float, Number(unit="rad")]


@dataclass(frozen=True)
class Lever:
    """D and k [m] different (or the length could vanish), offset [rad]."""

    base_arm: float
    link_arm: float
    offset: float

    def __post_init__(self) -> None:
        check_positive(self.base_arm, "base_arm")
        check_positive(self.link_arm, "link_arm")
        if not math.isfinite(self.offset):
            raise ParameterError(f"offset is {self.offset}; it must be a finite angle [rad]")
        if math.isclose(self.base_arm, self.link_arm, rel_tol=1e-6):
            raise ParameterError(
                f"base_arm and link_arm are both {self.base_arm:g} m, so the spring's length could vanish; "
                "give two different lengths"
            )

    @property
    def shortest(self) -> float:
        """Length at δ = 0 [m]."""
        return abs(self.base_arm - self.link_arm)

    @property
    def longest(self) -> float:
        """Length at δ = π [m]."""
        return self.base_arm + self.link_arm

    def ranges(self, q: Interval) -> tuple[Interval, Interval]:
        """Lowest and highest length L and lever arm h while q stays within an interval."""
        product = self.base_arm * self.link_arm
        angle = q[0] + self.offset, q[1] + self.offset
        nearest = cosine(angle)
        low, high = (
            np.sqrt(self.base_arm**2 + self.link_arm**2 - 2.0 * product * cos) for cos in (nearest[1], nearest[0])
        )
        arm = times(sine(angle), (product / high, product / low))
        reach = min(self.base_arm, self.link_arm)  # no line through the end of an arm passes the axis further away
        return (low, high), (np.maximum(arm[0], -reach), np.minimum(arm[1], reach))

    def at(self, q: Array) -> tuple[Array, Array, Array]:
        """Length L [m], lever arm h = dL/dq [m], and dh/dq [m]."""
        angle = q + self.offset
        product = self.base_arm * self.link_arm
        length = np.sqrt(self.base_arm**2 + self.link_arm**2 - 2.0 * product * np.cos(angle))
        arm = product * np.sin(angle) / length
        return length, arm, (product * np.cos(angle) - arm**2) / length
