"""Short time intervals of a curve, with all that bounds between their ends are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.robot.motion import Motion

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spans:
    """M intervals [start, end] (M,) of a curve, none with a knot inside; ``left`` and ``right``: the motion at their
    ends, one-sided (from inside); ``rates`` (4, n, M) ≥ |q̇|, |q̈|, |q⃛|, |q⁗| throughout."""

    start: Array
    end: Array
    left: Motion
    right: Motion
    rates: Array

    @property
    def width(self) -> Array:
        return self.end - self.start
