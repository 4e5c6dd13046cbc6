"""The simulated experiment of the paper (section IV): KUKA IR 361, three axes, 21 parameters, its noise and limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

import exciter as ex
from exciter.excitation.criteria.criterion import AnyCriterion
from exciter.excitation.design import Design, design
from exciter.excitation.trajectories.trajectory import motion
from exciter.typing import Array
from exciter.validation.inertia_matrix import base_chi
from exciter_papers.paper import published

IEEE_FIGURES = published("swevers_ieee")
SIMULATION = IEEE_FIGURES["simulation"]
IEEE_FRICTION_TERMS = (ex.Viscous(), ex.Coulomb())
TORQUE_NOISE_STD: Array = np.sqrt(np.array(SIMULATION["noise_variance"], dtype=float))  #: (3,) [N·m]
IEEE_SAMPLES: int = SIMULATION["samples"]  #: of one period
MOTION_SEED = 0  #: of ``some_motion``
IEEE_FAMILY = ex.Fourier(SIMULATION["period"], SIMULATION["harmonics"])  #: eq. (11)


@cache
def model() -> ex.DynamicModel:
    """The robot with viscous and Coulomb friction; limits and nominal parameters are the paper's."""
    return ex.DynamicModel(ex.load("kuka-ir361"), IEEE_FRICTION_TERMS)


def workspace(robot: ex.Robot) -> ex.Box:
    """The end effector between 0.8 and 1.8 m above the ground."""
    low, high = SIMULATION["height"]
    return ex.Box(robot, "tool", np.array([-np.inf, -np.inf, low]), np.array([np.inf, np.inf, high]))


@cache
def order() -> NDArray[np.int64]:
    """(21,) the base parameter of the product that each line of Table I is."""
    base = model().base
    kept = [base.standard[k] for k in base.independent]
    return np.array([kept.index(row["standard"]) for row in IEEE_FIGURES["table_1"]["rows"]])


@cache
def theta() -> Array:
    """θ (21,) of Table I in the product's order of base parameters."""
    values = np.empty(len(model().base))
    values[order()] = [row["value"] for row in IEEE_FIGURES["table_1"]["rows"]]
    values.flags.writeable = False
    return values


@cache
def chi() -> Array:
    """Standard parameters χ (36,) with these base parameters: θ on the independent columns, zero elsewhere."""
    values = base_chi(model(), theta())
    values.flags.writeable = False
    return values


#: [m] from joint 3 to the end effector, which the paper does not print: to the wrist centre of the model of this robot
#: in Orocos KDL, and as far beyond its flange.
TOOL_LENGTHS = (0.645, 0.885)
SHOULDER_RANGE = 0.05  # [m] by which the shoulder may be higher or lower than in that model


def of_any_lengths(robot: ex.Robot) -> ex.DynamicModel:
    """A robot with an end effector at either end of ``TOOL_LENGTHS`` as well."""
    (tool,) = (frame for frame in robot.frames if frame.name == "tool")
    along = tool.translation / np.linalg.norm(tool.translation)
    ends = (replace(tool, name=f"tool at {length:g} m", translation=length * along) for length in TOOL_LENGTHS)
    return ex.DynamicModel(replace(robot, frames=(*robot.frames, *ends)), model().terms)


def workspace_of_any_lengths(robot: ex.Robot) -> list[ex.Box]:
    """The height limits for all lengths at once: the height is linear in both, so that their ends decide."""
    low, high = SIMULATION["height"]
    within = np.array([-np.inf, -np.inf, low + SHOULDER_RANGE]), np.array([np.inf, np.inf, high - SHOULDER_RANGE])
    return [ex.Box(robot, f"tool at {length:g} m", *within) for length in TOOL_LENGTHS]


def optimised(
    criterion: AnyCriterion,
    starts: int,
    *,
    seed: int = 0,
    other: ex.DynamicModel | None = None,
    heights: Callable[[ex.Robot], Sequence[ex.Box]] = lambda robot: [workspace(robot)],
) -> Design:
    """The motion of section IV-B that makes a criterion smallest within all limits of the paper; other: of a variant
    of the robot; heights: limits of its end effector."""
    chosen = model() if other is None else other
    return design(
        chosen,
        IEEE_FAMILY,
        criterion=criterion,
        noise=TORQUE_NOISE_STD,
        constraints=heights(chosen.robot),
        samples=IEEE_SAMPLES,
        starts=starts,
        race=False,  # the distribution over starts is shown
        seed=seed,
    )


def sampled(delta: Array, samples: int = IEEE_SAMPLES) -> ex.Motion:
    """One period of coefficients (3, 11) at so many instants."""
    return motion(IEEE_FAMILY, delta, IEEE_FAMILY.sample_times(samples))


def some_motion() -> Array:
    """(3, 11) coefficients of some motion, drawn, that moves every joint; nothing is claimed of it."""
    return 0.3 * np.random.default_rng(MOTION_SEED).standard_normal((model().n, IEEE_FAMILY.coefficients))
