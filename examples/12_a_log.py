"""From a log to motion and torque: described as data, judged, repaired, differentiated; both sides filtered alike."""

import tempfile
from pathlib import Path

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.experiment.process import process
from exciter.experiment.quality import check
from exciter.experiment.recording import open_recording
from exciter.experiment.signals.butterworth import Butterworth
from exciter.experiment.signals.filtered_differences import FilteredDifferences
from exciter.experiment.signals.parallel_filter import ParallelFilter, filtered_rows
from exciter.experiment.synthetic import synthetic_recording
from exciter.identification.information import Information
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import load

robot = load("kuka-ir361")
model = DynamicModel(robot, (RotorInertia(), Viscous(), Coulomb()))
folder = Path(tempfile.mkdtemp())

# Somebody's log: degrees, milliseconds, torques in kN·m, a packet lost now and then.
family = Fourier(period=5.0, harmonics=4)
delta = 0.3 * np.random.default_rng(3).standard_normal((robot.n, len(family.labels)))
once = motion(family, delta, np.arange(1250) / 250.0)
log = synthetic_recording(model, once, model.nominal, noise=2.0, position_noise=2e-5, periods=4)
kept = np.random.default_rng(0).random(len(log)) > 0.01
table = np.column_stack([1e3 * log.time, np.degrees(log.q), 1e-3 * log.torque])[kept]
header = "stamp;a1;a2;a3;t1;t2;t3"
np.savetxt(folder / "log.csv", table, fmt="%.12g", delimiter=";", header=header, comments="")

# What it means is data.
(folder / "recording.yaml").write_text(
    """
file: log.csv
joints: [joint_1, joint_2, joint_3]
time: {column: stamp, unit: ms}
position: {columns: [a1, a2, a3], unit: deg}
torque: {columns: [t1, t2, t3], unit: kN·m}
period: 5
""",
    encoding="utf-8",
)
recording = open_recording(folder / "recording.yaml").read().arranged(robot)

# Before anything is computed: what is it good for?
quality = check(recording, robot)
print(quality.verdict)
for finding in quality.findings:
    print(f"  {finding.subject}: {finding.text}")

# A motion that repeats is averaged and differentiated as a series; another route is a settings object.
for route in (None, FilteredDifferences(cutoff=8.0)):
    prepared = process(recording, route)
    (part,) = prepared.parts
    exact = motion(family, delta, part.motion.time)
    error = np.sqrt(((part.motion.qdd - exact.qdd) ** 2).mean() / (exact.qdd**2).mean())
    print(f"{type(route).__name__ if route else 'usual route'}: {len(part)} samples, acceleration off by {error:.1e}")
    for note in prepared.notes:
        print(f"  {note.text}")

    # W χ = y, both sides through the same low-pass filter and decimated; W never exists whole.
    information = Information.empty(len(model.base))
    for rows in filtered_rows(model, part, ParallelFilter(Butterworth(5.0, 4)), model.base.independent):
        information = information.add(*rows.equations())
    values, _ = information.solve()
    true = model.base.base_values(model.nominal)
    print(f"  base parameters off by {np.linalg.norm(values - true) / np.linalg.norm(true):.1e}")
