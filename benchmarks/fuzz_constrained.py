"""Valid files about mimic joints, closed loops and free bases, and how commands read them, for ``fuzz_inputs.py``."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from exciter.dynamics.contacts import checked_stance
from exciter.experiment.quality import check
from exciter.experiment.recording import open_recording
from exciter.pipeline.settings_file import SettingsFile
from exciter.robot import load
from exciter.robot.coupling import coupled_motion
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from support.constrained_robots import FLYING_ARM, WELDED
from support.coupled_robots import gripper_urdf

ROBOTS = Path(__file__).parents[1] / "tests" / "robots"
MOVED = 0.3  # of the robots, that are moved a little, too
JUDGED = 0.1  # of the logs
FEET = ("LF_foot", "RF_foot", "LH_foot", "RH_foot")
LOOPS = (
    "loops: [{connect: [rod_end, tail]}]\nactuated: [waist, shoulder, crank]\nposture: {crank: 0.3}\n",
    "loops: [{connect: [rod_end, tail]}, {joint: [waist, shoulder], coefficients: [0.1, 0.5, 0.2]}]\nbase: fixed\n",
    "loops: [{weld: [rod_end, tail]}]\nlock: {waist: 0.1}\nlimits: {upper: {elbow: 1.0}}\n",
)


def closed(path: Path, rng: random.Random) -> None:
    """Lines beside a URDF that is open."""
    _moved(load(ROBOTS / "palletiser.urdf", SettingsFile.read(path).robot), rng)


def coupled(path: Path, rng: random.Random) -> None:
    _moved(load(path), rng)


def free(path: Path, rng: random.Random) -> None:
    _moved(load(path, base="free"), rng)


def _moved(robot: Robot, rng: random.Random) -> None:
    if rng.random() < MOVED:
        home = np.zeros(robot.n) if robot.coupling is None or robot.coupling.constant else robot.coupling.home
        coupled_motion(robot, Motion.at(home + 0.01 * np.arange(2.0)[:, None], *np.ones((2, 2, robot.n))))


def base_log(path: Path, rng: random.Random) -> None:
    """Of a quadruped: pose, twist, IMU, contacts."""
    (path.parent / "log.csv").write_bytes(_table())
    recording, robot = open_recording(path).read(), _quadruped()
    if recording.about.contacts is not None:
        checked_stance(robot, recording.about.contacts.all)
    recording.arranged(robot)
    if rng.random() < JUDGED:
        check(recording, robot)


def coupled_files() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return [gripper_urdf(Path(folder) / "gripper.urdf").read_bytes()]


def tied_files() -> list[bytes]:
    return [text.encode() for text in (WELDED, FLYING_ARM, (ROBOTS / "four_bar.xml").read_text())]


@cache
def _quadruped() -> Robot:
    return load(ROBOTS / "quadruped.urdf", base="free")


@cache
def _table() -> bytes:
    """60 samples: joints, pose, twist, IMU, contact forces."""
    names = [f"{word}{k}" for word in ("q", "tau") for k in range(12)]
    names += ["x", "y", "z", "qx", "qy", "qz", "qw", "vx", "vy", "vz", "wx", "wy", "wz", "ax", "ay", "az"]
    names += [f"f{k}" for k in range(12)] + [f"c{k}" for k in range(4)]
    time = np.arange(60) / 100.0
    table = np.column_stack([0.1 * np.sin(2.0 * time + k) for k in range(len(names))])
    table[:, names.index("qw")], table[:, -4:] = 1.0, 1.0
    rows = [
        ",".join(["t", *names]),
        *(",".join(f"{x:.9g}" for x in (t, *row)) for t, row in zip(time, table, strict=True)),
    ]
    return ("\n".join(rows) + "\n").encode()


def base_logs() -> list[str]:
    known = {
        "file": "log.csv", "time": {"column": "t"}, "joints": list(_quadruped().joint_names[6:]),
        "position": {"columns": [f"q{k}" for k in range(12)], "unit": "rad"},
        "torque": {"columns": [f"tau{k}" for k in range(12)], "unit": "N·m"},
        "base_orientation": {"columns": ["qx", "qy", "qz", "qw"], "order": "xyzw"},
    }  # fmt: skip
    pose = {**known, "base_position": {"columns": ["x", "y", "z"]}, "contacts": {"frames": list(FEET), "radius": 0.02}}
    moved = {
        **known, "base_twist": {"columns": ["vx", "vy", "vz", "wx", "wy", "wz"], "frame": "world", "angular": "local"},
        "imu": {"columns": ["wx", "wy", "wz", "ax", "ay", "az"], "frame": "imu_link", "rpy": [0, 0, 0.1]},
        "contacts": {"frames": list(FEET), "columns": [f"c{k}" for k in range(4)], "threshold": 0.5, "margin": 0.01},
        "contact_force": {"columns": [f"f{k}" for k in range(12)], "axes": "world", "unit": "N"},
    }  # fmt: skip
    return [json.dumps(one) for one in (pose, moved)]
