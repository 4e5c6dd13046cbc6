"""Whether the robot stands as straight as its description says: the direction of gravity in the frame of its base.

A base that leans by one degree makes 2 % of the arm's weight a torque that an upright model cannot have, most of all
about a vertical first axis, and bodies that cannot exist are found in its place. So gravity may lean a little where
torques left out clearly ask for it. A joint's zero that is off looks alike, and is not told apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exciter.identification.information.cross_validation import Score, simplest_within_error
from exciter.identification.selection.trial import Choice, Trial
from exciter.robot.spatial import rotation_to
from exciter.typing import Array

FIRST = np.radians(0.5)  #: [rad] from the middle, where leaning is tried first; then half of it
FARTHEST = np.radians(2.0)  #: [rad] so much is no error of mounting, but something else that leaning stands for
ROUNDS = 3
LEAST = np.radians(0.05)  #: [rad] less is within what a level shows
GAIN = 0.03  #: of the error: less is not worth a setting
AROUND = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]], dtype=float)  # six numbers make a parabola


def choose_tilt(trial: Trial, weight: float, noise: Array) -> tuple[Array | None, Choice]:
    """Gravity (3,) [m/s²] that leans, None where it does not, and why; weight: of the prior; noise (J,)."""
    lean = _Lean(trial, weight, noise)
    upright = best = lean.score(np.zeros(2))
    middle, step = np.zeros(2), FIRST
    for _ in range(ROUNDS):
        found = lean.lowest(middle, step)
        if found is None or (score := lean.score(found)).mean >= best.mean:
            break
        middle, best, step = found, score, 0.5 * step
        if simplest_within_error([upright, best]) == 0:
            break
    angle = float(np.linalg.norm(middle))
    listed = f"error {upright.mean:.3g} upright, {best.mean:.3g} leaning by {np.degrees(angle):.2g}°"
    if angle > 0.99 * FARTHEST:
        why = f"{listed}, or more: no base leans so by mistake, something else is missing"
        return None, Choice("gravity", "as described", why)
    gains = best.mean < (1.0 - GAIN) * upright.mean and simplest_within_error([upright, best]) == 1
    if angle < LEAST or not gains:
        return None, Choice("gravity", "as described", f"no other direction predicts clearly better: {listed}")
    gravity = lean.gravity(middle)
    shown = ", ".join(f"{x:.4g}" for x in gravity)
    reason = f"the base leans, or a joint's zero is off; stretches left out are predicted clearly better: {listed}"
    return gravity, Choice("gravity", f"[{shown}] m/s² in the frame of the base", reason)


class _Lean:
    """Leaning by two small angles [rad] about axes that are perpendicular to gravity."""

    def __init__(self, trial: Trial, weight: float, noise: Array) -> None:
        self.trial, self.weights, self.noise = trial, np.array([weight]), noise
        self.robot = trial.problem.model.robot
        self.size = float(np.linalg.norm(self.robot.gravity))
        self.frame = rotation_to(np.asarray(self.robot.gravity) / self.size)  # its last axis is gravity's

    def gravity(self, angles: Array) -> Array:
        """(3,) as long as before."""
        direction = self.frame @ np.append(np.tan(angles), 1.0)
        return np.asarray(self.size * direction / np.linalg.norm(direction))

    def score(self, angles: Array) -> Score:
        problem = self.trial.problem
        model = replace(problem.model, robot=self.robot.with_gravity(self.gravity(angles)))
        trial = replace(self.trial, problem=replace(problem, model=model))
        return trial.scores(self.weights, self.noise)[0]

    def lowest(self, middle: Array, step: float) -> Array | None:
        """Angles at the lowest point of the parabola through six around the middle, no farther than ``FARTHEST``; None
        where there is no such point."""
        x, y = AROUND.T
        columns = np.column_stack([np.ones(6), x, y, x**2, y**2, x * y])
        _, a, b, aa, bb, ab = np.linalg.solve(columns, [self.score(middle + step * at).mean for at in AROUND])
        curvature = np.array([[2.0 * aa, ab], [ab, 2.0 * bb]])
        if np.linalg.eigvalsh(curvature)[0] <= 0.0:
            return None
        found = middle - step * np.linalg.solve(curvature, [a, b])
        return np.asarray(found * min(1.0, FARTHEST / max(float(np.linalg.norm(found)), 1e-300)))
