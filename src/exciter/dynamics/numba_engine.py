"""The Numba engine: compiled kernels over ranges of samples, in one thread or several.

Threads are plain Python threads (the kernels release the GIL) on disjoint ranges, so that there is one set of
compiled kernels, no threading layer to choose, and nothing that quarrels with processes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.chain import Chain
from exciter.dynamics.engine import LagrangeRows, Placements
from exciter.dynamics.kernels.cache import announce_compilation
from exciter.dynamics.layout import ColumnLayout

Array = NDArray[np.float64]
BLOCK = 64  # ranges are cut at multiples of the kernels' block, so that threads change no rounding inside one
NOTHING = np.zeros((0, 0))


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="exciter")


@lru_cache(maxsize=1)
def _kernels() -> Any:
    announce_compilation()
    from exciter.dynamics.kernels import drivers, lagrange

    return drivers, lagrange


def writable(*arrays: Array) -> tuple[Array, ...]:
    """Contiguous float64 arrays that Numba types alike: a read-only array would compile everything again."""
    return tuple(np.require(a, np.float64, ["C", "W"]) for a in arrays)


def _geometry(chain: Chain) -> tuple[Any, ...]:
    return chain.parent, chain.prismatic, chain.rotation, chain.origin, chain.gravity, chain.first


def _rows(chain: Chain) -> tuple[Any, ...]:
    return chain.joint, chain.link_of, chain.row_pairs, chain.row_first


@dataclass(frozen=True)
class NumbaEngine:
    """See ``engine.Engine``. threads: how many ranges of samples run at once."""

    threads: int = 1
    name: str = "numba"

    def _run(self, kernel: Callable[[int, int, int], None], samples: int) -> int:
        """Call kernel(part, begin, end) on every part of the samples; returns the number of parts."""
        blocks = -(-samples // BLOCK)
        parts = max(1, min(self.threads, blocks))
        cuts = [min(samples, BLOCK * (blocks * k // parts)) for k in range(parts + 1)]
        if parts == 1:
            kernel(0, 0, samples)
            return 1
        futures = [_pool(parts - 1).submit(kernel, k, cuts[k], cuts[k + 1]) for k in range(1, parts)]
        kernel(0, cuts[0], cuts[1])
        for future in futures:
            future.result()
        return parts

    def regressor(self, chain: Chain, q: Array, qd: Array, qdd: Array) -> Array:
        drivers, _ = _kernels()
        q, qd, qdd = writable(q, qd, qdd)
        out = np.zeros((chain.n, chain.n, 10, q.shape[1]))
        geometry = _geometry(chain)
        self._run(lambda _, a, b: drivers.regressor(*geometry, chain.joint, q, qd, qdd, a, b, out), q.shape[1])
        return out

    def torque(self, chain: Chain, inertias: Array, q: Array, qd: Array, qdd: Array) -> Array:
        drivers, _ = _kernels()
        inertias, q, qd, qdd = writable(inertias, q, qd, qdd)
        out, geometry = np.empty(q.shape), _geometry(chain)
        self._run(lambda _, a, b: drivers.torque(*geometry, chain.joint, inertias, q, qd, qdd, a, b, out), q.shape[1])
        return out

    def gram(
        self, chain: Chain, layout: ColumnLayout, terms: Array, weights: Array, q: Array, qd: Array, qdd: Array
    ) -> Array:
        drivers, _ = _kernels()
        terms, weights, q, qd, qdd = writable(terms, weights, q, qd, qdd)
        h = np.zeros((self.threads, layout.size, layout.size))
        fixed = (*_geometry(chain), *_rows(chain), layout.inertial, terms, layout.term_row, layout.term_column)
        self._run(lambda k, a, b: drivers.gram(*fixed, weights, q, qd, qdd, a, b, h[k]), q.shape[1])
        upper = h.sum(0)  # each pair of columns was summed on one side of the diagonal only
        return upper + upper.T - np.diag(upper.diagonal())

    def adjoint(
        self,
        chain: Chain,
        layout: ColumnLayout,
        terms: Array,
        weights: Array,
        matrix: Array | None,
        torque_seed: Array | None,
        inertias: Array,
        q: Array,
        qd: Array,
        qdd: Array,
    ) -> tuple[Array, Array, Array, Array]:
        drivers, _ = _kernels()
        matrix = NOTHING if matrix is None else matrix
        torque_seed = NOTHING if torque_seed is None else torque_seed
        terms, weights, matrix, torque_seed, inertias = writable(terms, weights, matrix, torque_seed, inertias)
        q, qd, qdd = writable(q, qd, qdd)
        out = (np.empty(q.shape), np.empty(q.shape), np.empty(q.shape), np.zeros_like(terms))
        fixed = (*_geometry(chain), *_rows(chain), layout.inertial, terms, layout.term_row, layout.term_column,
                 weights, matrix, torque_seed, inertias, q, qd, qdd)  # fmt: skip
        self._run(lambda _, a, b: drivers.adjoint(*fixed, a, b, *out), q.shape[1])
        return out

    def lagrange(self, chain: Chain, q: Array, qd: Array) -> LagrangeRows:
        _, lagrange = _kernels()
        q, qd = writable(q, qd)
        n, samples = q.shape
        rows = LagrangeRows(*np.zeros((2, n, 10, samples)), *np.zeros((3, n, n, 10, samples)))
        out = (rows.e, rows.u, rows.momentum, rows.de_dq, rows.du_dq)
        geometry = _geometry(chain)
        self._run(lambda _, a, b: lagrange.lagrange(*geometry, chain.joint, q, qd, a, b, *out), samples)
        return rows

    def placements(self, chain: Chain, q: Array) -> Placements:
        _, lagrange = _kernels()
        (q,) = writable(q)
        n, samples, pairs = chain.n, q.shape[1], chain.joint.size
        r, p = np.empty((n, 3, 3, samples)), np.empty((n, 3, samples))
        sv, sw = np.empty((2, pairs, 3, samples))
        geometry = _geometry(chain)
        self._run(lambda _, a, b: lagrange.placements(*geometry, q, a, b, r, p, sv, sw), samples)
        return Placements(r, p, sv, sw)
