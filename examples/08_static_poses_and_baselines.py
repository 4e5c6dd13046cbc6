"""Poses for the gravity parameters, and the motions that papers compare with."""

from exciter.dynamics.model import DynamicModel
from exciter.excitation.baselines.random_motion import random_trajectory
from exciter.excitation.baselines.static_poses import static_poses
from exciter.excitation.baselines.straight_moves import constant_velocity
from exciter.excitation.criteria import evaluate
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.robot import load

robot = load("lwr4")
model = DynamicModel(robot)
poses = static_poses(model)
print(f"{len(poses.q)} poses at rest for {len(poses.parameters)} gravity parameters: cond {poses.condition_number:.1f}")

family = Fourier(10.0, 5)
for seed in range(3):
    delta = random_trajectory(family, robot, seed)
    figures = evaluate(model, motion(family, delta, family.sample_times(500)), 1.0)
    print(
        f"random motion {seed}: cond {figures.condition_number:.0f}, log det of the covariance {-figures.log_det:.1f}"
    )

friction = constant_velocity(robot)
print(f"friction, axis by axis: {len(friction.cruises)} constant speeds in {friction.curve.duration:.0f} s")
