"""Staged experiments on virtual robots, end to end: how near the noise floor does each procedure end, and do its
intervals cover?

    python benchmarks/staged.py                                    # kuka-ir361, puma560 and a URDF, all procedures
    python benchmarks/staged.py --robots kuka-ir361 --experiments static otani --seeds 1 2

Every procedure is designed once per robot (``ex.design_experiment``); every seed is another robot with its own noise.
Logs are those of ``ex.simulate``, the validation log is of another motion. Printed: residual on it and its noise floor
[% of the torque], their ratio, and the share of base parameters whose 95 % interval holds the truth."""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # one core each
    os.environ[variable] = "1"

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import exciter as ex
from exciter.errors import ExciterError
from exciter.excitation.experiments.registry import EXPERIMENTS
from exciter.robot.embedded_robots import names

ROBOTS = ("kuka-ir361", "puma560", str(Path(__file__).parents[1] / "tests" / "robots" / "odd.urdf"))
URDF_LIMITS = {"velocity": 2.0, "acceleration": 6.0}  #: [rad/s, rad/s²], which descriptions rarely have
SEEDS = (1, 2, 3)


def covered(found: ex.Identified, simulated: ex.Simulated) -> float:
    """Share of base parameters whose 95 % interval holds the truth."""
    truth, model, estimate = simulated.virtual.truth, found.model, found.estimate
    known = dict(zip(truth.model.standard, truth.chi, strict=True))
    true = model.base.base_values([known.get(name, 0.0) for name in model.standard])
    return float(np.mean(np.abs(estimate.values - true) <= estimate.quantile() * estimate.std))


def one(robot: ex.Robot, plan: ex.Plan, other: ex.Designed, seed: int) -> str:
    logs = [ex.simulate(robot, plan.motion_path(stage), seed=seed) for stage in plan.stages]
    clock, judge = time.perf_counter(), ex.simulate(robot, other, seed=seed)
    found = ex.identify(robot, logs, plan=plan, validate=judge)
    left, floor = found.verdict.unseen.total_percent, found.verdict.unseen.floor.total_percent
    ratio = f"{left / floor:6.2f}" if floor else "     –"
    seconds = time.perf_counter() - clock
    return f"{left:8.3f} {floor or float('nan'):8.3f} {ratio} {100 * covered(found, logs[0]):6.0f} %   {seconds:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=ROBOTS)
    parser.add_argument("--experiments", nargs="+", default=EXPERIMENTS.words, choices=EXPERIMENTS.words)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    arguments = parser.parse_args()
    print(f"{'robot':12} {'experiment':18} {'seed':>4} {'left %':>8} {'floor %':>8} {'ratio':>6} {'covered':>8}")
    for name in arguments.robots:
        robot = ex.load(name) if name in names() else ex.load(name, **URDF_LIMITS)
        other = ex.design(robot, ex.Fourier(period=8, harmonics=4), starts=2, seed=5)
        for word in arguments.experiments:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    ex.design_experiment(robot, word, starts=4, time_limit=120.0).save(folder)
                    plan = ex.Plan.read(folder)
                except ExciterError as error:
                    print(f"{robot.name:12} {word:18} not designed: {error}", flush=True)
                    continue
                for seed in arguments.seeds:
                    try:
                        line = one(robot, plan, other, seed)
                    except ExciterError as error:
                        line = f"refused: {error}"
                    print(f"{robot.name:12} {word:18} {seed:4} {line}", flush=True)


if __name__ == "__main__":
    main()
