"""Drives of a real quadruped from command and encoder: first 60 % of a log, then the rest simulated freely.

    python benchmarks/go2_drives.py [--data DIR]

Prints rms [mrad] of simulated minus measured for the part that was not used, before and after, joint by joint,
roll-outs and processor time."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import exciter as ex

FITTED_PART = 0.6  # of the log
LAW = {"kp": 20.0, "kd": 1.5, "limit": {"*calf*": 45.43, "*": 23.7}}  # of the maker


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    given = parser.parse_args()
    folder = given.data / "go2"
    robot = ex.load(folder / "go2.xml", base="fixed")
    with np.load(folder / "traj_0.npz") as data:
        t, q, command = (data[key].astype(float) for key in ("time", "dof_pos", "des_dof_pos"))
    log = ex.Recording.of(t, q, command=command, joints=robot.joint_names)
    cut = round(FITTED_PART * len(t))
    kinds = ["armature", "damping", "friction", "offset"]
    # all twelve motors are of one make; those of the calves act through a further reduction
    motors = {"armature": ["*calf*", "*"], "damping": ["*"]}
    for name, unknown, more in (
        ("drives alike", kinds, {}),
        ("each by itself", kinds, {"alike": False}),
        ("with delay", [*kinds, "delay"], {}),
        ("motors of one make, encoder bias", [*kinds, "bias"], {"alike": False, "shared": motors}),
    ):
        began = time.process_time()
        found = ex.actuators(robot, log[:cut], validate=log[cut:], control=LAW, unknown=unknown, **more)
        run, seconds = found.validation[0], time.process_time() - began
        print(f"{name}: {1e3 * run.total:.2f} mrad (as described {1e3 * run.before_total:.1f}), ", end="")
        print(f"{found.fit.fitted.rollouts} roll-outs, {seconds:.0f} s of processor time")
        for joint, after, before in zip(robot.joint_names, run.rms, run.before, strict=True):
            print(f"    {joint:16} {1e3 * after:6.1f}   before {1e3 * before:6.1f}")


if __name__ == "__main__":
    main()
