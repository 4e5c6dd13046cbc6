"""One robot, one motion, exact and noisy data of it: common to all that is run of the chapter, which has none.

The robot is that of Gautier and Khalil 1992 with its inertial parameters X (their Table 6) and friction added: 21 base
parameters. The motion has five harmonics of 0.1 Hz; its size was chosen so that cond(W) is about 35.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import Recording
from exciter.experiment.signals.processed import Processed
from exciter.parameters.terms import Coulomb, Viscous
from exciter.reproduction.published import published
from exciter.robot import Motion, load

Array = NDArray[np.float64]

SET_UP = published("khalil_dombre")["set_up"]
RATE: float = SET_UP["rate"]  #: [Hz]

WORDS = (
    "The chapter has no robot and no data of its own. Robot here: that of Gautier and Khalil 1992 with the inertial "
    "parameters X of their Table 6, and friction Fc = ({}, {}, {}) N·m, Fv = ({}, {}, {}) N·m·s/rad: 21 base "
    "parameters. Motion: {} harmonics of {:g} Hz, coefficients normal with σ = {:g} (rad/s, and rad for the offset; "
    "seed {}), {:g} s at {:g} Hz; assumed by us."
).format(
    *SET_UP["Fc"],
    *SET_UP["Fv"],
    SET_UP["harmonics"],
    1.0 / SET_UP["period"],
    SET_UP["size"],
    SET_UP["seed"],
    SET_UP["duration"],
    RATE,
)  #: for the texts ``set_up`` of the parts


@cache
def model() -> DynamicModel:
    """Rigid links, viscous and Coulomb friction (Fc of the chapter is Fs here)."""
    return DynamicModel(load("gautier-khalil"), (Viscous(), Coulomb()))


@cache
def chi() -> Array:
    """True standard parameters χ."""
    friction = {f"{ours}{j + 1}": SET_UP[theirs][j] for ours, theirs in (("Fs", "Fc"), ("Fv", "Fv")) for j in range(3)}
    values = np.array([friction.get(name, x) for name, x in zip(model().standard, model().nominal, strict=True)])
    values.flags.writeable = False
    return values


@cache
def true_values() -> Array:
    """(21,) true base parameters, named ``model().base.names``."""
    return model().base.base_values(chi())


@cache
def family() -> Fourier:
    return Fourier(SET_UP["period"], SET_UP["harmonics"])


@cache
def coefficients() -> Array:
    """(3, 11) of the motion."""
    drawn = np.random.default_rng(SET_UP["seed"]).standard_normal((model().n, family().coefficients))
    return np.asarray(SET_UP["size"] * drawn, dtype=np.float64)


@cache
def motion(rate: float = RATE) -> Motion:
    """Exact, 20 s at ``rate`` [Hz]."""
    return motion_of(family(), coefficients(), np.arange(round(SET_UP["duration"] * rate)) / rate)


@cache
def torque(rate: float = RATE) -> Array:
    """(N, 3) [N·m] exact, along ``motion(rate)``."""
    values = model().torque(motion(rate), chi())
    values.flags.writeable = False
    return values


def exact(rate: float = RATE) -> Processed:
    """Exact motion and torque, ready for a ``Run``."""
    return Processed(motion(rate), torque(rate), rate)


def torque_noise(percent: float) -> Array:
    """(3,) σ [N·m] as a part of the largest torque of each joint."""
    return np.asarray(percent / 100.0 * np.abs(torque()).max(axis=0), dtype=np.float64)


def noisy_torque(seed: int | tuple[int, ...], percent: float, rate: float = RATE) -> Processed:
    """Exact motion, white noise on torques of ``percent`` of their largest values."""
    sigma = torque_noise(percent)
    noise = np.random.default_rng(seed).standard_normal(torque(rate).shape)
    return Processed(motion(rate), torque(rate) + sigma * noise, rate, torque_noise=sigma)


def recording(
    seed: int | tuple[int, ...], position_noise: float, percent: float, offset: ArrayLike = 0.0, rate: float = RATE
) -> Recording:
    """A log: positions with white noise of ``position_noise`` [rad], torques with ``percent`` of their largest values
    and an ``offset`` [N·m], one or per joint. Velocities are not measured. (Processed, that is filtered and
    differentiated, by ``FilteredDifferences(cutoff).apply``.)"""
    rng, true = np.random.default_rng(seed), motion(rate)
    q = true.q + position_noise * rng.standard_normal(true.q.shape)
    noise = torque_noise(percent) * rng.standard_normal(true.q.shape)
    return Recording(model().robot.joint_names, true.time, q, torque=torque(rate) + noise + np.asarray(offset))


def relative_error(values: ArrayLike) -> float:
    """‖χ̂ − χ‖ / ‖χ‖ of base parameters (21,)."""
    return float(np.linalg.norm(np.asarray(values) - true_values()) / np.linalg.norm(true_values()))
