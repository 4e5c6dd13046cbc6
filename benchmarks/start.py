"""Start-up: the whole command ``exciter base panda`` beside a bare import of Pinocchio and Numba, in one run."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

BARE = [sys.executable, "-c", "import pinocchio, numba"]
COMMAND = [sys.executable, "-m", "exciter", "base", "panda"]


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    for command in (BARE, COMMAND):
        seconds(command)  # warm the disk caches
    ratios = [seconds(COMMAND) / seconds(BARE) for _ in range(9)]
    print(f"exciter base panda / bare import of Pinocchio and Numba: {statistics.median(ratios):.2f}   [≤ 2]")


if __name__ == "__main__":
    main()
