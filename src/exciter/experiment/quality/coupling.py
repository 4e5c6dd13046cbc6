"""Drives that turn each other: the motor of one joint moves with another joint, too, as in many wrists.

Its rotor and friction then act on both joints. What the rows of joint j leave of its torque follows velocity and
acceleration of joint k, and what those of k leave follows j; one of the two alone may be chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from exciter.experiment.quality.smooth import Smooth
from exciter.experiment.quality.words import percent
from exciter.notes import Note, warning
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

ENOUGH = 2.0  # independent samples per column: with fewer a fit follows anything
SINGULAR = 1e-8  # relative length of a column that the others leave


def coupled_drives(evidence: Evidence) -> Iterator[Note]:
    """Pairs of joints that turn, each of which explains what is left of the other."""
    rows, smooth, robot = evidence.regressor, evidence.smooth, evidence.robot
    if rows is None or smooth is None or smooth.effort is None or robot is None or evidence.order:
        return
    turning = [j for j, joint in enumerate(robot.joints) if not joint.is_prismatic and np.ptp(smooth.motion.q[:, j])]
    spaces = {j: basis for j in turning if (basis := _basis(rows[:, j], smooth.independent)) is not None}
    for j, k in combinations(spaces, 2):
        (one, slope), (other, _) = (_left(smooth, spaces[a], a, b) for a, b in ((j, k), (k, j)))
        if max(one, other) < evidence.thresholds.coupled:
            first, second = evidence.joints[j], evidence.joints[k]
            ratio = "" if slope > 0 else ", ratio: -1"
            term = f"{{drive-coupling: {{first: {first}, second: {second}{ratio}}}}}"
            words = (
                f"the torques of {first} and {second} follow each other's motion: of what the robot leaves of them "
                f"unexplained, velocity and acceleration of the other explain {percent(1.0 - one)} and "
                f"{percent(1.0 - other)}; if the motor of one turns with both joints, add {term} to terms:"
            )
            yield warning("coupled drives", words, first=first, second=second, left=[one, other])


def _basis(w: Array, independent: float) -> Array | None:
    """(N, r) orthonormal columns of rows (N, b) of one joint; None where samples are too few to tell."""
    norms = np.linalg.norm(w, axis=0)
    w = w[:, norms > 0] / norms[norms > 0]
    if not w.shape[1] or ENOUGH * w.shape[1] > independent:
        return None
    u, s, _ = np.linalg.svd(w, full_matrices=False)
    return np.asarray(u[:, s > SINGULAR * s[0]])


def _left(smooth: Smooth, basis: Array, j: int, k: int) -> tuple[float, float]:
    """What rotor and friction of a motor that also moves with k leave of the residual power of joint j, and their
    viscous part, whose sign tells the directions."""
    assert smooth.effort is not None
    m = smooth.motion
    both = np.column_stack([m.qd[:, k], m.qdd[:, k], *(np.sign(m.qd[:, j] + s * m.qd[:, k]) for s in (1.0, -1.0))])
    residual, own = (x - basis @ (basis.T @ x) for x in (smooth.effort[:, j], both))
    found, *_ = np.linalg.lstsq(own, residual, rcond=SINGULAR)
    power = float(residual @ residual)
    return (float(np.sum((residual - own @ found) ** 2)) / power if power > 0 else 1.0), float(found[0])
