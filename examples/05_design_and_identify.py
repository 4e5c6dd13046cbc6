"""From a robot to its parameters: design, synthetic experiment, weighted least squares."""

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.design import design
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.experiment.synthetic import synthetic
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import load

robot = load("kuka-ir361")
model = DynamicModel(robot, (Viscous(), Coulomb()))
noise = np.sqrt([25.0, 26.0, 10.0])  # [N·m], the torque noise of Swevers et al. 1997

designed = design(model, Fourier(period=10.0, harmonics=5), noise=noise, starts=4)
tightest = designed.certificate.worst
print(f"log det of the covariance {designed.value:.2f}; all limits hold at every instant, tightest {tightest.what}")

log = motion(designed.trajectory, designed.delta, np.arange(1500) / 150.0)
data = synthetic(model, log, model.nominal, noise)
run = Run.at(data.motion, data.torque, rate=150.0)
found = WeightedLeastSquares(tuple(noise)).estimate(Problem(model, (run,)))
for name, true, value, std in zip(
    found.names, model.base.base_values(model.nominal), found.values, found.std, strict=True
):
    print(f"{name:6s} true {true:8.3f}   identified {value:8.3f} ± {std:.3f}")
