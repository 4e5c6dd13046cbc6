"""Within all limits, where a search begins and where it ends.

It begins at a posture with room on all sides, with random motions shrunk about it until all limits hold.
Shrinking always ends: the shortest motion about a posture that keeps the nonlinear limits at rest keeps them too.

It ends with a motion that keeps its limits at grid points, from which one is made that keeps them at every instant.
Joint limits alone: every joint's swing about its posture is scaled so that its tightest limit is just kept, by exact
extrema. With nonlinear limits: margins grow by what is found between the grid points, a few more iterations repair the
motion, and a certificate decides; as a last resort the motion shrinks about a posture that keeps all limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from exciter.errors import ExciterError
from exciter.excitation.optimiser.limits import (
    RESAMPLING_CLEARANCE_SHARE,
    Grid,
    JointLimits,
    NonlinearLimits,
    Variables,
)
from exciter.excitation.optimiser.sqp import Program, SQPSettings, minimise
from exciter.excitation.trajectories.curve import Curve
from exciter.robot.motion import Motion
from exciter.typing import Array

RANDOM_POSTURES = 2000
START_SWING_SHARE = 0.5  # of the joint limits, where nothing else is in the way
START_CLEARANCE = 0.02  # of a start, beyond the margins of the nonlinear limits
FINE_GRID_INSTANTS = 2000  # instants of the check between the grid points
REPAIR_ROUNDS = 4
REPAIR_ITERATIONS = 12  # iterations after margins have grown
UNPROVED_EXCESS = 0.007  # counts as broken by this much: kept at the fine grid, but not proved in between
LAST_SWING_SHARES = (1.0, 0.99, 0.97, 0.93, 0.85, 0.7, 0.5, 0.3, 0.1)  # of the swing about the posture
RESERVED_CERTIFICATES = 2  # for which a search or a repair stops in time: of the motion, and of one that shrinks


def posture_with_clearance(limits: JointLimits, nonlinear: NonlinearLimits, seed: int) -> Array | int:
    """(n,): the middle of the ranges if all limits hold there at rest with clearance, else the best random one; the
    number of the row that fails most often where no posture keeps the limits."""
    low, high = limits.lower[0], limits.upper[0]
    middle: Array = 0.5 * (low + high)
    random = np.random.default_rng(seed).uniform(0.05, 0.95, (RANDOM_POSTURES, len(low)))
    candidates = np.vstack([middle, low + random * (high - low)])
    values = nonlinear.at(Motion.at(candidates)) - nonlinear.margins[:, None]
    worst = values.min(axis=0, initial=np.inf)
    if worst[0] > 2.0 * START_CLEARANCE:
        return middle
    posture: Array = candidates[int(np.argmax(worst))]
    rng, room = np.random.default_rng(0), -np.inf
    for size in 0.2 * 0.7 ** np.arange(
        12
    ):  # uphill: smaller and smaller random steps, kept when the worst row improves
        steps = np.vstack([np.zeros_like(posture), size * rng.standard_normal((100, len(posture)))])
        nearby = np.clip(posture + steps * (high - low), low + 0.02 * (high - low), high - 0.02 * (high - low))
        worst = (nonlinear.at(Motion.at(nearby)) - nonlinear.margins[:, None]).min(axis=0)
        best = int(np.argmax(worst))
        posture, room = nearby[best], float(worst[best])
    return int(np.argmax((values < START_CLEARANCE).mean(axis=1))) if room <= START_CLEARANCE else posture


def random_start(
    limits: JointLimits, nonlinear: NonlinearLimits, posture: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """(centre, y): standing still at the posture, and a random motion about it, strictly within all limits."""
    variables = limits.variables
    centre = variables.from_delta(variables.trajectory.still(posture))
    swing = np.zeros_like(centre)
    size = variables.n * variables.per_joint
    swing[:size] = rng.standard_normal(size)
    at_rest, moving = limits.slack(centre), limits.slack(centre + swing)
    if min(float(before.min()) for before in at_rest) < 0:
        raise ExciterError("the posture about which the motion is to be designed is outside the joint limits")
    ratios = [(before - after) / np.maximum(before, 1e-300) for before, after in zip(at_rest, moving, strict=True)]
    swing *= START_SWING_SHARE * (1.0 / max(float(ratio[np.isfinite(ratio)].max()) for ratio in ratios))
    for _ in range(60):
        if (nonlinear.values(centre + swing) > START_CLEARANCE).all():
            return centre, centre + swing
        swing *= 0.7
    raise ExciterError(
        "no motion about the posture with most clearance keeps the limits, however small; loosen a limit"
    )


def shrunk(limits: JointLimits, nonlinear: NonlinearLimits, centre: Array, y: Array) -> Array:
    """y moved toward the centre by as little as keeps all limits on the grids."""
    share = 1.0
    for step in (0.001, 0.003, 0.01, 0.03, *([0.1] * 40)):
        candidate = centre + share * (y - centre)
        if limits.room(candidate) >= 0.0 and (nonlinear.values(candidate) >= 0.0).all():
            return candidate
        share *= 1.0 - step
    return centre


def curve_of(variables: Variables, y: Array) -> Curve:
    family, delta = variables.result(y)
    return family.curve(delta)


def joint_excess(limits: JointLimits, curve: Curve) -> Array:
    """(4, n): how far the exact extrema pass a limit, in half ranges; negative: room that is left."""
    excess = np.full(limits.lower.shape, -np.inf)
    for k in limits.kinds:
        extremum = curve.extremum(k)
        half = 0.5 * (limits.upper[k] - limits.lower[k])
        with np.errstate(invalid="ignore"):
            over = np.maximum(extremum.highest - limits.upper[k], limits.lower[k] - extremum.lowest) / half
        excess[k] = np.where(np.isfinite(half), over, -np.inf)
    return excess


def scaled_to_limits(limits: JointLimits, centre: Array, y: Array) -> tuple[Array, Array]:
    """Every joint's swing about the centre, shrunk where a limit is passed; and stretched too where none is met."""
    variables = limits.variables
    u, s = variables.split(y)
    c, _ = variables.split(centre)
    curve = curve_of(variables, y)
    posture = curve_of(variables, variables.join(c, s)).extremum(0).highest
    ratio = np.zeros(variables.n)
    for k in limits.kinds:
        extremum, rest = curve.extremum(k), posture if k == 0 else np.zeros_like(posture)
        room_above, room_below = limits.upper[k] - rest, rest - limits.lower[k]
        ratio = np.maximum(ratio, (extremum.highest - rest) / room_above)
        ratio = np.maximum(ratio, (rest - extremum.lowest) / room_below)
    factor = (1.0 - RESAMPLING_CLEARANCE_SHARE) / ratio
    shrunk_only, stretched = (c + (u - c) * f[:, None] for f in (np.minimum(factor, 1.0), factor))
    return variables.join(shrunk_only, s), variables.join(stretched, s)


