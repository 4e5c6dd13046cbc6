"""Drives by Gauss–Newton beside CMA-ES, the usual search: roll-outs and processor time to the same error.

    python benchmarks/drive_search.py                                  # virtual robots, then the real quadruped
    python benchmarks/drive_search.py --draws 8 --most 20000 --most-real 5000 --data DIR
    python benchmarks/drive_search.py --joints 6 --draws 1             # 25 unknowns
    python benchmarks/drive_search.py --sigma 0.2 --population 2       # of CMA-ES: σ₀, times its own population

Both move the same simulator and begin with the numbers of the description. CMA-ES (package ``cma``, its defaults, σ₀
of 0.5 in logarithms, 5 ms of delay, 0.5 N·m of offsets) minimises the rms of simulated minus measured over the whole
log, simulated freely from its first state, which it is given as Gauss–Newton found it; a generation is rolled out in
one call. Gauss–Newton is ``ex.actuators``. A roll-out of the whole log counts one. Gauss–Newton has slopes by passes of
variational equations beside: their processor time over that of its roll-outs, in this run, is what one counts. All of
both are printed, with those for σ and for the last digits, and how many it had spent where it first was as close;
processor time is of all it does, what looks at residuals afterwards among it.

A. Robots of ``drive_intervals.py`` with three joints (``--joints``): armature, damping, friction by joint, and the
delay: ten numbers; of six joints constant torques, too (there are none): 25.
CMA-ES ends where its numbers are as good as those of Gauss–Newton (rms of relative errors of what is positive, at most
1.5 times), by its own rules, or where ``--most`` roll-outs are spent; printed is where the rms of residuals is first
within 10 and 1 % of what Gauss–Newton ends with, and where the numbers are as good, of both.
B. Go2 (``go2_drives.py``): armature, damping, friction and offset of twelve drives, 48 unknowns, fitted to the first
60 %; printed is the rms there and of the rest, simulated freely."""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # one core each
    os.environ[variable] = "1"

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import cma
import numpy as np
from drive_intervals import KINDS, described, logged
from go2_drives import FITTED_PART, LAW

import exciter as ex
from exciter.identification.actuators import actuator_fit
from exciter.identification.actuators.actuator_fit import ActuatorFit, rolled_freely, whole
from exciter.identification.actuators.shooting_fit import ShootingProblem

START_SIGMA = 0.5  # of CMA-ES, in units of a coordinate
DELAY_UNIT_S = 0.01
REACHED = (1.1, 1.01)  # times the rms of Gauss–Newton
Reached = Callable[[float, np.ndarray], bool]  # of the best rms so far, and its coordinates
AS_GOOD = 1.5  # times the errors of its numbers
SPREAD = 0.3  # σ of logarithms of the numbers of a draw


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


class Objective:
    """rms [rad] of simulated minus measured over a whole log, of many coordinates at once, by the fit's simulator."""

    def __init__(self, fit: ActuatorFit, log: ex.Recording) -> None:
        self.fit, self.stretch = fit, whole(log.arranged(fit.robot), 0)
        self.state = fit.fitted.states[:1]
        self.unit = np.array([DELAY_UNIT_S if u.kind.unit == "s" else 1.0 for u in fit.numbers.unknowns])

    def __call__(self, population: list[np.ndarray]) -> list[float]:
        runs = list[tuple[object, dict[str, np.ndarray], np.ndarray]]()
        for scaled in population:
            numbers = self.fit.numbers.at(scaled * self.unit)
            runs.append((self.fit.simulator.with_numbers(numbers), numbers, self.state))
        found = self.fit.simulator.roll_many(runs, [self.stretch])
        errors = [rms(one[0] - self.stretch.q) for one in found]
        return [error if np.isfinite(error) else 1e3 for error in errors]


class Watched(ShootingProblem):
    """Gauss–Newton as it is, that keeps where it was: (roll-outs, passes, coordinates) of every iteration; and
    processor time [s] of each."""

    seen: ClassVar[list[tuple[int, int, np.ndarray]]] = []
    seconds: ClassVar[dict[str, list[float]]] = {"simulate": [], "slopes": []}

    def simulate(self, x, states, softness=None):  # type: ignore[no-untyped-def]
        began = time.process_time()
        found = super().simulate(x, states, softness)
        self.seconds["simulate"].append(time.process_time() - began)
        return found

    def slopes(self, x, states, now, softness):  # type: ignore[no-untyped-def]
        self.seen.append((self.rollouts, self.passes, np.array(x)))
        began = time.process_time()
        found = super().slopes(x, states, now, softness)
        self.seconds["slopes"].append(time.process_time() - began)
        return found

    @classmethod
    def pass_cost(cls) -> float:
        """Roll-outs that a pass counts, by processor time."""
        return float(np.median(cls.seconds["slopes"]) / np.median(cls.seconds["simulate"]))


