"""Base parameters: the fewest combinations of the standard parameters that the joint torques depend on.

The torques are τ = Φ χ with standard parameters χ (p,). Only β = P χ (b,) matters, b ≤ p, and Φ χ = Φ_b β
where Φ_b is Φ reduced to b of its own columns, the independent ones (Gautier & Khalil).

From a row space to base parameters: which columns to keep, and how the others are grouped into them (``select``).
From regressor rows, of any columns: what given samples can tell (``numeric_base``). For random samples this is what
the robot can tell at all; for the samples of an experiment it is the minimal set that the experiment excites."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

from exciter.errors import ParameterError
from exciter.independent_blocks import Block, independent_blocks
from exciter.parameters import parameter_names
from exciter.parameters.parameter_names import FIRST_MOMENT_SYMBOLS, INERTIA_SYMBOLS, is_inertial, split_name
from exciter.typing import Array, BoolArray, Index

CLEAR_RANK_GAP = 1e3  #: a rank is clear when what was kept exceeds what was dropped by this factor
WEAK_DIRECTION_FRACTION = 1e-5  #: below this, relative to the strongest, a kept direction deserves a word
MACHINE_EPSILON = float(np.finfo(float).eps)
COEFFICIENT_ROUNDING = 1e-9  #: coefficients below this, in comparable units, are rounding noise and become exactly zero
EXACT_SELECTION = (1e-6, COEFFICIENT_ROUNDING)  #: threshold and noise of ``select``, for rows without rounding noise
SILENT_COLUMN_FRACTION = 1e-12  #: a column shorter than this, relative to the longest, is rounding noise


@dataclass(frozen=True, eq=False)
class RankDecision:
    """Why a rank is what it is. kept: the smallest singular value that was taken as different from zero. dropped: the
    largest one that was taken as zero, or what rounding alone may leave behind when that is more. values: all of them,
    descending, relative: 1 is the size of the largest or of the robot."""

    rank: int
    kept: float
    dropped: float
    values: Array

    @property
    def gap(self) -> float:
        return self.kept / self.dropped

    @property
    def is_clear(self) -> bool:
        return self.gap >= CLEAR_RANK_GAP

    @property
    def words(self) -> str:
        """The decision in one sentence, doubts included."""
        if not self.rank:
            return "rank 0: no parameter has any effect"
        unclear = "; no clear gap: the rank is doubtful (a poor motion, or axes that are nearly but not quite parallel)"
        weak = "; the weakest combination is barely visible (rounded angles in the robot, or a poor motion?)"
        doubt = unclear if not self.is_clear else weak if self.kept < WEAK_DIRECTION_FRACTION else ""
        values = f"smallest value kept {self.kept:.1e}, largest dropped {self.dropped:.1e}, gap {self.gap:.1e}"
        return f"rank {self.rank}: {values}{doubt}"


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """β = P χ. standard (p,): names of χ. independent (b,): standard columns that are kept, in reading order. grouping
    (b, p): P, the identity on these. decision: the evidence for b. method: how it was found, in words."""

    standard: tuple[str, ...]
    independent: Index
    grouping: Array
    decision: RankDecision
    method: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "standard", tuple(self.standard))
        for name, kind in (("independent", np.int64), ("grouping", np.float64)):
            array = np.array(getattr(self, name), dtype=kind)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if self.grouping.shape != (fitting := (len(self), len(self.standard))):
            problem = f"the grouping matrix has shape {self.grouping.shape}; it must be {fitting}"
            raise ParameterError(f"{problem}: base × standard parameters")

    def __len__(self) -> int:
        return len(self.independent)

    @property
    def inertial_count(self) -> int:
        """How many of them stand for inertial parameters (the others for joint terms)."""
        return sum(is_inertial(self.standard[i]) for i in self.independent)

    def project(self, rows: ArrayLike) -> Array:
        """Φ_b (…, b): the independent columns of regressor rows (…, p)."""
        return self._checked(rows, "regressor rows")[..., self.independent]

    def base_values(self, chi: ArrayLike) -> Array:
        """β (…, b) of standard parameters χ (…, p)."""
        return self._checked(chi, "standard parameters") @ self.grouping.T

    def _checked(self, values: ArrayLike, what: str) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.ndim == 0 or array.shape[-1] != len(self.standard):
            problem = f"{what} of shape {array.shape} do not fit {len(self.standard)} standard parameters"
            raise ParameterError(f"{problem}; the last dimension must be that number")
        return array

    @cached_property
    def _reading(self) -> list[int]:
        return parameter_names.paper_order(self.standard)

    def members(self, k: int) -> tuple[int, ...]:
        """Standard parameters in base parameter k: its own, the rest of its link, then link by link."""
        own = int(self.independent[k])
        others = [i for i in self._reading if self.grouping[k, i] != 0.0 and i != own]
        links = {i: split_name(self.standard[i])[1] for i in (own, *others)}
        return (own, *(sorted(others, key=lambda i: (links[i] != links[own], links[i]))))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """One name per base parameter: ZZR1 for a combination, MY2 for a parameter that stands alone."""
        counts = zip(self.independent, np.count_nonzero(self.grouping, axis=1), strict=True)
        own = ((self.standard[i], count) for i, count in counts)
        return tuple(parameter_names.regrouped_name(name) if count > 1 else name for name, count in own)

    def combination(self, k: int) -> str:
        """``ZZ1 + YY2 + 0.4 MZ3``; nothing for a parameter that stands alone."""
        terms = [(float(self.grouping[k, i]), self.standard[i]) for i in self.members(k)]
        return linear_combination(terms) if len(terms) > 1 else ""

    @property
    def expressions(self) -> tuple[str, ...]:
        """``ZZR1 = ZZ1 + YY2 + 0.4 MZ3``; the bare name for a parameter that stands alone."""
        combined = (self.combination(k) for k in range(len(self)))
        return tuple(f"{name} = {text}" if text else name for name, text in zip(self.names, combined, strict=True))


def linear_combination(terms: Sequence[tuple[float, str]]) -> str:
    """``ZZ1 + YY2 - 0.25 M3`` of [(1, 'ZZ1'), (1, 'YY2'), (-0.25, 'M3')]; six significant digits."""
    text = ""
    for coefficient, name in terms:
        digits = f"{abs(coefficient):.6g}"
        sign = ("-" if coefficient <= 0 else "") if not text else (" + " if coefficient > 0 else " - ")
        text += sign + (name if digits == "1" else f"{digits} {name}")
    return text


def orthonormal_rows(rows: Array, tolerance: float) -> tuple[Array, Array]:
    """Basis of the row space, and the singular values; ``tolerance`` is absolute."""
    if not rows.size:
        return np.zeros((0, rows.shape[1])), np.zeros(0)
    _, values, vt = np.linalg.svd(rows, full_matrices=False)
    return vt[: int((values > tolerance).sum())], values


def judged(values: Array, tolerance: float, rank: int | None = None) -> RankDecision:
    """The evidence behind values that were compared with an absolute tolerance; rank: if not their number."""
    kept, dropped = values[values > tolerance], values[values <= tolerance]
    return RankDecision(
        rank=len(kept) if rank is None else rank,
        kept=float(kept.min(initial=np.inf)),
        dropped=max(float(dropped.max(initial=0.0)), MACHINE_EPSILON * max(len(values), 1)),
        values=np.sort(values)[::-1],
    )


def select(
    rows: Array, scale: Array, names: Sequence[str], prismatic: Collection[int], threshold: float, noise: float
) -> tuple[Index, Array]:
    """Independent columns and grouping of base parameters whose space is spanned by ``rows`` (b, p), orthonormal, of
    scaled parameters, scale · χ, so that kg, kg·m and kg·m² compare. Walking the columns from the most to the least
    preferred, a column is kept when it is no combination of those kept before; the process is Gram–Schmidt, twice for
    stability. ``threshold``: what counts as a combination (all columns of orthonormal rows are at most 1 long).
    ``noise``: coefficients below it become 0."""
    order, reading = parameter_names.keeping_order(names, prismatic), parameter_names.paper_order(names)
    blocks = independent_blocks(rows)
    if len(blocks) <= 1:
        kept = _independent_columns(rows, order, threshold)
    else:
        kept = [k for block in blocks for k in _of_a_block(rows, order, threshold, *block)]
    place = dict(zip(reading, range(len(reading)), strict=True))
    kept.sort(key=place.__getitem__)
    coefficients = _coefficients(rows, np.array(kept, dtype=np.int64), blocks)
    coefficients[np.abs(coefficients) < noise] = 0.0
    grouping = coefficients * scale / scale[kept][:, None]
    grouping[:, kept] = np.eye(len(kept))
    # Entries within rounding of a short decimal are made exactly so: 0.29, not 0.29000000000000004.
    short = np.round(grouping, 12)
    near = np.abs(short - grouping) <= 1e-14 * np.maximum(1.0, np.abs(grouping))
    return np.array(kept, dtype=np.int64), np.where(near, short, grouping)


def _of_a_block(rows: Array, order: Sequence[int], threshold: float, at: Index, columns: Index) -> list[int]:
    """Independent columns of a limb that has none in common with others: those that all of them together would give."""
    place = dict(zip(columns.tolist(), range(len(columns)), strict=True))
    own = [place[column] for column in order if column in place]
    return [int(columns[k]) for k in _independent_columns(rows[np.ix_(at, columns)], own, threshold)]


def _coefficients(rows: Array, kept: Index, blocks: Sequence[Block]) -> Array:
    """(b, p) C with rows = rows[:, kept] C."""
    if len(blocks) <= 1:
        return np.asarray(np.linalg.solve(rows[:, kept], rows))
    found = np.zeros(rows.shape)
    for at, columns in blocks:
        own = np.flatnonzero(np.isin(kept, columns))
        found[np.ix_(own, columns)] = np.linalg.solve(rows[np.ix_(at, kept[own])], rows[np.ix_(at, columns)])
    return found


def _independent_columns(rows: Array, order: Sequence[int], threshold: float) -> list[int]:
    rank = len(rows)
    room = np.zeros((rank, rank), order="F")
    kept: list[int] = []
    there = np.zeros(rows.shape[1], dtype=np.bool_)
    while (before := len(kept)) < rank:
        for column in order:
            if there[column] or len(kept) == rank:
                continue
            basis = room[:, : len(kept)]
            rest = rows[:, column] - basis @ (basis.T @ rows[:, column])
            rest -= basis @ (basis.T @ rest)
            size = float(np.linalg.norm(rest))
            if size > threshold:
                room[:, len(kept)] = rest / size
                kept.append(column)
                there[column] = True
        if len(kept) == before:  # columns that are nearly dependent complete the set: the rank is already decided
            threshold *= 0.1
            if threshold < 1e-15:
                raise ParameterError("the base parameters have no independent columns: the rank is not consistent")
    return kept


def restricted(base: BaseParameters, names: Sequence[str], prismatic: Collection[int] = ()) -> BaseParameters:
    """Base parameters when only ``names`` are unknown and every other standard parameter is known or zero."""
    if missing := [name for name in names if name not in base.standard]:
        raise ParameterError(f"unknown standard parameter '{missing[0]}'; valid names: {', '.join(base.standard)}")
    columns = [base.standard.index(name) for name in names]
    part = base.grouping[:, columns]
    scale = np.abs(part).max(axis=0, initial=0.0)
    scale[scale == 0.0] = 1.0
    basis, values = orthonormal_rows(part / scale, 1e-9)
    method = f"{base.method}, {len(names)} parameters only"
    chosen = select(basis, scale, names, prismatic, *EXACT_SELECTION)
    return BaseParameters(tuple(names), *chosen, judged(values, 1e-9), method)


def numeric_base(
    rows: ArrayLike,
    names: Sequence[str],
    *,
    prismatic: Collection[int] = (),
    tolerance: float | None = None,
    count: int | None = None,
) -> BaseParameters:
    """Base parameters of regressor rows W (rows, p) with column ``names`` (p,). Columns are brought to equal length
    first, so units do not matter. Without a ``tolerance`` the rank is where the singular values show their largest gap,
    rounding counted as the floor. With a tolerance, relative singular values above it count, of columns longer than it
    relative to the longest of their unit. prismatic: links (from 1) that slide, for which other names are kept.
    count: of the rows that these are a factor of, unless they are the rows themselves."""
    w = np.asarray(rows, dtype=np.float64)
    if w.ndim != 2 or w.shape[1] != len(names) or not w.size:
        problem = f"regressor rows of shape {w.shape} do not fit {len(names)} names"
        raise ParameterError(f"{problem}; give at least one row of {len(names)} columns")
    if not np.isfinite(w).all():
        raise ParameterError("the regressor rows contain NaN or infinity; give finite samples of q, q̇, q̈")
    # Q of a QR never matters here, and R has the same singular values and the same row space as W.
    r = triangle(w) if len(w) > w.shape[1] else w
    lengths = np.linalg.norm(r, axis=0)
    heard: BoolArray = lengths > SILENT_COLUMN_FRACTION * lengths.max(initial=0.0)
    if tolerance is not None:  # among what has the same unit: first moments, inertias, every other symbol by itself
        same = dict.fromkeys(FIRST_MOMENT_SYMBOLS, "MX") | dict.fromkeys(INERTIA_SYMBOLS, "XX")
        kinds = np.array([same.get(symbol, symbol) for symbol, _ in map(split_name, names)])
        heard &= lengths > tolerance * np.array([lengths[kinds == kind].max() for kind in kinds])
    scale = np.where(heard, lengths, 1.0)
    even = np.where(heard, r / scale, 0.0)
    values, vt = _singular(even)
    count = len(w) if count is None else count
    decision = _decide(values, count, tolerance)
    noise = min(max(COEFFICIENT_ROUNDING, 10.0 / decision.gap), 1e-3)
    chosen = select(vt[: decision.rank], scale, names, prismatic, max(1e-7, decision.gap**-0.5), noise)
    return BaseParameters(tuple(names), *chosen, decision, f"numeric, {count} rows")


def triangle(w: Array) -> Array:
    """R of W (m, p), block by block where limbs have no column in common."""
    blocks = independent_blocks(w)
    if len(blocks) <= 1:
        return np.asarray(np.linalg.qr(w, mode="r"))
    r = np.zeros(2 * w.shape[1:])
    for at, columns in blocks:
        found = np.linalg.qr(w[np.ix_(at, columns)], mode="r")
        r[np.ix_(columns[: len(found)], columns)] = found
    return r


def _singular(matrix: Array) -> tuple[Array, Array]:
    """Singular values, descending, and right vectors as rows; block by block where limbs have no column in common."""
    blocks = independent_blocks(matrix)
    if len(blocks) <= 1:
        return _values_and_vectors(matrix)
    found = [(columns, *_values_and_vectors(matrix[np.ix_(at, columns)])) for at, columns in blocks]
    values = np.concatenate([one for _, one, _ in found])
    vectors, start = np.zeros((len(values), matrix.shape[1])), 0
    for columns, _, vt in found:
        vectors[start : start + len(vt), columns] = vt
        start += len(vt)
    order = np.argsort(-values, kind="stable")
    missing = min(matrix.shape) - len(values)  # of rows or columns of zeros
    return np.append(values[order], np.zeros(missing)), np.vstack([vectors[order], np.zeros((missing, len(vectors.T)))])


def _values_and_vectors(matrix: Array) -> tuple[Array, Array]:
    """By the slower way where the usual one does not converge, which happens to triangles with rounding noise on the
    diagonal."""
    try:
        _, values, vt = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        _, values, vt = scipy.linalg.svd(matrix, full_matrices=False, lapack_driver="gesvd")
    return values, vt


def _decide(values: Array, count: int, tolerance: float | None) -> RankDecision:
    largest = float(values.max(initial=0.0))
    if largest == 0.0:
        return RankDecision(rank=0, kept=np.inf, dropped=1.0, values=values)
    values = values / largest
    floor = MACHINE_EPSILON * max(count, len(values))
    clipped = np.append(np.maximum(values, floor), floor)  # as if one more value had dropped to the floor
    steps = clipped[:-1] / clipped[1:]
    rank = int(np.argmax(steps)) + 1 if tolerance is None else int((values > tolerance).sum())
    kept, dropped = (values[rank - 1], clipped[rank]) if rank else (np.inf, values[0])
    return RankDecision(rank=rank, kept=float(kept), dropped=float(dropped), values=values)
