"""Postures that a robot with closed loops can take: samples of its joints are pulled towards where the loops are closed
until they close, the followers follow, and keep their own position limits."""

from __future__ import annotations

import numpy as np

from exciter.robot.closed_loops import ClosedLoops
from exciter.robot.robot import Robot
from exciter.typing import Array

SHRINKING = 0.75  # of the way from the reference that could be followed, where that is not all of it
MOST_SHRINKS = 30


def reach(robot: Robot, u: Array) -> Array:
    """(N,): which part of the straight way from the reference to positions (N, n) of the joints can be followed; below
    one, too, where followers leave their position limits at the end."""
    coupling = robot.coupling
    if not isinstance(coupling, ClosedLoops):
        return np.ones(len(u))
    q, done = coupling.reach(u)
    lower, upper = np.array([(body.limits.lower, body.limits.upper) for body in robot.bodies]).T
    beyond = (coupling.reference < lower) | (coupling.reference > upper)  # limits that the reference breaks say nothing
    kept = (beyond | ((q >= lower) & (q <= upper)))[:, coupling.followers].all(axis=1)
    return np.where(kept, done, np.minimum(done, SHRINKING))


def rest_posture(robot: Robot) -> Array:
    """(n,): zero, or the limit nearest to it; as near to that as loops close."""
    lower, upper = robot.position_range()
    return np.asarray(within_reach(robot, np.clip(np.zeros((1, robot.n)), lower, upper))[0])


def within_reach(robot: Robot, u: Array) -> Array:
    """Positions (N, n), those that cannot be taken nearer to the reference."""
    if not isinstance(robot.coupling, ClosedLoops):
        return u
    u, home, away = u.copy(), robot.coupling.home, np.arange(len(u))
    for _ in range(MOST_SHRINKS):
        part = reach(robot, u[away])
        away, part = away[part < 1.0], part[part < 1.0]
        if not away.size:
            return u
        u[away] = home + SHRINKING * part[:, None] * (u[away] - home)
    u[away] = home
    return u


def swing_room(robot: Robot, middle: Array, steps: Array) -> tuple[Array, float]:
    """About what (n,), and how much of it, steps (N, n) can be made: the middle and all, but about the reference of
    loops and so small that they stay closed."""
    share = 1.0
    if not isinstance(robot.coupling, ClosedLoops):
        return middle, share
    for _ in range(MOST_SHRINKS):
        part = float(reach(robot, robot.coupling.home + share * steps).min())
        if part >= 1.0:
            return robot.coupling.home, share
        share *= SHRINKING * part
    return robot.coupling.home, 0.0