@dataclass(frozen=True)
class Effort:
    """Of Gauss–Newton: roll-outs, passes, what a pass counts, processor time [s] of all."""

    rollouts: int
    passes: int
    pass_cost: float
    seconds: float

    def counted(self, rollouts: int, passes: int) -> float:
        return rollouts + self.pass_cost * passes

    def __str__(self) -> str:
        return (
            f"{self.rollouts} roll-outs and {self.passes} passes of {self.pass_cost:.2f} roll-outs, "
            f"{self.counted(self.rollouts, self.passes):.1f} in all, {self.seconds:.1f} s"
        )


def watched(robot: ex.Robot, log: ex.Recording, **how: object) -> tuple[ActuatorFit, Effort]:
    """A fit, and what it took."""
    Watched.seen.clear()
    for seconds in Watched.seconds.values():
        seconds.clear()
    began = time.process_time()
    fit = ex.actuators(robot, log, alike=False, **how).fit  # type: ignore[arg-type]
    took = time.process_time() - began
    return fit, Effort(fit.fitted.rollouts, fit.fitted.passes, Watched.pass_cost(), took)


@dataclass
class Searched:
    """What CMA-ES did: roll-outs and processor time [s] at which something was first reached."""

    rollouts: int = 0
    seconds: float = 0.0
    rms: float = np.inf
    best: np.ndarray = field(default_factory=lambda: np.zeros(0))
    first: dict[str, tuple[int, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Search:
    """Of CMA-ES: σ₀, and its population as many times its own."""

    sigma: float = START_SIGMA
    population: float = 1.0


def searched(
    objective: Objective, seed: int, most: int, reached: dict[str, Reached], end: str | None, how: Search
) -> Searched:
    """CMA-ES from the numbers of the description; ``reached`` of the best so far; it ends where ``end`` is."""
    begin = objective.fit.numbers.coordinates / objective.unit
    size = round(how.population * (4 + int(3 * np.log(len(begin)))))  # its own default, times
    options = {"seed": seed + 1, "verbose": -9, "maxfevals": most, "popsize": size}
    search = cma.CMAEvolutionStrategy(begin, how.sigma, options)
    found, began = Searched(), time.process_time()
    while not search.stop():
        population = search.ask()
        values = objective(population)
        search.tell(population, values)
        found.rollouts, found.seconds = search.countevals, time.process_time() - began
        if (now := min(values)) < found.rms:
            found.rms, found.best = now, np.asarray(population[int(np.argmin(values))]) * objective.unit
        for name, is_there in reached.items():
            if name not in found.first and is_there(found.rms, found.best):
                found.first[name] = (found.rollouts, found.seconds)
        if end in found.first:
            break
    return found


def virtual(seed: int, joints: int, most: int, folder: Path, how: Search) -> dict[str, np.ndarray]:
    """Problem A, one draw; ratios by what was reached."""
    rng = np.random.default_rng([3, seed])
    depth = np.arange(joints)
    about = np.column_stack([0.03 * 0.9**depth, 0.3 * 0.9**depth, 0.3 * 0.85**depth])
    drives = about * np.exp(rng.normal(0.0, SPREAD, about.shape))
    gains = np.column_stack([60.0 * 0.9**depth, 1.5 * 0.9**depth])
    delay = rng.uniform(0.001, 0.012)
    file = folder / "robot.xml"
    file.write_text(described(joints, seed, about.mean(axis=0)[None].repeat(joints, 0), gains), encoding="utf-8")
    robot = ex.load(file)
    truth = np.concatenate(drives[[int(name[1:]) for name in robot.joint_names]].T)
    log = logged(described(joints, seed, drives, gains), delay, rng)
    ex.actuators(robot, log[:200], alike=False, unknown=["damping"])  # kernels are compiled, once
    fit, effort = watched(robot, log, unknown=[*KINDS, *(["offset"] if joints > 3 else []), "delay"])
    objective = Objective(fit, log)
    level = objective([fit.fitted.x / objective.unit])[0]

    def off(x: np.ndarray) -> float:
        return rms(fit.numbers.values(x)[: len(truth)] / truth - 1.0)

    good = off(fit.fitted.x)
    reached = close(level)
    reached["numbers"] = lambda value, x: off(x) <= AS_GOOD * good
    print(
        f"A, draw {seed}, {len(fit.names)} unknowns: Gauss–Newton {1e6 * level:.2f} µrad, numbers {100 * good:.2f} % "
        f"off, delay {1e3 * abs(fit.values[-1] - delay):.3f} ms, {effort}",
        flush=True,
    )
    found = searched(objective, seed, most, reached, "numbers", how)
    late = 1e3 * abs(float(found.best[-1]) - delay)
    print(
        f"    CMA-ES {1e6 * found.rms:.2f} µrad, numbers {100 * off(found.best):.2f} % off, delay {late:.3f} ms, "
        f"{found.rollouts} roll-outs, {found.seconds:.1f} s"
    )
    return told(objective, reached, found, effort)


def close(level: float) -> dict[str, Reached]:
    """rms that is within a part of a level."""
    return {
        f"rms {100 * (factor - 1):.0f} %": lambda value, x, factor=factor: value <= factor * level  # type: ignore[misc]
        for factor in REACHED
    }


def told(objective: Objective, reached: dict[str, Reached], found: Searched, effort: Effort) -> dict[str, np.ndarray]:
    """Prints where both reached what; of those that CMA-ES reached: its roll-outs over all of Gauss–Newton (passes
    counted) and over those that it had spent there, processor time over all."""
    path = [(effort.counted(*spent), objective([x / objective.unit])[0], x) for *spent, x in Watched.seen]
    whole, ratios = effort.counted(effort.rollouts, effort.passes), dict[str, np.ndarray]()
    for name, is_there in reached.items():
        own = next((count for count, value, x in path if is_there(value, x)), whole)
        at = found.first.get(name)
        count, seconds = at or (found.rollouts, found.seconds)
        said = f"CMA-ES {count}" if at else f"CMA-ES never in {count}"
        times = "" if at else "more than "
        print(f"    {name}: Gauss–Newton {own:.1f} roll-outs of {whole:.1f}, {said}: ", end="")
        print(f"{times}{count / own:.0f} and {count / whole:.0f} times as many, ", end="")
        print(f"{times}{seconds / effort.seconds:.0f} times the processor time", flush=True)
        if at:
            ratios[name] = np.array([count / whole, count / own, seconds / effort.seconds])
    return ratios


def real(folder: Path, most: int, seed: int, how: Search) -> None:
    """Problem B."""
    robot = ex.load(folder / "go2.xml", base="fixed")
    with np.load(folder / "traj_0.npz") as data:
        t, q, command = (data[key].astype(float) for key in ("time", "dof_pos", "des_dof_pos"))
    log = ex.Recording.of(t, q, command=command, joints=robot.joint_names)
    cut = round(FITTED_PART * len(t))
    fit, effort = watched(robot, log[:cut], control=LAW, unknown=[*KINDS, "offset"])
    objective = Objective(fit, log[:cut])

    def rest(x: np.ndarray) -> float:
        stretch, simulated = rolled_freely(fit.simulator, fit.numbers.at(x), log[cut:].arranged(robot))
        return 1e3 * rms(simulated - stretch.q)

    level = objective([fit.fitted.x / objective.unit])[0]
    start = fit.numbers.coordinates
    print(f"B, {len(start)} unknowns: as described {1e3 * objective([start / objective.unit])[0]:.2f} mrad ", end="")
    print(f"(rest {rest(start):.2f})")
    print(f"    Gauss–Newton {1e3 * level:.2f} mrad (rest {rest(fit.fitted.x):.2f}), ", end="")
    print(effort, flush=True)
    for limit in (round(effort.counted(effort.rollouts, effort.passes)), most):
        found = searched(objective, seed, limit, close(level), None, how)
        print(f"    CMA-ES {1e3 * found.rms:.2f} mrad (rest {rest(found.best):.2f}), ", end="")
        print(f"{found.rollouts} roll-outs, {found.seconds:.1f} s")
    told(objective, close(level), found, effort)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=4, help="virtual robots")
    parser.add_argument("--most", type=int, default=20000, help="roll-outs of CMA-ES, of a virtual robot")
    parser.add_argument("--most-real", type=int, default=5000, help="of the quadruped")
    parser.add_argument("--joints", type=int, choices=(3, 6), default=3, help="of a virtual robot")
    parser.add_argument("--sigma", type=float, default=START_SIGMA, help="of CMA-ES, at first")
    parser.add_argument("--population", type=float, default=1.0, help="of CMA-ES, times its own")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    given = parser.parse_args()
    actuator_fit.ShootingProblem = Watched  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as folder:
        how = Search(given.sigma, given.population)
        several = [virtual(seed, given.joints, given.most, Path(folder), how) for seed in range(given.draws)]
    for name in {name: None for ratios in several for name in ratios}:
        by = np.array([ratios[name] for ratios in several if name in ratios])
        middle = np.median(by, axis=0)
        print(
            f"A, {name}: reached in {len(by)} of {len(several)}; {middle[0]:.1f} ({by[:, 0].min():.1f} … "
            f"{by[:, 0].max():.1f}) times all roll-outs of Gauss–Newton, {middle[1]:.1f} ({by[:, 1].min():.1f} … "
            f"{by[:, 1].max():.1f}) times those to the same, {middle[2]:.1f} times its processor time"
        )
    folder = given.data / "go2"
    if given.most_real <= 0:
        return
    if not (folder / "traj_0.npz").is_file():
        print(f"B skipped: no log of the quadruped in {folder} (--data)")
        return
    real(folder, given.most_real, 0, how)


if __name__ == "__main__":
    main()
