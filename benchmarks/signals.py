"""Throughput and memory of signal processing on logs larger than one would hold in memory.

    python benchmarks/signals.py [--samples 10000000] [--whole 1000000] [--folder DIR]

Setting: 7 joints, positions and torques near 1 kHz with jitter, as Exciter's own CSV and NPZ, written piece by piece
into a temporary folder and deleted afterwards. A process of its own reads each log in pieces and passes them through
``FilteredDifferences(cutoff=20).stream``; its peak memory is the kernel's figure for that process. Beside it SciPy on
the whole array, in memory, on the first ``--whole`` samples of the same log: zero-phase filter and ``np.gradient``,
without and with the resampling that jitter asks for. Ratios are what counts; absolute times depend on the machine.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):  # one core
    os.environ[variable] = "1"

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import signal
from scipy.interpolate import CubicSpline

from exciter.dynamics.model import DynamicModel
from exciter.experiment.recording.own_log_format import write_chunks
from exciter.experiment.recording.recording import Recording
from exciter.experiment.recording.recording_file import open_recording
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter, filtered_rows
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.signals.processed_motion import Processed
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import Motion
from exciter.robot import embedded_robots as embedded

JOINTS = tuple(f"joint_{j + 1}" for j in range(7))
RATE, PERIOD = 1000.0, 10_000  # [Hz], samples after which the log repeats itself
CHUNK = 65_536
ROUTE = FilteredDifferences(cutoff=20.0, rate=RATE)
LIMIT = 1000.0  # [MB]
ROUNDS = 3


# -- a log of any length ---------------------------------------------------------------------------------------------


def one_period() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Jitter (P,) [s], q and torque (P, 7)."""
    rng = np.random.default_rng(0)
    phase = 2 * np.pi * np.arange(PERIOD)[:, None, None] / PERIOD * np.arange(1, 6)
    a, b = rng.standard_normal((2, 7, 5)) * 0.3
    q = (a * np.sin(phase) + b * np.cos(phase)).sum(axis=2) + 1e-4 * rng.standard_normal((PERIOD, 7))
    return 2e-4 * rng.uniform(-1, 1, PERIOD), q, 20 * np.sign(np.gradient(q, axis=0)) + rng.standard_normal((PERIOD, 7))


def written_npz(path: Path, samples: int) -> None:
    jitter, q, torque = one_period()

    def pieces() -> Iterator[Recording]:
        for start in range(0, samples, PERIOD):
            n = min(PERIOD, samples - start)
            yield Recording(JOINTS, (start + np.arange(n)) / RATE + jitter[:n], q[:n], torque=torque[:n])

    write_chunks(pieces(), path)


def written_csv(path: Path, samples: int) -> None:
    """Of a line only the time is new: numbers are put into words for one period."""
    jitter, q, torque = one_period()
    values = np.stack([q, torque], axis=2).reshape(PERIOD, -1)
    ends = ["," + ",".join(map(repr, line)) + "\n" for line in values.tolist()]
    with path.open("w", encoding="utf-8") as stream:
        stream.write("time," + ",".join(f"{name}.{s}" for name in JOINTS for s in ("q", "tau")) + "\n")
        for start in range(0, samples, PERIOD):
            times = ((start + np.arange(PERIOD)) / RATE + jitter).tolist()
            stream.writelines(repr(t) + end for t, end in zip(times[: samples - start], ends, strict=False))


# -- processes of their own ------------------------------------------------------------------------------------------


