"""Drives by Gauss–Newton beside CMA-ES, the usual search: roll-outs and processor time to the same error.

    python benchmarks/drive_search.py                                  # four virtual robots, then the real quadruped
    python benchmarks/drive_search.py --draws 8 --most 20000 --most-real 5000 --data DIR

Both move the same simulator and begin with the numbers of the description. CMA-ES (package ``cma``, its defaults, σ₀ of
0.5 in logarithms, 5 ms of delay, 0.5 N·m of offsets) minimises the rms of simulated minus measured over the whole log,
simulated freely from its first state, whose speed it is given as Gauss–Newton found it; a generation is rolled out in one
call. Gauss–Newton is ``ex.actuators``, of which all roll-outs count, those of σ among them. A roll-out of the whole log
counts one.

A. Robots of ``drive_intervals.py`` with three joints: armature, damping, friction by joint, and the delay, ten unknowns.
CMA-ES ends where its numbers are as good as those of Gauss–Newton (rms of relative errors without the delay, at most
1.5 times), by its own rules, or where ``--most`` roll-outs are spent; printed is where the rms of residuals is first
within 10, 1 and 0.1 % of that of Gauss–Newton, and where the numbers are as good.
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

import cma
import numpy as np
from drive_intervals import KINDS, described, logged
from go2_drives import FITTED_PART, LAW

import exciter as ex
from exciter.identification.actuators.actuator_fit import ActuatorFit, rolled_freely, whole

START_SIGMA = 0.5  # of CMA-ES, in units of a coordinate
DELAY_UNIT_S = 0.01
REACHED = (1.1, 1.01, 1.001)  # times the rms of Gauss–Newton
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


@dataclass
class Searched:
    """What CMA-ES did: roll-outs and processor time [s] at which something was first reached."""

    rollouts: int = 0
    seconds: float = 0.0
    rms: float = np.inf
    best: np.ndarray = field(default_factory=lambda: np.zeros(0))
    first: dict[str, tuple[int, float]] = field(default_factory=dict)


def searched(
    objective: Objective, seed: int, most: int, reached: dict[str, Callable[[float, np.ndarray], bool]], end: str | None
) -> Searched:
    """CMA-ES from the numbers of the description; ``reached`` of the best so far; it ends where ``end`` is."""
    begin = objective.fit.numbers.coordinates / objective.unit
    search = cma.CMAEvolutionStrategy(begin, START_SIGMA, {"seed": seed + 1, "verbose": -9, "maxfevals": most})
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


def virtual(seed: int, most: int, folder: Path) -> tuple[float, dict[str, tuple[float, float] | None]]:
    """Problem A, one draw; ratios of roll-outs and processor time by what was reached, and the rms in the end."""
    rng, joints = np.random.default_rng([3, seed]), 3
    depth = np.arange(joints)
    about = np.column_stack([0.03 * 0.9**depth, 0.3 * 0.9**depth, 0.3 * 0.85**depth])
    drives = about * np.exp(rng.normal(0.0, SPREAD, about.shape))
    gains = np.column_stack([60.0 * 0.9**depth, 1.5 * 0.9**depth])
    delay = rng.uniform(0.001, 0.012)
    file = folder / "robot.xml"
    file.write_text(described(joints, seed, about.mean(axis=0)[None].repeat(joints, 0), gains), encoding="utf-8")
    robot = ex.load(file)
    truth = np.concatenate([*drives[[int(name[1:]) for name in robot.joint_names]].T, [delay]])
    log = logged(described(joints, seed, drives, gains), delay, rng)
    began = time.process_time()
    fit = ex.actuators(robot, log, unknown=[*KINDS, "delay"], alike=False).fit
    seconds, rollouts = time.process_time() - began, fit.fitted.rollouts
    objective = Objective(fit, log)
    level = objective([fit.fitted.x / objective.unit])[0]

    def off(x: np.ndarray) -> float:
        return rms(fit.numbers.values(x)[:-1] / truth[:-1] - 1.0)

    good = off(fit.fitted.x)
    reached: dict[str, Callable[[float, np.ndarray], bool]] = {
        f"rms {100 * (factor - 1):.2g} %": lambda value, x, factor=factor: value <= factor * level  # type: ignore[misc]
        for factor in REACHED
    }
    reached["numbers"] = lambda value, x: off(x) <= AS_GOOD * good
    found = searched(objective, seed, most, reached, "numbers")
    print(
        f"A, draw {seed}: Gauss–Newton {1e6 * level:.2f} µrad, numbers {100 * good:.2f} % off, delay "
        f"{1e3 * abs(fit.values[-1] - delay):.3f} ms, {rollouts} roll-outs, {seconds:.1f} s"
    )
    late = 1e3 * abs(float(found.best[-1]) - delay)
    print(
        f"    CMA-ES {1e6 * found.rms:.2f} µrad, numbers {100 * off(found.best):.2f} % off, delay {late:.3f} ms, "
        f"{found.rollouts} roll-outs, {found.seconds:.1f} s"
    )
    ratios = dict[str, tuple[float, float] | None]()
    for name in reached:
        at = found.first.get(name)
        ratios[name] = None if at is None else (at[0] / rollouts, at[1] / seconds)
        said = "never" if at is None else f"{at[0]} roll-outs, {at[1]:.1f} s: {ratios[name][0]:.1f} and "  # type: ignore[index]
        print(f"    {name}: {said}" + ("" if at is None else f"{ratios[name][1]:.1f} times as many"), flush=True)  # type: ignore[index]
    return found.rms / level, ratios


def real(folder: Path, most: int, seed: int) -> None:
    """Problem B."""
    robot = ex.load(folder / "go2.xml", base="fixed")
    with np.load(folder / "traj_0.npz") as data:
        t, q, command = (data[key].astype(float) for key in ("time", "dof_pos", "des_dof_pos"))
    log = ex.Recording.of(t, q, command=command, joints=robot.joint_names)
    cut = round(FITTED_PART * len(t))
    began = time.process_time()
    fit = ex.actuators(robot, log[:cut], control=LAW, unknown=[*KINDS, "offset"], alike=False).fit
    seconds, rollouts = time.process_time() - began, fit.fitted.rollouts
    objective = Objective(fit, log[:cut])

    def rest(x: np.ndarray) -> float:
        stretch, simulated = rolled_freely(fit.simulator, fit.numbers.at(x), log[cut:].arranged(robot))
        return 1e3 * rms(simulated - stretch.q)

    level = objective([fit.fitted.x / objective.unit])[0]
    start = fit.numbers.coordinates
    print(f"B, {len(start)} unknowns: as described {1e3 * objective([start / objective.unit])[0]:.2f} mrad ", end="")
    print(f"(rest {rest(start):.2f})")
    print(f"    Gauss–Newton {1e3 * level:.2f} mrad (rest {rest(fit.fitted.x):.2f}), ", end="")
    print(f"{rollouts} roll-outs, {seconds:.1f} s", flush=True)
    reached: dict[str, Callable[[float, np.ndarray], bool]] = {
        f"rms {100 * (factor - 1):.2g} %": lambda value, x, factor=factor: value <= factor * level  # type: ignore[misc]
        for factor in REACHED
    }
    shown = [rollouts, most]
    for limit in shown:
        found = searched(objective, seed, limit, reached, None)
        print(f"    CMA-ES {1e3 * found.rms:.2f} mrad (rest {rest(found.best):.2f}), ", end="")
        print(f"{found.rollouts} roll-outs, {found.seconds:.1f} s")
    for name in reached:
        at = found.first.get(name)
        print(f"    {name}: " + ("never" if at is None else f"{at[0]} roll-outs, {at[0] / rollouts:.1f} times as many"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=4, help="virtual robots")
    parser.add_argument("--most", type=int, default=20000, help="roll-outs of CMA-ES, of a virtual robot")
    parser.add_argument("--most-real", type=int, default=5000, help="of the quadruped")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    given = parser.parse_args()
    several = list[tuple[float, dict[str, tuple[float, float] | None]]]()
    with tempfile.TemporaryDirectory() as folder:
        several += [virtual(seed, given.most, Path(folder)) for seed in range(given.draws)]
    for name in several[0][1] if several else ():
        there = [ratios[name] for _, ratios in several if ratios[name] is not None]
        if there:
            by = np.array(there)
            print(
                f"A, {name}: reached in {len(there)} of {len(several)}, {np.median(by[:, 0]):.0f} "
                f"({by[:, 0].min():.0f} … {by[:, 0].max():.0f}) times the roll-outs of Gauss–Newton, "
                f"{np.median(by[:, 1]):.0f} times its processor time"
            )
        else:
            print(f"A, {name}: not reached")
    folder = given.data / "go2"
    if given.most_real <= 0:
        return
    if not (folder / "traj_0.npz").is_file():
        print(f"B skipped: no log of the quadruped in {folder} (--data)")
        return
    real(folder, given.most_real, 0)


if __name__ == "__main__":
    main()
