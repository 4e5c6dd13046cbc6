"""A motion as pictures: joint positions at even times, and the path of a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from exciter.dynamics.dynamics import Dynamics
from exciter.typing import Array

PICTURES = 60.0  #: [Hz] per second of motion; what shows them interpolates
MOST_PICTURES = 3000


def picture_times(start: float, end: float) -> Array:
    """[s] evenly, both ends included."""
    return np.linspace(start, end, int(np.clip(PICTURES * (end - start), 2, MOST_PICTURES)))


@dataclass(frozen=True, eq=False)
class Pictures:
    """Positions q (N, n) at even times (N,) [s], and the path (N, 3) [m] of ``frame``, in the base."""

    frame: str
    time: Array
    q: Array
    path: Array

    @classmethod
    def of(
        cls, dynamics: Dynamics, frame: str, start: float, end: float, positions: Callable[[Array], Array]
    ) -> Pictures:
        """positions: (N, n) at times (N,)."""
        time = picture_times(start, end)
        q = positions(time)
        return cls(frame, time, q, dynamics.placement(frame, q)[1])
