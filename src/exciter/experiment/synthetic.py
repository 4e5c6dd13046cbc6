"""Synthetic data straight from the model: exact torques of known parameters plus white noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.model import DynamicModel
from exciter.robot.motion import Motion

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Synthetic:
    """A motion and the noisy torques (N, n) [N·m] it took; noise σ (n,) [N·m]."""

    motion: Motion
    torque: Array
    noise: Array


def synthetic(model: DynamicModel, motion: Motion, chi: ArrayLike, noise: ArrayLike, seed: int = 0) -> Synthetic:
    """Torques of standard parameters χ with white noise of standard deviation ``noise`` per joint."""
    exact = model.torque(motion, chi)
    sigma = model.per_joint(noise, "noise")
    return Synthetic(motion, exact + sigma * np.random.default_rng(seed).standard_normal(exact.shape), sigma)
