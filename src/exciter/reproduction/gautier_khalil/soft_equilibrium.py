"""A smooth stand-in for the equilibrium S, so that it can be minimised by gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.excitation.criteria import Evaluation, Observed
from exciter.typing import Array


@dataclass(frozen=True)
class SoftEquilibrium:
    """log of ‖w‖_p ‖1/w‖_p over the elements w of W, up to a constant: log S (19) as p → ∞.

    All large and all small elements are pushed, not only the extreme pair. It is infinite where an element is zero, so
    that no element changes its sign on the way.
    """

    power: float
    name: ClassVar[str] = "soft equilibrium"

    def at(self, observed: Observed) -> Evaluation:
        w = observed.w
        size = np.abs(w)
        most, least = float(size.max()), float(size.min())
        if least == 0.0:
            return Evaluation(np.inf)
        large, small = (size / most) ** self.power, (least / size) ** self.power
        value = np.log(most / least) + np.log(large.sum() * small.sum()) / self.power
        seed: Array = (large / large.sum() - small / small.sum()) / w
        return Evaluation(float(value), further=(lambda: observed.rows_pullback(seed),))
