"""How costs grow with samples, joints, starts, robots and workers: measured, and by the model of docs/speed.md.

    python benchmarks/growth.py [--only samples joints starts robots workers] [--short]
                                [--samples 10000 …] [--joints 3 …] [--starts 1 …] [--robots 1 …] [--workers 1 2]

Every figure is a command in a process of its own: seconds of the processor of all that it starts, for the machine may
have other things to do, and peak memory.
samples: `exciter identify --estimator wls` of a log of three axes at 1 kHz (`memory.py`); beyond 64 MB it is read piece
by piece, several times.
joints: `exciter base`, a design of one start and an automatic identification of 20 s at 200 Hz, of arms of six axes
(`axes.py`).
starts: `exciter design panda`.
robots: `exciter fleet` of robots as `fleet.py` draws them, all files and reports.
workers: 2.6·10⁶ samples in two files over so many Dask workers of this machine (`cluster.py`): the processor time of
the command itself is what no worker takes away, that of each worker is its start, u, and its share of the files.

The model of samples, starts and robots is t = a + b N, whose a and b are those of the two largest sizes measured; below
it stand what it says of the others, and of sizes that were not run. The exponent is that of t from the size before."""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from axes import steps_of
from cluster import watched, written
from fleet import written_logs
from memory import MEGABYTE, ROBOT, Measured, log, measured

import exciter as ex
from exciter.experiment.recording.own_log_format import write_chunks

SIZES = {
    "samples": [10_000, 100_000, 1_000_000, 10_000_000],
    "joints": [3, 6, 12, 24, 48],
    "starts": [1, 4, 16, 64],
    "robots": [1, 5, 20],
    "workers": [1, 2],
}
SHORT = {"samples": [100_000, 1_000_000], "joints": [3, 6], "starts": [1, 4], "robots": [1, 5], "workers": [2]}
FAR = {"samples": [10**8], "starts": [1000, 10_000], "robots": [200, 1000]}  #: sizes that only the model speaks of
FAR_WORKERS = (1, 2, 8, 64)
SPREAD_SAMPLES, SPREAD_FILES, FAR_FILES = 2_600_000, 2, 640  # files that are too long to be held
FLEET = {"robots": 0, "defective": 0, "friction_spread": 0.1, "ripple": 0.4, "play": 1e-3, "jobs": 1}


def heading(quantity: str) -> None:
    print(f"\n{quantity:22} {'size':>10} {'processor s':>12} {'peak MB':>8} {'exponent':>9}")


def row(name: str, size: int, found: Measured, before: tuple[int, Measured] | None) -> None:
    exponent = "" if before is None else f"{math.log(found.processor / before[1].processor, size / before[0]):9.2f}"
    print(f"{name:22} {size:10d} {found.processor:12.1f} {found.peak / MEGABYTE:8.0f} {exponent}", flush=True)


def grown(quantity: str, what: str, sizes: list[int], cost: Callable[[int], Measured]) -> None:
    """Measured, then the line through the two largest."""
    heading(quantity)
    found = list[tuple[int, Measured]]()
    for size in sizes:
        found.append((size, cost(size)))
        row(what, *found[-1], found[-2] if found[:-1] else None)
    if not found[1:]:
        return
    (n, one), (more, other) = found[-2:]
    b = (other.processor - one.processor) / (more - n)
    a = one.processor - b * n
    print(f"{'model':22} t = {a:.3g} s + {b:.3g} s · N")
    for size, seen in found[:-2]:
        print(f"{'':22} {size:10d} {a + b * size:12.1f} {'':8} measured {seen.processor:.1f}")
    for size in FAR[quantity]:
        print(f"{'':22} {size:10d} {a + b * size:12.1f} {'':8} not run", flush=True)


def samples(sizes: list[int]) -> None:
    def cost(size: int) -> Measured:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "log.npz"
            write_chunks(log(size, 0), file)
            return measured("identify", ROBOT, str(file), "-o", f"{folder}/found", "--estimator", "wls", "-q")

    grown("samples", "identify, wls", sizes, cost)


def joints(sizes: list[int]) -> None:
    heading("joints")
    before: tuple[int, dict[str, Measured]] | None = None
    for n in sizes:
        steps = steps_of(n, chain=False)
        for name, found in steps.items():
            row(name, n, found, None if before is None else (before[0], before[1][name]))
        before = n, steps


def starts(sizes: list[int]) -> None:
    def cost(size: int) -> Measured:
        with tempfile.TemporaryDirectory() as folder:
            return measured("design", "panda", "-o", f"{folder}/motion", "--starts", str(size), "--jobs", "1", "-q")

    grown("starts", "design panda", sizes, cost)


def robots(sizes: list[int]) -> None:
    robot = ex.load("puma560")
    curve = ex.design(robot, ex.Fourier(period=8.0, harmonics=4), starts=2, seed=0).curve
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        written_logs(robot, curve, Namespace(**FLEET | {"robots": max(sizes)}), 0, home / "logs")
        logs = sorted(home.glob("logs/*/log.csv"))

        def cost(size: int) -> Measured:
            some = {path.parent.name: str(path) for path in logs[:size]}
            (home / f"{size}.yaml").write_text(json.dumps({"description": "puma560", "robots": some}))
            return measured("fleet", str(home / f"{size}.yaml"), "-o", str(home / str(size)), "--jobs", "1", "-q")

        grown("robots", "fleet", sizes, cost)


def workers(counts: list[int]) -> None:
    heading("workers")
    files = SPREAD_FILES
    with tempfile.TemporaryDirectory() as name:
        logs = list(map(str, written(Path(name), SPREAD_SAMPLES, files)))
        words = ["identify", ROBOT, *logs, "--estimator", "wls", "-o", f"{name}/found", "-q"]
        spent = dict[int, tuple[float, float]]()
        for count in counts:
            found = watched([*words, "--cluster", f"local:{count}"])
            own, *others = found.processor
            spent[count] = own, sum(others)
            print(
                f"{'identify, wls':22} {count:10d} {sum(found.processor):12.1f} {max(found.peaks) / MEGABYTE:8.0f} "
                f"command {own:.1f}, workers {', '.join(f'{one:.1f}' for one in others[:count])}",
                flush=True,
            )
    if len(spent) < 2:
        return
    (few, (own, one)), (many, (_, other)) = list(spent.items())[:2]
    begin = (other - one) / (many - few)
    each = (one - few * begin) / files
    print(
        f"{'model':22} t = s + u + ⌈F / K⌉ f: command s = {own:.1f} s, start u = {begin:.1f} s, a file f = {each:.2f} s"
    )
    serial = FAR_FILES * own / files  # the command opens and hashes every file
    alone = serial + begin + FAR_FILES * each
    for count in FAR_WORKERS:
        seconds = serial + begin + math.ceil(FAR_FILES / count) * each
        print(f"{f'{FAR_FILES} files':22} {count:10d} {seconds:12.1f} {'':8} {alone / seconds:.1f} times as fast")


PARTS: dict[str, Callable[[list[int]], None]] = {
    "samples": samples,
    "joints": joints,
    "starts": starts,
    "robots": robots,
    "workers": workers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--short", action="store_true", help="small sizes only, for make bench")
    for name in PARTS:
        parser.add_argument(f"--{name}", type=int, nargs="+")
    given = parser.parse_args()
    for name in given.only:
        PARTS[name](sorted(getattr(given, name) or (SHORT if given.short else SIZES)[name]))


if __name__ == "__main__":
    main()
