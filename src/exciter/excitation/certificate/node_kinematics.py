"""Where the links are and how they move at given instants, all in base axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.dynamics.chain import Chain
from exciter.dynamics.reference import cross
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class NodeKinematics:
    """Per link, N instants last: rotation R (3, 3, N) and origin o (3, N) in the base; its distance vector from the
    parent's origin; ω, α (3, N) and the acceleration a (3, N) of the origin, without gravity."""

    rotation: list[Array]
    origin: list[Array]
    lever: list[Array]
    omega: list[Array]
    alpha: list[Array]
    acceleration: list[Array]

    @classmethod
    def of(cls, chain: Chain, q: Array, qd: Array, qdd: Array) -> NodeKinematics:
        """At (n, N) positions, velocities, accelerations."""
        nodes, nothing = cls([], [], [], [], [], []), np.zeros((3, q.shape[1]))
        base = np.broadcast_to(np.eye(3)[:, :, None], (3, 3, q.shape[1]))
        for i in range(chain.n):
            k = int(chain.parent[i])
            rotation = base if k < 0 else nodes.rotation[k]
            origin, omega, alpha, acc = (
                nothing if k < 0 else kept[k] for kept in (nodes.origin, nodes.omega, nodes.alpha, nodes.acceleration)
            )
            turned = np.einsum("abN,bc->acN", rotation, chain.rotation[i])
            lever = np.einsum("abN,b->aN", rotation, chain.origin[i])
            axis = turned[:, 2]
            swing = cross(omega, axis)
            if chain.prismatic[i]:
                lever = lever + axis * q[i]
                acc = acc + 2.0 * qd[i] * swing + qdd[i] * axis
            acc = acc + _turning(omega, alpha, lever)
            if not chain.prismatic[i]:
                turned = _spun(turned, q[i])
                omega, alpha = omega + qd[i] * axis, alpha + qd[i] * swing + qdd[i] * axis
            for kept, value in zip(
                vars(nodes).values(), (turned, origin + lever, lever, omega, alpha, acc), strict=True
            ):
                kept.append(value)
        return nodes

    def turned(self, link: int, vector: Array) -> Array:
        """(3, N) in base axes, of a vector (3,) fixed in a link."""
        product: Array = np.einsum("abN,b->aN", self.rotation[link], vector)
        return product

    def point(self, link: int, vector: Array) -> tuple[Array, Array]:
        """Position and acceleration (3, N) of the point (3,) of a link."""
        arm = self.turned(link, vector)
        return self.origin[link] + arm, self.acceleration[link] + _turning(self.omega[link], self.alpha[link], arm)


def _turning(omega: Array, alpha: Array, arm: Array) -> Array:
    """α×r + ω×(ω×r)."""
    return cross(alpha, arm) + cross(omega, cross(omega, arm))


def _spun(rotation: Array, angle: Array) -> Array:
    """R Rz(angle)."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = rotation[:, 0], rotation[:, 1], rotation[:, 2]
    return np.stack([x * c + y * s, y * c - x * s, z], axis=1)
