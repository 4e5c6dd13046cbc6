"""Somebody's log: described as data, read, judged, identified from."""

import tempfile
from pathlib import Path

import numpy as np

import exciter as ex

DESCRIPTION = """
file: log.csv
joints: [joint_1, joint_2, joint_3]
time: {column: stamp, unit: ms}
position: {columns: [a1, a2, a3], unit: deg}
torque: {columns: [t1, t2, t3], unit: kN·m}
period: 5
"""

robot = ex.load("kuka-ir361")
motion = ex.design(robot, ex.Fourier(period=5.0, harmonics=4), starts=1)
log = ex.simulate(robot, motion, periods=3).recording

with tempfile.TemporaryDirectory() as folder:
    # Degrees, milliseconds, torques in kN·m, a packet lost now and then: what it means is data.
    kept = np.random.default_rng(0).random(len(log)) > 0.01
    table = np.column_stack([1e3 * log.time, np.degrees(log.q), 1e-3 * log.torque])[kept]
    header = "stamp;a1;a2;a3;t1;t2;t3"
    np.savetxt(Path(folder) / "log.csv", table, fmt="%.12g", delimiter=";", header=header, comments="")
    (Path(folder) / "recording.yaml").write_text(DESCRIPTION, encoding="utf-8")
    recording = ex.read(Path(folder) / "recording.yaml")

print(recording)
print(ex.inspect(robot, recording, planned=motion))  # before anything is computed: what is it good for?

# A motion that repeats is averaged and differentiated as a series; another route is a setting.
for route in ("fourier", "differences"):
    found = ex.identify(robot, recording, estimator=ex.WeightedLeastSquares(), route={"method": route})
    print(f"{route}: leaves {found.fit[0].total_percent:.2f} % of the torque; Fv1 {found.parameters['Fv1'].value:.2f}")
