"""Where a search starts: at a posture with room on all sides, random motions about it, shrunk until all limits hold.
One that would have to be very small, as of many bodies of which a pair is always close, is bent about what is in its
way instead: a tiny motion tells nothing of most parameters.

Shrinking always ends: the shortest motion about a posture that keeps the nonlinear limits at rest keeps them too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from exciter.errors import ExciterError
from exciter.excitation.optimiser.limits import JointLimits, NonlinearLimits
from exciter.robot.motion import Motion
from exciter.typing import Array

Bent = Callable[[JointLimits, NonlinearLimits, Array], Array | None]  # the nearest motion that keeps limits, or none
RANDOM_POSTURES = 2000
START_SWING_SHARE = 0.5  # of the joint limits, where nothing else is in the way
LEAST_COMMON_SWING_SHARE = 0.1  # of what half of the joints could swing, if all swing by the same share
SHRINKING_FACTOR = 0.7  # of the swing, from one attempt to the next
MOST_SHRINKING_STEPS = 6  # to 8 % of the swing, after which it is bent
BENT_SWING_SHARES = (1.0, 0.5, 0.25)  # of the swing before it was shrunk
START_CLEARANCE = 0.02  # of a start, beyond the margins of the nonlinear limits


def posture_with_clearance(limits: JointLimits, nonlinear: NonlinearLimits, seed: int) -> Array | int:
    """(n,): the middle of the ranges if all limits hold there at rest with clearance, else the best random one; the
    number of the row that fails most often where no posture keeps the limits. Where loops are about to become singular
    no row says so, and nothing can move: such postures come last."""
    low, high = limits.lower[0], limits.upper[0]
    middle: Array = 0.5 * (low + high)
    first = limits.variables.kept_locked(middle[None])
    roomy = (nonlinear.at(Motion.at(first)) - nonlinear.margins[:, None]).min(initial=np.inf) > 2.0 * START_CLEARANCE
    if roomy and not nonlinear.cramped(first).any():
        return np.asarray(first[0])
    random = np.random.default_rng(seed).uniform(0.05, 0.95, (RANDOM_POSTURES, len(low)))
    candidates = limits.variables.kept_locked(np.vstack([middle, low + random * (high - low)]))
    values = nonlinear.at(Motion.at(candidates)) - nonlinear.margins[:, None]
    posture: Array = candidates[int(np.argmax(values.min(axis=0, initial=np.inf) - nonlinear.cramped(candidates)))]
    rng, room = np.random.default_rng(0), -np.inf
    for size in 0.2 * 0.7 ** np.arange(12):  # uphill: smaller and smaller steps, kept when the worst row improves
        steps = np.vstack([np.zeros_like(posture), size * rng.standard_normal((100, len(posture)))])
        nearby = np.clip(posture + steps * (high - low), low + 0.02 * (high - low), high - 0.02 * (high - low))
        nearby = limits.variables.kept_locked(nearby)
        worst = (nonlinear.at(Motion.at(nearby)) - nonlinear.margins[:, None]).min(axis=0)
        best = int(np.argmax(worst - nonlinear.cramped(nearby)))
        posture, room = nearby[best], float(worst[best])
    return int(np.argmax((values < START_CLEARANCE).mean(axis=1))) if room <= START_CLEARANCE else posture


def random_start(
    limits: JointLimits, nonlinear: NonlinearLimits, posture: Array, rng: np.random.Generator, bent: Bent
) -> tuple[Array, Array]:
    """(centre, y): standing still at the posture, and a random motion about it, strictly within all limits."""
    variables = limits.variables
    centre = variables.from_delta(variables.trajectory.still(posture))
    swing = np.zeros_like(centre)
    size = variables.coefficients
    swing[:size] = rng.standard_normal(size)
    at_rest, moving = limits.slack(centre), limits.slack(centre + swing)
    if at_rest.min() < 0:
        raise ExciterError("the posture about which the motion is to be designed is outside the joint limits")
    ratio = (at_rest - moving) / np.maximum(at_rest, 1e-300)
    tightest = np.where(np.isfinite(ratio), ratio, 0.0).max(axis=(0, 1))  # (n,)
    joints = np.where(tightest > 0.0, tightest, np.inf)
    largest = float(tightest.max())
    if np.median(joints) < LEAST_COMMON_SWING_SHARE * largest:  # a joint that can hardly move would hold all others
        u, _ = variables.split(swing)
        still = variables.split(np.zeros_like(swing))[0]
        swing, largest = variables.join((u - still) / joints[:, None], 0.0), 1.0
    swing *= START_SWING_SHARE / largest
    whole = swing.copy()
    for shrinking in range(60):
        if (nonlinear.values(centre + swing) > START_CLEARANCE).all():
            return centre, centre + swing
        swing *= SHRINKING_FACTOR
        if shrinking == MOST_SHRINKING_STEPS:
            stricter = replace(nonlinear, margins=nonlinear.margins + START_CLEARANCE)
            for share in BENT_SWING_SHARES:
                if (found := bent(limits, stricter, centre + share * whole)) is not None:
                    return centre, found
    raise ExciterError(
        "no motion about the posture with most clearance keeps the limits, however small; loosen a limit"
    )
