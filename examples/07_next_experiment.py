"""The next experiment, given what earlier ones have told: the prior turns the design to what is still uncertain."""

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria import DOptimality
from exciter.excitation.design import design
from exciter.excitation.objective import Objective
from exciter.excitation.trajectories.piecewise import BSpline
from exciter.excitation.trajectories.trajectory import motion
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import load

model = DynamicModel(load("gautier-khalil"), (Viscous(), Coulomb()))
family = BSpline(8.0, segments=6)
first = design(model, family, noise=2.0, starts=4)

objective = Objective(model, DOptimality(), model.base.independent, np.full(model.n, 2.0**-2))
known = objective.gram(motion(family, first.delta, family.sample_times(first.samples)))
second = design(model, family, noise=2.0, prior=known, starts=4)
twice = -np.linalg.slogdet(2.0 * known)[1]
print(
    f"log det of the covariance: first {first.log_det:.2f}, the same again {twice:.2f}, new motion {second.log_det:.2f}"
)
for name, once, both in zip(model.base.names, first.predicted_std, second.predicted_std, strict=True):
    print(f"{name:6} σ {once:.4f} → {both:.4f}")
