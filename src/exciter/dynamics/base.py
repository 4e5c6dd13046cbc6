"""Base parameters of a dynamic model, by both methods, for the whole dynamics and for its parts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.parameters import inertial
from exciter.parameters.base import BaseParameters
from exciter.parameters.base_numeric import numeric_base
from exciter.parameters.base_selection import restricted
from exciter.parameters.base_symbolic import prismatic_links, symbolic_base, symbolic_static_base
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot

Array = NDArray[np.float64]
SECOND_MOMENTS = ("XX", "XY", "YY", "XZ", "YZ", "ZZ")


def random_states(robot: Robot, samples: int, seed: int = 0, *, static: bool = False) -> Motion:
    """Independent random states: anywhere in the joint range, speeds and accelerations of order one."""
    rng = np.random.default_rng(seed)
    lower, upper = np.maximum(robot.limit("lower"), -np.pi), np.minimum(robot.limit("upper"), np.pi)
    q = rng.uniform(lower, upper, (samples, robot.n))
    if static:
        return Motion.at(q)
    qd, qdd = rng.uniform(-2.0, 2.0, (2, samples, robot.n))
    return Motion.at(q, qd, qdd)


def random_motion(robot: Robot, samples: int, seed: int = 0) -> Motion:
    """One smooth random motion in time order: three sines per joint with incommensurate frequencies of order one."""
    rng = np.random.default_rng(seed)
    lower, upper = np.maximum(robot.limit("lower"), -np.pi), np.minimum(robot.limit("upper"), np.pi)
    time = np.linspace(0.0, 0.1 * samples, samples)
    frequency, phase = rng.uniform(0.3, 3.0, (3, 1, robot.n)), rng.uniform(0.0, 2.0 * np.pi, (3, 1, robot.n))
    size = (upper - lower) / 6.0
    angle = frequency * time[:, None] + phase
    q, qd, qdd = np.sin(angle), frequency * np.cos(angle), -(frequency**2) * np.sin(angle)
    return Motion(time, 0.5 * (lower + upper) + size * q.sum(0), size * qd.sum(0), size * qdd.sum(0))


def model_base(model: DynamicModel) -> BaseParameters:
    """In closed form where every joint term has a rule; from random samples otherwise."""
    try:
        return symbolic_base(model.dynamics.robot, model.standard[10 * model.n :])
    except ParameterError:
        return numeric_model_base(model)


def numeric_model_base(model: DynamicModel, *, seed: int = 0, static: bool = False) -> BaseParameters:
    """From the regressor at random states (along a random motion for terms with memory); static: at rest, only
    gravity acts."""
    samples = 20 * model.n + 2 * len(model.standard) // model.n
    if any(term.has_memory for term in model.bound) and not static:
        return excited_base(model, random_motion(model.robot, 3 * samples, seed))
    return excited_base(model, random_states(model.robot, samples, seed, static=static))


def excited_base(model: DynamicModel, motion: Motion) -> BaseParameters:
    """The minimal set that the samples of a motion excite, whatever the robot could reveal on others."""
    rows = model.regressor(motion).reshape(-1, len(model.standard))
    return numeric_base(rows, model.standard, prismatic=prismatic_links(model.robot))


def static_base(model: DynamicModel) -> BaseParameters:
    """Gravity only: what poses at rest can tell (friction and rotor inertias do not act there)."""
    offsets = [name for name in model.standard[10 * model.n :] if name.startswith("off")]
    return symbolic_static_base(model.dynamics.robot, offsets)


def inertia_base(model: DynamicModel) -> BaseParameters:
    """Second moments only (XX … ZZ of every link), masses and first moments taken as known (Rackl et al.)."""
    robot = model.dynamics.robot
    wanted = [name for name in inertial.names(model.n) if name.rstrip("0123456789") in SECOND_MOMENTS]
    return restricted(symbolic_base(robot), wanted, prismatic_links(robot))
