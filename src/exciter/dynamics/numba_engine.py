"""The Numba engine: compiled kernels over the samples, in one thread or several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.engine import Chain, LagrangeRows, Placements, RowBatch
from exciter.dynamics.kernels.cache import kernels
from exciter.typing import Array

BLOCK = 64  # parts are cut at multiples of the kernels' block, so that threads change no rounding inside one
NOTHING = np.zeros((0, 0))


def wrapped(chain: Chain, q: Array) -> Array:
    """Positions within what the kernels' sine can reduce exactly; farther angles lose their whole turns first."""
    if q.size and np.abs(q).max() > 1e5:
        return np.where(chain.prismatic[:, None], q, np.arctan2(np.sin(q), np.cos(q)))
    return q


def writable(*arrays: Array) -> tuple[Array, ...]:
    """Contiguous float64 arrays that Numba types alike: a read-only array would compile everything again."""
    return tuple(np.require(a, np.float64, ["C", "W"]) for a in arrays)


def _geometry(chain: Chain) -> tuple[Any, ...]:
    return chain.parent, chain.prismatic, chain.rotation, chain.origin, chain.gravity, chain.first


def _rows(rows: RowBatch) -> tuple[Any, ...]:
    chain, layout = rows.chain, rows.layout
    structure = (chain.joint, chain.link_of, chain.row_pairs, chain.row_first, layout.inertial)
    terms, weights = writable(rows.terms, rows.weights)
    return (*_geometry(chain), *structure, terms, layout.term_row, layout.term_column, weights)


@dataclass(frozen=True)
class NumbaEngine:
    """See ``engine.Engine``. threads: how many parts of the samples run at once; one for columns, energies and
    kinematics."""

    threads: int = 1
    name: str = "numba"

    def _call(self, kernel: str, fixed: tuple[Any, ...], samples: int, *out: Array) -> None:
        """Run a kernel over all samples: serial ones take (begin, end), parallel ones the cuts between parts."""
        if self.threads > 1:
            getattr(kernels("parallel"), kernel)(*fixed, self._cuts(samples), *out)
        else:
            getattr(kernels("drivers"), kernel)(*fixed, 0, samples, *out)

    def _cuts(self, samples: int) -> NDArray[np.int64]:
        blocks = -(-samples // BLOCK)
        return np.minimum(samples, BLOCK * (blocks * np.arange(self.threads + 1) // self.threads))

    def regressor(self, chain: Chain, q: Array, qd: Array, qdd: Array, out: Array | None = None) -> Array:
        q, qd, qdd = writable(wrapped(chain, q), qd, qdd)
        out = np.empty((chain.n, chain.n, 10, q.shape[1])) if out is None else out
        self._call("regressor", (*_geometry(chain), chain.joint, q, qd, qdd), q.shape[1], out)
        return out

    def torque(self, chain: Chain, inertias: Array, q: Array, qd: Array, qdd: Array) -> Array:
        inertias, q, qd, qdd = writable(inertias, wrapped(chain, q), qd, qdd)
        out = np.empty(q.shape)
        self._call("torque", (*_geometry(chain), chain.joint, inertias, q, qd, qdd), q.shape[1], out)
        return out

    def gram(self, rows: RowBatch) -> Array:
        size = rows.layout.size
        h = np.zeros((self.threads, size, size))
        motion = writable(wrapped(rows.chain, rows.q), rows.qd, rows.qdd)
        self._call("gram", (*_rows(rows), *motion), rows.q.shape[1], h if self.threads > 1 else h[0])
        total: Array = h.sum(0)
        return total

    def columns(self, rows: RowBatch, out: Array) -> None:
        motion = writable(wrapped(rows.chain, rows.q), rows.qd, rows.qdd)
        kernels("columns").columns(*_rows(rows), *motion, 0, rows.q.shape[1], out)

    def adjoint(
        self, rows: RowBatch, matrix: Array | None, torque_seed: Array | None, inertias: Array
    ) -> tuple[Array, Array, Array, Array]:
        seeds = writable(
            NOTHING if matrix is None else matrix, NOTHING if torque_seed is None else torque_seed, inertias
        )
        motion = writable(wrapped(rows.chain, rows.q), rows.qd, rows.qdd)
        shape = rows.q.shape
        out = (np.empty(shape), np.empty(shape), np.empty(shape), np.zeros_like(rows.terms))
        self._call("adjoint", (*_rows(rows), *seeds, *motion), shape[1], *out)
        return out

    def lagrange(self, chain: Chain, q: Array, qd: Array) -> LagrangeRows:
        q, qd = writable(wrapped(chain, q), qd)
        n, samples = q.shape
        rows = LagrangeRows(*np.zeros((2, n, 10, samples)), *np.zeros((3, n, n, 10, samples)))
        out = (rows.e, rows.u, rows.momentum, rows.de_dq, rows.du_dq)
        kernels("lagrange").lagrange(*_geometry(chain), chain.joint, q, qd, 0, samples, *out)
        return rows

    def placements(self, chain: Chain, q: Array) -> Placements:
        (q,) = writable(wrapped(chain, q))
        n, samples, pairs = chain.n, q.shape[1], chain.joint.size
        r, p = np.empty((n, 3, 3, samples)), np.empty((n, 3, samples))
        sv, sw = np.empty((2, pairs, 3, samples))
        kernels("lagrange").placements(*_geometry(chain), q, 0, samples, r, p, sv, sw)
        return Placements(r, p, sv, sw)
