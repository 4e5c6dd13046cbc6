"""Friction over time of all robots, in per cent: how fast each changes, and the course of some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exciter.typing import Array
from exciter.validation.fleet.type_comparison import TypeComparison


@dataclass(frozen=True)
class TrendRow:
    """Of a parameter of a robot: change [% of the type's value per unit of time] with its 95 % interval; z: σ from the
    slopes of the other robots, NaN where these are too few. robot, parameter: by number."""

    robot: int
    joint: str
    parameter: int
    percent: float
    low: float
    high: float
    z: float


def trend_rows(found: TypeComparison) -> tuple[TrendRow, ...]:
    """Of all friction that grows with the motion, what is farthest from the others first."""
    rows = []
    for j, (joint, which) in enumerate(zip(found.groups.joints, found.groups.friction, strict=True)):
        drift, who = found.drifts[j], found.drifting[j].tolist()
        for k, one in enumerate(found.trends[j]):
            if one is None:
                continue
            low, high = one.interval()
            for a, b in enumerate(which.tolist()):
                if not found.groups.level[b]:
                    continue
                per = 100.0 if found.logarithmic[b] else 100.0 / float(found.type_values[b])
                z = float("nan") if drift is None else float(drift.z[who.index(k), a])
                least, most = sorted((per * float(low[a]), per * float(high[a])))
                rows.append(TrendRow(k, joint, b, per * float(one.slope[a]), least, most, z))
    return tuple(sorted(rows, key=lambda row: -abs(row.z) if np.isfinite(row.z) else 0.0))


def courses(found: TypeComparison, rows: Sequence[TrendRow]) -> tuple[Array, tuple[Array, ...]]:
    """Times of all logs of these robots, and by row the value beside its mean [%]: straight between logs, NaN before
    the first and after the last."""
    own = [found.robots[row.robot].logs for row in rows]
    x = np.unique([log.when for logs in own for log in logs])
    lines = []
    for row, logs in zip(rows, own, strict=True):
        when, values = np.array([[log.when, log.values[row.parameter]] for log in logs]).T
        order = np.argsort(when)
        line = np.interp(x, when[order], 100.0 * (values[order] / values.mean() - 1.0), left=np.nan, right=np.nan)
        lines.append(line)
    return x, tuple(lines)
