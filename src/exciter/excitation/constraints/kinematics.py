"""Where everything is: placements of all bodies in the base over a motion, computed once for all constraints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.numba_engine import writable
from exciter.dynamics.reference import cross, matvec
from exciter.robot.motion import Motion
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array


@lru_cache(maxsize=16)
def robot_dynamics(robot: Robot) -> Dynamics:
    """Kinematics of a robot in its own joint frames; robots are compared by identity."""
    return Dynamics(robot)


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Link frames in the base at the samples of a motion, samples last.

    rotation (n, 3, 3, N), origin (n, 3, N) [m]: the chain's frames, axes along z. Get one by ``kinematics``.
    """

    dynamics: Dynamics
    rotation: Array
    origin: Array

    @property
    def samples(self) -> int:
        return int(self.origin.shape[-1])

    def in_link(self, joint: int, point: Array) -> Array:
        """A point (3,) of a joint's own frame, in the chain's frame of that link."""
        return self.dynamics.chain.axis_frames[joint].T @ point if joint != BASE else point

    def point(self, joint: int, point: Array) -> Array:
        """(3, N) [m] of a point (3,) fixed in the frame of ``joint`` (−1: the base)."""
        if joint == BASE:
            return np.repeat(point[:, None], self.samples, 1)
        moved: Array = matvec(self.rotation[joint], self.in_link(joint, point)[:, None]) + self.origin[joint]
        return moved

    def pull(self, joint: int, x: Array, g: Array) -> Array:
        """(K, n, N): change per joint of K functions with gradients g (K, 3, N) at points x (3, N) that move with the
        body of ``joint`` (−1: the base)."""
        n, chain = self.dynamics.robot.n, self.dynamics.chain
        if joint == BASE:
            return np.zeros((len(g), n, self.samples))
        path = np.array(self.dynamics.robot.ancestors(joint))
        if self.dynamics.engine.name == "numba":
            dq = np.empty((len(g), n, self.samples))
            compiled: Any = kernels("points", "exciter.excitation.kernels").pull
            compiled(*writable(self.rotation, self.origin), chain.prismatic, path, *writable(x, g), dq)
            return dq
        axes = self.rotation[path, :, 2]
        velocity = np.where(chain.prismatic[path, None, None], axes, cross(axes, x - self.origin[path]))
        dq = np.zeros((len(g), n, self.samples))
        dq[:, path] = np.einsum("KcN,jcN->KjN", g, velocity)
        return dq


_KNOWN: WeakKeyDictionary[Motion, dict[Robot, Kinematics]] = WeakKeyDictionary()


def kinematics(robot: Robot, motion: Motion) -> Kinematics:
    """The kinematics of a motion; kept as long as the motion lives, so that constraints share it."""
    known = _KNOWN.setdefault(motion, {})
    if robot not in known:
        dynamics = robot_dynamics(robot)
        dynamics.check(motion)
        links = dynamics.engine.placements(dynamics.chain, motion.samples_last[0])
        known[robot] = Kinematics(dynamics, links.rotation, links.origin)
    return known[robot]
