"""Staged experiments on virtual robots, end to end: how near the noise floor does each procedure end, and do its
intervals cover?

    python benchmarks/staged.py                                    # kuka-ir361, puma560 and a URDF, all procedures
    python benchmarks/staged.py --robots kuka-ir361 --experiments static otani --seeds 1 2

Every procedure is designed once per robot (``ex.design_experiment``); every seed is another robot with its own noise.
Logs are those of ``ex.simulate``, the validation log is of another motion. Printed: residual on it and its noise floor
[% of the torque], their ratio, and the share of base parameters whose 95 % interval holds the truth; χ²/p, the errors'
squared length in the measure of their covariance over the number of parameters, is about one where σ are right and σ go
together as they say. Then of all seeds together: the worst ratio, the share of all intervals and how many there are,
the median of z² = (error/σ)², 0.45 where σ are right, and the median of χ²/p.

Errors within a log go together: of 12 logs of 25 parameters, the share is known to some ± 3 %."""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # one core each
    os.environ[variable] = "1"

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import exciter as ex
from exciter.errors import ExciterError
from exciter.excitation.experiments.registry import EXPERIMENTS
from exciter.robot.embedded_robots import names
from exciter.typing import Array, BoolArray

ROBOTS = ("kuka-ir361", "puma560", str(Path(__file__).parents[1] / "tests" / "robots" / "bench_arm.urdf"))
URDF_LIMITS = {"velocity": 2.0, "acceleration": 6.0}  #: [rad/s, rad/s²], which descriptions rarely have
SEEDS = (1, 2, 3)


@dataclass(frozen=True, eq=False)
class Outcome:
    """left, floor [%]: of the validation log; inside, z (p,): whether intervals hold the truth, and errors over σ; chi:
    χ²/p; seconds: of the identification."""

    left: float
    floor: float
    inside: BoolArray
    z: Array
    chi: float
    seconds: float

    @classmethod
    def of(cls, robot: ex.Robot, plan: ex.Plan, other: ex.Designed, seed: int) -> Outcome:
        logs = [ex.simulate(robot, plan.motion_path(stage), seed=seed) for stage in plan.stages]
        clock, judge = time.perf_counter(), ex.simulate(robot, other, seed=seed)
        found = ex.identify(robot, logs, plan=plan, validate=judge)
        truth, model, estimate = logs[0].virtual.truth, found.model, found.estimate
        known = dict(zip(truth.model.standard, truth.chi, strict=True))
        true = model.base.base_values([known.get(name, 0.0) for name in model.standard])
        z = (estimate.values - true) / estimate.std
        alike = estimate.covariance / np.outer(estimate.std, estimate.std)
        return cls(
            left=found.verdict.unseen.total_percent,
            floor=found.verdict.unseen.floor.total_percent or float("nan"),
            inside=np.abs(z) <= estimate.quantile(),
            z=z,
            chi=float(z @ np.linalg.solve(alike, z)) / len(z),
            seconds=time.perf_counter() - clock,
        )

    @property
    def ratio(self) -> float:
        return self.left / self.floor

    def __str__(self) -> str:
        figures = f"{self.left:8.3f} {self.floor:8.3f} {self.ratio:6.2f} {100 * self.inside.mean():6.0f} %"
        return f"{figures} {self.chi:6.2f}   {self.seconds:.0f} s"


def pooled(outcomes: Sequence[Outcome]) -> str:
    inside, z = (np.concatenate([getattr(one, name) for one in outcomes]) for name in ("inside", "z"))
    ratio, chi = max(one.ratio for one in outcomes), float(np.median([one.chi for one in outcomes]))
    share = f"{100 * inside.mean():6.1f} % {chi:6.2f}   of {inside.size} intervals, median z² {np.median(z**2):.2f}"
    return f"{'':8} {'':8} {ratio:6.2f} {share}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=ROBOTS)
    parser.add_argument("--experiments", nargs="+", default=EXPERIMENTS.words, choices=EXPERIMENTS.words)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    arguments = parser.parse_args()
    figures = f"{'left %':>8} {'floor %':>8} {'ratio':>6} {'covered':>8} {'χ²/p':>6}"
    print(f"{'robot':12} {'experiment':18} {'seed':>4} {figures}")
    for name in arguments.robots:
        robot = ex.load(name) if name in names() else ex.load(name, **URDF_LIMITS)
        settings = None if name in names() else {"constraints": {"ground": "none"}}  # mounted nobody knows where
        other = ex.design(robot, ex.Fourier(period=8, harmonics=4), settings=settings, starts=2, seed=5)
        for word in arguments.experiments:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    ex.design_experiment(robot, word, settings=settings, starts=4, time_limit=120.0).save(folder)
                    plan = ex.Plan.read(folder)
                except ExciterError as error:
                    print(f"{robot.name:12} {word:18} not designed: {error}", flush=True)
                    continue
                outcomes = list[Outcome]()
                for seed in arguments.seeds:
                    try:
                        outcomes.append(Outcome.of(robot, plan, other, seed))
                        line = str(outcomes[-1])
                    except ExciterError as error:
                        line = f"refused: {error}"
                    print(f"{robot.name:12} {word:18} {seed:4} {line}", flush=True)
                if outcomes:
                    print(f"{robot.name:12} {word:18} {'all':>4} {pooled(outcomes)}", flush=True)


if __name__ == "__main__":
    main()
