"""Values cut off: flat tops, and what lies at or beyond the description's limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exciter.experiment.quality.constant import BESIDE, DEAD_STOP
from exciter.experiment.quality.finding import Finding, note, problem, warning
from exciter.experiment.quality.tally import Array, runs
from exciter.experiment.quality.values import placeholder

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

NAMES = {"q": "position", "qd": "velocity", "torque": "torque", "current": "current"}


def saturation(evidence: Evidence) -> Iterator[Finding]:
    """Plateaus at the largest or smallest value that are entered without slowing down."""
    limits = evidence.thresholds
    for name in evidence.signals:
        for j, joint in enumerate(evidence.joints):
            parts = [getattr(window, name)[:, j] for window in evidence.windows]
            low, high = evidence.survey.values.lowest[name][j], evidence.survey.values.highest[name][j]
            if not low < high:
                continue
            for value in (low, high):
                count = sum(_flat(x, value, limits.flat_run) for x in parts)
                share = count / sum(len(x) for x in parts)
                if count < limits.flat_samples:
                    continue
                words = (
                    f"{count} samples ({100 * share:.2g} %) are cut off at {value:.6g}: the {NAMES[name]} was larger "
                    "than the sensor, the drive or the logger allows; leave these samples out, or move more gently"
                )
                numbers = {"signal": name, "value": float(value), "count": count, "share": share}
                grave = problem if share > limits.saturated_problem else warning
                yield grave("saturation", words, joint, **numbers)


def _flat(x: Array, value: float, shortest: int) -> int:
    """Samples of x that stand at ``value``, in plateaus that x enters or leaves at its usual pace."""
    starts, lengths = runs(x == value)
    long = lengths >= shortest
    step = np.abs(np.diff(x))
    changes = step[(step > 0) & np.isfinite(step)]
    if not long.any() or not changes.size:
        return 0
    usual = float(np.median(changes))
    count = 0
    for start, length in zip(starts[long], lengths[long], strict=True):
        sides = (step[max(start - BESIDE // 2, 0) : start], step[start + length - 1 : start + length - 1 + BESIDE // 2])
        if any(side.size and side.mean() > DEAD_STOP * usual for side in sides):
            count += int(length)
    return count


def beyond_limits(evidence: Evidence) -> Iterator[Finding]:
    """Positions, velocities and torques against the description."""
    values, limits = evidence.survey.values, evidence.thresholds
    if evidence.degrees:
        return  # told already, with its cause
    for name, (lower, upper) in values.limits.items():
        if name not in evidence.signals:
            continue
        if name == "q":
            outside = np.maximum(values.highest[name] - upper, lower - values.lowest[name])
            limited = np.isfinite(upper - lower)
            reached = np.where(limited, 1.0 + outside / np.where(limited, 0.5 * (upper - lower), 1.0), 0.0)
        else:
            reached = np.maximum(values.highest[name], -values.lowest[name]) / upper
        known = not placeholder(upper)
        for j, joint in enumerate(evidence.joints):
            if not np.isfinite(reached[j]):
                continue
            share = float(values.at_limit[name][j] / evidence.survey.timing.samples)
            numbers = {"signal": name, "reached": float(reached[j]), "share": share}
            if reached[j] > limits.beyond_limit:
                words = (
                    f"the {NAMES[name]} ({values.lowest[name][j]:.4g} … {values.highest[name][j]:.4g}) is far beyond "
                    f"the description's limit ({lower[j]:.4g} … {upper[j]:.4g}); "
                )
                words += "unit, gain or joint order may be wrong" if known else "the limit looks like a placeholder"
                yield (warning if known else note)("beyond limit", words, joint, **numbers)
            elif name != "q" and known and share * evidence.survey.timing.samples >= limits.flat_samples:
                words = f"the {NAMES[name]} is at the description's limit for {100 * share:.2g} % of the samples"
                yield warning("at limit", words, joint, **numbers)
