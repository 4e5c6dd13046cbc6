"""The dynamics in NumPy: readable, the oracle of the compiled twin, and the fallback where Numba is missing.

Samples are the last axis of every array; vectors are (3, N), stacks of vectors (d, 3, N). For link i the screws
of its d ancestor joints (itself last) are handled together. Notation of the papers: ω, α, a are velocity,
angular and linear acceleration of the link frame, in the link frame, with a₀ = −g so that gravity needs no
further term; (s_v, s_w) is the twist of the link per unit velocity of an ancestor joint. The engine applies the
equations to batches of samples that fit the cache.

What is computed with is plain arrays, every joint axis along z of its own frame. A robot whose axes point elsewhere is
seen through frames turned so that they do; ``parameter_map`` turns the inertial parameters along, so that the rest of
the package never notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from exciter.errors import ParameterError
from exciter.robot.robot import BASE, Robot
from exciter.robot.spatial import inertia_transform, rotation_to
from exciter.typing import Array, BoolArray, Index

Adjoints = tuple[Array, Array, Array, Array]
BATCH_SAMPLES = 1024  # samples at a time: keeps every temporary in the cache, and memory flat for long logs


@dataclass(frozen=True, eq=False)
class Chain:
    """Kinematic tree of n joints and its P pairs (link i, ancestor-or-own joint j), ordered by link, from the base.
    parent (n,), prismatic (n,); rotation (n, 3, 3), origin (n, 3) [m]: link frame in its parent's at q = 0; gravity
    (3,) [m/s²]. Pairs of link i are first[i] … first[i+1]; joint (P,) and link_of (P,) name them. Pairs of row (joint)
    j are row_pairs[row_first[j] … row_first[j+1]], by increasing link. parameter_map (n, 10, 10): from φ in the robot's
    joint frames to φ in this chain's frames, which are axis_frames (n, 3, 3) in these."""

    parent: Index
    prismatic: BoolArray
    rotation: Array
    origin: Array
    gravity: Array
    first: Index
    joint: Index
    link_of: Index
    row_pairs: Index
    row_first: Index
    parameter_map: Array
    axis_frames: Array

    @classmethod
    def of(cls, robot: Robot) -> Chain:
        turned = np.array([rotation_to(joint.axis) for joint in robot.bodies])
        above = [np.eye(3) if j.parent == BASE else turned[j.parent] for j in robot.bodies]
        rotation = [u.T @ j.rotation @ t for u, j, t in zip(above, robot.bodies, turned, strict=True)]
        origin = [u.T @ j.translation for u, j in zip(above, robot.bodies, strict=True)]
        ancestors = [robot.ancestors(i) for i in range(robot.n_bodies)]
        joint = np.array([j for path in ancestors for j in path], dtype=np.int64)
        depth = [len(path) for path in ancestors]
        return cls(
            parent=robot.parents,
            prismatic=np.array([j.is_prismatic for j in robot.bodies]),
            rotation=np.array(rotation),
            origin=np.array(origin),
            gravity=np.array(robot.gravity),
            first=np.concatenate([[0], np.cumsum(depth)]).astype(np.int64),
            joint=joint,
            link_of=np.repeat(np.arange(robot.n_bodies), depth).astype(np.int64),
            row_pairs=np.argsort(joint, kind="stable").astype(np.int64),
            row_first=np.searchsorted(np.sort(joint), np.arange(robot.n_bodies + 1)).astype(np.int64),
            parameter_map=np.array([inertia_transform(t.T, np.zeros(3)) for t in turned]),
            axis_frames=turned,
        )

    @property
    def n(self) -> int:
        return int(self.parent.size)


