"""Base parameters from regressor rows: what given samples, real or random, can tell.

For random samples this is what the robot can tell at all; for the samples of an experiment it is the minimal
set that the experiment excites. Any columns may be given: all, gravity rows only, inertias only, with joint
terms.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exciter.errors import ParameterError
from exciter.parameters.base import BaseParameters, RankDecision
from exciter.parameters.base_names import FIRST_MOMENT_SYMBOLS, INERTIA_SYMBOLS, split_name
from exciter.parameters.base_selection import EPS, ROUNDING, select
from exciter.typing import Array

SILENT = 1e-12  #: a column shorter than this, relative to the longest, is rounding noise: nothing was excited


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