def finish(
    problem: Program,
    y: Array,
    centre: Array,
    certified: Callable[[Array], bool],
    settings: SQPSettings,
    certificate_seconds: float = 0.0,
) -> tuple[Array | None, int]:
    """Repair y until ``certified(y)``, None where that fails, and how many evaluations it cost; ``centre`` is a posture
    at rest within all limits.

    certificate_seconds: what one certificate takes; the repair leaves time for ``RESERVED_CERTIFICATES`` of them.
    """
    repair_deadline = problem.deadline.moved(-RESERVED_CERTIFICATES * certificate_seconds)
    if not problem.nonlinear.constraints:
        best = min(scaled_to_limits(problem.limits, centre, y), key=lambda x: problem.criterion(x)[0])
        return best if certified(best) else None, 2
    evaluations = 0
    limits, nonlinear = problem.limits, problem.nonlinear
    fine = limits.variables.grid(limits.variables.trajectory.sample_times(FINE_GRID_INSTANTS))
    for _ in range(REPAIR_ROUNDS):
        joint, other = _between(limits, nonlinear, fine, y)
        if not joint.any() and not other.any():
            if certified(y):
                return y, evaluations
            other = np.full(len(other), UNPROVED_EXCESS)
        limits = replace(limits, margins=limits.margins + 1.5 * joint)
        nonlinear = replace(nonlinear, margins=nonlinear.margins + 1.5 * other)
        repaired = Program(problem.criterion, limits, nonlinear).within(repair_deadline)
        outcome = minimise(
            repaired, shrunk(limits, nonlinear, centre, y), replace(settings, iterations=REPAIR_ITERATIONS)
        )
        y, evaluations = outcome.y, evaluations + outcome.evaluations
    for share in LAST_SWING_SHARES:
        candidate = centre + share * (y - centre)
        joint, other = _between(limits, nonlinear, fine, candidate)
        if not joint.any() and not other.any() and certified(candidate):
            return candidate, evaluations
    return None, evaluations


def _between(limits: JointLimits, nonlinear: NonlinearLimits, fine: Grid, y: Array) -> tuple[Array, Array]:
    """How far limits are broken anywhere: joints (4, n) exactly, nonlinear rows (K,) on a fine grid."""
    joint = np.maximum(joint_excess(limits, curve_of(limits.variables, y)) + RESAMPLING_CLEARANCE_SHARE, 0.0)
    values = nonlinear.at(limits.variables.motion(fine, y))
    return joint, np.maximum(-values.min(axis=1), 0.0)
