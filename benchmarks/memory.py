"""Peak memory and time of whole commands, as logs grow and as motions slow down.

    python benchmarks/memory.py identify [--rows 1000000 4000000 20000000] [--estimator wls] [--validate] [--csv]
    python benchmarks/memory.py slow [--speed 100 10] [--robot panda]

identify: `exciter identify` of a log of the 3-axis robot of Gautier and Khalil, positions and torques at 1 kHz, a
Fourier motion of 10 s that repeats, with noise on both; NPZ unless asked for CSV. The log is written piece by piece.
--validate: a second log of as many rows is held out. Beside the peak stands what each further row costs, from the size
before.
slow: `exciter slow` of a Fourier motion. Every line is a command in a process of its own; peak memory is the kernel's
figure for it, compiled kernels are on disk before the first line.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import Recording
from exciter.experiment.recording.own_log_format import write_chunks
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import embedded_robots as embedded

ROBOT = "gautier-khalil"
RATE, PERIOD = 1000.0, 10_000  # [Hz], samples after which the motion repeats
POSITION_NOISE, TORQUE_NOISE = 2e-5, 0.5  # [rad], [N·m]
MEGABYTE = 1e6


@dataclass(frozen=True)
class Measured:
    """peak [B] of resident memory, seconds on the wall, and of the processor."""

    peak: float
    seconds: float
    processor: float


def measured(*words: str, **environment: str) -> Measured:
    """An exciter command in a process of its own; refused where it fails. environment: variables of it alone."""
    begin, command = time.perf_counter(), [sys.executable, "-m", "exciter", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"exciter {' '.join(words)} ended with {process.returncode}")
    seconds = time.perf_counter() - begin
    return Measured(1024.0 * usage.ru_maxrss, seconds, usage.ru_utime + usage.ru_stime)


# -- a log of any length ---------------------------------------------------------------------------------------------


def log(rows: int, seed: int) -> Iterator[Recording]:
    """Positions and torques, one period after the other."""
    robot = embedded.robot(ROBOT)
    model = DynamicModel(robot, (RotorInertia(), Viscous(), Coulomb()))
    trajectory, rng = Fourier(period=PERIOD / RATE, harmonics=5), np.random.default_rng(seed)
    delta = 0.15 * rng.standard_normal((robot.n, trajectory.coefficients))
    motion = motion_of(trajectory, delta, np.arange(PERIOD) / RATE)
    friction = {"rotor": 0.5, "viscous": 2.0, "coulomb": 3.0}
    chi = np.concatenate([np.ravel(robot.inertias), np.repeat(list(friction.values()), robot.n)])
    torque = np.einsum("knp,p->kn", model.regressor(motion), chi)
    for start in range(0, rows, PERIOD):
        k = min(PERIOD, rows - start)
        noise = rng.standard_normal((2, k, robot.n))
        q, measured_torque = motion.q[:k] + POSITION_NOISE * noise[0], torque[:k] + TORQUE_NOISE * noise[1]
        yield Recording(robot.joint_names, (start + np.arange(k)) / RATE, q, torque=measured_torque)


def identify(folder: Path, sizes: list[int], options: list[str], validate: bool, suffix: str) -> None:
    print(f"{'rows':>10} {'file MB':>8} {'peak MB':>8} {'seconds':>8} {'of CPU':>8} {'B per further row':>18}")
    before: tuple[int, Measured] | None = None
    for rows in sizes:
        files = [folder / f"{name}{suffix}" for name in ("log", "other")[: 1 + validate]]
        for seed, file in enumerate(files):
            write_chunks(log(rows, seed), file)
        held_out = ["--validate", str(files[1])] if validate else []
        now = measured("identify", ROBOT, str(files[0]), "-o", str(folder / "found"), *options, *held_out)
        size = sum(file.stat().st_size for file in files)
        growth = "" if before is None else f"{(now.peak - before[1].peak) / (rows - before[0]):18.1f}"
        figures = f"{size / MEGABYTE:8.0f} {now.peak / MEGABYTE:8.0f} {now.seconds:8.1f} {now.processor:8.1f}"
        print(f"{rows:10d} {figures} {growth:>18}", flush=True)
        before = rows, now


# -- a slow motion ---------------------------------------------------------------------------------------------------


def slow(folder: Path, robot: str, speeds: list[float]) -> None:
    base = measured("--version")
    measured("design", robot, "-o", str(folder / "design"), "--starts", "1", "--time-limit", "20")
    print(f"{'speed %':>8} {'peak MB':>8} {'above the interpreter':>22} {'seconds':>8} {'of CPU':>8} {'files MB':>9}")
    for speed in speeds:
        now = measured("slow", robot, str(folder / "design"), "--speed", f"{speed:g}", "-o", str(folder / "slow"))
        size = sum(file.stat().st_size for file in (folder / "slow").iterdir())
        above = (now.peak - base.peak) / MEGABYTE
        times = f"{now.seconds:8.1f} {now.processor:8.1f}"
        print(f"{speed:8g} {now.peak / MEGABYTE:8.0f} {above:22.0f} {times} {size / MEGABYTE:9.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("identify")
    one.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 4_000_000, 20_000_000])
    one.add_argument("--estimator")
    one.add_argument("--validate", action="store_true")
    one.add_argument("--csv", action="store_true")
    other = commands.add_parser("slow")
    other.add_argument("--speed", type=float, nargs="+", default=[100.0, 10.0])
    other.add_argument("--robot", default="panda")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if given.command == "slow":
            slow(Path(name), given.robot, given.speed)
        else:
            options = [] if given.estimator is None else ["--estimator", given.estimator]
            identify(Path(name), given.rows, options, given.validate, ".csv" if given.csv else ".npz")


if __name__ == "__main__":
    main()
