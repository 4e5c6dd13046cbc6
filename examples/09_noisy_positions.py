"""Joint positions are noisy too: the Cramér–Rao bound depends on the parameters, so design and estimation alternate."""

import itertools

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.criteria import CramerRao, iterate
from exciter.excitation.design import design
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.experiment.synthetic import synthetic
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.parameters.terms import Viscous
from exciter.robot import Motion, load

model = DynamicModel(load("gautier-khalil"), (Viscous(),))
family, noise, joint_noise = Fourier(6.0, 3), 0.5, 2e-3  # [N·m], [rad]
base = list(model.base.independent)
experiments = itertools.count()
guess = 0.5 * model.nominal  # what is believed before the first experiment


def best_motion(known: np.ndarray) -> Motion:
    criterion = CramerRao(family, joint_noise, tuple(known))
    found = design(model, family, criterion=criterion, noise=noise, samples=60, starts=1)
    print(f"design: log det of the covariance bound {found.value:.3f}")
    return motion(family, found.delta, family.sample_times(60))


def identified(log: Motion) -> np.ndarray:
    data = synthetic(model, log, model.nominal, noise, seed=next(experiments))
    known = np.zeros(len(model.standard))
    run = Run.at(log, data.torque, rate=10.0)
    known[base] = WeightedLeastSquares(noise).estimate(Problem(model, (run,))).values
    return known


rounds = iterate(best_motion, identified, guess, rounds=4, tolerance=0.05, scale=np.abs(guess).max())
print(f"{len(rounds.plans)} rounds; the estimate has settled: {rounds.settled}")
