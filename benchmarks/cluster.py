"""Work over a Dask cluster of this machine: long logs, and starts of designs.

    python benchmarks/cluster.py identify [--samples 10000000] [--files 10] [--workers 2] [--compared 3000000|0]
    python benchmarks/cluster.py design [--starts 8] [--robot panda]

identify: `exciter identify --cluster local:N --estimator wls` of so many samples in all, in so many files as
`benchmarks/memory.py` writes them (3 axes, positions and torques at 1 kHz, noise on both); peak memory of every process
is the kernel's (VmHWM), looked at while they live. Then the same of --compared samples in two files, on the cluster and
on one process: the largest difference of values and σ, relative.
design: starts of one search in this process, over one and over two workers that are up and have compiled: seconds on
the wall, and whether all motions are the same. Ratios hold for the run they are from.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import psutil
from memory import MEGABYTE, ROBOT, log

import exciter as ex
from exciter.cluster import Cluster
from exciter.experiment.recording.own_log_format import write_chunks

LOOK_INTERVAL_S = 0.5
WARM_STARTS = 4


def peak_of(process: psutil.Process) -> float:
    """[B] largest resident memory so far."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return 1024.0 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


@dataclass(frozen=True)
class Watched:
    """A command and what it started. seconds: on the wall; processor [s] and peak memory [B] of each process, its own
    first, then those that took most."""

    seconds: float
    processor: list[float]
    peaks: list[float]


def watched(words: list[str]) -> Watched:
    """An exciter command in a process of its own."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "exciter", *words], stdout=subprocess.DEVNULL)
    top = psutil.Process(process.pid)
    peaks, times = dict[int, float](), dict[int, float]()
    while process.poll() is None:
        try:
            for one in (top, *top.children(recursive=True)):
                used = one.cpu_times()
                peaks[one.pid], times[one.pid] = peak_of(one), used.user + used.system
        except (psutil.Error, OSError, StopIteration):  # it has ended meanwhile
            pass
        time.sleep(LOOK_INTERVAL_S)
    if process.returncode:
        raise SystemExit(f"exciter {' '.join(words)} ended with {process.returncode}")
    order = [process.pid, *sorted(times.keys() - {process.pid}, key=times.__getitem__, reverse=True)]
    seconds = time.perf_counter() - began
    return Watched(seconds, [times[pid] for pid in order], [peaks[pid] for pid in order])


def written(folder: Path, samples: int, files: int) -> list[Path]:
    """Logs of other motions; those that are there already stay."""
    paths = [folder / f"log{seed}.npz" for seed in range(1, files + 1)]
    for seed, path in enumerate(paths, start=1):
        if not path.exists():
            write_chunks(log(samples // files, seed), path)
    return paths


def identify(folder: Path, samples: int, files: int, workers: int, compared: int) -> None:
    where = f"local:{workers}"
    columns = f"{'samples':>10} {'where':>8} {'wall s':>8} {'of CPU':>8}"
    print(f"{columns} {'own peak MB':>12} {'workers, peak MB':>18}", flush=True)
    if compared:
        compare(folder, where, workers, compared)
    logs = written(folder, samples, files)
    words = ["identify", ROBOT, *map(str, logs), "--estimator", "wls", "-o", str(folder / "all"), "--cluster", where]
    show(samples, where, watched(words), workers)


def compare(folder: Path, where: str, workers: int, compared: int) -> None:
    few = written(Path(tempfile.mkdtemp(dir=folder)), compared, 2)
    one, other = folder / "one", folder / "cluster"
    words = ["identify", ROBOT, *map(str, few), "--estimator", "wls"]
    here = watched([*words, "-o", str(one)])
    there = watched([*words, "-o", str(other), "--cluster", where])
    results = [json.loads((place / "result.json").read_text())["parameters"] for place in (one, other)]
    for key in ("value", "std"):
        a, b = (np.array([parameter[key] for parameter in found]) for found in results)
        print(f"{compared} samples, {key} on {where} beside one process: {np.abs(b / a - 1.0).max():.1e} relative")
    show(compared, "here", here, 0)
    show(compared, where, there, workers)


def show(samples: int, where: str, found: Watched, workers: int) -> None:
    of_workers = ", ".join(f"{peak / MEGABYTE:.0f}" for peak in found.peaks[1 : workers + 1])
    figures = f"{found.seconds:8.1f} {sum(found.processor):8.1f} {found.peaks[0] / MEGABYTE:12.0f} {of_workers:>18}"
    print(f"{samples:10d} {where:>8} {figures}", flush=True)


def design(robot: str, starts: int) -> None:
    settings = {"trajectory": ex.Fourier(period=5, harmonics=5), "starts": starts}
    ex.design(robot, **{**settings, "starts": 1})  # compiled
    began = time.perf_counter()
    plain = ex.design(robot, **settings)
    alone = time.perf_counter() - began
    print(f"{starts} starts of {robot} here: {alone:.1f} s")
    for workers in (1, 2):
        with Cluster(f"local:{workers}").ready() as cluster:
            ex.design(robot, **{**settings, "starts": WARM_STARTS}, workers=cluster)  # up, and compiled
            began = time.perf_counter()
            found = ex.design(robot, **settings, workers=cluster)
            seconds = time.perf_counter() - began
        pairs = zip(plain.design.attempts, found.design.attempts, strict=True)
        apart = max(float(np.abs(a.delta - b.delta).max()) for a, b in pairs if a.feasible and b.feasible)
        ratio = f"{seconds:.1f} s, {alone / seconds:.2f} × as fast"
        print(f"over {workers} workers: {ratio}; motions differ by {apart:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("identify")
    one.add_argument("--samples", type=int, default=10_000_000)
    one.add_argument("--files", type=int, default=10)
    one.add_argument("--workers", type=int, default=2)
    one.add_argument("--compared", type=int, default=3_000_000)
    one.add_argument("--folder", type=Path, help="keeps the logs, and takes those that are there")
    other = commands.add_parser("design")
    other.add_argument("--starts", type=int, default=8)
    other.add_argument("--robot", default="panda")
    given = parser.parse_args()
    if given.command == "design":
        design(given.robot, given.starts)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = given.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        identify(folder, given.samples, given.files, given.workers, given.compared)


if __name__ == "__main__":
    main()
