"""How much the prior weighs, how near to zero offsets are, and how the base leans: chosen by models on trial.

**Weight of the prior**: the strongest that predicts what was left out as well as any. Stretches left out are motion
much like the rest; what the model will be asked for may not be, and there a prior is all that holds directions the
motion did not excite. So among weights that cross-validation does not distinguish the strongest is taken, up to a part
of the least error: a wrong prior, whose error differs much between stretches, must not win by that. In any case links
count as known to between 18 and 100 % of their size: few descriptions are much better (``benchmarks/parts.py``: what
that costs and gains). Only where a faint prior leaves much less is it weaker: rods whose mass was fitted to an arm in
balance have not even the right size.

**Offsets of torques**: the nearest to zero that predict what was left out as well as any. Over a short part of a
joint's range the weight of the links, a counterbalance and an offset look alike, and least squares shares torque among
them: right there, wrong elsewhere. An offset is what sensors and uneven friction leave, and small.

**Tilt of the base**: a base that leans by one degree makes 2 % of the arm's weight a torque that an upright model
cannot have, most of all about a vertical first axis, and impossible bodies are found in its place. So gravity may lean
a little where torques left out clearly ask for it. A joint's zero that is off cannot be distinguished from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from exciter.identification.information.compressed import AS_GOOD_FRACTION, Score, simplest_within_error
from exciter.identification.selection.cross_validated_trial import Choice, Trial
from exciter.robot.spatial import rotation_to
from exciter.robot.stated_gravity import LARGEST_TILT_RAD
from exciter.typing import Array

PRIOR_WEIGHTS = 10.0 ** np.arange(1.5, -0.1, -0.5)  #: λ, from the strongest; a link is known to 1/√λ of its size
FAINT_PRIOR_WEIGHTS = 10.0 ** np.arange(-0.5, -3.1, -0.5)  #: λ where links of the prior have not even the right size
WRONG_PRIOR_RATIO = 2.0  #: of mean squares, to that of a faint prior: more, and links have not the right size
OFFSET_SIGMAS = (0.03, 0.1, 0.3, 1.0, None)  #: σ over the rms torque of the joint, from the nearest to zero; None: free
FIRST_TILT_STEP_RAD = np.radians(0.5)  #: from the middle, where leaning is tried first; then half of it
LEAST_TILT_RAD = np.radians(0.05)  #: less is within what a level shows
LEAST_TILT_GAIN = 0.03  #: of the error: less is not worth a setting
LEAST_DECISIVE_TORQUE = 1e-3  #: of the largest joint's: errors below it do not decide how much a prior is worth
TILT_ROUNDS = 3
#: as many as a parabola has numbers
PARABOLA_POINTS = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]], dtype=float)


def choose_prior_weight(trial: Trial, noise: Array) -> tuple[float, Choice]:
    """λ, and why; noise (J,) of the equations. An estimator that is asked for uses ``weight_of_least_error``.

    A wrist of a few hundredths of a N·m may be measured so well that a link of the prior misses it by many times its
    noise; that is no reason to believe less of all other links."""
    noise = np.maximum(noise, LEAST_DECISIVE_TORQUE * _largest_torque(trial))
    weights, scores, faint = PRIOR_WEIGHTS, trial.scores(PRIOR_WEIGHTS, noise), trial.scores(FAINT_PRIOR_WEIGHTS, noise)
    if min(score.mean for score in scores) > WRONG_PRIOR_RATIO * min(score.mean for score in faint):
        weights, scores = np.concatenate([PRIOR_WEIGHTS, FAINT_PRIOR_WEIGHTS]), (*scores, *faint)
    chosen = simplest_within_error(scores, AS_GOOD_FRACTION)
    weight = float(weights[chosen])
    listed = ", ".join(f"{score.mean:.3g} with {one:.3g}" for one, score in zip(weights, scores, strict=True))
    reason = f"the strongest pull to the prior that predicts as well as the best: error {listed}"
    if chosen == 0:
        reason += "; no description is believed more"
    if weight < PRIOR_WEIGHTS[-1]:
        reason += "; weaker than usual: links of the prior have not even the right size"
    known = f"{weight:.3g}: links of the prior count as known to {100.0 / weight**0.5:.2g} % of their size"
    return weight, Choice("estimator", known, reason, "weight")


def _largest_torque(trial: Trial) -> Array:
    """(J,) rms of the joint with most torque; of those that slide, if a joint slides."""
    size = trial.problem.compressed.rms
    slides = np.array([joint.is_prismatic for joint in trial.problem.model.robot.joints])
    return np.asarray(np.where(slides, size[slides].max(initial=0.0), size[~slides].max(initial=0.0)))


def choose_offset(trial: Trial, weight: float, noise: Array) -> tuple[float | None, Choice]:
    """σ of offsets over the torque of their joint, and why; weight: of the prior on links, noise (J,) of equations."""
    scores = [replace(trial, offset=offset).scores(np.array([weight]), noise)[0] for offset in OFFSET_SIGMAS]
    chosen = simplest_within_error(scores, AS_GOOD_FRACTION)
    within = ["free" if offset is None else f"within {100.0 * offset:g} %" for offset in OFFSET_SIGMAS]
    listed = ", ".join(f"{score.mean:.4g} {one}" for one, score in zip(within, scores, strict=True))
    reason = f"the nearest to zero that predicts as well as any: error {listed}"
    offset = OFFSET_SIGMAS[chosen]
    value = "free" if offset is None else f"offsets are {within[chosen]} of the joint's torque, about"
    return offset, Choice("estimator", value, reason, "offset")


def choose_tilt(trial: Trial, weight: float, noise: Array) -> tuple[Array | None, Choice]:
    """Gravity (3,) [m/s²] that leans from where the robot's is, None where it does not, and why; weight: of the prior;
    noise (J,). The trial's friction should be as free as any: what it misses at low speed looks like a lean."""
    problem, robot = trial.problem, trial.problem.model.robot
    size = float(np.linalg.norm(robot.gravity))
    frame = rotation_to(np.asarray(robot.gravity) / size)  # its last axis is gravity's

    def leaning(angles: Array) -> Array:
        """(3,) by two small angles [rad] about axes that are perpendicular to gravity; as long as before."""
        direction = frame @ np.append(np.tan(angles), 1.0)
        return np.asarray(size * direction / np.linalg.norm(direction))

    def scored(angles: Array) -> Score:
        model = replace(problem.model, robot=robot.with_gravity(leaning(angles)))
        return replace(trial, problem=replace(problem, model=model)).scores(np.array([weight]), noise)[0]

    upright = best = scored(np.zeros(2))
    middle, step = np.zeros(2), FIRST_TILT_STEP_RAD
    for _ in range(TILT_ROUNDS):
        tried = [middle + step * at for at in PARABOLA_POINTS]
        scores = [best, *map(scored, tried[1:])]
        if (lowest := _lowest([score.mean for score in scores], middle, step)) is not None:
            tried.append(lowest)
            scores.append(scored(lowest))
        k = int(np.argmin([score.mean for score in scores]))  # the parabola's, or one of those it goes through
        middle, best, step = _within_reach(tried[k]), scores[k], 0.5 * step
    angle = float(np.linalg.norm(middle))
    listed = f"error {upright.mean:.3g} upright, {best.mean:.3g} leaning by {np.degrees(angle):.2g}°"
    if angle > 0.99 * LARGEST_TILT_RAD:
        why = f"{listed}, or more: no base leans so by mistake, something else is missing"
        return None, Choice("gravity", "as described", why)
    clear = simplest_within_error([upright, best]) == 1
    gains = clear and best.mean < (1.0 - LEAST_TILT_GAIN) * upright.mean
    if angle < LEAST_TILT_RAD or not gains:
        return None, Choice("gravity", "as described", f"no other direction predicts clearly better: {listed}")
    gravity = leaning(middle)
    shown = ", ".join(f"{x:.4g}" for x in gravity)
    reason = f"the base leans, or a joint's zero is off; held-out blocks of time are predicted clearly better: {listed}"
    return gravity, Choice("gravity", f"[{shown}] m/s² in the frame of the base", reason)


def _lowest(errors: Sequence[float], middle: Array, step: float) -> Array | None:
    """Angles at the lowest point, if any, of the parabola through six, at most ``LARGEST_TILT_RAD`` from the start."""
    x, y = PARABOLA_POINTS.T
    _, a, b, aa, bb, ab = np.linalg.solve(np.column_stack([np.ones(6), x, y, x**2, y**2, x * y]), errors)
    curvature = np.array([[2.0 * aa, ab], [ab, 2.0 * bb]])
    if np.linalg.eigvalsh(curvature)[0] <= 0.0:
        return None
    return _within_reach(middle - step * np.linalg.solve(curvature, [a, b]))


def _within_reach(angles: Array) -> Array:
    return np.asarray(angles * min(1.0, LARGEST_TILT_RAD / max(float(np.linalg.norm(angles)), 1e-300)))
