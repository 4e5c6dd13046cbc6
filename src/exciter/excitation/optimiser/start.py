"""Where a search begins: a posture with room on all sides, and random motions shrunk about it until all limits hold.

Shrinking always ends: the shortest motion about a posture that keeps the nonlinear limits at rest keeps them too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.errors import ExciterError
from exciter.excitation.optimiser.joint_limits import JointLimits
from exciter.excitation.optimiser.nonlinear import NonlinearLimits
from exciter.robot.motion import Motion
from exciter.typing import Array

POSTURES = 2000
AMPLITUDE = 0.5  # of the joint limits, where nothing else is in the way
CLEARANCE = 0.02  # of a start, beyond the margins of the nonlinear limits


@dataclass(frozen=True, eq=False)
class Infeasible(Exception):
    """No posture keeps the limits; ``row`` is the one that fails most often, ``value`` the best found of the worst."""

    row: int
    value: float


def roomy_posture(limits: JointLimits, nonlinear: NonlinearLimits | None, seed: int) -> Array:
    """(n,): the middle of the ranges if all limits hold there at rest with room, else the roomiest of random ones."""
    low, high = limits.lower[0], limits.upper[0]
    middle: Array = 0.5 * (low + high)
    if nonlinear is None:
        return middle
    random = np.random.default_rng(seed).uniform(0.05, 0.95, (POSTURES, len(low)))
    candidates = np.vstack([middle, low + random * (high - low)])
    values = nonlinear.at(Motion.at(candidates)) - nonlinear.margins[:, None]
    worst = values.min(axis=0)
    if worst[0] > 2.0 * CLEARANCE:
        return middle
    best = int(np.argmax(worst))
    posture: Array
    posture, room = _climbed(nonlinear, candidates[best], low, high)
    if room <= CLEARANCE:
        raise Infeasible(int(np.argmax((values < CLEARANCE).mean(axis=1))), room)
    return posture


def _climbed(nonlinear: NonlinearLimits, posture: Array, low: Array, high: Array) -> tuple[Array, float]:
    """From the best random posture uphill: smaller and smaller random steps, kept when the worst row improves."""
    rng = np.random.default_rng(0)
    room = -np.inf
    for size in 0.2 * 0.7 ** np.arange(12):
        steps = np.vstack([np.zeros_like(posture), size * rng.standard_normal((100, len(posture)))])
        nearby = np.clip(posture + steps * (high - low), low + 0.02 * (high - low), high - 0.02 * (high - low))
        worst = (nonlinear.at(Motion.at(nearby)) - nonlinear.margins[:, None]).min(axis=0)
        best = int(np.argmax(worst))
        posture, room = nearby[best], float(worst[best])
    return posture, room


def random_start(
    limits: JointLimits,
    nonlinear: NonlinearLimits | None,
    posture: Array,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """(centre, y): standing still at the posture, and a random motion about it, strictly within all limits."""
    variables = limits.variables
    centre = variables.from_delta(variables.trajectory.still(posture))
    swing = np.zeros_like(centre)
    size = variables.n * variables.per_joint
    swing[:size] = rng.standard_normal(size)
    swing *= AMPLITUDE * _largest(limits, centre, swing)
    if nonlinear is None:
        return centre, centre + swing
    for _ in range(60):
        if (nonlinear.values(centre + swing) > CLEARANCE).all():
            return centre, centre + swing
        swing *= 0.7
    raise ExciterError("no motion, however small, keeps the limits about the roomiest posture; loosen a limit")


def _largest(limits: JointLimits, centre: Array, swing: Array) -> float:
    """How far one may go from the centre along a swing before a joint limit is met."""
    at_rest, moving = limits.slack(centre), limits.slack(centre + swing)
    ratios = [(before - after) / np.maximum(before, 1e-300) for before, after in zip(at_rest, moving, strict=True)]
    if min(float(before.min()) for before in at_rest) < 0:
        raise ExciterError("the posture about which the motion is to be designed is outside the joint limits")
    return 1.0 / max(float(ratio[np.isfinite(ratio)].max()) for ratio in ratios)


def shrunk(limits: JointLimits, nonlinear: NonlinearLimits | None, centre: Array, y: Array) -> Array:
    """y moved toward the centre by as little as keeps all limits on the grids."""
    share = 1.0
    for step in (0.001, 0.003, 0.01, 0.03, *([0.1] * 40)):
        candidate = centre + share * (y - centre)
        fine = limits.room(candidate) >= 0.0
        if fine and (nonlinear is None or (nonlinear.values(candidate) >= 0.0).all()):
            return candidate
        share *= 1.0 - step
    return centre
