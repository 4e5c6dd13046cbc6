"""Synthetic data straight from the model: exact torques of known parameters plus white noise, for statistics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import MotionError, ParameterError
from exciter.experiment.recording import About, Recording
from exciter.robot.motion import Motion

EVEN_STEP_TOLERANCE = 1e-6  # of an interval, by which intervals within a period may differ


def synthetic_recording(
    model: DynamicModel,
    motion: Motion,
    chi: ArrayLike,
    noise: ArrayLike,
    *,
    position_noise: ArrayLike | None = None,
    periods: int = 1,
    seed: int = 0,
) -> Recording:
    """A log without a robot: noisy torques of χ, and positions that are noisy, too, if asked for. periods: the motion,
    one period sampled evenly without its end, is run through several times; every sample has noise of its own."""
    if periods < 1:
        raise ParameterError(f"{periods} periods; give 1 or more")
    rng, shape = np.random.default_rng(seed), (periods * len(motion), model.n)
    q, torque = (np.tile(x, (periods, 1)) for x in (motion.q, model.torque(motion, chi)))
    torque = torque + model.per_joint(noise, "noise") * rng.standard_normal(shape)
    if position_noise is not None:
        q = q + model.per_joint(position_noise, "position noise") * rng.standard_normal(shape)
    time, period = motion.time, None
    if periods > 1:
        steps = np.diff(motion.time)
        if len(steps) < 1 or np.ptp(steps) > EVEN_STEP_TOLERANCE * steps.mean():
            wrong = "a period to be repeated must be sampled evenly; give times k/rate without the period's end"
            raise MotionError(wrong)
        step = float(motion.time[-1] - motion.time[0]) / len(steps)
        time, period = motion.time[0] + step * np.arange(shape[0]), step * len(motion)
    about = About(period=period, settled=None if period is None else float(time[0]))
    return Recording(model.robot.joint_names, time, q, torque=torque, about=about)
