"""Base parameters of a dynamic model, by both methods, for the whole dynamics and for its parts."""

from __future__ import annotations

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.dynamics.reference import NumpyEngine
from exciter.parameters import inertial
from exciter.parameters.base import BaseParameters, numeric_base, restricted
from exciter.parameters.base_symbolic import prismatic_links, symbolic_base, symbolic_static_base
from exciter.parameters.parameter_names import INERTIA_SYMBOLS, split_name
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, SqrtViscous, Stribeck, Viscous
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array

#: Joint terms the closed form knows: a rotor beside the inertias, an offset beside the weight, friction beside nothing.
TERMS_WITH_RULE = (RotorInertia, Offset, Viscous, SqrtViscous, Coulomb, Stribeck)


def usual_range(robot: Robot) -> tuple[Array, Array]:
    """(n,) lower and upper position: the joint range, at most one turn (or some metres) about its middle."""
    lower, upper = robot.position_range()
    middle, half = 0.5 * (lower + upper), np.minimum(0.5 * (upper - lower), np.pi)
    return middle - half, middle + half


def random_states(robot: Robot, samples: int, seed: int = 0, *, static: bool = False) -> Motion:
    """Independent random states: anywhere in the joint range, speeds and accelerations of order one."""
    rng = np.random.default_rng(seed)
    lower, upper = usual_range(robot)
    q = rng.uniform(lower, upper, (samples, robot.n))
    if static:
        return Motion.at(q)
    qd, qdd = rng.uniform(-2.0, 2.0, (2, samples, robot.n))
    return Motion.at(q, qd, qdd)


def random_motion(robot: Robot, samples: int, seed: int = 0) -> Motion:
    """One smooth random motion in time order: three sines per joint with incommensurate frequencies of order one."""
    rng = np.random.default_rng(seed)
    lower, upper = usual_range(robot)
    time = np.linspace(0.0, 0.1 * samples, samples)
    frequency, phase = rng.uniform(0.3, 3.0, (3, 1, robot.n)), rng.uniform(0.0, 2.0 * np.pi, (3, 1, robot.n))
    size = (upper - lower) / 6.0
    angle = frequency * time[:, None] + phase
    q, qd, qdd = np.sin(angle), frequency * np.cos(angle), -(frequency**2) * np.sin(angle)
    return Motion(time, 0.5 * (lower + upper) + size * q.sum(0), size * qd.sum(0), size * qdd.sum(0))


def model_base(model: DynamicModel) -> BaseParameters:
    """In closed form where every joint term has a rule and geometry leaves no doubt; from random samples otherwise."""
    if not all(isinstance(term, TERMS_WITH_RULE) for term in model.terms):
        return numeric_model_base(model)
    closed = symbolic_base(model.dynamics.robot, model.standard[10 * model.n :])
    if closed.decision.is_clear and reproduces(model, closed):
        return closed
    numeric = numeric_model_base(model)
    return numeric if numeric.decision.is_clear else closed


def reproduces(model: DynamicModel, base: BaseParameters, tolerance: float = 1e-4) -> bool:
    """Whether the base parameters of random χ give its torques at random states: W_b (P χ) = W χ. Tolerance, relative:
    right angles that a description prints with five digits are exact in the closed form."""
    plain = DynamicModel(model.robot, model.terms, NumpyEngine())
    rows = plain.regressor(random_states(model.robot, 5 * model.n, seed=1)).reshape(-1, len(model.standard))
    size = np.linalg.norm(rows, axis=0)
    floor = 1e-6 * size.max(initial=0.0) or 1.0  # a column of rounding noise must not be blown up
    chi = np.random.default_rng(1).standard_normal(len(size)) / np.maximum(size, floor)
    exact = rows @ chi
    return bool(np.abs(base.project(rows) @ base.base_values(chi) - exact).max() <= tolerance * np.abs(exact).max())


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
    """Gravity, offsets and springs: what poses at rest can tell (friction and rotor inertias do not act there)."""
    if not all(isinstance(term, TERMS_WITH_RULE) for term in model.terms):
        return numeric_model_base(model, static=True)
    offsets = [name for name in model.standard[10 * model.n :] if name.startswith("off")]
    return symbolic_static_base(model.dynamics.robot, offsets)


def inertia_base(model: DynamicModel) -> BaseParameters:
    """Second moments only (XX … ZZ of every link), masses and first moments taken as known (Rackl et al.)."""
    robot = model.dynamics.robot
    wanted = [name for name in inertial.names(model.n) if split_name(name)[0] in INERTIA_SYMBOLS]
    return restricted(symbolic_base(robot), wanted, prismatic_links(robot))
