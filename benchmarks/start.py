"""What a user waits for: processor time and peak memory of whole commands, 7 axes, beside their targets.

    python benchmarks/start.py [--first-use] [--demo] [--times 3]

Every line is a command in a process of its own, kernels on disk; of several runs the one with the least processor time.
Peak memory is no less than this script's own, some 110 MB. Of commands that go on for long, the time until they say
what they do ("… reading log.csv"): they are ended there.
--first-use: with an empty cache of kernels, less what the same takes with a full one: what compiling takes.
--demo: `exciter demo` too. Processor times of a machine that does other things besides are larger than of an idle one;
the last line puts them into proportion: `exciter base panda` beside a bare import of Pinocchio and Numba.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from memory import MEGABYTE, Measured, measured

ROBOT = "panda"
BARE = [sys.executable, "-c", "import pinocchio, numba"]
COMMAND = [sys.executable, "-m", "exciter", "base", ROBOT]
WORKING = b"\xe2\x80\xa6"  # "…", the beginning of what a command says of its progress
START_S, CERTIFIED_S, CERTIFIED_MB, DEMO_S, COMPILING_S = 1.0, 2.0, 500.0, 25.0, 12.0  # targets, of the processor


def begun(*words: str) -> Measured:
    """A command until it says what it does."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "exciter", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(WORKING):
            break
    else:
        raise SystemExit(f"exciter {' '.join(words)} ended without a word of what it does")
    seconds = time.perf_counter() - begin
    process.kill()
    process.stderr.close()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return Measured(1024.0 * usage.ru_maxrss, seconds, usage.ru_utime + usage.ru_stime)


def best(run: Callable[[], Measured], times: int) -> Measured:
    return min((run() for _ in range(times)), key=lambda one: one.processor)


def line(name: str, found: Measured, target: str) -> None:
    print(
        f"{name:44s} {found.processor:7.2f} {found.seconds:7.2f} {found.peak / MEGABYTE:7.0f}   [{target}]", flush=True
    )


def prepared(folder: Path) -> dict[str, str]:
    """A certified motion, a log of it, and what was found from that; where they are."""
    place = {name: str(folder / name) for name in ("motion", "log.csv", "found", "out", "out.c")}
    measured("design", ROBOT, "-o", place["motion"], "--starts", "1", "--time-limit", "120")
    measured("simulate", ROBOT, place["motion"], "-o", place["log.csv"])
    measured("identify", ROBOT, place["log.csv"], "-o", place["found"], "--estimator", "wls")
    return place


def commands(place: dict[str, str], times: int) -> None:
    whole: dict[str, tuple[str, ...]] = {
        "--help": ("--help",),
        "robots": ("robots",),
        "schema": ("schema",),
        f"base {ROBOT}": ("base", ROBOT),
        "inspect": ("inspect", ROBOT, place["log.csv"]),
        "export --format c": ("export", place["found"], "--format", "c", "-o", place["out.c"]),
    }
    certified = {
        "check trajectory.csv": ("check", ROBOT, f"{place['motion']}/trajectory.csv"),
        "slow --speed 50": ("slow", ROBOT, place["motion"], "--speed", "50", "-o", place["out"]),
        "slow --speed 10": ("slow", ROBOT, place["motion"], "--speed", "10", "-o", place["out"]),
    }
    until = {
        "identify, until it reads": ("identify", ROBOT, place["log.csv"], "-o", place["out"]),
        "design, until it searches": ("design", ROBOT, "-o", place["out"]),
        "simulate, until it simulates": ("simulate", ROBOT, place["motion"], "-o", f"{place['out']}.csv"),
    }
    print(f"{'exciter':44s} {'of CPU':>7} {'seconds':>7} {'MB':>7}")
    for name, words in whole.items():
        line(name, best(partial(measured, *words), times), f"≤ {START_S:g} s")
    for name, words in until.items():
        line(name, best(partial(begun, *words), times), f"≤ {START_S:g} s")
    for name, words in certified.items():
        line(name, best(partial(measured, *words), times), f"≤ {CERTIFIED_S:g} s, {CERTIFIED_MB:g} MB")


def first_use(place: dict[str, str], folder: Path) -> None:
    chosen = {
        "compiling, check": ("check", ROBOT, f"{place['motion']}/trajectory.csv"),
        "compiling, design": ("design", ROBOT, "-o", place["out"], "--starts", "1", "--time-limit", "120"),
        "compiling, identify": ("identify", ROBOT, place["log.csv"], "-o", place["out"], "--estimator", "wls"),
    }
    for name, words in chosen.items():
        with tempfile.TemporaryDirectory(dir=folder) as empty:
            cold = measured(*words, NUMBA_CACHE_DIR=empty)
            warm = measured(*words, NUMBA_CACHE_DIR=empty)
        more = Measured(cold.peak, cold.seconds - warm.seconds, cold.processor - warm.processor)
        line(name, more, f"≤ {COMPILING_S:g} s")


def wall(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first-use", action="store_true")
    parser.add_argument("--demo", action="store_true")
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = prepared(folder)
        commands(place, given.times)
        if given.demo:
            line("demo", measured("demo", "-o", str(folder / "demo")), f"≤ {DEMO_S:g} s")
        if given.first_use:
            first_use(place, folder)
    for command in (BARE, COMMAND):
        wall(command)  # warm the disk caches
    ratios = [wall(COMMAND) / wall(BARE) for _ in range(9)]
    print(f"exciter base {ROBOT} / bare import of Pinocchio and Numba: {statistics.median(ratios):.2f}   [≤ 2]")


if __name__ == "__main__":
    main()
