"""Rows of the identification models for any motion: torque, energy, momentum, and how they hang together."""

import numpy as np

import exciter as ex

robot = ex.load("panda")
model = ex.DynamicModel(robot)
time, rate = np.linspace(0.0, 2.0, 2001), np.arange(1.0, 8.0)
phase = np.outer(time, rate)
motion = ex.Motion(time, 0.3 * np.sin(phase), 0.3 * rate * np.cos(phase), -0.3 * rate**2 * np.sin(phase))

phi = model.regressor(motion)  # (N, n, 10 n): τ = Φ χ, with the names of model.standard
chi = model.nominal
torque = model.torque(motion)
print(f"Φ {phi.shape}, |Φχ − τ| = {np.abs(phi @ chi - torque).max():.1e} N·m")

energy = model.energy(motion) @ chi  # the energy, power and filtered models need no q̈
power = (torque * motion.qd).sum(1)
work = (0.5 * np.diff(time) * (power[1:] + power[:-1])).sum()
print(f"energy gained {energy[-1] - energy[0]:.4f} J, work of the joints {work:.4f} J")

dynamics = model.dynamics  # of the bodies alone
inertia = dynamics.inertia_matrix(motion.q[:1])[0]
print(f"inertia matrix: asymmetry {np.abs(inertia - inertia.T).max():.0e}, diagonal {np.round(inertia.diagonal(), 3)}")

rotation, origin = dynamics.placement("flange", motion.q[:1])
jacobian = dynamics.jacobian("flange", motion.q[:1])
print(f"flange at {np.round(origin[0], 4)} m, moving at {np.round(jacobian[0, :3] @ motion.qd[0], 3)} m/s")
