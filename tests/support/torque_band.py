"""How sure a predicted torque is, by another way than a validation has it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.information.estimate import Estimate
from exciter.robot.motion import Motion
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Band:
    """torque (N, n) that the estimate predicts; std (N, n): of that prediction; measured (N, n): of one measurement
    less it, which has noise of its own. reach: how many σ a confidence interval goes to both sides."""

    torque: Array
    std: Array
    measured: Array
    reach: float

    @property
    def interval(self) -> tuple[Array, Array]:
        """Ends (N, n) of the confidence interval of the torque itself, instant by instant."""
        return self.torque - self.reach * self.std, self.torque + self.reach * self.std

    @property
    def prediction_interval(self) -> tuple[Array, Array]:
        """Ends (N, n) of the interval of a measurement."""
        return self.torque - self.reach * self.measured, self.torque + self.reach * self.measured


def torque_band(model: DynamicModel, estimate: Estimate, motion: Motion, level: float = 0.95) -> Band:
    """Along a motion, √diag(Φ_b C Φ_bᵀ) piece by piece; ``level``: of each interval, not of all instants together."""
    if estimate.names != model.base.names:
        raise ParameterError("the estimate is not of this model's base parameters; it does not predict torques")
    if estimate.joints != model.robot.joint_names:
        noise = np.full(model.n, np.nan)  # equations of other kinds: energies, wrenches
    else:
        noise = np.asarray(estimate.noise, dtype=float)
    values, vectors = np.linalg.eigh(estimate.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    torque, std = np.empty((2, len(motion), model.n))
    for part, phi in model.regressor_chunks(motion):
        rows = phi[:, :, model.base.independent]
        torque[part] = rows @ estimate.values
        std[part] = np.linalg.norm(rows @ root, axis=2)
    return Band(torque=torque, std=std, measured=np.hypot(std, noise), reach=estimate.quantile(level))