@dataclass(frozen=True, eq=False)
class ColumnLayout:
    """Column numbers of H for inertial parameters and joint terms; −1 marks a column left out. inertial (bodies, 10);
    term_row (E,): joint row of each term entry; term_column (E,): its column. size: order of H."""

    inertial: Index
    term_row: Index
    term_column: Index
    size: int

    @classmethod
    def select(cls, bodies: int, entries: Sequence[tuple[int, int]], columns: Sequence[int] | Index) -> ColumnLayout:
        """Keep standard columns (ten inertial ones per body, then those of terms), in order; entries: (row, column)."""
        count = 10 * bodies + 1 + max((c for _, c in entries), default=-1)
        wanted = np.asarray(columns, dtype=np.int64)
        if len(wanted) != len(set(wanted.tolist())) or ((wanted < 0) | (wanted >= count)).any():
            raise ParameterError(f"columns must be different numbers from 0 to {count - 1}; given {wanted.tolist()}")
        place = np.full(count, -1, dtype=np.int64)
        place[wanted] = np.arange(len(wanted))
        rows = np.array([row for row, _ in entries], dtype=np.int64)
        terms = np.array([10 * bodies + c for _, c in entries], dtype=np.int64)
        inertial = place[: 10 * bodies].reshape(bodies, 10).copy()
        return cls(inertial=inertial, term_row=rows, term_column=place[terms], size=len(wanted))


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Rows of W as the engines take them: q, qd, qdd (n, N), values of term entries (E, N), weights 1/σ² (n,)."""

    chain: Chain
    layout: ColumnLayout
    terms: Array
    weights: Array
    q: Array
    qd: Array
    qdd: Array


@dataclass(frozen=True, eq=False)
class LagrangeRows:
    """Energies of the ten parameters of every link and their derivatives, samples last. e, u (n, 10, N): kinetic and
    potential energy per parameter [12.33, 12.34]. momentum, de_dq, du_dq (n, n, 10, N): ∂e/∂q̇_j, ∂e/∂q_j, ∂u/∂q_j by
    joint, link, parameter [12.36, 12.37]."""

    e: Array
    u: Array
    momentum: Array
    de_dq: Array
    du_dq: Array


class Placements(NamedTuple):
    """Link frames in the base: rotation (n, 3, 3, N), origin (n, 3, N) [m]; screws (P, 3, N) in the link frames."""

    rotation: Array
    origin: Array
    sv: Array
    sw: Array


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


@dataclass(eq=False)
class LinkMotion:
    """One link over a batch: ω, α, a (3, N), screws (d, 3, N); or the adjoints of these, accumulated."""

    omega: Array
    alpha: Array
    acc: Array
    sv: Array
    sw: Array


@dataclass(eq=False)
class LinkState(LinkMotion):
    """With rotation R (3, 3, N) and origin p (3, N) in the parent."""

    rotation: Array
    p: Array

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
    columns = a[:, 0] * c + a[:, 1] * s, a[:, 1] * c - a[:, 0] * s, np.broadcast_to(a[:, 2], (3, q.size))
    return np.stack(columns, 1), np.broadcast_to(p, (3, q.size))


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
    nothing, none = np.zeros((3, samples)), np.empty((0, 3, samples))
    acc = np.repeat(-gravity[:, None], samples, 1)
    base = LinkState(rotation=np.empty(0), p=nothing, omega=nothing, alpha=nothing, acc=acc, sv=none, sw=none)
    own = np.zeros((1, 3, samples))
    own[0, 2] = 1.0
    links: list[LinkState] = []
    for i in range(chain.n):
        up = links[chain.parent[i]] if chain.parent[i] >= 0 else base
        rotation, p = placement(chain, i, q[i])
        to_child = rotation.swapaxes(0, 1)
        omega = matvec(to_child, up.omega)
        alpha = matvec(to_child, up.alpha)
        acc = matvec(to_child, up.acc + cross(up.alpha, p) + cross(up.omega, cross(up.omega, p)))
        turn, slide = (np.zeros_like(own), own) if chain.prismatic[i] else (own, np.zeros_like(own))
        if chain.prismatic[i]:
            acc = acc + 2.0 * qd[i] * z_cross(omega) + slide[0] * qdd[i]
        else:
            alpha = alpha + qd[i] * z_cross(omega) + turn[0] * qdd[i]
            omega = omega + turn[0] * qd[i]
        sv = np.concatenate([matvec(to_child, up.sv + cross(up.sw, p)), slide])
        sw = np.concatenate([matvec(to_child, up.sw), turn])
        links.append(LinkState(rotation=rotation, p=p, omega=omega, alpha=alpha, acc=acc, sv=sv, sw=sw))
    return links


def regressor_rows(link: LinkState, sv: Array | None = None, sw: Array | None = None) -> Array:
    """(d, 10, N): rows of the link's d joints for its ten parameters (screws of the link unless given). m: s_v·a; first
    moments: s_v×α + ω(s_v·ω) − s_v(ω·ω) + a×s_w; inertia: symmetric part of s_w αᵀ + (s_w×ω) ωᵀ."""
    sv, sw = link.sv if sv is None else sv, link.sw if sw is None else sw
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
    """Newton–Euler force F and moment N about the frame origin of a body with parameters g (…, 10, N). F = m a + α×h +
    ω×(ω×h); N = I α + ω×(I ω) + h×a."""
    w, h, inertia = link.omega, g[..., 1:4, :], symmetric(g)
    force = g[..., :1, :] * link.acc + cross(link.alpha, h) + w * dot(w, h) - h * dot(w, w)  # ω×(ω×h)
    moment = matvec(inertia, link.alpha) + cross(w, matvec(inertia, w)) + cross(h, link.acc)
    return force, moment


def regressor_rows_adjoint(link: LinkState, g: Array) -> LinkMotion:
    """Adjoint of ``regressor_rows`` for seed g (d, 10, N): Newton–Euler again, with the seed as an inertia."""
    w, sv, sw = link.omega, link.sv, link.sw
    m, h, inertia = g[:, :1], g[:, 1:4], symmetric(g)
    force, moment = wrench(link, g)
    omega = h * dot(sv, w) + sv * dot(w, h) - 2.0 * w * dot(sv, h)
    omega += matvec(inertia, cross(sw, w)) + cross(matvec(inertia, w), sw)
    alpha = cross(h, sv) + matvec(inertia, sw)
    acc = m * sv + cross(sw, h)
    return LinkMotion(omega=omega.sum(0), alpha=alpha.sum(0), acc=acc.sum(0), sv=force, sw=moment)


def backward(chain: Chain, links: list[LinkState], bars: list[LinkMotion], qd: Array) -> tuple[Array, Array, Array]:
    """Inward recursion: from adjoints of links and screws to q̄, q̇̄, q̈̄, each (n, N). A rotation about ẑ gives q̄ =
    −ẑ · Σ m×m̄ over every vector m it turns."""
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


def batches(samples: int) -> Iterator[slice]:
    return (slice(start, min(start + BATCH_SAMPLES, samples)) for start in range(0, samples, BATCH_SAMPLES))


@dataclass(frozen=True)
class NumpyEngine:
    """What every engine computes, on arrays with samples last: q, q̇, q̈ are (n, N). name: a word for it."""

    name: ClassVar[str] = "numpy"

    def regressor(self, chain: Chain, q: Array, qd: Array, qdd: Array, out: Array | None = None) -> Array:
        """Φ as (n, n, 10, N): joint row, link, parameter, sample; into ``out`` when given."""
        out = np.empty((chain.n, chain.n, 10, q.shape[1])) if out is None else out
        out[:] = 0.0
        for s in batches(q.shape[1]):
            for i, link in enumerate(forward(chain, q[:, s], qd[:, s], qdd[:, s])):
                out[_joints(chain, i), i, :, s] = regressor_rows(link)
        return out

    def torque(self, chain: Chain, inertias: Array, q: Array, qd: Array, qdd: Array) -> Array:
        """τ (n, N) of inertial parameters (n, 10)."""
        out = np.zeros((chain.n, q.shape[1]))
        for s in batches(q.shape[1]):
            for i, link in enumerate(forward(chain, q[:, s], qd[:, s], qdd[:, s])):
                force, moment = wrench(link, np.broadcast_to(inertias[i][:, None], (10, link.p.shape[1])))
                out[_joints(chain, i), s] += (dot(link.sv, force) + dot(link.sw, moment))[:, 0]
        return out

    def gram(self, rows: RowBatch) -> Array:
        """H = Σ_j weights_j W_jᵀ W_j (b, b), W never stored."""
        h = np.zeros((rows.layout.size, rows.layout.size))
        for _, j, w, index in _packed_batches(rows):
            h[np.ix_(index, index)] += rows.weights[j] * (w @ w.T)
        return h

    def columns(self, rows: RowBatch, out: Array) -> None:
        """The b columns of W into out (n, ≥ b, N), which was zero: joint row, column, sample."""
        for s, j, w, index in _packed_batches(rows):
            out[j, index, s] = w

    def adjoint(self, rows: RowBatch, matrix: Array | None, torque_seed: Array | None, inertias: Array) -> Adjoints:
        """q̄, q̇̄, q̈̄ (n, N) and ∂/∂terms (E, N) of f(H) + Σ torque_seed·τ, with matrix = ∂f/∂H + its transpose.
        torque_seed (n, N) acts on the torque of inertial parameters (n, 10); None leaves a part out."""
        chain = rows.chain
        gradient, terms_bar = np.empty((3, *rows.q.shape)), np.zeros_like(rows.terms)
        for s in batches(rows.q.shape[1]):
            links = forward(chain, rows.q[:, s], rows.qd[:, s], rows.qdd[:, s])
            seeds = [np.zeros((link.sv.shape[0], 10, link.sv.shape[2])) for link in links]
            if matrix is not None:
                blocks = [regressor_rows(link) for link in links]
                for j in range(chain.n):
                    w, index = _packed(rows, j, blocks, s)
                    g, at = (rows.weights[j] * matrix[np.ix_(index, index)]) @ w, 0
                    for i, k, wanted in _row_blocks(rows, j):  # as they were packed
                        seeds[i][k, wanted] = g[at : at + len(wanted)]
                        at += len(wanted)
                    terms_bar[_own_terms(rows, j), s] = g[at:]
            if torque_seed is not None:
                for i, seed in enumerate(seeds):
                    seed += torque_seed[_joints(chain, i), None, s] * inertias[i][:, None]
            bars = [regressor_rows_adjoint(link, seed) for link, seed in zip(links, seeds, strict=True)]
            gradient[:, :, s] = backward(chain, links, bars, rows.qd[:, s])
        return gradient[0], gradient[1], gradient[2], terms_bar

    def rows_adjoint(self, chain: Chain, seeds: Array, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array]:
        """q̄, q̇̄, q̈̄ (n, N) of Σ seeds ⊙ rows, seeds (P, 10, N) by pair of link and joint."""
        links = forward(chain, q, qd, qdd)
        own = (seeds[chain.first[i] : chain.first[i + 1]] for i in range(chain.n))
        bars = [regressor_rows_adjoint(link, g) for link, g in zip(links, own, strict=True)]
        return backward(chain, links, bars, qd)

    def lagrange(self, chain: Chain, q: Array, qd: Array) -> LagrangeRows:
        n, samples = q.shape
        rows = LagrangeRows(*np.zeros((2, n, 10, samples)), *np.zeros((3, n, n, 10, samples)))
        for s in batches(samples):
            _lagrange_batch(chain, q[:, s], qd[:, s], rows, s)
        return rows

    def placements(self, chain: Chain, q: Array) -> Placements:
        links = forward(chain, q, np.zeros_like(q), np.zeros_like(q))
        rotation, origin = np.empty((chain.n, 3, 3, q.shape[1])), np.empty((chain.n, 3, q.shape[1]))
        for i, link in enumerate(links):
            rotation[i], origin[i] = link.rotation, link.p
            if (k := chain.parent[i]) >= 0:
                rotation[i] = np.einsum("abn,bcn->acn", rotation[k], link.rotation)
                origin[i] = origin[k] + matvec(rotation[k], link.p)
        sv, sw = np.concatenate([x.sv for x in links]), np.concatenate([x.sw for x in links])
        return Placements(rotation, origin, sv, sw)


def _joints(chain: Chain, i: int) -> Index:
    """Joints that move link i, from the base to its own."""
    return chain.joint[chain.first[i] : chain.first[i + 1]]


def _row_blocks(rows: RowBatch, j: int) -> Iterator[tuple[int, int, Index]]:
    """Links moved by joint j: (link, place of j among its joints, wanted parameters)."""
    chain = rows.chain
    for pair in chain.row_pairs[chain.row_first[j] : chain.row_first[j + 1]]:
        i = int(chain.link_of[pair])
        yield i, int(pair - chain.first[i]), np.flatnonzero(rows.layout.inertial[i] >= 0)


def _own_terms(rows: RowBatch, j: int) -> Index:
    """Wanted term entries in the row of joint j."""
    return np.flatnonzero((rows.layout.term_row == j) & (rows.layout.term_column >= 0))


def _packed(rows: RowBatch, j: int, blocks: list[Array], s: slice) -> tuple[Array, Index]:
    """Rows of joint j without structural zeros: (m, N), and their m places in H."""
    layout, own = rows.layout, _own_terms(rows, j)
    parts = [(blocks[i][k][wanted], layout.inertial[i][wanted]) for i, k, wanted in _row_blocks(rows, j)]
    parts.append((rows.terms[own, s], layout.term_column[own]))
    return np.concatenate([w for w, _ in parts]), np.concatenate([index for _, index in parts])


def _packed_batches(rows: RowBatch) -> Iterator[tuple[slice, int, Array, Index]]:
    """Batch after batch, joint after joint: samples, joint, and ``_packed``."""
    for s in batches(rows.q.shape[1]):
        blocks = [regressor_rows(link) for link in forward(rows.chain, rows.q[:, s], rows.qd[:, s], rows.qdd[:, s])]
        for j in range(rows.chain.n):
            yield s, j, *_packed(rows, j, blocks, s)


def _lagrange_batch(chain: Chain, q: Array, qd: Array, rows: LagrangeRows, s: slice) -> None:
    """Momentum is Newton–Euler of velocities: with q̇ = 0, q̈ := q̇ and no gravity, α and a are ω and v."""
    still = np.zeros_like(q)
    moving = forward(chain, q, still, qd, gravity=np.zeros(3))
    resting = forward(chain, q, still, still)
    twists: list[tuple[Array, Array]] = []  # ∂V_i/∂q_j = V_j × S_j, carried outward like a screw
    for i, (link, rest) in enumerate(zip(moving, resting, strict=True)):
        parent, joints = chain.parent[i], _joints(chain, i)
        omega, v, sv, sw = link.alpha, link.acc, link.sv[-1:], link.sw[-1:]
        dv, dw = cross(omega, sv) + cross(v, sw), cross(omega, sw)
        if parent >= 0:
            up_v, up_w = twists[parent]
            dv = np.concatenate([link.to_child(up_v + cross(up_w, link.p)), dv])
            dw = np.concatenate([link.to_child(up_w), dw])
        twists.append((dv, dw))
        rows.momentum[joints, i, :, s] = regressor_rows(link)
        rows.de_dq[joints, i, :, s] = regressor_rows(link, dv, dw)
        rows.du_dq[joints, i, :, s] = regressor_rows(rest)
        rows.e[i, :, s] = kinetic_row(omega, v)
        height = dot(rest.p, resting[parent].acc)[0] if parent >= 0 else -chain.gravity @ rest.p
        rows.u[i, 0, s] = height + (rows.u[parent, 0, s] if parent >= 0 else 0.0)
        rows.u[i, 1:4, s] = rest.acc  # −g in the link frame


def kinetic_row(omega: Array, v: Array) -> Array:
    """(10, N) kinetic energy per parameter of a link [12.33]."""
    x, y, z = omega
    moments = cross(v, omega)
    inertia = [0.5 * x * x, x * y, 0.5 * y * y, x * z, y * z, 0.5 * z * z]
    return np.stack([0.5 * dot(v, v)[0], *moments, *inertia])
