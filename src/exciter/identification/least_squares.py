"""Weighted least squares on the inverse dynamic model [12.18]: every joint's rows over its noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.identification.information import Information
from exciter.robot.motion import Motion

Array = NDArray[np.float64]
CHUNK = 2048  # samples at a time, so that memory does not grow with the log


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


def weighted_least_squares(model: DynamicModel, motion: Motion, torque: Array, noise: Array) -> Estimate:
    """Base parameters of ``model`` from torques (N, n) with noise σ (n,) per joint [N·m]."""
    columns = model.base.independent
    information = Information.empty(len(columns))
    for start in range(0, len(motion), CHUNK):
        part = slice(start, start + CHUNK)
        piece = Motion(motion.time[part], motion.q[part], motion.qd[part], motion.qdd[part])
        rows = model.regressor(piece)[:, :, columns] / noise[:, None]
        information = information.add(rows.reshape(-1, len(columns)), (torque[part] / noise).ravel())
    values, covariance = information.solve()
    freedom = max(1, information.rows - len(columns))
    return Estimate(model.base.names, values, covariance, float(np.sqrt(information.residual / freedom)))
