"""Your own constraint, proved between samples; your own motion, certified."""

import tempfile
from pathlib import Path

import numpy as np

import exciter as ex

robot = ex.load("kuka-ir361")


# A cable between joints 2 and 3 allows |q2 + q3| ≤ 1 rad: rows that must stay ≥ 0, one per side, 1 in the middle.
def room(motion):
    turned = motion.q[:, 1] + motion.q[:, 2]
    return np.stack([1.0 - turned, 1.0 + turned])


def room_between(spans):
    """On an interval of width h a function stays within h²/8 of its largest second derivative of its chord."""
    bend = spans.width**2 / 8.0 * (spans.rates[1, 1] + spans.rates[1, 2])  # rates[1] ≥ |q̈| of every joint
    return np.minimum(room(spans.left), room(spans.right)) - bend


cable = ex.UserConstraint("cable", room, count=2, bound=room_between)
motion = ex.design(robot, ex.Fourier(8.0, 4, at_rest=True), constraints=[cable], starts=2)
tight = min(limit.margin for limit in motion.certificate.limits if limit.what == "cable")
print(f"designed with the cable: certified {motion.certificate.certified}, room left {tight:.3f} of 1")

# A motion of your own is a table of time, q, q̇ and q̈; it is certified as the curve that a controller makes of it.
time, omega = np.linspace(0.0, 6.0, 601), 2 * np.pi / 6.0
swing = 1.0 - np.cos(omega * time), omega * np.sin(omega * time), omega**2 * np.cos(omega * time)
table = [time, *(x * size for size in (0.5, 0.15, 0.15) for x in swing)]
names = ["time", *(f"{joint}.{what}" for joint in robot.joint_names for what in ("q", "qd", "qdd"))]
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "mine.csv"
    np.savetxt(path, np.column_stack(table), fmt="%.17g", delimiter=",", header=",".join(names), comments="")
    print(ex.check(robot, path, ex.DesignSettings(constraints=ex.ConstraintSettings(further=(cable,)))))
