"""A robot to rehearse on: a true machine in an independent engine, its sensors, and parameters nobody has seen."""

import tempfile
from pathlib import Path

import numpy as np

import exciter as ex

ROUGH = """
simulate:
  control: {law: pd, bandwidth: 10, rate: 1000}
  payload: {frame: flange, mass: 1.0, centre: [0, 0, 0.05]}
  encoder: {counts: 2048, noise: 1.0e-5}
  torque: {signal: current, noise: 0.5}
  filter: {order: 8, cutoff: 40}
  log: {rate: 250, jitter: 2.0e-4, dropped: 0.01}
"""

robot = ex.load("tx40")
motion = ex.design(robot, ex.Fourier(period=3.0, harmonics=4), starts=1)
simulated = ex.simulate(robot, motion, periods=2, seed=7)  # bodies some 10 % off, friction some 20 %, by the seed
log, truth = simulated.recording, simulated.truth
print(f"{len(log)} samples, period {log.about.period:g} s, settled from {log.about.settled:.2f} s on")
print(f"tracking error at most {1e3 * simulated.tracking.max():.2f} mrad rms")

# The engine shares no equation with the model, and yet the model with the true parameters gives what the drives gave.
slips = np.abs(simulated.motion.qd) > 1e-2  # a joint at rest takes whatever friction holds it
gap = np.abs(truth.model.torque(simulated.motion, truth.chi) - simulated.torque)[slips].max()
print(f"model and engine differ by {gap:.1e} N·m")

# Everything that spoils a log is a setting of its own.
with tempfile.TemporaryDirectory() as folder:
    settings = Path(folder) / "rough.yaml"
    settings.write_text(ROUGH, encoding="utf-8")
    rough = ex.simulate(robot, motion, settings, periods=2, seed=7)
steps = np.diff(rough.recording.time)
print(f"rough log: {rough.recording.signals}, intervals {1e3 * steps.min():.2f} … {1e3 * steps.max():.2f} ms")
