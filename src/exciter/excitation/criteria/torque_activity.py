"""Torque activity: torques that stand out from the noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exciter.excitation.criteria.criterion import CriterionSettings, Evaluation
from exciter.excitation.criteria.observed import Observed
from exciter.settings import Amount


@dataclass(frozen=True)
class InverseTorque(CriterionSettings):
    """1 / Σ_j mean_t |τ_j| [1/(N·m)]: second summand of Rackl et al. (15), with |τ| so that torques cannot cancel.

    chi (p,): standard parameters, the description's unless given. The mean over time keeps its balance with a
    condition number when a motion is sampled more densely; ξ₂ of the paper is ours times its number of points.
    """

    chi: tuple[Amount, ...] | None = None

    word: ClassVar[str] = "torque-activity"
    title: ClassVar[str] = "torque activity"
    companion: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "inverse-torque"

    def __post_init__(self) -> None:
        if self.chi is not None:
            object.__setattr__(self, "chi", tuple(float(x) for x in self.chi))

    def at(self, observed: Observed) -> Evaluation:
        model, motion = observed.model, observed.motion
        torque = model.torque(motion, self.chi)
        activity = float(np.abs(torque).mean(axis=0).sum())
        if not activity > 0:
            return Evaluation(np.inf)
        seed = -np.sign(torque) / (len(motion) * activity**2)
        return Evaluation(1.0 / activity, further=(lambda: model.torque_pullback(motion, seed, self.chi),))
