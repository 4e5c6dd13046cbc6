"""A virtual robot that repeats a motion, and something holds its slow joints; with what estimators need on its log."""

from dataclasses import replace
from functools import cache

import numpy as np

from exciter.dynamics.base_reaction import BaseReaction
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.virtual import ComputedTorque, Encoder, Sampling, TorqueMeter, VirtualRobot, draw
from exciter.identification.closed_loop.closed_loop import ClosedLoop
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.estimators.staged import FrictionFirst, StaticThenDynamic
from exciter.identification.estimators.total_least_squares import TotalLeastSquares
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.identification.stages.stage import SteadyMotion
from exciter.robot import Motion, load

ROBOT = load("kuka-ir361")
TRUTH = draw(ROBOT, 1)
MODEL = TRUTH.model
ZONE = 0.2  # [rad/s]
NOISE, HELD = 0.5, 60.0  # [N·m] of a sample; of whatever holds slow joints
#: What an estimator needs beside its usual settings, on this log
SPECIAL = {
    "static": StaticThenDynamic(runs=("poses",)),
    "friction-first": FrictionFirst(SteadyMotion(0.1, 5.0)),
    "tls": TotalLeastSquares({}),
}


@cache
def executed():
    """Periods on a virtual robot, of which two are settled; exact angles."""
    family = Fourier(4.0, 4)
    delta = 0.3 * np.random.default_rng(0).standard_normal((ROBOT.n, len(family.labels)))
    low, high = ROBOT.position_range()
    delta[:, -1] = np.where((low < 0.1) & (high > 0.1), 0.1, 0.5 * (low + high))
    curve, control = ramped(family, delta, ROBOT, periods=3), ComputedTorque(rate=250.0)
    quiet = {"encoder": Encoder(counts=None), "meter": TorqueMeter(noise=0.0), "sampling": Sampling(100.0)}
    return VirtualRobot(ROBOT, TRUTH, control=control, **quiet).run(curve, seed=1), ClosedLoop(ROBOT, control, curve)


@cache
def problem():
    """Noise on torques, and while a joint is slow something holds it that no model of sliding tells."""
    log, _ = executed()
    speed = np.abs(log.motion.qd)
    torque = log.recording.torque + NOISE * np.random.default_rng(4).standard_normal(speed.shape)
    wrench = BaseReaction(MODEL).wrench(log.motion, TRUTH.chi) + NOISE * np.random.default_rng(6).standard_normal(6)
    held = replace(log.recording, torque=torque + np.where(speed < 0.9 * ZONE, HELD, 0.0), wrench=wrench)
    run = Run((FourierFit(20).apply(held),), period=held.about.period, recording=held)
    return Problem(MODEL, (run,))


@cache
def poses():
    """Twelve poses of ten samples, which hold nothing but weight and noise."""
    low, high = ROBOT.position_range()
    rng = np.random.default_rng(5)
    q = np.repeat(rng.uniform(np.maximum(low, -1.5), np.minimum(high, 1.5), (12, ROBOT.n)), 10, axis=0)
    motion = Motion(np.arange(len(q)) / 100.0, q, 0.0 * q, 0.0 * q)
    weight = MODEL.torque(motion, TRUTH.chi) + NOISE * rng.standard_normal(q.shape)
    return Run.at(motion, weight, 100.0, "poses")


def usual_estimator(word):
    """An estimator with what it needs on this log."""
    return SPECIAL.get(word) or ESTIMATORS[word]()


def estimate(estimator, formulation, given=None, stands=None):
    """given: the problem; stands: the run with poses; those of this log unless given."""
    given, stands = problem() if given is None else given, poses() if stands is None else stands
    runs = (*given.runs, *([stands] if isinstance(estimator, StaticThenDynamic) else []))
    estimator = replace(estimator, loop=executed()[1]) if "loop" in estimator.inner else estimator
    return estimator.estimate(replace(given, runs=runs, formulation=formulation))
