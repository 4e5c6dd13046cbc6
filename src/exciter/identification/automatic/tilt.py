"""Whether the robot stands as straight as its description says: the direction of gravity in the frame of its base.

A base that leans by one degree makes 2 % of the arm's weight a torque that an upright model cannot have, most of all
about a vertical first axis, and bodies that cannot exist are found in its place. So gravity may lean a little where
torques left out clearly ask for it. A joint's zero that is off looks alike, and is not told apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exciter.identification.automatic.choice import Choice
from exciter.identification.automatic.trial import Trial
from exciter.identification.cross_validation import Score, simplest_within_error
from exciter.robot.spatial import rotation_to

Array = NDArray[np.float64]
FIRST = np.radians(0.5)  #: [rad] from the middle, where leaning is tried first; then half of it
FARTHEST = np.radians(2.0)  #: [rad] so much is no error of mounting, but something else that leaning stands for
ROUNDS = 3
PARTS = (0.25, 0.5, 0.75)  #: of the best: less is likelier, and taken where it is as good
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
    if np.linalg.norm(middle) > 0.99 * FARTHEST:
        why = "stretches left out ask for more than a base that leans by mistake"
        return None, Choice("gravity", "as described", why)
    scores = [upright, *(lean.score(part * middle) for part in PARTS if middle.any()), best]
    chosen = simplest_within_error(scores)
    angle, best_angle = (float(np.degrees(np.linalg.norm(x))) for x in ((*PARTS, 1.0)[chosen - 1] * middle, middle))
    listed = f"error {upright.mean:.3g} upright, {best.mean:.3g} leaning by {best_angle:.2g}°"
    if chosen == 0:
        return None, Choice("gravity", "as described", f"no other direction predicts clearly better: {listed}")
    if chosen <= len(PARTS):
        listed += f", {scores[chosen].mean:.3g} by {angle:.2g}°, which is as good"
        middle = PARTS[chosen - 1] * middle
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
