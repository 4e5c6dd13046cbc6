"""Identification while the robot moves: a sample in, better parameters out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.bierman import SequentialEstimator
from exciter.identification.information import Information
from exciter.robot.motion import Motion
from exciter.typing import Array


class LiveIdentification:
    """Base parameters of a model from samples as they come; see ``SequentialEstimator`` for prior and forgetting.

    noise: σ of the torque [N·m], one for all joints or one each.
    """

    def __init__(
        self, model: DynamicModel, noise: ArrayLike, prior: Information | None = None, forgetting: float = 1.0
    ) -> None:
        if any(term.has_memory for term in model.bound):
            raise ParameterError(
                "a joint term of the model remembers earlier samples (Dahl friction), and samples come one by one; use "
                "Coulomb friction"
            )
        self.model = model
        self._layout = model.layout(model.base.independent)
        self.estimator = SequentialEstimator(model.base.names, model.per_joint(noise, "noise"), prior, forgetting)

    def update(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, torque: ArrayLike) -> None:
        """One sample of positions, velocities, accelerations and torques (n,), or N of them (N, n)."""
        motion, torque = Motion.at(q, qd, qdd), np.atleast_2d(np.asarray(torque, dtype=float))
        for part, w in self.model.regressor_chunks(motion, layout=self._layout):
            self.estimator.update(w, torque[part])

    @property
    def values(self) -> Array:
        """The estimate (p,) of ``model.base.names``."""
        return self.estimator.values

    @property
    def covariance(self) -> Array:
        """(p, p) of the estimate."""
        return self.estimator.covariance
