"""Units that were not converted: degrees for radians, torques of another scale. (Time: see ``timing``.)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exciter.experiment.quality.finding import Finding, problem, warning

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence


def units(evidence: Evidence) -> Iterator[Finding]:
    """Positions that only make sense as degrees."""
    if not evidence.degrees:
        return
    values = evidence.survey.values
    largest = np.maximum(np.abs(values.lowest["q"]), np.abs(values.highest["q"]))
    j = int(np.argmax(largest))
    known = evidence.robot is not None
    why = "outside the description's limits, and within them as degrees" if known else "more than two turns"
    words = f"positions reach {largest[j]:.4g} rad, {why}; if they are degrees, say position: {{unit: deg}}"
    yield (problem if known else warning)("unit of position", words, evidence.joints[j], largest=float(largest[j]))


def torque_scale(evidence: Evidence) -> Iterator[Finding]:
    """Measured over model torque where both clearly follow each other."""
    match = evidence.match
    if match is None or evidence.effort_unit != "N·m":
        return
    sure = np.abs(match.correlation.diagonal()) > evidence.thresholds.conclusive
    if not sure.any():
        return
    scale = float(np.median(np.abs(match.scale.diagonal()[sure])))
    most = evidence.thresholds.torque_scale
    if not 1.0 / most < scale < most:
        words = (
            f"measured torques are {scale:.3g} times those of the description; another unit (mN·m, per cent), motor "
            "torque without gear ratio, or inertias of another robot?"
        )
        yield warning("unit of torque", words, scale=scale)
