"""A log of a small robot whose truth is known, quickly made; and what else tests of following share."""

from __future__ import annotations

from functools import cache

import numpy as np

import exciter as ex
from exciter.dynamics.model import DynamicModel
from exciter.experiment.recording import Recording
from exciter.robot import Robot
from support.robots import smooth_motion

RATE = 200.0
NOISE = (0.4, 0.8, 0.2)  # [N·m]
TERMS = (ex.Viscous(), ex.Coulomb(), ex.Offset())
#: of equations, so that nothing is chosen from the log
EQUATIONS = {"terms": TERMS, "route": {"method": "differences", "cutoff": 15.0}, "dead_zone": 0.02, "noise": NOISE}
FILTERED = {**EQUATIONS, "filter": {"cutoff": 8.0}}


@cache
def robot() -> Robot:
    return ex.load("gautier-khalil")


@cache
def model() -> DynamicModel:
    return DynamicModel(robot(), TERMS)


def truth() -> np.ndarray:
    """Standard parameters."""
    chi = np.array(model().nominal)
    for k, name in enumerate(model().standard):
        if name.startswith(("Fv", "Fs", "off")):
            chi[k] = 0.5 + 0.3 * int(name[-1])
    return chi


@cache
def recording(seconds: float = 20.0, seed: int = 0, start: float = 0.0) -> Recording:
    rng = np.random.default_rng(seed)
    motion = smooth_motion(robot(), start + np.arange(int(seconds * RATE)) / RATE, 5)
    torque = model().torque(motion, truth()) + NOISE * rng.standard_normal(motion.q.shape)
    q = motion.q + 1e-5 * rng.standard_normal(motion.q.shape)
    return Recording.of(motion.time, q, torque, joints=robot().joint_names)


@cache
def identified() -> ex.Identified:
    return ex.identify(robot(), recording(30.0, 1), estimator=ex.WeightedLeastSquares(), **FILTERED)
