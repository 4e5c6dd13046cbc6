"""The NumPy engine: ``reference`` applied to batches of samples that fit the cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.chain import Chain, RowBatch
from exciter.dynamics.engine import LagrangeRows, Placements
from exciter.dynamics.reference import (
    backward,
    cross,
    dot,
    forward,
    matvec,
    regressor_rows,
    regressor_rows_adjoint,
    wrench,
)
from exciter.typing import Array

BATCH = 1024  # samples at a time: keeps every temporary in the cache, and memory flat for long logs


def batches(samples: int) -> Iterator[slice]:
    return (slice(start, min(start + BATCH, samples)) for start in range(0, samples, BATCH))


@dataclass(frozen=True)
class NumpyEngine:
    """See ``engine.Engine``."""

    name: str = "numpy"

    def regressor(self, chain: Chain, q: Array, qd: Array, qdd: Array, out: Array | None = None) -> Array:
        out = np.empty((chain.n, chain.n, 10, q.shape[1])) if out is None else out
        out[:] = 0.0
        for s in batches(q.shape[1]):
            for i, link in enumerate(forward(chain, q[:, s], qd[:, s], qdd[:, s])):
                out[_joints(chain, i), i, :, s] = regressor_rows(link)
        return out

    def torque(self, chain: Chain, inertias: Array, q: Array, qd: Array, qdd: Array) -> Array:
        out = np.zeros((chain.n, q.shape[1]))
        for s in batches(q.shape[1]):
            for i, link in enumerate(forward(chain, q[:, s], qd[:, s], qdd[:, s])):
                force, moment = wrench(link, np.broadcast_to(inertias[i][:, None], (10, link.p.shape[1])))
                out[_joints(chain, i), s] += (dot(link.sv, force) + dot(link.sw, moment))[:, 0]
        return out

    def gram(self, rows: RowBatch) -> Array:
        h = np.zeros((rows.layout.size, rows.layout.size))
        for s in batches(rows.q.shape[1]):
            links = forward(rows.chain, rows.q[:, s], rows.qd[:, s], rows.qdd[:, s])
            blocks = [regressor_rows(link) for link in links]
            for j in range(rows.chain.n):
                w, index = _packed(rows, j, blocks, s)
                h[np.ix_(index, index)] += rows.weights[j] * (w @ w.T)
        return h

    def columns(self, rows: RowBatch, out: Array) -> None:
        for s in batches(rows.q.shape[1]):
            links = forward(rows.chain, rows.q[:, s], rows.qd[:, s], rows.qdd[:, s])
            blocks = [regressor_rows(link) for link in links]
            for j in range(rows.chain.n):
                w, index = _packed(rows, j, blocks, s)
                out[j, index, s] = w

    def adjoint(
        self, rows: RowBatch, matrix: Array | None, torque_seed: Array | None, inertias: Array
    ) -> tuple[Array, Array, Array, Array]:
        chain = rows.chain
        gradient, terms_bar = np.empty((3, *rows.q.shape)), np.zeros_like(rows.terms)
        for s in batches(rows.q.shape[1]):
            links = forward(chain, rows.q[:, s], rows.qd[:, s], rows.qdd[:, s])
            seeds = [np.zeros((link.sv.shape[0], 10, link.sv.shape[2])) for link in links]
            if matrix is not None:
                blocks = [regressor_rows(link) for link in links]
                for j in range(chain.n):
                    w, index = _packed(rows, j, blocks, s)
                    g = (rows.weights[j] * matrix[np.ix_(index, index)]) @ w
                    _unpack(rows, j, g, seeds, terms_bar[:, s])
            if torque_seed is not None:
                for i, seed in enumerate(seeds):
                    seed += torque_seed[_joints(chain, i), None, s] * inertias[i][:, None]
            bars = [regressor_rows_adjoint(link, seed) for link, seed in zip(links, seeds, strict=True)]
            gradient[:, :, s] = backward(chain, links, bars, rows.qd[:, s])
        return gradient[0], gradient[1], gradient[2], terms_bar

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
        return Placements(
            rotation, origin, np.concatenate([x.sv for x in links]), np.concatenate([x.sw for x in links])
        )


def _joints(chain: Chain, i: int) -> NDArray[np.int64]:
    """Joints that move link i, from the base to its own."""
    return chain.joint[chain.first[i] : chain.first[i + 1]]


def _row_blocks(rows: RowBatch, j: int) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Links moved by joint j: (link, place of j among its joints, wanted parameters)."""
    chain = rows.chain
    for pair in chain.row_pairs[chain.row_first[j] : chain.row_first[j + 1]]:
        i = int(chain.link_of[pair])
        yield i, int(pair - chain.first[i]), np.flatnonzero(rows.layout.inertial[i] >= 0)


def _own_terms(rows: RowBatch, j: int) -> NDArray[np.int64]:
    """Wanted term entries in the row of joint j."""
    return np.flatnonzero((rows.layout.term_row == j) & (rows.layout.term_column >= 0))


def _packed(rows: RowBatch, j: int, blocks: list[Array], s: slice) -> tuple[Array, NDArray[np.int64]]:
    """Rows of joint j without structural zeros: (m, N), and their m places in H."""
    layout, own = rows.layout, _own_terms(rows, j)
    parts = [(blocks[i][k][wanted], layout.inertial[i][wanted]) for i, k, wanted in _row_blocks(rows, j)]
    parts.append((rows.terms[own, s], layout.term_column[own]))
    return np.concatenate([w for w, _ in parts]), np.concatenate([index for _, index in parts])


def _unpack(rows: RowBatch, j: int, g: Array, seeds: list[Array], terms_bar: Array) -> None:
    """Put the seeds g (m, N) of joint j's packed rows where they belong."""
    at = 0
    for i, k, wanted in _row_blocks(rows, j):
        seeds[i][k, wanted] = g[at : at + len(wanted)]
        at += len(wanted)
    terms_bar[_own_terms(rows, j)] = g[at:]


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
