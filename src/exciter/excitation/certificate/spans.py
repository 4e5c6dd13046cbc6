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

Jets are bounds of a quantity and of its first derivatives in time (``robot/jets.py``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from exciter.dynamics.reference import Chain, cross
from exciter.excitation.trajectories.curve import Curve
from exciter.parameters.terms.term import Ranges
from exciter.robot.coupling import Coupling
from exciter.robot.jets import product, turning
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array, Index

BOUND_ROUNDING = 1e-9  #: of bounds, relative and absolute; errors of double precision stay a factor 10⁴ below


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
class LinkSpan:
    """A link over M intervals. Exactly, at their ends (2 M last): rotation R (3, 3, ·) and origin o (3, ·) in the base,
    its lever, the distance vector from the parent's origin, ω, α and the acceleration of the origin, without gravity.
    Jets throughout: omega_jet (4, M), fixed E (5, M), carrier E of the parent (5, M), lever_jet E_p D_i (5, M), and the
    derivatives 2 … 4 of the origin, moved (3, M) = P[2:]."""

    rotation: Array
    origin: Array
    lever: Array
    omega: Array
    alpha: Array
    acceleration: Array
    omega_jet: Array
    fixed: Array
    carrier: Array
    lever_jet: Array
    moved: Array

    def turned(self, vector: Array) -> Array:
        """(3, 2 M) in base axes, of a vector (3,) fixed in the link."""
        return np.asarray(np.einsum("abN,b->aN", self.rotation, vector))

    def point(self, vector: Array) -> tuple[Array, Array]:
        """Position and acceleration (3, 2 M) of the point (3,) of the link."""
        arm = self.turned(vector)
        return self.origin + arm, self.acceleration + _turning(self.omega, self.alpha, arm)

    def acceleration_bound(self, arm: float, acceleration: Array, width: Array) -> Array:
        """(M,) ≥ |ẍ| of a point at a distance ``arm`` [m] from the origin, given ẍ (3, 2 M) at the ends."""
        majorant = self.moved + arm * self.fixed[2:]
        bound: Array = np.minimum(majorant[0], largest(acceleration) + width**2 / 8.0 * majorant[2])
        return bound


def _turning(omega: Array, alpha: Array, arm: Array) -> Array:
    """α×r + ω×(ω×r)."""
    return cross(alpha, arm) + cross(omega, cross(omega, arm))


def link_spans(chain: Chain, spans: Spans) -> list[LinkSpan]:
    """Of every link, from the base outwards."""
    (q, qd, qdd), width, apart = spans.ends.samples_last, spans.width, distances(chain, spans.ranges)
    nothing, at_rest = np.zeros((3, 2 * len(width))), np.zeros((4, len(width)))
    still = np.concatenate([np.ones((1, len(width))), at_rest])
    upright = np.broadcast_to(np.eye(3)[:, :, None], (3, 3, 2 * len(width)))
    base = LinkSpan(upright, nothing, nothing, nothing, nothing, nothing, at_rest, still, still, still, at_rest[:3])
    links: list[LinkSpan] = []
    for i, k in enumerate(chain.parent.tolist()):
        up = base if k < 0 else links[k]
        omega, alpha, acc, omega_jet = up.omega, up.alpha, up.acceleration, up.omega_jet
        turned = np.einsum("abN,bc->acN", up.rotation, chain.rotation[i])
        lever = np.einsum("abN,b->aN", up.rotation, chain.origin[i])
        axis = turned[:, 2]
        swing = cross(omega, axis)
        if chain.prismatic[i]:
            lever = lever + axis * q[i]
            acc = acc + 2.0 * qd[i] * swing + qdd[i] * axis
            distance = np.concatenate([apart[i : i + 1], spans.rates[:, i]])
        else:
            c, s, x, y = np.cos(q[i]), np.sin(q[i]), turned[:, 0], turned[:, 1]
            turned = np.stack([x * c + y * s, y * c - x * s, axis], axis=1)
            omega, alpha = omega + qd[i] * axis, alpha + qd[i] * swing + qdd[i] * axis
            omega_jet = omega_jet + product(up.fixed, spans.rates[:, i], 3)
            tighten(omega_jet, 1, alpha, width)  # α shows the orders 1 and 2
            tighten(omega_jet, 0, omega, width)
        acc = acc + _turning(up.omega, up.alpha, lever)
        lever_jet = product(up.fixed, distance, 4) if chain.prismatic[i] else up.fixed * apart[i]  # which is constant
        moved = up.moved + lever_jet[2:]
        tighten(moved, 0, acc, width)
        ends, jets = (turned, up.origin + lever, lever, omega, alpha, acc), (omega_jet, turning(omega_jet))
        links.append(LinkSpan(*ends, *jets, up.fixed, lever_jet, moved))
    return links


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
    _kept: dict[Chain, list[LinkSpan]] = field(default_factory=dict, init=False)  # chains are compared by identity
    _trees: dict[Coupling, Spans] = field(default_factory=dict, init=False)  # and couplings

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

    def tree(self, robot: Robot) -> Spans:
        """The same intervals of all bodies of a robot, where some follow its joints."""
        coupling = robot.coupling
        if coupling is None:
            return self
        if coupling not in self._trees:
            left, right = (coupling.motion(end).tree for end in (self.left, self.right))
            rates = coupling.rates(self.left, self.right, self.rates)
            self._trees[coupling] = Spans(self.start, self.end, left, right, rates)
        return self._trees[coupling]

    def links(self, chain: Chain) -> list[LinkSpan]:
        """Every link at ``ends``, and bounds of its derivatives in time: worked out once per set of intervals."""
        if chain not in self._kept:
            self._kept[chain] = link_spans(chain, self)
        return self._kept[chain]