def peak() -> float:
    """[MB] The most memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def log_in_pieces(path: Path) -> dict[str, float]:
    """Reading alone, then reading and processing."""
    base = peak()
    reading, samples = timed(lambda: sum(len(chunk) for chunk in open_recording(path).chunks(CHUNK)))
    read_peak = peak()
    both, kept = timed(lambda: sum(len(part) for part in ROUTE.stream(open_recording(path).chunks(CHUNK))))
    return {"samples": samples, "kept": kept, "reading": reading, "both": both, "base": base, "read_peak": read_peak,
            "peak": peak()}  # fmt: skip


def whole_in_memory(path: Path, samples: int) -> dict[str, float]:
    """SciPy on arrays beside our stream on the same samples, in memory, too."""
    parts, length = [], 0
    for chunk in open_recording(path).chunks(CHUNK):
        parts.append(chunk[: samples - length])
        length += len(parts[-1])
        if length >= samples:
            break
    recording = Recording.join(parts)
    low_pass = Butterworth(20.0)
    sections, padding = low_pass.sections(RATE), low_pass.settle(RATE)

    def differentiated(q: np.ndarray) -> list[np.ndarray]:
        smooth = signal.sosfiltfilt(sections, q, axis=0, padlen=padding)
        qd = np.gradient(smooth, 1 / RATE, axis=0)
        return [smooth, qd, np.gradient(qd, 1 / RATE, axis=0)]

    def resampled() -> list[np.ndarray]:
        at = np.arange(np.ceil(recording.time[0] * RATE), np.floor(recording.time[-1] * RATE) + 1) / RATE
        assert recording.torque is not None
        uniform = CubicSpline(recording.time, np.concatenate([recording.q, recording.torque], axis=1))(at)
        return [at, uniform[:, 7:], *differentiated(uniform[:, :7])]

    def ours() -> list[Processed]:
        return list(ROUTE.stream(recording.chunks(CHUNK)))

    times: dict[str, list[float]] = {"plain": [], "resampled": [], "ours": []}
    for _ in range(ROUNDS):
        times["plain"].append(timed(lambda: differentiated(recording.q))[0])
        seconds, expected = timed(resampled)
        times["resampled"].append(seconds)
        seconds, found = timed(ours)
        times["ours"].append(seconds)
    first = int(np.searchsorted(expected[0], found[0].motion.time[0] - 1e-9))
    last = first + sum(len(part) for part in found)
    differences = [
        np.abs(np.concatenate([get(part) for part in found]) - whole[first:last]).max() / np.abs(whole).max()
        for get, whole in (
            (lambda part: part.torque, expected[1]),
            (lambda part: part.motion.q, expected[2]),
            (lambda part: part.motion.qd, expected[3]),
        )
    ]
    return {"samples": len(recording), "difference": max(differences), "peak": peak(),
            **{name: statistics.median(values) for name, values in times.items()}}  # fmt: skip


def rows_in_pieces(samples: int) -> dict[str, float]:
    """W of the base parameters (panda, friction), filtered and decimated, beside ``scipy.signal.decimate`` alone on
    the part of W that is not zero, which somebody has computed already."""
    model = DynamicModel(embedded.robot("panda"), (Viscous(), Coulomb()))
    at = np.arange(samples) / RATE
    w = 2 * np.pi * 0.1 * np.arange(1, 8)
    phase = w * at[:, None] + np.arange(7)
    motion = Motion(at, np.sin(phase), w * np.cos(phase), -w * w * np.sin(phase))
    processed, columns = Processed(motion, model.torque(motion), RATE), model.base.independent
    pieces = [processed[k : k + CHUNK] for k in range(0, samples, CHUNK)]

    def ours() -> int:
        return sum(len(rows) for rows in filtered_rows(model, iter(pieces), ParallelFilter(), columns))

    next(filtered_rows(model, processed[:5000], ParallelFilter(), columns))  # loads the kernels
    used = sum(int(np.any(model.regressor(motion[:100])[:, j, columns], axis=0).sum()) + 1 for j in range(7))
    some = np.random.default_rng(0).standard_normal((used, 10_000))
    seconds = [timed(ours)[0] for _ in range(ROUNDS)]
    scipy = [timed(lambda: signal.decimate(some, 10, axis=1))[0] * samples / 10_000 for _ in range(ROUNDS)]
    return {"samples": samples, "ours": statistics.median(seconds), "scipy": statistics.median(scipy), "peak": peak()}


def alone(*arguments: object) -> dict[str, float]:
    """One of the above in a new process."""
    command = [sys.executable, __file__, "--alone", *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


# -- the table -------------------------------------------------------------------------------------------------------


def measure(folder: Path, samples: int, whole: int) -> None:
    for suffix, write in (("npz", written_npz), ("csv", written_csv)):
        path = folder / f"log.{suffix}"
        write(path, samples)
        size = path.stat().st_size / 1e6
        found = alone("pieces", path)
        assert found["samples"] == samples
        read, both = (samples / found[name] for name in ("reading", "both"))
        verdict = "below" if found["peak"] < LIMIT else "ABOVE"
        print(f"{suffix}, {samples:.3g} samples of 7 joints, {size:.0f} MB")
        print(f"  read                      {read:12,.0f} samples/s   peak {found['read_peak']:6.0f} MB")
        print(f"  read and differentiated   {both:12,.0f} samples/s   peak {found['peak']:6.0f} MB, {verdict} "
              f"{LIMIT:.0f} MB (imports alone: {found['base']:.0f} MB)", flush=True)  # fmt: skip
        if suffix == "npz":
            beside = alone("whole", path, min(samples, whole))
        path.unlink()
    count = beside["samples"]
    print(f"processing alone, in memory, {count:.3g} samples (peak with SciPy's whole arrays {beside['peak']:.0f} MB)")
    for name, words in (("plain", "SciPy, whole array, no resampling"), ("resampled", "SciPy, whole array, resampled")):
        print(f"  {words:40s}{count / beside[name]:12,.0f} samples/s")
    print(f"  {'ours, in pieces':40s}{count / beside['ours']:12,.0f} samples/s")
    ratios = [beside["ours"] / beside[name] for name in ("resampled", "plain")]
    print(f"  ours / SciPy: {ratios[0]:.2f} of its time when it resamples, {ratios[1]:.2f} when it does not; largest "
          f"relative difference {beside['difference']:.1e}")  # fmt: skip
    rows = alone("rows", min(samples, 60_000))
    print(f"rows of panda (base parameters, friction), filtered and decimated by 10, {rows['samples']:.3g} samples")
    print(f"  {rows['samples'] / rows['ours']:,.0f} samples/s, {rows['ours'] / rows['scipy']:.2f} of the time of "
          f"scipy.signal.decimate on W's columns alone; peak {rows['peak']:.0f} MB")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--whole", type=int, default=1_000_000, help="samples that SciPy gets at once")
    parser.add_argument("--folder", type=Path, help="where the logs are written for a while (3 GB for 10 M samples)")
    parser.add_argument("--alone", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        kind, *rest = given.alone
        work: dict[str, Callable[[], dict[str, float]]] = {
            "pieces": lambda: log_in_pieces(Path(rest[0])),
            "whole": lambda: whole_in_memory(Path(rest[0]), int(rest[1])),
            "rows": lambda: rows_in_pieces(int(rest[0])),
        }
        print(json.dumps(work[kind]()))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        measure(Path(folder), given.samples, given.whole)


if __name__ == "__main__":
    main()
