"""The compiled twin of the NumPy engine (``reference``): kernels over the samples, in one thread or several, that give
the same numbers. ``default_engine`` prefers it, and falls back to NumPy where there is no Numba."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from exciter.dynamics.kernels.cache import kernels
from exciter.dynamics.reference import Adjoints, Chain, ColumnLayout, LagrangeRows, NumpyEngine, Placements, RowBatch
from exciter.dynamics.shared_work import parts, shared_out
from exciter.errors import ExciterError
from exciter.typing import Array

EXACT_SINE_ANGLE_RAD = 1e5  # beyond it the kernels reduce an angle with errors (``blocks.sin_cos``)
NO_SEED = np.zeros((0, 0))


def wrapped(chain: Chain, q: Array) -> Array:
    """Positions within what the kernels' sine can reduce exactly; farther angles lose their whole turns first."""
    if q.size and np.abs(q).max() > EXACT_SINE_ANGLE_RAD:
        return np.where(chain.prismatic[:, None], q, np.arctan2(np.sin(q), np.cos(q)))
    return q


def writable(*arrays: Array) -> tuple[Array, ...]:
    """Contiguous float64 arrays that Numba types alike: a read-only array would compile everything again."""
    return tuple(a if a.flags.carray and a.dtype == np.float64 else np.array(a, np.float64, order="C") for a in arrays)


@lru_cache(maxsize=32)
def every_column(bodies: int) -> ColumnLayout:
    """All inertial columns of W; made once, for that takes a tenth of the time of W of a thousand samples."""
    return ColumnLayout.select(bodies, (), np.arange(10 * bodies))


def _geometry(chain: Chain) -> tuple[Any, ...]:
    return chain.parent, chain.prismatic, chain.rotation, chain.origin, chain.gravity, chain.first


def _rows(rows: RowBatch) -> tuple[Any, ...]:
    chain, layout = rows.chain, rows.layout
    structure = (chain.joint, chain.link_of, chain.row_pairs, chain.row_first, layout.inertial)
    terms, weights = writable(rows.terms, rows.weights)
    return (*_geometry(chain), *structure, terms, layout.term_row, layout.term_column, weights)


@dataclass(frozen=True)
class NumbaEngine(NumpyEngine):
    """threads: how many may share the samples, where that is faster (``shared_work``); one for columns, energies and
    kinematics."""

    name: ClassVar[str] = "numba"
    threads: int = 1

    def _call(self, kernel: str, fixed: tuple[Any, ...], samples: int, *out: Array) -> None:
        """Run a kernel over all samples, or over parts of them on several threads."""
        compiled = getattr(kernels("drivers"), kernel)
        if self.threads == 1:
            compiled(*fixed, 0, samples, *out)
        else:
            shared_out(kernel, lambda _, begin, end: compiled(*fixed, begin, end, *out), samples, self.threads)

    def regressor(self, chain: Chain, q: Array, qd: Array, qdd: Array, out: Array | None = None) -> Array:
        n, samples = q.shape
        out = np.zeros((n, n, 10, samples)) if out is None else out
        terms, weights = np.empty((0, samples)), np.ones(n)
        self.columns(RowBatch(chain, every_column(n), terms, weights, q, qd, qdd), out.reshape(n, 10 * n, samples))
        return out

    def torque(self, chain: Chain, inertias: Array, q: Array, qd: Array, qdd: Array) -> Array:
        inertias, q, qd, qdd = writable(inertias, wrapped(chain, q), qd, qdd)
        out = np.empty(q.shape)
        self._call("torque", (*_geometry(chain), chain.joint, inertias, q, qd, qdd), q.shape[1], out)
        return out

    def gram(self, rows: RowBatch) -> Array:
        size, samples = rows.layout.size, rows.q.shape[1]
        fixed = (*_rows(rows), *writable(wrapped(rows.chain, rows.q), rows.qd, rows.qdd))
        compiled = kernels("drivers").gram
        if self.threads == 1:
            h = np.zeros((size, size))
            compiled(*fixed, 0, samples, h)
            return h
        sums = np.zeros((len(parts(samples)), size, size))
        shared_out("gram", lambda k, begin, end: compiled(*fixed, begin, end, sums[k]), samples, self.threads)
        return np.asarray(sums.sum(0))

    def columns(self, rows: RowBatch, out: Array) -> None:
        if not rows.layout.size:  # nothing is asked of the motion
            return
        chain, layout = rows.chain, rows.layout
        terms, *motion = writable(rows.terms, wrapped(chain, rows.q), rows.qd, rows.qdd)
        wanted = (chain.joint, layout.inertial, terms, layout.term_row, layout.term_column)
        self._call("columns", (*_geometry(chain), *wanted, *motion), rows.q.shape[1], out)

    def adjoint(self, rows: RowBatch, matrix: Array | None, torque_seed: Array | None, inertias: Array) -> Adjoints:
        seeds = writable(*(NO_SEED if one is None else one for one in (matrix, torque_seed)), inertias)
        motion = writable(wrapped(rows.chain, rows.q), rows.qd, rows.qdd)
        shape = rows.q.shape
        bars, terms_bar = np.empty((3 * shape[0], shape[1])), np.zeros_like(rows.terms)
        self._call("adjoint", (*_rows(rows), *seeds, *motion), shape[1], bars, terms_bar)
        return bars[::3], bars[1::3], bars[2::3], terms_bar

    def rows_adjoint(self, chain: Chain, seeds: Array, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array]:
        seeds, q, qd, qdd = writable(seeds, wrapped(chain, q), qd, qdd)
        bars = np.empty((3 * q.shape[0], q.shape[1]))
        kernels("seeded").rows_adjoint(*_geometry(chain), seeds, q, qd, qdd, 0, q.shape[1], bars)
        return bars[::3], bars[1::3], bars[2::3]

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


@lru_cache(maxsize=1)
def default_engine() -> NumpyEngine:
    """Numba when it is installed, NumPy otherwise; the environment variable EXCITER_ENGINE chooses by name."""
    wanted = os.environ.get("EXCITER_ENGINE", "auto")
    if wanted not in ("auto", "numba", "numpy"):
        raise ExciterError(f"EXCITER_ENGINE is '{wanted}'; allowed are auto, numba, numpy")
    if wanted == "numba" or (wanted == "auto" and find_spec("numba") is not None):
        return NumbaEngine()
    return NumpyEngine()
