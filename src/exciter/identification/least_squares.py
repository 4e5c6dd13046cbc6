"""Weighted least squares on the inverse dynamic model [12.18]: every joint's rows over its noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.information import Information
from exciter.robot.motion import Motion

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Base parameters by name with their covariance; sigma0: residual over the noise, one when the noise is right."""

    names: tuple[str, ...]
    values: Array
    covariance: Array
    sigma0: float

    @property
    def std(self) -> Array:
        return np.sqrt(self.covariance.diagonal())


def weighted_least_squares(model: DynamicModel, motion: Motion, torque: ArrayLike, noise: ArrayLike) -> Estimate:
    """Base parameters of ``model`` from torques (N, n) with noise σ (n,) per joint [N·m]."""
    torque, noise = np.asarray(torque, dtype=float), model.per_joint(noise, "noise")
    if torque.shape != motion.q.shape or not np.isfinite(torque).all():
        raise ParameterError(f"torque must be finite numbers of shape {motion.q.shape}; given shape {torque.shape}")
    columns = model.base.independent
    information = Information.empty(len(columns))
    for part, phi in model.regressor_chunks(motion):
        rows = phi[:, :, columns] / noise[:, None]
        information = information.add(rows.reshape(-1, len(columns)), (torque[part] / noise).ravel())
    values, covariance = information.solve()
    freedom = max(1, information.rows - len(columns))
    return Estimate(model.base.names, values, covariance, float(np.sqrt(information.residual / freedom)))
