"""A virtual robot that is like the common one, and can exist: simulated by another engine, logs drawn again and again.

Bodies with the parameters X of Gautier and Khalil's Table 6 do not exist, so that the true inertias are drawn about
the nearest ones that do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from exciter.excitation.design import Design, design
from exciter.excitation.trajectories.ramps import Ramps
from exciter.excitation.validation_motion.draw import Drawn
from exciter.excitation.validation_motion.draw import draw as draw_motion
from exciter.excitation.validation_motion.random_families import RandomSpline
from exciter.experiment.recording import Payload, Recording
from exciter.experiment.signals.rows import ParallelFilter
from exciter.experiment.virtual import (
    Drive,
    Encoder,
    Friction,
    Sampling,
    Simulated,
    Spread,
    TorqueMeter,
    Truth,
    VirtualRobot,
    draw,
)
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.reproduction.khalil_dombre import set_up
from exciter.reproduction.khalil_dombre.steps import DATA
from exciter.typing import Array

SETTINGS = DATA["validation"]
ENCODER = Encoder()
WORDS = (
    "Virtual robot: the common one, its true inertias drawn about the nearest bodies that can exist (spread "
    f"{100 * SETTINGS['bodies']:g} %, seed {SETTINGS['seed']}; those of Table 6 cannot), friction as "
    "elsewhere, simulated by "
    "another engine under a computed-torque controller that knows the description only. Encoders of "
    f"{ENCODER.counts:g} "
    f"counts per turn of the motor, torques with white noise of {DATA['noise']:g} % of the largest ones along the "
    "common motion, "
    f"{SETTINGS['log_rate']:g} Hz. Identification motion: D-optimal, {set_up.HARMONICS}, one period "
    f"({SETTINGS['starts']} starts, seed 0); unseen motion: a random spline of {SETTINGS['unseen']['duration']:g} s "
    "(seed "
    f"{SETTINGS['unseen']['seed']}). Positions are filtered and differentiated, both "
    "sides of "
    f"the equations filtered and decimated by {SETTINGS['decimation']}; weighted least squares."
)


def payload() -> Payload:
    given = SETTINGS["payload"]
    return Payload(given["frame"], given["mass"], tuple(given["centre"]), tuple(given["inertia"]))


def formulation() -> InverseDynamic:
    """The dynamic model with parallel filtering."""
    return InverseDynamic(ParallelFilter(factor=SETTINGS["decimation"]))


@cache
def planned() -> Design:
    sigma = set_up.torque_noise(DATA["noise"])
    return design(set_up.model(), set_up.family(), noise=sigma, starts=SETTINGS["starts"], samples=500, ramps=Ramps())


@cache
def unseen() -> Drawn:
    given = SETTINGS["unseen"]
    return draw_motion(set_up.model().robot, RandomSpline(given["duration"], given["segments"]), seed=given["seed"])


@cache
def truth() -> Truth:
    drawn = draw(set_up.model().robot, SETTINGS["seed"], Spread(SETTINGS["bodies"], 0.0))
    friction = Friction(viscous=tuple(set_up.SET_UP["Fv"]), coulomb=tuple(set_up.SET_UP["Fc"]))
    return replace(drawn, friction=friction, rotor_inertia=0.0)


@cache
def true_values() -> Array:
    """(p,) base parameters."""
    known = dict(zip(truth().model.standard, truth().chi, strict=True))
    return set_up.model().base.base_values([known[name] for name in set_up.model().standard])


@dataclass(frozen=True, eq=False)
class Experiment:
    """Three motions of the robot: for identification, unseen, and the first one with the known load."""

    identification: Simulated
    validation: Simulated
    loaded: Simulated


@cache
def experiment() -> Experiment:
    noise, gains = tuple(set_up.torque_noise(DATA["noise"]).tolist()), SETTINGS["gains"]
    robot = VirtualRobot(
        set_up.model().robot,
        truth(),
        meter=TorqueMeter(noise=noise),
        drive=Drive(tuple(gains["gear"]), tuple(gains["torque_constant"])),
        sampling=Sampling(SETTINGS["log_rate"]),
        simulation_rate=SETTINGS["simulation_rate"],
    )
    carrying = replace(robot, payload=payload())
    path, other = planned().curve, unseen().curve
    return Experiment(robot.run(path), robot.run(other), carrying.run(path))


def logged(simulated: Simulated, seed: int) -> Recording:
    """What sensors say of a run, with noise drawn anew: the robot itself is simulated once, its controller does not
    see the noise. A known load is not told."""
    robot, drive = simulated.virtual.robot, simulated.virtual.drive
    rng = np.random.default_rng(seed)
    noise = set_up.torque_noise(DATA["noise"]) * rng.standard_normal(simulated.torque.shape)
    return replace(
        simulated.recording,
        q=ENCODER.position(simulated.motor.q, robot, drive, seed),
        torque=simulated.torque + noise,
        about=replace(simulated.recording.about, payload=None),
    )
