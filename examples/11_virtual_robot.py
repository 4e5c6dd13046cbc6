"""A robot to rehearse on: a true machine in an independent engine, its sensors, and parameters nobody has seen."""

from dataclasses import replace

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.experiment.recording import AnalogFilter, Payload
from exciter.experiment.virtual import Encoder, GravityPD, Sampling, TorqueMeter, VirtualRobot, draw
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import Motion, load

robot = load("tx40")
family = Fourier(period=3.0, harmonics=4)
delta = 0.35 * np.random.default_rng(1).standard_normal((robot.n, len(family.labels)))
curve = ramped(family, delta, robot, periods=2)  # from rest, two periods, back to rest

# The truth lies near the description: bodies some 10 % off, friction some 20 %, drawn by a seed.
truth = draw(robot, seed=7)
virtual = VirtualRobot(
    robot, truth, meter=TorqueMeter(noise=0.5), sampling=Sampling(rate=250.0), simulation_rate=2000.0
)
simulated = virtual.run(curve, seed=1)
log = simulated.recording
print(f"{len(log)} samples, period {log.about.period:g} s, settled from {log.about.settled:.2f} s on")
print(f"tracking error at most {1e3 * simulated.tracking.max():.2f} mrad rms")

# The engine shares no equation with the model, and yet the model with the true parameters gives what the drives gave.
slips = np.abs(simulated.motion.qd) > 1e-2  # a joint at rest takes whatever friction holds it
gap = np.abs(truth.model.torque(simulated.motion, truth.chi) - simulated.torque)[slips].max()
print(f"model and engine differ by {gap:.1e} N·m")

# What an estimator makes of the noisy torques.
model = DynamicModel(robot, (RotorInertia(), Viscous(), Coulomb()))
rows = np.flatnonzero(slips.all(axis=1))
true = simulated.motion
motion = Motion(true.time[rows], true.q[rows], true.qd[rows], true.qdd[rows])
run = Run.at(motion, log.torque[rows], rate=virtual.sampling.rate)
found = WeightedLeastSquares(tuple(virtual.meter.std(robot))).estimate(Problem(model, (run,)))
expected = model.base.base_values(truth.chi)
error = np.abs(found.values - expected) / found.std
print(f"{len(expected)} base parameters, {int((error < 2).sum())} within 2 σ of the truth")
for name, value, was, std in list(zip(found.names, found.values, expected, found.std, strict=True))[:4]:
    print(f"{name:6} identified {value:8.4f} ± {std:.4f}   true {was:8.4f}")

# Everything that spoils a log is a setting of its own.
rough = replace(
    virtual,
    control=GravityPD(bandwidth=10.0, rate=1000.0),
    payload=Payload("flange", mass=1.0, centre=(0.0, 0.0, 0.05)),
    encoder=Encoder(counts=2048.0, noise=1e-5),
    meter=TorqueMeter(current=True, noise=0.5, filter=AnalogFilter(order=8, cutoff=40.0)),
    sampling=Sampling(rate=250.0, jitter=2e-4, dropped=0.01),
).run(curve, seed=1)
steps = np.diff(rough.recording.time)
print(f"rough log: {rough.recording.signals}, intervals {1e3 * steps.min():.2f} … {1e3 * steps.max():.2f} ms")
for note in rough.notes:
    print(f"note: {note.text}")
