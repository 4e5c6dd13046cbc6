"""Position, velocity, acceleration and jerk limits: linear in the coefficients, joint by joint.

On a grid of instants the rows are C_k u_j between lower and upper limit (times s^k where the duration s is free: a
convex power, so that its tangent, which the rows use, never allows more than the limit). Margins take care of what
lies between the instants; they grow where the exact extrema of a result say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exciter.errors import ExciterError
from exciter.excitation.optimiser.variables import Grid, Variables
from exciter.excitation.trajectories.trajectory import Trajectory
from exciter.robot.robot import Robot
from exciter.typing import Array

Index = NDArray[np.int64]
LEAST_SWING = 0.01  # [rad or m] that a joint must be able to move to and fro, or nothing can be learnt from it
LEAST_RANGE = 1e-3  # [rad or m] between its position limits
KINDS = ("position", "velocity", "acceleration", "jerk")


def limit_ranges(robot: Robot) -> tuple[Array, Array]:
    """Lower and upper limits (4, n) of position, velocity, acceleration, jerk; a joint without end gets one turn."""
    low, high = robot.position_range()
    for joint in robot.joints:
        if not np.isfinite([joint.limits.velocity, joint.limits.acceleration]).any():
            raise ExciterError(
                f"joint '{joint.name}' has neither a velocity nor an acceleration limit; give one, "
                "e.g. limits: {velocity: 2.0} in a YAML file given with --config"
            )
        if joint.is_prismatic and not np.isfinite([joint.limits.lower, joint.limits.upper]).all():
            raise ExciterError(f"prismatic joint '{joint.name}' has no end; give its lower and upper limit")
    rest = [robot.limit(kind) for kind in KINDS[1:]]
    return np.array([low, *(-x for x in rest)]), np.array([high, *rest])


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits (4, n) on a grid with derivatives up to jerk, tightened by margins (4, n), fractions of half a range."""

    variables: Variables
    grid: Grid
    lower: Array
    upper: Array
    margins: Array

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """Derivatives that any joint limits."""
        return tuple(k for k in range(4) if np.isfinite(self.upper[k]).any())

    @cached_property
    def matrix(self) -> Array:
        """(R, v): the C_k of all limited kinds, one below the other."""
        return np.ascontiguousarray(np.vstack([self.grid.matrices[k] for k in self.kinds]))

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        """(R, n): lower and upper bounds of the rows at s = 1, margins taken off."""
        count = len(self.grid.time)
        shrink = np.where(np.isfinite(self.upper), self.margins * 0.5 * (self.upper - self.lower), 0.0)
        low, high = self.lower + shrink, self.upper - shrink
        return np.repeat(low[list(self.kinds)], count, axis=0), np.repeat(high[list(self.kinds)], count, axis=0)

    @cached_property
    def _powers(self) -> Array:
        """(R, 1): the k of s^k."""
        return np.repeat(np.array(self.kinds, dtype=float), len(self.grid.time))[:, None]

    @cached_property
    def scale(self) -> Array:
        """(R, n): half the range, one where there is no limit."""
        half = 0.5 * (self.upper - self.lower)[list(self.kinds)]
        return np.repeat(np.where(np.isfinite(half), half, 1.0), len(self.grid.time), axis=0)

    def slack(self, y: Array) -> tuple[Array, Array]:
        """(R, n) distances to lower and upper bound, ≥ 0 where kept, at y."""
        u, s = self.variables.split(y)
        values = self.matrix @ u.T
        low, high = self._bounds
        power = s**self._powers if s != 1.0 else 1.0
        return values - low * power, high * power - values

    def room(self, y: Array) -> float:
        """Smallest distance to any bound, as a fraction of half its range; negative where broken."""
        low, high = self.slack(y)
        return float(min((low / self.scale).min(), (high / self.scale).min()))

    def rows(self, y: Array, at: Index, joint: Index) -> tuple[Array, Array, Array]:
        """A (M, size) and bounds l ≤ A d ≤ u (M,) of steps d from y, for chosen rows and joints, in half ranges."""
        variables = self.variables
        _, s = variables.split(y)
        scale = self.scale[at, joint]
        blocks = np.zeros((len(at), variables.n, variables.per_joint))
        blocks[np.arange(len(at)), joint] = self.matrix[at] / scale[:, None]
        out = blocks.reshape(len(at), variables.n * variables.per_joint)
        low, high = (slack[at, joint] / scale for slack in self.slack(y))
        if variables.stretch is None:
            return out, -low, high
        power = self._powers[at, 0]  # symmetric limits ±L s^k: the tangent of s^k, once for each side
        slope = (power * s ** (power - 1.0) * self._bounds[1][at, joint] / scale)[:, None]
        both = np.vstack([np.hstack([out, slope]), np.hstack([out, -slope])])
        free = np.full(len(at), np.inf)
        return both, np.concatenate([-low, -free]), np.concatenate([free, high])


def check_room(robot: Robot, trajectory: Trajectory) -> None:
    """Refuse a joint that can hardly move: between its limits, or because the duration is so short that swinging to and
    fro within its velocity and acceleration limits leaves less than ``LEAST_SWING``."""
    lower, upper = limit_ranges(robot)
    narrow = np.flatnonzero(upper[0] - lower[0] < LEAST_RANGE)
    if len(narrow):
        joint, room = robot.joints[narrow[0]], float((upper[0] - lower[0])[narrow[0]])
        raise ExciterError(
            f"joint '{joint.name}' has a range of {room:.1e} {'m' if joint.is_prismatic else 'rad'} only: nothing can "
            f"be learnt from it; widen its limits, or leave it out with --lock {joint.name}"
        )
    pace = 2.0 * np.pi / trajectory.duration
    swing = np.minimum(upper[1] / pace, upper[2] / pace**2)
    short = np.flatnonzero(swing < LEAST_SWING)
    if not len(short):
        return
    j = short[np.argmin(swing[short])]
    needed = 2.0 * np.pi * max(LEAST_SWING / upper[1, j], np.sqrt(LEAST_SWING / upper[2, j]))
    unit = "m" if robot.joints[j].is_prismatic else "rad"
    raise ExciterError(
        f"a duration of {trajectory.duration:g} s is too short: within its velocity and acceleration limits joint "
        f"'{robot.joints[j].name}' could swing by {swing[j]:.1e} {unit} only; "
        f"give {needed:.2g} s or more"
    )
