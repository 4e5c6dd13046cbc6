"""Sequences of points (q, q̇): the robot and its limits, random sequences, and W of the energy model of many at "
"once."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.excitation.optimiser.points import PointVariables
from exciter.excitation.validation_motion.random_families import random_points
from exciter.reproduction.published import published
from exciter.robot import load
from exciter.robot.motion import Motion
from exciter.typing import Array

PUBLISHED = published("gautier_khalil")
BLOCK = 50_000  # points whose energies are computed at once


def assumed_limits() -> str:
    """In words."""
    robot = robot_model().robot
    half, speed = np.rad2deg(robot.limit("upper")[0]), np.rad2deg(robot.limit("velocity")[0])
    return (
        f"Limits ±{half:.0f}° and {speed:.0f}°/s for all joints (the paper prints none; these are a choice that goes "
        "with Table 2, which does not determine them, see the part on limits)"
    )


@cache
def robot_model() -> DynamicModel:
    """The robot of Table 1 within the limits that are assumed."""
    return DynamicModel(load("gautier-khalil"))


def limited(lower: ArrayLike, upper: ArrayLike, velocity: float) -> DynamicModel:
    """The same robot within other limits [rad, rad/s]."""
    return DynamicModel(load("gautier-khalil").with_limits(lower=lower, upper=upper, velocity=velocity))


def uniform_points(model: DynamicModel, points: int, seed: int) -> Motion:
    """Uniformly distributed within the limits."""
    return random_points(model.robot, points, seed)


def starting_points(model: DynamicModel, points: int, seed: int) -> Motion:
    """Variables x of 4.2 normally distributed, as the optimisation of the paper begins."""
    variables = PointVariables.of(model.robot, points)
    return variables.motion(np.random.default_rng(seed).standard_normal(variables.size))


def energies(model: DynamicModel, points: Motion) -> Array:
    """h (N, b) of the base parameters at every point."""
    blocks = [slice(k, k + BLOCK) for k in range(0, len(points), BLOCK)]
    chosen = model.base.independent
    return np.vstack([model.energy(Motion.at(points.q[at], points.qd[at]))[:, chosen] for at in blocks])


def chained(h: Array, r: int) -> Array:
    """W (K, r, b): differences (9) along K sequences of r + 1 points that follow each other in h."""
    rows: Array = np.diff(h.reshape(-1, r + 1, h.shape[1]), axis=1)
    return rows


def equilibria(w: Array) -> Array:
    """S (19) of every W (K, r, b); no element of the energy model's W is zero by structure."""
    size = np.abs(w).reshape(len(w), -1)
    found: Array = size.max(axis=1) / size.min(axis=1)
    return found


def groups(values: Array, size: int, rounds: int, seed: int) -> Array:
    """(K, size): independent values regrouped ``rounds`` times; a value is used once in every round."""
    rng = np.random.default_rng(seed)
    whole = len(values) // size * size
    return np.concatenate([rng.permutation(values)[:whole].reshape(-1, size) for _ in range(rounds)])
