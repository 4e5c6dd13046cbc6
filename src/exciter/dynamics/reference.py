"""The dynamics in NumPy: readable, the oracle of the compiled twin, and the fallback where Numba is missing.

Samples are the last axis of every array; vectors are (3, N), stacks of vectors (d, 3, N). For link i the screws
of its d ancestor joints (itself last) are handled together. Notation of the papers: ω, α, a are velocity,
angular and linear acceleration of the link frame, in the link frame, with a₀ = −g so that gravity needs no
further term; (s_v, s_w) is the twist of the link per unit velocity of an ancestor joint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.dynamics.chain import Chain
from exciter.typing import Array


def cross(u: Array, v: Array) -> Array:
    """u × v along the next-to-last axis; a single vector (3, N) is taken against every one of a stack (d, 3, N)."""
    product = np.empty(u.shape if u.ndim >= v.ndim else v.shape)
    for k, i, j in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # written in place: stacking parts would copy them once more
        part = product[..., k, :]
        np.multiply(u[..., i, :], v[..., j, :], out=part)
        part -= u[..., j, :] * v[..., i, :]
    return product


def dot(u: Array, v: Array) -> Array:
    """u · v along the next-to-last axis, keeping it with length one."""
    product: Array = u[..., :1, :] * v[..., :1, :]
    product += u[..., 1:2, :] * v[..., 1:2, :]
    product += u[..., 2:, :] * v[..., 2:, :]
    return product


def matvec(matrix: Array, v: Array) -> Array:
    """M v for M (3, 3, N) given by rows, or (d, 3, 3, N) for a stack."""
    product: Array = matrix[..., :, 0, :] * v[..., :1, :]
    product += matrix[..., :, 1, :] * v[..., 1:2, :]
    product += matrix[..., :, 2, :] * v[..., 2:, :]
    return product


@dataclass(frozen=True, eq=False)
class LinkState:
    """One link over a batch: rotation R (3, 3, N) and origin p (3, N) in the parent; ω, α, a; screws (d, 3, N)."""

    rotation: Array
    p: Array
    omega: Array
    alpha: Array
    acc: Array
    sv: Array
    sw: Array

    def to_child(self, u: Array) -> Array:
        return matvec(self.rotation.swapaxes(0, 1), u)

    def to_parent(self, u: Array) -> Array:
        return matvec(self.rotation, u)


def placement(chain: Chain, i: int, q: Array) -> tuple[Array, Array]:
    """R (3, 3, N) and p (3, N) of link i in its parent, for positions q (N,)."""
    a, p = chain.rotation[i][:, :, None], chain.origin[i][:, None]
    if chain.prismatic[i]:
        return np.broadcast_to(a, (3, 3, q.size)), p + a[:, 2] * q
    c, s = np.cos(q), np.sin(q)
    rotation = np.stack(
        [a[:, 0] * c + a[:, 1] * s, a[:, 1] * c - a[:, 0] * s, np.broadcast_to(a[:, 2], (3, q.size))], 1
    )
    return rotation, np.broadcast_to(p, (3, q.size))


def z_cross(u: Array) -> Array:
    """u × ẑ."""
    product = np.zeros(u.shape)
    product[..., 0, :] = u[..., 1, :]
    np.negative(u[..., 0, :], out=product[..., 1, :])
    return product


def forward(chain: Chain, q: Array, qd: Array, qdd: Array, gravity: Array | None = None) -> list[LinkState]:
    """Outward recursion for (n, N) positions, velocities, accelerations."""
    samples = q.shape[1]
    gravity = chain.gravity if gravity is None else gravity
    nothing = np.zeros((3, samples))
    base = LinkState(np.empty(0), nothing, nothing, nothing, np.repeat(-gravity[:, None], samples, 1),
                     np.empty((0, 3, samples)), np.empty((0, 3, samples)))  # fmt: skip
    links: list[LinkState] = []
    for i in range(chain.n):
        up = links[chain.parent[i]] if chain.parent[i] >= 0 else base
        links.append(_next_link(chain, i, up, q[i], qd[i], qdd[i]))
    return links


def _next_link(chain: Chain, i: int, up: LinkState, q: Array, qd: Array, qdd: Array) -> LinkState:
    rotation, p = placement(chain, i, q)
    to_child = rotation.swapaxes(0, 1)
    omega = matvec(to_child, up.omega)
    alpha = matvec(to_child, up.alpha)
    acc = matvec(to_child, up.acc + cross(up.alpha, p) + cross(up.omega, cross(up.omega, p)))
    own = np.zeros((1, 3, q.size))
    own[0, 2] = 1.0
    none = np.zeros_like(own)
    turn, slide = (none, own) if chain.prismatic[i] else (own, none)
    if chain.prismatic[i]:
        acc = acc + 2.0 * qd * z_cross(omega) + slide[0] * qdd
    else:
        alpha = alpha + qd * z_cross(omega) + turn[0] * qdd
        omega = omega + turn[0] * qd
    sv = np.concatenate([matvec(to_child, up.sv + cross(up.sw, p)), slide])
    sw = np.concatenate([matvec(to_child, up.sw), turn])
    return LinkState(rotation, p, omega, alpha, acc, sv, sw)


def regressor_rows(link: LinkState, sv: Array | None = None, sw: Array | None = None) -> Array:
    """(d, 10, N): rows of the link's d joints for its ten parameters (screws of the link unless given).

    m: s_v·a;  first moments: s_v×α + ω(s_v·ω) − s_v(ω·ω) + a×s_w;  inertia: symmetric part of s_w αᵀ + (s_w×ω) ωᵀ.
    """
    sv = link.sv if sv is None else sv
    sw = link.sw if sw is None else sw
    w, al, a = link.omega, link.alpha, link.acc
    t = cross(sw, w)
    rows = np.empty((sv.shape[0], 10, sv.shape[2]))
    rows[:, :1] = dot(sv, a)
    rows[:, 1:4] = cross(sv, al) + w * dot(sv, w) - sv * dot(w, w) + cross(a, sw)
    sx, sy, sz, tx, ty, tz = *sw.swapaxes(0, 1), *t.swapaxes(0, 1)
    rows[:, 4] = sx * al[0] + tx * w[0]
    rows[:, 5] = sx * al[1] + sy * al[0] + tx * w[1] + ty * w[0]
    rows[:, 6] = sy * al[1] + ty * w[1]
    rows[:, 7] = sx * al[2] + sz * al[0] + tx * w[2] + tz * w[0]
    rows[:, 8] = sy * al[2] + sz * al[1] + ty * w[2] + tz * w[1]
    rows[:, 9] = sz * al[2] + tz * w[2]
    return rows


def symmetric(g: Array) -> Array:
    """(…, 10, N) → the inertia part as (…, 3, 3, N)."""
    xx, xy, yy, xz, yz, zz = (g[..., k, :] for k in range(4, 10))
    rows = [np.stack(r, axis=-2) for r in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))]
    return np.stack(rows, axis=-3)


def wrench(link: LinkState, g: Array) -> tuple[Array, Array]:
    """Newton–Euler force F and moment N about the frame origin of a body with parameters g (…, 10, N).

    F = m a + α×h + ω×(ω×h);  N = I α + ω×(I ω) + h×a.
    """
    w, h, inertia = link.omega, g[..., 1:4, :], symmetric(g)
    force = g[..., :1, :] * link.acc + cross(link.alpha, h) + w * dot(w, h) - h * dot(w, w)  # ω×(ω×h)
    moment = matvec(inertia, link.alpha) + cross(w, matvec(inertia, w)) + cross(h, link.acc)
    return force, moment


@dataclass(eq=False)
class LinkAdjoint:
    """Adjoints of a ``LinkState``, accumulated: of ω, α, a (3, N), of the screws (d, 3, N)."""

    omega: Array
    alpha: Array
    acc: Array
    sv: Array
    sw: Array


def regressor_rows_adjoint(link: LinkState, g: Array) -> LinkAdjoint:
    """Adjoint of ``regressor_rows`` for seed g (d, 10, N): Newton–Euler again, with the seed as an inertia."""
    w, sv, sw = link.omega, link.sv, link.sw
    m, h, inertia = g[:, :1], g[:, 1:4], symmetric(g)
    force, moment = wrench(link, g)
    omega = h * dot(sv, w) + sv * dot(w, h) - 2.0 * w * dot(sv, h)
    omega += matvec(inertia, cross(sw, w)) + cross(matvec(inertia, w), sw)
    alpha = cross(h, sv) + matvec(inertia, sw)
    acc = m * sv + cross(sw, h)
    return LinkAdjoint(omega.sum(0), alpha.sum(0), acc.sum(0), force, moment)


def backward(chain: Chain, links: list[LinkState], bars: list[LinkAdjoint], qd: Array) -> tuple[Array, Array, Array]:
    """Inward recursion: from adjoints of links and screws to q̄, q̇̄, q̈̄, each (n, N).

    A rotation about ẑ gives q̄ = −ẑ · Σ m×m̄ over every vector m it turns.
    """
    q_bar, qd_bar, qdd_bar = np.zeros((3, *qd.shape))
    for i in reversed(range(chain.n)):
        link, bar, v = links[i], bars[i], qd[i]
        up = links[chain.parent[i]] if chain.parent[i] >= 0 else None
        coupling = 2.0 * bar.acc * v if chain.prismatic[i] else bar.alpha * v
        turned = bar.omega - z_cross(coupling)  # adjoint of Rᵀω_parent
        swing = dot(z_cross(link.omega), bar.acc if chain.prismatic[i] else bar.alpha)[0]
        if chain.prismatic[i]:
            qd_bar[i], qdd_bar[i] = 2.0 * swing, bar.acc[2]
        else:
            alpha = link.alpha - v * z_cross(link.omega)
            spun = cross(link.omega, turned)[2] + cross(alpha, bar.alpha)[2] + cross(link.acc, bar.acc)[2]
            spun += (cross(link.sv[:-1], bar.sv[:-1])[:, 2] + cross(link.sw[:-1], bar.sw[:-1])[:, 2]).sum(0)
            q_bar[i], qd_bar[i], qdd_bar[i] = -spun, bar.omega[2] + swing, bar.alpha[2]
        if up is None:
            continue
        acc, lever = link.to_parent(bar.acc), link.to_parent(bar.sv[:-1])
        if chain.prismatic[i]:
            moved = cross(acc, up.alpha) + up.omega * dot(acc, up.omega) - acc * dot(up.omega, up.omega)
            moved = moved + cross(lever, up.sw).sum(0)
            q_bar[i] = dot(link.rotation[:, 2], moved)[0]
        parent = bars[chain.parent[i]]
        parent.acc += acc
        parent.alpha += link.to_parent(bar.alpha) + cross(link.p, acc)
        parent.omega += link.to_parent(turned) + acc * dot(up.omega, link.p) + link.p * dot(up.omega, acc)
        parent.omega -= 2.0 * up.omega * dot(link.p, acc)
        parent.sv += lever
        parent.sw += link.to_parent(bar.sw[:-1]) + cross(link.p, lever)
    return q_bar, qd_bar, qdd_bar
