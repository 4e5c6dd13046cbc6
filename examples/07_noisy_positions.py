"""Joint positions are noisy too: the Cramér–Rao bound depends on the parameters, so design and estimation alternate."""

import numpy as np

import exciter as ex

robot, terms = ex.load("gautier-khalil"), (ex.Viscous(),)
believed = robot.with_inertias(0.5 * robot.inertias)  # before the first experiment
criterion = {"cramer-rao": {"joint_noise": 2e-3}}  # σ of the positions [rad]; as in a file
chance = np.random.default_rng(0)
truth = ex.DynamicModel(robot, terms)

for number in range(3):
    family = ex.Fourier(6.0, 3, at_rest=True)
    motion = ex.design(believed, family, terms=terms, criterion=criterion, noise=0.5, samples=60, starts=1)
    print(f"design {number + 1}: log det of the covariance bound {motion.design.value:.3f}")
    executed = motion.curve.motion(np.arange(0.0, 6.0, 0.002))
    torque = truth.torque(executed) + 0.5 * chance.standard_normal(executed.q.shape)
    log = ex.Recording.of(executed.time, executed.q, torque, joints=robot.joint_names)
    found = ex.identify(robot, log, terms=terms, estimator=ex.WeightedLeastSquares())
    known = np.zeros(len(truth.standard))
    known[list(truth.base.independent)] = found.parameters.values
    believed = robot.with_inertias(truth.joint_frame_inertias(known))
    far = np.abs(found.parameters.values - truth.base.base_values(truth.nominal)) / found.parameters.std
    print(f"   estimate: {np.median(far):.2f} σ from the truth, in the median")
