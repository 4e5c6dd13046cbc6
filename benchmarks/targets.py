"""What a user of one machine feels, and what kernels take: every figure beside its target and the version before.

    python benchmarks/targets.py [--before REV] [--rounds 3] [--only WORD …]

Franka Panda, 7 axes, all on one core: seconds of the processor, whose ratios others on the machine disturb little; a
command is a process of its own with all that it starts. Rounds alternate between this version and ``--before`` (a
commit, checked out in a temporary folder, run by the same interpreter); medians are printed, – for what that version
cannot run (what it said is on the standard error). Kernels are compiled before the first round, but where it says first
use. Robots, motions and logs are made once, by this version.

- commands: the slowest of some that compute little (named), from start to end; ``design`` with its sixteen starts; an
  automatic ``identify`` of 60 s at 1 kHz, logged by the virtual robot; ``slow`` and ``check`` of an exact motion, with
  limits of torque, height and self-collision; the whole demo; and what ``base``, ``design`` and ``identify`` together
  take longer where no kernel is compiled yet.
- kernels: W, and criterion with gradient (1000 samples, 77 coefficients) over Pinocchio's regressor in a Python loop,
  measured next to each other; a certificate of all limits; a design of one start with all limits, over seeds; least
  squares of 100,000 samples from motion and torque to 62 parameters; criterion with two threads over one, in turn, on
  the wall, while another process keeps a core busy.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):  # one core
    os.environ[variable] = "1"

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
ROBOT = "panda"
ALL_LIMITS = """\
constraints:
  torque: {margin: 0.4}
  workspace: [{frame: flange, z_min: 0.25}]
  self_collision: {clearance: 0.01}
