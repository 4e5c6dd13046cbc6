"""Bounds of how fast the links turn and move, for whole intervals: recursion on norms, in the base frame.

Notation of the recursion, jets of link i (see ``jets``): Ω_i ≥ |ω_i|, E_i: any vector of length one fixed in the link
(also the axes of the joints it carries), D_i: distance vector from the parent's origin in the parent's axes, which
changes for prismatic joints only, P_i: the origin.

    Ω_i = Ω_p + E_p Q̇_i        E_i[k+1] = (Ω_i E_i)[k]        P_i = P_p + E_p D_i

Lower orders are then replaced by what the ends of the interval show (``tighten``); only the highest stay majorants.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.dynamics.chain import Chain
from exciter.excitation.certificate.jets import largest, product, tighten, turning
from exciter.excitation.certificate.node_kinematics import NodeKinematics
from exciter.parameters.terms.ranges import Ranges
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class LinkJets:
    """Per link: omega (4, M), fixed E (5, M), carrier E of the parent (5, M), lever E_p D_i (5, M), and the derivatives
    2 … 4 of the origin, moved (3, M) = P[2:]."""

    omega: list[Array]
    fixed: list[Array]
    carrier: list[Array]
    lever: list[Array]
    moved: list[Array]

    @classmethod
    def of(cls, chain: Chain, nodes: NodeKinematics, ranges: Ranges, rates: Array, width: Array) -> LinkJets:
        """For M intervals: ranges and rates as in ``Spans``, nodes at both ends of each."""
        jets, m = cls([], [], [], [], []), len(width)
        at_rest, still = np.zeros((4, m)), np.concatenate([np.ones((1, m)), np.zeros((4, m))])
        apart = distances(chain, ranges)
        for i in range(chain.n):
            k = int(chain.parent[i])
            omega, carrier, moved = (
                (at_rest, still, at_rest[:3]) if k < 0 else (jets.omega[k], jets.fixed[k], jets.moved[k])
            )
            distance = np.zeros((5, m))
            distance[0] = apart[i]
            if chain.prismatic[i]:
                distance[1:] = rates[:, i]
            else:
                omega = omega + product(carrier, rates[:, i], 3)
                tighten(omega, 1, nodes.alpha[i], width)  # α shows the orders 1 and 2
                tighten(omega, 0, nodes.omega[i], width)
            lever = product(carrier, distance, 4)
            moved = moved + lever[2:]
            tighten(moved, 0, nodes.acceleration[i], width)
            entries = (omega, turning(omega), carrier, lever, moved)
            for kept, value in zip(vars(jets).values(), entries, strict=True):
                kept.append(value)
        return jets

    def point(self, link: int, arm: float, acceleration: Array, width: Array) -> Array:
        """(M,) ≥ |ẍ| of a point at a distance ``arm`` [m] from a link's origin, given ẍ (3, 2 M) at the ends."""
        majorant = self.moved[link] + arm * self.fixed[link][2:]
        bound: Array = np.minimum(majorant[0], largest(acceleration) + width**2 / 8.0 * majorant[2])
        return bound


def distances(chain: Chain, ranges: Ranges) -> Array:
    """(n, M) ≥ the distance of each link's origin from its parent's: convex in q, so it is largest at an end."""
    apart = np.empty_like(ranges.q_low)
    for i, p in enumerate(chain.origin):
        sides = (ranges.q_low[i], ranges.q_high[i]) if chain.prismatic[i] else (np.zeros(1),)
        apart[i] = np.max([np.linalg.norm(p[:, None] + chain.rotation[i][:, 2:] * q, axis=0) for q in sides], axis=0)
    return apart
