"""The zero of a joint: do torques fit the description much better when a joint counts from elsewhere?

Every turning joint is tried at every angle, all others as logged; offset, friction and rotor inertia are removed from
both sides. A fit by itself would hide it: a zero that is off looks like a centre of mass elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar

from exciter.dynamics.model import DynamicModel
from exciter.experiment.quality.match import unknown_terms
from exciter.experiment.quality.words import number
from exciter.notes import Note, problem
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.typing import Array

if TYPE_CHECKING:
    from exciter.experiment.quality.evidence import Evidence

ROWS = 300  # samples that angles are compared on
ANGLES = 48  # tried per turn
SMALL = 0.01  # of the largest joint's torque: residuals below are noise
LEAST = 0.1  # [rad] centres of mass of descriptions are off by such an angle


@dataclass(frozen=True)
class Zero:
    """Of joint number ``joint``: what must be added to its positions [rad], and the change of Σ ln(residual power)."""

    joint: int
    angle: float
    change: float


def best_zero(robot: Robot, motion: Motion, effort: Array) -> Zero | None:
    """The single joint and angle that improve the fit most; None where no joint turns."""
    change = _measure(robot, motion, effort)
    turning = [j for j, joint in enumerate(robot.joints) if not joint.is_prismatic]
    angles = np.arange(1, ANGLES) * (2.0 * np.pi / ANGLES) - np.pi
    tried = [Zero(j, float(angle), change(j, float(angle))) for j in turning for angle in angles]
    if not tried:
        return None
    best = min(tried, key=lambda zero: zero.change)
    step = 2.0 * np.pi / ANGLES
    found = minimize_scalar(
        lambda angle: change(best.joint, float(angle)),
        bounds=(best.angle - step, best.angle + step),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return Zero(best.joint, float(found.x), min(float(found.fun), best.change))


def _measure(robot: Robot, motion: Motion, effort: Array) -> Callable[[int, float], float]:
    model, beside = DynamicModel(robot), unknown_terms(motion)
    floor = (SMALL * np.std(effort, axis=0).max(initial=0.0)) ** 2 + 1e-300

    def power(q: Array) -> Array:
        left = effort - model.torque(Motion(motion.time, q, motion.qd, motion.qdd))
        rest = [r - u @ (u.T @ r) for r, u in zip(left.T, beside, strict=True)]
        return np.asarray(np.mean(np.square(rest), axis=1) + floor)

    now = power(motion.q)

    def change(j: int, angle: float) -> float:
        q = motion.q.copy()
        q[:, j] += angle
        return float(np.log(power(q) / now).sum())

    return change


def zero(evidence: Evidence) -> Iterator[Note]:
    """Said where order and signs are right and one angle explains much of what was unexplained."""
    smooth, robot = evidence.smooth, evidence.robot
    if smooth is None or smooth.effort is None or robot is None or not evidence.inertias_known:
        return
    about = evidence.survey.about
    if evidence.order or evidence.foreign_units or evidence.effort_unit == "A" or about.payload is not None:
        return
    step = max(1, len(smooth) // ROWS)
    found = best_zero(robot, smooth.motion[::step], smooth.effort[::step])
    if found is None or abs(found.angle) < LEAST or found.change > -evidence.thresholds.zero:
        return
    degrees = number(np.degrees(found.angle), 3)
    values = ", ".join(degrees if j == found.joint else "0" for j in range(robot.n))
    words = (
        f"torques fit the description much better when {degrees}° are added to its position: is its zero that of the "
        f"description? else say offset: {{values: [{values}], unit: deg}}"
    )
    yield problem("zero", words, evidence.joints[found.joint], angle=found.angle, change=found.change)