simulate: {log: {rate: 1000}}
"""
SEEDS, SAMPLES = 5, 1000
IN_TURN_S = 10.0
Figures = dict[str, float]


@dataclass(frozen=True)
class Target:
    words: str
    most: float
    unit: str = "s"


TARGETS = {
    "start": Target("slowest of small commands", 1.0),
    "design": Target("exciter design, 16 starts", 8.0),
    "identify": Target("exciter identify, automatic, 60 s at 1 kHz", 5.0),
    "slow": Target("exciter slow --speed 10", 2.0),
    "slow MB": Target("  its peak", 500.0, "MB"),
    "check": Target("exciter check", 2.0),
    "check MB": Target("  its peak", 500.0, "MB"),
    "demo": Target("exciter demo", 25.0),
    "first use": Target("first use: base, design, identify take longer by", 12.0),
    "W": Target("W / Pinocchio in a loop", 0.05, ""),
    "criterion": Target("criterion + gradient / Pinocchio in a loop", 0.5, ""),
    "threads": Target("criterion, two threads / one, other core busy", 1.1, ""),
    "certificate": Target("certificate of all limits", 0.020),
    "all limits": Target("design within all limits, one start", 0.5),
    "sample": Target("least squares, per sample", 3.0, "µs"),
}


# -- commands ----------------------------------------------------------------------------------------------------------


class Failed(Exception):
    """A command or kernel that a version cannot run, and what it said."""


@dataclass(frozen=True)
class Version:
    """A tree of the project; folder: where its outputs go."""

    name: str
    tree: Path
    folder: Path

    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.tree / "src")}

    def run(self, *words: str, cache: Path | None = None) -> tuple[float, float]:
        """(processor s, peak MB) of a command."""
        environment = self.environment() | ({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})
        command = [sys.executable, "-m", "exciter", *words]
        with (self.folder / "said").open("w+") as said:
            process = subprocess.Popen(command, env=environment, cwd=self.folder, stdout=said, stderr=said)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                said.seek(0)
                raise Failed(f"exciter {' '.join(words)} ended with {process.returncode}\n{said.read()}")
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6

    def probe(self, kernel: str) -> Figures:
        command = [sys.executable, __file__, "--probe", kernel]
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"{kernel} ended with {done.returncode}\n{done.stderr}")
        found: Figures = json.loads(done.stdout.splitlines()[-1])
        return found


def inputs(version: Version, at: Path) -> None:
    """Motion within all limits, log of 60 s at 1 kHz, a short log."""
    (at / "all.yaml").write_text(ALL_LIMITS, encoding="utf-8")
    settings = ("--config", str(at / "all.yaml"), "-q")
    version.run("design", ROBOT, "-o", str(at / "motion"), "--starts", "1", *settings)
    motion = str(at / "motion/trajectory.json")
    for name, periods in (("log", "6"), ("short", "1")):
        version.run("simulate", ROBOT, motion, "-o", str(at / f"{name}.csv"), "--periods", periods, *settings)


def works(version: Version, at: Path, wanted: set[str]) -> Iterator[Callable[[], Figures]]:
    """What gives the wanted figures, each by itself."""

    def out(name: str) -> str:
        return str(Path(tempfile.mkdtemp(dir=version.folder)) / name)

    config = ("--config", str(at / "all.yaml"))
    motion, log = str(at / "motion/trajectory.json"), str(at / "log.csv")
    commands: dict[str, Callable[[], Figures]] = {
        "start": lambda: small_commands(version, at, out),
        "design": lambda: {"design": version.run("design", ROBOT, "-o", out("motion"), "-q")[0]},
        "identify": lambda: {"identify": version.run("identify", ROBOT, log, "-o", out("found"), "-q")[0]},
        "slow": lambda: with_peak(
            "slow", version.run("slow", ROBOT, motion, "--speed", "10", "-o", out("slow"), *config)
        ),
        "check": lambda: with_peak("check", version.run("check", ROBOT, motion, *config)),
        "demo": lambda: {"demo": version.run("demo", "-o", out("demo"))[0]},
        "first use": lambda: {"first use": first_use(version, at, out)},
    }
    yield from (work for name, work in commands.items() if name in wanted)
    yield from (partial(version.probe, name) for name, (words, _) in KERNELS.items() if wanted & {*words})


def with_peak(name: str, measured: tuple[float, float]) -> Figures:
    return {name: measured[0], f"{name} MB": measured[1]}


def small_commands(version: Version, at: Path, out: Callable[[str], str]) -> Figures:
    model = version.folder / "found"  # of its own: no version reads the results of a later one
    if not model.exists():
        version.run("identify", ROBOT, str(at / "short.csv"), "-o", str(model), "--estimator", "consistent", "-q")
    every = (
        ("--help",), ("robots",), ("schema",), ("base", ROBOT), ("init", ROBOT, "-o", out("exciter.yaml")),
        ("export", str(model), "--format", "urdf", "-o", out("robot.urdf")),
    )  # fmt: skip
    return {"start": max(version.run(*words)[0] for words in every)}


def first_use(version: Version, at: Path, out: Callable[[str], str]) -> float:
    """Processor seconds that compiling takes: with an empty cache, less with what that left in it."""
    with tempfile.TemporaryDirectory(dir=version.folder) as cache:

        def all_three() -> float:
            several = (
                ("base", ROBOT), ("design", ROBOT, "-o", out("motion"), "--starts", "1", "-q"),
                ("identify", ROBOT, str(at / "short.csv"), "-o", out("found"), "-q"),
            )  # fmt: skip
            return sum(version.run(*words, cache=Path(cache))[0] for words in several)

        return all_three() - all_three()


# -- kernels, of the version that a process imports --------------------------------------------------------------------


def seconds(work: Callable[[], object]) -> float:
    times = list[float]()
    while not times or (sum(times) < 0.1 and len(times) < 200):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return statistics.median(times)


def rows_and_criterion() -> Figures:
    import numpy as np
    import pinocchio as pin

    from exciter.dynamics.engine import NumbaEngine
    from exciter.dynamics.model import DynamicModel
    from exciter.excitation.criteria.criterion import DesignObjective
    from exciter.excitation.criteria.optimality_and_condition import DOptimality
    from exciter.excitation.trajectories.fourier import Fourier
    from exciter.excitation.trajectories.trajectory import motion as motion_of
    from exciter.excitation.trajectories.trajectory import pullback
    from exciter.parameters.terms import Coulomb, Tanh, Viscous
    from exciter.robot import load
    from exciter.robot.pinocchio_model import to_pinocchio

    robot, trajectory = load(ROBOT), Fourier(period=10.0, harmonics=5)
    time_s = trajectory.sample_times(SAMPLES)
    delta = 0.3 * np.random.default_rng(0).standard_normal((robot.n, trajectory.coefficients))
    motion = motion_of(trajectory, delta, time_s)

    def criterion(threads: int) -> Callable[[], object]:
        engine = NumbaEngine(threads=threads) if threads > 1 else NumbaEngine()
        model = DynamicModel(robot, (Viscous(), Coulomb(Tanh(0.03))), engine)
        objective = DesignObjective(model, DOptimality(), model.base.independent, np.ones(robot.n))

        def work() -> None:
            _, gradient = objective.value_and_gradient(motion_of(trajectory, delta, time_s))
            pullback(trajectory, time_s, gradient)

        work()
        return work

    model = DynamicModel(robot, (Viscous(), Coulomb()))
    peer, memory = to_pinocchio(model.dynamics.robot), model.dynamics.regressor(motion)
    data, one, two = peer.createData(), criterion(1), criterion(2)

    def loop() -> None:
        for q, qd, qdd in zip(motion.q, motion.qd, motion.qdd, strict=True):
            pin.computeJointTorqueRegressor(peer, data, q, qd, qdd)

    ratios = list[tuple[float, float]]()
    for _ in range(7):
        reference = seconds(loop)
        w = seconds(lambda: model.dynamics.regressor(motion, out=memory))
        ratios.append((w / reference, seconds(one) / reference))
    with busy_core():
        threads = in_turn(two, one)
    return {**dict(zip(("W", "criterion"), np.median(ratios, axis=0).tolist(), strict=True)), "threads": threads}


def within_all_limits() -> Figures:
    import numpy as np

    from exciter.dynamics.model import DynamicModel
    from exciter.excitation.certificate.adaptive import certify
    from exciter.excitation.constraints.collision import CapsuleDistance
    from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
    from exciter.excitation.constraints.workspace import HalfSpace
    from exciter.excitation.criteria.criterion import DesignObjective
    from exciter.excitation.criteria.optimality_and_condition import DOptimality
    from exciter.excitation.optimiser.search import Search
    from exciter.excitation.trajectories.fourier import Fourier
    from exciter.parameters.terms import Coulomb, Viscous
    from exciter.robot import load

    robot = load(ROBOT)
    model = DynamicModel(robot, (Viscous(), Coulomb()))
    limits = (
        TorqueLimits(model, margin=0.4),
        HalfSpace(robot, "flange", np.array([0.0, 0.0, 1.0]), 0.25),
        CapsuleDistance(robot, clearance=0.01),
    )
    designs, certificates = list[float](), list[float]()
    for seed in range(-1, SEEDS):  # the first one loads what is compiled
        objective = DesignObjective(model, DOptimality(), model.base.independent, np.ones(robot.n))
        began = time.process_time()
        search = Search(Fourier(period=10.0, harmonics=5, at_rest=True), objective, limits, SAMPLES, max(seed, 0))
        attempt = search.run(0)
        designs.append(time.process_time() - began)
        curve = attempt.trajectory.curve(attempt.delta)
        certificates.append(seconds(lambda curve=curve: certify(robot, curve, limits)))  # type: ignore[misc]
    return {"all limits": statistics.median(designs[1:]), "certificate": statistics.median(certificates[1:])}


def least_squares() -> Figures:
    import numpy as np

    from exciter.dynamics.model import DynamicModel
    from exciter.excitation.trajectories.fourier import Fourier
    from exciter.excitation.trajectories.trajectory import motion as motion_of
    from exciter.experiment.signals.processed_motion import Processed
    from exciter.identification.estimators.least_squares import OrdinaryLeastSquares
    from exciter.identification.information.problem import Problem
    from exciter.identification.runs.run import Run
    from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
    from exciter.robot import load
    from exciter.robot.motion import Motion

    robot, trajectory = load(ROBOT), Fourier(period=10.0, harmonics=5)
    delta = 0.3 * np.random.default_rng(0).standard_normal((robot.n, trajectory.coefficients))
    model = DynamicModel(robot, (RotorInertia(), Viscous(), Coulomb()))
    rate, count = 1000.0, 100_000
    at = motion_of(trajectory, delta, np.arange(10_000) / rate)
    whole = Motion(np.arange(count) / rate, *(np.tile(part, (count // 10_000, 1)) for part in (at.q, at.qd, at.qdd)))
    torque = model.torque(whole) + 0.1 * np.random.default_rng(1).standard_normal(whole.q.shape)

    def solve() -> None:
        OrdinaryLeastSquares().estimate(Problem(model, (Run((Processed(whole, torque, rate),)),)))

    solve()
    return {"sample": 1e6 * statistics.median(seconds(solve) for _ in range(3)) / count}


KERNELS: dict[str, tuple[tuple[str, ...], Callable[[], Figures]]] = {  # each gives several figures
    "rows": (("W", "criterion", "threads"), rows_and_criterion),
    "limits": (("certificate", "all limits"), within_all_limits),
    "sample": (("sample",), least_squares),
}


def in_turn(work: Callable[[], object], other: Callable[[], object]) -> float:
    """Seconds of all calls on the wall over those of other work, call by call: both meet the same machine."""
    times = [0.0, 0.0]
    while sum(times) < IN_TURN_S:
        for k, one in enumerate((work, other)):
            began = time.perf_counter()
            one()
            times[k] += time.perf_counter() - began
    return times[0] / times[1]


@contextlib.contextmanager
def busy_core() -> Iterator[None]:
    """Another process that computes without end."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


