"""Compile every numerical kernel once, before several processes of the tests would each compile their own."""

import exciter as ex
from exciter.dynamics.kernels import cache

cache._tell = lambda: None  # nobody waits for it


def main() -> None:
    robot = ex.load("panda")  # with capsules
    motion = ex.design(robot, ex.Fourier(period=4, harmonics=2), starts=1, time_limit=60.0)
    log = ex.simulate(robot, motion, periods=3).recording
    for way in ({"formulation": ex.Energy()}, {"estimator": "sequential"}):
        ex.identify(robot, log, **{"estimator": ex.WeightedLeastSquares(), **way})


if __name__ == "__main__":
    main()
