"""Base parameters from regressor rows: what given samples, real or random, can tell.

For random samples this is what the robot can tell at all; for the samples of an experiment it is the minimal
set that the experiment excites. Any columns may be given: all, gravity rows only, inertias only, with joint
terms.

From a row space to base parameters: which columns to keep, and how the others are grouped into them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.errors import ParameterError
from exciter.parameters.base import BaseParameters, RankDecision
from exciter.parameters.parameter_names import (
    FIRST_MOMENT_SYMBOLS,
    INERTIA_SYMBOLS,
    keeping_order,
    paper_order,
    split_name,
)
from exciter.typing import Array

EPS = float(np.finfo(float).eps)
ROUNDING = 1e-9  #: coefficients below this, in comparable units, are rounding noise and become exactly zero
SILENT = 1e-12  #: a column shorter than this, relative to the longest, is rounding noise: nothing was excited


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
        dropped=max(float(dropped.max(initial=0.0)), EPS * max(len(values), 1)),
        values=np.sort(values)[::-1],
    )


def select(
    rows: Array,
    scale: Array,
    names: Sequence[str],
    decision: RankDecision,
    method: str,
    *,
    prismatic: Collection[int] = (),
    threshold: float = 1e-6,
    noise: float = ROUNDING,
) -> BaseParameters:
    """Base parameters whose space is spanned by ``rows`` (b, p), orthonormal.

    The rows refer to scaled parameters, scale · χ, so that kg, kg·m and kg·m² compare. Walking the columns
    from the most to the least preferred, a column is kept when it is not a combination of those kept before;
    the process is Gram–Schmidt, twice for stability. ``threshold``: what counts as a combination (all
    columns of orthonormal rows are at most 1 long). ``noise``: coefficients below it become exactly zero.
    """
    kept = _independent_columns(rows, keeping_order(names, prismatic), threshold)
    place = {column: k for k, column in enumerate(paper_order(names))}
    kept.sort(key=lambda column: place[column])
    coefficients = np.linalg.solve(rows[:, kept], rows)  # rows = rows[:, kept] · coefficients
    coefficients[np.abs(coefficients) < noise] = 0.0
    grouping = coefficients * scale / scale[kept][:, None]
    grouping[:, kept] = np.eye(len(kept))
    grouping = _rounded(grouping)
    return BaseParameters(tuple(names), np.array(kept, dtype=np.int64), grouping, decision, method)


def _independent_columns(rows: Array, order: Sequence[int], threshold: float) -> list[int]:
    rank = len(rows)
    basis = np.zeros((rank, 0))
    kept: list[int] = []
    while len(kept) < rank:
        found = False
        for column in order:
            if column in kept or len(kept) == rank:
                continue
            rest = rows[:, column] - basis @ (basis.T @ rows[:, column])
            rest -= basis @ (basis.T @ rest)
            size = float(np.linalg.norm(rest))
            if size > threshold:
                basis = np.column_stack([basis, rest / size])
                kept.append(column)
                found = True
        if not found:  # columns that are nearly dependent complete the set: the rank is already decided
            threshold *= 0.1
            if threshold < 1e-15:
                raise ParameterError("the base parameters have no independent columns: the rank is not consistent")
    return kept


def _rounded(grouping: Array) -> Array:
    """Entries within rounding of a short decimal made exactly so: 0.29, not 0.29000000000000004."""
    short = np.round(grouping, 12)
    return np.where(np.abs(short - grouping) <= 1e-14 * np.maximum(1.0, np.abs(grouping)), short, grouping)


def restricted(base: BaseParameters, names: Sequence[str], prismatic: Collection[int] = ()) -> BaseParameters:
    """Base parameters when only ``names`` are unknown and every other standard parameter is known or zero.

    ``restricted(base, [s for s in base.standard if s[:-1] in INERTIA_SYMBOLS])`` is the inertia-only set.
    """
    missing = [name for name in names if name not in base.standard]
    if missing:
        raise ParameterError(f"unknown standard parameter '{missing[0]}'; valid names: {', '.join(base.standard)}")
    columns = [base.standard.index(name) for name in names]
    part = base.grouping[:, columns]
    scale = np.abs(part).max(axis=0, initial=0.0)
    scale[scale == 0.0] = 1.0
    basis, values = orthonormal_rows(part / scale, 1e-9)
    decision = judged(values, 1e-9)
    method = f"{base.method}, {len(names)} parameters only"
    return select(basis, scale, names, decision, method, prismatic=prismatic)


def numeric_base(
    rows: ArrayLike,
    names: Sequence[str],
    *,
    prismatic: Collection[int] = (),
    tolerance: float | None = None,
) -> BaseParameters:
    """Base parameters of regressor rows W (rows, p) with column ``names`` (p,).

    Columns are brought to equal length first, so units do not matter. Without a ``tolerance`` the rank is
    where the singular values show their largest gap, rounding counted as the floor;
    ``BaseParameters.decision`` carries the values and says in words when the gap is not clear. With a
    tolerance, relative singular values above it count, of columns longer than it relative to the longest of
    their unit. prismatic: numbers (from 1) of the links that slide; it decides which names are kept, not the
    space.
    """
    w = _checked(rows, names)
    # Q of a QR never matters here, and R has the same singular values and the same row space as W.
    r = np.linalg.qr(w, mode="r") if len(w) > w.shape[1] else w
    lengths = np.linalg.norm(r, axis=0)
    heard = _heard(lengths, names, tolerance)
    scale = np.where(heard, lengths, 1.0)
    even = np.where(heard, r / scale, 0.0)
    _, values, vt = np.linalg.svd(even, full_matrices=False)
    decision = _decide(values, len(w), tolerance)
    noise = max(ROUNDING, 10.0 / decision.gap)
    return select(
        vt[: decision.rank],
        scale,
        names,
        decision,
        f"numeric, {len(w)} rows",
        prismatic=prismatic,
        threshold=max(1e-7, decision.gap**-0.5),
        noise=min(noise, 1e-3),
    )


def _checked(rows: ArrayLike, names: Sequence[str]) -> Array:
    w = np.asarray(rows, dtype=np.float64)
    if w.ndim != 2 or w.shape[1] != len(names) or not w.size:
        raise ParameterError(
            f"regressor rows of shape {w.shape} do not fit {len(names)} names; "
            f"give at least one row of {len(names)} columns"
        )
    if not np.isfinite(w).all():
        raise ParameterError("the regressor rows contain NaN or infinity; give finite samples of q, q̇, q̈")
    return w


def _heard(lengths: Array, names: Sequence[str], tolerance: float | None) -> NDArray[np.bool_]:
    """Which columns say anything at all."""
    heard: NDArray[np.bool_] = lengths > SILENT * lengths.max(initial=0.0)
    if tolerance is not None:
        kinds = [_kind(name) for name in names]
        longest = {kind: max(x for x, k in zip(lengths, kinds, strict=True) if k == kind) for kind in kinds}
        heard &= lengths > tolerance * np.array([longest[kind] for kind in kinds])
    return heard


def _kind(name: str) -> str:
    """What has the same unit: first moments, inertias, and every other symbol by itself."""
    symbol = split_name(name)[0]
    return "MX" if symbol in FIRST_MOMENT_SYMBOLS else "XX" if symbol in INERTIA_SYMBOLS else symbol


def _decide(values: Array, count: int, tolerance: float | None) -> RankDecision:
    largest = float(values.max(initial=0.0))
    if largest == 0.0:
        return RankDecision(0, np.inf, 1.0, values)
    values = values / largest
    floor = EPS * max(count, len(values))
    clipped = np.append(np.maximum(values, floor), floor)  # as if one more value had dropped to the floor
    steps = clipped[:-1] / clipped[1:]
    rank = int(np.argmax(steps)) + 1 if tolerance is None else int((values > tolerance).sum())
    if rank == 0:
        return RankDecision(0, np.inf, float(values[0]), values)
    return RankDecision(rank, float(values[rank - 1]), float(clipped[rank]), values)