# -- the table ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", str(HERE), "worktree"]
        if subprocess.run([*git, "add", "--quiet", "--detach", folder, revision]).returncode:
            raise SystemExit(f"there is no commit {revision} here; give another, or none (make bench BEFORE=)")
        try:
            yield Path(folder)
        finally:
            subprocess.run([*git, "remove", "--force", folder], check=True)


def compared(versions: list[Version], at: Path, rounds: int, wanted: set[str]) -> dict[str, list[Figures]]:
    found: dict[str, list[Figures]] = {version.name: [] for version in versions}
    inputs(versions[0], at)
    for round_number in range(rounds + 1):  # the first one compiles
        for version in versions:
            figures = Figures()
            for work in works(version, at, wanted - ({"first use"} if round_number != 1 else set())):
                try:
                    figures |= work()
                except Failed as error:
                    if version is versions[0]:
                        raise SystemExit(str(error)) from None
                    first, *_, last = str(error).strip().splitlines()
                    print(f"{version.name}: {first}: {last}", file=sys.stderr)
            if round_number:
                found[version.name].append(figures)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", help="a commit to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=list(TARGETS), choices=list(TARGETS), metavar="WORD")
    parser.add_argument("--probe", choices=list(KERNELS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.probe:
        print(json.dumps(KERNELS[given.probe][1]()))
        return
    with contextlib.ExitStack() as stack:
        at = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        trees = {"now": HERE} | ({"before": stack.enter_context(checked_out(given.before))} if given.before else {})
        for name in trees:
            (at / name).mkdir()
        versions = [Version(name, tree, at / name) for name, tree in trees.items()]
        found = compared(versions, at, given.rounds, set(given.only))
    print(f"{'':52}" + "".join(f"{name:>10}" for name in found) + f"{'target':>11}")
    for key, target in TARGETS.items():
        several = [[some[key] for some in figures if key in some] for figures in found.values()]
        if not several[0]:
            continue
        now = statistics.median(several[0])
        values = "".join(f"{statistics.median(some):10.3g}" if some else f"{'–':>10}" for some in several)
        verdict = "reached" if now <= target.most else f"{now / target.most:.1f} times as much"
        print(f"{target.words:52}{values}{'≤ ' + format(target.most, 'g'):>9} {target.unit:2}  {verdict}")


if __name__ == "__main__":
    main()
