"""Triangular factors of the equations of each joint, with the columns that these equations have and no others.

The torque of a joint depends on the links it moves and on its own joint terms: of thirty axes a joint has a tenth of
the columns, and a factor with all of them would be a hundred times as large, most of it zeros."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np

from exciter.experiment.signals.equation_rows import Rows
from exciter.independent_blocks import upper_factor
from exciter.typing import Array, BoolArray, Index
from exciter.workers import one_thread

PANEL_COLUMNS = 8  # that LAPACK reduces at a time: of rows of 10 to 60 columns twice as fast as one after the other


@dataclass(frozen=True, eq=False)
class JointFactors:
    """Of G pieces times J equations, for p parameters and the right side, ``size`` = p + 1 columns in all. own: of each
    joint which columns it has, ascending, the right side last; blocks: (G, c, c) upper triangular, of these columns."""

    size: int
    own: tuple[Index, ...]
    blocks: tuple[Array, ...]

    @classmethod
    def of(cls, dense: Array) -> JointFactors:
        """From factors (G, J, p + 1, p + 1), or rows (G, J, m, p + 1)."""
        size = dense.shape[-1]
        own, blocks = list[Index](), list[Array]()
        for rows in dense.swapaxes(0, 1):
            seen = rows.any(axis=(0, 1))
            seen[-1] = True
            own.append(np.flatnonzero(seen))
            blocks.append(_square(rows[:, rows.any(axis=(0, 2))][..., seen]))
        return cls(size, tuple(own), tuple(blocks))

    @property
    def dense(self) -> Array:
        """(G, J, p + 1, p + 1), with zeros for columns that are not there."""
        out = np.zeros((len(self.blocks[0]), len(self.own), self.size, self.size))
        for j, (own, block) in enumerate(zip(self.own, self.blocks, strict=True)):
            out[:, j, own[:, None], own] = block
        out.flags.writeable = False
        return out

    def where(self, chosen: BoolArray | Index) -> JointFactors:
        """Some of the pieces; chosen (G,), or their numbers."""
        return replace(self, blocks=tuple(block[chosen] for block in self.blocks))

    def of_joints(self, kept: Sequence[int]) -> JointFactors:
        """Some of the J equations."""
        return replace(self, own=tuple(self.own[j] for j in kept), blocks=tuple(self.blocks[j] for j in kept))

    def over(self, sigma: Array) -> JointFactors:
        """Rows divided by sigma (G, J)."""
        blocks = (block / s[:, None, None] for block, s in zip(self.blocks, sigma.T, strict=True))
        return replace(self, blocks=tuple(blocks))

    def together(self) -> JointFactors:
        """One piece of all."""
        with one_thread():
            blocks = (_square(_there(block.reshape(-1, block.shape[-1])))[None] for block in self.blocks)
            return replace(self, blocks=tuple(blocks))

    def columns(self, chosen: Index) -> JointFactors:
        """Some of the parameters, in the given order."""
        places = np.full(self.size, -1)
        places[np.append(chosen, self.size - 1)] = np.arange(len(chosen) + 1)
        own, blocks = list[Index](), list[Array]()
        for before, block in zip(self.own, self.blocks, strict=True):
            kept = np.flatnonzero(places[before] >= 0)
            kept = kept[np.argsort(places[before[kept]])]
            own.append(places[before[kept]])
            blocks.append(_square(block[..., kept]))
        return JointFactors(len(chosen) + 1, tuple(own), tuple(blocks))

    def widened(self, columns: Index) -> JointFactors:
        """The same, every joint with these columns, too."""
        own = tuple(np.union1d(before, columns) for before in self.own)
        return replace(self, own=own, blocks=tuple(_widened(self, j, more) for j, more in enumerate(own)))

    def column_squares(self, k: int) -> Array:
        """(J,) sum of squares of a column in the equations of each joint."""
        found = zip(self.own, self.blocks, strict=True)
        return np.array([float((block[..., own == k] ** 2).sum()) for own, block in found])

    def rows(self) -> Array:
        """(m, p + 1) all of them, one below the other."""
        out = np.zeros((sum(len(block) * block.shape[1] for block in self.blocks), self.size))
        at = 0
        for own, block in zip(self.own, self.blocks, strict=True):
            flat = block.reshape(-1, block.shape[-1])
            out[at : at + len(flat), own] = flat
            at += len(flat)
        return out

    def times(self, matrix: Array) -> list[Array]:
        """Of each joint R M (G, c, k), or R v (G, c); matrix M (p, k) or v (p,). Columns of M that are zero where the
        joint has columns are left out."""
        found = list[Array]()
        for own, block in zip(self.own, self.blocks, strict=True):
            some = matrix[own[:-1]]
            if some.ndim == 2:
                some = some[:, some.any(axis=0)]
            found.append(block[..., :-1] @ some)
        return found

    def residuals(self, values: Array) -> list[Array]:
        """Of each joint z − R β (G, c) of parameters (p,), and below it what none explain."""
        return [block[..., -1] - seen for block, seen in zip(self.blocks, self.times(values), strict=True)]

    @staticmethod
    def merged(parts: Sequence[JointFactors]) -> JointFactors:
        """Pieces of all, one after the other."""
        own = _union(parts)
        wide = ([_widened(part, j, own[j]) for part in parts] for j in range(len(own)))
        return JointFactors(parts[0].size, own, tuple(np.concatenate(some) for some in wide))

    @staticmethod
    def added(parts: Sequence[JointFactors]) -> JointFactors:
        """Rows of all in the same pieces."""
        if len(parts) == 1:
            return parts[0]
        own = _union(parts)
        blocks = list[Array]()
        for j, columns in enumerate(own):
            stacked = np.concatenate([_widened(part, j, columns) for part in parts], axis=1)
            made = [_square(_there(one)) for one in stacked]
            blocks.append(np.array(made).reshape(len(made), len(columns), len(columns)))  # of no pieces, too
        return JointFactors(parts[0].size, own, tuple(blocks))


def upper(rows: Array) -> Array:
    """(c, c) upper triangular factor of rows (m, c) of all joints, of which many may be zero."""
    with one_thread():
        return upper_factor(_there(rows))


def _there(rows: Array) -> Array:
    """(m, c) those that are not zero."""
    return rows[rows.any(axis=1)]


def _square(rows: Array) -> Array:
    """(…, c, c) upper triangular factors of rows (…, m, c); what is triangular stays as it is."""
    c = rows.shape[-1]
    if rows.shape[-2] == c and not np.tril(rows, -1).any():
        return rows
    out = np.zeros((*rows.shape[:-2], c, c))
    found: Array = np.asarray(np.linalg.qr(rows, mode="r"))
    out[..., : found.shape[-2], :] = found
    return out


def _union(parts: Sequence[JointFactors]) -> tuple[Index, ...]:
    both = zip(*(part.own for part in parts), strict=True)
    return tuple(np.unique(np.concatenate(some)) for some in both)


def _widened(part: JointFactors, j: int, columns: Index) -> Array:
    before, block = part.own[j], part.blocks[j]
    if len(before) == len(columns):
        return block
    places = np.searchsorted(columns, before)
    out = np.zeros((len(block), len(columns), len(columns)))
    out[:, places[:, None], places] = block
    return out


class GroupFactors:
    """Factors of G groups times J equations, for p parameters, while rows come in; only columns that were ever not zero
    are worked on. instants (G,): how many were added; there (G, J): how many of them have an equation, or what is left
    of one; rows (G, J): how many equations these are worth; independent (G, J): how many independent ones."""

    def __init__(self, groups: int, equations: int, parameters: int) -> None:
        self.instants = np.zeros(groups, dtype=np.int64)
        self.rows, self.there, self.independent = np.zeros((3, groups, equations))
        self._size = parameters + 1
        self._seen = np.zeros((equations, self._size), dtype=np.bool_)
        self._seen[:, -1] = True  # y
        self._factors: dict[tuple[int, int], Array] = {}

    def add(self, first: int, fold: Index, rows: Rows) -> None:
        """More rows, of the groups ``first`` + ``fold`` (N,)."""
        rows[:0].equations()  # refuses what must not be used; all of them would be a copy
        share, present = rows.independent / max(len(rows), 1), rows.counted / max(len(rows), 1)
        there = rows.there / max(len(rows), 1)
        for start, end in pairwise([0, *(np.flatnonzero(np.diff(fold)) + 1).tolist(), len(fold)]):
            if start < end:
                group, sides = first + int(fold[start]), rows.sides.transpose(1, 2, 0)[:, :, start:end]
                bits = np.bitwise_or.reduce(sides.view(np.uint64), axis=2)  # not zero where a column is not: fast
                for equation, side in enumerate(sides):
                    self._widen(equation, bits[equation] != 0)
                    self._absorb(group, equation, np.ascontiguousarray(side[self._seen[equation]]))
                count = (end - start) * present
                self.instants[group] += end - start
                self.rows[group] += count
                self.there[group] += (end - start) * there
                self.independent[group] += share * count

    def found(self, groups: Iterable[int]) -> JointFactors:
        """The factors of some groups."""
        own, groups = tuple(np.flatnonzero(seen) for seen in self._seen), list(groups)
        blocks = [np.zeros((len(groups), len(columns), len(columns))) for columns in own]
        for equation, block in enumerate(blocks):
            for at, group in enumerate(groups):
                if (factor := self._factors.get((group, equation))) is not None:
                    block[at] = factor
        return JointFactors(self._size, own, tuple(blocks))

    def _widen(self, equation: int, seen: BoolArray) -> None:
        before, after = self._seen[equation], self._seen[equation] | seen
        if (before == after).all():
            return
        places = np.flatnonzero(before[after])
        for key, factor in self._factors.items():
            if key[1] == equation:
                self._factors[key] = np.zeros(2 * (int(after.sum()),), order="F")
                self._factors[key][np.ix_(places, places)] = factor
        self._seen[equation] = after

    def _absorb(self, group: int, equation: int, rows: Array) -> None:
        """R of [R; rowsᵀ], rows (c, N) overwritten."""
        if (group, equation) not in self._factors:
            self._factors[group, equation] = np.zeros((len(rows), len(rows)), order="F")
        absorb(self._factors[group, equation], rows)


def absorb(factor: Array, rows: Array) -> None:
    """Triangular factor (c, c), by columns, of itself and rows (c, N), which are overwritten: LAPACK's dtpqrt. Not by
    SciPy's own function, which lets no other thread run meanwhile."""
    c, n = rows.shape
    if not rows.size:
        return
    panel = min(PANEL_COLUMNS, c)
    assert factor.flags.f_contiguous
    assert rows.flags.c_contiguous
    numbers = [ctypes.c_int(k) for k in (n, c, 0, panel, c, max(n, 1), panel)]
    of_n, of_c, of_zero, of_panel, lead_factor, lead_rows, lead_t = map(ctypes.byref, numbers)
    t, work, info = np.empty((c, panel)), np.empty((c, panel)), ctypes.c_int(0)
    a, b, t_at, work_at = (array.ctypes.data for array in (factor, rows, t, work))
    _dtpqrt()(of_n, of_c, of_zero, of_panel, a, lead_factor, b, lead_rows, t_at, lead_t, work_at, ctypes.byref(info))
    assert info.value == 0, f"dtpqrt: {info.value}"


@cache
def _dtpqrt() -> Callable[..., None]:
    """From SciPy's table of LAPACK functions for other languages."""
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__["dtpqrt"]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 12)(pointer_of(capsule, name_of(capsule)))
