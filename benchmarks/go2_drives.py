"""Drives of a real quadruped from command and encoder: first 60 % of a log, then the rest simulated freely.

    python benchmarks/go2_drives.py [--data DIR]
    python benchmarks/go2_drives.py --blocks 3      # how well the first part alone can choose between them

Prints rms [mrad] of simulated minus measured for the part that was not used, before and after, joint by joint,
roll-outs and processor time. With ``--blocks`` the last part is not looked at: the first is cut into blocks, each
simulated freely from its first state with drives fitted to the others (blocked), or to those before it (forward), since
the motion becomes faster along the log."""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import exciter as ex
from exciter.identification.actuators.actuator_fit import fit_actuators
from exciter.identification.actuators.actuator_settings import ActuatorSettings, PositionControl
from exciter.typing import Array

FITTED_PART = 0.6  # of the log
LAW = {"kp": 20.0, "kd": 1.5, "limit": {"*calf*": 45.43, "*": 23.7}}  # of the maker


def candidates() -> dict[str, dict[str, Any]]:
    """What may be unknown, and shared."""
    kinds = ["armature", "damping", "friction", "offset"]
    # all twelve motors are of one make; those of the calves act through a further reduction
    motors = {"armature": ["*calf*", "*"], "damping": ["*"]}
    return {
        "drives alike": {"unknown": kinds},
        "each by itself": {"unknown": kinds, "alike": False},
        "with delay": {"unknown": [*kinds, "delay"]},
        "motors of one make": {"unknown": kinds, "alike": False, "shared": motors},
        "motors of one make, encoder bias": {"unknown": [*kinds, "bias"], "alike": False, "shared": motors},
        # and one firmware: the gains that the maker states are those of the command, not of what the drive does
        "motors and gains of one make, encoder bias": {
            "unknown": [*kinds, "bias", "kp", "kd"],
            "alike": False,
            "shared": {**motors, "kp": ["*"], "kd": ["*"]},
        },
    }


def predicted(robot: ex.Robot, parts: list[ex.Recording], block: ex.Recording, settings: ActuatorSettings) -> Array:
    """Squared errors (N, n) of a block that is simulated freely with drives of other parts."""
    fit = fit_actuators(robot, parts, settings, examined=False)
    stretch, simulated = fit.simulate(block)
    return np.asarray((simulated - stretch.q) ** 2)


def by_blocks(robot: ex.Robot, log: ex.Recording, count: int) -> None:
    """Scores of all candidates, by the log alone."""
    edges = np.linspace(0, len(log.time), count + 1).astype(int)
    for name, how in candidates().items():
        settings = ActuatorSettings(control=PositionControl(**LAW), **{**how, "unknown": tuple(how["unknown"])})
        blocked, forward = list[Array](), list[Array]()
        for low, high in pairwise(edges):
            parts = [part for part in (log[:low], log[high:]) if len(part.time)]
            blocked.append(predicted(robot, parts, log[low:high], settings))
            if low:
                forward.append(predicted(robot, [log[:low]], log[low:high], settings))
        said = [f"{1e3 * np.sqrt(np.mean(np.vstack(errors))):.2f}" for errors in (blocked, forward)]
        print(f"{name}: {said[0]} mrad blocked, {said[1]} forward", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--blocks", type=int, default=0, help="cut the first part into as many, and look at no other")
    given = parser.parse_args()
    folder = given.data / "go2"
    robot = ex.load(folder / "go2.xml", base="fixed")
    with np.load(folder / "traj_0.npz") as data:
        t, q, command = (data[key].astype(float) for key in ("time", "dof_pos", "des_dof_pos"))
    log = ex.Recording.of(t, q, command=command, joints=robot.joint_names)
    cut = round(FITTED_PART * len(t))
    if given.blocks:
        by_blocks(robot, log[:cut], given.blocks)
        return
    for name, how in candidates().items():
        began = time.process_time()
        found = ex.actuators(robot, log[:cut], validate=log[cut:], control=LAW, **how)
        run, seconds = found.validation[0], time.process_time() - began
        print(f"{name}: {1e3 * run.total:.2f} mrad (as described {1e3 * run.before_total:.1f}), ", end="")
        fitted = found.fit.fitted
        print(f"{fitted.rollouts} roll-outs, {fitted.passes} passes, {seconds:.0f} s of processor time", flush=True)
        for joint, after, before in zip(robot.joint_names, run.rms, run.before, strict=True):
            print(f"    {joint:16} {1e3 * after:6.1f}   before {1e3 * before:6.1f}")


if __name__ == "__main__":
    main()
