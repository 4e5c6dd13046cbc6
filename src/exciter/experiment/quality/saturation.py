"""Values cut off: flat tops, and what lies at or beyond the description's limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exciter.experiment.quality.constant import BESIDE, DEAD_STOP
from exciter.experiment.quality.tally import runs
from exciter.experiment.quality.values import placeholder
from exciter.experiment.quality.words import count as counted
from exciter.experiment.quality.words import number, percent, unit
from exciter.notes import Note, note, problem, warning
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

LIMITS = {"qd": "velocity", "torque": "torque", "current": "torque"}
NAMES = {"q": "position", "qd": "velocity", "torque": "torque", "current": "current"}


def saturation(evidence: Evidence) -> Iterator[Note]:
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
                    f"{counted(count, 'sample')} ({percent(share)}) are cut off at {number(value, 6)} "
                    f"{unit(evidence, name, j)}: the {NAMES[name]} was larger "
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


def beyond_limits(evidence: Evidence) -> Iterator[Note]:
    """Positions, velocities and torques (currents times gains) against the description."""
    values = evidence.survey.values
    for name, (lower, upper) in values.limits.items():
        if name not in evidence.signals:
            continue
        if name == "q":
            outside = np.maximum(values.highest[name] - upper, lower - values.lowest[name])
            limited = np.isfinite(upper - lower)
            reached = np.where(limited, 1.0 + outside / np.where(limited, 0.5 * (upper - lower), 1.0), 0.0)
        else:
            reached = np.maximum(values.highest[name], -values.lowest[name]) / upper
        yield from _against(evidence, name, reached)


def _against(evidence: Evidence, name: str, reached: Array) -> Iterator[Note]:
    """reached (n,): over the limit."""
    limits, values = evidence.thresholds, evidence.survey.values
    _, upper = values.limits[name]
    count = values.at_limit[name]
    known = not placeholder(evidence.robot.limit(LIMITS[name]) if evidence.robot and name in LIMITS else upper)
    at: dict[str, float] = {}
    for j, joint in enumerate(evidence.joints):
        if not np.isfinite(reached[j]) or j in evidence.foreign_units:
            continue  # the latter was told already, with its cause
        share = float(count[j] / evidence.survey.timing.samples)
        numbers = {"signal": name, "reached": float(reached[j]), "share": share}
        if reached[j] > limits.beyond_limit:
            words = _beyond(evidence, name, j)
            words += "unit, gain or joint order may be wrong" if known else "the limit looks like a placeholder"
            absurd = reached[j] > limits.torque_scale and count[j] >= limits.flat_samples and name in LIMITS
            yield ((problem if absurd else warning) if known else note)("beyond limit", words, joint, **numbers)
        elif name in LIMITS and known and count[j] >= limits.flat_samples:
            at[joint] = share
            if name != "qd":
                words = f"the {NAMES[name]} is at the description's limit for {percent(share)} of the samples"
                yield warning("at limit", words, joint, **numbers)
    if name == "qd" and at:  # where motions are designed to be
        least, most = percent(min(at.values())), percent(max(at.values()))
        often = least if least == most else f"{least.removesuffix(' %')} … {most}"
        words = f"the velocity is at the description's limit for {often} of the samples ({', '.join(at)})"
        yield note("at limit", words, signal=name, share=at)


def _beyond(evidence: Evidence, name: str, j: int) -> str:
    """What the joint reached and what it may, in one unit."""
    values = evidence.survey.values
    ends = values.lowest[name][j], values.highest[name][j], values.limits[name][0][j], values.limits[name][1][j]
    of, what = name, f"the {NAMES[name]}"
    if name == "current":
        gain = abs((evidence.survey.about.gains or ())[j])
        ends, of, what = tuple(gain * end for end in ends), "torque", "the current times its gain"
    low, high, lower, upper = (number(end, 4) for end in ends)
    one = unit(evidence, of, j)
    return f"{what} ({low} … {high} {one}) is far beyond the description's limit ({lower} … {upper} {one}); "
