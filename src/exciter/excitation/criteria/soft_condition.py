"""A smooth stand-in for the condition number, for the first part of an optimisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.excitation.criteria.matrices import eigen, singular
from exciter.typing import Array


@dataclass(frozen=True)
class SoftCondition:
    """√(‖λ‖_p ‖1/λ‖_p) of the eigenvalues λ of H: cond(W) as p → ∞, never below it, and smooth.

    All large and all small singular values are pushed together, not only the extreme pair, which at an optimum of
    cond(W) is one of several equals.
    """

    power: float = 4.0
    name: ClassVar[str] = "soft condition"

    def __call__(self, h: Array) -> tuple[float, Array]:
        spectrum = eigen(h)
        if spectrum is None:
            return singular(h)
        values, vectors = spectrum
        large, small = (values / values[-1]) ** self.power, (values[0] / values) ** self.power
        spread = np.log(large.sum() * small.sum()) / self.power
        cond = float(np.sqrt(values[-1] / values[0]) * np.exp(0.5 * spread))
        slope = 0.5 * cond * (large / large.sum() - small / small.sum()) / values
        return cond, (vectors * slope) @ vectors.T
