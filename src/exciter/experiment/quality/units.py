"""Units that were not converted: degrees, millimetres, torques of another scale. (Time: see ``timing``.)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exciter.experiment.quality.words import listed, number, unit
from exciter.notes import Note, problem, warning
from exciter.robot.robot import Robot
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

SIZES = {"deg": 180.0 / np.pi, "mm": 1000.0}
NAMES = {"deg": "degrees", "mm": "millimetres"}
TURNS = 4.0 * np.pi  # [rad] positions beyond two turns are rare without a description that says so
FAR = 1.0  # of the allowed range beyond its ends: nobody's mistake of a zero
ROOM = 0.1  # of the allowed range: limits of descriptions are not exact


def foreign_units(low: Array, high: Array, robot: Robot | None) -> dict[int, str]:
    """deg or mm by joint whose positions (n,) lie far outside of what is allowed, and within it when converted. A log
    that has most of its angles in degrees has all of them so, where they fit."""
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return {}
    if robot is None:
        return dict.fromkeys(np.flatnonzero(np.maximum(np.abs(low), np.abs(high)) > TURNS).tolist(), "deg")
    slides = np.array([joint.is_prismatic for joint in robot.joints])
    lower, upper = robot.position_range()
    span = upper - lower
    size = np.where(slides, SIZES["mm"], SIZES["deg"])
    far = (low < lower - FAR * span) | (high > upper + FAR * span)
    fits = (low / size >= lower - ROOM * span) & (high / size <= upper + ROOM * span)
    found = {int(j): "mm" if slides[j] else "deg" for j in np.flatnonzero(far & fits)}
    angles = far & fits & ~slides
    if 2 * angles.sum() > (~slides).sum():
        found |= {int(j): "deg" for j in np.flatnonzero(fits & ~slides)}
    return dict(sorted(found.items()))


def units(evidence: Evidence) -> Iterator[Note]:
    """Positions that only make sense in another unit, and the line that says so."""
    foreign, joints, known = evidence.foreign_units, evidence.joints, evidence.robot is not None
    if not foreign:
        return
    values = evidence.survey.values
    largest = np.maximum(np.abs(values.lowest["q"]), np.abs(values.highest["q"]))
    each = [f"{joints[j]} reaches {number(largest[j], 4)} {unit(evidence, 'q', j)}" for j in foreign]
    names = listed([NAMES[name] for name in dict.fromkeys(foreign.values())])
    why = f"outside the description's limits, and within them as {names}" if known else "more than two turns"
    every = [foreign.get(j, unit(evidence, "q", j)) for j in range(len(joints))]
    line = every[0] if len(set(every)) == 1 else f"[{', '.join(every)}]"
    words = f"{', '.join(each)}: {why}; if that is so, say position: {{unit: {line}}}"
    joint = joints[next(iter(foreign))] if len(foreign) == 1 else None
    numbers = {"units": {joints[j]: name for j, name in foreign.items()}, "largest": largest.tolist()}
    yield (problem if known else warning)("unit of position", words, joint, **numbers)


def torque_scale(evidence: Evidence) -> Iterator[Note]:
    """Measured over model torque of every joint where both clearly follow each other."""
    match = evidence.match
    if match is None or evidence.effort_unit != "N·m" or evidence.foreign_units:
        return
    sure = np.abs(match.correlation.diagonal()) > evidence.thresholds.conclusive
    scale, most = np.abs(match.scale.diagonal()), evidence.thresholds.torque_scale
    off = sure & ((scale > most) | (scale < 1.0 / most))
    if not off.any():
        return
    what = "currents times gains" if evidence.effort_name == "current" else "measured torques"
    other = "mA" if evidence.effort_name == "current" else "mN·m"
    why = f"another unit ({other}, per cent), motor torque without gear ratio, or inertias of another robot?"
    if off[sure].all() and sure.sum() > 1:
        common = float(np.median(scale[sure]))
        words = f"{what} are {number(common)} times those of the description; {why}"
        yield problem("unit of torque", words, scale=common)
        return
    for j in map(int, np.flatnonzero(off)):
        words = f"{what} are {number(scale[j])} times those of the description, of other joints not; {why}"
        yield problem("unit of torque", words, evidence.joints[j], scale=float(scale[j]))
