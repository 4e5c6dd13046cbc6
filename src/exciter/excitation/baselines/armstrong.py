"""Armstrong's exciting motions (1989): a sequence of joint accelerations that makes the smallest singular value large.

The accelerations themselves are the unknowns, the freest description of a motion and the one with most variables;
positions and velocities follow by integration. With limits kept by the optimiser it is a design like any other.
"""

from __future__ import annotations

from typing import Any

from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria import EOptimality
from exciter.excitation.design import Design, design
from exciter.excitation.trajectories.acceleration import AccelerationSequence


def armstrong(model: DynamicModel, sequence: AccelerationSequence | None = None, **settings: Any) -> Design:
    """The acceleration sequence that maximises σ_min(FᵀF) within all limits; settings as of ``design``.

    ``random_trajectory(sequence, …)`` draws a random one, to compare with.
    """
    return design(model, sequence or AccelerationSequence(), **{"criterion": EOptimality(), **settings})
