"""Compile every numerical kernel once, before several processes of the tests would each compile their own."""

import numpy as np

import exciter as ex
from exciter.dynamics.engine import NumbaEngine
from exciter.dynamics.kernels import cache
from exciter.dynamics.model import DynamicModel
from exciter.experiment.virtual.virtual_robot import SimulateSettings

cache._tell = lambda: None  # nobody waits for it


def main() -> None:
    robot = ex.load("panda")  # with capsules
    motion = ex.design(robot, ex.Fourier(period=4, harmonics=2), starts=1, time_limit=60.0)
    log = ex.simulate(robot, motion, SimulateSettings(simulation_rate=1000.0), periods=3).recording
    for way in ({"formulation": ex.Energy()}, {"estimator": "sequential"}):
        ex.identify(robot, log, **{"estimator": ex.WeightedLeastSquares(), **way})
    ex.follow(robot, log)

    two_threads = DynamicModel(robot, (ex.Viscous(),), NumbaEngine(threads=2))
    samples = motion.curve.motion(np.linspace(0.0, 4.0, 100))
    two_threads.regressor(samples)
    two_threads.torque(samples)
    rows = two_threads.rows(samples, two_threads.layout(two_threads.base.independent))
    rows.pullback(rows.gram())


if __name__ == "__main__":
    main()
