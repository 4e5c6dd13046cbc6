"""One robot, one motion, exact and noisy data of it: common to all that is run of the chapter, which has none.

The robot is that of Gautier and Khalil 1992 with its inertial parameters X (their Table 6) and friction added. The
motion is a Fourier series whose size was chosen for cond(W), without regard to the limits of the robot.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import Recording
from exciter.experiment.signals.processed import Processed
from exciter.parameters.terms import Coulomb, Viscous
from exciter.reproduction.published import published
from exciter.robot import Motion, load
from exciter.typing import Array

SET_UP = published("khalil_dombre")["set_up"]
RATE: float = SET_UP["rate"]  #: [Hz]

#: For the texts ``set_up`` of parts after the first, which has ``words()``
ROBOT = "Robot and friction as in Sections 12.4–12.6."
AS_BEFORE = "Robot, friction and motion as in Sections 12.4–12.6."
HARMONICS = f"{SET_UP['harmonics']} harmonics of {1.0 / SET_UP['period']:g} Hz"


def words() -> str:
    """The set-up in full, for the first part."""
    return (
        "The chapter has no robot and no data of its own; what follows is assumed by us. Robot: that of Gautier and "
        f"Khalil 1992 with the inertial parameters X of their Table 6, and friction Fc = ({_list(SET_UP['Fc'])}) N·m, "
        f"Fv = ({_list(SET_UP['Fv'])}) N·m·s/rad: {len(true_values())} base parameters. Motion: {HARMONICS}, "
        f"coefficients normal with σ = {SET_UP['size']:g} (rad/s, and rad for the offset; seed {SET_UP['seed']}), "
        f"{SET_UP['duration']:g} s at {RATE:g} Hz. Its size was chosen so that cond(W) is about "
        f"{SET_UP['condition']:g} (it is {condition():.1f}), and it goes beyond the robot's own limits: {_beyond()}."
    )


def _list(values: ArrayLike) -> str:
    return ", ".join(f"{value:g}" for value in np.asarray(values))


def condition() -> float:
    """cond(W) of the dynamic model along the motion, rows as they are."""
    w = model().regressor(motion())[:, :, model().base.independent]
    return float(np.linalg.cond(w.reshape(-1, w.shape[2])))


def _beyond() -> str:
    """Largest values along the motion, and what the robot allows."""
    robot, here = model().robot, motion()
    reached = (np.rad2deg(here.q), np.rad2deg(here.qd), here.qdd)
    allowed = np.rad2deg(robot.position_range()[1]), np.rad2deg(robot.limit("velocity")), robot.limit("acceleration")
    units = ("°", "°/s", " rad/s²")
    return "; ".join(
        f"{', '.join(f'{x:.3g}' for x in np.abs(values).max(axis=0))}{unit} (allowed {limit.min():.3g}{unit})"
        for values, limit, unit in zip(reached, allowed, units, strict=True)
    )


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
    """(p,) true base parameters, named ``model().base.names``."""
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
    """‖χ̂ − χ‖ / ‖χ‖ of base parameters (p,)."""
    return float(np.linalg.norm(np.asarray(values) - true_values()) / np.linalg.norm(true_values()))
