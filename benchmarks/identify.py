"""Time and memory of identification, from motion and torque to parameters, beside Pinocchio and NumPy.

    python benchmarks/identify.py [--quick] [--largest 10000000] [--peer 1000000]

Setting: Franka Panda (7 axes), rotor inertia, viscous and Coulomb friction, 62 base parameters, ordinary least squares,
a Fourier motion of 10 s at 1 kHz that repeats, torque with noise. Every line is a process of its own, on one core
unless it says two threads; compiled kernels are loaded before the clock starts, and its peak memory is the kernel's
figure for that process. Ratios are of processor time, which others on the machine disturb less than time on the wall;
with two threads they are of time on the wall. Exciter gets the motion whole in memory, or in pieces as from a log
larger than memory. The peer calls ``pinocchio.computeJointTorqueRegressor`` in a Python loop, writes the columns of the
base parameters, which somebody found for it, into a W it has allocated before, and calls ``numpy.linalg.lstsq``. It is
run as large as asked and as memory allows; a line that is extrapolated from a smaller one says so.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):  # one core
    os.environ[variable] = "1"

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pinocchio as pin

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.estimators.least_squares import OrdinaryLeastSquares
from exciter.identification.information.problem import Problem
from exciter.identification.information.sequential import LiveIdentification, SequentialEstimator
from exciter.identification.runs.run import Run
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import Motion
from exciter.robot import embedded_robots as embedded
from exciter.robot.pinocchio_model import to_pinocchio

RATE, PERIOD = 1000.0, 10_000  # [Hz], samples after which the motion repeats
NOISE = 0.1  # [N·m]
TIMES = 10.0  # faster than the peer: what is asked for
Found = dict[str, Any]


# -- a log of any length ---------------------------------------------------------------------------------------------


@cache
def model() -> DynamicModel:
    return DynamicModel(embedded.robot("panda"), (RotorInertia(), Viscous(), Coulomb()))


@cache
def one_period() -> Processed:
    trajectory = Fourier(period=PERIOD / RATE, harmonics=5)
    rng = np.random.default_rng(0)
    motion = motion_of(trajectory, 0.3 * rng.standard_normal((7, trajectory.coefficients)), np.arange(PERIOD) / RATE)
    return Processed(motion, model().torque(motion) + NOISE * rng.standard_normal((PERIOD, 7)), RATE)


@dataclass(frozen=True)
class Repeated:
    """The period again and again, in pieces."""

    samples: int

    def __iter__(self) -> Iterator[Processed]:
        period = one_period()
        for start in range(0, self.samples, PERIOD):
            m = period.motion[: self.samples - start]
            yield Processed(Motion(m.time + start / RATE, m.q, m.qd, m.qdd), period.torque[: len(m)], RATE)


def in_pieces(samples: int) -> Run:
    return Run(Repeated(samples), span=(0.0, (samples - 1) / RATE))


def in_memory(samples: int) -> Run:
    return Run((Processed.join(list(Repeated(samples))),))


# -- processes of their own ------------------------------------------------------------------------------------------


def peak() -> float:
    """[MB] The most memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


class Clock:
    """Seconds since it was made: on the wall, and of the processor."""

    def __init__(self) -> None:
        self.start = time.perf_counter(), time.process_time()

    def read(self) -> Found:
        return {"wall": time.perf_counter() - self.start[0], "processor": time.process_time() - self.start[1]}


def identified(samples: int, run: Callable[[int], Run], jobs: int = 1) -> Found:
    """By Exciter."""
    OrdinaryLeastSquares().estimate(Problem(model(), (in_pieces(500),)))  # loads the kernels
    data, before = run(samples), peak()
    clock = Clock()
    estimate = OrdinaryLeastSquares().estimate(Problem(model(), (data,), jobs=jobs))
    return {"samples": samples, **clock.read(), "peak": peak(), "before": before, "values": list(estimate.values)}


def peer(samples: int) -> Found:
    """By Pinocchio and NumPy."""
    period, columns = one_period(), model().base.independent
    repeat = np.arange(samples) % PERIOD
    q, qd, qdd, torque = (x[repeat] for x in (period.motion.q, period.motion.qd, period.motion.qdd, period.torque))
    pinocchio = to_pinocchio(model().dynamics.robot)
    data, inertial, before = pinocchio.createData(), columns[columns < 70], peak()
    clock = Clock()
    w = np.zeros((samples, 7, len(columns)))
    for k in range(samples):
        phi = pin.computeJointTorqueRegressor(pinocchio, data, q[k], qd[k], qdd[k])
        w[k, :, : len(inertial)] = phi[:, inertial]
    for k, (term, joint) in enumerate(divmod(int(c) - 70, 7) for c in columns[columns >= 70]):
        w[:, joint, len(inertial) + k] = (qdd, qd, np.sign(qd))[term][:, joint]
    loop = clock.read()
    values = np.linalg.lstsq(w.reshape(-1, len(columns)), torque.ravel())[0]
    return {"samples": samples, **clock.read(), "loop": loop, "peak": peak(), "before": before,
            "values": list(values)}  # fmt: skip


def online(samples: int) -> Found:
    """Updates per second of processor time, one sample after the other."""
    period = one_period()[:samples]
    m, columns = period.motion, model().base.independent
    w = np.ascontiguousarray(model().regressor(m)[:, :, columns])
    live, rows = LiveIdentification(model(), NOISE), SequentialEstimator(model().base.names, np.full(7, NOISE))
    live.update(m.q[:1], m.qd[:1], m.qdd[:1], period.torque[:1])  # loads the kernels
    start = time.process_time()
    for k in range(samples):
        rows.update(w[k], period.torque[k])
    ready = time.process_time()
    for k in range(1, samples):
        live.update(m.q[k], m.qd[k], m.qdd[k], period.torque[k])
    whole = time.process_time()
    difference = float(np.abs(rows.values - live.estimator.values).max())
    estimate = time.process_time()
    _ = live.estimator.values
    return {"rows": samples / (ready - start), "samples": (samples - 1) / (whole - ready), "difference": difference,
            "estimate": 1e3 * (time.process_time() - estimate)}  # fmt: skip


