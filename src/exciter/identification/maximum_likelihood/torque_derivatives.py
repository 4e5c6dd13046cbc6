"""How the torque of an instant changes with the motion of that instant."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.robot.motion import Motion
from exciter.typing import Array


def torque_derivatives(model: DynamicModel, motion: Motion, chi: ArrayLike) -> Array:
    """(3, n, n, N): ∂τ_j/∂q_i, ∂τ_j/∂q̇_i, ∂τ_j/∂q̈_i of standard parameters χ, at [:, j, i].

    Row j of all instants at once is the adjoint of τ_j: n passes of Newton–Euler, joint terms included. Not for terms
    that remember, whose torque depends on earlier instants.
    """
    found = np.empty((3, model.n, model.n, len(motion)))
    seed = np.zeros((len(motion), model.n))
    for j in range(model.n):
        seed[:, j] = 1.0
        gradient = model.torque_pullback(motion, seed, chi)
        found[:, j] = gradient.q.T, gradient.qd.T, gradient.qdd.T
        seed[:, j] = 0.0
    return found
