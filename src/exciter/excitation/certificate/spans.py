"""Short time intervals of a curve, with all that bounds between their ends are made of.

For every smooth f on an interval of width h, with M₂ ≥ |f″| throughout: f stays within h²/8 · M₂ of the chord of its
end values, and f′ within h/2 · M₂ of the chord's slope. Both hold for vectors and their norms. The end values are
exact, so only derivatives need majorants, and their weight falls with h².

Bounds of how fast the links turn and move, for whole intervals: recursion on norms, in the base frame.

Notation of the recursion, jets of link i (see below): Ω_i ≥ |ω_i|, E_i: any vector of length one fixed in the link
(also the axes of the joints it carries), D_i: distance vector from the parent's origin in the parent's axes, which
changes for prismatic joints only, P_i: the origin.

    Ω_i = Ω_p + E_p Q̇_i        E_i[k+1] = (Ω_i E_i)[k]        P_i = P_p + E_p D_i

Lower orders are then replaced by what the ends of the interval show (``tighten``); only the highest stay majorants.

Jets: bounds of a quantity and of its first derivatives in time, (K + 1, M) for M intervals.

x[k] ≥ |X⁽ᵏ⁾| throughout the interval. Norms are sub-multiplicative for scalars, dot and cross products and for a matrix
times a vector, so the jet of a product is Leibniz' rule on norms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.reference import Chain, cross
from exciter.excitation.trajectories.curve import Curve
from exciter.parameters.terms.term import Ranges
from exciter.robot.motion import Motion
from exciter.typing import Array

Index = NDArray[np.int64]
BOUND_ROUNDING = 1e-9  #: of bounds, relative and absolute; errors of double precision stay a factor 10⁴ below


def product(x: Array, y: Array, order: int) -> Array:
    """(order + 1, M): (x y)[k] = Σ_l C(k, l) x[l] y[k−l]."""
    return np.stack([product_at(x, y, k) for k in range(order + 1)])


def product_at(x: Array, y: Array, k: int) -> Array:
    """(M,) the k-th entry of a product."""
    total: Array = x[0] * y[k]
    for l in range(1, k + 1):
        total = total + (comb(k, l) * x[l]) * y[k - l]
    return total


def turning(omega: Array, sides: float = 1.0) -> Array:
    """(K + 1, M): jet of a vector of length one that turns with ω, of jet (K, M): v̇ = ω × v. With two ``sides`` that of
    a matrix R D Rᵀ of norm one that turns with ω on both: Ḋ = ω × D − D × ω. x[0] = 1, x[k+1] = sides (Ω x)[k]."""
    x = np.ones((len(omega) + 1, omega.shape[1]))
    for k in range(len(omega)):
        x[k + 1] = sides * product_at(omega, x, k)
    return x


def norm(vector: Array) -> Array:
    """(N,) lengths of (3, N)."""
    length: Array = np.sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2])
    return length


def largest(vector: Array) -> Array:
    """(M,) the larger of the lengths at both ends, of (3, 2 M)."""
    lengths = norm(vector)
    return np.maximum(lengths[0::2], lengths[1::2])


def tighten(jet: Array, order: int, ends: Array, width: Array) -> None:
    """Improve jet[order] and jet[order + 1] in place by the exact values ``ends`` (3, 2 M) of the order-th derivative:
    it stays within h²/8 jet[order + 2] of its chord, its slope within h/2 jet[order + 2] of the chord's."""
    top = jet[order + 2]
    slope = norm(ends[:, 1::2] - ends[:, 0::2]) / width + 0.5 * width * top
    np.minimum(jet[order + 1], slope, out=jet[order + 1])
    np.minimum(jet[order], largest(ends) + width**2 / 8.0 * top, out=jet[order])


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
                c, s, x, y = np.cos(q[i]), np.sin(q[i]), turned[:, 0], turned[:, 1]
                turned = np.stack([x * c + y * s, y * c - x * s, axis], axis=1)
                omega, alpha = omega + qd[i] * axis, alpha + qd[i] * swing + qdd[i] * axis
            entries = (turned, origin + lever, lever, omega, alpha, acc)
            for kept, value in zip(vars(nodes).values(), entries, strict=True):
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


@dataclass(frozen=True, eq=False)
class Spans:
    """M intervals [start, end] (M,) of a curve, none with a knot inside; ``left`` and ``right``: the motion at their
    ends, one-sided (from inside); ``rates`` (4, n, M) ≥ |q̇|, |q̈|, |q⃛|, |q⁗| throughout."""

    start: Array
    end: Array
    left: Motion
    right: Motion
    rates: Array

    @classmethod
    def of(cls, curve: Curve, spans: Index, start: Array, end: Array) -> Spans:
        """The intervals [start, end] (M,) of a curve, each within the span of that number (M,)."""
        left, right = (Motion(time, *(order.T for order in curve.derivatives(spans, time, 2))) for time in (start, end))
        return cls(start, end, left, right, curve.rates(spans, start, end))

    @property
    def width(self) -> Array:
        return self.end - self.start

    @cached_property
    def ends(self) -> Motion:
        """Both ends of every interval, (2 M) samples: left, right, left, right, …"""
        pairs = ((getattr(self.left, name), getattr(self.right, name)) for name in ("time", "q", "qd", "qdd"))
        return Motion(*(np.stack(pair, axis=1).reshape(-1, *pair[0].shape[1:]) for pair in pairs))

    @cached_property
    def ranges(self) -> Ranges:
        """What q, q̇, q̈ can be within each interval."""
        slack = self.width**2 / 8.0 * self.rates[1:]
        pairs = list(zip(self.left.samples_last, self.right.samples_last, slack, strict=True))
        return Ranges(*(side for a, b, e in pairs for side in (np.minimum(a, b) - e, np.maximum(a, b) + e)))

    @cached_property
    def _kept(self) -> dict[Chain, tuple[NodeKinematics, LinkJets]]:
        return {}  # chains are compared by identity

    def links(self, chain: Chain) -> tuple[NodeKinematics, LinkJets]:
        """Placement, velocity and acceleration of every link at ``ends``, and bounds of its derivatives in time: worked
        out once per set of intervals."""
        if chain not in self._kept:
            nodes = NodeKinematics.of(chain, *self.ends.samples_last)
            self._kept[chain] = nodes, LinkJets.of(chain, nodes, self.ranges, self.rates, self.width)
        return self._kept[chain]