WORK: dict[str, Callable[[int], Found]] = {
    "pieces": lambda samples: identified(samples, in_pieces),
    "memory": lambda samples: identified(samples, in_memory),
    "threads": lambda samples: identified(samples, in_pieces, jobs=2),
    "peer": peer,
    "online": online,
}


def alone(kind: str, samples: int) -> Found:
    """One of the above in a new process."""
    command = [sys.executable, __file__, "--alone", kind, str(samples)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: Found = json.loads(done.stdout)
    return found


# -- the tables ------------------------------------------------------------------------------------------------------


def affordable(samples: int) -> int:
    """As many of the samples as the peer has memory for: W, and the copy that lstsq makes."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(samples, int(0.8 * free / (2.2 * 8 * 7 * len(model().base.independent))))


def line(name: str, found: Found) -> None:
    each = 1e6 * found["processor"] / found["samples"]
    print(f"  {name:30s}{found['samples']:>12,}{found['wall']:>10.2f}{found['processor']:>13.2f}{each:>11.2f}"
          f"{found['peak']:>9.0f}{found['before']:>11.0f}", flush=True)  # fmt: skip


def measure(sizes: list[int], peer_samples: int, run: Callable[[str, int], Found] = alone) -> dict[str, float]:
    """Print all tables; ratio to the peer, largest relative difference to it, growth of memory [MB]."""
    widths = {
        "": 32,
        "samples": -12,
        "wall s": -10,
        "processor s": -13,
        "µs/sample": -11,
        "peak MB": -9,
        "before MB": -11,
    }
    heads = "".join(name.rjust(-width) if width < 0 else name.ljust(width) for name, width in widths.items())
    print(f"cost of Exciter, in pieces ({len(model().base.names)} parameters)\n{heads}")
    table = {}
    for samples in sizes:
        table[samples] = run("pieces", samples)
        line("Exciter, pieces", table[samples])
    growth = table[sizes[-1]]["peak"] - table[sizes[0]]["peak"]
    slope = np.polyfit(np.log(sizes), [np.log(table[n]["processor"]) for n in sizes], 1)[0] if sizes[1:] else 1.0
    print(f"  time grows as samples to the power {slope:.2f}; memory by {growth:.0f} MB while samples grow "
          f"{sizes[-1] // sizes[0]:,}-fold")  # fmt: skip

    count = affordable(peer_samples)
    print(f"\nbeside Pinocchio in a loop and numpy.linalg.lstsq\n{heads}")
    ours = {}
    for name, words in (("memory", "memory"), ("pieces", "pieces"), ("threads", "pieces, two threads")):
        ours[name] = run(name, count)
        line(f"Exciter, {words}", ours[name])
    theirs = run("peer", count)
    line("Pinocchio + lstsq", theirs)
    print(f"  {'  of these in the loop':42s}{theirs['loop']['wall']:>10.2f}{theirs['loop']['processor']:>13.2f}")
    if count < peer_samples:
        times = peer_samples / count
        print(f"  Pinocchio + lstsq at {peer_samples:,} samples would take {times * theirs['processor']:.0f} s and "
              f"{times * theirs['peak']:.0f} MB: EXTRAPOLATED, it does not fit into free memory")  # fmt: skip
    values = np.array(theirs["values"])
    difference = max(float(np.abs(np.array(x["values"]) - values).max() / np.abs(values).max()) for x in ours.values())
    ratio = {name: theirs["processor"] / ours[name]["processor"] for name in ("memory", "pieces")}
    ratio["threads"] = theirs["wall"] / ours["threads"]["wall"]
    verdict = "reached" if min(ratio["memory"], ratio["pieces"]) >= TIMES else "NOT REACHED"
    print(f"  at {count:,} samples, both really run: Exciter is {ratio['memory']:.1f} times faster (in pieces "
          f"{ratio['pieces']:.1f}, with two threads {ratio['threads']:.1f}); {TIMES:g} times {verdict}")  # fmt: skip
    print(f"  memory: {theirs['peak'] / ours['pieces']['peak']:.1f} times less in pieces; parameters differ by "
          f"{difference:.1e} of the largest")  # fmt: skip

    rate = run("online", min(3000, sizes[0]))
    print(f"\nonline: {rate['rows']:,.0f} updates/s with equations at hand, {rate['samples']:,.0f} updates/s from "
          f"samples (q, q̇, q̈, torque); estimate and covariance in {rate['estimate']:.1f} ms")  # fmt: skip
    return {"ratio": ratio["memory"], "difference": difference, "growth": growth, "rate": rate["samples"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=10_000_000, help="samples of the last line of the cost table")
    parser.add_argument("--peer", type=int, default=1_000_000, help="samples that Pinocchio and NumPy get")
    parser.add_argument("--quick", action="store_true", help="100 000 samples at most, 20 000 for the peer")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        print(json.dumps(WORK[given.alone[0]](int(given.alone[1]))))
        return
    largest, peer_samples = (100_000, 20_000) if given.quick else (given.largest, given.peer)
    measure([n for n in (10_000, 100_000, 1_000_000, 10_000_000) if n <= largest] or [largest], peer_samples)


if __name__ == "__main__":
    main()
