"""Value and exact gradient of an excitation criterion for any number of trajectory coefficients, in one pass back."""

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria import ConditionNumber, DOptimality
from exciter.excitation.objective import Objective
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion, pullback
from exciter.parameters.terms import Coulomb, Tanh, Viscous
from exciter.robot import load

robot = load("panda")
model = DynamicModel(robot, (Viscous(), Coulomb(Tanh(0.03))))  # a smooth sign while optimising
trajectory = Fourier(period=10.0, harmonics=5)
times = trajectory.sample_times(200)
delta = 0.3 * np.random.default_rng(0).standard_normal((robot.n, trajectory.coefficients))

for criterion in (DOptimality(), ConditionNumber()):
    objective = Objective(model, criterion, model.base.independent, np.ones(robot.n))
    value, by_motion = objective.value_and_gradient(motion(trajectory, delta, times))
    gradient = pullback(trajectory, times, by_motion)
    direction = np.random.default_rng(1).standard_normal(delta.shape)
    step = 1e-6
    later, earlier = (objective.value(motion(trajectory, delta + s * direction, times)) for s in (step, -step))
    difference = (later - earlier) / (2 * step)
    print(
        f"{type(criterion).__name__}: {value:.6g}; {gradient.size} derivatives; along a direction "
        f"{(gradient * direction).sum():.8g}, by differences {difference:.8g}"
    )
