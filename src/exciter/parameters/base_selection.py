"""From a row space to base parameters: which columns to keep, and how the others are grouped into them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters.base import BaseParameters, RankDecision
from exciter.parameters.base_names import keeping_order, reading_order
from exciter.typing import Array

EPS = float(np.finfo(float).eps)
ROUNDING = 1e-9  #: coefficients below this, in comparable units, are rounding noise and become exactly zero


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
    place = {column: k for k, column in enumerate(reading_order(names))}
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
