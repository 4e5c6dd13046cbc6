"""A robot whose friction falls as it warms up."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
from scipy import signal

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import Motion, load

NOISE = np.array([5.0, 5.0, 3.0])


USUAL = (Viscous(), Coulomb())


ROBOT = "kuka-ir361"


@cache
def model() -> DynamicModel:
    return DynamicModel(load(ROBOT), USUAL)


def moved(rate: float, seconds: float, period: float = 10.0) -> Motion:
    delta = 0.5 * np.random.default_rng(5).standard_normal((3, 11))
    return motion_of(Fourier(period, 5), delta, np.arange(round(seconds * rate)) / rate)


def coloured(rng: np.random.Generator, samples: int, pole: float) -> np.ndarray:
    """(N, 3) errors of variance one, each sample the last one times ``pole`` and something new."""
    white = rng.standard_normal((samples + 1000, 3))
    return signal.lfilter([np.sqrt(1.0 - pole**2)], [1.0, -pole], white, axis=0)[1000:]


def warming(change: float, rng: np.random.Generator, pole: float = 0.0, runs: int = 1) -> Problem:
    """Viscous friction of joint 3 falls linearly by ``change`` of itself in all."""
    seconds, rate = 60.0, 20.0
    motion = moved(rate, seconds)
    torque = model().torque(motion)
    own = dict(zip(model().standard, model().nominal, strict=True))["Fv3"]
    late = motion.time / seconds - 0.5
    torque[:, 2] -= change * own * late * motion.qd[:, 2]
    torque += 0.3 * NOISE * coloured(rng, len(motion), pole)
    cuts = np.linspace(0, len(motion), runs + 1).astype(int)
    parts = []
    for a, z in pairwise(cuts):
        piece = Processed(motion[a:z], torque[a:z], rate)
        start = Motion(piece.motion.time - piece.motion.time[0], piece.motion.q, piece.motion.qd, piece.motion.qdd)
        parts.append(Run((replace(piece, motion=start),), f"run {len(parts)}", period=10.0))
    return Problem(model(), tuple(parts), folds=1)
