"""The simulated experiment of the paper (section IV): KUKA IR 361, three axes, 21 parameters, its noise and limits."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.excitation.constraints.workspace import Box
from exciter.excitation.criteria import AnyCriterion
from exciter.excitation.design import Design, design
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.parameters.terms import Coulomb, Viscous
from exciter.reproduction.published import published
from exciter.robot import load
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array

PAPER = published("swevers_ieee")
SIMULATION = PAPER["simulation"]
USUAL = (Viscous(), Coulomb())
NOISE: Array = np.sqrt(np.array(SIMULATION["noise_variance"], dtype=float))  #: (3,) [N·m]
SAMPLES: int = SIMULATION["samples"]  #: of one period
MOTION_SEED = 0  #: of ``some_motion``
FAMILY = Fourier(SIMULATION["period"], SIMULATION["harmonics"])  #: eq. (11)


@cache
def model() -> DynamicModel:
    """The robot with viscous and Coulomb friction; limits and nominal parameters are the paper's."""
    return DynamicModel(load("kuka-ir361"), USUAL)


def workspace(robot: Robot) -> Box:
    """The end effector between 0.8 and 1.8 m above the ground."""
    low, high = SIMULATION["height"]
    return Box(robot, "tool", np.array([-np.inf, -np.inf, low]), np.array([np.inf, np.inf, high]))


@cache
def order() -> NDArray[np.int64]:
    """(21,) the base parameter of the product that each line of Table I is."""
    base = model().base
    kept = [base.standard[k] for k in base.independent]
    return np.array([kept.index(row["standard"]) for row in PAPER["table_1"]["rows"]])


@cache
def theta() -> Array:
    """θ (21,) of Table I in the product's order of base parameters."""
    values = np.empty(len(model().base))
    values[order()] = [row["value"] for row in PAPER["table_1"]["rows"]]
    values.flags.writeable = False
    return values


@cache
def chi() -> Array:
    """Standard parameters χ (36,) with these base parameters: θ on the independent columns, zero elsewhere."""
    values = np.zeros(len(model().standard))
    values[model().base.independent] = theta()
    values.flags.writeable = False
    return values


def optimised(criterion: AnyCriterion, starts: int, *, seed: int = 0, other: DynamicModel | None = None) -> Design:
    """The motion of section IV-B that makes a criterion smallest within all limits of the paper; other: of a variant
    of the robot."""
    chosen = model() if other is None else other
    return design(
        chosen,
        FAMILY,
        criterion=criterion,
        noise=NOISE,
        constraints=[workspace(chosen.robot)],
        samples=SAMPLES,
        starts=starts,
        seed=seed,
    )


def sampled(delta: Array, samples: int = SAMPLES) -> Motion:
    """One period of coefficients (3, 11) at so many instants."""
    return motion(FAMILY, delta, FAMILY.sample_times(samples))


def some_motion() -> Array:
    """(3, 11) coefficients of some motion, drawn, that moves every joint; nothing is claimed of it."""
    return 0.3 * np.random.default_rng(MOTION_SEED).standard_normal((model().n, FAMILY.coefficients))
