"""Does every random start end with a certified motion, and how far apart are they?

    python benchmarks/seeds.py [--seeds 200] [--robots panda,lwr4,ur10e,tx40]

D-optimal designs (base parameters with viscous and Coulomb friction, five harmonics in 10 s, at rest at the start)
within joint limits; and with the description's torque limits at 60 %, a height limit for the last frame and
self-collision by capsules. One start per seed. Prints how many are certified, the spread of −log det in nats, and
processor times.
"""

import argparse
import os
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.constraints.collision import CapsuleDistance
from exciter.excitation.constraints.constraint import Constraint
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.constraints.workspace import HalfSpace
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.optimiser.search import Search
from exciter.excitation.trajectories.fourier import Fourier
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import load

TORQUE = 0.6  # of the limits
HEIGHT = 0.1  # [m] below which the last frame must not come
CLEARANCE = 0.01  # [m]


def problem(name: str, everything: bool) -> tuple[DynamicModel, tuple[Constraint, ...]]:
    robot = load(name)
    if everything:
        robot = robot.with_limits(torque=TORQUE * robot.limit("torque"))
    model = DynamicModel(robot, (Viscous(), Coulomb()))
    if not everything:
        return model, ()
    height = HalfSpace(robot, robot.frame_names[-1], (0, 0, 1), HEIGHT)
    return model, (TorqueLimits(model), height, CapsuleDistance(robot, clearance=CLEARANCE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--robots", default="panda,lwr4,ur10e,tx40")
    arguments = parser.parse_args()
    print(f"{'robot':8} {'limits':8} {'certified':>11} {'best':>9} {'median':>9} {'worst':>9} {'time':>9} {'most':>8}")
    for name in arguments.robots.split(","):
        for everything in (False, True):
            model, constraints = problem(name, everything)
            objective = DesignObjective(model, DOptimality(), model.base.independent, np.ones(model.n))
            family = Fourier(10.0, 5, at_rest=True)
            values, seconds, failed = [], [], []
            for seed in range(arguments.seeds):
                began = time.process_time()
                try:
                    attempt = Search(family, objective, constraints, 1000, seed).run(0)
                except ExciterError as error:
                    failed.append(f"seed {seed}: {error}")
                    continue
                seconds.append(time.process_time() - began)
                values.append(attempt.value)
                if not attempt.feasible:
                    failed.append(f"seed {seed}: {attempt.obstacle}")
            certified = f"{np.isfinite(values).sum()}/{arguments.seeds}"
            words = "all" if everything else "joints"
            print(
                f"{name:8} {words:8} {certified:>11} {min(values):9.2f} {np.median(values):9.2f} {max(values):9.2f} "
                f"{np.median(seconds):9.2f} {max(seconds):8.2f}",
                flush=True,
            )
            for line in failed[:5]:
                print(f"         {line}")


if __name__ == "__main__":
    main()
