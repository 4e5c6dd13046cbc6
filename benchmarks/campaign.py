"""Robot time until a given σ: a campaign of short rounds beside one long design, on virtual robots.

    python benchmarks/campaign.py [--robots gautier-khalil …] [--seeds 4] [--period 5] [--periods 8] [--starts 3]
                                  [--criterion targets] [--known-noise] [--json FILE]

Every virtual robot has secret parameters near its description (drawn by its seed), torque noise of 2 % of what each
drive is made for times a factor between ½ and 2 that is drawn, too, and encoders with steps.

- One long design: as ``exciter design`` makes it from the description alone, D-optimal, of ``--period`` s and harmonics
  as usual, the best of ``--starts``; it counts the same noise for all joints, as nothing else is known yet
  (``--known-noise``: the true one). It is repeated ``--periods`` times, and all of it identified at once.
- The given σ: so many per cent of its value for every parameter that the long design knows to 20 % in all its time
  (others are zero, or nearly); the percentage is that of the worst of these. So the long design needs exactly its time.
- The campaign: rounds of one period of the same family, as many starts each, until all σ are as given, from its own
  covariance. Its robot time over that of the long design is what is printed, and the errors that it really has, over σ.

Both are identified in the same way (weighted least squares, σ for correlated errors, the same cut-off).
The median of the ratio is to be 0.7 at most."""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # one core
    os.environ.setdefault(variable, "1")

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import exciter as ex
from exciter.experiment.quality.evidence import USUAL_TERMS
from exciter.experiment.virtual.sensors import TorqueMeter
from exciter.experiment.virtual.true_parameters import drive_torque
from exciter.experiment.virtual.virtual_robot import SimulateSettings, VirtualRobot
from exciter.pipeline.campaign import asked_for, campaign
from exciter.pipeline.campaign_logs import identified
from exciter.pipeline.campaign_rounds import CampaignRound
from exciter.robot import Robot

ROBOTS = ("gautier-khalil", "kuka-ir361", "kuka-ir361-asme", "puma560", "tx40")
NOISE_SHARE, NOISE_FACTORS = 0.02, (0.5, 2.0)  # of a drive's torque, and how joints differ
KNOWN_PERCENT = 20.0  # σ / value: parameters that the long design knows worse are not among the goals
WANTED_TIME_RATIO = 0.7
MOST_ROUNDS = 16  # twice the time of the long design: more is a failure


def machine(robot: Robot, seed: int) -> VirtualRobot:
    """The virtual robot of a seed."""
    virtual = SimulateSettings().virtual(robot, seed)
    low, high = np.log(NOISE_FACTORS)
    factor = np.exp(np.random.default_rng(seed).uniform(low, high, robot.n))
    noise = NOISE_SHARE * factor * drive_torque(virtual.believed)
    return replace(virtual, meter=TorqueMeter(noise=tuple(noise.tolist())))


def true_base_values(model: ex.DynamicModel, virtual: VirtualRobot) -> np.ndarray:
    truth = virtual.truth
    known = dict(zip(truth.model.standard, truth.chi.tolist(), strict=True))
    return model.base.base_values(np.array([known.get(name, 0.0) for name in model.standard]))


def compared(name: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    robot = ex.load(name)
    virtual = machine(robot, seed)
    settings = ex.DesignSettings(terms=USUAL_TERMS, starts=options.starts, seed=seed)
    family = ex.Fourier(period=options.period, harmonics=5, at_rest=True)
    known = {"noise": tuple(virtual.meter.std(robot).tolist())} if options.known_noise else {}

    began = time.process_time()
    long = ex.design(robot, family, settings=settings, periods=options.periods, **known)
    log = virtual.run(long.curve, seed=seed).recording
    rounds = replace(settings, trajectory=replace(settings.trajectory, motion=family))
    asked, _ = asked_for(robot, ex.CampaignSettings(), rounds, None, virtual, {})
    found = identified(asked, [CampaignRound(number=1, motion=long)], [log]).estimate
    relative = dict(zip(found.names, found.relative_std_percent.tolist(), strict=True))
    chosen = {name: one for name, one in relative.items() if one <= KNOWN_PERCENT}
    percent = max(chosen.values())

    middle = time.process_time()
    given = ex.CampaignSettings(
        target=dict.fromkeys(chosen, f"{percent} %"), negligible="none", rounds=MOST_ROUNDS, criterion=options.criterion
    )
    made = campaign(robot, None, given, design=rounds, virtual=virtual)
    truth = true_base_values(asked.model, virtual)
    errors = (made.result.estimate.values - truth) / made.result.estimate.std
    return {
        "robot": name,
        "seed": seed,
        "percent": percent,
        "chosen": len(chosen),
        "worst": max(chosen, key=chosen.__getitem__),
        "long": long.curve.duration,
        "campaign": made.robot_time,
        "ratio": made.robot_time / long.curve.duration,
        "rounds": len(made.done),
        "reached": made.reached,
        "error_rms": float(np.sqrt((errors**2).mean())),
        "long_error_rms": float(np.sqrt((((found.values - truth) / found.std) ** 2).mean())),
        "seconds": (middle - began, time.process_time() - middle),
        "fall": [float(one.max()) for one in made.history.ratios],
        "predicted": [
            None if p is None else float((p / w).max())
            for p, w in zip(made.history.predicted, made.history.wanted, strict=True)
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=list(ROBOTS))
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--period", type=float, default=5.0)
    parser.add_argument("--periods", type=int, default=8)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--criterion", default="targets")
    parser.add_argument("--known-noise", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    print(f"{'robot':18}{'seed':>5}{'σ [%]':>8}{'long [s]':>10}{'campaign [s]':>14}{'ratio':>7}{'rounds':>8}"
          f"{'error/σ':>9}{'cpu [s]':>9}", flush=True)  # fmt: skip
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for name in options.robots:
            one = compared(name, seed, options)
            found.append(one)
            print(f"{name:18}{seed:5}{one['percent']:8.2f}{one['long']:10.1f}{one['campaign']:14.2f}"
                  f"{one['ratio']:7.2f}{one['rounds']:8}{one['error_rms']:9.2f}{sum(one['seconds']):9.1f}"
                  f"{'' if one['reached'] else '  not reached'}", flush=True)  # fmt: skip
    ratios = np.array([one["ratio"] if one["reached"] else np.inf for one in found])
    print(f"{len(found)} virtual robots: median ratio of robot time {np.median(ratios):.3f} (wanted: "
          f"{WANTED_TIME_RATIO:g} at most), quartiles {np.quantile(ratios, 0.25):.3f} … "
          f"{np.quantile(ratios, 0.75):.3f}; reached by {int(np.isfinite(ratios).sum())}")  # fmt: skip
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
