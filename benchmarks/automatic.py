"""What an automatic identification of a long log costs, stage by stage, beside a plain pass over the same log.

    python benchmarks/automatic.py [--robot panda] [--seconds 60] [--rate 1000] [--same FOLDER]

Two logs of a virtual robot at 1 kHz: periods of a Fourier motion of 10 s, which are averaged, and one motion as long as
the log that never repeats, a drawn spline.
Every log is identified in a process of its own, as `exciter identify` does, report and files included, after a log of
another motion in the same process: modules are imported and kernels compiled. Seconds are of the processor, with one
thread. The peer reads the same file by ``numpy.loadtxt``, filters positions forwards and backwards, differentiates,
calls ``pinocchio.computeJointTorqueRegressor`` sample by sample, and ``numpy.linalg.lstsq`` on the columns of base
parameters that somebody found for it: no choice, no check, no uncertainty. --same: a folder that an earlier run,
perhaps of another version, has kept (--keep): its logs are taken, and the largest difference of parameters and their σ
to its results is printed.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from scipy import signal

import exciter as ex
from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.robot.pinocchio_model import to_pinocchio

TARGET = 5.0  # [s] of the processor
PERIOD, HARMONICS = 10.0, 5
SEGMENTS_PER_SECOND, SEARCH_SECONDS = 5.0 / 3.0, 60.0  # of the drawn spline; for its draws, and for the search
WARM_SECONDS = 20.0  # of the log that is identified first
CUTOFF = 20.0  # [Hz] of the peer's filter
KINDS = ("periods", "one motion")


def write_logs(folder: Path, robot: str, seconds: float, rate: float) -> None:
    """periods.csv, one motion.csv, and warm.csv, a shorter one of another seed."""
    known, settings = ex.load(robot), folder / "simulate.yaml"
    settings.write_text(f"simulate: {{log: {{rate: {rate:g}}}}}\n", encoding="utf-8")
    fourier, spline = Fourier(period=PERIOD, harmonics=HARMONICS), {"family": "random-spline"}
    for name, family, seed, count in (
        ("periods", fourier, 0, int(seconds / PERIOD)),
        ("one motion", {**spline, "duration": seconds, "segments": round(SEGMENTS_PER_SECOND * seconds)}, 0, None),
        ("warm", {**spline, "duration": WARM_SECONDS, "segments": round(SEGMENTS_PER_SECOND * WARM_SECONDS)}, 1, None),
    ):
        motion = ex.design(known, family, starts=1, seed=seed, time_limit=SEARCH_SECONDS)
        ex.simulate(known, motion, settings, periods=count, seed=seed).save(folder / f"{name}.csv")


def identified(robot: str, log: Path, output: Path) -> list[tuple[str, float]]:
    """Seconds of each stage."""
    stages, began = [("start", 0.0)], time.process_time()

    def progress(words: str) -> None:
        now = time.process_time()
        stages[-1] = (stages[-1][0], now - began - sum(seconds for _, seconds in stages[:-1]))
        stages.append((words.removesuffix(f" {log.name}"), 0.0))

    found = ex.identify(robot, log, progress=progress)
    progress("saving")
    found.save(output)
    progress("")
    return stages[:-1]


def peer(robot: str, log: Path, rate: float) -> float:
    """Seconds of reading, filtering, W and least squares."""
    model = DynamicModel(ex.load(robot), (RotorInertia(), Viscous(), Coulomb(), Offset()))
    columns, n = model.base.independent, model.n
    pinocchio = to_pinocchio(model.dynamics.robot)
    data, links = pinocchio.createData(), columns[columns < model.inertial_size]
    began = time.process_time()
    names = log.read_text(encoding="utf-8").split("\n", 1)[0].split(",")
    table = np.loadtxt(log, delimiter=",", skiprows=1)
    q, torque = ([names.index(f"{joint}.{kind}") for joint in model.robot.joint_names] for kind in ("q", "tau"))
    q = signal.sosfiltfilt(signal.butter(4, CUTOFF, fs=rate, output="sos"), table[:, q], axis=0)
    qd = np.gradient(q, 1.0 / rate, axis=0)
    qdd = np.gradient(qd, 1.0 / rate, axis=0)
    w = np.zeros((len(q), n, len(columns)))
    for k in range(len(q)):
        w[k, :, : len(links)] = pin.computeJointTorqueRegressor(pinocchio, data, q[k], qd[k], qdd[k])[:, links]
    beside = (qdd, qd, np.sign(qd), np.ones_like(qd))
    for k, column in enumerate(columns[len(links) :].tolist(), start=len(links)):
        term, joint = divmod(column - model.inertial_size, n)
        w[:, joint, k] = beside[term][:, joint]
    np.linalg.lstsq(w.reshape(-1, len(columns)), table[:, torque].ravel())
    return time.process_time() - began


def alone(robot: str, folder: Path, kind: str) -> list[tuple[str, float]]:
    identified(robot, folder / "warm.csv", folder / "warm")
    return identified(robot, folder / f"{kind}.csv", folder / kind)


def difference(folder: Path, other: Path) -> float:
    """The largest relative one of values and σ of parameters."""
    tables = [json.loads((one / "result.json").read_text(encoding="utf-8"))["parameters"] for one in (folder, other)]
    mine, theirs = (np.array([[one["value"], one["std"]] for one in table], dtype=float) for table in tables)
    return float((np.abs(mine - theirs) / np.maximum(np.abs(theirs), 1e-300)).max())


def measure(robot: str, seconds: float, rate: float, folder: Path, same: Path | None) -> dict[str, Any]:
    """Print a table for each log; seconds of all stages, by log."""
    if same is None:
        write_logs(folder, robot, seconds, rate)
    totals = {}
    for kind in KINDS:
        command = [sys.executable, __file__, "--alone", robot, str(folder), kind]
        stages = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        total, plain = sum(one for _, one in stages), peer(robot, folder / f"{kind}.csv", rate)
        print(f"{kind}: {seconds:g} s at {rate:g} Hz, {robot}")
        for name, one in stages:
            print(f"  {name:32s}{one:8.2f} s")
        verdict = "reached" if total <= TARGET else "NOT REACHED"
        print(f"  {'together':32s}{total:8.2f} s  (target {TARGET:g} s: {verdict})")
        print(f"  {'Pinocchio + lstsq, one pass':32s}{plain:8.2f} s  (ratio {total / plain:.2f})")
        if same is not None:
            print(f"  parameters and their σ differ by {difference(folder / kind, same / kind):.1e} from '{same}'")
        totals[kind] = total
    return totals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=1000.0)
    parser.add_argument("--keep", type=Path, help="folder of logs and results; a temporary one unless given")
    parser.add_argument("--same", type=Path, help="what an earlier run kept: the same logs, and its results beside")
    parser.add_argument("--alone", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        print(json.dumps(alone(given.alone[0], Path(given.alone[1]), given.alone[2])))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if given.same is not None:
            for name in (*KINDS, "warm"):
                for suffix in ("csv", "yaml"):
                    (folder / f"{name}.{suffix}").write_bytes((given.same / f"{name}.{suffix}").read_bytes())
        measure(given.robot, given.seconds, given.rate, folder, given.same)


if __name__ == "__main__":
    main()
